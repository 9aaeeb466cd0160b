//! The names of kinds, and bounds by name: what a value is called where it leaves Rust (bindings, logs, transcripts).
//!
//! Names are in lower case with underscores, and do not change. What has a name on the wire is in [`crate::spec`].

use std::time::Duration;

use crate::client::{self, CallError, ConnectError, TimeoutKind};
use crate::diagnostic::DiagnosticKind;
use crate::error::{Error, Misuse};
use crate::http::client::ExchangeError;
use crate::limits::{Bound, Limits};
use crate::machine::TimerKind;
use crate::server::{self, Call, Notified, RequestFailure, Sent};
use crate::spec::Method;

impl TimerKind {
    /// What the deadline is called.
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
    /// What the kind of remark is called.
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
    /// What the outcome is called.
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
    /// What the reason is called.
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
    /// What the reason is called.
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
    /// What the failure is called.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Remote(_) => "remote",
            Self::TimedOut => "timed_out",
            Self::Gone => "gone",
        }
    }
}

impl Call {
    /// What is asked, in a word.
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

    /// What the list is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "templates",
            Self::Tools => "tools",
        }
    }

    /// The list of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.name() == name)
    }
}

impl client::List {
    /// What the list is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "templates",
            Self::Tools => "tools",
        }
    }

    /// The list of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.name() == name)
    }
}

impl Notified {
    /// Its method.
    #[must_use]
    pub fn method(&self) -> &str {
        match self {
            Self::Initialized => Method::Initialized.as_str(),
            Self::RootsListChanged => Method::RootsListChanged.as_str(),
            Self::Custom { method, .. } => method,
        }
    }
}

impl CallError {
    /// What the failure is called.
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

    /// The failure by blame.
    #[must_use]
    pub fn to_error(&self) -> Error {
        let text = || self.to_string().into();
        match self {
            Self::Remote(error) => Error::Remote(error.clone()),
            Self::Exchange(error) => Error::from(error),
            Self::BoundExceeded { bound, limit, .. } => Error::LimitExceeded { bound: *bound, limit: *limit },
            Self::RoundsExceeded { limit } => Error::LimitExceeded { bound: Bound::Rounds, limit: u64::from(*limit) },
            Self::Mirror(_) => Misuse::Argument(text()).into(),
            Self::InvalidResult { .. } | Self::OutputInvalid { .. } | Self::InputUnsupported { .. } => {
                Error::PeerMisbehaved(text())
            }
            Self::TimedOut { .. }
            | Self::Cancelled
            | Self::Disconnected
            | Self::InputRefused { .. }
            | Self::Incompatible { .. }
            | Self::NotInVersion { .. }
            | Self::CapabilityMissing { .. } => Error::PeerIncompatible(text()),
        }
    }
}

impl ExchangeError {
    /// What the failure is called.
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

    /// The status that the server answered with, where that is what went wrong.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status } | Self::Redirected { status } | Self::ContentType { status } => Some(*status),
            Self::Unauthorized(challenge) => Some(challenge.status),
            _ => None,
        }
    }
}

impl ConnectError {
    /// The failure by blame.
    #[must_use]
    pub fn to_error(&self) -> Error {
        let text = || self.to_string().into();
        match self {
            Self::Refused(error) => Error::Remote(error.clone()),
            Self::Exchange(error) => Error::from(error),
            Self::InvalidAnswer(_) => Error::PeerMisbehaved(text()),
            Self::NoCommonVersion { .. } | Self::NotModern { .. } | Self::TimedOut => Error::PeerIncompatible(text()),
        }
    }
}

impl Error {
    /// Whose fault it is, in a word.
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
    /// Sets a bound by its name; false where there is none of that name, or it cannot be lifted (`None`). The names of
    /// times end in `_ms`.
    pub fn set(&mut self, name: &str, value: Option<u64>) -> bool {
        let time = value.map(Duration::from_millis);
        let count = value.map(|value| usize::try_from(value).unwrap_or(usize::MAX));
        match name {
            "invocation_ms" => set(&mut self.invocation, Some(time)),
            "session_idle_ms" => set(&mut self.session_idle, Some(time)),
            "sessions" => set(&mut self.sessions, Some(count)),
            "listens" => set(&mut self.listens, Some(count)),
            "listens_per_principal" => set(&mut self.listens_per_principal, Some(count)),
            "frame_bytes" => set(&mut self.frame_bytes, count),
            "json_depth" => set(&mut self.json_depth, count),
            "batch_messages" => set(&mut self.batch_messages, count),
            "in_flight" => set(&mut self.in_flight, count),
            "calls" => set(&mut self.calls, count),
            "output_bytes" => set(&mut self.output_bytes, count),
            "subscriptions" => set(&mut self.subscriptions, count),
            "listen_streams" => set(&mut self.listen_streams, count),
            "walk_pages" => set(&mut self.walk_pages, count),
            "walk_items" => set(&mut self.walk_items, count),
            "walk_bytes" => set(&mut self.walk_bytes, count),
            "cache_entries" => set(&mut self.cache_entries, count),
            "request_state_bytes" => set(&mut self.request_state_bytes, count),
            "input_requests" => set(&mut self.input_requests, count),
            "session_streams" => set(&mut self.session_streams, count),
            "request_state_ttl_ms" => set(&mut self.request_state_ttl, time),
            "resume_floor_ms" => set(&mut self.resume_floor, time),
            "resume_budget_ms" => set(&mut self.resume_budget, time),
            "server_request_ms" => set(&mut self.server_request, time),
            "drain_ms" => set(&mut self.drain, time),
            "rounds" => set(&mut self.rounds, count.map(|count| u32::try_from(count).unwrap_or(u32::MAX))),
            _ => false,
        }
    }
}

fn set<T>(place: &mut T, value: Option<T>) -> bool {
    value.map(|value| *place = value).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_have_names_and_only_some_can_be_lifted() {
        let mut limits = Limits::default();
        assert!(limits.set("calls", Some(7)) && limits.calls == 7);
        assert!(limits.set("drain_ms", Some(5)) && limits.drain == Duration::from_millis(5));
        assert!(limits.set("session_idle_ms", None) && limits.session_idle.is_none());
        assert!(!limits.set("calls", None) && !limits.set("call", Some(1)));
        assert_eq!(limits.calls, 7);
    }
}
