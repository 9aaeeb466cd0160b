//! `x-mcp-header`: arguments of a tool that travel as HTTP headers too.
//!
//! Specification: *Custom Headers from Tool Parameters* (`basic/transports/streamable-http`, 2026-07-28).
//!
//! An annotation stands in the schema of a property and names the header `Mcp-Param-{name}`:
//!
//! ```text
//! {"type":"object","properties":{"loc":{"properties":{"city":{"type":"string","x-mcp-header":"City"}}}}}
//!                     └────────────── path: loc, city ──────────────────────┘    header: Mcp-Param-City
//! ```
//!
//! It is legal only where a chain of `properties` leads from the root to it, on one of three types, with a name
//! that is a token and that no other annotation has. One that stands in any other schema of the document (an
//! item, an alternative, a definition) makes the whole tool unusable over HTTP. What looks like an annotation but
//! is data is none: a property *called* `x-mcp-header`, a member of a `default`, an `example`, a constant, or of
//! a keyword that JSON Schema does not know.
//!
//! Left to the caller: encoding of the value for a header, and which tools to hide.

use serde_json::{Map, Value};

use super::number;
use crate::json::Json;

/// The annotation.
pub(crate) const ANNOTATION: &str = "x-mcp-header";
/// Largest magnitude of a mirrored integer, 2⁵³ − 1: what every peer can represent.
const SAFE_INTEGER: i128 = (1 << 53) - 1;

/// An argument that is mirrored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// The name as it is written, to be put behind `Mcp-Param-`.
    pub header: String,
    /// The properties that lead from the root of the arguments to the value.
    pub path: Vec<String>,
    /// Its type.
    pub kind: MirrorKind,
}

/// The types that can be mirrored. `number` is not one of them: its spelling is not unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MirrorKind {
    /// `true` or `false`.
    Boolean,
    /// Decimal.
    Integer,
    /// As it is.
    String,
}

/// Why a schema's annotations, or an argument, cannot be mirrored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// Two annotations are the same when case is ignored.
    #[error("`x-mcp-header` {header:?} is used twice")]
    Duplicate {
        /// The name in lower case.
        header: String,
    },
    /// The value of the annotation is no non-empty token of visible ASCII characters.
    #[error("`x-mcp-header` of {path} is not a header name")]
    NotAToken {
        /// The annotated property.
        path: String,
    },
    /// The annotated property is no string, integer or boolean.
    #[error("`x-mcp-header` of {path} needs one of the types string, integer and boolean")]
    NotPrimitive {
        /// The annotated property.
        path: String,
    },
    /// The argument is not of the annotated type, or an integer beyond ±(2⁵³ − 1).
    #[error("argument {path} cannot be mirrored as a header")]
    NotMirrorable {
        /// The property.
        path: String,
    },
    /// An annotation stands where no chain of `properties` leads.
    #[error("`x-mcp-header` under `{keyword}` is not reachable through `properties` alone")]
    NotReachable {
        /// The keyword that breaks the chain, or `(root)` for the schema itself.
        keyword: &'static str,
    },
    /// The schema is no object.
    #[error("the schema of a tool is an object")]
    NotAnObject,
}

/// The mirrored arguments of an input schema, ordered by path.
///
/// # Errors
/// If any annotation breaks a rule: a client hides such a tool from an HTTP server's list, a server refuses it.
pub fn mirrors(schema: &Json) -> Result<Vec<Mirror>, MirrorError> {
    let Ok(Value::Object(root)) = schema.parse::<Value>() else { return Err(MirrorError::NotAnObject) };
    if root.contains_key(ANNOTATION) {
        return Err(MirrorError::NotReachable { keyword: "(root)" });
    }
    let mut collector = Collector { path: Vec::new(), mirrors: Vec::new() };
    collector.schema(&root, None)?;
    let mut names: Vec<String> = collector.mirrors.iter().map(|mirror| mirror.header.to_ascii_lowercase()).collect();
    names.sort_unstable();
    for pair in names.windows(2) {
        if let [first, second] = pair
            && first == second
        {
            return Err(MirrorError::Duplicate { header: second.clone() });
        }
    }
    Ok(collector.mirrors)
}

impl Mirror {
    /// The text of the mirrored value in `arguments`, not yet encoded for a header. `None` if the value is absent
    /// or `null`: then there is no header.
    ///
    /// # Errors
    /// If the value is of another type, or an integer that not every peer can represent.
    pub fn read(&self, arguments: &Map<String, Value>) -> Result<Option<String>, MirrorError> {
        let mut path = self.path.iter();
        let mut value = path.next().and_then(|name| arguments.get(name));
        for name in path {
            value = value.and_then(Value::as_object).and_then(|members| members.get(name));
        }
        let text = match (self.kind, value) {
            (_, None | Some(Value::Null)) => return Ok(None),
            (MirrorKind::Boolean, Some(Value::Bool(value))) => Some(value.to_string()),
            (MirrorKind::String, Some(Value::String(value))) => Some(value.clone()),
            (MirrorKind::Integer, Some(Value::Number(value))) => {
                number::exact(value).filter(|n| n.abs() <= SAFE_INTEGER).map(|n| n.to_string())
            }
            _ => None,
        };
        text.map(Some).ok_or_else(|| MirrorError::NotMirrorable { path: self.path.join(".") })
    }

    /// Whether a header, decoded, says the same as the text of a value: integers are compared by value.
    #[must_use]
    pub fn agrees(&self, header: &str, text: &str) -> bool {
        let same_number = || {
            let number: serde_json::Number = serde_json::from_str(header).ok()?;
            Some(number::exact(&number)? == text.parse().ok()?)
        };
        header == text || (self.kind == MirrorKind::Integer && same_number() == Some(true))
    }
}

struct Collector {
    path: Vec<String>,
    mirrors: Vec<Mirror>,
}

/// Where the subschemas of a keyword are.
#[derive(Clone, Copy)]
enum Holds {
    One,
    List,
    Map,
}

impl Collector {
    /// Looks at a schema and all schemas in it. `broken` names the first keyword on the way that is not
    /// `properties`.
    fn schema(&mut self, schema: &Map<String, Value>, broken: Option<&'static str>) -> Result<(), MirrorError> {
        for (keyword, value) in schema {
            let Some((keyword, holds)) = applicator(keyword) else { continue };
            if keyword == "properties" && broken.is_none() {
                for (name, property) in value.as_object().into_iter().flatten() {
                    self.path.push(name.clone());
                    self.property(property)?;
                    self.path.pop();
                }
                continue;
            }
            let broken = broken.or(Some(keyword));
            // Some keywords hold one schema or a list of them, depending on the dialect.
            match (holds, value) {
                (Holds::Map, Value::Object(map)) => {
                    map.values().try_for_each(|schema| self.off_chain(schema, broken))?
                }
                (Holds::One | Holds::List, Value::Array(list)) => {
                    list.iter().try_for_each(|schema| self.off_chain(schema, broken))?;
                }
                (_, value) => self.off_chain(value, broken)?,
            }
        }
        Ok(())
    }

    fn property(&mut self, property: &Value) -> Result<(), MirrorError> {
        let Value::Object(schema) = property else { return Ok(()) };
        if let Some(annotation) = schema.get(ANNOTATION) {
            let path = || self.path.join(".");
            let header = annotation.as_str().filter(|name| is_token(name));
            let header = header.ok_or_else(|| MirrorError::NotAToken { path: path() })?.to_owned();
            let kind = kind_of(schema.get("type")).ok_or_else(|| MirrorError::NotPrimitive { path: path() })?;
            self.mirrors.push(Mirror { header, path: self.path.clone(), kind });
        }
        self.schema(schema, None)
    }

    fn off_chain(&mut self, schema: &Value, broken: Option<&'static str>) -> Result<(), MirrorError> {
        let Value::Object(schema) = schema else { return Ok(()) };
        if schema.contains_key(ANNOTATION) {
            return Err(MirrorError::NotReachable { keyword: broken.unwrap_or("(root)") });
        }
        self.schema(schema, broken)
    }
}

/// The keywords of any dialect that hold schemas.
fn applicator(keyword: &str) -> Option<(&'static str, Holds)> {
    const KEYWORDS: [(&str, Holds); 22] = [
        ("$defs", Holds::Map),
        ("additionalItems", Holds::One),
        ("additionalProperties", Holds::One),
        ("allOf", Holds::List),
        ("anyOf", Holds::List),
        ("contains", Holds::One),
        ("contentSchema", Holds::One),
        ("definitions", Holds::Map),
        ("dependencies", Holds::Map),
        ("dependentSchemas", Holds::Map),
        ("else", Holds::One),
        ("if", Holds::One),
        ("items", Holds::One),
        ("not", Holds::One),
        ("oneOf", Holds::List),
        ("patternProperties", Holds::Map),
        ("prefixItems", Holds::List),
        ("properties", Holds::Map),
        ("propertyNames", Holds::One),
        ("then", Holds::One),
        ("unevaluatedItems", Holds::One),
        ("unevaluatedProperties", Holds::One),
    ];
    KEYWORDS.iter().find(|(name, _)| *name == keyword).map(|(name, holds)| (*name, *holds))
}

/// The one primitive type that `type` allows; `null` beside it means that the header may be absent.
fn kind_of(types: Option<&Value>) -> Option<MirrorKind> {
    let named = |name: &str| {
        Some(match name {
            "boolean" => MirrorKind::Boolean,
            "integer" => MirrorKind::Integer,
            "string" => MirrorKind::String,
            _ => return None,
        })
    };
    match types? {
        Value::String(name) => named(name),
        Value::Array(names) => {
            let mut names = names.iter().filter(|name| name.as_str() != Some("null"));
            let only = names.next()?.as_str()?;
            names.next().is_none().then(|| named(only)).flatten()
        }
        _ => None,
    }
}

/// `1*tchar` of RFC 9110.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(schema: Value) -> Result<Vec<Mirror>, MirrorError> {
        mirrors(&Json::from(schema))
    }

    fn in_properties(property: Value) -> Value {
        json!({"type": "object", "properties": {"a": property}})
    }

    /// M-XMH-02, -09: the chain of properties is the path.
    #[test]
    fn nested_properties_are_reachable() {
        let schema = in_properties(json!({"type": "object", "properties": {
            "city": {"type": "string", "x-mcp-header": "City"},
            "days": {"type": ["integer", "null"], "x-mcp-header": "X-Days"},
            "now": {"type": "boolean", "x-mcp-header": "now!"},
        }}));
        let found = of(schema).expect("valid annotations");
        let shown: Vec<_> =
            found.iter().map(|mirror| (mirror.header.as_str(), mirror.path.join("/"), mirror.kind)).collect();
        assert_eq!(
            shown,
            [
                ("City", "a/city".to_owned(), MirrorKind::String),
                ("X-Days", "a/days".to_owned(), MirrorKind::Integer),
                ("now!", "a/now".to_owned(), MirrorKind::Boolean),
            ]
        );
    }

    /// U-46 A–J; M-XMH-03 to -10.
    #[test]
    fn u46_invalid_places_types_and_names() {
        let annotated = json!({"type": "string", "x-mcp-header": "X"});
        let place = |keyword| Err(MirrorError::NotReachable { keyword });
        let name = || Err(MirrorError::NotAToken { path: "a".to_owned() });
        let kind = || Err(MirrorError::NotPrimitive { path: "a".to_owned() });
        for (case, schema, expected) in [
            ("A", in_properties(json!({"type": "number", "x-mcp-header": "X"})), kind()),
            ("A2", in_properties(json!({"type": "object", "x-mcp-header": "X"})), kind()),
            ("A3", in_properties(json!({"type": "null", "x-mcp-header": "X"})), kind()),
            ("A4", in_properties(json!({"type": ["string", "integer"], "x-mcp-header": "X"})), kind()),
            ("A5", in_properties(json!({"x-mcp-header": "X"})), kind()),
            ("B", in_properties(json!({"type": "array", "items": annotated})), place("items")),
            ("B2", in_properties(json!({"type": "array", "prefixItems": [annotated]})), place("prefixItems")),
            ("C", in_properties(json!({"oneOf": [annotated]})), place("oneOf")),
            ("C2", in_properties(json!({"allOf": [{"properties": {"b": annotated}}]})), place("allOf")),
            ("D", json!({"properties": {"a": {"$ref": "#/$defs/d"}}, "$defs": {"d": annotated}}), place("$defs")),
            ("E", json!({"if": {"properties": {"a": annotated}}}), place("if")),
            ("E2", json!({"then": {"properties": {"a": annotated}}}), place("then")),
            (
                "F",
                json!({"properties": {
                    "a": {"type": "string", "x-mcp-header": "A"},
                    "n": {"properties": {"b": {"type": "string", "x-mcp-header": "a"}}},
                }}),
                Err(MirrorError::Duplicate { header: "a".to_owned() }),
            ),
            ("G", in_properties(json!({"type": "string", "x-mcp-header": "a/b"})), name()),
            ("G2", in_properties(json!({"type": "string", "x-mcp-header": ""})), name()),
            ("G3", in_properties(json!({"type": "string", "x-mcp-header": "a\r\nb"})), name()),
            ("G4", in_properties(json!({"type": "string", "x-mcp-header": "é"})), name()),
            ("G5", in_properties(json!({"type": "string", "x-mcp-header": 7})), name()),
            ("H", json!({"properties": {"x-mcp-header": {"type": "string"}}}), Ok(vec![])),
            (
                "I",
                in_properties(json!({
                    "type": "object",
                    "default": {"x-mcp-header": "a/b"},
                    "examples": [{"x-mcp-header": "a/b"}],
                    "const": {"properties": {"x-mcp-header": 1}},
                    "x-unknown": {"x-mcp-header": "a/b"},
                })),
                Ok(vec![]),
            ),
            (
                "J",
                json!({"properties": {"loc": {"properties": {"city": annotated}}}}),
                Ok(vec![Mirror {
                    header: "X".to_owned(),
                    path: vec!["loc".to_owned(), "city".to_owned()],
                    kind: MirrorKind::String,
                }]),
            ),
            ("root", json!({"type": "object", "x-mcp-header": "X"}), place("(root)")),
            ("additional", json!({"additionalProperties": annotated}), place("additionalProperties")),
        ] {
            assert_eq!(of(schema), expected, "{case}");
        }
        assert_eq!(mirrors(&Json::NULL), Err(MirrorError::NotAnObject));
    }

    /// M-XMH-08, -11, -23, -24, M-HDR-18: values at the exact path, in a form that every peer can represent.
    #[test]
    fn values_are_read_at_the_exact_path() {
        let mirror = |kind| Mirror { header: "X".to_owned(), path: vec!["a".to_owned(), "b".to_owned()], kind };
        let read = |kind, value: Value| {
            let Value::Object(arguments) = json!({"a": {"b": value}}) else { unreachable!() };
            mirror(kind).read(&arguments)
        };
        let refused = || Err(MirrorError::NotMirrorable { path: "a.b".to_owned() });
        let text = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(read(MirrorKind::String, json!(" é\n")), text(" é\n"));
        assert_eq!(read(MirrorKind::Boolean, json!(true)), text("true"));
        assert_eq!(read(MirrorKind::Integer, json!(-7)), text("-7"));
        assert_eq!(read(MirrorKind::Integer, json!(42.0)), text("42"));
        assert_eq!(read(MirrorKind::Integer, json!(9_007_199_254_740_991_i64)), text("9007199254740991"));
        assert_eq!(read(MirrorKind::Integer, json!(9_007_199_254_740_992_i64)), refused());
        assert_eq!(read(MirrorKind::Integer, json!(-9_007_199_254_740_992_i64)), refused());
        assert_eq!(read(MirrorKind::Integer, json!(1.5)), refused());
        assert_eq!(read(MirrorKind::String, json!(1)), refused());
        assert_eq!(read(MirrorKind::String, json!(null)), Ok(None));
        assert_eq!(mirror(MirrorKind::String).read(&Map::new()), Ok(None));
        let integer = mirror(MirrorKind::Integer);
        for (header, agrees) in [
            ("42", true),
            ("42.0", true),
            ("4.2e1", true),
            ("43", false),
            ("42.5", false),
            ("4e1x", false),
            ("", false),
        ] {
            assert_eq!(integer.agrees(header, "42"), agrees, "{header}");
        }
        assert!(!mirror(MirrorKind::String).agrees("42.0", "42"), "text is compared as text");
        let Value::Object(flat) = json!({"a": "text"}) else { unreachable!() };
        assert_eq!(mirror(MirrorKind::String).read(&flat), Ok(None));
    }
}
