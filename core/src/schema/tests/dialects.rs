//! Which dialect a schema is read in. O15; M-JS-01 to -06.

use serde_json::{Value, json};

use super::{accepts, check, compile};
use crate::schema::{Dialect, SchemaError};

const DRAFT_04: &str = "http://json-schema.org/draft-04/schema#";
const DRAFT_07: &str = "http://json-schema.org/draft-07/schema#";
const DRAFT_2019: &str = "https://json-schema.org/draft/2019-09/schema";

/// M-JS-01, -02: without `$schema`, 2020-12.
#[test]
fn m_js_01_the_default_is_2020_12() {
    let schema = json!({"prefixItems": [{"type": "integer"}], "items": false});
    assert_eq!(compile(&schema).expect("valid").dialect(), Dialect::Draft202012);
    check(schema, &[json!([1]), json!([])], &[json!(["x"]), json!([1, 2])]);
}

/// O15; M-JS-03: draft-07 is obeyed, not read as 2020-12 (where a list under `items` is no schema).
#[test]
fn o15_a_declared_dialect_is_obeyed() {
    let pair = json!({
        "$schema": DRAFT_07,
        "type": "object",
        "properties": {"pair": {"type": "array", "items": [{"type": "integer"}, {"type": "string"}]}},
        "required": ["pair"],
    });
    check(pair.clone(), &[json!({"pair": [1, "x"]}), json!({"pair": [1, "x", null]})], &[json!({"pair": ["x", 1]})]);
    let mut undeclared = pair;
    undeclared.as_object_mut().expect("an object").remove("$schema");
    let error = compile(&undeclared).expect_err("not valid in 2020-12");
    assert!(matches!(&error, SchemaError::NotASchema { location } if location == "/properties/pair/items"), "{error}");
}

/// M-JS-04: an unknown dialect is an error that names it.
#[test]
fn m_js_04_an_unknown_dialect_is_named() {
    for uri in ["https://example.com/my-dialect", "http://json-schema.org/draft-03/schema#", "", "draft-07"] {
        let error = compile(&json!({"$schema": uri})).expect_err(uri);
        assert_eq!(error, SchemaError::UnknownDialect { dialect: uri.to_owned() });
    }
    let long = format!("https://{}", "x".repeat(100_000));
    assert!(compile(&json!({"$schema": long})).expect_err("unknown").to_string().len() < 300);
}

#[test]
fn dialects_are_known_by_every_usual_spelling() {
    for (dialect, uris) in [
        (Dialect::Draft04, ["http://json-schema.org/draft-04/schema#", "https://json-schema.org/draft-04/schema"]),
        (Dialect::Draft06, ["http://json-schema.org/draft-06/schema", "https://json-schema.org/draft-06/schema#"]),
        (Dialect::Draft07, ["http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema#"]),
        (
            Dialect::Draft201909,
            ["https://json-schema.org/draft/2019-09/schema", "http://json-schema.org/draft/2019-09/schema#"],
        ),
        (
            Dialect::Draft202012,
            ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft/2020-12/schema#"],
        ),
    ] {
        assert_eq!(Dialect::from_uri(dialect.uri()), Some(dialect));
        for uri in uris {
            assert_eq!(compile(&json!({"$schema": uri})).expect(uri).dialect(), dialect);
        }
    }
}

/// M-JS-06: a schema has to be valid under its dialect; the place is named.
#[test]
fn m_js_06_keywords_are_checked() {
    for (schema, location) in [
        (json!({"type": "text"}), "/type"),
        (json!({"type": []}), "/type"),
        (json!({"type": ["string", "string"]}), "/type"),
        (json!({"properties": []}), "/properties"),
        (json!({"properties": {"a~/b": {"minLength": -1}}}), "/properties/a~0~1b/minLength"),
        (json!({"items": {"maxItems": 1.5}}), "/items/maxItems"),
        (json!({"required": "a"}), "/required"),
        (json!({"required": ["a", "a"]}), "/required"),
        (json!({"enum": {}}), "/enum"),
        (json!({"multipleOf": 0}), "/multipleOf"),
        (json!({"anyOf": []}), "/anyOf"),
        (json!({"anyOf": [{}, {"uniqueItems": 1}]}), "/anyOf/1/uniqueItems"),
        (json!({"description": 7}), "/description"),
        (json!({"$anchor": "a b"}), "/$anchor"),
        (json!({"$id": "#a"}), "/$id"),
        (json!({"dependentRequired": {"a": [1]}}), "/dependentRequired"),
        (json!({"exclusiveMinimum": true}), "/exclusiveMinimum"),
        (json!({"$schema": DRAFT_04, "exclusiveMinimum": 3}), "/exclusiveMinimum"),
        (json!({"$schema": DRAFT_04, "required": []}), "/required"),
    ] {
        match compile(&schema) {
            Err(SchemaError::InvalidKeyword { location: found, .. }) => assert_eq!(found, location, "{schema}"),
            other => panic!("{schema}: {other:?}"),
        }
    }
    for (schema, location) in [
        (json!(null), ""),
        (json!([]), ""),
        (json!({"not": 7}), "/not"),
        (json!({"$schema": DRAFT_04, "not": true}), "/not"),
        (json!({"properties": {"a": "string"}}), "/properties/a"),
    ] {
        let expected = SchemaError::NotASchema { location: location.to_owned() };
        assert_eq!(compile(&schema).expect_err("not a schema"), expected, "{schema}");
    }
}

/// Keywords of other dialects are annotations.
#[test]
fn keywords_of_other_dialects_do_nothing() {
    for schema in [
        json!({"$schema": DRAFT_04, "const": 1, "propertyNames": 7}),
        json!({"$schema": DRAFT_07, "prefixItems": [false], "unevaluatedItems": false, "minContains": "x"}),
        json!({"$schema": DRAFT_2019, "prefixItems": [false]}),
        json!({"additionalItems": 7, "id": 7, "x-anything": {"type": 7}}),
    ] {
        assert!(accepts(&schema, &json!([2])), "{schema}");
    }
}

#[test]
fn dialects_differ_where_they_should() {
    // `$ref` hides its siblings up to draft 7.
    let sibling = |dialect: &str| json!({"$schema": dialect, "definitions": {"a": {}}, "allOf": [{"$ref": "#/definitions/a", "maxLength": 1}]});
    check(sibling(DRAFT_07), &[json!("long")], &[]);
    check(sibling(DRAFT_2019), &[json!("l")], &[json!("long")]);
    // Integers are told by spelling in draft 4 only.
    let integer = |dialect: &str| json!({"$schema": dialect, "type": "integer"});
    check(integer(DRAFT_04), &[json!(1)], &[json!(1.0), json!(1.5)]);
    check(integer(DRAFT_07), &[json!(1), json!(1.0)], &[json!(1.5)]);
    // Exclusive bounds are flags in draft 4.
    check(
        json!({"$schema": DRAFT_04, "minimum": 1, "exclusiveMinimum": true, "maximum": 3, "exclusiveMaximum": false}),
        &[json!(2), json!(3)],
        &[json!(1), json!(4)],
    );
    // `dependencies` is obeyed everywhere.
    for dialect in [DRAFT_04, DRAFT_07, DRAFT_2019, Dialect::Draft202012.uri()] {
        check(
            json!({"$schema": dialect, "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}),
            &[json!({"b": 1}), json!({"a": 1, "b": 1}), json!({"c": 1, "d": 1})],
            &[json!({"a": 1}), json!({"c": 1})],
        );
    }
}

/// An embedded resource may have a dialect of its own; without a name, `$schema` below the root says nothing.
#[test]
fn embedded_dialects() {
    let schema = json!({
        "properties": {
            "old": {"$id": "https://example.com/old", "$schema": DRAFT_07, "items": [{"type": "integer"}]},
            "nested": {"$schema": "https://example.com/unknown", "type": "integer"},
        },
    });
    check(schema, &[json!({"old": [1, "x"], "nested": 1})], &[json!({"old": ["x"]}), json!({"nested": "x"})]);
    let unknown = json!({"items": {"$id": "https://example.com/x", "$schema": "https://example.com/unknown"}});
    assert!(matches!(compile(&unknown), Err(SchemaError::UnknownDialect { .. })));
}

/// M-JS-05: formats and contents are annotations in every dialect.
#[test]
fn formats_are_annotations() {
    for dialect in [DRAFT_04, DRAFT_07, DRAFT_2019, Dialect::Draft202012.uri()] {
        let schema = json!({"$schema": dialect, "format": "date-time", "contentEncoding": "base64"});
        assert!(accepts(&schema, &Value::from("%")), "{dialect}");
    }
}

/// M-JS-05: the documentation names every dialect that is known.
#[test]
fn m_js_05_the_dialects_are_documented() {
    let documented =
        include_str!("../mod.rs").split("//! # Dialects").nth(1).and_then(|rest| rest.split("\n\n").next());
    let documented = documented.expect("a section of the module's documentation");
    for dialect in [Dialect::Draft04, Dialect::Draft06, Dialect::Draft07, Dialect::Draft201909, Dialect::Draft202012] {
        // A further dialect does not compile without a name here.
        let name = match dialect {
            Dialect::Draft04 => "draft-04",
            Dialect::Draft06 => "-06",
            Dialect::Draft07 => "-07",
            Dialect::Draft201909 => "2019-09",
            Dialect::Draft202012 => "2020-12",
        };
        assert!(documented.contains(name), "{name}");
        assert!(dialect.uri().contains(name), "{name}");
    }
}

/// Draft 4 tells `1` from `1.0`, also where a keyword wants an integer.
#[test]
fn draft_4_knows_integers_by_their_spelling() {
    let count = |dialect: Dialect| compile(&json!({"$schema": dialect.uri(), "minLength": 1.0}));
    assert!(matches!(count(Dialect::Draft04), Err(SchemaError::InvalidKeyword { .. })));
    assert!(count(Dialect::Draft06).is_ok());
}
