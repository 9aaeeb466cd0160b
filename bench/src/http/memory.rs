//! What sessions and streams hold in a server that runs: its anonymous memory, before and after there are many.

use super::load::{Connection, Job, Load};
use super::servers::Kind;
use crate::frames::Era;
use crate::report::{Goal, Row, Table, Verdict};

pub(crate) const COLUMNS: &[&str] = &["bytes of each"];

/// Sessions on one connection; streams, of which each has a connection of its own.
const SESSIONS: usize = 1_000;
const STREAMS: usize = 400;

pub(crate) fn measure(only: &str, table: &mut Table) {
    sessions(Kind::Ours, only, table);
    sessions(Kind::Rmcp, only, table);
    // The fixture of rmcp has nothing to listen for.
    streams(Kind::Ours, only, table);
}

fn push(kind: Kind, table: &mut Table, case: &str, bytes: usize, goal: usize) {
    let judged = Some(Verdict::new(Goal::Bytes(goal as f64), bytes as f64)).filter(|_| kind == Kind::Ours);
    table.push(Row::cells(case, kind.title(), vec![bytes.to_string()], judged));
}

fn start(kind: Kind, era: Era) -> Load {
    let mut load = Load::start(kind, Job { era, connections: 1, text: 64 });
    // What is made once has been made.
    load.run(std::time::Duration::from_millis(50));
    load
}

/// Legacy sessions that nothing happens in, beyond the connection that they were opened on.
fn sessions(kind: Kind, only: &str, table: &mut Table) {
    let case = "http memory: a legacy session (goal: 6 KB)";
    if !case.contains(only) {
        return;
    }
    let load = start(kind, Era::Legacy);
    let mut connection = Connection::open(load.address());
    connection.open_session(load.address());
    let before = load.memory();
    for _ in 0..SESSIONS {
        connection.open_session(load.address());
    }
    push(kind, table, case, load.memory().saturating_sub(before) / SESSIONS, 6_000);
}

/// Listen streams, beyond their connections: those have been used before.
fn streams(kind: Kind, only: &str, table: &mut Table) {
    let case = "http memory: a listen stream (goal: 8 KB)";
    if !case.contains(only) {
        return;
    }
    let load = start(kind, Era::Modern);
    let mut connections: Vec<Connection> = (0..STREAMS).map(|_| Connection::open(load.address())).collect();
    connections.iter_mut().for_each(|connection| drop(connection.open_session(load.address())));
    let before = load.memory();
    connections.iter_mut().for_each(|connection| connection.listen(load.address()));
    push(kind, table, case, load.memory().saturating_sub(before) / STREAMS, 8_000);
}
