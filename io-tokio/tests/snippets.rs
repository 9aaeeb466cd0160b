//! The snippets of the README compile: each of its `rust,ignore` blocks stands here, line by line, in code that is built
//! and, where it needs no network, runs.
#![cfg(feature = "http")]
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::error::Error;

use mcp_sansio_tokio::client::Client;
use mcp_sansio_tokio::server::BuiltServer;
use mcp_sansio_tokio::{connect_stream, serve_stream};

const README: &str = include_str!("../../README.md");
const HERE: &str = include_str!("snippets.rs");

#[rustfmt::skip]
#[allow(dead_code, reason = "it serves its standard input")]
mod adder {
    use mcp_sansio_tokio::model::Tool;
    use mcp_sansio_tokio::server::{Context, Server, Structured};

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Add { a: f64, b: f64 }

    #[derive(serde::Serialize)]
    struct Sum { sum: f64 }

    #[tokio::main(flavor = "current_thread")]
    async fn main() -> Result<(), Box<dyn std::error::Error>> {
        let server = Server::new("adder", "1.0.0")
            .tool(Tool::new("add").description("Adds two numbers").read_only(), |add: Add, _cx: Context| async move {
                Structured(Sum { sum: add.a + add.b })
            })
            .error_reporter(|report| eprintln!("{report}"))
            .build()?;
        Ok(mcp_sansio_tokio::serve_stdio(server).await?)
    }
}

#[rustfmt::skip]
fn notes() -> Result<BuiltServer, Box<dyn Error>> {
    use mcp_sansio_tokio::model::{Resource, ResourceTemplate};
    use mcp_sansio_tokio::server::{Context, ReadRequest, Server};

    let server = Server::new("notes", "1.0.0")
        .resource(Resource::new("today", "note:///today").mime_type("text/plain"), |_: ReadRequest, _: Context| async {
            "Nothing yet."
        })
        .template(ResourceTemplate::new("note", "note:///of/{author}"), |asked: ReadRequest, cx: Context| async move {
            match asked.bindings.text("author") {
                Some("Ada") => Ok("Weave numbers."),
                _ => Err(cx.not_found()),
            }
        })
        .build()?;
    Ok(server)
}

#[rustfmt::skip]
fn travel() -> Result<BuiltServer, Box<dyn Error>> {
    use mcp_sansio_tokio::model::Prompt;
    use mcp_sansio_tokio::server::{CompletionRequest, Context, Server};

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Plan { city: String }

    let server = Server::new("travel", "1.0.0")
        .prompt(Prompt::new("plan"), |plan: Plan, _: Context| async move { format!("Plan a day in {}.", plan.city) })
        .complete_prompt("plan", "city", |asked: CompletionRequest, _: Context| async move {
            ["Basel", "Bern", "Chur"].into_iter().filter(|city| city.starts_with(&*asked.value)).collect::<Vec<_>>()
        })
        .build()?;
    Ok(server)
}

#[rustfmt::skip]
#[allow(dead_code, reason = "it serves a port that others may have")]
async fn over_http(server: BuiltServer) -> Result<(), Box<dyn Error>> {
    mcp_sansio_tokio::serve_http(server, "127.0.0.1:8000").await?;
    Ok(())
}

#[rustfmt::skip]
#[allow(dead_code, reason = "it serves a port that others may have")]
async fn over_http_with_options(server: BuiltServer, stop: impl Future<Output = ()>) -> Result<(), Box<dyn Error>> {
    use mcp_sansio_tokio::TokioRuntime;
    use mcp_sansio_tokio::http::{Allow, Options};

    let options = Options::default().hosts(Allow::list(["mcp.example.com"]));
    let service = server.http(TokioRuntime::current()).options(options).build()?;
    let server = mcp_sansio_tokio::HttpServer::bind(service, "127.0.0.1:8000").await?;
    server.run_until(stop).await;                                                  // a future that ends when it is to end
    Ok(())
}

#[rustfmt::skip]
#[allow(dead_code, unused_variables, reason = "there is no such server")]
async fn client() -> Result<(), Box<dyn Error>> {
    use serde_json::json;

    let client = mcp_sansio_tokio::connect_command("my-server", ["--flag"]).await?;
    let tools = client.tools().await?;                                             // all pages
    let answer = client.call_tool("forecast", json!({"city": "Bern"})).await?;
    println!("{}", answer.joined_text());

    let remote = mcp_sansio_tokio::connect_http("https://example.com/mcp").await?;             // the same handle, over HTTP
    Ok(())
}

#[rustfmt::skip]
#[allow(dead_code, unused_variables, reason = "there is no such server")]
async fn client_that_answers() -> Result<(), Box<dyn Error>> {
    use serde_json::json;

    use mcp_sansio_tokio::Command;
    use mcp_sansio_tokio::client::Client;
    use mcp_sansio_tokio::model::ElicitResult;

    let client = Client::builder("my-client", "1.0.0").on_form(|form, _| async move {
        println!("{}", form.message);
        ElicitResult::accept(json!({"size": "large"}))
    });
    let client = Command::new("my-server").connect(client).await?;
    Ok(())
}

/// Without white space at the ends of lines.
fn trimmed(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_the_readme_shows_is_what_compiles() {
    let blocks: Vec<&str> =
        README.split("```rust,ignore\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 7);
    let here = trimmed(HERE);
    for block in blocks {
        assert!(here.contains(&trimmed(block)), "{block}");
    }
}

#[tokio::test]
async fn resources_are_read_as_the_readme_says() {
    let (ours, theirs) = tokio::io::duplex(1 << 10);
    tokio::spawn(serve_stream(notes().unwrap(), theirs));
    let client = connect_stream(Client::builder("reader", "1.0"), ours).await.unwrap();
    for (uri, text) in [("note:///today", "Nothing yet."), ("note:///of/Ada", "Weave numbers.")] {
        let read = client.read_resource(uri).await.unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap()["contents"][0]["text"], text);
    }
    let error = client.read_resource("note:///of/Bob").await.unwrap_err();
    assert!(error.to_string().contains("resource not found"), "{error}");
}

#[tokio::test]
async fn a_prompt_is_filled_in_and_completed_as_the_readme_says() {
    let (ours, theirs) = tokio::io::duplex(1 << 10);
    tokio::spawn(serve_stream(travel().unwrap(), theirs));
    let client = connect_stream(Client::builder("traveller", "1.0"), ours).await.unwrap();
    let filled = client.get_prompt("plan", serde_json::json!({"city": "Bern"})).await.unwrap();
    assert_eq!(serde_json::to_value(&filled).unwrap()["messages"][0]["content"]["text"], "Plan a day in Bern.");
    assert_eq!(client.complete_prompt("plan", "city", "B").await.unwrap().values, ["Basel", "Bern"]);
    assert_eq!(client.prompts().await.unwrap()[0].arguments.as_ref().unwrap()[0].name, "city");
}
