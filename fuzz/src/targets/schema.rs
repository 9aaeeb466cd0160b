//! Schemas: compiling and validating end within their steps.

use mcp_sansio::json::Json;
use mcp_sansio::schema::{Schema, SchemaLimits};

use crate::Signature;
use crate::input::Choices;

/// Runs one input: a schema, then an instance.
pub fn run(input: &[u8]) -> Signature {
    let mut signature = Signature::new();
    let mut choices = Choices::new(input);
    let schema = choices.slice();
    let second = choices.slice();
    let schema = [schema, second].concat();
    let (Ok(schema), Ok(instance)) =
        (Json::from_text(String::from_utf8_lossy(&schema)), Json::from_text(String::from_utf8_lossy(choices.rest())))
    else {
        return signature;
    };
    let mut limits = SchemaLimits::default();
    limits.steps = 20_000;
    match Schema::compile(&schema, &limits) {
        Ok(schema) => {
            signature.note("compiled");
            match schema.validate_json(&instance) {
                Ok(_) => signature.note("valid"),
                Err(problem) => {
                    signature.note_variant(&problem);
                    assert!(problem.to_string().len() < 16 << 10, "the text of a problem is bounded");
                }
            }
        }
        Err(error) => signature.note_variant(&error),
    }
    signature
}
