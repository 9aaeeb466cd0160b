//! The protocol of a server, without a transport: messages in, frames and events out.
//!
//! ```text
//!   messages ─▶ era? ─▶ admit ─┬─▶ answered here ─────────────▶ Frame
//!                              └─▶ Invoke … reply ─▶ result ──▶ Frame
//!
//!   Open ──end of input──▶ Draining ──all answered, or the deadline──▶ Closed
//!     └──close / flood ──────────────────────────────────────────────▶ Closed
//! ```
//!
//! A transport gives every message with its [`Origin`] and takes what [`Core::poll`] answers. Each frame says where
//! it belongs ([`Route`]), for transports that answer requests apart. What differs between transports beyond that
//! is in [`Wire`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::api::{Action, Closed, Event, LogMessage, Progress, RequestFailure, Sent};
use super::ask::Question;
use super::context::{Context, Sender};
use super::definition::Definition;
use super::listen::{self, Filter};
use super::result::Expects;
use super::session::Session;
use super::wire::{Fate, Origin, Route, Way, Wire};
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::engine::inbound::Inbound;
use crate::engine::outbound::Outbound;
use crate::error::{Error, Misuse};
use crate::ids::{CallId, ReplySlot, RequestId, SlotId};
use crate::json::Json;
use crate::jsonrpc::FrameWriter;
use crate::machine::{Deadlines, Mono, Now, Queue, TimerKind};
use crate::model::LoggingLevel;
use crate::rng::{LazyRng, Seed};
use crate::spec::{Era, Method};

/// What leaves the core.
#[derive(Debug)]
pub(crate) enum Out {
    /// A request of this origin has ended, and no answer is due: it was cancelled.
    Ended(Origin),
    /// Something for the application; never [`Action::Write`].
    Event(Action),
    /// A frame for the client, on one line. Its newline is there if the wire carries lines, and may be otherwise.
    Frame(Bytes, Route),
    /// A listen stream is asked for, on a transport that admits them elsewhere.
    Listen(RequestId, Box<Filter>),
}

/// The engine of a server. See the module's documentation.
#[derive(Debug)]
pub(crate) struct Core {
    pub(super) definition: Arc<Definition>,
    pub(super) wire: Wire,
    pub(super) session: Option<Session>,
    pub(super) inbound: Inbound<Pending>,
    pub(super) outbound: Outbound<Outgoing>,
    pub(super) listens: BTreeMap<RequestId, Filter>,
    pub(super) batches: BTreeMap<u64, Batch>,
    pub(super) out: Queue<Out>,
    pub(super) deadlines: Deadlines<Key>,
    pub(super) rng: LazyRng,
    pub(super) next_batch: u64,
    /// Who sends what is received next.
    pub(super) sender: Sender,
    state: State,
    deprecated: Vec<Method>,
    /// What the last answer was written in.
    pub(super) buffer: Vec<u8>,
}

#[derive(Clone, Debug)]
enum State {
    Open,
    /// The client sends no more; answers are still owed.
    Draining,
    Closed(Closed),
}

/// What a deadline is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// A handler that has kept state and asked nothing runs again.
    Again(SlotId),
    Drain,
    Invocation(SlotId),
    Outgoing(i64),
}

/// A request of the client that the application works on, or that waits for answers to its questions.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) context: Context,
    pub(super) expects: Expects,
    /// The least level of log messages that the client wants, in the modern era.
    pub(super) level: Option<LoggingLevel>,
    pub(super) way: Way,
    /// Questions that are not answered yet, on a legacy wire.
    pub(super) asking: Option<Box<super::ask::Asking>>,
}

/// A request of ours to a legacy client.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// A question of a handler that has asked and ended.
    Question(Question),
    /// A request of the application, perhaps on behalf of a slot.
    Request(Option<(SlotId, Origin)>),
}

impl Outgoing {
    /// Whose exchange the request belongs to.
    pub(super) fn origin(&self) -> Option<Origin> {
        match self {
            Self::Question(question) => Some(question.origin),
            Self::Request(on_behalf) => on_behalf.map(|(_, origin)| origin),
        }
    }
}

/// A batch whose answers are being collected.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) origin: Origin,
    pub(super) waiting: usize,
    pub(super) answers: Vec<Bytes>,
}

impl Core {
    pub(crate) fn new(definition: Arc<Definition>, wire: Wire, seed: Seed) -> Self {
        let limits = &definition.policy.limits;
        Self {
            wire,
            inbound: Inbound::new(limits.in_flight),
            outbound: Outbound::new(limits.calls),
            session: None,
            listens: BTreeMap::new(),
            batches: BTreeMap::new(),
            out: Queue::new(),
            deadlines: Deadlines::new(),
            rng: LazyRng::new(seed),
            next_batch: 0,
            sender: Sender::default(),
            state: State::Open,
            deprecated: Vec::new(),
            buffer: Vec::new(),
            definition,
        }
    }

    // ---- What a transport asks.

    pub(crate) const fn definition(&self) -> &Arc<Definition> {
        &self.definition
    }

    pub(crate) fn touch(&mut self, now: Now) {
        self.out.touch(now);
    }

    /// The time of the last input.
    pub(crate) const fn now(&self) -> Now {
        self.out.now()
    }

    /// How much is queued.
    pub(crate) fn queued(&self) -> usize {
        self.out.len()
    }

    /// Who sends what is received from here on.
    pub(crate) fn set_sender(&mut self, sender: Sender) {
        self.sender = sender;
    }

    pub(crate) fn poll(&mut self) -> Option<Out> {
        self.out.pop()
    }

    pub(crate) fn written(&mut self, bytes: usize) {
        self.out.written(bytes);
    }

    /// Whether the client reads so slowly that progress and log messages are dropped.
    pub(crate) fn is_full(&self) -> bool {
        self.out.unwritten() > self.definition.policy.limits.output_bytes
    }

    /// Bytes of frames that have not left.
    pub(crate) fn unwritten(&self) -> usize {
        self.out.unwritten()
    }

    /// Whether to go on reading: not while the client reads too slowly, unless we wait for its answers.
    pub(crate) fn wants_input(&self) -> bool {
        matches!(self.state, State::Open) && (!self.is_full() || !self.outbound.is_empty())
    }

    /// Whether requests are answered, or can be, and nothing is asked.
    pub(crate) fn is_quiet(&self) -> bool {
        self.inbound.owed() == 0 && self.outbound.is_empty() && self.out.is_empty()
    }

    /// Lets deadlines that have come take effect.
    pub(crate) fn on_timeout(&mut self, now: Now) {
        self.out.touch(now);
        while let Some(key) = self.deadlines.take_due(now.mono) {
            match key {
                Key::Again(slot) => self.invoke_again_if_answered(now, slot),
                Key::Drain => self.finish_closing(Closed::EndOfInput),
                Key::Invocation(slot) => self.invocation_timed_out(slot),
                Key::Outgoing(id) => self.request_timed_out(id),
            }
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<(Mono, TimerKind)> {
        let own = self.deadlines.first().map(|(at, key)| {
            let kind = match key {
                Key::Again(_) => TimerKind::Backoff,
                Key::Drain => TimerKind::Drain,
                Key::Invocation(_) => TimerKind::Invocation,
                Key::Outgoing(_) => TimerKind::CallHard,
            };
            (at, kind)
        });
        self.out.deadline(own)
    }

    /// What [`Core::poll_timeout`] says of actions that are queued, for a transport that holds more of them.
    pub(crate) const fn at_once(&self) -> (Mono, TimerKind) {
        self.out.at_once()
    }

    pub(crate) const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed(_))
    }

    /// The error that has closed the machine.
    pub(crate) fn failure(&self) -> Option<Error> {
        match &self.state {
            State::Closed(Closed::Failed(error)) => Some(error.clone()),
            _ => None,
        }
    }

    pub(crate) fn abandon(&mut self, now: Now, slot: ReplySlot) {
        // A slot that is answered already has nothing left to abandon.
        let _ = self.reply(now, slot, super::api::Reply::Failed);
    }

    /// Reports how far the request of `slot` has got. `full` says that its client reads too slowly.
    pub(crate) fn progress(&mut self, now: Now, slot: SlotId, progress: &Progress, full: bool) -> Result<Sent, Error> {
        self.out.touch(now);
        let carries = self.wire.carries_related();
        let entry = self.inbound.get_mut(slot).ok_or(Misuse::SlotNotOpen)?;
        let version = entry.data.context.version();
        if !carries {
            return Ok(Sent::NotWanted);
        }
        if full {
            return Ok(if entry.token().is_some() { Sent::Full } else { Sent::NotWanted });
        }
        if !entry.advances(progress.progress) {
            return Ok(Sent::NotWanted);
        }
        let Some(token) = entry.token().cloned() else { return Ok(Sent::NotWanted) };
        let route = Route::Related(entry.data.way.origin, None);
        let frame = FrameWriter::notification(Method::Progress.as_str(), 128).params(|params| {
            params.id("progressToken", &token.0).value("progress", &progress.progress);
            if let Some(total) = progress.total.filter(|total| total.is_finite()) {
                params.value("total", &total);
            }
            if let Some(message) = progress.message.as_ref().filter(|_| version.has_progress_message()) {
                params.string("message", message);
            }
        });
        self.write(frame, route);
        Ok(Sent::Yes)
    }

    /// Sends a log message: for the request of `slot`, or for the legacy session as a whole. `full` as above.
    pub(crate) fn log(
        &mut self,
        now: Now,
        slot: Option<SlotId>,
        message: &LogMessage,
        full: bool,
    ) -> Result<Sent, Error> {
        self.out.touch(now);
        let mut route = Route::Standing(None);
        let era = match slot {
            Some(slot) => {
                let entry = self.inbound.get_mut(slot).ok_or(Misuse::SlotNotOpen)?;
                if entry.muted || !self.wire.carries_related() {
                    return Ok(Sent::NotWanted);
                }
                route = Route::Related(entry.data.way.origin, None);
                (entry.data.context.era(), entry.data.level)
            }
            None => (Era::Legacy, None),
        };
        let level = match era {
            (Era::Modern, level) => level,
            (Era::Legacy, _) => self.session.as_ref().and_then(|session| session.level),
        };
        if !self.definition.features.logging || level.is_none_or(|least| message.level < least) {
            return Ok(Sent::NotWanted);
        }
        if full {
            return Ok(Sent::Full);
        }
        if era.0 == Era::Modern {
            self.say_deprecated(Method::Message, "log messages are deprecated since 2026-07-28");
        }
        let frame = FrameWriter::notification(Method::Message.as_str(), 128).params(|params| {
            params.string("level", message.level.as_str());
            if let Some(logger) = &message.logger {
                params.string("logger", logger);
            }
            params.raw("data", message.data.get());
        });
        self.write(frame, route);
        Ok(Sent::Yes)
    }

    /// Sends a notification of any method: with the request of `slot`, or for nobody in particular.
    pub(crate) fn notify(
        &mut self,
        now: Now,
        slot: Option<SlotId>,
        method: &str,
        params: Option<&Json>,
    ) -> Result<(), Error> {
        self.out.touch(now);
        self.check_open()?;
        let route = match slot {
            None => Route::Standing(None),
            Some(slot) => {
                let entry = self.inbound.get_mut(slot).ok_or(Misuse::SlotNotOpen)?;
                if entry.muted || !self.wire.carries_related() {
                    return Ok(());
                }
                Route::Related(entry.data.way.origin, None)
            }
        };
        let frame = FrameWriter::notification(method, params.map_or(0, |params| params.get().len()));
        let frame = match params {
            Some(params) if params.is_object() => frame.params_raw(params.as_bytes()),
            Some(_) => return Err(Misuse::Argument("the params of a notification are an object".into()).into()),
            None => frame.finish(),
        };
        self.write(frame, route);
        Ok(())
    }

    /// Tells whoever wants to know that something has changed.
    pub(crate) fn publish(&mut self, now: Now, event: &Event) -> Sent {
        self.out.touch(now);
        if self.is_closed() {
            return Sent::NotWanted;
        }
        let streams: Vec<Bytes> = self
            .listens
            .iter()
            .filter(|(_, filter)| filter.passes(event))
            .map(|(id, _)| listen::notification(event, Some(id)))
            .collect();
        let features = &self.definition.features;
        let to_session = self.session.as_ref().is_some_and(|session| match event {
            Event::ResourceUpdated { uri } => session.subscriptions.contains(&**uri),
            _ => session.initialized && listen::is_broadcast(features, event),
        });
        let sent = if streams.is_empty() && !to_session { Sent::NotWanted } else { Sent::Yes };
        for frame in streams {
            self.write(frame, Route::Related(0, None));
        }
        if to_session {
            self.write(listen::notification(event, None), Route::Standing(None));
        }
        sent
    }

    /// Serves new requests by another definition, and tells clients which lists have changed.
    pub(crate) fn replace_definition(&mut self, now: Now, definition: Arc<Definition>) {
        let changes = self.definition.changes_to(&definition);
        self.definition = definition;
        for event in changes {
            let _ = self.publish(now, &event);
        }
    }

    /// Ends the connection: listen streams are told, what is not answered is cancelled.
    pub(crate) fn close(&mut self, now: Now) {
        self.out.touch(now);
        if !self.is_closed() {
            self.finish_closing(Closed::Requested);
        }
    }

    /// The legacy session as a value; `None` without one, or while requests are in flight.
    pub(crate) fn export_session(&self) -> Option<Json> {
        self.session.as_ref().filter(|_| self.is_quiet()).map(Session::export)
    }

    /// Goes on with a session that [`Core::export_session`] gave, in an engine that has none.
    pub(crate) fn import_session(&mut self, exported: &Json) -> Result<(), Error> {
        if self.session.is_some() {
            return Err(Misuse::WrongState("the machine has a session already").into());
        }
        let session = Session::import(&self.definition, exported)
            .ok_or_else(|| Misuse::Argument("the value is no exported session of this server".into()))?;
        self.session = Some(session);
        Ok(())
    }

    pub(super) fn write(&mut self, frame: Bytes, route: Route) {
        // `Closed` is the last action.
        if self.is_closed() {
            return;
        }
        self.out.push_frame(frame.len(), Out::Frame(frame, route));
    }

    pub(super) fn event(&mut self, action: Action) {
        self.out.push(Out::Event(action));
    }

    /// Says that a request has ended without an answer, where somebody waits to hear it.
    pub(super) fn ended(&mut self, origin: Origin) {
        if self.wire != Wire::Lines && !self.is_closed() {
            self.out.push(Out::Ended(origin));
        }
    }

    #[cold]
    pub(super) fn say(&mut self, diagnostic: Diagnostic) {
        if !self.is_closed() {
            self.event(Action::Diagnostic(diagnostic));
        }
    }

    /// Says once that a deprecated feature is in use.
    pub(super) fn say_deprecated(&mut self, method: Method, text: &'static str) {
        if !self.deprecated.contains(&method) {
            self.deprecated.push(method);
            self.say(Diagnostic::new(DiagnosticKind::Deprecated, text));
        }
    }

    pub(crate) fn check_open(&self) -> Result<(), Error> {
        match &self.state {
            State::Open | State::Draining => Ok(()),
            State::Closed(Closed::Failed(error)) => Err(error.clone()),
            State::Closed(_) => Err(Misuse::Closed.into()),
        }
    }

    /// The client will send no more.
    #[cold]
    pub(crate) fn on_eof(&mut self, now: Now) {
        if matches!(self.state, State::Open) {
            self.state = State::Draining;
            // Nobody will answer our questions any more.
            self.client_gone();
            self.deadlines.set(Key::Drain, now.mono.after(self.definition.policy.limits.drain));
            self.close_if_drained();
        }
    }

    /// Whether the client has said that it sends no more.
    pub(crate) const fn is_draining(&self) -> bool {
        matches!(self.state, State::Draining)
    }

    /// Closes once everything owed is answered.
    pub(super) fn close_if_drained(&mut self) {
        if matches!(self.state, State::Draining) && self.inbound.owed() == 0 {
            self.finish_closing(Closed::EndOfInput);
        }
    }

    #[cold]
    pub(crate) fn finish_closing(&mut self, closed: Closed) {
        if self.is_closed() {
            return;
        }
        for id in std::mem::take(&mut self.listens).into_keys() {
            self.end_listen(&id);
        }
        for slot in self.inbound.slots() {
            if self.inbound.get_mut(slot).is_some_and(|entry| !entry.muted) {
                self.cancel_slot(slot, None);
            }
        }
        for (id, outgoing) in self.outbound.take_if(|_| true) {
            if let Outgoing::Request(_) = outgoing {
                let outcome = Err(RequestFailure::Gone);
                self.event(Action::Answered { call: CallId(id.unsigned_abs()), outcome });
            }
        }
        self.deadlines = Deadlines::new();
        self.batches.clear();
        self.state = State::Closed(closed.clone());
        self.event(Action::Closed(closed));
    }

    /// The last frames of a listen stream that this side ends.
    fn end_listen(&mut self, id: &RequestId) {
        if self.wire == Wire::Lines {
            self.write(listen::cancelled(id), Route::Related(0, None));
        }
        self.write(listen::ended(&self.definition, id), Route::Answer(0, Fate::Result));
    }

    /// Sets the deadline of a request of ours.
    pub(super) fn arm(&mut self, now: Now, id: i64, timeout: Option<Duration>) {
        let timeout = timeout.unwrap_or(self.definition.policy.limits.server_request);
        self.deadlines.set(Key::Outgoing(id), now.mono.after(timeout));
    }
}
