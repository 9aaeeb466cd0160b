//! Elicitation: a server asks the user, by a form or by a page to visit.
//!
//! Source: `client/elicitation`. The schema of a form is carried as JSON; its shapes, defaults and validation are
//! `schema`'s. What a revision can carry is `shape`'s.

use super::macros::{object, open_enum, union};
use super::{ClientCapabilities, Meta};
use crate::json::Json;

union! {
    /// Parameters of `elicitation/create`. A request without `mode` is a form.
    pub enum ElicitParams by "mode" {
        /// By a form.
        Form(ElicitFormParams) = "form",
        /// By a page to visit.
        Url(ElicitUrlParams) = "url",
    }
    absent => Form
}

open_enum! {
    /// How the user is asked.
    pub enum ElicitMode {
        /// By a form.
        Form = "form",
        /// By a page to visit.
        Url = "url",
    }
}

object! {
    /// A form.
    pub struct ElicitFormParams {
        required {
            /// Why the user is asked, for the user.
            message: String = "message",
            /// The form: a JSON Schema of a flat object.
            requested_schema: Json = "requestedSchema",
        }
        optional {
            /// `form`, or absent, which means the same and is all that 2025-06-18 knows.
            mode: ElicitMode = "mode",
            /// Metadata; legacy only.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// A page to visit (2025-11-25 and later).
    pub struct ElicitUrlParams {
        tag "mode" = "url";
        required {
            /// Why the user is asked, for the user.
            message: String = "message",
            /// The page.
            url: String = "url",
        }
        optional {
            /// 2025-11-25: names the elicitation in the notification that it is complete. Required there, unknown
            /// later.
            elicitation_id: String = "elicitationId",
            /// Metadata; legacy only.
            meta: Meta = "_meta",
        }
    }
}

impl ElicitParams {
    /// A form.
    #[must_use]
    pub fn form(message: impl Into<String>, requested_schema: impl Into<Json>) -> Self {
        Self::Form(ElicitFormParams::new(message, requested_schema))
    }

    /// A page to visit.
    #[must_use]
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::Url(ElicitUrlParams::new(message, url))
    }

    /// What the client must have declared for this request. A mode that this crate does not know asks for the
    /// capability alone.
    #[must_use]
    pub fn required_capabilities(&self) -> ClientCapabilities {
        let needed = ClientCapabilities::new();
        match self {
            Self::Form(_) => needed.with_form(),
            Self::Url(_) => needed.with_url(),
            Self::Unknown(_) => needed.elicitation(super::ElicitationCapability::new()),
        }
    }

    /// Why the user is asked.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Form(form) => Some(&form.message),
            Self::Url(url) => Some(&url.message),
            Self::Unknown(_) => None,
        }
    }
}

open_enum! {
    /// What the user did.
    pub enum ElicitAction {
        /// Filled the form in, or agreed to visit the page (not: has done there what was asked).
        Accept = "accept",
        /// Refused.
        Decline = "decline",
        /// Closed it without an answer.
        Cancel = "cancel",
    }
}

object! {
    /// What the user answered.
    pub struct ElicitResult {
        required {
            /// What the user did.
            action: ElicitAction = "action",
        }
        optional {
            /// The form as filled in: an object. Only with [`ElicitAction::Accept`] of a form.
            content: Json = "content",
            /// Metadata; legacy only.
            meta: Meta = "_meta",
        }
    }
}

impl ElicitResult {
    /// The user filled the form in.
    #[must_use]
    pub fn accept(content: impl Into<Json>) -> Self {
        Self::new(ElicitAction::Accept).content(content)
    }

    /// The user agreed to visit the page.
    #[must_use]
    pub fn accept_url() -> Self {
        Self::new(ElicitAction::Accept)
    }

    /// The user refused.
    #[must_use]
    pub fn decline() -> Self {
        Self::new(ElicitAction::Decline)
    }

    /// The user closed it without an answer.
    #[must_use]
    pub fn cancel() -> Self {
        Self::new(ElicitAction::Cancel)
    }

    /// Whether the user accepted.
    #[must_use]
    pub fn accepted(&self) -> bool {
        self.action == ElicitAction::Accept
    }
}

object! {
    /// Parameters of `notifications/elicitation/complete` (2025-11-25).
    pub struct ElicitationCompleteParams {
        required {
            /// The elicitation.
            elicitation_id: String = "elicitationId",
        }
        optional {
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}
