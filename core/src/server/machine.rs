//! The server of one byte stream: stdio, a socket, anything that carries lines.
//!
//! ```text
//!   bytes ─▶ lines ─▶ the engine (`core`) ─▶ Write, Invoke, …
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

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::api::{Action, Closed, Event, LogMessage, Progress, Reply, Sent};
use super::context::Sender;
use super::core::{Core, Out};
use super::definition::Definition;
use super::wire::Wire;
use crate::error::{Error, Misuse};
use crate::ids::{CallId, ReplySlot, SlotId};
use crate::json::Json;
use crate::jsonrpc::is_plain_line;
use crate::limits::Bound;
use crate::machine::{Input, Mono, Now, TimerKind};
use crate::rng::Seed;
use crate::stdio::line::{LineDecoder, LineError};

/// How many times `output_bytes` may wait for a client before the stream is given up. Reading stops long before, but
/// for a client that is asked something, whose answer may stand behind any number of its own requests; and what is
/// published is not held back at all.
const OUTPUT_FACTOR: usize = 16;

/// How many actions wait before further lines do. Not one, for each step of a request finds its code at hand after the
/// same step of another; and not many, for all that requests need is held until they are answered.
const READ_AHEAD: usize = 4;

/// The server of one byte stream. See the module's documentation.
#[derive(Debug)]
pub struct Server {
    core: Core,
    lines: LineDecoder,
    /// The client sends no more. What it has sent may still be in `lines`.
    ended: bool,
}

impl Server {
    /// A server of `definition`, for one stream. Every machine needs a seed of its own, from the operating system.
    #[must_use]
    pub fn new(definition: Arc<Definition>, seed: Seed) -> Self {
        let lines = LineDecoder::new(definition.policy.limits.frame_bytes);
        Self { core: Core::new(definition, Wire::Lines, seed), lines, ended: false }
    }

    /// The definition that new requests are served by.
    #[must_use]
    pub const fn definition(&self) -> &Arc<Definition> {
        self.core.definition()
    }

    /// Says who is at the other end, where the caller has found that out: what
    /// [`Context::principal`](super::Context::principal) answers for requests that are read from now on. Of input that was
    /// not polled to its end these are some.
    pub fn set_principal(&mut self, principal: Option<Arc<str>>) {
        self.core.set_sender(Sender { principal, data: None });
    }

    /// Says what happened on the stream. Of many lines a few are read now, and the others once the actions of those are
    /// polled: until then it is as if they had not arrived.
    ///
    /// # Errors
    /// [`Misuse::Closed`] after the machine has closed; and the fatal error that closed it, each time.
    pub fn handle(&mut self, now: Now, input: Input) -> Result<(), Error> {
        self.core.touch(now);
        if let Input::Written(bytes) = input {
            self.core.written(bytes);
            return Ok(());
        }
        self.core.check_open()?;
        match input {
            Input::Bytes(bytes) => {
                if self.ended {
                    return Err(Misuse::WrongState("bytes after the end of input").into());
                }
                self.check_output()?;
                if self.lines.passes_whole(bytes.len()) && is_plain_line(&bytes) {
                    self.core.on_plain_line(now, bytes);
                    return Ok(());
                }
                self.lines.push(bytes);
            }
            Input::Eof => self.ended = true,
            Input::Written(_) => {}
        }
        self.read_lines();
        self.core.failure().map_or(Ok(()), Err)
    }

    /// Reads lines until there is enough to do: what the others need is not held before their turn.
    #[inline(never)]
    fn read_lines(&mut self) {
        let now = self.core.now();
        while self.holds_input() && self.core.queued() < READ_AHEAD {
            match self.lines.next() {
                Some(line) => self.receive_line(now, line),
                None if self.ended => match self.lines.finish() {
                    Some(line) => self.receive_line(now, line),
                    None => self.core.on_eof(now),
                },
                None => return,
            }
        }
    }

    /// Whether lines, or the end of input, may be there that were not read.
    fn holds_input(&self) -> bool {
        let is_open = !self.core.is_closed() && !self.core.is_draining();
        is_open && (self.ended || self.lines.holds_chunks())
    }

    /// Ends a connection whose client takes nothing, though it goes on asking or being told.
    fn check_output(&mut self) -> Result<(), Error> {
        let bound = self.core.definition().policy.limits.output_bytes;
        if self.core.unwritten() <= bound.saturating_mul(OUTPUT_FACTOR) {
            return Ok(());
        }
        let error = Error::limit(Bound::OutputBytes, bound);
        self.core.finish_closing(Closed::Failed(error.clone()));
        Err(error)
    }

    fn receive_line(&mut self, now: Now, line: Result<Bytes, LineError>) {
        match line {
            Ok(line) => self.core.on_frame(now, line),
            Err(LineError::TooLong { limit }) => {
                self.core.refuse_frame(&Error::limit(Bound::FrameBytes, limit), 0);
            }
            Err(LineError::Flood { limit }) => {
                self.core.finish_closing(Closed::Failed(Error::limit(Bound::FrameBytes, limit)));
            }
        }
    }

    /// Lets deadlines that have come take effect.
    pub fn handle_timeout(&mut self, now: Now) {
        self.core.on_timeout(now);
    }

    /// The next thing to do.
    #[must_use]
    pub fn poll_action(&mut self) -> Option<Action> {
        match self.poll_queued() {
            None if self.holds_input() => {
                self.read_lines();
                self.poll_queued()
            }
            action => action,
        }
    }

    /// The next thing to do of what is queued already: no input is read for it, as [`Server::poll_action`] may. For
    /// whoever has to be done with the present before something changes.
    #[must_use]
    pub fn poll_queued(&mut self) -> Option<Action> {
        loop {
            return Some(match self.core.poll()? {
                Out::Frame(frame, _) => Action::Write(frame),
                Out::Event(action) => action,
                // Only said where requests are answered apart.
                Out::Ended(_) | Out::Listen(..) => continue,
            });
        }
    }

    /// When to call `handle_timeout`, and why; `None` if nothing is waited for.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Mono, TimerKind)> {
        if self.holds_input() { Some(self.core.at_once()) } else { self.core.poll_timeout() }
    }

    /// Whether to go on reading. False while the client reads too slowly, unless we wait for its answers; and while more
    /// input is held than may wait to be written, which only a caller who does not poll meets.
    #[must_use]
    pub fn wants_input(&self) -> bool {
        let bound = self.core.definition().policy.limits.output_bytes;
        !self.ended && self.core.wants_input() && self.lines.held() <= bound
    }

    /// Whether the machine is over: only its queue is left.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.core.is_closed()
    }

    /// Answers an invocation. The slot is used up, whatever comes of it.
    ///
    /// A reply to a request that was cancelled is dropped. A reply that does not fit the call, or breaks the
    /// tool's output schema, becomes an internal error for the client and a diagnostic here.
    ///
    /// # Errors
    /// [`Misuse::SlotNotOpen`] if the slot was answered before, or is another machine's.
    pub fn reply(&mut self, now: Now, slot: ReplySlot, reply: Reply) -> Result<(), Error> {
        self.core.reply(now, slot, reply)
    }

    /// Ends the request of a slot without an answer of the application: its handler is gone.
    pub fn abandon(&mut self, now: Now, slot: ReplySlot) {
        self.core.abandon(now, slot);
    }

    /// Reports how far the request of `slot` has got.
    ///
    /// # Errors
    /// [`Misuse::SlotNotOpen`].
    pub fn progress(&mut self, now: Now, slot: SlotId, progress: &Progress) -> Result<Sent, Error> {
        let full = self.core.is_full();
        self.core.progress(now, slot, progress, full)
    }

    /// Sends a log message: for the request of `slot`, or for the legacy session as a whole.
    ///
    /// # Errors
    /// [`Misuse::SlotNotOpen`].
    pub fn log(&mut self, now: Now, slot: Option<SlotId>, message: &LogMessage) -> Result<Sent, Error> {
        let full = self.core.is_full();
        self.core.log(now, slot, message, full)
    }

    /// Sends a request to the client of the legacy session. The answer comes as [`Action::Answered`].
    ///
    /// `slot` ties the request to an invocation: it is withdrawn if that is cancelled. Without `timeout` the
    /// bound `server_request` holds.
    ///
    /// # Errors
    /// [`Misuse::WrongState`] in the modern era, where servers send no requests, before the session is initialized
    /// (but for `ping`), and for what the client has not declared; [`Error::LimitExceeded`] when too many are in
    /// flight.
    pub fn request(
        &mut self,
        now: Now,
        slot: Option<SlotId>,
        method: &str,
        params: Option<&Json>,
        timeout: Option<Duration>,
    ) -> Result<CallId, Error> {
        self.core.request(now, slot, method, params, timeout)
    }

    /// Withdraws a request: the client is told, and no answer is delivered.
    ///
    /// # Errors
    /// [`Misuse::CallNotOpen`].
    pub fn cancel_request(&mut self, now: Now, call: CallId, reason: Option<&str>) -> Result<(), Error> {
        self.core.cancel_request(now, call, reason)
    }

    /// Announces that an elicitation by URL has ended (2025-11-25 only; elsewhere nothing is sent).
    pub fn elicitation_complete(&mut self, now: Now, elicitation_id: &str) -> Sent {
        self.core.elicitation_complete(now, elicitation_id)
    }

    /// Sends a notification of a method that is not the protocol's, or, for a gateway, of one that is.
    ///
    /// # Errors
    /// [`Misuse::Closed`], or params that are no object.
    pub fn notify(&mut self, now: Now, method: &str, params: Option<&Json>) -> Result<(), Error> {
        self.core.touch(now);
        self.core.check_open()?;
        self.check_output()?;
        self.core.notify(now, None, method, params)
    }

    /// Tells whoever wants to know that something has changed.
    ///
    /// The answer says whether anybody did; a client that reads too slowly is not spared, for it could not find
    /// out otherwise.
    pub fn publish(&mut self, now: Now, event: &Event) -> Sent {
        self.core.touch(now);
        if self.check_output().is_err() {
            return Sent::NotWanted;
        }
        self.core.publish(now, event)
    }

    /// Serves new requests by another definition, and tells clients which lists have changed.
    pub fn replace_definition(&mut self, now: Now, definition: Arc<Definition>) {
        self.core.replace_definition(now, definition);
    }

    /// Ends the connection: listen streams are told, what is not answered is cancelled.
    pub fn close(&mut self, now: Now) {
        self.core.close(now);
    }

    /// The legacy session as a value, to go on in another machine; `None` without one, or while requests are in
    /// flight.
    #[must_use]
    pub fn export_session(&self) -> Option<Json> {
        if self.holds_input() { None } else { self.core.export_session() }
    }

    /// Goes on with a session that [`Server::export_session`] gave, in a machine that has none.
    ///
    /// # Errors
    /// When there is a session already, or the value is none that this definition could have made.
    pub fn import_session(&mut self, exported: &Json) -> Result<(), Error> {
        self.core.import_session(exported)
    }
}
