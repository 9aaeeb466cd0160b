//! A JSON Schema in a form that people can read.
//!
//! ```text
//!   city: string (required) — The city to look at
//!   days: integer, 1 to 5
//!   unit: "C" | "F"
//!   place: object
//!     lat: number (required)
//! ```

use serde_json::{Map, Value};

/// How deep objects are shown.
const DEPTH: usize = 5;

/// The properties of an object schema, one line each, indented by `indent` spaces.
pub(crate) fn properties(schema: &Value, indent: usize) -> String {
    let mut text = String::new();
    write_properties(&mut text, schema, schema, indent, 0);
    text
}

fn write_properties(text: &mut String, root: &Value, schema: &Value, indent: usize, depth: usize) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let required = schema.get("required").and_then(Value::as_array);
    for (name, property) in properties {
        let property = resolve(root, property);
        let must = required.is_some_and(|names| names.iter().any(|known| known == name.as_str()));
        text.push_str(&" ".repeat(indent));
        text.push_str(&format!("{name}: {}", kind(root, property, 0)));
        if must {
            text.push_str(" (required)");
        }
        if let Some(default) = property.get("default") {
            text.push_str(&format!(" [default {default}]"));
        }
        if let Some(description) = property.get("description").and_then(Value::as_str) {
            text.push_str(&format!(" — {}", super::render::one_line(description)));
        }
        text.push('\n');
        if depth < DEPTH {
            write_properties(text, root, property, indent + 2, depth + 1);
            if let Some(items) = property.get("items") {
                write_properties(text, root, resolve(root, items), indent + 2, depth + 1);
            }
        }
    }
}

/// The type of a value, in a few words.
fn kind(root: &Value, schema: &Value, depth: usize) -> String {
    if depth > DEPTH {
        return "…".into();
    }
    let inner = |schema: &Value| kind(root, resolve(root, schema), depth + 1);
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(keyword).and_then(Value::as_array) {
            return choices.iter().map(inner).collect::<Vec<_>>().join(" | ");
        }
    }
    let types = match schema.get("type") {
        Some(Value::String(one)) => one.clone(),
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        _ => "any".to_owned(),
    };
    let mut text = match schema.get("items") {
        Some(items) if types == "array" => format!("array of {}", inner(items)),
        _ => types,
    };
    if let Some(format) = schema.get("format").and_then(Value::as_str) {
        text.push_str(&format!(" <{format}>"));
    }
    if let Some(map) = schema.as_object() {
        text.push_str(&bounds(map));
    }
    text
}

fn bounds(schema: &Map<String, Value>) -> String {
    let range = |low: &str, high: &str, what: &str| match (schema.get(low), schema.get(high)) {
        (Some(low), Some(high)) => format!(", {low} to {high}{what}"),
        (Some(low), None) => format!(", at least {low}{what}"),
        (None, Some(high)) => format!(", at most {high}{what}"),
        (None, None) => String::new(),
    };
    let mut text = range("minimum", "maximum", "");
    text.push_str(&range("minLength", "maxLength", " characters"));
    text.push_str(&range("minItems", "maxItems", " items"));
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        text.push_str(&format!(", matching {pattern}"));
    }
    text
}

/// Follows a reference within the document, once.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
    target.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}
