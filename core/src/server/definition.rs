//! What a server is: identity, catalogue, policy. Immutable once built, shared by every connection.
//!
//! Building does all that would otherwise be done on every call: schemas are checked and compiled, names are put
//! into tables, list pages and the answer to `server/discover` are written out once for each revision offered.

use super::admit::Services;
use super::api::{Event, List};
use super::names::Table;
use super::pages::Pages;
use super::request_state::SealKeys;
use crate::json::Json;
use crate::limits::Limits;
use crate::model::{
    CacheHints, Extra, Implementation, LoggingLevel, Prompt, Resource, ResourceTemplate, Shape, Structured, Tool,
    Wrapping,
};
use crate::schema::Schema;
use crate::schema::mirror::Mirror;
use crate::spec::{Era, Method, Version};
use crate::uri_template::UriTemplate;

/// A server's definition. Make one with [`Definition::builder`].
// Aligned, so that what all threads read does not stand on a cache line with the count of those who share it, which
// changes with every exchange. (Processors fetch lines in pairs.)
#[derive(Debug)]
#[repr(align(128))]
pub struct Definition {
    pub(super) identity: Implementation,
    pub(super) policy: Policy,
    pub(super) catalogue: Catalogue,
    pub(super) features: Features,
    /// What the features come to, method by method.
    pub(super) services: Services,
    pub(super) pages: Pages,
    /// What every modern result ends with, for results without `_meta` of their own.
    pub(super) stamp: Box<str>,
    /// `"io.modelcontextprotocol/serverInfo":{…}`, or nothing if the server does not say who it is.
    pub(super) identity_member: Option<Json>,
}

/// What the definition decides beside the catalogue.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) instructions: Option<String>,
    pub(super) limits: Limits,
    pub(super) page_size: usize,
    pub(super) cache: CachePolicy,
    /// Newest first.
    pub(super) versions: Vec<Version>,
    pub(super) seal: Option<SealKeys>,
    pub(super) validate_output: bool,
    pub(super) legacy_shim: bool,
    pub(super) early_log_level: Option<LoggingLevel>,
    pub(super) audience: Option<String>,
}

/// Caching hints by what they are for.
#[derive(Clone, Debug, Default)]
pub(super) struct CachePolicy {
    pub(super) tools: CacheHints,
    pub(super) prompts: CacheHints,
    pub(super) resources: CacheHints,
    pub(super) templates: CacheHints,
    pub(super) read: CacheHints,
    pub(super) discover: CacheHints,
}

/// What is switched on.
#[derive(Clone, Debug, Default)]
pub(super) struct Features {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) completions: bool,
    pub(super) logging: bool,
    pub(super) subscriptions: bool,
    pub(super) ask_subscriptions: bool,
    pub(super) list_changed: bool,
    pub(super) read_any: bool,
    pub(super) dynamic: Vec<List>,
    pub(super) methods: Vec<Box<str>>,
    pub(super) notifications: Vec<Box<str>>,
    pub(super) handed_over: Vec<Method>,
    pub(super) hand_over_unknown: bool,
    pub(super) extensions: Extra,
    pub(super) experimental: Option<Json>,
}

/// The things on offer, with the tables that find them.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    pub(super) tools: Vec<ToolEntry>,
    pub(super) tool_names: Table,
    pub(super) prompts: Vec<Prompt>,
    pub(super) prompt_names: Table,
    pub(super) resources: Vec<Resource>,
    /// Only resources that can be read.
    pub(super) resource_uris: Table,
    pub(super) templates: Vec<(ResourceTemplate, UriTemplate)>,
    pub(super) template_uris: Table,
}

#[derive(Debug)]
pub(super) struct ToolEntry {
    pub(super) tool: Tool,
    /// `None` if every object fits.
    pub(super) input: Option<Schema>,
    pub(super) output: Option<Schema>,
    /// The arguments that travel as headers too.
    pub(super) mirrors: Vec<Mirror>,
    /// Whether results are wrapped where a revision carries objects only.
    pub(super) wrapped: Wrapping,
}

impl ToolEntry {
    /// How structured results are treated at a revision.
    pub(super) fn wrapping(&self, version: Version) -> Wrapping {
        match Shape::of(version).structured {
            Structured::Object => self.wrapped,
            Structured::Absent | Structured::Any => Wrapping::default(),
        }
    }
}

impl Definition {
    /// Who the server is.
    #[must_use]
    pub const fn identity(&self) -> &Implementation {
        &self.identity
    }

    /// The revisions offered, newest first.
    #[must_use]
    pub fn versions(&self) -> &[Version] {
        &self.policy.versions
    }

    /// The bounds of the server's machines.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.policy.limits
    }

    /// The tools, in the order of [`Call::Tool`](super::Call::Tool)'s indices.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &Tool> {
        self.catalogue.tools.iter().map(|entry| &entry.tool)
    }

    /// Whether a prompt has this argument, as far as can be known: a dynamic list may have any.
    #[must_use]
    pub fn has_prompt_argument(&self, prompt: &str, argument: &str) -> bool {
        let known = self.catalogue.prompt_names.get(prompt).and_then(|index| self.catalogue.prompts.get(*index));
        known.map_or_else(
            || self.is_dynamic(List::Prompts),
            |prompt| prompt.arguments.iter().flatten().any(|known| known.name == argument),
        )
    }

    /// Whether there is this resource template, with this variable, as far as can be known: a dynamic list may have any.
    #[must_use]
    pub fn has_template_variable(&self, uri_template: &str, variable: &str) -> bool {
        let index = self.catalogue.template_uris.get(uri_template);
        let known = index.and_then(|index| self.catalogue.templates.get(*index));
        known.map_or_else(
            || self.is_dynamic(List::Templates),
            |(_, template)| template.variables().iter().any(|known| known == variable),
        )
    }

    /// What a client of this definition must hear when `new` takes its place.
    #[must_use]
    pub fn changes_to(&self, new: &Self) -> Vec<Event> {
        let changed = |list| !self.pages.same(&new.pages, list);
        let resources = changed(List::Resources) || changed(List::Templates);
        [
            (changed(List::Tools), Event::ToolsListChanged),
            (changed(List::Prompts), Event::PromptsListChanged),
            (resources, Event::ResourcesListChanged),
        ]
        .into_iter()
        .filter_map(|(changed, event)| changed.then_some(event))
        .collect()
    }

    /// The arguments of a tool that travel as headers too.
    pub(crate) fn mirrors(&self, tool: &str) -> &[Mirror] {
        let index = self.catalogue.tool_names.get(tool);
        index.and_then(|index| self.catalogue.tools.get(*index)).map_or(&[], |entry| &entry.mirrors)
    }

    pub(crate) fn offers(&self, version: Version) -> bool {
        self.policy.versions.contains(&version)
    }

    pub(crate) fn offers_era(&self, era: Era) -> bool {
        self.policy.versions.iter().any(|version| version.era() == era)
    }

    /// The revisions of an era that are offered, newest first.
    pub(crate) fn versions_of(&self, era: Era) -> impl Iterator<Item = Version> {
        self.policy.versions.iter().copied().filter(move |version| version.era() == era)
    }

    pub(super) fn is_dynamic(&self, list: List) -> bool {
        self.features.dynamic.contains(&list)
    }
}
