//! The module as its users see it, case by case.

mod bounds;
mod dialects;
mod oracle;
mod problems;
mod references;
mod verdicts;

use serde_json::{Value, json};

use super::{Schema, SchemaError, SchemaLimits, ValidateError};
use crate::json::Json;

/// Compiles with default limits.
fn compile(schema: &Value) -> Result<Schema, SchemaError> {
    Schema::compile(&Json::from(schema.clone()), &SchemaLimits::default())
}

/// The verdict on `value`; anything but a verdict fails the test.
fn accepts(schema: &Value, value: &Value) -> bool {
    let compiled = compile(schema).unwrap_or_else(|error| panic!("{schema}: {error}"));
    match compiled.validate(value) {
        Ok(()) => true,
        Err(ValidateError::Invalid(invalid)) => {
            assert!(!invalid.problems().is_empty());
            false
        }
        Err(error) => panic!("{schema} on {value}: {error}"),
    }
}

/// Asserts the verdicts on some values, in the form `schema: [good…], [bad…]`.
fn check(schema: Value, good: &[Value], bad: &[Value]) {
    for value in good {
        assert!(accepts(&schema, value), "{schema} should accept {value}");
    }
    for value in bad {
        assert!(!accepts(&schema, value), "{schema} should not accept {value}");
    }
}

/// The first `depth` levels of an array within an array.
fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}
