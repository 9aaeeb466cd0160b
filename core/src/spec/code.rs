//! Error codes. Source: `basic/index` (Error Codes) of 2026-07-28 and the earlier schemas.
//!
//! | range | whose |
//! |---|---|
//! | -32700, -32600 … -32603 | JSON-RPC 2.0 |
//! | -32099 … -32020 | the specification: only the codes listed here may be sent |
//! | -32019 … -32000 | older implementations: never sent, and no meaning assumed but for -32002 |
//! | all others | applications |

use std::fmt;

/// A JSON-RPC error code. Codes of applications survive as they came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(pub i64);

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $name:ident = $code:literal, $text:literal;)*) => {
        impl ErrorCode {
            $($(#[doc = $doc])* pub const $name: Self = Self($code);)*

            /// A short name for people, where the code has one.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// The frame is not JSON.
    PARSE_ERROR = -32700, "parse error";
    /// The JSON is not a request, or a request that may not be sent here.
    INVALID_REQUEST = -32600, "invalid request";
    /// No such method, or not in this revision, or the capability behind it is absent.
    METHOD_NOT_FOUND = -32601, "method not found";
    /// The parameters do not fit the method.
    INVALID_PARAMS = -32602, "invalid params";
    /// The receiver failed.
    INTERNAL_ERROR = -32603, "internal error";
    /// Legacy revisions only: the resource does not exist.
    RESOURCE_NOT_FOUND = -32002, "resource not found";
    /// The HTTP headers contradict the body.
    HEADER_MISMATCH = -32020, "header mismatch";
    /// The request needs a capability that the client did not declare.
    MISSING_REQUIRED_CLIENT_CAPABILITY = -32021, "missing required client capability";
    /// The server does not speak the requested revision.
    UNSUPPORTED_PROTOCOL_VERSION = -32022, "unsupported protocol version";
    /// 2025-11-25 only: the client must visit a URL before the request can succeed.
    URL_ELICITATION_REQUIRED = -32042, "url elicitation required";
    /// The example of legacy revisions for a user who refused.
    USER_REJECTED = -1, "user rejected the request";
}

impl ErrorCode {
    /// Whether the code is one that only a modern server sends, and so proves its era.
    #[must_use]
    pub const fn is_recognised_modern(self) -> bool {
        matches!(
            self,
            Self::HEADER_MISMATCH | Self::MISSING_REQUIRED_CLIENT_CAPABILITY | Self::UNSUPPORTED_PROTOCOL_VERSION
        )
    }

    /// Whether the code lies in the range that only the specification may fill.
    #[must_use]
    pub const fn is_reserved(self) -> bool {
        self.0 >= -32099 && self.0 <= -32020
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{} ({name})", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}
