//! Tools that answer content, and tools whose schema is the point.

use mcp_sansio_io::core::json::Json;
use mcp_sansio_io::core::model::{ContentBlock, ResourceContents, Tool};
use mcp_sansio_io::server::{Args, Context, HandlerError, NoArguments, Server};
use serde_json::json;

use super::{PNG, WAV};

pub(super) fn add(server: Server) -> Server {
    let read_only = |name: &str, text: &str| Tool::new(name).description(text).read_only();
    let mut keywords = read_only("json_schema_2020_12_tool", "Has a schema of many keywords");
    keywords.input_schema = keyword_schema();
    let mut mirrored = read_only("test_x_mcp_header", "Has arguments that travel as headers too");
    mirrored.input_schema = mirrored_schema();
    server
        .tool(read_only("test_simple_text", "Answers a text"), |_: NoArguments, _| async {
            "This is a simple text response for testing."
        })
        .tool(read_only("test_image_content", "Answers a picture"), |_: NoArguments, _| async { image() })
        .tool(read_only("test_audio_content", "Answers a sound"), |_: NoArguments, _| async {
            ContentBlock::audio_base64(WAV, "audio/wav")
        })
        .tool(read_only("test_embedded_resource", "Answers a resource"), |_: NoArguments, _| async {
            let text = "This is an embedded resource content.";
            ContentBlock::resource(ResourceContents::text("test://embedded-resource", "text/plain", text))
        })
        .tool(read_only("test_multiple_content_types", "Answers content of several kinds"), |_: NoArguments, _| async {
            mixed()
        })
        .tool(read_only("test_error_handling", "Always fails"), |_: NoArguments, _| async {
            Err::<(), _>(HandlerError::shown("This tool intentionally returns an error for testing"))
        })
        .tool(keywords, |arguments: Json, _: Context| async move { format!("Called with {arguments}") })
        .tool(mirrored, mirrored_call)
}

pub(super) fn image() -> ContentBlock {
    ContentBlock::image_base64(PNG, "image/png")
}

fn mixed() -> Vec<ContentBlock> {
    let data = r#"{"test":"data","value":123}"#;
    vec![
        ContentBlock::text("Multiple content types test:"),
        image(),
        ContentBlock::resource(ResourceContents::text("test://mixed-content-resource", "application/json", data)),
    ]
}

/// Keywords of JSON Schema 2020-12 that lists must carry unchanged.
fn keyword_schema() -> Json {
    Json::from(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    }))
}

/// An argument of each type that may travel as a header.
fn mirrored_schema() -> Json {
    Json::from(json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "description": "Where to run", "x-mcp-header": "Region"},
            "priority": {"type": "integer", "x-mcp-header": "Priority"},
            "verbose": {"type": "boolean", "x-mcp-header": "Verbose"},
        },
        "required": ["region"],
    }))
}

#[derive(serde::Deserialize)]
struct Mirrored {
    region: String,
}

async fn mirrored_call(Args(arguments): Args<Mirrored>, _: Context) -> String {
    format!("Region: {}", arguments.region)
}
