//! Where one line of a byte stream ends and the next begins.
//!
//! Both stdio machines read through this decoder. It decides only about *bytes*: it splits at `0A` before
//! anything looks at UTF-8, so that no cut inside a character can hurt, and it hands on what lies between, valid
//! or not. Whether a line is UTF-8, JSON or a message is for the caller to say.
//!
//! Specification: *basic/transports/stdio* — one message per line, no newline inside a message.
//!
//! ```text
//!              newline: line out                          newline
//!            ┌──────────────────┐              ┌───────────────────────────┐
//!            ▼                  │              ▼                           │
//! Start ──► Line ───────────────┘            Line ──bound passed──► Discarding ──16 × bound──► Flooded
//!   (a byte order mark is skipped)                  (TooLong, once)                 (Flood, once)  inert
//! ```
//!
//! | input | outcome |
//! |---|---|
//! | a line within one chunk | a slice of that chunk: nothing is copied, the chunk lives as long as the slice |
//! | a line across chunks | its pieces are copied once into one buffer |
//! | `0D` before the newline | stripped, one at most, and outside the bound |
//! | a line of white space only | nothing |
//! | a line past the bound | [`LineError::TooLong`] at once, the rest of it is counted and forgotten |
//! | a line past [`FLOOD_FACTOR`] times the bound | [`LineError::Flood`], and nothing ever again |
//!
//! Each byte is looked at once and copied at most once, however the stream is cut.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};
use memchr::memchr;

use crate::copy::append;

/// How many times the bound a line may be before the stream is given up.
///
/// Past it the peer is not writing lines at all, and to look for a newline only keeps a processor busy.
pub const FLOOD_FACTOR: usize = 16;

const NEWLINE: u8 = b'\n';
const CARRIAGE_RETURN: u8 = b'\r';
const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// What is wrong with a line. Neither case says anything about its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// One line was longer than the bound. It is dropped, and the next line is read as usual.
    #[error("a line is longer than the limit of {limit} bytes")]
    TooLong {
        /// The bound, in bytes without the newline.
        limit: usize,
    },
    /// One line went on and on. The decoder reads nothing any more: close the stream.
    #[error("a line has no end within {limit} bytes")]
    Flood {
        /// [`FLOOD_FACTOR`] times the bound, in bytes.
        limit: usize,
    },
}

/// Cuts a byte stream into lines, whatever the chunks that it arrives in.
///
/// [`push`](Self::push) what was read, then call [`next`](Self::next) until it answers `None`. At the end of
/// the stream call [`finish`](Self::finish) until it answers `None`.
///
/// ```
/// # use mcp_sansio::stdio::line::LineDecoder;
/// use bytes::Bytes;
///
/// let mut lines = LineDecoder::new(64);
/// lines.push(Bytes::from_static(b"{\"a\":1}\r\n\n{\"b\""));
/// assert_eq!(lines.next(), Some(Ok(Bytes::from_static(b"{\"a\":1}"))));
/// assert_eq!(lines.next(), None);
/// lines.push(Bytes::from_static(b":2}\n"));
/// assert_eq!(lines.next(), Some(Ok(Bytes::from_static(b"{\"b\":2}"))));
/// assert_eq!(lines.finish(), None);
/// ```
#[derive(Debug)]
pub struct LineDecoder {
    max_line: usize,
    state: State,
    /// Chunks that have not been looked at; none is empty.
    chunks: VecDeque<Bytes>,
}

#[derive(Debug)]
enum State {
    /// Nothing but the first `matched` bytes of a byte order mark has been seen.
    Start { matched: usize },
    /// The head of an unfinished line, without its newline; empty between lines.
    Line { head: Vec<u8> },
    /// Past the bound and reported; `seen` bytes of the line are gone.
    Discarding { seen: usize },
    /// Given up.
    Flooded,
}

/// What the chunks at hand gave.
enum Step {
    Line(Bytes),
    Failed(LineError),
    /// Blank, or a change of state: look again.
    Again,
    NeedInput,
}

impl LineDecoder {
    /// A decoder for lines of up to `max_line` bytes, the newline not counted. Zero is taken as one.
    #[must_use]
    pub fn new(max_line: usize) -> Self {
        Self { max_line: max_line.max(1), state: State::Start { matched: 0 }, chunks: VecDeque::new() }
    }

    /// The bytes that are held: the head of an unfinished line and chunks that [`next`](Self::next) has not
    /// looked at yet. After `next` has answered `None` it is at most the bound and one byte.
    #[must_use]
    pub fn buffered(&self) -> usize {
        let head = match &self.state {
            State::Start { matched } => *matched,
            State::Line { head } => head.len(),
            State::Discarding { .. } | State::Flooded => 0,
        };
        self.held() + head
    }

    /// The error that ended the stream, once [`LineError::Flood`] was reported.
    #[must_use]
    pub fn fatal(&self) -> Option<LineError> {
        matches!(self.state, State::Flooded).then(|| self.flood())
    }

    /// Whether a chunk of `length` bytes that holds one line and its newline needs no decoder: nothing is held that
    /// comes before it, and it is within the bound.
    pub(crate) fn passes_whole(&self, length: usize) -> bool {
        matches!(&self.state, State::Line { head } if head.is_empty())
            && self.chunks.is_empty()
            && length <= self.max_line.saturating_add(1)
    }

    /// Whether there are chunks that [`next`](Self::next) has not looked at to their end.
    pub(crate) fn holds_chunks(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// The bytes of those chunks.
    pub(crate) fn held(&self) -> usize {
        self.chunks.iter().map(Bytes::len).sum()
    }

    /// Takes bytes as they were read; an empty chunk is no end of input. After a flood they are dropped.
    pub fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() && !matches!(self.state, State::Flooded) {
            self.chunks.push_back(chunk);
        }
    }

    /// The next whole line, without its newline; `None` when more bytes are needed.
    ///
    /// A line is never empty or blank. Its bytes may be anything but `0A`.
    ///
    /// # Errors
    /// [`LineError::TooLong`] once for each line past the bound, in its place among the lines;
    /// [`LineError::Flood`] once, and `None` for ever after.
    #[expect(clippy::should_implement_trait, reason = "`None` asks for more bytes; it does not end an iteration")]
    pub fn next(&mut self) -> Option<Result<Bytes, LineError>> {
        loop {
            let step = match self.state {
                State::Start { matched } => self.skip_mark(matched),
                State::Line { .. } => self.read_line(),
                State::Discarding { seen } => self.discard(seen),
                State::Flooded => Step::NeedInput,
            };
            match step {
                Step::Line(line) => return Some(Ok(line)),
                Step::Failed(error) => return Some(Err(error)),
                Step::Again => {}
                Step::NeedInput => return None,
            }
        }
    }

    /// At the end of the stream: the lines that are left, the last one though no newline ends it, then `None`.
    ///
    /// What is pushed afterwards begins a new line.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn finish(&mut self) -> Option<Result<Bytes, LineError>> {
        if let Some(line) = self.next() {
            return Some(line);
        }
        match &mut self.state {
            State::Start { matched } => {
                let head: Vec<u8> = BYTE_ORDER_MARK.iter().copied().take(*matched).collect();
                self.state = State::Line { head: Vec::new() };
                self.complete(Bytes::from(head))
            }
            State::Line { head } => {
                let head = std::mem::take(head);
                self.complete(Bytes::from(head))
            }
            State::Discarding { .. } => {
                self.state = State::Line { head: Vec::new() };
                None
            }
            State::Flooded => None,
        }
    }

    /// Compares the first bytes of the stream with the byte order mark. What differs is the first line's.
    #[cold]
    fn skip_mark(&mut self, mut matched: usize) -> Step {
        let Some(chunk) = self.chunks.front_mut() else {
            return Step::NeedInput;
        };
        let rest = BYTE_ORDER_MARK.iter().skip(matched);
        let equal = rest.zip(chunk.iter()).take_while(|(mark, byte)| mark == byte).count();
        if matched + equal == BYTE_ORDER_MARK.len() {
            self.consume(equal);
            self.state = State::Line { head: Vec::new() };
        } else if equal == chunk.len() {
            self.consume(equal);
            matched += equal;
            self.state = State::Start { matched };
        } else {
            // Bytes of this chunk stay in it; those of earlier chunks are gone and known.
            let head = BYTE_ORDER_MARK.iter().copied().take(matched).collect();
            self.state = State::Line { head };
        }
        Step::Again
    }

    fn read_line(&mut self) -> Step {
        let State::Line { head } = &mut self.state else {
            return Step::Again;
        };
        let Some(chunk) = self.chunks.front_mut() else {
            return Step::NeedInput;
        };
        // A carriage return may follow the longest line, and the newline that follows it must be in sight.
        let sight = self.max_line.saturating_add(2).saturating_sub(head.len()).min(chunk.len());
        let window = chunk.get(..sight).unwrap_or_default();
        if let Some(length) = memchr(NEWLINE, window) {
            if head.is_empty() && length + 1 == chunk.len() {
                // A chunk that is one line, as a quiet stream has them, is handed on as it is.
                let mut line = self.chunks.pop_front().unwrap_or_default();
                line.truncate(length);
                return self.judge(line);
            }
            let line = if head.is_empty() {
                chunk.slice(..length)
            } else {
                append(head, window.get(..length).unwrap_or_default());
                Bytes::from(std::mem::take(head))
            };
            self.consume(length + 1);
            return self.judge(line);
        }
        let length = head.len() + sight;
        let last = window.last().copied();
        if length > self.max_line.saturating_add(usize::from(last == Some(CARRIAGE_RETURN))) {
            self.consume(sight);
            self.state = State::Discarding { seen: length };
            return Step::Failed(self.too_long());
        }
        append(head, window);
        self.consume(sight);
        Step::Again
    }

    fn judge(&self, line: Bytes) -> Step {
        match self.complete(line) {
            Some(Ok(line)) => Step::Line(line),
            Some(Err(error)) => Step::Failed(error),
            None => Step::Again,
        }
    }

    /// Counts the rest of a line that is too long.
    #[cold]
    fn discard(&mut self, seen: usize) -> Step {
        let Some(chunk) = self.chunks.front() else {
            return Step::NeedInput;
        };
        // The first byte past the limit is in sight, so that a newline exactly there still ends the line.
        let sight = self.flood_limit().saturating_add(1).saturating_sub(seen).min(chunk.len());
        let window = chunk.get(..sight).unwrap_or_default();
        if let Some(length) = memchr(NEWLINE, window) {
            self.consume(length + 1);
            self.state = State::Line { head: Vec::new() };
            return Step::Again;
        }
        let seen = seen.saturating_add(sight);
        if seen > self.flood_limit() {
            self.state = State::Flooded;
            self.chunks.clear();
            return Step::Failed(self.flood());
        }
        self.consume(sight);
        self.state = State::Discarding { seen };
        Step::Again
    }

    /// Judges a line that has all its bytes; `None` if it is blank.
    fn complete(&self, mut line: Bytes) -> Option<Result<Bytes, LineError>> {
        if line.last() == Some(&CARRIAGE_RETURN) {
            line.truncate(line.len() - 1);
        }
        if line.len() > self.max_line {
            return Some(Err(self.too_long()));
        }
        let blank = line.first().is_none_or(u8::is_ascii_whitespace) && line.trim_ascii().is_empty();
        (!blank).then_some(Ok(line))
    }

    /// Takes `count` bytes off the first chunk, and the chunk with its last byte.
    fn consume(&mut self, count: usize) {
        if let Some(chunk) = self.chunks.front_mut() {
            chunk.advance(count.min(chunk.len()));
            if chunk.is_empty() {
                self.chunks.pop_front();
            }
        }
    }

    fn flood_limit(&self) -> usize {
        self.max_line.saturating_mul(FLOOD_FACTOR)
    }

    #[cold]
    fn flood(&self) -> LineError {
        LineError::Flood { limit: self.flood_limit() }
    }

    #[cold]
    fn too_long(&self) -> LineError {
        LineError::TooLong { limit: self.max_line }
    }
}

#[cfg(test)]
mod tests;
