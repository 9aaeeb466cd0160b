//! The feature `tracing`: a span for each call, an event for each report.
//!
//! The span `mcp.call` carries the trace context of the request as fields, in the form of W3C, so that a layer of the
//! host can make the span a child of the caller's. Nothing is read from a request whose span nobody wants.

use mcp_sansio::server::Context as Facts;
use tracing::Span;
use tracing::field::{Empty, display};

use crate::report::{Outcome, Report};
use crate::server::Context;

/// The span of a call.
pub(crate) fn call(facts: &Facts) -> Span {
    let span = tracing::info_span!(
        "mcp.call",
        method = facts.method(),
        name = Empty,
        request = %facts.request_id(),
        traceparent = Empty,
        tracestate = Empty,
        baggage = Empty,
        outcome = Empty,
    );
    if !span.is_disabled() {
        if let Some(name) = facts.target() {
            span.record("name", &*name);
        }
        let trace = facts.trace_context();
        for (field, value) in
            [("traceparent", trace.traceparent), ("tracestate", trace.tracestate), ("baggage", trace.baggage)]
        {
            if let Some(value) = value {
                span.record(field, display(value));
            }
        }
    }
    span
}

/// How a call has ended.
pub(crate) fn ended(context: &Context, outcome: Outcome) {
    let label = outcome.error_label().unwrap_or(if outcome == Outcome::InputRequired { "input" } else { "ok" });
    context.span().record("outcome", label);
}

/// Something that a person should hear of.
pub(crate) fn event(report: &Report<'_>) {
    match report {
        Report::Diagnostic(diagnostic) => {
            tracing::debug!(kind = ?diagnostic.kind, id = ?diagnostic.id, "{}", diagnostic.text);
        }
        Report::HandlerFailed { context, .. } | Report::HandlerPanicked { context, .. } => {
            context.span().in_scope(|| tracing::error!("{report}"));
        }
        Report::NotificationFailed { .. } | Report::AnswerRefused { .. } => tracing::error!("{report}"),
    }
}
