//! Annotations of arguments that travel as headers.

use super::*;
use crate::schema::mirror::MirrorError;
use crate::server::BuildError;

/// M-XMH-03, M-XMH-04, M-XMH-05, M-XMH-06, M-XMH-07, M-XMH-09, M-XMH-10: a server whose tool breaks a rule of
/// `x-mcp-header` is not built, and the error names the tool and the rule.
#[test]
fn m_xmh_03_to_10_a_server_with_a_wrong_annotation_is_not_built() {
    let build = |schema: &Value| {
        let tool = Tool::new("annotated").input_schema(schema.clone());
        Definition::builder("s", "1").tool(Tool::new("fine")).tool(tool).build()
    };
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let named = |name: Value| object(json!({"a": {"type": "string", "x-mcp-header": name}}));
    let typed = |kind: Value| object(json!({"a": {"type": kind, "x-mcp-header": "A"}}));
    let inside = |keyword: &str, schema: Value| {
        let mut schema = object(json!({"a": {"type": "object", keyword: schema}}));
        schema["$defs"] = json!({"d": {"type": "string"}});
        schema
    };
    let annotated = json!({"type": "string", "x-mcp-header": "A"});
    let nested = json!({"properties": {"b": annotated}});
    type Rule = fn(&MirrorError) -> bool;
    let token: Rule = |error| matches!(error, MirrorError::NotAToken { .. });
    let primitive: Rule = |error| matches!(error, MirrorError::NotPrimitive { .. });
    let reachable: Rule = |error| matches!(error, MirrorError::NotReachable { .. });
    let unique: Rule = |error| matches!(error, MirrorError::Duplicate { .. });
    let twice = json!({"a": {"type": "string", "x-mcp-header": "Region"},
        "n": {"type": "object", "properties": {"b": {"type": "string", "x-mcp-header": "REGION"}}}});
    for (schema, rule) in [
        (named(json!("")), token),
        (named(json!("a b")), token),
        (named(json!("a:b")), token),
        (named(json!("a(b)")), token),
        (named(json!("größe")), token),
        (named(json!("a\r\nb")), token),
        (named(json!("a\u{0}")), token),
        (named(json!("a\u{7f}")), token),
        (named(json!(1)), token),
        (typed(json!("number")), primitive),
        (typed(json!("object")), primitive),
        (typed(json!("array")), primitive),
        (typed(json!("null")), primitive),
        (typed(json!(["string", "number"])), primitive),
        (inside("items", annotated.clone()), reachable),
        (inside("prefixItems", json!([annotated])), reachable),
        (inside("contains", annotated.clone()), reachable),
        (inside("oneOf", json!([annotated])), reachable),
        (inside("anyOf", json!([annotated])), reachable),
        (inside("allOf", json!([nested])), reachable),
        (inside("not", nested.clone()), reachable),
        (inside("if", nested.clone()), reachable),
        (inside("then", nested.clone()), reachable),
        (inside("else", nested.clone()), reachable),
        (inside("additionalProperties", annotated.clone()), reachable),
        (inside("patternProperties", json!({"^x": annotated})), reachable),
        (inside("dependentSchemas", json!({"x": nested})), reachable),
        (json!({"properties": {"a": {"$ref": "#/$defs/d"}}, "$defs": {"d": annotated}}), reachable),
        (object(twice), unique),
    ] {
        match build(&schema) {
            Err(BuildError::Mirror { tool, error }) if tool == "annotated" && rule(&error) => {}
            other => panic!("{schema}: {other:?}"),
        }
    }
    for schema in [
        named(json!("!#$%&'*+-.^_`|~09azAZ")),
        typed(json!("string")),
        typed(json!("integer")),
        typed(json!("boolean")),
        object(
            json!({"a": {"type": "object", "properties": {"b": {"type": "object", "properties": {"c": annotated}}}}}),
        ),
    ] {
        assert!(build(&schema).is_ok(), "{schema}");
    }
}
