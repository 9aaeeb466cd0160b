//! Servers as they are used: child processes, spoken to over their standard streams.
//!
//! All of them run in one thread on one core, the generator of the load on another. They stay up and are loaded in
//! turn, repetition by repetition. What a server costs is its processor time per call; the rate says how that comes
//! out with the pipe in between.

mod load;
mod servers;

use self::load::Load;
use self::servers::Kind;
pub(crate) use self::servers::serve;
use crate::frames::Era;
use crate::os;
use crate::report::{Goal, Table};
use crate::served::{Effort, Figure, Sample, beside_tokio, row};

/// What is asked of the servers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    /// `tools/call` of the echo.
    Call,
    /// `tools/list` of 1,000 tools on one page.
    List,
}

/// The case of one era, job and window.
struct Case {
    era: Era,
    job: Job,
    window: usize,
}

impl Case {
    fn title(&self) -> String {
        let job = match self.job {
            Job::Call => "tools/call",
            Job::List => "tools/list of 1,000",
        };
        format!("stdio: {job}, {}, {} in flight", self.era.name(), self.window)
    }

    /// What is asked of our server: of its rate, or of its processor time.
    const fn goal(&self) -> Option<(Goal, Figure)> {
        match (self.job, self.window) {
            (Job::Call, 1) => Some((Goal::AtLeast(0.95), Figure::Rate)),
            (Job::Call, 16) => Some((Goal::AtMost(2.0), Figure::Cpu)),
            (Job::Call, 64) => Some((Goal::AtLeast(0.6), Figure::Rate)),
            (Job::List, 16) => Some((Goal::AtLeast(0.85), Figure::Rate)),
            _ => None,
        }
    }
}

/// Runs every case whose title has `only`.
pub(crate) fn measure(effort: Effort, only: &str, table: &mut Table) {
    for job in [Job::Call, Job::List] {
        for era in Era::ALL {
            let windows: &[usize] = if job == Job::Call { &[1, 16, 64] } else { &[16] };
            let cases = windows.iter().map(|&window| Case { era, job, window });
            let cases: Vec<Case> = cases.filter(|case| case.title().contains(only)).collect();
            if !cases.is_empty() {
                measure_group(effort, era, job, &cases, table);
            }
        }
    }
}

/// The cases of one era and job, with the same processes.
fn measure_group(effort: Effort, era: Era, job: Job, cases: &[Case], table: &mut Table) {
    os::pin(1);
    let mut loads: Vec<(Kind, Load)> =
        Kind::ALL.into_iter().map(|kind| (kind, Load::start(kind.name(), era, job))).collect();
    for case in cases {
        let mut seen: Vec<Vec<Sample>> = vec![Vec::new(); loads.len()];
        for (_, load) in &mut loads {
            load.run(case.window, effort.run / 4);
        }
        for _ in 0..effort.repetitions {
            for ((_, load), seen) in loads.iter_mut().zip(&mut seen) {
                seen.push(load.run(case.window, effort.run));
            }
        }
        let raw = seen.first().cloned().unwrap_or_default();
        for ((kind, _), seen) in loads.iter().zip(&seen) {
            let goal = case.goal().filter(|_| *kind == Kind::Ours);
            table.push(row(&case.title(), kind.title(), seen, &raw, goal.as_slice()));
        }
        let of = |kind| loads.iter().zip(&seen).find(|((known, _), _)| *known == kind).map(|(_, seen)| seen);
        if let (Some(tokio), Some(other)) = (of(Kind::Ours), of(Kind::AsyncStd)) {
            table.push(beside_tokio(&case.title(), Kind::AsyncStd.title(), other, tokio));
        }
    }
}
