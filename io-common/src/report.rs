//! What a host may want to know beside the answers: calls, failures, remarks.
//!
//! | hook | sees | set with |
//! |---|---|---|
//! | around call | each request that a handler answers, before and after | `Server::around_call` |
//! | error reporter | what went wrong inside, and what the machine noticed | `Server::error_reporter`, `Client::error_reporter` |
//!
//! Hooks run on the connection's own task or on that of the handler: they should be quick, and may not block. With
//! the feature `tracing`, each call is a span and each report an event beside the hooks.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::diagnostic::Diagnostic;
use mcp_sansio::ids::RequestId;
use mcp_sansio::json::Json;
use mcp_sansio::model::Implementation;
use mcp_sansio::server::Reply;
use mcp_sansio::server::request_state::TokenId;
use mcp_sansio::spec::ErrorCode;

use crate::server::{Cancelled, Context};

/// Something that a person should hear of.
#[non_exhaustive]
pub enum Report<'a> {
    /// The machine noticed something.
    Diagnostic(&'a Diagnostic),
    /// A handler failed, and the peer was told no more than that.
    HandlerFailed {
        /// The request.
        context: &'a Context,
        /// What the handler failed with.
        error: &'a (dyn Error + 'static),
    },
    /// A handler panicked, and the peer was told no more than that it failed.
    HandlerPanicked {
        /// The request.
        context: &'a Context,
        /// The text of the panic.
        text: &'a str,
    },
    /// The handler of a notification, or of a question of a server, failed or panicked.
    NotificationFailed {
        /// The method.
        method: &'a str,
        /// What the handler failed with.
        error: &'a (dyn Error + 'static),
    },
    /// What a handler answered to a question or a request of the server was not taken: it does not fit, or nobody waits
    /// for it any more.
    AnswerRefused {
        /// What is wrong with it.
        error: &'a (dyn Error + 'static),
    },
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Diagnostic(diagnostic) => fmt::Display::fmt(diagnostic, f),
            Self::HandlerFailed { context, error } => {
                write!(f, "the handler of {} failed (request {}): {error}", Named(context), context.request_id())
            }
            Self::HandlerPanicked { context, text } => {
                write!(f, "the handler of {} panicked (request {}): {text}", Named(context), context.request_id())
            }
            Self::NotificationFailed { method, error } => write!(f, "the handler of {method} failed: {error}"),
            Self::AnswerRefused { error } => write!(f, "the answer of a handler was not taken: {error}"),
        }
    }
}

impl fmt::Debug for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The method of a request, with the name or URI that it is about.
struct Named<'a>(&'a Context);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.method())?;
        match self.0.target() {
            Some(target) => write!(f, " {target}"),
            None => Ok(()),
        }
    }
}

/// How a handler ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It answered.
    Answered,
    /// A tool answered that it failed.
    ToolError,
    /// It answered an error that is meant for the client.
    Refused(ErrorCode),
    /// It needs input, and will run again.
    InputRequired,
    /// It failed.
    Failed,
    /// It panicked.
    Panicked,
    /// It was dropped after its request was cancelled.
    Dropped,
}

impl Outcome {
    pub(crate) fn of(reply: &Reply) -> Self {
        match reply {
            Reply::Error(error) => Self::Refused(error.code),
            Reply::Failed => Self::Failed,
            Reply::InputRequired(_) => Self::InputRequired,
            Reply::Tool(result) if result.failed() => Self::ToolError,
            _ => Self::Answered,
        }
    }

    /// A short label for logs and metrics; `None` where nothing went wrong.
    #[must_use]
    pub const fn error_label(&self) -> Option<&'static str> {
        match self {
            Self::Answered | Self::InputRequired => None,
            Self::ToolError => Some("tool_error"),
            Self::Refused(_) => Some("refused"),
            Self::Failed => Some("failed"),
            Self::Panicked => Some("panicked"),
            Self::Dropped => Some("cancelled"),
        }
    }
}

/// A request that a handler answers, before or after.
#[derive(Clone, Copy)]
pub struct CallEvent<'a> {
    pub(crate) context: &'a Context,
    pub(crate) exposed: bool,
    pub(crate) stage: Stage,
}

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The handler is about to run.
    Begun,
    /// It has ended.
    Ended {
        /// How.
        outcome: Outcome,
        /// How long it took.
        duration: Duration,
    },
}

impl CallEvent<'_> {
    /// Where the call stands.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// The id of the request on the wire.
    #[must_use]
    pub fn request_id(&self) -> &RequestId {
        self.context.request_id()
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        self.context.method()
    }

    /// The name of the tool or prompt, or the URI of the resource.
    #[must_use]
    pub fn target(&self) -> Option<Cow<'_, str>> {
        self.context.target()
    }

    /// The client, as it introduces itself.
    #[must_use]
    pub fn client(&self) -> Option<Implementation> {
        self.context.client_info()
    }

    /// Why the answer is not wanted any more, if that is so.
    #[must_use]
    pub fn cancelled(&self) -> Option<Cancelled> {
        self.context.cancellation()
    }

    /// The params as they came. `None` unless the host opted in
    /// ([`Server::expose_arguments`](crate::server::Server::expose_arguments)).
    #[must_use]
    pub fn params(&self) -> Option<Json> {
        self.exposed.then(|| self.context.params())
    }
}

impl fmt::Debug for CallEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallEvent")
            .field("id", self.request_id())
            .field("method", &self.method())
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}

pub(crate) type Reporter = Arc<dyn Fn(&Report<'_>) + Send + Sync>;
pub(crate) type FirstTime = Arc<dyn Fn(&TokenId) -> bool + Send + Sync>;
pub(crate) type AroundCall = Arc<dyn Fn(&CallEvent<'_>) + Send + Sync>;

/// The hooks of a host.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) around: Option<AroundCall>,
    pub(crate) exposed: bool,
    pub(crate) reporter: Option<Reporter>,
    pub(crate) first_time: Option<FirstTime>,
}

impl Hooks {
    pub(crate) fn report(&self, report: &Report<'_>) {
        #[cfg(feature = "tracing")]
        crate::spans::event(report);
        if let Some(reporter) = &self.reporter {
            reporter(report);
        }
    }

    pub(crate) fn begun(&self, context: &Context) {
        if let Some(around) = &self.around {
            around(&CallEvent { context, exposed: self.exposed, stage: Stage::Begun });
        }
    }

    pub(crate) fn ended(&self, context: &Context, outcome: Outcome) {
        #[cfg(feature = "tracing")]
        crate::spans::ended(context, outcome);
        if let Some(around) = &self.around {
            let duration = context.elapsed();
            around(&CallEvent { context, exposed: self.exposed, stage: Stage::Ended { outcome, duration } });
        }
    }
}
