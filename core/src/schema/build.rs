//! From the document to nodes.
//!
//! Schemas are built from a queue, so neither a chain of references nor a wide document needs stack. Afterwards
//! the graph is checked for circles of references that never consume any of the value: such a schema has no
//! meaning, and would never end.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::SchemaError;
use super::dialect::{Dialect, Types, count};
use super::document::{Address, Document, Target};
use super::node::{
    Applied, ArrayChecks, Constant, Contains, Graph, Node, NodeId, NumberChecks, ObjectChecks, TextChecks,
};
use super::number::Divisor;
use super::problem::shortened;

/// Schemas applied one within the other to the same value; more would use up the depth of an evaluation.
pub(super) const IN_PLACE_CHAIN: usize = 128;
/// Bytes of the allowed values that a message shows.
const SHOWN_VALUES: usize = 120;

/// Builds the graph of everything that the root of `document` leads to.
pub(super) fn build<'d>(document: &mut Document<'d>, root: &'d Value) -> Result<Graph, SchemaError> {
    let mut builder = Builder {
        document,
        nodes: Vec::new(),
        schemas: Vec::new(),
        ids: BTreeMap::new(),
        dynamic: false,
        recursive: false,
    };
    builder.node_for(root);
    builder.drain()?;
    let (dynamic_anchors, recursive_anchors) = builder.anchors()?;
    let Builder { nodes, schemas, .. } = builder;
    let mut graph = Graph::new(nodes, std::mem::take(&mut document.patterns));
    graph.dynamic_anchors = dynamic_anchors;
    graph.recursive_anchors = recursive_anchors;
    check_chains(&graph, |id| {
        schemas.get(id as usize).map_or_else(String::new, |schema| document.location_of(schema))
    })?;
    graph.skip_plain_references();
    Ok(graph)
}

struct Builder<'b, 'd> {
    document: &'b mut Document<'d>,
    /// Built so far; always a prefix of `schemas`.
    nodes: Vec<Node>,
    /// Schema of each node that is built or asked for.
    schemas: Vec<&'d Value>,
    ids: BTreeMap<Address, NodeId>,
    /// Whether a reference depends on the way that evaluation took.
    dynamic: bool,
    recursive: bool,
}

type Members<'d> = &'d Map<String, Value>;
type DynamicAnchors = Vec<Vec<(Box<str>, NodeId)>>;

impl<'d> Builder<'_, 'd> {
    /// The node of `schema`, queued if it is new.
    fn node_for(&mut self, schema: &'d Value) -> NodeId {
        *self.ids.entry(std::ptr::from_ref(schema)).or_insert_with(|| {
            self.schemas.push(schema);
            (self.schemas.len() - 1) as NodeId
        })
    }

    fn drain(&mut self) -> Result<(), SchemaError> {
        while let Some(schema) = self.schemas.get(self.nodes.len()).copied() {
            let node = self.node(schema)?;
            self.nodes.push(node);
        }
        Ok(())
    }

    /// The anchors that evaluation may have to look up, per resource.
    fn anchors(&mut self) -> Result<(DynamicAnchors, Vec<Option<NodeId>>), SchemaError> {
        let mut dynamic = Vec::new();
        let mut recursive = Vec::new();
        if self.dynamic || self.recursive {
            for index in 0..self.document.resources().len() {
                let Some(resource) = self.document.resources().get(index) else { break };
                let named: Vec<_> = resource.dynamic_anchors.iter().map(|(name, schema)| (*name, *schema)).collect();
                let root = resource.recursive_anchor.then_some(resource.root);
                dynamic.push(named.into_iter().map(|(name, schema)| (name.into(), self.node_for(schema))).collect());
                recursive.push(root.map(|root| self.node_for(root)));
            }
            self.drain()?;
        }
        Ok((dynamic, recursive))
    }

    fn node(&mut self, schema: &'d Value) -> Result<Node, SchemaError> {
        let resource = self.document.resource_of(schema);
        let dialect = self.document.dialect_of(resource);
        let mut node = Node::anything(resource as u32);
        let Value::Object(map) = schema else {
            node.never = *schema == Value::Bool(false);
            return Ok(node);
        };
        if let Some(reference) = map.get("$ref").and_then(Value::as_str)
            && dialect.ref_hides_siblings()
        {
            let target = self.document.resolve(schema, reference)?;
            node.applied = Box::new([Applied::Ref(self.node_for(target.schema))]);
            return Ok(node);
        }
        if let Some(types) = map.get("type") {
            // The document walk has checked every keyword; what does not parse is none.
            node.types = Types::parse(types).unwrap_or(Types::ALL);
            node.integers_by_spelling = dialect == Dialect::Draft04;
        }
        node.constants = constants(dialect, map);
        node.number = number(dialect, map);
        node.text = self.text(map);
        node.array = self.array(dialect, map);
        node.object = self.object(dialect, map);
        node.applied = self.applied(schema, dialect, map)?;
        if dialect >= Dialect::Draft201909 {
            node.unevaluated_items = map.get("unevaluatedItems").map(|schema| self.node_for(schema));
            node.unevaluated_properties = map.get("unevaluatedProperties").map(|schema| self.node_for(schema));
        }
        Ok(node)
    }

    fn text(&self, map: Members<'d>) -> Option<Box<TextChecks>> {
        let pattern = map.get("pattern").and_then(Value::as_str).and_then(|source| self.document.pattern_id(source));
        let checks = TextChecks { min: bound(map, "minLength"), max: bound(map, "maxLength"), pattern };
        let any = checks.min.is_some() || checks.max.is_some() || checks.pattern.is_some();
        any.then(|| Box::new(checks))
    }

    fn array(&mut self, dialect: Dialect, map: Members<'d>) -> Option<Box<ArrayChecks>> {
        let mut checks = ArrayChecks {
            min: bound(map, "minItems"),
            max: bound(map, "maxItems"),
            unique: map.get("uniqueItems") == Some(&Value::Bool(true)),
            ..ArrayChecks::default()
        };
        if dialect >= Dialect::Draft202012 {
            checks.prefix = self.list(map.get("prefixItems"));
            checks.rest = map.get("items").map(|schema| self.node_for(schema));
        } else if let Some(items @ Value::Array(_)) = map.get("items") {
            checks.prefix = self.list(Some(items));
            checks.rest = map.get("additionalItems").map(|schema| self.node_for(schema));
        } else {
            checks.rest = map.get("items").map(|schema| self.node_for(schema));
        }
        if dialect >= Dialect::Draft06 {
            let counted = dialect >= Dialect::Draft201909;
            checks.contains = map.get("contains").map(|schema| Contains {
                node: self.node_for(schema),
                min: bound(map, "minContains").filter(|_| counted).unwrap_or(1),
                max: bound(map, "maxContains").filter(|_| counted),
                evaluates: dialect >= Dialect::Draft202012,
            });
        }
        let any = checks.min.is_some()
            || checks.max.is_some()
            || checks.unique
            || !checks.prefix.is_empty()
            || checks.rest.is_some()
            || checks.contains.is_some();
        any.then(|| Box::new(checks))
    }

    fn object(&mut self, dialect: Dialect, map: Members<'d>) -> Option<Box<ObjectChecks>> {
        let mut checks = ObjectChecks {
            min: bound(map, "minProperties"),
            max: bound(map, "maxProperties"),
            required: map.get("required").map(names).unwrap_or_default(),
            properties: self.map(map.get("properties")),
            additional: map.get("additionalProperties").map(|schema| self.node_for(schema)),
            ..ObjectChecks::default()
        };
        if let Some(patterns) = map.get("patternProperties").and_then(Value::as_object) {
            checks.patterns = patterns
                .iter()
                .filter_map(|(source, schema)| Some((self.document.pattern_id(source)?, self.node_for(schema))))
                .collect();
        }
        if dialect >= Dialect::Draft06 {
            checks.names = map.get("propertyNames").map(|schema| self.node_for(schema));
        }
        self.dependencies(dialect, map, &mut checks);
        let any = checks.min.is_some()
            || checks.max.is_some()
            || !checks.required.is_empty()
            || checks.concerns_members()
            || !checks.dependent_required.is_empty()
            || !checks.dependent_schemas.is_empty();
        any.then(|| Box::new(checks))
    }

    /// `dependencies` is obeyed in every dialect: those that split it kept the name for compatibility.
    fn dependencies(&mut self, dialect: Dialect, map: Members<'d>, checks: &mut ObjectChecks) {
        let empty = Map::new();
        let entries = |keyword: &str| map.get(keyword).and_then(Value::as_object);
        let mut required = Vec::new();
        let mut schemas = Vec::new();
        if dialect >= Dialect::Draft201909 {
            for (name, others) in entries("dependentRequired").unwrap_or(&empty) {
                required.push((name.as_str().into(), names(others)));
            }
            for (name, schema) in entries("dependentSchemas").into_iter().flatten() {
                schemas.push((name.as_str().into(), self.node_for(schema)));
            }
        }
        for (name, dependency) in entries("dependencies").into_iter().flatten() {
            if dependency.is_array() {
                required.push((name.as_str().into(), names(dependency)));
            } else {
                schemas.push((name.as_str().into(), self.node_for(dependency)));
            }
        }
        checks.dependent_required = required.into();
        checks.dependent_schemas = schemas.into();
    }

    fn applied(
        &mut self,
        schema: &'d Value,
        dialect: Dialect,
        map: Members<'d>,
    ) -> Result<Box<[Applied]>, SchemaError> {
        let mut applied = Vec::new();
        let text = |keyword: &str| map.get(keyword).and_then(Value::as_str);
        if let Some(reference) = text("$ref") {
            let target = self.document.resolve(schema, reference)?;
            applied.push(Applied::Ref(self.node_for(target.schema)));
        }
        if let Some(reference) = text("$dynamicRef").filter(|_| dialect >= Dialect::Draft202012) {
            let Target { schema, dynamic } = self.document.resolve(schema, reference)?;
            let fallback = self.node_for(schema);
            self.dynamic |= dynamic.is_some();
            applied.push(match dynamic {
                Some(name) => Applied::DynamicRef { name: name.into(), fallback },
                None => Applied::Ref(fallback),
            });
        }
        if let Some(reference) = text("$recursiveRef").filter(|_| dialect == Dialect::Draft201909) {
            let target = self.document.resolve(schema, reference)?;
            let resource = self.document.resource_of(target.schema);
            let anchored = self.document.resources().get(resource).is_some_and(|it| it.recursive_anchor);
            let fallback = self.node_for(target.schema);
            self.recursive |= anchored;
            applied.push(if anchored { Applied::RecursiveRef(fallback) } else { Applied::Ref(fallback) });
        }
        for (keyword, make) in [
            ("allOf", Applied::AllOf as fn(Box<[NodeId]>) -> Applied),
            ("anyOf", Applied::AnyOf),
            ("oneOf", Applied::OneOf),
        ] {
            if map.contains_key(keyword) {
                applied.push(make(self.list(map.get(keyword))));
            }
        }
        if let Some(schema) = map.get("not") {
            applied.push(Applied::Not(self.node_for(schema)));
        }
        if let Some(test) = map.get("if").filter(|_| dialect >= Dialect::Draft07) {
            let test = self.node_for(test);
            let then = map.get("then").map(|schema| self.node_for(schema));
            let otherwise = map.get("else").map(|schema| self.node_for(schema));
            applied.push(Applied::If { test, then, otherwise });
        }
        Ok(applied.into())
    }

    fn list(&mut self, list: Option<&'d Value>) -> Box<[NodeId]> {
        list.and_then(Value::as_array).into_iter().flatten().map(|schema| self.node_for(schema)).collect()
    }

    /// A map of schemas, sorted by name whatever map type `serde_json` has.
    fn map(&mut self, map: Option<&'d Value>) -> Box<[(Box<str>, NodeId)]> {
        let mut entries: Vec<(Box<str>, NodeId)> = map
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.as_str().into(), self.node_for(schema)))
            .collect();
        entries.sort_unstable();
        entries.into()
    }
}

fn constants(dialect: Dialect, map: Members<'_>) -> Box<[Constant]> {
    let single = map.get("const").filter(|_| dialect >= Dialect::Draft06).map(std::slice::from_ref);
    let listed = map.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    let single = single.map(|values| constant("const", values));
    single.into_iter().chain(listed.map(|values| constant("enum", values))).collect()
}

fn constant(keyword: &'static str, values: &[Value]) -> Constant {
    let mut texts: Vec<Box<str>> = values.iter().filter_map(Value::as_str).map(Box::from).collect();
    texts.sort_unstable();
    let mut shown = String::new();
    for value in values {
        if !shown.is_empty() {
            shown.push_str(", ");
        }
        if shown.len() > SHOWN_VALUES {
            shown.push('…');
            break;
        }
        shown.push_str(&shortened(&value.to_string(), SHOWN_VALUES));
    }
    Constant {
        keyword,
        texts: texts.into(),
        others: values.iter().filter(|value| !value.is_string()).cloned().collect(),
        shown: shown.into(),
    }
}

fn number(dialect: Dialect, map: Members<'_>) -> Option<Box<NumberChecks>> {
    let value = |keyword: &str| match map.get(keyword) {
        Some(Value::Number(number)) => Some(number.clone()),
        _ => None,
    };
    let mut checks = NumberChecks {
        minimum: value("minimum"),
        maximum: value("maximum"),
        multiple_of: value("multipleOf").map(Divisor::new),
        ..NumberChecks::default()
    };
    if dialect == Dialect::Draft04 {
        let exclusive = |keyword: &str, bound: &mut Option<Number>| {
            if map.get(keyword) == Some(&Value::Bool(true)) { bound.take() } else { None }
        };
        checks.exclusive_minimum = exclusive("exclusiveMinimum", &mut checks.minimum);
        checks.exclusive_maximum = exclusive("exclusiveMaximum", &mut checks.maximum);
    } else {
        checks.exclusive_minimum = value("exclusiveMinimum");
        checks.exclusive_maximum = value("exclusiveMaximum");
    }
    let any = checks.minimum.is_some()
        || checks.maximum.is_some()
        || checks.exclusive_minimum.is_some()
        || checks.exclusive_maximum.is_some()
        || checks.multiple_of.is_some();
    any.then(|| Box::new(checks))
}

fn bound(map: Members<'_>, keyword: &str) -> Option<u64> {
    map.get(keyword).and_then(count)
}

fn names(list: &Value) -> Box<[Box<str>]> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(Box::from).collect()
}

/// Refuses circles and overlong chains among schemas that apply to the same value.
fn check_chains(graph: &Graph, location: impl Fn(NodeId) -> String) -> Result<(), SchemaError> {
    #[derive(Clone, Copy)]
    enum Mark {
        New,
        Open,
        /// Schemas on the longest chain from here.
        Done(usize),
    }
    let mut marks = vec![Mark::New; graph.nodes().len()];
    let mark = |marks: &[Mark], id: NodeId| marks.get(id as usize).copied().unwrap_or(Mark::Done(0));
    for root in 0..graph.nodes().len() as NodeId {
        let mut stack = vec![root];
        while let Some(id) = stack.last().copied() {
            match mark(&marks, id) {
                Mark::Done(_) => {
                    stack.pop();
                }
                Mark::New => {
                    if let Some(mark) = marks.get_mut(id as usize) {
                        *mark = Mark::Open;
                    }
                    let mut circle = false;
                    graph.node(id).in_place(|next| match mark(&marks, next) {
                        Mark::New => stack.push(next),
                        Mark::Open => circle = true,
                        Mark::Done(_) => {}
                    });
                    if circle {
                        return Err(SchemaError::CircularReference { location: location(id) });
                    }
                }
                Mark::Open => {
                    stack.pop();
                    let mut longest = 0;
                    graph.node(id).in_place(|next| {
                        if let Mark::Done(length) = mark(&marks, next) {
                            longest = longest.max(length);
                        }
                    });
                    if longest >= IN_PLACE_CHAIN {
                        return Err(SchemaError::ChainTooLong { limit: IN_PLACE_CHAIN, location: location(id) });
                    }
                    if let Some(mark) = marks.get_mut(id as usize) {
                        *mark = Mark::Done(longest + 1);
                    }
                }
            }
        }
    }
    Ok(())
}
