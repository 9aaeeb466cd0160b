//! The reserved keys of `_meta`. Source: `basic/index` (`_meta`) of 2026-07-28.

/// The revision that a modern request claims.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Name and version of the client.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// What the client can do, for this request.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The least level of log messages that the client wants for this request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Name and version of the server, on results.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The id of the listen request that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// Opts a request into progress notifications.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// W3C trace context.
pub const TRACEPARENT: &str = "traceparent";
/// W3C trace context, vendor part.
pub const TRACESTATE: &str = "tracestate";
/// W3C baggage.
pub const BAGGAGE: &str = "baggage";
