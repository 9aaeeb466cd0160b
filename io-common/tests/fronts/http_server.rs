//! A server over HTTP, asked by hand over real sockets, in both eras.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::front::mcp::core::http::server::{Options, Replay};
use crate::front::mcp::core::server::Event;
use crate::front::mcp::http::Bounds;
use crate::front::mcp::model::{ElicitParams, Tool};
use crate::front::mcp::server::{Cancelled, Context, HandlerError, NoArguments, Server};
use futures_util::future::{Either, select};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify, mpsc};

use super::web::{Events, Wire, start, start_with};
use crate::front::{self, spawn};

fn server() -> Server {
    Server::new("s", "1")
        .tool(Tool::new("echo"), |args: Value, _: Context| async move { text(&args) })
        .tool(Tool::new("steps"), |_: NoArguments, cx: Context| async move {
            for step in 1..=3 {
                let _ = cx.progress(f64::from(step), Some(3.0)).await;
            }
            "done"
        })
        .tool(Tool::new("ask"), |_: NoArguments, cx: Context| async move {
            let schema = json!({"type": "object", "properties": {"size": {"type": "string"}}});
            let answer = cx.elicit("size", ElicitParams::form("Which size?", schema)).await?;
            let content: Value = answer.content.map_or(Ok(Value::Null), |content| content.parse())?;
            Ok::<_, HandlerError>(format!("size {}", content["size"]))
        })
        .tool(Tool::new("who"), |_: NoArguments, cx: Context| async move {
            format!("{} as {}", cx.header("User-Agent").unwrap_or("nobody"), cx.principal().unwrap_or("anyone"))
        })
        .list_changed()
        .subscriptions()
}

fn text(args: &Value) -> String {
    args["text"].as_str().unwrap_or("").to_owned()
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

fn legacy_call(id: u64, name: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call(name, arguments)})
}

fn content(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"))
}

/// M-HTTP-13
#[front::test]
async fn a_modern_call_is_answered_as_json() {
    let running = start(&server().build().unwrap()).await;
    let mut wire = running.open().await;
    for round in 1..=3 {
        // On one connection.
        wire.modern(round, "tools/call", call("echo", json!({"text": "hi"}))).await;
        let answer = wire.answer().await;
        assert_eq!((answer.head.status, answer.head.header("content-type")), (200, Some("application/json")));
        assert_eq!(answer.head.header("mcp-session-id"), None);
        assert_eq!((&answer.json()["id"], content(&answer.json())), (&json!(round), "hi"));
    }
    assert_eq!(format!("{:?}", running.service), "HttpService { sessions: 0, .. }");
}

/// M-HTTP-13, M-HTTP-15, M-HTTP-17, M-HTTP-18
#[front::test]
async fn progress_turns_the_answer_into_a_stream() {
    let running = start(&server().build().unwrap()).await;
    let mut wire = running.open().await;
    let mut params = call("steps", json!({}));
    params["_meta"] = json!({"progressToken": "p"});
    wire.modern(1, "tools/call", params).await;
    let answer = wire.answer().await;
    assert_eq!((answer.head.status, answer.head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(answer.head.header("x-accel-buffering"), Some("no"));
    let events = answer.events();
    assert_eq!(events.len(), 4);
    for (step, event) in events.iter().take(3).enumerate() {
        assert_eq!(event["params"]["progressToken"], "p");
        assert_eq!(event["params"]["progress"], json!(step as f64 + 1.0));
    }
    assert_eq!(content(&events[3]), "done");
    // Without a token, nobody asked.
    wire.modern(2, "tools/call", call("steps", json!({}))).await;
    assert_eq!(content(&wire.answer().await.json()), "done");
}

#[front::test]
async fn a_modern_question_is_a_result_with_state() {
    let running = start(&server().build().unwrap()).await;
    let mut wire = running.open().await;
    wire.modern(1, "tools/call", call("ask", json!({}))).await;
    let first = wire.answer().await.json();
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let mut params = call("ask", json!({}));
    params["requestState"] = first["result"]["requestState"].clone();
    params["inputResponses"] = json!({"size": {"action": "accept", "content": {"size": "L"}}});
    // Another connection, as if another process had asked.
    let mut other = running.open().await;
    other.modern(2, "tools/call", params).await;
    assert_eq!(content(&other.answer().await.json()), "size \"L\"");
}

#[front::test]
async fn a_legacy_question_is_a_request_on_the_stream_of_its_call() {
    let running = start(&server().build().unwrap()).await;
    let mut wire = running.open().await;
    let session = wire.initialize("2025-11-25").await;
    wire.legacy(&session, legacy_call(1, "ask", json!({}))).await;
    let head = wire.head().await.unwrap();
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    let mut events = Events::default();
    let question = wire.event(&mut events).await.unwrap().json();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let mut other = running.open().await;
    let result = json!({"action": "accept", "content": {"size": "M"}});
    other.legacy(&session, json!({"jsonrpc": "2.0", "id": question["id"], "result": result})).await;
    assert_eq!(other.answer().await.head.status, 202);
    let answer = wire.event(&mut events).await.unwrap().json();
    assert_eq!(content(&answer), "size \"M\"");
    assert!(wire.event(&mut events).await.is_none());
}

#[front::test]
async fn handlers_see_the_head_of_their_request() {
    let running = start(&server().build().unwrap()).await;
    let mut wire = running.open().await;
    wire.modern_with(&[("user-agent", "test/1")], 1, "tools/call", call("who", json!({}))).await;
    assert_eq!(content(&wire.answer().await.json()), "test/1 as anyone");
    let session = wire.initialize("2025-06-18").await;
    wire.post(
        &[("mcp-session-id", &session), ("mcp-protocol-version", "2025-06-18"), ("user-agent", "test/2")],
        &legacy_call(1, "who", json!({})).to_string(),
    )
    .await;
    assert_eq!(content(&wire.answer().await.json()), "test/2 as anyone");
}

#[front::test]
async fn the_standing_stream_of_a_session_carries_what_has_changed() {
    let server = server().build().unwrap();
    let running = start(&server).await;
    let mut wire = running.open().await;
    let session = wire.initialize("2025-11-25").await;
    assert_eq!(server.connections().len(), 1);
    let mut standing = running.open().await;
    standing.get(&[("mcp-session-id", &session), ("mcp-protocol-version", "2025-11-25")]).await;
    assert_eq!(standing.head().await.unwrap().header("content-type"), Some("text/event-stream"));
    server.publish(&Event::ToolsListChanged);
    let mut events = Events::default();
    let event = standing.event(&mut events).await.unwrap().json();
    assert_eq!(event["method"], "notifications/tools/list_changed");
    // A session that is ended takes its stream along, and is not known any more.
    wire.write(format!("DELETE /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: {session}\r\n\r\n")).await;
    assert_eq!(wire.answer().await.head.status, 204);
    assert!(standing.event(&mut events).await.is_none());
    wire.legacy(&session, legacy_call(1, "echo", json!({}))).await;
    assert_eq!(wire.answer().await.head.status, 404);
    assert!(server.connections().is_empty());
}

#[front::test]
async fn a_listen_stream_carries_what_it_asked_for_and_is_ended_at_shutdown() {
    let server = server().build().unwrap();
    let running = start(&server).await;
    let mut wire = running.open().await;
    wire.modern(7, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})).await;
    assert_eq!(wire.head().await.unwrap().header("content-type"), Some("text/event-stream"));
    let mut events = Events::default();
    let open = wire.event(&mut events).await.unwrap().json();
    assert_eq!(open["method"], "notifications/subscriptions/acknowledged", "{open}");
    server.publish(&Event::PromptsListChanged);
    server.publish(&Event::ToolsListChanged);
    let event = wire.event(&mut events).await.unwrap().json();
    assert_eq!(event["method"], "notifications/tools/list_changed");
    let stopped = running.stop();
    let last = wire.event(&mut events).await.unwrap().json();
    assert_eq!((&last["id"], last["result"].is_object()), (&json!(7), true), "{last}");
    assert!(wire.event(&mut events).await.is_none());
    stopped.await.unwrap();
}

/// A tool that tells how it ends, and can be held up.
struct Held {
    begun: Arc<Notify>,
    release: Arc<Notify>,
    ends: mpsc::UnboundedReceiver<Option<Cancelled>>,
}

fn held(server: Server) -> (Server, Held) {
    let (sender, ends) = mpsc::unbounded_channel();
    let (begun, release): (Arc<Notify>, Arc<Notify>) = Default::default();
    let (beginning, releasing) = (Arc::clone(&begun), Arc::clone(&release));
    let server = server.tool(Tool::new("held"), move |_: NoArguments, cx: Context| {
        let (begun, release, ends) = (Arc::clone(&beginning), Arc::clone(&releasing), sender.clone());
        async move {
            begun.notify_one();
            let end = match select(pin!(release.notified()), pin!(cx.cancelled())).await {
                Either::Left(_) => None,
                Either::Right((why, _)) => Some(why),
            };
            let _ = ends.send(end);
            "released"
        }
    });
    (server, Held { begun, release, ends })
}

/// U-13. M-HTTP-23, M-CANC-04, M-CANC-17
#[front::test]
async fn a_modern_client_that_goes_away_has_cancelled() {
    let (server, mut held) = held(server());
    let running = start(&server.build().unwrap()).await;
    let mut wire = running.open().await;
    wire.modern(1, "tools/call", call("held", json!({}))).await;
    held.begun.notified().await;
    drop(wire);
    assert_eq!(held.ends.recv().await, Some(Some(Cancelled::Disconnected)));
}

#[front::test]
async fn a_legacy_client_that_goes_away_has_not_cancelled_and_can_come_back() {
    let (server, mut held) = held(server());
    let options = Options::default().replay(Replay::default());
    let running = start_with(&server.build().unwrap(), options, Bounds::default()).await;
    let mut wire = running.open().await;
    let session = wire.initialize("2025-11-25").await;
    wire.legacy(&session, legacy_call(1, "held", json!({}))).await;
    wire.head().await.unwrap();
    let mut events = Events::default();
    let priming = wire.event(&mut events).await.unwrap();
    let last = priming.id.expect("an event to come back to");
    held.begun.notified().await;
    drop(wire);
    held.release.notify_one();
    assert_eq!(held.ends.recv().await, Some(None));
    let mut again = running.open().await;
    let headers = [("mcp-session-id", &*session), ("mcp-protocol-version", "2025-11-25"), ("last-event-id", &*last)];
    again.get(&headers).await;
    assert_eq!(again.head().await.unwrap().status, 200);
    let mut events = Events::default();
    assert_eq!(content(&again.event(&mut events).await.unwrap().json()), "released");
    assert!(again.event(&mut events).await.is_none());
}

#[front::test]
async fn a_handler_can_close_its_stream_and_its_client_comes_back() {
    let release = Arc::new(Notify::new());
    let releasing = Arc::clone(&release);
    let server = server().tool(Tool::new("poll"), move |_: NoArguments, cx: Context| {
        let release = Arc::clone(&releasing);
        async move {
            let _ = cx.close_stream();
            release.notified().await;
            "polled"
        }
    });
    let retry = Duration::from_millis(1_500);
    let options = Options::default().replay(Replay { retry, ..Replay::default() });
    let running = start_with(&server.build().unwrap(), options, Bounds::default()).await;
    let mut wire = running.open().await;
    let session = wire.initialize("2025-11-25").await;
    wire.legacy(&session, legacy_call(1, "poll", json!({}))).await;
    wire.head().await.unwrap();
    let mut events = Events::default();
    let (mut last, mut waits) = (None, None);
    while let Some(event) = wire.event(&mut events).await {
        last = event.id.or(last);
        waits = event.retry.or(waits);
        assert_eq!(event.data, "");
    }
    assert_eq!(waits, Some(1_500));
    release.notify_one();
    let last = last.unwrap();
    wire.get(&[("mcp-session-id", &session), ("mcp-protocol-version", "2025-11-25"), ("last-event-id", &last)]).await;
    assert_eq!(wire.head().await.unwrap().status, 200);
    assert_eq!(content(&wire.event(&mut Events::default()).await.unwrap().json()), "polled");
}

/// O06, of many clients.
#[front::test]
async fn concurrent_requests_with_one_id_stay_apart() {
    const CLIENTS: usize = 8;
    let barrier = Arc::new(Barrier::new(CLIENTS));
    let server = server().tool(Tool::new("meet"), move |args: Value, _: Context| {
        let barrier = Arc::clone(&barrier);
        async move {
            // All of them are under way.
            barrier.wait().await;
            text(&args)
        }
    });
    let running = start(&server.build().unwrap()).await;
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let mut wire = running.open().await;
        clients.push(spawn(async move {
            let arguments = json!({"text": format!("client {client}")});
            let answer = if client % 2 == 0 {
                wire.modern(1, "tools/call", call("meet", arguments)).await;
                wire.answer().await.json()
            } else {
                let session = wire.initialize("2025-11-25").await;
                wire.legacy(&session, legacy_call(1, "meet", arguments)).await;
                wire.answer().await.json()
            };
            assert_eq!((&answer["id"], content(&answer)), (&json!(1), &*format!("client {client}")));
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
}

#[front::test]
async fn a_replaced_server_tells_listeners_and_sessions_and_serves_anew() {
    let server = server().build().unwrap();
    let running = start(&server).await;
    let mut wire = running.open().await;
    let session = wire.initialize("2025-11-25").await;
    let mut standing = running.open().await;
    standing.get(&[("mcp-session-id", &session), ("mcp-protocol-version", "2025-11-25")]).await;
    standing.head().await.unwrap();
    let mut listening = running.open().await;
    listening.modern(7, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})).await;
    listening.head().await.unwrap();
    let mut events = Events::default();
    listening.event(&mut events).await.unwrap();
    let next = Server::new("s", "2")
        .tool(Tool::new("new"), |_: NoArguments, _: Context| async { "new" })
        .list_changed()
        .subscriptions();
    server.replace(next).unwrap();
    for (wire, events) in [(&mut standing, &mut Events::default()), (&mut listening, &mut events)] {
        let event = wire.event(events).await.unwrap().json();
        assert_eq!(event["method"], "notifications/tools/list_changed");
    }
    wire.legacy(&session, legacy_call(1, "new", json!({}))).await;
    assert_eq!(content(&wire.answer().await.json()), "new");
    wire.modern(1, "tools/call", call("new", json!({}))).await;
    assert_eq!(content(&wire.answer().await.json()), "new");
}

#[front::test]
async fn a_session_goes_on_in_another_server() {
    let server = server().build().unwrap();
    let first = start(&server).await;
    let mut wire = first.open().await;
    let session = wire.initialize("2025-11-25").await;
    let exported = first.service.export_sessions();
    assert_eq!(exported.len(), 1);
    let second = start(&server).await;
    second.service.import_session(&exported[0]).unwrap();
    assert!(second.service.import_session(&exported[0]).is_err(), "it is here already");
    assert!(second.service.import_session(b"garbage").is_err());
    let mut wire = second.open().await;
    wire.legacy(&session, legacy_call(1, "echo", json!({"text": "moved"}))).await;
    assert_eq!(content(&wire.answer().await.json()), "moved");
}

#[front::test]
async fn what_runs_may_finish_when_the_server_stops() {
    let (server, mut held) = held(server());
    let running = start(&server.build().unwrap()).await;
    let address = running.address;
    let (mut modern, mut legacy) = (running.open().await, running.open().await);
    modern.modern(1, "tools/call", call("held", json!({}))).await;
    held.begun.notified().await;
    let session = legacy.initialize("2025-11-25").await;
    let mut standing = running.open().await;
    standing.get(&[("mcp-session-id", &session), ("mcp-protocol-version", "2025-11-25")]).await;
    standing.head().await.unwrap();
    legacy.legacy(&session, legacy_call(1, "held", json!({}))).await;
    held.begun.notified().await;
    let mut idle = running.open().await;
    let stopped = running.stop();
    // Who does nothing is sent away at once, who waits for news too, and nobody is let in.
    assert!(idle.ends().await);
    assert!(standing.event(&mut Events::default()).await.is_none());
    assert!(front::connect(address).await.is_err());
    for wire in [&mut modern, &mut legacy] {
        held.release.notify_one();
        assert_eq!(held.ends.recv().await, Some(None));
        assert_eq!(content(&wire.answer().await.json()), "released");
    }
    stopped.await.unwrap();
    for wire in [&mut modern, &mut legacy] {
        assert!(wire.ends().await);
    }
}

#[front::test]
async fn a_server_that_is_dropped_ends_its_connections() {
    let (server, mut held) = held(server());
    let server = server.build().unwrap();
    let serving = spawn(front::mcp::serve_http(server.clone(), "127.0.0.1:0"));
    serving.abort();
    assert!(serving.await.is_err());
    let running = start(&server).await;
    let mut wire = running.open().await;
    wire.modern(1, "tools/call", call("held", json!({}))).await;
    held.begun.notified().await;
    running.abort();
    assert_eq!(held.ends.recv().await, Some(Some(Cancelled::Disconnected)));
    assert!(wire.ends().await);
    drop(Wire::open(start(&server).await.address).await);
}
