//! Peers that are slow, large, many or hostile: each is bounded, and others are served meanwhile. Over real sockets;
//! time is the runtime's, and paused.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, missing_docs)]

mod front;
#[path = "../../io-common/tests/fronts/web.rs"]
mod web;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_sansio_tokio::core::http::server::Options;
use mcp_sansio_tokio::http::Bounds;
use mcp_sansio_tokio::model::Tool;
use mcp_sansio_tokio::server::{BuiltServer, Context, NoArguments, Server};
use serde_json::{Value, json};

use self::web::{Running, Wire, modern_request, start, start_with};

fn server() -> BuiltServer {
    Server::new("s", "1")
        .tool(
            Tool::new("echo"),
            |args: Value, _: Context| async move { args["text"].as_str().unwrap_or("").to_owned() },
        )
        .tool(Tool::new("large"), |_: NoArguments, _: Context| async { "x".repeat(3 << 20) })
        .build()
        .unwrap()
}

/// Whoever behaves is served.
async fn is_served(running: &Running) {
    let mut wire = running.open().await;
    wire.modern(1, "tools/call", json!({"name": "echo", "arguments": {"text": "served"}})).await;
    assert_eq!(wire.answer().await.json()["result"]["content"][0]["text"], "served");
}

async fn small() -> Running {
    let mut bounds = Bounds::default();
    bounds.connections = 2;
    bounds.headers = 20;
    bounds.head_bytes = 4 << 10;
    start_with(&server(), Options::default(), bounds).await
}

#[tokio::test(start_paused = true)]
async fn a_head_that_does_not_come_ends_its_connection() {
    let running = start(&server()).await;
    let mut slow = running.open().await;
    slow.write("POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-slow: ").await;
    is_served(&running).await;
    let begun = tokio::time::Instant::now();
    // A byte now and then does not help.
    let mut dripped = 0;
    while begun.elapsed() < Duration::from_secs(60) && slow.try_write("x").await {
        dripped += 1;
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    assert!((5..=8).contains(&dripped), "{dripped}");
    is_served(&running).await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_idle_is_closed() {
    let running = start(&server()).await;
    let mut idle = running.open().await;
    idle.modern(1, "tools/list", json!({})).await;
    assert_eq!(idle.answer().await.head.status, 200);
    let begun = tokio::time::Instant::now();
    assert!(idle.ends().await);
    assert!(begun.elapsed() >= Duration::from_secs(29), "{:?}", begun.elapsed());
}

/// The timer of a connection is kept from request to request; what it measures is not.
#[tokio::test(start_paused = true)]
async fn the_time_of_a_head_begins_with_the_last_answer() {
    let running = start(&server()).await;
    let mut idle = running.open().await;
    for id in 1..=3 {
        tokio::time::sleep(Duration::from_secs(20)).await;
        idle.modern(id, "tools/list", json!({})).await;
        assert_eq!(idle.answer().await.head.status, 200);
    }
    let begun = tokio::time::Instant::now();
    assert!(idle.ends().await);
    assert!((29..=31).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_answered_and_its_connection_closed() {
    let running = start(&server()).await;
    let mut slow = running.open().await;
    slow.write("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n").await;
    slow.write("accept: application/json, text/event-stream\r\ncontent-length: 100\r\n\r\n{").await;
    is_served(&running).await;
    assert_eq!(slow.answer().await.head.status, 408);
    assert!(slow.ends().await);
}

/// It is not the time that is wrong with it.
#[tokio::test]
async fn a_body_whose_framing_is_wrong_is_a_bad_request() {
    let running = start(&server()).await;
    let mut broken = running.open().await;
    broken.write("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n").await;
    broken.write("accept: application/json, text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nno size\r\n").await;
    assert_eq!(broken.answer().await.head.status, 400);
    assert!(broken.ends().await);
    is_served(&running).await;
}

#[tokio::test]
async fn an_endless_body_is_refused() {
    let running = start(&server()).await;
    let mut endless = running.open().await;
    endless.write("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n").await;
    endless.write("accept: application/json, text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n").await;
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let mut sent = 0;
    // The server may close while we write.
    while sent < 200 && endless.try_write(&chunk).await {
        sent += 1;
    }
    assert!(sent < 200, "nobody stopped us");
    is_served(&running).await;
    // One that says so beforehand is refused before it is sent.
    let mut large = running.open().await;
    large.write("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n").await;
    large.write("accept: application/json, text/event-stream\r\ncontent-length: 100000000\r\n\r\n").await;
    assert_eq!(large.answer().await.head.status, 413);
}

#[tokio::test]
async fn a_body_a_little_too_long_is_answered_with_413() {
    let running = start(&server()).await;
    let mut wire = running.open().await;
    wire.write("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n").await;
    wire.write("accept: application/json, text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n").await;
    for _ in 0..64 {
        wire.write(format!("10000\r\n{}\r\n", " ".repeat(0x10000))).await;
    }
    wire.write("1\r\n \r\n").await;
    assert_eq!(wire.answer().await.head.status, 413);
}

#[tokio::test]
async fn a_flood_of_headers_is_refused() {
    let running = small().await;
    let many: String = (0..50).map(|number| format!("x-{number}: 1\r\n")).collect();
    let long = format!("x-long: {}\r\n", "x".repeat(8 << 10));
    for (headers, may_be_lost) in [(many, false), (long, true)] {
        let mut wire = running.open().await;
        wire.write(format!("POST /mcp HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n")).await;
        // What we had not read of it when we closed may have taken the answer away.
        let head = wire.head().await;
        assert!(head.as_ref().map_or(may_be_lost, |head| head.status == 431), "{head:?}");
        assert!(head.is_none() || wire.ends().await);
    }
    // One that never ends is cut, whether it reads our answer or not.
    let mut endless = running.open().await;
    endless.write("POST /mcp HTTP/1.1\r\n").await;
    let mut sent = 0;
    while sent < 100_000 && endless.try_write(format!("x-{sent}: {}\r\n", "y".repeat(100))).await {
        sent += 1;
    }
    assert!(sent < 100_000, "nobody stopped us");
    is_served(&running).await;
}

#[tokio::test]
async fn connections_over_the_bound_wait() {
    let running = small().await;
    let (mut first, second) = (running.open().await, running.open().await);
    first.modern(1, "tools/list", json!({})).await;
    assert_eq!(first.answer().await.head.status, 200);
    let mut third = running.open().await;
    third.modern(1, "tools/list", json!({})).await;
    // It is not served while the others are there.
    first.modern(2, "tools/list", json!({})).await;
    assert_eq!(first.answer().await.head.status, 200);
    assert!(third.is_silent());
    drop(second);
    assert_eq!(third.answer().await.head.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_is_left() {
    let running = start(&server()).await;
    let mut deaf = running.open().await;
    for id in 0..8 {
        // More than any buffer of a socket holds.
        deaf.modern(id, "tools/call", json!({"name": "large", "arguments": {}})).await;
    }
    is_served(&running).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    // What buffers held is all that comes, and then the end.
    let rest = deaf.rest().await;
    assert!(rest < 20 << 20, "{rest}");
    is_served(&running).await;
}

#[tokio::test]
async fn what_is_no_http_is_refused() {
    let running = start(&server()).await;
    for garbage in ["\x16\x03\x01\x02\x00\x01\x00\x01\u{fc}\x03\x03", "{\"jsonrpc\":\"2.0\"}\n\n", "GET\r\n\r\n"] {
        let mut wire = Wire::open(running.address).await;
        wire.write(garbage).await;
        let head = wire.head().await;
        assert!(head.as_ref().is_some_and(|head| head.status == 400), "{head:?}");
    }
    is_served(&running).await;
}

/// RFC 9112, 9.3.2: an answer waits for nothing that its client sends after the request, whole or not.
#[tokio::test]
async fn what_follows_a_request_does_not_keep_its_answer_back() {
    let running = start(&server()).await;
    for more in ["\r\n", "POST /mcp HT", "GET /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n"] {
        let mut wire = running.open().await;
        let call =
            modern_text(1, "tools/call", "mcp-name: echo\r\n", json!({"name": "echo", "arguments": {"text": "a"}}));
        wire.write(call + more).await;
        assert_eq!(wire.answer().await.json()["result"]["content"][0]["text"], "a", "{more:?}");

        let mut wire = running.open().await;
        let filter = json!({"notifications": {"toolsListChanged": true}});
        wire.write(modern_text(1, "subscriptions/listen", "", filter) + more).await;
        assert_eq!(wire.head().await.unwrap().status, 200);
        let event = String::from_utf8(wire.chunk().await.unwrap()).unwrap();
        assert!(event.contains("acknowledged"), "{event}");
    }
}

/// A client that asks and asks, and reads nothing, is not served on and on: its answers would pile up.
#[tokio::test]
async fn requests_of_a_client_that_reads_nothing_wait() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let server = Server::new("s", "1").tool(Tool::new("large"), move |_: NoArguments, _: Context| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { "x".repeat(1 << 20) }
    });
    let running = start(&server.build().unwrap()).await;
    let mut deaf = running.open().await;
    let call = modern_text(1, "tools/call", "mcp-name: large\r\n", json!({"name": "large", "arguments": {}}));
    deaf.write(call.repeat(200)).await;
    let mut honest = running.open().await;
    for id in 1..=20 {
        honest.modern(id, "tools/list", json!({})).await;
        assert_eq!(honest.answer().await.head.status, 200);
    }
    // As many as the buffers of the connection hold, and not one more.
    let served = runs.load(Ordering::Relaxed);
    assert!((1..50).contains(&served), "{served}");
}

/// A request of the modern era, as it stands on the wire.
fn modern_text(id: u64, method: &str, more: &str, params: Value) -> String {
    let body = modern_request(id, method, params).to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: {method}\r\n{more}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}
