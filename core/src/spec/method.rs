//! Every request and notification of the protocol.
//!
//! One table: name, kind, who sends it, first and last revision. What a method *does* is decided in `server` and
//! `client`; here stands only whether it exists. The requests that a modern server puts into an
//! `input_required` result (`elicitation/create`, `sampling/createMessage`, `roots/list`) end with 2025-11-25 in
//! this table, because no frame carries them later.

use std::fmt;

use super::version::Version;

/// Whether a method expects an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Carries an `id` and is answered once.
    Request,
    /// Carries no `id` and is never answered.
    Notification,
}

/// Who may send a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The client only.
    Client,
    /// The server only.
    Server,
    /// Either side.
    Both,
}

macro_rules! methods {
    ($($(#[doc = $doc:literal])* $variant:ident $name:literal $kind:ident $sender:ident $first:ident $last:ident;)*) => {
        /// A method of the protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Method {
            $($(#[doc = $doc])* $variant,)*
        }

        impl Method {
            /// Every method, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The method with this name, in any revision.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                Self::parse_bytes(name.as_bytes())
            }

            /// As [`Method::parse`], for a name that nobody has looked at yet.
            pub(crate) fn parse_bytes(name: &[u8]) -> Option<Self> {
                $(if name == $name.as_bytes() { return Some(Self::$variant); })*
                None
            }

            /// The name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Request or notification.
            #[must_use]
            pub const fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$kind,)* }
            }

            /// Who may send it.
            #[must_use]
            pub const fn sender(self) -> Sender {
                match self { $(Self::$variant => Sender::$sender,)* }
            }

            /// The first and the last revision that have it.
            #[must_use]
            pub const fn revisions(self) -> (Version, Version) {
                match self { $(Self::$variant => (Version::$first, Version::$last),)* }
            }
        }
    };
}

methods! {
    /// Values that complete an argument.
    CompletionComplete "completion/complete" Request Client V2024_11_05 V2026_07_28;
    /// Asks the user (legacy); the modern era puts it into results.
    ElicitationCreate "elicitation/create" Request Server V2025_06_18 V2025_11_25;
    /// Opens a legacy session.
    Initialize "initialize" Request Client V2024_11_05 V2025_11_25;
    /// Sets the level of a legacy session's log messages.
    LoggingSetLevel "logging/setLevel" Request Client V2024_11_05 V2025_11_25;
    /// Asks whether the peer is alive.
    Ping "ping" Request Both V2024_11_05 V2025_11_25;
    /// One prompt, filled in.
    PromptsGet "prompts/get" Request Client V2024_11_05 V2026_07_28;
    /// A page of prompts.
    PromptsList "prompts/list" Request Client V2024_11_05 V2026_07_28;
    /// A page of resources.
    ResourcesList "resources/list" Request Client V2024_11_05 V2026_07_28;
    /// The contents of a resource.
    ResourcesRead "resources/read" Request Client V2024_11_05 V2026_07_28;
    /// Subscribes a legacy session to a resource.
    ResourcesSubscribe "resources/subscribe" Request Client V2024_11_05 V2025_11_25;
    /// A page of resource templates.
    ResourcesTemplatesList "resources/templates/list" Request Client V2024_11_05 V2026_07_28;
    /// Ends a legacy subscription.
    ResourcesUnsubscribe "resources/unsubscribe" Request Client V2024_11_05 V2025_11_25;
    /// Asks for the client's roots (legacy).
    RootsList "roots/list" Request Server V2024_11_05 V2025_11_25;
    /// Asks for a model's answer (legacy).
    SamplingCreateMessage "sampling/createMessage" Request Server V2024_11_05 V2025_11_25;
    /// What a modern server is and can do.
    ServerDiscover "server/discover" Request Client V2026_07_28 V2026_07_28;
    /// Opens a stream of notifications.
    SubscriptionsListen "subscriptions/listen" Request Client V2026_07_28 V2026_07_28;
    /// Runs a tool.
    ToolsCall "tools/call" Request Client V2024_11_05 V2026_07_28;
    /// A page of tools.
    ToolsList "tools/list" Request Client V2024_11_05 V2026_07_28;

    /// Ends a request early.
    Cancelled "notifications/cancelled" Notification Both V2024_11_05 V2026_07_28;
    /// An elicitation by URL has ended.
    ElicitationComplete "notifications/elicitation/complete" Notification Server V2025_11_25 V2025_11_25;
    /// The client has read the answer to `initialize`.
    Initialized "notifications/initialized" Notification Client V2024_11_05 V2025_11_25;
    /// A log message.
    Message "notifications/message" Notification Server V2024_11_05 V2026_07_28;
    /// How far a request has got.
    Progress "notifications/progress" Notification Both V2024_11_05 V2026_07_28;
    /// The list of prompts has changed.
    PromptsListChanged "notifications/prompts/list_changed" Notification Server V2024_11_05 V2026_07_28;
    /// The list of resources has changed.
    ResourcesListChanged "notifications/resources/list_changed" Notification Server V2024_11_05 V2026_07_28;
    /// A resource has changed.
    ResourcesUpdated "notifications/resources/updated" Notification Server V2024_11_05 V2026_07_28;
    /// The client's roots have changed.
    RootsListChanged "notifications/roots/list_changed" Notification Client V2024_11_05 V2025_11_25;
    /// A listen stream is open, with the filter that the server honours.
    SubscriptionsAcknowledged "notifications/subscriptions/acknowledged" Notification Server V2026_07_28 V2026_07_28;
    /// The list of tools has changed.
    ToolsListChanged "notifications/tools/list_changed" Notification Server V2024_11_05 V2026_07_28;
}

impl Method {
    /// Whether the method exists in `version`.
    #[must_use]
    pub fn exists_in(self, version: Version) -> bool {
        let (first, last) = self.revisions();
        first <= version && version <= last
    }

    /// Whether the server may answer with `input_required` in the modern era.
    #[must_use]
    pub const fn may_need_input(self) -> bool {
        matches!(self, Self::PromptsGet | Self::ResourcesRead | Self::ToolsCall)
    }

    /// Whether the name belongs to the protocol, in whatever revision: custom methods may not take it.
    #[must_use]
    pub fn is_reserved(name: &str) -> bool {
        // The core tasks of 2025-11-25 are not offered, but their names are not free either.
        Self::parse(name).is_some() || name.starts_with("tasks/") || name.starts_with("notifications/tasks")
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
