//! The types of the bindings spell out some closed sets of names, for editors and type checkers. The core has them first,
//! and this is what keeps the two alike.

use mcp_sansio::model::LoggingLevel;
use mcp_sansio::spec::Version;

const NODE: &str = include_str!("../../node/lib/model.ts");
const PYTHON: &str = include_str!("../../python/python/mcp_sansio/_servers.py");

/// The names in quotes between `start` and `end`, in their order.
fn names(text: &'static str, start: &str, end: char, quote: char) -> Vec<&'static str> {
    let (_, rest) = text.split_once(start).expect("the type is there");
    let (body, _) = rest.split_once(end).expect("it ends");
    body.split(quote).skip(1).step_by(2).collect()
}

#[test]
fn revisions_are_those_of_the_core() {
    assert_eq!(names(NODE, "export type Version =", ';', '\''), Version::ALL.map(Version::as_str));
}

#[test]
fn log_levels_are_those_of_the_core() {
    let levels = LoggingLevel::ALL.map(LoggingLevel::as_str);
    assert_eq!(names(NODE, "export type LoggingLevel =", ';', '\''), levels);
    assert_eq!(names(PYTHON, "_Level: TypeAlias = Literal[", ']', '"'), levels);
}
