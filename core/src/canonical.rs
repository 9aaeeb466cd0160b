//! One digest for one JSON value, however it is spelled.
//!
//! A retry of a request must carry the arguments of the first attempt, and the digest of these arguments is
//! bound into the state that travels with it. A client or a gateway may write the same value with other white
//! space, other escapes and another order of members, so the digest is taken of a canonical text in the manner
//! of RFC 8785:
//!
//! | in the value | in the canonical text |
//! |---|---|
//! | white space between tokens | left out |
//! | members of an object | ordered by name, in code points; members of one name keep their order |
//! | strings and names | the shortest escapes: `"`, `\` and control characters only |
//! | numbers | **as written** |
//!
//! RFC 8785 rounds every number to a double. Here two integers beyond 64 bits that differ in the last digit stay
//! different, and the price is that `1`, `1.0` and `1e0` are three values.
//!
//! What is left to the caller: whether absent arguments count as an empty object.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use sha2::{Digest as _, Sha256};

use crate::json::Json;

/// The deepest nesting that is canonicalised. Twice the depth that frames may have by default, and where the JSON
/// parser itself gives up: no handler can read what lies deeper.
pub const MAX_DEPTH: usize = 128;

/// Why a value has no canonical text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalError {
    /// Objects and arrays lie in each other more than `limit` deep.
    #[error("the value is nested more than {limit} levels deep")]
    TooDeep {
        /// [`MAX_DEPTH`].
        limit: usize,
    },
    /// Not JSON, or a string that no text can stand for: half of a surrogate pair.
    #[error("the text is not a JSON value with Unicode strings")]
    Malformed,
}

/// The SHA-256 of a canonical text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `value`. Values that differ in white space, escapes and order of members only have the
    /// same one.
    ///
    /// # Errors
    /// When `value` is nested too deep or holds half of a surrogate pair.
    pub fn of(value: &Json) -> Result<Self, CanonicalError> {
        canonicalize(value.get()).map(|text| Self(Sha256::digest(text).into()))
    }

    /// The digest as bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Digest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Digest {
    /// The first four bytes: enough to compare two, too few to look for what was digested.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "Digest({a:02x}{b:02x}{c:02x}{d:02x}..)")
    }
}

/// The canonical text of one JSON value. Work and memory are linear in `text`, but for the sorting of members.
///
/// # Errors
/// When `text` is no JSON value, is nested too deep or holds half of a surrogate pair.
pub fn canonicalize(text: &str) -> Result<String, CanonicalError> {
    let mut writer = Writer { text, at: 0, out: String::with_capacity(text.len()), scratch: String::new() };
    writer.value(0)?;
    writer.skip_space();
    if writer.at == text.len() { Ok(writer.out) } else { Err(CanonicalError::Malformed) }
}

struct Writer<'a> {
    text: &'a str,
    /// The first byte of `text` that has not been read; always between two characters.
    at: usize,
    out: String,
    /// Where an object is put in order; kept, so that nested objects share one allocation.
    scratch: String,
}

impl<'a> Writer<'a> {
    /// Reads one value that lies in `depth` others, and writes it.
    fn value(&mut self, depth: usize) -> Result<(), CanonicalError> {
        match self.peek_token() {
            Some(b'{') => self.object(deeper(depth)?),
            Some(b'[') => self.array(deeper(depth)?),
            Some(b'"') => {
                let string = self.string()?;
                self.write_string(&string)
            }
            Some(_) => self.scalar(),
            None => Err(CanonicalError::Malformed),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), CanonicalError> {
        let mut members: Vec<(Cow<'a, str>, Range<usize>)> = Vec::new();
        self.at += 1;
        self.out.push('{');
        let body = self.out.len();
        let mut closed = self.take(b'}');
        while !closed {
            if self.peek_token() != Some(b'"') {
                return Err(CanonicalError::Malformed);
            }
            let name = self.string()?;
            let start = self.out.len();
            self.write_string(&name)?;
            self.expect(b':')?;
            self.out.push(':');
            self.value(depth)?;
            members.push((name, start..self.out.len()));
            closed = self.take(b'}');
            if !closed {
                self.expect(b',')?;
                self.out.push(',');
            }
        }
        self.sort(body, members);
        self.out.push('}');
        Ok(())
    }

    /// Puts the members that were written from `body` on in order.
    fn sort(&mut self, body: usize, mut members: Vec<(Cow<'a, str>, Range<usize>)>) {
        if members.is_sorted_by(|a, b| a.0 <= b.0) {
            return;
        }
        members.sort_by(|a, b| a.0.cmp(&b.0));
        self.scratch.clear();
        for (index, (_, range)) in members.into_iter().enumerate() {
            if index > 0 {
                self.scratch.push(',');
            }
            self.scratch.push_str(self.out.get(range).unwrap_or_default());
        }
        self.out.truncate(body);
        self.out.push_str(&self.scratch);
    }

    fn array(&mut self, depth: usize) -> Result<(), CanonicalError> {
        self.at += 1;
        self.out.push('[');
        let mut closed = self.take(b']');
        while !closed {
            self.value(depth)?;
            closed = self.take(b']');
            if !closed {
                self.expect(b',')?;
                self.out.push(',');
            }
        }
        self.out.push(']');
        Ok(())
    }

    /// Reads a string and gives its content; borrowed from the text if nothing in it is escaped.
    fn string(&mut self) -> Result<Cow<'a, str>, CanonicalError> {
        let start = self.at;
        let content = self.text.get(start + 1..).ok_or(CanonicalError::Malformed)?;
        let mut escaped = false;
        let mut skip = false;
        let length = content.bytes().position(|byte| {
            if skip {
                skip = false;
                return false;
            }
            skip = byte == b'\\';
            escaped |= skip;
            byte == b'"'
        });
        let length = length.ok_or(CanonicalError::Malformed)?;
        self.at = start + 1 + length + 1;
        if escaped {
            let token = self.text.get(start..self.at).unwrap_or_default();
            return serde_json::from_str(token).map(Cow::Owned).map_err(|_| CanonicalError::Malformed);
        }
        let content = content.get(..length).unwrap_or_default();
        if content.bytes().any(|byte| byte < 0x20) {
            return Err(CanonicalError::Malformed);
        }
        Ok(Cow::Borrowed(content))
    }

    fn write_string(&mut self, content: &str) -> Result<(), CanonicalError> {
        if content.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
            self.out.push('"');
            self.out.push_str(content);
            self.out.push('"');
            return Ok(());
        }
        let token = serde_json::to_string(content).map_err(|_| CanonicalError::Malformed)?;
        self.out.push_str(&token);
        Ok(())
    }

    /// Reads a number, `true`, `false` or `null`, and writes it as it is.
    fn scalar(&mut self) -> Result<(), CanonicalError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let end = rest.bytes().position(|byte| matches!(byte, b',' | b']' | b'}') || is_space(byte));
        let token = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        // The texts of frames are valid already; this keeps the promise for any other text too.
        if !matches!(token, "true" | "false" | "null") && !is_number(token) {
            return Err(CanonicalError::Malformed);
        }
        self.at += token.len();
        self.out.push_str(token);
        Ok(())
    }

    fn peek_token(&mut self) -> Option<u8> {
        self.skip_space();
        self.text.as_bytes().get(self.at).copied()
    }

    /// Reads `token` if it is the next one.
    fn take(&mut self, token: u8) -> bool {
        let found = self.peek_token() == Some(token);
        // Not `self.at += usize::from(found)`: rustc 1.95 can lose that addition (rust-lang/rust#158206).
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, token: u8) -> Result<(), CanonicalError> {
        if self.take(token) { Ok(()) } else { Err(CanonicalError::Malformed) }
    }

    fn skip_space(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|&&byte| is_space(byte)).count();
    }
}

const fn deeper(depth: usize) -> Result<usize, CanonicalError> {
    if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(CanonicalError::TooDeep { limit: MAX_DEPTH }) }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Whether `token` is a number by the grammar of RFC 8259.
fn is_number(token: &str) -> bool {
    let rest = token.strip_prefix('-').unwrap_or(token);
    let (whole, rest) = split_digits(rest);
    if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) {
        return false;
    }
    let rest = match rest.strip_prefix('.').map(split_digits) {
        Some(("", _)) => return false,
        Some((_, rest)) => rest,
        None => rest,
    };
    let Some(exponent) = rest.strip_prefix(['e', 'E']) else {
        return rest.is_empty();
    };
    let (digits, rest) = split_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    !digits.is_empty() && rest.is_empty()
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at(end)
}

#[cfg(test)]
mod tests;
