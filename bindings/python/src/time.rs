//! The time of a verb, and seeds: as they are given, or from Python's `time` and `os`. No clock is read here.

use std::sync::atomic::{AtomicU64, Ordering};

use mcp_sansio::machine::{Mono, Now, Unix};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyTuple};

use crate::errors::{Done, Found, misuse};

static MONOTONIC: Found = Found::new("time", "monotonic");
static WALL: Found = Found::new("time", "time_ns");
static ENTROPY: Found = Found::new("os", "urandom");

/// A time that was given. A number is monotonic: seconds if it is a float, nanoseconds if it is an integer. A pair has
/// the wall time too: seconds, or milliseconds.
pub(crate) struct When(Now);

impl<'py> FromPyObject<'_, 'py> for When {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (mono, unix) = match given.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 => (count(&pair.get_item(0)?, 1e9)?, count(&pair.get_item(1)?, 1e3)?),
            _ => {
                let mono = count(&given, 1e9)?;
                (mono, wall(given.py(), mono)?)
            }
        };
        Ok(Self(Now { mono: Mono::from_nanos(mono), unix: Unix::from_millis(unix) }))
    }
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
    let what = "a time is a number that is not negative, or a pair of them: seconds as float, or an int of its unit";
    count.ok_or_else(|| misuse(what))
}

/// The time of a verb: what is not given comes from Python's `time`.
#[inline]
pub(crate) fn when(py: Python<'_>, given: Option<When>) -> Done<Now> {
    if let Some(When(now)) = given {
        return Ok(now);
    }
    let mono = (MONOTONIC.get(py)?.call0()?.extract::<f64>()? * 1e9) as u64;
    Ok(Now { mono: Mono::from_nanos(mono), unix: Unix::from_millis(wall(py, mono)?) })
}

/// How far the clocks were apart.
static APART: AtomicU64 = AtomicU64::new(0);
/// When that was seen: never so far.
static SEEN: AtomicU64 = AtomicU64::new(u64::MAX);
/// For how long that is believed: nanoseconds. Nobody needs the wall time to the second.
const BELIEVED: u64 = 1_000_000_000;

/// The wall time at this moment of Python's monotonic clock, in milliseconds.
fn wall(py: Python<'_>, mono: u64) -> PyResult<u64> {
    let is_believed = mono.checked_sub(SEEN.load(Ordering::Acquire)).is_some_and(|since| since < BELIEVED);
    if !is_believed {
        APART.store(WALL.get(py)?.call0()?.extract::<u64>()?.wrapping_sub(mono), Ordering::Relaxed);
        // In this order: who sees that it was seen, sees what.
        SEEN.store(mono, Ordering::Release);
    }
    Ok(mono.wrapping_add(APART.load(Ordering::Relaxed)) / 1_000_000)
}

/// A seed: bytes that were given, or else thirty-two of the operating system's.
pub(crate) fn seed(py: Python<'_>, given: Option<&[u8]>) -> Done<Vec<u8>> {
    match given {
        Some(given) => Ok(given.to_vec()),
        None => Ok(ENTROPY.get(py)?.call1((32,))?.extract()?),
    }
}
