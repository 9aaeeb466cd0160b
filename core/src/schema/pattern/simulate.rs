//! Runs an automaton with all its states side by side: one pass over the text, no backtracking.
//!
//! A look-around is answered where a state asks for it, by a run of its own from that place. Work is counted in
//! visits of states; [`VISITS_PER_STEP`] of them are one step.

use super::parse::{Assertion, is_line_end};
use super::program::{Program, State, StateId};
use crate::schema::steps::{Exhausted, Steps};

/// Visits of states that make one step: a visit takes a few nanoseconds.
const VISITS_PER_STEP: u64 = 4;

pub(super) fn is_match(program: &Program, text: &str, steps: &mut Steps) -> Result<bool, Exhausted> {
    let mut matcher = Matcher { program, text, steps, visits: 0 };
    matcher.run(program.start, 0, true, program.anchored)
}

struct Matcher<'a> {
    program: &'a Program,
    text: &'a str,
    steps: &'a mut Steps,
    visits: u64,
}

impl Matcher<'_> {
    /// Whether the automaton from `start` matches from byte `at` on (or, unless `anchored`, from any later place).
    fn run(&mut self, start: StateId, mut at: usize, forward: bool, anchored: bool) -> Result<bool, Exhausted> {
        let count = self.program.states.len();
        // Clearing the tables of a run is work as well.
        self.visit(count as u64 / 64)?;
        let mut current = StateSet::new(count);
        let mut following = StateSet::new(count);
        if self.reach(&mut current, start, at)? {
            return Ok(true);
        }
        loop {
            if anchored && current.list.is_empty() {
                return Ok(false);
            }
            let Some(c) = self.char_at(at, forward) else { return Ok(false) };
            at = if forward { at + c.len_utf8() } else { at - c.len_utf8() };
            following.clear();
            self.visit(1 + current.list.len() as u64)?;
            for id in &current.list {
                if let State::Set { set, next } = self.program.state(*id)
                    && self.program.set_contains(set, c)
                    && self.reach(&mut following, next, at)?
                {
                    return Ok(true);
                }
            }
            if !anchored && self.reach(&mut following, start, at)? {
                return Ok(true);
            }
            std::mem::swap(&mut current, &mut following);
        }
    }

    /// Adds `id` and all states that it reaches without reading; true once that includes the accepting one.
    fn reach(&mut self, into: &mut StateSet, id: StateId, at: usize) -> Result<bool, Exhausted> {
        let mut pending = std::mem::take(&mut into.pending);
        pending.clear();
        pending.push(id);
        let mut matched = false;
        while let Some(id) = pending.pop() {
            self.visit(1)?;
            if !into.mark(id) {
                continue;
            }
            match self.program.state(id) {
                State::Match => {
                    matched = true;
                    break;
                }
                State::Set { .. } => into.list.push(id),
                State::Split(first, second) => pending.extend([second, first]),
                State::Assert { assertion, next } => {
                    if self.holds(assertion, at) {
                        pending.push(next);
                    }
                }
                State::Look { look, next } => {
                    if self.looks(look, at)? {
                        pending.push(next);
                    }
                }
            }
        }
        into.pending = pending;
        Ok(matched)
    }

    fn looks(&mut self, look: u32, at: usize) -> Result<bool, Exhausted> {
        match self.program.looks.get(look as usize) {
            Some(look) => Ok(self.run(look.start, at, look.ahead, true)? != look.negated),
            None => Ok(false),
        }
    }

    fn holds(&self, assertion: Assertion, at: usize) -> bool {
        let before = self.char_at(at, false);
        let after = self.char_at(at, true);
        let boundary = before.is_some_and(is_word) != after.is_some_and(is_word);
        match assertion {
            Assertion::TextStart => before.is_none(),
            Assertion::TextEnd => after.is_none(),
            Assertion::LineStart => before.is_none_or(is_line_end),
            Assertion::LineEnd => after.is_none_or(is_line_end),
            Assertion::WordBoundary => boundary,
            Assertion::NoWordBoundary => !boundary,
        }
    }

    fn char_at(&self, at: usize, forward: bool) -> Option<char> {
        if forward {
            self.text.get(at..).and_then(|rest| rest.chars().next())
        } else {
            self.text.get(..at).and_then(|rest| rest.chars().next_back())
        }
    }

    fn visit(&mut self, count: u64) -> Result<(), Exhausted> {
        self.visits += count;
        if self.visits >= VISITS_PER_STEP {
            let steps = self.visits / VISITS_PER_STEP;
            self.visits %= VISITS_PER_STEP;
            self.steps.spend(steps)?;
        }
        Ok(())
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// States in the order in which they were reached, each once.
struct StateSet {
    /// States that read a character.
    list: Vec<StateId>,
    seen: Vec<u64>,
    marked: Vec<StateId>,
    pending: Vec<StateId>,
}

impl StateSet {
    fn new(states: usize) -> Self {
        Self { list: Vec::new(), seen: vec![0; states.div_ceil(64)], marked: Vec::new(), pending: Vec::new() }
    }

    fn mark(&mut self, id: StateId) -> bool {
        let Some(word) = self.seen.get_mut(id as usize / 64) else { return false };
        let bit = 1 << (id % 64);
        let fresh = *word & bit == 0;
        if fresh {
            *word |= bit;
            self.marked.push(id);
        }
        fresh
    }

    fn clear(&mut self) {
        self.list.clear();
        for id in self.marked.drain(..) {
            if let Some(word) = self.seen.get_mut(id as usize / 64) {
                *word = 0;
            }
        }
    }
}
