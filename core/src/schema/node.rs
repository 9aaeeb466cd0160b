//! The compiled form of a schema: nodes in one list that refer to each other by index.
//!
//! Checks are grouped by the type of value that they concern, so a string is never asked about properties.

use serde_json::{Number, Value};

use super::dialect::Types;
use super::number::Divisor;
use super::pattern::Pattern;

/// Index of a node.
pub(super) type NodeId = u32;

/// All nodes of a schema, and what they share.
#[derive(Debug)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    pub(super) root: NodeId,
    pub(super) patterns: Vec<Pattern>,
    /// Per resource, the nodes of its dynamic anchors, sorted by name. Empty if nothing refers dynamically.
    pub(super) dynamic_anchors: Vec<Vec<(Box<str>, NodeId)>>,
    /// Per resource, its root node if it is a recursive anchor.
    pub(super) recursive_anchors: Vec<Option<NodeId>>,
}

impl Graph {
    pub(super) fn new(nodes: Vec<Node>, patterns: Vec<Pattern>) -> Self {
        Self { nodes, root: 0, patterns, dynamic_anchors: Vec::new(), recursive_anchors: Vec::new() }
    }

    /// Lets every node refer to what a plain reference stands for, instead of to the reference: one application
    /// less, in steps and in depth. Where references depend on the way, the way matters and nothing is changed.
    pub(super) fn skip_plain_references(&mut self) {
        if self.is_dynamic() {
            return;
        }
        let targets: Vec<NodeId> = (0..self.nodes.len() as NodeId).map(|id| self.end_of_references(id)).collect();
        let end = |id: &mut NodeId| *id = targets.get(*id as usize).copied().unwrap_or(*id);
        end(&mut self.root);
        for node in &mut self.nodes {
            node.for_each_id(end);
        }
    }

    /// Where the references from `id` on end. They have been checked to have an end.
    fn end_of_references(&self, mut id: NodeId) -> NodeId {
        while let Some(next) = self.nodes.get(id as usize).and_then(Node::plain_reference) {
            id = next;
        }
        id
    }

    #[inline]
    pub(super) fn node(&self, id: NodeId) -> &Node {
        // The builder hands out an id only together with a place in the list, and the list never shrinks.
        self.nodes.get(id as usize).expect("a node id is an index of the graph that made it")
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Whether evaluation has to remember the resources that it came through.
    pub(super) fn is_dynamic(&self) -> bool {
        !self.dynamic_anchors.is_empty() || !self.recursive_anchors.is_empty()
    }
}

/// One schema.
#[derive(Debug)]
pub(super) struct Node {
    /// Types of value that may match at all.
    pub(super) types: Types,
    /// Whether integers are told by their spelling (draft 4), not by their value.
    pub(super) integers_by_spelling: bool,
    /// The schema `false`.
    pub(super) never: bool,
    pub(super) resource: u32,
    pub(super) constants: Box<[Constant]>,
    pub(super) number: Option<Box<NumberChecks>>,
    pub(super) text: Option<Box<TextChecks>>,
    pub(super) array: Option<Box<ArrayChecks>>,
    pub(super) object: Option<Box<ObjectChecks>>,
    /// Schemas that apply to the same value.
    pub(super) applied: Box<[Applied]>,
    pub(super) unevaluated_items: Option<NodeId>,
    pub(super) unevaluated_properties: Option<NodeId>,
}

impl Node {
    /// A schema that everything matches.
    pub(super) fn anything(resource: u32) -> Self {
        Self {
            types: Types::ALL,
            integers_by_spelling: false,
            never: false,
            resource,
            constants: Box::default(),
            number: None,
            text: None,
            array: None,
            object: None,
            applied: Box::default(),
            unevaluated_items: None,
            unevaluated_properties: None,
        }
    }

    /// The target, if the schema is a reference and nothing else.
    fn plain_reference(&self) -> Option<NodeId> {
        let [Applied::Ref(target)] = *self.applied else { return None };
        let nothing_else = self.types == Types::ALL
            && !self.never
            && self.constants.is_empty()
            && self.number.is_none()
            && self.text.is_none()
            && self.array.is_none()
            && self.object.is_none()
            && self.unevaluated_items.is_none()
            && self.unevaluated_properties.is_none();
        nothing_else.then_some(target)
    }

    fn for_each_id(&mut self, mut change: impl FnMut(&mut NodeId)) {
        self.unevaluated_items.iter_mut().chain(&mut self.unevaluated_properties).for_each(&mut change);
        for applied in &mut self.applied {
            match applied {
                Applied::AllOf(nodes) | Applied::AnyOf(nodes) | Applied::OneOf(nodes) => {
                    nodes.iter_mut().for_each(&mut change);
                }
                Applied::Not(node) | Applied::Ref(node) => change(node),
                Applied::If { test, then, otherwise } => {
                    change(test);
                    then.iter_mut().chain(otherwise).for_each(&mut change);
                }
                Applied::DynamicRef { fallback, .. } | Applied::RecursiveRef(fallback) => change(fallback),
            }
        }
        if let Some(array) = &mut self.array {
            array.prefix.iter_mut().chain(&mut array.rest).for_each(&mut change);
            array.contains.iter_mut().for_each(|contains| change(&mut contains.node));
        }
        if let Some(object) = &mut self.object {
            object.properties.iter_mut().chain(&mut object.dependent_schemas).for_each(|(_, node)| change(node));
            object.patterns.iter_mut().for_each(|(_, node)| change(node));
            object.additional.iter_mut().chain(&mut object.names).for_each(&mut change);
        }
    }

    /// Calls `visit` with each node that is applied to the value that this node is applied to.
    pub(super) fn in_place(&self, mut visit: impl FnMut(NodeId)) {
        for applied in &self.applied {
            match applied {
                Applied::AllOf(nodes) | Applied::AnyOf(nodes) | Applied::OneOf(nodes) => {
                    nodes.iter().copied().for_each(&mut visit);
                }
                Applied::Not(node) | Applied::Ref(node) => visit(*node),
                Applied::If { test, then, otherwise } => {
                    visit(*test);
                    then.iter().chain(otherwise).copied().for_each(&mut visit);
                }
                // Which node these lead to depends on the way; the evaluator's own bounds catch a circle.
                Applied::DynamicRef { .. } | Applied::RecursiveRef(_) => {}
            }
        }
        if let Some(object) = &self.object {
            object.dependent_schemas.iter().for_each(|(_, node)| visit(*node));
        }
    }
}

/// `enum` or `const`.
#[derive(Debug)]
pub(super) struct Constant {
    pub(super) keyword: &'static str,
    /// The strings among the values, sorted.
    pub(super) texts: Box<[Box<str>]>,
    /// The other values.
    pub(super) others: Box<[Value]>,
    /// The values as a message shows them, shortened.
    pub(super) shown: Box<str>,
}

#[derive(Debug, Default)]
pub(super) struct NumberChecks {
    pub(super) minimum: Option<Number>,
    pub(super) maximum: Option<Number>,
    pub(super) exclusive_minimum: Option<Number>,
    pub(super) exclusive_maximum: Option<Number>,
    pub(super) multiple_of: Option<Divisor>,
}

#[derive(Debug, Default)]
pub(super) struct TextChecks {
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
    /// Index into [`Graph::patterns`].
    pub(super) pattern: Option<u32>,
}

#[derive(Debug, Default)]
pub(super) struct ArrayChecks {
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
    pub(super) unique: bool,
    /// Schemas of the first items, one each.
    pub(super) prefix: Box<[NodeId]>,
    /// Schema of the items after those.
    pub(super) rest: Option<NodeId>,
    pub(super) contains: Option<Contains>,
}

#[derive(Debug)]
pub(super) struct Contains {
    pub(super) node: NodeId,
    pub(super) min: u64,
    pub(super) max: Option<u64>,
    /// Whether what it finds counts as evaluated (2020-12).
    pub(super) evaluates: bool,
}

/// Names of properties.
pub(super) type Names = Box<[Box<str>]>;

#[derive(Debug, Default)]
pub(super) struct ObjectChecks {
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
    pub(super) required: Names,
    /// Sorted by name.
    pub(super) properties: Box<[(Box<str>, NodeId)]>,
    /// Index into [`Graph::patterns`], and the schema of the properties that match it.
    pub(super) patterns: Box<[(u32, NodeId)]>,
    pub(super) additional: Option<NodeId>,
    pub(super) names: Option<NodeId>,
    pub(super) dependent_required: Box<[(Box<str>, Names)]>,
    pub(super) dependent_schemas: Box<[(Box<str>, NodeId)]>,
}

impl ObjectChecks {
    /// Whether members have to be looked at one by one.
    pub(super) fn concerns_members(&self) -> bool {
        !self.properties.is_empty() || !self.patterns.is_empty() || self.additional.is_some() || self.names.is_some()
    }
}

#[derive(Debug)]
pub(super) enum Applied {
    AllOf(Box<[NodeId]>),
    AnyOf(Box<[NodeId]>),
    OneOf(Box<[NodeId]>),
    Not(NodeId),
    Ref(NodeId),
    If {
        test: NodeId,
        then: Option<NodeId>,
        otherwise: Option<NodeId>,
    },
    /// The outermost dynamic anchor `name` on the way here, `fallback` if there is none.
    DynamicRef {
        name: Box<str>,
        fallback: NodeId,
    },
    /// The outermost recursive anchor on the way here.
    RecursiveRef(NodeId),
}
