//! The fixture's client against the fixture's server, both ours: the cells of `tests/interop/FIXTURE.md` without the
//! peers of other languages, and what the drivers say when a server is not as the fixture.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use serde_json::Value;

const SERVER: &str = env!("CARGO_BIN_EXE_interop-server");
/// A cell that hangs is to fail, however slow the machine is.
const CELL_SECONDS: &str = "60";

/// Runs the driver, and gives its verdicts: cell, verdict, why.
fn drive(cells: Option<&str>, arguments: &[&str]) -> Vec<[String; 3]> {
    let mut driver = Command::new(env!("CARGO_BIN_EXE_interop-client"));
    driver.args(arguments).env("INTEROP_CELL_SECONDS", CELL_SECONDS).env_remove("INTEROP_CELLS");
    if let Some(cells) = cells {
        driver.env("INTEROP_CELLS", cells);
    }
    let output = driver.output().unwrap();
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let verdict = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        ["cell", "verdict", "why"].map(|member| line[member].as_str().unwrap().to_owned())
    };
    lines.lines().map(verdict).collect()
}

fn assert_all_fail(verdicts: &[[String; 3]], cells: usize, why: &str) {
    assert_eq!(verdicts.len(), cells, "{verdicts:?}");
    for [cell, verdict, said] in verdicts {
        assert!(verdict == "fail" && said.contains(why), "{cell}: {verdict} ({said})");
    }
}

#[test]
fn every_cell_passes_in_both_eras() {
    for era in ["legacy", "modern"] {
        assert_all_pass(era, &[era, SERVER]);
    }
}

#[test]
fn every_cell_passes_over_http_in_both_eras() {
    for era in ["legacy", "modern"] {
        assert_all_pass(era, &["--http", era, SERVER, "--http"]);
    }
}

fn assert_all_pass(era: &str, arguments: &[&str]) {
    let verdicts = drive(None, arguments);
    assert_eq!(verdicts.len(), 12, "{era}: {verdicts:?}");
    for [cell, verdict, why] in verdicts {
        assert_eq!((&*verdict, &*why), ("pass", ""), "{era} {cell}");
    }
}

#[test]
fn a_cell_of_the_other_era_fails() {
    let fell_back = drive(Some("calls,listen"), &["modern", SERVER, "legacy"]);
    assert_all_fail(&fell_back, 2, "connected in the legacy era");
    let refused = drive(Some("calls,listen"), &["legacy", SERVER, "modern"]);
    assert_all_fail(&refused, 2, "");
    let fell_back = drive(Some("calls"), &["--http", "modern", SERVER, "--http", "legacy"]);
    assert_all_fail(&fell_back, 1, "connected in the legacy era");
}

#[test]
fn a_server_that_does_something_else_fails() {
    let other = drive(Some("lists,calls,resources,prompts,logging"), &["--server", "memory", "legacy", SERVER]);
    assert_all_fail(&other, 5, "");
    let unknown = drive(Some("no_such_cell"), &["modern", SERVER]);
    assert_all_fail(&unknown, 1, "no cell no_such_cell");
}

#[test]
fn a_server_that_ends_at_once_fails() {
    let ended = drive(Some("lists"), &["modern", SERVER, "no such era"]);
    assert_all_fail(&ended, 1, "closed the connection");
    let absent = drive(Some("lists"), &["modern", "no-such-program-anywhere"]);
    assert_all_fail(&absent, 1, "cannot start");
    let silent = drive(Some("lists"), &["--http", "modern", SERVER, "--http", "no such era"]);
    assert_all_fail(&silent, 1, "before it said where");
}
