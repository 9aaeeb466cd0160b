//! Answers of handlers, from values.

use std::collections::BTreeMap;

use mcp_sansio::error::{Error, ErrorObject};
use mcp_sansio::json::Json;
use mcp_sansio::model::{CallToolResult, Extra};
use mcp_sansio::server::{InputRequired, ListPage, Reply};
use serde::Deserialize;

use crate::{misuse, read, seconds};

/// Makes a reply, by kind: `tool`, `prompt`, `resource` and `completion` with a result as the specification shapes it,
/// `list` (`items`, `next_cursor`), `input` (`requests`, `state`, `memo`, `timeouts` in seconds), `error`, `raw`,
/// `empty` (metadata or `null`), `failed`, `state_used`.
///
/// # Errors
/// When the value has another shape.
pub fn reply(kind: &str, value: &Json) -> Result<Reply, Error> {
    Ok(match kind {
        "completion" => Reply::Completion(read(value)?),
        "empty" => Reply::Empty { meta: Some(value.clone()).filter(|meta| !meta.is_null()) },
        "error" => Reply::Error(read::<ErrorObject>(value)?),
        "failed" => Reply::Failed,
        "input" => input(value)?,
        "list" => list(value)?,
        "prompt" => Reply::Prompt(read(value)?),
        "raw" => Reply::Raw(value.clone()),
        "resource" => Reply::Resource(read(value)?),
        "state_used" => Reply::StateUsed,
        "tool" => Reply::Tool(read(value)?),
        other => return Err(misuse(format!("{other:?} is no kind of reply"))),
    })
}

/// Makes the reply that a call wants of its result, as the specification shapes it. The call is known by its name
/// ([`Call::name`](mcp_sansio::server::Call::name)).
///
/// # Errors
/// When the value has another shape.
pub fn result_of(call: &str, value: &Json) -> Result<Reply, Error> {
    let kind = match call {
        "complete" => "completion",
        "read" => "resource",
        "subscribe" | "unsubscribe" => "empty",
        "list" | "prompt" | "tool" => call,
        _ => "raw",
    };
    reply(kind, value)
}

/// The result of a tool that is one text.
#[must_use]
pub fn text(text: &str, is_error: bool) -> Reply {
    Reply::Tool(if is_error { CallToolResult::error(text) } else { CallToolResult::text(text) })
}

fn input(value: &Json) -> Result<Reply, Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Input {
        #[serde(default)]
        requests: Extra,
        state: Option<String>,
        memo: Option<Json>,
        #[serde(default)]
        timeouts: BTreeMap<String, f64>,
    }
    let Input { requests, state, memo, timeouts } = read(value)?;
    let requests = requests.iter().map(|(key, request)| Ok((key.to_owned(), read(request)?)));
    Ok(Reply::InputRequired(InputRequired {
        requests: requests.collect::<Result<_, Error>>()?,
        state,
        memo,
        timeouts: timeouts.into_iter().map(|(key, time)| (key, seconds(time))).collect(),
    }))
}

fn list(value: &Json) -> Result<Reply, Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Page {
        items: Vec<Json>,
        next_cursor: Option<String>,
    }
    let Page { items, next_cursor } = read(value)?;
    Ok(Reply::List(ListPage { items, next_cursor }))
}
