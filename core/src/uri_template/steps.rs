//! The steps of a match, counted in tests so that their number can be bounded. Elsewhere this is nothing.

/// One more step: a look at one place of a URI, or at one name.
#[cfg(not(test))]
pub(super) const fn step() {}

#[cfg(test)]
pub(super) use counted::{step, taken};

#[cfg(test)]
mod counted {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    pub(crate) fn step() {
        STEPS.set(STEPS.get() + 1);
    }

    /// How many steps `work` takes, beside what it gives.
    pub(crate) fn taken<T>(work: impl FnOnce() -> T) -> (u64, T) {
        let before = STEPS.get();
        let done = work();
        (STEPS.get() - before, done)
    }
}
