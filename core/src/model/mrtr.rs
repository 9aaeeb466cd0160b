//! Multi round-trip requests: results that ask, and the answers on the retry.
//!
//! Source: `basic/patterns/mrtr`.
//!
//! ```text
//!   result   {"resultType":"input_required","inputRequests":{"who":{"method":…,"params":…}},"requestState":"…"}
//!   retry    {…,"inputResponses":{"who":{"action":"accept",…}},"requestState":"…"}
//! ```
//!
//! Requests and answers are carried as JSON under their keys, in order, and decoded when someone asks. Capability
//! checks, rounds and the seal of the state are `server`'s and `client`'s.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::macros::{members, object};
use super::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, Extra, ListRootsParams,
    ListRootsResult, Meta, ResultType,
};
use crate::json::Json;
use crate::spec::Method;

object! {
    /// The server needs input before it can answer.
    pub struct InputRequiredResult {
        required {}
        preset {
            /// `input_required`.
            result_type: ResultType = "resultType" (ResultType::InputRequired),
        }
        optional {
            /// What it needs. A result without them may be retried at once.
            input_requests: InputRequests = "inputRequests",
            /// To be echoed on the retry if present, and only then. `""` is a state like any other.
            request_state: String = "requestState",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl InputRequiredResult {
    /// Adds a request.
    ///
    /// # Errors
    /// Only what serialising the request refuses, which carried JSON cannot cause.
    pub fn ask(
        mut self,
        key: impl Into<Cow<'static, str>>,
        request: impl Into<InputRequest>,
    ) -> Result<Self, serde_json::Error> {
        self.input_requests.get_or_insert_default().insert(key, &request.into())?;
        Ok(self)
    }

    /// Whether the result asks for something or carries state; one of the two is a duty of the server.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        self.request_state.is_some() || self.input_requests.as_ref().is_some_and(|requests| !requests.is_empty())
    }
}

/// Requests under keys that the server chose, in order. Keys are unique: a duplicate does not read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputRequests(Extra);

impl InputRequests {
    /// No requests.
    #[must_use]
    pub const fn new() -> Self {
        Self(Extra::new())
    }

    /// Sets the request under a key.
    ///
    /// # Errors
    /// Only what serialising the request refuses, which carried JSON cannot cause.
    pub fn insert(
        &mut self,
        key: impl Into<Cow<'static, str>>,
        request: &InputRequest,
    ) -> Result<(), serde_json::Error> {
        self.0.insert(key, Json::from_value(request)?);
        Ok(())
    }

    /// Sets the request under a key, as it is on the wire.
    pub fn insert_raw(&mut self, key: impl Into<Cow<'static, str>>, request: Json) {
        self.0.insert(key, request);
    }

    /// The request under a key, as it is on the wire.
    #[must_use]
    pub fn get_raw(&self, key: &str) -> Option<&Json> {
        self.0.get(key)
    }

    /// The request under a key, decoded.
    ///
    /// # Errors
    /// When a request of a known method has parameters that do not fit it.
    pub fn get(&self, key: &str) -> Result<Option<InputRequest>, serde_json::Error> {
        self.get_raw(key).map(Json::parse).transpose()
    }

    /// The keys and requests in order, as they are on the wire.
    pub fn iter_raw(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> {
        self.0.iter()
    }

    /// The keys and requests in order, decoded.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, Result<InputRequest, serde_json::Error>)> {
        self.0.iter().map(|(key, json)| (key, json.parse()))
    }

    /// How many requests there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for InputRequests {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for InputRequests {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        unique(Extra::deserialize(deserializer)?).map(Self)
    }
}

fn unique<E: serde::de::Error>(members: Extra) -> Result<Extra, E> {
    let mut keys = BTreeSet::new();
    if members.iter().all(|(key, _)| keys.insert(key)) {
        return Ok(members);
    }
    Err(E::custom("a key stands twice"))
}

/// One request for input. On the wire an object of `method` and `params`, without `jsonrpc` and `id`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InputRequest {
    /// Asks the user.
    Elicit(ElicitParams),
    /// Asks the model.
    Sample(Box<CreateMessageParams>),
    /// Asks for the roots.
    Roots(ListRootsParams),
    /// A method that this crate does not know, as it came.
    Unknown(Json),
}

impl InputRequest {
    /// What the client must have declared for this request. Nothing is known about unknown methods.
    #[must_use]
    pub fn required_capabilities(&self) -> ClientCapabilities {
        match self {
            Self::Elicit(params) => params.required_capabilities(),
            Self::Sample(params) => params.required_capabilities(),
            Self::Roots(params) => params.required_capabilities(),
            Self::Unknown(_) => ClientCapabilities::new(),
        }
    }

    /// The method, where this crate knows it.
    #[must_use]
    pub const fn method(&self) -> Option<Method> {
        match self {
            Self::Elicit(_) => Some(Method::ElicitationCreate),
            Self::Sample(_) => Some(Method::SamplingCreateMessage),
            Self::Roots(_) => Some(Method::RootsList),
            Self::Unknown(_) => None,
        }
    }
}

impl From<ElicitParams> for InputRequest {
    fn from(params: ElicitParams) -> Self {
        Self::Elicit(params)
    }
}

impl From<CreateMessageParams> for InputRequest {
    fn from(params: CreateMessageParams) -> Self {
        Self::Sample(Box::new(params))
    }
}

impl From<ListRootsParams> for InputRequest {
    fn from(params: ListRootsParams) -> Self {
        Self::Roots(params)
    }
}

impl Serialize for InputRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = match self {
            Self::Unknown(json) => return json.serialize(serializer),
            _ => serializer.serialize_map(None)?,
        };
        if let Some(method) = self.method() {
            map.serialize_entry("method", method.as_str())?;
        }
        match self {
            Self::Elicit(params) => map.serialize_entry("params", params)?,
            Self::Sample(params) => map.serialize_entry("params", params)?,
            Self::Roots(params) if !params.is_empty() => map.serialize_entry("params", params)?,
            Self::Roots(_) | Self::Unknown(_) => {}
        }
        map.end()
    }
}

members! {
    /// A request as it is on the wire.
    pub(crate) struct Call {
        required {
            /// The method.
            method: String = "method",
        }
        optional {
            /// The parameters.
            params: Json = "params",
        }
    }
}

impl<'de> Deserialize<'de> for InputRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fn params<T: DeserializeOwned, E: serde::de::Error>(params: Option<&Json>) -> Result<T, E> {
            params.ok_or_else(|| E::missing_field("params"))?.parse().map_err(E::custom)
        }

        let call: Call = Deserialize::deserialize(deserializer)?;
        match Method::parse(&call.method) {
            Some(Method::ElicitationCreate) => params(call.params.as_ref()).map(Self::Elicit),
            Some(Method::SamplingCreateMessage) => params(call.params.as_ref()).map(Self::Sample),
            Some(Method::RootsList) => {
                params(Some(call.params.as_ref().unwrap_or(&Json::EMPTY_OBJECT))).map(Self::Roots)
            }
            _ => Json::from_value(&call).map(Self::Unknown).map_err(D::Error::custom),
        }
    }
}

/// The answers to [`InputRequests`] under the same keys, in order. Keys are unique: a duplicate does not read.
///
/// An answer is the bare result of the request: no `resultType`, no error form, and no metadata but for sampling.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputResponses(Extra);

impl InputResponses {
    /// No answers.
    #[must_use]
    pub const fn new() -> Self {
        Self(Extra::new())
    }

    /// Sets the answer under a key, as it is on the wire.
    pub fn insert_raw(&mut self, key: impl Into<Cow<'static, str>>, response: Json) {
        self.0.insert(key, response);
    }

    /// Sets the user's answer under a key. Metadata is left out: only the legacy result has any.
    ///
    /// # Errors
    /// Only what serialising the answer refuses, which carried JSON cannot cause.
    pub fn insert_elicit(
        &mut self,
        key: impl Into<Cow<'static, str>>,
        mut response: ElicitResult,
    ) -> Result<(), serde_json::Error> {
        response.meta = None;
        self.insert(key, &response)
    }

    /// Sets the model's answer under a key.
    ///
    /// # Errors
    /// Only what serialising the answer refuses, which carried JSON cannot cause.
    pub fn insert_sample(
        &mut self,
        key: impl Into<Cow<'static, str>>,
        response: &CreateMessageResult,
    ) -> Result<(), serde_json::Error> {
        self.insert(key, response)
    }

    /// Sets the roots under a key. Metadata is left out: only the legacy result has any.
    ///
    /// # Errors
    /// Only what serialising the answer refuses, which carried JSON cannot cause.
    pub fn insert_roots(
        &mut self,
        key: impl Into<Cow<'static, str>>,
        mut response: ListRootsResult,
    ) -> Result<(), serde_json::Error> {
        response.meta = None;
        self.insert(key, &response)
    }

    fn insert<T: Serialize>(
        &mut self,
        key: impl Into<Cow<'static, str>>,
        response: &T,
    ) -> Result<(), serde_json::Error> {
        self.0.insert(key, Json::from_value(response)?);
        Ok(())
    }

    /// The answer under a key, as it is on the wire.
    #[must_use]
    pub fn get_raw(&self, key: &str) -> Option<&Json> {
        self.0.get(key)
    }

    /// The user's answer under a key.
    ///
    /// # Errors
    /// When the answer has another shape.
    pub fn elicit(&self, key: &str) -> Result<Option<ElicitResult>, serde_json::Error> {
        self.get_as(key)
    }

    /// The model's answer under a key.
    ///
    /// # Errors
    /// When the answer has another shape.
    pub fn sample(&self, key: &str) -> Result<Option<CreateMessageResult>, serde_json::Error> {
        self.get_as(key)
    }

    /// The roots under a key.
    ///
    /// # Errors
    /// When the answer has another shape.
    pub fn roots(&self, key: &str) -> Result<Option<ListRootsResult>, serde_json::Error> {
        self.get_as(key)
    }

    fn get_as<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, serde_json::Error> {
        self.get_raw(key).map(Json::parse).transpose()
    }

    /// The keys and answers in order, as they are on the wire.
    pub fn iter_raw(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> {
        self.0.iter()
    }

    /// How many answers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for InputResponses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for InputResponses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        unique(Extra::deserialize(deserializer)?).map(Self)
    }
}
