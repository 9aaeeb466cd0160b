//! The server of one byte stream: stdio, a socket, anything that carries lines.
//!
//! ```text
//!   bytes ─▶ lines ─▶ messages ─▶ era? ─▶ admit ─┬─▶ answered here ─────────────▶ Write
//!                                                └─▶ Invoke … reply ─▶ result ──▶ Write
//!
//!   Open ──Eof──▶ Draining ──all answered, or the deadline──▶ Closed
//!     └──close / flood ─────────────────────────────────────▶ Closed
//! ```
//!
//! Both eras are served at once on the same stream: a request that names its revision is modern, `initialize`
//! opens a legacy session beside it, and every other request belongs to that session. Sources:
//! `basic/transports/stdio`, `basic/versioning`.
//!
//! The caller moves bytes, runs [`Invocation`](super::Invocation)s and sleeps. The verbs are in families: `handle`
//! and `handle_timeout` say what happened; `reply`, `abandon`, `progress`, `log`, `request`, `notify`, `publish`,
//! `replace_definition` and `close` say what the application wants; `poll_action`, `poll_timeout` and
//! `wants_input` say what to do next.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::api::{Action, Closed, Event, List, LogMessage, Progress, RequestFailure, Sent};
use super::ask::Question;
use super::context::Context;
use super::definition::Definition;
use super::listen::{self, Filter};
use super::result::Expects;
use super::session::Session;
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::engine::inbound::Inbound;
use crate::engine::outbound::Outbound;
use crate::error::{Error, Misuse};
use crate::ids::{CallId, ReplySlot, RequestId, SlotId};
use crate::json::Json;
use crate::jsonrpc::FrameWriter;
use crate::limits::Bound;
use crate::machine::{Deadlines, Input, Mono, Now, Queue, TimerKind};
use crate::model::LoggingLevel;
use crate::rng::{Rng, Seed};
use crate::spec::{Era, Method};
use crate::stdio::line::{LineDecoder, LineError};

/// How many times `output_bytes` may wait for a client before the stream is given up. Reading stops long before, but
/// for a client that is asked something, whose answer may stand behind any number of its own requests; and what is
/// published is not held back at all.
const OUTPUT_FACTOR: usize = 16;

/// The server of one byte stream. See the module's documentation.
#[derive(Debug)]
pub struct Server {
    pub(super) definition: Arc<Definition>,
    pub(super) session: Option<Session>,
    pub(super) inbound: Inbound<Pending>,
    pub(super) outbound: Outbound<Outgoing>,
    pub(super) listens: BTreeMap<RequestId, Filter>,
    pub(super) batches: BTreeMap<u64, Batch>,
    pub(super) queue: Queue<Action>,
    pub(super) deadlines: Deadlines<Key>,
    pub(super) rng: Rng,
    lines: LineDecoder,
    state: State,
    pub(super) next_batch: u64,
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
    pub(super) batch: Option<u64>,
    /// What a legacy subscription is for, until the application has agreed.
    pub(super) subscribes: Option<Subscribes>,
    /// Questions that are not answered yet, on a legacy wire.
    pub(super) asking: Option<Box<super::ask::Asking>>,
}

#[derive(Debug)]
pub(super) enum Subscribes {
    To(Box<str>),
    NoMoreTo(Box<str>),
}

/// A request of ours to a legacy client.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// A question of a handler that has asked and ended.
    Question(Question),
    /// A request of the application, perhaps on behalf of a slot.
    Request(Option<SlotId>),
}

/// A batch whose answers are being collected.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) waiting: usize,
    pub(super) answers: Vec<Bytes>,
}

impl Server {
    /// A server of `definition`, for one stream. Every machine needs a seed of its own, from the operating system.
    #[must_use]
    pub fn new(definition: Arc<Definition>, seed: Seed) -> Self {
        let limits = &definition.policy.limits;
        Self {
            lines: LineDecoder::new(limits.frame_bytes),
            inbound: Inbound::new(limits.in_flight),
            outbound: Outbound::new(limits.calls),
            session: None,
            listens: BTreeMap::new(),
            batches: BTreeMap::new(),
            queue: Queue::new(),
            deadlines: Deadlines::new(),
            rng: Rng::new(seed),
            state: State::Open,
            next_batch: 0,
            deprecated: Vec::new(),
            buffer: Vec::new(),
            definition,
        }
    }

    /// The definition that new requests are served by.
    #[must_use]
    pub const fn definition(&self) -> &Arc<Definition> {
        &self.definition
    }

    /// Says what happened on the stream.
    ///
    /// # Errors
    /// [`Misuse::Closed`] after the machine has closed; and the fatal error that closed it, each time.
    pub fn handle(&mut self, now: Now, input: Input) -> Result<(), Error> {
        self.queue.touch(now);
        if let Input::Written(bytes) = input {
            self.queue.written(bytes);
            return Ok(());
        }
        self.check_open()?;
        match input {
            Input::Bytes(bytes) => {
                if matches!(self.state, State::Draining) {
                    return Err(Misuse::WrongState("bytes after the end of input").into());
                }
                self.check_output()?;
                self.lines.push(bytes);
                while let Some(line) = self.lines.next() {
                    self.receive_line(now, line)?;
                }
            }
            Input::Eof => self.end_of_input(now)?,
            Input::Written(_) => {}
        }
        Ok(())
    }

    /// Lets deadlines that have come take effect.
    pub fn handle_timeout(&mut self, now: Now) {
        self.queue.touch(now);
        while let Some(key) = self.deadlines.take_due(now.mono) {
            match key {
                Key::Drain => self.finish_closing(Closed::EndOfInput),
                Key::Invocation(slot) => self.invocation_timed_out(slot),
                Key::Outgoing(id) => self.request_timed_out(id),
            }
        }
    }

    /// The next thing to do.
    #[must_use]
    pub fn poll_action(&mut self) -> Option<Action> {
        self.queue.pop()
    }

    /// When to call `handle_timeout`, and why; `None` if nothing is waited for.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Mono, TimerKind)> {
        let own = self.deadlines.first().map(|(at, key)| {
            let kind = match key {
                Key::Drain => TimerKind::Drain,
                Key::Invocation(_) => TimerKind::Invocation,
                Key::Outgoing(_) => TimerKind::CallHard,
            };
            (at, kind)
        });
        self.queue.deadline(own)
    }

    /// Whether to go on reading. False while the client reads too slowly, unless we wait for its answers.
    #[must_use]
    pub fn wants_input(&self) -> bool {
        matches!(self.state, State::Open)
            && (self.queue.unwritten() <= self.definition.policy.limits.output_bytes || !self.outbound.is_empty())
    }

    /// Whether the machine is over: only its queue is left.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed(_))
    }

    /// Ends the request of a slot without an answer of the application: its handler is gone.
    pub fn abandon(&mut self, now: Now, slot: ReplySlot) {
        // A slot that is answered already has nothing left to abandon.
        let _ = self.reply(now, slot, super::api::Reply::Failed);
    }

    /// Reports how far the request of `slot` has got.
    ///
    /// # Errors
    /// [`Misuse::SlotNotOpen`].
    pub fn progress(&mut self, now: Now, slot: SlotId, progress: &Progress) -> Result<Sent, Error> {
        self.queue.touch(now);
        let full = self.is_full();
        let entry = self.inbound.get_mut(slot).ok_or(Misuse::SlotNotOpen)?;
        let version = entry.data.context.version();
        if full {
            return Ok(if entry.token.is_some() { Sent::Full } else { Sent::NotWanted });
        }
        if !entry.advances(progress.progress) {
            return Ok(Sent::NotWanted);
        }
        let Some(token) = entry.token.clone() else { return Ok(Sent::NotWanted) };
        let frame = FrameWriter::notification(Method::Progress.as_str(), 128).params(|params| {
            params.id("progressToken", &token.0).value("progress", &progress.progress);
            if let Some(total) = progress.total.filter(|total| total.is_finite()) {
                params.value("total", &total);
            }
            if let Some(message) = progress.message.as_ref().filter(|_| version.has_progress_message()) {
                params.string("message", message);
            }
        });
        self.write(frame);
        Ok(Sent::Yes)
    }

    /// Sends a log message: for the request of `slot`, or for the legacy session as a whole.
    ///
    /// # Errors
    /// [`Misuse::SlotNotOpen`].
    pub fn log(&mut self, now: Now, slot: Option<SlotId>, message: &LogMessage) -> Result<Sent, Error> {
        self.queue.touch(now);
        let era = match slot {
            Some(slot) => {
                let entry = self.inbound.get_mut(slot).ok_or(Misuse::SlotNotOpen)?;
                if entry.muted {
                    return Ok(Sent::NotWanted);
                }
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
        if self.is_full() {
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
        self.write(frame);
        Ok(Sent::Yes)
    }

    /// Sends a notification of a method that is not the protocol's, or, for a gateway, of one that is.
    ///
    /// # Errors
    /// [`Misuse::Closed`], or params that are no object.
    pub fn notify(&mut self, now: Now, method: &str, params: Option<&Json>) -> Result<(), Error> {
        self.queue.touch(now);
        self.check_open()?;
        self.check_output()?;
        let frame = FrameWriter::notification(method, params.map_or(0, |params| params.get().len()));
        let frame = match params {
            Some(params) if params.is_object() => frame.params_raw(params.as_bytes()),
            Some(_) => return Err(Misuse::Argument("the params of a notification are an object".into()).into()),
            None => frame.finish(),
        };
        self.write(frame);
        Ok(())
    }

    /// Tells whoever wants to know that something has changed.
    ///
    /// The answer says whether anybody did; a client that reads too slowly is not spared, for it could not find
    /// out otherwise.
    pub fn publish(&mut self, now: Now, event: &Event) -> Sent {
        self.queue.touch(now);
        if self.is_closed() || self.check_output().is_err() {
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
            self.write(frame);
        }
        if to_session {
            self.write(listen::notification(event, None));
        }
        sent
    }

    /// Serves new requests by another definition, and tells clients which lists have changed.
    pub fn replace_definition(&mut self, now: Now, definition: Arc<Definition>) {
        let old = std::mem::replace(&mut self.definition, definition);
        let new = Arc::clone(&self.definition);
        let changed = |list| !old.pages.same(&new.pages, list);
        if changed(List::Tools) {
            let _ = self.publish(now, &Event::ToolsListChanged);
        }
        if changed(List::Prompts) {
            let _ = self.publish(now, &Event::PromptsListChanged);
        }
        if changed(List::Resources) || changed(List::Templates) {
            let _ = self.publish(now, &Event::ResourcesListChanged);
        }
    }

    /// Ends the connection: listen streams are told, what is not answered is cancelled.
    pub fn close(&mut self, now: Now) {
        self.queue.touch(now);
        if !self.is_closed() {
            self.finish_closing(Closed::Requested);
        }
    }

    /// The legacy session as a value, to go on in another machine; `None` without one, or while requests are in
    /// flight.
    #[must_use]
    pub fn export_session(&self) -> Option<Json> {
        let quiet = self.inbound.owed() == 0 && self.outbound.is_empty() && self.queue.is_empty();
        self.session.as_ref().filter(|_| quiet).map(Session::export)
    }

    /// Goes on with a session that [`Server::export_session`] gave, in a machine that has none.
    ///
    /// # Errors
    /// When there is a session already, or the value is none that this definition could have made.
    pub fn import_session(&mut self, exported: &Json) -> Result<(), Error> {
        if self.session.is_some() {
            return Err(Misuse::WrongState("the machine has a session already").into());
        }
        let session = Session::import(&self.definition, exported)
            .ok_or_else(|| Misuse::Argument("the value is no exported session of this server".into()))?;
        self.session = Some(session);
        Ok(())
    }

    pub(super) fn write(&mut self, frame: Bytes) {
        // `Closed` is the last action.
        if self.is_closed() {
            return;
        }
        self.queue.push_frame(frame.len(), Action::Write(frame));
    }

    pub(super) fn is_full(&self) -> bool {
        self.queue.unwritten() > self.definition.policy.limits.output_bytes
    }

    /// Ends a connection whose client takes nothing, though it goes on asking or being told.
    fn check_output(&mut self) -> Result<(), Error> {
        let bound = self.definition.policy.limits.output_bytes;
        if self.queue.unwritten() <= bound.saturating_mul(OUTPUT_FACTOR) {
            return Ok(());
        }
        let error = Error::limit(Bound::OutputBytes, bound);
        self.finish_closing(Closed::Failed(error.clone()));
        Err(error)
    }

    #[cold]
    pub(super) fn say(&mut self, diagnostic: Diagnostic) {
        if !self.is_closed() {
            self.queue.push(Action::Diagnostic(diagnostic));
        }
    }

    /// Says once that a deprecated feature is in use.
    pub(super) fn say_deprecated(&mut self, method: Method, text: &'static str) {
        if !self.deprecated.contains(&method) {
            self.deprecated.push(method);
            self.say(Diagnostic::new(DiagnosticKind::Deprecated, text));
        }
    }

    pub(super) fn check_open(&self) -> Result<(), Error> {
        match &self.state {
            State::Open | State::Draining => Ok(()),
            State::Closed(Closed::Failed(error)) => Err(error.clone()),
            State::Closed(_) => Err(Misuse::Closed.into()),
        }
    }

    fn receive_line(&mut self, now: Now, line: Result<Bytes, LineError>) -> Result<(), Error> {
        match line {
            Ok(line) => self.receive_frame(now, line),
            Err(LineError::TooLong { limit }) => {
                let error = Error::limit(Bound::FrameBytes, limit);
                self.refuse_frame(&error);
            }
            Err(LineError::Flood { limit }) => {
                let error = Error::limit(Bound::FrameBytes, limit);
                self.finish_closing(Closed::Failed(error.clone()));
                return Err(error);
            }
        }
        Ok(())
    }

    #[cold]
    fn end_of_input(&mut self, now: Now) -> Result<(), Error> {
        if let Some(line) = self.lines.finish() {
            self.receive_line(now, line)?;
        }
        if matches!(self.state, State::Open) {
            self.state = State::Draining;
            // Nobody will answer our questions any more.
            self.client_gone();
            self.deadlines.set(Key::Drain, now.mono.after(self.definition.policy.limits.drain));
            self.close_if_drained();
        }
        Ok(())
    }

    /// Closes once everything owed is answered.
    pub(super) fn close_if_drained(&mut self) {
        if matches!(self.state, State::Draining) && self.inbound.owed() == 0 {
            self.finish_closing(Closed::EndOfInput);
        }
    }

    #[cold]
    fn finish_closing(&mut self, closed: Closed) {
        if self.is_closed() {
            return;
        }
        for id in std::mem::take(&mut self.listens).into_keys() {
            for frame in listen::ended(&self.definition, &id) {
                self.write(frame);
            }
        }
        for slot in self.inbound.slots() {
            if self.inbound.get_mut(slot).is_some_and(|entry| !entry.muted) {
                self.cancel_slot(slot, None);
            }
        }
        for (id, outgoing) in self.outbound.take_if(|_| true) {
            if let Outgoing::Request(_) = outgoing {
                let outcome = Err(RequestFailure::Gone);
                self.queue.push(Action::Answered { call: CallId(id.unsigned_abs()), outcome });
            }
        }
        self.deadlines = Deadlines::new();
        self.batches.clear();
        self.state = State::Closed(closed.clone());
        self.queue.push(Action::Closed(closed));
    }

    /// Sets the deadline of a request of ours.
    pub(super) fn arm(&mut self, now: Now, id: i64, timeout: Option<Duration>) {
        let timeout = timeout.unwrap_or(self.definition.policy.limits.server_request);
        self.deadlines.set(Key::Outgoing(id), now.mono.after(timeout));
    }
}
