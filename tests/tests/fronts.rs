//! Every conversation of `tests/vectors`, played over both fronts: whole, byte by byte and with the beginning of what
//! follows.
#![cfg(unix)]

use mcp_sansio::testing::Feed;
use mcp_sansio_tests::fronts::{AsyncStd, Front, Tokio, play};
use mcp_sansio_tests::vectors::all;

fn holds<F: Front>() {
    let mut problems = Vec::new();
    let mut played = 0;
    let only = std::env::var("VECTOR").unwrap_or_default();
    for transcript in all().into_iter().filter(|transcript| transcript.name.contains(&only)) {
        let begun = std::time::Instant::now();
        for feed in Feed::ALL {
            match play::<F>(&transcript, feed) {
                Some(Ok(_)) => played += 1,
                Some(Err(problem)) => problems.push(format!("{feed:?}: {problem}")),
                None => {}
            }
        }
        eprintln!("{} {:?}", transcript.name, begun.elapsed());
    }
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), problems.len() + played, problems.join("\n"));
}

#[test]
fn every_vector_holds_on_tokio() {
    holds::<Tokio>();
}

#[test]
fn every_vector_holds_on_async_std() {
    holds::<AsyncStd>();
}
