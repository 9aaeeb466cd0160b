//! How the two sides introduce themselves: `initialize` (legacy) and `server/discover` (modern).
//!
//! Sources: `basic/lifecycle` of 2025-11-25, `server/discover` and `basic/versioning` of 2026-07-28. Which version
//! is chosen is decided in `era`.

use super::macros::object;
use super::{CacheHints, ClientCapabilities, Implementation, Meta, Number, ResultType, ServerCapabilities};

object! {
    /// Parameters of `initialize`.
    pub struct InitializeParams {
        required {
            /// The newest revision that the client wants.
            protocol_version: String = "protocolVersion",
            /// What the client can do.
            capabilities: ClientCapabilities = "capabilities",
            /// Who it is.
            client_info: Implementation = "clientInfo",
        }
        optional {
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// The answer to `initialize`.
    pub struct InitializeResult {
        required {
            /// The revision of the session.
            protocol_version: String = "protocolVersion",
            /// What the server can do.
            capabilities: ServerCapabilities = "capabilities",
            /// Who it is.
            server_info: Implementation = "serverInfo",
        }
        optional {
            /// How to use the server, for the model.
            instructions: String = "instructions",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// The answer to `server/discover`.
    pub struct DiscoverResult {
        required {
            /// The revisions that the server speaks.
            supported_versions: Vec<String> = "supportedVersions",
            /// What the server can do.
            capabilities: ServerCapabilities = "capabilities",
        }
        optional {
            /// How to use the server, for the model.
            instructions: String = "instructions",
            /// `complete`.
            result_type: ResultType = "resultType",
            /// How long the result stays fresh. See [`DiscoverResult::cache_hints`].
            ttl_ms: Number = "ttlMs",
            /// Who may share the result. See [`DiscoverResult::cache_hints`].
            cache_scope: String = "cacheScope",
            /// Metadata; names the server.
            meta: Meta = "_meta",
        }
    }
}

impl DiscoverResult {
    /// Who the server is: in the metadata, or else, as some servers have it, in the body. Something there that is
    /// no identity counts as absent, which is legal.
    #[must_use]
    pub fn server_info(&self) -> Option<Implementation> {
        let in_meta = self.meta.as_ref().and_then(|meta| meta.server_info().ok().flatten());
        in_meta.or_else(|| self.extra.get("serverInfo").and_then(|json| json.parse().ok()))
    }

    /// The caching hints as a client should understand them.
    #[must_use]
    pub fn cache_hints(&self) -> CacheHints {
        CacheHints::from_wire(self.ttl_ms.as_ref(), self.cache_scope.as_deref())
    }

    /// Sets the caching hints.
    #[must_use]
    pub fn cached(self, hints: CacheHints) -> Self {
        self.ttl_ms(hints.ttl_ms).cache_scope(hints.scope.as_str())
    }
}
