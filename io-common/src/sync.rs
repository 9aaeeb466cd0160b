//! Locks that cannot be poisoned: what they guard is valid between any two statements, and a handler that panics
//! must not take the connection down with it.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
