//! From the places of a match to the values of variables.

use std::collections::BTreeMap;

use super::matching::{Capture, Found, Span};
use super::parse::{Expression, Operator, Part, Variable};
use super::unit::{self, Unit};
use super::value::{Bindings, Value};

/// The pairs of one variable: whether the name is the variable's, the name and the value.
type PairsOf = Vec<(bool, Span, Span)>;

/// The values that `captures` give; `None` if a value is not UTF-8, a name occurs twice, or two occurrences of a
/// variable disagree.
pub(super) fn bind(parts: &[Part], units: &[Unit], captures: &[Capture]) -> Option<Bindings> {
    let mut binder = Binder { units, bound: BTreeMap::new() };
    let mut pairs: BTreeMap<(usize, usize), PairsOf> = BTreeMap::new();
    for capture in captures {
        let Some(Part::Expression(expression)) = parts.get(capture.part) else {
            continue;
        };
        match &capture.found {
            Found::Values { variables, span } => {
                binder.values(expression.operator, expression.variables.get(variables.clone())?, span)?;
            }
            Found::Pair { variable, exact, name, value } => {
                let pair = (*exact, name.clone(), value.clone());
                pairs.entry((capture.part, *variable)).or_default().push(pair);
            }
        }
    }
    for ((part, variable), pairs) in pairs {
        let Some(Part::Expression(Expression { operator, variables })) = parts.get(part) else {
            continue;
        };
        binder.pairs(*operator, variables.get(variable)?, &pairs)?;
    }
    Some(binder.bound.into_iter().map(|(name, bound)| (name, bound.value)).collect())
}

struct Binder<'a> {
    units: &'a [Unit],
    bound: BTreeMap<&'a str, Bound>,
}

struct Bound {
    value: Value,
    /// The value is only the first so many characters of the variable's.
    prefix: Option<usize>,
}

impl<'a> Binder<'a> {
    /// Hands the values of `span` to `variables`: one each, in order, and those too many to the exploded variable
    /// or else to the last.
    fn values(&mut self, operator: Operator, variables: &'a [Variable], span: &Span) -> Option<()> {
        let mut pieces = self.cut(span, operator.separator()).into_iter();
        let surplus = pieces.len().saturating_sub(variables.len());
        let exploded = variables.iter().position(Variable::explodes);
        let absorber = exploded.or_else(|| variables.len().checked_sub(1));
        for (index, variable) in variables.iter().enumerate() {
            let count = 1 + if Some(index) == absorber { surplus } else { 0 };
            let taken: Vec<Span> = pieces.by_ref().take(count).collect();
            let (Some(first), Some(last)) = (taken.first(), taken.last()) else {
                break;
            };
            let value = if variable.explodes() {
                self.items(&taken)?
            } else {
                self.value(operator, variable, &(first.start..last.end))?
            };
            self.insert(variable, value)?;
        }
        Some(())
    }

    fn pairs(&mut self, operator: Operator, variable: &'a Variable, pairs: &PairsOf) -> Option<()> {
        let value = if !variable.explodes() {
            let [(_, _, value)] = pairs.as_slice() else {
                return None;
            };
            self.value(operator, variable, value)?
        } else if pairs.iter().all(|(exact, ..)| *exact) {
            let items = pairs.iter().map(|(_, _, value)| self.decode(value));
            Value::List(items.collect::<Option<_>>()?)
        } else {
            let members = pairs.iter().map(|(_, name, value)| Some((self.decode(name)?, self.decode(value)?)));
            Value::Map(members.collect::<Option<_>>()?)
        };
        self.insert(variable, value)
    }

    /// A value that is not exploded.
    fn value(&self, operator: Operator, variable: &Variable, span: &Span) -> Option<Value> {
        if variable.prefix().is_some_and(|length| span.len() > length) {
            return None;
        }
        let pieces = self.cut(span, b',');
        if pieces.len() == 1 || operator.reserved() || variable.prefix().is_some() {
            return self.decode(span).map(Value::Text);
        }
        let items = pieces.iter().map(|piece| self.decode(piece));
        items.collect::<Option<_>>().map(Value::List)
    }

    /// The value of an exploded variable without a name.
    fn items(&self, pieces: &[Span]) -> Option<Value> {
        let member = |piece: &Span| {
            let mut units = self.units.get(piece.clone())?.iter();
            let equals = piece.start + units.position(|unit| *unit == Unit::Raw(b'='))?;
            Some((piece.start..equals, equals + 1..piece.end))
        };
        if let Some(members) = pieces.iter().map(member).collect::<Option<Vec<_>>>() {
            let members = members.iter().map(|(name, value)| Some((self.decode(name)?, self.decode(value)?)));
            return members.collect::<Option<_>>().map(Value::Map);
        }
        let items = pieces.iter().map(|piece| self.decode(piece));
        items.collect::<Option<_>>().map(Value::List)
    }

    /// The pieces of `span` between raw `separator`s; at least one.
    fn cut(&self, span: &Span, separator: u8) -> Vec<Span> {
        let mut start = span.start;
        let units = self.units.get(span.clone()).unwrap_or_default();
        let pieces = units.split(|unit| *unit == Unit::Raw(separator)).map(|piece| {
            let cut = start..start + piece.len();
            start = cut.end + 1;
            cut
        });
        pieces.collect()
    }

    fn decode(&self, span: &Span) -> Option<String> {
        unit::decode(self.units.get(span.clone())?)
    }

    /// Binds `variable`, or compares with the value that it has.
    fn insert(&mut self, variable: &'a Variable, value: Value) -> Option<()> {
        let new = Bound { value, prefix: variable.prefix() };
        let Some(old) = self.bound.get_mut(variable.name.as_str()) else {
            self.bound.insert(&variable.name, new);
            return Some(());
        };
        if new.reach() > old.reach() {
            new.agrees_with(old).then(|| *old = new)
        } else {
            old.agrees_with(&new).then_some(())
        }
    }
}

impl Bound {
    fn reach(&self) -> usize {
        self.prefix.unwrap_or(usize::MAX)
    }

    /// Whether `other`, which reaches no further, is this value or its prefix.
    fn agrees_with(&self, other: &Self) -> bool {
        match (&self.value, &other.value, other.prefix) {
            (whole, same, None) => whole == same,
            (Value::Text(whole), Value::Text(prefix), Some(length)) => whole.chars().take(length).eq(prefix.chars()),
            _ => false,
        }
    }
}
