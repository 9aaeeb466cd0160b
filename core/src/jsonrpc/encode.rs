//! Frames, written. A frame is one line: it ends with a newline and holds none.
//!
//! Whatever is carried as raw text may hold newlines as white space (a body that came over HTTP does); they
//! become spaces here, which changes no value.

use bytes::Bytes;
use serde::Serialize;

use super::scan;
use crate::copy::append;
use crate::error::ErrorObject;
use crate::ids::RequestId;

/// What a buffer that is used again has room for at first.
const FIRST: usize = 384;
/// The largest buffer that is kept for the next frame.
const KEPT: usize = 2_048;

/// Writes one frame.
pub(crate) struct FrameWriter {
    out: Vec<u8>,
}

impl FrameWriter {
    fn start(capacity: usize) -> Self {
        let mut out = Vec::with_capacity(capacity);
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
        Self { out }
    }

    /// A request; the params follow.
    pub(crate) fn request(id: &RequestId, method: &str, capacity: usize) -> Self {
        let mut frame = Self::start(capacity + 64);
        frame.out.extend_from_slice(b",\"id\":");
        id.write(&mut frame.out);
        frame.method(method);
        frame
    }

    /// A request in a buffer that [`FrameWriter::finish_into`] gave back; the params follow.
    pub(crate) fn request_in(mut buffer: Vec<u8>, id: &RequestId, method: &str, capacity: usize) -> Self {
        buffer.clear();
        buffer.reserve(capacity.max(FIRST));
        buffer.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        id.write(&mut buffer);
        let mut frame = Self { out: buffer };
        frame.method(method);
        frame
    }

    /// A notification; the params follow.
    pub(crate) fn notification(method: &str, capacity: usize) -> Self {
        let mut frame = Self::start(capacity + 64);
        frame.method(method);
        frame
    }

    /// A result; its value follows.
    pub(crate) fn result(id: &RequestId, capacity: usize) -> Self {
        let mut frame = Self::start(capacity + 48);
        frame.out.extend_from_slice(b",\"id\":");
        id.write(&mut frame.out);
        frame.out.extend_from_slice(b",\"result\":");
        frame
    }

    /// A result in a buffer that [`FrameWriter::finish_whole_into`] gave back.
    pub(crate) fn result_in(buffer: Vec<u8>, id: &RequestId) -> Self {
        let mut frame = Self { out: buffer };
        frame.out.clear();
        frame.out.reserve(FIRST);
        frame.out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        id.write(&mut frame.out);
        frame.out.extend_from_slice(b",\"result\":");
        frame
    }

    /// A whole error frame. Without an id, `null_id` says whether the revision wants `"id":null` or no member.
    pub(crate) fn error(id: Option<&RequestId>, null_id: bool, error: &ErrorObject) -> Bytes {
        let mut frame = Self::start(128);
        match id {
            Some(id) => {
                frame.out.extend_from_slice(b",\"id\":");
                id.write(&mut frame.out);
            }
            None if null_id => frame.out.extend_from_slice(b",\"id\":null"),
            None => {}
        }
        frame.out.extend_from_slice(b",\"error\":");
        error.write(&mut frame.out);
        frame.finish()
    }

    fn method(&mut self, method: &str) {
        self.out.extend_from_slice(b",\"method\":");
        write_str(&mut self.out, method);
    }

    /// The place where the params or the result go.
    pub(crate) const fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Adds `params` as raw text.
    pub(crate) fn params_raw(mut self, params: &[u8]) -> Bytes {
        self.out.extend_from_slice(b",\"params\":");
        append(&mut self.out, params);
        self.finish()
    }

    /// Adds `params` as an object that `fill` writes.
    pub(crate) fn params(mut self, fill: impl FnOnce(&mut ObjectWriter<'_>)) -> Bytes {
        self.out.extend_from_slice(b",\"params\":");
        let mut object = ObjectWriter::new(&mut self.out);
        fill(&mut object);
        object.end();
        self.finish()
    }

    /// Closes the frame.
    pub(crate) fn finish(mut self) -> Bytes {
        self.close();
        Bytes::from(self.out)
    }

    /// Closes the frame, and keeps its buffer for the next one, unless it is a large one. The frame has the length that
    /// it needs.
    pub(crate) fn finish_into(mut self, buffer: &mut Vec<u8>) -> Bytes {
        self.close();
        self.keep(buffer)
    }

    /// As [`FrameWriter::finish_into`], for a frame whose parts hold no newline for certain. Where it is no `line`,
    /// there is none at its end either.
    pub(crate) fn finish_whole_into(mut self, buffer: &mut Vec<u8>, line: bool) -> Bytes {
        self.out.extend_from_slice(if line { b"}\n" } else { b"}" });
        self.keep(buffer)
    }

    fn keep(self, buffer: &mut Vec<u8>) -> Bytes {
        if self.out.capacity() > KEPT {
            return Bytes::from(self.out);
        }
        // By way of a box, which is two words: `Bytes` would be written to memory and read back at once.
        let frame = Box::<[u8]>::from(self.out.as_slice());
        *buffer = self.out;
        Bytes::from(frame)
    }

    /// Closes a frame whose parts hold no newline for certain.
    pub(crate) fn finish_whole(mut self) -> Bytes {
        self.out.extend_from_slice(b"}\n");
        Bytes::from(self.out)
    }

    fn close(&mut self) {
        self.out.push(b'}');
        one_line(&mut self.out);
        self.out.push(b'\n');
    }
}

/// Makes spaces of newlines. In JSON text they are white space, so that no value changes.
pub(crate) fn one_line(text: &mut [u8]) {
    if memchr::memchr2(b'\n', b'\r', text).is_some() {
        for byte in text {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}

/// Appends an integer.
pub(crate) fn write_i64(out: &mut Vec<u8>, number: i64) {
    // Writing to a vector cannot fail, and an integer always serialises.
    let _ = serde_json::to_writer(out, &number);
}

/// Appends a JSON string: runs that need no escape are found by the word and copied whole.
pub(crate) fn write_str(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    if scan::needs_no_escape(text.as_bytes()) {
        append(out, text.as_bytes());
    } else {
        write_escaped(out, text.as_bytes());
    }
    out.push(b'"');
}

fn write_escaped(out: &mut Vec<u8>, mut rest: &[u8]) {
    const HEX: [u8; 16] = *b"0123456789abcdef";
    while let Some((run, tail)) = rest.split_at_checked(scan::special(rest)) {
        append(out, run);
        let Some((byte, tail)) = tail.split_first() else { break };
        rest = tail;
        let short = match byte {
            b'"' | b'\\' => *byte,
            0x08 => b'b',
            0x09 => b't',
            0x0A => b'n',
            0x0C => b'f',
            0x0D => b'r',
            // A control character: below 0x20.
            _ => {
                let digit = |nibble: u8| HEX.get(usize::from(nibble & 0xF)).copied().unwrap_or(b'0');
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(*byte)]);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short]);
    }
}

/// Writes a JSON object member by member.
pub(crate) struct ObjectWriter<'o> {
    out: &'o mut Vec<u8>,
    empty: bool,
}

impl<'o> ObjectWriter<'o> {
    pub(crate) fn new(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, empty: true }
    }

    /// Goes on with an object whose text stands at the end of `out` already: takes its brace away.
    pub(crate) fn reopen(out: &'o mut Vec<u8>) -> Self {
        while out.last().is_some_and(|b| *b != b'}') {
            out.pop();
        }
        out.pop();
        let empty = out.iter().rev().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
        Self { out, empty }
    }

    /// Writes a key and gives the place of its value.
    pub(crate) fn key(&mut self, name: &str) -> &mut Vec<u8> {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        write_str(self.out, name);
        self.out.push(b':');
        self.out
    }

    pub(crate) fn raw(&mut self, name: &str, text: &str) -> &mut Self {
        append(self.key(name), text.as_bytes());
        self
    }

    pub(crate) fn string(&mut self, name: &str, text: &str) -> &mut Self {
        write_str(self.key(name), text);
        self
    }

    pub(crate) fn integer(&mut self, name: &str, number: i64) -> &mut Self {
        write_i64(self.key(name), number);
        self
    }

    pub(crate) fn id(&mut self, name: &str, id: &RequestId) -> &mut Self {
        id.write(self.key(name));
        self
    }

    /// A value of the typed model. Those always serialise; a value that does not is left as `null`.
    pub(crate) fn value<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> &mut Self {
        let out = self.key(name);
        let before = out.len();
        if serde_json::to_writer(&mut *out, value).is_err() {
            out.truncate(before);
            out.extend_from_slice(b"null");
        }
        self
    }

    /// An object that `fill` writes.
    pub(crate) fn object(&mut self, name: &str, fill: impl FnOnce(&mut ObjectWriter<'_>)) -> &mut Self {
        let mut object = ObjectWriter::new(self.key(name));
        fill(&mut object);
        object.end();
        self
    }

    /// Adds members that are written already, and ends the object.
    pub(crate) fn raw_members(self, members: &str) {
        if !self.empty {
            self.out.push(b',');
        }
        self.out.extend_from_slice(members.as_bytes());
        self.end();
    }

    pub(crate) fn end(self) {
        self.out.push(b'}');
    }
}
