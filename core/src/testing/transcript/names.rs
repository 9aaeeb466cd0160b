//! What kinds of things are called in transcripts.

use crate::client::{CallError, TimeoutKind};
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::http::client::ExchangeError;
use crate::machine::TimerKind;

/// The name of a kind of remark in transcripts.
pub(super) const fn remark(diagnostic: &Diagnostic) -> &'static str {
    match diagnostic.kind {
        DiagnosticKind::InvalidFrame => "invalid_frame",
        DiagnosticKind::Ignored => "ignored",
        DiagnosticKind::Refused => "refused",
        DiagnosticKind::Limit(_) => "limit",
        DiagnosticKind::Deprecated => "deprecated",
        DiagnosticKind::RequestState => "request_state",
        DiagnosticKind::Output => "output",
        DiagnosticKind::Muted => "muted",
        DiagnosticKind::Advice => "advice",
        DiagnosticKind::Exchange => "exchange",
        DiagnosticKind::ToolDropped => "tool_dropped",
    }
}

/// The name of a deadline in transcripts.
pub(super) const fn timer(kind: TimerKind) -> &'static str {
    match kind {
        TimerKind::Actions => "actions",
        TimerKind::CallIdle => "call_idle",
        TimerKind::CallHard => "call_hard",
        TimerKind::Probe => "probe",
        TimerKind::Backoff => "backoff",
        TimerKind::Invocation => "invocation",
        TimerKind::Drain => "drain",
        TimerKind::Stream => "stream",
        TimerKind::KeepAlive => "keep_alive",
        TimerKind::Idle => "idle",
    }
}

/// The name of a failed call in transcripts.
pub(super) const fn failure(error: &CallError) -> &'static str {
    match error {
        CallError::Remote(_) => "remote",
        CallError::TimedOut { kind: TimeoutKind::Idle } => "timed_out_idle",
        CallError::TimedOut { kind: TimeoutKind::Hard } => "timed_out_hard",
        CallError::Cancelled => "cancelled",
        CallError::Disconnected => "disconnected",
        CallError::InvalidResult { .. } => "invalid_result",
        CallError::OutputInvalid { .. } => "output_invalid",
        CallError::InputUnsupported { .. } => "input_unsupported",
        CallError::InputRefused { .. } => "input_refused",
        CallError::RoundsExceeded { .. } => "rounds_exceeded",
        CallError::BoundExceeded { .. } => "bound_exceeded",
        CallError::Incompatible { .. } => "incompatible",
        CallError::Exchange(_) => "exchange",
        CallError::Mirror(_) => "mirror",
        CallError::NotInVersion { .. } => "not_in_version",
        CallError::CapabilityMissing { .. } => "capability_missing",
    }
}

/// The name of a failed exchange in transcripts, and its status if it has one.
pub(super) const fn exchange(error: &ExchangeError) -> (&'static str, Option<u16>) {
    match error {
        ExchangeError::Status { status } => ("status", Some(*status)),
        ExchangeError::Redirected { status } => ("redirected", Some(*status)),
        ExchangeError::Unauthorized(challenge) => ("unauthorized", Some(challenge.status)),
        ExchangeError::ContentType { status } => ("content_type", Some(*status)),
        ExchangeError::TooLong { .. } => ("too_long", None),
        ExchangeError::Malformed => ("malformed", None),
        ExchangeError::Ended => ("ended", None),
        ExchangeError::NotSent(_) => ("not_sent", None),
        ExchangeError::Broken(_) => ("broken", None),
        ExchangeError::SessionLost => ("session_lost", None),
    }
}
