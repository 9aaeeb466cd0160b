//! What the machines of a server say, packed. The wrapper reads in the same order (`lib/server.ts`).

use mcp_sansio::diagnostic::{Diagnostic, DiagnosticKind};
use mcp_sansio::error::Error;
use mcp_sansio::http::server::{Action, Body, Response};
use mcp_sansio::ids::CallId;
use mcp_sansio::json::Json;
use mcp_sansio::server::{Call, Closed, Notified, ReadTarget, Reference, RequestFailure};
use mcp_sansio::uri_template::{Bindings, Value};
use mcp_sansio_told::server::{Said, event_names};
use mcp_sansio_told::told::told;
use napi::Env;

use crate::pack::{Buffer, Made, Numbers, Pack};

pub(crate) fn pack(env: &Env, buffer: &mut Buffer, numbers: Numbers<'_>, said: Said) -> Option<Made> {
    let mut pack = Pack::new(buffer, numbers);
    match said {
        Said::Write(frame) => pack.number(0.0).number(frame.len() as f64).utf8(&frame),
        Said::Invoke { slot, call, version, round } => {
            pack.number(1.0).halves(slot.to_u64()).number(kind(&call)).number(f64::from(round)).text(version);
            invoked(&mut pack, &call)
        }
        Said::Other(action) => other(&mut pack, action)?,
    };
    Some(pack.made(env))
}

fn other<'p, 'a>(pack: &'p mut Pack<'a>, action: Action) -> Option<&'p mut Pack<'a>> {
    Some(match action {
        Action::Cancelled { slot, reason } => pack.number(2.0).halves(slot.to_u64()).optional(reason.as_deref()),
        Action::Notified(notified) => {
            let params = match &notified {
                Notified::Custom { params, .. } => params,
                _ => &Json::EMPTY_OBJECT,
            };
            pack.number(3.0).text(notified.method()).text(params.get())
        }
        Action::Answered { call, outcome } => answered(pack, call, outcome),
        Action::Diagnostic(remark) => diagnostic(pack, 5, &remark),
        Action::Closed(why) => {
            let error = match &why {
                Closed::Failed(error) => Some(told(error)),
                _ => None,
            };
            pack.number(6.0).text(why.name()).optional(error.as_deref())
        }
        Action::Chunk { exchange, bytes } => {
            pack.number(7.0).number(exchange.to_u64() as f64).number(bytes.len() as f64).utf8(&bytes)
        }
        Action::Finish { exchange } => pack.number(8.0).number(exchange.to_u64() as f64),
        Action::Listen(_) => pack.number(9.0),
        Action::Publish(event) => {
            let (changed, uri) = event_names(&event);
            pack.number(10.0).text(changed).optional(uri)
        }
        Action::Respond { exchange, response } => {
            pack.number(11.0).number(exchange.to_u64() as f64);
            respond(pack, &response)
        }
        _ => return None,
    })
}

/// An answer: its status, the length of its body (-1 for a stream), its headers, its body, a remark.
pub(crate) fn respond<'p, 'a>(pack: &'p mut Pack<'a>, response: &Response) -> &'p mut Pack<'a> {
    let headers: Vec<_> = response.headers().collect();
    let (length, body): (f64, &[u8]) = match response.body() {
        Body::Whole(bytes) => (bytes.len() as f64, bytes),
        Body::Stream => (-1.0, &[]),
    };
    pack.number(f64::from(response.status())).number(length);
    pack.text(&serde_json::to_string(&headers).unwrap_or_default()).utf8(body);
    pack.optional(response.diagnostic().map(ToString::to_string).as_deref())
}

/// The number of a kind, in the table of the wrapper.
const fn kind(call: &Call) -> f64 {
    match call {
        Call::Tool { .. } => 0.0,
        Call::Prompt { .. } => 1.0,
        Call::Read { .. } => 2.0,
        Call::Complete { .. } => 3.0,
        Call::List { .. } => 4.0,
        Call::Raw { .. } => 5.0,
        Call::Subscribe { .. } => 6.0,
        Call::Unsubscribe { .. } => 7.0,
        _ => -1.0,
    }
}

/// What is asked, in the order of each kind.
fn invoked<'p, 'a>(pack: &'p mut Pack<'a>, call: &Call) -> &'p mut Pack<'a> {
    let index = |index: &Option<usize>| index.map_or(-1.0, |index| index as f64);
    match call {
        Call::Tool { index: at, name, arguments } => pack.number(index(at)).text(name).text(arguments.get()),
        Call::Prompt { index: at, name, arguments } => pack.number(index(at)).text(name).text(arguments.get()),
        Call::Read { target, uri } => match target {
            ReadTarget::Resource(at) => pack.number(*at as f64).text("resource").optional(None).text(uri),
            ReadTarget::Template(at, values) => {
                pack.number(*at as f64).text("template").text(&bindings(values)).text(uri)
            }
            ReadTarget::Any => pack.number(-1.0).text("any").optional(None).text(uri),
        },
        Call::Complete { reference, argument, value, context } => {
            match reference {
                Reference::Prompt(at, name) => pack.number(index(at)).text("prompt").text(name),
                Reference::Template(at, uri) => pack.number(index(at)).text("template").text(uri),
            };
            pack.text(argument).text(value).text(context.get())
        }
        Call::List { list, cursor } => pack.text(list.name()).optional(cursor.as_deref()),
        Call::Raw { method, params } => pack.text(method).text(params.get()),
        Call::Subscribe { uri } | Call::Unsubscribe { uri } => pack.text(uri),
        _ => pack,
    }
}

/// The values of a template's variables, as a JSON object.
fn bindings(bindings: &Bindings) -> String {
    let text = |text: &String| serde_json::Value::from(text.as_str());
    let value = |value: &Value| match value {
        Value::Text(one) => text(one),
        Value::List(list) => list.iter().map(text).collect(),
        Value::Map(pairs) => pairs.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
    };
    let values = bindings.iter().map(|(name, bound)| (name.to_owned(), value(bound)));
    serde_json::Value::Object(values.collect()).to_string()
}

fn answered<'p, 'a>(pack: &'p mut Pack<'a>, call: CallId, outcome: Result<Json, RequestFailure>) -> &'p mut Pack<'a> {
    pack.number(4.0).number(call.to_u64() as f64);
    match outcome {
        Ok(result) => pack.text(result.get()).optional(None).optional(None),
        Err(failure) => {
            let error = match &failure {
                RequestFailure::Remote(error) => Some(told(&Error::Remote(error.clone()))),
                _ => None,
            };
            pack.optional(None).text(failure.name()).optional(error.as_deref())
        }
    }
}

pub(crate) fn diagnostic<'p, 'a>(pack: &'p mut Pack<'a>, kind: u32, remark: &Diagnostic) -> &'p mut Pack<'a> {
    let bound = match remark.kind {
        DiagnosticKind::Limit(bound) => Some(bound.name()),
        _ => None,
    };
    let id = remark.id.as_ref().map(|id| id.to_json());
    pack.number(f64::from(kind)).text(remark.kind.name()).optional(bound);
    pack.optional(id.as_ref().map(Json::get)).text(&remark.text)
}
