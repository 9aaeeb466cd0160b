//! The figures: how many rows of each level are proved, per section and in all.

use std::collections::BTreeMap;

use super::map::Entry;
use super::rows::{Level, Row};

/// Rows left to the host are at most this part of those in scope.
const HOST_PERCENT: usize = 25;
/// SHOULDs that are proved, at least, under `--strict`.
const SHOULD_PERCENT: usize = 90;

/// Proved rows of those that ask for a proof. Rows of the host and of what is not offered ask for none.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Share {
    proved: usize,
    asked: usize,
    open: Vec<String>,
}

impl Share {
    fn reaches(&self, percent: usize) -> bool {
        self.proved * 100 >= self.asked * percent
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.proved * 100).checked_div(self.asked) {
            Some(percent) => f.pad(&format!("{}/{} {percent:>3}%", self.proved, self.asked)),
            None => f.pad("-"),
        }
    }
}

/// The figures of one section, or of all.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Figures {
    rows: usize,
    must: Share,
    should: Share,
    other: Share,
    host: usize,
    not_offered: usize,
    todo: usize,
}

impl Figures {
    fn add(&mut self, row: &Row<'_>, entry: Option<&Entry<'_>>) {
        self.rows += 1;
        let proved = match entry {
            Some(Entry::Host(_)) => {
                self.host += 1;
                return;
            }
            Some(Entry::NotOffered(_)) => {
                self.not_offered += 1;
                return;
            }
            Some(Entry::Tests(_)) => true,
            Some(Entry::Todo) | None => {
                self.todo += 1;
                false
            }
        };
        let share = match row.level {
            Level::Must | Level::MustNot => &mut self.must,
            Level::Should | Level::ShouldNot => &mut self.should,
            Level::May | Level::Rule => &mut self.other,
        };
        share.asked += 1;
        if proved {
            share.proved += 1;
        } else {
            share.open.push(row.id.to_owned());
        }
    }

    fn line(&self, name: &str) -> String {
        format!(
            "{name:<10} {:>5} {:>14} {:>14} {:>14} {:>5} {:>12} {:>5}\n",
            self.rows, self.must, self.should, self.other, self.host, self.not_offered, self.todo
        )
    }
}

/// Coverage per section, in the order of the rows, and in all.
#[derive(Debug)]
pub(super) struct Coverage<'a> {
    sections: Vec<(&'a str, Figures)>,
    all: Figures,
}

pub(super) fn measure<'a>(rows: &[Row<'a>], entries: &BTreeMap<&str, Entry<'_>>) -> Coverage<'a> {
    let mut coverage = Coverage { sections: Vec::new(), all: Figures::default() };
    for row in rows {
        let entry = entries.get(row.id);
        if coverage.sections.last().is_none_or(|(section, _)| *section != row.section()) {
            coverage.sections.push((row.section(), Figures::default()));
        }
        if let Some((_, figures)) = coverage.sections.last_mut() {
            figures.add(row, entry);
        }
        coverage.all.add(row, entry);
    }
    coverage
}

impl Coverage<'_> {
    pub(super) fn table(&self) -> String {
        let mut text = format!(
            "{:<10} {:>5} {:>14} {:>14} {:>14} {:>5} {:>12} {:>5}\n",
            "section", "rows", "MUST (NOT)", "SHOULD (NOT)", "rule, MAY", "host", "not offered", "todo"
        );
        for (section, figures) in &self.sections {
            text.push_str(&figures.line(section));
        }
        text.push_str(&self.all.line("all"));
        text
    }

    pub(super) fn complaints(&self, strict: bool) -> Vec<String> {
        let all = &self.all;
        let mut complaints = Vec::new();
        if all.host * 100 > all.rows * HOST_PERCENT {
            complaints
                .push(format!("{} of {} rows are left to the host, more than {HOST_PERCENT}%", all.host, all.rows));
        }
        if strict && !all.must.reaches(100) {
            complaints.push(format!("MUST and MUST NOT not proved: {}", all.must.open.join(", ")));
        }
        if strict && !all.should.reaches(SHOULD_PERCENT) {
            complaints.push(format!(
                "{} of the SHOULDs are proved, fewer than {SHOULD_PERCENT}%; open: {}",
                all.should,
                all.should.open.join(", ")
            ));
        }
        complaints
    }
}
