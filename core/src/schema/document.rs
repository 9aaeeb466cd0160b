//! The schema as a document: which of its parts are schemas, what they are called, where a reference leads.
//!
//! One walk over the text that the author wrote checks every keyword against its dialect, counts and bounds the
//! subschemas, compiles the patterns and notes every `$id` and anchor. References are then looked up in those
//! notes only. There is no way to load anything: a reference to another document is an error that names it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::dialect::{Dialect, Shape, mismatch, shape};
use super::pattern::{Pattern, PatternBudget};
use super::{SchemaError, SchemaLimits, uri};

/// Bytes of a `$id` (resolved as well) or `$ref`: resolving costs as much for each reference, so long ones are refused.
const REFERENCE_BYTES: usize = 4_096;
/// Bytes of a place or reference that errors keep.
const SHOWN_BYTES: usize = 200;

/// Identity of a value within the document: its address, which is stable while the document is borrowed.
pub(super) type Address = *const Value;

/// A schema document while it is compiled.
pub(super) struct Document<'d> {
    limits: &'d SchemaLimits,
    resources: Vec<Resource<'d>>,
    by_uri: BTreeMap<String, usize>,
    places: BTreeMap<Address, Place>,
    budget: PatternBudget,
    pub(super) patterns: Vec<Pattern>,
    pattern_ids: BTreeMap<&'d str, u32>,
}

/// A part of the document with a name of its own; the document itself is the first.
pub(super) struct Resource<'d> {
    uri: String,
    pub(super) root: &'d Value,
    pub(super) dialect: Dialect,
    anchors: BTreeMap<&'d str, &'d Value>,
    pub(super) dynamic_anchors: BTreeMap<&'d str, &'d Value>,
    pub(super) recursive_anchor: bool,
}

#[derive(Debug, Clone)]
struct Place {
    resource: usize,
    location: Box<str>,
}

/// Where a reference leads.
#[derive(Clone, Copy)]
pub(super) struct Target<'d> {
    pub(super) schema: &'d Value,
    /// The name by which a dynamic anchor was met, if it was one.
    pub(super) dynamic: Option<&'d str>,
}

impl<'d> Document<'d> {
    /// Walks the whole document.
    pub(super) fn read(root: &'d Value, limits: &'d SchemaLimits) -> Result<Self, SchemaError> {
        let mut document = Self {
            limits,
            resources: Vec::new(),
            by_uri: BTreeMap::new(),
            places: BTreeMap::new(),
            budget: PatternBudget::new(limits.pattern_states),
            patterns: Vec::new(),
            pattern_ids: BTreeMap::new(),
        };
        let dialect = declared_dialect(root)?.unwrap_or(Dialect::DEFAULT);
        document.resources.push(Resource::new(String::new(), root, dialect));
        document.by_uri.insert(String::new(), 0);
        document.scan(root, 0, 0, &mut String::new())?;
        Ok(document)
    }

    pub(super) fn resources(&self) -> &[Resource<'d>] {
        &self.resources
    }

    pub(super) fn resource_of(&self, schema: &Value) -> usize {
        self.places.get(&std::ptr::from_ref(schema)).map_or(0, |place| place.resource)
    }

    pub(super) fn dialect_of(&self, resource: usize) -> Dialect {
        self.resources.get(resource).map_or(Dialect::DEFAULT, |resource| resource.dialect)
    }

    /// A JSON pointer to `schema`, shortened if it is long.
    pub(super) fn location_of(&self, schema: &Value) -> String {
        self.places.get(&std::ptr::from_ref(schema)).map_or_else(String::new, |place| place.location.to_string())
    }

    pub(super) fn pattern_id(&self, source: &str) -> Option<u32> {
        self.pattern_ids.get(source).copied()
    }

    /// Looks up `reference` as seen from `from`.
    pub(super) fn resolve(&mut self, from: &Value, reference: &str) -> Result<Target<'d>, SchemaError> {
        let unresolved = |document: &Self| SchemaError::UnresolvedReference {
            reference: shown(reference),
            location: document.location_of(from),
        };
        let (uri, fragment) = uri::split_fragment(reference);
        let mut resource = self.resource_of(from);
        if !uri.is_empty() {
            self.check_length(uri, &self.location_of(from))?;
            let base = self.resources.get(resource).map(|resource| resource.uri.as_str()).unwrap_or_default();
            resource = match self.by_uri.get(&uri::resolve(base, uri)) {
                Some(resource) => *resource,
                None => {
                    return Err(SchemaError::RemoteReference {
                        reference: shown(reference),
                        location: self.location_of(from),
                    });
                }
            };
        }
        let Some(found) = self.resources.get(resource) else { return Err(unresolved(self)) };
        let fragment = uri::decode(fragment.unwrap_or_default());
        if fragment.is_empty() {
            return Ok(Target { schema: found.root, dynamic: None });
        }
        if fragment.starts_with('/') {
            let schema = self.follow(resource, &fragment)?.ok_or_else(|| unresolved(self))?;
            return Ok(Target { schema, dynamic: None });
        }
        if let Some((name, schema)) = found.dynamic_anchors.get_key_value(fragment.as_str()) {
            return Ok(Target { schema, dynamic: Some(name) });
        }
        match found.anchors.get(fragment.as_str()) {
            Some(schema) => Ok(Target { schema, dynamic: None }),
            None => Err(unresolved(self)),
        }
    }

    /// Follows a JSON pointer. What it finds is a schema from now on, even where no keyword makes it one.
    fn follow(&mut self, mut resource: usize, pointer: &str) -> Result<Option<&'d Value>, SchemaError> {
        let Some(mut value) = self.resources.get(resource).map(|resource| resource.root) else { return Ok(None) };
        for token in pointer.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            let next = match value {
                Value::Object(map) => map.get(&token),
                Value::Array(list) => token.parse::<usize>().ok().and_then(|at| list.get(at)),
                _ => None,
            };
            let Some(next) = next else { return Ok(None) };
            value = next;
            if let Some(place) = self.places.get(&std::ptr::from_ref(value)) {
                resource = place.resource;
            }
        }
        if !self.places.contains_key(&std::ptr::from_ref(value)) {
            self.scan(value, resource, 0, &mut pointer.to_owned())?;
        }
        Ok(Some(value))
    }

    /// Notes `schema` and everything below it.
    fn scan(
        &mut self,
        schema: &'d Value,
        mut resource: usize,
        depth: usize,
        location: &mut String,
    ) -> Result<(), SchemaError> {
        if depth > self.limits.depth {
            return Err(SchemaError::TooDeep { limit: self.limits.depth });
        }
        if self.places.len() >= self.limits.subschemas {
            return Err(SchemaError::TooManySubschemas { limit: self.limits.subschemas });
        }
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(_) if self.dialect_of(resource) > Dialect::Draft04 => {
                return self.place(schema, resource, location);
            }
            _ => return Err(SchemaError::NotASchema { location: shown_end(location) }),
        };
        resource = self.identify(schema, map, resource, location)?;
        self.place(schema, resource, location)?;
        self.note_anchors(schema, map, resource);
        let dialect = self.dialect_of(resource);
        if dialect == Dialect::Draft04 {
            check_exclusive_bounds(map, location)?;
        }
        for (keyword, value) in map {
            let Some(shape) = shape(dialect, keyword) else { continue };
            let length = location.len();
            push_token(location, keyword);
            if let Some(expected) = mismatch(dialect, shape, value) {
                return Err(SchemaError::InvalidKeyword { location: shown_end(location), expected });
            }
            self.scan_below(shape, value, resource, depth + 1, location)?;
            location.truncate(length);
        }
        Ok(())
    }

    fn scan_below(
        &mut self,
        shape: Shape,
        value: &'d Value,
        resource: usize,
        depth: usize,
        location: &mut String,
    ) -> Result<(), SchemaError> {
        match (shape, value) {
            (Shape::SchemaOrFlag, Value::Bool(_)) => self.place(value, resource, location),
            (Shape::SchemaOrSchemas | Shape::Schemas, Value::Array(list)) => {
                for (index, schema) in list.iter().enumerate() {
                    self.scan_member(schema, resource, depth, location, &index.to_string())?;
                }
                Ok(())
            }
            (Shape::Schema | Shape::SchemaOrFlag | Shape::SchemaOrSchemas, schema) => {
                self.scan(schema, resource, depth, location)
            }
            (Shape::SchemaMap | Shape::PatternMap | Shape::Dependencies, Value::Object(map)) => {
                for (name, schema) in map {
                    if shape == Shape::PatternMap {
                        self.compile_pattern(name, location)?;
                    }
                    if !(shape == Shape::Dependencies && schema.is_array()) {
                        self.scan_member(schema, resource, depth, location, name)?;
                    }
                }
                Ok(())
            }
            (Shape::Pattern, Value::String(source)) => self.compile_pattern(source, location),
            _ => Ok(()),
        }
    }

    fn scan_member(
        &mut self,
        schema: &'d Value,
        resource: usize,
        depth: usize,
        location: &mut String,
        token: &str,
    ) -> Result<(), SchemaError> {
        let length = location.len();
        push_token(location, token);
        self.scan(schema, resource, depth, location)?;
        location.truncate(length);
        Ok(())
    }

    /// The resource that `schema` belongs to: a new one if it names itself.
    fn identify(
        &mut self,
        schema: &'d Value,
        map: &'d Map<String, Value>,
        resource: usize,
        location: &str,
    ) -> Result<usize, SchemaError> {
        let dialect = self.dialect_of(resource);
        let is_root = self.resources.get(resource).is_some_and(|it| std::ptr::eq(it.root, schema));
        // An embedded resource may declare a dialect of its own. Without a name it is none, and its `$schema` (left
        // over where generators nest whole documents) says nothing.
        let named = ["$id", "id"].iter().any(|keyword| map.get(*keyword).is_some_and(Value::is_string));
        let own = if is_root || !named { None } else { declared_dialect(schema)? };
        let keyword = own.unwrap_or(dialect).id_keyword();
        let Some(id) = map.get(keyword).and_then(Value::as_str) else { return Ok(resource) };
        if dialect.ref_hides_siblings() && map.contains_key("$ref") {
            return Ok(resource);
        }
        self.check_length(id, location)?;
        let (uri, fragment) = uri::split_fragment(id);
        if let Some(name) = fragment.filter(|name| !name.is_empty() && dialect <= Dialect::Draft07)
            && let Some(resource) = self.resources.get_mut(resource)
        {
            resource.anchors.entry(name).or_insert(schema);
        }
        if uri.is_empty() {
            return Ok(resource);
        }
        let base = self.resources.get(resource).map(|resource| resource.uri.as_str()).unwrap_or_default();
        let uri = uri::resolve(base, uri);
        // Names relative to names grow with every level.
        self.check_length(&uri, location)?;
        if is_root {
            self.by_uri.insert(uri.clone(), resource);
            if let Some(resource) = self.resources.get_mut(resource) {
                resource.uri = uri;
            }
            return Ok(resource);
        }
        let new = self.resources.len();
        // Generators repeat a definition with its name; the first stands for all.
        self.by_uri.entry(uri.clone()).or_insert(new);
        self.resources.push(Resource::new(uri, schema, own.unwrap_or(dialect)));
        Ok(new)
    }

    fn note_anchors(&mut self, schema: &'d Value, map: &'d Map<String, Value>, resource: usize) {
        let Some(resource) = self.resources.get_mut(resource) else { return };
        let text = |keyword: &str| map.get(keyword).and_then(Value::as_str);
        if resource.dialect >= Dialect::Draft201909
            && let Some(name) = text("$anchor")
        {
            resource.anchors.entry(name).or_insert(schema);
        }
        if resource.dialect >= Dialect::Draft202012
            && let Some(name) = text("$dynamicAnchor")
        {
            resource.dynamic_anchors.entry(name).or_insert(schema);
        }
        if resource.dialect == Dialect::Draft201909 && std::ptr::eq(resource.root, schema) {
            resource.recursive_anchor = map.get("$recursiveAnchor") == Some(&Value::Bool(true));
        }
    }

    fn compile_pattern(&mut self, source: &'d str, location: &str) -> Result<(), SchemaError> {
        if self.pattern_ids.contains_key(source) {
            return Ok(());
        }
        let pattern = Pattern::compile(source, &mut self.budget)
            .map_err(|source| SchemaError::InvalidPattern { location: shown_end(location), source })?;
        self.pattern_ids.insert(source, self.patterns.len() as u32);
        self.patterns.push(pattern);
        Ok(())
    }

    fn place(&mut self, schema: &'d Value, resource: usize, location: &str) -> Result<(), SchemaError> {
        let place = Place { resource, location: shown_end(location).into() };
        self.places.insert(std::ptr::from_ref(schema), place);
        Ok(())
    }

    fn check_length(&self, reference: &str, location: &str) -> Result<(), SchemaError> {
        if reference.len() > REFERENCE_BYTES {
            return Err(SchemaError::ReferenceTooLong { limit: REFERENCE_BYTES, location: shown_end(location) });
        }
        Ok(())
    }
}

impl<'d> Resource<'d> {
    fn new(uri: String, root: &'d Value, dialect: Dialect) -> Self {
        Self { uri, root, dialect, anchors: BTreeMap::new(), dynamic_anchors: BTreeMap::new(), recursive_anchor: false }
    }
}

/// The dialect that `schema` declares, if it declares one.
fn declared_dialect(schema: &Value) -> Result<Option<Dialect>, SchemaError> {
    match schema.get("$schema").and_then(Value::as_str) {
        None => Ok(None),
        Some(uri) => match Dialect::from_uri(uri) {
            Some(dialect) => Ok(Some(dialect)),
            None => Err(SchemaError::UnknownDialect { dialect: shown(uri) }),
        },
    }
}

/// In draft 4 a flag says that a bound is exclusive, so the bound has to be there.
fn check_exclusive_bounds(map: &Map<String, Value>, location: &str) -> Result<(), SchemaError> {
    for (flag, bound, expected) in
        [("exclusiveMinimum", "minimum", "beside `minimum`"), ("exclusiveMaximum", "maximum", "beside `maximum`")]
    {
        if map.contains_key(flag) && !map.contains_key(bound) {
            return Err(SchemaError::InvalidKeyword { location: shown_end(&format!("{location}/{flag}")), expected });
        }
    }
    Ok(())
}

fn push_token(location: &mut String, token: &str) {
    location.push('/');
    for c in token.chars() {
        match c {
            '~' => location.push_str("~0"),
            '/' => location.push_str("~1"),
            c => location.push(c),
        }
    }
}

/// The beginning of `text`, as long as errors keep it.
fn shown(text: &str) -> String {
    super::problem::shortened(text, SHOWN_BYTES)
}

/// The end of a pointer, which tells more than its beginning.
fn shown_end(location: &str) -> String {
    if location.len() <= SHOWN_BYTES {
        return location.to_owned();
    }
    let mut from = location.len() - SHOWN_BYTES;
    while !location.is_char_boundary(from) {
        from += 1;
    }
    format!("…{}", location.get(from..).unwrap_or_default())
}
