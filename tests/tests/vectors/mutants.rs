//! A vector whose expectations are changed does not hold: no step is passed over, and no part of one.

use mcp_sansio::testing::{Feed, Transcript};
use mcp_sansio_tests::mutants;
use mcp_sansio_tests::vectors::play;
use serde_json::Value;

fn holds(transcript: &Transcript) -> bool {
    play(transcript, Feed::Whole).is_ok()
}

#[test]
fn a_changed_expectation_fails() {
    mutants::changed(&holds, 5, |_, _, _| true).check(1_000);
}

#[test]
fn an_expectation_that_is_left_out_fails() {
    mutants::left_out(&holds, 2).check(500);
}

/// A file for one transport is no file for another.
#[test]
fn a_vector_is_for_one_transport() {
    let carries = |step: &Value| ["out", "ask", "fetch"].iter().any(|verb| step.get(verb).is_some());
    for (name, file) in mutants::parsed(&holds) {
        // A client that refuses a call says nothing to anybody.
        if !file["steps"].as_array().unwrap().iter().any(carries) {
            continue;
        }
        let mut other = file;
        other["transport"] = if other["transport"] == "http" { "stdio".into() } else { "http".into() };
        assert!(Transcript::read(&other.to_string()).is_err(), "{name} over another transport");
    }
}
