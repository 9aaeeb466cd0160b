//! The three machines of a server as one class: that of a stream, of an HTTP exchange and of a session.
//!
//! Their verbs are the same; what only some of them have, the others refuse.

use std::sync::Arc;

use bytes::Bytes;
use mcp_sansio::error::{Error, Misuse};
use mcp_sansio::http::server::{self as http, Exchange, ExchangeId, ListenKey, Session};
use mcp_sansio::ids::{CallId, ReplySlot, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Input, Now};
use mcp_sansio::model::ElicitParams;
use mcp_sansio::server::{Context, LogMessage, Progress, Sent, Server};
use napi::Env;
use napi::bindgen_prelude::Result;
use napi_derive::napi;
use serde::Deserialize;

use crate::action::{self, event};
use crate::definition::{Definition, level};
use crate::pack::{Buffer, Made, Numbers};
use crate::reply::{reply, snapshot};
use crate::value::{argument, millis, now, read, seed, span, thrown, whole};

/// A machine of a server.
#[napi]
pub struct ServerMachine {
    pub(crate) machine: Machine,
    pub(crate) contexts: Contexts,
    buffer: Buffer,
    /// What the endpoint is asked to enter.
    pub(crate) listen: Option<http::Subscription>,
}

pub(crate) enum Machine {
    Lines(Box<Server>),
    Exchange(Box<Exchange>),
    Session(Box<Session>),
}

/// Does the same with each of the machines.
macro_rules! each {
    ($from:expr, $machine:ident => $act:expr) => {
        match $from {
            Machine::Lines($machine) => $act,
            Machine::Exchange($machine) => $act,
            Machine::Session($machine) => $act,
        }
    };
}

/// The circumstances of what has not been answered, by the place of its slot.
#[derive(Default)]
pub(crate) struct Contexts(Vec<Option<(SlotId, Context)>>);

impl Contexts {
    fn place(slot: SlotId) -> usize {
        (slot.to_u64() & 0xffff_ffff) as usize
    }

    pub(crate) fn put(&mut self, slot: SlotId, context: Context) {
        let place = Self::place(slot);
        if self.0.len() <= place {
            self.0.resize_with(place + 1, || None);
        }
        self.0[place] = Some((slot, context));
    }

    fn get(&self, slot: SlotId) -> Result<&Context> {
        let found = self.0.get(Self::place(slot)).and_then(Option::as_ref);
        found.filter(|(owner, _)| *owner == slot).map(|(_, context)| context).ok_or_else(|| thrown(Misuse::SlotNotOpen))
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

impl ServerMachine {
    pub(crate) fn of(machine: Machine) -> Self {
        Self { machine, contexts: Contexts::default(), buffer: Buffer::default(), listen: None }
    }

    fn bytes(&mut self, now: Now, bytes: Bytes) -> Result<()> {
        match &mut self.machine {
            Machine::Lines(server) => server.handle(now, Input::Bytes(bytes)).map_err(thrown),
            Machine::Exchange(_) | Machine::Session(_) => Err(argument("bytes are for the intake")),
        }
    }

    /// What a handler asks its context.
    fn ask(&self, verb: &Verb) -> Option<Result<Option<String>>> {
        let text = |answer: std::result::Result<String, serde_json::Error>| answer.map_err(argument);
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

    fn lines(server: &mut Server, now: Now, verb: Verb) -> std::result::Result<Option<String>, Error> {
        match verb {
            Verb::CancelRequest(call, reason) => server.cancel_request(now, CallId::from_u64(call), reason.as_deref())?,
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

    fn exchange(one: &mut Exchange, now: Now, verb: Verb) -> std::result::Result<Option<String>, Error> {
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

    fn session(one: &mut Session, now: Now, verb: Verb) -> std::result::Result<Option<String>, Error> {
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

    /// The name of the listen stream that the machine carries.
    pub(crate) fn listen_key(&self) -> Option<ListenKey> {
        match &self.machine {
            Machine::Exchange(exchange) => exchange.listen_key(),
            Machine::Lines(_) | Machine::Session(_) => None,
        }
    }
}

fn absent() -> Error {
    Misuse::WrongState("this machine has no such verb").into()
}

#[napi]
impl ServerMachine {
    /// The server of a stream.
    #[napi(constructor)]
    pub fn new(definition: &Definition, bytes: &[u8]) -> Result<Self> {
        Ok(Self::of(Machine::Lines(Box::new(Server::new(Arc::clone(&definition.0), seed(bytes)?)))))
    }

    /// `Input::Bytes`.
    #[napi]
    pub fn handle_bytes(&mut self, bytes: &[u8], mono: f64, unix: f64) -> Result<()> {
        self.bytes(now(mono, unix), Bytes::copy_from_slice(bytes))
    }

    /// `Input::Bytes`, of text.
    #[napi]
    pub fn handle_text(&mut self, text: String, mono: f64, unix: f64) -> Result<()> {
        self.bytes(now(mono, unix), text.into())
    }

    /// `Input::Written`, of the stream or of an exchange.
    #[napi]
    pub fn written(&mut self, bytes: u32, exchange: f64, mono: f64, unix: f64) -> Result<()> {
        let (now, bytes) = (now(mono, unix), bytes as usize);
        match &mut self.machine {
            Machine::Lines(server) => return server.handle(now, Input::Written(bytes)).map_err(thrown),
            Machine::Exchange(one) => one.handle(now, http::Input::Written(bytes)),
            Machine::Session(session) => {
                session.handle(now, ExchangeId::from_u64(exchange as u64), http::Input::Written(bytes));
            }
        }
        Ok(())
    }

    /// `handle_timeout`.
    #[napi]
    pub fn handle_timeout(&mut self, mono: f64, unix: f64) {
        each!(&mut self.machine, machine => machine.handle_timeout(now(mono, unix)));
    }

    /// `poll_action`: null, or the text of the action.
    #[napi]
    pub fn poll(&mut self, env: Env, numbers: Numbers<'_>) -> Option<Made> {
        let Self { machine, contexts, buffer, listen } = self;
        match machine {
            Machine::Lines(server) => action::of_lines(&env, buffer, numbers, contexts, server.poll_action()?),
            Machine::Exchange(one) => action::of_http(&env, buffer, numbers, contexts, listen, one.poll_action()?),
            Machine::Session(one) => action::of_http(&env, buffer, numbers, contexts, listen, one.poll_action()?),
        }
    }

    /// `poll_timeout`: null, or the name of what is waited for; its time is in `numbers`.
    #[napi]
    pub fn poll_timeout(&self, numbers: Numbers<'_>) -> Option<&'static str> {
        let (at, kind) = each!(&self.machine, machine => machine.poll_timeout())?;
        if let Some(place) = numbers.first_mut() {
            *place = millis(at);
        }
        Some(kind.name())
    }

    /// `wants_input`, which only a stream has.
    #[napi]
    pub fn wants_input(&self) -> bool {
        match &self.machine {
            Machine::Lines(server) => server.wants_input(),
            Machine::Exchange(_) | Machine::Session(_) => false,
        }
    }

    /// `is_closed`, `is_over`.
    #[napi]
    pub fn is_closed(&self) -> bool {
        match &self.machine {
            Machine::Lines(server) => server.is_closed(),
            Machine::Exchange(exchange) => exchange.is_over(),
            Machine::Session(session) => session.is_closed(),
        }
    }

    /// `reply`.
    #[napi]
    pub fn reply(&mut self, low: u32, high: u32, kind: u32, value: Option<String>, mono: f64, unix: f64) -> Result<()> {
        let (slot, now) = (slot([low, high]), now(mono, unix));
        let reply = reply(kind, value)?;
        self.contexts.remove(slot);
        each!(&mut self.machine, machine => machine.reply(now, ReplySlot::from_id(slot), reply)).map_err(thrown)
    }

    /// `abandon`.
    #[napi]
    pub fn abandon(&mut self, low: u32, high: u32, mono: f64, unix: f64) {
        let (slot, now) = (slot([low, high]), now(mono, unix));
        self.contexts.remove(slot);
        each!(&mut self.machine, machine => machine.abandon(now, ReplySlot::from_id(slot)));
    }

    /// Everything that the context of a slot can tell, as JSON.
    #[napi]
    pub fn context(&self, low: u32, high: u32) -> Result<String> {
        snapshot(self.contexts.get(slot([low, high]))?)
    }

    /// Every verb that needs no crossing of its own: an object whose one member is the name of the verb.
    #[napi]
    pub fn act(&mut self, verb: String, mono: f64, unix: f64) -> Result<Option<String>> {
        let (verb, now) = (read::<Verb>(&verb)?, now(mono, unix));
        if let Some(answer) = self.ask(&verb) {
            return answer;
        }
        match (&mut self.machine, verb) {
            (machine, Verb::Progress(of, progress, total, message)) => {
                let report = Progress { progress, total, message };
                each!(machine, one => one.progress(now, slot(of), &report)).map(sent)
            }
            (machine, Verb::Log(of, name, logger, data)) => {
                let message = LogMessage { level: level(&name)?, logger, data };
                each!(machine, one => one.log(now, of.map(slot), &message)).map(sent)
            }
            (Machine::Lines(server), verb) => Self::lines(server, now, verb),
            (Machine::Exchange(exchange), verb) => Self::exchange(exchange, now, verb),
            (Machine::Session(session), verb) => Self::session(session, now, verb),
        }
        .map_err(thrown)
    }

    /// `replace_definition`.
    #[napi]
    pub fn replace_definition(&mut self, definition: &Definition, mono: f64, unix: f64) -> Result<()> {
        let (definition, now) = (Arc::clone(&definition.0), now(mono, unix));
        match &mut self.machine {
            Machine::Lines(server) => server.replace_definition(now, definition),
            Machine::Session(session) => session.replace_definition(now, definition),
            Machine::Exchange(_) => return Err(thrown(absent())),
        }
        Ok(())
    }
}
