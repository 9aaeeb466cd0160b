//! Where the server is, and what every request to it carries.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use thiserror::Error;

use crate::http::Headers;
use crate::http::head::{name, trim};

/// Headers that are not the application's to set: the machine's, and those that frame a message.
const RESERVED: [&str; 11] = [
    name::ACCEPT,
    name::CONTENT_LENGTH,
    name::CONTENT_TYPE,
    name::HOST,
    name::LAST_EVENT_ID,
    name::METHOD,
    name::NAME,
    name::PROTOCOL_VERSION,
    name::SESSION_ID,
    "connection",
    "transfer-encoding",
];

/// The endpoint of a server. Its `Debug` shows no values of headers.
///
/// ```
/// # use mcp_sansio::http::client::Endpoint;
/// let endpoint = Endpoint::new("https://example.com/mcp")?.authorization("Bearer abc")?;
/// assert_eq!(endpoint.url(), "https://example.com/mcp");
/// # Ok::<(), mcp_sansio::http::client::EndpointError>(())
/// ```
#[derive(Clone)]
pub struct Endpoint {
    url: Arc<str>,
    headers: Headers,
    authorization: Option<Bytes>,
    ask_authorization: bool,
    get_stream: bool,
    deprecated_sse: bool,
}

/// Why something is no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// Neither `http://` nor `https://`.
    #[error("the address is neither http nor https")]
    Scheme,
    /// No host, or something that no address holds.
    #[error("the address is malformed")]
    Malformed,
    /// A user or a password. Addresses are shown and logged: give credentials as a header.
    #[error("the address must hold no credentials")]
    UserInfo,
    /// A fragment, which no server sees.
    #[error("the address must hold no fragment")]
    Fragment,
    /// No name of a header.
    #[error("{0:?} is no name of a header")]
    HeaderName(String),
    /// A header that the machine or the HTTP library sets.
    #[error("the header {0} is set by the machine")]
    HeaderReserved(String),
    /// A value that no header can have. It is not shown.
    #[error("the value for the header {0} holds what no header may hold")]
    HeaderValue(String),
}

impl Endpoint {
    /// An endpoint at this address.
    ///
    /// # Errors
    /// When `url` is no plain address of HTTP.
    pub fn new(url: &str) -> Result<Self, EndpointError> {
        check_url(url)?;
        Ok(Self {
            url: url.into(),
            headers: Headers::new(),
            authorization: None,
            ask_authorization: false,
            get_stream: true,
            deprecated_sse: true,
        })
    }

    /// Adds a header to every request. `authorization` is taken as [`Endpoint::authorization`].
    ///
    /// # Errors
    /// When the name or the value is malformed, or the header is the machine's.
    pub fn header(mut self, name: &str, value: impl Into<Bytes>) -> Result<Self, EndpointError> {
        let name = name.to_ascii_lowercase();
        if !is_token(&name) {
            return Err(EndpointError::HeaderName(name));
        }
        if name == name::AUTHORIZATION {
            return self.authorization(value);
        }
        if RESERVED.contains(&&*name) || name.starts_with(name::PARAM_PREFIX) {
            return Err(EndpointError::HeaderReserved(name));
        }
        let value = value.into();
        if !is_value(&value) {
            return Err(EndpointError::HeaderValue(name));
        }
        self.headers.push(name, value);
        Ok(self)
    }

    /// The credentials for every request, such as `Bearer abc`.
    ///
    /// # Errors
    /// When no header can have this value.
    pub fn authorization(mut self, value: impl Into<Bytes>) -> Result<Self, EndpointError> {
        self.set_authorization(Some(value.into()))?;
        Ok(self)
    }

    /// The same for a bearer token, which is all that most servers want.
    ///
    /// # Errors
    /// When no header can have this value.
    pub fn bearer(self, token: &str) -> Result<Self, EndpointError> {
        self.authorization(format!("Bearer {token}"))
    }

    /// Whether the application is asked when the server wants (other) credentials. Off: the request fails.
    #[must_use]
    pub const fn ask_authorization(mut self, ask: bool) -> Self {
        self.ask_authorization = ask;
        self
    }

    /// Whether a legacy session opens the stream that carries what no request asked for. On; servers that have none
    /// say so.
    #[must_use]
    pub const fn get_stream(mut self, get_stream: bool) -> Self {
        self.get_stream = get_stream;
        self
    }

    /// Whether a server that refuses `initialize` as servers of 2024-11-05 do is looked at for their transport, a
    /// stream beside an address for messages. On.
    #[must_use]
    pub const fn deprecated_sse(mut self, deprecated_sse: bool) -> Self {
        self.deprecated_sse = deprecated_sse;
        self
    }

    /// The address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn set_authorization(&mut self, value: Option<Bytes>) -> Result<(), EndpointError> {
        if value.as_ref().is_some_and(|value| !is_value(value)) {
            return Err(EndpointError::HeaderValue(name::AUTHORIZATION.to_owned()));
        }
        self.authorization = value;
        Ok(())
    }

    pub(super) fn shared_url(&self) -> Arc<str> {
        Arc::clone(&self.url)
    }

    pub(super) const fn asks(&self) -> bool {
        self.ask_authorization
    }

    pub(super) const fn wants_deprecated_sse(&self) -> bool {
        self.deprecated_sse
    }

    pub(super) const fn wants_get_stream(&self) -> bool {
        self.get_stream
    }

    /// The headers of every request.
    pub(super) fn headers(&self) -> Headers {
        let mut headers = self.headers.clone();
        if let Some(value) = &self.authorization {
            headers.push(name::AUTHORIZATION, value.clone());
        }
        headers
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Endpoint")
            .field("url", &self.url)
            .field("headers", &names)
            .field("authorization", &self.authorization.as_ref().map(|_| "(hidden)"))
            .finish_non_exhaustive()
    }
}

fn check_url(url: &str) -> Result<(), EndpointError> {
    let (scheme, rest) = url.split_once("://").ok_or(EndpointError::Scheme)?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(EndpointError::Scheme);
    }
    if rest.contains('#') {
        return Err(EndpointError::Fragment);
    }
    let authority = rest.split(['/', '?', '\\']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(EndpointError::UserInfo);
    }
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    if authority.is_empty() || authority.starts_with(':') || !rest.bytes().all(plain) {
        return Err(EndpointError::Malformed);
    }
    Ok(())
}

fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

fn is_value(value: &[u8]) -> bool {
    trim(value).len() == value.len() && value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~' | 0x80..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_plain() {
        for url in ["http://127.0.0.1:8080", "HTTPS://example.com/mcp?a=b", "http://[::1]:1/"] {
            assert_eq!(Endpoint::new(url).map(|endpoint| endpoint.url().to_owned()), Ok(url.to_owned()));
        }
        for (url, error) in [
            ("example.com/mcp", EndpointError::Scheme),
            ("ftp://example.com", EndpointError::Scheme),
            ("https://", EndpointError::Malformed),
            ("https://:80/", EndpointError::Malformed),
            ("https://exa mple.com/", EndpointError::Malformed),
            ("https://example.com/\r\nX: y", EndpointError::Malformed),
            ("https://user:pw@example.com/", EndpointError::UserInfo),
            ("https://example.com/#top", EndpointError::Fragment),
        ] {
            assert_eq!(Endpoint::new(url).err(), Some(error), "{url}");
        }
    }

    #[test]
    fn headers_that_frame_or_contradict_a_message_are_refused_and_values_are_not_shown() {
        let endpoint = || Endpoint::new("http://localhost").unwrap();
        for name in ["Accept", "MCP-Method", "mcp-param-x", "Content-Length", "Transfer-Encoding", "Host"] {
            assert!(matches!(endpoint().header(name, "1"), Err(EndpointError::HeaderReserved(_))), "{name}");
        }
        assert!(matches!(endpoint().header("a b", "1"), Err(EndpointError::HeaderName(_))));
        for value in ["a\r\nb", " a", "a\0"] {
            let error = endpoint().header("x-key", value).unwrap_err();
            assert_eq!(error, EndpointError::HeaderValue("x-key".to_owned()));
            assert!(!error.to_string().contains(value));
        }
        let endpoint = endpoint().header("Authorization", "Bearer secret").unwrap().header("X-Key", "secret").unwrap();
        assert_eq!(endpoint.headers().get("authorization"), Some(&b"Bearer secret"[..]));
        assert_eq!(endpoint.headers().get("x-key"), Some(&b"secret"[..]));
        assert!(!format!("{endpoint:?}").contains("secret"));
    }
}
