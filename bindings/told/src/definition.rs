//! The settings of a server, a JSON object, into a [`Definition`].

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_sansio::json::Json;
use mcp_sansio::limits::Limits;
use mcp_sansio::model::{CacheHints, Extra, Icon, LoggingLevel, Number, Prompt, Resource, ResourceTemplate, Tool};
use mcp_sansio::schema::SchemaLimits;
use mcp_sansio::server::request_state::SealKeys;
use mcp_sansio::server::{Definition, DefinitionBuilder, List};
use mcp_sansio::spec::{Method, Version};
use serde::Deserialize;

use crate::Result;
use crate::told::{argument, read};

/// Checks the settings and compiles them. Their names are those of the methods of [`DefinitionBuilder`]; what is added one
/// by one there is a list here, of the plural's name.
///
/// # Errors
/// When they are no settings, or make no definition.
pub fn definition(settings: &str) -> Result<Arc<Definition>> {
    read::<Settings>(settings)?.build().map(Arc::new)
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    name: String,
    version: String,
    title: Option<String>,
    description: Option<String>,
    website: Option<String>,
    icons: Vec<Icon>,
    instructions: Option<String>,
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    list_only_resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
    send_identity: Option<bool>,
    read_any: bool,
    completions: bool,
    logging: bool,
    early_log_level: Option<String>,
    subscriptions: bool,
    ask_subscriptions: bool,
    list_changed: bool,
    dynamic: Vec<String>,
    methods: Vec<String>,
    notifications: Vec<String>,
    hand_over: Vec<String>,
    hand_over_unknown: bool,
    page_size: Option<usize>,
    cache: BTreeMap<String, Hints>,
    versions: Option<Vec<String>>,
    seal: Vec<[u8; 32]>,
    audience: Option<String>,
    limits: BTreeMap<String, Option<u64>>,
    schema_limits: BTreeMap<String, u64>,
    extensions: Extra,
    experimental: Option<Json>,
    validate_output: Option<bool>,
    legacy_input: Option<bool>,
}

/// A method of the builder that has no argument, and one that has one.
type Set0 = fn(DefinitionBuilder) -> DefinitionBuilder;
type Set<T> = fn(DefinitionBuilder, T) -> DefinitionBuilder;

/// How long something may be cached, and by whom.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hints {
    ttl_ms: Option<Number>,
    scope: Option<String>,
}

impl Settings {
    fn build(self) -> Result<Definition> {
        let mut builder = Definition::builder(self.name.clone(), self.version.clone());
        builder = self.policy(builder)?;
        builder = self.switches(builder);
        builder = self.tools.into_iter().fold(builder, DefinitionBuilder::tool);
        builder = self.prompts.into_iter().fold(builder, DefinitionBuilder::prompt);
        builder = self.resources.into_iter().fold(builder, DefinitionBuilder::resource);
        builder = self.list_only_resources.into_iter().fold(builder, DefinitionBuilder::list_only_resource);
        builder = self.templates.into_iter().fold(builder, DefinitionBuilder::template);
        builder = self.icons.into_iter().fold(builder, DefinitionBuilder::icon);
        builder = self.methods.into_iter().fold(builder, DefinitionBuilder::method);
        builder = self.notifications.into_iter().fold(builder, DefinitionBuilder::notification);
        for (id, settings) in self.extensions {
            builder = builder.extension(id, settings);
        }
        builder.build().map_err(argument)
    }

    fn switches(&self, mut builder: DefinitionBuilder) -> DefinitionBuilder {
        let switches: [(bool, Set0); 7] = [
            (self.read_any, DefinitionBuilder::read_any),
            (self.completions, DefinitionBuilder::completions),
            (self.logging, DefinitionBuilder::logging),
            (self.subscriptions, DefinitionBuilder::subscriptions),
            (self.ask_subscriptions, DefinitionBuilder::ask_subscriptions),
            (self.list_changed, DefinitionBuilder::list_changed),
            (self.hand_over_unknown, DefinitionBuilder::hand_over_unknown),
        ];
        for (on, switch) in switches {
            if on {
                builder = switch(builder);
            }
        }
        let set = |builder, on: Option<bool>, switch: Set<bool>| match on {
            Some(on) => switch(builder, on),
            None => builder,
        };
        builder = set(builder, self.send_identity, DefinitionBuilder::send_identity);
        builder = set(builder, self.validate_output, DefinitionBuilder::validate_output);
        set(builder, self.legacy_input, DefinitionBuilder::legacy_input)
    }

    fn policy(&self, mut builder: DefinitionBuilder) -> Result<DefinitionBuilder> {
        let texts: [(&Option<String>, Set<String>); 5] = [
            (&self.title, DefinitionBuilder::title),
            (&self.description, DefinitionBuilder::description),
            (&self.website, DefinitionBuilder::website),
            (&self.instructions, DefinitionBuilder::instructions),
            (&self.audience, DefinitionBuilder::audience),
        ];
        for (text, set) in texts {
            if let Some(text) = text {
                builder = set(builder, text.clone());
            }
        }
        if let Some(name) = &self.early_log_level {
            builder = builder.early_log_level(level(name)?);
        }
        for name in &self.dynamic {
            builder = builder.dynamic(list(name)?);
        }
        for name in &self.hand_over {
            let method = Method::parse(name);
            builder = builder.hand_over(method.ok_or_else(|| argument(format!("{name:?} is no method")))?);
        }
        if let Some(items) = self.page_size {
            builder = builder.page_size(items);
        }
        for (what, Hints { ttl_ms, scope }) in &self.cache {
            let hints = CacheHints::from_wire(ttl_ms.as_ref(), scope.as_deref());
            builder = match &**what {
                "read" => builder.cache_reads(hints),
                "discover" => builder.cache_discover(hints),
                name => builder.cache(list(name)?, hints),
            };
        }
        if let Some(names) = &self.versions {
            builder = builder.versions(&versions(names)?);
        }
        if let Some((current, others)) = self.seal.split_first() {
            builder = builder.seal(others.iter().copied().fold(SealKeys::new(*current), SealKeys::accepting));
        }
        if let Some(capabilities) = &self.experimental {
            builder = builder.experimental(capabilities.clone());
        }
        builder = builder.limits(limits(Limits::server(), &self.limits)?);
        Ok(builder.schema_limits(schema_limits(&self.schema_limits)?))
    }
}

fn list(name: &str) -> Result<List> {
    List::named(name).ok_or_else(|| argument(format!("{name:?} is no list")))
}

pub(crate) fn level(name: &str) -> Result<LoggingLevel> {
    LoggingLevel::parse(name).ok_or_else(|| argument(format!("{name:?} is no level of log messages")))
}

pub(crate) fn version(name: &str) -> Result<Version> {
    Version::parse(name).ok_or_else(|| argument(format!("{name:?} is no revision")))
}

pub(crate) fn versions(names: &[String]) -> Result<Vec<Version>> {
    names.iter().map(|name| version(name)).collect()
}

pub(crate) fn limits(mut limits: Limits, given: &BTreeMap<String, Option<u64>>) -> Result<Limits> {
    match given.iter().find(|(name, value)| !limits.set(name, **value)) {
        Some((name, _)) => Err(argument(format!("there is no bound {name:?}, or it cannot be lifted"))),
        None => Ok(limits),
    }
}

fn schema_limits(given: &BTreeMap<String, u64>) -> Result<SchemaLimits> {
    let mut limits = SchemaLimits::default();
    for (name, value) in given {
        let count = usize::try_from(*value).unwrap_or(usize::MAX);
        match &**name {
            "depth" => limits.depth = count,
            "subschemas" => limits.subschemas = count,
            "pattern_states" => limits.pattern_states = count,
            "steps" => limits.steps = *value,
            "value_depth" => limits.value_depth = count,
            "problems" => limits.problems = count,
            other => return Err(argument(format!("there is no bound {other:?} of schemas"))),
        }
    }
    Ok(limits)
}
