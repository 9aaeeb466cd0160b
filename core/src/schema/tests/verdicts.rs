//! Keyword by keyword, where the verdict is easy to get wrong.

use serde_json::json;

use super::{accepts, check, compile};
use crate::json::Json;
use crate::schema::{Schema, SchemaLimits, ValidateError};

#[test]
fn values_compare_as_values() {
    check(json!({"const": 1}), &[json!(1), json!(1.0)], &[json!(true), json!("1"), json!(1.5)]);
    check(
        json!({"enum": [[false], {"a": 0}]}),
        &[json!([false]), json!({"a": 0.0})],
        &[json!([0]), json!({"a": false})],
    );
    check(json!({"enum": []}), &[], &[json!(null)]);
    check(json!({"const": "a", "enum": ["a", "b"]}), &[json!("a")], &[json!("b")]);
    check(json!({"uniqueItems": true}), &[json!([1, true, "1", [1]])], &[json!([1, 1.0]), json!([{"a": 1}, {"a": 1}])]);
    check(json!({"maximum": 300}), &[json!(300.0)], &[json!(300.5)]);
    check(
        json!({"minimum": 9_007_199_254_740_993_u64}),
        &[json!(9_007_199_254_740_993_u64)],
        &[json!(9_007_199_254_740_992_u64)],
    );
}

#[test]
fn lengths_count_characters() {
    check(json!({"maxLength": 2}), &[json!("💩💩"), json!("é"), json!(100)], &[json!("abc")]);
    check(json!({"minLength": 2.0}), &[json!("💩💩")], &[json!("💩")]);
}

#[test]
fn keywords_concern_their_own_types_only() {
    let everything = json!({
        "minimum": 5, "minLength": 5, "pattern": "^x", "minItems": 5, "items": false, "required": ["x"],
        "properties": {"x": false}, "contains": false, "propertyNames": false,
    });
    check(everything, &[json!(null), json!(true), json!(7)], &[json!(1), json!("a"), json!([]), json!({})]);
}

#[test]
fn items_and_what_they_contain() {
    check(
        json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}),
        &[json!([]), json!(["a"]), json!(["a", 1, 2])],
        &[json!([1]), json!(["a", "b"])],
    );
    check(json!({"contains": {"type": "null"}}), &[json!([1, null])], &[json!([]), json!([1])]);
    check(
        json!({"contains": {"type": "null"}, "minContains": 2, "maxContains": 3}),
        &[json!([null, null]), json!([null, 1, null, null])],
        &[json!([null]), json!([null, null, null, null])],
    );
    check(json!({"contains": false, "minContains": 0}), &[json!([]), json!([1])], &[]);
}

#[test]
fn members_by_name_and_pattern() {
    check(
        json!({"properties": {"a": {"type": "integer"}}, "patternProperties": {"^x-": {"type": "string"}, "b$": {}}, "additionalProperties": false}),
        &[json!({}), json!({"a": 1, "x-y": "s", "bb": 1})],
        &[json!({"a": "s"}), json!({"x-y": 1}), json!({"c": 1})],
    );
    check(
        json!({"properties": {"x-a": {"maxLength": 1}}, "patternProperties": {"^x-": {"minLength": 1}}}),
        &[json!({"x-a": "a"})],
        &[json!({"x-a": ""}), json!({"x-a": "ab"})],
    );
    check(
        json!({"dependentSchemas": {"card": {"required": ["address"]}}, "dependentRequired": {"a": ["b"]}}),
        &[json!({"card": 1, "address": 1}), json!({"b": 1})],
        &[json!({"card": 1}), json!({"a": 1})],
    );
}

#[test]
fn unevaluated_members() {
    let by_branch = json!({
        "properties": {"a": true},
        "anyOf": [{"properties": {"b": {"type": "integer"}}, "required": ["b"]}, {"properties": {"c": true}, "required": ["c"]}],
        "unevaluatedProperties": false,
    });
    check(
        by_branch,
        &[json!({"a": 1, "b": 1}), json!({"b": 1, "c": 1})],
        // `b` is evaluated by a branch that does not match, which does not count.
        &[json!({"a": 1}), json!({"b": "x", "c": 1}), json!({"b": 1, "d": 1})],
    );
    check(
        json!({"if": {"properties": {"k": {"const": 1}}, "required": ["k"]}, "then": {"properties": {"t": true}}, "else": {"properties": {"e": true}}, "unevaluatedProperties": false}),
        &[json!({"k": 1, "t": 1}), json!({"e": 1})],
        &[json!({"k": 1, "e": 1}), json!({"k": 2, "e": 1}), json!({"t": 1})],
    );
    check(
        json!({"not": {"not": {"properties": {"a": true}}}, "unevaluatedProperties": false}),
        &[json!({})],
        &[json!({"a": 1})],
    );
    check(
        json!({"allOf": [{"unevaluatedProperties": {"type": "integer"}}], "unevaluatedProperties": false}),
        &[json!({"a": 1})],
        &[json!({"a": "x"})],
    );
    check(
        json!({"properties": {"a": {"unevaluatedProperties": false}}, "dependentSchemas": {"a": {"properties": {"b": true}}}, "unevaluatedProperties": false}),
        &[json!({"a": {}, "b": 1})],
        &[json!({"b": 1}), json!({"a": {"c": 1}})],
    );
}

#[test]
fn unevaluated_items() {
    check(
        json!({"prefixItems": [{}], "contains": {"type": "string"}, "unevaluatedItems": {"type": "null"}}),
        &[json!([1, "a", null]), json!(["a"])],
        &[json!([1, "a", 2])],
    );
    check(json!({"allOf": [{"items": true}], "unevaluatedItems": false}), &[json!([1, 2])], &[]);
    check(
        json!({"oneOf": [{"prefixItems": [{"const": 1}]}, {"prefixItems": [{"const": 2}, {}]}], "unevaluatedItems": false}),
        &[json!([1]), json!([2, 3])],
        &[json!([1, 3]), json!([3])],
    );
    // 2019-09 does not count what `contains` finds.
    check(
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "contains": {"const": 1}, "unevaluatedItems": false}),
        &[],
        &[json!([1])],
    );
}

#[test]
fn booleans_are_schemas() {
    check(json!(true), &[json!(null), json!({})], &[]);
    check(json!(false), &[], &[json!(null), json!({})]);
    check(json!({"properties": {"a": false}}), &[json!({})], &[json!({"a": 1})]);
}

#[test]
fn text_is_read_and_checked() {
    let schema = compile(&json!({"type": "object"})).expect("valid");
    let good = Json::from_text(" {\"a\": [1e2]} ").expect("JSON");
    assert_eq!(schema.validate_json(&good), Ok(json!({"a": [100.0]})));
    assert!(matches!(schema.validate_json(&Json::NULL), Err(ValidateError::Invalid(_))));
    let unreadable = Json::from_text("{\"a\":1e999}").expect("JSON");
    assert_eq!(schema.validate_json(&unreadable), Err(ValidateError::Unreadable));
    assert!(Schema::compile(&unreadable, &SchemaLimits::default()).is_err());
}

/// Shared between threads by reference, as a definition is.
#[test]
fn schemas_are_send_and_sync() {
    fn shared<T: Send + Sync + 'static>(_: &T) {}
    shared(&compile(&json!({"pattern": "a"})).expect("valid"));
}

/// Schemas as tools have them: nested objects, lists of records, optional members, a union told by a constant.
#[test]
fn schemas_of_real_tools() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "edits": {"type": "array", "items": {"$ref": "#/definitions/Edit"}, "minItems": 1},
            "dryRun": {"type": "boolean", "default": false},
            "target": {"oneOf": [
                {"type": "object", "properties": {"kind": {"const": "path"}, "path": {"type": "string"}}, "required": ["kind", "path"], "additionalProperties": false},
                {"type": "object", "properties": {"kind": {"const": "id"}, "id": {"type": "integer"}}, "required": ["kind", "id"], "additionalProperties": false},
            ]},
        },
        "required": ["edits"],
        "additionalProperties": false,
        "definitions": {"Edit": {"type": "object", "properties": {"old": {"type": "string"}, "new": {"type": "string"}}, "required": ["old", "new"]}},
    });
    let edits = json!([{"old": "a", "new": "b"}]);
    check(
        schema,
        &[json!({"edits": edits}), json!({"edits": edits, "dryRun": true, "target": {"kind": "id", "id": 3}})],
        &[
            json!({}),
            json!({"edits": []}),
            json!({"edits": [{"old": "a"}]}),
            json!({"edits": edits, "target": {"kind": "id", "path": "x"}}),
            json!({"edits": edits, "other": 1}),
        ],
    );
    assert!(accepts(&json!({"type": "object"}), &json!({"anything": 1})));
}
