//! A front's own runtime under a clock that only the player moves, and the knowledge of when all is at rest.
//!
//! Everything that a front does, it does in a task that its [`Runtime`] spawned, and a task does something only when it
//! is woken. So a front is **at rest** when all of this holds, and then nothing can happen until the player acts:
//!
//! | what | known by |
//! |---|---|
//! | no task was woken and not polled since | each task has a waker of ours, which counts |
//! | no task waits for bytes that are on their way | each stream has a tap of ours, which counts what goes through it |
//! | whoever connected was accepted | each connection has its tap |
//! | no sleep is over | the clock is ours: whoever it wakes is counted |
//!
//! Tasks run on the threads of the real runtime, and bytes travel through its real sockets. Nothing here sleeps:
//! the player waits until the last count has changed, and for `PATIENCE` if it never does, which is a failure.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use mcp_sansio::machine::{Mono, Now, Unix};
use mcp_sansio::testing::player::Deadline;
use mcp_sansio_io::{BoxFuture, Runtime};

use super::tap::{Place, Wire};

/// How long a front may take to come to rest before it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// The clock, the tasks and the streams of one play.
pub struct Lab {
    runtime: Arc<dyn Runtime>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    now: Now,
    sleepers: BTreeMap<u64, Sleeper>,
    /// Sleepers that are to wake before their time.
    roused: BTreeSet<u64>,
    named: u64,
    /// Tasks that were woken, or are running.
    busy: usize,
    pub(super) wires: Vec<Wire>,
    /// Connections that the player has made, and nobody has accepted.
    arriving: VecDeque<Place>,
}

impl Lab {
    /// A clock that shows 0 ms, on a front's runtime.
    #[must_use]
    pub fn new(runtime: Arc<dyn Runtime>) -> Arc<Self> {
        let now = Now { mono: Mono::from_nanos(0), unix: Unix::from_millis(1_800_000_000_000) };
        let state = Mutex::new(State { now, ..State::default() });
        Arc::new(Self { runtime, state, changed: Condvar::new() })
    }

    /// The runtime as the front sees it.
    #[must_use]
    pub fn runtime(self: &Arc<Self>) -> Arc<dyn Runtime> {
        Arc::new(Handle(Arc::clone(self)))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something that no task and no stream shows is on its way, until the answer is dropped.
    pub(super) fn hold(self: &Arc<Self>) -> Hold {
        self.state().busy += 1;
        Hold(Arc::clone(self))
    }

    /// Changes something that the player may wait for.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state());
        self.changed.notify_all();
        changed
    }

    /// Moves the clock, and wakes whoever has slept long enough.
    pub fn set(&self, now: Now) {
        let due: Vec<Waker> = {
            let mut state = self.state();
            state.now = now;
            let over = state.sleepers.iter().filter(|(_, sleeper)| sleeper.until <= now.mono);
            let names: Vec<u64> = over.map(|(name, _)| *name).collect();
            names.iter().filter_map(|name| state.sleepers.remove(name)).map(|sleeper| sleeper.waker).collect()
        };
        due.into_iter().for_each(Waker::wake);
    }

    /// Ends the sleeps that were to last so long, as if that time had passed for them alone.
    pub fn pass(&self, duration: Duration) {
        self.rouse(|lasts| lasts == duration);
    }

    fn rouse(&self, which: impl Fn(Duration) -> bool) {
        let sleepers: Vec<Waker> = {
            let State { sleepers, roused, .. } = &mut *self.state();
            let those = sleepers.iter().filter(|(_, sleeper)| which(sleeper.lasts));
            those
                .map(|(name, sleeper)| {
                    roused.insert(*name);
                    sleeper.waker.clone()
                })
                .collect()
        };
        sleepers.into_iter().for_each(Waker::wake);
    }

    /// The player connects: whoever is accepted next has this end.
    pub fn arrives(&self, place: Place) {
        self.change(|state| state.arriving.push_back(place));
    }

    /// Somebody is accepted. Their task is counted before they are: call this within one of the front's.
    pub fn arrived(&self) -> Option<Place> {
        self.change(|state| state.arriving.pop_front())
    }

    /// What a front waits for, exactly: for one whose only sleeps are those of its machines, but for those that were to
    /// last as long as one of `others`.
    ///
    /// A front leaves a sleep that has become too short as it is, and looks at the clock when it ends. So every sleeper
    /// is woken now, finds nothing due, and sleeps until the moment that it waits for.
    ///
    /// # Panics
    /// When that has the front say something.
    #[must_use]
    pub fn deadline(&self, others: &[Duration]) -> Deadline {
        self.rouse(|lasts| !others.contains(&lasts));
        let silent = || match self.state().wires.iter().any(Wire::is_unheard) {
            true => Err("a sleep that ends too early has the front say something".to_owned()),
            false => Ok(false),
        };
        self.rest(silent).unwrap_or_else(|problem| panic!("{problem}"));
        let state = self.state();
        let sleepers = state.sleepers.values().filter(|sleeper| !others.contains(&sleeper.lasts));
        sleepers.map(|sleeper| sleeper.until).min().map_or(Deadline::None, Deadline::Moment)
    }

    /// Waits until the front is at rest. `hear` takes what is there to be read: it is called until it finds nothing
    /// more.
    ///
    /// # Errors
    /// When the front does not come to rest, or reading fails.
    pub fn rest(&self, mut hear: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            if hear()? {
                continue;
            }
            let state = self.state();
            if state.wires.iter().any(Wire::is_unheard) {
                if begun.elapsed() > PATIENCE {
                    return Err("nobody hears what the front says".to_owned());
                }
                continue;
            }
            if state.busy == 0 && state.arriving.is_empty() && !state.wires.iter().any(Wire::is_due) {
                return Ok(());
            }
            let (state, waited) = self.changed.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner);
            if waited.timed_out() {
                let wires: Vec<&Wire> = state.wires.iter().filter(|wire| wire.is_due()).collect();
                return Err(format!("the front does not come to rest: {} tasks, {wires:?}", state.busy));
            }
        }
    }
}

impl std::fmt::Debug for Lab {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lab").field("now", &self.state().now).finish_non_exhaustive()
    }
}

/// Something that is on its way.
pub(super) struct Hold(Arc<Lab>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.change(|state| state.busy -= 1);
    }
}

struct Handle(Arc<Lab>);

impl Runtime for Handle {
    fn now(&self) -> Now {
        self.0.state().now
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut state = self.0.state();
        state.named += 1;
        let (until, name) = (state.now.mono.after(duration), state.named);
        drop(state);
        Box::pin(Sleep { lab: Arc::clone(&self.0), until, lasts: duration, name })
    }

    fn spawn(&self, future: BoxFuture<'static, ()>) {
        let lab = Arc::clone(&self.0);
        lab.change(|state| state.busy += 1);
        let flag = Arc::new(Flag { woken: AtomicBool::new(true), task: Mutex::default(), lab });
        self.0.runtime.spawn(Box::pin(Task { future: Some(future), flag }));
    }
}

/// Somebody who sleeps.
struct Sleeper {
    until: Mono,
    lasts: Duration,
    waker: Waker,
}

struct Sleep {
    lab: Arc<Lab>,
    until: Mono,
    lasts: Duration,
    name: u64,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lab.state();
        if state.now.mono >= self.until || state.roused.remove(&self.name) {
            return Poll::Ready(());
        }
        let (until, lasts, waker) = (self.until, self.lasts, cx.waker().clone());
        state.sleepers.insert(self.name, Sleeper { until, lasts, waker });
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let sleeper = {
            let mut state = self.lab.state();
            state.roused.remove(&self.name);
            state.sleepers.remove(&self.name)
        };
        // Outside of the lock: a waker may be the last that holds a task.
        drop(sleeper);
    }
}

/// A task of the front.
struct Task {
    /// `None` once it is over.
    future: Option<BoxFuture<'static, ()>>,
    flag: Arc<Flag>,
}

/// Its waker. A task counts as busy from the moment that it is woken in to the end of the poll that follows.
struct Flag {
    woken: AtomicBool,
    task: Mutex<Option<Waker>>,
    lab: Arc<Lab>,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::SeqCst) {
            self.lab.state().busy += 1;
        }
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        *this.flag.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        if !this.flag.woken.swap(false, Ordering::SeqCst) {
            // The runtime polls it of its own accord.
            this.flag.lab.state().busy += 1;
        }
        let Some(future) = &mut this.future else { return Poll::Ready(()) };
        let waker = Waker::from(Arc::clone(&this.flag));
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        if polled.is_ready() {
            // What it holds is let go while it still counts.
            this.future = None;
        }
        this.flag.lab.change(|state| state.busy -= 1);
        polled
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.future = None;
        // Whoever wakes it from now on wakes nobody.
        if self.flag.woken.swap(true, Ordering::SeqCst) {
            self.flag.lab.change(|state| state.busy -= 1);
        }
    }
}
