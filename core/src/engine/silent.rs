//! How long a round waits that asks nothing: a handler that keeps state and wants to be run again, because it waits
//! for something outside. In the modern era the client waits, in the legacy era the server does, and alike.

use std::time::Duration;

/// The wait before the second round in a row that asked nothing; each further one waits twice as long.
const FIRST: Duration = Duration::from_millis(100);
/// The longest wait: whoever polls needs no more patience than this.
const MOST: Duration = Duration::from_secs(5);

/// The wait before the `round`th round in a row that asks nothing; none before the first.
pub(crate) fn pause_before(round: u32) -> Duration {
    match round {
        0 | 1 => Duration::ZERO,
        // The exponent is small: the wait has reached its most long before.
        round => FIRST.saturating_mul(1 << (round - 2).min(10)).min(MOST),
    }
}
