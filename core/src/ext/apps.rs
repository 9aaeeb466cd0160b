//! MCP Apps: tools that bring a user interface. Source: the extension `io.modelcontextprotocol/ui` (2026-01-26).
//!
//! ```text
//!   tool  ── _meta.ui.resourceUri ──▶  ui://… resource  ── read ──▶  HTML, with _meta.ui (csp, permissions)
//!   client ── capabilities.extensions["io.modelcontextprotocol/ui"].mimeTypes ──▶ may it be shown at all?
//! ```
//!
//! This module makes and reads what servers and clients exchange. Sandboxes, content security policies and the
//! dialogue between a view and its host are the host's: nothing of it crosses the MCP connection.
//!
//! ```
//! use mcp_sansio::ext::apps::{self, Visibility};
//! use mcp_sansio::model::Tool;
//!
//! # fn main() -> Result<(), apps::AppError> {
//! let page = "<!doctype html><title>Weather</title>";
//! let tool = apps::link(Tool::new("forecast"), "ui://weather/forecast", &[Visibility::Model, Visibility::App])?;
//! let resource = apps::resource("forecast", "ui://weather/forecast")?;
//! let contents = apps::contents("ui://weather/forecast", page, &apps::Rendering::default())?;
//! assert_eq!(apps::linked(&tool).as_deref(), Some("ui://weather/forecast"));
//! # let _ = (resource, contents);
//! # Ok(())
//! # }
//! ```
//!
//! A server offers the extension with
//! [`DefinitionBuilder::extension`](crate::server::DefinitionBuilder::extension)`(apps::ID, Json::EMPTY_OBJECT)`,
//! and every tool still answers with a text that means something without the interface.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::json::Json;
use crate::model::{ClientCapabilities, Meta, Resource, ResourceContents, TextResourceContents, Tool};

/// The id of the extension.
pub const ID: &str = "io.modelcontextprotocol/ui";
/// The type of a view's page.
pub const MIME_TYPE: &str = "text/html;profile=mcp-app";
/// How the address of a view begins.
pub const SCHEME: &str = "ui://";

const META: &str = "ui";
/// Where the link stood before 2026-01-26; read, never written.
const OLD_LINK: &str = "ui/resourceUri";

/// Why something is no part of an app.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AppError {
    /// The address of a view begins with `ui://`.
    #[error("the address of a view begins with ui://, {0:?} does not")]
    Scheme(String),
    /// A tool that nobody may see.
    #[error("a tool is visible to the model, the app, or both")]
    Invisible,
    /// Settings that are no JSON.
    #[error("the settings of the view cannot be written: {0}")]
    Settings(String),
}

/// Who may see and call a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// The view that the server brought.
    App,
    /// The model.
    Model,
}

/// What a view needs of its host beyond a closed box: sources that it may load from, permissions, looks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Rendering {
    /// What the view may load, by kind. Absent: nothing from elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csp: Option<Csp>,
    /// Permissions such as `camera`, as the host names them: an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Json>,
    /// The origin that the view wants to have, in the form that the host's documentation asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Whether the view wants a border around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefers_border: Option<bool>,
}

/// Origins that a view may load from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Csp {
    /// For requests and sockets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connect_domains: Vec<String>,
    /// For images, scripts, styles, fonts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_domains: Vec<String>,
    /// For frames inside the view.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frame_domains: Vec<String>,
    /// For the base of relative addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub base_uri_domains: Vec<String>,
}

/// Gives a tool its view. The resource must be readable on the same server; it need not be listed.
///
/// # Errors
/// [`AppError::Scheme`], [`AppError::Invisible`].
pub fn link(mut tool: Tool, resource_uri: &str, visibility: &[Visibility]) -> Result<Tool, AppError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Link<'a> {
        resource_uri: &'a str,
        visibility: &'a [Visibility],
    }
    check(resource_uri)?;
    if visibility.is_empty() {
        return Err(AppError::Invisible);
    }
    let link = write(&Link { resource_uri, visibility })?;
    tool.meta.get_or_insert_default().insert(META, link);
    Ok(tool)
}

/// The address of a tool's view, if it has one.
#[must_use]
pub fn linked(tool: &Tool) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Link {
        resource_uri: String,
    }
    let meta = tool.meta.as_ref()?;
    let new = meta.get(META).and_then(|link| link.parse::<Link>().ok()).map(|link| link.resource_uri);
    new.or_else(|| meta.get_as::<String>(OLD_LINK).ok().flatten()).filter(|uri| check(uri).is_ok())
}

/// Who may see and call a tool: both, where it does not say.
#[must_use]
pub fn visibility(tool: &Tool) -> Vec<Visibility> {
    #[derive(Deserialize)]
    struct Link {
        visibility: Option<Vec<Json>>,
    }
    let stated = tool.meta.as_ref().and_then(|meta| meta.get(META)).and_then(|link| link.parse::<Link>().ok());
    match stated.and_then(|link| link.visibility) {
        // Values of the future are for others than these two.
        Some(values) => values.iter().filter_map(|value| value.parse().ok()).collect(),
        None => vec![Visibility::Model, Visibility::App],
    }
}

/// A resource that lists a view.
///
/// # Errors
/// [`AppError::Scheme`].
pub fn resource(name: &str, uri: &str) -> Result<Resource, AppError> {
    check(uri)?;
    Ok(Resource::new(name, uri).mime_type(MIME_TYPE))
}

/// The contents of a view: an HTML5 page, with what it needs of its host.
///
/// # Errors
/// [`AppError::Scheme`].
pub fn contents(uri: &str, html: &str, rendering: &Rendering) -> Result<ResourceContents, AppError> {
    check(uri)?;
    let mut contents = TextResourceContents::new(uri, html).mime_type(MIME_TYPE);
    if *rendering != Rendering::default() {
        let mut meta = Meta::new();
        meta.insert(META, write(rendering)?);
        contents = contents.meta(meta);
    }
    Ok(ResourceContents::Text(contents))
}

/// What a view asks of its host. Restrictive where it asks for nothing.
#[must_use]
pub fn rendering(contents: &ResourceContents) -> Rendering {
    let meta = match contents {
        ResourceContents::Text(text) => text.meta.as_ref(),
        ResourceContents::Blob(blob) => blob.meta.as_ref(),
        _ => None,
    };
    meta.and_then(|meta| meta.get(META)).and_then(|ui| ui.parse().ok()).unwrap_or_default()
}

/// Whether a client can show views: ask before a tool with a view is worth offering.
#[must_use]
pub fn is_supported(capabilities: &ClientCapabilities) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Settings {
        mime_types: Vec<String>,
    }
    let settings = capabilities.extension(ID).and_then(|settings| settings.parse::<Settings>().ok());
    settings.is_some_and(|settings| settings.mime_types.iter().any(|mime| mime == MIME_TYPE))
}

/// The settings of a client that can show views, for
/// [`ClientCapabilities::with_extension`](crate::model::ClientCapabilities::with_extension).
#[must_use]
pub fn client_settings() -> Json {
    Json::from(serde_json::json!({ "mimeTypes": [MIME_TYPE] }))
}

fn check(uri: &str) -> Result<(), AppError> {
    if uri.len() > SCHEME.len() && uri.starts_with(SCHEME) {
        return Ok(());
    }
    /// Enough of an address to recognise it.
    const SHOWN: usize = 100;
    Err(AppError::Scheme(uri.chars().take(SHOWN).collect()))
}

fn write<T: Serialize>(value: &T) -> Result<Json, AppError> {
    Json::from_value(value).map_err(|error| AppError::Settings(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// X-APPS-05, X-APPS-08, X-APPS-11.
    #[test]
    fn a_tool_names_its_view() {
        let tool = link(Tool::new("t"), "ui://s/v", &[Visibility::App]).unwrap();
        let written = serde_json::to_value(&tool).unwrap();
        assert_eq!(written["_meta"], json!({"ui": {"resourceUri": "ui://s/v", "visibility": ["app"]}}));
        assert_eq!(visibility(&tool), [Visibility::App]);
        assert_eq!(visibility(&Tool::new("t")), [Visibility::Model, Visibility::App]);
        assert_eq!(linked(&Tool::new("t")), None);
        for wrong in ["https://example.com", "ui://", "UI://x", ""] {
            assert_eq!(link(Tool::new("t"), wrong, &[Visibility::App]), Err(AppError::Scheme(wrong.to_owned())));
        }
        assert_eq!(link(Tool::new("t"), "ui://s/v", &[]), Err(AppError::Invisible));
    }

    #[test]
    fn links_of_older_and_newer_servers_are_read() {
        let read = |meta: serde_json::Value| -> Tool {
            serde_json::from_value(json!({"name": "t", "inputSchema": {"type": "object"}, "_meta": meta})).unwrap()
        };
        assert_eq!(linked(&read(json!({"ui/resourceUri": "ui://old"}))).as_deref(), Some("ui://old"));
        assert_eq!(linked(&read(json!({"ui": {"resourceUri": "javascript:alert(1)"}}))), None);
        assert_eq!(visibility(&read(json!({"ui": {"visibility": ["model", "later"]}}))), [Visibility::Model]);
    }

    /// X-APPS-06, X-APPS-12.
    #[test]
    fn a_view_says_what_it_needs() {
        let mut wanted = Rendering::default();
        let mut csp = Csp::default();
        csp.connect_domains.push("https://api.example.com".to_owned());
        wanted.csp = Some(csp);
        wanted.prefers_border = Some(true);
        let view = contents("ui://s/v", "<!doctype html>", &wanted).unwrap();
        let written = serde_json::to_value(&view).unwrap();
        assert_eq!(written["mimeType"], MIME_TYPE);
        assert_eq!(
            written["_meta"]["ui"],
            json!({"csp": {"connectDomains": ["https://api.example.com"]}, "prefersBorder": true})
        );
        assert_eq!(rendering(&view), wanted);
        assert_eq!(rendering(&contents("ui://s/v", "x", &Rendering::default()).unwrap()), Rendering::default());
        assert_eq!(resource("v", "ui://s/v").unwrap().mime_type.as_deref(), Some(MIME_TYPE));
    }

    /// X-APPS-01, X-APPS-02.
    #[test]
    fn clients_say_whether_they_can_show_views() {
        let able = ClientCapabilities::new().with_extension(ID, client_settings()).unwrap();
        assert!(is_supported(&able));
        for settings in [json!({}), json!({"mimeTypes": ["text/html"]}), json!({"mimeTypes": "x"})] {
            let other = ClientCapabilities::new().with_extension(ID, settings).unwrap();
            assert!(!is_supported(&other));
        }
        assert!(!is_supported(&ClientCapabilities::new()));
    }
}
