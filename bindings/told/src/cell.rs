//! What keeps a machine safe in a language with threads, callbacks and collected objects.
//!
//! | danger | answer |
//! |---|---|
//! | another thread | an error, unless the machine was made for any thread |
//! | two at once: from a callback, or from two threads | an error for the second |
//! | a slot that is answered twice, or is another machine's | an error |
//! | a slot that is collected unanswered | abandoned at the machine's next verb |
//!
//! A cell is tried and never waited for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, ThreadId};

use mcp_sansio::ids::SlotId;
use mcp_sansio::machine::Now;

use crate::Result;
use crate::told::argument;

/// What can be in a cell.
pub trait Inside: Send {
    /// Ends a request whose slot was lost.
    fn abandon(&mut self, _now: Now, _slot: SlotId) {}
}

impl<M: Inside> Inside for Option<M> {
    fn abandon(&mut self, now: Now, slot: SlotId) {
        if let Some(machine) = self {
            machine.abandon(now, slot);
        }
    }
}

/// Where the slots of a machine belong.
#[derive(Debug, Default)]
pub struct Home {
    owner: Option<ThreadId>,
    lost: Mutex<Vec<SlotId>>,
    any_lost: AtomicBool,
}

/// One machine, and the time of its last verb.
#[derive(Debug)]
pub struct Cell<M> {
    inner: Mutex<(M, Now)>,
    home: Arc<Home>,
}

thread_local! {
    static HERE: ThreadId = thread::current().id();
}

impl<M: Inside> Cell<M> {
    /// Keeps a machine for this thread, or for whichever calls.
    pub fn new(machine: M, any_thread: bool) -> Self {
        let owner = (!any_thread).then(|| HERE.with(|here| *here));
        Self { inner: Mutex::new((machine, Now::default())), home: Arc::new(Home { owner, ..Home::default() }) }
    }

    /// Runs a verb that has a time.
    ///
    /// # Errors
    /// When the machine cannot be used here and now; as the verb.
    #[inline]
    pub fn at<R>(&self, now: Now, verb: impl FnOnce(&mut M, Now) -> Result<R>) -> Result<R> {
        verb(&mut self.enter(Some(now))?.0, now)
    }

    /// Runs a verb that has none, at the time of the last one.
    ///
    /// # Errors
    /// When the machine cannot be used here and now; as the verb.
    #[inline]
    pub fn with<R>(&self, verb: impl FnOnce(&mut M, Now) -> Result<R>) -> Result<R> {
        let mut inner = self.enter(None)?;
        let (machine, now) = &mut *inner;
        verb(machine, *now)
    }

    #[inline]
    fn enter(&self, now: Option<Now>) -> Result<MutexGuard<'_, (M, Now)>> {
        if self.home.owner.is_some_and(|owner| HERE.with(|here| *here != owner)) {
            return Err(argument("the machine is another thread's: make it with any_thread=True to share it"));
        }
        let mut inner = match self.inner.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::WouldBlock) => {
                return Err(argument("the machine is in use: by another thread, or by the verb that has led here"));
            }
            Err(TryLockError::Poisoned(_)) => return Err(argument("the machine has failed inside; make another one")),
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

    /// The right to answer a request of this machine, which wants this kind of reply of a plain result.
    #[must_use]
    pub fn guard(&self, id: SlotId, wanted: u32) -> Guard {
        Guard { id, home: Arc::clone(&self.home), used: AtomicBool::new(false), wanted }
    }

    /// Whether a right is one of this machine's: for verbs that do not use it up.
    ///
    /// # Errors
    /// When it is another's.
    pub fn name(&self, guard: &Guard) -> Result<SlotId> {
        if Arc::ptr_eq(&guard.home, &self.home) { Ok(guard.id) } else { Err(argument("the slot is another machine's")) }
    }
}

/// The right to answer, which ends the request when it is lost.
#[derive(Debug)]
pub struct Guard {
    id: SlotId,
    home: Arc<Home>,
    used: AtomicBool,
    wanted: u32,
}

impl Guard {
    /// The name of the slot.
    #[must_use]
    pub const fn id(&self) -> SlotId {
        self.id
    }

    /// The kind of reply that is wanted of a plain result.
    #[must_use]
    pub const fn wanted(&self) -> u32 {
        self.wanted
    }

    /// Uses the right up.
    ///
    /// # Errors
    /// When it was used before.
    pub fn take(&self) -> Result<SlotId> {
        match self.used.swap(true, Ordering::AcqRel) {
            true => Err(argument("the slot was answered or abandoned before")),
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
