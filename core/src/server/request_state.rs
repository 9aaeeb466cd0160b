//! The `requestState` of an `input_required` result: sealed when it leaves, opened when it comes back.
//!
//! The text travels through the client, so it is an attacker's input (*basic/patterns/mrtr*, server requirements
//! 4 and 5; M-MRTR-07 to -10). Sealed, nobody reads or changes it, and it opens only on the request that it was
//! made for:
//!
//! | bound into the seal | refused when |
//! |---|---|
//! | expiry | the time has come |
//! | method, target (name or URI), digest of the arguments | it comes with another request |
//! | principal, audience; none differs from every one | it comes from or for somebody else |
//!
//! Beside these it carries the application's state, the machine's memo (results that `once` keeps), the number
//! of the round and a random token id.
//!
//! ```text
//! token = base64url( version 1 │ key id 8 │ salt 32 │ AES-256-GCM ciphertext │ tag 16 )
//!                    └────── associated data ─────┘
//!
//! shared key ──HKDF-SHA256──┬─ "key id" ─────────────────────► key id
//!                           ├─ "salt", random, claims ───────► salt   (both random and claims, see below)
//!                           └─ "seal", salt ─────────────────► key 32 │ nonce 12, of this token only
//! ```
//!
//! Every token has a key and a nonce of its own, so processes that share the long key need not agree on nonces.
//! The salt depends on what is sealed too: if a seed is ever used twice (a restored snapshot of a machine), equal
//! claims give equal tokens, and different claims still give different keys.
//!
//! What is left to the caller: random bytes, the time, the secrecy of the keys, and **single use**. A sealed
//! state may come back many times before it expires. Where something must happen at most once, remember
//! [`Opened::token_id`] until [`Opened::expires`].

use std::fmt;

use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use hkdf::Hkdf;
use sha2::Sha256;

use crate::canonical::{CanonicalError, Digest};
use crate::json::Json;
use crate::machine::Unix;

mod payload;

/// How long a state may be away by default, in milliseconds: five minutes. It is sealed anew each round.
pub const DEFAULT_TTL_MILLIS: u64 = 300_000;

/// The longest token that is made or opened by default, in bytes: 64 KiB.
pub const DEFAULT_MAX_TOKEN_BYTES: usize = 64 << 10;

const VERSION: u8 = 1;
const KEY_ID_BYTES: usize = 8;
const SALT_BYTES: usize = 32;
const HEADER_BYTES: usize = 1 + KEY_ID_BYTES + SALT_BYTES;
const TAG_BYTES: usize = 16;
const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 12;

const KEY_ID_LABEL: &[u8] = b"mcp-sansio requestState 1 key id";
const SALT_LABEL: &[u8] = b"mcp-sansio requestState 1 salt";
const SEAL_LABEL: &[u8] = b"mcp-sansio requestState 1 seal";

/// What a peer is told of a refused token, whatever the cause.
pub const REFUSAL: &str = "the requestState is not valid for this request";

/// Which token it is: random, so that a store of used ones needs nothing else.
pub type TokenId = [u8; 16];

/// The keys that seal and open, shared by every process that may get the retry. `Debug` shows none of them.
///
/// To rotate: make the new key an accepted one everywhere, then the current one everywhere, and drop the old one
/// a time to live later. A key is known by an id that is derived from it, so there is nothing to number.
#[derive(Clone)]
pub struct SealKeys {
    current: SealKey,
    /// Keys that open, but seal nothing any more (or nothing yet).
    accepted: Vec<SealKey>,
}

impl SealKeys {
    /// Keys of which `current`, thirty-two random bytes, seals.
    #[must_use]
    pub fn new(current: [u8; 32]) -> Self {
        Self { current: SealKey::new(current), accepted: Vec::new() }
    }

    /// The same keys and `key`, which opens tokens but seals none.
    #[must_use]
    pub fn accepting(mut self, key: [u8; 32]) -> Self {
        self.accepted.push(SealKey::new(key));
        self
    }

    fn find(&self, id: &[u8]) -> Option<&SealKey> {
        std::iter::once(&self.current).chain(&self.accepted).find(|key| key.id == id)
    }
}

impl fmt::Debug for SealKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealKeys").field("accepted", &self.accepted.len()).finish_non_exhaustive()
    }
}

/// The request that a state belongs to. Two values are the same request if all members are equal.
#[derive(Clone, Copy)]
pub struct Binding<'a> {
    /// The method, such as `tools/call`.
    pub method: &'a str,
    /// The name of the tool or prompt, or the URI of the resource.
    pub target: &'a str,
    /// The arguments; [`Json::EMPTY_OBJECT`] where a request has none.
    pub arguments: &'a Json,
    /// Who asks, as the front has authenticated them; `None` for nobody in particular, which is nobody's equal.
    pub principal: Option<&'a str>,
    /// Whom the request is for, where several services share the keys.
    pub audience: Option<&'a str>,
}

impl fmt::Debug for Binding<'_> {
    /// Which method, and nothing that a caller sent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Binding").field("method", &self.method).finish_non_exhaustive()
    }
}

/// What is sealed.
#[derive(Clone, Copy)]
pub struct Claims<'a> {
    /// The request that the state belongs to.
    pub binding: Binding<'a>,
    /// The first moment at which the state no longer opens.
    pub expires: Unix,
    /// A random id for this token.
    pub token_id: TokenId,
    /// How many times input was asked for, this one included.
    pub round: u32,
    /// What the application keeps; given back unchanged.
    pub state: &'a [u8],
    /// What the machine keeps; given back unchanged.
    pub memo: &'a [u8],
}

impl fmt::Debug for Claims<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims")
            .field("binding", &self.binding)
            .field("expires", &self.expires)
            .field("round", &self.round)
            .field("state", &format_args!("{} bytes", self.state.len()))
            .field("memo", &format_args!("{} bytes", self.memo.len()))
            .finish_non_exhaustive()
    }
}

/// What a token held.
#[derive(Clone, PartialEq, Eq)]
pub struct Opened {
    /// What the application kept.
    pub state: Bytes,
    /// What the machine kept.
    pub memo: Bytes,
    /// For a store of used tokens.
    pub token_id: TokenId,
    /// How many times input was asked for.
    pub round: u32,
    /// How long a store of used tokens must remember this one.
    pub expires: Unix,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("state", &format_args!("{} bytes", self.state.len()))
            .field("memo", &format_args!("{} bytes", self.memo.len()))
            .field("round", &self.round)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

/// Why a state could not be sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The arguments cannot be told from others.
    #[error("the arguments cannot be bound to a requestState: {0}")]
    Arguments(#[from] CanonicalError),
    /// The cipher refused; its own bounds are far beyond any token's.
    #[error("the cipher refused to seal")]
    Cipher,
    /// The token would be longer than the bound.
    #[error("the requestState is longer than the limit request_state_bytes of {limit} bytes")]
    TooLarge {
        /// The bound, in bytes of token text.
        limit: usize,
    },
}

/// A token was refused.
///
/// Its text is the same for every cause, and it is the only text that may reach the peer: a client that could
/// tell the causes apart could search for a state that fits. [`cause`](Self::cause) is for diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{REFUSAL}")]
pub struct Refused {
    cause: RefusedCause,
}

impl Refused {
    /// What was wrong: for logs, never for the peer.
    #[must_use]
    pub const fn cause(&self) -> RefusedCause {
        self.cause
    }
}

impl From<RefusedCause> for Refused {
    fn from(cause: RefusedCause) -> Self {
        Self { cause }
    }
}

/// Why a token was refused, the first cause that was found, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefusedCause {
    /// It is longer than the bound.
    #[error("longer than the limit request_state_bytes of {limit} bytes")]
    TooLarge {
        /// The bound, in bytes of token text.
        limit: usize,
    },
    /// It is no token of this version.
    #[error("malformed")]
    Malformed,
    /// None of the keys made it.
    #[error("sealed with an unknown key")]
    UnknownKey,
    /// It was changed.
    #[error("tampered with")]
    Tampered,
    /// Its time has passed.
    #[error("expired")]
    Expired,
    /// It belongs to a request with another method.
    #[error("sealed for another method")]
    OtherMethod,
    /// It belongs to a request for another tool, prompt or resource.
    #[error("sealed for another target")]
    OtherTarget,
    /// It belongs to a request with other arguments, or these arguments have no digest.
    #[error("sealed for other arguments")]
    OtherArguments,
    /// It belongs to a request of somebody else.
    #[error("sealed for another principal")]
    OtherPrincipal,
    /// It belongs to another service.
    #[error("sealed for another audience")]
    OtherAudience,
}

/// Seals `claims` with the current key into a token of at most `max_token_bytes` bytes.
///
/// `random` must come from the caller's generator, fresh for each token. The same claims and the same random
/// bytes give the same token.
///
/// # Errors
/// When the token would be too long, or the arguments have no digest.
pub fn seal(
    keys: &SealKeys,
    claims: &Claims<'_>,
    random: [u8; SALT_BYTES],
    max_token_bytes: usize,
) -> Result<String, SealError> {
    let too_large = SealError::TooLarge { limit: max_token_bytes };
    let sealed_bytes = max_sealed_bytes(max_token_bytes);
    if claims.state.len().saturating_add(claims.memo.len()) > sealed_bytes {
        return Err(too_large);
    }
    let mut text = payload::encode(claims, Digest::of(claims.binding.arguments)?).ok_or(too_large)?;
    if HEADER_BYTES + text.len() + TAG_BYTES > sealed_bytes {
        return Err(too_large);
    }
    let key = &keys.current;
    let salt = key.salt(&random, &text);
    let mut token = Vec::with_capacity(HEADER_BYTES + text.len() + TAG_BYTES);
    token.push(VERSION);
    token.extend_from_slice(&key.id);
    token.extend_from_slice(&salt);
    let (cipher, nonce) = key.cipher(&salt).ok_or(SealError::Cipher)?;
    cipher.encrypt_in_place(&nonce, &token, &mut text).map_err(|_| SealError::Cipher)?;
    token.extend_from_slice(&text);
    Ok(URL_SAFE_NO_PAD.encode(token))
}

/// Opens `token`, if it was sealed for the request `expected` and the time is not past.
///
/// # Errors
/// [`Refused`], with one text for every cause.
pub fn open(
    keys: &SealKeys,
    token: &str,
    expected: &Binding<'_>,
    now: Unix,
    max_token_bytes: usize,
) -> Result<Opened, Refused> {
    let plain = decrypt(keys, token, max_token_bytes)?;
    let payload = payload::decode(&plain).ok_or(RefusedCause::Malformed)?;
    if now >= payload.expires {
        return Err(RefusedCause::Expired.into());
    }
    if payload.method != expected.method {
        return Err(RefusedCause::OtherMethod.into());
    }
    if payload.target != expected.target {
        return Err(RefusedCause::OtherTarget.into());
    }
    // Digested only now: without a genuine token nobody makes us read arguments twice.
    if Digest::of(expected.arguments) != Ok(payload.arguments) {
        return Err(RefusedCause::OtherArguments.into());
    }
    if payload.principal != expected.principal {
        return Err(RefusedCause::OtherPrincipal.into());
    }
    if payload.audience != expected.audience {
        return Err(RefusedCause::OtherAudience.into());
    }
    Ok(Opened {
        state: plain.slice_ref(payload.state),
        memo: plain.slice_ref(payload.memo),
        token_id: payload.token_id,
        round: payload.round,
        expires: payload.expires,
    })
}

fn decrypt(keys: &SealKeys, token: &str, max_token_bytes: usize) -> Result<Bytes, RefusedCause> {
    if token.len() > max_token_bytes {
        return Err(RefusedCause::TooLarge { limit: max_token_bytes });
    }
    // Base64 without padding and without stray bits: each token has one spelling.
    let mut token = URL_SAFE_NO_PAD.decode(token).map_err(|_| RefusedCause::Malformed)?;
    if token.len() < HEADER_BYTES + TAG_BYTES || token.first() != Some(&VERSION) {
        return Err(RefusedCause::Malformed);
    }
    let mut text = token.split_off(HEADER_BYTES);
    let (id, salt) =
        token.get(1..).and_then(|rest| rest.split_at_checked(KEY_ID_BYTES)).ok_or(RefusedCause::Malformed)?;
    let key = keys.find(id).ok_or(RefusedCause::UnknownKey)?;
    let (cipher, nonce) = key.cipher(salt).ok_or(RefusedCause::Tampered)?;
    cipher.decrypt_in_place(&nonce, &token, &mut text).map_err(|_| RefusedCause::Tampered)?;
    Ok(Bytes::from(text))
}

/// How many bytes a base64 text of `text_bytes` holds.
const fn max_sealed_bytes(text_bytes: usize) -> usize {
    text_bytes / 4 * 3 + (text_bytes % 4).saturating_sub(1)
}

/// A shared key, extracted once, and the id that tokens know it by.
#[derive(Clone)]
struct SealKey {
    derive: Hkdf<Sha256>,
    id: [u8; KEY_ID_BYTES],
}

impl SealKey {
    fn new(key: [u8; 32]) -> Self {
        let derive = Hkdf::new(None, &key);
        let mut id = [0; KEY_ID_BYTES];
        expand(&derive, &[KEY_ID_LABEL], &mut id);
        Self { derive, id }
    }

    /// A salt that differs when `random` differs or what is sealed does.
    fn salt(&self, random: &[u8; SALT_BYTES], text: &[u8]) -> [u8; SALT_BYTES] {
        let mut salt = [0; SALT_BYTES];
        expand(&self.derive, &[SALT_LABEL, random, text], &mut salt);
        salt
    }

    /// The cipher and the nonce of the token with this salt.
    fn cipher(&self, salt: &[u8]) -> Option<(Aes256Gcm, Nonce<aes_gcm::aes::cipher::consts::U12>)> {
        let mut material = [0; KEY_BYTES + NONCE_BYTES];
        expand(&self.derive, &[SEAL_LABEL, salt], &mut material);
        let (key, nonce) = material.split_at(KEY_BYTES);
        Some((Aes256Gcm::new_from_slice(key).ok()?, Nonce::try_from(nonce).ok()?))
    }
}

/// Fills `out` from the key behind `derive`. The labels differ, and only the last part of `info` varies in
/// length, so no two uses share an `info`.
fn expand(derive: &Hkdf<Sha256>, info: &[&[u8]], out: &mut [u8]) {
    derive.expand_multi_info(info, out).expect("HKDF-SHA256 gives up to 8,160 bytes, and no use asks for more than 44");
}

#[cfg(test)]
mod tests;
