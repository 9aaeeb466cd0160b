//! How the client answers questions: as a user would who agrees to everything and fills in what must be filled in.

use mcp_sansio_io::client::ClientBuilder;
use mcp_sansio_io::core::json::Json;
use mcp_sansio_io::core::model::{CreateMessageResult, ElicitResult, Root};
use serde_json::{Map, Value, json};

/// Declares all that a client can answer, and answers it.
pub(super) fn add(client: ClientBuilder) -> ClientBuilder {
    client
        .apply_defaults(true)
        .on_form(|form, _| async move { ElicitResult::accept(fill(&form.requested_schema)) })
        .on_url(|_, _| async { ElicitResult::accept_url() })
        .on_sample(|_, _| async { CreateMessageResult::assistant("a-model", "This is what the model says.") })
        .sampling_tools()
        .sampling_context()
        .on_roots(|| vec![Root::new("file:///conformance").name("conformance")])
}

/// Content for a form. Fields with a default are left to the library, which fills them in; the others get a value of
/// their type.
fn fill(schema: &Json) -> Json {
    let schema: Value = schema.parse().unwrap_or_default();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let content: Map<String, Value> = properties
        .into_iter()
        .filter(|(_, property)| property.get("default").is_none())
        .map(|(name, property)| (name, value_of(&property)))
        .collect();
    Json::from(Value::Object(content))
}

fn value_of(property: &Value) -> Value {
    let first = |choices: &Value| choices.get(0).cloned();
    let constant = |choices: &Value| choices.get(0).map(|choice| choice["const"].clone());
    let items = &property["items"];
    let choice = first(&property["enum"]).or_else(|| constant(&property["oneOf"]));
    let many = first(&items["enum"]).or_else(|| constant(&items["anyOf"]));
    match property["type"].as_str() {
        _ if choice.is_some() => choice.unwrap_or_default(),
        Some("array") => Value::Array(many.into_iter().collect()),
        Some("boolean") => json!(true),
        Some("integer" | "number") => property.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        _ => json!("an answer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_filled_in_by_type_and_defaults_left_out() {
        let schema = json!({"type": "object", "properties": {
            "sure": {"type": "boolean"},
            "name": {"type": "string"},
            "age": {"type": "integer", "minimum": 18},
            "size": {"type": "string", "enum": ["S", "M"]},
            "color": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]},
            "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}},
            "city": {"type": "string", "default": "Bern"},
        }});
        let content: Value = fill(&Json::from(schema)).parse().unwrap();
        let expected = json!({
            "sure": true, "name": "an answer", "age": 18, "size": "S", "color": "r", "days": ["mon"],
        });
        assert_eq!(content, expected);
    }
}
