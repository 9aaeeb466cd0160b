//! The calls of the application that have not ended: their names, their clocks, their progress.
//!
//! ```text
//!            ┌───────────────── next round, next page, other revision ────────────────┐
//!            ▼                                                                        │
//!        Waiting ──sent──▶ Sent ──────answer──────┬──▶ Backoff ──due──▶ (sent again) ─┤
//!  (not connected, or     │                       ├──▶ Asking ──all answered──────────┤
//!   the pipe is full)     │                       └──▶ Refreshing ──tools known again──┘
//!                         └──answer, error, time-out, cancel──▶ ended, once
//! ```
//!
//! Two clocks run for each call. *Idle* starts anew with every leg and every report of progress, and stands still
//! while a legacy server waits for the user. *Hard* runs from the call on, and stands still while the application
//! owes the machine an answer.
//!
//! Deadlines lie in a heap with one entry or a few for each call; an entry that no longer holds is put right when
//! it comes to the top. So to start and to end a call, which happens far more often than a time-out, costs one
//! push, and the heap is made anew before stale entries outnumber calls.
//!
//! Sources: `basic/patterns/cancellation` (Timeouts), `basic/patterns/progress`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use super::api::TimeoutKind;
use super::mrtr::Asking;
use super::request::{CacheUse, Request};
use super::walk::Walk;
use crate::error::ErrorObject;
use crate::ids::{CallId, ProgressToken};
use crate::machine::{Mono, TimerKind};
use crate::model::LoggingLevel;

/// Stale entries that the heap may hold beside two for each call.
const STALE_ENTRIES: usize = 64;

/// A call that has not ended.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) request: Request,
    pub(super) kind: Kind,
    pub(super) phase: Phase,
    pub(super) token: Option<ProgressToken>,
    /// The last progress.
    pub(super) progress: f64,
    /// Members of `_meta` that are not the machine's.
    pub(super) foreign_meta: Box<[u8]>,
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) cache: CacheUse,
    pub(super) partition: Option<Arc<str>>,
    /// How often the cache was invalidated when the request went out.
    pub(super) epoch: u64,
    pub(super) drive_input: bool,
    /// Rounds of input so far.
    pub(super) rounds: u32,
    /// Rounds in a row that asked nothing.
    pub(super) silent_rounds: u32,
    /// Whether it was sent anew under another revision.
    pub(super) reissued: bool,
    /// Whether it was sent anew in another session.
    pub(super) renewed: bool,
    /// Whether it was sent anew with other headers.
    pub(super) refreshed: bool,
    pub(super) idle: Option<Duration>,
    pub(super) idle_at: Option<Mono>,
    pub(super) hard: Hard,
}

/// What kind of call it is, with what it has gathered.
#[derive(Debug)]
pub(super) enum Kind {
    Listen(Listen),
    Plain,
    Walk(Box<Walk>),
}

/// A stream of notifications.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Listen {
    pub(super) acknowledged: bool,
    /// Its idle time, which counts until the acknowledgement only.
    pub(super) idle: Option<Duration>,
    /// Since when, and how often in a row, it has been broken.
    pub(super) broken: Option<(Mono, u32)>,
}

/// Where a call stands.
#[derive(Debug)]
pub(super) enum Phase {
    Asking(Box<Asking>),
    Backoff {
        until: Mono,
    },
    /// The list of tools is read again, because the server found headers missing; else this is the answer.
    Refreshing {
        wire: i64,
        pages: usize,
        error: Box<ErrorObject>,
    },
    Sent {
        wire: i64,
    },
    Waiting,
}

/// The hard clock.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hard {
    Off,
    Paused(Duration),
    Until(Mono),
}

impl Call {
    /// What comes next if nothing happens. `paused` stops the idle clock.
    fn due(&self, paused: bool) -> Option<(Mono, Due)> {
        let hard = match self.hard {
            Hard::Until(at) => Some((at, Due::Timeout(TimeoutKind::Hard))),
            Hard::Off | Hard::Paused(_) => None,
        };
        let soft = match self.phase {
            Phase::Asking(_) => None,
            Phase::Backoff { until } => Some((until, Due::Retry)),
            Phase::Refreshing { .. } | Phase::Sent { .. } | Phase::Waiting if paused => None,
            Phase::Refreshing { .. } | Phase::Sent { .. } | Phase::Waiting => {
                self.idle_at.map(|at| (at, Due::Timeout(TimeoutKind::Idle)))
            }
        };
        match (hard, soft) {
            (Some(hard), Some(soft)) => Some(if soft.0 < hard.0 { soft } else { hard }),
            (hard, soft) => hard.or(soft),
        }
    }

    /// Starts the idle clock anew.
    pub(super) fn touch(&mut self, now: Mono) {
        self.idle_at = self.idle.map(|idle| now.after(idle));
    }

    /// Stops the hard clock while the application is asked.
    pub(super) fn pause(&mut self, now: Mono) {
        if let Hard::Until(at) = self.hard {
            self.hard = Hard::Paused(now.until(at));
        }
    }

    /// Starts it again.
    pub(super) fn resume(&mut self, now: Mono) {
        if let Hard::Paused(left) = self.hard {
            self.hard = Hard::Until(now.after(left));
        }
    }
}

/// What a deadline of a call means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Retry,
    Timeout(TimeoutKind),
}

impl Due {
    const fn timer(self) -> TimerKind {
        match self {
            Self::Retry => TimerKind::Backoff,
            Self::Timeout(TimeoutKind::Hard) => TimerKind::CallHard,
            Self::Timeout(TimeoutKind::Idle) => TimerKind::CallIdle,
        }
    }
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    call: Option<Call>,
}

/// A deadline: when, and the slot with its generation.
type Entry = Reverse<(Mono, u32, u32)>;

/// All calls that have not ended.
#[derive(Debug)]
pub(super) struct Calls {
    slots: Vec<Slot>,
    free: Vec<u32>,
    heap: BinaryHeap<Entry>,
    /// Whether the idle clocks stand still.
    paused: bool,
}

impl Calls {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), heap: BinaryHeap::new(), paused: false }
    }

    pub(super) const fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes a call in. Call [`Calls::arm`] when its clocks are set.
    pub(super) fn open(&mut self, call: Call) -> CallId {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.slots.push(Slot { generation: 0, call: None });
                // The bound on calls is far below 2^32.
                u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
            }
        };
        let Some(slot) = self.slots.get_mut(index as usize) else { return CallId(u64::MAX) };
        slot.call = Some(call);
        CallId(u64::from(slot.generation) << 32 | u64::from(index))
    }

    pub(super) fn get(&self, id: CallId) -> Option<&Call> {
        let (index, generation) = parts(id);
        self.slots.get(index as usize).filter(|slot| slot.generation == generation)?.call.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut Call> {
        let (index, generation) = parts(id);
        self.slots.get_mut(index as usize).filter(|slot| slot.generation == generation)?.call.as_mut()
    }

    /// Ends a call: its name is never valid again. `last` takes out what is still needed; the rest is dropped where it
    /// stands, for a call is large.
    pub(super) fn close<T>(&mut self, id: CallId, last: impl FnOnce(&mut Call) -> T) -> Option<T> {
        let (index, generation) = parts(id);
        let slot = self.slots.get_mut(index as usize).filter(|slot| slot.generation == generation)?;
        let taken = last(slot.call.as_mut()?);
        slot.call = None;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index);
        Some(taken)
    }

    /// The names of all calls, oldest place first.
    pub(super) fn ids(&self) -> Vec<CallId> {
        self.slots
            .iter()
            .zip(0_u32..)
            .filter(|(slot, _)| slot.call.is_some())
            .map(|(slot, index)| CallId(u64::from(slot.generation) << 32 | u64::from(index)))
            .collect()
    }

    /// Notes the deadline of a call. Needed when it may have come nearer; later ones are found by themselves.
    pub(super) fn arm(&mut self, id: CallId) {
        let paused = self.paused;
        let Some((at, _)) = self.get(id).and_then(|call| call.due(paused)) else { return };
        let (index, generation) = parts(id);
        self.heap.push(Reverse((at, index, generation)));
        if self.heap.len() > 2 * self.len() + STALE_ENTRIES {
            self.rebuild();
        }
    }

    fn rebuild(&mut self) {
        let paused = self.paused;
        self.heap = self
            .slots
            .iter()
            .zip(0_u32..)
            .filter_map(|(slot, index)| {
                let (at, _) = slot.call.as_ref()?.due(paused)?;
                Some(Reverse((at, index, slot.generation)))
            })
            .collect();
    }

    /// Stops the idle clocks, or starts them anew.
    pub(super) fn set_paused(&mut self, paused: bool, now: Mono) {
        if paused == self.paused {
            return;
        }
        self.paused = paused;
        if !paused {
            for call in self.slots.iter_mut().filter_map(|slot| slot.call.as_mut()) {
                if call.idle_at.is_some() {
                    call.touch(now);
                }
            }
        }
        self.rebuild();
    }

    /// Puts the top of the heap right, so that [`Calls::first`] is exact.
    pub(super) fn settle(&mut self) {
        while let Some(&Reverse((at, index, generation))) = self.heap.peek() {
            let call = self
                .slots
                .get(index as usize)
                .filter(|slot| slot.generation == generation)
                .and_then(|slot| slot.call.as_ref());
            match call.and_then(|call| call.due(self.paused)) {
                Some((due, _)) if due == at => return,
                Some((due, _)) if due > at => {
                    self.heap.pop();
                    self.heap.push(Reverse((due, index, generation)));
                }
                // It has ended, waits for nothing, or has a nearer entry of its own.
                _ => {
                    self.heap.pop();
                }
            }
        }
    }

    /// The next deadline. Exact after [`Calls::settle`].
    pub(super) fn first(&self) -> Option<(Mono, TimerKind)> {
        let &Reverse((at, index, _)) = self.heap.peek()?;
        let call = self.slots.get(index as usize)?.call.as_ref()?;
        call.due(self.paused).map(|(_, due)| (at, due.timer()))
    }

    /// Takes a deadline that has come.
    pub(super) fn take_due(&mut self, now: Mono) -> Option<(CallId, Due)> {
        self.settle();
        let &Reverse((at, index, generation)) = self.heap.peek()?;
        if at > now {
            return None;
        }
        self.heap.pop();
        let id = CallId(u64::from(generation) << 32 | u64::from(index));
        let (_, due) = self.get(id)?.due(self.paused)?;
        Some((id, due))
    }
}

const fn parts(id: CallId) -> (u32, u32) {
    ((id.0 & 0xffff_ffff) as u32, (id.0 >> 32) as u32)
}

#[cfg(test)]
mod tests;
