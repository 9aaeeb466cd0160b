//! Tables of figures, as text and as Markdown.

use std::fmt::Write;

/// What a ratio has to be, or a time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
    /// In microseconds.
    Within(f64),
    /// In memory.
    Bytes(f64),
}

impl Goal {
    fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(most) | Self::Within(most) | Self::Bytes(most) => ratio <= most,
            Self::AtLeast(least) => ratio >= least,
        }
    }
}

/// A goal, and what came out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    /// Which of a row's figures is meant, where there are several goals.
    pub(crate) of: &'static str,
    pub(crate) goal: Goal,
    pub(crate) seen: f64,
}

impl Verdict {
    pub(crate) const fn new(goal: Goal, seen: f64) -> Self {
        Self { of: "", goal, seen }
    }

    fn is_met(&self) -> bool {
        self.goal.is_met(self.seen)
    }

    fn text(&self) -> String {
        let goal = match self.goal {
            Goal::AtMost(most) => format!("≤ {most}"),
            Goal::AtLeast(least) => format!("≥ {least}"),
            Goal::Within(micros) => format!("≤ {micros} µs"),
            Goal::Bytes(most) => format!("≤ {most}"),
        };
        let verdict = if self.is_met() { "met" } else { "MISSED" };
        format!("{} {goal} {verdict}", self.of).trim_start().to_owned()
    }
}

/// One line.
pub(crate) struct Row {
    case: String,
    name: String,
    cells: Vec<String>,
    verdicts: Vec<Verdict>,
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
        Self {
            case: case.to_owned(),
            name,
            cells,
            verdicts: goal.map(|goal| Verdict::new(goal, ratio)).into_iter().collect(),
        }
    }

    /// Cells that are made already.
    pub(crate) fn cells(
        case: &str,
        name: &str,
        cells: Vec<String>,
        verdicts: impl IntoIterator<Item = Verdict>,
    ) -> Self {
        Self { case: case.to_owned(), name: name.to_owned(), cells, verdicts: verdicts.into_iter().collect() }
    }

    fn goal(&self) -> String {
        self.verdicts.iter().map(Verdict::text).collect::<Vec<_>>().join(", ")
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
        let verdicts = self.rows.iter().flat_map(|row| row.verdicts.iter().map(move |verdict| (row, verdict)));
        let missed = verdicts.filter(|(_, verdict)| !verdict.is_met());
        missed.map(|(row, verdict)| format!("{}: {}: {}", row.case, row.name, verdict.text()))
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
