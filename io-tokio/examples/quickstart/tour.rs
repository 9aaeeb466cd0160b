//! What a client does, step by step, with what must hold after each.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mcp_sansio_tokio::Command;
use mcp_sansio_tokio::client::{Client, ClientError};
use mcp_sansio_tokio::core::client::{CallError, Connect};
use mcp_sansio_tokio::model::{ElicitFormParams, ElicitResult, ResourceContents};
use mcp_sansio_tokio::spec::Era;
use serde_json::json;

use crate::{SERVE, server, show};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

pub(crate) async fn run() -> Outcome {
    show::title("automatic: the server is modern, so the modern era is spoken");
    visit(Connect::Auto, Era::Modern).await?;
    show::title("forced: the same server in the legacy era");
    visit(Connect::Legacy, Era::Legacy).await
}

/// Fails the tour unless something holds.
fn check(holds: bool, what: impl Into<String>) -> Outcome {
    let what = what.into();
    if !holds {
        return Err(format!("this did not hold: {what}").into());
    }
    show::held(&what);
    Ok(())
}

async fn visit(mode: Connect, era: Era) -> Outcome {
    let asked = Arc::new(AtomicUsize::new(0));
    let client = Client::builder("quickstart", env!("CARGO_PKG_VERSION")).mode(mode).trace(show::hook()).on_form({
        let asked = Arc::clone(&asked);
        move |form, _| {
            asked.fetch_add(1, Ordering::Relaxed);
            std::future::ready(answer(&form))
        }
    });

    show::step("connect");
    let client = Command::new(std::env::current_exe()?).arg(SERVE).connect(client).await?;
    check(client.era() == Some(era), format!("the era is {era}"))?;
    check(client.server_info().is_some_and(|info| info.name == "quickstart"), "the server says who it is")?;

    list(&client).await?;
    call(&client).await?;
    elicit(&client, &asked).await?;
    read(&client).await?;
    complete(&client).await?;
    cancel(&client).await?;

    show::step("close");
    client.close();
    client.ended().await;
    check(client.is_closed(), "the connection is closed, and the server has ended")
}

async fn list(client: &Client) -> Outcome {
    show::step("list the tools, page by page");
    let (mut tools, mut pages, mut cursor) = (Vec::new(), 0, None);
    loop {
        let page = client.tools_page(cursor.as_deref()).await?;
        tools.extend(page.items);
        pages += 1;
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let expected = server::TOOLS.div_ceil(server::PAGE);
    check(tools.len() == server::TOOLS && pages == expected, format!("{} tools on {pages} pages", tools.len()))
}

async fn call(client: &Client) -> Outcome {
    show::step("call a tool, with progress");
    let reports: Arc<Mutex<Vec<f64>>> = Arc::default();
    let result = client
        .call_tool("forecast", json!({"city": "Bern", "days": 3}))
        .progress({
            let reports = Arc::clone(&reports);
            move |report| reports.lock().unwrap_or_else(PoisonError::into_inner).push(report.progress)
        })
        .await?;
    check(result.joined_text() == "Bern: 3 days of sun", "the tool has answered")?;
    let reports = reports.lock().unwrap_or_else(PoisonError::into_inner).clone();
    check(reports == [1.0, 2.0, 3.0], format!("progress was reported: {reports:?}"))
}

/// The user of this tour.
fn answer(form: &ElicitFormParams) -> ElicitResult {
    ElicitResult::accept(if form.message == "Where to?" { json!({"city": "Genoa"}) } else { json!({"sure": true}) })
}

async fn elicit(client: &Client, asked: &AtomicUsize) -> Outcome {
    show::step("call a tool that asks the user, twice");
    let result = client.call_tool("book", json!({})).await?;
    check(asked.load(Ordering::Relaxed) == 2, "the user was asked twice")?;
    check(result.joined_text() == "booked: Genoa", "both answers have arrived")
}

async fn read(client: &Client) -> Outcome {
    show::step("read a resource that a template describes");
    let result = client.read_resource("city://it/Bergamo%20Alta").await?;
    let text = match result.contents.first() {
        Some(ResourceContents::Text(contents)) => contents.text.clone(),
        other => format!("{other:?}"),
    };
    check(text == "Bergamo Alta lies in it.", text)
}

async fn complete(client: &Client) -> Outcome {
    show::step("complete an argument of a prompt");
    let completion = client.complete_prompt("plan", "city", "Be").await?;
    check(completion.values == ["Bergamo", "Bern"], format!("Be… is {:?}", completion.values))
}

async fn cancel(client: &Client) -> Outcome {
    show::step("cancel a slow call");
    let slow = client.call_tool("slow", json!({})).send()?;
    // Something else goes on meanwhile, and shows that the server has the slow call.
    client.call_tool("count_cancelled", json!({"at_least": 0})).await?;
    slow.cancel(Some("the tour goes on"));
    let outcome = slow.await;
    check(outcome == Err(ClientError::Call(CallError::Cancelled)), "the call has ended")?;
    let count = client.call_tool("count_cancelled", json!({"at_least": 1})).await?;
    check(count.joined_text() == "1", "the server has stopped the work")
}
