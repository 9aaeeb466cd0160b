//! Every conversation of `tests/vectors`, played over both fronts: whole, byte by byte and with the beginning of what
//! follows.
#![cfg(unix)]

use std::io::Write as _;

use mcp_sansio::testing::{Feed, Transcript};
use mcp_sansio_tests::fronts::{AsyncStd, Front, Tokio, play};
use mcp_sansio_tests::mutants;
use mcp_sansio_tests::vectors::{VECTORS, all};
use serde_json::Value;

/// How many plays may fail the first time. These are real sockets and threads, on a machine that may be busy: what differs
/// is played once more, and that is told.
const AGAIN: usize = 4;

fn holds<F: Front>() {
    let all = all();
    let cuts = || all.iter().flat_map(|transcript| Feed::ALL.map(|feed| (transcript, feed)));
    let play = |(transcript, feed)| play::<F>(transcript, feed).map_err(|error| format!("{feed:?}: {error}"));
    let failed: Vec<_> = cuts().filter_map(|cut| Some((cut, play(cut).err()?))).collect();
    let told: Vec<&str> = failed.iter().map(|(_, problem)| problem.as_str()).collect();
    assert!(failed.len() <= AGAIN, "{} of {}:\n{}", failed.len(), cuts().count(), told.join("\n"));
    for (cut, problem) in &failed {
        // Not by `eprintln`: of a test that holds, nobody would see that.
        let _ = writeln!(std::io::stderr(), "once more: {problem}");
        play(*cut).expect("what holds at all holds alone");
    }
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
fn is_shown(file: &Value, at: usize, member: &str) -> bool {
    let step = &file["steps"][at];
    match member {
        // Of a deadline, the moment is shown, and not why.
        "timeout" => false,
        "reason" => step.get("cancelled_input").or_else(|| step.get("cancelled_invoke")).is_none(),
        "closed" => file["role"] != "server" || file["transport"] != "http",
        "answer" => file["role"] != "server" || !is_refused(file, at),
        _ => true,
    }
}

/// Whether the answer at a step is one to a head that no library of HTTP/1.1 reads.
fn is_refused(file: &Value, at: usize) -> bool {
    let before = file["steps"].as_array().into_iter().flatten().take(at).collect::<Vec<_>>().into_iter().rev();
    let ask = before.filter(|step| step.get("ask").is_some()).find(|step| step["as"] == file["steps"][at]["of"]);
    let length = ask.and_then(|step| step["ask"]["headers"]["content-length"].as_str());
    length.is_some_and(|length| length.parse::<u64>().is_err())
}

#[test]
fn a_changed_expectation_fails() {
    let holds = |transcript: &Transcript| play::<Tokio>(transcript, Feed::Whole).is_ok();
    mutants::changed(&holds, 5, is_shown).check(500);
    mutants::left_out(&holds, 2).check(200);
}

/// Why a front waits is its own; until when is not.
#[test]
fn a_changed_moment_fails() {
    let holds = |file: &Value| {
        Transcript::read(&file.to_string()).is_ok_and(|transcript| play::<Tokio>(&transcript, Feed::Whole).is_ok())
    };
    let mut tried = 0;
    for (name, text) in &*VECTORS {
        let mut file: Value = serde_json::from_str(text).expect("a vector is JSON");
        let waits = |file: &Value| file["steps"].as_array()?.iter().rposition(|step| step.get("timeout").is_some());
        let Some(at) = waits(&file) else { continue };
        // As above: once more, if need be.
        assert!(holds(&file) || holds(&file), "{name}");
        let moment = &mut file["steps"][at]["timeout"]["in_ms"];
        *moment = (moment.as_u64().expect("a moment is a number") + 1).into();
        assert!(!holds(&file), "{name} waits for a later moment as well");
        tried += 1;
    }
    assert!(tried > 25, "only {tried} were tried");
}
