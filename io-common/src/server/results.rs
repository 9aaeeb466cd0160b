//! What a handler may answer.
//!
//! | handler | answers |
//! |---|---|
//! | tool | text, [`Structured`], [`Json`], content blocks, [`CallToolResult`], nothing |
//! | prompt | text, one message, messages, [`GetPromptResult`] |
//! | resource | text, bytes, contents, [`ReadResourceResult`] |
//! | completion | strings, [`Completion`] |
//!
//! Each of them may be in a `Result` with a [`HandlerError`]; tools, prompts and resources may also answer
//! [`InputRequired`] to ask by hand.

use bytes::Bytes;
use mcp_sansio::json::Json;
use mcp_sansio::model::{
    BlobResourceContents, CallToolResult, Completion, ContentBlock, GetPromptResult, PromptMessage, ReadResourceResult,
    ResourceContents, TextResourceContents,
};
use mcp_sansio::server::{InputRequired, Reply};
use serde::Serialize;

use super::error::HandlerError;

/// The answer of a tool.
pub trait IntoToolResult {
    /// The reply to the call.
    ///
    /// # Errors
    /// What the handler failed with, or a value that does not serialise.
    fn into_reply(self) -> Result<Reply, HandlerError>;
}

/// A text, as the one block of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text(pub String);

impl Text {
    /// A text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// A value that goes out as structured content, with its JSON as text for clients that read blocks only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structured<T>(pub T);

macro_rules! tool_results {
    ($($type:ty: |$value:ident| $result:expr;)*) => {$(
        impl IntoToolResult for $type {
            fn into_reply(self) -> Result<Reply, HandlerError> {
                let $value = self;
                Ok(Reply::Tool($result))
            }
        }
    )*};
}

tool_results! {
    (): |_nothing| CallToolResult::blocks([]);
    &'static str: |text| CallToolResult::text(text);
    String: |text| CallToolResult::text(text);
    Text: |text| CallToolResult::text(text.0);
    Json: |value| CallToolResult::structured(value);
    serde_json::Value: |value| CallToolResult::structured(value);
    ContentBlock: |block| CallToolResult::from(block);
    Vec<ContentBlock>: |blocks| CallToolResult::from(blocks);
    CallToolResult: |result| result;
}

impl<T: Serialize> IntoToolResult for Structured<T> {
    fn into_reply(self) -> Result<Reply, HandlerError> {
        Ok(Reply::Tool(CallToolResult::structured_value(&self.0)?))
    }
}

/// The answer of a prompt.
pub trait IntoPrompt {
    /// The reply to the request.
    ///
    /// # Errors
    /// What the handler failed with.
    fn into_reply(self) -> Result<Reply, HandlerError>;
}

macro_rules! prompts {
    ($($type:ty: |$value:ident| $messages:expr;)*) => {$(
        impl IntoPrompt for $type {
            fn into_reply(self) -> Result<Reply, HandlerError> {
                let $value = self;
                Ok(Reply::Prompt($messages))
            }
        }
    )*};
}

prompts! {
    &'static str: |text| GetPromptResult::new(vec![PromptMessage::user(text)]);
    String: |text| GetPromptResult::new(vec![PromptMessage::user(text)]);
    Text: |text| GetPromptResult::new(vec![PromptMessage::user(text.0)]);
    PromptMessage: |message| GetPromptResult::new(vec![message]);
    Vec<PromptMessage>: |messages| GetPromptResult::new(messages);
    GetPromptResult: |result| result;
}

/// What a resource handler is asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadRequest {
    /// The URI.
    pub uri: Box<str>,
    /// The MIME type that the definition states.
    pub mime_type: Option<std::sync::Arc<str>>,
    /// The values of the template's variables; none for a resource with a URI of its own.
    pub bindings: mcp_sansio::uri_template::Bindings,
}

/// The answer of a resource. Text and bytes go out under the URI that was asked for and the MIME type of the
/// definition.
pub trait IntoContents {
    /// The reply to the request.
    ///
    /// # Errors
    /// What the handler failed with.
    fn into_reply(self, asked: &ReadRequest) -> Result<Reply, HandlerError>;
}

fn text_contents(text: String, asked: &ReadRequest) -> ResourceContents {
    let mut contents = TextResourceContents::new(&*asked.uri, text);
    contents.mime_type = asked.mime_type.as_deref().map(str::to_owned);
    contents.into()
}

fn blob_contents(bytes: &[u8], asked: &ReadRequest) -> Result<ResourceContents, HandlerError> {
    let ResourceContents::Blob(mut contents) = ResourceContents::blob(&*asked.uri, "", bytes) else {
        return Err(HandlerError::hidden("bytes did not become a blob"));
    };
    contents.mime_type = asked.mime_type.as_deref().map(str::to_owned);
    Ok(contents.into())
}

macro_rules! contents {
    ($($type:ty: |$value:ident, $asked:ident| $contents:expr;)*) => {$(
        impl IntoContents for $type {
            fn into_reply(self, $asked: &ReadRequest) -> Result<Reply, HandlerError> {
                let $value = self;
                Ok(Reply::Resource($contents))
            }
        }
    )*};
}

contents! {
    &'static str: |text, asked| ReadResourceResult::new(vec![text_contents(text.to_owned(), asked)]);
    String: |text, asked| ReadResourceResult::new(vec![text_contents(text, asked)]);
    Text: |text, asked| ReadResourceResult::new(vec![text_contents(text.0, asked)]);
    Vec<u8>: |bytes, asked| ReadResourceResult::new(vec![blob_contents(&bytes, asked)?]);
    Bytes: |bytes, asked| ReadResourceResult::new(vec![blob_contents(&bytes, asked)?]);
    TextResourceContents: |contents, _asked| ReadResourceResult::new(vec![contents.into()]);
    BlobResourceContents: |contents, _asked| ReadResourceResult::new(vec![contents.into()]);
    ResourceContents: |contents, _asked| ReadResourceResult::new(vec![contents]);
    Vec<ResourceContents>: |contents, _asked| ReadResourceResult::new(contents);
    ReadResourceResult: |result, _asked| result;
}

/// The answer of a completion.
pub trait IntoCompletion {
    /// The values.
    ///
    /// # Errors
    /// What the handler failed with.
    fn into_completion(self) -> Result<Completion, HandlerError>;
}

impl IntoCompletion for Completion {
    fn into_completion(self) -> Result<Completion, HandlerError> {
        Ok(self)
    }
}

impl IntoCompletion for Vec<String> {
    fn into_completion(self) -> Result<Completion, HandlerError> {
        Ok(Completion::from_all(self))
    }
}

impl IntoCompletion for Vec<&'static str> {
    fn into_completion(self) -> Result<Completion, HandlerError> {
        Ok(Completion::from_all(self))
    }
}

impl IntoToolResult for InputRequired {
    fn into_reply(self) -> Result<Reply, HandlerError> {
        Ok(Reply::InputRequired(self))
    }
}

impl IntoPrompt for InputRequired {
    fn into_reply(self) -> Result<Reply, HandlerError> {
        Ok(Reply::InputRequired(self))
    }
}

impl IntoContents for InputRequired {
    fn into_reply(self, _: &ReadRequest) -> Result<Reply, HandlerError> {
        Ok(Reply::InputRequired(self))
    }
}

impl<T: IntoToolResult> IntoToolResult for Result<T, HandlerError> {
    fn into_reply(self) -> Result<Reply, HandlerError> {
        self?.into_reply()
    }
}

impl<T: IntoPrompt> IntoPrompt for Result<T, HandlerError> {
    fn into_reply(self) -> Result<Reply, HandlerError> {
        self?.into_reply()
    }
}

impl<T: IntoContents> IntoContents for Result<T, HandlerError> {
    fn into_reply(self, asked: &ReadRequest) -> Result<Reply, HandlerError> {
        self?.into_reply(asked)
    }
}

impl<T: IntoCompletion> IntoCompletion for Result<T, HandlerError> {
    fn into_completion(self) -> Result<Completion, HandlerError> {
        self?.into_completion()
    }
}
