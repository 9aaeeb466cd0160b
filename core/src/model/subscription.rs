//! Listen streams: what a client asks for and what a server honours.
//!
//! Source: `basic/patterns/subscriptions`. Routing events to streams is `server`'s.

use super::macros::object;
use super::{Meta, ResultType, ServerCapabilities};

object! {
    /// Which notifications a listen stream carries. Absent is no.
    pub struct SubscriptionFilter {
        required {}
        optional {
            /// Changes of the list of tools.
            tools_list_changed: bool = "toolsListChanged",
            /// Changes of the list of prompts.
            prompts_list_changed: bool = "promptsListChanged",
            /// Changes of the list of resources.
            resources_list_changed: bool = "resourcesListChanged",
            /// Changes of these resources.
            resource_subscriptions: Vec<String> = "resourceSubscriptions",
        }
    }
}

impl SubscriptionFilter {
    /// The part that a server with these capabilities honours, for its acknowledgement. What this crate does not
    /// know is not honoured.
    #[must_use]
    pub fn honoured(&self, server: &ServerCapabilities) -> Self {
        let asked = |wanted: Option<bool>, offered: bool| (wanted == Some(true) && offered).then_some(true);
        let mut honoured = Self::new();
        honoured.tools_list_changed = asked(self.tools_list_changed, server.tools_list_changed());
        honoured.prompts_list_changed = asked(self.prompts_list_changed, server.prompts_list_changed());
        honoured.resources_list_changed = asked(self.resources_list_changed, server.resources_list_changed());
        honoured.resource_subscriptions =
            self.resource_subscriptions.clone().filter(|uris| !uris.is_empty() && server.resources_subscribe());
        honoured
    }

    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let asked = |wanted: Option<bool>| wanted == Some(true);
        !asked(self.tools_list_changed)
            && !asked(self.prompts_list_changed)
            && !asked(self.resources_list_changed)
            && self.resource_subscriptions.as_ref().is_none_or(Vec::is_empty)
    }
}

object! {
    /// Parameters of `subscriptions/listen`.
    pub struct ListenParams {
        required {
            /// What the client wants to hear of.
            notifications: SubscriptionFilter = "notifications",
        }
        optional {
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// Parameters of `notifications/subscriptions/acknowledged`.
    pub struct AcknowledgedParams {
        required {
            /// The part of the filter that the server honours.
            notifications: SubscriptionFilter = "notifications",
        }
        optional {
            /// Metadata, with the id of the listen request.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// The answer to `subscriptions/listen`, when the stream ends.
    pub struct ListenResult {
        required {
            /// Metadata, with the id of the listen request.
            meta: Meta = "_meta",
        }
        optional {
            /// `complete`.
            result_type: ResultType = "resultType",
        }
    }
}
