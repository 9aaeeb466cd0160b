//! What every class needs: errors, deadlines.

use mcp_sansio::error::Error;
use mcp_sansio::machine::{Mono, TimerKind};
use mcp_sansio_told::told::{millis, told};

use crate::pack::Numbers;

/// What a verb throws: the wrapper makes one of its classes of the text.
#[cold]
#[allow(clippy::needless_pass_by_value, reason = "it stands in map_err")]
pub(crate) fn thrown(error: Error) -> napi::Error {
    napi::Error::from_reason(told(&error))
}

/// The name of what is waited for; its time goes into `numbers`.
pub(crate) fn timeout(numbers: Numbers<'_>, waited: Option<(Mono, TimerKind)>) -> Option<&'static str> {
    let (at, kind) = waited?;
    if let Some(place) = numbers.first_mut() {
        *place = millis(at);
    }
    Some(kind.name())
}
