//! What goes in and out of a server machine, as values.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::error::{Error, ErrorObject};
use crate::ids::{CallId, ReplySlot, SlotId};
use crate::json::Json;
use crate::model::{CallToolResult, Completion, GetPromptResult, InputRequest, LoggingLevel, ReadResourceResult};
use crate::server::context::Context;
use crate::uri_template::Bindings;

/// What to do next. Actions own what they carry and may cross threads.
#[derive(Debug)]
#[non_exhaustive]
pub enum Action {
    /// Write these bytes: one whole frame, newline included. Report them with `Input::Written` when they left.
    Write(Bytes),
    /// Run application code and answer its slot.
    Invoke(Box<Invocation>),
    /// The client does not want the answer any more: stop the work if you can. The slot stays valid, what it is
    /// answered with is dropped.
    Cancelled {
        /// The invocation.
        slot: SlotId,
        /// What the client said.
        reason: Option<Box<str>>,
    },
    /// A notification of the client for the application.
    Notified(Notified),
    /// The client has answered a request that the application made with `request`.
    Answered {
        /// The request.
        call: CallId,
        /// The result, or why there is none.
        outcome: Result<Json, RequestFailure>,
    },
    /// Something worth a log line.
    Diagnostic(crate::diagnostic::Diagnostic),
    /// The connection is over: nothing more will be written. The last action.
    Closed(Closed),
}

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Closed {
    /// The client has closed its side and everything owed is written.
    EndOfInput,
    /// `close` was called.
    Requested,
    /// The machine cannot go on.
    Failed(Error),
}

/// Why a request to the client has no result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RequestFailure {
    /// The client answered with an error.
    Remote(ErrorObject),
    /// No answer came in time; the client was told that none is wanted.
    TimedOut,
    /// The connection ended, or the request that it belonged to.
    Gone,
}

/// A notification for the application.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notified {
    /// A legacy session is open: requests to the client may be made.
    Initialized,
    /// The client's roots have changed.
    RootsListChanged,
    /// A custom notification that the definition names.
    Custom {
        /// Its method.
        method: Box<str>,
        /// Its params, `{}` if absent.
        params: Json,
    },
}

/// Application code to run.
#[derive(Debug)]
pub struct Invocation {
    /// The right to answer.
    pub slot: ReplySlot,
    /// What is asked.
    pub call: Call,
    /// Who asks, and how.
    pub context: Context,
}

/// What is asked. Indices count in the order of registration with the [`DefinitionBuilder`](super::DefinitionBuilder).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Call {
    /// Values for an argument; answer with [`Reply::Completion`].
    Complete {
        /// The prompt or template that the argument belongs to.
        reference: Reference,
        /// The argument's name.
        argument: Box<str>,
        /// What the user has typed so far.
        value: Box<str>,
        /// Arguments that are filled in already: an object of strings, `{}` if absent.
        context: Json,
    },
    /// A page of a dynamic list; answer with [`Reply::List`].
    List {
        /// Which list.
        list: List,
        /// The cursor, as a former page gave it. `""` is a cursor.
        cursor: Option<Box<str>>,
    },
    /// A prompt to fill in; answer with [`Reply::Prompt`].
    Prompt {
        /// Its index; `None` if the list of prompts is dynamic.
        index: Option<usize>,
        /// Its name.
        name: Box<str>,
        /// An object of strings, `{}` if absent.
        arguments: Json,
    },
    /// A whole method that the definition hands over; answer with [`Reply::Raw`].
    Raw {
        /// The method.
        method: Box<str>,
        /// Its params as they came, `{}` if absent.
        params: Json,
    },
    /// A resource to read; answer with [`Reply::Resource`].
    Read {
        /// What the URI leads to.
        target: ReadTarget,
        /// The URI.
        uri: Box<str>,
    },
    /// A legacy session subscribes: veto with [`Reply::Error`], agree with [`Reply::Empty`].
    Subscribe {
        /// The resource.
        uri: Box<str>,
    },
    /// A tool to run; answer with [`Reply::Tool`].
    Tool {
        /// Its index; `None` if the list of tools is dynamic.
        index: Option<usize>,
        /// Its name.
        name: Box<str>,
        /// An object, `{}` if absent; it fits the tool's schema.
        arguments: Json,
    },
    /// A legacy session unsubscribes; answer with [`Reply::Empty`].
    Unsubscribe {
        /// The resource.
        uri: Box<str>,
    },
}

/// What an argument to complete belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A prompt, by index (`None` in a dynamic list) and name.
    Prompt(Option<usize>, Box<str>),
    /// A resource template, by index (`None` in a dynamic list) and URI template.
    Template(Option<usize>, Box<str>),
}

/// What the URI of a read leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadTarget {
    /// A resource, by index.
    Resource(usize),
    /// A template, by index, with the values of its variables.
    Template(usize, Bindings),
    /// The catch-all.
    Any,
}

/// A list of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum List {
    /// `prompts/list`
    Prompts,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
    /// `tools/list`
    Tools,
}

/// The answer to an [`Invocation`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Reply {
    /// To [`Call::Complete`].
    Completion(Completion),
    /// To [`Call::Subscribe`] and [`Call::Unsubscribe`]: agreed, with `_meta` for the answer.
    Empty {
        /// An object, or nothing.
        meta: Option<Json>,
    },
    /// An error whose text is meant for the client.
    Error(ErrorObject),
    /// The handler failed in a way that is nobody's business: a generic text goes out.
    Failed,
    /// More input is needed; the call comes again with the answers.
    InputRequired(InputRequired),
    /// To [`Call::List`].
    List(ListPage),
    /// To [`Call::Prompt`].
    Prompt(GetPromptResult),
    /// A result object that goes out as it is, whatever was asked; `resultType` and the server's identity are
    /// added for a modern client if they are absent.
    Raw(Json),
    /// To [`Call::Read`].
    Resource(ReadResourceResult),
    /// The sealed state that came with the call was used before
    /// ([`Context::state_token`]): the call is refused like one whose state does not open.
    StateUsed,
    /// To [`Call::Tool`].
    Tool(CallToolResult),
}

/// A page that the application makes.
#[derive(Clone, Debug, Default)]
pub struct ListPage {
    /// The items, each an object as the specification shapes it.
    pub items: Vec<Json>,
    /// Where to go on; `None` ends the list.
    pub next_cursor: Option<String>,
}

/// What a handler needs before it can go on.
///
/// On the modern wire this becomes an `input_required` result, on a legacy wire real requests to the client. Either
/// way the call comes again with **all** answers so far in [`Context::input`], so that a handler may ask in
/// several rounds. Answers of earlier rounds, `state` and `memo` travel in the sealed `requestState`; without a
/// sealing key only `state` does, as it is written, and earlier answers are forgotten in the modern era.
#[derive(Clone, Debug, Default)]
pub struct InputRequired {
    /// Questions by key.
    pub requests: Vec<(String, InputRequest)>,
    /// State of the handler's own.
    pub state: Option<String>,
    /// State of the front's, such as results of side effects that must not happen twice.
    pub memo: Option<Json>,
    /// How long a legacy client has for its answer, by key; for the others the bound `server_request` holds. A modern
    /// client answers with a call of its own, whenever it likes while the sealed state is good.
    pub timeouts: BTreeMap<String, Duration>,
}

/// A message for the client's log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogMessage {
    /// How severe.
    pub level: LoggingLevel,
    /// Who says it.
    pub logger: Option<String>,
    /// What is said, of any JSON type.
    pub data: Json,
}

/// How far a request has got.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// So far; each report must exceed the one before.
    pub progress: f64,
    /// In all, if known.
    pub total: Option<f64>,
    /// A sentence for people; left out where the revision has none.
    pub message: Option<String>,
}

/// Whether a progress report, log line or notification went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Sent {
    /// It is queued.
    Yes,
    /// The client did not ask for it, or may not get it: no token, level too low, not increasing, not subscribed.
    NotWanted,
    /// The client reads too slowly; it was dropped.
    Full,
}

/// Something that happened to the catalogue or a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The list of prompts has changed.
    PromptsListChanged,
    /// The list of resources or templates has changed.
    ResourcesListChanged,
    /// A resource has changed.
    ResourceUpdated {
        /// Which.
        uri: Arc<str>,
    },
    /// The list of tools has changed.
    ToolsListChanged,
}
