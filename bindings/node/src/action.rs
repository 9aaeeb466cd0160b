//! What the machines of a server say, packed. The wrapper reads in the same order (`lib/server.ts`).

use mcp_sansio::diagnostic::{Diagnostic, DiagnosticKind};
use mcp_sansio::error::{Error, Misuse};
use mcp_sansio::http::server::{Action as HttpAction, Body, Response, Subscription};
use mcp_sansio::ids::{CallId, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::server::{
    Action, Call, Closed, Event, Invocation, List, Notified, ReadTarget, Reference, RequestFailure,
};
use mcp_sansio::uri_template::{Bindings, Value};
use napi::Env;

use crate::pack::{Buffer, Made, Pack};
use crate::server::Contexts;
use crate::value::told;

/// What an event that is no list is called.
const RESOURCE: &str = "resource";

pub(crate) fn of_lines(
    env: &Env,
    buffer: &mut Buffer,
    numbers: &mut [f64],
    contexts: &mut Contexts,
    action: Action,
) -> Option<Made> {
    let mut pack = Pack::new(buffer, numbers);
    match action {
        Action::Write(frame) => pack.number(0.0).number(frame.len() as f64).utf8(&frame),
        Action::Invoke(invocation) => invoke(&mut pack, contexts, *invocation),
        Action::Cancelled { slot, reason } => cancelled(&mut pack, slot, reason.as_deref()),
        Action::Notified(notified) => notification(&mut pack, &notified),
        Action::Answered { call, outcome } => answered(&mut pack, call, outcome),
        Action::Diagnostic(remark) => diagnostic(&mut pack, 5, &remark),
        Action::Closed(why) => closed(&mut pack, &why),
        _ => return None,
    };
    Some(pack.made(env))
}

pub(crate) fn of_http(
    env: &Env,
    buffer: &mut Buffer,
    numbers: &mut [f64],
    contexts: &mut Contexts,
    listen: &mut Option<Subscription>,
    action: HttpAction,
) -> Option<Made> {
    let mut pack = Pack::new(buffer, numbers);
    match action {
        HttpAction::Invoke(invocation) => invoke(&mut pack, contexts, *invocation),
        HttpAction::Cancelled { slot, reason } => cancelled(&mut pack, slot, reason.as_deref()),
        HttpAction::Notified(notified) => notification(&mut pack, &notified),
        HttpAction::Answered { call, outcome } => answered(&mut pack, call, outcome),
        HttpAction::Diagnostic(remark) => diagnostic(&mut pack, 5, &remark),
        HttpAction::Closed(why) => closed(&mut pack, &why),
        HttpAction::Chunk { exchange, bytes } => {
            pack.number(7.0).number(exchange.to_u64() as f64).number(bytes.len() as f64).utf8(&bytes)
        }
        HttpAction::Finish { exchange } => pack.number(8.0).number(exchange.to_u64() as f64),
        HttpAction::Listen(subscription) => {
            *listen = Some(subscription);
            pack.number(9.0)
        }
        HttpAction::Publish(event) => {
            let (changed, uri) = names(&event);
            pack.number(10.0).text(changed).optional(uri)
        }
        HttpAction::Respond { exchange, response } => {
            pack.number(11.0).number(exchange.to_u64() as f64);
            respond(&mut pack, &response)
        }
        _ => return None,
    };
    Some(pack.made(env))
}

/// What has changed, and the address of a resource.
pub(crate) fn names(event: &Event) -> (&'static str, Option<&str>) {
    match event {
        Event::PromptsListChanged => (List::Prompts.name(), None),
        Event::ResourcesListChanged => (List::Resources.name(), None),
        Event::ToolsListChanged => (List::Tools.name(), None),
        Event::ResourceUpdated { uri } => (RESOURCE, Some(uri)),
        _ => ("", None),
    }
}

/// The event that these names mean.
pub(crate) fn event(changed: &str, uri: Option<String>) -> Result<Event, Error> {
    match (List::named(changed), uri) {
        (None, Some(uri)) if changed == RESOURCE => Ok(Event::ResourceUpdated { uri: uri.into() }),
        (Some(List::Prompts), _) => Ok(Event::PromptsListChanged),
        (Some(List::Tools), _) => Ok(Event::ToolsListChanged),
        (Some(List::Resources), _) => Ok(Event::ResourcesListChanged),
        _ => Err(Misuse::Argument(format!("{changed:?} cannot change").into()).into()),
    }
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

fn invoke<'p, 'a>(pack: &'p mut Pack<'a>, contexts: &mut Contexts, invocation: Invocation) -> &'p mut Pack<'a> {
    let Invocation { slot, call, context } = invocation;
    let index = |index: &Option<usize>| index.map_or(-1.0, |index| index as f64);
    pack.number(1.0).halves(slot.id().to_u64()).number(f64::from(context.round()));
    pack.text(call.name()).text(context.version().as_str());
    match &call {
        Call::Tool { index: at, name, arguments } => pack.number(index(at)).text(name).text(arguments.get()),
        Call::Prompt { index: at, name, arguments } => pack.number(index(at)).text(name).text(arguments.get()),
        Call::Read { target, uri } => match target {
            ReadTarget::Resource(at) => pack.number(*at as f64).text(RESOURCE).optional(None).text(uri),
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
    };
    contexts.put(slot.id(), context);
    pack
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

fn cancelled<'p, 'a>(pack: &'p mut Pack<'a>, slot: SlotId, reason: Option<&str>) -> &'p mut Pack<'a> {
    pack.number(2.0).halves(slot.to_u64()).optional(reason)
}

fn notification<'p, 'a>(pack: &'p mut Pack<'a>, notified: &Notified) -> &'p mut Pack<'a> {
    let params = match notified {
        Notified::Custom { params, .. } => params,
        _ => &Json::EMPTY_OBJECT,
    };
    pack.number(3.0).text(notified.method()).text(params.get())
}

fn answered<'p, 'a>(
    pack: &'p mut Pack<'a>,
    call: CallId,
    outcome: Result<Json, RequestFailure>,
) -> &'p mut Pack<'a> {
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

fn closed<'p, 'a>(pack: &'p mut Pack<'a>, why: &Closed) -> &'p mut Pack<'a> {
    let error = match why {
        Closed::Failed(error) => Some(told(error)),
        _ => None,
    };
    pack.number(6.0).text(why.name()).optional(error.as_deref())
}
