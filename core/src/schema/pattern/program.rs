//! A syntax tree to a nondeterministic automaton.
//!
//! Built from the end: every part is compiled with the state that follows it and answers its own first state, so
//! no addresses are patched except those of loops. What stands in a look-behind is compiled in reverse order and
//! read backwards.

use std::collections::BTreeMap;

use regex_syntax::hir::ClassUnicode;

use super::parse::{Assertion, Ast};
use super::{PatternBudget, PatternError};

/// Index of a state.
pub(super) type StateId = u32;

#[derive(Debug, Clone, Copy)]
pub(super) enum State {
    /// One character of set `set`, then `next`.
    Set {
        set: u32,
        next: StateId,
    },
    /// Either way.
    Split(StateId, StateId),
    /// Nothing is read; a condition on the place.
    Assert {
        assertion: Assertion,
        next: StateId,
    },
    /// Nothing is read; another automaton must (or must not) match from here.
    Look {
        look: u32,
        next: StateId,
    },
    Match,
}

#[derive(Debug)]
pub(super) struct Look {
    pub(super) ahead: bool,
    pub(super) negated: bool,
    pub(super) start: StateId,
}

#[derive(Debug)]
pub(super) struct Program {
    pub(super) states: Vec<State>,
    pub(super) start: StateId,
    pub(super) sets: Vec<CharSet>,
    pub(super) looks: Vec<Look>,
    /// Every match begins at the start of the text, so no other place needs to be tried.
    pub(super) anchored: bool,
}

impl Program {
    pub(super) fn compile(ast: &Ast, budget: &mut PatternBudget) -> Result<Self, PatternError> {
        let mut compiler = Compiler {
            program: Self {
                states: vec![State::Match],
                start: MATCH,
                sets: Vec::new(),
                looks: Vec::new(),
                anchored: is_anchored(ast),
            },
            known: BTreeMap::new(),
            budget,
        };
        compiler.program.start = compiler.emit(ast, MATCH, false)?;
        Ok(compiler.program)
    }

    pub(super) fn state(&self, id: StateId) -> State {
        // Ids are made by the compiler; an unknown one would be a dead end.
        self.states.get(id as usize).copied().unwrap_or(State::Split(id, id))
    }

    pub(super) fn set_contains(&self, set: u32, c: char) -> bool {
        self.sets.get(set as usize).is_some_and(|set| set.contains(c))
    }
}

/// The accepting state, shared by the pattern and its look-arounds.
const MATCH: StateId = 0;

/// A set of characters: ASCII as bits, the rest as sorted ranges.
#[derive(Debug)]
pub(super) struct CharSet {
    ascii: u128,
    /// All ranges, sorted and apart.
    pub(super) ranges: Box<[(char, char)]>,
}

impl CharSet {
    fn new(ranges: Vec<(char, char)>) -> Self {
        let mut ascii = 0_u128;
        for (low, high) in &ranges {
            for c in (*low as u32)..=(*high as u32).min(127) {
                ascii |= 1 << c;
            }
        }
        Self { ascii, ranges: ranges.into() }
    }

    pub(super) fn contains(&self, c: char) -> bool {
        if c.is_ascii() {
            return self.ascii >> (c as u32) & 1 == 1;
        }
        let after = self.ranges.partition_point(|(low, _)| *low <= c);
        after.checked_sub(1).and_then(|at| self.ranges.get(at)).is_some_and(|(_, high)| c <= *high)
    }
}

struct Compiler<'b> {
    program: Program,
    known: BTreeMap<Vec<(char, char)>, u32>,
    budget: &'b mut PatternBudget,
}

impl Compiler<'_> {
    /// Compiles `ast` so that it goes on to `next`; answers where it begins.
    fn emit(&mut self, ast: &Ast, next: StateId, backwards: bool) -> Result<StateId, PatternError> {
        // Parts that need no state cost as well: a million copies of nothing are still a million turns.
        self.budget.take_states(1)?;
        match ast {
            Ast::Empty => Ok(next),
            Ast::Set(set) => {
                let set = self.intern(set)?;
                self.push(State::Set { set, next })
            }
            Ast::Assert(assertion) => self.push(State::Assert { assertion: *assertion, next }),
            Ast::Look { ahead, negated, inner } => {
                let start = self.emit(inner, MATCH, !ahead)?;
                let look = self.program.looks.len() as u32;
                self.program.looks.push(Look { ahead: *ahead, negated: *negated, start });
                self.push(State::Look { look, next })
            }
            Ast::Concat(parts) if backwards => {
                parts.iter().try_fold(next, |next, part| self.emit(part, next, backwards))
            }
            Ast::Concat(parts) => parts.iter().rev().try_fold(next, |next, part| self.emit(part, next, backwards)),
            Ast::Alternatives(branches) => {
                let mut branches = branches.iter().rev();
                let Some(last) = branches.next() else { return Ok(next) };
                let mut start = self.emit(last, next, backwards)?;
                for branch in branches {
                    let first = self.emit(branch, next, backwards)?;
                    start = self.push(State::Split(first, start))?;
                }
                Ok(start)
            }
            Ast::Repeat { inner, min, max } => self.repeat(inner, *min, *max, next, backwards),
        }
    }

    fn repeat(
        &mut self,
        inner: &Ast,
        min: u32,
        max: Option<u32>,
        next: StateId,
        backwards: bool,
    ) -> Result<StateId, PatternError> {
        let mut start = match max {
            None => {
                let turn = self.push(State::Split(next, next))?;
                let body = self.emit(inner, turn, backwards)?;
                if let Some(state) = self.program.states.get_mut(turn as usize) {
                    *state = State::Split(body, next);
                }
                turn
            }
            Some(max) => {
                let mut start = next;
                for _ in min..max {
                    let body = self.emit(inner, start, backwards)?;
                    start = self.push(State::Split(body, next))?;
                }
                start
            }
        };
        for _ in 0..min {
            start = self.emit(inner, start, backwards)?;
        }
        Ok(start)
    }

    fn push(&mut self, state: State) -> Result<StateId, PatternError> {
        self.budget.take_states(1)?;
        let id = self.program.states.len() as StateId;
        self.program.states.push(state);
        Ok(id)
    }

    fn intern(&mut self, set: &ClassUnicode) -> Result<u32, PatternError> {
        let ranges: Vec<(char, char)> = set.iter().map(|range| (range.start(), range.end())).collect();
        if let Some(id) = self.known.get(&ranges) {
            return Ok(*id);
        }
        // Two ranges take as much memory as one state.
        self.budget.take_states(ranges.len() / 2)?;
        let id = self.program.sets.len() as u32;
        self.program.sets.push(CharSet::new(ranges.clone()));
        self.known.insert(ranges, id);
        Ok(id)
    }
}

fn is_anchored(ast: &Ast) -> bool {
    match ast {
        Ast::Assert(Assertion::TextStart) => true,
        // What stands before the anchor reads nothing, or the anchor cannot hold; so any part will do.
        Ast::Concat(parts) => parts.iter().any(is_anchored),
        Ast::Alternatives(branches) => branches.iter().all(is_anchored),
        Ast::Repeat { inner, min, .. } => *min > 0 && is_anchored(inner),
        _ => false,
    }
}
