//! What a server answers by code instead of from a catalogue, page by page, in both eras.
#![allow(clippy::unwrap_used, missing_docs)]

mod lab;

use std::future::{IntoFuture, ready};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use lab::Lab;
use lab::joined::{builder, join_up};
use lab::wire::{Wire, text};
use mcp_sansio::client::Connect;
use mcp_sansio::json::Json;
use mcp_sansio::model::{ElicitResult, ListResult, Prompt, Tool};
use mcp_sansio::server::ListPage;
use mcp_sansio_io::server::{
    BuiltServer, CompletionRequest, Context, HandlerError, NamedCall, NoArguments, ReadRequest, Server,
};
use serde_json::{Value, json};

const MODES: [Connect; 2] = [Connect::Legacy, Connect::Modern];

/// Two pages, of one item each. The cursor is the application's own.
fn pages(cursor: Option<Box<str>>, item: impl Fn(&str) -> Value) -> Result<ListPage, HandlerError> {
    let (name, next_cursor) = match cursor.as_deref() {
        None => ("first", Some("to the second".to_owned())),
        Some("to the second") => ("second", None),
        Some(other) => return Err(HandlerError::shown(format!("no page {other}"))),
    };
    Ok(ListPage { items: vec![Json::from(item(name))], next_cursor })
}

fn server() -> BuiltServer {
    Server::new("s", "1")
        .dynamic_tools(
            |cursor, _| ready(pages(cursor, |name| json!({"name": name, "inputSchema": {"type": "object"}}))),
            |call: NamedCall, _| async move { format!("called {}", call.name) },
        )
        .dynamic_prompts(
            |cursor, _| ready(pages(cursor, |name| json!({"name": name}))),
            |call: NamedCall, _| async move { format!("{} with {}", call.name, call.arguments) },
        )
        .dynamic_resources(|cursor, _| {
            ready(pages(cursor, |name| json!({"name": name, "uri": format!("note:///{name}")})))
        })
        .dynamic_templates(|cursor, _| {
            ready(pages(cursor, |name| json!({"name": name, "uriTemplate": format!("note:///{name}/{{line}}")})))
        })
        .read_any(|asked: ReadRequest, cx: Context| async move {
            if asked.uri.ends_with("nothing") { Err(cx.not_found()) } else { Ok(format!("read {}", asked.uri)) }
        })
        .prompt(Prompt::new("known").argument("a").argument("b"), |_: Json, _| async { "known" })
        .complete_prompt("known", "a", |_: CompletionRequest, _| async { vec!["by its own handler"] })
        .complete_any(|asked: CompletionRequest, _| async move { vec![format!("any {}", asked.argument)] })
        .build()
        .unwrap()
}

/// The cursor to the second page, from the first one.
fn cursor<T>(page: &ListResult<T>) -> Option<&str> {
    assert_eq!(page.items.len(), 1);
    page.next_cursor.as_deref()
}

#[test]
fn lists_are_made_page_by_page() {
    for mode in MODES {
        let lab = Lab::new();
        let client = join_up(&lab, &server(), builder(mode)).unwrap();
        lab.run(async {
            let tools = client.tools_page(None).await.unwrap();
            assert_eq!(tools.items[0].name, "first");
            let tools = client.tools_page(cursor(&tools)).await.unwrap();
            assert_eq!((&*tools.items[0].name, cursor(&tools)), ("second", None));
            let prompts = client.prompts_page(None).await.unwrap();
            let prompts = client.prompts_page(cursor(&prompts)).await.unwrap();
            assert_eq!((&*prompts.items[0].name, cursor(&prompts)), ("second", None));
            let resources = client.resources_page(None).await.unwrap();
            let resources = client.resources_page(cursor(&resources)).await.unwrap();
            assert_eq!((&*resources.items[0].uri, cursor(&resources)), ("note:///second", None));
            let templates = client.templates_page(None).await.unwrap();
            let templates = client.templates_page(cursor(&templates)).await.unwrap();
            assert_eq!((&*templates.items[0].uri_template, cursor(&templates)), ("note:///second/{line}", None));
            // The walk over all pages asks the same.
            assert_eq!(client.resources().await.unwrap().len(), 2);
            assert_eq!(client.templates().await.unwrap().len(), 2);
            assert!(client.tools_page(Some("to nowhere")).await.is_err());
        });
    }
}

#[test]
fn what_is_listed_is_answered_by_code_too() {
    for mode in MODES {
        let lab = Lab::new();
        let client = join_up(&lab, &server(), builder(mode)).unwrap();
        lab.run(async {
            assert_eq!(client.call_tool("second", json!({})).await.unwrap().joined_text(), "called second");
            let prompt = client.get_prompt("second", json!({"x": "y"})).await.unwrap();
            let said = serde_json::to_value(&prompt.messages[0]).unwrap();
            assert_eq!(said["content"]["text"], r#"second with {"x":"y"}"#);
            let read = client.read_resource("note:///second").await.unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap()["contents"][0]["text"], "read note:///second");
            let error = client.read_resource("note:///nothing").await.unwrap_err();
            assert!(error.to_string().contains("resource not found"), "{error}");
            for (argument, values) in [("a", "by its own handler"), ("b", "any b")] {
                assert_eq!(client.complete_prompt("known", argument, "").await.unwrap().values, [values]);
            }
        });
    }
}

#[test]
fn a_user_is_sent_to_a_page() {
    let server = Server::new("s", "1")
        .tool(Tool::new("pay"), |_: NoArguments, cx: Context| async move {
            let paid = cx.elicit_url("pay", "Pay, please", "https://example.com/pay").await?;
            Ok(format!("{}", paid.accepted()))
        })
        .build()
        .unwrap();
    for mode in MODES {
        let lab = Lab::new();
        let pages: Arc<Mutex<Vec<String>>> = Arc::default();
        let opened = Arc::clone(&pages);
        let client = builder(mode).on_url(move |page, _| {
            opened.lock().unwrap().push(format!("{} at {}", page.message, page.url));
            ready(ElicitResult::accept(json!({})))
        });
        let client = join_up(&lab, &server, client).unwrap();
        assert_eq!(lab.run(client.call_tool("pay", json!({})).into_future()).unwrap().joined_text(), "true");
        assert_eq!(*pages.lock().unwrap(), ["Pay, please at https://example.com/pay"]);
    }
}

/// A handler that looks from time to time whether its answer is still wanted, and is not dropped for that.
#[test]
fn a_handler_can_ask_whether_it_is_cancelled() {
    let seen = Arc::new(AtomicUsize::new(0));
    let sees = Arc::clone(&seen);
    let server = Server::new("s", "1")
        .tool(Tool::new("look"), move |_: NoArguments, cx: Context| {
            let sees = Arc::clone(&sees);
            async move {
                let told = cx.cancelled();
                assert!(!cx.is_cancelled());
                told.await;
                sees.fetch_add(usize::from(cx.is_cancelled()), Ordering::Relaxed);
                "late"
            }
        })
        .tool(Tool::new("echo"), |_: NoArguments, _| async { "echo" })
        .build()
        .unwrap();
    let wire = Wire::legacy(&server);
    wire.call(1, "look", json!({}));
    wire.to.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    wire.call(2, "echo", json!({}));
    let line = wire.line();
    assert_eq!((&line["id"], text(&line)), (&json!(2), "echo"), "the cancelled call is not answered");
    assert_eq!(seen.load(Ordering::Relaxed), 1);
}
