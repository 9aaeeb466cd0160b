//! What is done with `@modelcontextprotocol/server-memory` (`tests/interop/FIXTURE.md`, "Reference servers").

use mcp_sansio_tokio::client::{Client, Prepared};
use mcp_sansio_tokio::model::CallToolResult;
use serde_json::{Value, json};

use crate::check::{
    Body, Outcome, call_refused, cannot, ensure, fail, only_text, part, refused, same, structured, text,
};
use crate::peer::Peer;

const GRAPH: &str = "memory://knowledge-graph";
const TOOLS: [&str; 9] = [
    "add_observations",
    "create_entities",
    "create_relations",
    "delete_entities",
    "delete_observations",
    "delete_relations",
    "open_nodes",
    "read_graph",
    "search_nodes",
];

pub(crate) async fn run(cell: &str, peer: &mut Peer) -> Outcome {
    let capabilities = peer.client.capabilities().unwrap_or_default();
    match cell {
        "lists" => lists(&peer.client).await,
        "calls" => calls(&peer.client).await,
        "resources" => resources(&peer.client).await,
        "listen" => listen(peer).await,
        "prompts" if capabilities.prompts.is_none() => cannot("declares no prompts capability"),
        "completion" if capabilities.completions.is_none() => cannot("declares no completions capability"),
        "logging" if capabilities.logging.is_none() => cannot("declares no logging capability"),
        "progress" => {
            lists(&peer.client).await?;
            cannot("no tool reports progress")
        }
        "cancellation" => {
            lists(&peer.client).await?;
            cannot("no tool runs long enough to be cancelled")
        }
        "elicitation" => {
            calls(&peer.client).await?;
            ensure(peer.asked().forms.is_empty(), "it asks for elicitation now")?;
            cannot("never asks for elicitation")
        }
        "sampling" => {
            calls(&peer.client).await?;
            ensure(peer.asked().samples.is_empty(), "it asks for sampling now")?;
            cannot("never asks for sampling")
        }
        "roots" => {
            calls(&peer.client).await?;
            ensure(peer.asked().roots == 0, "it asks for the roots now")?;
            cannot("never asks for the roots")
        }
        _ => fail(format!("the server offers {cell} now")),
    }
}

/// What is there: as long as these are all, what others would do need not be tried.
async fn lists(client: &Client) -> Outcome {
    let mut names: Vec<String> = client.tools().await?.into_iter().map(|tool| tool.name).collect();
    names.sort_unstable();
    same("tools", names, TOOLS)?;
    let resources = client.resources().await?;
    same("resources", resources.iter().map(|resource| &*resource.uri).collect::<Vec<_>>(), vec![GRAPH])
}

fn entity(name: &str) -> Value {
    json!({"name": name, "entityType": "person", "observations": ["likes 🦀"]})
}

fn create(client: &Client, name: &str) -> Prepared<CallToolResult> {
    client.call_tool("create_entities", json!({"entities": [entity(name)]}))
}

async fn calls(client: &Client) -> Outcome {
    // What the list has shown is what results are checked against.
    client.tools().await?;
    let created = create(client, "Ada").await?;
    same("created", structured(&created)?, json!({"entities": [entity("Ada")]}))?;
    let graph = client.call_tool("read_graph", json!({})).await?;
    let expected = json!({"entities": [entity("Ada")], "relations": []});
    same("the graph", structured(&graph)?, expected.clone())?;
    same("mirrored", serde_json::from_str::<Value>(&only_text(&graph)?)?, expected)?;
    call_refused("an entity that is none", client.call_tool("create_entities", json!({"entities": [1]}))).await
}

async fn resources(client: &Client) -> Outcome {
    text(create(client, "Ada")).await?;
    let graph = part(client.read_resource(GRAPH)).await?;
    same("its type", graph.mime_type.as_deref(), Some("application/json"))?;
    let Body::Text(json) = graph.body else { return fail("the graph is no text") };
    let expected = json!({"entities": [entity("Ada")], "relations": []});
    same("the graph", serde_json::from_str::<Value>(&json)?, expected)?;
    refused("an unknown resource", client.read_resource("memory://nope").await)
}

async fn listen(peer: &mut Peer) -> Outcome {
    let client = peer.client.clone();
    client.subscribe(GRAPH).await?;
    text(create(&client, "Ada")).await?;
    text(create(&client, "Bob")).await?;
    let told = peer.until(|told| told.updated.len() >= 2).await?;
    same("updates", &told.updated, &[GRAPH, GRAPH])?;
    client.unsubscribe(GRAPH).await?;
    text(create(&client, "Eve")).await?;
    text(client.call_tool("read_graph", json!({}))).await?;
    same("updates after the end of the watch", peer.told()?.updated.len(), 2)
}
