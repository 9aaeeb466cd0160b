//! Which members or items of one value some schema has evaluated, for `unevaluatedProperties` and
//! `unevaluatedItems`.

/// A set of positions: of items in an array, of members in the order of their map.
#[derive(Debug, Default)]
pub(super) struct Seen {
    all: bool,
    words: Vec<u64>,
}

impl Seen {
    pub(super) fn add(&mut self, position: usize) {
        let word = position / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        if let Some(word) = self.words.get_mut(word) {
            *word |= 1 << (position % 64);
        }
    }

    pub(super) fn add_all(&mut self) {
        self.all = true;
    }

    pub(super) fn contains(&self, position: usize) -> bool {
        self.all || self.words.get(position / 64).is_some_and(|word| word >> (position % 64) & 1 == 1)
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.all |= other.all;
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Steps that merging this set into another costs.
    pub(super) fn cost(&self) -> u64 {
        self.words.len() as u64 / 16 + 1
    }
}
