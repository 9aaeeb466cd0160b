//! Progress and cancellation of requests.
//!
//! Sources: `basic/patterns/progress`, `basic/patterns/cancellation`. That progress increases and stops with the
//! answer is kept by `engine`.

use super::macros::object;
use super::{Meta, Number};
use crate::ids::{ProgressToken, RequestId};

object! {
    /// Parameters of `notifications/progress`.
    pub struct ProgressParams {
        required {
            /// The token of the request.
            progress_token: ProgressToken = "progressToken",
            /// How far it has got; more than in the notification before.
            progress: Number = "progress",
        }
        optional {
            /// Where it will end, if known.
            total: Number = "total",
            /// What is going on, for people (2025-03-26 and later).
            message: String = "message",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// Parameters of `notifications/cancelled`.
    pub struct CancelledParams {
        required {}
        optional {
            /// The request. Only 2025-11-25 lets it be absent, for tasks.
            request_id: RequestId = "requestId",
            /// Why, for logs and people.
            reason: String = "reason",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}
