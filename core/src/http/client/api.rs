//! What goes in and out of the machine, as values.

use std::sync::Arc;

use bytes::Bytes;

use super::error::Challenge;
use crate::client;
use crate::http::{Headers, Method};

/// An exchange: one request and its answer. Counts up, and is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FetchId(pub(super) u64);

impl FetchId {
    /// The exchange as a number.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        self.0
    }

    /// The inverse of [`FetchId::to_u64`].
    #[must_use]
    pub const fn from_u64(number: u64) -> Self {
        Self(number)
    }
}

/// What to do next. Actions own what they carry and may cross threads.
#[derive(Debug)]
#[non_exhaustive]
pub enum Action {
    /// Send this request, and report what comes of it: [`Input::Head`], [`Input::Body`] as often as it takes, and
    /// [`Input::End`]; or [`Input::Failed`] at any point.
    Fetch(Box<Fetch>),
    /// Drop this exchange with its stream or connection: nobody wants the rest. To the server of a modern request
    /// that is the cancellation, so do not read the rest off.
    Abort(FetchId),
    /// The server wants credentials, or other ones: answer with `authorize` or `refuse_authorization`. Comes only
    /// with [`Endpoint::ask_authorization`](super::Endpoint::ask_authorization).
    Unauthorized(Box<Unauthorized>),
    /// What every client says; never `Write`.
    Event(client::Action),
}

/// A request to send. A front only obeys: it follows no redirect, adds no credentials and keeps no time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetch {
    /// Its name.
    pub id: FetchId,
    /// Its method.
    pub method: Method,
    /// Where to, as the application gave it.
    pub url: Arc<str>,
    /// Its headers, all but those that an HTTP library makes itself (`host`, `content-length`, `connection`).
    pub headers: Headers,
    /// Its body, empty if it has none.
    pub body: Bytes,
}

/// A request that the server wants credentials for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unauthorized {
    /// The exchange, which is over; its name stands for the request that waits.
    pub fetch: FetchId,
    /// What the server wants.
    pub challenge: Challenge,
}

/// What happened outside.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// The head of an answer; not those from 100 to 199.
    Head {
        /// The exchange.
        fetch: FetchId,
        /// The status.
        status: u16,
        /// The headers.
        headers: Headers,
    },
    /// A part of the body, cut anywhere.
    Body {
        /// The exchange.
        fetch: FetchId,
        /// The part.
        bytes: Bytes,
    },
    /// The body is whole.
    End {
        /// The exchange.
        fetch: FetchId,
    },
    /// There is no answer, or its body broke off.
    Failed {
        /// The exchange.
        fetch: FetchId,
        /// What went wrong.
        reason: FetchFailed,
    },
}

impl Input {
    /// The exchange that it is about.
    #[must_use]
    pub const fn fetch(&self) -> FetchId {
        match self {
            Self::Head { fetch, .. } | Self::Body { fetch, .. } | Self::End { fetch } | Self::Failed { fetch, .. } => {
                *fetch
            }
        }
    }
}

/// How an exchange failed, with a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchFailed {
    /// No connection came about: the server has seen nothing.
    NotSent(Box<str>),
    /// Anything later.
    Broken(Box<str>),
}
