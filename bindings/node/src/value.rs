//! What every class needs: texts, errors, deadlines.

use std::cell::RefCell;
use std::ptr;

use mcp_sansio::error::Error;
use mcp_sansio::machine::{Mono, TimerKind};
use mcp_sansio_told::told::{argument, millis, told};
use napi::bindgen_prelude::{FromNapiValue, Result};
use napi::{check_status, sys};

use crate::pack::{KEPT, Numbers};

/// A text from JavaScript. Half of a surrogate pair is refused: there are no bytes for it.
///
/// Units of UTF-16 are copied, and made narrower here: what is ASCII, as nearly everything is, never meets a decoder.
pub struct Text(pub String);

thread_local! {
    /// Room for the units of a text, which is kept from one to the next.
    static UNITS: RefCell<Vec<u16>> = const { RefCell::new(Vec::new()) };
}

impl Text {
    fn of(units: &[u16]) -> Result<Self> {
        let text = if units.iter().fold(0, |all, unit| all | unit) < 0x80 {
            String::from_utf8(units.iter().map(|unit| *unit as u8).collect()).ok()
        } else {
            String::from_utf16(units).ok()
        };
        text.map(Self).ok_or_else(|| thrown(argument("a text has half of a surrogate pair: it cannot be sent")))
    }
}

#[allow(unsafe_code, reason = "napi's own way makes something else of halves of surrogate pairs, without a word")]
impl FromNapiValue for Text {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        UNITS.with_borrow_mut(|units| {
            let mut length = 0;
            let mut copy = |room: *mut u16, places| {
                // SAFETY: the caller vouches for `env` and `value`, and `room` has that many places, or is null.
                let status = unsafe { sys::napi_get_value_string_utf16(env, value, room, places, &raw mut length) };
                check_status!(status, "a text is wanted").map(|()| length)
            };
            // The last place is for an end. A text that fills the others may go on.
            let mut copied = copy(units.as_mut_ptr(), units.len())?;
            if copied + 1 >= units.len() {
                units.resize(copy(ptr::null_mut(), 0)? + 2, 0);
                copied = copy(units.as_mut_ptr(), units.len())?;
            }
            let text = Self::of(&units[..copied]);
            if units.len() > KEPT {
                *units = Vec::new();
            }
            text
        })
    }
}

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
