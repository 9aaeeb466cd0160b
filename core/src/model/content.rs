//! Content blocks: what tool results, prompt messages and sampling messages are made of.
//!
//! Sources: `server/tools` (Tool Result), `server/prompts`, `client/sampling` of 2026-07-28; versions.
//!
//! | block | tools, prompts | sampling | since |
//! |---|---|---|---|
//! | `text`, `image` | yes | yes | 2024-11-05 |
//! | `resource` | yes | no | 2024-11-05 |
//! | `audio` | yes | yes | 2025-03-26 |
//! | `resource_link` | yes | no | 2025-06-18 |
//! | `tool_use`, `tool_result` | no | yes | 2025-11-25 |
//!
//! One type holds them all; which blocks may stand where is checked in `sampling` and shaped in `shape`.

use std::marker::PhantomData;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde::de::MapAccess;
use serde::{Deserialize, Deserializer};

use super::macros::{Parts, Tagged, TaggedVisitor, object, open_enum, union};
use super::{Icon, Meta, Number, ResourceContents};
use crate::json::Json;

open_enum! {
    /// Who speaks, or who is meant.
    pub enum Role {
        /// The model.
        Assistant = "assistant",
        /// The person.
        User = "user",
    }
}

object! {
    /// Hints about how to use or show something. Untrusted like everything else from a peer.
    pub struct Annotations {
        required {}
        optional {
            /// Who it is for.
            audience: Vec<Role> = "audience",
            /// How important it is: 0 may be left out, 1 is effectively required.
            priority: Number = "priority",
            /// When it was last changed, in ISO 8601.
            last_modified: String = "lastModified",
        }
    }
}

union! {
    /// One block of content.
    pub enum ContentBlock by "type" {
        /// Text.
        Text(TextContent) = "text",
        /// A picture.
        Image(ImageContent) = "image",
        /// Sound.
        Audio(AudioContent) = "audio",
        /// The address of a resource.
        ResourceLink(ResourceLink, in Box) = "resource_link",
        /// A resource with its contents.
        Resource(EmbeddedResource, in Box) = "resource",
        /// Sampling: the model wants a tool to be run.
        ToolUse(ToolUseContent, in Box) = "tool_use",
        /// Sampling: what a tool answered.
        ToolResult(ToolResultContent, in Box) = "tool_result",
    }
    absent => Unknown
}

impl ContentBlock {
    /// Text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// A picture. The bytes are encoded here.
    #[must_use]
    pub fn image(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::image_base64(to_base64(bytes), mime_type)
    }

    /// A picture that is base64 already.
    #[must_use]
    pub fn image_base64(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::new(data, mime_type))
    }

    /// Sound. The bytes are encoded here.
    #[must_use]
    pub fn audio(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::audio_base64(to_base64(bytes), mime_type)
    }

    /// Sound that is base64 already.
    #[must_use]
    pub fn audio_base64(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent::new(data, mime_type))
    }

    /// A resource with its contents.
    #[must_use]
    pub fn resource(contents: impl Into<ResourceContents>) -> Self {
        EmbeddedResource::new(contents).into()
    }

    /// The address of a resource.
    #[must_use]
    pub fn resource_link(name: impl Into<String>, uri: impl Into<String>) -> Self {
        ResourceLink::new(name, uri).into()
    }

    /// The text, where the block is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }

    /// Sets the annotations; a block that cannot have any stays as it is.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        match &mut self {
            Self::Text(block) => block.annotations = Some(annotations.into()),
            Self::Image(block) => block.annotations = Some(annotations.into()),
            Self::Audio(block) => block.annotations = Some(annotations.into()),
            Self::ResourceLink(block) => block.annotations = Some(annotations.into()),
            Self::Resource(block) => block.annotations = Some(annotations.into()),
            Self::ToolUse(_) | Self::ToolResult(_) | Self::Unknown(_) => {}
        }
        self
    }
}

impl From<String> for ContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for ContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

object! {
    /// Text.
    pub struct TextContent {
        tag "type" = "text";
        required {
            /// The text.
            text: String = "text",
        }
        optional {
            /// Hints for the client.
            annotations: Box<Annotations> = "annotations",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// A picture.
    pub struct ImageContent {
        tag "type" = "image";
        required {
            /// The bytes, in base64.
            data: String = "data",
            /// Their MIME type.
            mime_type: String = "mimeType",
        }
        optional {
            /// Hints for the client.
            annotations: Box<Annotations> = "annotations",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// Sound.
    pub struct AudioContent {
        tag "type" = "audio";
        required {
            /// The bytes, in base64.
            data: String = "data",
            /// Their MIME type.
            mime_type: String = "mimeType",
        }
        optional {
            /// Hints for the client.
            annotations: Box<Annotations> = "annotations",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// The address of a resource. It need not be in any list.
    pub struct ResourceLink {
        tag "type" = "resource_link";
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

object! {
    /// A resource with its contents.
    pub struct EmbeddedResource {
        tag "type" = "resource";
        required {
            /// The contents.
            resource: ResourceContents = "resource",
        }
        optional {
            /// Hints for the client.
            annotations: Box<Annotations> = "annotations",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// Sampling: the model wants a tool to be run.
    pub struct ToolUseContent {
        tag "type" = "tool_use";
        required {
            /// Names this use, for the result.
            id: String = "id",
            /// The tool.
            name: String = "name",
            /// The arguments: an object.
            input: Json = "input",
        }
        optional {
            /// Metadata, to be kept in follow-ups.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// Sampling: what a tool answered.
    pub struct ToolResultContent {
        tag "type" = "tool_result";
        required {
            /// The `id` of the use that is answered.
            tool_use_id: String = "toolUseId",
        }
        defaulted {
            /// What the tool answered. A `tool_result` inside it is no block of the protocol and reads as
            /// [`ContentBlock::Unknown`].
            content: Vec<ContentBlock> = "content" via LeafBlocks,
        }
        optional {
            /// Whether the tool failed; absent is no.
            is_error: bool = "isError",
            /// Metadata, to be kept in follow-ups.
            meta: Meta = "_meta",
        }
        nullable {
            /// The structured part of the answer.
            structured_content = "structuredContent",
        }
    }
}

/// Blocks in which a tool result is not read as one, so that reading does not recurse.
#[derive(Deserialize)]
#[serde(transparent)]
struct LeafBlocks(Vec<LeafBlock>);

struct LeafBlock(ContentBlock);

impl From<LeafBlocks> for Vec<ContentBlock> {
    fn from(blocks: LeafBlocks) -> Self {
        blocks.0.into_iter().map(|block| block.0).collect()
    }
}

impl Tagged for LeafBlock {
    const NAME: &'static str = ContentBlock::NAME;
    const TAG: &'static str = ContentBlock::TAG;

    fn resume<'de, A: MapAccess<'de>>(parts: Parts<'de, A>) -> Result<Self, A::Error> {
        if parts.tag.as_deref() == Some("tool_result") {
            return parts.into_json().map(|json| Self(ContentBlock::Unknown(json)));
        }
        ContentBlock::resume(parts).map(Self)
    }
}

impl<'de> Deserialize<'de> for LeafBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TaggedVisitor(PhantomData))
    }
}

/// Binary data of a peer is not base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the data is not base64")]
pub struct Base64Error;

/// Standard alphabet; padding is written, and not insisted on when reading.
const TOLERANT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent),
);

pub(crate) fn to_base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

pub(crate) fn from_base64(text: &str) -> Result<Vec<u8>, Base64Error> {
    TOLERANT.decode(text).map_err(|_| Base64Error)
}

impl ImageContent {
    /// The decoded bytes.
    ///
    /// # Errors
    /// When `data` is not base64.
    pub fn bytes(&self) -> Result<Vec<u8>, Base64Error> {
        from_base64(&self.data)
    }
}

impl AudioContent {
    /// The decoded bytes.
    ///
    /// # Errors
    /// When `data` is not base64.
    pub fn bytes(&self) -> Result<Vec<u8>, Base64Error> {
        from_base64(&self.data)
    }
}
