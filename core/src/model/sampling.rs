//! Sampling: a server asks the client's model.
//!
//! Source: `client/sampling`. Deprecated by 2026-07-28. Since 2025-11-25 a message may hold several blocks, and the
//! model may be lent tools:
//!
//! ```text
//!   assistant  tool_use a, tool_use b
//!   user       tool_result a, tool_result b      nothing else, and every use answered
//!   assistant  …
//! ```
//!
//! [`CreateMessageParams::check`] keeps this rule. Which model is chosen, and what the user sees, is the host's.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::macros::{object, open_enum};
use super::{ClientCapabilities, ContentBlock, Meta, Number, Role, Tool};
use crate::json::Json;

/// What a sampling message holds: one block, or a list of blocks. Written in the form it came in.
#[derive(Clone, Debug, PartialEq)]
pub enum SamplingContent {
    /// One block, not in a list: the only form before 2025-11-25.
    One(ContentBlock),
    /// A list of blocks, of any length.
    Many(Vec<ContentBlock>),
}

impl SamplingContent {
    /// The blocks, in either form.
    #[must_use]
    pub fn blocks(&self) -> &[ContentBlock] {
        match self {
            Self::One(block) => std::slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }
}

impl<T: Into<ContentBlock>> From<T> for SamplingContent {
    fn from(block: T) -> Self {
        Self::One(block.into())
    }
}

impl From<Vec<ContentBlock>> for SamplingContent {
    fn from(blocks: Vec<ContentBlock>) -> Self {
        Self::Many(blocks)
    }
}

impl Serialize for SamplingContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(block) => block.serialize(serializer),
            Self::Many(blocks) => blocks.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SamplingContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;

        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = SamplingContent;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a content block or a list of them")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SamplingContent, A::Error> {
                ContentBlock::deserialize(MapAccessDeserializer::new(map)).map(SamplingContent::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<SamplingContent, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(SamplingContent::Many)
            }
        }

        // The value is not buffered: serde only lets the reader say which of the two it is.
        deserializer.deserialize_any(ContentVisitor)
    }
}

object! {
    /// One message of the conversation.
    pub struct SamplingMessage {
        required {
            /// Who speaks.
            role: Role = "role",
            /// What is said.
            content: SamplingContent = "content",
        }
        optional {
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl SamplingMessage {
    /// What the person says.
    #[must_use]
    pub fn user(content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::User, content)
    }

    /// What the model says.
    #[must_use]
    pub fn assistant(content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

object! {
    /// Which model the server would like. Hints come first, in order; the first match wins.
    pub struct ModelPreferences {
        required {}
        optional {
            /// Models by name.
            hints: Vec<ModelHint> = "hints",
            /// How much low cost matters, 0 to 1.
            cost_priority: Number = "costPriority",
            /// How much speed matters, 0 to 1.
            speed_priority: Number = "speedPriority",
            /// How much ability matters, 0 to 1.
            intelligence_priority: Number = "intelligencePriority",
        }
    }
}

object! {
    /// A model by name.
    pub struct ModelHint {
        required {}
        optional {
            /// A part of the name of a model.
            name: String = "name",
        }
    }
}

impl ModelPreferences {
    /// The first of `models` that the hints ask for: hints in their order, each as a part of the name.
    #[must_use]
    pub fn pick<'a>(&self, models: &[&'a str]) -> Option<&'a str> {
        let hints = self.hints.as_deref().unwrap_or_default();
        hints
            .iter()
            .filter_map(|hint| hint.name.as_deref())
            .find_map(|hint| models.iter().find(|model| model.contains(hint)).copied())
    }
}

open_enum! {
    /// Which context of servers the model should get. All but `none` are deprecated.
    pub enum IncludeContext {
        /// None.
        None = "none",
        /// Of the server that asks.
        ThisServer = "thisServer",
        /// Of all servers.
        AllServers = "allServers",
    }
}

object! {
    /// Whether the model uses the tools.
    pub struct ToolChoice {
        required {}
        optional {
            /// Absent means [`ToolChoiceMode::Auto`].
            mode: ToolChoiceMode = "mode",
        }
    }
}

open_enum! {
    /// Whether the model uses the tools.
    pub enum ToolChoiceMode {
        /// As it likes.
        Auto = "auto",
        /// Never.
        None = "none",
        /// At least one.
        Required = "required",
    }
}

open_enum! {
    /// Why the model stopped.
    pub enum StopReason {
        /// It has finished its turn.
        EndTurn = "endTurn",
        /// It met a stop sequence.
        StopSequence = "stopSequence",
        /// It met the bound on tokens.
        MaxTokens = "maxTokens",
        /// It wants tools to be run.
        ToolUse = "toolUse",
    }
}

object! {
    /// Parameters of `sampling/createMessage`.
    pub struct CreateMessageParams {
        required {
            /// The conversation so far.
            messages: Vec<SamplingMessage> = "messages",
            /// The most tokens to make.
            max_tokens: Number = "maxTokens",
        }
        optional {
            /// Which model the server would like.
            model_preferences: ModelPreferences = "modelPreferences",
            /// The system prompt that the server would like.
            system_prompt: String = "systemPrompt",
            /// Which context of servers the model should get.
            include_context: IncludeContext = "includeContext",
            /// How random the answer is.
            temperature: Number = "temperature",
            /// Where to stop.
            stop_sequences: Vec<String> = "stopSequences",
            /// More for the provider of the model: an object.
            metadata: Json = "metadata",
            /// Tools for the model. They need not be tools of the server.
            tools: Vec<Tool> = "tools",
            /// Whether the model uses them.
            tool_choice: ToolChoice = "toolChoice",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

/// A conversation that breaks the rules for tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SamplingError {
    /// A user message has tool results and something else.
    #[error("message {message}: a user message with tool results may hold nothing else")]
    Mixed {
        /// The message, counted from 0.
        message: usize,
    },
    /// The message after tool uses does not answer exactly these.
    #[error("message {message}: every tool use must be answered by the next message, a user message of tool results")]
    Unanswered {
        /// The message that should answer, counted from 0.
        message: usize,
    },
    /// A tool result answers no use of the message before.
    #[error("message {message}: a tool result answers no tool use of the message before it")]
    Unasked {
        /// The message, counted from 0.
        message: usize,
    },
}

impl CreateMessageParams {
    /// What the client must have declared for this request.
    #[must_use]
    pub fn required_capabilities(&self) -> ClientCapabilities {
        let needed = ClientCapabilities::new().with_sampling();
        if self.needs_tools() { needed.with_sampling_tools() } else { needed }
    }

    /// Whether the request lends tools to the model.
    #[must_use]
    pub fn needs_tools(&self) -> bool {
        self.tools.is_some() || self.tool_choice.is_some()
    }

    /// Whether tool uses and tool results are in balance.
    ///
    /// # Errors
    /// The first message that breaks a rule. Tool uses of the last message may be open.
    pub fn check(&self) -> Result<(), SamplingError> {
        let mut open = BTreeSet::new();
        for (message, SamplingMessage { role, content, .. }) in self.messages.iter().enumerate() {
            let mut results = BTreeSet::new();
            let mut others = false;
            for block in content.blocks() {
                match block {
                    ContentBlock::ToolResult(result) => {
                        if !open.contains(&*result.tool_use_id) {
                            return Err(SamplingError::Unasked { message });
                        }
                        results.insert(&*result.tool_use_id);
                    }
                    _ => others = true,
                }
            }
            if !results.is_empty() && others {
                return Err(SamplingError::Mixed { message });
            }
            if results.len() != open.len() || (!open.is_empty() && *role != Role::User) {
                return Err(SamplingError::Unanswered { message });
            }
            open.clear();
            if *role == Role::Assistant {
                open.extend(content.blocks().iter().filter_map(|block| match block {
                    ContentBlock::ToolUse(tool_use) => Some(&*tool_use.id),
                    _ => None,
                }));
            }
        }
        Ok(())
    }
}

object! {
    /// What the model answered.
    pub struct CreateMessageResult {
        required {
            /// Who speaks: the model.
            role: Role = "role",
            /// What it says.
            content: SamplingContent = "content",
            /// The model that was used.
            model: String = "model",
        }
        optional {
            /// Why it stopped.
            stop_reason: StopReason = "stopReason",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl CreateMessageResult {
    /// What the model answered.
    #[must_use]
    pub fn assistant(model: impl Into<String>, content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::Assistant, content, model)
    }
}
