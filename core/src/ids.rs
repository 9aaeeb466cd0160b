//! Names for things in flight, made so that they cannot be confused.
//!
//! | type | minted by | names |
//! |---|---|---|
//! | [`RequestId`] | the sender of a request | a request on the wire, with its JSON type |
//! | [`ProgressToken`] | the sender of a request | where progress belongs |
//! | [`SlotId`], [`ReplySlot`] | this machine | a request of the peer that the application answers |
//! | [`CallId`] | this machine | a request of the application, through every retry |

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::Json;
pub(crate) use crate::jsonrpc::{write_i64, write_str};

/// A JSON-RPC id: a string or an integer, never `null`, and `1` is not `"1"`.
///
/// Integers beyond 64 bits are kept as they are spelled.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(Repr);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Repr {
    Integer(i64),
    BigInteger(Box<str>),
    /// Shared, for the id of a request is kept in several places.
    Text(Arc<str>),
}

impl RequestId {
    pub(crate) const ZERO: Self = Self(Repr::Integer(0));

    /// Reads an id from JSON text; `None` for anything but a string or an integer (`1.0` and `1e0` are none).
    #[must_use]
    pub fn from_json_text(text: &str) -> Option<Self> {
        Self::from_json_bytes(text.as_bytes())
    }

    /// As [`RequestId::from_json_text`]; what is not UTF-8 is no id.
    pub(crate) fn from_json_bytes(token: &[u8]) -> Option<Self> {
        match token.first()? {
            b'"' => {
                let inner = token.get(1..token.len().checked_sub(1)?)?;
                if !inner.contains(&b'\\') {
                    return std::str::from_utf8(inner).ok().map(|text| Self(Repr::Text(text.into())));
                }
                serde_json::from_slice::<Box<str>>(token).ok().map(|text| Self(Repr::Text(text.into())))
            }
            b'-' | b'0'..=b'9' => {
                if let Some(number) = small(token) {
                    return Some(Self(Repr::Integer(number)));
                }
                let text = std::str::from_utf8(token).ok()?;
                if let Ok(number) = text.parse() {
                    return Some(Self(Repr::Integer(number)));
                }
                let digits = text.strip_prefix('-').unwrap_or(text);
                (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
                    .then(|| Self(Repr::BigInteger(text.into())))
            }
            _ => None,
        }
    }

    /// The id as an integer, where it is one of 64 bits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Integer(number) => Some(*number),
            Repr::BigInteger(_) | Repr::Text(_) => None,
        }
    }

    /// The id as a string, where it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Text(text) => Some(text),
            Repr::Integer(_) | Repr::BigInteger(_) => None,
        }
    }

    /// Appends the id as JSON.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Repr::Integer(number) => write_i64(out, *number),
            Repr::BigInteger(digits) => out.extend_from_slice(digits.as_bytes()),
            Repr::Text(text) => write_str(out, text),
        }
    }

    /// The id as JSON.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut out = Vec::new();
        self.write(&mut out);
        Json::from_validated(out.into())
    }
}

/// Up to 18 digits, which cannot overflow.
fn small(digits: &[u8]) -> Option<i64> {
    if digits.len() > 18 {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then_some(number * 10 + i64::from(digit))
    })
}

impl From<i64> for RequestId {
    fn from(number: i64) -> Self {
        Self(Repr::Integer(number))
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self(Repr::Text(text.into()))
    }
}

impl From<String> for RequestId {
    fn from(text: String) -> Self {
        Self(Repr::Text(text.into()))
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Integer(number) => write!(f, "{number}"),
            Repr::BigInteger(digits) => f.write_str(digits),
            Repr::Text(text) => write!(f, "{text:?}"),
        }
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Repr::Integer(number) => number.serialize(serializer),
            Repr::BigInteger(_) => self.to_json().serialize(serializer),
            Repr::Text(text) => text.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        Self::from_json_text(json.get()).ok_or_else(|| serde::de::Error::custom("an id is a string or an integer"))
    }
}

/// A progress token: like an id a string or an integer, compared with its type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProgressToken(pub RequestId);

impl<T: Into<RequestId>> From<T> for ProgressToken {
    fn from(value: T) -> Self {
        Self(value.into())
    }
}

/// The name of a request of the peer that the application answers: copyable, for progress and log lines.
///
/// A slot's place is used again after its request has ended; the generation tells the two apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl SlotId {
    /// The slot as one number, for a binding that carries it through another language.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        (self.generation as u64) << 32 | self.index as u64
    }

    /// The inverse of [`SlotId::to_u64`]. A number that no machine made names no slot.
    #[must_use]
    pub const fn from_u64(number: u64) -> Self {
        Self { index: (number & 0xffff_ffff) as u32, generation: (number >> 32) as u32 }
    }
}

/// The right to answer one request of the peer, once. Not `Clone`: answering consumes it.
///
/// Dropping a slot does not end the request, for a machine cannot see it: a front wraps it in a guard that calls
/// `abandon`.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a slot that is never answered or abandoned leaves its request open"]
pub struct ReplySlot(pub(crate) SlotId);

impl ReplySlot {
    /// The slot's name, for verbs that do not end the request.
    #[must_use]
    pub const fn id(&self) -> SlotId {
        self.0
    }

    /// Makes a slot from its name, for a binding that carried the number through another language. Answering
    /// twice is then found out at run time.
    pub const fn from_id(id: SlotId) -> Self {
        Self(id)
    }
}

/// A request of the application. It survives rounds of input, retries and a change of revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(crate) u64);

impl CallId {
    /// The call as a number.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        self.0
    }

    /// The inverse of [`CallId::to_u64`].
    #[must_use]
    pub const fn from_u64(number: u64) -> Self {
        Self(number)
    }
}
