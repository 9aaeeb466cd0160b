//! The three machines of a server as one: that of a stream, of an HTTP exchange and of a session.
//!
//! Their verbs are the same; what only some of them have, the others refuse.

use std::sync::Arc;

use bytes::Bytes;
use mcp_sansio::error::{Error, Misuse};
use mcp_sansio::http::server::{self as http, Action, Exchange, ExchangeId, ListenKey, NoRoom, Session};
use mcp_sansio::ids::{CallId, ReplySlot, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Input, Mono, Now, TimerKind};
use mcp_sansio::model::ElicitParams;
use mcp_sansio::server::{
    self, Context, Definition, Event, Invocation, List, LogMessage, Progress, Reply, Sent, Server,
};
use serde::Deserialize;

use crate::Result;
use crate::cell::Inside;
use crate::definition::level;
use crate::reply::{reply, snapshot};
use crate::told::{argument, read, span, whole};

/// What an event that is no list is called.
const RESOURCE: &str = "resource";

/// A machine of a server.
#[derive(Debug)]
pub struct Machine {
    pub(crate) kind: Kind,
    contexts: Contexts,
    /// What the endpoint is asked to enter.
    pub(crate) listen: Option<http::Subscription>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Lines(Box<Server>),
    Exchange(Box<Exchange>),
    Session(Box<Session>),
}

/// What a machine says.
#[derive(Debug)]
pub enum Said {
    /// A frame for the stream.
    Write(Bytes),
    /// Application code to run. Its context stays here, for [`Machine::context`].
    Invoke {
        /// The right to answer.
        slot: SlotId,
        /// What is asked.
        call: server::Call,
        /// At which revision.
        version: &'static str,
        /// How often input was asked for before.
        round: u32,
    },
    /// Everything else. `Invoke` is not among it.
    Other(Action),
}

/// What a machine says, with the context of what it asks.
#[derive(Debug)]
pub enum Whole {
    /// A frame for the stream.
    Write(Bytes),
    /// Everything else.
    Other(Action),
}

/// Does the same with each of the machines.
macro_rules! each {
    ($from:expr, $machine:ident => $act:expr) => {
        match $from {
            Kind::Lines($machine) => $act,
            Kind::Exchange($machine) => $act,
            Kind::Session($machine) => $act,
        }
    };
}

/// The circumstances of what has not been answered, by the place of its slot.
#[derive(Debug, Default)]
struct Contexts(Vec<Option<(SlotId, Context)>>);

impl Contexts {
    fn place(slot: SlotId) -> usize {
        (slot.to_u64() & 0xffff_ffff) as usize
    }

    fn put(&mut self, slot: SlotId, context: Context) {
        let place = Self::place(slot);
        if self.0.len() <= place {
            self.0.resize_with(place + 1, || None);
        }
        self.0[place] = Some((slot, context));
    }

    fn get(&self, slot: SlotId) -> Result<&Context> {
        let found = self.0.get(Self::place(slot)).and_then(Option::as_ref);
        found.filter(|(owner, _)| *owner == slot).map(|(_, context)| context).ok_or_else(|| Misuse::SlotNotOpen.into())
    }

    fn remove(&mut self, slot: SlotId) {
        if let Some(place) = self.0.get_mut(Self::place(slot))
            && place.as_ref().is_some_and(|(owner, _)| *owner == slot)
        {
            *place = None;
        }
    }
}

/// The rarer verbs, each with its arguments. A slot is its two halves.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verb {
    CancelRequest(u64, Option<String>),
    Close(),
    CloseStream([u32; 2]),
    Deliver(String, Option<String>),
    Disconnected(u64),
    ElicitationComplete(String),
    Elicited([u32; 2], String, ElicitParams),
    Eof(),
    ExportSession(),
    Id(),
    ImportSession(Json),
    Log(Option<[u32; 2]>, String, Option<String>, Json),
    Notify(Option<[u32; 2]>, String, Option<Json>),
    Progress([u32; 2], f64, Option<f64>, Option<String>),
    Publish(String, Option<String>),
    Request(Option<[u32; 2]>, String, Option<Json>, Option<f64>),
    RequireCapability([u32; 2], String),
    SetPrincipal(Option<String>),
    Shutdown(),
}

fn slot([low, high]: [u32; 2]) -> SlotId {
    SlotId::from_u64(whole(low, high))
}

/// What a verb answers, as JSON.
fn sent(sent: Sent) -> Option<String> {
    Some(format!("{:?}", sent.name()))
}

impl Machine {
    pub(crate) fn of(kind: Kind) -> Self {
        Self { kind, contexts: Contexts::default(), listen: None }
    }

    /// The server of a stream.
    ///
    /// # Errors
    /// When the seed has not 32 bytes.
    pub fn lines(definition: &Arc<Definition>, seed: &[u8]) -> Result<Self> {
        let server = Server::new(Arc::clone(definition), crate::told::seed(seed)?);
        Ok(Self::of(Kind::Lines(Box::new(server))))
    }

    /// Bytes of the stream.
    ///
    /// # Errors
    /// As [`Server::handle`]; where there is no stream.
    pub fn bytes(&mut self, now: Now, bytes: Bytes) -> Result<()> {
        match &mut self.kind {
            Kind::Lines(server) => server.handle(now, Input::Bytes(bytes)),
            Kind::Exchange(_) | Kind::Session(_) => Err(absent()),
        }
    }

    /// So much was written, of the stream or of an exchange.
    ///
    /// # Errors
    /// As [`Server::handle`].
    pub fn written(&mut self, now: Now, exchange: u64, bytes: usize) -> Result<()> {
        match &mut self.kind {
            Kind::Lines(server) => return server.handle(now, Input::Written(bytes)),
            Kind::Exchange(one) => one.handle(now, http::Input::Written(bytes)),
            Kind::Session(session) => {
                session.handle(now, ExchangeId::from_u64(exchange), http::Input::Written(bytes));
            }
        }
        Ok(())
    }

    /// `handle_timeout`.
    pub fn handle_timeout(&mut self, now: Now) {
        each!(&mut self.kind, machine => machine.handle_timeout(now));
    }

    /// `poll_timeout`.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Mono, TimerKind)> {
        each!(&self.kind, machine => machine.poll_timeout())
    }

    /// `poll_action`, for a binding that keeps contexts and subscriptions itself.
    pub fn poll_whole(&mut self) -> Option<Whole> {
        Some(Whole::Other(match &mut self.kind {
            Kind::Lines(server) => match server.poll_action()? {
                server::Action::Write(frame) => return Some(Whole::Write(frame)),
                server::Action::Answered { call, outcome } => Action::Answered { call, outcome },
                server::Action::Cancelled { slot, reason } => Action::Cancelled { slot, reason },
                server::Action::Closed(why) => Action::Closed(why),
                server::Action::Diagnostic(remark) => Action::Diagnostic(remark),
                server::Action::Invoke(invocation) => Action::Invoke(invocation),
                server::Action::Notified(notified) => Action::Notified(notified),
                _ => return None,
            },
            Kind::Exchange(exchange) => exchange.poll_action()?,
            Kind::Session(session) => session.poll_action()?,
        }))
    }

    /// `poll_action`.
    pub fn poll(&mut self) -> Option<Said> {
        let action = match self.poll_whole()? {
            Whole::Write(frame) => return Some(Said::Write(frame)),
            Whole::Other(action) => action,
        };
        Some(match action {
            Action::Invoke(invocation) => {
                let Invocation { slot, call, context } = *invocation;
                let (version, round) = (context.version().as_str(), context.round());
                self.contexts.put(slot.id(), context);
                Said::Invoke { slot: slot.id(), call, version, round }
            }
            Action::Listen(subscription) => {
                self.listen = Some(subscription.clone());
                Said::Other(Action::Listen(subscription))
            }
            other => Said::Other(other),
        })
    }

    /// `wants_input`, which only a stream has.
    #[must_use]
    pub fn wants_input(&self) -> bool {
        matches!(&self.kind, Kind::Lines(server) if server.wants_input())
    }

    /// `is_closed`, `is_over`.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        match &self.kind {
            Kind::Lines(server) => server.is_closed(),
            Kind::Exchange(exchange) => exchange.is_over(),
            Kind::Session(session) => session.is_closed(),
        }
    }

    /// Answers an invocation. The kinds are numbered from 0: tool, prompt, resource, completion, list, input, error, raw,
    /// empty, failed, state used, the result of a tool that is one text, and one that says so of an error.
    ///
    /// # Errors
    /// When the slot is not open; when the value has not the shape of its kind, which leaves the slot open.
    pub fn reply(&mut self, now: Now, slot: SlotId, kind: u32, value: Option<String>) -> Result<()> {
        self.answer(now, slot, reply(kind, value)?)
    }

    /// Answers an invocation with a reply that is made.
    ///
    /// # Errors
    /// When the slot is not open.
    pub fn answer(&mut self, now: Now, slot: SlotId, reply: Reply) -> Result<()> {
        self.contexts.remove(slot);
        each!(&mut self.kind, machine => machine.reply(now, ReplySlot::from_id(slot), reply))
    }

    /// `abandon`.
    pub fn abandon(&mut self, now: Now, slot: SlotId) {
        self.contexts.remove(slot);
        each!(&mut self.kind, machine => machine.abandon(now, ReplySlot::from_id(slot)));
    }

    /// Everything that the context of a slot can tell, as JSON.
    ///
    /// # Errors
    /// When the slot is not open.
    pub fn context(&self, slot: SlotId) -> Result<String> {
        snapshot(self.contexts.get(slot)?, true)
    }

    /// Every other verb: an object whose one member is the name of the verb, with its arguments. The answer is JSON, or
    /// nothing.
    ///
    /// # Errors
    /// As the verb; when it is none, or not one of this machine.
    pub fn act(&mut self, now: Now, verb: &str) -> Result<Option<String>> {
        let verb = read::<Verb>(verb)?;
        if let Some(answer) = self.ask(&verb) {
            return answer;
        }
        match (&mut self.kind, verb) {
            (machine, Verb::Progress(of, progress, total, message)) => {
                let report = Progress { progress, total, message };
                each!(machine, one => one.progress(now, slot(of), &report)).map(sent)
            }
            (machine, Verb::Log(of, name, logger, data)) => {
                let message = LogMessage { level: level(&name)?, logger, data };
                each!(machine, one => one.log(now, of.map(slot), &message)).map(sent)
            }
            (Kind::Lines(server), verb) => Self::stream(server, now, verb),
            (Kind::Exchange(exchange), verb) => Self::exchange(exchange, now, verb),
            (Kind::Session(session), verb) => Self::session(session, now, verb),
        }
    }

    /// `replace_definition`.
    ///
    /// # Errors
    /// An exchange keeps its definition.
    pub fn replace_definition(&mut self, now: Now, definition: &Arc<Definition>) -> Result<()> {
        match &mut self.kind {
            Kind::Lines(server) => server.replace_definition(now, Arc::clone(definition)),
            Kind::Session(session) => session.replace_definition(now, Arc::clone(definition)),
            Kind::Exchange(_) => return Err(absent()),
        }
        Ok(())
    }

    /// What a handler asks its context.
    fn ask(&self, verb: &Verb) -> Option<Result<Option<String>>> {
        let text = |answer: serde_json::Result<String>| answer.map_err(argument);
        Some(match verb {
            Verb::Elicited(of, key, asked) => self.contexts.get(slot(*of)).and_then(|context| {
                context.elicited(key, asked).map(|answer| text(serde_json::to_string(&answer))).transpose()
            }),
            Verb::RequireCapability(of, path) => self.contexts.get(slot(*of)).and_then(|context| {
                context.require_capability(path).err().map(|error| text(serde_json::to_string(&error))).transpose()
            }),
            _ => return None,
        })
    }

    fn stream(server: &mut Server, now: Now, verb: Verb) -> Result<Option<String>> {
        match verb {
            Verb::CancelRequest(call, reason) => {
                server.cancel_request(now, CallId::from_u64(call), reason.as_deref())?
            }
            Verb::Close() => server.close(now),
            Verb::ElicitationComplete(id) => return Ok(sent(server.elicitation_complete(now, &id))),
            Verb::Eof() => server.handle(now, Input::Eof)?,
            Verb::ExportSession() => return Ok(server.export_session().map(|session| session.get().to_owned())),
            Verb::ImportSession(session) => server.import_session(&session)?,
            Verb::Notify(_, method, params) => server.notify(now, &method, params.as_ref())?,
            Verb::Publish(changed, uri) => return Ok(sent(server.publish(now, &event(&changed, uri)?))),
            Verb::Request(of, method, params, timeout) => {
                let call = server.request(now, of.map(slot), &method, params.as_ref(), timeout.map(span))?;
                return Ok(Some(call.to_u64().to_string()));
            }
            Verb::SetPrincipal(principal) => server.set_principal(principal.map(Into::into)),
            _ => return Err(absent()),
        }
        Ok(None)
    }

    fn exchange(one: &mut Exchange, now: Now, verb: Verb) -> Result<Option<String>> {
        match verb {
            Verb::Deliver(changed, uri) => return Ok(sent(one.deliver(now, &event(&changed, uri)?))),
            Verb::Disconnected(_) => one.handle(now, http::Input::Disconnected),
            Verb::Notify(of, method, params) => one.notify(now, of.map(slot), &method, params.as_ref())?,
            Verb::Publish(changed, uri) => one.publish(now, event(&changed, uri)?),
            Verb::Shutdown() => one.shutdown(now),
            _ => return Err(absent()),
        }
        Ok(None)
    }

    fn session(one: &mut Session, now: Now, verb: Verb) -> Result<Option<String>> {
        match verb {
            Verb::CancelRequest(call, reason) => one.cancel_request(now, CallId::from_u64(call), reason.as_deref())?,
            Verb::Close() => one.close(now),
            Verb::CloseStream(of) => return Ok(sent(one.close_stream(now, slot(of)))),
            Verb::Deliver(changed, uri) => return Ok(sent(one.deliver(now, &event(&changed, uri)?))),
            Verb::Disconnected(exchange) => {
                one.handle(now, ExchangeId::from_u64(exchange), http::Input::Disconnected);
            }
            Verb::ElicitationComplete(id) => return Ok(sent(one.elicitation_complete(now, &id))),
            Verb::Id() => return Ok(Some(format!("{:?}", one.id()))),
            Verb::Notify(of, method, params) => one.notify(now, of.map(slot), &method, params.as_ref())?,
            Verb::Publish(changed, uri) => one.publish(now, event(&changed, uri)?),
            Verb::Request(of, method, params, timeout) => {
                let call = one.request(now, of.map(slot), &method, params.as_ref(), timeout.map(span))?;
                return Ok(Some(call.to_u64().to_string()));
            }
            Verb::Shutdown() => one.shutdown(now),
            _ => return Err(absent()),
        }
        Ok(None)
    }

    /// `listening`: what the registry says to the listen stream that an exchange has asked for.
    ///
    /// # Errors
    /// When it is no exchange.
    pub fn listening(&mut self, now: Now, admitted: std::result::Result<ListenKey, NoRoom>) -> Result<()> {
        let Kind::Exchange(exchange) = &mut self.kind else { return Err(absent()) };
        exchange.listening(now, admitted);
        Ok(())
    }

    /// The name of the listen stream that the machine carries.
    pub(crate) fn listen_key(&self) -> Option<ListenKey> {
        match &self.kind {
            Kind::Exchange(exchange) => exchange.listen_key(),
            Kind::Lines(_) | Kind::Session(_) => None,
        }
    }
}

impl Inside for Machine {
    fn abandon(&mut self, now: Now, slot: SlotId) {
        Self::abandon(self, now, slot);
    }
}

fn absent() -> Error {
    Misuse::WrongState("this machine has no such verb").into()
}

/// What has changed: the name of a list or `resource`, and the address of a resource.
#[must_use]
pub fn event_names(event: &Event) -> (&'static str, Option<&str>) {
    match event {
        Event::PromptsListChanged => (List::Prompts.name(), None),
        Event::ResourcesListChanged => (List::Resources.name(), None),
        Event::ToolsListChanged => (List::Tools.name(), None),
        Event::ResourceUpdated { uri } => (RESOURCE, Some(uri)),
        _ => ("", None),
    }
}

/// The event that these names mean.
///
/// # Errors
/// When they mean none.
pub fn event(changed: &str, uri: Option<String>) -> Result<Event> {
    match (List::named(changed), uri) {
        (None, Some(uri)) if changed == RESOURCE => Ok(Event::ResourceUpdated { uri: uri.into() }),
        (Some(List::Prompts), _) => Ok(Event::PromptsListChanged),
        (Some(List::Tools), _) => Ok(Event::ToolsListChanged),
        (Some(List::Resources), _) => Ok(Event::ResourcesListChanged),
        _ => Err(argument(format!("{changed:?} cannot change"))),
    }
}
