//! Servers and clients on sockets and other streams.

use crate::front::mcp::client::{Client, ClientBuilder, ConnectionError};
use crate::front::mcp::core::client::Connect;
use crate::front::mcp::model::Tool;
use crate::front::mcp::server::{BuiltServer, Context, Server};
use crate::front::mcp::{connect_stream, connect_tcp, serve_stream, serve_tcp};
use serde_json::{Value, json};

use crate::front::{self, TcpListener, pair, run_on_threads, spawn};

fn server() -> BuiltServer {
    Server::new("s", "1")
        .tool(
            Tool::new("echo"),
            |args: Value, _: Context| async move { args["text"].as_str().unwrap_or("").to_owned() },
        )
        .build()
        .unwrap()
}

fn client(mode: Connect) -> ClientBuilder {
    Client::builder("tester", "1.0").mode(mode)
}

#[front::test]
async fn tcp_serves_several_clients_of_both_eras() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = server();
    let serving = spawn(serve_tcp(server.clone(), listener));
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
#[front::test]
async fn unix_sockets_replace_stale_ones_only() {
    use crate::front::mcp::{connect_unix, serve_unix};

    let folder = std::env::temp_dir().join(format!("mcp-sansio-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("socket");
    // Nobody listens here any more.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let serving = spawn(serve_unix(server(), path.clone()));
    let client = loop {
        match connect_unix(client(Connect::Auto), &path).await {
            Ok(client) => break client,
            // It is about to listen.
            Err(_) => front::sleep(std::time::Duration::from_millis(1)).await,
        }
    };
    let echo = client.call_tool("echo", json!({"text": "hi"})).await.unwrap();
    assert_eq!(echo.joined_text(), "hi");
    // Somebody listens here.
    assert!(serve_unix(server(), &path).await.is_err());
    serving.abort();
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn calls_from_many_tasks_share_a_connection() {
    run_on_threads(async {
        let (ours, theirs) = pair().await;
        spawn(serve_stream(server(), theirs));
        let client = connect_stream(client(Connect::Modern), ours).await.unwrap();
        let tasks: Vec<_> = (0..64)
            .map(|task| {
                let client = client.clone();
                spawn(async move {
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
    });
}
