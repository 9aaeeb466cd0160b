//! The verbs of a client, written once for every transport.
//!
//! ```text
//!   verbs ──▶ Client<T> ──▶ Core ──▶ frames and events ──▶ T
//!                             ▲                            │
//!                             └──────── messages ──────────┘
//! ```
//!
//! What the application asks is the same on a stream and over HTTP; what differs is a [`Transport`]: how frames
//! leave, and how messages come in. A front that drives either borrows the client as `Client<dyn Transport>`.

use std::fmt::Debug;

use super::core::Core;
use super::stream::Lines;
use super::{CallOptions, InputAnswer, InputId, List, Request, ServerFacts};
use crate::error::{Error, ErrorObject};
use crate::ids::{CallId, ReplySlot};
use crate::json::Json;
use crate::machine::{Mono, Now, TimerKind};
use crate::model::{LoggingLevel, SubscriptionFilter};

/// One client of one server. `Client` alone speaks lines over a byte stream; [`HttpClient`](crate::http::client::HttpClient)
/// speaks Streamable HTTP.
///
/// Drive it as every machine: give it what happened (`handle`, [`handle_timeout`](Self::handle_timeout)) and what you
/// want ([`connect`](Self::connect), [`call`](Self::call), …), do what `poll_action` says until it says nothing, sleep
/// until [`poll_timeout`](Self::poll_timeout), and read while [`wants_input`](Self::wants_input).
///
/// Every verb answers an error when the machine is closed ([`Misuse::Closed`](crate::error::Misuse::Closed)), and
/// the error that it failed with when it has failed.
///
/// ```
/// # use mcp_sansio::client::{Client, Transport};
/// # use mcp_sansio::http::client::HttpClient;
/// enum Either {
///     Lines(Client),
///     Http(HttpClient),
/// }
///
/// impl Either {
///     fn verbs(&mut self) -> &mut Client<dyn Transport> {
///         match self {
///             Self::Lines(client) => client,
///             Self::Http(client) => client,
///         }
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Client<T: Transport + ?Sized = Lines> {
    pub(crate) core: Core,
    pub(crate) transport: T,
}

/// How frames leave a client and messages reach it: [`Lines`] or [`Http`](crate::http::client::Http). Sealed.
pub trait Transport: sealed::Sealed + Debug + Send {
    /// Deadlines of the transport itself may have come. What they mean is done at the next `poll_action`.
    #[doc(hidden)]
    fn on_timeout(&mut self, _now: Now) {}

    /// When to wake the machine for the sake of the transport.
    #[doc(hidden)]
    fn deadline(&self) -> Option<(Mono, TimerKind)> {
        None
    }
}

pub(crate) mod sealed {
    /// Keeps [`Transport`](super::Transport) to this crate.
    #[allow(unnameable_types, reason = "that is its purpose")]
    pub trait Sealed {}
}

impl<T: Transport + ?Sized> Client<T> {
    /// Finds out the era and the revision; ends in `Action::Connected` or `Action::Closed`. Call it once. Calls may
    /// be made before: they wait, under their clocks.
    ///
    /// # Errors
    /// When it was called before.
    pub fn connect(&mut self, now: Now) -> Result<(), Error> {
        self.step(now, |core| core.connect(now))
    }

    /// The time that [`poll_timeout`](Self::poll_timeout) named has come, or any other time.
    pub fn handle_timeout(&mut self, now: Now) {
        self.core.touch(now);
        self.core.on_timeout(now);
        self.transport.on_timeout(now);
        self.core.settle();
    }

    /// When to wake the machine, and why. `None` if it waits for nothing but input. While actions are queued it is
    /// the time of the last input.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Mono, TimerKind)> {
        match (self.core.poll_timeout(), self.transport.deadline()) {
            (Some(core), Some(own)) => Some(if own.0 < core.0 { own } else { core }),
            (core, own) => core.or(own),
        }
    }

    /// Whether to read on. False only while the write side is full and no call of ours is open, and at the end.
    #[must_use]
    pub fn wants_input(&self) -> bool {
        self.core.wants_input()
    }

    /// Asks the server. The answer comes as `Action::Done`, once, whatever happens.
    ///
    /// # Errors
    /// When `Limits::calls` calls are open, or the options contradict themselves: a progress token that an open call
    /// has, `meta` that is no object.
    pub fn call(&mut self, now: Now, request: Request, options: CallOptions) -> Result<CallId, Error> {
        self.step(now, |core| core.call(now, request, options))
    }

    /// Reads a whole list, page by page. `Done` carries all items; hitting a bound is an error that carries what was
    /// read.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn walk(&mut self, now: Now, list: List, options: CallOptions) -> Result<CallId, Error> {
        self.step(now, |core| core.walk(now, list, options))
    }

    /// Opens a stream of notifications, in the modern era. It is open at `Action::Listening` and ends in `Done`. No
    /// hard clock runs for it unless the options set one, and no idle clock once it is open.
    ///
    /// # Errors
    /// As [`call`](Self::call), and when the bounds on streams, or on resources of one stream, are hit.
    pub fn listen(&mut self, now: Now, filter: &SubscriptionFilter, options: CallOptions) -> Result<CallId, Error> {
        self.step(now, |core| core.listen(now, filter, options))
    }

    /// Sets the least level of log messages wanted: of the session in the legacy era, of every later request in the
    /// modern one, which is `Done` without a word to the server.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn set_level(&mut self, now: Now, level: LoggingLevel) -> Result<CallId, Error> {
        self.step(now, |core| core.set_level(now, level))
    }

    /// Ends a call: `Done` with `Cancelled`. The server is told if it has the request; open questions of the call are
    /// withdrawn. Nothing comes for the call afterwards.
    ///
    /// # Errors
    /// When the call is not open.
    pub fn cancel(&mut self, now: Now, call: CallId, reason: Option<&str>) -> Result<(), Error> {
        self.step(now, |core| core.cancel(call, reason))
    }

    /// Sends a notification of a method that the protocol does not reserve. `params` is an object.
    ///
    /// # Errors
    /// When the connection is not made yet, too much waits to be sent, or the method has a verb of its own.
    pub fn notify(&mut self, now: Now, method: &str, params: &Json) -> Result<(), Error> {
        self.step(now, |core| core.notify(method, params))
    }

    /// Says that the client's roots have changed. Says nothing in the modern era, whose servers ask each time.
    ///
    /// # Errors
    /// When the connection is not made yet, too much waits to be sent, or `roots.listChanged` was not declared.
    pub fn roots_changed(&mut self, now: Now) -> Result<(), Error> {
        self.step(now, |core| core.roots_changed())
    }

    /// Answers a question.
    ///
    /// # Errors
    /// When the question is not open, or the answer does not fit it; then the question stays open, so that the
    /// answer can be put right.
    pub fn supply_input(&mut self, now: Now, input: InputId, answer: &InputAnswer) -> Result<(), Error> {
        self.step(now, |core| core.supply_input(now, input, answer))
    }

    /// Answers an `Action::Invoke` with a result, which is an object, or an error.
    ///
    /// # Errors
    /// When the slot is not open, or the result is no object.
    pub fn reply(&mut self, now: Now, slot: ReplySlot, reply: Result<Json, ErrorObject>) -> Result<(), Error> {
        self.step(now, |core| core.reply(slot.id(), &reply))
    }

    /// Ends an `Action::Invoke` whose handler went away: the server gets a generic error.
    ///
    /// # Errors
    /// When the slot is not open.
    pub fn abandon(&mut self, now: Now, slot: ReplySlot) -> Result<(), Error> {
        self.step(now, |core| core.reply(slot.id(), &Err(ErrorObject::internal())))
    }

    /// Ends the connection: every open call is `Done` with `Disconnected`, then `Action::Closed` comes. Frames that
    /// are queued come before it.
    pub fn close(&mut self, now: Now) {
        self.core.touch(now);
        self.core.close();
        self.core.settle();
    }

    /// The server, once connected.
    #[must_use]
    pub const fn server(&self) -> Option<&ServerFacts> {
        self.core.server()
    }

    fn step<R>(&mut self, now: Now, act: impl FnOnce(&mut Core) -> Result<R, Error>) -> Result<R, Error> {
        self.core.touch(now);
        let outcome = act(&mut self.core);
        self.core.settle();
        outcome
    }
}
