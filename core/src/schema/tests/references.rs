//! References within the document, and out of it. U-37; O15 (3); M-JS-07, -08, -10.

use serde_json::json;

use super::{check, compile};
use crate::schema::SchemaError;
use crate::schema::build::IN_PLACE_CHAIN;

const DRAFT_07: &str = "http://json-schema.org/draft-07/schema#";

/// U-37, O15 (3): a foreign reference makes the schema unusable; there is nothing in this crate that could load it.
#[test]
fn u37_foreign_references_are_refused_by_name() {
    for reference in [
        "http://127.0.0.1:9/s.json",
        "https://json-schema.org/draft/2020-12/schema",
        "other.json#/$defs/a",
        "file:///etc/passwd",
        "//example.com/x",
        "urn:uuid:deadbeef",
    ] {
        for schema in [
            json!({"$ref": reference}),
            json!({"type": "object", "properties": {"u": {"$ref": reference}}}),
            json!({"$defs": {"unused": {}}, "items": {"anyOf": [{"$dynamicRef": reference}]}}),
            json!({"$schema": DRAFT_07, "dependencies": {"a": {"$ref": reference}}}),
        ] {
            match compile(&schema) {
                Err(SchemaError::RemoteReference { reference: found, .. }) => assert_eq!(found, reference),
                other => panic!("{schema}: {other:?}"),
            }
        }
    }
    let error = compile(&json!({"properties": {"u": {"$ref": "http://127.0.0.1:9/s.json"}}})).expect_err("foreign");
    let text = "schema at \"/properties/u\" refers to \"http://127.0.0.1:9/s.json\" outside of its document";
    assert_eq!(error.to_string(), text);
}

/// M-JS-10: what does not resolve is refused, not treated as "anything goes".
#[test]
fn m_js_10_unresolved_references_are_refused() {
    for reference in ["#/$defs/missing", "#missing", "#/properties/a/0", "#/allOf/7", "#/allOf/-1", "#a/b"] {
        let schema = json!({"allOf": [{"$ref": reference}], "$defs": {"here": {}}});
        let expected =
            SchemaError::UnresolvedReference { reference: reference.to_owned(), location: "/allOf/0".into() };
        assert_eq!(compile(&schema).expect_err(reference), expected);
    }
    // What a pointer leads to must be a schema.
    let schema = json!({"$ref": "#/title", "title": "text"});
    assert!(matches!(compile(&schema), Err(SchemaError::NotASchema { .. })));
}

#[test]
fn pointers_names_and_anchors_resolve() {
    check(
        json!({
            "properties": {
                "defs": {"$ref": "#/$defs/a~1b%25~0"},
                "list": {"$ref": "#/$defs/list/prefixItems/1"},
                "anchor": {"$ref": "#number"},
                "unknown": {"$ref": "#/x-parts/integer"},
                "self": {"$ref": "#"},
            },
            "x-parts": {"integer": {"type": "integer"}},
            "$defs": {
                "a/b%~": {"type": "string"},
                "list": {"prefixItems": [{}, {"type": "null"}]},
                "n": {"$anchor": "number", "type": "number"},
            },
        }),
        &[json!({"defs": "x", "list": null, "anchor": 1.5, "unknown": 1, "self": {"anchor": 2}})],
        &[
            json!({"defs": 1}),
            json!({"list": 1}),
            json!({"anchor": "x"}),
            json!({"unknown": 1.5}),
            json!({"self": {"self": {"anchor": "x"}}}),
        ],
    );
    check(
        json!({
            "$id": "https://example.com/root.json",
            "properties": {
                "a": {"$ref": "part.json"},
                "b": {"$ref": "https://example.com/root.json#/$defs/part/$defs/inner"},
                "c": {"$ref": "sub/deep.json#x"},
                "d": {"$ref": "/sub/deep.json"},
            },
            "$defs": {
                "part": {"$id": "part.json", "$ref": "#/$defs/inner", "$defs": {"inner": {"type": "string"}}},
                "deep": {"$id": "sub/deep.json", "items": {"$ref": "../part.json"}, "not": {"$anchor": "x", "type": "null"}},
            },
        }),
        &[json!({"a": "x", "b": "x", "c": null, "d": ["x"]})],
        &[json!({"a": 1}), json!({"b": 1}), json!({"c": 1}), json!({"d": [1]}), json!({"d": null})],
    );
    check(
        json!({"$schema": DRAFT_07, "definitions": {"a": {"$id": "#name", "type": "integer"}}, "items": {"$ref": "#name"}}),
        &[json!([1])],
        &[json!(["x"])],
    );
    check(
        json!({
            "$schema": "http://json-schema.org/draft-04/schema#",
            "id": "http://x/root",
            "definitions": {"a": {"id": "child", "type": "integer"}},
            "items": {"$ref": "http://x/child"},
        }),
        &[json!([1])],
        &[json!(["x"])],
    );
}

/// A name that stands where no schema does names nothing.
#[test]
fn names_in_data_are_no_names() {
    let schema = json!({
        "enum": [{"$id": "https://example.com/a", "type": "string"}],
        "not": {"$ref": "https://example.com/a"},
    });
    assert!(matches!(compile(&schema), Err(SchemaError::RemoteReference { .. })));
    // A property that is called like a keyword is no keyword.
    check(
        json!({"properties": {"$ref": {"type": "string"}, "$id": {"type": "integer"}}}),
        &[json!({"$ref": "x", "$id": 1})],
        &[json!({"$ref": 1}), json!({"$id": "x"})],
    );
}

#[test]
fn dynamic_references_lead_to_the_outermost_anchor() {
    let tree = json!({
        "$id": "https://example.com/tree",
        "$dynamicAnchor": "node",
        "type": "object",
        "properties": {"data": true, "children": {"type": "array", "items": {"$dynamicRef": "#node"}}},
    });
    let misspelt = json!({"children": [{"daat": 1}]});
    check(tree.clone(), &[misspelt.clone(), json!({"children": [{"data": 1}]})], &[json!({"children": [1]})]);
    let strict = json!({
        "$id": "https://example.com/strict-tree",
        "$dynamicAnchor": "node",
        "$ref": "tree",
        "unevaluatedProperties": false,
        "$defs": {"tree": tree},
    });
    check(strict, &[json!({"children": [{"data": 1}]})], &[misspelt]);
    let recursive = json!({
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$id": "http://x/strict",
        "$recursiveAnchor": true,
        "$ref": "tree",
        "unevaluatedProperties": false,
        "$defs": {"tree": {
            "$id": "tree",
            "$recursiveAnchor": true,
            "properties": {"data": true, "child": {"$recursiveRef": "#"}},
        }},
    });
    check(recursive, &[json!({"child": {"data": 1}})], &[json!({"child": {"daat": 1}})]);
}

/// Circles that consume nothing have no meaning; those that descend do.
#[test]
fn circles_are_refused_where_they_never_end() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}}),
        json!({"anyOf": [{"type": "null"}, {"not": {"$ref": "#"}}]}),
        json!({"if": {"then": {"$ref": "#"}, "if": true}}),
        json!({"dependentSchemas": {"a": {"$ref": "#"}}}),
        json!({"properties": {"a": {"$ref": "#/properties/a"}}}),
    ] {
        assert!(matches!(compile(&schema), Err(SchemaError::CircularReference { .. })), "{schema}");
    }
    let list = json!({"type": ["object", "null"], "properties": {"next": {"$ref": "#"}}});
    check(list, &[json!({"next": {"next": null}})], &[json!({"next": {"next": 1}})]);
}

/// A long chain of references takes stack when it is followed.
#[test]
fn chains_are_bounded() {
    let chain = |length: usize| {
        let link = |n: usize| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}));
        let mut defs: serde_json::Map<_, _> = (0..length).map(link).collect();
        defs.insert(format!("d{length}"), json!({"type": "integer"}));
        json!({"$ref": "#/$defs/d0", "$defs": defs})
    };
    check(chain(IN_PLACE_CHAIN - 2), &[json!(1)], &[json!("x")]);
    for length in [IN_PLACE_CHAIN, 9_000] {
        let error = compile(&chain(length)).expect_err("too long");
        assert!(matches!(error, SchemaError::ChainTooLong { limit: IN_PLACE_CHAIN, .. }), "{error}");
    }
}

#[test]
fn long_references_are_refused() {
    let schema = json!({"$ref": format!("x{}", "y".repeat(5_000))});
    assert!(matches!(compile(&schema), Err(SchemaError::ReferenceTooLong { limit: 4_096, .. })));
    // Names relative to long names are long.
    let name = format!("{}/", "y".repeat(1_500));
    let schema = json!({"$id": name, "not": {"$id": name, "not": {"$id": name}}});
    assert!(matches!(compile(&schema), Err(SchemaError::ReferenceTooLong { limit: 4_096, .. })));
}
