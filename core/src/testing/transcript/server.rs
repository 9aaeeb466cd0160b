//! The steps of a transcript that is played against a server.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::play::{Problem, Role, Stage, read};
use super::{Step, Verbs};
use crate::error::ErrorObject;
use crate::ids::{CallId, ReplySlot, SlotId};
use crate::json::Json;
use crate::machine::Now;
use crate::model::Extra;
use crate::server::{
    Action, Call, Event, InputRequired, Invocation, ListPage, LogMessage, Notified, Progress, Reference, Reply,
    RequestFailure, Sent, Server,
};

pub(super) const VERBS: Verbs = &[
    // The machine says.
    ("invoke", &["as", "reply"]),
    ("cancelled", &["reason"]),
    ("notified", &[]),
    ("answered", &["result", "error", "failure"]),
    // The application wants.
    ("reply", &["to"]),
    ("abandon", &[]),
    ("report", &["of", "sent"]),
    ("log", &["of", "sent"]),
    ("notify", &[]),
    ("publish", &["sent"]),
    ("request", &["as", "of", "timeout_ms", "refused"]),
    ("cancel_request", &["reason"]),
];

/// Invocations and requests by the names that the file gives them.
#[derive(Debug, Default)]
pub(super) struct Memory {
    slots: BTreeMap<String, SlotId>,
    requests: BTreeMap<String, CallId>,
}

impl Role for Server {
    type Memory = Memory;

    fn open(stage: &mut Stage<Self>, version: &str, capabilities: &Json) -> Result<(), Problem> {
        let initialize = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"session\",\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\
             \"{version}\",\"capabilities\":{capabilities},\"clientInfo\":{{\"name\":\"c\",\"version\":\"1\"}}}}}}"
        );
        stage.say(&initialize)?;
        let answer = stage.frame()?;
        if !answer.contains(version) {
            return Err(format!("the session was not opened: {answer}"));
        }
        stage.say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}")?;
        stage.event().map(drop)
    }

    fn close(&mut self, now: Now) {
        Self::close(self, now);
    }

    fn closed(action: &Action) -> Option<&'static str> {
        match action {
            Action::Closed(closed) => Some(closed.name()),
            _ => None,
        }
    }

    fn take(stage: &mut Stage<Self>, step: &Step) -> Result<(), Problem> {
        match &*step.verb {
            "invoke" => stage.invoke(step),
            "cancelled" => stage.cancelled(step),
            "notified" => stage.notified(step),
            "answered" => stage.answered(step),
            "reply" => {
                let slot = stage.slot(step.more.get("to").ok_or("reply to whom?")?)?;
                let reply = reply(&stage.kept.filled(&step.value))?;
                stage.done(|server, now| server.reply(now, ReplySlot::from_id(slot), reply))
            }
            "abandon" => {
                let slot = stage.slot(&step.value)?;
                stage.machine.abandon(stage.now, ReplySlot::from_id(slot));
                Ok(())
            }
            "report" => stage.report(step),
            "log" => stage.log(step),
            "notify" => {
                let message: Message = read(&step.value)?;
                stage.done(|server, now| server.notify(now, &message.method, message.params.as_ref()))
            }
            "publish" => {
                let event = event(&step.value)?;
                let sent = stage.machine.publish(stage.now, &event);
                check_sent(step, sent)
            }
            "request" => stage.request(step),
            "cancel_request" => {
                let name: String = read(&step.value)?;
                let call = *stage.memory.requests.get(&name).ok_or("no such request")?;
                let reason: Option<String> = step.more.get("reason").map(read).transpose()?;
                stage.done(|server, now| server.cancel_request(now, call, reason.as_deref()))
            }
            other => Err(format!("{other} is no step of a server")),
        }
    }
}

/// A method with its params.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Message {
    pub(super) method: String,
    pub(super) params: Option<Json>,
}

impl Stage<Server> {
    fn done<T>(&mut self, act: impl FnOnce(&mut Server, Now) -> Result<T, crate::error::Error>) -> Result<T, Problem> {
        act(&mut self.machine, self.now).map_err(|error| format!("refused: {error}"))
    }

    fn slot(&self, name: &Json) -> Result<SlotId, Problem> {
        let name: String = read(name)?;
        self.memory.slots.get(&name).copied().ok_or_else(|| format!("no invocation is called {name:?}"))
    }

    fn invoke(&mut self, step: &Step) -> Result<(), Problem> {
        let Action::Invoke(invocation) = self.event()? else { return Err("another event".to_owned()) };
        // What the file does not name is not compared.
        let wanted: Extra = read(&step.value)?;
        let described = describe(&invocation);
        for (name, value) in wanted.iter() {
            let got = described.get(name).ok_or_else(|| format!("the invocation has no {name:?}: {described:?}"))?;
            self.kept.compare(value, got.get()).map_err(|problem| format!("{name} {problem}"))?;
        }
        if let Some(name) = step.more.get("as") {
            self.memory.slots.insert(read(name)?, invocation.slot.id());
        }
        match step.more.get("reply") {
            Some(answer) => {
                let reply = reply(&self.kept.filled(answer))?;
                self.done(|server, now| server.reply(now, invocation.slot, reply))
            }
            None => Ok(()),
        }
    }

    fn cancelled(&mut self, step: &Step) -> Result<(), Problem> {
        let expected = self.slot(&step.value)?;
        let wanted: Option<String> = step.more.get("reason").map(read).transpose()?;
        match self.event()? {
            Action::Cancelled { slot, reason } if slot == expected => {
                if wanted.is_none() || wanted.as_deref() == reason.as_deref() {
                    Ok(())
                } else {
                    Err(format!("the reason is {reason:?}"))
                }
            }
            other => Err(format!("another event: {other:?}")),
        }
    }

    fn notified(&mut self, step: &Step) -> Result<(), Problem> {
        let expected: String = read::<Message>(&step.value)?.method;
        let (method, params) = match self.event()? {
            Action::Notified(Notified::Initialized) => ("notifications/initialized".into(), Json::EMPTY_OBJECT),
            Action::Notified(Notified::RootsListChanged) => {
                ("notifications/roots/list_changed".into(), Json::EMPTY_OBJECT)
            }
            Action::Notified(Notified::Custom { method, params }) => (method, params),
            other => return Err(format!("another event: {other:?}")),
        };
        if *method != *expected {
            return Err(format!("the notification {method}"));
        }
        let wanted = read::<Message>(&step.value)?.params;
        wanted.map_or(Ok(()), |wanted| self.kept.compare(&wanted, params.get()))
    }

    fn answered(&mut self, step: &Step) -> Result<(), Problem> {
        let name: String = read(&step.value)?;
        let expected = *self.memory.requests.get(&name).ok_or("no such request")?;
        let outcome = match self.event()? {
            Action::Answered { call, outcome } if call == expected => outcome,
            other => return Err(format!("another event: {other:?}")),
        };
        match (outcome, step.more.get("result"), step.more.get("error"), step.more.get("failure")) {
            (Ok(result), Some(wanted), None, None) => self.kept.compare(wanted, result.get()),
            (Err(RequestFailure::Remote(error)), None, Some(wanted), None) => {
                let error = Json::from_value(&error).map_err(|error| error.to_string())?;
                self.kept.compare(wanted, error.get())
            }
            (Err(RequestFailure::TimedOut), None, None, Some(wanted)) => same(wanted, "timed_out"),
            (Err(RequestFailure::Gone), None, None, Some(wanted)) => same(wanted, "gone"),
            (outcome, ..) => Err(format!("answered with {outcome:?}")),
        }
    }

    fn report(&mut self, step: &Step) -> Result<(), Problem> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Report {
            progress: f64,
            total: Option<f64>,
            message: Option<String>,
        }
        let slot = self.slot(step.more.get("of").ok_or("progress of what?")?)?;
        let Report { progress, total, message } = read(&step.value)?;
        let sent = self.done(|server, now| server.progress(now, slot, &Progress { progress, total, message }))?;
        check_sent(step, sent)
    }

    fn log(&mut self, step: &Step) -> Result<(), Problem> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Log {
            level: Json,
            logger: Option<String>,
            data: Json,
        }
        let slot = step.more.get("of").map(|name| self.slot(name)).transpose()?;
        let Log { level, logger, data } = read(&step.value)?;
        let level = super::play::level(&level)?;
        let sent = self.done(|server, now| server.log(now, slot, &LogMessage { level, logger, data }))?;
        check_sent(step, sent)
    }

    fn request(&mut self, step: &Step) -> Result<(), Problem> {
        let message: Message = read(&step.value)?;
        let slot = step.more.get("of").map(|name| self.slot(name)).transpose()?;
        let timeout: Option<u64> = step.more.get("timeout_ms").map(read).transpose()?;
        let timeout = timeout.map(Duration::from_millis);
        let made = self.machine.request(self.now, slot, &message.method, message.params.as_ref(), timeout);
        match (made, step.more.contains_key("refused")) {
            (Ok(call), false) => {
                let name: String = step.more.get("as").map(read).transpose()?.unwrap_or_default();
                self.memory.requests.insert(name, call);
                Ok(())
            }
            (Err(_), true) => Ok(()),
            (Ok(_), true) => Err("the machine sent it".to_owned()),
            (Err(error), false) => Err(format!("refused: {error}")),
        }
    }
}

fn same(wanted: &Json, got: &str) -> Result<(), Problem> {
    let wanted: String = read(wanted)?;
    if wanted == got { Ok(()) } else { Err(format!("it is {got}")) }
}

fn check_sent(step: &Step, sent: Sent) -> Result<(), Problem> {
    step.more.get("sent").map_or(Ok(()), |wanted| same(wanted, sent.name()))
}

fn event(json: &Json) -> Result<Event, Problem> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Updated {
        resource: String,
    }
    if let Ok(Updated { resource }) = json.parse() {
        return Ok(Event::ResourceUpdated { uri: resource.into() });
    }
    match &*read::<String>(json)? {
        "tools" => Ok(Event::ToolsListChanged),
        "prompts" => Ok(Event::PromptsListChanged),
        "resources" => Ok(Event::ResourcesListChanged),
        other => Err(format!("{other:?} cannot change")),
    }
}

/// An invocation as a file sees it.
fn describe(invocation: &Invocation) -> Extra {
    let context = &invocation.context;
    let mut all = Extra::new();
    let mut put = |name: &'static str, value: Json| drop(all.insert(name, value));
    let text = |text: &str| Json::from(Value::from(text));
    match &invocation.call {
        Call::Complete { reference, argument, value, context } => {
            put("call", text("complete"));
            put(
                "ref",
                Json::from(match reference {
                    Reference::Prompt(_, name) => json!({"type": "ref/prompt", "name": name}),
                    Reference::Template(_, uri) => json!({"type": "ref/resource", "uri": uri}),
                }),
            );
            put("argument", text(argument));
            put("value", text(value));
            put("context", context.clone());
        }
        Call::List { list, cursor } => {
            put("call", text("list"));
            put("list", text(list.name()));
            put("cursor", cursor.as_deref().map_or(Json::NULL, text));
        }
        Call::Prompt { name, arguments, .. } => {
            put("call", text("prompt"));
            put("name", text(name));
            put("arguments", arguments.clone());
        }
        Call::Raw { method, params } => {
            put("call", text("raw"));
            put("method", text(method));
            put("params", params.clone());
        }
        Call::Read { uri, .. } => {
            put("call", text("read"));
            put("uri", text(uri));
        }
        Call::Subscribe { uri } => {
            put("call", text("subscribe"));
            put("uri", text(uri));
        }
        Call::Tool { name, arguments, .. } => {
            put("call", text("tool"));
            put("name", text(name));
            put("arguments", arguments.clone());
        }
        Call::Unsubscribe { uri } => {
            put("call", text("unsubscribe"));
            put("uri", text(uri));
        }
    }
    put("version", text(context.version().as_str()));
    put("round", Json::from(Value::from(context.round())));
    put("state", context.state().map_or(Json::NULL, text));
    put("memo", context.memo().cloned().unwrap_or(Json::NULL));
    put("input", inputs(invocation));
    all
}

/// The answers so far: `{"result": …}` or `{"error": …}` by key.
fn inputs(invocation: &Invocation) -> Json {
    let mut inputs = Map::new();
    for (key, answer) in invocation.context.inputs() {
        let answer = match answer {
            Ok(result) => json!({"result": result}),
            Err(error) => json!({"error": error}),
        };
        inputs.insert(key.to_owned(), answer);
    }
    Json::from(Value::Object(inputs))
}

/// A reply as a file writes it: an object whose one member says of which kind.
fn reply(json: &Json) -> Result<Reply, Problem> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Input {
        #[serde(default)]
        requests: Extra,
        state: Option<String>,
        memo: Option<Json>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Page {
        items: Vec<Json>,
        #[serde(rename = "nextCursor")]
        next_cursor: Option<String>,
    }
    let members: Extra = read(json)?;
    let Some((kind, value)) = members.iter().next().filter(|_| members.len() == 1) else {
        return Err("a reply has one member".to_owned());
    };
    Ok(match kind {
        "completion" => Reply::Completion(read(value)?),
        "empty" => Reply::Empty { meta: Some(value.clone()).filter(|meta| !meta.is_null()) },
        "error" => Reply::Error(read::<ErrorObject>(value)?),
        "failed" => Reply::Failed,
        "input" => {
            let Input { requests, state, memo } = read(value)?;
            let requests = requests.iter().map(|(key, request)| Ok((key.to_owned(), read(request)?)));
            Reply::InputRequired(InputRequired {
                requests: requests.collect::<Result<_, Problem>>()?,
                state,
                memo,
                timeouts: BTreeMap::new(),
            })
        }
        "list" => {
            let Page { items, next_cursor } = read(value)?;
            Reply::List(ListPage { items, next_cursor })
        }
        "prompt" => Reply::Prompt(read(value)?),
        "raw" => Reply::Raw(value.clone()),
        "resource" => Reply::Resource(read(value)?),
        "state_used" => Reply::StateUsed,
        "tool" => Reply::Tool(read(value)?),
        other => return Err(format!("{other:?} is no kind of reply")),
    })
}
