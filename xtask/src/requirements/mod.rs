//! `cargo xtask requirements`: which rows of the specification are proved, and by which tests.
//!
//! ```text
//!   tests/requirements/rows.tsv   every row: id, level, side, part, place      (rows)
//!              |
//!   tests/requirements/map.txt    one entry for each row in scope              (map)
//!              |
//!   test functions, tests/vectors/*.json, tests/interop/cells.tsv              (proofs)
//!              |
//!   coverage per section, and complaints                                       (coverage)
//! ```
//!
//! In scope are the rows of the parts `neutral` and `http`. Always an error: a row in scope without an entry, an entry for a row
//! that is not in scope, a proof that does not exist, more host rows than a quarter. With `--strict` also: a MUST or
//! MUST NOT that is not proved, and fewer than nine tenths of the SHOULDs and SHOULD NOTs.
//!
//! Whether a test proves what its row says is for people to judge; this keeps the links honest.

mod coverage;
mod map;
mod proofs;
mod rows;

use std::collections::BTreeMap;

use crate::cli::{Args, Error};
use crate::workspace::Workspace;
use map::Entry;
use proofs::Proofs;
use rows::Row;

pub(crate) const HELP: &str = "
cargo xtask requirements [--strict] [--todo] [--suggest | --fill]

Prints how much of the specification is proved by tests, per section, and fails on links that lead nowhere.

  --strict   fail too when a MUST is not proved or fewer than nine tenths of the SHOULDs are
  --todo     list the rows that have no answer yet
  --suggest  print an entry for each `todo` row that a test names in its own name, comments or body
  --fill     write these entries into tests/requirements/map.txt; read them before you commit

An entry of tests/requirements/map.txt is one line, `ID | answer`, with one of these answers:
  tests: PROOF, PROOF…    path/to/file.rs::function (a test that is not ignored),
                          vector:NAME (tests/vectors/NAME.json) or
                          interop:PEER/TRANSPORT/ERA/ROLE/FEATURE (a cell of tests/interop/cells.tsv that says `pass`)
  host: REASON            the duty of the application around the library
  not-offered: REASON     an optional part of the protocol that is not there
  todo                    nothing yet
";

const ROWS: &str = "tests/requirements/rows.tsv";
const MAP: &str = "tests/requirements/map.txt";

/// The parts of the specification that are built, as `rows.tsv` names them.
const PARTS_IN_SCOPE: &[&str] = &["neutral", "http"];

pub(crate) fn run(workspace: &Workspace, mut args: Args) -> Result<(), Error> {
    let strict = args.switch("--strict");
    let todo = args.switch("--todo");
    let suggest = args.switch("--suggest");
    let fill = args.switch("--fill");
    args.finish()?;
    if suggest || fill {
        return entries_from_tests(workspace, fill);
    }
    check(workspace, strict, todo)
}

pub(crate) fn check(workspace: &Workspace, strict: bool, todo: bool) -> Result<(), Error> {
    let rows_text = workspace.read(ROWS)?;
    let rows = in_scope(rows::parse(&rows_text).map_err(|error| Error::failed(format!("{ROWS}: {error}")))?);
    let map_text = workspace.read(MAP)?;
    let entries = map::parse(&map_text).map_err(|error| Error::failed(format!("{MAP}: {error}")))?;
    let proofs = Proofs::collect(workspace)?;

    let coverage = coverage::measure(&rows, &entries);
    println!("{}", coverage.table());
    if todo {
        for row in rows.iter().filter(|row| entries.get(row.id).is_none_or(|entry| *entry == Entry::Todo)) {
            println!("  {:<12} {:<10} {:<7} {}", row.id, row.level.name(), row.side, row.place);
        }
    }
    let mut complaints = broken_links(&rows, &entries, &proofs);
    complaints.extend(coverage.complaints(strict));
    if complaints.is_empty() {
        return Ok(());
    }
    Err(Error::failed(format!("requirements:\n  {}", complaints.join("\n  "))))
}

fn in_scope(rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    rows.into_iter().filter(|row| PARTS_IN_SCOPE.contains(&row.part)).collect()
}

/// Rows without an entry, entries without a row, proofs that are not there.
fn broken_links(rows: &[Row<'_>], entries: &BTreeMap<&str, Entry<'_>>, proofs: &Proofs) -> Vec<String> {
    let mut complaints = Vec::new();
    for row in rows {
        match entries.get(row.id) {
            None => complaints.push(format!("{} has no entry in {MAP}", row.id)),
            Some(Entry::Tests(named)) => {
                complaints.extend(
                    named.iter().filter_map(|proof| proofs.missing(proof)).map(|why| format!("{}: {why}", row.id)),
                );
            }
            Some(_) => {}
        }
    }
    let strays = entries.keys().filter(|id| !rows.iter().any(|row| row.id == **id));
    complaints.extend(strays.map(|id| format!("{id} is in {MAP} and not a row in scope")));
    complaints
}

/// Entries for rows that tests name themselves. A mention is a claim of the test's author, not yet a proof.
fn entries_from_tests(workspace: &Workspace, write: bool) -> Result<(), Error> {
    let mentions = Proofs::collect(workspace)?.mentions();
    let text = workspace.read(MAP)?;
    let mut found = 0;
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let id = line.split('|').next().unwrap_or_default().trim();
        let tests = mentions.get(id).filter(|_| map::is_todo(line));
        lines.push(match tests {
            Some(tests) => {
                found += 1;
                let entry = format!("{id} | tests: {}", tests.join(", "));
                println!("{entry}");
                entry
            }
            None => line.to_owned(),
        });
    }
    println!("{found} rows are named by tests");
    if write && found > 0 {
        workspace.write(MAP, &(lines.join("\n") + "\n"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
