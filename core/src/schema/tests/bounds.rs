//! What is refused because it is too much, and what is not. U-38; M-JS-11.
//!
//! Work is measured in steps, never by a clock.

use serde_json::{Map, Value, json};

use super::{check, compile, nested};
use crate::json::Json;
use crate::schema::evaluate::{DEPTH, Evaluation};
use crate::schema::{Bound, BudgetExceeded, PatternError, Schema, SchemaError, SchemaLimits, ValidateError, nesting};

const STEPS: u64 = SchemaLimits::STEPS;
/// Bytes of stack that every validation can do with, without optimisation.
const STACK: usize = 5 << 18;

fn out_of_steps() -> Result<(), ValidateError> {
    Err(BudgetExceeded { bound: Bound::Steps, limit: STEPS }.into())
}

/// Sixty levels of two branches that both refer to the next level: 2⁶⁰ ways to find out that nothing matches.
fn doubled(levels: usize, keyword: &str) -> Value {
    let mut defs = Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        defs.insert(format!("d{level}"), json!({keyword: [next, next]}));
    }
    defs.insert(format!("d{levels}"), json!({"type": "null"}));
    json!({"$ref": "#/$defs/d0", "$defs": defs})
}

/// U-38; rule 7 of the design: sixty levels of two-branch `anyOf` end in a typed error.
#[test]
fn u38_doubling_references_run_out_of_steps() {
    let schema = compile(&doubled(60, "anyOf")).expect("a small document");
    assert_eq!(schema.validate(&json!(1)), out_of_steps());
    // Finding a match is cheap, whatever not finding one would cost.
    assert_eq!(schema.validate(&json!(null)), Ok(()));
    let schema = compile(&doubled(60, "oneOf")).expect("a small document");
    assert_eq!(schema.validate(&json!(null)), out_of_steps());
    let schema = compile(&doubled(60, "allOf")).expect("a small document");
    assert_eq!(schema.validate(&json!(null)), out_of_steps());
}

/// The words of an error are made under the same budget: an instance that fails at once, in a schema whose
/// explanation would be exponential.
#[test]
fn error_text_is_made_within_the_budget() {
    let mut schema = doubled(60, "allOf");
    schema["$defs"]["d60"] = json!({"type": "null"});
    schema["type"] = json!("object");
    schema["properties"] = json!({"first": {"type": "integer"}});
    // The first check fails in a few steps; the second pass goes on to look for more problems.
    let schema = compile(&schema).expect("a small document");
    match schema.validate(&json!({"first": "x"})) {
        Err(ValidateError::Invalid(invalid)) => {
            assert!(!invalid.is_complete());
            assert_eq!(invalid.problems().first().map(|problem| problem.path()), Some("first"));
        }
        other => panic!("{other:?}"),
    }
}

/// U-38; rule 7: a recursive schema of two branches on forty bytes of nested arrays.
#[test]
fn u38_doubling_recursion_runs_out_of_steps() {
    let branch = json!({"type": "array", "items": {"$ref": "#"}});
    let schema = compile(&json!({"anyOf": [branch, branch]})).expect("a small document");
    assert_eq!(schema.validate(&nested(20)), out_of_steps());
    assert!(matches!(schema.validate(&nested(4)), Err(ValidateError::Invalid(_))));
    let member = json!({"properties": {"a": {"$ref": "#"}}});
    let schema = compile(&json!({"oneOf": [member, member]})).expect("a small document");
    let deep = (0..60).fold(json!(1), |inner, _| json!({"a": inner}));
    assert_eq!(schema.validate(&deep), out_of_steps());
    for keyword in ["additionalProperties", "unevaluatedProperties"] {
        let branch = json!({"type": "object", keyword: {"$ref": "#"}});
        let schema = compile(&json!({"anyOf": [branch, branch]})).expect("a small document");
        assert_eq!(schema.validate(&deep), out_of_steps(), "{keyword}");
    }
    let branch = json!({"contains": {"$ref": "#"}, "minItems": 1, "type": "array"});
    let schema = compile(&json!({"anyOf": [branch, branch]})).expect("a small document");
    assert_eq!(schema.validate(&nested(30)), out_of_steps());
}

/// U-38: sixty nested levels as they are written, and a megabyte of arrays.
#[test]
fn u38_nesting_in_the_text() {
    let levels = |count: usize| {
        (0..count).fold(json!({"type": "null"}), |inner, _| json!({"anyOf": [inner, {"type": "string"}]}))
    };
    check(levels(60), &[json!(null), json!("x")], &[json!(1)]);
    assert_eq!(compile(&levels(65)).expect_err("too deep"), SchemaError::TooDeep { limit: 127 });
    let not = |count: usize| (0..count).fold(json!({}), |inner, _| json!({"not": inner}));
    check(not(64), &[json!(1)], &[]);
    assert_eq!(compile(&not(65)).expect_err("too deep"), SchemaError::TooDeep { limit: 64 });

    let any = compile(&json!({"type": "array"})).expect("valid");
    let text = format!("{}{}", "[".repeat(500_000), "]".repeat(500_000));
    let deep = Json::from_validated(text.into());
    assert_eq!(any.validate_json(&deep), Err(ValidateError::TooDeep { limit: 64 }));
    assert_eq!(
        Schema::compile(&deep, &SchemaLimits::default()).expect_err("too deep"),
        SchemaError::TooDeep { limit: 127 }
    );
    let wide = Json::from_text(format!("[{}0]", "[],".repeat(300_000))).expect("JSON");
    assert!(any.validate_json(&wide).is_ok());
}

#[test]
fn nesting_ignores_brackets_in_strings() {
    for (text, depth) in [("1", 0), ("[]", 1), (r#"{"a":[{"b":"[[[[\"[[[\\"}],"c":{}}"#, 3), (r#"["\\\\\"[["]"#, 1)] {
        assert_eq!(nesting(text.as_bytes()), depth, "{text}");
    }
}

#[test]
fn subschemas_are_counted() {
    let wide = |count: usize| {
        let properties: Map<String, Value> = (0..count).map(|n| (format!("p{n}"), json!(true))).collect();
        json!({"properties": properties})
    };
    assert!(compile(&wide(9_999)).is_ok());
    assert_eq!(compile(&wide(10_000)).expect_err("too many"), SchemaError::TooManySubschemas { limit: 10_000 });
    let limits = SchemaLimits { subschemas: 3, ..SchemaLimits::default() };
    let error = Schema::compile(&Json::from(wide(3)), &limits).expect_err("too many");
    assert_eq!(error.to_string(), "schema has more than 3 subschemas");
}

/// Limits can be set, and errors name them.
#[test]
fn limits_are_obeyed_and_named() {
    let limits = SchemaLimits { steps: 10, value_depth: 2, problems: 2, ..SchemaLimits::default() };
    let schema = Schema::compile(&Json::from(json!({"items": {"type": "integer"}})), &limits).expect("valid");
    assert_eq!(schema.validate(&json!([1, 2, 3])), Ok(()));
    let error = schema.validate(&json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])).expect_err("too much");
    assert_eq!(error.to_string(), "validation needs more than 10 steps");
    let error = schema.validate_json(&Json::from(json!([[[1]]]))).expect_err("too deep");
    assert_eq!(error.to_string(), "value is nested deeper than 2 levels");
    match schema.validate(&json!(["a", "b", "c"])) {
        Err(ValidateError::Invalid(invalid)) => {
            assert_eq!((invalid.problems().len(), invalid.is_complete()), (2, false));
        }
        other => panic!("{other:?}"),
    }
}

/// A value that a host built deeper than any parser allows does not use up the stack: whatever way evaluation
/// takes down, and even without optimisation, a small thread is enough.
#[test]
fn depth_of_evaluation_is_bounded() {
    let run = || {
        let arrays = nested(900);
        let objects = (0..900).fold(json!(1), |inner, _| json!({"a": inner}));
        let again = json!({"$ref": "#"});
        for (schema, value) in [
            (json!({"items": again}), &arrays),
            (json!({"contains": again}), &arrays),
            (json!({"type": "array", "unevaluatedItems": {"anyOf": [again, {"type": "null"}]}}), &arrays),
            (json!({"properties": {"a": again}}), &objects),
            (json!({"anyOf": [{"oneOf": [{"allOf": [{"unevaluatedProperties": again}]}]}]}), &objects),
            (json!({"dependentSchemas": {"a": {"if": {"patternProperties": {"a": again}}}}}), &objects),
        ] {
            let schema = compile(&schema).expect("valid");
            let error = schema.validate(value).expect_err("too deep");
            assert_eq!(error, BudgetExceeded { bound: Bound::Depth, limit: DEPTH as u64 }.into());
            // The second pass takes the longest way down.
            let collected = Evaluation::new(&schema.graph, STEPS).collect(value, 8);
            assert!(!collected.complete);
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread");
    assert!(thread.join().is_ok());
}

/// Every default level of a value may be reached through several schemas.
#[test]
fn the_default_depth_of_values_fits() {
    let schema = json!({
        "$ref": "#/$defs/value",
        "$defs": {
            "value": {"oneOf": [{"$ref": "#/$defs/list"}, {"type": ["integer", "null"]}]},
            "list": {"type": "array", "items": {"allOf": [{"$ref": "#/$defs/value"}]}},
        },
    });
    check(schema, &[nested(64)], &[]);
}

#[test]
fn quadratic_keywords_are_bounded() {
    // Different items hash differently; a long array is fine.
    let unique = compile(&json!({"uniqueItems": true})).expect("valid");
    let items: Vec<Value> = (0..50_000).map(|n| json!({"id": n})).collect();
    assert_eq!(unique.validate(&Value::Array(items)), Ok(()));
    // A long `enum` of objects is compared one by one, for every item.
    let options: Vec<Value> = (0..5_000).map(|n| json!({"id": n})).collect();
    let schema = compile(&json!({"items": {"enum": options}})).expect("valid");
    let items: Vec<Value> = (0..5_000).map(|n| json!({"id": n + 10_000})).collect();
    assert_eq!(
        schema.validate(&Value::Array(items)).err().map(
            |error| matches!(error, ValidateError::BudgetExceeded(_)) || matches!(error, ValidateError::Invalid(_))
        ),
        Some(true)
    );
    let items: Vec<Value> = (0..5_000).map(|_| json!({"id": 4_999})).collect();
    assert_eq!(schema.validate(&Value::Array(items)), out_of_steps());
    // Strings are looked up.
    let options: Vec<Value> = (0..5_000).map(|n| json!(format!("option {n}"))).collect();
    let schema = compile(&json!({"items": {"enum": options}})).expect("valid");
    let items: Vec<Value> = (0..50_000).map(|n| json!(format!("option {}", n % 5_000))).collect();
    assert_eq!(schema.validate(&Value::Array(items)), Ok(()));
}

/// Ordinary arguments stay far below the bound, so nothing legal is refused.
#[test]
fn ordinary_values_cost_few_steps() {
    let schema = compile(&json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "units": {"enum": ["metric", "imperial"]},
        },
        "required": ["city"],
        "additionalProperties": false,
    }))
    .expect("valid");
    let value = json!({"city": "Bern", "days": 3, "units": "metric"});
    let left = schema.validate_within(&value, STEPS).expect("valid");
    assert!(STEPS - left <= 16, "{} steps", STEPS - left);
    // A large table: about a dozen steps per row.
    let table =
        compile(&json!({"items": {"properties": {"a": {"type": "string"}, "b": {"type": "number"}}}})).expect("valid");
    let rows: Vec<Value> = (0..50_000).map(|n| json!({"a": "x", "b": n})).collect();
    let left = table.validate_within(&Value::Array(rows), STEPS).expect("valid");
    assert!(STEPS - left <= 50_000 * 6, "{} steps", STEPS - left);
}

#[test]
fn patterns_are_bounded() {
    // Exponential for an engine that backtracks, linear here.
    let schema = compile(&json!({"pattern": "^(a+)+$"})).expect("valid");
    let left = match schema.validate_within(&json!(format!("{}!", "a".repeat(10_000))), STEPS) {
        Err(ValidateError::Invalid(_)) => schema.validate_within(&json!("a".repeat(10_000)), STEPS).expect("matches"),
        other => panic!("{other:?}"),
    };
    assert!(STEPS - left < 1_000, "{} steps", STEPS - left);
    // Quadratic, because every place looks ahead to the end.
    let schema = compile(&json!({"pattern": "(?=a*b)x"})).expect("valid");
    assert_eq!(schema.validate(&json!("a".repeat(100_000))), out_of_steps());
    for (pattern, expected) in [
        ("(((a{1000}){1000}){1000})", PatternError::TooLarge { limit: 200_000 }),
        ("(){1000000}", PatternError::TooLarge { limit: 200_000 }),
        ("a{1000000000}", PatternError::TooLarge { limit: 1_000_000 }),
        (r"(a)\1", PatternError::Unsupported("a back-reference")),
    ] {
        let expected = SchemaError::InvalidPattern { location: "/pattern".to_owned(), source: expected };
        assert_eq!(compile(&json!({"pattern": pattern})).expect_err(pattern), expected);
    }
    // All patterns of a document share one budget.
    let patterns: Map<String, Value> = (0..1_000).map(|n| (format!("^{n}.{{0,500}}$"), json!(true))).collect();
    let error = compile(&json!({"patternProperties": patterns})).expect_err("too many states");
    assert!(matches!(error, SchemaError::InvalidPattern { source: PatternError::TooLarge { .. }, .. }), "{error}");
}
