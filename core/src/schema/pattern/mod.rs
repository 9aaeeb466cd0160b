//! Regular expressions of `pattern` and `patternProperties`, in time that is bounded before they run.
//!
//! JSON Schema takes its patterns from ECMA-262 (`u` mode, searched, not anchored). Engines that backtrack need
//! exponential time for some of them, and engines that do not know look-around refuse patterns that are common
//! in real schemas (`^(?!\s*$)`, the e-mail pattern of popular schema builders). This one does neither:
//!
//! ```text
//! source ──parse──▶ Ast ──program──▶ NFA ──dfa──▶ table     (small, no look-around: one look-up per character)
//!                                     └──────────▶ simulation (all states side by side, look-around on demand)
//! ```
//!
//! Both engines pay for what they do from the [`Steps`] of the whole validation, so a hostile pair of pattern
//! and text ends as `BudgetExceeded`, not as a hang. Back-references cannot be matched without backtracking and
//! are refused when the schema is built.
//!
//! Left to the caller: where the pattern stands in the schema (for the error), and how large the budgets are.

mod dfa;
mod parse;
mod program;
mod simulate;

#[cfg(test)]
mod tests;

use std::fmt;

use self::dfa::Dfa;
use self::program::Program;
use super::steps::{Exhausted, Steps};

/// Why a pattern cannot be used. The text never quotes the pattern, which may be long; its place is named instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The pattern is not a regular expression.
    #[error("{reason} at character {at}")]
    Syntax {
        /// Characters before the place where reading stopped.
        at: usize,
        /// What is wrong there.
        reason: &'static str,
    },
    /// A legal pattern that cannot be matched in bounded time, or that names something unknown.
    #[error("{0} is not supported")]
    Unsupported(&'static str),
    /// The pattern, or all patterns of the schema together, need more states than `pattern_states` allows.
    #[error("it needs more than {limit} states (`pattern_states`)")]
    TooLarge {
        /// The bound that was hit.
        limit: usize,
    },
}

/// What all patterns of one schema may use together while they are compiled.
#[derive(Debug)]
pub(crate) struct PatternBudget {
    limit: usize,
    /// States of automata still to be had.
    states: usize,
    /// Work still to be spent on turning automata into tables; running out costs speed, not correctness.
    table_work: usize,
}

impl PatternBudget {
    /// Work on tables that the whole schema may take, per state that it may take: about a millisecond in all.
    const TABLE_WORK_PER_STATE: usize = 4;
    /// Work on the table of one pattern. Usual patterns need a few hundred to a few thousand.
    const TABLE_WORK: usize = 20_000;

    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, states: limit, table_work: limit.saturating_mul(Self::TABLE_WORK_PER_STATE) }
    }

    fn take_states(&mut self, count: usize) -> Result<(), PatternError> {
        self.states = self.states.checked_sub(count).ok_or(PatternError::TooLarge { limit: self.limit })?;
        Ok(())
    }

    /// Takes work for the table of one pattern out; what is not used is given back.
    fn with_table_work<T>(&mut self, build: impl FnOnce(&mut usize) -> T) -> T {
        let mut work = self.table_work.min(Self::TABLE_WORK);
        self.table_work -= work;
        let result = build(&mut work);
        self.table_work += work;
        result
    }
}

/// A compiled pattern.
pub(crate) struct Pattern {
    source: Box<str>,
    engine: Engine,
}

enum Engine {
    Table(Dfa),
    Simulation(Program),
}

impl Pattern {
    /// Compiles `source`, paying from `budget`.
    pub(crate) fn compile(source: &str, budget: &mut PatternBudget) -> Result<Self, PatternError> {
        let ast = parse::parse(source)?;
        let program = Program::compile(&ast, budget)?;
        let engine = match budget.with_table_work(|work| Dfa::build(&program, work)) {
            Some(table) => Engine::Table(table),
            None => Engine::Simulation(program),
        };
        Ok(Self { source: source.into(), engine })
    }

    /// The text that the pattern was compiled from.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Whether the pattern matches somewhere in `text`.
    pub(crate) fn is_match(&self, text: &str, steps: &mut Steps) -> Result<bool, Exhausted> {
        match &self.engine {
            Engine::Table(table) => {
                steps.spend_bytes(text.len())?;
                Ok(table.is_match(text))
            }
            Engine::Simulation(program) => simulate::is_match(program, text, steps),
        }
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.source).finish()
    }
}
