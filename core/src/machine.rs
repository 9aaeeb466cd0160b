//! What every machine shares: time as an argument, named deadlines, the action queue.
//!
//! ```text
//!            handle(now, input)        verbs (reply, call, …)
//!                    │                        │
//!                    ▼                        ▼
//!               ┌──────────────── machine ───────────────┐
//!               │   state, deadlines, queue of actions   │
//!               └──┬──────────────┬─────────────────┬────┘
//!                  ▼              ▼                 ▼
//!           poll_action()   poll_timeout()    wants_input()
//! ```
//!
//! A caller drains `poll_action` after every input, sleeps until `poll_timeout`, and reads while `wants_input`.
//! While actions are queued the deadline is the time of the last input, so that a caller who forgets to drain
//! spins visibly instead of hanging.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;

/// Monotonic time: nanoseconds since any fixed moment of the caller's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mono(u64);

impl Mono {
    /// From nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// In nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// This moment plus `duration`; stays at the end of time rather than overflow.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// How long until `later`; zero if it has passed.
    #[must_use]
    pub const fn until(self, later: Self) -> Duration {
        Duration::from_nanos(later.0.saturating_sub(self.0))
    }
}

/// Wall time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unix(u64);

impl Unix {
    /// From milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// In milliseconds.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }
}

/// The time, as the caller's clocks tell it. `mono` decides deadlines, `unix` only what others must understand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic time.
    pub mono: Mono,
    /// Wall time.
    pub unix: Unix,
}

/// What happened on a byte stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// Bytes arrived, cut anywhere.
    Bytes(Bytes),
    /// The peer will send no more.
    Eof,
    /// So many of the bytes of `Write` actions have left; without this report the machine believes that its
    /// reader is slow, and stops reading.
    Written(usize),
}

/// Why a machine wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TimerKind {
    /// Actions are queued: drain them.
    Actions,
    /// A call has heard nothing for its idle time.
    CallIdle,
    /// A call has reached its hard maximum.
    CallHard,
    /// The era probe has gone unanswered.
    Probe,
    /// A request without questions but with state may be tried again, a stream may be opened again.
    Backoff,
    /// A handler has taken too long.
    Invocation,
    /// Owed answers, or the end of an answer that is complete, have been awaited long enough.
    Drain,
    /// A resumed stream has been silent for too long (HTTP).
    Stream,
    /// A stream has been silent for so long that a sign of life is due.
    KeepAlive,
    /// A session has been idle for its time.
    Idle,
}

/// Deadlines by key: earliest first, one for each key.
#[derive(Debug)]
pub(crate) struct Deadlines<K> {
    order: BTreeSet<(Mono, K)>,
    at: BTreeMap<K, Mono>,
}

impl<K: Copy + Ord> Deadlines<K> {
    pub(crate) const fn new() -> Self {
        Self { order: BTreeSet::new(), at: BTreeMap::new() }
    }

    /// Sets or moves the deadline of `key`.
    pub(crate) fn set(&mut self, key: K, at: Mono) {
        if let Some(old) = self.at.insert(key, at) {
            self.order.remove(&(old, key));
        }
        self.order.insert((at, key));
    }

    pub(crate) fn clear(&mut self, key: K) {
        if let Some(old) = self.at.remove(&key) {
            self.order.remove(&(old, key));
        }
    }

    pub(crate) fn first(&self) -> Option<(Mono, K)> {
        self.order.first().copied()
    }

    /// Takes a deadline that has come. It is disarmed before anyone acts on it, so that a handler that fails
    /// cannot make it fire for ever.
    pub(crate) fn take_due(&mut self, now: Mono) -> Option<K> {
        let (at, key) = self.first()?;
        if at > now {
            return None;
        }
        self.clear(key);
        Some(key)
    }
}

/// The queue of actions, with the bytes that are not yet written.
#[derive(Debug)]
pub(crate) struct Queue<A> {
    /// The only action, or else the first: a machine that is asked one thing at a time allocates nothing for it.
    first: Option<A>,
    actions: VecDeque<A>,
    /// Bytes handed out or queued as frames and not reported as written.
    unwritten: usize,
    last: Now,
}

impl<A> Queue<A> {
    pub(crate) const fn new() -> Self {
        Self { first: None, actions: VecDeque::new(), unwritten: 0, last: Now { mono: Mono(0), unix: Unix(0) } }
    }

    /// Notes the time of an input: what `poll_timeout` answers while actions are queued.
    pub(crate) fn touch(&mut self, now: Now) {
        if now.mono >= self.last.mono {
            self.last = now;
        }
    }

    /// The time of the last input.
    pub(crate) const fn now(&self) -> Now {
        self.last
    }

    pub(crate) fn push(&mut self, action: A) {
        if self.is_empty() {
            self.first = Some(action);
        } else {
            self.actions.push_back(action);
        }
    }

    pub(crate) fn push_frame(&mut self, bytes: usize, action: A) {
        self.unwritten = self.unwritten.saturating_add(bytes);
        self.push(action);
    }

    pub(crate) fn written(&mut self, bytes: usize) {
        self.unwritten = self.unwritten.saturating_sub(bytes);
    }

    pub(crate) const fn unwritten(&self) -> usize {
        self.unwritten
    }

    pub(crate) fn pop(&mut self) -> Option<A> {
        self.first.take().or_else(|| self.actions.pop_front())
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.actions.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none() && self.actions.is_empty()
    }

    /// The wake-up of whoever has something to do already.
    pub(crate) const fn at_once(&self) -> (Mono, TimerKind) {
        (self.last.mono, TimerKind::Actions)
    }

    /// The next wake-up, given the machine's own earliest deadline.
    pub(crate) fn deadline(&self, own: Option<(Mono, TimerKind)>) -> Option<(Mono, TimerKind)> {
        if self.is_empty() { own } else { Some(self.at_once()) }
    }
}
