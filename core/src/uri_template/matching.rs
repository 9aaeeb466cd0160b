//! Where the parts of a template lie in a URI.
//!
//! A template becomes a row of elements. From the last element to the first, one pass over the URI finds the
//! places from which that element and all that follow can match up to the end; then one walk from the left takes
//! the longest choice at each element that leads to such a place. So every choice is final and nothing is tried
//! twice.
//!
//! ```text
//! template   note://  {a}  -  {b}         element i matches from place p
//! URI        n o t e : / / x - y - z      if it can reach a place from which element i + 1 matches
//! element 4                          ●    (the end)
//! {b}                      ●   ● ● ● ·
//! "-"                        ●   ●
//! {a}                      ●   ●          walk: {a} takes "x-y", the longest; {b} takes "z"
//! note://    ●
//! ```

use super::parse::{Expression, Operator, Part, Variable};
use super::steps::step;
use super::unit::{self, Unit};

/// A range of units.
pub(super) type Span = std::ops::Range<usize>;

/// What the walk found for an expression, or for a part of one.
#[derive(Debug)]
pub(super) struct Capture {
    /// The index of the part.
    pub(super) part: usize,
    pub(super) found: Found,
}

#[derive(Debug)]
pub(super) enum Found {
    /// The values of `variables` of the part, with separators but without what stands before the first.
    Values { variables: Span, span: Span },
    /// One named value. The name is the variable's if it is `exact`; else the variable takes any name.
    Pair { variable: usize, exact: bool, name: Span, value: Span },
}

/// The raw characters at which a name or a value ends.
#[derive(Clone, Copy, Debug)]
struct Stops(u128);

impl Stops {
    const fn new(characters: &[u8]) -> Self {
        Self(0).and(characters)
    }

    /// These and `characters`, which are ASCII.
    const fn and(mut self, mut characters: &[u8]) -> Self {
        while let [character, rest @ ..] = characters {
            self.0 |= 1 << (*character & 0x7F);
            characters = rest;
        }
        self
    }

    fn allow(self, unit: Unit) -> bool {
        step();
        match unit {
            Unit::Raw(byte) => self.0 >> (byte & 0x7F) & 1 == 0,
            Unit::Encoded(_) | Unit::Wide(_) => true,
            Unit::Opaque(_) => false,
        }
    }
}

/// The elements of a template.
#[derive(Clone, Debug)]
pub(super) struct Program(Vec<Element>);

#[derive(Clone, Debug)]
enum Element {
    Literal(Text),
    Pairs(Pairs),
    Run(Run),
}

/// A literal, with what it takes to find all its places in one pass (Knuth, Morris, Pratt).
#[derive(Clone, Debug)]
struct Text {
    units: Vec<Unit>,
    /// By length of a part that was found: how much of its end is a beginning of the literal too.
    borders: Vec<usize>,
}

/// Values without names.
#[derive(Clone, Debug)]
struct Run {
    part: usize,
    variables: Span,
    /// What stands before; an element that has it may be absent.
    marker: Option<u8>,
    /// The raw characters at which it ends.
    stops: Stops,
    max: usize,
}

/// Values with names, in any order. May be absent.
#[derive(Clone, Debug)]
struct Pairs {
    part: usize,
    first: u8,
    separator: u8,
    name_stops: Stops,
    value_stops: Stops,
    /// Names and their variables, the longest name first.
    names: Vec<(Vec<Unit>, usize)>,
    /// By variable: whether its name may come more than once.
    repeats: Vec<bool>,
    /// By variable: the length of its longest value.
    max: Vec<usize>,
    /// The variable that takes every other name.
    any: Option<usize>,
}

/// The places from which an element can match: of the URI's places, one more than it has units.
struct Places(Vec<u64>);

impl Places {
    fn new(units: usize) -> Self {
        Self(vec![0; units / 64 + 1])
    }

    fn add(&mut self, place: usize) {
        if let Some(word) = self.0.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    fn has(&self, place: usize) -> bool {
        step();
        self.0.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The last place from the start of `span` to its end, both included.
    fn last_within(&self, span: &Span) -> Option<usize> {
        (span.start..=span.end).rev().find(|&place| self.has(place))
    }
}

/// What the search found for one element.
struct Search {
    starts: Places,
    /// Of pairs: the places at which one can end.
    ends: Option<Places>,
}

impl Program {
    pub(super) fn new(parts: &[Part]) -> Self {
        let mut elements = Vec::new();
        // Where a template makes structure of `;` or `&`, values without names end there.
        let has = |operator| {
            parts.iter().any(|part| matches!(part, Part::Expression(expression) if expression.operator == operator))
        };
        let semicolon = has(Operator::Parameter);
        let mut ampersand = has(Operator::QueryContinuation);
        for (part, piece) in parts.iter().enumerate() {
            match piece {
                Part::Literal(literal) => {
                    ampersand |= literal.units.contains(&Unit::Raw(b'?'));
                    elements.push(Element::Literal(Text::new(&literal.units)));
                }
                Part::Expression(expression) => {
                    let context: &[u8] = match (semicolon, ampersand) {
                        (true, true) => b";&",
                        (true, false) => b";",
                        (false, true) => b"&",
                        (false, false) => b"",
                    };
                    compile(&mut elements, part, expression, context);
                    ampersand |= expression.operator == Operator::Query;
                }
            }
        }
        Self(elements)
    }

    /// The captures of the match of all `units`, from left to right; `None` if there is no match.
    pub(super) fn run(&self, units: &[Unit]) -> Option<Vec<Capture>> {
        let mut end = Places::new(units.len());
        end.add(units.len());
        let mut searches = vec![Search { starts: end, ends: None }];
        for element in self.0.iter().rev() {
            let search = element.search(units, &searches.last()?.starts);
            if search.starts.is_empty() {
                return None;
            }
            searches.push(search);
        }
        searches.reverse();
        if !searches.first()?.starts.has(0) {
            return None;
        }
        let mut captures = Vec::new();
        let mut place = 0;
        for ((element, search), next) in self.0.iter().zip(&searches).zip(searches.iter().skip(1)) {
            place = element.walk(units, place, search, &next.starts, &mut captures)?;
        }
        Some(captures)
    }
}

fn compile(elements: &mut Vec<Element>, part: usize, expression: &Expression, context: &[u8]) {
    let operator = expression.operator;
    let variables = &expression.variables;
    let explodes = variables.iter().any(Variable::explodes);
    let stops = match operator {
        Operator::Fragment | Operator::Reserved => Stops::new(b""),
        Operator::Parameter => Stops::new(b";/?#"),
        Operator::Path if explodes => Stops::new(b"?#").and(context),
        Operator::Query | Operator::QueryContinuation => Stops::new(b"&#"),
        Operator::Label | Operator::Path | Operator::Simple => Stops::new(b"/?#").and(context),
    };
    if let (true, Some(first)) = (operator.named(), operator.first()) {
        elements.push(Element::Pairs(Pairs::new(part, first, operator.separator(), stops, variables)));
        return;
    }
    let run = |variables: Span, max: Option<usize>| {
        Element::Run(Run { part, variables, marker: operator.first(), stops, max: max.unwrap_or(usize::MAX) })
    };
    match variables.as_slice() {
        [variable] => elements.push(run(0..1, variable.prefix())),
        // Segments are cut by the walk, so that the number of variables bounds their number.
        several if operator == Operator::Path && !explodes => {
            elements.extend(several.iter().enumerate().map(|(i, variable)| run(i..i + 1, variable.prefix())));
        }
        several => elements.push(run(0..several.len(), None)),
    }
}

impl Element {
    /// The places from which this element leads to one of `next`.
    fn search(&self, units: &[Unit], next: &Places) -> Search {
        match self {
            Self::Literal(text) => Search { starts: text.search(units, next), ends: None },
            Self::Pairs(pairs) => pairs.search(units, next),
            Self::Run(run) => Search { starts: run.search(units, next), ends: None },
        }
    }

    /// Takes the longest choice from `place` on, and gives the place behind it.
    fn walk(
        &self,
        units: &[Unit],
        place: usize,
        search: &Search,
        next: &Places,
        captures: &mut Vec<Capture>,
    ) -> Option<usize> {
        match self {
            Self::Literal(text) => Some(place + text.units.len()),
            Self::Pairs(pairs) => pairs.walk(units, place, search.ends.as_ref()?, next, captures),
            Self::Run(run) => Some(match run.take(units, place, next) {
                Some(span) => {
                    let end = span.end;
                    let found = Found::Values { variables: run.variables.clone(), span };
                    captures.push(Capture { part: run.part, found });
                    end
                }
                None => place,
            }),
        }
    }
}

impl Text {
    fn new(units: &[Unit]) -> Self {
        let mut text = Self { units: units.to_vec(), borders: vec![0; 2] };
        let mut border = 0;
        for unit in units.iter().skip(1) {
            border = text.extend(border, *unit);
            text.borders.push(border);
        }
        text
    }

    fn search(&self, units: &[Unit], next: &Places) -> Places {
        let mut starts = Places::new(units.len());
        let mut found = 0;
        for (place, unit) in units.iter().enumerate() {
            found = self.extend(found, *unit);
            if found == self.units.len() && next.has(place + 1) {
                starts.add(place + 1 - found);
            }
        }
        starts
    }

    /// How much of the literal ends with `unit`, when `found` of it ended just before.
    fn extend(&self, mut found: usize, unit: Unit) -> usize {
        loop {
            step();
            if self.units.get(found) == Some(&unit) {
                return found + 1;
            }
            if found == 0 {
                return 0;
            }
            found = self.borders.get(found).copied().unwrap_or(0);
        }
    }
}

impl Run {
    fn search(&self, units: &[Unit], next: &Places) -> Places {
        let mut starts = Places::new(units.len());
        // Of the place behind the current one: the end of the run there, and the first good place from there on.
        let mut end_behind = units.len();
        let mut good_behind = None;
        for place in (0..=units.len()).rev() {
            let unit = units.get(place);
            let end = if unit.is_some_and(|unit| self.stops.allow(*unit)) { end_behind } else { place };
            let reaches = |start: usize, end: usize| {
                good_behind.is_some_and(|good: usize| good <= end.min(start.saturating_add(self.max)))
            };
            let found = match self.marker {
                Some(marker) => next.has(place) || (unit == Some(&Unit::Raw(marker)) && reaches(place + 1, end_behind)),
                // Not empty: the first good place must lie behind this one.
                None => reaches(place, end),
            };
            if found {
                starts.add(place);
            }
            end_behind = end;
            if next.has(place) {
                good_behind = Some(place);
            }
        }
        starts
    }

    /// The longest span from `place` on that ends at one of `next`.
    fn take(&self, units: &[Unit], place: usize, next: &Places) -> Option<Span> {
        let start = match self.marker {
            Some(marker) if units.get(place) == Some(&Unit::Raw(marker)) => place + 1,
            Some(_) => return None,
            None => place,
        };
        let end = run_end(units, start, self.stops).min(start.saturating_add(self.max));
        let least = start + usize::from(self.marker.is_none());
        next.last_within(&(least..end)).map(|end| start..end)
    }
}

impl Pairs {
    fn new(part: usize, first: u8, separator: u8, value_stops: Stops, variables: &[Variable]) -> Self {
        let mut names: Vec<(Vec<Unit>, usize)> = variables
            .iter()
            .enumerate()
            .filter_map(|(index, variable)| Some((unit::split(&variable.name)?, index)))
            .collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self {
            part,
            first,
            separator,
            name_stops: value_stops.and(b"="),
            value_stops,
            names,
            repeats: variables.iter().map(Variable::explodes).collect(),
            max: variables.iter().map(|variable| variable.prefix().unwrap_or(usize::MAX)).collect(),
            any: variables.iter().position(Variable::explodes),
        }
    }

    fn search(&self, units: &[Unit], next: &Places) -> Search {
        let mut starts = Places::new(units.len());
        let mut ends = Places::new(units.len());
        // By place: the end of a value that begins there, and the first end of a pair from there on.
        let mut value_end = vec![units.len(); units.len() + 2];
        let mut first_end = vec![usize::MAX; units.len() + 2];
        let at = |table: &[usize], place: usize| table.get(place).copied().unwrap_or(usize::MAX);
        for place in (0..=units.len()).rev() {
            let unit = units.get(place).copied();
            let value = unit.is_some_and(|unit| self.value_stops.allow(unit));
            let opens = unit == Some(Unit::Raw(self.first));
            let separates = unit == Some(Unit::Raw(self.separator));
            let pair = (opens || separates)
                && self
                    .pair(
                        units,
                        place + 1,
                        |start| at(&value_end, start),
                        |span| Some(at(&first_end, span.start)).filter(|end| *end <= span.end),
                    )
                    .is_some();
            if next.has(place) || (opens && pair) {
                starts.add(place);
            }
            let ends_here = next.has(place) || (separates && pair);
            if ends_here {
                ends.add(place);
            }
            let end_behind = at(&value_end, place + 1);
            let first_behind = at(&first_end, place + 1);
            if let (Some(end), Some(first)) = (value_end.get_mut(place), first_end.get_mut(place)) {
                *end = if value { end_behind } else { place };
                *first = if ends_here { place } else { first_behind };
            }
        }
        Search { starts, ends: Some(ends) }
    }

    fn walk(
        &self,
        units: &[Unit],
        mut place: usize,
        ends: &Places,
        next: &Places,
        captures: &mut Vec<Capture>,
    ) -> Option<usize> {
        let mut opener = self.first;
        let mut seen = Vec::new();
        while units.get(place) == Some(&Unit::Raw(opener)) {
            let value_end = |start| run_end(units, start, self.value_stops);
            let found = self.pair(units, place + 1, value_end, |span| ends.last_within(&span));
            let Some((variable, exact, name, value)) = found else {
                break;
            };
            if self.repeats.get(variable) == Some(&false) {
                if seen.contains(&variable) {
                    // It may be another expression's; else a name occurs twice.
                    return next.has(place).then_some(place);
                }
                seen.push(variable);
            }
            place = value.end;
            captures.push(Capture { part: self.part, found: Found::Pair { variable, exact, name, value } });
            opener = self.separator;
        }
        Some(place)
    }

    /// The first way to read a pair at `start`: its variable, whether the name is the variable's, the name and the
    /// value. `value_end` gives the end of the longest value that begins at a place, and `reach` a place between
    /// two (both included) where a pair can end.
    fn pair(
        &self,
        units: &[Unit],
        start: usize,
        value_end: impl Fn(usize) -> usize,
        reach: impl Fn(Span) -> Option<usize>,
    ) -> Option<(usize, bool, Span, Span)> {
        let rest = units.get(start..)?;
        let exact = self.names.iter().inspect(|_| step()).filter(|(name, _)| rest.starts_with(name));
        let exact = exact.map(|(name, variable)| (*variable, true, start + name.len()));
        let any = self.any.map(|variable| (variable, false, run_end(units, start, self.name_stops)));
        let any = any.filter(|(.., end)| *end > start);
        exact.chain(any).find_map(|(variable, exact, name_end)| {
            if units.get(name_end) == Some(&Unit::Raw(b'=')) {
                let value = name_end + 1;
                let max = self.max.get(variable).copied().unwrap_or(usize::MAX);
                if let Some(end) = reach(value..value_end(value).min(value.saturating_add(max))) {
                    return Some((variable, exact, start..name_end, value..end));
                }
            }
            // Without a value. A name that may be any may also be shorter.
            let least = if exact { name_end } else { start + 1 };
            reach(least..name_end).map(|end| (variable, exact, start..end, end..end))
        })
    }
}

/// The end of the run of allowed units that begins at `start`.
fn run_end(units: &[Unit], start: usize, stops: Stops) -> usize {
    let rest = units.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|unit| stops.allow(**unit)).count()
}
