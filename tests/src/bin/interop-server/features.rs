//! The prompts, resources and completions of the fixture.

use mcp_sansio_tokio::model::{Prompt, Resource, ResourceTemplate};
use mcp_sansio_tokio::server::{CompletionRequest, Context, HandlerError, NoArguments, ReadRequest, Server};

const ITEMS: &str = "fixture://items/{id}";
const BLOB: [u8; 4] = [0x00, 0x01, 0x02, 0xff];

pub(crate) fn add(server: Server) -> Server {
    server
        .prompt(Prompt::new("greet").description("Greets somebody"), greet)
        .prompt(Prompt::new("plain").description("Takes nothing"), |_: NoArguments, _| async { "A plain prompt." })
        .resource(Resource::new("text", "fixture://text").mime_type("text/plain"), |_, _| async { "fixture text" })
        .resource(Resource::new("blob", "fixture://blob").mime_type("application/octet-stream"), |_, _| async {
            BLOB.to_vec()
        })
        .template(ResourceTemplate::new("item", ITEMS).mime_type("text/plain"), item)
        .complete_prompt("greet", "who", |asked, _| starting_with(&["alice", "albert", "bob"], asked))
        .complete_template(ITEMS, "id", |asked, _| starting_with(&["one", "two", "three"], asked))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greet {
    /// Who is greeted.
    who: String,
}

async fn greet(args: Greet, _: Context) -> String {
    format!("Please greet {}.", args.who)
}

async fn item(asked: ReadRequest, _: Context) -> Result<String, HandlerError> {
    let id = asked.bindings.text("id").ok_or_else(|| HandlerError::hidden("the template has bound no id"))?;
    Ok(format!("item {id}"))
}

async fn starting_with(all: &'static [&'static str], asked: CompletionRequest) -> Vec<&'static str> {
    all.iter().copied().filter(|candidate| candidate.starts_with(&*asked.value)).collect()
}
