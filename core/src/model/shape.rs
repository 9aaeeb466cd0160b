//! Rewriting outgoing values to what a revision can carry.
//!
//! The schemas of all revisions are open to unknown members but for the unions of content blocks and the types of
//! some members; only those are rewritten here. Everything else stays, since an older peer skips what it does not
//! know. Sources: the `schema.json` of each revision and its changelog.
//!
//! | value | 2024-11-05 | 2025-03-26 | 2025-06-18 | 2025-11-25 | 2026-07-28 |
//! |---|---|---|---|---|---|
//! | audio block | text that says so | as it is | as it is | as it is | as it is |
//! | resource link | text | text | as it is | as it is | as it is |
//! | structured content | left out | left out | object, or wrapped | object, or wrapped | as it is |
//! | output schema | left out | left out | object, or wrapped | object, or wrapped | as it is |
//! | sampling content | one block | one block | one block | one or a list | one or a list |
//! | sampling with tools | error | error | error | as it is | as it is |
//! | elicitation | error | error | form | form, url with id | form, url without id |
//! | `execution` of a tool | left out | left out | left out | as it is | left out |
//!
//! *Wrapped* is `{"result": …}`: value and schema are wrapped together, or neither ([`Wrapping`]).
//!
//! Every `needs_shaping` costs a few comparisons, and nothing is cloned when it answers no. Whether a capability
//! allows a request at all is decided before, in `server`.

use std::borrow::Cow;

use super::form::{downgrade_form, has_list};
use super::wrap::{wrap_schema, wrap_value};
use super::{
    AudioContent, CallToolResult, ContentBlock, CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult,
    Extra, GetPromptResult, ResourceLink, SamplingContent, SamplingMessage, TextContent, Tool, ToolResultContent,
};
use crate::json::Json;
use crate::spec::Version;

/// What structured content may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structured {
    /// There is none.
    Absent,
    /// An object, with a schema whose root is `"type":"object"`.
    Object,
    /// Any JSON value, with any schema.
    Any,
}

/// What elicitation may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elicitation {
    /// There is none.
    Absent,
    /// Forms whose choices are `enum` with `enumNames`, one at a time.
    PlainForm,
    /// Forms; pages, with an `elicitationId`.
    UrlWithId,
    /// Forms; pages, without an `elicitationId`.
    UrlWithoutId,
}

/// What a revision can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// Audio blocks.
    pub audio: bool,
    /// Resource link blocks.
    pub resource_link: bool,
    /// Structured content and output schemas.
    pub structured: Structured,
    /// Lists of blocks in sampling messages.
    pub sampling_lists: bool,
    /// Tools in sampling.
    pub sampling_tools: bool,
    /// Elicitation.
    pub elicitation: Elicitation,
    /// The `execution` member of tools.
    pub execution: bool,
}

impl Shape {
    /// 2024-11-05.
    pub const V2024_11_05: Self = Self {
        audio: false,
        resource_link: false,
        structured: Structured::Absent,
        sampling_lists: false,
        sampling_tools: false,
        elicitation: Elicitation::Absent,
        execution: false,
    };
    /// 2025-03-26.
    pub const V2025_03_26: Self = Self { audio: true, ..Self::V2024_11_05 };
    /// 2025-06-18.
    pub const V2025_06_18: Self = Self {
        resource_link: true,
        structured: Structured::Object,
        elicitation: Elicitation::PlainForm,
        ..Self::V2025_03_26
    };
    /// 2025-11-25.
    pub const V2025_11_25: Self = Self {
        sampling_lists: true,
        sampling_tools: true,
        elicitation: Elicitation::UrlWithId,
        execution: true,
        ..Self::V2025_06_18
    };
    /// 2026-07-28.
    pub const V2026_07_28: Self = Self {
        structured: Structured::Any,
        elicitation: Elicitation::UrlWithoutId,
        execution: false,
        ..Self::V2025_11_25
    };

    /// What `version` can carry.
    #[must_use]
    pub const fn of(version: Version) -> Self {
        match version {
            Version::V2024_11_05 => Self::V2024_11_05,
            Version::V2025_03_26 => Self::V2025_03_26,
            Version::V2025_06_18 => Self::V2025_06_18,
            Version::V2025_11_25 => Self::V2025_11_25,
            Version::V2026_07_28 => Self::V2026_07_28,
        }
    }

    /// Whether every block that tools and prompts answer can be carried.
    const fn has_all_blocks(&self) -> bool {
        self.audio && self.resource_link
    }

    /// What becomes of an output schema.
    #[must_use]
    pub fn output_schema(&self, schema: &Json) -> OutputSchema {
        match self.structured {
            Structured::Absent => OutputSchema::Drop,
            Structured::Any => OutputSchema::Keep,
            Structured::Object if has_object_root(schema) => OutputSchema::Keep,
            Structured::Object => wrap_schema(schema).map_or(OutputSchema::Drop, OutputSchema::Wrap),
        }
    }

    /// How results of a tool with this output schema are treated. Compute it once per tool and revision.
    #[must_use]
    pub fn wrapping(&self, output_schema: Option<&Json>) -> Wrapping {
        match output_schema.map(|schema| self.output_schema(schema)) {
            Some(OutputSchema::Wrap(_)) => Wrapping::Always,
            Some(OutputSchema::Keep | OutputSchema::Drop) | None => Wrapping::UnlessObject,
        }
    }
}

/// What becomes of an output schema on a revision.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputSchema {
    /// It stays as it is.
    Keep,
    /// It becomes this one, which describes `{"result": …}`.
    Wrap(Json),
    /// It is left out: the revision has none, or the schema cannot be moved because a part of it has an `$id`.
    Drop,
}

/// Which structured values are wrapped on a revision that carries objects only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrapping {
    /// All that are not objects: the tool's schema is not wrapped.
    #[default]
    UnlessObject,
    /// All: the tool's schema is wrapped. Objects of failed calls, which no schema describes, stay as they are.
    Always,
}

/// A value that a revision cannot carry in any form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// The revision has no elicitation.
    #[error("the revision of this session has no elicitation")]
    NoElicitation,
    /// The revision has no elicitation of this mode.
    #[error("the revision of this session has no elicitation of this mode")]
    NoElicitationMode,
    /// Before 2026-07-28 an elicitation by URL needs an id.
    #[error("the revision of this session needs an `elicitationId`")]
    NoElicitationId,
    /// The revision has no choice of several values.
    #[error("the revision of this session has no choice of several values in a form")]
    MultiSelect,
    /// The revision has no tools in sampling.
    #[error("the revision of this session has no tools in sampling")]
    SamplingTools,
    /// The revision has one block per sampling message, and these blocks cannot be made one.
    #[error("the revision of this session carries one content block per sampling message")]
    SamplingList,
}

fn has_object_root(schema: &Json) -> bool {
    schema.is_object()
        && schema.parse::<Extra>().is_ok_and(|members| {
            members.get("type").is_some_and(|kind| kind.parse_borrowed::<&str>().is_ok_and(|kind| kind == "object"))
        })
}

impl ContentBlock {
    /// Whether [`ContentBlock::shape`] would change the block.
    #[must_use]
    pub fn needs_shaping(&self, shape: &Shape) -> bool {
        match self {
            Self::Audio(_) => !shape.audio,
            Self::ResourceLink(_) => !shape.resource_link,
            Self::ToolResult(result) => result.needs_shaping(shape),
            Self::Text(_) | Self::Image(_) | Self::Resource(_) | Self::ToolUse(_) | Self::Unknown(_) => false,
        }
    }

    /// Makes the block one that the revision can carry.
    pub fn shape(&mut self, shape: &Shape) {
        match self {
            Self::Audio(audio) if !shape.audio => *self = Self::Text(audio_as_text(audio)),
            Self::ResourceLink(link) if !shape.resource_link => *self = Self::Text(link_as_text(link)),
            Self::ToolResult(result) => result.shape(shape),
            _ => {}
        }
    }
}

fn audio_as_text(audio: &mut AudioContent) -> TextContent {
    let padding = audio.data.bytes().rev().take_while(|b| *b == b'=').count();
    let bytes = (audio.data.len() - padding) * 3 / 4;
    let text =
        format!("[Audio left out: {}, {bytes} bytes. The protocol revision in use has no audio.]", audio.mime_type);
    let mut content = TextContent::new(text);
    content.annotations = audio.annotations.take();
    content.meta = audio.meta.take();
    content
}

fn link_as_text(link: &mut ResourceLink) -> TextContent {
    let name = link.title.as_ref().unwrap_or(&link.name);
    let mut text = format!("{name}: {}", link.uri);
    if let Some(description) = &link.description {
        text.push('\n');
        text.push_str(description);
    }
    let mut content = TextContent::new(text);
    content.annotations = link.annotations.take();
    content.meta = link.meta.take();
    content
}

impl ToolResultContent {
    fn needs_shaping(&self, shape: &Shape) -> bool {
        structured_needs_shaping(self.structured_content.as_ref(), shape, Wrapping::UnlessObject, false)
            || self.content.iter().any(|block| block.needs_shaping(shape))
    }

    fn shape(&mut self, shape: &Shape) {
        shape_structured(&mut self.structured_content, &mut self.content, shape, Wrapping::UnlessObject, false);
        self.content.iter_mut().for_each(|block| block.shape(shape));
    }
}

impl CallToolResult {
    /// Whether [`CallToolResult::shape`] would change the result.
    #[must_use]
    pub fn needs_shaping(&self, shape: &Shape, wrapping: Wrapping) -> bool {
        structured_needs_shaping(self.structured_content.as_ref(), shape, wrapping, self.failed())
            || !shape.has_all_blocks() && self.content.iter().any(|block| block.needs_shaping(shape))
    }

    /// Makes the result one that the revision can carry. Structured content that is left out stays as a text, which
    /// is added if the result has no text.
    pub fn shape(&mut self, shape: &Shape, wrapping: Wrapping) {
        let failed = self.failed();
        shape_structured(&mut self.structured_content, &mut self.content, shape, wrapping, failed);
        if !shape.has_all_blocks() {
            self.content.iter_mut().for_each(|block| block.shape(shape));
        }
    }

    /// The result as the revision can carry it, borrowed where nothing changes.
    #[must_use]
    pub fn shaped(&self, shape: &Shape, wrapping: Wrapping) -> Cow<'_, Self> {
        if !self.needs_shaping(shape, wrapping) {
            return Cow::Borrowed(self);
        }
        let mut shaped = self.clone();
        shaped.shape(shape, wrapping);
        Cow::Owned(shaped)
    }
}

fn structured_needs_shaping(value: Option<&Json>, shape: &Shape, wrapping: Wrapping, failed: bool) -> bool {
    value.is_some_and(|value| match shape.structured {
        Structured::Absent => true,
        Structured::Object => must_wrap(value, wrapping, failed),
        Structured::Any => false,
    })
}

fn must_wrap(value: &Json, wrapping: Wrapping, failed: bool) -> bool {
    !value.is_object() || wrapping == Wrapping::Always && !failed
}

fn shape_structured(
    slot: &mut Option<Json>,
    content: &mut Vec<ContentBlock>,
    shape: &Shape,
    wrapping: Wrapping,
    failed: bool,
) {
    let Some(value) = slot else { return };
    match shape.structured {
        Structured::Any => {}
        Structured::Object if !must_wrap(value, wrapping, failed) => {}
        Structured::Object => *value = wrap_value(value),
        Structured::Absent => {
            if !content.iter().any(|block| matches!(block, ContentBlock::Text(_))) {
                content.push(ContentBlock::text(value.get()));
            }
            *slot = None;
        }
    }
}

impl Tool {
    /// Whether [`Tool::shape`] would change the tool.
    #[must_use]
    pub fn needs_shaping(&self, shape: &Shape) -> bool {
        let schema = match (&self.output_schema, shape.structured) {
            (None, _) | (Some(_), Structured::Any) => false,
            (Some(_), Structured::Absent) => true,
            (Some(schema), Structured::Object) => !has_object_root(schema),
        };
        schema || self.execution.is_some() && !shape.execution
    }

    /// Makes the tool one that the revision can carry. Answers how its results are treated.
    pub fn shape(&mut self, shape: &Shape) -> Wrapping {
        if !shape.execution {
            self.execution = None;
        }
        let Some(schema) = &self.output_schema else { return Wrapping::UnlessObject };
        match shape.output_schema(schema) {
            OutputSchema::Keep => Wrapping::UnlessObject,
            OutputSchema::Wrap(wrapped) => {
                self.output_schema = Some(wrapped);
                Wrapping::Always
            }
            OutputSchema::Drop => {
                self.output_schema = None;
                Wrapping::UnlessObject
            }
        }
    }

    /// The tool as the revision can carry it, borrowed where nothing changes.
    #[must_use]
    pub fn shaped(&self, shape: &Shape) -> Cow<'_, Self> {
        if !self.needs_shaping(shape) {
            return Cow::Borrowed(self);
        }
        let mut shaped = self.clone();
        shaped.shape(shape);
        Cow::Owned(shaped)
    }
}

impl GetPromptResult {
    /// Whether [`GetPromptResult::shape`] would change the result.
    #[must_use]
    pub fn needs_shaping(&self, shape: &Shape) -> bool {
        !shape.has_all_blocks() && self.messages.iter().any(|message| message.content.needs_shaping(shape))
    }

    /// Makes the result one that the revision can carry.
    pub fn shape(&mut self, shape: &Shape) {
        if !shape.has_all_blocks() {
            self.messages.iter_mut().for_each(|message| message.content.shape(shape));
        }
    }
}

impl SamplingContent {
    fn has_tools(&self) -> bool {
        self.blocks().iter().any(|block| matches!(block, ContentBlock::ToolUse(_) | ContentBlock::ToolResult(_)))
    }

    fn needs_shaping(&self, shape: &Shape) -> bool {
        let list = matches!(self, Self::Many(_)) && !shape.sampling_lists;
        list || self.blocks().iter().any(|block| block.needs_shaping(shape))
            || self.has_tools() && !shape.sampling_tools
    }

    fn shape_blocks(&mut self, shape: &Shape) {
        match self {
            Self::One(block) => block.shape(shape),
            Self::Many(blocks) => blocks.iter_mut().for_each(|block| block.shape(shape)),
        }
    }
}

impl CreateMessageParams {
    /// Whether [`CreateMessageParams::shape`] would change or refuse the request.
    #[must_use]
    pub fn needs_shaping(&self, shape: &Shape) -> bool {
        let tools = self.tools.as_deref().unwrap_or_default();
        self.needs_tools() && !shape.sampling_tools
            || self.messages.iter().any(|message| message.content.needs_shaping(shape))
            || tools.iter().any(|tool| tool.needs_shaping(shape))
    }

    /// Makes the request one that the revision can carry. Where a message may hold one block only, a message with
    /// several becomes several of the same role, and one with none is left out.
    ///
    /// # Errors
    /// When the revision has no tools in sampling and the request needs them. The request is unchanged then.
    pub fn shape(&mut self, shape: &Shape) -> Result<(), ShapeError> {
        if !shape.sampling_tools && (self.needs_tools() || self.messages.iter().any(|m| m.content.has_tools())) {
            return Err(ShapeError::SamplingTools);
        }
        for message in &mut self.messages {
            message.content.shape_blocks(shape);
        }
        for tool in self.tools.iter_mut().flatten() {
            tool.shape(shape);
        }
        if !shape.sampling_lists && self.messages.iter().any(|m| matches!(m.content, SamplingContent::Many(_))) {
            self.messages = std::mem::take(&mut self.messages).into_iter().flat_map(split).collect();
        }
        Ok(())
    }
}

/// One message for each block.
fn split(message: SamplingMessage) -> Vec<SamplingMessage> {
    let SamplingMessage { role, content, meta, extra } = message;
    let blocks = match content {
        SamplingContent::One(block) => vec![block],
        SamplingContent::Many(blocks) => blocks,
    };
    let one = |block| SamplingMessage {
        role: role.clone(),
        content: SamplingContent::One(block),
        meta: meta.clone(),
        extra: extra.clone(),
    };
    blocks.into_iter().map(one).collect()
}

impl CreateMessageResult {
    /// Whether [`CreateMessageResult::shape`] would change or refuse the answer.
    #[must_use]
    pub fn needs_shaping(&self, shape: &Shape) -> bool {
        self.content.needs_shaping(shape)
    }

    /// Makes the answer one that the revision can carry. Where it may hold one block only, several texts become
    /// one, joined by line feeds.
    ///
    /// # Errors
    /// When the revision has no tools in sampling and the answer uses some, or when blocks cannot be made one.
    pub fn shape(&mut self, shape: &Shape) -> Result<(), ShapeError> {
        if !shape.sampling_tools && self.content.has_tools() {
            return Err(ShapeError::SamplingTools);
        }
        self.content.shape_blocks(shape);
        let SamplingContent::Many(blocks) = &mut self.content else { return Ok(()) };
        if shape.sampling_lists {
            return Ok(());
        }
        let one = match (blocks.pop(), blocks.is_empty()) {
            (Some(only), true) => only,
            (last, _) => {
                blocks.extend(last);
                let texts: Option<Vec<&str>> = blocks.iter().map(ContentBlock::as_text).collect();
                ContentBlock::text(texts.ok_or(ShapeError::SamplingList)?.join("\n"))
            }
        };
        self.content = SamplingContent::One(one);
        Ok(())
    }
}

impl ElicitParams {
    /// Makes the request one that the revision can carry: choices with titles become `enum` with `enumNames` where
    /// that is all there is, `mode` and `elicitationId` are left out where they are unknown.
    ///
    /// # Errors
    /// When the revision has no elicitation, not this mode, needs an `elicitationId` that is absent, or has no
    /// choice of several values. The request is unchanged then.
    pub fn shape(&mut self, shape: &Shape) -> Result<(), ShapeError> {
        match (shape.elicitation, self) {
            (Elicitation::Absent, _) => Err(ShapeError::NoElicitation),
            (Elicitation::PlainForm, Self::Form(form)) => {
                if let Some(schema) = downgrade_form(&form.requested_schema)? {
                    form.requested_schema = schema;
                }
                form.mode = None;
                Ok(())
            }
            (Elicitation::PlainForm, Self::Url(_) | Self::Unknown(_)) => Err(ShapeError::NoElicitationMode),
            (Elicitation::UrlWithId, Self::Url(url)) if url.elicitation_id.is_none() => {
                Err(ShapeError::NoElicitationId)
            }
            (Elicitation::UrlWithoutId, Self::Url(url)) => {
                url.elicitation_id = None;
                Ok(())
            }
            (Elicitation::UrlWithId | Elicitation::UrlWithoutId, _) => Ok(()),
        }
    }
}

impl ElicitResult {
    /// Checks that the revision can carry the answer: a list of values needs 2025-11-25.
    ///
    /// # Errors
    /// When it cannot.
    pub fn check_shape(&self, shape: &Shape) -> Result<(), ShapeError> {
        match (shape.elicitation, &self.content) {
            (Elicitation::Absent, _) => Err(ShapeError::NoElicitation),
            (Elicitation::PlainForm, Some(content)) if has_list(content) => Err(ShapeError::MultiSelect),
            _ => Ok(()),
        }
    }
}
