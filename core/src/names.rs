//! The names of kinds, for whoever carries them as text: bindings to other languages, transcripts, logs.
//!
//! | type | names |
//! |---|---|
//! | [`TimerKind`] | why a machine wants to be woken |
//! | [`DiagnosticKind`] | what a remark is about |
//! | [`Sent`], [`Closed`](server::Closed), [`RequestFailure`] | what became of something |
//! | [`Call`](server::Call), [`List`](server::List) | what is asked |
//! | [`CallError`], [`ExchangeError`] | how a call failed, and with [`CallError::to_error`] whose fault it is |
//! | [`Error::blame`] | whose fault it is |
//!
//! Names are lower case with underscores, and stay as they are. Names on the wire are those of [`crate::spec`].

use std::time::Duration;

use crate::client::{self, CallError, TimeoutKind};
use crate::diagnostic::DiagnosticKind;
use crate::error::{Error, Misuse};
use crate::http::client::ExchangeError;
use crate::limits::{Bound, Limits};
use crate::machine::TimerKind;
use crate::server::{self, Call, Notified, RequestFailure, Sent};
use crate::spec::Method;

impl TimerKind {
    /// The name of the kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Actions => "actions",
            Self::CallIdle => "call_idle",
            Self::CallHard => "call_hard",
            Self::Probe => "probe",
            Self::Backoff => "backoff",
            Self::Invocation => "invocation",
            Self::Drain => "drain",
            Self::Stream => "stream",
            Self::KeepAlive => "keep_alive",
            Self::Idle => "idle",
        }
    }
}

impl DiagnosticKind {
    /// The name of the kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidFrame => "invalid_frame",
            Self::Ignored => "ignored",
            Self::Refused => "refused",
            Self::Limit(_) => "limit",
            Self::Deprecated => "deprecated",
            Self::RequestState => "request_state",
            Self::Output => "output",
            Self::Muted => "muted",
            Self::Advice => "advice",
            Self::Exchange => "exchange",
            Self::ToolDropped => "tool_dropped",
        }
    }
}

impl Sent {
    /// The name of the outcome.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::NotWanted => "not_wanted",
            Self::Full => "full",
        }
    }
}

impl server::Closed {
    /// The name of the reason.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::EndOfInput => "end_of_input",
            Self::Requested => "requested",
            Self::Failed(_) => "failed",
        }
    }
}

impl client::Closed {
    /// The name of the reason.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::EndOfInput => "end_of_input",
            Self::Requested => "requested",
            Self::NotConnected(_) => "not_connected",
            Self::Failed(_) => "failed",
        }
    }
}

impl RequestFailure {
    /// The name of the failure.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Remote(_) => "remote",
            Self::TimedOut => "timed_out",
            Self::Gone => "gone",
        }
    }
}

impl Notified {
    /// The method of the notification, as it is on the wire.
    #[must_use]
    pub fn method(&self) -> &str {
        match self {
            Self::Initialized => Method::Initialized.as_str(),
            Self::RootsListChanged => Method::RootsListChanged.as_str(),
            Self::Custom { method, .. } => method,
        }
    }
}

impl Call {
    /// The name of what is asked.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Complete { .. } => "complete",
            Self::List { .. } => "list",
            Self::Prompt { .. } => "prompt",
            Self::Raw { .. } => "raw",
            Self::Read { .. } => "read",
            Self::Subscribe { .. } => "subscribe",
            Self::Tool { .. } => "tool",
            Self::Unsubscribe { .. } => "unsubscribe",
        }
    }
}

impl server::List {
    /// Every list.
    pub const ALL: [Self; 4] = [Self::Prompts, Self::Resources, Self::Templates, Self::Tools];

    /// The name of the list.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "templates",
            Self::Tools => "tools",
        }
    }

    /// The list with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.name() == name)
    }
}

impl client::List {
    /// The name of the list.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "templates",
            Self::Tools => "tools",
        }
    }

    /// The list with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.name() == name)
    }
}

impl CallError {
    /// The name of the failure.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Remote(_) => "remote",
            Self::TimedOut { kind: TimeoutKind::Idle } => "timed_out_idle",
            Self::TimedOut { kind: TimeoutKind::Hard } => "timed_out_hard",
            Self::Cancelled => "cancelled",
            Self::Disconnected => "disconnected",
            Self::InvalidResult { .. } => "invalid_result",
            Self::OutputInvalid { .. } => "output_invalid",
            Self::InputUnsupported { .. } => "input_unsupported",
            Self::InputRefused { .. } => "input_refused",
            Self::RoundsExceeded { .. } => "rounds_exceeded",
            Self::BoundExceeded { .. } => "bound_exceeded",
            Self::Incompatible { .. } => "incompatible",
            Self::Exchange(_) => "exchange",
            Self::Mirror(_) => "mirror",
            Self::NotInVersion { .. } => "not_in_version",
            Self::CapabilityMissing { .. } => "capability_missing",
        }
    }

    /// The same failure by blame.
    #[must_use]
    pub fn to_error(&self) -> Error {
        match self {
            Self::Remote(error) => Error::Remote(error.clone()),
            Self::Exchange(error) => Error::from(error),
            Self::BoundExceeded { bound, limit, .. } => Error::LimitExceeded { bound: *bound, limit: *limit },
            Self::RoundsExceeded { limit } => Error::LimitExceeded { bound: Bound::Rounds, limit: u64::from(*limit) },
            Self::Mirror(error) => Misuse::Argument(error.to_string().into()).into(),
            Self::InvalidResult { .. } | Self::OutputInvalid { .. } | Self::InputUnsupported { .. } => {
                Error::PeerMisbehaved(self.to_string().into())
            }
            Self::TimedOut { .. }
            | Self::Cancelled
            | Self::Disconnected
            | Self::InputRefused { .. }
            | Self::Incompatible { .. }
            | Self::NotInVersion { .. }
            | Self::CapabilityMissing { .. } => Error::PeerIncompatible(self.to_string().into()),
        }
    }
}

impl ExchangeError {
    /// The name of the failure.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Status { .. } => "status",
            Self::Redirected { .. } => "redirected",
            Self::Unauthorized(_) => "unauthorized",
            Self::ContentType { .. } => "content_type",
            Self::TooLong { .. } => "too_long",
            Self::Malformed => "malformed",
            Self::Ended => "ended",
            Self::NotSent(_) => "not_sent",
            Self::Broken(_) => "broken",
            Self::SessionLost => "session_lost",
        }
    }

    /// The status of the answer that failed the exchange, if there was one.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status } | Self::Redirected { status } | Self::ContentType { status } => Some(*status),
            Self::Unauthorized(challenge) => Some(challenge.status),
            Self::TooLong { .. }
            | Self::Malformed
            | Self::Ended
            | Self::NotSent(_)
            | Self::Broken(_)
            | Self::SessionLost => None,
        }
    }
}

impl client::ConnectError {
    /// The same failure by blame.
    #[must_use]
    pub fn to_error(&self) -> Error {
        match self {
            Self::Refused(error) => Error::Remote(error.clone()),
            Self::Exchange(error) => Error::from(error),
            Self::InvalidAnswer(_) => Error::PeerMisbehaved(self.to_string().into()),
            Self::NoCommonVersion { .. } | Self::NotModern { .. } | Self::TimedOut => {
                Error::PeerIncompatible(self.to_string().into())
            }
        }
    }
}

impl Error {
    /// Whose fault it is, by name.
    #[must_use]
    pub const fn blame(&self) -> &'static str {
        match self {
            Self::ApiMisuse(_) => "api_misuse",
            Self::InvalidFrame(_) => "invalid_frame",
            Self::PeerMisbehaved(_) => "peer_misbehaved",
            Self::PeerIncompatible(_) => "peer_incompatible",
            Self::LimitExceeded { .. } => "limit_exceeded",
            Self::Remote(_) => "remote",
        }
    }
}

impl Limits {
    /// Sets the bound with this name; false if there is none. Bounds that are times end in `_ms` and are in
    /// milliseconds, and `None` lifts those that may be lifted.
    pub fn set(&mut self, name: &str, value: Option<u64>) -> bool {
        let time = value.map(Duration::from_millis);
        let count = value.map(|value| usize::try_from(value).unwrap_or(usize::MAX));
        let liftable = match name {
            "invocation_ms" => return put(&mut self.invocation, Some(time)),
            "sessions" => &mut self.sessions,
            "session_idle_ms" => return put(&mut self.session_idle, Some(time)),
            "listens" => &mut self.listens,
            "listens_per_principal" => &mut self.listens_per_principal,
            _ => return self.set_firm(name, count, time),
        };
        put(liftable, Some(count))
    }

    fn set_firm(&mut self, name: &str, count: Option<usize>, time: Option<Duration>) -> bool {
        match name {
            "frame_bytes" => put(&mut self.frame_bytes, count),
            "json_depth" => put(&mut self.json_depth, count),
            "batch_messages" => put(&mut self.batch_messages, count),
            "in_flight" => put(&mut self.in_flight, count),
            "calls" => put(&mut self.calls, count),
            "output_bytes" => put(&mut self.output_bytes, count),
            "subscriptions" => put(&mut self.subscriptions, count),
            "listen_streams" => put(&mut self.listen_streams, count),
            "rounds" => put(&mut self.rounds, count.map(|count| u32::try_from(count).unwrap_or(u32::MAX))),
            "walk_pages" => put(&mut self.walk_pages, count),
            "walk_items" => put(&mut self.walk_items, count),
            "walk_bytes" => put(&mut self.walk_bytes, count),
            "cache_entries" => put(&mut self.cache_entries, count),
            "request_state_bytes" => put(&mut self.request_state_bytes, count),
            "request_state_ttl_ms" => put(&mut self.request_state_ttl, time),
            "input_requests" => put(&mut self.input_requests, count),
            "resume_floor_ms" => put(&mut self.resume_floor, time),
            "resume_budget_ms" => put(&mut self.resume_budget, time),
            "server_request_ms" => put(&mut self.server_request, time),
            "drain_ms" => put(&mut self.drain, time),
            "session_streams" => put(&mut self.session_streams, count),
            _ => false,
        }
    }
}

/// Sets a bound, if there is a value for it.
fn put<T>(place: &mut T, value: Option<T>) -> bool {
    value.map(|value| *place = value).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_set_by_name_and_only_some_can_be_lifted() {
        let mut limits = Limits::default();
        assert!(limits.set("in_flight", Some(3)) && limits.in_flight == 3);
        assert!(limits.set("drain_ms", Some(20)) && limits.drain == Duration::from_millis(20));
        assert!(limits.set("sessions", None) && limits.sessions.is_none());
        assert!(!limits.set("in_flight", None) && limits.in_flight == 3, "a firm bound cannot be lifted");
        assert!(!limits.set("flights", Some(1)));
    }
}
