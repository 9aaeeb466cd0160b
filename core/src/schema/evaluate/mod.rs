//! Applying a schema to a value, step by step under a budget.
//!
//! ```text
//!             ┌─ valid ──────────────────────────────────────────▶ Ok
//! first pass ─┤
//! (stops at   ├─ invalid ─▶ second pass: collects problems ──────▶ Invalid
//!  once)      │             (what is left of the budget)
//!             └─ no steps left ──────────────────────────────────▶ BudgetExceeded
//! ```
//!
//! Alternatives that refer to each other can ask for 2⁶⁰ applications of a schema, whatever the depth and size of
//! the schema are; only counting what is really done bounds that. Every application, every member and item, every
//! stretch of text costs steps. The words of an error are made under the same budget: when it runs out, the
//! problems found so far are the answer.
//!
//! Recursion is bounded separately ([`DEPTH`]), because it uses the stack.

mod array;
mod object;
mod scalar;
mod seen;

use serde_json::Value;

use self::seen::Seen;
use super::dialect::Types;
use super::node::{Applied, Graph, Node, NodeId};
use super::number;
use super::problem::{Path, Problem};
use super::steps::{Exhausted, Steps};

/// Schemas applied within schemas. A value of the default depth fits several times.
pub(super) const DEPTH: usize = 320;

/// One validation.
pub(super) struct Evaluation<'g> {
    graph: &'g Graph,
    steps: Steps,
    depth: usize,
    /// Resources that evaluation came through, outermost first. Only kept if some reference asks for it.
    scope: Vec<u32>,
    path: Path,
    /// Where problems go; `None` while only the verdict counts.
    problems: Option<Problems>,
}

struct Problems {
    found: Vec<Problem>,
    limit: usize,
}

/// What came out of collecting problems.
pub(super) struct Collected {
    pub(super) problems: Vec<Problem>,
    pub(super) complete: bool,
}

impl<'g> Evaluation<'g> {
    pub(super) fn new(graph: &'g Graph, steps: u64) -> Self {
        Self { graph, steps: Steps::new(steps), depth: 0, scope: Vec::new(), path: Path::default(), problems: None }
    }

    pub(super) fn steps_left(&self) -> u64 {
        self.steps.left()
    }

    /// Whether `value` matches.
    pub(super) fn matches(&mut self, value: &Value) -> Result<bool, Exhausted> {
        self.apply(self.graph.root, value, None)
    }

    /// The first `limit` problems of a value that does not match, as far as the steps go.
    pub(super) fn collect(mut self, value: &Value, limit: usize) -> Collected {
        self.problems = Some(Problems { found: Vec::new(), limit: limit.max(1) });
        let verdict = self.apply(self.graph.root, value, None);
        let Problems { found, limit } = self.problems.take().unwrap_or(Problems { found: Vec::new(), limit });
        let mut complete = verdict.is_ok() && found.len() < limit;
        let mut problems = found;
        if problems.is_empty() {
            complete = false;
            problems.push(Problem::new(&Path::default(), "$schema", "does not match the schema".to_owned()));
        }
        Collected { problems, complete }
    }

    /// Applies node `id` to `value`. What it evaluates is added to `seen`, which is only meaningful if it matches.
    fn apply(&mut self, id: NodeId, value: &Value, seen: Option<&mut Seen>) -> Result<bool, Exhausted> {
        self.steps.spend(1)?;
        if self.depth >= DEPTH {
            return Err(Exhausted::Depth);
        }
        let node = self.graph.node(id);
        let scoped = self.graph.is_dynamic() && self.scope.last() != Some(&node.resource);
        if scoped {
            self.scope.push(node.resource);
        }
        self.depth += 1;
        let verdict = self.apply_node(node, value, seen);
        self.depth -= 1;
        if scoped {
            self.scope.pop();
        }
        verdict
    }

    fn apply_node(&mut self, node: &'g Node, value: &Value, seen: Option<&mut Seen>) -> Result<bool, Exhausted> {
        if node.never {
            self.report("false", || "no value is allowed here".to_owned());
            return Ok(false);
        }
        if !self.has_type(node, value) {
            // Nothing else that the schema says is about a value of this type.
            self.report("type", || format!("expected type {}", node.types.describe()));
            return Ok(false);
        }
        if node.unevaluated_items.is_none() && node.unevaluated_properties.is_none() {
            return self.apply_checks(node, value, seen);
        }
        let mut own = Seen::default();
        if !self.apply_checks(node, value, Some(&mut own))? || !self.unevaluated(node, value, &mut own)? {
            return Ok(false);
        }
        if let Some(seen) = seen {
            self.steps.spend(own.cost())?;
            seen.merge(&own);
        }
        Ok(true)
    }

    fn apply_checks(&mut self, node: &'g Node, value: &Value, mut seen: Option<&mut Seen>) -> Result<bool, Exhausted> {
        let mut matches = true;
        for constant in &node.constants {
            matches &= self.constant(constant, value)?;
        }
        if !self.goes_on(matches) {
            return Ok(false);
        }
        matches &= match value {
            Value::Number(value) => node.number.as_ref().is_none_or(|checks| self.number(checks, value)),
            Value::String(value) => match &node.text {
                Some(checks) => self.text(checks, value)?,
                None => true,
            },
            Value::Array(items) => match &node.array {
                Some(checks) => self.array(checks, items, seen.as_deref_mut())?,
                None => true,
            },
            Value::Object(members) => match &node.object {
                Some(checks) => self.object(checks, value, members, seen.as_deref_mut())?,
                None => true,
            },
            Value::Null | Value::Bool(_) => true,
        };
        for applied in &node.applied {
            if !self.goes_on(matches) {
                return Ok(false);
            }
            matches &= self.applied(applied, value, seen.as_deref_mut())?;
        }
        Ok(matches)
    }

    fn applied(&mut self, applied: &'g Applied, value: &Value, seen: Option<&mut Seen>) -> Result<bool, Exhausted> {
        match applied {
            Applied::Ref(node) => self.apply(*node, value, seen),
            Applied::DynamicRef { name, fallback } => {
                let node = self.outermost(name)?.unwrap_or(*fallback);
                self.apply(node, value, seen)
            }
            Applied::RecursiveRef(fallback) => {
                let node = self.outermost_recursive()?.unwrap_or(*fallback);
                self.apply(node, value, seen)
            }
            Applied::AllOf(nodes) => self.all_of(nodes, value, seen),
            Applied::AnyOf(nodes) => self.any_of(nodes, value, seen),
            Applied::OneOf(nodes) => self.one_of(nodes, value, seen),
            Applied::Not(node) => {
                let matches = self.quietly(*node, value, None)?;
                if matches {
                    self.report("not", || "matches what is not allowed here".to_owned());
                }
                Ok(!matches)
            }
            Applied::If { test, then, otherwise } => self.if_then_else(*test, *then, *otherwise, value, seen),
        }
    }

    fn all_of(&mut self, nodes: &'g [NodeId], value: &Value, mut seen: Option<&mut Seen>) -> Result<bool, Exhausted> {
        let mut matches = true;
        for node in nodes {
            matches &= self.apply(*node, value, seen.as_deref_mut())?;
            if !self.goes_on(matches) {
                return Ok(false);
            }
        }
        Ok(matches)
    }

    fn any_of(&mut self, nodes: &'g [NodeId], value: &Value, mut seen: Option<&mut Seen>) -> Result<bool, Exhausted> {
        let mut matches = false;
        for node in nodes {
            if self.branch(*node, value, seen.as_deref_mut())? {
                matches = true;
                // What the other branches evaluate counts as well, if anybody asks.
                if seen.is_none() {
                    break;
                }
            }
        }
        if !matches {
            self.explain_alternatives("anyOf", nodes, value)?;
        }
        Ok(matches)
    }

    fn one_of(&mut self, nodes: &'g [NodeId], value: &Value, mut seen: Option<&mut Seen>) -> Result<bool, Exhausted> {
        let mut matching = 0;
        for node in nodes {
            if self.branch(*node, value, seen.as_deref_mut())? {
                matching += 1;
                if matching > 1 {
                    self.report("oneOf", || "matches more than one alternative, expected exactly one".to_owned());
                    return Ok(false);
                }
            }
        }
        if matching == 0 {
            self.explain_alternatives("oneOf", nodes, value)?;
        }
        Ok(matching == 1)
    }

    fn if_then_else(
        &mut self,
        test: NodeId,
        then: Option<NodeId>,
        otherwise: Option<NodeId>,
        value: &Value,
        mut seen: Option<&mut Seen>,
    ) -> Result<bool, Exhausted> {
        let next = if self.branch(test, value, seen.as_deref_mut())? { then } else { otherwise };
        match next {
            Some(node) => self.apply(node, value, seen),
            None => Ok(true),
        }
    }

    /// Applies one of several alternatives: without reporting, and without trace if it does not match.
    fn branch(&mut self, node: NodeId, value: &Value, seen: Option<&mut Seen>) -> Result<bool, Exhausted> {
        let Some(seen) = seen else { return self.quietly(node, value, None) };
        let mut own = Seen::default();
        let matches = self.quietly(node, value, Some(&mut own))?;
        if matches {
            self.steps.spend(own.cost())?;
            seen.merge(&own);
        }
        Ok(matches)
    }

    fn quietly(&mut self, node: NodeId, value: &Value, seen: Option<&mut Seen>) -> Result<bool, Exhausted> {
        let problems = self.problems.take();
        let verdict = self.apply(node, value, seen);
        self.problems = problems;
        verdict
    }

    /// Says why no alternative matches: if only one of them is for this type of value, its problems are the
    /// answer; if they differ in type alone, the types are.
    fn explain_alternatives(
        &mut self,
        keyword: &'static str,
        nodes: &'g [NodeId],
        value: &Value,
    ) -> Result<(), Exhausted> {
        if self.problems.is_none() {
            return Ok(());
        }
        self.steps.spend(nodes.len() as u64)?;
        let mut suitable = Vec::new();
        let mut types: Option<Types> = None;
        for id in nodes {
            let node = self.graph.node(*id);
            types = Some(types.map_or(node.types, |all| all.union(node.types)));
            if !node.never && self.has_type(node, value) {
                suitable.push(*id);
            }
        }
        match (suitable.as_slice(), types) {
            ([only], _) => {
                let before = self.problems.as_ref().map_or(0, |problems| problems.found.len());
                self.apply(*only, value, None)?;
                if self.problems.as_ref().is_some_and(|problems| problems.found.len() > before) {
                    return Ok(());
                }
            }
            ([], Some(types)) => {
                self.report(keyword, || format!("expected type {}", types.describe()));
                return Ok(());
            }
            _ => {}
        }
        self.report(keyword, || format!("matches none of the {} alternatives", nodes.len()));
        Ok(())
    }

    /// The node that the dynamic anchor `name` of the outermost resource stands for.
    fn outermost(&mut self, name: &str) -> Result<Option<NodeId>, Exhausted> {
        for resource in &self.scope {
            self.steps.spend_bytes(name.len())?;
            let anchors = self.graph.dynamic_anchors.get(*resource as usize).map(Vec::as_slice).unwrap_or_default();
            if let Ok(at) = anchors.binary_search_by(|(anchor, _)| (**anchor).cmp(name)) {
                return Ok(anchors.get(at).map(|(_, node)| *node));
            }
        }
        Ok(None)
    }

    fn outermost_recursive(&mut self) -> Result<Option<NodeId>, Exhausted> {
        self.steps.spend(self.scope.len() as u64)?;
        let roots = &self.graph.recursive_anchors;
        Ok(self.scope.iter().find_map(|resource| roots.get(*resource as usize).copied().flatten()))
    }

    fn has_type(&self, node: &Node, value: &Value) -> bool {
        if node.types == Types::ALL {
            return true;
        }
        let kind = match value {
            Value::Null => Types::NULL,
            Value::Bool(_) => Types::BOOLEAN,
            Value::String(_) => Types::STRING,
            Value::Array(_) => Types::ARRAY,
            Value::Object(_) => Types::OBJECT,
            Value::Number(value) => {
                let integer = if node.integers_by_spelling {
                    number::is_spelled_as_integer(value)
                } else {
                    number::is_integer(value)
                };
                if integer { Types::INTEGER } else { Types::FRACTION }
            }
        };
        node.types.overlaps(kind)
    }

    /// Whether to go on after a check: always while everything matches, and to find more problems.
    fn goes_on(&self, matches: bool) -> bool {
        matches || self.problems.as_ref().is_some_and(|problems| problems.found.len() < problems.limit)
    }

    fn report(&mut self, keyword: &'static str, message: impl FnOnce() -> String) {
        if let Some(problems) = &mut self.problems
            && problems.found.len() < problems.limit
        {
            problems.found.push(Problem::new(&self.path, keyword, message()));
        }
    }

    /// Runs `check` one place further down, if places matter.
    fn at_name<T>(&mut self, name: &str, check: impl FnOnce(&mut Self) -> T) -> T {
        if self.problems.is_none() {
            return check(self);
        }
        self.path.push_name(name);
        let result = check(self);
        self.path.pop();
        result
    }

    fn at_index<T>(&mut self, index: usize, check: impl FnOnce(&mut Self) -> T) -> T {
        if self.problems.is_none() {
            return check(self);
        }
        self.path.push_index(index);
        let result = check(self);
        self.path.pop();
        result
    }
}
