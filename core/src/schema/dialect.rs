//! The dialects of JSON Schema and what each of their keywords must look like.
//!
//! | dialect | named by `$schema` | differs in |
//! |---|---|---|
//! | draft-04 | `http://json-schema.org/draft-04/schema` | `id`, boolean `exclusive…`, no boolean schemas |
//! | draft-06, -07 | `…/draft-06/schema`, `…/draft-07/schema` | `$ref` hides its siblings, `items` may be a list |
//! | 2019-09 | `https://json-schema.org/draft/2019-09/schema` | `$recursiveRef`, `unevaluated…` |
//! | 2020-12 | `https://json-schema.org/draft/2020-12/schema` | `$dynamicRef`, `prefixItems`; the default |
//!
//! The table of shapes is the meta-schema of every dialect in one place: it says which keywords hold subschemas
//! and which values a keyword accepts. Keywords that are not in it are annotations, whatever they hold.

use serde_json::Value;

use super::number::is_spelled_as_integer;

/// A dialect that schemas may declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Dialect {
    /// Draft 4.
    Draft04,
    /// Draft 6.
    Draft06,
    /// Draft 7.
    Draft07,
    /// Draft 2019-09.
    Draft201909,
    /// Draft 2020-12, the dialect of schemas that declare none.
    Draft202012,
}

impl Dialect {
    /// The dialect of schemas without `$schema` (specification: *JSON Schema Usage*).
    pub const DEFAULT: Self = Self::Draft202012;

    /// The dialect that `$schema` names: with or without a trailing `#`, over `http` or `https`.
    #[must_use]
    pub fn from_uri(uri: &str) -> Option<Self> {
        let uri = uri.strip_suffix('#').unwrap_or(uri);
        let rest = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))?;
        Some(match rest.strip_prefix("json-schema.org/")? {
            "draft-04/schema" => Self::Draft04,
            "draft-06/schema" => Self::Draft06,
            "draft-07/schema" => Self::Draft07,
            "draft/2019-09/schema" => Self::Draft201909,
            "draft/2020-12/schema" => Self::Draft202012,
            _ => return None,
        })
    }

    /// The URI that `$schema` names this dialect by.
    #[must_use]
    pub fn uri(self) -> &'static str {
        match self {
            Self::Draft04 => "http://json-schema.org/draft-04/schema#",
            Self::Draft06 => "http://json-schema.org/draft-06/schema#",
            Self::Draft07 => "http://json-schema.org/draft-07/schema#",
            Self::Draft201909 => "https://json-schema.org/draft/2019-09/schema",
            Self::Draft202012 => "https://json-schema.org/draft/2020-12/schema",
        }
    }

    /// Up to draft 7, `$ref` replaces the schema that it stands in.
    pub(super) fn ref_hides_siblings(self) -> bool {
        self <= Self::Draft07
    }

    /// The keyword that names a schema.
    pub(super) fn id_keyword(self) -> &'static str {
        if self == Self::Draft04 { "id" } else { "$id" }
    }
}

/// What the value of a keyword must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Any,
    Text,
    Flag,
    /// An integer that is not negative.
    Count,
    Number,
    PositiveNumber,
    List,
    /// Different strings.
    Names,
    /// Different strings, at least one.
    SomeNames,
    /// A map of [`Shape::Names`].
    NamesMap,
    /// One type name, or different ones.
    Types,
    /// The name of a schema, without a fragment.
    Identifier,
    Anchor,
    Pattern,
    Vocabulary,
    Schema,
    /// A schema, where draft 4 allows booleans too.
    SchemaOrFlag,
    /// A list of schemas, at least one.
    Schemas,
    /// A schema or a list of them.
    SchemaOrSchemas,
    SchemaMap,
    /// A map of schemas whose keys are patterns.
    PatternMap,
    /// A map of schemas and lists of names.
    Dependencies,
}

/// The shape of `keyword` in `dialect`, if it is one.
pub(super) fn shape(dialect: Dialect, keyword: &str) -> Option<Shape> {
    use Dialect::{Draft04, Draft06, Draft07, Draft201909, Draft202012};
    let (since, until, shape) = match keyword {
        "$schema" | "title" | "description" | "format" | "$ref" => (Draft04, Draft202012, Shape::Text),
        "id" => (Draft04, Draft04, Shape::Text),
        "$id" if dialect >= Draft201909 => (Draft201909, Draft202012, Shape::Identifier),
        "$id" => (Draft06, Draft07, Shape::Text),
        "$comment" | "contentMediaType" | "contentEncoding" => (Draft07, Draft202012, Shape::Text),
        "$anchor" => (Draft201909, Draft202012, Shape::Anchor),
        "$dynamicAnchor" => (Draft202012, Draft202012, Shape::Anchor),
        "$dynamicRef" => (Draft202012, Draft202012, Shape::Text),
        "$recursiveRef" => (Draft201909, Draft202012, Shape::Text),
        "$recursiveAnchor" if dialect == Draft202012 => (Draft202012, Draft202012, Shape::Anchor),
        "$recursiveAnchor" => (Draft201909, Draft201909, Shape::Flag),
        "$vocabulary" => (Draft201909, Draft202012, Shape::Vocabulary),
        "$defs" => (Draft201909, Draft202012, Shape::SchemaMap),
        "definitions" | "properties" => (Draft04, Draft202012, Shape::SchemaMap),
        "patternProperties" => (Draft04, Draft202012, Shape::PatternMap),
        "dependentSchemas" => (Draft201909, Draft202012, Shape::SchemaMap),
        "dependentRequired" => (Draft201909, Draft202012, Shape::NamesMap),
        "dependencies" => (Draft04, Draft202012, Shape::Dependencies),
        "default" => (Draft04, Draft202012, Shape::Any),
        "const" => (Draft06, Draft202012, Shape::Any),
        "enum" => (Draft04, Draft202012, Shape::List),
        "examples" => (Draft06, Draft202012, Shape::List),
        "readOnly" | "writeOnly" => (Draft07, Draft202012, Shape::Flag),
        "deprecated" => (Draft201909, Draft202012, Shape::Flag),
        "multipleOf" => (Draft04, Draft202012, Shape::PositiveNumber),
        "maximum" | "minimum" => (Draft04, Draft202012, Shape::Number),
        "exclusiveMaximum" | "exclusiveMinimum" if dialect == Draft04 => (Draft04, Draft04, Shape::Flag),
        "exclusiveMaximum" | "exclusiveMinimum" => (Draft06, Draft202012, Shape::Number),
        "maxLength" | "minLength" | "maxItems" | "minItems" | "maxProperties" | "minProperties" => {
            (Draft04, Draft202012, Shape::Count)
        }
        "minContains" | "maxContains" => (Draft201909, Draft202012, Shape::Count),
        "pattern" => (Draft04, Draft202012, Shape::Pattern),
        "uniqueItems" => (Draft04, Draft202012, Shape::Flag),
        "required" if dialect == Draft04 => (Draft04, Draft04, Shape::SomeNames),
        "required" => (Draft06, Draft202012, Shape::Names),
        "type" => (Draft04, Draft202012, Shape::Types),
        "items" if dialect < Draft202012 => (Draft04, Draft201909, Shape::SchemaOrSchemas),
        "items" => (Draft202012, Draft202012, Shape::Schema),
        "prefixItems" => (Draft202012, Draft202012, Shape::Schemas),
        "additionalItems" => (Draft04, Draft201909, Shape::SchemaOrFlag),
        "additionalProperties" => (Draft04, Draft202012, Shape::SchemaOrFlag),
        "unevaluatedItems" | "unevaluatedProperties" | "contentSchema" => (Draft201909, Draft202012, Shape::Schema),
        "contains" | "propertyNames" => (Draft06, Draft202012, Shape::Schema),
        "not" => (Draft04, Draft202012, Shape::Schema),
        "allOf" | "anyOf" | "oneOf" => (Draft04, Draft202012, Shape::Schemas),
        "if" | "then" | "else" => (Draft07, Draft202012, Shape::Schema),
        _ => return None,
    };
    (since <= dialect && dialect <= until).then_some(shape)
}

/// What `value` should have been, if it is not of `shape`. Subschemas in it are not looked at.
pub(super) fn mismatch(dialect: Dialect, shape: Shape, value: &Value) -> Option<&'static str> {
    let (holds, expected) = match shape {
        Shape::Any => (true, "any value"),
        Shape::Text | Shape::Pattern => (value.is_string(), "a string"),
        Shape::Flag => (value.is_boolean(), "a boolean"),
        Shape::Count => (
            // Draft 4 knows integers by their spelling, later ones by their value.
            count(value).is_some() && (dialect > Dialect::Draft04 || is_spelled(value)),
            "an integer that is not negative",
        ),
        Shape::Number => (value.is_number(), "a number"),
        Shape::PositiveNumber => (value.as_f64().is_some_and(|n| n > 0.0), "a number above zero"),
        Shape::List => (value.is_array(), "an array"),
        Shape::Names => (names(value).is_some(), "an array of different strings"),
        Shape::SomeNames => {
            (names(value).is_some_and(|names| !names.is_empty()), "a non-empty array of different strings")
        }
        Shape::NamesMap => (
            value.as_object().is_some_and(|map| map.values().all(|value| names(value).is_some())),
            "an object of arrays of different strings",
        ),
        Shape::Types => (Types::parse(value).is_some(), "a type name or a list of different ones"),
        Shape::Identifier => (
            value.as_str().is_some_and(|id| id.strip_suffix('#').unwrap_or(id).bytes().all(|byte| byte != b'#')),
            "a string without a fragment",
        ),
        Shape::Anchor => (value.as_str().is_some_and(|name| is_anchor(dialect, name)), "a plain name"),
        Shape::Vocabulary => {
            (value.as_object().is_some_and(|map| map.values().all(Value::is_boolean)), "an object of booleans")
        }
        Shape::Schema | Shape::SchemaOrFlag => (true, "a schema"),
        Shape::Schemas => (value.as_array().is_some_and(|list| !list.is_empty()), "a non-empty array of schemas"),
        Shape::SchemaOrSchemas => {
            (!value.as_array().is_some_and(Vec::is_empty), "a schema or a non-empty array of schemas")
        }
        Shape::SchemaMap | Shape::PatternMap => (value.is_object(), "an object of schemas"),
        Shape::Dependencies => (
            value.as_object().is_some_and(|map| {
                map.values()
                    .filter(|value| value.is_array())
                    .all(|value| names(value).is_some_and(|names| dialect > Dialect::Draft04 || !names.is_empty()))
            }),
            "an object of schemas and arrays of different strings",
        ),
    };
    (!holds).then_some(expected)
}

/// The value of a [`Shape::Count`]; larger ones than fit are as good as the largest.
pub(super) fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let float = value.as_f64().filter(|n| *n >= 0.0 && n.fract() == 0.0)?;
        // The conversion saturates.
        Some(float as u64)
    })
}

fn is_spelled(value: &Value) -> bool {
    value.as_number().is_some_and(is_spelled_as_integer)
}

/// The value of a [`Shape::Names`].
fn names(value: &Value) -> Option<Vec<&str>> {
    let names: Vec<&str> = value.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?;
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair.first() != pair.last()).then_some(names)
}

fn is_anchor(dialect: Dialect, name: &str) -> bool {
    let first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' && dialect >= Dialect::Draft202012;
    let later = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'.')
            || byte == b':' && dialect < Dialect::Draft202012
    };
    name.bytes().next().is_some_and(first) && name.bytes().skip(1).all(later)
}

/// A set of instance types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const ALL: Self = Self(0x7F);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const STRING: Self = Self(4);
    pub(super) const ARRAY: Self = Self(8);
    pub(super) const OBJECT: Self = Self(16);
    /// Numbers with a fraction, or of another spelling than an integer where that counts.
    pub(super) const FRACTION: Self = Self(32);
    pub(super) const INTEGER: Self = Self(64);
    const NUMBER: Self = Self(32 | 64);

    /// The value of the keyword `type`.
    pub(super) fn parse(value: &Value) -> Option<Self> {
        let one = |value: &Value| Self::named(value.as_str()?);
        let Some(list) = value.as_array() else { return one(value) };
        let names = names(value).filter(|names| !names.is_empty())?;
        debug_assert_eq!(names.len(), list.len());
        list.iter().map(one).try_fold(Self(0), |all, one| Some(Self(all.0 | one?.0)))
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            "number" => Self::NUMBER,
            "integer" => Self::INTEGER,
            _ => return None,
        })
    }

    pub(super) fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The names, as a message shows them: `integer`, `string or null`.
    pub(super) fn describe(self) -> String {
        const NAMES: [(Types, &str); 7] = [
            (Types::NUMBER, "number"),
            (Types::INTEGER, "integer"),
            (Types::STRING, "string"),
            (Types::BOOLEAN, "boolean"),
            (Types::ARRAY, "array"),
            (Types::OBJECT, "object"),
            (Types::NULL, "null"),
        ];
        let mut left = self.0;
        let mut names = Vec::new();
        for (types, name) in NAMES {
            if left & types.0 == types.0 {
                names.push(name);
                left &= !types.0;
            }
        }
        names.join(" or ")
    }
}
