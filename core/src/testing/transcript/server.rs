//! The steps of a server's application: the same on stdio and over HTTP.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use serde::Deserialize;

use super::http::server::Ask;
use super::lines::{self, Lines};
use super::play::{Deadline, Problem, Role, Said, Stage, read};
use super::words::{describe, event, reply};
use super::{Step, Verbs};
use crate::error::Error;
use crate::ids::{CallId, ReplySlot, SlotId};
use crate::json::Json;
use crate::machine::{Input, Now};
use crate::model::Extra;
use crate::server::{Action, Event, LogMessage, Notified, Progress, Reply, RequestFailure, Sent, Server};
use crate::spec::Method;
use crate::testing::http::AskId;
use crate::testing::pair::Side;

pub(super) const VERBS: Verbs = &[
    // The machine says.
    ("closed", &[]),
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

/// Invocations and requests by the names that the file gives them, each with the machine that it came from.
#[derive(Debug)]
pub struct ServerMemory<P> {
    pub(super) slots: BTreeMap<String, (P, SlotId)>,
    requests: BTreeMap<String, (P, CallId)>,
    /// Machines by the names of the exchanges that came to them.
    pub(super) places: BTreeMap<String, P>,
    /// Exchanges by their names.
    pub(super) asks: BTreeMap<String, Ask>,
    /// What is compared when a client reads again that has stopped.
    pub(super) later: Vec<Step>,
}

impl<P> Default for ServerMemory<P> {
    fn default() -> Self {
        Self {
            slots: BTreeMap::new(),
            requests: BTreeMap::new(),
            places: BTreeMap::new(),
            asks: BTreeMap::new(),
            later: Vec::new(),
        }
    }
}

/// What a server says to its application.
#[derive(Debug)]
pub enum ServerEvent {
    /// Application code runs: what for, by the names that files have for it.
    Invoked {
        /// The invocation.
        slot: SlotId,
        /// Its description.
        call: Extra,
    },
    /// The client wants no answer any more.
    Cancelled {
        /// The invocation.
        slot: SlotId,
        /// Why, if it has said so.
        reason: Option<Box<str>>,
    },
    /// A notification for the application.
    Notified {
        /// Its method.
        method: Box<str>,
        /// Its params, an object.
        params: Json,
    },
    /// The client has answered a request of the application.
    Answered {
        /// The request.
        call: CallId,
        /// The answer.
        outcome: Result<Json, RequestFailure>,
    },
    /// It is over: why, by the name that files have for it; `None` if nobody says so.
    Closed(Option<&'static str>),
}

impl ServerEvent {
    /// As a machine says it.
    pub(super) fn of(action: Action) -> Result<Self, Problem> {
        let plain = |method: Method| Self::Notified { method: method.as_str().into(), params: Json::EMPTY_OBJECT };
        Ok(match action {
            Action::Invoke(invocation) => Self::Invoked { slot: invocation.slot.id(), call: describe(&invocation) },
            Action::Cancelled { slot, reason } => Self::Cancelled { slot, reason },
            Action::Notified(Notified::Initialized) => plain(Method::Initialized),
            Action::Notified(Notified::RootsListChanged) => plain(Method::RootsListChanged),
            Action::Notified(Notified::Custom { method, params }) => Self::Notified { method, params },
            Action::Answered { call, outcome } => Self::Answered { call, outcome },
            Action::Closed(closed) => Self::Closed(Some(closed.name())),
            other => return Err(format!("no event: {other:?}")),
        })
    }
}

/// A server, whatever carries its messages. On stdio it is one machine; over HTTP there is one in each place.
///
/// Invocations and requests have the names that whoever implements this gives them. The verbs are those of a machine,
/// and fail as they do.
pub trait Serves: Role<Memory = ServerMemory<Self::Place>, Event = (Self::Place, ServerEvent)> {
    /// Which machine.
    type Place: Copy + PartialEq + Debug;

    /// Where a step goes that names neither an invocation nor an exchange.
    const ALONE: Option<Self::Place>;

    /// Which machine serves a request of HTTP.
    fn served_by(&self, _ask: AskId) -> Option<Self::Place> {
        None
    }

    /// Answers an invocation.
    ///
    /// # Errors
    /// When it may not be answered, or not like this.
    fn reply(&mut self, now: Now, place: Self::Place, slot: SlotId, reply: Reply) -> Result<(), Error>;

    /// The handler of an invocation is gone.
    fn abandon(&mut self, now: Now, place: Self::Place, slot: SlotId);

    /// Reports progress of an invocation.
    ///
    /// # Errors
    /// When there is no such invocation.
    fn progress(&mut self, now: Now, place: Self::Place, slot: SlotId, progress: &Progress) -> Result<Sent, Error>;

    /// Logs, for an invocation or the session.
    ///
    /// # Errors
    /// When there is no such invocation.
    fn log(&mut self, now: Now, place: Self::Place, slot: Option<SlotId>, message: &LogMessage) -> Result<Sent, Error>;

    /// Sends a notification.
    ///
    /// # Errors
    /// When it may not be sent.
    fn notify(&mut self, now: Now, place: Self::Place, method: &str, params: Option<&Json>) -> Result<(), Error>;

    /// Something has changed. `None` where nobody says what became of it.
    fn publish(&mut self, now: Now, event: &Event) -> Option<Sent>;

    /// Asks the client, for an invocation or the session.
    ///
    /// # Errors
    /// When it may not be asked.
    fn request(
        &mut self,
        now: Now,
        place: Self::Place,
        slot: Option<SlotId>,
        message: &Message,
        timeout: Option<Duration>,
    ) -> Result<CallId, Error>;

    /// Withdraws a request.
    ///
    /// # Errors
    /// When it is not open.
    fn cancel_request(&mut self, now: Now, place: Self::Place, call: CallId, reason: Option<&str>)
    -> Result<(), Error>;
}

impl Lines for Server {
    fn handle(&mut self, now: Now, input: Input) -> Result<(), Error> {
        Self::handle(self, now, input)
    }
}

impl Serves for Server {
    type Place = ();

    const ALONE: Option<()> = Some(());

    fn reply(&mut self, now: Now, (): (), slot: SlotId, reply: Reply) -> Result<(), Error> {
        Self::reply(self, now, ReplySlot::from_id(slot), reply)
    }

    fn abandon(&mut self, now: Now, (): (), slot: SlotId) {
        Self::abandon(self, now, ReplySlot::from_id(slot));
    }

    fn progress(&mut self, now: Now, (): (), slot: SlotId, progress: &Progress) -> Result<Sent, Error> {
        Self::progress(self, now, slot, progress)
    }

    fn log(&mut self, now: Now, (): (), slot: Option<SlotId>, message: &LogMessage) -> Result<Sent, Error> {
        Self::log(self, now, slot, message)
    }

    fn notify(&mut self, now: Now, (): (), method: &str, params: Option<&Json>) -> Result<(), Error> {
        Self::notify(self, now, method, params)
    }

    fn publish(&mut self, now: Now, event: &Event) -> Option<Sent> {
        Some(Self::publish(self, now, event))
    }

    fn request(
        &mut self,
        now: Now,
        (): (),
        slot: Option<SlotId>,
        message: &Message,
        timeout: Option<Duration>,
    ) -> Result<CallId, Error> {
        Self::request(self, now, slot, &message.method, message.params.as_ref(), timeout)
    }

    fn cancel_request(&mut self, now: Now, (): (), call: CallId, reason: Option<&str>) -> Result<(), Error> {
        Self::cancel_request(self, now, call, reason)
    }
}

impl Role for Server {
    type Event = ((), ServerEvent);
    type Memory = ServerMemory<()>;

    const SIDE: Side = Side::Server;

    fn poll(stage: &mut Stage<Self>) -> Result<Option<Said<Self::Event>>, Problem> {
        let Some(said) = lines::poll(stage)? else { return Ok(None) };
        Ok(Some(match said {
            Said::Event(action) => Said::Event(((), ServerEvent::of(action)?)),
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
        stage.open_session(version, capabilities)
    }

    fn take(stage: &mut Stage<Self>, step: &Step, rest: &[Step]) -> Result<(), Problem> {
        stage.line_step(step, rest).unwrap_or_else(|| stage.serve_step(step))
    }
}

impl<M: Serves + Lines> Stage<M> {
    /// Opens a legacy session on stdio.
    ///
    /// # Errors
    /// When it does not open.
    pub fn open_session(&mut self, version: &str, capabilities: &Json) -> Result<(), Problem> {
        self.say(&initialize(version, capabilities))?;
        let answer = self.frame()?;
        if !answer.contains(version) {
            return Err(format!("the session was not opened: {answer}"));
        }
        self.say(INITIALIZED)?;
        self.event().map(drop)
    }
}

/// The two messages that open a session.
pub(super) fn initialize(version: &str, capabilities: &Json) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"session\",\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\
         \"{version}\",\"capabilities\":{capabilities},\"clientInfo\":{{\"name\":\"c\",\"version\":\"1\"}}}}}}"
    )
}

pub(super) const INITIALIZED: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";

/// A method with its params.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The method.
    pub method: String,
    /// An object.
    pub params: Option<Json>,
}

impl<M: Serves> Stage<M> {
    /// Takes a step that every server has.
    ///
    /// # Errors
    /// When it fails.
    pub fn serve_step(&mut self, step: &Step) -> Result<(), Problem> {
        match &*step.verb {
            "closed" => self.closed(step),
            "invoke" => self.invoke(step),
            "cancelled" => self.cancelled(step),
            "notified" => self.notified(step),
            "answered" => self.answered(step),
            "reply" => {
                let (place, slot) = self.slot(step.more.get("to").ok_or("reply to whom?")?)?;
                let reply = reply(&self.kept.filled(&step.value))?;
                done(self.machine.reply(self.now, place, slot, reply))
            }
            "abandon" => {
                let (place, slot) = self.slot(&step.value)?;
                self.machine.abandon(self.now, place, slot);
                Ok(())
            }
            "report" => self.report(step),
            "log" => self.log(step),
            "notify" => {
                let message: Message = read(&step.value)?;
                let (place, _) = self.addressee(step)?;
                done(self.machine.notify(self.now, place, &message.method, message.params.as_ref()))
            }
            "publish" => {
                let event = event(&step.value)?;
                match self.machine.publish(self.now, &event) {
                    Some(sent) => check_sent(step, sent),
                    None if step.more.contains_key("sent") => Err("nobody says whether it was sent".to_owned()),
                    None => Ok(()),
                }
            }
            "request" => self.request(step),
            "cancel_request" => {
                let name: String = read(&step.value)?;
                let (place, call) = *self.memory.requests.get(&name).ok_or("no such request")?;
                let reason: Option<String> = step.more.get("reason").map(read).transpose()?;
                done(self.machine.cancel_request(self.now, place, call, reason.as_deref()))
            }
            other => Err(format!("{other} is no step of a server")),
        }
    }

    pub(super) fn slot(&self, name: &Json) -> Result<(M::Place, SlotId), Problem> {
        let name: String = read(name)?;
        self.memory.slots.get(&name).copied().ok_or_else(|| format!("no invocation is called {name:?}"))
    }

    /// The machine that serves, or has served, the exchange of this name.
    fn place(&self, name: &Json) -> Result<M::Place, Problem> {
        let name: String = read(name)?;
        let served = self.memory.places.get(&name).copied();
        let served = served.or_else(|| self.machine.served_by(self.memory.asks.get(&name)?.id));
        served.ok_or_else(|| format!("no machine serves {name:?}"))
    }

    /// Where something of the application goes: to an invocation, or to a machine.
    fn addressee(&self, step: &Step) -> Result<(M::Place, Option<SlotId>), Problem> {
        if let Some(name) = step.more.get("of") {
            let (place, slot) = self.slot(name)?;
            return Ok((place, Some(slot)));
        }
        let place = step.more.get("on").map(|name| self.place(name)).transpose()?;
        Ok((place.or(M::ALONE).ok_or("to which machine?")?, None))
    }

    /// An event, from the machine that the step names.
    fn event_on(&mut self, step: &Step) -> Result<(M::Place, ServerEvent), Problem> {
        let (place, event) = self.event()?;
        match step.more.get("on").map(|name| self.place(name)).transpose()? {
            Some(wanted) if wanted != place => Err(format!("it comes from another machine: {event:?}")),
            _ => Ok((place, event)),
        }
    }

    fn closed(&mut self, step: &Step) -> Result<(), Problem> {
        let why = match self.event_on(step)? {
            (_, ServerEvent::Closed(why)) => why,
            (_, other) => return Err(format!("another event: {other:?}")),
        };
        let wanted = read::<String>(&step.value)?;
        match why {
            Some(why) if why != wanted => Err(format!("closed for {why}")),
            _ => Ok(()),
        }
    }

    fn invoke(&mut self, step: &Step) -> Result<(), Problem> {
        let (place, slot, call) = match self.event_on(step)? {
            (place, ServerEvent::Invoked { slot, call }) => (place, slot, call),
            (_, other) => return Err(format!("another event: {other:?}")),
        };
        // What the file does not name is not compared.
        let wanted: Extra = read(&step.value)?;
        for (name, value) in wanted.iter() {
            let got = call.get(name).ok_or_else(|| format!("the invocation has no {name:?}: {call:?}"))?;
            self.kept.compare(value, got.get()).map_err(|problem| format!("{name} {problem}"))?;
        }
        if let Some(name) = step.more.get("as") {
            self.memory.slots.insert(read(name)?, (place, slot));
        }
        match step.more.get("reply") {
            Some(answer) => {
                let reply = reply(&self.kept.filled(answer))?;
                done(self.machine.reply(self.now, place, slot, reply))
            }
            None => Ok(()),
        }
    }

    fn cancelled(&mut self, step: &Step) -> Result<(), Problem> {
        let expected = self.slot(&step.value)?;
        let wanted: Option<String> = step.more.get("reason").map(read).transpose()?;
        match self.event()? {
            (place, ServerEvent::Cancelled { slot, reason }) if (place, slot) == expected => {
                if wanted.is_none() || wanted.as_deref() == reason.as_deref() {
                    Ok(())
                } else {
                    Err(format!("the reason is {reason:?}"))
                }
            }
            (_, other) => Err(format!("another event: {other:?}")),
        }
    }

    fn notified(&mut self, step: &Step) -> Result<(), Problem> {
        let expected: String = read::<Message>(&step.value)?.method;
        let (method, params) = match self.event_on(step)?.1 {
            ServerEvent::Notified { method, params } => (method, params),
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
            (place, ServerEvent::Answered { call, outcome }) if (place, call) == expected => outcome,
            (_, other) => return Err(format!("another event: {other:?}")),
        };
        match (outcome, step.more.get("result"), step.more.get("error"), step.more.get("failure")) {
            (Ok(result), Some(wanted), None, None) => self.kept.compare(wanted, result.get()),
            (Err(RequestFailure::Remote(error)), None, Some(wanted), None) => {
                let error = Json::from_value(&error).map_err(|error| error.to_string())?;
                self.kept.compare(wanted, error.get())
            }
            (Err(failure), None, None, Some(wanted)) => same(wanted, failure.name()),
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
        let (place, slot) = self.slot(step.more.get("of").ok_or("progress of what?")?)?;
        let Report { progress, total, message } = read(&step.value)?;
        let progress = Progress { progress, total, message };
        let sent = done(self.machine.progress(self.now, place, slot, &progress))?;
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
        let (place, slot) = self.addressee(step)?;
        let Log { level, logger, data } = read(&step.value)?;
        let level = super::play::level(&level)?;
        let sent = done(self.machine.log(self.now, place, slot, &LogMessage { level, logger, data }))?;
        check_sent(step, sent)
    }

    fn request(&mut self, step: &Step) -> Result<(), Problem> {
        let message: Message = read(&step.value)?;
        let (place, slot) = self.addressee(step)?;
        let timeout: Option<u64> = step.more.get("timeout_ms").map(read).transpose()?;
        let timeout = timeout.map(Duration::from_millis);
        let made = self.machine.request(self.now, place, slot, &message, timeout);
        match (made, step.more.contains_key("refused")) {
            (Ok(call), false) => {
                let name: String = step.more.get("as").map(read).transpose()?.unwrap_or_default();
                self.memory.requests.insert(name, (place, call));
                Ok(())
            }
            (Err(_), true) => Ok(()),
            (Ok(_), true) => Err("the machine sent it".to_owned()),
            (Err(error), false) => Err(format!("refused: {error}")),
        }
    }
}

fn done<T>(outcome: Result<T, Error>) -> Result<T, Problem> {
    outcome.map_err(|error| format!("refused: {error}"))
}

fn same(wanted: &Json, got: &str) -> Result<(), Problem> {
    let wanted: String = read(wanted)?;
    if wanted == got { Ok(()) } else { Err(format!("it is {got}")) }
}

pub(super) fn check_sent(step: &Step, sent: Sent) -> Result<(), Problem> {
    step.more.get("sent").map_or(Ok(()), |wanted| same(wanted, sent.name()))
}
