//! Checks of objects.

use serde_json::{Map, Value};

use super::Evaluation;
use super::scalar::amount;
use super::seen::Seen;
use crate::schema::node::{NodeId, ObjectChecks};
use crate::schema::steps::Exhausted;

impl<'g> Evaluation<'g> {
    pub(super) fn object(
        &mut self,
        checks: &'g ObjectChecks,
        value: &Value,
        members: &Map<String, Value>,
        mut seen: Option<&mut Seen>,
    ) -> Result<bool, Exhausted> {
        let mut matches = self.member_count(checks, members.len() as u64);
        if !self.goes_on(matches) {
            return Ok(false);
        }
        matches &= self.required(&checks.required, members, "required", "required property is missing")?;
        if !self.goes_on(matches) {
            return Ok(false);
        }
        if checks.concerns_members() {
            matches &= self.members(checks, members, seen.as_deref_mut())?;
        }
        for (name, others) in &checks.dependent_required {
            if !self.goes_on(matches) {
                return Ok(false);
            }
            if self.has(members, name)? {
                let message = "property is required beside another one that is present";
                matches &= self.required(others, members, "dependentRequired", message)?;
            }
        }
        for (name, node) in &checks.dependent_schemas {
            if !self.goes_on(matches) {
                return Ok(false);
            }
            if self.has(members, name)? {
                matches &= self.apply(*node, value, seen.as_deref_mut())?;
            }
        }
        Ok(matches)
    }

    fn member_count(&mut self, checks: &'g ObjectChecks, count: u64) -> bool {
        let mut matches = true;
        if let Some(min) = checks.min.filter(|min| count < *min) {
            self.report("minProperties", || format!("expected at least {}", amount(min, "member")));
            matches = false;
        }
        if let Some(max) = checks.max.filter(|max| count > *max) {
            self.report("maxProperties", || format!("expected at most {}", amount(max, "member")));
            matches = false;
        }
        matches
    }

    fn required(
        &mut self,
        names: &'g [Box<str>],
        members: &Map<String, Value>,
        keyword: &'static str,
        message: &str,
    ) -> Result<bool, Exhausted> {
        let mut matches = true;
        for name in names {
            if !self.has(members, name)? {
                self.at_name(name, |it| it.report(keyword, || message.to_owned()));
                matches = false;
                if !self.goes_on(matches) {
                    return Ok(false);
                }
            }
        }
        Ok(matches)
    }

    fn has(&mut self, members: &Map<String, Value>, name: &str) -> Result<bool, Exhausted> {
        self.steps.spend_bytes(name.len())?;
        Ok(members.contains_key(name))
    }

    fn members(
        &mut self,
        checks: &'g ObjectChecks,
        members: &Map<String, Value>,
        mut seen: Option<&mut Seen>,
    ) -> Result<bool, Exhausted> {
        let mut matches = true;
        for (position, (name, value)) in members.iter().enumerate() {
            let (fits, evaluated) = self.at_name(name, |it| it.member(checks, name, value))?;
            matches &= fits;
            if !self.goes_on(matches) {
                return Ok(false);
            }
            if let Some(seen) = seen.as_deref_mut().filter(|_| evaluated) {
                seen.add(position);
            }
        }
        Ok(matches)
    }

    /// Whether one member matches, and whether any schema was there for it.
    fn member(&mut self, checks: &'g ObjectChecks, name: &str, value: &Value) -> Result<(bool, bool), Exhausted> {
        self.steps.spend_bytes(name.len())?;
        let mut matches = true;
        let mut evaluated = false;
        if let Some(names) = checks.names {
            matches &= self.name(names, name)?;
            if !self.goes_on(matches) {
                return Ok((false, false));
            }
        }
        if let Ok(at) = checks.properties.binary_search_by(|(property, _)| (**property).cmp(name))
            && let Some((_, node)) = checks.properties.get(at)
        {
            evaluated = true;
            matches &= self.apply(*node, value, None)?;
        }
        for (pattern, node) in &checks.patterns {
            if !self.goes_on(matches) {
                return Ok((false, false));
            }
            let Some(pattern) = self.graph.patterns.get(*pattern as usize) else { continue };
            if pattern.is_match(name, &mut self.steps)? {
                evaluated = true;
                matches &= self.apply(*node, value, None)?;
            }
        }
        if let Some(additional) = checks.additional.filter(|_| !evaluated) {
            evaluated = true;
            matches &= self.unexpected(additional, value, "additionalProperties")?;
        }
        Ok((matches, evaluated))
    }

    fn name(&mut self, names: NodeId, name: &str) -> Result<bool, Exhausted> {
        self.steps.spend_bytes(name.len())?;
        let matches = self.quietly(names, &Value::String(name.to_owned()), None)?;
        if !matches {
            self.report("propertyNames", || "name of this property is not allowed".to_owned());
        }
        Ok(matches)
    }

    /// Applies the schema of what no other schema is for; if it is `false`, the value should not be there at all.
    pub(super) fn unexpected(&mut self, node: NodeId, value: &Value, keyword: &'static str) -> Result<bool, Exhausted> {
        if self.graph.node(node).never {
            self.steps.spend(1)?;
            let what = if keyword == "unevaluatedItems" { "unexpected item" } else { "unexpected property" };
            self.report(keyword, || what.to_owned());
            return Ok(false);
        }
        self.apply(node, value, None)
    }
}
