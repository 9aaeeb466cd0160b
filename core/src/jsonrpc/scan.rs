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
//! the next quote, so that there is less to look for: `Scanner<true>` reads those.

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

/// The common fault. Cold, so that all that is right stands together in the code.
#[cold]
fn syntax<T>() -> Result<T, Fault> {
    Err(Fault::Syntax)
}

/// A place in a text, between tokens.
pub(super) struct Scanner<'t, const PLAIN: bool> {
    /// What was not read yet.
    rest: &'t [u8],
    length: usize,
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
        let mut scanner = Self { rest: text, length: text.len(), depth: 0, limit };
        scanner.skip_blank();
        Ok(scanner)
    }

    /// The byte that comes next.
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Where we are.
    pub(super) const fn position(&self) -> usize {
        self.length - self.rest.len()
    }

    /// Nothing but white space follows.
    pub(super) fn end(mut self) -> Result<(), Fault> {
        self.skip_blank();
        if self.rest.is_empty() { Ok(()) } else { syntax() }
    }

    /// Reads past these bytes if they are next.
    pub(super) fn take(&mut self, bytes: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(bytes);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Reads past the next key of a compact object, with its colon, if it is one of those that `known` names by their
    /// first eight bytes, quote included, and what follows them. `first` says that nothing of the object was read. There
    /// is no loop in this: messages are read by it, and everything else by [`Scanner::next_key`].
    ///
    /// `known` compares with constants alone. Slices whose length is found out at run time are compared by `memcmp`, and
    /// where it loads by mask, as with AVX-512, no bytes at the dangling address of an empty slice cost 80 ns.
    #[inline(always)]
    pub(super) fn usual_key<T>(&mut self, first: bool, known: impl Fn(u64, &[u8]) -> Option<(T, usize)>) -> Option<T> {
        let rest = match self.rest {
            [b',', rest @ ..] if !first => rest,
            rest if first => rest,
            _ => return None,
        };
        let (word, after) = rest.split_first_chunk()?;
        let (key, length) = known(u64::from_le_bytes(*word), after)?;
        self.rest = rest.get(length..)?;
        self.skip_blank();
        Some(key)
    }

    /// Reads an integer of few digits, such as ids are, if one is next. Anything else is left where it is.
    #[inline(always)]
    pub(super) fn small_integer(&mut self) -> Option<i64> {
        /// So many digits cannot overflow.
        const LONGEST: usize = 18;
        let (mut rest, mut number) = (self.rest, 0);
        while let [digit @ b'0'..=b'9', after @ ..] = rest {
            if self.rest.len() - rest.len() >= LONGEST {
                return None;
            }
            number = number * 10 + i64::from(digit - b'0');
            rest = after;
        }
        let is_usual = match (self.rest, rest) {
            ([b'0', b'0'..=b'9', ..], _) | (_, [b'.' | b'e' | b'E', ..]) => false,
            (all, _) => rest.len() < all.len(),
        };
        is_usual.then(|| {
            self.rest = rest;
            number
        })
    }

    /// Reads a string of plain text, if one is next. Anything else is left where it is.
    #[inline(always)]
    pub(super) fn plain_string(&mut self) -> Option<&'t [u8]> {
        match self.rest {
            [b'"', rest @ ..] if PLAIN => self.string(rest).ok(),
            _ => None,
        }
    }

    /// As [`Scanner::value`], where it is not what is usual.
    #[inline(never)]
    pub(super) fn any_value(&mut self) -> Result<Span, Fault> {
        self.value()
    }

    /// Goes into an object or array that starts here.
    #[inline]
    pub(super) fn enter(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > self.limit {
            return Err(Fault::TooDeep);
        }
        self.step();
        self.skip_blank();
        Ok(())
    }

    #[inline]
    fn leave(&mut self) {
        self.step();
        self.depth = self.depth.saturating_sub(1);
    }

    /// The key of the next member of the object that we are in, whose value is then to be read; `None`, and out of
    /// the object, after the last one. `first` says that nothing of the object was read.
    #[inline(always)]
    pub(super) fn next_key(&mut self, first: bool) -> Result<Option<&'t [u8]>, Fault> {
        if self.next_item(first, b'}')? { self.key().map(Some) } else { Ok(None) }
    }

    /// Whether another value follows in the object or array that `close` ends. If not, we are out of it.
    #[inline(always)]
    pub(super) fn next_item(&mut self, first: bool, close: u8) -> Result<bool, Fault> {
        if !first {
            self.skip_blank();
        }
        match self.rest {
            [byte, ..] if *byte == close => {
                self.leave();
                Ok(false)
            }
            [_, ..] if first => Ok(true),
            [b',', rest @ ..] => {
                self.rest = rest;
                self.skip_blank();
                Ok(true)
            }
            _ => syntax(),
        }
    }

    /// Reads past the value that starts here, whatever it is, and answers where it stands.
    #[inline(always)]
    pub(super) fn value(&mut self) -> Result<Span, Fault> {
        let start = self.position();
        match self.rest {
            [b'{' | b'[', ..] => self.container()?,
            _ => self.scalar()?,
        }
        Ok(Span::new(start, self.position()))
    }

    /// Reads past an object or array.
    #[inline(never)]
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
                if self.next_item(false, close)? {
                    if close == b'}' {
                        self.key()?;
                    }
                    break;
                }
                inner = outer.pop();
            }
            if inner.is_none() {
                return Ok(());
            }
        }
    }

    /// A string, number or literal.
    #[inline(always)]
    fn scalar(&mut self) -> Result<(), Fault> {
        match self.rest {
            [b'"', rest @ ..] => self.string(rest).map(|_| ()),
            [b'-' | b'0'..=b'9', ..] => self.number(),
            _ => self.literal(),
        }
    }

    fn literal(&mut self) -> Result<(), Fault> {
        let taken = self.take(b"true") || self.take(b"false") || self.take(b"null");
        if taken { Ok(()) } else { syntax() }
    }

    fn number(&mut self) -> Result<(), Fault> {
        self.take(b"-");
        if !self.take(b"0") {
            self.digits()?;
        }
        if matches!(self.rest, [b'.' | b'e' | b'E', ..]) { self.fraction() } else { Ok(()) }
    }

    /// What follows the integer part of a number.
    #[inline(never)]
    fn fraction(&mut self) -> Result<(), Fault> {
        if self.take(b".") {
            self.digits()?;
        }
        if self.take(b"e") || self.take(b"E") {
            let _ = self.take(b"+") || self.take(b"-");
            self.digits()?;
        }
        Ok(())
    }

    /// One digit or more.
    #[inline]
    fn digits(&mut self) -> Result<(), Fault> {
        let before = self.rest.len();
        while let [b'0'..=b'9', rest @ ..] = self.rest {
            self.rest = rest;
        }
        if self.rest.len() < before { Ok(()) } else { syntax() }
    }

    /// The key of a member, its colon, and the white space around it. A key with escapes reads as what it means if it
    /// means a name that we know, or else as a name that nobody knows.
    #[inline(always)]
    fn key(&mut self) -> Result<&'t [u8], Fault> {
        let token = self.rest;
        let [b'"', rest @ ..] = token else { return syntax() };
        let mut name = self.string(rest)?;
        if !PLAIN && name.contains(&b'\\') {
            let token = token.get(..name.len() + 2).unwrap_or_default();
            name = serde_json::from_slice::<String>(token).ok().and_then(|name| known_name(&name)).unwrap_or_default();
        }
        self.skip_blank();
        let [b':', rest @ ..] = self.rest else { return syntax() };
        self.rest = rest;
        self.skip_blank();
        Ok(name)
    }

    /// A string, of which all but the first quote is `rest`. Answers what stands between the quotes.
    #[inline(always)]
    fn string(&mut self, rest: &'t [u8]) -> Result<&'t [u8], Fault> {
        let mut at = if PLAIN { quote(rest) } else { special(rest) };
        loop {
            let Some((text, [stop, after @ ..])) = rest.split_at_checked(at) else { return syntax() };
            match stop {
                b'"' => {
                    self.rest = after;
                    return Ok(text);
                }
                b'\\' if !PLAIN => {
                    let after = escape(after).ok_or(Fault::Syntax)?;
                    at = rest.len() - after.len() + special(after);
                }
                _ => return syntax(),
            }
        }
    }

    #[inline]
    fn step(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    #[inline(always)]
    fn skip_blank(&mut self) {
        if self.rest.first().is_some_and(|byte| *byte <= b' ') {
            self.rest = after_blanks(self.rest);
        }
    }
}

/// What follows white space. Compact frames have none, and so this stands apart from the code that they run through.
#[cold]
#[inline(never)]
const fn after_blanks(mut rest: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\n' | b'\r', after @ ..] = rest {
        rest = after;
    }
    rest
}

/// What follows an escape, of which the backslash was read.
fn escape(rest: &[u8]) -> Option<&[u8]> {
    match rest {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', rest @ ..] => Some(rest),
        [b'u', rest @ ..] => {
            let (digits, rest) = rest.split_first_chunk::<4>()?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(rest)
        }
        _ => None,
    }
}

/// Whether a text is printable ASCII without a backslash.
pub(super) fn is_plain(text: &[u8]) -> bool {
    // Bytes that are not ASCII have the high bit, and those below 0x20 get it.
    let odd = |byte: u8| byte | byte.wrapping_sub(0x20) | if byte == b'\\' { 0x80 } else { 0 };
    found(text, odd) & 0x80 == 0
}

/// Whether a text can stand between quotes as it is.
pub(super) fn needs_no_escape(text: &[u8]) -> bool {
    let special = |byte: u8| u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
    found(text, special) == 0
}

/// What `odd` says of all bytes together. Without branches, so that it becomes a vector loop.
#[inline(always)]
fn found(text: &[u8], odd: impl Fn(u8) -> u8) -> u8 {
    let all = |bytes: &[u8]| bytes.iter().fold(0, |found, byte| found | odd(*byte));
    // The last bytes are looked at twice, rather than one by one.
    let (blocks, rest) = text.as_chunks::<32>();
    let last = text.last_chunk::<32>().map_or_else(|| all(rest), |last| all(last));
    all(blocks.as_flattened()) | last
}

const ONES: u64 = u64::from_le_bytes([1; 8]);

/// The high bit of each byte of `word` that is zero. Bytes above the lowest such one may be wrong.
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

/// Where the first quote is; the length of the text if there is none.
#[inline(always)]
pub(super) fn quote(text: &[u8]) -> usize {
    // Names are short, and where they are read, much else is.
    match text.first_chunk().map(|bytes| quotes(u64::from_le_bytes(*bytes))) {
        None | Some(0) => far_quote(text),
        Some(found) => first(found),
    }
}

#[inline(never)]
fn far_quote(text: &[u8]) -> usize {
    find(text, quotes, |byte| byte == b'"')
}

/// Where the first quote, backslash or control character is; the length of the text if there is none.
pub(super) fn special(text: &[u8]) -> usize {
    let word = |word: u64| {
        let control = word.wrapping_sub(ONES * 0x20) & !word & (ONES << 7);
        quotes(word) | zeros(word ^ (ONES * b'\\' as u64)) | control
    };
    find(text, word, |byte| (byte == b'"') | (byte == b'\\') | (byte < 0x20))
}

/// The high bit of each byte of `word` that is a quote. Bytes above the lowest such one may be wrong.
const fn quotes(word: u64) -> u64 {
    zeros(word ^ (ONES * b'"' as u64))
}

/// Which byte of a word the lowest high bit belongs to.
const fn first(found: u64) -> usize {
    (found.trailing_zeros() / 8) as usize
}

/// Where `byte` first holds. `word` marks the high bits of such bytes.
#[inline(always)]
fn find(text: &[u8], word: impl Fn(u64) -> u64, byte: impl Fn(u8) -> bool) -> usize {
    let mut rest = text;
    // Without branches within, so that it becomes a vector loop.
    while let Some((block, after)) = rest.split_first_chunk::<16>() {
        if block.iter().fold(false, |found, b| found | byte(*b)) {
            break;
        }
        rest = after;
    }
    while let Some((bytes, after)) = rest.split_first_chunk() {
        let found = word(u64::from_le_bytes(*bytes));
        if found != 0 {
            return text.len() - rest.len() + first(found);
        }
        rest = after;
    }
    text.len() - rest.len() + find_at_end(rest, byte)
}

/// The last few bytes of a text, where no string of a whole frame ends.
#[cold]
fn find_at_end(rest: &[u8], byte: impl Fn(u8) -> bool) -> usize {
    rest.iter().position(|b| byte(*b)).unwrap_or(rest.len())
}
