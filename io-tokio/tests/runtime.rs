//! What only tokio has: a clock that tests can move, and runtimes that can be dropped.
#![cfg(all(feature = "http", unix))]
#![allow(clippy::unwrap_used, missing_docs)]

mod front;
#[path = "../../io-common/tests/fronts/web.rs"]
mod web;

use std::time::Duration;

use mcp_sansio_tokio::client::{Client, ClientError};
use mcp_sansio_tokio::core::client::{CallError, Connect, TimeoutKind};
use mcp_sansio_tokio::model::Tool;
use mcp_sansio_tokio::server::{BuiltServer, NoArguments, Server};
use mcp_sansio_tokio::{Command, connect_stream, serve_stream};
use serde_json::json;

fn server() -> BuiltServer {
    Server::new("s", "1")
        .tool(Tool::new("hour"), |_: NoArguments, _| async {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            "an hour later"
        })
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn timeouts_follow_the_clock_of_the_runtime() {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    tokio::spawn(serve_stream(server(), theirs));
    let client = Client::builder("tester", "1.0").mode(Connect::Modern);
    let client = connect_stream(client, ours).await.unwrap();
    let error = client.call_tool("hour", json!({})).await.unwrap_err();
    assert_eq!(error, ClientError::Call(CallError::TimedOut { kind: TimeoutKind::Idle }));
    let patient = client.call_tool("hour", json!({})).timeout(None).idle_timeout(None);
    assert_eq!(patient.await.unwrap().joined_text(), "an hour later");
}

/// Idle sessions go.
#[tokio::test(start_paused = true)]
async fn an_idle_session_expires() {
    let server = server();
    let running = web::start(&server).await;
    let mut wire = running.open().await;
    let session = wire.initialize("2025-11-25").await;
    drop(wire);
    tokio::time::advance(Duration::from_secs(29 * 60)).await;
    assert_eq!(server.connections().len(), 1);
    tokio::time::sleep(Duration::from_secs(2 * 60)).await;
    assert!(server.connections().is_empty());
    let mut wire = running.open().await;
    wire.legacy(&session, json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    assert_eq!(wire.answer().await.head.status, 404);
}

#[test]
fn a_runtime_that_is_dropped_leaves_no_orphan() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (client, pids) = runtime.block_on(async {
        let script = r#"sleep 1000 & echo "$$ $!" >&2; "$0"; sleep 1000"#;
        let server = front::example(front::STDIO_SERVER);
        let (command, stderr) = Command::new("sh").arg("-c").arg(script).arg(server).capture_stderr();
        let client = command.connect(Client::builder("tester", "1.0")).await.unwrap();
        (client, stderr.text())
    });
    // Neither closed nor awaited: the process just ends.
    drop(runtime);
    drop(client);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for pid in pids.split_whitespace() {
            assert!(ended(pid).await, "{pid}");
        }
    });
}

/// Waits until a process has ended. The kernel may take a moment.
async fn ended(pid: &str) -> bool {
    for _ in 0..200 {
        let mut kill = std::process::Command::new("kill");
        if !kill.args(["-0", pid]).stderr(std::process::Stdio::null()).status().unwrap().success() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}
