//! What is done with `@modelcontextprotocol/server-filesystem` (`tests/interop/FIXTURE.md`, "Reference servers").

use std::path::Path;
use std::time::Duration;

use mcp_sansio_tokio::client::Client;
use serde_json::json;

use crate::check::{Outcome, call_refused, cannot, ensure, fail, only_text, same, structured};
use crate::peer::{Ground, Peer};

const TOOLS: [&str; 14] = [
    "create_directory",
    "directory_tree",
    "edit_file",
    "get_file_info",
    "list_allowed_directories",
    "list_directory",
    "list_directory_with_sizes",
    "move_file",
    "read_file",
    "read_media_file",
    "read_multiple_files",
    "read_text_file",
    "search_files",
    "write_file",
];
/// How often it is asked what it allows.
const AGAIN: Duration = Duration::from_millis(10);

pub(crate) async fn run(cell: &str, peer: &Peer, ground: &Ground) -> Outcome {
    let capabilities = peer.client.capabilities().unwrap_or_default();
    let client = &peer.client;
    match cell {
        "lists" => lists(client).await,
        "calls" => calls(client, ground.path()).await,
        "roots" => roots(peer, ground.path()).await,
        "prompts" if capabilities.prompts.is_none() => cannot("declares no prompts capability"),
        "resources" if capabilities.resources.is_none() => cannot("declares no resources capability"),
        "completion" if capabilities.completions.is_none() => cannot("declares no completions capability"),
        "logging" if capabilities.logging.is_none() => cannot("declares no logging capability"),
        "listen" if capabilities.resources.is_none() => {
            lists(client).await?;
            cannot("its tools never change and it has no resources")
        }
        "progress" => {
            lists(client).await?;
            cannot("no tool reports progress")
        }
        "cancellation" => {
            lists(client).await?;
            cannot("no tool runs long enough to be cancelled")
        }
        "elicitation" => {
            calls(client, ground.path()).await?;
            ensure(peer.asked().forms.is_empty(), "it asks for elicitation now")?;
            cannot("never asks for elicitation")
        }
        "sampling" => {
            calls(client, ground.path()).await?;
            ensure(peer.asked().samples.is_empty(), "it asks for sampling now")?;
            cannot("never asks for sampling")
        }
        _ => fail(format!("the server offers {cell} now")),
    }
}

/// Which tools there are: as long as these are all, what others would do need not be tried.
async fn lists(client: &Client) -> Outcome {
    let mut names: Vec<String> = client.tools().await?.into_iter().map(|tool| tool.name).collect();
    names.sort_unstable();
    same("tools", names, TOOLS)
}

async fn calls(client: &Client, folder: &Path) -> Outcome {
    let content = "grüße 🦀\nsecond line\n";
    let file = folder.join("hello.txt");
    std::fs::write(&file, content)?;
    // What the list has shown is what results are checked against.
    client.tools().await?;
    let result = client.call_tool("read_text_file", json!({"path": file.display().to_string()})).await?;
    same("text", only_text(&result)?, content)?;
    same("structured", structured(&result)?, json!({"content": content}))?;
    let outside = folder.parent().unwrap_or(folder).display().to_string();
    call_refused("a path outside", client.call_tool("list_directory", json!({"path": outside}))).await?;
    call_refused("a missing argument", client.call_tool("read_text_file", json!({}))).await
}

/// The roots that we name replace the folder that it was started with.
async fn roots(peer: &Peer, folder: &Path) -> Outcome {
    let inner = folder.join("inner").display().to_string();
    let outer = folder.display().to_string();
    loop {
        let result = peer.client.call_tool("list_allowed_directories", json!({})).await?;
        let told = only_text(&result)?;
        let allowed: Vec<&str> = told.lines().skip(1).collect();
        if allowed == [&*inner] {
            break;
        }
        ensure(allowed == [&*outer], told)?;
        tokio::time::sleep(AGAIN).await;
    }
    ensure(peer.asked().roots > 0, "the roots were never asked for")?;
    call_refused("the folder around the root", peer.client.call_tool("list_directory", json!({"path": outer}))).await
}
