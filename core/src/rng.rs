//! Randomness, made from a seed.
//!
//! No machine asks the operating system for random bytes: it is given a [`Seed`] when it is made, and everything
//! that must not be guessed (salts, token ids, session ids, the seeds of smaller machines) is drawn from the
//! [`Rng`] that grows from it. So the same seed and the same inputs give the same actions.
//!
//! ```text
//! operating system ──► Seed ──► Rng ──┬─► fill      (salts, ids)
//!                                     └─► subseed ──► Rng of one exchange ──► …
//! ```
//!
//! The generator is ChaCha20: without the seed its output cannot be told from chance, and the output of one
//! sub-seed tells nothing about another. What is left to the caller: a seed that nobody else has, and that is
//! used once. Two machines made from one seed draw the same "random" bytes.

use std::fmt;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};

/// Thirty-two bytes from the operating system's generator. `Debug` shows none of them.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed(pub [u8; 32]);

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(..)")
    }
}

impl From<[u8; 32]> for Seed {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

/// A stream of bytes that only the holder of its seed can foresee.
///
/// It is not `Clone`: a copy would repeat what the original gives.
pub struct Rng(ChaCha20Rng);

impl Rng {
    /// The stream that `seed` stands for, from its beginning.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self(ChaCha20Rng::from_seed(seed.0))
    }

    /// Overwrites `bytes` with the next ones of the stream.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }

    /// The next `N` bytes of the stream.
    #[must_use]
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// A seed for a machine of its own, different from every other one drawn here.
    #[must_use]
    pub fn subseed(&mut self) -> Seed {
        Seed(self.bytes())
    }
}

/// A generator that is made when it is first asked: most machines of one request draw nothing.
#[derive(Debug)]
pub(crate) struct LazyRng {
    seed: Seed,
    rng: Option<Box<Rng>>,
}

impl LazyRng {
    pub(crate) const fn new(seed: Seed) -> Self {
        Self { seed, rng: None }
    }

    pub(crate) fn get(&mut self) -> &mut Rng {
        self.rng.get_or_insert_with(|| Box::new(Rng::new(self.seed.clone())))
    }
}

impl fmt::Debug for Rng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rng(..)")
    }
}

#[cfg(test)]
mod tests;
