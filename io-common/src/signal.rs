//! A signal that many connections watch: go on, finish, stop.
//!
//! ```text
//!   Running ──► Finishing ──► Stopped        never back
//! ```
//!
//! Looking at it costs one atomic load: whoever watches is polled with every packet.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use crate::sync::lock;

/// What watchers are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Running,
    /// Finish what has begun, begin nothing.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only HTTP ends gently"))]
    Finishing,
    /// Drop everything.
    Stopped,
}

#[derive(Default)]
pub(crate) struct Signal {
    stage: AtomicU8,
    watchers: Mutex<Watchers>,
}

#[derive(Default)]
struct Watchers {
    next: u64,
    wakers: HashMap<u64, Waker>,
}

impl Signal {
    pub(crate) fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Acquire) {
            0 => Stage::Running,
            1 => Stage::Finishing,
            _ => Stage::Stopped,
        }
    }

    /// Goes on to `stage`; an earlier one changes nothing.
    pub(crate) fn raise(&self, stage: Stage) {
        self.stage.fetch_max(stage as u8, Ordering::AcqRel);
        let wakers: Vec<Waker> = {
            let mut watchers = lock(&self.watchers);
            watchers.wakers.drain().map(|(_, waker)| waker).collect()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn watch(self: &Arc<Self>) -> Watch {
        Watch { signal: Arc::clone(self), registered: None }
    }
}

/// One who watches.
pub(crate) struct Watch {
    signal: Arc<Signal>,
    registered: Option<(u64, Waker, Stage)>,
}

impl Watch {
    /// Waits until everything is to be dropped.
    pub(crate) async fn stopped(mut self) {
        std::future::poll_fn(|cx| if self.poll(cx) == Stage::Stopped { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// The stage; whoever asks is woken when it changes.
    pub(crate) fn poll(&mut self, cx: &Context<'_>) -> Stage {
        let stage = self.signal.stage();
        let known = self.registered.as_ref();
        if stage == Stage::Stopped
            || known.is_some_and(|(_, waker, seen)| *seen == stage && waker.will_wake(cx.waker()))
        {
            return stage;
        }
        let mut watchers = lock(&self.signal.watchers);
        let number = known.map_or_else(
            || {
                watchers.next += 1;
                watchers.next
            },
            |(number, ..)| *number,
        );
        watchers.wakers.insert(number, cx.waker().clone());
        drop(watchers);
        self.registered = Some((number, cx.waker().clone(), stage));
        // It may have changed before we were in the table.
        let after = self.signal.stage();
        if after != stage {
            cx.waker().wake_by_ref();
        }
        after
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some((number, ..)) = &self.registered {
            lock(&self.signal.watchers).wakers.remove(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::task::noop_waker;

    use super::*;

    #[test]
    fn watchers_are_woken_and_forgotten() {
        let signal = Arc::new(Signal::default());
        let waker = noop_waker();
        let cx = Context::from_waker(&waker);
        let mut watch = signal.watch();
        assert_eq!(watch.poll(&cx), Stage::Running);
        assert_eq!(lock(&signal.watchers).wakers.len(), 1);
        signal.raise(Stage::Finishing);
        assert_eq!(watch.poll(&cx), Stage::Finishing);
        assert_eq!(lock(&signal.watchers).wakers.len(), 1, "it is told of the next stage too");
        signal.raise(Stage::Running);
        assert_eq!(signal.stage(), Stage::Finishing);
        drop(watch);
        assert_eq!(lock(&signal.watchers).wakers.len(), 0);
    }
}
