//! Resources, prompts, completions.

use mcp_sansio_io::core::model::{ContentBlock, Prompt, PromptMessage, Resource, ResourceContents, ResourceTemplate};
use mcp_sansio_io::server::{CompletionRequest, Context, HandlerError, NoArguments, ReadRequest, Server};
use serde_json::json;

use super::PNG;
use super::content::image;

pub(super) fn add(server: Server) -> Server {
    prompts(resources(server))
}

fn resources(server: Server) -> Server {
    let resource = |name: &str, text: &str| Resource::new(name, format!("test://{name}")).description(text);
    server
        .resource(resource("static-text", "A text").mime_type("text/plain"), |_, _| async {
            "This is the content of the static text resource."
        })
        .resource(resource("static-binary", "A picture").mime_type("image/png"), |asked: ReadRequest, _| async move {
            let mut contents = mcp_sansio_io::core::model::BlobResourceContents::new(&*asked.uri, PNG);
            contents.mime_type = Some("image/png".to_owned());
            contents
        })
        .resource(resource("watched-resource", "To be subscribed to").mime_type("text/plain"), |_, _| async {
            "Watched resource content"
        })
        .template(
            ResourceTemplate::new("template", "test://template/{id}/data")
                .description("Data by id")
                .mime_type("application/json"),
            data,
        )
}

async fn data(asked: ReadRequest, _: Context) -> Result<String, HandlerError> {
    let id = asked.bindings.text("id").ok_or_else(|| HandlerError::hidden("the template has bound no id"))?;
    Ok(json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string())
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct TwoArguments {
    /// The first argument.
    arg1: String,
    /// The second argument.
    arg2: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embedding {
    /// The address of the resource to embed.
    resource_uri: String,
}

fn prompts(server: Server) -> Server {
    server
        .prompt(Prompt::new("test_simple_prompt").description("Says one thing"), |_: NoArguments, _| async {
            "This is a simple prompt for testing."
        })
        .prompt(
            Prompt::new("test_prompt_with_arguments").description("Repeats its arguments"),
            |args: TwoArguments, _| async move {
                format!("Prompt with arguments: arg1='{}', arg2='{}'", args.arg1, args.arg2)
            },
        )
        .prompt(
            Prompt::new("test_prompt_with_embedded_resource").description("Embeds a resource"),
            |args: Embedding, _| async move {
                let text = "Embedded resource content for testing.";
                let resource = ResourceContents::text(args.resource_uri, "text/plain", text);
                vec![
                    PromptMessage::user(ContentBlock::resource(resource)),
                    PromptMessage::user("Please process the embedded resource above."),
                ]
            },
        )
        .prompt(Prompt::new("test_prompt_with_image").description("Shows a picture"), |_: NoArguments, _| async {
            vec![PromptMessage::user(image()), PromptMessage::user("Please analyze the image above.")]
        })
        .complete_prompt("test_prompt_with_arguments", "arg1", |asked, _| {
            starting_with(&["testValue1", "other"], asked)
        })
        .complete_prompt("test_prompt_with_arguments", "arg2", |asked, _| {
            starting_with(&["testValue2", "other"], asked)
        })
        .complete_template("test://template/{id}/data", "id", |asked, _| starting_with(&["123", "456"], asked))
}

async fn starting_with(all: &'static [&'static str], asked: CompletionRequest) -> Vec<&'static str> {
    all.iter().copied().filter(|candidate| candidate.starts_with(&*asked.value)).collect()
}
