//! A machine in a cell: threads, verbs within verbs, slots that are used twice or lost.

use mcp_sansio::error::Error;
use mcp_sansio::ids::SlotId;
use mcp_sansio::machine::Now;
use mcp_sansio_told::Result;
use mcp_sansio_told::cell::{Cell, Inside};

/// Remembers what was abandoned.
#[derive(Debug, Default)]
struct Lost(Vec<SlotId>);

impl Inside for Lost {
    fn abandon(&mut self, _now: Now, slot: SlotId) {
        self.0.push(slot);
    }
}

fn told<T: std::fmt::Debug>(answer: Result<T>) -> String {
    match answer {
        Err(Error::ApiMisuse(misuse)) => misuse.to_string(),
        other => panic!("no misuse: {other:?}"),
    }
}

#[test]
fn another_thread_is_refused_unless_it_is_allowed() {
    for (any_thread, allowed) in [(false, false), (true, true)] {
        let cell = Cell::new(Lost::default(), any_thread);
        let answer = std::thread::scope(|scope| scope.spawn(|| cell.with(|_, _| Ok(()))).join());
        let answer = answer.expect("the thread ends");
        if allowed {
            answer.expect("any thread may call");
        } else {
            assert!(told(answer).contains("another thread's"));
        }
    }
}

#[test]
fn a_verb_within_a_verb_is_refused_and_harms_nothing() {
    let cell = Cell::new(Lost::default(), false);
    let inner = cell.with(|_, _| Ok(told(cell.with(|_, _| Ok(()))))).expect("the first verb runs");
    assert!(inner.contains("in use"));
    cell.with(|_, _| Ok(())).expect("it is free again");
}

#[test]
fn a_right_is_used_once_and_by_its_own_machine() {
    let (cell, other) = (Cell::new(Lost::default(), false), Cell::new(Lost::default(), false));
    let guard = cell.guard(SlotId::from_u64(7), 0);
    assert!(told(other.name(&guard)).contains("another machine's"));
    assert_eq!(cell.name(&guard).ok(), Some(SlotId::from_u64(7)));
    assert_eq!(guard.take().ok(), Some(SlotId::from_u64(7)));
    assert!(told(guard.take()).contains("answered or abandoned before"));
    drop(guard);
    assert!(cell.with(|lost, _| Ok(lost.0.is_empty())).is_ok_and(|none| none), "what was used is not lost");
}

#[test]
fn what_is_lost_on_any_thread_is_abandoned_at_the_next_verb() {
    let cell = Cell::new(Lost::default(), false);
    let (here, there) = (cell.guard(SlotId::from_u64(1), 0), cell.guard(SlotId::from_u64(2), 0));
    drop(here);
    std::thread::spawn(move || drop(there)).join().expect("the thread ends");
    let lost = cell.with(|lost, _| Ok(lost.0.clone()));
    assert_eq!(lost.ok(), Some(vec![SlotId::from_u64(1), SlotId::from_u64(2)]));
}
