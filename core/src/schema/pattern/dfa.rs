//! A small automaton without look-around as a table: one look-up per character.
//!
//! Characters fall into classes (those that no set of the pattern tells apart); a row of the table has one entry
//! per class. Patterns whose table would be large stay with the simulation, which is correct for every pattern.

use std::collections::BTreeMap;

use super::parse::Assertion;
use super::program::{Program, State, StateId};

/// Entries of a table (rows × classes).
const TABLE_ENTRIES: usize = 16_384;
/// Classes of characters.
const CLASSES: usize = 128;

pub(super) struct Dfa {
    /// Class of each ASCII character.
    ascii: [u8; 128],
    /// Where the class changes beyond ASCII: first character and class, sorted.
    others: Box<[(char, u8)]>,
    width: usize,
    table: Box<[u16]>,
    /// Per row, whether the text may end there.
    accepts_at_end: Box<[bool]>,
    /// The pattern matches before anything is read.
    always: bool,
    matches_empty: bool,
}

/// Row from which no match is possible any more.
const DEAD: u16 = 0;
/// Entry that says: matched already, whatever follows.
const MATCHED: u16 = u16::MAX;

impl Dfa {
    /// Builds the table, or `None` if the pattern needs the simulation or the work runs out.
    pub(super) fn build(program: &Program, work: &mut usize) -> Option<Self> {
        let needs_context = program.states.iter().any(|state| match state {
            State::Look { .. } => true,
            State::Assert { assertion, .. } => !matches!(assertion, Assertion::TextStart | Assertion::TextEnd),
            _ => false,
        });
        if needs_context {
            return None;
        }
        let classes = Classes::of(program)?;
        Builder { program, classes, work, rows: Vec::new(), known: BTreeMap::new() }.build()
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        if self.always || text.is_empty() {
            return self.always || self.matches_empty;
        }
        // Row 0 is dead, row 1 the start of the text.
        let mut row = 1_u16;
        for c in text.chars() {
            row = self.entry(row, self.class_of(c));
            match row {
                MATCHED => return true,
                DEAD => return false,
                _ => {}
            }
        }
        self.accepts_at_end.get(usize::from(row)).copied().unwrap_or(false)
    }

    #[inline]
    fn entry(&self, row: u16, class: u8) -> u16 {
        self.table.get(usize::from(row) * self.width + usize::from(class)).copied().unwrap_or(DEAD)
    }

    #[inline]
    fn class_of(&self, c: char) -> u8 {
        match self.ascii.get(c as usize) {
            Some(class) => *class,
            None => {
                let after = self.others.partition_point(|(first, _)| *first <= c);
                after.checked_sub(1).and_then(|at| self.others.get(at)).map_or(0, |(_, class)| *class)
            }
        }
    }
}

/// The characters, parted into classes that no set tells apart.
struct Classes {
    /// First character of each stretch with its class, sorted, from U+0000.
    stretches: Vec<(char, u8)>,
    /// Per class, which sets contain it.
    members: Vec<Vec<bool>>,
}

impl Classes {
    fn of(program: &Program) -> Option<Self> {
        let mut bounds: Vec<char> = vec!['\0'];
        for set in &program.sets {
            for (low, high) in &set.ranges {
                bounds.push(*low);
                bounds.extend(following(*high));
            }
        }
        bounds.sort_unstable();
        bounds.dedup();
        // A stretch costs one look into every set; very fine partitions are left to the simulation.
        if bounds.len().saturating_mul(program.sets.len()) > TABLE_ENTRIES * 4 {
            return None;
        }
        let mut known: BTreeMap<Vec<bool>, u8> = BTreeMap::new();
        let mut classes = Self { stretches: Vec::with_capacity(bounds.len()), members: Vec::new() };
        for first in bounds {
            let members: Vec<bool> = program.sets.iter().map(|set| set.contains(first)).collect();
            let class = match known.get(&members) {
                Some(class) => *class,
                None if classes.members.len() >= CLASSES => return None,
                None => {
                    let class = classes.members.len() as u8;
                    classes.members.push(members.clone());
                    known.insert(members, class);
                    class
                }
            };
            classes.stretches.push((first, class));
        }
        Some(classes)
    }

    fn class_of(&self, c: char) -> u8 {
        let after = self.stretches.partition_point(|(first, _)| *first <= c);
        after.checked_sub(1).and_then(|at| self.stretches.get(at)).map_or(0, |(_, class)| *class)
    }
}

/// The next character, surrogates skipped.
fn following(c: char) -> Option<char> {
    match c {
        '\u{D7FF}' => Some('\u{E000}'),
        char::MAX => None,
        c => char::from_u32(c as u32 + 1),
    }
}

struct Builder<'a> {
    program: &'a Program,
    classes: Classes,
    work: &'a mut usize,
    rows: Vec<Row>,
    known: BTreeMap<Vec<StateId>, u16>,
}

struct Row {
    entries: Vec<u16>,
    accepts_at_end: bool,
}

impl Builder<'_> {
    fn build(mut self) -> Option<Dfa> {
        let width = self.classes.members.len();
        self.rows.push(Row { entries: vec![DEAD; width], accepts_at_end: false });
        let start = self.closure(&[self.program.start], true)?;
        let later = if self.program.anchored { Vec::new() } else { self.closure(&[self.program.start], false)? };
        let mut queue = Vec::new();
        let always = self.row_of(start, &mut queue)? == MATCHED;
        let empty = self.walk(&[self.program.start], |_| Passage::Open)?;
        let matches_empty = self.accepts(&empty);
        while let Some((row, states)) = queue.pop() {
            let mut entries = Vec::with_capacity(width);
            for class in 0..width {
                // Looking at every state once per class is work, whether it moves or not.
                *self.work = self.work.checked_sub(states.len() / 4)?;
                let moved: Vec<StateId> =
                    states.iter().filter_map(|id| self.moved(*id, class)).chain(later.iter().copied()).collect();
                let next = self.closure(&moved, false)?;
                entries.push(self.row_of(next, &mut queue)?);
            }
            if let Some(row) = self.rows.get_mut(usize::from(row)) {
                row.entries = entries;
            }
        }
        Some(self.finish(width, always, matches_empty))
    }

    fn finish(self, width: usize, always: bool, matches_empty: bool) -> Dfa {
        let mut ascii = [0_u8; 128];
        for (c, class) in (0_u8..).zip(ascii.iter_mut()) {
            *class = self.classes.class_of(char::from(c));
        }
        let mut others = vec![('\u{80}', self.classes.class_of('\u{80}'))];
        others.extend(self.classes.stretches.iter().filter(|(first, _)| *first > '\u{80}'));
        Dfa {
            ascii,
            others: others.into(),
            width,
            table: self.rows.iter().flat_map(|row| row.entries.iter().copied()).collect(),
            accepts_at_end: self.rows.iter().map(|row| row.accepts_at_end).collect(),
            always,
            matches_empty,
        }
    }

    /// The row of a set of states, made and queued if it is new.
    fn row_of(&mut self, states: Vec<StateId>, queue: &mut Vec<(u16, Vec<StateId>)>) -> Option<u16> {
        if self.accepts(&states) {
            return Some(MATCHED);
        }
        if states.is_empty() {
            return Some(DEAD);
        }
        if let Some(row) = self.known.get(&states) {
            return Some(*row);
        }
        if (self.rows.len() + 1) * self.classes.members.len() > TABLE_ENTRIES {
            return None;
        }
        let row = u16::try_from(self.rows.len()).ok().filter(|row| *row < MATCHED)?;
        let accepts_at_end = self.ends(&states)?;
        self.rows.push(Row { entries: Vec::new(), accepts_at_end });
        self.known.insert(states.clone(), row);
        queue.push((row, states));
        Some(row)
    }

    fn moved(&self, id: StateId, class: usize) -> Option<StateId> {
        match self.program.state(id) {
            State::Set { set, next } => {
                self.classes.members.get(class)?.get(set as usize).copied().unwrap_or(false).then_some(next)
            }
            _ => None,
        }
    }

    /// States reached without reading, as a sorted list of those that read, end or accept.
    fn closure(&mut self, from: &[StateId], at_start: bool) -> Option<Vec<StateId>> {
        self.walk(from, |assertion| match assertion {
            Assertion::TextStart => Passage::open(at_start),
            _ => Passage::Keep,
        })
    }

    /// Whether the text may end in one of `states`.
    fn ends(&mut self, states: &[StateId]) -> Option<bool> {
        // Only asked after at least one character: the start of the text is behind.
        let reached = self.walk(states, |assertion| Passage::open(assertion == Assertion::TextEnd))?;
        Some(self.accepts(&reached))
    }

    fn accepts(&self, states: &[StateId]) -> bool {
        states.iter().any(|id| matches!(self.program.state(*id), State::Match))
    }

    fn walk(&mut self, from: &[StateId], mut passage: impl FnMut(Assertion) -> Passage) -> Option<Vec<StateId>> {
        let mut reached = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        let mut pending = from.to_vec();
        while let Some(id) = pending.pop() {
            *self.work = self.work.checked_sub(1)?;
            if !seen.insert(id) {
                continue;
            }
            match self.program.state(id) {
                State::Match | State::Set { .. } => reached.push(id),
                State::Split(first, second) => pending.extend([first, second]),
                State::Assert { assertion, next } => match passage(assertion) {
                    Passage::Open => pending.push(next),
                    Passage::Keep => reached.push(id),
                    Passage::Closed => {}
                },
                State::Look { .. } => {}
            }
        }
        reached.sort_unstable();
        Some(reached)
    }
}

/// What a walk does at an assertion.
enum Passage {
    Open,
    /// Not known yet: the state stays in the set.
    Keep,
    Closed,
}

impl Passage {
    fn open(open: bool) -> Self {
        if open { Self::Open } else { Self::Closed }
    }
}
