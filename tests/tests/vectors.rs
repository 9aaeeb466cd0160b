//! Every conversation of `tests/vectors`, played whole, byte by byte and with the beginning of what follows.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "vectors/coverage.rs"]
mod coverage;
#[path = "vectors/mutants.rs"]
mod mutants;

use mcp_sansio::testing::Feed;
use mcp_sansio_tests::schema;
use mcp_sansio_tests::vectors::{all, play};

#[test]
fn every_vector_holds_however_its_input_is_cut() {
    let mut problems = Vec::new();
    for transcript in all() {
        let outcomes: Vec<_> = Feed::ALL.iter().map(|feed| play(&transcript, *feed)).collect();
        for (feed, outcome) in Feed::ALL.iter().zip(&outcomes) {
            match outcome {
                Err(problem) => problems.push(format!("{feed:?}: {problem}")),
                Ok(_) if outcome != &outcomes[0] => problems.push(format!("{}: {feed:?} differs", transcript.name)),
                Ok(_) => {}
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_frame_of_every_vector_fits_its_schema() {
    let (mut problems, mut checked) = (Vec::new(), 0);
    for transcript in all() {
        let Ok(frames) = play(&transcript, Feed::Whole) else { continue };
        let mut reader = schema::Reader::new();
        if let Err(problem) = reader.read_all(&frames) {
            problems.push(format!("{}: {problem}", transcript.name));
        }
        checked += reader.checked();
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(checked > 1_000, "only {checked} messages were checked");
}
