//! Clients: one connection to one server.
//!
//! ```text
//!   ClientBuilder ──over(stream)──► Connecting ──await──► Client        any number of clones
//!                  └──────────────► driver, on a task of its own
//! ```
//!
//! Calls are methods of [`Client`]: each answers a [`Prepared`] call, which is sent when it is awaited and cancelled
//! when it is dropped. The connection ends when the last handle is dropped, or at [`Client::close`].

mod builder;
mod call;
mod handlers;
#[cfg(feature = "http")]
mod http;
mod inbox;
mod link;
mod listen;
mod machine;
mod side;
mod worker;

use std::sync::Arc;

use mcp_sansio::client::{CallOptions, Closed, InputAnswer, List, Request, ServerFacts};
use mcp_sansio::error::Error;
#[cfg(feature = "http")]
use mcp_sansio::error::Misuse;
use mcp_sansio::ids::CallId;
use mcp_sansio::json::Json;
use mcp_sansio::model::{
    CallToolResult, Completion, GetPromptResult, Implementation, ListResult, LoggingLevel, Prompt, ReadResourceResult,
    Resource, ResourceTemplate, ServerCapabilities, SubscriptionFilter, Tool,
};
use mcp_sansio::spec::{Era, Version};

pub use self::builder::{ClientBuilder, Connecting, ConnectionError, nothing};
use self::call::Verb;
pub use self::call::{Call, ClientError, FromAnswer, Pending, Prepared};
pub use self::handlers::{Asked, IntoInputAnswer};
pub use self::inbox::{BACKLOG, Receiver};
use self::link::Link;
pub use self::link::{Ended, WaitEnded};
pub use self::listen::{Listening, Notification, Notifications, StartListening};

/// A client. Cheap to clone, and usable from any task: clones are the same connection.
#[derive(Clone)]
pub struct Client(Arc<Handle>);

/// Every handle of a connection together: the last one to go closes it.
pub(crate) struct Handle {
    link: Arc<Link>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.link.with(|machine, now| machine.close(now));
    }
}

/// Who the server is.
impl Client {
    /// A client in the making, with this name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(name, version)
    }

    /// The server, as it introduced itself. `None` only on a handle that was taken before the connection was made.
    #[must_use]
    pub fn server(&self) -> Option<Arc<ServerFacts>> {
        self.0.link.quietly(|state| state.facts.clone())
    }

    /// The revision that is spoken.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.server().map(|facts| facts.version)
    }

    /// The era of that revision.
    #[must_use]
    pub fn era(&self) -> Option<Era> {
        self.server().map(|facts| facts.era())
    }

    /// What the server can do.
    #[must_use]
    pub fn capabilities(&self) -> Option<ServerCapabilities> {
        self.server().map(|facts| facts.capabilities.clone())
    }

    /// How to use the server, if it says.
    #[must_use]
    pub fn instructions(&self) -> Option<String> {
        self.server().and_then(|facts| facts.instructions.clone())
    }

    /// Name and version of the server, if it says: for display and logs.
    #[must_use]
    pub fn server_info(&self) -> Option<Implementation> {
        self.server().and_then(|facts| facts.info.clone())
    }
}

/// Calls.
impl Client {
    fn prepare<T: FromAnswer>(&self, request: Request) -> Prepared<T> {
        Prepared::new(&self.0, Verb::Request(request))
    }

    /// Any request, for an answer of a type that fits.
    pub fn call<T: FromAnswer>(&self, request: Request) -> Prepared<T> {
        self.prepare(request)
    }

    /// A request of any method with any params, an object.
    pub fn request<T: FromAnswer>(&self, method: &str, params: Json) -> Prepared<T> {
        match Request::custom(method, params) {
            Ok(request) => self.prepare(request),
            Err(misuse) => Prepared::new(&self.0, Verb::Refused(misuse.into())),
        }
    }

    /// Runs a tool. `arguments` is an object.
    pub fn call_tool(&self, name: &str, arguments: impl Into<Json>) -> Prepared<CallToolResult> {
        self.prepare(Request::call_tool(name, &arguments.into()))
    }

    /// Every tool, however many pages they fill.
    pub fn tools(&self) -> Prepared<Vec<Tool>> {
        Prepared::new(&self.0, Verb::Walk(List::Tools))
    }

    /// Every prompt, however many pages they fill.
    pub fn prompts(&self) -> Prepared<Vec<Prompt>> {
        Prepared::new(&self.0, Verb::Walk(List::Prompts))
    }

    /// Every resource, however many pages they fill.
    pub fn resources(&self) -> Prepared<Vec<Resource>> {
        Prepared::new(&self.0, Verb::Walk(List::Resources))
    }

    /// Every resource template, however many pages they fill.
    pub fn templates(&self) -> Prepared<Vec<ResourceTemplate>> {
        Prepared::new(&self.0, Verb::Walk(List::Templates))
    }

    /// A page of tools: the first, or the one at a cursor.
    pub fn tools_page(&self, cursor: Option<&str>) -> Prepared<ListResult<Tool>> {
        self.prepare(Request::list(List::Tools, cursor))
    }

    /// A page of prompts.
    pub fn prompts_page(&self, cursor: Option<&str>) -> Prepared<ListResult<Prompt>> {
        self.prepare(Request::list(List::Prompts, cursor))
    }

    /// A page of resources.
    pub fn resources_page(&self, cursor: Option<&str>) -> Prepared<ListResult<Resource>> {
        self.prepare(Request::list(List::Resources, cursor))
    }

    /// A page of resource templates.
    pub fn templates_page(&self, cursor: Option<&str>) -> Prepared<ListResult<ResourceTemplate>> {
        self.prepare(Request::list(List::Templates, cursor))
    }

    /// Reads a resource.
    pub fn read_resource(&self, uri: &str) -> Prepared<ReadResourceResult> {
        self.prepare(Request::read_resource(uri))
    }

    /// Fills a prompt in. `arguments` is an object of strings.
    pub fn get_prompt(&self, name: &str, arguments: impl Into<Json>) -> Prepared<GetPromptResult> {
        self.prepare(Request::get_prompt(name, &arguments.into()))
    }

    /// Completes an argument of a prompt.
    pub fn complete_prompt(&self, prompt: &str, argument: &str, value: &str) -> Prepared<Completion> {
        self.prepare(Request::complete_prompt(prompt, argument, value, None))
    }

    /// Completes a variable of a resource template.
    pub fn complete_template(&self, uri_template: &str, variable: &str, value: &str) -> Prepared<Completion> {
        self.prepare(Request::complete_template(uri_template, variable, value, None))
    }

    /// Asks the server who it is, in the modern era: possible before the connection is made.
    pub fn discover(&self) -> Prepared<Json> {
        self.prepare(Request::discover())
    }

    /// Asks whether the server is alive, in the legacy era.
    pub fn ping(&self) -> Prepared<()> {
        self.prepare(Request::ping())
    }

    /// Sets the least level of log messages wanted.
    pub fn set_level(&self, level: LoggingLevel) -> Prepared<()> {
        Prepared::new(&self.0, Verb::SetLevel(level))
    }

    /// Asks to be told of changes of a resource, in the legacy era.
    pub fn subscribe(&self, uri: &str) -> Prepared<()> {
        self.prepare(Request::subscribe(uri))
    }

    /// Ends a subscription, in the legacy era.
    pub fn unsubscribe(&self, uri: &str) -> Prepared<()> {
        self.prepare(Request::unsubscribe(uri))
    }

    /// Opens a stream of notifications, in the modern era.
    pub fn listen(&self, filter: &SubscriptionFilter) -> StartListening {
        StartListening::new(&self.0, filter, CallOptions::new())
    }
}

/// Notifications, and the end.
impl Client {
    /// Every notification of the server from now on.
    #[must_use]
    pub fn notifications(&self) -> Notifications {
        let (sender, receiver) = inbox::inbox();
        self.0.link.add_listener(sender);
        receiver
    }

    /// Says that the client's roots have changed.
    ///
    /// # Errors
    /// When roots were not declared, or the connection is over.
    pub fn roots_changed(&self) -> Result<(), Error> {
        self.0.link.with(|machine, now| machine.roots_changed(now))
    }

    /// Sends a custom notification. `params` is an object.
    ///
    /// # Errors
    /// When the method belongs to the protocol, or the connection is over.
    pub fn notify(&self, method: &str, params: &Json) -> Result<(), Error> {
        self.0.link.with(|machine, now| machine.notify(now, method, params))
    }

    /// Cancels a call or a listen stream from anywhere, by its name, with a reason for the server. Whoever awaits it is
    /// told that it was cancelled.
    ///
    /// # Errors
    /// When there is no such call, or it has ended.
    pub fn cancel(&self, call: CallId, reason: Option<&str>) -> Result<(), Error> {
        self.0.link.with(|machine, now| machine.cancel(now, call, reason))
    }

    /// Answers a question of the server from outside of its handler, by the name that handlers and traces are shown.
    ///
    /// # Errors
    /// When the question is not open, or the answer does not fit it.
    pub fn supply_input(&self, input: mcp_sansio::client::InputId, answer: &InputAnswer) -> Result<(), Error> {
        self.0.link.with(|machine, now| machine.supply_input(now, input, answer))
    }

    /// Credentials for every later request over HTTP: the value of the header that carries them, or none.
    ///
    /// # Errors
    /// When this client does not speak HTTP, or the value cannot stand in a header.
    #[cfg(feature = "http")]
    pub fn set_authorization(&self, value: Option<bytes::Bytes>) -> Result<(), Error> {
        self.0.link.quietly(|state| match &mut state.machine {
            machine::Machine::Http(machine) => machine.set_authorization(value),
            machine::Machine::Lines(_) => Err(Misuse::WrongState("a stream has no headers").into()),
        })
    }

    /// The id of the legacy session over HTTP, if there is one.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn session_id(&self) -> Option<String> {
        self.0.link.quietly(|state| match &state.machine {
            machine::Machine::Http(machine) => machine.session_id().map(str::to_owned),
            machine::Machine::Lines(_) => None,
        })
    }

    /// Ends the connection, from any task: open calls fail. [`Client::ended`] tells when all is put away.
    pub fn close(&self) {
        self.0.link.with(|machine, now| machine.close(now));
    }

    /// Waits for the end of the connection, without ending it.
    pub fn ended(&self) -> WaitEnded {
        WaitEnded(Arc::clone(&self.0.link))
    }

    /// Why the connection is over, once it is. Something of it may still be on its way: [`Client::ended`] tells.
    #[must_use]
    pub fn closed(&self) -> Option<Closed> {
        self.0.link.quietly(|state| state.closed.clone())
    }

    /// Whether the connection is over.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.link.quietly(|state| state.closed.is_some())
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("version", &self.version())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
