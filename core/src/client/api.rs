//! What goes in and out of a client machine, as values.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::diagnostic::Diagnostic;
use crate::error::{Error, ErrorObject};
use crate::http::client::ExchangeError;
use crate::ids::{CallId, ReplySlot, SlotId};
use crate::json::Json;
use crate::jsonrpc::{Field, Members, MetaField};
use crate::limits::Bound;
use crate::model::{
    CreateMessageResult, ElicitResult, Implementation, InputRequest, ListRootsResult, ServerCapabilities,
    SubscriptionFilter,
};
use crate::schema::mirror::MirrorError;
use crate::spec::{Era, Method, Version};

/// What to do next. Actions own what they carry and may cross threads.
#[derive(Debug)]
#[non_exhaustive]
pub enum Action {
    /// Write these bytes: one whole frame, newline included. Report them with `Input::Written` when they left.
    Write(Bytes),
    /// The era and the revision are settled: calls that waited go out now. Comes once.
    Connected(Box<ServerFacts>),
    /// A legacy session over HTTP was lost, and there is a new one: what the old one knew, such as subscriptions and the
    /// level of log messages, is gone. Open calls go on in the new one if the server has not seen them.
    Renewed(Box<ServerFacts>),
    /// A call has got further.
    Progress {
        /// The call.
        call: CallId,
        /// How far.
        progress: Progress,
    },
    /// A call has ended. Comes once for each call, and nothing more comes for it.
    Done {
        /// The call.
        call: CallId,
        /// What it brought.
        outcome: Result<Answer, CallError>,
    },
    /// The server asks: answer with `supply_input`, or cancel the call that it asks for.
    NeedInput(Box<InputNeeded>),
    /// The answer to a question is not wanted any more: take the dialog away. Answering it is an error now.
    CancelledInput {
        /// The question.
        input: InputId,
        /// What the server said, or nothing if the call ended.
        reason: Option<Box<str>>,
    },
    /// A request of a legacy server that [`Config::server_method`](super::Config::server_method) names: answer with
    /// `reply`.
    Invoke {
        /// The right to answer.
        slot: ReplySlot,
        /// Its method.
        method: Box<str>,
        /// Its params as they came, `{}` if absent.
        params: Json,
    },
    /// The server does not want the answer to an `Invoke` any more. Its slot stays valid, what it is answered with
    /// is dropped.
    CancelledInvoke {
        /// The request.
        slot: SlotId,
        /// What the server said.
        reason: Option<Box<str>>,
    },
    /// A notification of the server: log messages, changed lists, updated resources and every other method. Those
    /// that the machine uses up (progress, cancellation, acknowledgements) do not come here.
    Notified {
        /// Its method.
        method: Box<str>,
        /// Its params as they came, `{}` if absent.
        params: Json,
        /// The listen call that it belongs to; always `None` in the legacy era.
        subscription: Option<CallId>,
    },
    /// The server has opened a listen stream. Over HTTP it may come again for the same call: the stream broke and was
    /// opened anew, and notifications may have been missed.
    Listening {
        /// The listen call.
        call: CallId,
        /// What the server will tell: at most what was asked for.
        filter: SubscriptionFilter,
    },
    /// Something worth a log line.
    Diagnostic(Diagnostic),
    /// The connection is over: nothing more will be written. The last action.
    Closed(Closed),
}

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Closed {
    /// The server has closed its side.
    EndOfInput,
    /// `close` was called.
    Requested,
    /// No connection came about.
    NotConnected(ConnectError),
    /// The machine cannot go on.
    Failed(Error),
}

/// The most revisions of a server that a text names: a hostile one has as many as fit a frame.
const SHOWN_REVISIONS: usize = 8;
/// The most characters that are shown of each.
const SHOWN_REVISION: usize = 32;

/// Revisions, as the protocol spells them.
fn listed(versions: &[Version]) -> String {
    versions.iter().map(|version| version.as_str()).collect::<Vec<_>>().join(", ")
}

/// Revisions as a server spells them: in quotes, so that control characters do no harm.
fn quoted(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown = names.iter().take(SHOWN_REVISIONS).map(|name| {
        let shown: String = name.chars().take(SHOWN_REVISION).collect();
        format!("{shown:?}")
    });
    let text = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN_REVISIONS) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// Why no connection came about.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The two sides have no revision in common, or none that the configuration allows.
    #[error("no common revision: we speak {}, the server {}", listed(ours), quoted(theirs))]
    NoCommonVersion {
        /// What the configuration allows.
        ours: Vec<Version>,
        /// What the server named, as it spelled it.
        theirs: Vec<String>,
    },
    /// A modern connection was demanded, and the server gave no sign of that era.
    #[error("the server gives no sign of the modern era")]
    NotModern {
        /// What it answered to the probe; nothing if it was silent, or its answer was of no known shape.
        error: Option<ErrorObject>,
    },
    /// The server answered the handshake with an error.
    #[error("the server refused the connection: {0}")]
    Refused(ErrorObject),
    /// The answer to `initialize` is not one.
    #[error("the server's answer to the handshake is invalid: {0}")]
    InvalidAnswer(Cow<'static, str>),
    /// `initialize` went unanswered, or the probe over HTTP. Neither is cancelled: close the connection.
    #[error("the handshake went unanswered")]
    TimedOut,
    /// Over HTTP: the exchange brought no answer.
    #[error("{0}")]
    Exchange(ExchangeError),
}

/// The server, as it introduced itself.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServerFacts {
    /// The revision that is spoken.
    pub version: Version,
    /// What the server can do.
    pub capabilities: ServerCapabilities,
    /// Name and version, if it says: for display and logs, not for decisions.
    pub info: Option<Implementation>,
    /// How to use the server, if it says.
    pub instructions: Option<String>,
    /// The result of `initialize` or `server/discover`, as it came.
    pub raw: Json,
}

impl ServerFacts {
    /// Of a modern server that speaks this revision and tells nothing about itself.
    pub(super) fn undiscovered(version: Version) -> Self {
        Self {
            version,
            capabilities: ServerCapabilities::default(),
            info: None,
            instructions: None,
            raw: Json::EMPTY_OBJECT,
        }
    }

    /// The era of the revision that is spoken.
    #[must_use]
    pub const fn era(&self) -> Era {
        self.version.era()
    }
}

/// The result of a call, typed when it is asked for. Nothing of it is lost: unknown members stay in [`Answer::json`].
#[derive(Clone, Debug)]
pub struct Answer {
    pub(super) body: AnswerBody,
    pub(super) cached: bool,
}

#[derive(Clone, Debug)]
pub(super) enum AnswerBody {
    /// Nothing came, and nothing was to come.
    Empty,
    Result(Box<Members>),
    /// A whole walk.
    Items(List, Vec<Json>),
}

impl Answer {
    /// The result object as it came. For a walk: an object with all items under the list's own name.
    #[must_use]
    pub fn json(&self) -> Json {
        match &self.body {
            AnswerBody::Result(members) => members.json(),
            AnswerBody::Items(list, items) => list.object(items),
            AnswerBody::Empty => Json::EMPTY_OBJECT,
        }
    }

    /// Decodes the result.
    ///
    /// # Errors
    /// When the result has another shape than `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        self.json().parse()
    }

    /// What kind of result it is: `complete` where the server did not say.
    #[must_use]
    pub fn result_type(&self) -> Cow<'_, str> {
        match &self.body {
            AnswerBody::Result(members) => {
                members.string(Field::ResultType).ok().flatten().unwrap_or(Cow::Borrowed(super::COMPLETE))
            }
            AnswerBody::Empty | AnswerBody::Items(..) => Cow::Borrowed(super::COMPLETE),
        }
    }

    /// Whether the server wants input first. Only with [`CallOptions::drive_input`](super::CallOptions::drive_input) off.
    #[must_use]
    pub fn is_input_required(&self) -> bool {
        self.result_type() == super::INPUT_REQUIRED
    }

    /// Whether the tool says that it failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match &self.body {
            AnswerBody::Result(members) => members.raw(Field::IsError) == Some("true"),
            AnswerBody::Empty | AnswerBody::Items(..) => false,
        }
    }

    /// The structured content of a tool result. A present `null` is `Some`.
    #[must_use]
    pub fn structured_content(&self) -> Option<Json> {
        match &self.body {
            AnswerBody::Result(members) => members.present_value(Field::StructuredContent),
            AnswerBody::Empty | AnswerBody::Items(..) => None,
        }
    }

    /// Where the list goes on; `""` is a cursor, `None` ends the list.
    #[must_use]
    pub fn next_cursor(&self) -> Option<Cow<'_, str>> {
        match &self.body {
            AnswerBody::Result(members) => members.string(Field::NextCursor).ok().flatten(),
            AnswerBody::Empty | AnswerBody::Items(..) => None,
        }
    }

    /// Name and version of the server that produced the result, if it says: for display and logs.
    #[must_use]
    pub fn server_info(&self) -> Option<Implementation> {
        match &self.body {
            AnswerBody::Result(members) => serde_json::from_str(members.meta_raw(MetaField::ServerInfo)?).ok(),
            AnswerBody::Empty | AnswerBody::Items(..) => None,
        }
    }

    /// The items of a page or a whole walk, each as it came; empty if the result is no list.
    #[must_use]
    pub fn items(&self) -> Vec<Json> {
        match &self.body {
            AnswerBody::Result(members) => List::ALL
                .into_iter()
                .find_map(|list| members.value(list.field()))
                .and_then(|items| super::text::array(&items))
                .unwrap_or_default(),
            AnswerBody::Items(_, items) => items.clone(),
            AnswerBody::Empty => Vec::new(),
        }
    }

    /// The items of a page or a whole walk, decoded.
    ///
    /// # Errors
    /// When an item has another shape than `T`.
    pub fn parse_items<T: DeserializeOwned>(&self) -> Result<Vec<T>, serde_json::Error> {
        self.items().iter().map(Json::parse).collect()
    }

    /// Whether the answer came out of the cache: nothing was sent.
    #[must_use]
    pub const fn is_cached(&self) -> bool {
        self.cached
    }
}

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server answered with an error: code, message and data as they came.
    #[error("the server answered: {0}")]
    Remote(ErrorObject),
    /// No answer came in time; the server was told that none is wanted.
    #[error("timed out: {kind}")]
    TimedOut {
        /// Which of the two clocks ran out.
        kind: TimeoutKind,
    },
    /// `cancel` was called.
    #[error("cancelled")]
    Cancelled,
    /// The connection ended first. What the server did is not known.
    #[error("disconnected")]
    Disconnected,
    /// The result is not what the method promises: nothing was made of it.
    #[error("invalid result: {problem}")]
    InvalidResult {
        /// What is wrong.
        problem: Cow<'static, str>,
        /// The result, as it came.
        result: Json,
    },
    /// A tool's structured content could not be approved by the tool's own output schema.
    #[error("the structured content is not approved by the tool's output schema: {problem}")]
    OutputInvalid {
        /// The whole result, as it came.
        result: Json,
        /// Why.
        problem: OutputProblem,
    },
    /// The server asked for something that we did not declare, or cannot do. No answer was sent.
    #[error("the server wants input that was not declared: {what}")]
    InputUnsupported {
        /// The key of the question.
        key: String,
        /// The capability that it needs.
        what: Cow<'static, str>,
    },
    /// The application refused a question that has no way to say so on the wire.
    #[error("input was refused: {error}")]
    InputRefused {
        /// The key of the question.
        key: String,
        /// What the application said.
        error: ErrorObject,
    },
    /// The server wants input again and again.
    #[error("the server wants input for more than {limit} rounds")]
    RoundsExceeded {
        /// [`Limits::rounds`](crate::limits::Limits::rounds).
        limit: u32,
    },
    /// A bound was hit.
    #[error("{bound} = {limit} exceeded")]
    BoundExceeded {
        /// Which.
        bound: Bound,
        /// Its value.
        limit: u64,
        /// What a walk had read until then; empty otherwise.
        partial: Vec<Json>,
    },
    /// The server does not speak our revision, and names none in common.
    #[error("the server does not speak {requested}, but {supported:?}")]
    Incompatible {
        /// What the request claimed.
        requested: Version,
        /// What the server named.
        supported: Vec<String>,
    },
    /// Over HTTP: the exchange brought no answer.
    #[error("{0}")]
    Exchange(ExchangeError),
    /// Over HTTP: an argument that the tool wants in a header cannot stand there. Nothing was sent.
    #[error("{0}")]
    Mirror(MirrorError),
    /// The method does not exist in the revision that is spoken. Nothing was sent.
    #[error("{method} does not exist in {version}")]
    NotInVersion {
        /// The method.
        method: Method,
        /// The revision.
        version: Version,
    },
    /// The server has not declared the capability behind the method. Nothing was sent.
    #[error("the server has not declared the capability {capability}")]
    CapabilityMissing {
        /// Which.
        capability: &'static str,
    },
}

/// The clock that ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutKind {
    /// Nothing was heard of the call for [`Timeouts::idle`](super::Timeouts::idle).
    Idle,
    /// The call took longer than [`Timeouts::hard`](super::Timeouts::hard), questions to the user not counted.
    Hard,
}

impl fmt::Display for TimeoutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "the server has been silent for too long",
            Self::Hard => "the call has taken too long",
        })
    }
}

/// Why structured content is not approved.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OutputProblem {
    /// The tool has an output schema, and its result no structured content.
    #[error("the result has no structured content")]
    Missing,
    /// The content does not fit.
    #[error("{0}")]
    Mismatch(String),
    /// The schema names a dialect that this crate does not know.
    #[error("the dialect {0} is not supported")]
    UnsupportedDialect(String),
    /// The schema cannot be used: it is invalid, refers to another document, or is too costly.
    #[error("the schema is unusable: {0}")]
    UnusableSchema(String),
}

/// How far a call has got.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// So far; each report exceeds the one before, until the call is sent again: for the next round of input, the
    /// next page, or another revision.
    pub progress: f64,
    /// In all, if known.
    pub total: Option<f64>,
    /// A sentence for people.
    pub message: Option<String>,
    /// The params as they came.
    pub raw: Json,
}

/// The name of a question of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InputId(pub(super) u64);

impl InputId {
    /// The question as a number.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        self.0
    }

    /// The inverse of [`InputId::to_u64`].
    #[must_use]
    pub const fn from_u64(number: u64) -> Self {
        Self(number)
    }
}

/// A question of the server. Whether it came as a request of its own (legacy) or inside a result (modern) makes no
/// difference to the one who answers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InputNeeded {
    /// Its name.
    pub input: InputId,
    /// The call that it is asked for; a legacy server does not say.
    pub call: Option<CallId>,
    /// The server's key for it; empty in the legacy era.
    pub key: String,
    /// What is asked.
    pub request: InputRequest,
    /// The params as they came.
    pub raw: Json,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InputAnswer {
    /// To an elicitation. Accepted content is checked against the requested schema before it is sent.
    Elicit(ElicitResult),
    /// To a sampling request.
    Sample(Box<CreateMessageResult>),
    /// To a request for roots.
    Roots(ListRootsResult),
    /// To whatever was asked: an object that goes out as it is. For gateways; elicited content is still checked.
    Raw(Json),
    /// The user does not want to answer. An elicitation is declined; other questions are refused with -1 in the
    /// legacy era and end the call in the modern one.
    Declined,
    /// No answer can be had. An elicitation is cancelled in the modern era; a legacy server gets this error; any
    /// other question ends the call in the modern era.
    Refused(ErrorObject),
}

/// A list of the server's catalogue.
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

impl List {
    /// Every list.
    pub const ALL: [Self; 4] = [Self::Prompts, Self::Resources, Self::Templates, Self::Tools];

    /// The request for a page of it.
    #[must_use]
    pub const fn method(self) -> Method {
        match self {
            Self::Prompts => Method::PromptsList,
            Self::Resources => Method::ResourcesList,
            Self::Templates => Method::ResourcesTemplatesList,
            Self::Tools => Method::ToolsList,
        }
    }

    pub(super) const fn field(self) -> Field {
        match self {
            Self::Prompts => Field::Prompts,
            Self::Resources => Field::Resources,
            Self::Templates => Field::ResourceTemplates,
            Self::Tools => Field::Tools,
        }
    }

    pub(super) fn of(method: Method) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.method() == method)
    }

    fn object(self, items: &[Json]) -> Json {
        let mut out = Vec::with_capacity(items.iter().map(|item| item.as_bytes().len() + 1).sum::<usize>() + 32);
        let mut object = crate::jsonrpc::ObjectWriter::new(&mut out);
        super::text::write_array(object.key(self.field().name()), items);
        object.end();
        Json::from_validated(out.into())
    }
}
