//! What the specification advises against in a definition. Nothing of it is refused: peers cope, and a gateway offers
//! what it was given.
//!
//! | where | advice | source |
//! |---|---|---|
//! | tools | names of 1 to 128 ASCII letters, digits, `_`, `-` and `.` | `server/tools` (Tool Names) |
//! | `_meta` of tools, prompts, resources, templates | keys by the naming rules, of prefixes that are not the protocol's | `basic` (`_meta`) |
//! | icons, those of the server itself included | `https:` and `data:` only | `basic` (Icons) |

use super::definition::Definition;
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::model::{Icon, Meta, check_meta_key, is_reserved_meta_key};

impl Definition {
    /// What the specification advises against in this definition, for whoever wrote it: names of tools, keys of
    /// `_meta`, addresses of icons. Empty for most.
    #[must_use]
    pub fn advice(&self) -> Vec<Diagnostic> {
        let mut advice = Advice(Vec::new());
        advice.icons("the server", self.identity.icons.as_deref());
        let catalogue = &self.catalogue;
        for tool in catalogue.tools.iter().map(|entry| &entry.tool) {
            let of = format!("the tool {:?}", tool.name);
            if let Err(warning) = tool.check_name() {
                advice.say(format!("{of}: {warning}"));
            }
            advice.part(&of, tool.meta.as_ref(), tool.icons.as_deref());
        }
        for prompt in &catalogue.prompts {
            advice.part(&format!("the prompt {:?}", prompt.name), prompt.meta.as_ref(), prompt.icons.as_deref());
        }
        for resource in &catalogue.resources {
            advice.part(&format!("the resource {:?}", resource.uri), resource.meta.as_ref(), resource.icons.as_deref());
        }
        for template in catalogue.templates.iter().map(|(template, _)| template) {
            let of = format!("the resource template {:?}", template.uri_template);
            advice.part(&of, template.meta.as_ref(), template.icons.as_deref());
        }
        advice.0
    }
}

struct Advice(Vec<Diagnostic>);

impl Advice {
    fn say(&mut self, text: String) {
        self.0.push(Diagnostic::new(DiagnosticKind::Advice, text));
    }

    fn part(&mut self, of: &str, meta: Option<&Meta>, icons: Option<&[Icon]>) {
        for (key, _) in meta.into_iter().flat_map(Meta::iter) {
            if let Err(error) = check_meta_key(key) {
                self.say(format!("{of}: the `_meta` key {key:?}: {error}"));
            } else if is_reserved_meta_key(key) && !key.starts_with(EXTENSIONS) {
                self.say(format!("{of}: the `_meta` key {key:?} is reserved for the protocol"));
            }
        }
        self.icons(of, icons);
    }

    fn icons(&mut self, of: &str, icons: Option<&[Icon]>) {
        for icon in icons.unwrap_or_default() {
            if let Err(error) = icon.check_src() {
                self.say(format!("{of}: an icon: {error}"));
            }
        }
    }
}

/// Extensions of the protocol put what they need under this prefix.
const EXTENSIONS: &str = "io.modelcontextprotocol/";
