//! What a server says that it can do: derived from the definition, so that it cannot promise what it lacks.
//!
//! Sources: the capability tables of `basic/lifecycle` (legacy) and `server/discover` (modern).

use super::builder::BuildError;
use super::definition::Features;
use crate::jsonrpc::ObjectWriter;
use crate::spec::{Era, Version};

/// Writes the `capabilities` of `initialize` and `server/discover`.
pub(super) fn write(features: &Features, version: Version, object: &mut ObjectWriter<'_>) {
    let changes = |object: &mut ObjectWriter<'_>| {
        if features.list_changed {
            object.raw("listChanged", "true");
        }
    };
    if features.tools {
        object.object("tools", changes);
    }
    if features.prompts {
        object.object("prompts", changes);
    }
    if features.resources {
        object.object("resources", |object| {
            if features.subscriptions {
                object.raw("subscribe", "true");
            }
            changes(object);
        });
    }
    if features.completions && version.has_completions_capability() {
        object.raw("completions", "{}");
    }
    if features.logging {
        object.raw("logging", "{}");
    }
    if let Some(experimental) = &features.experimental {
        object.raw("experimental", experimental.get());
    }
    let mut extensions = features.extensions.clone();
    if version.era() == Era::Legacy {
        // The core of 2025-11-25 has tasks of another form: a client would take the one for the other.
        extensions.remove(TASKS);
    }
    if !extensions.is_empty() {
        object.value("extensions", &extensions);
    }
}

/// The tasks extension, which begins with 2026-07-28.
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Refuses features that cannot be stated.
pub(super) fn check(features: &Features) -> Result<(), BuildError> {
    match &features.experimental {
        Some(experimental) if !experimental.is_object() => {
            Err(BuildError::Setting("experimental capabilities are an object".to_owned()))
        }
        _ => Ok(()),
    }
}
