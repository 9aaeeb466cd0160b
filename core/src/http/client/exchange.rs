//! What an exchange is, and where it stands.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::error::Challenge;
use crate::client::{Head, Purpose};
use crate::copy::append;
use crate::http::sse::Decoder;
use crate::machine::{Mono, TimerKind};

/// A request and what is known of its answer.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) kind: Kind,
    pub(super) phase: Phase,
    /// The bytes of the body that are not reported as written.
    pub(super) unwritten: usize,
    /// The session that it names.
    pub(super) session: Option<Session>,
    /// How often it was refused for its credentials.
    pub(super) asked: u8,
}

/// The id of a session. Whoever knows it may speak in it: it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Session(pub(super) Arc<str>);

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session(hidden)")
    }
}

#[derive(Debug)]
pub(super) enum Kind {
    /// A request of ours.
    Call(Box<Call>),
    /// Ends the session.
    Delete,
    /// The stream of a session that belongs to no request.
    Listen(Resume),
    /// A notification or a response. The one that opens the session goes before all others.
    Message { frame: Bytes, opens: bool },
    /// The stream of the old transport.
    Pair,
    /// A request of ours whose answer comes in that stream.
    Posted { wire: i64, frame: Bytes },
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) wire: i64,
    pub(super) head: Head,
    pub(super) frame: Bytes,
    pub(super) resume: Resume,
    /// The exchange is a GET that goes on where an earlier one broke.
    pub(super) resumed: bool,
}

/// What is needed to go on with a stream.
#[derive(Debug)]
pub(super) struct Resume {
    pub(super) last_id: Option<Arc<str>>,
    /// How long the server wants us to wait.
    pub(super) retry: Option<Duration>,
    /// What is left of the budget.
    pub(super) left: Duration,
    /// Since when nothing has been heard of the stream.
    pub(super) silent: Option<Mono>,
    /// Attempts in a row that brought nothing.
    pub(super) attempts: u32,
    /// When the stream was opened.
    pub(super) opened: Option<Mono>,
    /// The server has opened it at least once: there is such a stream.
    pub(super) exists: bool,
}

/// Where an exchange stands.
#[derive(Debug)]
pub(super) enum Phase {
    /// Credentials are awaited; there is no exchange.
    Asked(Challenge),
    Events(Box<Decoder>),
    /// The head of the answer is awaited.
    Head,
    Json(Body),
    Refused {
        status: u16,
        body: Body,
    },
    /// Everything is known; the end is awaited for a moment, so that the connection can be used again.
    Rest,
    /// The stream is to be resumed; there is no exchange.
    Waiting,
}

impl Kind {
    pub(super) fn resume_mut(&mut self) -> Option<&mut Resume> {
        match self {
            Self::Call(call) => Some(&mut call.resume),
            Self::Listen(resume) => Some(resume),
            Self::Delete | Self::Message { .. } | Self::Pair | Self::Posted { .. } => None,
        }
    }

    /// The request of ours that it is for.
    pub(super) fn wire(&self) -> Option<i64> {
        match self {
            Self::Call(call) => Some(call.wire),
            Self::Posted { wire, .. } => Some(*wire),
            Self::Delete | Self::Listen(_) | Self::Message { .. } | Self::Pair => None,
        }
    }
}

impl Exchange {
    pub(super) const fn new(kind: Kind, unwritten: usize) -> Self {
        Self { kind, phase: Phase::Head, unwritten, session: None, asked: 0 }
    }

    /// Whether there is an exchange outside.
    pub(super) const fn is_running(&self) -> bool {
        !matches!(self.phase, Phase::Asked(_) | Phase::Waiting)
    }

    /// What its deadline is for.
    pub(super) const fn timer(&self) -> TimerKind {
        match self.phase {
            Phase::Waiting => TimerKind::Backoff,
            Phase::Rest => TimerKind::Drain,
            Phase::Asked(_) | Phase::Events(_) | Phase::Head | Phase::Json(_) | Phase::Refused { .. } => {
                TimerKind::Stream
            }
        }
    }
}

impl Call {
    /// Whether its stream may be resumed.
    pub(super) fn is_resumable(&self) -> bool {
        self.head.purpose != Purpose::Modern
    }
}

impl Resume {
    pub(super) const fn new(budget: Duration) -> Self {
        Self { last_id: None, retry: None, left: budget, silent: None, attempts: 0, opened: None, exists: false }
    }
}

/// A body that is gathered, up to a bound.
#[derive(Debug, Default)]
pub(super) enum Body {
    #[default]
    Empty,
    /// It came in one piece so far.
    One(Bytes),
    Many(Vec<u8>),
}

impl Body {
    /// Adds a part. False if the body becomes too long; it is not kept then.
    pub(super) fn push(&mut self, part: Bytes, limit: usize) -> bool {
        let length = match self {
            Self::Empty => 0,
            Self::One(bytes) => bytes.len(),
            Self::Many(bytes) => bytes.len(),
        };
        if length.saturating_add(part.len()) > limit {
            *self = Self::Empty;
            return false;
        }
        *self = match std::mem::take(self) {
            Self::Empty => Self::One(part),
            whole if part.is_empty() => whole,
            Self::One(first) => {
                let mut bytes = Vec::with_capacity((first.len() + part.len()).saturating_mul(2).min(limit));
                append(&mut bytes, &first);
                append(&mut bytes, &part);
                Self::Many(bytes)
            }
            Self::Many(mut bytes) => {
                append(&mut bytes, &part);
                Self::Many(bytes)
            }
        };
        true
    }

    pub(super) fn finish(self) -> Bytes {
        match self {
            Self::Empty => Bytes::new(),
            Self::One(bytes) => bytes,
            Self::Many(bytes) => bytes.into(),
        }
    }
}
