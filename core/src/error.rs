//! Who is to blame, and what goes on the wire.
//!
//! | variant | whose fault | what it means for a caller |
//! |---|---|---|
//! | [`Error::ApiMisuse`] | yours | fix the code; never caused by what a peer sent |
//! | [`Error::InvalidFrame`] | the peer's | bytes that are no message |
//! | [`Error::PeerMisbehaved`] | the peer's | a message that the protocol forbids |
//! | [`Error::PeerIncompatible`] | nobody's | no common revision or capability |
//! | [`Error::LimitExceeded`] | whoever grew | a bound of `Limits`, by name |
//! | [`Error::Remote`] | the peer says: ours | an error that the peer answered |
//!
//! [`Error::to_object`] is the one place that turns blame into a JSON-RPC error.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use crate::copy::append;
use crate::ids::write_str;
use crate::json::Json;
use crate::jsonrpc::InvalidFrame;
use crate::limits::Bound;
use crate::spec::ErrorCode;

/// The `error` member of a JSON-RPC error: what one peer tells the other.
#[derive(Clone, Debug, PartialEq, Error, Deserialize)]
#[error("{message} ({})", .code.0)]
pub struct ErrorObject {
    /// The code.
    #[serde(deserialize_with = "code")]
    pub code: ErrorCode,
    /// A sentence for people.
    #[serde(default)]
    pub message: Cow<'static, str>,
    /// Details, by code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
}

fn code<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<ErrorCode, D::Error> {
    i64::deserialize(deserializer).map(ErrorCode)
}

impl ErrorObject {
    /// An error without data.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds data.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Json>) -> Self {
        self.data = Some(data.into());
        self
    }

    /// -32602 with this text.
    #[must_use]
    #[cold]
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// -32600 with this text.
    #[must_use]
    #[cold]
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::INVALID_REQUEST, message)
    }

    /// -32601 for a method.
    #[must_use]
    #[cold]
    pub fn method_not_found(method: &str) -> Self {
        /// A method name is the peer's text: enough of it to recognise, not enough to flood.
        const SHOWN: usize = 100;
        let shown: String = method.chars().take(SHOWN).collect();
        Self::new(ErrorCode::METHOD_NOT_FOUND, format!("method not found: {shown}"))
    }

    /// Whether the error says that a resource does not exist. Its code is -32602, with the address in the data, since
    /// 2026-07-28, and -32002 before; gateways bring either into either era.
    #[must_use]
    pub fn is_resource_not_found(&self) -> bool {
        #[derive(Deserialize)]
        struct Data {
            #[serde(rename = "uri")]
            _uri: String,
        }
        match self.code {
            ErrorCode::RESOURCE_NOT_FOUND => true,
            ErrorCode::INVALID_PARAMS => self.data.as_ref().is_some_and(|data| data.parse::<Data>().is_ok()),
            _ => false,
        }
    }

    /// -32603 with a text that tells nothing of the inside.
    #[must_use]
    #[cold]
    pub fn internal() -> Self {
        Self::new(ErrorCode::INTERNAL_ERROR, "internal error")
    }

    /// Reads the `error` member of a message. A shape that no peer should send becomes an internal error of
    /// theirs, for the call that it answers must end.
    #[must_use]
    pub fn read(json: &Json) -> Self {
        json.parse().unwrap_or_else(|_| Self {
            code: ErrorCode::INTERNAL_ERROR,
            message: Cow::Borrowed("the peer answered with a malformed error"),
            data: Some(json.clone()),
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"code\":");
        crate::ids::write_i64(out, self.code.0);
        out.extend_from_slice(b",\"message\":");
        write_str(out, &self.message);
        if let Some(data) = &self.data {
            out.extend_from_slice(b",\"data\":");
            append(out, data.as_bytes());
        }
        out.push(b'}');
    }
}

impl Serialize for ErrorObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = Vec::new();
        self.write(&mut out);
        Json::from_validated(out.into()).serialize(serializer)
    }
}

/// What went wrong, by blame.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller broke the contract of the machine.
    #[error("misuse: {0}")]
    ApiMisuse(#[from] Misuse),
    /// The peer sent something that is no message.
    #[error("invalid frame: {0}")]
    InvalidFrame(#[from] InvalidFrame),
    /// The peer sent a message that the protocol forbids.
    #[error("the peer misbehaved: {0}")]
    PeerMisbehaved(Cow<'static, str>),
    /// The two sides have no revision or capability in common.
    #[error("incompatible: {0}")]
    PeerIncompatible(Cow<'static, str>),
    /// A bound was hit.
    #[error("{bound} = {limit} exceeded")]
    LimitExceeded {
        /// Which.
        bound: Bound,
        /// Its value.
        limit: u64,
    },
    /// The peer answered with an error.
    #[error("the peer answered: {0}")]
    Remote(ErrorObject),
}

/// A mistake in the code that drives a machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Misuse {
    /// The machine is closed: nothing more goes in.
    #[error("the machine is closed")]
    Closed,
    /// The slot has been answered, was abandoned, or belongs to another machine.
    #[error("the reply slot is not open")]
    SlotNotOpen,
    /// The call has ended, or belongs to another machine.
    #[error("the call is not open")]
    CallNotOpen,
    /// The verb does not fit the state or the era that the connection is in.
    #[error("{0}")]
    WrongState(&'static str),
    /// An argument that no peer could accept.
    #[error("{0}")]
    Argument(Cow<'static, str>),
}

impl Error {
    /// A bound, hit.
    #[must_use]
    #[cold]
    pub fn limit(bound: Bound, limit: usize) -> Self {
        Self::LimitExceeded { bound, limit: limit as u64 }
    }

    /// The JSON-RPC error that tells a peer about it.
    #[must_use]
    pub fn to_object(&self) -> ErrorObject {
        match self {
            Self::ApiMisuse(_) => ErrorObject::internal(),
            Self::InvalidFrame(InvalidFrame::NotUtf8 | InvalidFrame::NotJson) => {
                ErrorObject::new(ErrorCode::PARSE_ERROR, self.to_string())
            }
            Self::InvalidFrame(InvalidFrame::TooDeep { .. } | InvalidFrame::NotMessage { .. })
            | Self::PeerMisbehaved(_)
            | Self::PeerIncompatible(_)
            | Self::LimitExceeded { .. } => ErrorObject::invalid_request(self.to_string()),
            Self::Remote(object) => object.clone(),
        }
    }
}
