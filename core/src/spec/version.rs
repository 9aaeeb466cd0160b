//! The revisions and what each of them has.
//!
//! | revision | era | batches | error without `id` | bad tool arguments | unknown resource |
//! |---|---|---|---|---|---|
//! | 2024-11-05 | legacy | no | no (`null`) | error | -32002 |
//! | 2025-03-26 | legacy | yes | no (`null`) | error | -32002 |
//! | 2025-06-18 | legacy | no | no (`null`) | error | -32002 |
//! | 2025-11-25 | legacy | no | yes | result | -32002 |
//! | 2026-07-28 | modern | no | yes | result | -32602 |
//!
//! Sources: the changelog page of each revision, `basic/versioning` of 2026-07-28 for the two eras.

use std::fmt;

use super::code::ErrorCode;

/// A revision of the specification that this crate implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Version {
    /// The first public revision.
    V2024_11_05,
    /// Batches, audio, tool annotations.
    V2025_03_26,
    /// Structured tool output, elicitation, resource links; batches removed.
    V2025_06_18,
    /// URL elicitation, sampling with tools, icons.
    V2025_11_25,
    /// The per-request envelope: no session, multi round-trip requests, listen streams.
    V2026_07_28,
}

/// The two ways in which a peer says who it is and what it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Era {
    /// A session that `initialize` opens (2025-11-25 and earlier).
    Legacy,
    /// An envelope in `_meta` of every request (2026-07-28 and later).
    Modern,
}

impl Version {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];
    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;
    /// The newest revision that `initialize` can negotiate.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The revision with this name, if this crate knows it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == text)
    }

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The era that the revision belongs to.
    #[must_use]
    pub const fn era(self) -> Era {
        match self {
            Self::V2024_11_05 | Self::V2025_03_26 | Self::V2025_06_18 | Self::V2025_11_25 => Era::Legacy,
            Self::V2026_07_28 => Era::Modern,
        }
    }

    /// Whether a frame may be an array of messages.
    #[must_use]
    pub const fn has_batches(self) -> bool {
        matches!(self, Self::V2025_03_26)
    }

    /// Whether an error about an unreadable message leaves `id` out; older schemas require it (as `null`).
    #[must_use]
    pub fn error_id_is_optional(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Whether tool arguments that do not fit the schema are a result with `isError` rather than an error.
    #[must_use]
    pub fn bad_arguments_are_results(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// The code for a resource that does not exist.
    #[must_use]
    pub const fn resource_not_found(self) -> ErrorCode {
        match self.era() {
            Era::Legacy => ErrorCode::RESOURCE_NOT_FOUND,
            Era::Modern => ErrorCode::INVALID_PARAMS,
        }
    }

    /// Whether `completion/complete` needs the `completions` capability; 2024-11-05 has the method only.
    #[must_use]
    pub fn has_completions_capability(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether progress notifications may carry `message`.
    #[must_use]
    pub fn has_progress_message(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether a server may answer -32042 (URL elicitation required) and announce completed elicitations.
    #[must_use]
    pub const fn has_url_elicitation_error(self) -> bool {
        matches!(self, Self::V2025_11_25)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        })
    }
}
