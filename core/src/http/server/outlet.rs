//! The way out of one exchange: one JSON object, or a stream of events, decided as late as possible.
//!
//! ```text
//!            answer                         event · time bound · priming
//!  Done ◀──────────────── Waiting ──────────────────────────────────────▶ Streaming
//!         Respond(whole)                   Respond(stream)                 │  event: Chunk
//!                                                                         │  silence: Chunk (a comment)
//!  Done ◀─────────────────────────────────────────────────────────────────┘
//!                          answer: Chunk, Finish · finish: Finish
//! ```

use std::time::Duration;

use bytes::Bytes;

use super::action::{Action, ExchangeId};
use super::response::Response;
use crate::http::sse;
use crate::machine::{Mono, Now, Queue};

/// Longer frames are not copied into their events: the pieces go out apart.
const COPIED: usize = 16 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Streaming,
    Done,
}

/// The way out of one exchange.
#[derive(Debug)]
pub(super) struct Outlet {
    exchange: ExchangeId,
    state: State,
    /// Bytes of chunks that are not reported as written.
    unwritten: usize,
    keep_alive: Option<Duration>,
    /// When the next sign of life is due.
    due: Option<Mono>,
}

impl Outlet {
    pub(super) fn new(now: Now, exchange: ExchangeId, keep_alive: Option<Duration>) -> Self {
        let due = keep_alive.map(|interval| now.mono.after(interval));
        Self { exchange, state: State::Waiting, unwritten: 0, keep_alive, due }
    }

    pub(super) const fn exchange(&self) -> ExchangeId {
        self.exchange
    }

    /// Whether nothing has been said yet.
    pub(super) fn is_waiting(&self) -> bool {
        self.state == State::Waiting
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Never becomes a stream by itself.
    pub(super) const fn stays_json(&mut self) {
        self.due = None;
    }

    /// Nobody is there any more.
    pub(super) const fn abandon(&mut self) {
        self.state = State::Done;
        self.due = None;
    }

    pub(super) const fn unwritten(&self) -> usize {
        self.unwritten
    }

    pub(super) const fn written(&mut self, bytes: usize) {
        self.unwritten = self.unwritten.saturating_sub(bytes);
    }

    pub(super) const fn due(&self) -> Option<Mono> {
        self.due
    }

    /// Answers with a whole response.
    pub(super) fn respond(&mut self, out: &mut Queue<Action>, response: Response) {
        if self.is_waiting() {
            self.state = State::Done;
            self.due = None;
            out.push(Action::Respond { exchange: self.exchange, response });
        }
    }

    /// Opens the stream, if that has not been done.
    pub(super) fn open(&mut self, out: &mut Queue<Action>, now: Now) {
        if self.is_waiting() {
            self.state = State::Streaming;
            self.rest(now);
            out.push(Action::Respond { exchange: self.exchange, response: Response::events() });
        }
    }

    /// Sends a frame as an event.
    pub(super) fn event(&mut self, out: &mut Queue<Action>, now: Now, id: Option<&str>, frame: &Bytes) {
        self.open(out, now);
        if self.state != State::Streaming {
            return;
        }
        let line = frame.strip_suffix(b"\n").unwrap_or(frame);
        let mut event = sse::Outgoing::data(line);
        if let Some(id) = id {
            event = event.id(id);
        }
        if line.len() <= COPIED {
            return self.send(out, now, event);
        }
        let mut head = Vec::with_capacity(32);
        if let Some(id) = id {
            head.extend_from_slice(b"id: ");
            head.extend_from_slice(id.as_bytes());
            head.push(b'\n');
        }
        head.extend_from_slice(b"data: ");
        self.chunk(out, now, head.into());
        self.chunk(out, now, frame.slice_ref(line));
        self.chunk(out, now, Bytes::from_static(b"\n\n"));
    }

    /// Sends an event of another kind.
    pub(super) fn send(&mut self, out: &mut Queue<Action>, now: Now, event: sse::Outgoing<'_>) {
        self.open(out, now);
        let mut bytes = Vec::new();
        // Ids and names are made here, and hold nothing that cannot be carried.
        let _ = event.encode(&mut bytes);
        self.chunk(out, now, bytes.into());
    }

    /// Sends an event that says nothing, so that the client has an id to come back with.
    pub(super) fn prime(&mut self, out: &mut Queue<Action>, now: Now, id: &str, retry: Duration) {
        self.send(out, now, sse::Outgoing::data(b"").id(id).retry(retry));
    }

    /// Tells the client when to come back, and ends the connection.
    pub(super) fn leave(&mut self, out: &mut Queue<Action>, now: Now, retry: Duration) {
        self.send(out, now, sse::Outgoing::silent().retry(retry));
        self.finish(out);
    }

    /// Ends the stream.
    pub(super) fn finish(&mut self, out: &mut Queue<Action>) {
        if self.state == State::Streaming {
            out.push(Action::Finish { exchange: self.exchange });
        }
        self.state = State::Done;
        self.due = None;
    }

    /// The time for a sign of life has come. An answer that has not begun becomes a stream.
    pub(super) fn beat(&mut self, out: &mut Queue<Action>, now: Now) {
        if self.due.is_none_or(|due| due > now.mono) {
            return;
        }
        if self.is_waiting() {
            self.open(out, now);
        }
        if self.unwritten == 0 {
            self.chunk(out, now, Bytes::from_static(sse::KEEP_ALIVE));
        }
        self.rest(now);
    }

    fn chunk(&mut self, out: &mut Queue<Action>, now: Now, bytes: Bytes) {
        if self.state != State::Streaming {
            return;
        }
        self.rest(now);
        self.unwritten = self.unwritten.saturating_add(bytes.len());
        out.push(Action::Chunk { exchange: self.exchange, bytes });
    }

    fn rest(&mut self, now: Now) {
        self.due = self.keep_alive.map(|interval| now.mono.after(interval));
    }
}
