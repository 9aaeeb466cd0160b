//! `_meta`: the open record on requests, results, notifications and definitions.
//!
//! Source: `basic/index` (`_meta`). Keys that this crate does not know pass through untouched. The grammar of a
//! key:
//!
//! ```text
//!   io.modelcontextprotocol/protocolVersion        progressToken        com.example/
//!   └────── prefix ───────┘ └──── name ───┘        └── name ──┘         └ prefix, empty name
//!   label . label . … /      [a-z0-9A-Z] at both ends, `-` `_` `.` inside
//! ```
//!
//! What a value at a reserved key *means* is decided by whoever asks for it: [`Meta::get_as`] only decodes.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::extra::Extra;
use super::{ClientCapabilities, Implementation, OpenLoggingLevel};
use crate::ids::{ProgressToken, RequestId};
use crate::json::Json;
use crate::spec::meta as keys;

/// The `_meta` record: names and values in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Meta(Extra);

impl Meta {
    /// The empty record.
    #[must_use]
    pub const fn new() -> Self {
        Self(Extra::new())
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.get(key)
    }

    /// The value of a key, decoded. Absent is `None`.
    ///
    /// # Errors
    /// When the value has another shape than `T`.
    pub fn get_as<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, serde_json::Error> {
        self.get(key).map(Json::parse).transpose()
    }

    /// Sets the value of a key. Answers the old one. Keys of your own should pass [`check_meta_key`].
    pub fn insert(&mut self, key: impl Into<Cow<'static, str>>, value: impl Into<Json>) -> Option<Json> {
        self.0.insert(key, value)
    }

    /// The same record with a key set.
    #[must_use]
    pub fn with(mut self, key: impl Into<Cow<'static, str>>, value: impl Into<Json>) -> Self {
        self.insert(key, value);
        self
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        self.0.remove(key)
    }

    /// The keys and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> {
        self.0.iter()
    }

    /// Whether the record has no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The token for progress notifications. A value that is neither string nor integer is `None`.
    #[must_use]
    pub fn progress_token(&self) -> Option<ProgressToken> {
        self.get(keys::PROGRESS_TOKEN).and_then(|json| RequestId::from_json_text(json.get())).map(ProgressToken)
    }

    /// The listen request that a notification belongs to. A value that is neither string nor integer is `None`.
    #[must_use]
    pub fn subscription_id(&self) -> Option<RequestId> {
        self.get(keys::SUBSCRIPTION_ID).and_then(|json| RequestId::from_json_text(json.get()))
    }

    /// The revision that a request claims.
    ///
    /// # Errors
    /// When the value is not a string.
    pub fn protocol_version(&self) -> Result<Option<String>, serde_json::Error> {
        self.get_as(keys::PROTOCOL_VERSION)
    }

    /// Name and version of the client. Self-reported: for display and logs, not for decisions.
    ///
    /// # Errors
    /// When the value is not an [`Implementation`].
    pub fn client_info(&self) -> Result<Option<Implementation>, serde_json::Error> {
        self.get_as(keys::CLIENT_INFO)
    }

    /// What the client can do, for this request.
    ///
    /// # Errors
    /// When the value is not a [`ClientCapabilities`] object.
    pub fn client_capabilities(&self) -> Result<Option<ClientCapabilities>, serde_json::Error> {
        self.get_as(keys::CLIENT_CAPABILITIES)
    }

    /// The least level of log messages that the client wants for this request.
    ///
    /// # Errors
    /// When the value is not a string.
    pub fn log_level(&self) -> Result<Option<OpenLoggingLevel>, serde_json::Error> {
        self.get_as(keys::LOG_LEVEL)
    }

    /// Name and version of the server. Self-reported: for display and logs, not for decisions.
    ///
    /// # Errors
    /// When the value is not an [`Implementation`].
    pub fn server_info(&self) -> Result<Option<Implementation>, serde_json::Error> {
        self.get_as(keys::SERVER_INFO)
    }
}

impl<N: Into<Cow<'static, str>>, V: Into<Json>> FromIterator<(N, V)> for Meta {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// Why a `_meta` key, or an extension identifier, breaks the naming rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A prefix label is empty, does not start with a letter, does not end with a letter or digit, or has other
    /// characters than letters, digits and hyphens inside.
    #[error("a prefix is labels of letters, digits and inner hyphens that start with a letter, joined by dots")]
    Label,
    /// The name does not begin and end with a letter or digit, or has other characters than letters, digits,
    /// `-`, `_` and `.` inside.
    #[error("a name begins and ends with a letter or digit and has only letters, digits, `-`, `_` and `.` inside")]
    Name,
    /// An extension identifier has no prefix.
    #[error("an extension identifier needs a prefix, such as `com.example/`")]
    NoPrefix,
}

/// Checks a `_meta` key against the naming rules. All letters and digits are ASCII.
///
/// # Errors
/// Which rule the key breaks.
pub fn check_meta_key(key: &str) -> Result<(), KeyError> {
    let name = match key.split_once('/') {
        Some((prefix, name)) => {
            if !prefix.split('.').all(is_label) {
                return Err(KeyError::Label);
            }
            name
        }
        None => key,
    };
    if name.is_empty() || is_name(name) { Ok(()) } else { Err(KeyError::Name) }
}

/// Checks an extension identifier: a `_meta` key whose prefix is mandatory.
///
/// # Errors
/// Which rule the identifier breaks.
pub fn check_extension_id(id: &str) -> Result<(), KeyError> {
    if !id.contains('/') {
        return Err(KeyError::NoPrefix);
    }
    check_meta_key(id)
}

/// Whether the protocol reserves a `_meta` key: by its prefix, whose *second* label is `modelcontextprotocol` or
/// `mcp`, or as one of the few keys without prefix that have a meaning.
#[must_use]
pub fn is_reserved_meta_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, _)) => matches!(prefix.split('.').nth(1), Some("modelcontextprotocol" | "mcp")),
        None => matches!(key, keys::PROGRESS_TOKEN | keys::TRACEPARENT | keys::TRACESTATE | keys::BAGGAGE),
    }
}

fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
}

fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}
