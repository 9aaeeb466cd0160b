//! What the bindings to other languages share: settings, replies and failures as plain values.
//!
//! ```text
//!   native objects ──(the binding: JSON, once)──▶ here ──▶ Definition, Config, Options, Reply, …
//!   errors of the core ────────────────────────▶ here ──▶ Failure: kind, blame, code, message, data
//! ```
//!
//! | module | makes |
//! |---|---|
//! | [`definition`] | what a server offers, from an object of settings |
//! | [`client`] | what a client is, and how a call is made |
//! | [`http`] | what an HTTP server or the endpoint of a client is |
//! | [`reply`] | answers to invocations and questions |
//! | [`failure`] | every error of the core in one shape |
//!
//! Settings have the names of the core's own builders, in lower case with underscores; a name that is none is an
//! error. Things that the specification shapes (schemas, annotations, icons, results) stay as it shapes them. Nothing
//! here knows a language or a runtime.

pub mod client;
pub mod definition;
pub mod failure;
pub mod http;
pub mod reply;

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_sansio::error::{Error, Misuse};
use mcp_sansio::json::Json;
use mcp_sansio::limits::Limits;
use mcp_sansio::spec::Version;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

pub use failure::Failure;

/// Reads settings.
///
/// # Errors
/// A sentence about what is no setting, or has another shape.
pub fn read<T: DeserializeOwned>(settings: &Json) -> Result<T, Error> {
    settings.parse().map_err(|error| misuse(error.to_string()))
}

/// A mistake of whoever calls the binding.
#[must_use]
pub fn misuse(message: impl Into<String>) -> Error {
    Misuse::Argument(message.into().into()).into()
}

/// A revision by its name.
fn version(name: &str) -> Result<Version, Error> {
    Version::parse(name).ok_or_else(|| misuse(format!("{name:?} is no revision")))
}

/// Bounds by name; `null` lifts one that may be lifted.
fn bound(limits: &mut Limits, by_name: &BTreeMap<String, Option<u64>>) -> Result<(), Error> {
    match by_name.iter().find(|(name, value)| !limits.set(name, **value)) {
        Some((name, _)) => Err(misuse(format!("{name:?} is no bound, or cannot be lifted"))),
        None => Ok(()),
    }
}

/// A time in seconds. What is no time at all counts as none.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(if seconds > 0.0 { Duration::MAX } else { Duration::ZERO })
}

/// Tells a `null` from a member that is left out.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<f64>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
