//! What goes in and out of the machines of an HTTP server, as values.

use bytes::Bytes;

use super::response::Response;
use crate::diagnostic::Diagnostic;
use crate::ids::{CallId, SlotId};
use crate::json::Json;
use crate::server::listen::Filter;
use crate::server::{Action as Said, Closed, Event, Invocation, Notified, RequestFailure};

/// One request and its answer, within a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeId(pub(super) u64);

impl ExchangeId {
    /// The exchange as a number.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        self.0
    }

    /// The inverse of [`ExchangeId::to_u64`].
    #[must_use]
    pub const fn from_u64(number: u64) -> Self {
        Self(number)
    }
}

/// What happened on an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// The client has gone away before the answer was complete.
    Disconnected,
    /// So many of the bytes of `Chunk` actions have left.
    Written(usize),
}

/// What to do next. Actions own what they carry and may cross threads.
#[derive(Debug)]
#[non_exhaustive]
pub enum Action {
    /// The client has answered a request that the application made with `request`.
    Answered {
        /// The request.
        call: CallId,
        /// The result, or why there is none.
        outcome: Result<Json, RequestFailure>,
    },
    /// The client does not want the answer any more: stop the work if you can. The slot stays valid, what it is
    /// answered with is dropped.
    Cancelled {
        /// The invocation.
        slot: SlotId,
        /// What the client said.
        reason: Option<Box<str>>,
    },
    /// Write these bytes of a stream, and report them with [`Input::Written`] when they left.
    Chunk {
        /// Whose.
        exchange: ExchangeId,
        /// The bytes.
        bytes: Bytes,
    },
    /// The session is over: nothing more comes of it. The last action.
    Closed(Closed),
    /// Something worth a log line.
    Diagnostic(Diagnostic),
    /// A stream is complete: end the body.
    Finish {
        /// Whose.
        exchange: ExchangeId,
    },
    /// Run application code and answer its slot.
    Invoke(Box<Invocation>),
    /// A listen stream is asked for: see whether the endpoint has room, and say so with
    /// [`Exchange::listening`](super::Exchange::listening).
    Listen(Subscription),
    /// A notification of the client for the application.
    Notified(Notified),
    /// Something that others want to hear: give it to those whom the endpoint names.
    Publish(Event),
    /// Answer a request. [`Body::Whole`](super::Body::Whole) completes its exchange;
    /// [`Body::Stream`](super::Body::Stream) begins a stream.
    Respond {
        /// Which.
        exchange: ExchangeId,
        /// The answer.
        response: Response,
    },
}

/// What a listen stream wants to hear, and for whom.
#[derive(Clone, Debug)]
pub struct Subscription {
    pub(super) filter: Filter,
    pub(super) principal: Option<std::sync::Arc<str>>,
}

impl Action {
    /// What the engine says to the application; it says nothing to the client this way.
    pub(super) fn of(said: Said) -> Option<Self> {
        Some(match said {
            Said::Answered { call, outcome } => Self::Answered { call, outcome },
            Said::Cancelled { slot, reason } => Self::Cancelled { slot, reason },
            Said::Closed(closed) => Self::Closed(closed),
            Said::Diagnostic(diagnostic) => Self::Diagnostic(diagnostic),
            Said::Invoke(invocation) => Self::Invoke(invocation),
            Said::Notified(notified) => Self::Notified(notified),
            Said::Write(_) => return None,
        })
    }
}
