//! How a cell says what it expects.

use std::fmt::Debug;

use mcp_sansio_tokio::client::{ClientError, Prepared};
use mcp_sansio_tokio::core::client::CallError;
use mcp_sansio_tokio::json::Json;
use mcp_sansio_tokio::model::{CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult, ResourceContents};
use serde_json::Value;

/// What a cell comes to, if it does not pass.
pub(crate) enum Stop {
    /// The two together did something else than the fixture says.
    Fail(String),
    /// The server does not offer the feature.
    Cannot(String),
}

pub(crate) type Outcome<T = ()> = Result<T, Stop>;

impl<E: std::error::Error> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Fail(error.to_string())
    }
}

pub(crate) fn fail<T>(why: impl Into<String>) -> Outcome<T> {
    Err(Stop::Fail(why.into()))
}

/// The feature is not there, as the matrix says.
pub(crate) fn cannot(why: &str) -> Outcome {
    Err(Stop::Cannot(why.into()))
}

pub(crate) fn ensure(holds: bool, what: impl Into<String>) -> Outcome {
    if holds { Ok(()) } else { fail(what) }
}

pub(crate) fn same<A, B>(what: &str, actual: A, expected: B) -> Outcome
where
    A: PartialEq<B> + Debug,
    B: Debug,
{
    ensure(actual == expected, format!("{what}: expected {expected:?}, got {actual:?}"))
}

/// The text blocks of a successful call, of which there is one.
pub(crate) async fn text(call: Prepared<CallToolResult>) -> Outcome<String> {
    only_text(&call.await?)
}

pub(crate) fn only_text(result: &CallToolResult) -> Outcome<String> {
    ensure(!result.failed(), format!("the tool failed: {}", result.joined_text()))?;
    match &*result.content {
        [ContentBlock::Text(block)] => Ok(block.text.clone()),
        other => fail(format!("expected one text block, got {other:?}")),
    }
}

/// The structured content of a successful call.
pub(crate) fn structured(result: &CallToolResult) -> Outcome<Value> {
    ensure(!result.failed(), format!("the tool failed: {}", result.joined_text()))?;
    match &result.structured_content {
        Some(content) => Ok(value(content)?),
        None => fail("there is no structured content"),
    }
}

pub(crate) fn value(json: &Json) -> Result<Value, serde_json::Error> {
    json.parse()
}

/// A call that is refused: by an error, or by a result that says so.
pub(crate) async fn call_refused(what: &str, call: Prepared<CallToolResult>) -> Outcome {
    match call.await {
        Ok(result) if result.failed() => Ok(()),
        other => refused(what, other),
    }
}

/// A request that the server answers with an error.
pub(crate) fn refused<T: Debug>(what: &str, outcome: Result<T, ClientError>) -> Outcome {
    match outcome {
        Err(ClientError::Call(CallError::Remote(_))) => Ok(()),
        other => fail(format!("{what} was not refused: {other:?}")),
    }
}

/// The messages of a prompt: role and text.
pub(crate) async fn messages(prompt: Prepared<GetPromptResult>) -> Outcome<Vec<(String, String)>> {
    let messages = prompt.await?.messages.into_iter();
    messages
        .map(|message| match message.content {
            ContentBlock::Text(block) => Ok((message.role.as_str().to_owned(), block.text)),
            other => fail(format!("expected text, got {other:?}")),
        })
        .collect()
}

/// The one part of a resource.
pub(crate) async fn part(read: Prepared<ReadResourceResult>) -> Outcome<Part> {
    match <[ResourceContents; 1]>::try_from(read.await?.contents) {
        Ok([ResourceContents::Text(text)]) => {
            Ok(Part { uri: text.uri, mime_type: text.mime_type, body: Body::Text(text.text) })
        }
        Ok([ResourceContents::Blob(blob)]) => {
            Ok(Part { body: Body::Blob(blob.bytes()?), uri: blob.uri, mime_type: blob.mime_type })
        }
        other => fail(format!("expected one part, of text or bytes, got {other:?}")),
    }
}

/// What a resource holds.
#[derive(Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) uri: String,
    pub(crate) mime_type: Option<String>,
    pub(crate) body: Body,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Body {
    Text(String),
    Blob(Vec<u8>),
}

impl Part {
    pub(crate) fn new(uri: &str, mime_type: &str, body: Body) -> Self {
        Self { uri: uri.into(), mime_type: Some(mime_type.into()), body }
    }

    pub(crate) fn text(uri: &str, mime_type: &str, text: &str) -> Self {
        Self::new(uri, mime_type, Body::Text(text.into()))
    }
}
