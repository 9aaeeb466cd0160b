//! Log messages of servers.
//!
//! Source: `server/utilities/logging`. Deprecated by 2026-07-28. Which messages are sent, and when, is decided in
//! `server`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Meta;
use super::macros::{Text, object};
use crate::json::Json;

macro_rules! levels {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// How severe a message is (RFC 5424), least severe first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum LoggingLevel {
            $($(#[$doc])* $variant,)*
        }

        impl LoggingLevel {
            /// Every level, least severe first.
            pub const ALL: [Self; 8] = [$(Self::$variant,)*];

            /// The level with this name.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

levels! {
    /// For finding faults.
    Debug = "debug",
    /// Progress of operations.
    Info = "info",
    /// Normal but significant.
    Notice = "notice",
    /// A warning.
    Warning = "warning",
    /// An error.
    Error = "error",
    /// A critical condition.
    Critical = "critical",
    /// Action must be taken at once.
    Alert = "alert",
    /// The system is unusable.
    Emergency = "emergency",
}

impl fmt::Display for LoggingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for LoggingLevel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A level as a peer spelled it: known, or not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OpenLoggingLevel {
    /// One of the eight levels.
    Known(LoggingLevel),
    /// Something else, as it came.
    Other(Box<str>),
}

impl OpenLoggingLevel {
    /// The level, where it is one of the eight. Elsewhere a request that names it is invalid.
    #[must_use]
    pub const fn known(&self) -> Option<LoggingLevel> {
        match self {
            Self::Known(level) => Some(*level),
            Self::Other(_) => None,
        }
    }

    /// The name on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(level) => level.as_str(),
            Self::Other(text) => text,
        }
    }
}

impl From<LoggingLevel> for OpenLoggingLevel {
    fn from(level: LoggingLevel) -> Self {
        Self::Known(level)
    }
}

impl From<&str> for OpenLoggingLevel {
    fn from(name: &str) -> Self {
        LoggingLevel::parse(name).map_or_else(|| Self::Other(name.into()), Self::Known)
    }
}

impl Serialize for OpenLoggingLevel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for OpenLoggingLevel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::deserialize(deserializer).map(|text| Self::from(&*text.0))
    }
}

object! {
    /// Parameters of `logging/setLevel`.
    pub struct SetLevelParams {
        required {
            /// The least severe level that the client wants.
            level: OpenLoggingLevel = "level",
        }
        optional {
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// Parameters of `notifications/message`.
    pub struct LogMessageParams {
        required {
            /// How severe the message is.
            level: OpenLoggingLevel = "level",
            /// The message: any JSON.
            data: Json = "data",
        }
        optional {
            /// Which part of the server speaks.
            logger: String = "logger",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}
