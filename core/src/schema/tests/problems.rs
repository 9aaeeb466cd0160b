//! What an error says: places, names and expectations, and no value of the instance.

use serde_json::{Value, json};

use super::compile;
use crate::schema::{Invalid, ValidateError};

fn invalid(schema: Value, value: &Value) -> Invalid {
    match compile(&schema).expect("a valid schema").validate(value) {
        Err(ValidateError::Invalid(invalid)) => invalid,
        other => panic!("{schema} on {value}: {other:?}"),
    }
}

fn text(schema: Value, value: Value) -> String {
    invalid(schema, &value).to_string()
}

#[test]
fn messages_name_the_property_and_what_is_expected() {
    let typed = |schema: Value| json!({"properties": {"a": schema}});
    for (schema, value, expected) in [
        (typed(json!({"type": "integer"})), json!({"a": "x"}), "a: expected type integer"),
        (typed(json!({"type": ["string", "null"]})), json!({"a": 1}), "a: expected type string or null"),
        (typed(json!({"type": ["integer", "number"]})), json!({"a": "x"}), "a: expected type number"),
        (json!({"type": "object"}), json!([]), "value: expected type object"),
        (json!({"required": ["a", "b"]}), json!({"b": 1}), "a: required property is missing"),
        (json!({"additionalProperties": false}), json!({"x y": 1}), "[\"x y\"]: unexpected property"),
        (json!({"unevaluatedProperties": false}), json!({"x": 1}), "x: unexpected property"),
        (typed(json!({"enum": ["m", 1, null]})), json!({"a": "x"}), "a: expected one of \"m\", 1, null"),
        (typed(json!({"const": {"b": 1}})), json!({"a": 2}), "a: expected {\"b\":1}"),
        (typed(json!({"minimum": 1.5})), json!({"a": 1}), "a: expected at least 1.5"),
        (typed(json!({"exclusiveMaximum": 5})), json!({"a": 5}), "a: expected less than 5"),
        (typed(json!({"multipleOf": 0.5})), json!({"a": 0.3}), "a: expected a multiple of 0.5"),
        (typed(json!({"minLength": 1})), json!({"a": ""}), "a: expected at least 1 character"),
        (typed(json!({"maxLength": 2})), json!({"a": "abc"}), "a: expected at most 2 characters"),
        (typed(json!({"pattern": "^b"})), json!({"a": "abc"}), "a: expected a match of the pattern ^b"),
        (typed(json!({"items": {"type": "null"}})), json!({"a": [null, 1]}), "a[1]: expected type null"),
        (typed(json!({"minItems": 2})), json!({"a": []}), "a: expected at least 2 items"),
        (
            typed(json!({"uniqueItems": true})),
            json!({"a": [1, 2, 1]}),
            "a: expected different items, [0] and [2] are equal",
        ),
        (json!({"maxProperties": 1}), json!({"a": 1, "b": 1}), "value: expected at most 1 member"),
        (json!({"propertyNames": {"maxLength": 1}}), json!({"ab": 1}), "ab: name of this property is not allowed"),
        (json!({"not": {"required": ["a"]}}), json!({"a": 1}), "value: matches what is not allowed here"),
        (json!(false), json!(1), "value: no value is allowed here"),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!({"a": 1}),
            "b: property is required beside another one that is present",
        ),
        (
            json!({"contains": {"const": 1}}),
            json!([2]),
            "value: expected at least 1 item of the kind that `contains` asks for",
        ),
        (json!({"unevaluatedItems": false}), json!([2]), "[0]: unexpected item"),
    ] {
        assert_eq!(text(schema, value), expected);
    }
}

#[test]
fn alternatives_are_explained_as_closely_as_possible() {
    let optional = json!({"properties": {"a": {"anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}]}}});
    assert_eq!(text(optional.clone(), json!({"a": 1})), "a: expected type string or null");
    assert_eq!(text(optional, json!({"a": "x"})), "a: expected at least 2 characters");
    let union = json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert_eq!(text(union.clone(), json!({})), "value: matches none of the 2 alternatives");
    assert_eq!(text(union, json!({"a": 1, "b": 1})), "value: matches more than one alternative, expected exactly one");
}

#[test]
fn several_problems_are_listed_in_order_and_bounded() {
    let schema = json!({
        "properties": {"a": {"type": "integer"}, "b": {"items": {"type": "string", "maxLength": 1}}},
        "required": ["c"],
    });
    let found = invalid(schema, &json!({"a": "x", "b": ["ok!", 1]}));
    let shown = "c: required property is missing; a: expected type integer; \
                 b[0]: expected at most 1 character; b[1]: expected type string";
    assert_eq!(found.to_string(), shown);
    assert!(found.is_complete());
    let problem = &found.problems()[2];
    assert_eq!((problem.path(), problem.keyword()), ("b[0]", "maxLength"));
    assert_eq!(problem.message(), "expected at most 1 character");

    let many = invalid(json!({"items": {"type": "null"}}), &json!(vec![1; 1_000]));
    assert_eq!((many.problems().len(), many.is_complete()), (8, false));
    assert!(many.to_string().ends_with("[7]: expected type null; and possibly more"));
}

/// No value of the arguments, in whatever keyword it fails.
#[test]
fn values_are_never_shown() {
    const SECRET: &str = "hunter2";
    let keywords = json!({
        "type": "integer", "enum": ["a"], "const": "b", "maxLength": 1, "pattern": "^$", "not": {"type": "string"},
        "anyOf": [{"type": "string", "maxLength": 1}, {"type": "null"}], "oneOf": [{}, {"type": "string"}], "allOf": [false],
        "if": true, "then": false, "$ref": "#/$defs/no", "multipleOf": 7, "minimum": 1e9, "format": "email",
        "items": {"type": "object"}, "contains": {"type": "null"}, "uniqueItems": true, "minItems": 9,
        "properties": {"k": {"type": "null"}}, "additionalProperties": {"const": 1}, "propertyNames": {"const": "k"},
        "unevaluatedItems": false, "unevaluatedProperties": false, "dependentSchemas": {"k": false},
    });
    let values = [
        json!(SECRET),
        json!({"k": SECRET, "l": [SECRET]}),
        json!([SECRET, {"k": SECRET}, SECRET]),
        json!(31_337),
        json!(31_337.5),
    ];
    let mut failed = 0;
    for (keyword, schema) in keywords.as_object().expect("an object") {
        let mut root = json!({keyword: schema, "$defs": {"no": false}});
        if keyword == "if" {
            root["then"] = json!(false);
        }
        for value in &values {
            for schema in [root.clone(), json!({"properties": {"k": root, "l": root}}), json!({"items": root})] {
                let Err(ValidateError::Invalid(found)) =
                    compile(&json!({"$defs": {"no": false}, "allOf": [schema]})).expect("valid").validate(value)
                else {
                    continue;
                };
                failed += 1;
                let shown = format!("{found} {found:?}");
                assert!(!shown.contains(SECRET) && !shown.contains("31337"), "{keyword}: {shown}");
            }
        }
    }
    assert!(failed > 60, "{failed}");
}

/// Names come from the peer too: they are cut and escaped.
#[test]
fn names_are_shortened_and_escaped() {
    let name = format!("{}\n\u{1b}[31m", "n".repeat(10_000));
    let found = invalid(json!({"additionalProperties": false}), &json!({name: 1}));
    assert!(found.to_string().len() < 120, "{found}");
    let found = invalid(json!({"additionalProperties": false}), &json!({"a\n\u{1b}[31m": 1}));
    assert_eq!(found.to_string(), "[\"a\\n\\u{1b}[31m\"]: unexpected property");
    let options: Vec<String> = (0..10_000).map(|n| format!("option {n}")).collect();
    assert!(invalid(json!({"enum": options}), &json!(1)).to_string().len() < 300);
    assert!(invalid(json!({"const": "x".repeat(10_000)}), &json!(1)).to_string().len() < 300);
    assert!(invalid(json!({"pattern": "x".repeat(10_000)}), &json!("")).to_string().len() < 300);
}
