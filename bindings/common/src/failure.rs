//! Every error of the core in one shape, for the error classes of other languages.

use mcp_sansio::client::{self, CallError};
use mcp_sansio::error::{Error, ErrorObject};
use mcp_sansio::json::Json;
use mcp_sansio::server;

/// What went wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// How, by name: that of the blame, or of the way in which a call failed.
    pub kind: &'static str,
    /// Whose fault it is, by name.
    pub blame: &'static str,
    /// The code that tells a peer about it, or that the peer has told.
    pub code: i64,
    /// A sentence for people.
    pub message: String,
    /// Details of an error that the peer has told; the whole result where a result was refused.
    pub data: Option<Json>,
    /// The bound that was hit, with its value.
    pub limit: Option<(&'static str, u64)>,
    /// What a walk had read before it hit a bound.
    pub partial: Vec<Json>,
    /// How an exchange of HTTP failed, by name, with the status of its answer.
    pub exchange: Option<(&'static str, Option<u16>)>,
}

impl Failure {
    /// Why a call has no result.
    #[must_use]
    pub fn of_call(error: &CallError) -> Self {
        let mut failure = Self { kind: error.name(), message: error.to_string(), ..Self::from(&error.to_error()) };
        match error {
            CallError::Remote(object) => failure.message = object.message.to_string(),
            CallError::InvalidResult { result, .. } | CallError::OutputInvalid { result, .. } => {
                failure.data = Some(result.clone());
            }
            CallError::BoundExceeded { partial, .. } => failure.partial.clone_from(partial),
            CallError::Exchange(error) => failure.exchange = Some((error.name(), error.status())),
            _ => {}
        }
        failure
    }

    /// An error that a peer has told.
    #[must_use]
    pub fn of_object(object: &ErrorObject) -> Self {
        Self::from(&Error::Remote(object.clone()))
    }

    /// Why a server has closed, if it is a failure.
    #[must_use]
    pub fn of_server(closed: &server::Closed) -> Option<Self> {
        match closed {
            server::Closed::Failed(error) => Some(Self::from(error)),
            _ => None,
        }
    }

    /// Why a client has closed, if it is a failure.
    #[must_use]
    pub fn of_client(closed: &client::Closed) -> Option<Self> {
        match closed {
            client::Closed::Failed(error) => Some(Self::from(error)),
            client::Closed::NotConnected(error) => {
                let failure = Self::from(&error.to_error());
                let message = if failure.blame == "remote" { failure.message } else { error.to_string() };
                let exchange = match error {
                    client::ConnectError::Exchange(error) => Some((error.name(), error.status())),
                    _ => None,
                };
                Some(Self { kind: closed.name(), message, exchange, ..failure })
            }
            _ => None,
        }
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let object = error.to_object();
        let (message, limit) = match error {
            Error::ApiMisuse(misuse) => (misuse.to_string(), None),
            Error::Remote(object) => (object.message.to_string(), None),
            Error::LimitExceeded { bound, limit } => (error.to_string(), Some((bound.name(), *limit))),
            error => (error.to_string(), None),
        };
        Self {
            kind: error.blame(),
            blame: error.blame(),
            code: object.code.0,
            message,
            data: object.data,
            limit,
            partial: Vec::new(),
            exchange: None,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}
