//! What can go wrong with an exchange, and whose fault it is.
//!
//! | error | blame |
//! |---|---|
//! | [`Unauthorized`](ExchangeError::Unauthorized), statuses 400 to 499 | the server says: ours |
//! | [`Status`](ExchangeError::Status) from 500 on, [`Redirected`](ExchangeError::Redirected), [`ContentType`](ExchangeError::ContentType), [`Malformed`](ExchangeError::Malformed), [`Ended`](ExchangeError::Ended) | the server |
//! | [`TooLong`](ExchangeError::TooLong) | whoever grew |
//! | [`NotSent`](ExchangeError::NotSent), [`Broken`](ExchangeError::Broken), [`SessionLost`](ExchangeError::SessionLost) | nobody who speaks the protocol |

use bytes::Bytes;
use thiserror::Error;

use crate::error::{Error, ErrorObject};
use crate::limits::Bound;
use crate::spec::ErrorCode;

/// Why an exchange brought no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The server answered with this status, and no error of the protocol.
    #[error("the server answered with the status {status}")]
    Status {
        /// The status, 400 or more.
        status: u16,
    },
    /// The server sends us elsewhere. Nobody follows: credentials and messages are for the configured address.
    #[error("the server answered with a redirect ({status}), which is not followed")]
    Redirected {
        /// The status.
        status: u16,
    },
    /// The server wants credentials, or better ones, and nobody had any.
    #[error("the server wants authorization ({})", .0.status)]
    Unauthorized(Challenge),
    /// The answer is neither JSON nor an event stream.
    #[error("the answer (status {status}) is neither JSON nor an event stream")]
    ContentType {
        /// The status.
        status: u16,
    },
    /// A message is longer than the bound.
    #[error("a message of the server is longer than the limit of {limit} bytes")]
    TooLong {
        /// [`Limits::frame_bytes`](crate::limits::Limits::frame_bytes), or that of an event's id.
        limit: usize,
    },
    /// The body is no message.
    #[error("the body of the answer is no message")]
    Malformed,
    /// The answer ended without what was asked for.
    #[error("the server ended its answer without the result")]
    Ended,
    /// No connection came about: the server has not seen the request.
    #[error("the request was not sent: {0}")]
    NotSent(Box<str>),
    /// The connection broke. What the server did is not known.
    #[error("the connection broke: {0}")]
    Broken(Box<str>),
    /// The server has ended the session: this request, or its answer, went with it.
    #[error("the server has ended the session")]
    SessionLost,
}

/// What the server wants for an authorization.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Challenge {
    /// 401, or 403.
    pub status: u16,
    /// The values of `WWW-Authenticate`, as they came; none if the server says nothing.
    pub www_authenticate: Vec<Bytes>,
}

impl ExchangeError {
    /// Whether the answer, as an answer to the probe, comes from a server that looked at it.
    pub(crate) const fn tells_the_era(&self) -> bool {
        match self {
            Self::Status { status } => !matches!(status, 401 | 403 | 408 | 425 | 429 | 502..=504),
            Self::ContentType { .. } | Self::Malformed | Self::Ended => true,
            Self::Redirected { .. }
            | Self::Unauthorized(_)
            | Self::TooLong { .. }
            | Self::NotSent(_)
            | Self::Broken(_)
            | Self::SessionLost => false,
        }
    }

    /// Whether the same request may find a better answer in a while.
    pub(crate) const fn is_passing(&self) -> bool {
        match self {
            Self::Status { status } => matches!(status, 408 | 425 | 429 | 500..),
            Self::Ended | Self::NotSent(_) | Self::Broken(_) => true,
            Self::Redirected { .. }
            | Self::Unauthorized(_)
            | Self::ContentType { .. }
            | Self::TooLong { .. }
            | Self::Malformed
            | Self::SessionLost => false,
        }
    }
}

impl From<&ExchangeError> for Error {
    fn from(error: &ExchangeError) -> Self {
        match error {
            ExchangeError::Status { status: 400..=499 } | ExchangeError::Unauthorized(_) => {
                Self::Remote(ErrorObject::new(ErrorCode::INVALID_REQUEST, error.to_string()))
            }
            ExchangeError::TooLong { limit } => Self::limit(Bound::FrameBytes, *limit),
            ExchangeError::NotSent(_) | ExchangeError::Broken(_) | ExchangeError::SessionLost => {
                Self::PeerIncompatible(error.to_string().into())
            }
            ExchangeError::Status { .. }
            | ExchangeError::Redirected { .. }
            | ExchangeError::ContentType { .. }
            | ExchangeError::Malformed
            | ExchangeError::Ended => Self::PeerMisbehaved(error.to_string().into()),
        }
    }
}
