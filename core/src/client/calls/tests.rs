//! The table of calls: names, deadlines, and what they cost.

use super::*;

fn call(idle: Option<u64>, hard: Option<u64>) -> Call {
    Call {
        request: Request::ping(),
        kind: Kind::Plain,
        phase: Phase::Waiting,
        token: None,
        progress: f64::NEG_INFINITY,
        foreign_meta: Box::default(),
        log_level: None,
        cache: CacheUse::Use,
        partition: None,
        epoch: 0,
        drive_input: true,
        rounds: 0,
        silent_rounds: 0,
        reissued: false,
        renewed: false,
        refreshed: false,
        idle: idle.map(Duration::from_nanos),
        idle_at: idle.map(Mono::from_nanos),
        hard: hard.map_or(Hard::Off, |at| Hard::Until(Mono::from_nanos(at))),
    }
}

fn at(nanos: u64) -> Mono {
    Mono::from_nanos(nanos)
}

#[test]
fn the_nearer_of_two_clocks_counts() {
    let mut calls = Calls::new();
    let first = calls.open(call(Some(10), Some(20)));
    calls.arm(first);
    let second = calls.open(call(None, Some(15)));
    calls.arm(second);
    calls.settle();
    assert_eq!(calls.first(), Some((at(10), TimerKind::CallIdle)));
    assert_eq!(calls.take_due(at(9)), None);
    calls.get_mut(first).unwrap().touch(at(12));
    calls.settle();
    assert_eq!(calls.first(), Some((at(15), TimerKind::CallHard)));
    assert_eq!(calls.take_due(at(15)), Some((second, Due::Timeout(TimeoutKind::Hard))));
    calls.close(second, |_| ()).unwrap();
    calls.settle();
    assert_eq!(calls.first(), Some((at(20), TimerKind::CallHard)));
    // Hard wins a draw.
    calls.get_mut(first).unwrap().touch(at(10));
    assert_eq!(calls.take_due(at(20)), Some((first, Due::Timeout(TimeoutKind::Hard))));
    assert!(calls.close(first, |_| ()).is_some());
    assert!(calls.close(first, |_| ()).is_none() && calls.get(first).is_none() && calls.is_empty());
    calls.settle();
    assert_eq!(calls.first(), None);
}

/// Calls that come and go leave no trail of stale entries, though none of their deadlines ever comes.
#[test]
fn stale_entries_are_bounded() {
    let mut calls = Calls::new();
    let stays = calls.open(call(Some(1), None));
    calls.arm(stays);
    for round in 0..100_000 {
        let id = calls.open(call(Some(1_000_000 + round), None));
        calls.arm(id);
        calls.close(id, |_| ()).unwrap();
        calls.settle();
        assert!(calls.heap.len() <= 2 * 2 + STALE_ENTRIES);
    }
    assert_eq!(calls.slots.len(), 2);
    assert_eq!(calls.first(), Some((at(1), TimerKind::CallIdle)));
}
