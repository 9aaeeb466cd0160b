//! What a client asks, and how.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::api::{Answer, AnswerBody, List};
use crate::copy::append;
use crate::error::Misuse;
use crate::ids::{ProgressToken, write_str};
use crate::json::Json;
use crate::jsonrpc::{Field, MethodName, ObjectWriter};
use crate::model::{LoggingLevel, SubscriptionFilter, TraceContext};
use crate::spec::Method;

/// A request, without the envelope that the era adds.
///
/// ```
/// # use mcp_sansio::client::Request;
/// # use mcp_sansio::json::Json;
/// let request = Request::call_tool("add", &Json::from_text(r#"{"a":1,"b":2}"#)?);
/// assert_eq!(request.method(), "tools/call");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) method: MethodName,
    /// An object, without `_meta`.
    pub(super) params: Json,
    /// The `_meta` of custom params.
    pub(super) meta: Option<Json>,
    /// Where the token of the tool's name stands in the params, if that is known.
    pub(super) name: Option<Range<u32>>,
    /// Answers to questions, when the caller drives the rounds.
    pub(super) input_responses: Option<Json>,
    /// The state that goes back with them: the token as it came.
    pub(super) request_state: Option<Json>,
}

impl Request {
    /// `tools/call`. `arguments` is an object.
    #[must_use]
    pub fn call_tool(name: &str, arguments: &Json) -> Self {
        const OPEN: &[u8] = b"{\"name\":";
        const THEN: &[u8] = b",\"arguments\":";
        // Exact for a name without escapes: bytes without room to spare are shared without another allocation.
        let length = OPEN.len() + name.len() + 2 + THEN.len() + arguments.as_bytes().len() + 1;
        let mut out = Vec::with_capacity(length);
        out.extend_from_slice(OPEN);
        let start = out.len();
        write_str(&mut out, name);
        let span = short(start)..short(out.len());
        out.extend_from_slice(THEN);
        append(&mut out, arguments.as_bytes());
        out.push(b'}');
        Self { name: Some(span), ..Self::new(Method::ToolsCall, Json::from_validated(out.into())) }
    }

    /// `completion/complete` for an argument of a prompt. `context` is an object of strings: arguments that are
    /// filled in already.
    #[must_use]
    pub fn complete_prompt(name: &str, argument: &str, value: &str, context: Option<&Json>) -> Self {
        Self::complete("ref/prompt", "name", name, argument, value, context)
    }

    /// `completion/complete` for a variable of a resource template, as [`Request::complete_prompt`].
    #[must_use]
    pub fn complete_template(uri: &str, argument: &str, value: &str, context: Option<&Json>) -> Self {
        Self::complete("ref/resource", "uri", uri, argument, value, context)
    }

    fn complete(kind: &str, key: &str, name: &str, argument: &str, value: &str, context: Option<&Json>) -> Self {
        Self::with(Method::CompletionComplete, |params| {
            params.object("ref", |reference| {
                reference.string("type", kind).string(key, name);
            });
            params.object("argument", |object| {
                object.string("name", argument).string("value", value);
            });
            if let Some(context) = context {
                params.object("context", |object| {
                    object.raw("arguments", context.get());
                });
            }
        })
    }

    /// Any method with any params, as a gateway passes them on. `params` is an object; what its `_meta` says under
    /// the keys that the machine fills is replaced, the rest of it is kept.
    ///
    /// # Errors
    /// When `params` is no object, or the method is one that only the machine may send (`initialize`, and
    /// `subscriptions/listen`, for which there is a verb).
    pub fn custom(method: &str, params: Json) -> Result<Self, Misuse> {
        let method = method_name(method);
        let members = super::text::object(&params)
            .ok_or_else(|| Misuse::Argument("params must be an object whose names stand once".into()))?;
        if let MethodName::Known(known @ (Method::Initialize | Method::SubscriptionsListen)) = method {
            return Err(Misuse::Argument(format!("{known} is sent by the machine: connect, or listen").into()));
        }
        let own = |name: &str| {
            [Field::Meta, Field::InputResponses, Field::RequestState].iter().any(|field| field.name() == name)
        };
        let mut request = Self { method, ..Self::new(Method::Ping, Json::EMPTY_OBJECT) };
        if !members.iter().any(|(name, _)| own(name)) {
            drop(members);
            request.params = params;
            return Ok(request);
        }
        let mut out = Vec::with_capacity(params.as_bytes().len());
        let mut object = ObjectWriter::new(&mut out);
        for (name, value) in &members {
            match &**name {
                name if name == Field::Meta.name() => request.meta = Some(value.clone()).filter(|meta| !meta.is_null()),
                name if name == Field::InputResponses.name() => request.input_responses = Some(value.clone()),
                name if name == Field::RequestState.name() => request.request_state = Some(value.clone()),
                name => {
                    object.raw(name, value.get());
                }
            }
        }
        object.end();
        request.params = Json::from_validated(out.into());
        Ok(request)
    }

    /// `server/discover`. Goes out even before the connection is made.
    #[must_use]
    pub fn discover() -> Self {
        Self::new(Method::ServerDiscover, Json::EMPTY_OBJECT)
    }

    /// `prompts/get`. `arguments` is an object of strings.
    #[must_use]
    pub fn get_prompt(name: &str, arguments: &Json) -> Self {
        Self::with(Method::PromptsGet, |params| {
            params.string("name", name).raw("arguments", arguments.get());
        })
    }

    /// A page of a list. The first page has no cursor; `""` is a cursor.
    #[must_use]
    pub fn list(list: List, cursor: Option<&str>) -> Self {
        match cursor {
            None => Self::new(list.method(), Json::EMPTY_OBJECT),
            Some(cursor) => Self::with(list.method(), |params| {
                params.string(Field::Cursor.name(), cursor);
            }),
        }
    }

    /// `ping`, in the legacy era.
    #[must_use]
    pub fn ping() -> Self {
        Self::new(Method::Ping, Json::EMPTY_OBJECT)
    }

    /// `resources/read`
    #[must_use]
    pub fn read_resource(uri: &str) -> Self {
        Self::with_uri(Method::ResourcesRead, uri)
    }

    /// `resources/subscribe`, in the legacy era. The modern one has `listen`.
    #[must_use]
    pub fn subscribe(uri: &str) -> Self {
        Self::with_uri(Method::ResourcesSubscribe, uri)
    }

    /// `resources/unsubscribe`, in the legacy era.
    #[must_use]
    pub fn unsubscribe(uri: &str) -> Self {
        Self::with_uri(Method::ResourcesUnsubscribe, uri)
    }

    pub(super) fn set_level(level: LoggingLevel) -> Self {
        Self::with(Method::LoggingSetLevel, |params| {
            params.value(Field::Level.name(), &level);
        })
    }

    pub(super) fn listen(filter: &SubscriptionFilter) -> Self {
        Self::with(Method::SubscriptionsListen, |params| {
            params.value(Field::Notifications.name(), filter);
        })
    }

    pub(super) fn page(list: List, cursor: &Json) -> Self {
        Self::with(list.method(), |params| {
            params.raw(Field::Cursor.name(), cursor.get());
        })
    }

    fn new(method: Method, params: Json) -> Self {
        Self {
            method: MethodName::Known(method),
            params,
            meta: None,
            name: None,
            input_responses: None,
            request_state: None,
        }
    }

    fn with(method: Method, fill: impl FnOnce(&mut ObjectWriter<'_>)) -> Self {
        let mut out = Vec::new();
        let mut object = ObjectWriter::new(&mut out);
        fill(&mut object);
        object.end();
        Self::new(method, Json::from_validated(out.into()))
    }

    fn with_uri(method: Method, uri: &str) -> Self {
        Self::with(method, |params| {
            params.string(Field::Uri.name(), uri);
        })
    }

    /// The next round of a request whose answer was `input_required`, for a caller who drives the rounds
    /// ([`CallOptions::drive_input`] off). `responses` is an object, one value for each key of the questions;
    /// it is left out if the server asked none. The state goes back exactly as it came.
    ///
    /// # Errors
    /// When `answer` does not want input.
    pub fn retry(mut self, answer: &Answer, responses: &Json) -> Result<Self, Misuse> {
        let AnswerBody::Result(members) = &answer.body else {
            return Err(Misuse::Argument("the answer does not want input".into()));
        };
        if !answer.is_input_required() {
            return Err(Misuse::Argument("the answer does not want input".into()));
        }
        if !responses.is_object() {
            return Err(Misuse::Argument("responses must be an object".into()));
        }
        self.input_responses = members.raw(Field::InputRequests).map(|_| responses.clone());
        self.request_state = members.value(Field::RequestState);
        Ok(self)
    }

    /// The name of the method.
    #[must_use]
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// The params, without the envelope.
    #[must_use]
    pub const fn params(&self) -> &Json {
        &self.params
    }

    /// The tool, prompt or resource that the request is about, as a header names it.
    pub(super) fn header_name(&self) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Named {
            name: Option<String>,
            uri: Option<String>,
        }
        let named: Named = match self.known()? {
            Method::PromptsGet | Method::ResourcesRead | Method::ToolsCall => self.params.parse().ok()?,
            _ => return None,
        };
        if self.known() == Some(Method::ResourcesRead) { named.uri } else { named.name }
    }

    pub(super) const fn known(&self) -> Option<Method> {
        match &self.method {
            MethodName::Known(method) => Some(*method),
            MethodName::Other(_) => None,
        }
    }
}

pub(super) fn method_name(name: &str) -> MethodName {
    Method::parse(name).map_or_else(|| MethodName::Other(name.into()), MethodName::Known)
}

fn short(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// How a call is made. Whatever is left as it is follows the [`Config`](super::Config).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CallOptions {
    pub(super) cache: CacheUse,
    pub(super) drive_input: Option<bool>,
    pub(super) hard: Option<Option<Duration>>,
    pub(super) idle: Option<Option<Duration>>,
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) meta: Option<Json>,
    pub(super) partition: Option<Arc<str>>,
    pub(super) progress: ProgressWish,
    pub(super) trace: TraceContext,
}

/// What a call does with the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheUse {
    /// Takes a fresh answer from it, and puts the answer into it.
    #[default]
    Use,
    /// Asks the server, and puts the answer into it.
    Refresh,
    /// Neither.
    Bypass,
}

/// Whether a call wants progress, and under which token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum ProgressWish {
    #[default]
    None,
    Minted,
    Token(ProgressToken),
}

impl CallOptions {
    /// Follows the configuration in everything, without progress.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What to do with the cache.
    #[must_use]
    pub const fn cache(mut self, cache: CacheUse) -> Self {
        self.cache = cache;
        self
    }

    /// Whether the machine asks for input and retries. Off: an `input_required` result is the answer, and
    /// [`Request::retry`] makes the next round.
    #[must_use]
    pub const fn drive_input(mut self, drive: bool) -> Self {
        self.drive_input = Some(drive);
        self
    }

    /// The longest that the call may take, questions to the user not counted. `None` is for ever.
    #[must_use]
    pub const fn hard(mut self, hard: Option<Duration>) -> Self {
        self.hard = Some(hard);
        self
    }

    /// The longest silence. Progress ends a silence. `None` is for ever.
    #[must_use]
    pub const fn idle(mut self, idle: Option<Duration>) -> Self {
        self.idle = Some(idle);
        self
    }

    /// The least level of log messages wanted for this call, in the modern era.
    #[must_use]
    pub const fn log_level(mut self, level: LoggingLevel) -> Self {
        self.log_level = Some(level);
        self
    }

    /// More members for `_meta`, an object. They win over those of the configuration; the keys that the machine
    /// fills are not to be had this way.
    #[must_use]
    pub fn meta(mut self, meta: Json) -> Self {
        self.meta = Some(meta);
        self
    }

    /// The authorization context that private answers belong to: a cached one is given to calls of the same
    /// context only.
    #[must_use]
    pub fn partition(mut self, partition: impl Into<Arc<str>>) -> Self {
        self.partition = Some(partition.into());
        self
    }

    /// Wants progress, under a token that the machine mints.
    #[must_use]
    pub fn progress(mut self) -> Self {
        self.progress = ProgressWish::Minted;
        self
    }

    /// Wants progress under this token, which must be unique among the open calls.
    #[must_use]
    pub fn progress_token(mut self, token: impl Into<ProgressToken>) -> Self {
        self.progress = ProgressWish::Token(token.into());
        self
    }

    /// The trace context of the call; malformed parts are left out.
    #[must_use]
    pub fn trace(mut self, trace: TraceContext) -> Self {
        self.trace = trace;
        self
    }
}
