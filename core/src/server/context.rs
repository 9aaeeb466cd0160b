//! Who asks, and how: everything about a request that its handler may want to know.

use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::request_state::TokenId;
use crate::error::ErrorObject;
use crate::ids::{ProgressToken, RequestId};
use crate::json::Json;
use crate::jsonrpc::{Field, Members, MetaField, MethodName};
use crate::model::{ClientCapabilities, ElicitParams, ElicitResult, Implementation, TraceContext};
use crate::spec::{Era, ErrorCode, Method, Version};

/// The client of a legacy session, as it introduced itself.
#[derive(Clone, Debug)]
pub struct ClientFacts {
    pub(crate) info: Json,
    pub(crate) capabilities: Json,
}

impl ClientFacts {
    pub(super) fn capabilities(&self) -> ClientCapabilities {
        self.capabilities.parse().unwrap_or_default()
    }
}

/// The circumstances of one request. Cheap to clone; values are decoded when they are asked for.
#[derive(Clone, Debug)]
pub struct Context {
    pub(super) request: Arc<Request>,
    /// `None` on the first round.
    pub(super) rounds: Option<Arc<Rounds>>,
}

#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: RequestId,
    pub(super) version: Version,
    pub(super) method: MethodName,
    pub(super) params: Members,
    /// `None` in the modern era, where every request says it anew.
    pub(super) session: Option<Arc<ClientFacts>>,
    pub(super) sender: Sender,
    /// Whether the client can be asked before it is answered.
    pub(super) asks: bool,
}

impl Request {
    /// A request of which nothing is known yet. A constant, and so copied to where it is wanted from where it lies.
    pub(super) const UNREAD: Self = Self {
        id: RequestId::ZERO,
        version: Version::LATEST,
        method: MethodName::Known(Method::Ping),
        params: Members::absent(),
        session: None,
        sender: Sender { principal: None, data: None },
        asks: false,
    };
}

/// Who sends a message, as the front knows it.
#[derive(Clone, Default)]
pub(crate) struct Sender {
    pub(crate) principal: Option<Arc<str>>,
    pub(crate) data: Option<Arc<dyn Any + Send + Sync>>,
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("principal", &self.principal).finish_non_exhaustive()
    }
}

/// What earlier rounds of input have brought.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    pub(super) answers: BTreeMap<String, Result<Json, ErrorObject>>,
    pub(super) state: Option<String>,
    pub(super) memo: Option<Json>,
    pub(super) round: u32,
    pub(super) token: Option<TokenId>,
}

impl Context {
    /// The id of the request on the wire.
    #[must_use]
    pub fn request_id(&self) -> &RequestId {
        &self.request.id
    }

    /// The revision that the request is served at.
    #[must_use]
    pub fn version(&self) -> Version {
        self.request.version
    }

    /// The era of [`Context::version`].
    #[must_use]
    pub fn era(&self) -> Era {
        self.request.version.era()
    }

    /// The params as they came, unknown members included; `{}` if absent.
    #[must_use]
    pub fn params(&self) -> Json {
        self.request.params.json()
    }

    /// The `_meta` of the request, `{}` if absent.
    #[must_use]
    pub fn meta(&self) -> Json {
        self.request.params.value(Field::Meta).unwrap_or(Json::EMPTY_OBJECT)
    }

    /// Name and version of the client: what it says of itself, not to be trusted. `None` if it does not say.
    #[must_use]
    pub fn client_info(&self) -> Option<Implementation> {
        match &self.request.session {
            Some(session) => session.info.parse().ok(),
            None => {
                self.request.params.meta_raw(MetaField::ClientInfo).and_then(|text| serde_json::from_str(text).ok())
            }
        }
    }

    /// What the client can do.
    #[must_use]
    pub fn client_capabilities(&self) -> ClientCapabilities {
        let text = match &self.request.session {
            Some(session) => Some(session.capabilities.get()),
            None => self.request.params.meta_raw(MetaField::ClientCapabilities),
        };
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// Refuses the request unless the client has declared all of `required`.
    ///
    /// # Errors
    /// -32021 with the missing part in `data.requiredCapabilities` in the modern era, -32600 in the legacy era,
    /// where that code does not exist.
    pub fn require_capabilities(&self, required: &ClientCapabilities) -> Result<(), ErrorObject> {
        match self.client_capabilities().missing(required) {
            None => Ok(()),
            Some(missing) => Err(missing_capability(self.version(), &missing)),
        }
    }

    /// The same for one capability by its path, such as `sampling.tools` or `elicitation.url`.
    ///
    /// # Errors
    /// As [`Context::require_capabilities`]; -32603 for a path that names no capability.
    pub fn require_capability(&self, path: &str) -> Result<(), ErrorObject> {
        let innermost = serde_json::Value::Object(serde_json::Map::new());
        let nested = path.rsplit('.').fold(innermost, |inside, name| serde_json::json!({ name: inside }));
        // Every declared capability is an object, so that only a path that is none fails to be read.
        let required: ClientCapabilities = serde_json::from_value(nested).map_err(|_| ErrorObject::internal())?;
        self.require_capabilities(&required)
    }

    /// The token that the client wants progress under.
    #[must_use]
    pub fn progress_token(&self) -> Option<ProgressToken> {
        self.request.params.meta_raw(MetaField::ProgressToken).and_then(RequestId::from_json_text).map(ProgressToken)
    }

    /// The trace context of `_meta`, as far as it is well-formed.
    #[must_use]
    pub fn trace_context(&self) -> TraceContext {
        self.meta().parse().map(|meta| TraceContext::from_meta(&meta)).unwrap_or_default()
    }

    /// Who is asking, as the front has authenticated it.
    #[must_use]
    pub fn principal(&self) -> Option<&str> {
        self.request.sender.principal.as_deref()
    }

    /// What the front has given along with the request, if it is of this type.
    #[must_use]
    pub fn data<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.request.sender.data.as_deref()?.downcast_ref()
    }

    /// Whether the client can be asked for input at all. It cannot where the transport carries answers only: a
    /// legacy HTTP server without sessions, or one that answers with JSON alone.
    #[must_use]
    pub fn can_ask(&self) -> bool {
        self.request.asks
    }

    /// The client's answer to the question with this key, from this round or an earlier one. An error is the
    /// answer of a legacy client that refused.
    #[must_use]
    pub fn input(&self, key: &str) -> Option<&Result<Json, ErrorObject>> {
        self.rounds.as_ref()?.answers.get(key)
    }

    /// The same for an elicitation, read and checked: what the user accepted fits the form of `asked`.
    ///
    /// # Errors
    /// The client's own refusal, or -32602 for an answer that is none; its text names fields, never values.
    #[must_use]
    pub fn elicited(&self, key: &str, asked: &ElicitParams) -> Option<Result<ElicitResult, ErrorObject>> {
        let answer = self.input(key)?.clone();
        Some(answer.and_then(|answer| super::rounds::read_elicited(asked, &answer)))
    }

    /// Every answer so far, by key.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &Result<Json, ErrorObject>)> {
        self.rounds.iter().flat_map(|rounds| &rounds.answers).map(|(key, answer)| (key.as_str(), answer))
    }

    /// The state that the handler gave with its questions.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.rounds.as_ref()?.state.as_deref()
    }

    /// The state that the front gave with the handler's questions.
    #[must_use]
    pub fn memo(&self) -> Option<&Json> {
        self.rounds.as_ref()?.memo.as_ref()
    }

    /// How often input was asked for before this call.
    #[must_use]
    pub fn round(&self) -> u32 {
        self.rounds.as_ref().map_or(0, |rounds| rounds.round)
    }

    /// The random id of the sealed state that came with this call. A front that keeps the ids it has seen can
    /// refuse a state that comes a second time, with [`Reply::StateUsed`](super::Reply::StateUsed).
    #[must_use]
    pub fn state_token(&self) -> Option<TokenId> {
        self.rounds.as_ref()?.token
    }

    /// The method, for hooks.
    #[must_use]
    pub fn method(&self) -> &str {
        self.request.method.as_str()
    }

    /// A string among the params, for hooks: the name of a tool or prompt, or a URI.
    #[must_use]
    pub fn target(&self) -> Option<Cow<'_, str>> {
        let read = |field| self.request.params.string(field).ok().flatten();
        read(Field::Name).or_else(|| read(Field::Uri))
    }
}

/// The refusal of a request whose client lacks a capability.
pub(crate) fn missing_capability(version: Version, missing: &ClientCapabilities) -> ErrorObject {
    let missing = Json::from_value(missing).unwrap_or(Json::EMPTY_OBJECT);
    match version.era() {
        Era::Modern => {
            let mut data = Vec::new();
            let mut object = crate::jsonrpc::ObjectWriter::new(&mut data);
            object.raw("requiredCapabilities", missing.get());
            object.end();
            ErrorObject {
                data: Some(Json::from_validated(data.into())),
                ..ErrorObject::new(
                    ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
                    "the request needs a capability that the client did not declare",
                )
            }
        }
        Era::Legacy => ErrorObject::invalid_request(format!(
            "the request needs capabilities that the client did not declare: {missing}"
        )),
    }
}
