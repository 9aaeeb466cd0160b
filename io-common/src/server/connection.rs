//! One client, seen from outside of its calls.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::error::Error;
use mcp_sansio::json::Json;
use mcp_sansio::server::{Event, LogMessage, Sent};
use mcp_sansio::spec::Method;

use super::context::RequestError;
use super::link::{Link, Request};

/// One connection of a server. Cheap to clone, and usable from any task; what is said after the end of the
/// connection is lost.
#[derive(Clone)]
pub struct Connection(Arc<Link>);

impl Connection {
    pub(super) const fn new(link: Arc<Link>) -> Self {
        Self(link)
    }

    /// Tells this client of a change, if it asked to hear of it.
    pub fn publish(&self, event: &Event) -> Sent {
        self.0.with(|machine, now| machine.publish(now, event))
    }

    /// Writes to the client's log outside of a call. Legacy sessions only.
    pub fn log(&self, message: &LogMessage) -> Sent {
        // A connection that has ended has no log.
        self.0.with(|machine, now| machine.log(now, None, message)).unwrap_or(Sent::NotWanted)
    }

    /// Sends a custom notification. `params` is an object.
    ///
    /// # Errors
    /// When the method belongs to the protocol, `params` is no object, or the connection has ended.
    pub fn notify(&self, method: &str, params: Option<&Json>) -> Result<(), Error> {
        self.0.with(|machine, now| machine.notify(now, None, method, params))
    }

    /// Says that an elicitation by URL is complete, where the revision can say so.
    pub fn elicitation_complete(&self, elicitation: &str) -> Sent {
        self.0.with(|machine, now| machine.elicitation_complete(now, elicitation))
    }

    /// Asks whether the client is alive. Legacy sessions only: the modern era has no such request.
    ///
    /// # Errors
    /// When there is no session, or no answer.
    pub async fn ping(&self, timeout: Option<Duration>) -> Result<(), RequestError> {
        self.request(Method::Ping.as_str(), None, timeout)?.await?;
        Ok(())
    }

    /// Makes a request of any method, for gateways. Legacy sessions only. `params` is an object. Without `timeout`
    /// the bound of the definition holds.
    ///
    /// # Errors
    /// When there is no session, too many requests are open, or the connection has ended.
    pub fn request(&self, method: &str, params: Option<&Json>, timeout: Option<Duration>) -> Result<Request, Error> {
        self.0.request(None, method, params, timeout)
    }

    /// Ends the connection. Handlers that run are cancelled.
    pub fn close(&self) {
        self.0.with(|machine, now| machine.close(now));
    }

    /// Whether the connection is over.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// Two are equal if they are the same connection.
impl PartialEq for Connection {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Connection {}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}
