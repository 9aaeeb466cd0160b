//! What a client is configured with, asked for and told, from JSON.

use std::collections::BTreeMap;

use mcp_sansio::client::{CacheUse, CallOptions, Config, Connect, InputAnswer, Request, Timeouts};
use mcp_sansio::error::ErrorObject;
use mcp_sansio::http::client::Endpoint;
use mcp_sansio::ids::ProgressToken;
use mcp_sansio::json::Json;
use mcp_sansio::limits::Limits;
use mcp_sansio::model::{
    ClientCapabilities, CreateMessageResult, ElicitResult, Implementation, ListRootsResult, SubscriptionFilter,
    TraceContext,
};
use serde::Deserialize;

use crate::Result;
use crate::definition::{level, limits, version, versions};
use crate::told::{argument, latin1, span};

/// A setting that is on or off, or left as it is, and the method that sets it.
type Switch<B> = (Option<bool>, fn(B, bool) -> B);

/// What a client is. What is left out has the defaults of the core.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    info: Option<Implementation>,
    connect: Option<String>,
    declared: Option<ClientCapabilities>,
    server_methods: Vec<String>,
    result_types: Vec<String>,
    apply_defaults: Option<bool>,
    send_client_info: Option<bool>,
    strict_capabilities: Option<bool>,
    validate_output: Option<bool>,
    drive_input: Option<bool>,
    cache: Option<bool>,
    log_level: Option<String>,
    meta: Option<Json>,
    versions: Option<Vec<String>>,
    timeouts: BTreeMap<String, Option<f64>>,
    limits: BTreeMap<String, Option<u64>>,
}

impl Settings {
    pub(crate) fn config(self) -> Result<Config> {
        let info = self.info.ok_or_else(|| argument("a client has a name and a version"))?;
        let mut config = Config::new(info).capabilities(self.declared.unwrap_or_default());
        config = config.limits(limits(Limits::default(), &self.limits)?).timeouts(timeouts(&self.timeouts)?);
        let switches: [Switch<Config>; 6] = [
            (self.apply_defaults, Config::apply_defaults),
            (self.send_client_info, Config::send_client_info),
            (self.strict_capabilities, Config::strict_capabilities),
            (self.validate_output, Config::validate_output),
            (self.drive_input, Config::drive_input),
            (self.cache, Config::cache),
        ];
        for (on, switch) in switches {
            if let Some(on) = on {
                config = switch(config, on);
            }
        }
        config = self.server_methods.into_iter().fold(config, Config::server_method);
        config = self.result_types.into_iter().fold(config, Config::result_type);
        config = config.connect(match self.connect.as_deref() {
            None | Some("auto") => Connect::Auto,
            Some("legacy") => Connect::Legacy,
            Some("modern") => Connect::Modern,
            Some(name) => Connect::Pinned(version(name)?),
        });
        if let Some(name) = self.log_level {
            config = config.log_level(level(&name)?);
        }
        if let Some(meta) = self.meta {
            config = config.meta(meta);
        }
        match self.versions {
            Some(names) => Ok(config.versions(versions(&names)?)),
            None => Ok(config),
        }
    }
}

fn timeouts(given: &BTreeMap<String, Option<f64>>) -> Result<Timeouts> {
    let mut timeouts = Timeouts::default();
    for (name, value) in given {
        timeouts = match (&**name, value.map(span)) {
            ("idle_ms", time) => timeouts.idle(time),
            ("hard_ms", time) => timeouts.hard(time),
            ("probe_ms", Some(time)) => timeouts.probe(time),
            _ => return Err(argument(format!("{name:?} is no time that can be set so"))),
        };
    }
    Ok(timeouts)
}

/// Where a server is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Where {
    url: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    credentials: Option<String>,
    ask_authorization: Option<bool>,
    get_stream: Option<bool>,
    deprecated_sse: Option<bool>,
}

impl Where {
    pub(crate) fn endpoint(self) -> Result<Endpoint> {
        let mut endpoint = Endpoint::new(&self.url).map_err(argument)?;
        for (name, value) in self.headers {
            endpoint = endpoint.header(&name, latin1(&value)).map_err(argument)?;
        }
        if let Some(value) = self.credentials {
            endpoint = endpoint.authorization(value).map_err(argument)?;
        }
        let switches: [Switch<Endpoint>; 3] = [
            (self.ask_authorization, Endpoint::ask_authorization),
            (self.get_stream, Endpoint::get_stream),
            (self.deprecated_sse, Endpoint::deprecated_sse),
        ];
        Ok(switches.into_iter().fold(endpoint, |endpoint, (on, switch)| match on {
            Some(on) => switch(endpoint, on),
            None => endpoint,
        }))
    }
}

/// The verbs of a client but those that carry bytes, each with its arguments. A slot is its two halves.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verb {
    Abandon([u32; 2]),
    Authorize(u64, String),
    Broken(u64, String),
    Call(What, Option<Options>),
    Cancel(u64, Option<String>),
    Close(),
    Connect(),
    End(u64),
    Eof(),
    Fail([u32; 2], ErrorObject),
    Head(u64, u16, Vec<(String, String)>),
    Listen(SubscriptionFilter, Option<Options>),
    NotSent(u64, String),
    Notify(String, Option<Json>),
    RefuseAuthorization(u64),
    Reply([u32; 2], Json),
    Retry(u64, Json, Option<Options>),
    RootsChanged(),
    Server(),
    SessionId(),
    SetAuthorization(Option<String>),
    SetLevel(String),
    Supply(u64, Given),
    Walk(String, Option<Options>),
}

/// A request.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    CallTool(String, Json),
    CompletePrompt(String, String, String, Option<Json>),
    CompleteTemplate(String, String, String, Option<Json>),
    Custom(String, Json),
    Discover(),
    GetPrompt(String, Json),
    List(String, Option<String>),
    Ping(),
    ReadResource(String),
    Subscribe(String),
    Unsubscribe(String),
}

pub(crate) fn request(what: What) -> Result<Request> {
    Ok(match what {
        What::CallTool(name, with) => Request::call_tool(&name, &with),
        What::CompletePrompt(name, argument, value, context) => {
            Request::complete_prompt(&name, &argument, &value, context.as_ref())
        }
        What::CompleteTemplate(uri, argument, value, context) => {
            Request::complete_template(&uri, &argument, &value, context.as_ref())
        }
        What::Custom(method, with) => Request::custom(&method, with)?,
        What::Discover() => Request::discover(),
        What::GetPrompt(name, with) => Request::get_prompt(&name, &with),
        What::List(name, cursor) => {
            let list = mcp_sansio::client::List::named(&name);
            Request::list(list.ok_or_else(|| argument(format!("{name:?} is no list")))?, cursor.as_deref())
        }
        What::Ping() => Request::ping(),
        What::ReadResource(uri) => Request::read_resource(&uri),
        What::Subscribe(uri) => Request::subscribe(&uri),
        What::Unsubscribe(uri) => Request::unsubscribe(&uri),
    })
}

/// How a call is made. A time of -1 is for ever.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Options {
    progress: bool,
    progress_token: Option<ProgressToken>,
    idle_ms: Option<f64>,
    hard_ms: Option<f64>,
    pub(crate) drive_input: Option<bool>,
    meta: Option<Json>,
    cache: Option<String>,
    log_level: Option<String>,
    partition: Option<String>,
    /// `traceparent`, `tracestate`, `baggage`.
    trace: Option<[Option<String>; 3]>,
}

pub(crate) fn call_options(given: Options) -> Result<CallOptions> {
    let mut options = CallOptions::new();
    let time = |millis: f64| (millis >= 0.0).then(|| span(millis));
    if given.progress {
        options = options.progress();
    }
    if let Some(token) = given.progress_token {
        options = options.progress_token(token.0);
    }
    if let Some(millis) = given.idle_ms {
        options = options.idle(time(millis));
    }
    if let Some(millis) = given.hard_ms {
        options = options.hard(time(millis));
    }
    if let Some(drive) = given.drive_input {
        options = options.drive_input(drive);
    }
    if let Some(meta) = given.meta {
        options = options.meta(meta);
    }
    if let Some(name) = given.log_level {
        options = options.log_level(level(&name)?);
    }
    if let Some(partition) = given.partition {
        options = options.partition(partition);
    }
    if let Some([traceparent, tracestate, baggage]) = given.trace {
        let mut trace = TraceContext::default();
        (trace.traceparent, trace.tracestate, trace.baggage) = (traceparent, tracestate, baggage);
        options = options.trace(trace);
    }
    match given.cache.as_deref() {
        None | Some("use") => Ok(options),
        Some("refresh") => Ok(options.cache(CacheUse::Refresh)),
        Some("bypass") => Ok(options.cache(CacheUse::Bypass)),
        Some(other) => Err(argument(format!("{other:?} is no use of the cache"))),
    }
}

/// An answer to a question.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Given {
    Elicit(ElicitResult),
    Sample(Box<CreateMessageResult>),
    RootList(ListRootsResult),
    Raw(Json),
    Declined(),
    Refused(ErrorObject),
}

pub(crate) fn input_answer(given: Given) -> InputAnswer {
    match given {
        Given::Elicit(result) => InputAnswer::Elicit(result),
        Given::Sample(result) => InputAnswer::Sample(result),
        Given::RootList(result) => InputAnswer::Roots(result),
        Given::Raw(result) => InputAnswer::Raw(result),
        Given::Declined() => InputAnswer::Declined,
        Given::Refused(error) => InputAnswer::Refused(error),
    }
}
