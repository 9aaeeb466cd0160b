//! What the protocol's engine must know of the transport under it.
//!
//! | wire | carries | listen streams end with | questions, progress, log |
//! |---|---|---|---|
//! | lines | both eras, any number of requests | `cancelled`, then the result | yes |
//! | exchange | one modern request | the result | yes, if it may stream; questions always |
//! | session | one legacy session | – | yes, if its streams carry them |
//! | stateless | one legacy request | – | no |

use crate::spec::{Era, ErrorCode};

/// The transport under an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// A byte stream that carries lines.
    Lines,
    /// One modern request over HTTP.
    Exchange {
        /// Whether the answer may be preceded by what belongs to it; else it is a single JSON object.
        streams: bool,
    },
    /// A legacy session over HTTP.
    Session {
        /// Whether answers may be preceded by what belongs to them; else they are single JSON objects.
        streams: bool,
    },
    /// One legacy request over HTTP, of no session.
    Stateless,
}

impl Wire {
    /// Whether something can be said before the answer to a request.
    pub(super) const fn carries_related(self) -> bool {
        match self {
            Self::Lines => true,
            Self::Exchange { streams } | Self::Session { streams } => streams,
            Self::Stateless => false,
        }
    }

    /// Whether a client can be asked for input: modern ones always, for questions are answers there.
    pub(super) fn can_ask(self, era: Era) -> bool {
        era == Era::Modern || self.carries_related()
    }
}

/// By which exchange a message came: what belongs to it goes back that way. A byte stream has one origin.
pub(crate) type Origin = u64;

/// How the answer to a request goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) origin: Origin,
    /// With the rest of its batch.
    pub(super) batch: Option<u64>,
}

impl Way {
    /// Alone.
    pub(super) const fn alone(origin: Origin) -> Self {
        Self { origin, batch: None }
    }
}

/// What a frame is: a byte stream has one way for all of them, other transports do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The last that is said to an origin.
    Answer(Origin, Fate),
    /// Belongs to a request of an origin. A request of ours has an id.
    Related(Origin, Option<i64>),
    /// Belongs to no request.
    Standing(Option<i64>),
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// A result, or the answers of a batch.
    Result,
    /// An error of the method.
    Error(ErrorCode),
    /// An error of the message: it may not be sent like this, or not now.
    Refused(ErrorCode),
}
