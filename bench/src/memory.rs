//! What is held in memory: bytes asked of the allocator, of a server machine.

use bytes::Bytes;
use mcp_sansio::limits::Limits;
use mcp_sansio::machine::{Input, Now};
use mcp_sansio::server::Action;

use crate::alloc::counted;
use crate::frames::{self, Era};
use crate::report::{Goal, Row, Table, Verdict};
use crate::server::{self, Echo};

pub(crate) const COLUMNS: &[&str] = &["bytes"];

/// Connections, or requests, of which one is the average.
const MANY: usize = 1_000;

pub(crate) fn measure(only: &str, table: &mut Table) {
    for era in Era::ALL {
        connections(era, only, table);
    }
    catalogue(only, table);
    long_line(only, table);
}

fn push(only: &str, table: &mut Table, case: &str, name: &str, bytes: isize, goal: Option<isize>) {
    if case.contains(only) {
        let goal = goal.map(|most| Verdict::new(Goal::Bytes(most as f64), bytes as f64));
        table.push(Row::cells(case, name, vec![bytes.to_string()], goal));
    }
}

/// Connections that nothing happens on, and requests that wait for their handlers.
fn connections(era: Era, only: &str, table: &mut Table) {
    let case = format!("memory: a connection, {}", era.name());
    let definition = server::definition(1, true);
    let new = || Echo::new(std::sync::Arc::clone(&definition), era);
    let (made, count) = counted(|| (0..MANY).map(|_| new()).collect::<Vec<_>>());
    drop(made);
    push(only, table, &case, "new", count.live / MANY.cast_signed(), None);
    let call = frames::call(era, 1, "echo");
    let (made, count) = counted(|| {
        let mut made: Vec<_> = (0..MANY).map(|_| new()).collect();
        for echo in &mut made {
            echo.serve(call.clone());
        }
        made
    });
    drop(made);
    push(only, table, &case, "idle after a call", count.live / MANY.cast_signed(), None);

    let mut echo = new();
    let calls: Vec<Bytes> = (0..MANY).map(|number| frames::call(era, number, "echo")).collect();
    let length = calls.iter().map(Bytes::len).sum::<usize>();
    let (waiting, count) = counted(|| {
        let mut waiting = Vec::with_capacity(MANY);
        for call in &calls {
            echo.input(Bytes::copy_from_slice(call));
            waiting.extend(std::iter::from_fn(|| echo.machine().poll_action()));
        }
        waiting
    });
    assert!(waiting.iter().all(|action| matches!(action, Action::Invoke(_))), "all are handed over");
    let kept = MANY * size_of::<Action>() + length;
    let name = "each request in flight, beside its frame";
    push(only, table, &case, name, (count.live - kept.cast_signed()) / MANY.cast_signed(), None);
}

/// What a tool adds to the definition, and nothing to a connection.
fn catalogue(only: &str, table: &mut Table) {
    let case = "memory: a definition, shared by its connections";
    for tools in [1, 1_000, 10_000] {
        let (definition, count) = counted(|| server::definition(tools, true));
        push(only, table, case, &format!("of {}", many(tools)), count.live, None);
        let (connection, count) = counted(|| Echo::new(std::sync::Arc::clone(&definition), Era::Modern));
        drop(connection);
        push(only, table, case, &format!("a connection to {}", many(tools)), count.live, None);
    }
}

/// A line of 64 MiB, in chunks: refused at the bound of 4 MiB, and not stored.
fn long_line(only: &str, table: &mut Table) {
    let case = "memory: a line of 64 MiB, with a bound of 4 MiB";
    let chunk = Bytes::from(vec![b'x'; 64 << 10]);
    let mut echo = Echo::new(server::definition(1, true), Era::Modern);
    let (refused, count) = counted(|| {
        let mut refused = None;
        for number in 0..1_024_usize {
            echo.input(chunk.clone());
            while let Some(action) = echo.machine().poll_action() {
                if let Action::Write(frame) = action {
                    refused.get_or_insert((number + 1) * chunk.len());
                    let written = Input::Written(frame.len());
                    echo.machine().handle(Now::default(), written).expect("the machine is open");
                }
            }
        }
        refused
    });
    let bound = Limits::default().frame_bytes.cast_signed();
    let refused = refused.expect("an answer says so").cast_signed();
    push(only, table, case, "read until it is refused", refused, Some(bound + chunk.len().cast_signed()));
    push(only, table, case, "held at the most", count.peak, Some(2 * bound + chunk.len().cast_signed()));
    push(only, table, case, "held at the end", count.live, Some(chunk.len().cast_signed()));
    echo.input(Bytes::from_static(b"\n"));
    echo.drain(|_| panic!("the line was answered once"));
    assert!(!echo.serve(frames::call(Era::Modern, 1, "echo")).is_empty(), "the next line is served");
}

fn many(tools: usize) -> String {
    if tools == 1 { "1 tool".to_owned() } else { format!("{tools} tools") }
}
