//! Reading Rust text as tokens, without parsing it: enough to tell code from comments, literals and tests.
//!
//! | part | gives |
//! |---|---|
//! | [`lex`] | the tokens of a file, comments and literals among them |
//! | [`items`] | the same without test items; the functions with their lines and attributes |
//!
//! Tokens, not a syntax tree: functions inside `proptest!` and other macros count too, and a file that does not
//! compile can still be looked at. What macros expand to is not seen.

pub(crate) mod items;
pub(crate) mod lex;

#[cfg(test)]
mod tests;

pub(crate) use items::{functions, without_tests};
pub(crate) use lex::{Kind, Token, tokens};

/// Whether a path is a test file by its place: `tests.rs`, or anything in a folder `tests`.
pub(crate) fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').rev().skip(1).any(|part| part == "tests")
}
