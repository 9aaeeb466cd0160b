//! What keeps a machine safe among threads, collected objects and clocks.
//!
//! | danger | answer |
//! |---|---|
//! | another thread | an error, unless the machine was made for any thread |
//! | two at once: from a callback, or from two threads | an error for the second |
//! | a slot that is answered twice, or is another machine's | an error |
//! | a slot that is collected unanswered | abandoned at the machine's next verb |
//!
//! No clock is read here: the time comes with each verb, or from Python's `time` module.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use mcp_sansio::ids::{ReplySlot, SlotId};
use mcp_sansio::machine::{Mono, Now, TimerKind, Unix};
use mcp_sansio::rng::Seed;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyTuple};

use crate::errors::{broken, misuse};

/// A machine whose requests can be abandoned.
pub(crate) trait Machine: Send {
    fn abandon(&mut self, now: Now, slot: ReplySlot);
    fn poll_timeout(&self) -> Option<(Mono, TimerKind)>;
}

/// Where the slots of a machine belong.
#[derive(Debug, Default)]
pub(crate) struct Home {
    owner: Option<ThreadId>,
    lost: Mutex<Vec<SlotId>>,
    any_lost: AtomicBool,
}

pub(crate) struct Cell<M> {
    inner: Mutex<(M, Now)>,
    pub(crate) home: Arc<Home>,
}

impl<M: Machine> Cell<M> {
    /// Keeps a machine for this thread, or for whichever calls.
    pub(crate) fn new(machine: M, any_thread: bool) -> Self {
        let owner = (!any_thread).then(|| thread::current().id());
        let home = Arc::new(Home { owner, ..Home::default() });
        Self { inner: Mutex::new((machine, Now::default())), home }
    }

    /// Whether any thread may call.
    pub(crate) fn any_thread(&self) -> bool {
        self.home.owner.is_none()
    }

    /// Runs a verb that has a time.
    pub(crate) fn at<R>(
        &self,
        py: Python<'_>,
        now: Option<&Bound<'_, PyAny>>,
        verb: impl FnOnce(&mut M, Now) -> R,
    ) -> PyResult<R> {
        let now = time(py, now)?;
        let mut inner = self.enter(Some(now))?;
        Ok(verb(&mut inner.0, now))
    }

    /// Runs a verb that has none.
    pub(crate) fn with<R>(&self, verb: impl FnOnce(&mut M) -> R) -> PyResult<R> {
        let mut inner = self.enter(None)?;
        Ok(verb(&mut inner.0))
    }

    /// Runs a verb at the time of the last one.
    pub(crate) fn last<R>(&self, verb: impl FnOnce(&mut M, Now) -> R) -> PyResult<R> {
        let mut inner = self.enter(None)?;
        let (machine, now) = &mut *inner;
        Ok(verb(machine, *now))
    }

    fn enter(&self, now: Option<Now>) -> PyResult<MutexGuard<'_, (M, Now)>> {
        if self.home.owner.is_some_and(|owner| owner != thread::current().id()) {
            return Err(misuse("the machine is another thread's: make it with any_thread=True to share it"));
        }
        let mut inner = match self.inner.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::WouldBlock) => {
                return Err(misuse("the machine is in use: by another thread, or by the verb that has led here"));
            }
            Err(TryLockError::Poisoned(_)) => return Err(broken()),
        };
        inner.1 = now.unwrap_or(inner.1);
        if self.home.any_lost.swap(false, Ordering::AcqRel) {
            let lost = std::mem::take(&mut *self.home.lost.lock().unwrap_or_else(PoisonError::into_inner));
            let (machine, now) = &mut *inner;
            lost.into_iter().for_each(|slot| machine.abandon(*now, ReplySlot::from_id(slot)));
        }
        Ok(inner)
    }

    /// The deadline: nanoseconds and a name.
    pub(crate) fn deadline(&self) -> PyResult<Option<(u64, &'static str)>> {
        let due = self.with(|machine| machine.poll_timeout())?;
        Ok(due.map(|(at, kind)| (at.as_nanos(), kind.name())))
    }

    /// How long until the deadline, in seconds.
    pub(crate) fn delay(&self, py: Python<'_>, now: Option<&Bound<'_, PyAny>>) -> PyResult<Option<f64>> {
        let now = time(py, now)?.mono;
        let due = self.with(|machine| machine.poll_timeout())?;
        Ok(due.map(|(at, _)| now.until(at).as_secs_f64()))
    }
}

/// The right to answer, which ends the request when it is lost.
#[derive(Debug)]
pub(crate) struct Guard {
    id: SlotId,
    home: Arc<Home>,
    used: AtomicBool,
    /// What is asked, by name: a plain result is read as the result of that.
    pub(crate) asked: &'static str,
}

impl Guard {
    pub(crate) fn new(slot: ReplySlot, home: &Arc<Home>, asked: &'static str) -> Arc<Self> {
        Arc::new(Self { id: slot.id(), home: Arc::clone(home), used: AtomicBool::new(false), asked })
    }

    pub(crate) fn id(&self) -> u64 {
        self.id.to_u64()
    }

    /// The name of the slot, for verbs of its machine that do not end the request.
    pub(crate) fn name(&self, home: &Arc<Home>) -> PyResult<SlotId> {
        if Arc::ptr_eq(&self.home, home) { Ok(self.id) } else { Err(misuse("the slot is another machine's")) }
    }

    /// The slot itself, once.
    pub(crate) fn take(&self, home: &Arc<Home>) -> PyResult<ReplySlot> {
        let id = self.name(home)?;
        if self.used.swap(true, Ordering::AcqRel) {
            return Err(misuse("the slot was answered or abandoned before"));
        }
        Ok(ReplySlot::from_id(id))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !*self.used.get_mut() {
            self.home.lost.lock().unwrap_or_else(PoisonError::into_inner).push(self.id);
            self.home.any_lost.store(true, Ordering::Release);
        }
    }
}

static MONOTONIC: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static WALL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static ENTROPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn call<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyAny>>,
    module: &str,
    name: &str,
) -> PyResult<&'py Bound<'py, PyAny>> {
    Ok(cell.get_or_try_init(py, || py.import(module)?.getattr(name).map(Bound::unbind))?.bind(py))
}

/// The time of a verb. A number is monotonic: seconds if it is a float, nanoseconds if it is an integer. A pair has the
/// wall time too: seconds, or milliseconds. What is not given comes from Python's `time`.
pub(crate) fn time(py: Python<'_>, given: Option<&Bound<'_, PyAny>>) -> PyResult<Now> {
    let (mono, unix) = match given {
        None => (None, None),
        Some(given) => match given.cast::<PyTuple>() {
            Ok(pair) => (Some(pair.get_item(0)?), Some(pair.get_item(1)?)),
            Err(_) => (Some(given.clone()), None),
        },
    };
    let mono = match mono {
        None => call(py, &MONOTONIC, "time", "monotonic_ns")?.call0()?.extract()?,
        Some(mono) => match mono.cast::<PyFloat>() {
            Ok(seconds) => u64::try_from(span(seconds.value())?.as_nanos()).unwrap_or(u64::MAX),
            Err(_) => mono.extract()?,
        },
    };
    let unix = match unix {
        None => wall(py, mono)?,
        Some(unix) => match unix.cast::<PyFloat>() {
            Ok(seconds) => u64::try_from(span(seconds.value())?.as_millis()).unwrap_or(u64::MAX),
            Err(_) => unix.extract()?,
        },
    };
    Ok(Now { mono: Mono::from_nanos(mono), unix: Unix::from_millis(unix) })
}

/// How far the clocks were apart, and when that was seen.
static APART: Mutex<Option<(u64, i128)>> = Mutex::new(None);
/// For how long that is believed: nanoseconds. Nobody needs the wall time to the second.
const BELIEVED: u64 = 1_000_000_000;

/// The wall time at this moment of Python's monotonic clock, in milliseconds.
fn wall(py: Python<'_>, mono: u64) -> PyResult<u64> {
    // Never held while Python runs, which may let another thread in that waits for it.
    let last = *APART.lock().unwrap_or_else(PoisonError::into_inner);
    let apart = match last.filter(|(seen, _)| mono.checked_sub(*seen).is_some_and(|since| since < BELIEVED)) {
        Some((_, apart)) => apart,
        None => {
            let unix: u64 = call(py, &WALL, "time", "time_ns")?.call0()?.extract()?;
            let apart = i128::from(unix) - i128::from(mono);
            *APART.lock().unwrap_or_else(PoisonError::into_inner) = Some((mono, apart));
            apart
        }
    };
    Ok(u64::try_from((i128::from(mono) + apart) / 1_000_000).unwrap_or_default())
}

/// A time in seconds.
pub(crate) fn span(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|error| misuse(&error.to_string()))
}

/// A seed: thirty-two bytes that were given, or else the operating system's.
pub(crate) fn seed(py: Python<'_>, given: Option<&[u8]>) -> PyResult<Seed> {
    let bytes: [u8; 32] = match given {
        Some(given) => given.try_into().map_err(|_| misuse("a seed has 32 bytes"))?,
        None => call(py, &ENTROPY, "os", "urandom")?.call1((32,))?.extract()?,
    };
    Ok(Seed(bytes))
}
