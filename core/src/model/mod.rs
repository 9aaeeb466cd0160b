//! The typed parameters and results of every revision.
//!
//! A type here is what the newest schema says, plus what older ones had; every member that it does not know is
//! kept in `extra`, every string that it does not know in an `Other`, every object kind that it does not know in an
//! `Unknown`. What was read is written again as the same JSON value, with integers of any size exact.
//!
//! | part | types |
//! |---|---|
//! | content | [`ContentBlock`] and its blocks, [`ResourceContents`], [`Annotations`], [`Role`] |
//! | tools | [`Tool`], [`CallToolParams`], [`CallToolResult`] |
//! | resources | [`Resource`], [`ResourceTemplate`], [`ReadResourceResult`] |
//! | prompts | [`Prompt`], [`GetPromptResult`], [`PromptMessage`] |
//! | asking | [`ElicitParams`], [`CreateMessageParams`], [`ListRootsParams`], [`InputRequiredResult`] |
//! | introductions | [`InitializeParams`], [`DiscoverResult`], [`ClientCapabilities`], [`ServerCapabilities`] |
//! | around them | [`Meta`], [`ListResult`], [`CacheHints`], [`Extra`], [`Number`] |
//!
//! What an older revision cannot carry is rewritten by [`Shape`]. Nothing here knows about frames, methods in
//! flight or capabilities of a running session.
//!
//! Errors of reading come from the JSON reader and may quote what they could not read: show them to the developer,
//! not to the peer.

mod capability;
mod completion;
mod content;
mod elicitation;
mod error;
mod extra;
mod form;
mod implementation;
mod lifecycle;
mod logging;
mod macros;
mod meta;
mod mrtr;
mod number;
mod page;
mod progress;
mod prompt;
mod read;
mod resource;
mod roots;
mod sampling;
mod shape;
mod subscription;
mod tool;
mod trace;
mod wrap;

#[cfg(test)]
mod tests;

pub use capability::{
    ClientCapabilities, ElicitationCapability, ListCapability, ResourcesCapability, RootsCapability,
    SamplingCapability, ServerCapabilities,
};
pub use completion::{
    CompleteParams, CompleteResult, Completion, CompletionArgument, CompletionContext, CompletionReference,
    MAX_COMPLETION_VALUES, PromptReference, ResourceReference,
};
pub use content::{
    Annotations, AudioContent, Base64Error, ContentBlock, EmbeddedResource, ImageContent, ResourceLink, Role,
    TextContent, ToolResultContent, ToolUseContent,
};
pub use elicitation::{
    ElicitAction, ElicitFormParams, ElicitMode, ElicitParams, ElicitResult, ElicitUrlParams, ElicitationCompleteParams,
};
pub use error::{MissingCapabilityData, ResourceNotFoundData, UnsupportedVersionData, UrlElicitationData};
pub use extra::Extra;
pub use implementation::{Icon, IconSrcError, IconTheme, Implementation};
pub use lifecycle::{DiscoverResult, InitializeParams, InitializeResult};
pub use logging::{LogMessageParams, LoggingLevel, OpenLoggingLevel, SetLevelParams};
pub use meta::{KeyError, Meta, check_extension_id, check_meta_key, is_reserved_meta_key};
pub use mrtr::{InputRequest, InputRequests, InputRequiredResult, InputResponses};
pub use number::Number;
pub use page::{
    CacheHints, CacheScope, EmptyResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListResult, ListToolsResult, Listed, PaginatedParams, ResultType,
};
pub use progress::{CancelledParams, ProgressParams};
pub use prompt::{GetPromptParams, GetPromptResult, Prompt, PromptArgument, PromptMessage};
pub use resource::{
    BlobResourceContents, ReadResourceParams, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
    ResourceUpdatedParams, SubscribeParams, TextResourceContents,
};
pub use roots::{ListRootsParams, ListRootsResult, Root, RootUriError};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences, SamplingContent,
    SamplingError, SamplingMessage, StopReason, ToolChoice, ToolChoiceMode,
};
pub use shape::{Elicitation, OutputSchema, Shape, ShapeError, Structured, Wrapping};
pub use subscription::{AcknowledgedParams, ListenParams, ListenResult, SubscriptionFilter};
pub use tool::{
    CallToolParams, CallToolResult, MAX_TOOL_NAME, Tool, ToolAnnotations, ToolNameWarning, check_tool_name,
};
pub use trace::{TraceContext, is_baggage, is_traceparent, is_tracestate};
