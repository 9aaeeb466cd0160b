//! Tables of names: what a request names, found in a catalogue of any size.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Places in a catalogue by name.
///
/// Iteration order never matters, and nothing that a peer sends is ever inserted, so that a fast hash without a key
/// does: a peer can only look for the names that the application chose.
pub(super) type Table = HashMap<Arc<str>, usize, BuildHasherDefault<NameHasher>>;

/// Eight bytes of a name at a time, each mixed in with a multiplication.
#[derive(Default)]
pub(super) struct NameHasher(u64);

impl NameHasher {
    fn mix(&mut self, word: u64) {
        /// An odd number without a pattern: the golden ratio's fraction.
        const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        // Names of other lengths differ in the byte that ends a string's hash.
        self.mix(rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    }

    fn write_u8(&mut self, byte: u8) {
        self.mix(u64::from(byte));
    }

    fn finish(&self) -> u64 {
        // The high bits are mixed best, and tables take the low ones.
        self.0.rotate_left(26)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buckets of a table with room for all: a hash that fails here makes a look-up a walk.
    #[test]
    fn names_that_differ_little_are_spread() {
        let names = (0..10_000).map(|n| format!("tool_{n}")).chain((0..1_000).map(|n| "a".repeat(n)));
        let mut buckets = vec![0; 1 << 14];
        for name in names {
            let mut hasher = NameHasher::default();
            std::hash::Hash::hash(name.as_str(), &mut hasher);
            let place = hasher.finish() as usize % buckets.len();
            buckets[place] += 1;
        }
        assert!(buckets.iter().max().unwrap() <= &12);
    }
}
