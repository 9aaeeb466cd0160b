//! The root of a tool's schema, completed before it is published.
//!
//! Specification: *Tools* (`inputSchema` and `outputSchema`), *JSON Schema Usage*.
//!
//! | schema | `type` | `$schema` |
//! |---|---|---|
//! | input | `"object"` is added if it is absent; anything else is refused | 2020-12 is stated if it is absent |
//! | output | `"object"` is added if the root says nothing about its type in any other way | likewise |
//!
//! The text of the author is kept: order of members, spelling of numbers, unknown keywords. Only the white space
//! between tokens goes, so that the result fits on one line of a transport.

use super::Dialect;
use super::members::Members;
use crate::json::Json;

/// Keywords that make `type` at the root of an output schema unnecessary, or wrong.
const SAYS_ITS_TYPE: [&str; 9] = ["type", "$ref", "oneOf", "anyOf", "allOf", "not", "if", "const", "enum"];

/// Why a schema cannot stand at the root of a tool's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// Arguments are an object, so their schema has `type: "object"`.
    #[error("an input schema has `type: \"object\"` at its root, and nothing else")]
    NotForObjects,
    /// Boolean schemas have no members that could be completed.
    #[error("the schema of a tool is an object")]
    NotAnObject,
}

/// The input schema `raw` as it is published.
///
/// # Errors
/// If the root is no object, or is for another type than objects.
pub fn normalise_input(raw: &Json) -> Result<Json, RootError> {
    let members = Members::of(raw).ok_or(RootError::NotAnObject)?;
    let mut types = members.0.iter().filter(|(name, _)| name == "type").map(|(_, value)| value).peekable();
    let untyped = types.peek().is_none();
    // Readers differ in which of two members with one name they take: all must say the same.
    if !types.all(|value| value.parse::<String>().is_ok_and(|name| name == "object")) {
        return Err(RootError::NotForObjects);
    }
    Ok(completed(raw, &members, untyped))
}

/// The output schema `raw` as it is published.
///
/// # Errors
/// If the root is no object.
pub fn normalise_output(raw: &Json) -> Result<Json, RootError> {
    let members = Members::of(raw).ok_or(RootError::NotAnObject)?;
    let untyped = SAYS_ITS_TYPE.iter().all(|keyword| members.get(keyword).is_none());
    Ok(completed(raw, &members, untyped))
}

fn completed(raw: &Json, members: &Members, untyped: bool) -> Json {
    let mut text = String::from("{");
    if members.get("$schema").is_none() {
        text.push_str("\"$schema\":\"");
        text.push_str(Dialect::DEFAULT.uri());
        text.push_str("\",");
    }
    if untyped {
        text.push_str("\"type\":\"object\",");
    }
    let body = compact(raw.get());
    match body.strip_prefix('{') {
        Some("}") if text.len() > 1 => {
            text.pop();
            text.push('}');
        }
        Some(rest) => text.push_str(rest),
        // Not reached: the members were read from this text.
        None => return raw.clone(),
    }
    Json::from_text(text).unwrap_or_else(|_| raw.clone())
}

/// A valid JSON text without white space between its tokens.
fn compact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    let mut escaped = false;
    for c in text.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if matches!(c, ' ' | '\t' | '\n' | '\r') {
            continue;
        } else {
            in_string = c == '"';
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECT: &str = r#""$schema":"https://json-schema.org/draft/2020-12/schema""#;

    fn json(text: &str) -> Json {
        Json::from_text(text).expect("test JSON")
    }

    #[test]
    fn input_roots_are_completed_in_the_authors_order() {
        for (given, expected) in [
            ("{}", format!(r#"{{{DIALECT},"type":"object"}}"#)),
            (r#"{ "type" : "object" }"#, format!(r#"{{{DIALECT},"type":"object"}}"#)),
            (
                "{\"properties\": {\"z\": {}, \"a\": {\"maximum\": 1.50e0}},\n\t\"title\": \"a \\\" { b\"}",
                format!(
                    r#"{{{DIALECT},"type":"object","properties":{{"z":{{}},"a":{{"maximum":1.50e0}}}},"title":"a \" {{ b"}}"#
                ),
            ),
            (
                r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","x":1}"#,
                r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","x":1}"#.to_owned(),
            ),
            (r#"{"t\u0079pe":"ob\u006aect"}"#, format!(r#"{{{DIALECT},"t\u0079pe":"ob\u006aect"}}"#)),
        ] {
            assert_eq!(normalise_input(&json(given)).expect(given).get(), expected);
        }
    }

    #[test]
    fn input_roots_of_another_type_are_refused() {
        for given in [
            r#"{"type":"string"}"#,
            r#"{"type":["object"]}"#,
            r#"{"type":null}"#,
            r#"{"type":"object","type":"array"}"#,
        ] {
            assert_eq!(normalise_input(&json(given)), Err(RootError::NotForObjects), "{given}");
        }
        for given in ["true", "[]", "\"object\"", "null"] {
            assert_eq!(normalise_input(&json(given)), Err(RootError::NotAnObject), "{given}");
        }
    }

    #[test]
    fn output_roots_get_a_type_only_if_they_say_none() {
        let typed = normalise_output(&json(r#"{"properties":{}}"#)).expect("an object");
        assert_eq!(typed.get(), format!(r#"{{{DIALECT},"type":"object","properties":{{}}}}"#));
        for keyword in SAYS_ITS_TYPE {
            let given = format!(r#"{{"{keyword}":0}}"#);
            let expected = format!(r#"{{{DIALECT},"{keyword}":0}}"#);
            assert_eq!(normalise_output(&json(&given)).expect("an object").get(), expected);
        }
        assert_eq!(normalise_output(&json("false")), Err(RootError::NotAnObject));
    }

    #[test]
    fn normalising_twice_changes_nothing() {
        let once = normalise_input(&json("{ }")).expect("an object");
        assert_eq!(normalise_input(&once).expect("an object").get(), once.get());
        let once = normalise_output(&json(r#"{"type" : "array"}"#)).expect("an object");
        assert_eq!(normalise_output(&once).expect("an object").get(), once.get());
    }
}
