//! Tools: definitions, calls and results.
//!
//! Source: `server/tools`. Schemas are carried as JSON: every keyword and the order of properties survive. What a
//! schema may be, and whether arguments and results fit, is `schema`'s; what a revision can carry is `shape`'s.

use bytes::Bytes;
use serde::Serialize;

use super::macros::object;
use super::{ContentBlock, Icon, InputResponses, Listed, Meta, ResultType};
use crate::json::Json;

object! {
    /// A tool that a server offers, or that a sampling request lends to the model.
    pub struct Tool {
        required {
            /// The name. See [`Tool::check_name`].
            name: String = "name",
        }
        preset {
            /// The JSON Schema of the arguments; its root is `"type":"object"`. [`Tool::new`] accepts any object.
            input_schema: Json = "inputSchema"
                (Json::from_validated(Bytes::from_static(br#"{"type":"object"}"#))),
        }
        optional {
            /// The name for people.
            title: String = "title",
            /// What it does, for people and models.
            description: String = "description",
            /// The JSON Schema of the structured result.
            output_schema: Json = "outputSchema",
            /// How it behaves. Hints only, and untrusted unless the server is trusted.
            annotations: ToolAnnotations = "annotations",
            /// Pictures of it.
            icons: Vec<Icon> = "icons",
            /// 2025-11-25: support for tasks. Carried, not used.
            execution: Json = "execution",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

/// The longest tool name that the specification recommends, in characters.
pub const MAX_TOOL_NAME: usize = 128;

/// What is wrong with a tool name. The specification only recommends the rules, so this is a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolNameWarning {
    /// The name is empty.
    #[error("a tool name should not be empty")]
    Empty,
    /// The name is longer than [`MAX_TOOL_NAME`].
    #[error("a tool name should have at most {MAX_TOOL_NAME} characters")]
    TooLong,
    /// The name has other characters than ASCII letters, digits, `_`, `-` and `.`.
    #[error("a tool name should have only ASCII letters, digits, `_`, `-` and `.`")]
    Characters,
}

impl Tool {
    /// Whether the name keeps to what the specification recommends.
    ///
    /// # Errors
    /// Which recommendation it breaks. Such a name is legal.
    pub fn check_name(&self) -> Result<(), ToolNameWarning> {
        check_tool_name(&self.name)
    }

    /// Adds an icon.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icons.get_or_insert_default().push(icon);
        self
    }

    /// Says that the tool changes nothing.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.hint(|hints| hints.read_only_hint = Some(true))
    }

    /// Says whether the tool may destroy something, rather than only add to it.
    #[must_use]
    pub fn destructive(self, destructive: bool) -> Self {
        self.hint(|hints| hints.destructive_hint = Some(destructive))
    }

    /// Says that a second call with the same arguments changes nothing more.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.hint(|hints| hints.idempotent_hint = Some(true))
    }

    /// Says whether the tool deals with an open world of things outside, such as a web search.
    #[must_use]
    pub fn open_world(self, open: bool) -> Self {
        self.hint(|hints| hints.open_world_hint = Some(open))
    }

    fn hint(mut self, set: impl FnOnce(&mut ToolAnnotations)) -> Self {
        set(self.annotations.get_or_insert_with(ToolAnnotations::new));
        self
    }

    /// What to show to people: the title, the title in the annotations, or else the name.
    #[must_use]
    pub fn display_name(&self) -> &str {
        let annotated = || self.annotations.as_ref().and_then(|hints| hints.title.as_deref());
        self.title.as_deref().or_else(annotated).unwrap_or(&self.name)
    }
}

/// Whether a tool name keeps to what the specification recommends.
///
/// # Errors
/// Which recommendation it breaks. Such a name is legal.
pub fn check_tool_name(name: &str) -> Result<(), ToolNameWarning> {
    if name.is_empty() {
        return Err(ToolNameWarning::Empty);
    }
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')) {
        return Err(ToolNameWarning::Characters);
    }
    // All characters are single bytes from here on.
    if name.len() > MAX_TOOL_NAME { Err(ToolNameWarning::TooLong) } else { Ok(()) }
}

impl Listed for Tool {
    const MEMBER: &'static str = "tools";
}

object! {
    /// How a tool behaves: hints, none of which is a promise.
    pub struct ToolAnnotations {
        required {}
        optional {
            /// The name for people.
            title: String = "title",
            /// The tool changes nothing. Absent is no.
            read_only_hint: bool = "readOnlyHint",
            /// The tool may destroy something. Absent is yes. Means nothing for a read-only tool.
            destructive_hint: bool = "destructiveHint",
            /// A second call with the same arguments changes nothing more. Absent is no.
            idempotent_hint: bool = "idempotentHint",
            /// The tool deals with things outside. Absent is yes.
            open_world_hint: bool = "openWorldHint",
        }
    }
}

impl ToolAnnotations {
    /// Whether the tool says that it changes nothing.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// Whether the tool may destroy something.
    #[must_use]
    pub fn is_destructive(&self) -> bool {
        !self.is_read_only() && self.destructive_hint.unwrap_or(true)
    }

    /// Whether a second call with the same arguments changes nothing more.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.is_read_only() || self.idempotent_hint.unwrap_or(false)
    }

    /// Whether the tool deals with things outside.
    #[must_use]
    pub fn is_open_world(&self) -> bool {
        self.open_world_hint.unwrap_or(true)
    }
}

object! {
    /// Parameters of `tools/call`.
    pub struct CallToolParams {
        required {
            /// The tool.
            name: String = "name",
        }
        optional {
            /// The arguments: an object.
            arguments: Json = "arguments",
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
    /// What a tool answered. Some servers leave `content` out, which is read as none.
    pub struct CallToolResult {
        required {}
        defaulted {
            /// The answer as blocks.
            content: Vec<ContentBlock> = "content",
        }
        optional {
            /// Whether the tool failed; absent is no.
            is_error: bool = "isError",
            /// Modern: `complete`.
            result_type: ResultType = "resultType",
            /// Metadata.
            meta: Meta = "_meta",
        }
        nullable {
            /// The answer as a value that fits the tool's output schema.
            structured_content = "structuredContent",
        }
    }
}

impl CallToolResult {
    /// One text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        let mut result = Self::new();
        result.content = vec![ContentBlock::text(text)];
        result
    }

    /// Blocks.
    #[must_use]
    pub fn blocks(blocks: impl IntoIterator<Item = ContentBlock>) -> Self {
        let mut result = Self::new();
        result.content = blocks.into_iter().collect();
        result
    }

    /// A structured value, with its JSON as a text for clients that read blocks only.
    #[must_use]
    pub fn structured(value: impl Into<Json>) -> Self {
        let value = value.into();
        Self::text(value.get()).structured_content(value)
    }

    /// A structured value of any type, with its JSON as a text for clients that read blocks only.
    ///
    /// # Errors
    /// Only what `value`'s own `Serialize` refuses.
    pub fn structured_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        Json::from_value(value).map(Self::structured)
    }

    /// A failure that the model should see, so that it can do better.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self::text(text).is_error(true)
    }

    /// Whether the tool failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.is_error == Some(true)
    }

    /// The texts of all text blocks, joined by line feeds.
    #[must_use]
    pub fn joined_text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(ContentBlock::as_text).collect();
        texts.join("\n")
    }
}

impl From<ContentBlock> for CallToolResult {
    fn from(block: ContentBlock) -> Self {
        Self::blocks([block])
    }
}

impl From<Vec<ContentBlock>> for CallToolResult {
    fn from(blocks: Vec<ContentBlock>) -> Self {
        Self::blocks(blocks)
    }
}
