//! What a server offers and answers, for people.

use std::fmt::Write as _;

use mcp_sansio_tokio::core::client::{Progress, ServerFacts};
use mcp_sansio_tokio::json::Json;
use mcp_sansio_tokio::model::{
    CallToolResult, ContentBlock, GetPromptResult, Implementation, Prompt, Resource, ResourceContents,
    ResourceTemplate, ServerCapabilities, Tool,
};
use serde::Serialize;
use serde_json::Value;

use crate::schema;

/// Everything that a server says about itself.
#[derive(Serialize)]
pub(crate) struct Overview {
    era: String,
    version: String,
    server: Option<Implementation>,
    capabilities: ServerCapabilities,
    instructions: Option<String>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
}

impl Overview {
    pub(crate) fn of(facts: &ServerFacts) -> Self {
        Self {
            era: facts.era().to_string(),
            version: facts.version.to_string(),
            server: facts.info.clone(),
            capabilities: facts.capabilities.clone(),
            instructions: facts.instructions.clone(),
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.introduction(&mut text);
        section(&mut text, "Tools", &self.tools, tool);
        section(&mut text, "Prompts", &self.prompts, prompt_definition);
        section(&mut text, "Resources", &self.resources, |text, resource| {
            let _ = writeln!(
                text,
                "  {}  {}{}",
                one_line(&resource.uri),
                one_line(&resource.name),
                kind(resource.mime_type.as_deref())
            );
            describe(text, resource.description.as_deref());
        });
        section(&mut text, "Resource templates", &self.templates, |text, template| {
            let _ = writeln!(
                text,
                "  {}  {}{}",
                one_line(&template.uri_template),
                one_line(&template.name),
                kind(template.mime_type.as_deref())
            );
            describe(text, template.description.as_deref());
        });
        text
    }

    fn introduction(&self, text: &mut String) {
        let server = self.server.as_ref().map_or_else(
            || String::from("a server that does not say who it is"),
            |info| format!("{} {}", info.display_name(), info.version),
        );
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{}\n  era: {} ({})", one_line(&server), self.era, self.version);
        let _ = writeln!(text, "  capabilities: {}", names(&self.capabilities));
        if let Some(instructions) = &self.instructions {
            let _ = writeln!(text, "  instructions: {}", one_line(instructions));
        }
    }
}

/// The capabilities that are declared, with what is switched on inside them.
fn names(capabilities: &ServerCapabilities) -> String {
    let Ok(Value::Object(declared)) = serde_json::to_value(capabilities) else { return "?".into() };
    let named = declared.iter().map(|(name, settings)| {
        let on = settings.as_object().into_iter().flatten().filter(|(_, value)| **value != Value::Bool(false));
        let on: Vec<&str> = on.map(|(name, _)| name.as_str()).collect();
        if on.is_empty() { name.clone() } else { format!("{name} ({})", on.join(", ")) }
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() { "none".into() } else { named.join(", ") }
}

fn section<T>(text: &mut String, title: &str, items: &[T], show: impl Fn(&mut String, &T)) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title} ({})", items.len());
    for item in items {
        show(text, item);
    }
}

fn tool(text: &mut String, tool: &Tool) {
    let mut hints = Vec::new();
    if let Some(annotations) = &tool.annotations {
        if annotations.is_read_only() {
            hints.push("read-only");
        } else if annotations.destructive_hint == Some(true) {
            hints.push("destructive");
        }
        if annotations.idempotent_hint == Some(true) {
            hints.push("idempotent");
        }
    }
    let hints = if hints.is_empty() { String::new() } else { format!("  [{}]", hints.join(", ")) };
    let title = tool.title.as_ref().map_or_else(String::new, |title| format!("  “{}”", one_line(title)));
    let _ = writeln!(text, "  {}{title}{hints}", one_line(&tool.name));
    describe(text, tool.description.as_deref());
    text.push_str(&schema_text(&tool.input_schema, 6));
    if let Some(output) = &tool.output_schema {
        let _ = writeln!(text, "      answers:");
        text.push_str(&schema_text(output, 8));
    }
}

fn schema_text(schema: &Json, indent: usize) -> String {
    schema.parse::<Value>().map_or_else(|_| String::new(), |schema| schema::properties(&schema, indent))
}

fn prompt_definition(text: &mut String, prompt: &Prompt) {
    let _ = writeln!(text, "  {}", one_line(&prompt.name));
    describe(text, prompt.description.as_deref());
    for argument in prompt.arguments.iter().flatten() {
        let must = if argument.is_required() { " (required)" } else { "" };
        let about = argument.description.as_deref().map_or_else(String::new, |about| format!(" — {}", one_line(about)));
        let _ = writeln!(text, "      {}{must}{about}", argument.name);
    }
}

fn describe(text: &mut String, description: Option<&str>) {
    if let Some(description) = description {
        let _ = writeln!(text, "      {}", one_line(description));
    }
}

fn kind(mime_type: Option<&str>) -> String {
    mime_type.map_or_else(String::new, |mime_type| format!("  ({mime_type})"))
}

/// A text that moves no cursor and rings no bell: it is the server's, and the terminal is ours.
pub(crate) fn harmless(text: &str) -> String {
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    text.chars().map(|c| if control(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// A text on one line, not too long a one.
pub(crate) fn one_line(text: &str) -> String {
    const MOST: usize = 300;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= MOST {
        return line;
    }
    let mut cut: String = line.chars().take(MOST).collect();
    cut.push('…');
    cut
}

pub(crate) fn progress(report: &Progress) -> String {
    let total = report.total.map_or_else(String::new, |total| format!(" of {total}"));
    let message = report.message.as_ref().map_or_else(String::new, |message| format!(" ({message})"));
    format!("{}{total}{message}", report.progress)
}

pub(crate) fn tool_result(result: &CallToolResult) -> String {
    let mut text = String::new();
    for content in &result.content {
        block(&mut text, content);
    }
    if let Some(structured) = &result.structured_content {
        let pretty = structured.parse::<Value>().and_then(|value| serde_json::to_string_pretty(&value));
        let _ = writeln!(text, "structured: {}", pretty.unwrap_or_else(|_| structured.to_string()));
    }
    text
}

fn block(text: &mut String, content: &ContentBlock) {
    let _ = match content {
        ContentBlock::Text(content) => writeln!(text, "{}", content.text),
        ContentBlock::Image(content) => {
            writeln!(text, "<image, {}, {} base64 characters>", content.mime_type, content.data.len())
        }
        ContentBlock::Audio(content) => {
            writeln!(text, "<audio, {}, {} base64 characters>", content.mime_type, content.data.len())
        }
        ContentBlock::ResourceLink(link) => writeln!(text, "<link to {}>", link.uri),
        ContentBlock::Resource(content) => write!(text, "{}", contents(std::slice::from_ref(&content.resource))),
        other => writeln!(text, "{}", serde_json::to_string(other).unwrap_or_default()),
    };
}

pub(crate) fn contents(contents: &[ResourceContents]) -> String {
    let mut text = String::new();
    for content in contents {
        let uri = content.uri().unwrap_or("?");
        let _ = match content {
            ResourceContents::Text(content) => writeln!(text, "{uri}:\n{}", content.text),
            ResourceContents::Blob(content) => writeln!(text, "{uri}: <{} base64 characters>", content.blob.len()),
            other => writeln!(text, "{}", serde_json::to_string(other).unwrap_or_default()),
        };
    }
    text
}

pub(crate) fn prompt(result: &GetPromptResult) -> String {
    let mut text = String::new();
    for message in &result.messages {
        let _ = write!(text, "{}: ", message.role);
        block(&mut text, &message.content);
    }
    text
}
