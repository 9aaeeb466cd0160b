//! A client's configuration, and the options of its calls, from objects of settings. Times are in seconds; `null` is
//! for ever.

use std::collections::BTreeMap;

use mcp_sansio::client::{CacheUse, CallOptions, Config, Connect, InputAnswer, Timeouts};
use mcp_sansio::error::{Error, ErrorObject};
use mcp_sansio::ids::RequestId;
use mcp_sansio::json::Json;
use mcp_sansio::limits::Limits;
use mcp_sansio::model::{ClientCapabilities, Icon, Implementation, SubscriptionFilter, TraceContext};
use serde::Deserialize;

use crate::definition::level;
use crate::{bound, misuse, present, read, seconds, version};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    name: String,
    version: String,
    title: Option<String>,
    description: Option<String>,
    website: Option<String>,
    icons: Option<Vec<Icon>>,
    connect: Option<String>,
    versions: Option<Vec<String>>,
    capabilities: Option<ClientCapabilities>,
    apply_defaults: Option<bool>,
    cache: Option<bool>,
    drive_input: Option<bool>,
    send_client_info: Option<bool>,
    strict_capabilities: Option<bool>,
    validate_output: Option<bool>,
    log_level: Option<String>,
    meta: Option<Json>,
    result_types: Vec<String>,
    server_methods: Vec<String>,
    #[serde(deserialize_with = "present")]
    idle: Option<Option<f64>>,
    #[serde(deserialize_with = "present")]
    hard: Option<Option<f64>>,
    probe: Option<f64>,
    limits: BTreeMap<String, Option<u64>>,
}

/// Makes a configuration of an object of settings: `name`, `version`, `connect`, and so on.
///
/// # Errors
/// What is no setting. What contradicts itself is found when the machine is made.
pub fn config(settings: &Json) -> Result<Config, Error> {
    let settings: Settings = read(settings)?;
    let mut info = Implementation::new(settings.name, settings.version);
    info.title = settings.title;
    info.description = settings.description;
    info.website_url = settings.website;
    info.icons = settings.icons;
    let mut config = Config::new(info).capabilities(settings.capabilities.unwrap_or_default());
    config = match settings.connect.as_deref() {
        None | Some("auto") => config,
        Some("legacy") => config.connect(Connect::Legacy),
        Some("modern") => config.connect(Connect::Modern),
        Some(name) => config.connect(Connect::Pinned(version(name)?)),
    };
    if let Some(names) = settings.versions {
        config = config.versions(names.iter().map(|name| version(name)).collect::<Result<Vec<_>, _>>()?);
    }
    type Decide = fn(Config, bool) -> Config;
    let decided: [(Option<bool>, Decide); 6] = [
        (settings.apply_defaults, Config::apply_defaults),
        (settings.cache, Config::cache),
        (settings.drive_input, Config::drive_input),
        (settings.send_client_info, Config::send_client_info),
        (settings.strict_capabilities, Config::strict_capabilities),
        (settings.validate_output, Config::validate_output),
    ];
    for (decision, decide) in decided {
        if let Some(decision) = decision {
            config = decide(config, decision);
        }
    }
    if let Some(name) = settings.log_level {
        config = config.log_level(level(&name)?);
    }
    if let Some(meta) = settings.meta {
        config = config.meta(meta);
    }
    config = settings.result_types.into_iter().fold(config, Config::result_type);
    config = settings.server_methods.into_iter().fold(config, Config::server_method);
    let mut timeouts = Timeouts::default();
    if let Some(idle) = settings.idle {
        timeouts = timeouts.idle(idle.map(seconds));
    }
    if let Some(hard) = settings.hard {
        timeouts = timeouts.hard(hard.map(seconds));
    }
    if let Some(probe) = settings.probe {
        timeouts = timeouts.probe(seconds(probe));
    }
    let mut limits = Limits::default();
    bound(&mut limits, &settings.limits)?;
    Ok(config.timeouts(timeouts).limits(limits))
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    progress: Option<Json>,
    #[serde(deserialize_with = "present")]
    idle: Option<Option<f64>>,
    #[serde(deserialize_with = "present")]
    hard: Option<Option<f64>>,
    drive_input: Option<bool>,
    meta: Option<Json>,
    cache: Option<String>,
    log_level: Option<String>,
    partition: Option<String>,
    traceparent: Option<String>,
    tracestate: Option<String>,
    baggage: Option<String>,
}

/// Makes the options of a call: `progress` (`true`, or a token), `idle`, `hard`, `cache` (`use`, `refresh`, `bypass`),
/// and so on.
///
/// # Errors
/// What is no option.
pub fn call_options(options: &Json) -> Result<CallOptions, Error> {
    let given: Options = read(options)?;
    let mut options = CallOptions::new();
    options = match given.progress {
        None => options,
        Some(json) => match json.get() {
            "false" => options,
            "true" => options.progress(),
            _ => options.progress_token(read::<RequestId>(&json)?),
        },
    };
    if let Some(idle) = given.idle {
        options = options.idle(idle.map(seconds));
    }
    if let Some(hard) = given.hard {
        options = options.hard(hard.map(seconds));
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
    if given.traceparent.is_some() || given.baggage.is_some() {
        let mut trace = TraceContext::default();
        (trace.traceparent, trace.tracestate) = (given.traceparent, given.tracestate);
        trace.baggage = given.baggage;
        options = options.trace(trace);
    }
    match given.cache.as_deref() {
        None | Some("use") => Ok(options),
        Some("refresh") => Ok(options.cache(CacheUse::Refresh)),
        Some("bypass") => Ok(options.cache(CacheUse::Bypass)),
        Some(other) => Err(misuse(format!("{other:?} is no use of the cache"))),
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Filter {
    wire: Option<SubscriptionFilter>,
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: Option<Vec<String>>,
}

/// Makes the filter of a listen call: `tools`, `prompts`, `resources` (whether changes of these lists are wanted) and
/// `uris` (of resources whose changes are), or a filter as the specification shapes it under `wire`.
///
/// # Errors
/// What is none of these.
pub fn filter(settings: &Json) -> Result<SubscriptionFilter, Error> {
    let given: Filter = read(settings)?;
    if let Some(filter) = given.wire {
        return Ok(filter);
    }
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = given.tools.then_some(true);
    filter.prompts_list_changed = given.prompts.then_some(true);
    filter.resources_list_changed = given.resources.then_some(true);
    filter.resource_subscriptions = given.uris;
    Ok(filter)
}

/// Makes the answer to a question, by kind: `elicit`, `sample`, `list_roots` and `raw` with a result as the specification
/// shapes it, `refused` with an error, `declined` with nothing.
///
/// # Errors
/// When the value has another shape.
pub fn answer(kind: &str, value: &Json) -> Result<InputAnswer, Error> {
    Ok(match kind {
        "elicit" => InputAnswer::Elicit(read(value)?),
        "sample" => InputAnswer::Sample(read(value)?),
        "list_roots" => InputAnswer::Roots(read(value)?),
        "raw" => InputAnswer::Raw(value.clone()),
        "declined" => InputAnswer::Declined,
        "refused" => InputAnswer::Refused(read::<ErrorObject>(value)?),
        other => return Err(misuse(format!("{other:?} is no kind of answer"))),
    })
}
