//! A machine of either role: what a server and a client have in common, for languages that have one object for both.

use bytes::Bytes;
use mcp_sansio::client::{Action as ClientAction, Answer};
use mcp_sansio::error::{Error, Misuse};
use mcp_sansio::http::client::Action as HttpClientAction;
use mcp_sansio::http::server::{Action, Subscription};
use mcp_sansio::ids::SlotId;
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Mono, Now, TimerKind};
use mcp_sansio::server::{Context, Invocation, Reply};

use crate::cell::Inside;
use crate::reply::{RAW, kind_for};
use crate::say::{self, Saying};
use crate::server::Whole;
use crate::told::{json, read};
use crate::{Result, client, server};

/// A machine.
#[derive(Debug)]
pub enum Machine {
    /// Of a server.
    Server(server::Machine),
    /// Of a client.
    Client(client::Machine),
}

/// The same verb of whichever machine it is.
macro_rules! each {
    ($role:expr, $machine:ident => $verb:expr) => {
        match $role {
            Machine::Server($machine) => $verb,
            Machine::Client($machine) => $verb,
        }
    };
}

/// What a machine says.
#[derive(Debug)]
pub enum Spoken {
    /// A frame for the stream.
    Write(Bytes),
    /// Application code to run.
    Invoke(SlotId, Asked),
    /// A listen stream is asked for.
    Listen(Saying, Subscription),
    /// A call has its answer.
    Done(Saying, Answer),
    /// Everything else.
    Other(Saying),
}

/// What is asked of the application.
#[derive(Debug)]
pub enum Asked {
    /// By a client.
    Client(Box<Invocation>),
    /// By a server: a method with its params.
    Server(Box<str>, Json),
}

/// An answer of the application.
#[derive(Debug)]
pub enum Answering {
    /// To a client.
    Reply(Reply),
    /// To a server, as JSON: an error, or a result.
    Server(std::result::Result<String, String>),
}

impl Inside for Machine {
    fn abandon(&mut self, now: Now, slot: SlotId) {
        match self {
            Self::Server(machine) => machine.abandon(now, slot),
            // What is not open any more needs no end.
            Self::Client(machine) => drop(machine.abandon(now, slot)),
        }
    }
}

impl Machine {
    /// The machine of a server.
    ///
    /// # Errors
    /// When it is a client's.
    pub fn server(&mut self) -> Result<&mut server::Machine> {
        match self {
            Self::Server(machine) => Ok(machine),
            Self::Client(_) => Err(absent()),
        }
    }

    /// The machine of a client.
    ///
    /// # Errors
    /// When it is a server's.
    pub fn client(&mut self) -> Result<&mut client::Machine> {
        match self {
            Self::Client(machine) => Ok(machine),
            Self::Server(_) => Err(absent()),
        }
    }

    /// Bytes of the stream; of a client over HTTP, of the body of an exchange.
    ///
    /// # Errors
    /// As `handle` of the machine.
    pub fn bytes(&mut self, now: Now, fetch: u64, bytes: Bytes) -> Result<()> {
        match self {
            Self::Server(machine) => machine.bytes(now, bytes),
            Self::Client(machine) => machine.bytes(now, fetch, bytes),
        }
    }

    /// So much was written, of the stream or of an exchange of a server.
    ///
    /// # Errors
    /// As `handle` of the machine.
    pub fn written(&mut self, now: Now, exchange: u64, bytes: usize) -> Result<()> {
        match self {
            Self::Server(machine) => machine.written(now, exchange, bytes),
            Self::Client(machine) => machine.written(now, bytes),
        }
    }

    /// `handle_timeout`.
    pub fn handle_timeout(&mut self, now: Now) {
        each!(self, machine => machine.handle_timeout(now));
    }

    /// `poll_timeout`.
    pub fn poll_timeout(&mut self) -> Option<(Mono, TimerKind)> {
        each!(self, machine => machine.poll_timeout())
    }

    /// `wants_input`.
    pub fn wants_input(&mut self) -> bool {
        each!(self, machine => machine.wants_input())
    }

    /// Every other verb, by its name.
    ///
    /// # Errors
    /// As the verb; when it is none, or not one of this machine.
    pub fn act(&mut self, now: Now, verb: &str) -> Result<Option<String>> {
        each!(self, machine => machine.act(now, verb))
    }

    /// Answers what was asked.
    ///
    /// # Errors
    /// When the slot is not open, or the answer is none of this role.
    pub fn answer(&mut self, now: Now, slot: SlotId, answer: Answering) -> Result<()> {
        match (self, answer) {
            (Self::Server(machine), Answering::Reply(reply)) => machine.answer(now, slot, reply),
            (Self::Client(machine), Answering::Server(result)) => {
                let result = match result {
                    Ok(result) => Ok(json(result)?),
                    Err(error) => Err(read(&error)?),
                };
                machine.reply(now, slot, result)
            }
            _ => Err(absent()),
        }
    }

    /// `poll_action`.
    pub fn poll(&mut self) -> Option<Spoken> {
        loop {
            let spoken = match self {
                Self::Server(machine) => of_server(machine.poll_whole()?),
                Self::Client(machine) => of_client(machine.poll()?),
            };
            if spoken.is_some() {
                return spoken;
            }
        }
    }
}

fn absent() -> Error {
    Misuse::WrongState("this machine has no such verb").into()
}

fn of_server(action: Whole) -> Option<Spoken> {
    Some(match action {
        Whole::Write(frame) => Spoken::Write(frame),
        Whole::Other(Action::Invoke(invocation)) => Spoken::Invoke(invocation.slot.id(), Asked::Client(invocation)),
        Whole::Other(Action::Listen(subscription)) => Spoken::Listen(Saying::bare("listen"), subscription),
        Whole::Other(action) => Spoken::Other(say::of_server(action)?),
    })
}

fn of_client(action: HttpClientAction) -> Option<Spoken> {
    let saying = say::of_client(&action);
    Some(match action {
        HttpClientAction::Event(ClientAction::Write(frame)) => Spoken::Write(frame),
        HttpClientAction::Event(ClientAction::Invoke { slot, method, params }) => {
            Spoken::Invoke(slot.id(), Asked::Server(method, params))
        }
        HttpClientAction::Event(ClientAction::Done { outcome: Ok(answer), .. }) => Spoken::Done(saying?, answer),
        _ => Spoken::Other(saying?),
    })
}

impl Asked {
    /// The kind of reply that is wanted of a plain result.
    #[must_use]
    pub fn wanted(&self) -> u32 {
        match self {
            Self::Client(invocation) => kind_for(&invocation.call),
            Self::Server(..) => RAW,
        }
    }

    /// What is asked: `tool`, `prompt`, …; of a server always `raw`.
    #[must_use]
    pub fn call(&self) -> &'static str {
        match self {
            Self::Client(invocation) => invocation.call.name(),
            Self::Server(..) => "raw",
        }
    }

    /// Of what: a tool, a prompt, an address, a list or a method.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Client(invocation) => say::name(&invocation.call),
            Self::Server(method, _) => method,
        }
    }

    /// With which arguments.
    #[must_use]
    pub fn arguments(&self) -> Json {
        match self {
            Self::Client(invocation) => say::arguments(&invocation.call),
            Self::Server(_, params) => params.clone(),
        }
    }

    /// The params as they came.
    #[must_use]
    pub fn params(&self) -> Json {
        match self {
            Self::Client(invocation) => invocation.context.params(),
            Self::Server(_, params) => params.clone(),
        }
    }

    /// The circumstances of what a client asks.
    ///
    /// # Errors
    /// When a server asks.
    pub fn context(&self) -> Result<&Context> {
        match self {
            Self::Client(invocation) => Ok(&invocation.context),
            Self::Server(..) => Err(Misuse::WrongState("only requests of clients have this").into()),
        }
    }

    /// All the rest, as [`say::asked`] tells it; nothing of what a server asks.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn rest(&self) -> Result<Option<String>> {
        match self {
            Self::Client(invocation) => say::asked(&invocation.call, &invocation.context).map(Some),
            Self::Server(..) => Ok(None),
        }
    }

    /// The answer to an elicitation, checked against what was asked, as JSON; nothing if there is none yet.
    ///
    /// # Errors
    /// A refusal of the client; an answer that does not fit; what is no elicitation.
    pub fn elicited(&self, key: &str, asked: &str) -> Result<Option<String>> {
        let answer = self.context()?.elicited(key, &read(asked)?).transpose().map_err(Error::Remote)?;
        answer.map(|answer| serde_json::to_string(&answer).map_err(crate::told::argument)).transpose()
    }

    /// Refuses a client that lacks a capability.
    ///
    /// # Errors
    /// What the client shall be answered.
    pub fn require_capability(&self, path: &str) -> Result<()> {
        self.context()?.require_capability(path).map_err(Error::Remote)
    }
}
