//! The server of the tour.

use std::error::Error;

use mcp_sansio_tokio::model::{ElicitParams, Prompt, PromptArgument, ResourceTemplate, Tool};
use mcp_sansio_tokio::serve_stdio;
use mcp_sansio_tokio::server::{CompletionRequest, Context, HandlerError, NoArguments, ReadRequest, Server};
use serde_json::json;

/// How many tools are there to be listed, the named ones included.
pub(crate) const TOOLS: usize = 120;
/// How many of them are on a page.
pub(crate) const PAGE: usize = 50;

const CITIES: [&str; 5] = ["Basel", "Bergamo", "Bern", "Genoa", "Lugano"];

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Forecast {
    /// The city to forecast the weather of.
    city: String,
    /// How many days, 1 to 5.
    #[schemars(range(min = 1, max = 5))]
    days: u32,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct AtLeast {
    /// Waits until there are so many.
    at_least: usize,
}

/// How many slow calls were cancelled.
#[derive(Default)]
struct Cancelled(tokio::sync::watch::Sender<usize>);

async fn forecast(args: Forecast, cx: Context) -> String {
    for day in 1..=args.days {
        let _ = cx.progress(f64::from(day), Some(f64::from(args.days))).await;
    }
    format!("{}: {} days of sun", args.city, args.days)
}

/// Asks twice: the second question depends on the answer to the first.
async fn book(_: NoArguments, cx: Context) -> Result<String, HandlerError> {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let where_to = cx.elicit("city", ElicitParams::form("Where to?", schema)).await?;
    let Some(content) = where_to.content else { return Ok("stayed at home".into()) };
    let city: serde_json::Value = content.parse()?;
    let city = city["city"].as_str().unwrap_or_default().to_owned();

    let schema = json!({"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]});
    let sure = cx.elicit("sure", ElicitParams::form(format!("To {city}: are you sure?"), schema)).await?;
    Ok(if sure.accepted() { format!("booked: {city}") } else { "stayed at home".into() })
}

/// Never ends by itself.
async fn slow(_: NoArguments, cx: Context) -> Result<(), HandlerError> {
    cx.cancelled().await;
    cx.require_data::<Cancelled>()?.0.send_modify(|count| *count += 1);
    Ok(())
}

async fn count_cancelled(args: AtLeast, cx: Context) -> Result<String, HandlerError> {
    let mut count = cx.require_data::<Cancelled>()?.0.subscribe();
    let count = count.wait_for(|count| *count >= args.at_least).await?;
    Ok(count.to_string())
}

async fn complete_city(asked: CompletionRequest, _: Context) -> Vec<&'static str> {
    CITIES.into_iter().filter(|city| city.starts_with(&*asked.value)).collect()
}

pub(crate) async fn serve() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut server = Server::new("quickstart", env!("CARGO_PKG_VERSION"))
        .instructions("Ask for a forecast, then book.")
        .page_size(PAGE)
        .data(Cancelled::default())
        .tool(Tool::new("forecast").description("Forecasts the weather of a city").read_only(), forecast)
        .tool(Tool::new("book").description("Books a journey"), book)
        .tool(Tool::new("slow").description("Takes for ever"), slow)
        .tool(Tool::new("count_cancelled").description("Counts cancelled calls").read_only(), count_cancelled)
        .template(
            ResourceTemplate::new("city", "city://{country}/{name}").mime_type("text/plain"),
            |asked: ReadRequest, _| async move {
                let value = |name| asked.bindings.text(name).unwrap_or("?").to_owned();
                format!("{} lies in {}.", value("name"), value("country"))
            },
        )
        .prompt(
            Prompt::new("plan").argument(PromptArgument::new("city").required(true)),
            |args: serde_json::Value, _| async move { format!("Plan a day in {}.", args["city"]) },
        )
        .complete_prompt("plan", "city", complete_city);
    for number in 5..=TOOLS {
        let tool = Tool::new(format!("tool_{number:03}")).description("One of many");
        server = server.tool(tool, |_: NoArguments, _| async { "one of many" });
    }
    Ok(serve_stdio(server.build()?).await?)
}
