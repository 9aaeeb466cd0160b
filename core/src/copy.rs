//! How long text is copied.
//!
//! glibc copies what is longer than a few KB with `rep movsb`. Processors of AMD are slow at that, ten to twenty times,
//! when source and target begin within a few bytes of the same place of a page, which two large blocks of the allocator
//! nearly always do: a stored page of 250 KB behind the 40 bytes that open a frame then takes 110 µs rather than 6.
//! Shorter copies are made by vector instructions, and suffer less: by half, when the target begins just behind the
//! place of the source, for every load then waits for a store that only seems to be to the same address. So what is kept
//! to be copied begins a little later in its block than what opens nearly every frame.

use bytes::Bytes;

/// The most that is copied at once: whole lines of the cache, and below 4,096 bytes, from which on the copy by vectors of
/// 32 bytes turns to `rep movsb`. (The processors that have smaller ones at most are not slow at it.)
const PIECE: usize = 4_032;

/// How far into its block a long text begins that is kept: more than what opens a frame, unless its id is a long text.
const LEAD: usize = 256;

/// A text to keep, that will be copied behind the first bytes of a frame again and again.
pub(crate) fn kept(text: Bytes) -> Bytes {
    if text.len() <= PIECE {
        return text;
    }
    let mut block = Vec::with_capacity(LEAD + text.len());
    block.resize(LEAD, 0);
    append(&mut block, &text);
    Bytes::from(block).split_off(LEAD)
}

/// Appends text that may be long.
#[inline]
pub(crate) fn append(out: &mut Vec<u8>, text: &[u8]) {
    if text.len() <= PIECE {
        return out.extend_from_slice(text);
    }
    append_long(out, text);
}

#[inline(never)]
fn append_long(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len());
    for piece in text.chunks(PIECE) {
        out.extend_from_slice(piece);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{PIECE, append, kept};

    #[test]
    fn every_byte_arrives_in_its_order() {
        let text: Vec<u8> = (0..4 * PIECE).map(|at| (at % 251) as u8).collect();
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE + 7] {
            let mut out = b"head".to_vec();
            append(&mut out, &text[..length]);
            assert_eq!(out, [b"head", &text[..length]].concat());
            assert_eq!(kept(Bytes::copy_from_slice(&text[..length])), text[..length]);
        }
    }
}
