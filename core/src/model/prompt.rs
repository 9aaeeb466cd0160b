//! Prompts: definitions and messages.
//!
//! Source: `server/prompts`. Which arguments are required, and whether they came, is checked in `server`.

use std::collections::BTreeMap;

use super::macros::object;
use super::{ContentBlock, Icon, InputResponses, Listed, Meta, ResultType, Role};

object! {
    /// A prompt that a server offers.
    pub struct Prompt {
        required {
            /// The name for programs.
            name: String = "name",
        }
        optional {
            /// The name for people.
            title: String = "title",
            /// What it is for.
            description: String = "description",
            /// What it can be filled with.
            arguments: Vec<PromptArgument> = "arguments",
            /// Pictures of it.
            icons: Vec<Icon> = "icons",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl Prompt {
    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<PromptArgument>) -> Self {
        self.arguments.get_or_insert_default().push(argument.into());
        self
    }

    /// Adds an icon.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icons.get_or_insert_default().push(icon);
        self
    }
}

impl Listed for Prompt {
    const MEMBER: &'static str = "prompts";
}

object! {
    /// An argument of a prompt.
    pub struct PromptArgument {
        required {
            /// The name for programs.
            name: String = "name",
        }
        optional {
            /// The name for people.
            title: String = "title",
            /// What it is for.
            description: String = "description",
            /// Whether it must be given; absent is no.
            required: bool = "required",
        }
    }
}

impl PromptArgument {
    /// Whether the argument must be given.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.required == Some(true)
    }
}

/// An argument that need not be given.
impl From<&str> for PromptArgument {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

object! {
    /// Parameters of `prompts/get`.
    pub struct GetPromptParams {
        required {
            /// The prompt.
            name: String = "name",
        }
        optional {
            /// What to fill it with.
            arguments: BTreeMap<String, String> = "arguments",
            /// Answers to the requests of an earlier `input_required` result.
            input_responses: InputResponses = "inputResponses",
            /// The state of that result, as it came.
            request_state: String = "requestState",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// A prompt, filled in.
    pub struct GetPromptResult {
        required {
            /// The messages in order.
            messages: Vec<PromptMessage> = "messages",
        }
        optional {
            /// What the prompt is for.
            description: String = "description",
            /// Modern: `complete`.
            result_type: ResultType = "resultType",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl From<Vec<PromptMessage>> for GetPromptResult {
    fn from(messages: Vec<PromptMessage>) -> Self {
        Self::new(messages)
    }
}

object! {
    /// One message of a prompt.
    pub struct PromptMessage {
        required {
            /// Who speaks.
            role: Role = "role",
            /// What is said.
            content: ContentBlock = "content",
        }
        optional {}
    }
}

impl PromptMessage {
    /// What the person says: a text, or any block.
    #[must_use]
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::User, content)
    }

    /// What the model says: a text, or any block.
    #[must_use]
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::Assistant, content)
    }
}
