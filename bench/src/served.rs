//! What servers in processes of their own have shown: their rates, and the processor time of a call.

use std::time::Duration;

use crate::report::{self, Goal, Row, Verdict};

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) repetitions: usize,
    pub(crate) run: Duration,
}

pub(crate) const COLUMNS: &[&str] =
    &["calls/s", "spread", "× raw rate, by turns", "CPU per call, least", "median", "× raw CPU (least)"];

/// What one run has shown.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) calls: usize,
    pub(crate) elapsed: Duration,
    pub(crate) cpu: Duration,
}

impl Sample {
    pub(crate) fn rate(&self) -> f64 {
        self.calls as f64 / self.elapsed.as_secs_f64()
    }

    /// The server's processor time for a call.
    pub(crate) fn cpu_micros(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.calls as f64
    }
}

/// What a goal is about.
#[derive(Clone, Copy)]
pub(crate) enum Figure {
    Rate,
    Cpu,
}

/// How much dearer the front on async-std may be than that on tokio.
const DEARER: f64 = 1.3;
/// What of the rate of that on tokio it must reach.
const SLOWER: f64 = 0.77;

/// The front on async-std, against that on tokio.
pub(crate) fn beside_tokio(case: &str, name: &str, seen: &[Sample], tokio: &[Sample]) -> Row {
    let case = format!("{case}; × is to mcp-sansio on tokio");
    row(&case, name, seen, tokio, &[(Goal::AtMost(DEARER), Figure::Cpu), (Goal::AtLeast(SLOWER), Figure::Rate)])
}

/// How many times the rate of rmcp is wanted over HTTP.
const FASTER: f64 = 3.5;

/// Our front on tokio, against rmcp.
pub(crate) fn beside_rmcp(case: &str, name: &str, seen: &[Sample], rmcp: &[Sample]) -> Row {
    let case = format!("{case}; × is to rmcp");
    row(&case, name, seen, rmcp, &[(Goal::AtLeast(FASTER), Figure::Rate)])
}

/// What a server has shown, against the raw one.
pub(crate) fn row(case: &str, name: &str, seen: &[Sample], raw: &[Sample], goals: &[(Goal, Figure)]) -> Row {
    let rates = |samples: &[Sample]| samples.iter().map(Sample::rate).collect::<Vec<_>>();
    let costs = |samples: &[Sample]| samples.iter().map(Sample::cpu_micros).collect::<Vec<_>>();
    let (rate, raw_rate) = (rates(seen), rates(raw));
    let (cost, raw_cost) = (costs(seen), costs(raw));
    // By turns: what slows the machine down for a while slows both.
    let by_turns: Vec<f64> = rate.iter().zip(&raw_rate).map(|(rate, raw)| rate / raw).collect();
    let by_rate = report::median(&by_turns);
    let by_cost = report::best(&cost) / report::best(&raw_cost);
    let cells = vec![
        format!("{:.0}", report::median(&rate)),
        format!("{:.0}–{:.0}", report::best(&rate), report::worst(&rate)),
        format!("{by_rate:.2}"),
        format!("{:.2} µs", report::best(&cost)),
        format!("{:.2} µs", report::median(&cost)),
        format!("{by_cost:.2}"),
    ];
    let verdicts = goals.iter().map(|(goal, figure)| match figure {
        Figure::Rate => Verdict { of: "rate", ..Verdict::new(*goal, by_rate) },
        Figure::Cpu => Verdict { of: "CPU", ..Verdict::new(*goal, by_cost) },
    });
    Row::cells(case, name, cells, verdicts)
}
