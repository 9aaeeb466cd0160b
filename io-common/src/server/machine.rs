//! The machines that handlers run on, as one: what a handler or a handle can say is the same on each.
//!
//! | machine | serves | asks the client | ends |
//! |---|---|---|---|
//! | stream | a byte stream, both eras | in a legacy session | with the stream |
//! | exchange | one HTTP request | never | with its answer, or its client |
//! | session | a legacy session over HTTP | yes | by either side, or idle |

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::diagnostic::Diagnostic;
use mcp_sansio::error::Error;
#[cfg(feature = "http")]
use mcp_sansio::error::Misuse;
#[cfg(feature = "http")]
use mcp_sansio::http::server as http;
use mcp_sansio::ids::{CallId, ReplySlot, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::machine::Now;
use mcp_sansio::server::{self, Definition, Event, LogMessage, Progress, Reply, Sent};

pub(crate) enum Machine {
    Stream(Box<server::Server>),
    #[cfg(feature = "http")]
    Exchange(Box<http::Exchange>),
    #[cfg(feature = "http")]
    Session(Box<http::Session>),
}

/// What a machine asks for.
pub(crate) enum Deed {
    Stream(server::Action),
    #[cfg(feature = "http")]
    Http(http::Action),
}

impl Deed {
    /// The remark that it is, or else the deed itself.
    pub(crate) fn into_remark(self) -> Result<Diagnostic, Self> {
        match self {
            Self::Stream(server::Action::Diagnostic(remark)) => Ok(remark),
            #[cfg(feature = "http")]
            Self::Http(http::Action::Diagnostic(remark)) => Ok(remark),
            other => Err(other),
        }
    }
}

macro_rules! each {
    ($self:ident, $machine:ident => $verb:expr) => {
        match $self {
            Self::Stream($machine) => $verb,
            #[cfg(feature = "http")]
            Self::Exchange($machine) => $verb,
            #[cfg(feature = "http")]
            Self::Session($machine) => $verb,
        }
    };
}

/// What each can do.
impl Machine {
    pub(crate) fn poll_deed(&mut self) -> Option<Deed> {
        match self {
            Self::Stream(machine) => machine.poll_action().map(Deed::Stream),
            #[cfg(feature = "http")]
            Self::Exchange(machine) => machine.poll_action().map(Deed::Http),
            #[cfg(feature = "http")]
            Self::Session(machine) => machine.poll_action().map(Deed::Http),
        }
    }

    /// The next deed of those that are queued already.
    pub(crate) fn poll_queued(&mut self) -> Option<Deed> {
        match self {
            Self::Stream(machine) => machine.poll_queued().map(Deed::Stream),
            #[cfg(feature = "http")]
            _ => self.poll_deed(),
        }
    }

    pub(crate) fn reply(&mut self, now: Now, slot: ReplySlot, reply: Reply) -> Result<(), Error> {
        each!(self, machine => machine.reply(now, slot, reply))
    }

    pub(crate) fn abandon(&mut self, now: Now, slot: ReplySlot) {
        each!(self, machine => machine.abandon(now, slot));
    }

    pub(crate) fn progress(&mut self, now: Now, slot: SlotId, progress: &Progress) -> Result<Sent, Error> {
        each!(self, machine => machine.progress(now, slot, progress))
    }

    pub(crate) fn log(&mut self, now: Now, slot: Option<SlotId>, message: &LogMessage) -> Result<Sent, Error> {
        each!(self, machine => machine.log(now, slot, message))
    }

    /// A notification goes where what belongs to the request of `slot` goes.
    pub(crate) fn notify(
        &mut self,
        now: Now,
        slot: Option<SlotId>,
        method: &str,
        params: Option<&Json>,
    ) -> Result<(), Error> {
        match self {
            Self::Stream(machine) => {
                // A stream has one way for everything.
                let _ = slot;
                machine.notify(now, method, params)
            }
            #[cfg(feature = "http")]
            Self::Exchange(machine) => machine.notify(now, slot, method, params),
            #[cfg(feature = "http")]
            Self::Session(machine) => machine.notify(now, slot, method, params),
        }
    }
}

/// What some can do.
impl Machine {
    /// Gives an event to the one client of this machine.
    pub(crate) fn publish(&mut self, now: Now, event: &Event) -> Sent {
        match self {
            Self::Stream(machine) => machine.publish(now, event),
            #[cfg(feature = "http")]
            Self::Exchange(machine) => machine.deliver(now, event),
            #[cfg(feature = "http")]
            Self::Session(machine) => machine.deliver(now, event),
        }
    }

    pub(crate) fn elicitation_complete(&mut self, now: Now, elicitation: &str) -> Sent {
        match self {
            Self::Stream(machine) => machine.elicitation_complete(now, elicitation),
            #[cfg(feature = "http")]
            Self::Exchange(_) => Sent::NotWanted,
            #[cfg(feature = "http")]
            Self::Session(machine) => machine.elicitation_complete(now, elicitation),
        }
    }

    pub(crate) fn request(
        &mut self,
        now: Now,
        slot: Option<SlotId>,
        method: &str,
        params: Option<&Json>,
        timeout: Option<Duration>,
    ) -> Result<CallId, Error> {
        match self {
            Self::Stream(machine) => machine.request(now, slot, method, params, timeout),
            #[cfg(feature = "http")]
            Self::Exchange(_) => Err(Misuse::WrongState("a request without a session cannot ask its client").into()),
            #[cfg(feature = "http")]
            Self::Session(machine) => machine.request(now, slot, method, params, timeout),
        }
    }

    pub(crate) fn cancel_request(&mut self, now: Now, call: CallId, reason: Option<&str>) -> Result<(), Error> {
        match self {
            Self::Stream(machine) => machine.cancel_request(now, call, reason),
            #[cfg(feature = "http")]
            Self::Exchange(_) => Err(Misuse::CallNotOpen.into()),
            #[cfg(feature = "http")]
            Self::Session(machine) => machine.cancel_request(now, call, reason),
        }
    }

    /// Ends the stream that carries the answer to a request, so that its client comes back for it.
    pub(crate) fn close_stream(&mut self, now: Now, slot: SlotId) -> Sent {
        match self {
            #[cfg(feature = "http")]
            Self::Session(machine) => machine.close_stream(now, slot),
            _ => {
                let _ = (now, slot);
                Sent::NotWanted
            }
        }
    }

    /// Serves new requests by another definition. One request is served by that which it began with.
    pub(crate) fn replace_definition(&mut self, now: Now, definition: Arc<Definition>) {
        match self {
            Self::Stream(machine) => machine.replace_definition(now, definition),
            #[cfg(feature = "http")]
            Self::Exchange(_) => {}
            #[cfg(feature = "http")]
            Self::Session(machine) => machine.replace_definition(now, definition),
        }
    }

    pub(crate) fn close(&mut self, now: Now) {
        match self {
            Self::Stream(machine) => machine.close(now),
            #[cfg(feature = "http")]
            Self::Exchange(machine) => machine.shutdown(now),
            #[cfg(feature = "http")]
            Self::Session(machine) => machine.close(now),
        }
    }

    /// Whether nobody is there any more, so that whatever is cancelled is cancelled for that.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Stream(machine) => machine.is_closed(),
            // A client cancels a request by leaving.
            #[cfg(feature = "http")]
            Self::Exchange(_) => true,
            #[cfg(feature = "http")]
            Self::Session(machine) => machine.is_closed(),
        }
    }
}
