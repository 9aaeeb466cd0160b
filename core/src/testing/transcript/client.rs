//! The steps of a client's application: the same on stdio and over HTTP.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::calls::{Calls, ClientEvent, ClientVerbs as _, Reason};
use super::lines::{self, Lines};
use super::play::{Deadline, Problem, Role, Said, Stage, level, read};
use super::server::Message;
use super::{Step, Verbs};
use crate::client::{Answer, CacheUse, CallError, CallOptions, Client, InputAnswer, InputId, List, Request};
use crate::error::{Error, ErrorObject};
use crate::http::client::FetchId;
use crate::ids::{CallId, RequestId, SlotId};
use crate::json::Json;
use crate::machine::{Input, Now};
use crate::model::SubscriptionFilter;
use crate::testing::pair::Side;

pub(super) const VERBS: Verbs = &[
    // The machine says.
    ("closed", &[]),
    ("connected", &[]),
    ("done", &["result", "error", "code", "data", "cached", "limit"]),
    ("progress", &["of"]),
    ("need_input", &["as", "of"]),
    ("cancelled_input", &["reason"]),
    ("invoke", &["as", "reply"]),
    ("cancelled_invoke", &["reason"]),
    ("notified", &["of"]),
    ("listening", &["of"]),
    // The application wants.
    ("connect", &[]),
    ("call", &["as", "options"]),
    ("retry", &["as", "of", "responses"]),
    ("walk", &["as", "options"]),
    ("listen", &["as"]),
    ("set_level", &["as"]),
    ("cancel", &["reason"]),
    ("supply", &["answer", "refused"]),
    ("reply", &["to"]),
    ("notify", &[]),
    ("roots_changed", &[]),
];

/// Calls, questions and requests of the server by the names that the file gives them.
#[derive(Debug, Default)]
pub struct ClientMemory {
    calls: BTreeMap<String, CallId>,
    requests: BTreeMap<String, Request>,
    answers: BTreeMap<String, Answer>,
    inputs: BTreeMap<String, InputId>,
    slots: BTreeMap<String, SlotId>,
    /// Exchanges of HTTP.
    pub(super) fetches: BTreeMap<String, FetchId>,
}

/// A question as a file names it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    key: String,
    method: String,
    params: Option<Json>,
}

impl Calls for Client {
    type Verbs = Self;

    fn verbs(&mut self) -> &mut Self {
        self
    }

    fn heard(event: &ClientEvent) -> Option<&ClientEvent> {
        Some(event)
    }

    fn hear(event: ClientEvent) -> Result<ClientEvent, Problem> {
        Ok(event)
    }
}

impl Lines for Client {
    fn handle(&mut self, now: Now, input: Input) -> Result<(), Error> {
        Self::handle(self, now, input)
    }
}

impl Role for Client {
    type Event = ClientEvent;
    type Memory = ClientMemory;

    const SIDE: Side = Side::Client;

    fn poll(stage: &mut Stage<Self>) -> Result<Option<Said<ClientEvent>>, Problem> {
        let Some(said) = lines::poll(stage)? else { return Ok(None) };
        Ok(Some(match said {
            Said::Event(action) => Said::Event(ClientEvent::of(action)?),
            Said::Frame(frame) => Said::Frame(frame),
            Said::Remark(remark) => Said::Remark(remark),
        }))
    }

    fn handle_timeout(&mut self, now: Now) {
        Self::handle_timeout(self, now);
    }

    fn deadline(&self) -> Deadline {
        Deadline::of(self.poll_timeout())
    }

    fn close(&mut self, now: Now) {
        Self::close(self, now);
    }

    fn open(stage: &mut Stage<Self>, version: &str, capabilities: &Json) -> Result<(), Problem> {
        stage.open_pinned(version, capabilities)
    }

    fn take(stage: &mut Stage<Self>, step: &Step, rest: &[Step]) -> Result<(), Problem> {
        stage.line_step(step, rest).unwrap_or_else(|| stage.call_step(step))
    }
}

impl<M: Calls + Lines> Stage<M> {
    /// Opens a legacy session on stdio.
    ///
    /// # Errors
    /// When it does not open.
    pub fn open_pinned(&mut self, version: &str, capabilities: &Json) -> Result<(), Problem> {
        self.done(|client, now| client.connect(now))?;
        let initialize = self.frame()?;
        let result = handshake_result(&initialize, version, capabilities)?;
        self.say(&result)?;
        self.frame()?;
        match M::hear(self.event()?)? {
            ClientEvent::Connected(_) => Ok(()),
            other => Err(format!("instead of a connection: {other:?}")),
        }
    }
}

/// The answer to an `initialize`, which must be one.
pub(super) fn handshake_result(initialize: &str, version: &str, capabilities: &Json) -> Result<String, Problem> {
    let id = serde_json::from_str::<serde_json::Value>(initialize)
        .ok()
        .filter(|frame| frame["method"] == "initialize")
        .ok_or_else(|| format!("no handshake: {initialize}"))?["id"]
        .clone();
    Ok(format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"protocolVersion\":\"{version}\",\"capabilities\":\
         {capabilities},\"serverInfo\":{{\"name\":\"s\",\"version\":\"1\"}}}}}}"
    ))
}

impl<M: Calls> Stage<M> {
    /// Takes a step that every client has.
    ///
    /// # Errors
    /// When it fails.
    pub fn call_step(&mut self, step: &Step) -> Result<(), Problem> {
        match &*step.verb {
            "closed" => self.call_closed(step),
            "connect" => self.done(|client, now| client.connect(now)),
            "connected" | "renewed" => self.settled(step),
            "call" => {
                let message: Message = read(&self.kept.filled(&step.value))?;
                let params = message.params.unwrap_or(Json::EMPTY_OBJECT);
                let request = Request::custom(&message.method, params).map_err(|error| error.to_string())?;
                let options = options(step)?;
                self.start(step, Some(request.clone()), |client, now| client.call(now, request, options))
            }
            "retry" => self.retry(step),
            "walk" => {
                let list = list(&step.value)?;
                let options = options(step)?;
                self.start(step, None, |client, now| client.walk(now, list, options))
            }
            "listen" => {
                let filter: SubscriptionFilter = read(&step.value)?;
                self.start(step, None, |client, now| client.listen(now, &filter))
            }
            "set_level" => {
                let level = level(&step.value)?;
                self.start(step, None, |client, now| client.set_level(now, level))
            }
            "cancel" => {
                let call = self.call(&step.value)?;
                let reason: Option<String> = step.more.get("reason").map(read).transpose()?;
                self.done(|client, now| client.cancel(now, call, reason.as_deref()))
            }
            "supply" => self.supply(step),
            "reply" => {
                let slot = self.asked(step.more.get("to").ok_or("reply to whom?")?)?;
                let reply = reply(&step.value)?;
                self.done(|client, now| client.reply(now, slot, reply))
            }
            "notify" => {
                let Message { method, params } = read(&step.value)?;
                self.done(|client, now| client.notify(now, &method, &params.unwrap_or(Json::EMPTY_OBJECT)))
            }
            "roots_changed" => self.done(|client, now| client.roots_changed(now)),
            _ => self.event_step(step),
        }
    }

    pub(super) fn done<T>(&mut self, act: impl FnOnce(&mut M::Verbs, Now) -> Result<T, Error>) -> Result<T, Problem> {
        act(self.machine.verbs(), self.now).map_err(|error| format!("refused: {error}"))
    }

    /// The event that a step means. What has an order of its own (the notifications, the progress of a call) is not
    /// looked through any further.
    fn app_event(&mut self, step: &Step) -> Result<ClientEvent, Problem> {
        let name = |member: &str| step.more.get(member).and_then(|name| name.parse::<String>().ok());
        let itself = step.value.parse::<String>().ok();
        let id = |name: Option<String>| name.and_then(|name| self.memory.calls.get(&name).copied());
        let of = id(name("of"));
        let call = id(itself.clone());
        let input = itself.as_ref().and_then(|name| self.memory.inputs.get(name).copied());
        let slot = itself.as_ref().and_then(|name| self.memory.slots.get(name).copied());
        let asked = step.value.parse::<Asked>().ok();
        let fits = |event: &M::Event| match (&*step.verb, M::heard(event)) {
            ("closed", Some(ClientEvent::Closed(_)))
            | ("connected", Some(ClientEvent::Connected(_)))
            | ("renewed", Some(ClientEvent::Renewed(_)))
            | ("notified", Some(ClientEvent::Notified { .. })) => true,
            ("done", Some(ClientEvent::Done { call: ended, .. })) => call == Some(*ended),
            ("progress", Some(ClientEvent::Progress { call, .. }))
            | ("listening", Some(ClientEvent::Listening { call, .. })) => of.is_none_or(|of| of == *call),
            ("need_input", Some(ClientEvent::NeedInput { key, method, .. })) => {
                asked.as_ref().is_some_and(|asked| asked.key == *key && asked.method == *method)
            }
            ("invoke", Some(ClientEvent::Invoke { method, .. })) => {
                asked.as_ref().is_some_and(|asked| asked.method == *method)
            }
            ("cancelled_input", Some(ClientEvent::CancelledInput { input: gone, .. })) => input == Some(*gone),
            ("cancelled_invoke", Some(ClientEvent::CancelledInvoke { slot: gone, .. })) => slot == Some(*gone),
            _ => false,
        };
        M::hear(self.event_of(fits)?)
    }

    fn call_closed(&mut self, step: &Step) -> Result<(), Problem> {
        let why = match self.app_event(step)? {
            ClientEvent::Closed(why) => why,
            other => return Err(format!("another event: {other:?}")),
        };
        if read::<String>(&step.value)? == why { Ok(()) } else { Err(format!("closed for {why}")) }
    }

    fn call(&self, name: &Json) -> Result<CallId, Problem> {
        let name: String = read(name)?;
        self.memory.calls.get(&name).copied().ok_or_else(|| format!("no call is called {name:?}"))
    }

    fn asked(&self, name: &Json) -> Result<SlotId, Problem> {
        let name: String = read(name)?;
        self.memory.slots.get(&name).copied().ok_or_else(|| format!("no request is called {name:?}"))
    }

    fn start(
        &mut self,
        step: &Step,
        request: Option<Request>,
        act: impl FnOnce(&mut M::Verbs, Now) -> Result<CallId, Error>,
    ) -> Result<(), Problem> {
        let call = self.done(act)?;
        let name: String = step.more.get("as").map(read).transpose()?.unwrap_or_default();
        if let Some(request) = request {
            self.memory.requests.insert(name.clone(), request);
        }
        self.memory.calls.insert(name, call);
        Ok(())
    }

    /// The next round of a call whose rounds the file drives.
    fn retry(&mut self, step: &Step) -> Result<(), Problem> {
        let of: String = read(step.more.get("of").ok_or("retry of what?")?)?;
        let answer = self.memory.answers.get(&of).ok_or("the call has no answer")?;
        let request = self.memory.requests.get(&of).ok_or("the call has no request")?.clone();
        let responses = step.more.get("responses").cloned().unwrap_or(Json::EMPTY_OBJECT);
        let request = request.retry(answer, &responses).map_err(|error| error.to_string())?;
        let options = CallOptions::new().drive_input(false);
        self.start(step, Some(request.clone()), |client, now| client.call(now, request, options))
    }

    fn supply(&mut self, step: &Step) -> Result<(), Problem> {
        let name: String = read(&step.value)?;
        let input = *self.memory.inputs.get(&name).ok_or("no such question")?;
        let answer = answer(step.more.get("answer").ok_or("what is the answer?")?)?;
        let wrong = step.more.contains_key("refused");
        match (self.machine.verbs().supply(self.now, input, answer, wrong), wrong) {
            (Ok(()), false) | (Err(_), true) => Ok(()),
            (Ok(()), true) => Err("the machine took it".to_owned()),
            (Err(error), false) => Err(format!("refused: {error}")),
        }
    }

    fn settled(&mut self, step: &Step) -> Result<(), Problem> {
        let wanted: String = read(&step.value)?;
        match (&*step.verb, self.app_event(step)?) {
            ("connected", ClientEvent::Connected(version)) | ("renewed", ClientEvent::Renewed(version))
                if version.as_str() == wanted =>
            {
                Ok(())
            }
            (_, other) => Err(format!("another event: {other:?}")),
        }
    }

    /// Steps that an event must follow.
    fn event_step(&mut self, step: &Step) -> Result<(), Problem> {
        match (&*step.verb, self.app_event(step)?) {
            ("done", ClientEvent::Done { call, outcome }) if call == self.call(&step.value)? => {
                self.ended(step, outcome)
            }
            ("progress", ClientEvent::Progress { call, raw }) if self.is(step, "of", Some(call))? => {
                self.kept.compare(&step.value, raw.get())
            }
            ("need_input", ClientEvent::NeedInput { input, call, key, method, params })
                if self.is(step, "of", call)? =>
            {
                let wanted: Asked = read(&step.value)?;
                if wanted.key != key || wanted.method != method {
                    return Err(format!("the question {key:?}, {method}"));
                }
                if let Some(name) = step.more.get("as") {
                    self.memory.inputs.insert(read(name)?, input);
                }
                wanted.params.map_or(Ok(()), |wanted| self.kept.compare(&wanted, params.get()))
            }
            ("cancelled_input", ClientEvent::CancelledInput { input, reason }) => {
                let name: String = read(&step.value)?;
                let same = self.memory.inputs.get(&name) == Some(&input);
                if same { check_reason(step, &reason) } else { Err("another question".to_owned()) }
            }
            ("invoke", ClientEvent::Invoke { slot, method, params }) => {
                let wanted: Message = read(&step.value)?;
                if wanted.method != method {
                    return Err(format!("the request {method}"));
                }
                wanted.params.map_or(Ok(()), |wanted| self.kept.compare(&wanted, params.get()))?;
                if let Some(name) = step.more.get("as") {
                    self.memory.slots.insert(read(name)?, slot);
                }
                match step.more.get("reply") {
                    Some(answer) => {
                        let reply = reply(answer)?;
                        self.done(|client, now| client.reply(now, slot, reply))
                    }
                    None => Ok(()),
                }
            }
            ("cancelled_invoke", ClientEvent::CancelledInvoke { slot, reason })
                if slot == self.asked(&step.value)? =>
            {
                check_reason(step, &reason)
            }
            ("notified", ClientEvent::Notified { method, params, subscription })
                if self.is(step, "of", subscription)? =>
            {
                let wanted: Message = read(&step.value)?;
                if wanted.method != method {
                    return Err(format!("the notification {method}"));
                }
                wanted.params.map_or(Ok(()), |wanted| self.kept.compare(&wanted, params.get()))
            }
            ("listening", ClientEvent::Listening { call, filter }) if self.is(step, "of", Some(call))? => {
                let filter = Json::from_value(&filter).map_err(|error| error.to_string())?;
                self.kept.compare(&step.value, filter.get())
            }
            (_, other) => Err(format!("another event: {other:?}")),
        }
    }

    /// Whether the call that a step names is this one. A step that names none is content with any.
    fn is(&self, step: &Step, member: &str, call: Option<CallId>) -> Result<bool, Problem> {
        match step.more.get(member) {
            Some(name) => Ok(Some(self.call(name)?) == call),
            None => Ok(true),
        }
    }

    fn ended(&mut self, step: &Step, outcome: Result<Option<Answer>, CallError>) -> Result<(), Problem> {
        match outcome {
            Ok(None) => {
                let wanted = step.more.get("result").ok_or("it succeeded")?;
                self.kept.compare(wanted, "null")
            }
            Ok(Some(answer)) => {
                let cached: bool = step.more.get("cached").map(read).transpose()?.unwrap_or(false);
                if answer.is_cached() != cached {
                    return Err(format!("whether it was cached: {}", answer.is_cached()));
                }
                let wanted = step.more.get("result").ok_or_else(|| format!("it succeeded: {}", answer.json()))?;
                self.kept.compare(wanted, answer.json().get())?;
                self.memory.answers.insert(read(&step.value)?, answer);
                Ok(())
            }
            Err(error) => {
                let name = error.name();
                let wanted = step.more.get("error").map(read::<String>).transpose()?;
                if wanted.as_deref() != Some(name) {
                    return Err(format!("it failed with {name}: {error}"));
                }
                if let CallError::Remote(error) = &error {
                    if let Some(code) = step.more.get("code") {
                        self.kept.compare(code, &error.code.0.to_string())?;
                    }
                    if let Some(data) = step.more.get("data") {
                        self.kept.compare(data, error.data.as_ref().map_or("null", Json::get))?;
                    }
                }
                if let CallError::Exchange(error) = &error {
                    let (kind, status) = (error.name(), error.status());
                    let same = |member: &str, got: Json| match step.more.get(member) {
                        Some(wanted) if *wanted != got => Err(format!("the {member} is {got}")),
                        _ => Ok(()),
                    };
                    same("exchange", Json::from(serde_json::Value::from(kind)))?;
                    same("status", Json::from(serde_json::Value::from(status)))?;
                }
                if let (CallError::BoundExceeded { bound, .. }, Some(limit)) = (&error, step.more.get("limit")) {
                    let limit: String = read(limit)?;
                    if limit != bound.name() {
                        return Err(format!("the bound is {bound}"));
                    }
                }
                Ok(())
            }
        }
    }
}

fn check_reason(step: &Step, reason: &Reason) -> Result<(), Problem> {
    let wanted: Option<String> = step.more.get("reason").map(read).transpose()?;
    match reason {
        Reason::Said(said) if wanted.is_some() && wanted != *said => Err(format!("the reason is {said:?}")),
        _ => Ok(()),
    }
}

fn list(json: &Json) -> Result<List, Problem> {
    let name: String = read(json)?;
    List::named(&name).ok_or_else(|| format!("{name:?} is no list"))
}

fn options(step: &Step) -> Result<CallOptions, Problem> {
    #[derive(Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Options {
        progress: Option<Json>,
        idle_ms: Option<u64>,
        hard_ms: Option<u64>,
        drive_input: Option<bool>,
        meta: Option<Json>,
        cache: Option<String>,
        log_level: Option<Json>,
        partition: Option<String>,
    }
    let given: Options = step.more.get("options").map(read).transpose()?.unwrap_or_default();
    let mut options = CallOptions::new();
    options = match given.progress {
        Some(json) if json.get() == "true" => options.progress(),
        Some(json) => options.progress_token(read::<RequestId>(&json)?),
        None => options,
    };
    if let Some(millis) = given.idle_ms {
        options = options.idle(Some(Duration::from_millis(millis)));
    }
    if let Some(millis) = given.hard_ms {
        options = options.hard(Some(Duration::from_millis(millis)));
    }
    if let Some(drive) = given.drive_input {
        options = options.drive_input(drive);
    }
    if let Some(meta) = given.meta {
        options = options.meta(meta);
    }
    if let Some(name) = given.log_level {
        options = options.log_level(level(&name)?);
    }
    if let Some(partition) = given.partition {
        options = options.partition(partition);
    }
    match given.cache.as_deref() {
        None | Some("use") => Ok(options),
        Some("refresh") => Ok(options.cache(CacheUse::Refresh)),
        Some("bypass") => Ok(options.cache(CacheUse::Bypass)),
        Some(other) => Err(format!("{other:?} is no use of the cache")),
    }
}

/// An answer to a request of the server, as a file writes it.
fn reply(json: &Json) -> Result<Result<Json, ErrorObject>, Problem> {
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Reply {
        Result(Json),
        Error(ErrorObject),
    }
    Ok(match read(json)? {
        Reply::Result(result) => Ok(result),
        Reply::Error(error) => Err(error),
    })
}

/// An answer to a question, as a file writes it.
fn answer(json: &Json) -> Result<InputAnswer, Problem> {
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Written {
        Elicit(crate::model::ElicitResult),
        Sample(Box<crate::model::CreateMessageResult>),
        Roots(crate::model::ListRootsResult),
        Raw(Json),
        Declined,
        Refused(ErrorObject),
    }
    Ok(match read(json)? {
        Written::Elicit(result) => InputAnswer::Elicit(result),
        Written::Sample(result) => InputAnswer::Sample(result),
        Written::Roots(result) => InputAnswer::Roots(result),
        Written::Raw(result) => InputAnswer::Raw(result),
        Written::Declined => InputAnswer::Declined,
        Written::Refused(error) => InputAnswer::Refused(error),
    })
}
