//! What the answer to the probe says about a server: one function, one table.
//!
//! | the answer to `server/discover` | proves | common modern revision | only a common legacy one | none in common |
//! |---|---|---|---|---|
//! | a discover result | modern | speak it | `initialize` with it | fail |
//! | -32022 with `supported` | modern | probe again with it, once | `initialize` with it | fail |
//! | -32020, or -32021 with its data | modern | fail: the server says why | | |
//! | HTTP: 404 with -32601 | modern | speak what was claimed | | |
//! | HTTP: no answer, a redirect, 401, 403, 408, 425, 429, 502, 503, 504 | nothing | fail: says nothing about the server | | |
//! | any other error, result or HTTP status, silence on a stream | legacy | | `initialize` with the newest | fail |
//!
//! What is *common* is decided by the configuration: a client that must not fall back offers no legacy revision.
//! No row looks at one error code of legacy servers, for there is none. An HTTP server says what it is in the body of
//! its answer, whatever the status; only where that body is no error of the protocol, the status decides. Sources:
//! `basic/versioning` (Backward Compatibility), `basic/transports/stdio` (Backward Compatibility),
//! `basic/transports/streamable-http` (Backward Compatibility).

use super::api::ConnectError;
use crate::error::ErrorObject;
use crate::http::client::ExchangeError;
use crate::spec::{Era, ErrorCode, Version};

/// How the probe ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome<'a> {
    /// A discover result with these revisions.
    Discovered(&'a [String]),
    /// An error.
    Error(&'a ErrorObject),
    /// The exchange brought no answer of the protocol.
    Exchange(&'a ExchangeError),
    /// An error in the body of an HTTP answer with this status.
    Rejected { status: u16, error: &'a ErrorObject },
    /// A result that is no discover result.
    OtherResult,
    /// Nothing, for as long as the probe may take.
    Silence,
}

/// What to do about it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Probe again, claiming this revision.
    Again(Version),
    /// No connection.
    Fail(ConnectError),
    /// `initialize` with this revision.
    Handshake(Version),
    /// Speak this revision.
    Modern(Version),
    /// Speak the revision that the probe claimed: the server is modern, and tells nothing about itself.
    Undiscovered,
}

/// Judges. `offers` are the revisions that the configuration allows, newest first; `repeated` says that the probe
/// was a second one.
pub(super) fn judge(outcome: Outcome<'_>, offers: &[Version], repeated: bool) -> Verdict {
    let no_common = |theirs: &[String]| {
        Verdict::Fail(ConnectError::NoCommonVersion { ours: offers.to_vec(), theirs: theirs.to_vec() })
    };
    match outcome {
        Outcome::Discovered(theirs) => match common(offers, theirs) {
            Some(version) if version.era() == Era::Modern => Verdict::Modern(version),
            Some(version) => Verdict::Handshake(version),
            None => no_common(theirs),
        },
        Outcome::Error(error) => match modern_error(error) {
            Some(ModernError::Unsupported(theirs)) => match common(offers, &theirs) {
                Some(version) if version.era() == Era::Legacy => Verdict::Handshake(version),
                Some(version) if !repeated => Verdict::Again(version),
                _ => no_common(&theirs),
            },
            Some(ModernError::Other) => Verdict::Fail(ConnectError::Refused(error.clone())),
            None => fall_back(offers, Some(error)),
        },
        Outcome::Rejected { status: 404, error } if error.code == ErrorCode::METHOD_NOT_FOUND => Verdict::Undiscovered,
        Outcome::Rejected { error, .. } => judge(Outcome::Error(error), offers, repeated),
        Outcome::Exchange(error) if error.tells_the_era() => match fall_back(offers, None) {
            Verdict::Fail(_) => Verdict::Fail(ConnectError::Exchange(error.clone())),
            verdict => verdict,
        },
        Outcome::Exchange(error) => Verdict::Fail(ConnectError::Exchange(error.clone())),
        Outcome::OtherResult | Outcome::Silence => fall_back(offers, None),
    }
}

fn fall_back(offers: &[Version], error: Option<&ErrorObject>) -> Verdict {
    match offers.iter().copied().find(|version| version.era() == Era::Legacy) {
        Some(version) => Verdict::Handshake(version),
        None => Verdict::Fail(ConnectError::NotModern { error: error.cloned() }),
    }
}

/// The newest revision that both sides speak; a modern one before any legacy one, because it is newer.
pub(super) fn common(offers: &[Version], theirs: &[String]) -> Option<Version> {
    offers.iter().copied().find(|version| theirs.iter().any(|name| name == version.as_str()))
}

/// An error that only a modern server sends.
pub(super) enum ModernError {
    Other,
    /// -32022, with the revisions that the server names.
    Unsupported(Vec<String>),
}

/// Recognises a modern error by its code *and* the shape of its data: legacy servers use codes of that range for
/// purposes of their own.
pub(super) fn modern_error(error: &ErrorObject) -> Option<ModernError> {
    match error.code {
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION => supported(error).map(ModernError::Unsupported),
        ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => {
            #[derive(serde::Deserialize)]
            struct Data {
                #[serde(rename = "requiredCapabilities")]
                required: crate::json::Json,
            }
            let data: Data = error.data.as_ref()?.parse().ok()?;
            data.required.is_object().then_some(ModernError::Other)
        }
        ErrorCode::HEADER_MISMATCH => Some(ModernError::Other),
        _ => None,
    }
}

/// The revisions that an error names.
pub(super) fn supported(error: &ErrorObject) -> Option<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct Data {
        supported: Vec<String>,
    }
    error.data.as_ref()?.parse::<Data>().ok().map(|data| data.supported)
}
