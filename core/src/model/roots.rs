//! Roots: the folders and files that a client lets a server work in.
//!
//! Source: `client/roots`. Deprecated by 2026-07-28. What may be exposed, and whether it exists, is the host's.

use super::macros::object;
use super::{ClientCapabilities, Meta};

object! {
    /// A folder or file.
    pub struct Root {
        required {
            /// The address: a `file:` URI. See [`Root::check_uri`].
            uri: String = "uri",
        }
        optional {
            /// The name for people.
            name: String = "name",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

/// The address of a root is not a `file:` URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address of a root must begin with `file://`")]
pub struct RootUriError;

impl Root {
    /// Whether the address is one that a client may send.
    ///
    /// # Errors
    /// When it does not begin with `file://`.
    pub fn check_uri(&self) -> Result<(), RootUriError> {
        const PREFIX: &str = "file://";

        match self.uri.get(..PREFIX.len()) {
            Some(start) if start.eq_ignore_ascii_case(PREFIX) => Ok(()),
            _ => Err(RootUriError),
        }
    }
}

object! {
    /// Parameters of `roots/list`, which may be absent altogether.
    pub struct ListRootsParams {
        required {}
        optional {
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl ListRootsParams {
    /// What the client must have declared for this request.
    #[must_use]
    pub fn required_capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::new().with_roots()
    }

    /// Whether there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.meta.is_none() && self.extra.is_empty()
    }
}

object! {
    /// The answer to `roots/list`.
    pub struct ListRootsResult {
        required {
            /// The roots in order.
            roots: Vec<Root> = "roots",
        }
        optional {
            /// Metadata; legacy only.
            meta: Meta = "_meta",
        }
    }
}
