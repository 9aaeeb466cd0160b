//! Resources: definitions, templates and contents.
//!
//! Sources: `server/resources`, `server/utilities/caching`. What an address means, and whether it may be read, is
//! the application's; matching templates is `uri_template`'s.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::content::{Base64Error, from_base64, to_base64};
use super::macros::{self, members, object};
use super::{Annotations, CacheHints, Icon, InputResponses, Listed, Meta, Number, ResultType};
use crate::json::Json;

object! {
    /// A resource that a server offers.
    pub struct Resource {
        required {
            /// The name for programs.
            name: String = "name",
            /// The address.
            uri: String = "uri",
        }
        optional {
            /// The name for people.
            title: String = "title",
            /// What it is, for people and models.
            description: String = "description",
            /// The MIME type, if known.
            mime_type: String = "mimeType",
            /// The size of the raw contents in bytes, if known.
            size: Number = "size",
            /// Pictures of it.
            icons: Vec<Icon> = "icons",
            /// Hints for the client.
            annotations: Box<Annotations> = "annotations",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl Resource {
    /// Adds an icon.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icons.get_or_insert_default().push(icon);
        self
    }
}

impl Listed for Resource {
    const MEMBER: &'static str = "resources";
}

object! {
    /// A family of resources, by an RFC 6570 template of their addresses.
    pub struct ResourceTemplate {
        required {
            /// The name for programs.
            name: String = "name",
            /// The template.
            uri_template: String = "uriTemplate",
        }
        optional {
            /// The name for people.
            title: String = "title",
            /// What the family is for.
            description: String = "description",
            /// The MIME type, if all members have the same.
            mime_type: String = "mimeType",
            /// Pictures of it.
            icons: Vec<Icon> = "icons",
            /// Hints for the client.
            annotations: Box<Annotations> = "annotations",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl ResourceTemplate {
    /// Adds an icon.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icons.get_or_insert_default().push(icon);
        self
    }
}

impl Listed for ResourceTemplate {
    const MEMBER: &'static str = "resourceTemplates";
}

/// The contents of a resource, or of a part of one. Told apart by the member that carries them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResourceContents {
    /// Text.
    Text(TextResourceContents),
    /// Bytes, in base64.
    Blob(BlobResourceContents),
    /// Neither `text` nor `blob`, or no `uri`: as it came.
    Unknown(Json),
}

object! {
    /// Contents that are text.
    pub struct TextResourceContents {
        required {
            /// The address of these contents.
            uri: String = "uri",
            /// The text.
            text: String = "text",
        }
        optional {
            /// The MIME type, if known.
            mime_type: String = "mimeType",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// Contents that are bytes.
    pub struct BlobResourceContents {
        required {
            /// The address of these contents.
            uri: String = "uri",
            /// The bytes, in base64.
            blob: String = "blob",
        }
        optional {
            /// The MIME type, if known.
            mime_type: String = "mimeType",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl BlobResourceContents {
    /// The decoded bytes.
    ///
    /// # Errors
    /// When `blob` is not base64.
    pub fn bytes(&self) -> Result<Vec<u8>, Base64Error> {
        from_base64(&self.blob)
    }
}

impl ResourceContents {
    /// Text.
    #[must_use]
    pub fn text(uri: impl Into<String>, mime_type: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text(TextResourceContents::new(uri, text).mime_type(mime_type))
    }

    /// Bytes. They are encoded here.
    #[must_use]
    pub fn blob(uri: impl Into<String>, mime_type: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        Self::Blob(BlobResourceContents::new(uri, to_base64(bytes)).mime_type(mime_type))
    }

    /// The address, where there is one.
    #[must_use]
    pub fn uri(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => Some(&contents.uri),
            Self::Blob(contents) => Some(&contents.uri),
            Self::Unknown(_) => None,
        }
    }

    /// The MIME type, where there is one.
    #[must_use]
    pub fn mime_type(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => contents.mime_type.as_deref(),
            Self::Blob(contents) => contents.mime_type.as_deref(),
            Self::Unknown(_) => None,
        }
    }
}

impl From<TextResourceContents> for ResourceContents {
    fn from(contents: TextResourceContents) -> Self {
        Self::Text(contents)
    }
}

impl From<BlobResourceContents> for ResourceContents {
    fn from(contents: BlobResourceContents) -> Self {
        Self::Blob(contents)
    }
}

impl Serialize for ResourceContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(contents) => contents.serialize(serializer),
            Self::Blob(contents) => contents.serialize(serializer),
            Self::Unknown(json) => json.serialize(serializer),
        }
    }
}

members! {
    /// Contents before it is known what they are.
    pub(crate) struct AnyContents {
        required {}
        optional {
            /// See [`ResourceContents`].
            uri: String = "uri",
            /// See [`ResourceContents`].
            text: String = "text",
            /// See [`ResourceContents`].
            blob: String = "blob",
            /// See [`ResourceContents`].
            mime_type: String = "mimeType",
            /// See [`ResourceContents`].
            meta: Meta = "_meta",
        }
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let any: AnyContents = macros::read_object(deserializer)?;
        Ok(match any {
            AnyContents { uri: Some(uri), text: Some(text), blob, mime_type, meta, mut extra } => {
                // Both is not in the schema; the text wins and the bytes are kept beside it.
                if let Some(blob) = blob {
                    extra.push("blob", Json::from_value(&blob).map_err(serde::de::Error::custom)?);
                }
                Self::Text(TextResourceContents { uri, text, mime_type, meta, extra })
            }
            AnyContents { uri: Some(uri), text: None, blob: Some(blob), mime_type, meta, extra } => {
                Self::Blob(BlobResourceContents { uri, blob, mime_type, meta, extra })
            }
            other => Self::Unknown(Json::from_value(&other).map_err(serde::de::Error::custom)?),
        })
    }
}

object! {
    /// Parameters of `resources/read`.
    pub struct ReadResourceParams {
        required {
            /// The address.
            uri: String = "uri",
        }
        optional {
            /// Answers to the requests of an earlier `input_required` result.
            input_responses: InputResponses = "inputResponses",
            /// The state of that result, as it came.
            request_state: String = "requestState",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// The contents of a resource.
    pub struct ReadResourceResult {
        required {
            /// One or more contents: a directory, for instance, has several.
            contents: Vec<ResourceContents> = "contents",
        }
        optional {
            /// Modern: `complete`.
            result_type: ResultType = "resultType",
            /// Modern: how long the result stays fresh. See [`ReadResourceResult::cache_hints`].
            ttl_ms: Number = "ttlMs",
            /// Modern: who may share the result. See [`ReadResourceResult::cache_hints`].
            cache_scope: String = "cacheScope",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl ReadResourceResult {
    /// One text.
    #[must_use]
    pub fn text(uri: impl Into<String>, mime_type: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(vec![ResourceContents::text(uri, mime_type, text)])
    }

    /// One sequence of bytes.
    #[must_use]
    pub fn blob(uri: impl Into<String>, mime_type: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        Self::new(vec![ResourceContents::blob(uri, mime_type, bytes)])
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

    /// Whether the server stated caching hints.
    #[must_use]
    pub fn states_cache_hints(&self) -> bool {
        self.ttl_ms.is_some() || self.cache_scope.is_some()
    }
}

object! {
    /// Parameters of `resources/subscribe` and `resources/unsubscribe`.
    pub struct SubscribeParams {
        required {
            /// The address.
            uri: String = "uri",
        }
        optional {
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// Parameters of `notifications/resources/updated`.
    pub struct ResourceUpdatedParams {
        required {
            /// The resource, which may be a part of the one subscribed to.
            uri: String = "uri",
        }
        optional {
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}
