//! Checks of arrays.

use serde_json::Value;

use super::Evaluation;
use super::scalar::amount;
use super::seen::Seen;
use crate::schema::equal::duplicates;
use crate::schema::node::{ArrayChecks, Contains, Node};
use crate::schema::steps::Exhausted;

impl<'g> Evaluation<'g> {
    pub(super) fn array(
        &mut self,
        checks: &'g ArrayChecks,
        items: &[Value],
        mut seen: Option<&mut Seen>,
    ) -> Result<bool, Exhausted> {
        let mut matches = self.item_count(checks, items.len() as u64);
        if !self.goes_on(matches) {
            return Ok(false);
        }
        matches &= self.items(checks, items, seen.as_deref_mut())?;
        if !self.goes_on(matches) {
            return Ok(false);
        }
        if let Some(contains) = &checks.contains {
            matches &= self.contains(contains, items, seen)?;
        }
        if checks.unique
            && self.goes_on(matches)
            && let Some((earlier, later)) = duplicates(items, &mut self.steps)?
        {
            self.report("uniqueItems", || format!("expected different items, [{earlier}] and [{later}] are equal"));
            matches = false;
        }
        Ok(matches)
    }

    fn item_count(&mut self, checks: &'g ArrayChecks, count: u64) -> bool {
        let mut matches = true;
        if let Some(min) = checks.min.filter(|min| count < *min) {
            self.report("minItems", || format!("expected at least {}", amount(min, "item")));
            matches = false;
        }
        if let Some(max) = checks.max.filter(|max| count > *max) {
            self.report("maxItems", || format!("expected at most {}", amount(max, "item")));
            matches = false;
        }
        matches
    }

    fn items(
        &mut self,
        checks: &'g ArrayChecks,
        items: &[Value],
        mut seen: Option<&mut Seen>,
    ) -> Result<bool, Exhausted> {
        let mut matches = true;
        let rest = std::iter::repeat(checks.rest);
        for (index, (item, node)) in
            items.iter().zip(checks.prefix.iter().map(|node| Some(*node)).chain(rest)).enumerate()
        {
            let Some(node) = node else { break };
            matches &= self.at_index(index, |it| it.apply(node, item, None))?;
            if !self.goes_on(matches) {
                return Ok(false);
            }
            if let Some(seen) = seen.as_deref_mut() {
                seen.add(index);
            }
        }
        if let Some(seen) = seen.filter(|_| checks.rest.is_some()) {
            seen.add_all();
        }
        Ok(matches)
    }

    fn contains(
        &mut self,
        contains: &'g Contains,
        items: &[Value],
        mut seen: Option<&mut Seen>,
    ) -> Result<bool, Exhausted> {
        let mut found = 0;
        let counts_all = contains.max.is_some() || (contains.evaluates && seen.is_some());
        for (index, item) in items.iter().enumerate() {
            if found >= contains.min && !counts_all {
                break;
            }
            if self.quietly(contains.node, item, None)? {
                found += 1;
                if let Some(seen) = seen.as_deref_mut().filter(|_| contains.evaluates) {
                    seen.add(index);
                }
            }
        }
        if found < contains.min {
            let keyword = if contains.min == 1 { "contains" } else { "minContains" };
            self.report(keyword, || {
                format!("expected at least {} of the kind that `contains` asks for", amount(contains.min, "item"))
            });
            return Ok(false);
        }
        if let Some(max) = contains.max.filter(|max| found > *max) {
            self.report("maxContains", || {
                format!("expected at most {} of the kind that `contains` asks for", amount(max, "item"))
            });
            return Ok(false);
        }
        Ok(true)
    }

    /// `unevaluatedItems` and `unevaluatedProperties`, after everything else matched.
    pub(super) fn unevaluated(&mut self, node: &'g Node, value: &Value, seen: &mut Seen) -> Result<bool, Exhausted> {
        let mut matches = true;
        match value {
            Value::Array(items) => {
                let Some(rest) = node.unevaluated_items else { return Ok(true) };
                for (index, item) in items.iter().enumerate() {
                    self.steps.spend(1)?;
                    if !seen.contains(index) {
                        matches &= self.at_index(index, |it| it.unexpected(rest, item, "unevaluatedItems"))?;
                    }
                    if !self.goes_on(matches) {
                        return Ok(false);
                    }
                }
            }
            Value::Object(members) => {
                let Some(rest) = node.unevaluated_properties else { return Ok(true) };
                for (index, (name, member)) in members.iter().enumerate() {
                    self.steps.spend(1)?;
                    if !seen.contains(index) {
                        matches &= self.at_name(name, |it| it.unexpected(rest, member, "unevaluatedProperties"))?;
                    }
                    if !self.goes_on(matches) {
                        return Ok(false);
                    }
                }
            }
            _ => return Ok(true),
        }
        seen.add_all();
        Ok(matches)
    }
}
