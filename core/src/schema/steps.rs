//! The work that one validation may do, counted.
//!
//! A step is a unit of work that takes a bounded time (well under 100 ns on a current machine, 10 ns as a rule):
//! one schema applied to one value, one property looked up, one stretch of text scanned. Counting steps instead
//! of reading a clock keeps the core pure and makes a refusal the same on every machine.

/// Bytes of text that are scanned, hashed or compared for one step.
const BYTES_PER_STEP: usize = 64;

/// Which bound of the evaluator ended a validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exhausted {
    /// No steps are left.
    Steps,
    /// Schemas applied within schemas, or values compared within values, too deep for the stack.
    Depth,
}

/// A decreasing count of steps.
#[derive(Debug)]
pub(crate) struct Steps {
    left: u64,
}

impl Steps {
    pub(crate) fn new(limit: u64) -> Self {
        Self { left: limit }
    }

    /// Steps that are left.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Takes `count` steps.
    #[inline]
    pub(crate) fn spend(&mut self, count: u64) -> Result<(), Exhausted> {
        match self.left.checked_sub(count) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(Exhausted::Steps)
            }
        }
    }

    /// Takes what reading `bytes` of text once costs.
    #[inline]
    pub(crate) fn spend_bytes(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.spend((bytes / BYTES_PER_STEP) as u64 + 1)
    }
}
