//! What is inside the seal, as bytes.
//!
//! ```text
//! expires 8 │ token id 16 │ round 4 │ arguments 32 │ method │ target │ principal? │ audience? │ state │ memo
//! ```
//!
//! Numbers are big-endian. A text or a byte string is its length in four bytes and its content; an optional one
//! is `0`, or `1` and the text. The whole has one spelling, and nothing may follow it.

use super::{Claims, Digest, TokenId};
use crate::copy::append;
use crate::machine::Unix;

/// The content of a seal, borrowed from the deciphered bytes.
pub(super) struct Payload<'a> {
    pub(super) expires: Unix,
    pub(super) token_id: TokenId,
    pub(super) round: u32,
    pub(super) arguments: Digest,
    pub(super) method: &'a str,
    pub(super) target: &'a str,
    pub(super) principal: Option<&'a str>,
    pub(super) audience: Option<&'a str>,
    pub(super) state: &'a [u8],
    pub(super) memo: &'a [u8],
}

/// Writes `claims`; `None` if a part is longer than four bytes can say.
pub(super) fn encode(claims: &Claims<'_>, arguments: Digest) -> Option<Vec<u8>> {
    let binding = &claims.binding;
    let mut out = Vec::with_capacity(128 + claims.state.len() + claims.memo.len());
    out.extend_from_slice(&claims.expires.as_millis().to_be_bytes());
    out.extend_from_slice(&claims.token_id);
    out.extend_from_slice(&claims.round.to_be_bytes());
    append(&mut out, arguments.as_bytes());
    put(&mut out, binding.method.as_bytes())?;
    put(&mut out, binding.target.as_bytes())?;
    put_optional(&mut out, binding.principal)?;
    put_optional(&mut out, binding.audience)?;
    put(&mut out, claims.state)?;
    put(&mut out, claims.memo)?;
    Some(out)
}

/// Reads what [`encode`] wrote.
pub(super) fn decode(bytes: &[u8]) -> Option<Payload<'_>> {
    let mut rest = Reader(bytes);
    let payload = Payload {
        expires: Unix::from_millis(u64::from_be_bytes(rest.array()?)),
        token_id: rest.array()?,
        round: u32::from_be_bytes(rest.array()?),
        arguments: Digest::from(rest.array::<32>()?),
        method: rest.text()?,
        target: rest.text()?,
        principal: rest.optional()?,
        audience: rest.optional()?,
        state: rest.bytes()?,
        memo: rest.bytes()?,
    };
    rest.0.is_empty().then_some(payload)
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) -> Option<()> {
    out.extend_from_slice(&u32::try_from(bytes.len()).ok()?.to_be_bytes());
    out.extend_from_slice(bytes);
    Some(())
}

fn put_optional(out: &mut Vec<u8>, text: Option<&str>) -> Option<()> {
    out.push(u8::from(text.is_some()));
    text.map_or(Some(()), |text| put(out, text.as_bytes()))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(u32::from_be_bytes(self.array()?)).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    fn optional(&mut self) -> Option<Option<&'a str>> {
        match self.array()? {
            [0] => Some(None),
            [1] => self.text().map(Some),
            _ => None,
        }
    }
}
