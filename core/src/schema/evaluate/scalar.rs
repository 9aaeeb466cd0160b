//! Checks of values without parts: constants, numbers, strings.

use serde_json::{Number, Value};

use super::Evaluation;
use crate::schema::equal::equal;
use crate::schema::node::{Constant, NumberChecks, TextChecks};
use crate::schema::number::compare;
use crate::schema::problem::shortened;
use crate::schema::steps::Exhausted;

/// Bytes of a pattern that a message quotes.
const SHOWN_PATTERN: usize = 120;

impl<'g> Evaluation<'g> {
    pub(super) fn constant(&mut self, constant: &'g Constant, value: &Value) -> Result<bool, Exhausted> {
        let found = match value {
            Value::String(text) => {
                self.steps.spend_bytes(text.len())?;
                constant.texts.binary_search_by(|allowed| (**allowed).cmp(text.as_str())).is_ok()
            }
            value => {
                let mut found = false;
                for allowed in &constant.others {
                    if equal(allowed, value, &mut self.steps)? {
                        found = true;
                        break;
                    }
                }
                found
            }
        };
        if !found {
            let one_of = if constant.keyword == "enum" { "one of " } else { "" };
            self.report(constant.keyword, || format!("expected {one_of}{}", constant.shown));
        }
        Ok(found)
    }

    pub(super) fn number(&mut self, checks: &'g NumberChecks, value: &Number) -> bool {
        let mut matches = true;
        let bounds = [
            (&checks.minimum, "minimum", "at least"),
            (&checks.maximum, "maximum", "at most"),
            (&checks.exclusive_minimum, "exclusiveMinimum", "more than"),
            (&checks.exclusive_maximum, "exclusiveMaximum", "less than"),
        ];
        for (bound, keyword, words) in bounds {
            let Some(bound) = bound else { continue };
            let order = compare(value, bound);
            let holds = match keyword {
                "minimum" => order.is_ge(),
                "maximum" => order.is_le(),
                "exclusiveMinimum" => order.is_gt(),
                _ => order.is_lt(),
            };
            if !holds {
                self.report(keyword, || format!("expected {words} {bound}"));
                matches = false;
            }
        }
        if let Some(divisor) = &checks.multiple_of
            && !divisor.divides(value)
        {
            self.report("multipleOf", || format!("expected a multiple of {}", divisor.number));
            matches = false;
        }
        matches
    }

    pub(super) fn text(&mut self, checks: &'g TextChecks, value: &str) -> Result<bool, Exhausted> {
        let mut matches = true;
        if checks.min.is_some() || checks.max.is_some() {
            self.steps.spend_bytes(value.len())?;
            let length = value.chars().count() as u64;
            if let Some(min) = checks.min.filter(|min| length < *min) {
                self.report("minLength", || format!("expected at least {}", amount(min, "character")));
                matches = false;
            }
            if let Some(max) = checks.max.filter(|max| length > *max) {
                self.report("maxLength", || format!("expected at most {}", amount(max, "character")));
                matches = false;
            }
        }
        if !self.goes_on(matches) {
            return Ok(false);
        }
        if let Some(pattern) = checks.pattern.and_then(|id| self.graph.patterns.get(id as usize))
            && !pattern.is_match(value, &mut self.steps)?
        {
            let source = || shortened(pattern.source(), SHOWN_PATTERN);
            self.report("pattern", || format!("expected a match of the pattern {}", source()));
            matches = false;
        }
        Ok(matches)
    }
}

/// `1 item`, `2 items`.
pub(super) fn amount(count: u64, unit: &str) -> String {
    let plural = match (count, unit) {
        (1, _) => "",
        _ => "s",
    };
    format!("{count} {unit}{plural}")
}
