//! What machines say, for languages that take an action as a name and an object: a small JSON object of members, and
//! apart from it what is large.
//!
//! | part | holds |
//! |---|---|
//! | `kind` | the name of the action |
//! | `members` | everything small, as a JSON object; what there is not is left out |
//! | `payload` | one JSON value that the application may want as a whole |
//! | `bytes` | one piece of a body or a stream |
//!
//! What is asked of the application is not said here: [`asked`] tells it, as far as somebody wants to know.

use bytes::Bytes;
use mcp_sansio::client::{self, Answer, InputNeeded, ServerFacts};
use mcp_sansio::diagnostic::Diagnostic;
use mcp_sansio::error::Error;
use mcp_sansio::http::client::Action as HttpClientAction;
use mcp_sansio::http::server::{Action, Body, Response};
use mcp_sansio::json::Json;
use mcp_sansio::server::{self, Call, Context, Notified, ReadTarget, Reference, RequestFailure};
use mcp_sansio::uri_template::{Bindings, Value};
use serde::Serialize;

use crate::Result;
use crate::client::facts;
use crate::reply::snapshot;
use crate::server::event_names;
use crate::told::{argument, bytes_text, call_told, connect_told, told};

/// An action.
#[derive(Debug)]
pub struct Saying {
    /// Its name.
    pub kind: &'static str,
    /// What is small of it, as a JSON object.
    pub members: String,
    /// What the application may want as a whole.
    pub payload: Option<Json>,
    /// A piece of a body or a stream.
    pub bytes: Option<Bytes>,
}

impl Saying {
    /// A name alone.
    pub(crate) fn bare(kind: &'static str) -> Self {
        Self { kind, members: "{}".to_owned(), payload: None, bytes: None }
    }
}

/// Members of all actions, of which each has some.
#[derive(Default, Serialize)]
struct Members<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<Vec<(&'a str, String)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
}

fn saying(kind: &'static str, members: &Members<'_>, payload: Option<Json>, bytes: Option<Bytes>) -> Saying {
    Saying { kind, members: serde_json::to_string(members).unwrap_or_default(), payload, bytes }
}

/// What was written here is JSON.
fn written(text: String) -> Option<Json> {
    Json::from_text(text).ok()
}

/// What a machine of a server says. Frames and invocations are the binding's to tell, and the subscription of a listen
/// stream is.
#[must_use]
pub fn of_server(action: Action) -> Option<Saying> {
    let none = Members::default;
    Some(match action {
        Action::Answered { call, outcome } => {
            let call = Some(call.to_u64());
            match outcome {
                Ok(result) => saying("answered", &Members { call, ..none() }, Some(result), None),
                Err(failure) => {
                    let error = match &failure {
                        RequestFailure::Remote(error) => written(told(&Error::Remote(error.clone()))),
                        _ => None,
                    };
                    saying("answered", &Members { call, reason: Some(failure.name()), error, ..none() }, None, None)
                }
            }
        }
        Action::Cancelled { slot, reason } => cancelled("cancelled", slot.to_u64(), reason.as_deref()),
        Action::Chunk { exchange, bytes } => {
            saying("chunk", &Members { id: Some(exchange.to_u64()), ..none() }, None, Some(bytes))
        }
        Action::Closed(why) => {
            let error = match &why {
                server::Closed::Failed(error) => written(told(error)),
                _ => None,
            };
            saying("closed", &Members { reason: Some(why.name()), error, ..none() }, None, None)
        }
        Action::Diagnostic(remark) => diagnostic(&remark),
        Action::Finish { exchange } => saying("finish", &Members { id: Some(exchange.to_u64()), ..none() }, None, None),
        Action::Notified(notified) => {
            let members = Members { method: Some(notified.method()), ..none() };
            let params = match &notified {
                Notified::Custom { params, .. } => params.clone(),
                _ => Json::EMPTY_OBJECT,
            };
            saying("notified", &members, Some(params), None)
        }
        Action::Publish(event) => {
            let (changed, uri) = event_names(&event);
            saying("publish", &Members { key: Some(changed), text: uri, ..none() }, None, None)
        }
        Action::Respond { exchange, response } => respond(exchange.to_u64(), &response),
        _ => return None,
    })
}

/// An answer over HTTP. One without bytes is the head of a stream.
#[must_use]
pub fn respond(exchange: u64, response: &Response) -> Saying {
    let remark = response.diagnostic().map(ToString::to_string);
    let members = Members {
        id: Some(exchange),
        status: Some(response.status()),
        headers: Some(response.headers().map(|(name, value)| (name, value.to_owned())).collect()),
        text: remark.as_deref(),
        ..Members::default()
    };
    let body = match response.body() {
        Body::Whole(bytes) => Some(bytes.clone()),
        Body::Stream => None,
    };
    saying("respond", &members, None, body)
}

fn cancelled(kind: &'static str, id: u64, reason: Option<&str>) -> Saying {
    saying(kind, &Members { id: Some(id), reason, ..Members::default() }, None, None)
}

fn diagnostic(remark: &Diagnostic) -> Saying {
    let request_id = remark.id.as_ref().map(|id| id.to_json());
    let (key, text) = (Some(remark.kind.name()), Some(&*remark.text));
    saying("diagnostic", &Members { key, text, request_id, ..Members::default() }, None, None)
}

/// What a client says. Frames and requests of the server are the binding's to tell, and the answer of a call is: of
/// [`client::Action::Done`] there is its number, and the error of one that has none.
#[must_use]
pub fn of_client(action: &HttpClientAction) -> Option<Saying> {
    let none = Members::default;
    Some(match action {
        HttpClientAction::Abort(fetch) => saying("abort", &Members { id: Some(fetch.to_u64()), ..none() }, None, None),
        HttpClientAction::Event(event) => return of_any_client(event),
        HttpClientAction::Fetch(fetch) => {
            let headers = fetch.headers.iter().map(|(name, value)| (name, bytes_text(value)));
            let members = Members {
                id: Some(fetch.id.to_u64()),
                method: Some(fetch.method.as_str()),
                text: Some(&fetch.url),
                headers: Some(headers.collect()),
                ..none()
            };
            saying("fetch", &members, None, Some(fetch.body.clone()))
        }
        HttpClientAction::Unauthorized(wanted) => {
            let values = wanted.challenge.www_authenticate.iter().map(|value| bytes_text(value)).collect();
            let (id, status) = (Some(wanted.fetch.to_u64()), Some(wanted.challenge.status));
            saying("unauthorized", &Members { id, status, values: Some(values), ..none() }, None, None)
        }
        _ => return None,
    })
}

fn of_any_client(action: &client::Action) -> Option<Saying> {
    use client::Action;
    let none = Members::default;
    Some(match action {
        Action::CancelledInput { input, reason } => cancelled("cancelled_input", input.to_u64(), reason.as_deref()),
        Action::CancelledInvoke { slot, reason } => cancelled("cancelled", slot.to_u64(), reason.as_deref()),
        Action::Closed(why) => {
            let error = match why {
                client::Closed::Failed(error) => written(told(error)),
                client::Closed::NotConnected(error) => written(connect_told(error)),
                _ => None,
            };
            saying("closed", &Members { reason: Some(why.name()), error, ..none() }, None, None)
        }
        Action::Connected(server) => connected("connected", server),
        Action::Renewed(server) => connected("renewed", server),
        Action::Diagnostic(remark) => diagnostic(remark),
        Action::Done { call, outcome } => {
            let error = outcome.as_ref().err().and_then(|error| written(call_told(error)));
            saying("done", &Members { call: Some(call.to_u64()), error, ..none() }, None, None)
        }
        Action::Listening { call, filter } => {
            let filter = Json::from_value(filter).unwrap_or(Json::EMPTY_OBJECT);
            saying("listening", &Members { call: Some(call.to_u64()), ..none() }, Some(filter), None)
        }
        Action::NeedInput(needed) => {
            let InputNeeded { input, call, key, request, raw, .. } = &**needed;
            let members = Members {
                id: Some(input.to_u64()),
                call: call.map(|call| call.to_u64()),
                key: Some(key),
                method: Some(request.method().map_or("", |method| method.as_str())),
                ..none()
            };
            saying("need_input", &members, Some(raw.clone()), None)
        }
        Action::Notified { method, params, subscription } => {
            let call = subscription.map(|call| call.to_u64());
            saying("notified", &Members { call, method: Some(method), ..none() }, Some(params.clone()), None)
        }
        Action::Progress { call, progress } => {
            let members = Members {
                call: Some(call.to_u64()),
                progress: Some(progress.progress),
                total: progress.total,
                text: progress.message.as_deref(),
                ..none()
            };
            saying("progress", &members, Some(progress.raw.clone()), None)
        }
        _ => return None,
    })
}

/// A server's facts: those of [`crate::client::facts`], with its own words as payload.
pub(crate) fn connected(kind: &'static str, server: &ServerFacts) -> Saying {
    Saying { kind, members: facts(server, false), payload: Some(server.raw.clone()), bytes: None }
}

/// What an answer has beside its text.
#[derive(Serialize)]
struct Looked<'a> {
    items: &'a [Json],
    structured_content: Option<Json>,
    next_cursor: Option<std::borrow::Cow<'a, str>>,
    result_type: std::borrow::Cow<'a, str>,
    server_info: Option<mcp_sansio::model::Implementation>,
    is_error: bool,
    is_cached: bool,
    is_input_required: bool,
}

/// Everything that an answer can tell beside its text, as a JSON object.
///
/// # Errors
/// When it cannot be written.
pub fn answer(answer: &Answer) -> Result<String> {
    let items = answer.items();
    serde_json::to_string(&Looked {
        items: &items,
        structured_content: answer.structured_content(),
        next_cursor: answer.next_cursor(),
        result_type: answer.result_type(),
        server_info: answer.server_info(),
        is_error: answer.is_error(),
        is_cached: answer.is_cached(),
        is_input_required: answer.is_input_required(),
    })
    .map_err(argument)
}

/// What is asked, by name: a tool, a prompt, an address, a list or a method.
#[must_use]
pub fn name(call: &Call) -> &str {
    match call {
        Call::Complete { reference: Reference::Prompt(_, name) | Reference::Template(_, name), .. } => name,
        Call::List { list, .. } => list.name(),
        Call::Prompt { name, .. } | Call::Raw { method: name, .. } | Call::Tool { name, .. } => name,
        Call::Read { uri, .. } | Call::Subscribe { uri } | Call::Unsubscribe { uri } => uri,
        _ => "",
    }
}

/// With which arguments: those of a tool or a prompt, the params of a method, the values of a template's variables,
/// what is filled in already of a completion.
#[must_use]
pub fn arguments(call: &Call) -> Json {
    match call {
        Call::Complete { context, .. } => context.clone(),
        Call::Prompt { arguments, .. } | Call::Tool { arguments, .. } => arguments.clone(),
        Call::Raw { params, .. } => params.clone(),
        Call::Read { target: ReadTarget::Template(_, values), .. } => bindings(values),
        _ => Json::EMPTY_OBJECT,
    }
}

fn bindings(bindings: &Bindings) -> Json {
    let value = |value: &Value| match value {
        Value::Text(text) => text.clone().into(),
        Value::List(items) => items.clone().into(),
        Value::Map(pairs) => pairs.iter().map(|(name, text)| (name.clone(), text.clone())).collect(),
    };
    let all = bindings.iter().map(|(name, bound)| (name.to_owned(), value(bound)));
    Json::from(serde_json::Value::Object(all.collect()))
}

/// The rarer parts of what is asked.
#[derive(Default, Serialize)]
struct Asked<'a> {
    index: Option<usize>,
    target: Option<&'static str>,
    argument: Option<&'a str>,
    value: Option<&'a str>,
    cursor: Option<&'a str>,
}

/// All the rest of an invocation, as two JSON objects in an array: what is rare of the call (`index`, `target`,
/// `argument`, `value`, `cursor`), and what its context can tell but the params.
///
/// # Errors
/// When it cannot be written.
pub fn asked(call: &Call, context: &Context) -> Result<String> {
    let mut asked = Asked::default();
    match call {
        Call::Complete { reference, argument, value, .. } => {
            let (index, target) = match reference {
                Reference::Prompt(index, _) => (index, "prompt"),
                Reference::Template(index, _) => (index, "template"),
            };
            asked.index.clone_from(index);
            (asked.target, asked.argument, asked.value) = (Some(target), Some(&**argument), Some(&**value));
        }
        Call::List { cursor, .. } => asked.cursor = cursor.as_deref(),
        Call::Prompt { index, .. } | Call::Tool { index, .. } => asked.index.clone_from(index),
        Call::Read { target, .. } => {
            let (index, target) = match target {
                ReadTarget::Resource(index) => (Some(*index), "resource"),
                ReadTarget::Template(index, _) => (Some(*index), "template"),
                ReadTarget::Any => (None, "any"),
            };
            (asked.index, asked.target) = (index, Some(target));
        }
        _ => {}
    }
    let call = serde_json::to_string(&asked).map_err(argument)?;
    Ok(format!("[{call},{}]", snapshot(context, false)?))
}
