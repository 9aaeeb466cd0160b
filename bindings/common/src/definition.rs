//! A server's definition from an object of settings.
//!
//! Tools, prompts, resources and templates are objects of settings too (`name`, `input_schema`, …), or, under `wire`,
//! objects as the specification shapes them. They are offered in the order of their lists.

use std::collections::BTreeMap;

use mcp_sansio::error::Error;
use mcp_sansio::json::Json;
use mcp_sansio::limits::Limits;
use mcp_sansio::model::{
    Annotations, CacheHints, CacheScope, Extra, Icon, LoggingLevel, Meta, Number, Prompt, PromptArgument, Resource,
    ResourceTemplate, Tool, ToolAnnotations,
};
use mcp_sansio::schema::SchemaLimits;
use mcp_sansio::server::request_state::SealKeys;
use mcp_sansio::server::{Definition, DefinitionBuilder, List};
use mcp_sansio::spec::Method;
use serde::Deserialize;

use crate::{bound, misuse, read, version};

/// The settings of a definition. Members that are left out have the core's defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    name: String,
    version: String,
    title: Option<String>,
    description: Option<String>,
    website: Option<String>,
    icons: Vec<Icon>,
    instructions: Option<String>,
    send_identity: Option<bool>,
    tools: Vec<ToolSettings>,
    prompts: Vec<PromptSettings>,
    resources: Vec<ResourceSettings>,
    templates: Vec<TemplateSettings>,
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
    seal_keys: Vec<[u8; 32]>,
    audience: Option<String>,
    limits: BTreeMap<String, Option<u64>>,
    schema_limits: BTreeMap<String, u64>,
    extensions: Extra,
    experimental: Option<Json>,
    validate_output: Option<bool>,
    legacy_input: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hints {
    ttl_ms: u64,
    #[serde(default)]
    scope: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ToolSettings {
    wire: Option<Tool>,
    name: String,
    title: Option<String>,
    description: Option<String>,
    input_schema: Option<Json>,
    output_schema: Option<Json>,
    annotations: Option<ToolAnnotations>,
    read_only: Option<bool>,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    open_world: Option<bool>,
    icons: Option<Vec<Icon>>,
    meta: Option<Meta>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PromptSettings {
    wire: Option<Prompt>,
    name: String,
    title: Option<String>,
    description: Option<String>,
    arguments: Option<Vec<PromptArgument>>,
    icons: Option<Vec<Icon>>,
    meta: Option<Meta>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ResourceSettings {
    wire: Option<Resource>,
    uri: String,
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
    size: Option<Number>,
    annotations: Option<Box<Annotations>>,
    icons: Option<Vec<Icon>>,
    meta: Option<Meta>,
    list_only: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TemplateSettings {
    wire: Option<ResourceTemplate>,
    uri_template: String,
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
    annotations: Option<Box<Annotations>>,
    icons: Option<Vec<Icon>>,
    meta: Option<Meta>,
}

/// Makes a definition of an object of settings: `name`, `version`, `tools`, and so on.
///
/// # Errors
/// What is no setting, and what the core refuses to build.
pub fn definition(settings: &Json) -> Result<Definition, Error> {
    let settings: Settings = read(settings)?;
    let mut builder = Definition::builder(settings.name.clone(), settings.version.clone());
    builder = identity(builder, &settings);
    builder = policy(builder, &settings)?;
    builder = switches(builder, &settings);
    for tool in settings.tools {
        builder = builder.tool(tool.make());
    }
    for prompt in settings.prompts {
        builder = builder.prompt(prompt.make());
    }
    for resource in settings.resources {
        let list_only = resource.list_only;
        let resource = resource.make();
        builder = if list_only { builder.list_only_resource(resource) } else { builder.resource(resource) };
    }
    for template in settings.templates {
        builder = builder.template(template.make());
    }
    for (id, value) in settings.extensions {
        builder = builder.extension(id, value);
    }
    builder.build().map_err(|error| misuse(error.to_string()))
}

fn identity(mut builder: DefinitionBuilder, settings: &Settings) -> DefinitionBuilder {
    type Set = fn(DefinitionBuilder, String) -> DefinitionBuilder;
    let texts: [(&Option<String>, Set); 5] = [
        (&settings.title, DefinitionBuilder::title),
        (&settings.description, DefinitionBuilder::description),
        (&settings.website, DefinitionBuilder::website),
        (&settings.instructions, DefinitionBuilder::instructions),
        (&settings.audience, DefinitionBuilder::audience),
    ];
    for (text, set) in texts {
        if let Some(text) = text {
            builder = set(builder, text.clone());
        }
    }
    settings.icons.iter().cloned().fold(builder, DefinitionBuilder::icon)
}

fn switches(mut builder: DefinitionBuilder, settings: &Settings) -> DefinitionBuilder {
    type Switch = fn(DefinitionBuilder) -> DefinitionBuilder;
    let on: [(bool, Switch); 7] = [
        (settings.completions, DefinitionBuilder::completions),
        (settings.logging, DefinitionBuilder::logging),
        (settings.subscriptions, DefinitionBuilder::subscriptions),
        (settings.ask_subscriptions, DefinitionBuilder::ask_subscriptions),
        (settings.list_changed, DefinitionBuilder::list_changed),
        (settings.read_any, DefinitionBuilder::read_any),
        (settings.hand_over_unknown, DefinitionBuilder::hand_over_unknown),
    ];
    builder = on.into_iter().filter(|(on, _)| *on).fold(builder, |builder, (_, switch)| switch(builder));
    type Decide = fn(DefinitionBuilder, bool) -> DefinitionBuilder;
    let decided: [(Option<bool>, Decide); 3] = [
        (settings.send_identity, DefinitionBuilder::send_identity),
        (settings.validate_output, DefinitionBuilder::validate_output),
        (settings.legacy_input, DefinitionBuilder::legacy_input),
    ];
    for (decision, decide) in decided {
        if let Some(decision) = decision {
            builder = decide(builder, decision);
        }
    }
    builder
}

fn policy(mut builder: DefinitionBuilder, settings: &Settings) -> Result<DefinitionBuilder, Error> {
    if let Some(name) = &settings.early_log_level {
        builder = builder.early_log_level(level(name)?);
    }
    for name in &settings.dynamic {
        builder = builder.dynamic(list(name)?);
    }
    builder = settings.methods.iter().fold(builder, DefinitionBuilder::method);
    builder = settings.notifications.iter().fold(builder, DefinitionBuilder::notification);
    for name in &settings.hand_over {
        let method = Method::parse(name).ok_or_else(|| misuse(format!("{name:?} is no method")))?;
        builder = builder.hand_over(method);
    }
    if let Some(items) = settings.page_size {
        builder = builder.page_size(items);
    }
    for (name, hints) in &settings.cache {
        let hints = hints.make();
        builder = match &**name {
            "discover" => builder.cache_discover(hints),
            "read" => builder.cache_reads(hints),
            name => builder.cache(list(name)?, hints),
        };
    }
    if let Some(names) = &settings.versions {
        builder = builder.versions(&names.iter().map(|name| version(name)).collect::<Result<Vec<_>, _>>()?);
    }
    if let Some((current, accepted)) = settings.seal_keys.split_first() {
        builder = builder.seal(accepted.iter().fold(SealKeys::new(*current), |keys, key| keys.accepting(*key)));
    }
    if let Some(capabilities) = &settings.experimental {
        builder = builder.experimental(capabilities.clone());
    }
    let mut limits = Limits::server();
    bound(&mut limits, &settings.limits)?;
    Ok(builder.limits(limits).schema_limits(schema_limits(&settings.schema_limits)?))
}

fn schema_limits(by_name: &BTreeMap<String, u64>) -> Result<SchemaLimits, Error> {
    let mut limits = SchemaLimits::default();
    for (name, value) in by_name {
        let count = usize::try_from(*value).unwrap_or(usize::MAX);
        match &**name {
            "depth" => limits.depth = count,
            "subschemas" => limits.subschemas = count,
            "pattern_states" => limits.pattern_states = count,
            "steps" => limits.steps = *value,
            "value_depth" => limits.value_depth = count,
            "problems" => limits.problems = count,
            _ => return Err(misuse(format!("{name:?} is no bound of schemas"))),
        }
    }
    Ok(limits)
}

/// A level of log messages by its name.
///
/// # Errors
/// When there is none of this name.
pub fn level(name: &str) -> Result<LoggingLevel, Error> {
    LoggingLevel::parse(name).ok_or_else(|| misuse(format!("{name:?} is no level")))
}

/// A list of the catalogue by its name.
fn list(name: &str) -> Result<List, Error> {
    List::named(name).ok_or_else(|| misuse(format!("{name:?} is no list")))
}

impl Hints {
    fn make(&self) -> CacheHints {
        match self.scope.as_deref().map(CacheScope::from_wire) {
            Some(CacheScope::Public) => CacheHints::public(self.ttl_ms),
            _ => CacheHints::private(self.ttl_ms),
        }
    }
}

impl ToolSettings {
    fn make(self) -> Tool {
        if let Some(tool) = self.wire {
            return tool;
        }
        let mut tool = Tool::new(self.name);
        tool.title = self.title;
        tool.description = self.description;
        if let Some(schema) = self.input_schema {
            tool.input_schema = schema;
        }
        tool.output_schema = self.output_schema;
        tool.annotations = self.annotations;
        if self.read_only == Some(true) {
            tool = tool.read_only();
        }
        if let Some(destructive) = self.destructive {
            tool = tool.destructive(destructive);
        }
        if self.idempotent == Some(true) {
            tool = tool.idempotent();
        }
        if let Some(open) = self.open_world {
            tool = tool.open_world(open);
        }
        tool.icons = self.icons;
        tool.meta = self.meta;
        tool
    }
}

impl PromptSettings {
    fn make(self) -> Prompt {
        if let Some(prompt) = self.wire {
            return prompt;
        }
        let mut prompt = Prompt::new(self.name);
        prompt.title = self.title;
        prompt.description = self.description;
        prompt.arguments = self.arguments;
        prompt.icons = self.icons;
        prompt.meta = self.meta;
        prompt
    }
}

impl ResourceSettings {
    fn make(self) -> Resource {
        if let Some(resource) = self.wire {
            return resource;
        }
        let mut resource = Resource::new(self.name.unwrap_or_else(|| self.uri.clone()), self.uri);
        resource.title = self.title;
        resource.description = self.description;
        resource.mime_type = self.mime_type;
        resource.size = self.size;
        resource.annotations = self.annotations;
        resource.icons = self.icons;
        resource.meta = self.meta;
        resource
    }
}

impl TemplateSettings {
    fn make(self) -> ResourceTemplate {
        if let Some(template) = self.wire {
            return template;
        }
        let name = self.name.unwrap_or_else(|| self.uri_template.clone());
        let mut template = ResourceTemplate::new(name, self.uri_template);
        template.title = self.title;
        template.description = self.description;
        template.mime_type = self.mime_type;
        template.annotations = self.annotations;
        template.icons = self.icons;
        template.meta = self.meta;
        template
    }
}
