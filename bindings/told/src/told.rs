//! Errors as JSON; time, seeds and texts from what other languages have.

use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::client::{CallError, ConnectError};
use mcp_sansio::error::{Error, Misuse};
use mcp_sansio::http::Headers;
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Mono, Now, Unix};
use mcp_sansio::rng::Seed;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;

/// An error as the wrapper reads it, to make one of its classes of it.
#[derive(Default, Serialize)]
struct Told<'a> {
    blame: &'a str,
    message: String,
    /// The message alone, where it is another's.
    said: Option<&'a str>,
    code: i64,
    data: Option<Json>,
    bound: Option<&'a str>,
    limit: Option<u64>,
    /// How a call has failed, or an exchange.
    kind: Option<&'a str>,
    exchange: Option<&'a str>,
    status: Option<u16>,
    key: Option<&'a str>,
    result: Option<&'a Json>,
    partial: Option<&'a [Json]>,
}

impl<'a> Told<'a> {
    fn of(error: &'a Error) -> Self {
        let object = error.to_object();
        let (bound, limit) = match error {
            Error::LimitExceeded { bound, limit } => (Some(bound.name()), Some(*limit)),
            _ => (None, None),
        };
        let message = match error {
            Error::ApiMisuse(misuse) => misuse.to_string(),
            other => other.to_string(),
        };
        let said = match error {
            Error::Remote(object) => Some(&*object.message),
            _ => None,
        };
        let (code, data) = (object.code.0, object.data);
        Self { blame: error.blame(), message, said, code, data, bound, limit, ..Self::default() }
    }

    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// An error as text.
#[must_use]
pub fn told(error: &Error) -> String {
    Told::of(error).text()
}

/// Why no connection came about, as text.
#[must_use]
pub fn connect_told(error: &ConnectError) -> String {
    let exchange = match error {
        ConnectError::Exchange(exchange) => Some(exchange),
        _ => None,
    };
    Told {
        message: error.to_string(),
        exchange: exchange.map(|exchange| exchange.name()),
        status: exchange.and_then(|exchange| exchange.status()),
        ..Told::of(&error.to_error())
    }
    .text()
}

/// Why a call has no result, as text.
#[must_use]
pub fn call_told(error: &CallError) -> String {
    let blamed = error.to_error();
    let mut told = Told { kind: Some(error.name()), message: error.to_string(), ..Told::of(&blamed) };
    match error {
        CallError::Exchange(exchange) => {
            told.exchange = Some(exchange.name());
            told.status = exchange.status();
        }
        CallError::InvalidResult { result, .. } | CallError::OutputInvalid { result, .. } => told.result = Some(result),
        CallError::InputUnsupported { key, .. } | CallError::InputRefused { key, .. } => told.key = Some(key),
        CallError::BoundExceeded { partial, .. } => told.partial = Some(partial),
        _ => {}
    }
    told.text()
}

/// An argument that cannot be used.
#[cold]
#[must_use]
pub fn argument(problem: impl ToString) -> Error {
    Misuse::Argument(problem.to_string().into()).into()
}

/// The time, from milliseconds: monotonic, and since 1970.
#[must_use]
pub fn now(mono: f64, unix: f64) -> Now {
    // A conversion of a float to an integer stays within its bounds, and makes 0 of what is no number.
    Now { mono: Mono::from_nanos((mono * 1e6).round() as u64), unix: Unix::from_millis(unix as u64) }
}

/// A moment in milliseconds.
#[must_use]
pub fn millis(at: Mono) -> f64 {
    at.as_nanos() as f64 / 1e6
}

/// A time span from milliseconds.
#[must_use]
pub fn span(millis: f64) -> Duration {
    Duration::from_nanos((millis * 1e6).round() as u64)
}

/// JSON from text.
///
/// # Errors
/// When it is none.
pub fn json(text: String) -> Result<Json> {
    Json::from_text(text).map_err(|error| argument(format!("not JSON: {error}")))
}

/// Reads a value of a type that the core has.
///
/// # Errors
/// When it has another shape.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(argument)
}

/// A seed from its 32 bytes.
///
/// # Errors
/// When there are not so many.
pub fn seed(bytes: &[u8]) -> Result<Seed> {
    bytes.try_into().map(Seed).map_err(|_| argument("a seed has 32 bytes"))
}

/// A name of 64 bits, from its halves.
#[must_use]
pub fn whole(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Bytes from a text with one byte in each character, as Node has the values of headers.
#[must_use]
pub fn latin1(text: &str) -> Bytes {
    text.chars().map(|one| u8::try_from(u32::from(one)).unwrap_or(b'?')).collect::<Vec<u8>>().into()
}

/// The inverse of [`latin1`].
#[must_use]
pub fn bytes_text(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// Headers from pairs, with values as [`latin1`] reads them.
#[must_use]
pub fn headers(list: Vec<(String, String)>) -> Headers {
    list.into_iter().map(|(name, value)| (name, latin1(&value))).collect()
}
