//! Agreement with another validator on generated schemas and values, and bounds that never refuse ordinary ones.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::compile;
use crate::schema::{SchemaError, SchemaLimits, ValidateError};

/// Enough to meet most pairs of keywords; each case builds two validators.
const CASES: u32 = 256;

const DIALECTS: [&str; 5] = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];

fn oracle(schema: &Value) -> Option<jsonschema::Validator> {
    jsonschema::options().should_validate_formats(false).build(schema).ok()
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("a"), Just("b"), Just("ab"), Just("c")].prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::Bool),
        (-3_i64..8).prop_map(Value::from),
        prop_oneof![Just(json!(0.5)), Just(json!(2.0)), Just(json!(1e30)), Just(json!(u64::MAX))],
        prop_oneof![Just(json!("")), Just(json!("a")), Just(json!("ab")), Just(json!("é💩")), Just(json!("b1"))],
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(name(), inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn type_name() -> impl Strategy<Value = Value> {
    prop::sample::select(vec!["null", "boolean", "string", "number", "integer", "array", "object"])
        .prop_map(Value::from)
}

/// One keyword that holds no schema, for every dialect from draft 6 on.
fn assertion() -> impl Strategy<Value = (&'static str, Value)> {
    let counted = prop::sample::select(vec![
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "minContains",
        "maxContains",
    ]);
    let bounds = prop::sample::select(vec!["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]);
    prop_oneof![
        type_name().prop_map(|name| ("type", name)),
        prop::collection::btree_set(prop::sample::select(vec!["null", "string", "integer", "array", "object"]), 1..4)
            .prop_map(|names| ("type", json!(names))),
        prop::collection::vec(value(), 1..4).prop_map(|values| ("enum", json!(values))),
        value().prop_map(|value| ("const", value)),
        (counted, 0_u64..4).prop_map(|(keyword, count)| (keyword, json!(count))),
        (bounds, prop_oneof![Just(json!(0)), Just(json!(2)), Just(json!(0.5)), Just(json!(1e25))])
            .prop_map(|(k, v)| (k, v)),
        prop_oneof![Just(json!(2)), Just(json!(0.5)), Just(json!(0.1))].prop_map(|divisor| ("multipleOf", divisor)),
        prop::sample::select(vec!["^a", "b$", "a|é", "^[a-z]{1,2}$", "\\d", "^$"]).prop_map(|p| ("pattern", json!(p))),
        any::<bool>().prop_map(|unique| ("uniqueItems", json!(unique))),
        prop::collection::btree_set(name(), 0..3).prop_map(|names| ("required", json!(names))),
        prop::collection::btree_map(name(), prop::collection::btree_set(name(), 0..2), 0..2)
            .prop_map(|map| ("dependentRequired", json!(map))),
    ]
}

/// One keyword that holds schemas.
fn applicator(schema: BoxedStrategy<Value>) -> impl Strategy<Value = (&'static str, Value)> {
    let one = prop::sample::select(vec![
        "not",
        "if",
        "then",
        "else",
        "items",
        "contains",
        "additionalProperties",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]);
    let list = prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]);
    let map = prop::sample::select(vec!["properties", "dependentSchemas", "$defs"]);
    prop_oneof![
        (one, schema.clone()),
        (list, prop::collection::vec(schema.clone(), 1..4).prop_map(Value::Array)),
        (map, prop::collection::btree_map(name(), schema.clone(), 0..3).prop_map(|map| map.into_iter().collect())),
        prop::collection::btree_map(prop::sample::select(vec!["^a", "b"]).prop_map(str::to_owned), schema, 0..3)
            .prop_map(|map| ("patternProperties", map.into_iter().collect())),
    ]
}

fn schema() -> BoxedStrategy<Value> {
    let object = |keywords: Vec<(&'static str, Value)>| {
        Value::Object(keywords.into_iter().map(|(keyword, value)| (keyword.to_owned(), value)).collect())
    };
    let leaf = prop_oneof![
        4 => prop::collection::vec(assertion(), 0..3).prop_map(object),
        1 => any::<bool>().prop_map(Value::Bool),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let inner = inner.boxed();
        (prop::collection::vec(assertion(), 0..2), prop::collection::vec(applicator(inner), 1..4))
            .prop_map(move |(assertions, applicators)| object(assertions.into_iter().chain(applicators).collect()))
    })
    .boxed()
}

/// The schema with `$schema` and a list under `items` where the dialect has one.
fn in_dialect(schema: Value, dialect: &str) -> Value {
    fn shift(schema: Value, old: bool) -> Value {
        match schema {
            Value::Object(map) => {
                let mut out = Map::new();
                for (keyword, value) in map {
                    let keyword = match keyword.as_str() {
                        "prefixItems" if old => "items".to_owned(),
                        "items" if old => "additionalItems".to_owned(),
                        _ => keyword,
                    };
                    out.insert(keyword, shift(value, old));
                }
                Value::Object(out)
            }
            Value::Array(list) => list.into_iter().map(|value| shift(value, old)).collect(),
            other => other,
        }
    }
    let mut schema = shift(schema, dialect != DIALECTS[4]);
    if let Value::Object(map) = &mut schema {
        map.insert("$schema".to_owned(), json!(dialect));
    }
    schema
}

/// Whether the keyword stands anywhere in the schema.
fn holds(schema: &Value, keyword: &str) -> bool {
    match schema {
        Value::Object(map) => map.iter().any(|(name, value)| name == keyword || holds(value, keyword)),
        Value::Array(list) => list.iter().any(|value| holds(value, keyword)),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    /// The verdict is the other validator's, and small schemas without recursion never hit a bound.
    #[test]
    fn verdicts_agree(schema in schema(), dialect in 1..5_usize, values in prop::collection::vec(value(), 1..6)) {
        let schema = in_dialect(schema, DIALECTS[dialect]);
        if dialect == 3 && holds(&schema, "contains") && holds(&schema, "unevaluatedItems") {
            // The other validator lets `contains` evaluate items from 2019-09 on, the specification from 2020-12 on.
            return Ok(());
        }
        let Some(other) = oracle(&schema) else { return Ok(()) };
        let ours = compile(&schema);
        prop_assert!(ours.is_ok(), "{schema}: {ours:?}");
        let Ok(ours) = ours else { return Ok(()) };
        for value in values {
            let verdict = ours.validate(&value);
            match &verdict {
                Ok(()) => {}
                Err(ValidateError::Invalid(invalid)) => {
                    prop_assert!((1..=SchemaLimits::PROBLEMS).contains(&invalid.problems().len()));
                    prop_assert!(invalid.to_string().len() < 4_096);
                }
                Err(error) => prop_assert!(false, "{schema} on {value}: {error}"),
            }
            prop_assert_eq!(verdict.is_ok(), other.is_valid(&value), "{} on {}", schema, value);
        }
    }

    /// References, also to the schema that they stand in, change nothing.
    #[test]
    fn references_agree(schemas in prop::array::uniform3(schema()), values in prop::collection::vec(value(), 1..6)) {
        let [a, b, c] = schemas;
        let schema = json!({
            "$defs": {"a": a, "b": {"allOf": [{"$ref": "#/$defs/a"}, b]}},
            "properties": {"a": {"$ref": "#/$defs/a"}, "b": {"$ref": "#/$defs/b"}, "c": {"$ref": "#"}},
            "items": {"$ref": "#/$defs/a"},
            "anyOf": [{"$ref": "#/$defs/b"}, c],
            "unevaluatedProperties": {"$ref": "#/$defs/b"},
        });
        let Some(other) = oracle(&schema) else { return Ok(()) };
        let ours = compile(&schema);
        prop_assert!(ours.is_ok(), "{schema}: {ours:?}");
        let Ok(ours) = ours else { return Ok(()) };
        for value in values {
            let verdict = ours.validate(&value);
            prop_assert!(!matches!(verdict, Err(ValidateError::BudgetExceeded(_))), "{schema} on {value}");
            prop_assert_eq!(verdict.is_ok(), other.is_valid(&value), "{} on {}", schema, value);
        }
    }

    /// What a dialect's meta-schema forbids is refused, and nothing else.
    #[test]
    fn m_js_06_meta_schemas_agree(schema in schema(), dialect in 0..5_usize, keyword in keyword(), value in odd_value()) {
        let mut schema = in_dialect(schema, DIALECTS[dialect]);
        if let Value::Object(map) = &mut schema {
            map.insert(keyword.to_owned(), value);
        }
        let valid = jsonschema::meta::options().validate(&schema).is_ok();
        match compile(&schema) {
            Ok(_) => prop_assert!(valid, "accepted {schema}"),
            Err(SchemaError::InvalidKeyword { .. } | SchemaError::NotASchema { .. }) => {
                prop_assert!(!valid, "refused {schema}");
            }
            Err(error) => prop_assert!(false, "{schema}: {error}"),
        }
    }

    /// Two branches per level and no recursion: cheap enough for every value of moderate size.
    #[test]
    fn moderate_schemas_are_never_refused(levels in 1..8_usize, values in prop::collection::vec(value(), 1..50)) {
        let schema = (0..levels).fold(json!({"type": "array", "items": {"type": ["null", "object"]}}), |inner, _| {
            json!({"anyOf": [inner, {"oneOf": [inner, {"type": "string"}]}]})
        });
        let compiled = compile(&schema);
        prop_assert!(compiled.is_ok());
        if let Ok(compiled) = compiled {
            let verdict = compiled.validate(&Value::Array(values));
            prop_assert!(!matches!(verdict, Err(ValidateError::BudgetExceeded(_))), "{levels}");
        }
    }
}

fn keyword() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "type",
        "enum",
        "const",
        "required",
        "properties",
        "items",
        "prefixItems",
        "additionalItems",
        "anyOf",
        "not",
        "minLength",
        "minimum",
        "exclusiveMinimum",
        "multipleOf",
        "uniqueItems",
        "title",
        "default",
        "examples",
        "readOnly",
        "deprecated",
        "dependencies",
        "dependentRequired",
        "definitions",
        "$defs",
        "$comment",
        "if",
        "contains",
        "propertyNames",
        "additionalProperties",
        "unevaluatedProperties",
        "minContains",
        "format",
        "contentMediaType",
        "x-unknown",
    ])
}

fn odd_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        value(),
        prop::sample::select(vec![
            json!("string"),
            json!(["string", "null"]),
            json!(["string", "string"]),
            json!([]),
            json!({}),
            json!({"a": {}}),
            json!({"a": ["b"]}),
            json!({"a": []}),
            json!({"a": 1}),
            json!([{}]),
            json!([true]),
            json!(["a", "b"]),
            json!(true),
            json!(0),
            json!(1),
            json!(-1),
            json!(1.0),
            json!(1.5),
        ]),
    ]
}
