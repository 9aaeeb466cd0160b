//! What a client needs of HTTP: send a request, get the head and the body of its response. Any HTTP library can do it;
//! [`Pool`](super::Pool) is the one that comes along.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_core::Stream;
use thiserror::Error;

use crate::runtime::BoxFuture;

/// The body of a response, in pieces as they come. Dropping it ends the exchange.
pub type ResponseBody = Pin<Box<dyn Stream<Item = Result<Bytes, TransportError>> + Send>>;

/// A way to make HTTP requests.
///
/// | must | must not |
/// |---|---|
/// | give the head as soon as it is there, and the body in pieces as they come | wait for the end of a body, or have a time-out of its own for it |
/// | end the exchange when the future or the body is dropped | follow redirects, retry, decompress what was not asked for |
/// | serve many requests at a time, some of which last for hours | |
pub trait Transport: Send + Sync + 'static {
    /// Sends a request whose URI is absolute.
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ResponseBody>, TransportError>>;
}

/// A request that failed below HTTP. Cheap to clone.
#[derive(Clone, Debug, Error)]
#[error("{what}: {source}")]
#[non_exhaustive]
pub struct TransportError {
    /// What was being done.
    pub what: &'static str,
    /// Whether the server may have seen something of the request.
    pub sent: bool,
    /// Why it failed.
    pub source: Arc<dyn std::error::Error + Send + Sync>,
}

impl TransportError {
    /// No connection came about, or nothing was written to it.
    pub fn not_sent(what: &'static str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { what, sent: false, source: Arc::from(source.into()) }
    }

    /// Anything later.
    pub fn broken(what: &'static str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { what, sent: true, source: Arc::from(source.into()) }
    }
}
