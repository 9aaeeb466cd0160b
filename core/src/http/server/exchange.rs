//! One request that stands alone, and its answer: modern, or legacy without a session.
//!
//! ```text
//!  Intake::finish ─▶ Exchange ──Respond(whole)──────────────────────────────────▶ over
//!                      │  Invoke … progress, log ─▶ Respond(stream), Chunk … reply ─▶ Chunk, Finish ─▶ over
//!                      │  Listen … listening ─▶ Respond(stream), Chunk … shutdown ─▶ Chunk, Finish ─▶ over
//!                      └─ Disconnected ─▶ Cancelled (modern) ─▶ over once the handler is gone
//! ```
//!
//! An exchange shares nothing with others but the definition. Sources: `basic/transports/streamable-http`,
//! `basic/patterns/cancellation`, `basic/patterns/subscriptions`.

use std::sync::Arc;

use super::action::{Action, ExchangeId, Input, Subscription};
use super::endpoint::{ListenKey, NoRoom};
use super::head::Service;
use super::outlet::Outlet;
use super::response::{Response, legacy_status, modern_status};
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::error::Error;
use crate::ids::{ReplySlot, RequestId, SlotId};
use crate::json::Json;
use crate::jsonrpc::{Members, Message, MethodName};
use crate::limits::Bound;
use crate::machine::{Mono, Now, Queue, TimerKind};
use crate::rng::Seed;
use crate::server::context::Sender;
use crate::server::core::{Core, Out};
use crate::server::listen::Filter;
use crate::server::wire::{Fate, Route, Wire};
use crate::server::{Action as Said, Event, LogMessage, Progress, Reply, Sent};
use crate::spec::{Era, Version};

/// One request and its answer. See the module's documentation.
#[derive(Debug)]
pub struct Exchange {
    core: Core,
    outlet: Outlet,
    out: Queue<Action>,
    era: Era,
    /// Whether only the answer goes out.
    answers_only: bool,
    listen: Listen,
}

#[derive(Debug)]
enum Listen {
    No,
    Asked(RequestId, Box<Filter>),
    Open(ListenKey),
}

impl Exchange {
    /// Nothing is said yet. It stands where it will stay, for it is large.
    fn new(service: &Service, now: Now, seed: Seed, sender: Sender, era: Era) -> Box<Self> {
        let answers_only = era == Era::Legacy || service.options.json_answers;
        let wire = match era {
            Era::Legacy => Wire::Stateless,
            Era::Modern => Wire::Exchange { streams: !answers_only },
        };
        let mut exchange = Box::new(Self {
            core: Core::new(Arc::clone(&service.definition), wire, seed),
            outlet: Outlet::new(now, ExchangeId::default(), service.options.keep_alive),
            out: Queue::new(),
            era,
            answers_only,
            listen: Listen::No,
        });
        exchange.core.set_sender(sender);
        exchange.touch(now);
        if answers_only {
            exchange.outlet.stays_json();
        }
        exchange
    }

    /// A modern request whose envelope and headers are in order.
    pub(super) fn modern(
        service: &Service,
        now: Now,
        seed: Seed,
        sender: Sender,
        (id, version, method, params): (RequestId, Version, MethodName, Members),
    ) -> Box<Self> {
        let mut exchange = Self::new(service, now, seed, sender, Era::Modern);
        exchange.core.on_modern(now, id, version, method, params);
        exchange.begun(now);
        exchange
    }

    /// A modern notification.
    pub(super) fn notification(service: &Service, now: Now, seed: Seed, sender: Sender, message: Message) -> Box<Self> {
        let mut exchange = Self::new(service, now, seed, sender, Era::Modern);
        exchange.outlet.respond(&mut exchange.out, Response::accepted());
        exchange.core.on_message(now, message, 0);
        exchange.begun(now);
        exchange
    }

    /// A legacy message of no session. It is served as if one were open.
    pub(super) fn stateless(
        service: &Service,
        now: Now,
        seed: Seed,
        sender: Sender,
        version: Version,
        message: Message,
    ) -> Box<Self> {
        let mut exchange = Self::new(service, now, seed, sender, Era::Legacy);
        if matches!(message, Message::Notification { .. }) {
            exchange.outlet.respond(&mut exchange.out, Response::accepted());
        }
        exchange.core.on_stateless(now, version, message);
        exchange.begun(now);
        exchange
    }

    /// The request is taken. What the front gave along, which may be the whole head, is its handler's from here on: a
    /// listen stream has none, and may stay open for long.
    fn begun(&mut self, now: Now) {
        self.drain(now);
        self.core.set_sender(Sender::default());
    }

    /// Says what happened.
    pub fn handle(&mut self, now: Now, input: Input) {
        self.touch(now);
        match input {
            Input::Written(bytes) => self.outlet.written(bytes),
            Input::Disconnected => self.disconnected(now),
        }
    }

    fn disconnected(&mut self, now: Now) {
        if self.outlet.is_done() {
            return;
        }
        self.outlet.abandon();
        // In the legacy era a connection that ends means nothing.
        if self.era == Era::Modern {
            self.core.cancel_all();
        }
        self.drain(now);
    }

    /// Lets deadlines that have come take effect.
    pub fn handle_timeout(&mut self, now: Now) {
        self.touch(now);
        self.core.on_timeout(now);
        self.drain(now);
        self.outlet.beat(&mut self.out, now);
    }

    /// The next thing to do. The exchange that its actions name is always the same.
    #[must_use]
    pub fn poll_action(&mut self) -> Option<Action> {
        self.out.pop()
    }

    /// When to call `handle_timeout`, and why; `None` if nothing is waited for.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Mono, TimerKind)> {
        let beat = self.outlet.due().map(|at| (at, TimerKind::KeepAlive));
        let own = self.core.poll_timeout();
        self.out.deadline(match (beat, own) {
            (Some(beat), Some(own)) => Some(if beat.0 < own.0 { beat } else { own }),
            (beat, own) => beat.or(own),
        })
    }

    /// Whether nothing more comes of it: the answer is complete, or nobody waits for it, and no handler runs.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.outlet.is_done() && self.core.is_idle() && self.out.is_empty()
    }

    /// Answers an invocation. The slot is used up, whatever comes of it; see
    /// [`Server::reply`](crate::server::Server::reply).
    ///
    /// # Errors
    /// [`Misuse::SlotNotOpen`](crate::error::Misuse::SlotNotOpen).
    pub fn reply(&mut self, now: Now, slot: ReplySlot, reply: Reply) -> Result<(), Error> {
        self.touch(now);
        let done = self.core.reply(now, slot, reply);
        self.drain(now);
        done
    }

    /// Ends the request of a slot without an answer of the application: its handler is gone.
    pub fn abandon(&mut self, now: Now, slot: ReplySlot) {
        // A slot that is answered already has nothing left to abandon.
        let _ = self.reply(now, slot, Reply::Failed);
    }

    /// Reports how far the request of `slot` has got.
    ///
    /// # Errors
    /// [`Misuse::SlotNotOpen`](crate::error::Misuse::SlotNotOpen).
    pub fn progress(&mut self, now: Now, slot: SlotId, progress: &Progress) -> Result<Sent, Error> {
        self.touch(now);
        let full = self.is_full();
        let sent = self.core.progress(now, slot, progress, full);
        self.drain(now);
        sent
    }

    /// Sends a log message.
    ///
    /// # Errors
    /// [`Misuse::SlotNotOpen`](crate::error::Misuse::SlotNotOpen).
    pub fn log(&mut self, now: Now, slot: Option<SlotId>, message: &LogMessage) -> Result<Sent, Error> {
        self.touch(now);
        let full = self.is_full();
        let sent = self.core.log(now, slot, message, full);
        self.drain(now);
        sent
    }

    /// Sends a notification of a method that is not the protocol's, or, for a gateway, of one that is.
    ///
    /// # Errors
    /// [`Misuse::SlotNotOpen`](crate::error::Misuse::SlotNotOpen), or params that are no object.
    pub fn notify(&mut self, now: Now, slot: Option<SlotId>, method: &str, params: Option<&Json>) -> Result<(), Error> {
        self.touch(now);
        self.core.notify(now, slot, method, params)?;
        self.drain(now);
        Ok(())
    }

    /// Tells everybody that something has changed, by way of [`Action::Publish`].
    pub fn publish(&mut self, now: Now, event: Event) {
        self.touch(now);
        self.out.push(Action::Publish(event));
    }

    /// The endpoint's answer to [`Action::Listen`].
    pub fn listening(&mut self, now: Now, admitted: Result<ListenKey, NoRoom>) {
        self.touch(now);
        let Listen::Asked(id, filter) = std::mem::replace(&mut self.listen, Listen::No) else { return };
        match admitted {
            Ok(key) => {
                self.listen = Listen::Open(key);
                self.core.open_listen(id, *filter);
                self.drain(now);
            }
            Err(full) => {
                let error = Error::limit(full.bound(), full.limit()).to_object();
                self.outlet.respond(&mut self.out, Response::refused(503, Some(&id), &error));
            }
        }
    }

    /// The name under which the endpoint knows this listen stream: it must be told when the exchange is over.
    #[must_use]
    pub const fn listen_key(&self) -> Option<ListenKey> {
        match self.listen {
            Listen::Open(key) => Some(key),
            Listen::No | Listen::Asked(..) => None,
        }
    }

    /// An event that the endpoint has led here. A client that reads too slowly loses the stream: it could not
    /// find out otherwise that it has missed something.
    pub fn deliver(&mut self, now: Now, event: &Event) -> Sent {
        self.touch(now);
        if self.outlet.is_done() {
            return Sent::NotWanted;
        }
        if self.is_full() {
            let limit = Error::limit(Bound::OutputBytes, self.core.definition().limits().output_bytes);
            let kind = DiagnosticKind::Limit(Bound::OutputBytes);
            self.out.push(Action::Diagnostic(Diagnostic::new(kind, limit.to_string())));
            self.outlet.finish(&mut self.out);
            self.core.cancel_all();
            self.drain(now);
            return Sent::Full;
        }
        let sent = self.core.publish(now, event);
        self.drain(now);
        sent
    }

    /// The server ends: a listen stream gets its result. A request in flight goes on.
    pub fn shutdown(&mut self, now: Now) {
        self.touch(now);
        if let Listen::Open(_) = self.listen {
            self.core.close(now);
            self.drain(now);
        }
    }

    fn touch(&mut self, now: Now) {
        self.out.touch(now);
    }

    fn is_full(&self) -> bool {
        self.outlet.unwritten() > self.core.definition().limits().output_bytes
    }

    /// Takes everything that the engine has to say.
    fn drain(&mut self, now: Now) {
        while let Some(out) = self.core.take() {
            match out {
                Out::Frame(frame, Route::Answer(_, fate)) if self.outlet.is_waiting() => {
                    let response = Response::json(self.status(fate), frame);
                    self.outlet.respond(&mut self.out, response);
                }
                Out::Frame(frame, Route::Answer(..)) => {
                    self.outlet.event(&mut self.out, now, None, &frame);
                    self.outlet.finish(&mut self.out);
                }
                Out::Frame(frame, Route::Related(..) | Route::Standing(_)) => {
                    if !self.answers_only || matches!(self.listen, Listen::Open(_)) {
                        self.outlet.event(&mut self.out, now, None, &frame);
                    }
                }
                // A batch of notifications alone.
                Out::Ended(_) => self.outlet.respond(&mut self.out, Response::accepted()),
                Out::Event(Said::Closed(_)) => {}
                Out::Event(said) => {
                    if let Some(action) = Action::of(said) {
                        self.out.push(action);
                    }
                }
                Out::Listen(id, filter) => {
                    let principal = self.core.principal();
                    self.out.push(Action::Listen(Subscription { filter: (*filter).clone(), principal }));
                    self.listen = Listen::Asked(id, filter);
                }
            }
        }
    }

    const fn status(&self, fate: Fate) -> u16 {
        match self.era {
            Era::Legacy => legacy_status(fate),
            Era::Modern => modern_status(fate),
        }
    }
}
