//! Every conversation of `tests/vectors`, played over both fronts: whole, byte by byte and with the beginning of what
//! follows.
#![cfg(unix)]

use mcp_sansio::testing::{Feed, Transcript};
use mcp_sansio_tests::fronts::{AsyncStd, Front, Tokio, play};
use mcp_sansio_tests::mutants;
use mcp_sansio_tests::vectors::all;
use serde_json::Value;

fn holds<F: Front>() {
    let all = all();
    let cuts = || all.iter().flat_map(|transcript| Feed::ALL.map(|feed| (transcript, feed)));
    let played =
        cuts().map(|(transcript, feed)| play::<F>(transcript, feed).map_err(|error| format!("{feed:?}: {error}")));
    let problems: Vec<String> = played.filter_map(Result::err).collect();
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), cuts().count(), problems.join("\n"));
}

#[test]
fn every_vector_holds_on_tokio() {
    holds::<Tokio>();
}

#[test]
fn every_vector_holds_on_async_std() {
    holds::<AsyncStd>();
}

/// Whether a front shows what a member of a step says: `tests/vectors/README.md` has the table.
fn is_shown(member: &str, step: &Value) -> bool {
    let hidden = member == "reason" && (step.get("cancelled_input").or(step.get("cancelled_invoke"))).is_some();
    // Of a deadline, the moment is shown, and not why.
    !hidden && member != "timeout"
}

#[test]
fn a_changed_expectation_fails() {
    let holds = |transcript: &Transcript| play::<Tokio>(transcript, Feed::Whole).is_ok();
    mutants::changed(&holds, 5, is_shown).check(500);
    mutants::left_out(&holds, 2).check(200);
}
