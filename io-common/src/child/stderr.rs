//! What a server writes to standard error: never protocol, often worth seeing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::sync::lock;

/// The longest line that is handed over whole, in bytes; longer ones come in pieces.
pub const STDERR_LINE: usize = 8 << 10;
/// How many of the last bytes are kept.
pub const STDERR_TAIL: usize = 64 << 10;

/// Where lines go.
pub type OnLine = Box<dyn FnMut(&str) + Send>;

/// The end of what a server has written to standard error: its last [`STDERR_TAIL`] bytes.
#[derive(Clone, Debug, Default)]
pub struct StderrTail(Arc<Mutex<VecDeque<u8>>>);

impl StderrTail {
    /// The text so far.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(lock(&self.0).make_contiguous()).into_owned()
    }

    fn push(&self, chunk: &[u8]) {
        let mut bytes = lock(&self.0);
        bytes.extend(chunk);
        let surplus = bytes.len().saturating_sub(STDERR_TAIL);
        bytes.drain(..surplus);
    }
}

/// Takes what is read from standard error. Dropping it ends the last line.
#[derive(Default)]
pub struct StderrSink {
    tail: Option<StderrTail>,
    on_line: Option<OnLine>,
    line: Vec<u8>,
}

impl StderrSink {
    /// Keeps the end of the text. Answers where it can be read.
    pub fn capture(&mut self) -> StderrTail {
        self.tail.get_or_insert_default().clone()
    }

    /// Hands each line over.
    pub fn on_line(&mut self, on_line: OnLine) {
        self.on_line = Some(on_line);
    }

    /// Whether nobody wants what is written.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.tail.is_none() && self.on_line.is_none()
    }

    /// Takes the next bytes, cut anywhere.
    pub fn push(&mut self, chunk: &[u8]) {
        if let Some(tail) = &self.tail {
            tail.push(chunk);
        }
        if self.on_line.is_none() {
            return;
        }
        for byte in chunk {
            if *byte == b'\n' || self.line.len() == STDERR_LINE {
                self.end_line();
            }
            if *byte != b'\n' {
                self.line.push(*byte);
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if let Some(on_line) = &mut self.on_line {
            on_line(&String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(&line)));
        }
    }
}

impl Drop for StderrSink {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
    }
}

impl std::fmt::Debug for StderrSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StderrSink").field("tail", &self.tail).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_the_tail_is_bounded() {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&lines);
        let mut sink = StderrSink::default();
        assert!(sink.is_idle());
        let tail = sink.capture();
        sink.on_line(Box::new(move |line| lock(&seen).push(line.to_owned())));
        for byte in b"one\r\n\ntwo" {
            sink.push(&[*byte]);
        }
        sink.push(&vec![b'x'; STDERR_LINE]);
        sink.push(&vec![b'y'; STDERR_TAIL]);
        drop(sink);
        let lines = lock(&lines);
        assert_eq!(lines[..2], ["one", ""]);
        assert_eq!(lines[2].len(), STDERR_LINE);
        assert!(lines[2].starts_with("twoxxx"));
        assert!(lines.last().is_some_and(|last| last.ends_with('y')), "the last line needs no end");
        assert_eq!(tail.text(), "y".repeat(STDERR_TAIL));
    }
}
