//! The application that is served everywhere: an echo, and a list of tools. On our front and on rmcp's.

use std::sync::Arc;

use mcp_sansio_tokio::model::Tool;
use mcp_sansio_tokio::server::{BuiltServer, Context, Server, Text};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

use crate::{frames, server};

/// The arguments of the echo.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    text: String,
    #[expect(dead_code, reason = "read, like the rest, and not used")]
    n: i64,
}

/// Our server: the echo, and as many tools in all.
pub(crate) fn ours(tools: usize) -> Result<BuiltServer, mcp_sansio::server::BuildError> {
    let mut server = Server::new("bench", "1.0.0").page_size(1_000);
    for number in 0..tools {
        let tool = Tool::new(frames::tool_name(number)).description(server::description(number));
        // The lists are to be the same everywhere, and so their schema is stated.
        let tool = if tools > 1 { tool.input_schema(server::schema()) } else { tool };
        server = server.tool(tool, |args: Echo, _: Context| async move { Text::new(args.text) });
    }
    server.build()
}

/// An rmcp server.
#[derive(Clone)]
pub(crate) struct Peer {
    tools: Arc<Vec<rmcp::model::Tool>>,
}

impl Peer {
    pub(crate) fn new(tools: usize) -> Self {
        let Value::Object(schema) = server::schema() else { unreachable!("a schema is an object") };
        let schema: Arc<JsonObject> = Arc::new(schema);
        let tool = |number| {
            rmcp::model::Tool::new(frames::tool_name(number), server::description(number), Arc::clone(&schema))
        };
        Self { tools: Arc::new((0..tools).map(tool).collect()) }
    }
}

impl ServerHandler for Peer {
    fn get_info(&self) -> ServerConfig {
        let info = json!({
            "protocolVersion": "2025-11-25",
            "serverInfo": {"name": "bench", "version": "1.0.0"},
            "capabilities": {"tools": {}},
        });
        serde_json::from_value(info).expect("it is what rmcp writes")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        /// As its macro reads them.
        #[derive(serde::Deserialize)]
        struct Echo {
            text: String,
            #[expect(dead_code, reason = "read, like the rest, and not used")]
            n: i64,
        }
        let arguments = Value::Object(call.arguments.unwrap_or_default());
        let echo: Echo =
            serde_json::from_value(arguments).map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        Ok(CallToolResult::success(vec![ContentBlock::text(echo.text)]).into())
    }
}
