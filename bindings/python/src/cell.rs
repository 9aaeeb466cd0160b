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

use mcp_sansio::error::Error;
use mcp_sansio::ids::SlotId;
use mcp_sansio::machine::{Mono, Now, TimerKind, Unix};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyTuple};

use crate::errors::{Half, broken, misuse, raised};

pub(crate) type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// What is in a cell: it has deadlines, and requests that can be lost.
pub(crate) trait Inside: Send {
    fn abandon(&mut self, now: Now, slot: SlotId);
    fn poll_timeout(&mut self) -> Option<(Mono, TimerKind)>;
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

thread_local! {
    static HERE: ThreadId = thread::current().id();
}

impl<M: Inside> Cell<M> {
    /// Keeps a machine for this thread, or for whichever calls.
    pub(crate) fn new(machine: M, any_thread: bool) -> Self {
        let owner = (!any_thread).then(|| HERE.with(|here| *here));
        Self { inner: Mutex::new((machine, Now::default())), home: Arc::new(Home { owner, ..Home::default() }) }
    }

    /// Runs a verb that has a time.
    #[inline]
    pub(crate) fn at<R>(
        &self,
        py: Python<'_>,
        now: Any<'_, '_>,
        verb: impl FnOnce(&mut M, Now) -> Result<R, Error>,
    ) -> PyResult<R> {
        let now = time(py, now)?;
        let mut inner = self.enter(Some(now))?;
        verb(&mut inner.0, now).map_err(|error| {
            drop(inner);
            raised(error)
        })
    }

    /// Runs a verb that has none, at the time of the last one.
    #[inline]
    pub(crate) fn with<R>(&self, verb: impl FnOnce(&mut M, Now) -> R) -> PyResult<R> {
        let mut inner = self.enter(None)?;
        let (machine, now) = &mut *inner;
        Ok(verb(machine, *now))
    }

    #[inline]
    fn enter(&self, now: Option<Now>) -> PyResult<MutexGuard<'_, (M, Now)>> {
        if self.home.owner.is_some_and(|owner| HERE.with(|here| *here != owner)) {
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
        if self.home.any_lost.load(Ordering::Acquire) {
            self.home.any_lost.store(false, Ordering::Release);
            let lost = std::mem::take(&mut *self.home.lost.lock().unwrap_or_else(PoisonError::into_inner));
            let (machine, now) = &mut *inner;
            lost.into_iter().for_each(|slot| machine.abandon(*now, slot));
        }
        Ok(inner)
    }

    /// The deadline: nanoseconds and a name.
    pub(crate) fn deadline(&self) -> PyResult<Option<(u64, &'static str)>> {
        let due = self.with(|machine, _| machine.poll_timeout())?;
        Ok(due.map(|(at, kind)| (at.as_nanos(), kind.name())))
    }

    /// How long until the deadline, in seconds.
    pub(crate) fn delay(&self, py: Python<'_>, now: Any<'_, '_>) -> PyResult<Option<f64>> {
        let now = time(py, now)?.mono;
        let due = self.with(|machine, _| machine.poll_timeout())?;
        Ok(due.map(|(at, _)| now.until(at).as_secs_f64()))
    }
}

/// The right to answer, which ends the request when it is lost.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) id: SlotId,
    home: Arc<Home>,
    used: AtomicBool,
    /// The kind of reply that is wanted of a plain result.
    pub(crate) wanted: u32,
}

impl Guard {
    pub(crate) fn new(id: SlotId, home: &Arc<Home>, wanted: u32) -> Arc<Self> {
        Arc::new(Self { id, home: Arc::clone(home), used: AtomicBool::new(false), wanted })
    }

    /// The name of the slot, for verbs of its machine that do not end the request.
    pub(crate) fn name(&self, home: &Arc<Home>) -> PyResult<SlotId> {
        if Arc::ptr_eq(&self.home, home) { Ok(self.id) } else { Err(misuse("the slot is another machine's")) }
    }

    /// Whether the right was unused; it is used from now on.
    pub(crate) fn take(&self) -> Result<SlotId, Error> {
        match self.used.swap(true, Ordering::AcqRel) {
            true => Err(mcp_sansio_told::told::argument("the slot was answered or abandoned before")),
            false => Ok(self.id),
        }
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

static MONOTONIC: Half = Half::new("time", "monotonic_ns");
static WALL: Half = Half::new("time", "time_ns");
static ENTROPY: Half = Half::new("os", "urandom");

/// The time of a verb. A number is monotonic: seconds if it is a float, nanoseconds if it is an integer. A pair has the
/// wall time too: seconds, or milliseconds. What is not given comes from Python's `time`.
#[inline]
pub(crate) fn time(py: Python<'_>, given: Any<'_, '_>) -> PyResult<Now> {
    let (mono, unix) = match given {
        None => {
            let mono: u64 = MONOTONIC.get(py)?.call0()?.extract()?;
            (mono, wall(py, mono)?)
        }
        Some(given) => match given.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 => (count(&pair.get_item(0)?, 1e9)?, count(&pair.get_item(1)?, 1e3)?),
            _ => {
                let mono = count(given, 1e9)?;
                (mono, wall(py, mono)?)
            }
        },
    };
    Ok(Now { mono: Mono::from_nanos(mono), unix: Unix::from_millis(unix) })
}

/// A time as a count: of a whole number itself, of a float so many in a second.
fn count(given: &Bound<'_, PyAny>, in_a_second: f64) -> PyResult<u64> {
    let count = match given.cast::<PyFloat>() {
        Ok(seconds) => {
            let count = (seconds.value() * in_a_second).round();
            (0.0..18_446_744_073_709_551_616.0).contains(&count).then_some(count as u64)
        }
        Err(_) if given.is_instance_of::<PyBool>() => None,
        Err(_) => given.extract().ok(),
    };
    count.ok_or_else(|| {
        misuse("a time is a number that is not negative, or a pair of them: of seconds as float, or whole of its unit")
    })
}

/// How far the clocks were apart, and when that was seen.
static APART: Mutex<Option<(u64, u64)>> = Mutex::new(None);
/// For how long that is believed: nanoseconds. Nobody needs the wall time to the second.
const BELIEVED: u64 = 1_000_000_000;

/// The wall time at this moment of Python's monotonic clock, in milliseconds.
fn wall(py: Python<'_>, mono: u64) -> PyResult<u64> {
    // Never held while Python runs, which may let another thread in that waits for it.
    let last = *APART.lock().unwrap_or_else(PoisonError::into_inner);
    let apart = match last.filter(|(seen, _)| mono.checked_sub(*seen).is_some_and(|since| since < BELIEVED)) {
        Some((_, apart)) => apart,
        None => {
            let unix: u64 = WALL.get(py)?.call0()?.extract()?;
            let apart = unix.wrapping_sub(mono);
            *APART.lock().unwrap_or_else(PoisonError::into_inner) = Some((mono, apart));
            apart
        }
    };
    Ok(mono.wrapping_add(apart) / 1_000_000)
}

/// A seed: bytes that were given, or else thirty-two of the operating system's.
pub(crate) fn seed(py: Python<'_>, given: Option<&[u8]>) -> PyResult<Vec<u8>> {
    match given {
        Some(given) => Ok(given.to_vec()),
        None => ENTROPY.get(py)?.call1((32,))?.extract(),
    }
}
