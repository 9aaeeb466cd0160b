//! What the two sides can do.
//!
//! Sources: schema `ClientCapabilities`, `ServerCapabilities`; `basic/versioning` (Extension Negotiation). All
//! objects here are open: what this crate does not know stays in `extra`.
//!
//! | declared | means |
//! |---|---|
//! | `elicitation: {}` | form |
//! | `elicitation: {"url":{}}` | url, and no form |
//! | `sampling: {}` | no tools, no context |
//! | `sampling: {"tools":{}}` | also requests with tools |

use std::borrow::Cow;

use super::Extra;
use super::macros::object;
use super::meta::{KeyError, check_extension_id};
use crate::json::Json;

object! {
    /// What a client can do.
    pub struct ClientCapabilities {
        required {}
        optional {
            /// Roots can be asked for.
            roots: RootsCapability = "roots",
            /// The model can be asked.
            sampling: SamplingCapability = "sampling",
            /// The user can be asked.
            elicitation: ElicitationCapability = "elicitation",
            /// 2025-11-25: tasks. Carried, not used.
            tasks: Json = "tasks",
            /// Extensions by identifier, with their settings.
            extensions: Extra = "extensions",
            /// What is not standard.
            experimental: Extra = "experimental",
        }
    }
}

object! {
    /// Roots can be asked for.
    pub struct RootsCapability {
        required {}
        optional {
            /// Legacy: changes are announced.
            list_changed: bool = "listChanged",
        }
    }
}

object! {
    /// The model can be asked.
    pub struct SamplingCapability {
        required {}
        optional {
            /// Requests may lend tools.
            tools: Extra = "tools",
            /// Requests may ask for context of servers.
            context: Extra = "context",
        }
    }
}

object! {
    /// The user can be asked. Without members it means form.
    pub struct ElicitationCapability {
        required {}
        optional {
            /// By a form.
            form: Extra = "form",
            /// By a page to visit.
            url: Extra = "url",
        }
    }
}

impl ElicitationCapability {
    /// Whether the user can be asked by a form.
    #[must_use]
    pub fn has_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }

    /// Whether the user can be sent to a page.
    #[must_use]
    pub fn has_url(&self) -> bool {
        self.url.is_some()
    }
}

impl ClientCapabilities {
    /// Declares roots.
    #[must_use]
    pub fn with_roots(mut self) -> Self {
        self.roots.get_or_insert_with(RootsCapability::new);
        self
    }

    /// Declares sampling.
    #[must_use]
    pub fn with_sampling(mut self) -> Self {
        self.sampling.get_or_insert_with(SamplingCapability::new);
        self
    }

    /// Declares sampling with tools.
    #[must_use]
    pub fn with_sampling_tools(mut self) -> Self {
        self.sampling.get_or_insert_with(SamplingCapability::new).tools.get_or_insert_default();
        self
    }

    /// Declares sampling with context of servers.
    #[must_use]
    pub fn with_sampling_context(mut self) -> Self {
        self.sampling.get_or_insert_with(SamplingCapability::new).context.get_or_insert_default();
        self
    }

    /// Declares elicitation by form.
    #[must_use]
    pub fn with_form(mut self) -> Self {
        self.elicitation.get_or_insert_with(ElicitationCapability::new).form.get_or_insert_default();
        self
    }

    /// Declares elicitation by URL.
    #[must_use]
    pub fn with_url(mut self) -> Self {
        self.elicitation.get_or_insert_with(ElicitationCapability::new).url.get_or_insert_default();
        self
    }

    /// Declares an extension with its settings, `{}` for none.
    ///
    /// # Errors
    /// When the identifier breaks the naming rules; its prefix is mandatory.
    pub fn with_extension(
        mut self,
        id: impl Into<Cow<'static, str>>,
        settings: impl Into<Json>,
    ) -> Result<Self, KeyError> {
        insert_extension(&mut self.extensions, id.into(), settings.into())?;
        Ok(self)
    }

    /// Whether roots can be asked for.
    #[must_use]
    pub fn has_roots(&self) -> bool {
        self.roots.is_some()
    }

    /// Legacy: whether changes of the roots are announced.
    #[must_use]
    pub fn has_roots_list_changed(&self) -> bool {
        self.roots.as_ref().is_some_and(|roots| roots.list_changed == Some(true))
    }

    /// Whether the model can be asked.
    #[must_use]
    pub fn has_sampling(&self) -> bool {
        self.sampling.is_some()
    }

    /// Whether the model can be lent tools.
    #[must_use]
    pub fn has_sampling_tools(&self) -> bool {
        self.sampling.as_ref().is_some_and(|sampling| sampling.tools.is_some())
    }

    /// Whether the model can be given context of servers.
    #[must_use]
    pub fn has_sampling_context(&self) -> bool {
        self.sampling.as_ref().is_some_and(|sampling| sampling.context.is_some())
    }

    /// Whether the user can be asked by a form.
    #[must_use]
    pub fn has_form(&self) -> bool {
        self.elicitation.as_ref().is_some_and(ElicitationCapability::has_form)
    }

    /// Whether the user can be sent to a page.
    #[must_use]
    pub fn has_url(&self) -> bool {
        self.elicitation.as_ref().is_some_and(ElicitationCapability::has_url)
    }

    /// The settings of an extension, where it is declared.
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<&Json> {
        self.extensions.as_ref()?.get(id)
    }

    /// The part of `required` that is not declared here, for `requiredCapabilities`; `None` if nothing is missing.
    ///
    /// Only presence counts: settings of extensions and of unknown capabilities are not compared.
    #[must_use]
    pub fn missing(&self, required: &Self) -> Option<Self> {
        let mut missing = Self::new();
        missing.roots = missing_roots(self.roots.as_ref(), required.roots.as_ref());
        missing.sampling = missing_sampling(self.sampling.as_ref(), required.sampling.as_ref());
        missing.elicitation = missing_elicitation(self.elicitation.as_ref(), required.elicitation.as_ref());
        missing.tasks = required.tasks.clone().filter(|_| self.tasks.is_none());
        missing.extensions = missing_names(self.extensions.as_ref(), required.extensions.as_ref());
        missing.experimental = missing_names(self.experimental.as_ref(), required.experimental.as_ref());
        missing.extra = missing_names(Some(&self.extra), Some(&required.extra)).unwrap_or_default();
        (missing != Self::new()).then_some(missing)
    }
}

fn missing_roots(declared: Option<&RootsCapability>, required: Option<&RootsCapability>) -> Option<RootsCapability> {
    let required = required?;
    let Some(declared) = declared else { return Some(required.clone()) };
    let mut missing = RootsCapability::new();
    missing.list_changed = required.list_changed.filter(|wanted| *wanted && declared.list_changed != Some(true));
    missing.extra = missing_names(Some(&declared.extra), Some(&required.extra)).unwrap_or_default();
    (missing != RootsCapability::new()).then_some(missing)
}

fn missing_sampling(
    declared: Option<&SamplingCapability>,
    required: Option<&SamplingCapability>,
) -> Option<SamplingCapability> {
    let required = required?;
    let Some(declared) = declared else { return Some(required.clone()) };
    let mut missing = SamplingCapability::new();
    missing.tools = required.tools.clone().filter(|_| declared.tools.is_none());
    missing.context = required.context.clone().filter(|_| declared.context.is_none());
    missing.extra = missing_names(Some(&declared.extra), Some(&required.extra)).unwrap_or_default();
    (missing != SamplingCapability::new()).then_some(missing)
}

fn missing_elicitation(
    declared: Option<&ElicitationCapability>,
    required: Option<&ElicitationCapability>,
) -> Option<ElicitationCapability> {
    let required = required?;
    let Some(declared) = declared else { return Some(required.clone()) };
    let mut missing = ElicitationCapability::new();
    missing.form = required.form.clone().filter(|_| !declared.has_form());
    missing.url = required.url.clone().filter(|_| !declared.has_url());
    missing.extra = missing_names(Some(&declared.extra), Some(&required.extra)).unwrap_or_default();
    // `{}` asks for form without naming it.
    let unnamed_form = required.has_form() && required.form.is_none() && !declared.has_form();
    (unnamed_form || missing != ElicitationCapability::new()).then_some(missing)
}

fn missing_names(declared: Option<&Extra>, required: Option<&Extra>) -> Option<Extra> {
    let missing: Extra = required?
        .iter()
        .filter(|(name, _)| declared.is_none_or(|declared| !declared.contains(name)))
        .map(|(name, settings)| (name.to_owned(), settings.clone()))
        .collect();
    (!missing.is_empty()).then_some(missing)
}

fn insert_extension(extensions: &mut Option<Extra>, id: Cow<'static, str>, settings: Json) -> Result<(), KeyError> {
    check_extension_id(&id)?;
    extensions.get_or_insert_default().insert(id, settings);
    Ok(())
}

object! {
    /// What a server can do.
    pub struct ServerCapabilities {
        required {}
        optional {
            /// It has tools.
            tools: ListCapability = "tools",
            /// It has prompts.
            prompts: ListCapability = "prompts",
            /// It has resources.
            resources: ResourcesCapability = "resources",
            /// It completes arguments. 2024-11-05 has the method without the capability.
            completions: Extra = "completions",
            /// It sends log messages.
            logging: Extra = "logging",
            /// 2025-11-25: tasks. Carried, not used.
            tasks: Json = "tasks",
            /// Extensions by identifier, with their settings.
            extensions: Extra = "extensions",
            /// What is not standard.
            experimental: Extra = "experimental",
        }
    }
}

object! {
    /// A list is offered.
    pub struct ListCapability {
        required {}
        optional {
            /// Changes of the list are announced.
            list_changed: bool = "listChanged",
        }
    }
}

object! {
    /// Resources are offered.
    pub struct ResourcesCapability {
        required {}
        optional {
            /// Changes of single resources are announced to those who ask.
            subscribe: bool = "subscribe",
            /// Changes of the list are announced.
            list_changed: bool = "listChanged",
        }
    }
}

impl ServerCapabilities {
    /// Declares an extension with its settings, `{}` for none.
    ///
    /// # Errors
    /// When the identifier breaks the naming rules; its prefix is mandatory.
    pub fn with_extension(
        mut self,
        id: impl Into<Cow<'static, str>>,
        settings: impl Into<Json>,
    ) -> Result<Self, KeyError> {
        insert_extension(&mut self.extensions, id.into(), settings.into())?;
        Ok(self)
    }

    /// Whether changes of the list of tools are announced.
    #[must_use]
    pub fn tools_list_changed(&self) -> bool {
        self.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true))
    }

    /// Whether changes of the list of prompts are announced.
    #[must_use]
    pub fn prompts_list_changed(&self) -> bool {
        self.prompts.as_ref().is_some_and(|prompts| prompts.list_changed == Some(true))
    }

    /// Whether changes of the list of resources are announced.
    #[must_use]
    pub fn resources_list_changed(&self) -> bool {
        self.resources.as_ref().is_some_and(|resources| resources.list_changed == Some(true))
    }

    /// Whether changes of single resources are announced to those who ask.
    #[must_use]
    pub fn resources_subscribe(&self) -> bool {
        self.resources.as_ref().is_some_and(|resources| resources.subscribe == Some(true))
    }

    /// The settings of an extension, where it is declared.
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<&Json> {
        self.extensions.as_ref()?.get(id)
    }
}
