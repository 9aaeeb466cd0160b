//! JSON, looked at once and copied never: where values stand, and that they are values.
//!
//! A frame is checked as a whole before anything in it is used, but almost none of it is *needed* by the machine:
//! a few members of the envelope, of `params` and of `_meta`. So this reader builds nothing. It checks the grammar
//! of RFC 8259, counts the nesting, and answers with [`Span`]s, whose text is decoded by whoever wants the value.
//!
//! It accepts what `serde_json` accepts as raw text: `\u` escapes need four digits, halves of surrogate pairs may
//! stand alone, numbers may be of any size. That the bytes are UTF-8 is checked before, by the caller.
//!
//! Nesting costs no stack, so that no bound can be set too high for it.
//!
//! One vector loop over the whole text comes first ([`is_plain`]). It proves most texts UTF-8, and it tells which are
//! *plain*: printable ASCII without a backslash, as nearly every compact frame is. In a plain text a string ends at
//! the next quote and white space is a space, so that there is less to look for: `Scanner<true>` reads those.

use super::members::{Span, known_name};

/// Why a text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not UTF-8.
    NotUtf8,
    /// It is not JSON.
    Syntax,
    /// It nests deeper than the bound.
    TooDeep,
}

/// A place in a text, between tokens.
pub(super) struct Scanner<'t, const PLAIN: bool> {
    text: &'t [u8],
    at: usize,
    /// Arrays and objects that are open.
    depth: usize,
    limit: usize,
}

impl<'t, const PLAIN: bool> Scanner<'t, PLAIN> {
    /// Starts at the first value of `text`, which may nest `limit` levels deep.
    pub(super) fn new(text: &'t [u8], limit: usize) -> Result<Self, Fault> {
        if !PLAIN && std::str::from_utf8(text).is_err() {
            return Err(Fault::NotUtf8);
        }
        let mut scanner = Self { text, at: 0, depth: 0, limit };
        scanner.skip_blank();
        Ok(scanner)
    }

    /// The byte that comes next.
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Where we are.
    pub(super) const fn position(&self) -> usize {
        self.at
    }

    /// Nothing but white space follows.
    pub(super) fn end(mut self) -> Result<(), Fault> {
        self.skip_blank();
        if self.at == self.text.len() { Ok(()) } else { Err(Fault::Syntax) }
    }

    /// Goes into an object or array that starts here.
    pub(super) fn enter(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > self.limit {
            return Err(Fault::TooDeep);
        }
        self.at += 1;
        self.skip_blank();
        Ok(())
    }

    fn leave(&mut self) {
        self.at += 1;
        self.depth = self.depth.saturating_sub(1);
    }

    /// The key of the next member of the object that we are in, whose value is then to be read; `None`, and out of
    /// the object, after the last one. `first` says that nothing of the object was read.
    pub(super) fn next_key(&mut self, first: bool) -> Result<Option<&'t [u8]>, Fault> {
        if self.next_item(first, b'}')? { self.key().map(Some) } else { Ok(None) }
    }

    /// Whether another value follows in the object or array that `close` ends. If not, we are out of it.
    pub(super) fn next_item(&mut self, first: bool, close: u8) -> Result<bool, Fault> {
        if !first {
            self.skip_blank();
        }
        match self.peek() {
            Some(byte) if byte == close => {
                self.leave();
                Ok(false)
            }
            Some(_) if first => Ok(true),
            Some(b',') => {
                self.at += 1;
                self.skip_blank();
                Ok(true)
            }
            _ => Err(Fault::Syntax),
        }
    }

    /// Reads past these bytes if they are next.
    pub(super) fn take(&mut self, bytes: &[u8]) -> bool {
        let taken = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(bytes));
        self.at += if taken { bytes.len() } else { 0 };
        taken
    }

    /// Reads past the value that starts here, whatever it is, and answers where it stands.
    pub(super) fn value(&mut self) -> Result<Span, Fault> {
        let start = self.at;
        match self.peek() {
            Some(b'{' | b'[') => self.container()?,
            _ => self.scalar()?,
        }
        Ok(Span::new(start, self.at))
    }

    /// Reads past an object or array.
    fn container(&mut self) -> Result<(), Fault> {
        // What ends the object or array that we are in, and those around it.
        let (mut inner, mut outer) = (None, Vec::new());
        loop {
            match self.peek() {
                Some(open @ (b'{' | b'[')) => {
                    self.enter()?;
                    // `{|}` and `[\]` follow each other in ASCII.
                    let close = open + 2;
                    if self.peek() == Some(close) {
                        self.leave();
                    } else {
                        outer.extend(inner.replace(close));
                        if close == b'}' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                _ => self.scalar()?,
            }
            // A value has ended, and perhaps what is around it.
            while let Some(close) = inner {
                self.skip_blank();
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        self.skip_blank();
                        if close == b'}' {
                            self.key()?;
                        }
                        break;
                    }
                    Some(byte) if byte == close => {
                        self.leave();
                        inner = outer.pop();
                    }
                    _ => return Err(Fault::Syntax),
                }
            }
            if inner.is_none() {
                return Ok(());
            }
        }
    }

    /// A string, number or literal.
    #[inline]
    fn scalar(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal(b"true"),
            Some(b'f') => self.literal(b"false"),
            Some(b'n') => self.literal(b"null"),
            _ => Err(Fault::Syntax),
        }
    }

    fn literal(&mut self, literal: &[u8]) -> Result<(), Fault> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !rest.starts_with(literal) {
            return Err(Fault::Syntax);
        }
        self.at += literal.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), Fault> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// One digit or more.
    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(Fault::Syntax) }
    }

    /// The key of a member, its colon, and the white space around it. A key with escapes reads as what it means if it
    /// means a name that we know, or else as a name that nobody knows.
    #[inline]
    fn key(&mut self) -> Result<&'t [u8], Fault> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return Err(Fault::Syntax);
        }
        let name = if self.string()? {
            let token = self.text.get(start..self.at).unwrap_or_default();
            serde_json::from_slice::<String>(token).ok().and_then(|name| known_name(&name)).unwrap_or_default()
        } else {
            self.text.get(start + 1..self.at - 1).unwrap_or_default()
        };
        self.skip_blank();
        if self.peek() != Some(b':') {
            return Err(Fault::Syntax);
        }
        self.at += 1;
        self.skip_blank();
        Ok(name)
    }

    /// A string, whose quote is next. Answers whether it has escapes.
    #[inline]
    fn string(&mut self) -> Result<bool, Fault> {
        let mut escaped = false;
        self.at += 1;
        if PLAIN {
            self.at = quote(self.text, self.at) + 1;
            return if self.at > self.text.len() { Err(Fault::Syntax) } else { Ok(false) };
        }
        loop {
            self.at = special(self.text, self.at);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return Err(Fault::Syntax),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        match self.text.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = self.text.get(self.at + 2..self.at + 6).unwrap_or_default();
                if digits.len() != 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(Fault::Syntax);
                }
                self.at += 6;
            }
            _ => return Err(Fault::Syntax),
        }
        Ok(())
    }

    #[inline]
    fn skip_blank(&mut self) {
        while self.peek().is_some_and(|byte| byte == b' ' || !PLAIN && matches!(byte, b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }
}

/// Whether a text is printable ASCII without a backslash. Without branches, so that it becomes a vector loop.
pub(super) fn is_plain(text: &[u8]) -> bool {
    let odd = |byte: u8| (byte.wrapping_sub(0x20) | byte) & 0x80 | u8::from(byte == b'\\');
    text.iter().fold(0, |found, byte| found | odd(*byte)) == 0
}

/// Whether a text can stand between quotes as it is. A vector loop, like [`is_plain`].
pub(super) fn needs_no_escape(text: &[u8]) -> bool {
    let special = |byte: u8| u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
    text.iter().fold(0, |found, byte| found | special(*byte)) == 0
}

const ONES: u64 = u64::from_le_bytes([1; 8]);

/// The high bit of each byte of `word` that is zero. Bytes above the lowest such one may be wrong.
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

/// The first quote at or after `at`, eight bytes at a time; the end of the text if there is none.
#[inline]
fn quote(text: &[u8], at: usize) -> usize {
    find(text, at, |word| zeros(word ^ (ONES * b'"' as u64)), |byte| byte == b'"')
}

/// The first quote, backslash or control character at or after `at`; the end of the text if there is none.
pub(super) fn special(text: &[u8], at: usize) -> usize {
    let word = |word: u64| {
        let control = word.wrapping_sub(ONES * 0x20) & !word & (ONES << 7);
        zeros(word ^ (ONES * b'"' as u64)) | zeros(word ^ (ONES * b'\\' as u64)) | control
    };
    find(text, at, word, |byte| matches!(byte, b'"' | b'\\' | 0..0x20))
}

/// Where `word`, which marks the high bits of bytes, first finds something; `byte` tells for the last few bytes.
#[inline(always)]
fn find(text: &[u8], mut at: usize, word: impl Fn(u64) -> u64, byte: impl Fn(u8) -> bool) -> usize {
    while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let found = word(u64::from_le_bytes(*bytes));
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|b| byte(*b)).unwrap_or(rest.len())
}
