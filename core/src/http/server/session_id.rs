//! Names of legacy sessions: 128 random bits, as 32 hexadecimal digits.

use std::fmt;

use crate::rng::Rng;

/// The name of a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SessionId(u128);

impl SessionId {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        Self(u128::from_le_bytes(rng.bytes()))
    }

    /// `None` for anything that no session was ever called.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if value.len() != 32 || !value.iter().all(is_digit) {
            return None;
        }
        u128::from_str_radix(std::str::from_utf8(value).ok()?, 16).ok().map(Self)
    }

    pub(super) fn to_text(self) -> Box<str> {
        self.to_string().into()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

// Who knows the name can use the session.
impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(..)")
    }
}
