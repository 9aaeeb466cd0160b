//! Asking the user in the middle of a tool, in straight-line code that works in both eras.
//!
//! The handler runs once for each round of questions: up to the first unanswered one, then again with its answer. So
//! what must happen once only stands in `once`.

use mcp_sansio_tokio::client::Client;
use mcp_sansio_tokio::connect_stream;
use mcp_sansio_tokio::core::client::Connect;
use mcp_sansio_tokio::model::{ElicitParams, ElicitResult, Tool};
use mcp_sansio_tokio::serve_stream;
use mcp_sansio_tokio::server::{BuiltServer, Context, HandlerError, NoArguments, Server};
use serde_json::json;

async fn order(_: NoArguments, cx: Context) -> Result<String, HandlerError> {
    // Done in the first run only, whatever the number of rounds.
    let number: u32 = cx.once("number", async { Ok(4711) }).await?;

    let sizes = json!({"type": "object", "properties": {"size": {"type": "string", "enum": ["S", "M", "L"]}}});
    let size = cx.elicit("size", ElicitParams::form("Which size?", sizes)).await?;
    if !size.accepted() {
        return Ok("no order".into());
    }
    let sure = json!({"type": "object", "properties": {"sure": {"type": "boolean"}}});
    let sure = cx.elicit("sure", ElicitParams::form(format!("Order {number}: sure?"), sure)).await?;

    Ok(format!("order {number}: {} ({})", size.content.map_or_else(String::new, |c| c.to_string()), sure.action))
}

fn server() -> Result<BuiltServer, Box<dyn std::error::Error>> {
    Ok(Server::new("shop", "1.0.0").tool(Tool::new("order").description("Orders a shirt"), order).build()?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = server()?;
    for mode in [Connect::Modern, Connect::Legacy] {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        tokio::spawn(serve_stream(server.clone(), theirs));
        let client = Client::builder("customer", "1.0.0").mode(mode).on_form(|form, _| async move {
            eprintln!("  asked: {}", form.message);
            let content = if form.message.contains("size") { json!({"size": "M"}) } else { json!({"sure": true}) };
            ElicitResult::accept(content)
        });
        let client = connect_stream(client, ours).await?;
        let answer = client.call_tool("order", json!({})).await?;
        eprintln!("{mode:?}: {}", answer.joined_text());
    }
    Ok(())
}
