//! Makes a [`Definition`]: settings with defaults, checked and compiled once.

use thiserror::Error;

use super::admit::Services;
use super::api::List;
use super::capability;
use super::definition::{CachePolicy, Catalogue, Definition, Features, Policy, ToolEntry};
use super::names::Table;
use super::pages::Pages;
use super::request_state::SealKeys;
use super::uri::is_uri;
use crate::json::Json;
use crate::limits::Limits;
use crate::model::{CacheHints, Extra, Icon, Implementation, Prompt, Resource, ResourceTemplate, Shape, Tool};
use crate::schema::mirror::{MirrorError, mirrors};
use crate::schema::root::{RootError, normalise_input, normalise_output};
use crate::schema::{Schema, SchemaError, SchemaLimits};
use crate::spec::{Method, Version};
use crate::uri_template::{TemplateError, UriTemplate};

/// Why a definition cannot be built.
#[derive(Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two things of a kind have the same name or URI.
    #[error("the {kind} {name:?} is defined twice")]
    Duplicate {
        /// What kind of thing.
        kind: &'static str,
        /// Its name or URI.
        name: String,
    },
    /// A schema that cannot be used.
    #[error("the {place} of tool {tool:?}: {error}")]
    Schema {
        /// The tool.
        tool: String,
        /// `inputSchema` or `outputSchema`.
        place: &'static str,
        /// Why not.
        error: SchemaError,
    },
    /// A schema that cannot stand at the root of a tool's definition.
    #[error("the {place} of tool {tool:?}: {error}")]
    SchemaRoot {
        /// The tool.
        tool: String,
        /// `inputSchema` or `outputSchema`.
        place: &'static str,
        /// Why not.
        error: RootError,
    },
    /// A URI template that cannot be used.
    #[error("the URI template {template:?}: {error}")]
    Template {
        /// The template.
        template: String,
        /// Why not.
        error: TemplateError,
    },
    /// An `x-mcp-header` annotation that breaks a rule: clients would hide the tool.
    #[error("the inputSchema of tool {tool:?}: {error}")]
    Mirror {
        /// The tool.
        tool: String,
        /// Why not.
        error: MirrorError,
    },
    /// A custom method that the protocol has already.
    #[error("{0:?} is a method of the protocol: choose another name, or hand the method over")]
    ReservedMethod(String),
    /// The address of a resource that is no URI.
    #[error("the resource {0:?} has no URI (RFC 3986): a scheme, and other characters percent-encoded")]
    Uri(String),
    /// A setting that cannot hold.
    #[error("{0}")]
    Setting(String),
}

impl std::fmt::Debug for BuildError {
    /// The sentence, for a `main` that ends with the error shows no more than this.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Builds a [`Definition`]. Every setting has a default; things are offered in the order they are added.
#[derive(Debug)]
#[must_use]
pub struct DefinitionBuilder {
    identity: Implementation,
    policy: Policy,
    features: Features,
    schema_limits: SchemaLimits,
    send_identity: bool,
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    resources: Vec<(Resource, bool)>,
    templates: Vec<ResourceTemplate>,
}

impl Definition {
    /// Starts a definition of a server with this name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> DefinitionBuilder {
        DefinitionBuilder {
            identity: Implementation::new(name, version),
            policy: Policy {
                instructions: None,
                limits: Limits::server(),
                page_size: 50,
                cache: CachePolicy::default(),
                versions: Version::ALL.into_iter().rev().collect(),
                seal: None,
                validate_output: true,
                legacy_shim: true,
                early_log_level: None,
                audience: None,
            },
            features: Features::default(),
            schema_limits: SchemaLimits::default(),
            send_identity: true,
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
        }
    }
}

impl DefinitionBuilder {
    /// A display name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.identity.title = Some(title.into());
        self
    }

    /// What the server is, in a sentence.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.identity.description = Some(text.into());
        self
    }

    /// Where to read about the server.
    pub fn website(mut self, url: impl Into<String>) -> Self {
        self.identity.website_url = Some(url.into());
        self
    }

    /// A picture of the server; may be called more than once.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.identity.icons.get_or_insert_default().push(icon);
        self
    }

    /// How to use the server, for the model.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.policy.instructions = Some(text.into());
        self
    }

    /// Whether results say who the server is (`serverInfo` in `_meta`). On by default.
    pub const fn send_identity(mut self, on: bool) -> Self {
        self.send_identity = on;
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.features.tools = true;
        self.tools.push(tool);
        self
    }

    /// Adds a prompt.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.features.prompts = true;
        self.prompts.push(prompt);
        self
    }

    /// Adds a resource.
    pub fn resource(mut self, resource: Resource) -> Self {
        self.features.resources = true;
        self.resources.push((resource, true));
        self
    }

    /// Adds a resource that is listed, and read through a template or the catch-all, if at all.
    pub fn list_only_resource(mut self, resource: Resource) -> Self {
        self.features.resources = true;
        self.resources.push((resource, false));
        self
    }

    /// Adds a resource template. URIs are tried against templates in the order they are added.
    pub fn template(mut self, template: ResourceTemplate) -> Self {
        self.features.resources = true;
        self.templates.push(template);
        self
    }

    /// Sends every read to [`ReadTarget::Any`](super::ReadTarget::Any), whatever the catalogue says.
    pub const fn read_any(mut self) -> Self {
        self.features.resources = true;
        self.features.read_any = true;
        self
    }

    /// Offers completion of arguments.
    pub const fn completions(mut self) -> Self {
        self.features.completions = true;
        self
    }

    /// Offers log messages.
    pub const fn logging(mut self) -> Self {
        self.features.logging = true;
        self
    }

    /// The level at which a legacy session logs before it has set one. None by default: silence.
    pub const fn early_log_level(mut self, level: crate::model::LoggingLevel) -> Self {
        self.policy.early_log_level = Some(level);
        self
    }

    /// Offers updates of single resources.
    pub const fn subscriptions(mut self) -> Self {
        self.features.resources = true;
        self.features.subscriptions = true;
        self
    }

    /// Offers updates, and asks the application about each legacy subscription
    /// ([`Call::Subscribe`](super::Call::Subscribe)).
    pub const fn ask_subscriptions(self) -> Self {
        let mut this = self.subscriptions();
        this.features.ask_subscriptions = true;
        this
    }

    /// Says that lists may change while the server runs.
    pub const fn list_changed(mut self) -> Self {
        self.features.list_changed = true;
        self
    }

    /// Lets the application answer a list ([`Call::List`](super::Call::List)), for each request anew; calls of
    /// its items are then not looked up here.
    pub fn dynamic(mut self, list: List) -> Self {
        match list {
            List::Tools => self.features.tools = true,
            List::Prompts => self.features.prompts = true,
            List::Resources | List::Templates => self.features.resources = true,
        }
        self.features.dynamic.push(list);
        self
    }

    /// A custom request, answered through [`Call::Raw`](super::Call::Raw).
    pub fn method(mut self, name: impl Into<String>) -> Self {
        self.features.methods.push(name.into().into());
        self
    }

    /// A custom notification, delivered as [`Notified::Custom`](super::Notified::Custom).
    pub fn notification(mut self, name: impl Into<String>) -> Self {
        self.features.notifications.push(name.into().into());
        self
    }

    /// Hands a whole method of the protocol over, for a gateway: it comes as [`Call::Raw`](super::Call::Raw).
    pub fn hand_over(mut self, method: Method) -> Self {
        self.features.handed_over.push(method);
        self
    }

    /// Hands every unknown request and notification over, for a gateway.
    pub const fn hand_over_unknown(mut self) -> Self {
        self.features.hand_over_unknown = true;
        self
    }

    /// Items in a page of a list, at least one. 50 by default.
    pub const fn page_size(mut self, items: usize) -> Self {
        self.policy.page_size = items;
        self
    }

    /// How long a list may be cached, and by whom. Not at all by default, and `private`.
    pub const fn cache(mut self, list: List, hints: CacheHints) -> Self {
        match list {
            List::Tools => self.policy.cache.tools = hints,
            List::Prompts => self.policy.cache.prompts = hints,
            List::Resources => self.policy.cache.resources = hints,
            List::Templates => self.policy.cache.templates = hints,
        }
        self
    }

    /// The same for reads that do not say it themselves.
    pub const fn cache_reads(mut self, hints: CacheHints) -> Self {
        self.policy.cache.read = hints;
        self
    }

    /// The same for the answer to `server/discover`.
    pub const fn cache_discover(mut self, hints: CacheHints) -> Self {
        self.policy.cache.discover = hints;
        self
    }

    /// The revisions offered. All by default.
    pub fn versions(mut self, versions: &[Version]) -> Self {
        self.policy.versions = versions.to_vec();
        self.policy.versions.sort_unstable_by(|a, b| b.cmp(a));
        self.policy.versions.dedup();
        self
    }

    /// Seals `requestState` with these keys. Processes that share keys can open each other's states.
    pub fn seal(mut self, keys: SealKeys) -> Self {
        self.policy.seal = Some(keys);
        self
    }

    /// Who sealed states are meant for, such as the URL of this server: a state of another audience is refused.
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.policy.audience = Some(audience.into());
        self
    }

    /// The bounds of the server's machines.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.policy.limits = limits;
        self
    }

    /// The bounds of schemas and their validation.
    pub const fn schema_limits(mut self, limits: SchemaLimits) -> Self {
        self.schema_limits = limits;
        self
    }

    /// Offers an extension with its settings, an object.
    pub fn extension(mut self, id: impl Into<String>, settings: Json) -> Self {
        self.features.extensions.insert(id.into(), settings);
        self
    }

    /// Experimental capabilities, an object.
    pub fn experimental(mut self, capabilities: Json) -> Self {
        self.features.experimental = Some(capabilities);
        self
    }

    /// Whether structured results are checked against output schemas. On by default.
    pub const fn validate_output(mut self, on: bool) -> Self {
        self.policy.validate_output = on;
        self
    }

    /// Whether questions of a handler become real requests on a legacy wire. On by default; off, a handler that
    /// asks fails there.
    pub const fn legacy_input(mut self, on: bool) -> Self {
        self.policy.legacy_shim = on;
        self
    }

    /// Checks everything and writes out what never changes.
    ///
    /// # Errors
    /// [`BuildError`]: names that stand twice, schemas and templates that cannot be used, settings that cannot
    /// hold.
    pub fn build(self) -> Result<Definition, BuildError> {
        self.check_settings()?;
        if let Some((resource, _)) = self.resources.iter().find(|(resource, _)| !is_uri(&resource.uri)) {
            return Err(BuildError::Uri(resource.uri.clone()));
        }
        let catalogue = Catalogue {
            tool_names: table("tool", self.tools.iter().map(|tool| tool.name.as_str()))?,
            prompt_names: table("prompt", self.prompts.iter().map(|prompt| prompt.name.as_str()))?,
            resource_uris: readable(&self.resources)?,
            template_uris: table("resource template", self.templates.iter().map(|t| t.uri_template.as_str()))?,
            tools: self.tools.into_iter().map(|tool| compile(tool, &self.schema_limits)).collect::<Result<_, _>>()?,
            prompts: self.prompts,
            resources: self.resources.into_iter().map(|(resource, _)| resource).collect(),
            templates: self.templates.into_iter().map(parse_template).collect::<Result<_, _>>()?,
        };
        let identity_member = self.send_identity.then(|| Json::from_value(&self.identity).ok()).flatten();
        let mut definition = Definition {
            stamp: super::result::stamp(identity_member.as_ref()).into(),
            identity: self.identity,
            policy: self.policy,
            catalogue,
            services: Services::new(&self.features),
            features: self.features,
            pages: Pages::default(),
            identity_member,
        };
        definition.pages = Pages::write(&definition);
        Ok(definition)
    }

    fn check_settings(&self) -> Result<(), BuildError> {
        let setting = |text: &str| Err(BuildError::Setting(text.to_owned()));
        if self.policy.versions.is_empty() {
            return setting("a server offers at least one revision");
        }
        if self.policy.page_size == 0 {
            return setting("page_size is at least 1");
        }
        if u32::try_from(self.policy.limits.frame_bytes).is_err() {
            return setting("frame_bytes is below 4 GiB");
        }
        let custom = self.features.methods.iter().chain(&self.features.notifications);
        for name in custom.clone() {
            if Method::is_reserved(name) {
                return Err(BuildError::ReservedMethod(name.to_string()));
            }
        }
        table("custom method", custom.map(AsRef::as_ref))?;
        for (id, settings) in self.features.extensions.iter() {
            if crate::model::check_extension_id(id).is_err() {
                return Err(BuildError::Setting(format!("the extension id {id:?} needs a prefix and a name")));
            }
            if !settings.is_object() {
                return Err(BuildError::Setting(format!("the settings of extension {id:?} are an object")));
            }
        }
        capability::check(&self.features)
    }
}

fn table<'a>(kind: &'static str, names: impl Iterator<Item = &'a str>) -> Result<Table, BuildError> {
    let mut table = Table::default();
    for (index, name) in names.enumerate() {
        if table.insert(name.into(), index).is_some() {
            return Err(BuildError::Duplicate { kind, name: name.to_owned() });
        }
    }
    Ok(table)
}

fn readable(resources: &[(Resource, bool)]) -> Result<Table, BuildError> {
    let mut all = table("resource", resources.iter().map(|(resource, _)| resource.uri.as_str()))?;
    all.retain(|_, index| resources.get(*index).is_some_and(|(_, readable)| *readable));
    Ok(all)
}

fn compile(mut tool: Tool, limits: &SchemaLimits) -> Result<ToolEntry, BuildError> {
    let (input_place, output_place) = ("inputSchema", "outputSchema");
    let name = tool.name.clone();
    let root = |place| {
        let tool = name.clone();
        move |error| BuildError::SchemaRoot { tool, place, error }
    };
    let unusable = |place| {
        let tool = name.clone();
        move |error| BuildError::Schema { tool, place, error }
    };
    let input = normalise_input(&tool.input_schema).map_err(root(input_place))?;
    let schema = Schema::compile(&input, limits).map_err(unusable(input_place))?;
    let output = match &tool.output_schema {
        Some(raw) => {
            let raw = normalise_output(raw).map_err(root(output_place))?;
            Some((Schema::compile(&raw, limits).map_err(unusable(output_place))?, raw))
        }
        None => None,
    };
    tool.input_schema = input;
    let output = output.map(|(schema, raw)| {
        tool.output_schema = Some(raw);
        schema
    });
    let wrapped = Shape::V2025_11_25.wrapping(tool.output_schema.as_ref());
    let input = (!fits_every_object(&tool.input_schema)).then_some(schema);
    let mirrors = mirrors(&tool.input_schema).map_err(|error| BuildError::Mirror { tool: name.clone(), error })?;
    Ok(ToolEntry { input, output, mirrors, wrapped, tool })
}

/// Whether a schema says no more than that the value is an object. Such a tool's arguments are only carried.
fn fits_every_object(schema: &Json) -> bool {
    let Ok(members) = schema.parse::<Extra>() else { return false };
    members.iter().all(|(name, value)| match name {
        "$schema" | "$comment" | "title" | "description" => true,
        "type" => value.get() == "\"object\"",
        "properties" => value.get() == "{}",
        "required" => value.get() == "[]",
        "additionalProperties" => value.get() == "true",
        _ => false,
    })
}

fn parse_template(template: ResourceTemplate) -> Result<(ResourceTemplate, UriTemplate), BuildError> {
    match UriTemplate::parse(&template.uri_template) {
        Ok(parsed) => Ok((template, parsed)),
        Err(error) => Err(BuildError::Template { template: template.uri_template, error }),
    }
}
