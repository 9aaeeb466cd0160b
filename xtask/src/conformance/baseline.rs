//! Failures that are known, each with its reason.
//!
//! ```text
//! # role  set         scenario         reason
//! client  2025-11-25  auth/basic-cimd  authorization is not built yet
//! ```
//!
//! An entry that names no scenario of its set, or one that passes, is stale and fails: what has been mended stays so.

use super::Role;
use super::table::Row;
use crate::cli::Error;

/// The known failures.
#[derive(Debug)]
pub(super) struct Baseline(Vec<Entry>);

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    role: Role,
    set: String,
    scenario: String,
}

/// What became of all rows.
pub(super) struct Judged {
    /// Rows that passed or are known.
    pub(super) held: usize,
    /// Whether the failure of each row is known, in order.
    pub(super) known: Vec<bool>,
    pub(super) complaints: Vec<String>,
}

impl Baseline {
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let mut entries = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || Error::failed(format!("line {} of the baseline is no entry with a reason: {line}", at + 1));
            let mut words = line.split_whitespace();
            let role = words.next().and_then(Role::parse).ok_or_else(wrong)?;
            let (Some(set), Some(scenario), Some(_reason)) = (words.next(), words.next(), words.next()) else {
                return Err(wrong());
            };
            let entry = Entry { role, set: set.to_owned(), scenario: scenario.to_owned() };
            if entries.contains(&entry) {
                return Err(Error::failed(format!("the baseline names {role} {set} {scenario} twice")));
            }
            entries.push(entry);
        }
        Ok(Self(entries))
    }

    /// Whether the scenario is known to fail.
    pub(super) fn knows(&self, row: &Row) -> bool {
        self.0.iter().any(|entry| entry.names(row))
    }

    /// Compares rows with entries. `whole` says that every scenario of the roles and sets in the rows was run.
    pub(super) fn judge(&self, rows: &[Row], whole: bool) -> Judged {
        let mut complaints = Vec::new();
        let mut known = Vec::new();
        for row in rows {
            let name = format!("{} {} {}", row.role, row.set, row.scenario);
            let listed = self.knows(row);
            match (row.passed(), listed) {
                (false, false) => complaints.push(format!("{name}: {}", row.problems().join("; "))),
                (true, true) => complaints.push(format!("{name} passes: its entry in the baseline is stale")),
                (true, false) | (false, true) => {}
            }
            known.push(!row.passed() && listed);
        }
        let held = rows.len() - complaints.len();
        if whole {
            let ran = |entry: &&Entry| rows.iter().any(|row| row.role == entry.role && row.set == entry.set);
            let nowhere = |entry: &&Entry| !rows.iter().any(|row| entry.names(row));
            for entry in self.0.iter().filter(ran).filter(nowhere) {
                let Entry { role, set, scenario } = entry;
                complaints.push(format!("{role} {set} {scenario} is in the baseline and not in the set"));
            }
        }
        Judged { held, known, complaints }
    }
}

impl Entry {
    fn names(&self, row: &Row) -> bool {
        (self.role, self.set.as_str(), self.scenario.as_str()) == (row.role, row.set, row.scenario.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict::Verdict;
    use super::*;

    fn row(scenario: &str, passed: bool) -> Row {
        let problems = if passed { Vec::new() } else { vec!["it failed".to_owned()] };
        let verdicts = vec![Verdict { succeeded: 1, problems }];
        Row { role: Role::Client, set: "2025-11-25", scenario: scenario.to_owned(), verdicts }
    }

    #[test]
    fn known_failures_hold_and_stale_entries_do_not() {
        let text = "# comment\n\nclient 2025-11-25 auth/x  to come\nclient 2025-11-25 auth/y  to come\n\
                    client 2026-07-28 auth/z  to come\nclient 2025-11-25 gone  to come\n";
        let baseline = Baseline::parse(text).unwrap();
        let rows = [row("auth/x", false), row("auth/y", true), row("ping", false), row("initialize", true)];
        let judged = baseline.judge(&rows, true);
        assert_eq!(judged.held, 2);
        assert_eq!(judged.known, [true, false, false, false]);
        let expected = [
            "client 2025-11-25 auth/y passes: its entry in the baseline is stale",
            "client 2025-11-25 ping: it failed",
            "client 2025-11-25 gone is in the baseline and not in the set",
        ];
        assert_eq!(judged.complaints, expected);
        assert_eq!(baseline.judge(&rows[..1], false).complaints, Vec::<String>::new());
    }

    #[test]
    fn entries_need_a_reason_and_stand_once() {
        for text in ["client 2025-11-25 auth/x", "proxy 2025-11-25 auth/x reason", "nonsense"] {
            Baseline::parse(text).unwrap_err();
        }
        let twice = "client 2025-11-25 auth/x one\nclient 2025-11-25 auth/x two\n";
        Baseline::parse(twice).unwrap_err();
    }
}
