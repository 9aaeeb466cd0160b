//! Servers over Streamable HTTP: child processes that listen, spoken to over connections that are kept alive.
//!
//! As over stdio, each runs in one thread on one core, and the generator of the load on another.

pub(crate) mod exchange;
mod load;
mod memory;
mod servers;

use self::load::{Job, Load};
pub(crate) use self::memory::{COLUMNS as MEMORY_COLUMNS, measure as measure_memory};
use self::servers::Kind;
pub(crate) use self::servers::serve;
use crate::frames::Era;
use crate::os;
use crate::report::{Goal, Table};
use crate::served::{Effort, Figure, Sample, beside_rmcp, beside_tokio, row};

/// How many connections there are.
const CONNECTIONS: [usize; 3] = [1, 16, 64];
/// The texts of large messages, in bytes.
const LARGE: [usize; 2] = [1_000_000, 3_000_000];

/// Runs every case whose title has `only`.
pub(crate) fn measure(effort: Effort, only: &str, table: &mut Table) {
    let calls = Era::ALL.into_iter().flat_map(|era| CONNECTIONS.map(|connections| Job { era, connections, text: 64 }));
    let large = LARGE.map(|text| Job { era: Era::Modern, connections: 1, text });
    for job in calls.chain(large) {
        let Job { era, connections, text } = job;
        let what = if text == 64 { "tools/call".to_owned() } else { format!("{} MB of text", text / 1_000_000) };
        let many = if connections == 1 { "connection" } else { "connections" };
        let title = format!("http: {what}, {}, {connections} {many}", era.name());
        if title.contains(only) {
            measure_case(effort, job, &title, table);
        }
    }
}

/// What is asked of our server.
const fn goal(job: Job) -> Option<(Goal, Figure)> {
    match job.connections {
        16 => Some((Goal::AtMost(1.5), Figure::Cpu)),
        64 => Some((Goal::AtLeast(0.7), Figure::Rate)),
        _ => None,
    }
}

fn measure_case(effort: Effort, job: Job, title: &str, table: &mut Table) {
    os::pin(1);
    let is_large = job.text > 64;
    let start = |kind: Kind| (kind, Load::start(kind, job));
    let mut loads: Vec<(Kind, Load)> =
        Kind::all().into_iter().filter(|kind| !(is_large && kind.is_foreign())).map(start).collect();
    let mut seen: Vec<Vec<Sample>> = vec![Vec::new(); loads.len()];
    for (_, load) in &mut loads {
        load.run(effort.run / 4);
    }
    for _ in 0..effort.repetitions {
        for ((_, load), seen) in loads.iter_mut().zip(&mut seen) {
            seen.push(load.run(effort.run));
        }
    }
    let raw = seen.first().cloned().unwrap_or_default();
    for ((kind, _), seen) in loads.iter().zip(&seen) {
        let goal = goal(job).filter(|_| *kind == Kind::Ours);
        table.push(row(title, kind.title(), seen, &raw, goal.as_slice()));
    }
    let of = |kind| loads.iter().zip(&seen).find(|((known, _), _)| *known == kind).map(|(_, seen)| seen);
    if let (Some(tokio), Some(other)) = (of(Kind::Ours), of(Kind::AsyncStd)) {
        table.push(beside_tokio(title, Kind::AsyncStd.title(), other, tokio));
    }
    if let (Some(ours), Some(rmcp), false) = (of(Kind::Ours), of(Kind::Rmcp), is_large) {
        table.push(beside_rmcp(title, Kind::Ours.title(), ours, rmcp));
    }
}
