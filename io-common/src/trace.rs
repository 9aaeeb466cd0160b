//! A look at a connection from outside: every frame and every action, in order.
//!
//! ```text
//!   received frame ──► machine ──► action, action, …
//!                                     └─ sent frame
//! ```
//!
//! Frames hold arguments, answers and sealed state: a trace is for developers, not for logs that are kept.

use std::sync::Arc;

use mcp_sansio::{client, server};

/// One thing that happened on a connection.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Trace<'a> {
    /// A line came in; without its newline, cut to [`LONGEST_LINE`] bytes.
    Received(&'a [u8]),
    /// A frame goes out; without its newline.
    Sent(&'a [u8]),
    /// A client's machine wants something done. Writing a frame is shown as [`Trace::Sent`] only.
    ClientAction(&'a client::Action),
    /// A server's machine wants something done. Writing a frame is shown as [`Trace::Sent`] only.
    ServerAction(&'a server::Action),
}

/// The most bytes of a received line that are shown.
pub const LONGEST_LINE: usize = 64 << 10;

/// Who looks on.
pub type TraceHook = Arc<dyn Fn(Trace<'_>) + Send + Sync>;

/// Cuts what is read into lines for a hook.
pub(crate) struct Tracer {
    hook: TraceHook,
    line: Vec<u8>,
}

impl Tracer {
    pub(crate) const fn new(hook: TraceHook) -> Self {
        Self { hook, line: Vec::new() }
    }

    pub(crate) fn received(&mut self, bytes: &[u8]) {
        let mut pieces = bytes.split(|byte| *byte == b'\n');
        // `split` gives at least one piece: what belongs to the line that has begun already.
        let mut piece = pieces.next().unwrap_or_default();
        for next in pieces {
            self.keep(piece);
            let line = std::mem::take(&mut self.line);
            (self.hook)(Trace::Received(line.strip_suffix(b"\r").unwrap_or(&line)));
            piece = next;
        }
        self.keep(piece);
    }

    /// Nothing more comes: what is left is a line.
    #[cfg(feature = "http")]
    pub(crate) fn ended(&mut self) {
        if !self.line.is_empty() {
            self.received(b"\n");
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = LONGEST_LINE.saturating_sub(self.line.len());
        self.line.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn sent(&self, frame: &[u8]) {
        (self.hook)(Trace::Sent(frame.strip_suffix(b"\n").unwrap_or(frame)));
    }

    pub(crate) fn client(&self, action: &client::Action) {
        match action {
            client::Action::Write(frame) => self.sent(frame),
            other => (self.hook)(Trace::ClientAction(other)),
        }
    }

    pub(crate) fn server(&self, action: &server::Action) {
        match action {
            server::Action::Write(frame) => self.sent(frame),
            other => (self.hook)(Trace::ServerAction(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::sync::lock;

    #[test]
    fn lines_are_shown_whole_however_they_are_cut() {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let keep = Arc::clone(&seen);
        let mut tracer = Tracer::new(Arc::new(move |trace| {
            if let Trace::Received(line) = trace {
                lock(&keep).push(String::from_utf8_lossy(line).into_owned());
            }
        }));
        for byte in b"one\r\n\ntwo\nthree" {
            tracer.received(&[*byte]);
        }
        tracer.received(b"\nfour\n");
        assert_eq!(*lock(&seen), ["one", "", "two", "three", "four"]);
    }

    #[test]
    fn long_lines_are_cut() {
        let seen = Arc::new(Mutex::new(0));
        let keep = Arc::clone(&seen);
        let mut tracer = Tracer::new(Arc::new(move |trace| {
            if let Trace::Received(line) = trace {
                *lock(&keep) = line.len();
            }
        }));
        tracer.received(&vec![b'x'; LONGEST_LINE]);
        tracer.received(b"more\n");
        assert_eq!(*lock(&seen), LONGEST_LINE);
    }
}
