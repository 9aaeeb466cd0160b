//! An action as one text and some numbers.
//!
//! ```text
//!   numbers:  kind | number … | where a text ends …      in the order in which they are written
//!   text:     name{"a":1}2026-07-28 …                    all texts of the action, one after the other
//! ```
//!
//! Ends count UTF-16 units, as strings of JavaScript do; -1 stands for an absent text. Making one string and cutting it
//! there costs a third of making three here.

use std::ptr;

use napi::bindgen_prelude::ToNapiValue;
use napi::{Env, sys};

/// A room that is kept from one action to the next; a larger one is given back.
pub(crate) const KEPT: usize = 64 << 10;

/// The memory that numbers are written into. By this name, `#[napi]` takes it for a value rather than a class.
pub(crate) type Numbers<'a> = &'a mut [f64];

/// A value that is made already.
pub struct Made(sys::napi_value);

#[allow(unsafe_code, reason = "the trait's own signature; nothing is done here")]
impl ToNapiValue for Made {
    unsafe fn to_napi_value(_: sys::napi_env, value: Self) -> napi::Result<sys::napi_value> {
        Ok(value.0)
    }
}

/// The text of the last action, and the room that it took.
#[derive(Debug, Default)]
pub(crate) struct Buffer(String);

/// An action that is being written.
pub(crate) struct Pack<'a> {
    numbers: &'a mut [f64],
    text: &'a mut String,
    written: usize,
    units: usize,
    is_ascii: bool,
}

impl<'a> Pack<'a> {
    pub(crate) fn new(buffer: &'a mut Buffer, numbers: &'a mut [f64]) -> Self {
        buffer.0.clear();
        buffer.0.shrink_to(KEPT);
        Self { numbers, text: &mut buffer.0, written: 0, units: 0, is_ascii: true }
    }

    pub(crate) fn number(&mut self, number: f64) -> &mut Self {
        if let Some(place) = self.numbers.get_mut(self.written) {
            *place = number;
        }
        self.written += 1;
        self
    }

    /// A name in this language for a number of 64 bits: its halves, for JavaScript has 53.
    pub(crate) fn halves(&mut self, number: u64) -> &mut Self {
        self.number(f64::from((number & 0xffff_ffff) as u32)).number(f64::from((number >> 32) as u32))
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        if text.is_ascii() {
            self.units += text.len();
        } else {
            self.units += text.encode_utf16().count();
            self.is_ascii = false;
        }
        self.number(self.units as f64)
    }

    /// Bytes that are text, such as every frame.
    pub(crate) fn utf8(&mut self, bytes: &[u8]) -> &mut Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.text(text),
            Err(_) => self.text(&String::from_utf8_lossy(bytes)),
        }
    }

    pub(crate) fn optional(&mut self, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.text(text),
            None => self.number(-1.0),
        }
    }

    /// Makes the string, without decoding it where it is ASCII.
    #[allow(unsafe_code, reason = "napi has no safe way from borrowed bytes to a string that need not be decoded")]
    pub(crate) fn made(&self, env: &Env) -> Made {
        let mut value = ptr::null_mut();
        let create = if self.is_ascii { sys::napi_create_string_latin1 } else { sys::napi_create_string_utf8 };
        // SAFETY: pointer and length are those of the text, which lives until the call returns; ASCII is Latin-1.
        unsafe { create(env.raw(), self.text.as_ptr().cast(), self.text.len().cast_signed(), &raw mut value) };
        Made(value)
    }
}
