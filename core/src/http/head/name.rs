//! The headers that the protocol knows, in lower case.

/// The media types that the sender can read.
pub(crate) const ACCEPT: &str = "accept";
/// The methods that an endpoint has.
pub(crate) const ALLOW: &str = "allow";
/// Credentials.
pub(crate) const AUTHORIZATION: &str = "authorization";
/// Whether an answer may be kept.
pub(crate) const CACHE_CONTROL: &str = "cache-control";
/// The length of a body.
pub(crate) const CONTENT_LENGTH: &str = "content-length";
/// The media type of a body.
pub(crate) const CONTENT_TYPE: &str = "content-type";
/// The server that a client means.
pub(crate) const HOST: &str = "host";
/// The last event that a client has read (legacy).
pub(crate) const LAST_EVENT_ID: &str = "last-event-id";
/// The method of the request in the body.
pub(crate) const METHOD: &str = "mcp-method";
/// The name or URI that the request in the body is about.
pub(crate) const NAME: &str = "mcp-name";
/// The site that a browser speaks for.
pub(crate) const ORIGIN: &str = "origin";
/// Before the names of mirrored arguments.
pub(crate) const PARAM_PREFIX: &str = "mcp-param-";
/// The revision that is spoken.
pub(crate) const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The legacy session.
pub(crate) const SESSION_ID: &str = "mcp-session-id";
/// What an authorization must look like.
pub(crate) const WWW_AUTHENTICATE: &str = "www-authenticate";
/// Whether a proxy may collect an answer before it passes it on.
pub(crate) const X_ACCEL_BUFFERING: &str = "x-accel-buffering";
