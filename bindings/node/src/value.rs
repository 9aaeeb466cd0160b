//! Errors, time and JSON.

use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::client::{CallError, ConnectError};
use mcp_sansio::error::{Error, Misuse};
use mcp_sansio::http::Headers;
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Mono, Now, Unix};
use mcp_sansio::rng::Seed;
use napi::bindgen_prelude::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// An error as the wrapper reads it, to make one of its classes of it.
#[derive(Default, Serialize)]
pub(crate) struct Told<'a> {
    blame: &'a str,
    message: String,
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

impl Told<'_> {
    fn of(error: &Error) -> Self {
        let object = error.to_object();
        let (bound, limit) = match error {
            Error::LimitExceeded { bound, limit } => (Some(bound.name()), Some(*limit)),
            _ => (None, None),
        };
        let message = match error {
            Error::ApiMisuse(misuse) => misuse.to_string(),
            other => other.to_string(),
        };
        Self { blame: error.blame(), message, code: object.code.0, data: object.data, bound, limit, ..Self::default() }
    }

    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// An error as text.
pub(crate) fn told(error: &Error) -> String {
    Told::of(error).text()
}

/// Why no connection came about, as text.
pub(crate) fn connect_told(error: &ConnectError) -> String {
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
pub(crate) fn call_told(error: &CallError) -> String {
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

/// What a verb throws.
#[cold]
#[allow(clippy::needless_pass_by_value, reason = "it stands in map_err")]
pub(crate) fn thrown(error: impl Into<Error>) -> napi::Error {
    napi::Error::from_reason(told(&error.into()))
}

/// An argument that cannot be used.
#[cold]
pub(crate) fn argument(problem: impl ToString) -> napi::Error {
    thrown(Misuse::Argument(problem.to_string().into()))
}

/// The time, from milliseconds: monotonic, and since 1970.
pub(crate) fn now(mono: f64, unix: f64) -> Now {
    // A conversion of a float to an integer stays within its bounds, and makes 0 of what is no number.
    Now { mono: Mono::from_nanos((mono * 1e6).round() as u64), unix: Unix::from_millis(unix as u64) }
}

/// A moment in milliseconds.
pub(crate) fn millis(at: Mono) -> f64 {
    at.as_nanos() as f64 / 1e6
}

/// A time span from milliseconds.
pub(crate) fn span(millis: f64) -> Duration {
    Duration::from_nanos((millis * 1e6).round() as u64)
}

pub(crate) fn json(text: String) -> Result<Json> {
    Json::from_text(text).map_err(|error| argument(format!("not JSON: {error}")))
}

/// Reads a value of a type that the core has.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(argument)
}

pub(crate) fn seed(bytes: &[u8]) -> Result<Seed> {
    bytes.try_into().map(Seed).map_err(|_| argument("a seed has 32 bytes"))
}

/// A name of 64 bits, from its halves.
pub(crate) fn whole(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Bytes from a text with one byte in each character, as Node has the values of headers.
pub(crate) fn latin1(text: &str) -> Bytes {
    text.chars().map(|one| u8::try_from(u32::from(one)).unwrap_or(b'?')).collect::<Vec<u8>>().into()
}

/// The inverse of [`latin1`].
pub(crate) fn bytes_text(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

pub(crate) fn headers(list: Vec<(String, String)>) -> Headers {
    list.into_iter().map(|(name, value)| (name, latin1(&value))).collect()
}
