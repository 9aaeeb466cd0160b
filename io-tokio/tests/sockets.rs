//! Servers and clients on sockets and other streams, on tokio's own clock.
#![allow(clippy::unwrap_used, missing_docs)]

use std::time::Duration;

use mcp_sansio_tokio::client::{Client, ClientBuilder, ClientError, ConnectionError};
use mcp_sansio_tokio::core::client::{CallError, Connect, TimeoutKind};
use mcp_sansio_tokio::model::Tool;
use mcp_sansio_tokio::server::{BuiltServer, Context, NoArguments, Server};
use mcp_sansio_tokio::{connect_stream, connect_tcp, serve_stream, serve_tcp};
use serde_json::{Value, json};
use tokio::net::TcpListener;

fn server() -> BuiltServer {
    Server::new("s", "1")
        .tool(
            Tool::new("echo"),
            |args: Value, _: Context| async move { args["text"].as_str().unwrap_or("").to_owned() },
        )
        .tool(Tool::new("hour"), |_: NoArguments, _| async {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            "an hour later"
        })
        .build()
        .unwrap()
}

fn client(mode: Connect) -> ClientBuilder {
    Client::builder("tester", "1.0").mode(mode)
}

#[tokio::test]
async fn tcp_serves_several_clients_of_both_eras() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = server();
    let serving = tokio::spawn(serve_tcp(server.clone(), listener));
    let modern = connect_tcp(client(Connect::Modern), address).await.unwrap();
    let legacy = connect_tcp(client(Connect::Legacy), address).await.unwrap();
    for client in [&modern, &legacy] {
        let echo = client.call_tool("echo", json!({"text": "hi"})).await.unwrap();
        assert_eq!(echo.joined_text(), "hi");
    }
    assert_eq!(server.connections().len(), 2);
    // Without its listener, connections end too.
    serving.abort();
    modern.ended().await;
    legacy.ended().await;
    assert!(matches!(connect_tcp(client(Connect::Auto), address).await, Err(ConnectionError::Stream(_))));
}

#[cfg(unix)]
#[tokio::test]
async fn unix_sockets_replace_stale_ones_only() {
    use mcp_sansio_tokio::{connect_unix, serve_unix};

    let folder = std::env::temp_dir().join(format!("mcp-sansio-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("socket");
    // Nobody listens here any more.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let serving = tokio::spawn(serve_unix(server(), path.clone()));
    let client = loop {
        match connect_unix(client(Connect::Auto), &path).await {
            Ok(client) => break client,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let echo = client.call_tool("echo", json!({"text": "hi"})).await.unwrap();
    assert_eq!(echo.joined_text(), "hi");
    // Somebody listens here.
    assert!(serve_unix(server(), &path).await.is_err());
    serving.abort();
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test(start_paused = true)]
async fn timeouts_follow_the_clock_of_the_runtime() {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    tokio::spawn(serve_stream(server(), theirs));
    let client = connect_stream(client(Connect::Modern), ours).await.unwrap();
    let error = client.call_tool("hour", json!({})).await.unwrap_err();
    assert_eq!(error, ClientError::Call(CallError::TimedOut { kind: TimeoutKind::Idle }));
    let patient = client.call_tool("hour", json!({})).timeout(None).idle_timeout(None);
    assert_eq!(patient.await.unwrap().joined_text(), "an hour later");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_from_many_tasks_share_a_connection() {
    let (ours, theirs) = tokio::io::duplex(4 << 10);
    tokio::spawn(serve_stream(server(), theirs));
    let client = connect_stream(client(Connect::Modern), ours).await.unwrap();
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let client = client.clone();
            tokio::spawn(async move {
                for call in 0..50 {
                    let text = format!("{task}.{call}");
                    let echo = client.call_tool("echo", json!({"text": text})).await.unwrap();
                    assert_eq!(echo.joined_text(), text);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}
