//! Tables of figures, as text and as Markdown.

use std::fmt::Write;

/// What a ratio has to be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(most) => ratio <= most,
            Self::AtLeast(least) => ratio >= least,
        }
    }
}

/// One line.
pub(crate) struct Row {
    case: String,
    name: String,
    cells: Vec<String>,
    goal: Option<(Goal, f64)>,
}

impl Row {
    /// Nanoseconds by repetition, against those of a floor in the same repetitions.
    pub(crate) fn times(case: &str, name: String, seen: &[f64], floor: &[f64], goal: Option<Goal>) -> Self {
        let ratios: Vec<f64> = seen.iter().zip(floor).map(|(seen, floor)| seen / floor).collect();
        let ratio = best(seen) / best(floor);
        let cells = vec![
            nanos(best(seen)),
            nanos(median(seen)),
            format!("{}–{}", nanos(best(seen)), nanos(worst(seen))),
            format!("{ratio:.2}"),
            format!("{:.2} ({:.2}–{:.2})", median(&ratios), best(&ratios), worst(&ratios)),
        ];
        Self { case: case.to_owned(), name, cells, goal: goal.map(|goal| (goal, ratio)) }
    }

    /// Cells that are made already; `judged` is the goal and the ratio that it is about.
    pub(crate) fn cells(case: &str, name: &str, cells: Vec<String>, judged: Option<(Goal, f64)>) -> Self {
        Self { case: case.to_owned(), name: name.to_owned(), cells, goal: judged }
    }

    fn goal(&self) -> String {
        match self.goal {
            None => String::new(),
            Some((goal, ratio)) => {
                let sign = match goal {
                    Goal::AtMost(most) => format!("≤ {most}"),
                    Goal::AtLeast(least) => format!("≥ {least}"),
                };
                format!("{sign} {}", if goal.is_met(ratio) { "met" } else { "MISSED" })
            }
        }
    }
}

/// Figures of one kind.
pub(crate) struct Table {
    pub(crate) title: &'static str,
    /// What the figures are of, and how they were taken.
    pub(crate) about: &'static str,
    pub(crate) columns: &'static [&'static str],
    rows: Vec<Row>,
}

/// The columns of [`Row::times`].
pub(crate) const TIMES: &[&str] = &["best", "median", "spread", "× floor", "median × floor (spread)"];

impl Table {
    pub(crate) const fn new(title: &'static str, about: &'static str, columns: &'static [&'static str]) -> Self {
        Self { title, about, columns, rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: Row) {
        println!("  {} | {} | {} {}", row.case, row.name, row.cells.join(" | "), row.goal());
        self.rows.push(row);
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Goals that were missed.
    pub(crate) fn missed(&self) -> impl Iterator<Item = String> + '_ {
        let missed = |row: &&Row| row.goal.is_some_and(|(goal, ratio)| !goal.is_met(ratio));
        self.rows.iter().filter(missed).map(|row| format!("{}: {}", row.case, row.name))
    }

    pub(crate) fn to_markdown(&self) -> String {
        let mut out = format!("## {}\n\n{}\n\n", self.title, self.about);
        let _ = writeln!(out, "| | | {} | goal |", self.columns.join(" | "));
        let _ = writeln!(out, "|---|---|{}---|", "---:|".repeat(self.columns.len()));
        let mut last = "";
        for row in &self.rows {
            let case = if row.case == last { "" } else { &row.case };
            let _ = writeln!(out, "| {case} | {} | {} | {} |", row.name, row.cells.join(" | "), row.goal());
            last = &row.case;
        }
        out
    }
}

pub(crate) fn best(seen: &[f64]) -> f64 {
    seen.iter().copied().fold(f64::MAX, f64::min)
}

pub(crate) fn worst(seen: &[f64]) -> f64 {
    seen.iter().copied().fold(f64::MIN, f64::max)
}

pub(crate) fn median(seen: &[f64]) -> f64 {
    let mut sorted = seen.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.len() % 2, sorted.get(middle), sorted.get(middle.wrapping_sub(1))) {
        (1, Some(middle), _) => *middle,
        (_, Some(after), Some(before)) => f64::midpoint(*before, *after),
        _ => f64::NAN,
    }
}

fn nanos(nanos: f64) -> String {
    if nanos < 10_000.0 { format!("{nanos:.0} ns") } else { format!("{:.1} µs", nanos / 1_000.0) }
}
