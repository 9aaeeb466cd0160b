//! Replies, and what a handler can know of its request.

use std::collections::BTreeMap;

use mcp_sansio::error::ErrorObject;
use mcp_sansio::ids::{ProgressToken, RequestId};
use mcp_sansio::json::Json;
use mcp_sansio::model::{CallToolResult, ClientCapabilities, Extra, Implementation};
use mcp_sansio::server::{Call, Context, InputRequired, ListPage, Reply};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::told::{argument, json, read, span};

/// The kinds of replies, by their numbers.
const KINDS: [&str; 11] =
    ["tool", "prompt", "resource", "completion", "list", "input", "error", "raw", "empty", "failed", "state_used"];

/// The number of the kind `raw`.
pub const RAW: u32 = 7;

/// The number of a kind of replies.
///
/// # Errors
/// When there is none of this name.
pub fn kind(name: &str) -> Result<u32> {
    let place = KINDS.iter().position(|kind| *kind == name);
    place.map(|place| place as u32).ok_or_else(|| argument(format!("{name:?} is no kind of reply")))
}

/// The number of the kind of replies that a call wants of its result, as the specification shapes it.
#[must_use]
pub const fn kind_for(call: &Call) -> u32 {
    match call {
        Call::Tool { .. } => 0,
        Call::Prompt { .. } => 1,
        Call::Read { .. } => 2,
        Call::Complete { .. } => 3,
        Call::List { .. } => 4,
        Call::Subscribe { .. } | Call::Unsubscribe { .. } => 8,
        _ => RAW,
    }
}

/// The result of a tool that is one text.
#[must_use]
pub fn text(text: &str, is_error: bool) -> Reply {
    Reply::Tool(if is_error { CallToolResult::error(text) } else { CallToolResult::text(text) })
}

/// A reply from the number of its kind ([`kind`]), and its value as JSON.
///
/// # Errors
/// When the value has another shape.
pub fn reply(kind: u32, value: Option<String>) -> Result<Reply> {
    let text = value.unwrap_or_default();
    Ok(match kind {
        0 => Reply::Tool(read(&text)?),
        1 => Reply::Prompt(read(&text)?),
        2 => Reply::Resource(read(&text)?),
        3 => Reply::Completion(read(&text)?),
        4 => Reply::List(read::<Page>(&text)?.into()),
        5 => Reply::InputRequired(read::<Questions>(&text)?.into_reply()?),
        6 => Reply::Error(read::<ErrorObject>(&text)?),
        7 => Reply::Raw(json(text)?),
        8 => Reply::Empty { meta: Some(json(text)?).filter(|meta| !meta.is_null()) },
        9 => Reply::Failed,
        10 => Reply::StateUsed,
        11 => Reply::Tool(CallToolResult::text(text)),
        12 => Reply::Tool(CallToolResult::error(text)),
        _ => return Err(argument("no kind of reply")),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    items: Vec<Json>,
    #[serde(default)]
    next_cursor: Option<String>,
}

impl From<Page> for ListPage {
    fn from(Page { items, next_cursor }: Page) -> Self {
        Self { items, next_cursor }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct Questions {
    requests: Extra,
    state: Option<String>,
    memo: Option<Json>,
    timeouts: BTreeMap<String, f64>,
}

impl Questions {
    fn into_reply(self) -> Result<InputRequired> {
        let requests = self.requests.iter().map(|(key, request)| Ok((key.to_owned(), read(request.get())?)));
        Ok(InputRequired {
            requests: requests.collect::<Result<_>>()?,
            state: self.state,
            memo: self.memo,
            timeouts: self.timeouts.into_iter().map(|(key, millis)| (key, span(millis))).collect(),
        })
    }
}

/// Everything that a [`Context`] can tell, for a handler that asks for anything of it.
#[derive(Serialize)]
struct Snapshot<'a> {
    request_id: &'a RequestId,
    version: &'static str,
    is_modern: bool,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Json>,
    meta: Json,
    client_info: Option<Implementation>,
    client_capabilities: ClientCapabilities,
    progress_token: Option<ProgressToken>,
    trace: [Option<String>; 3],
    principal: Option<&'a str>,
    can_ask: bool,
    round: u32,
    state: Option<&'a str>,
    memo: Option<&'a Json>,
    state_token: Option<[u8; 16]>,
    inputs: BTreeMap<&'a str, Answer<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer<'a> {
    Result(&'a Json),
    Error(&'a ErrorObject),
}

fn answer(given: &std::result::Result<Json, ErrorObject>) -> Answer<'_> {
    match given {
        Ok(result) => Answer::Result(result),
        Err(error) => Answer::Error(error),
    }
}

/// With the params, or without: they may be large, and a binding may have them already.
pub(crate) fn snapshot(context: &Context, with_params: bool) -> Result<String> {
    let trace = context.trace_context();
    serde_json::to_string(&Snapshot {
        request_id: context.request_id(),
        version: context.version().as_str(),
        is_modern: context.era() == mcp_sansio::spec::Era::Modern,
        method: context.method(),
        params: with_params.then(|| context.params()),
        meta: context.meta(),
        client_info: context.client_info(),
        client_capabilities: context.client_capabilities(),
        progress_token: context.progress_token(),
        trace: [trace.traceparent, trace.tracestate, trace.baggage],
        principal: context.principal(),
        can_ask: context.can_ask(),
        round: context.round(),
        state: context.state(),
        memo: context.memo(),
        state_token: context.state_token(),
        inputs: context.inputs().map(|(key, given)| (key, answer(given))).collect(),
    })
    .map_err(argument)
}
