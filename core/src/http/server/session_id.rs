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
        let half = |digits: &[u8]| {
            digits.iter().try_fold(0_u64, |number, byte| match byte {
                b'0'..=b'9' => Some(number << 4 | u64::from(byte - b'0')),
                b'a'..=b'f' => Some(number << 4 | u64::from(byte - b'a' + 10)),
                _ => None,
            })
        };
        let (high, low) = value.split_at_checked(16).filter(|(_, low)| low.len() == 16)?;
        Some(Self(u128::from(half(high)?) << 64 | u128::from(half(low)?)))
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
