//! Completion of arguments.
//!
//! Source: `server/utilities/completion`. Whether the reference exists is checked in `server`.

use std::collections::BTreeMap;

use super::macros::{object, union};
use super::{Meta, Number, ResultType};

/// The most values in one result.
pub const MAX_COMPLETION_VALUES: usize = 100;

union! {
    /// What an argument belongs to.
    pub enum CompletionReference by "type" {
        /// A prompt.
        Prompt(PromptReference) = "ref/prompt",
        /// A resource template, or a resource.
        Resource(ResourceReference) = "ref/resource",
    }
    absent => Unknown
}

impl CompletionReference {
    /// A prompt, by name.
    #[must_use]
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(PromptReference::new(name))
    }

    /// A resource template, by its template, or a resource, by its address.
    #[must_use]
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::Resource(ResourceReference::new(uri))
    }
}

object! {
    /// A prompt, by name.
    pub struct PromptReference {
        tag "type" = "ref/prompt";
        required {
            /// The name for programs.
            name: String = "name",
        }
        optional {
            /// The name for people.
            title: String = "title",
        }
    }
}

object! {
    /// A resource template or a resource. The specification calls it `ResourceTemplateReference`, and
    /// `ResourceReference` until 2025-03-26.
    pub struct ResourceReference {
        tag "type" = "ref/resource";
        required {
            /// The template or the address.
            uri: String = "uri",
        }
        optional {}
    }
}

object! {
    /// The argument that is being filled in.
    pub struct CompletionArgument {
        required {
            /// Its name.
            name: String = "name",
            /// What has been typed so far.
            value: String = "value",
        }
        optional {}
    }
}

object! {
    /// What is known beside the argument (2025-06-18 and later).
    pub struct CompletionContext {
        required {}
        optional {
            /// The arguments that are filled in already.
            arguments: BTreeMap<String, String> = "arguments",
        }
    }
}

object! {
    /// Parameters of `completion/complete`.
    pub struct CompleteParams {
        required {
            /// What the argument belongs to.
            reference: CompletionReference = "ref",
            /// The argument.
            argument: CompletionArgument = "argument",
        }
        optional {
            /// What is known beside it.
            context: CompletionContext = "context",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// Values for an argument.
    pub struct Completion {
        required {
            /// The values, best first; at most [`MAX_COMPLETION_VALUES`].
            values: Vec<String> = "values",
        }
        optional {
            /// How many there are in all.
            total: Number = "total",
            /// Whether there are more than these.
            has_more: bool = "hasMore",
        }
    }
}

impl Completion {
    /// The first [`MAX_COMPLETION_VALUES`] of these values, with their count and whether some are left out.
    #[must_use]
    pub fn from_all<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let mut rest = values.into_iter();
        let kept: Vec<String> = rest.by_ref().take(MAX_COMPLETION_VALUES).map(Into::into).collect();
        let total = kept.len() + rest.count();
        let has_more = total > kept.len();
        Self::new(kept).total(total).has_more(has_more)
    }

    /// Cuts the values to [`MAX_COMPLETION_VALUES`]; what is cut shows in `hasMore`, and in `total` if that is
    /// absent.
    pub fn truncate(&mut self) {
        let count = self.values.len();
        if count > MAX_COMPLETION_VALUES {
            self.values.truncate(MAX_COMPLETION_VALUES);
            self.has_more = Some(true);
            self.total.get_or_insert_with(|| count.into());
        }
    }
}

object! {
    /// The answer to `completion/complete`.
    pub struct CompleteResult {
        required {
            /// The values.
            completion: Completion = "completion",
        }
        optional {
            /// Modern: `complete`.
            result_type: ResultType = "resultType",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl From<Completion> for CompleteResult {
    fn from(completion: Completion) -> Self {
        Self::new(completion)
    }
}
