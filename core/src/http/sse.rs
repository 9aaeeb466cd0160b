//! Server-sent events: where one event of a stream ends and the next begins, and how one is written.
//!
//! Both roles read and write through this module. It decides about *bytes* only: what an event's data means is for
//! the caller to say, and so is what becomes of a stream that ends within an event (the event is no event then).
//!
//! Specification: *HTML, 9.2 Server-sent events* (parsing and interpreting an event stream), which
//! *basic/transports* of every revision refers to.
//!
//! ```text
//!              ┌──────────────── end of line ────────────────┐
//!              ▼                                             │
//! Mark ──► LineStart ──► Name ──':'──► Space ──► Value ──────┤   value of data, event, id or retry
//!   (a byte      │         └─no field of ours──► Skip ───────┤   comments and unknown fields, never stored
//!    order mark) └── end of line: the event is complete ─────┘
//! ```
//!
//! | input | outcome |
//! |---|---|
//! | CR, LF, CRLF, a CRLF cut in two | one end of line each |
//! | a block with `data`, even an empty one | an [`Event`] |
//! | a block without `data` | no event; its `id` counts all the same |
//! | `id` with a NUL | ignored |
//! | `id` that is empty | forgets the id |
//! | `retry` of digits only | [`Decoder::retry`]; anything else is ignored |
//! | more stored bytes than the bound, in one event | [`SseError::TooLong`], and nothing ever again |
//!
//! Each byte is looked at once and copied at most once; data that came in one chunk and one line is a slice of it.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use memchr::memchr2;

use crate::copy::append;

/// A comment, which every reader skips: keeps an idle stream open.
pub const KEEP_ALIVE: &[u8] = b":\n\n";

/// The longest id that is kept, in bytes: it goes back in a header, and common servers read no longer ones.
pub const MAX_ID: usize = 4 << 10;

const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];
/// The longest field name that means anything.
const MAX_NAME: usize = 5;

/// An event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// What the event is called; `None` stands for `message`.
    pub name: Option<Box<str>>,
    /// Its data, the lines joined by LF.
    pub data: Bytes,
    /// The id in force after the event: its own, or that of an earlier event.
    pub id: Option<Arc<str>>,
}

/// What is wrong with a stream. It says nothing about the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SseError {
    /// One event was longer than the bound. Nothing more is read: close the stream.
    #[error("an event is longer than the limit of {limit} bytes")]
    TooLong {
        /// The bound on data, name and id of one event together, in bytes.
        limit: usize,
    },
    /// An id was longer than [`MAX_ID`]. Nothing more is read: close the stream.
    #[error("the id of an event is longer than the limit of {limit} bytes")]
    IdTooLong {
        /// The bound in bytes.
        limit: usize,
    },
}

/// Cuts a stream into events, whatever the chunks that it arrives in.
///
/// ```
/// # use mcp_sansio::http::sse::Decoder;
/// use bytes::Bytes;
///
/// let mut decoder = Decoder::new(1_000);
/// let mut chunk = Bytes::from_static(b"id: 7\ndata: {}\n\ndata: [");
/// let event = decoder.next(&mut chunk)?.ok_or("an event")?;
/// assert_eq!(event.data, "{}");
/// assert_eq!(event.id.as_deref(), Some("7"));
/// assert_eq!(decoder.next(&mut chunk)?, None); // all is read; the second event has not ended
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    state: State,
    /// The last byte was a CR: an LF now belongs to it.
    after_cr: bool,
    pending: Pending,
    id: Option<Arc<str>>,
    has_ids: bool,
    retry: Option<Duration>,
    failed: Option<SseError>,
}

/// Where in a line the stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// At the very start, after so many bytes of a byte order mark.
    Mark(u8),
    LineStart,
    /// So many bytes of a field name that may be one of ours.
    Name([u8; MAX_NAME], u8),
    /// After the colon: one space is not part of the value.
    Space(Field),
    Value(Field),
    Skip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Data,
    Event,
    Id,
    Retry,
}

/// The event that has not ended yet.
#[derive(Debug, Default)]
struct Pending {
    data: Data,
    name: Vec<u8>,
    /// The last one; empty if the id is taken back.
    id: Option<Vec<u8>>,
    /// The value that is read, if it is a name or an id.
    value: Vec<u8>,
    /// The value that is read, if it is a waiting time.
    digits: Digits,
}

/// What has come of a number.
#[derive(Clone, Copy, Debug, Default)]
enum Digits {
    #[default]
    None,
    /// Stays at the largest number.
    Number(u64),
    /// Something else than digits.
    Invalid,
}

#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    /// One line that stood in one chunk.
    Slice(Bytes),
    /// Lines, each with its LF but the last.
    Copied(Vec<u8>),
}

impl Decoder {
    /// A decoder for events of up to `limit` bytes of data, name and id. Zero is taken as one.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            state: State::Mark(0),
            after_cr: false,
            pending: Pending::default(),
            id: None,
            has_ids: false,
            retry: None,
            failed: None,
        }
    }

    /// Reads on in `input` up to the end of the next event. `None` says that all of `input` is read and the next
    /// event has not ended.
    ///
    /// # Errors
    /// When an event passes a bound. The decoder reads nothing after that and repeats the error.
    pub fn next(&mut self, input: &mut Bytes) -> Result<Option<Event>, SseError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let outcome = self.read(input);
        if let Err(error) = outcome {
            self.failed = Some(error);
            self.pending = Pending::default();
        }
        outcome
    }

    /// The id that stands for the last event that came whole; `None` if there was none, or it was taken back.
    #[must_use]
    pub const fn last_event_id(&self) -> Option<&Arc<str>> {
        self.id.as_ref()
    }

    /// Whether any event that came whole had an id, even an empty one.
    #[must_use]
    pub const fn has_ids(&self) -> bool {
        self.has_ids
    }

    /// How long the stream's writer wants its reader to wait before it comes again, if it said so.
    #[must_use]
    pub const fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The bytes that are held for the event that has not ended.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.pending.len()
    }

    fn read(&mut self, input: &mut Bytes) -> Result<Option<Event>, SseError> {
        while let Some(&byte) = input.first() {
            if std::mem::take(&mut self.after_cr) && byte == b'\n' {
                input.advance(1);
                continue;
            }
            match self.state {
                State::Mark(seen) => self.mark(byte, seen, input),
                State::LineStart if matches!(byte, b'\r' | b'\n') => {
                    self.end_of_line(input);
                    if let Some(event) = self.dispatch() {
                        return Ok(Some(event));
                    }
                }
                State::LineStart => self.state = State::Name([0; MAX_NAME], 0),
                State::Name(name, length) => self.name(byte, name, length, input)?,
                State::Space(field) => {
                    self.state = State::Value(field);
                    if byte == b' ' {
                        input.advance(1);
                    }
                }
                State::Value(field) => self.value(field, input)?,
                State::Skip => match memchr2(b'\r', b'\n', input) {
                    Some(end) => {
                        input.advance(end);
                        self.end_of_line(input);
                    }
                    None => input.clear(),
                },
            }
        }
        Ok(None)
    }

    /// A byte at the very start of the stream.
    fn mark(&mut self, byte: u8, seen: u8, input: &mut Bytes) {
        if BYTE_ORDER_MARK.get(usize::from(seen)) == Some(&byte) {
            input.advance(1);
            let whole = usize::from(seen) + 1 == BYTE_ORDER_MARK.len();
            self.state = if whole { State::LineStart } else { State::Mark(seen + 1) };
        } else {
            // No field of ours begins with a part of the mark.
            self.state = if seen == 0 { State::LineStart } else { State::Skip };
        }
    }

    fn name(&mut self, byte: u8, mut name: [u8; MAX_NAME], length: u8, input: &mut Bytes) -> Result<(), SseError> {
        let known = field(name.get(..usize::from(length)).unwrap_or_default());
        match byte {
            b':' => {
                self.state = known.map_or(State::Skip, State::Space);
                input.advance(1);
            }
            // A line without a colon is a field without a value.
            b'\r' | b'\n' => match known {
                Some(field) => {
                    self.state = State::Value(field);
                    self.value(field, input)?;
                }
                None => self.end_of_line(input),
            },
            _ => match name.get_mut(usize::from(length)) {
                Some(place) => {
                    *place = byte;
                    self.state = State::Name(name, length + 1);
                    input.advance(1);
                }
                None => self.state = State::Skip,
            },
        }
        Ok(())
    }

    /// Reads on in a value, up to the end of its line if that is there.
    fn value(&mut self, field: Field, input: &mut Bytes) -> Result<(), SseError> {
        let end = memchr2(b'\r', b'\n', input);
        let part = input.split_to(end.unwrap_or(input.len()));
        self.room(field, part.len())?;
        match field {
            Field::Data => self.pending.data.extend(part, end.is_some()),
            Field::Event | Field::Id => append(&mut self.pending.value, &part),
            Field::Retry => part.iter().for_each(|byte| self.pending.digits.push(*byte)),
        }
        if end.is_some() {
            self.end_of_value(field);
            self.end_of_line(input);
        }
        Ok(())
    }

    /// Whether the event may grow so much.
    fn room(&self, field: Field, more: usize) -> Result<(), SseError> {
        if field == Field::Id && self.pending.value.len().saturating_add(more) > MAX_ID {
            return Err(SseError::IdTooLong { limit: MAX_ID });
        }
        let more = match field {
            Field::Data => more.saturating_add(1),
            Field::Event | Field::Id => more,
            Field::Retry => 0,
        };
        // The LF of the last line of data is counted and goes.
        if self.pending.len().saturating_add(more) > self.limit.saturating_add(1) {
            return Err(SseError::TooLong { limit: self.limit });
        }
        Ok(())
    }

    fn end_of_value(&mut self, field: Field) {
        let value = std::mem::take(&mut self.pending.value);
        match field {
            Field::Data => self.pending.data.end_line(),
            Field::Event => self.pending.name = value,
            Field::Id if value.contains(&0) => {}
            Field::Id => self.pending.id = Some(value),
            Field::Retry => {
                if let Digits::Number(millis) = std::mem::take(&mut self.pending.digits) {
                    self.retry = Some(Duration::from_millis(millis));
                }
            }
        }
    }

    /// Takes the end of a line, which `input` begins with.
    fn end_of_line(&mut self, input: &mut Bytes) {
        self.after_cr = input.first() == Some(&b'\r');
        input.advance(1);
        self.state = State::LineStart;
    }

    /// A blank line: the event has ended, if there was one.
    fn dispatch(&mut self) -> Option<Event> {
        let pending = std::mem::take(&mut self.pending);
        if let Some(id) = pending.id {
            self.has_ids = true;
            self.id = (!id.is_empty()).then(|| String::from_utf8_lossy(&id).into());
        }
        let data = pending.data.finish()?;
        let name = (!pending.name.is_empty()).then(|| String::from_utf8_lossy(&pending.name).into());
        Some(Event { name, data, id: self.id.clone() })
    }
}

impl Pending {
    /// The bytes that are held, with an LF for each line of data.
    fn len(&self) -> usize {
        let data = match &self.data {
            Data::None => 0,
            Data::Slice(line) => line.len() + 1,
            Data::Copied(lines) => lines.len(),
        };
        let id = self.id.as_ref().map_or(0, Vec::len);
        data + self.name.len() + id + self.value.len()
    }
}

impl Data {
    /// Adds a part of a line; `whole` says that the line ends with it.
    fn extend(&mut self, part: Bytes, whole: bool) {
        *self = match std::mem::take(self) {
            Self::None if whole => Self::Slice(part),
            Self::None => Self::Copied(part.to_vec()),
            Self::Slice(line) => {
                let mut lines = Vec::with_capacity(line.len() + 1 + part.len());
                append(&mut lines, &line);
                lines.push(b'\n');
                append(&mut lines, &part);
                Self::Copied(lines)
            }
            Self::Copied(mut lines) => {
                append(&mut lines, &part);
                Self::Copied(lines)
            }
        };
    }

    /// A line that was copied ends: its LF is in place for the next one.
    fn end_line(&mut self) {
        if let Self::Copied(lines) = self {
            lines.push(b'\n');
        }
    }

    fn finish(self) -> Option<Bytes> {
        match self {
            Self::None => None,
            Self::Slice(line) => Some(line),
            Self::Copied(mut lines) => {
                lines.pop();
                Some(lines.into())
            }
        }
    }
}

fn field(name: &[u8]) -> Option<Field> {
    match name {
        b"data" => Some(Field::Data),
        b"event" => Some(Field::Event),
        b"id" => Some(Field::Id),
        b"retry" => Some(Field::Retry),
        _ => None,
    }
}

impl Digits {
    fn push(&mut self, byte: u8) {
        let digit = u64::from(byte.wrapping_sub(b'0'));
        *self = match *self {
            _ if digit > 9 => Self::Invalid,
            Self::None => Self::Number(digit),
            Self::Number(number) => Self::Number(number.saturating_mul(10).saturating_add(digit)),
            Self::Invalid => Self::Invalid,
        };
    }
}

/// An event to be written.
///
/// ```
/// # use mcp_sansio::http::sse::Outgoing;
/// let mut out = Vec::new();
/// Outgoing::data(b"{}").id("7").encode(&mut out)?;
/// assert_eq!(out, b"id: 7\ndata: {}\n\n");
/// # Ok::<(), mcp_sansio::http::sse::Unencodable>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outgoing<'a> {
    name: Option<&'a str>,
    id: Option<&'a str>,
    retry: Option<Duration>,
    data: Option<&'a [u8]>,
}

/// An id or a name that an event cannot carry: it holds a CR, an LF or, in an id, a NUL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} of an event must hold no line break and no NUL")]
#[non_exhaustive]
pub struct Unencodable {
    /// `id` or `event`.
    pub field: &'static str,
}

impl<'a> Outgoing<'a> {
    /// An event with data. Readers see its CR, LF and CRLF as LF.
    #[must_use]
    pub const fn data(data: &'a [u8]) -> Self {
        Self { name: None, id: None, retry: None, data: Some(data) }
    }

    /// A block that sets the id, the waiting time or both, and that readers hand to nobody.
    #[must_use]
    pub const fn silent() -> Self {
        Self { name: None, id: None, retry: None, data: None }
    }

    /// Names the event.
    #[must_use]
    pub const fn name(mut self, name: &'a str) -> Self {
        self.name = Some(name);
        self
    }

    /// Gives the event an id; an empty one tells readers to forget what they have.
    #[must_use]
    pub const fn id(mut self, id: &'a str) -> Self {
        self.id = Some(id);
        self
    }

    /// Tells readers how long to wait before they come again, in whole milliseconds.
    #[must_use]
    pub const fn retry(mut self, retry: Duration) -> Self {
        self.retry = Some(retry);
        self
    }

    /// Appends the event.
    ///
    /// # Errors
    /// When the id or the name cannot be carried. Nothing is appended then.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        if self.id.is_some_and(|id| id.contains(['\r', '\n', '\0'])) {
            return Err(Unencodable { field: "id" });
        }
        if self.name.is_some_and(|name| name.contains(['\r', '\n'])) {
            return Err(Unencodable { field: "event" });
        }
        let length = |text: Option<&str>| text.map_or(0, |text| text.len() + "event: \n".len());
        let data = self.data.map_or(0, |data| data.len() + "data: \n".len());
        out.reserve(length(self.id) + length(self.name) + data + "retry: 00000\n\n".len());
        if let Some(id) = self.id {
            line(out, "id", id.as_bytes());
        }
        if let Some(name) = self.name {
            line(out, "event", name.as_bytes());
        }
        if let Some(retry) = self.retry {
            line(out, "retry", retry.as_millis().to_string().as_bytes());
        }
        if let Some(data) = self.data {
            lines(out, data);
        }
        out.push(b'\n');
        Ok(())
    }
}

fn lines(out: &mut Vec<u8>, mut data: &[u8]) {
    while let Some(end) = memchr2(b'\r', b'\n', data) {
        let (head, tail) = data.split_at(end);
        line(out, "data", head);
        data = match tail {
            [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
            [] => tail,
        };
    }
    line(out, "data", data);
}

fn line(out: &mut Vec<u8>, field: &str, value: &[u8]) {
    out.extend_from_slice(field.as_bytes());
    out.extend_from_slice(b": ");
    append(out, value);
    out.push(b'\n');
}

#[cfg(test)]
mod tests;
