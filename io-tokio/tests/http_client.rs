//! A client over HTTP against our own server, over real sockets, in both eras.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, missing_docs)]

mod web;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_sansio_tokio::client::{Client, ClientBuilder, ClientError, ConnectionError};
use mcp_sansio_tokio::core::client::Connect;
use mcp_sansio_tokio::core::http::server::{Options, Replay};
use mcp_sansio_tokio::core::server::Event;
use mcp_sansio_tokio::http::Bounds;
use mcp_sansio_tokio::http::client::Endpoint;
use mcp_sansio_tokio::model::{ElicitParams, ElicitResult, SubscriptionFilter, Tool};
use mcp_sansio_tokio::server::{Cancelled, Context, HandlerError, NoArguments, Server};
use mcp_sansio_tokio::spec::{Era, Version};
use mcp_sansio_tokio::{connect_endpoint, connect_http};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use self::web::{Running, start, start_with};

fn server() -> Server {
    Server::new("s", "1")
        .tool(
            Tool::new("echo"),
            |args: Value, _: Context| async move { args["text"].as_str().unwrap_or("").to_owned() },
        )
        .tool(Tool::new("steps"), |_: NoArguments, cx: Context| async move {
            for step in 1..=3 {
                let _ = cx.progress(f64::from(step), Some(3.0)).await;
            }
            "done"
        })
        .tool(Tool::new("ask"), |_: NoArguments, cx: Context| async move {
            let schema = json!({"type": "object", "properties": {"size": {"type": "string"}}});
            let answer = cx.elicit("size", ElicitParams::form("Which size?", schema)).await?;
            Ok::<_, HandlerError>(answer.content.map_or_else(String::new, |content| content.get().to_owned()))
        })
        .tool(Tool::new("header"), |args: Value, cx: Context| async move {
            cx.header(args["name"].as_str().unwrap_or("")).unwrap_or("none").to_owned()
        })
        .list_changed()
        .subscriptions()
}

fn client(mode: Connect) -> ClientBuilder {
    Client::builder("tester", "1.0").mode(mode).on_form(|_, _| async { ElicitResult::accept(json!({"size": "S"})) })
}

async fn connect(running: &Running, mode: Connect) -> Client {
    connect_endpoint(client(mode), Endpoint::new(&running.url()).unwrap()).await.unwrap()
}

#[tokio::test]
async fn calls_progress_and_questions_work_in_both_eras() {
    let running = start(&server().build().unwrap()).await;
    for (mode, era) in [(Connect::Auto, Era::Modern), (Connect::Modern, Era::Modern), (Connect::Legacy, Era::Legacy)] {
        let client = connect(&running, mode).await;
        assert_eq!(client.era(), Some(era));
        assert_eq!(client.session_id().is_some(), era == Era::Legacy);
        assert_eq!(client.tools().await.unwrap().len(), 4);
        assert_eq!(client.call_tool("echo", json!({"text": "hi"})).await.unwrap().joined_text(), "hi");
        let (call, mut progress) = client.call_tool("steps", json!({})).progress_stream();
        assert_eq!(call.await.unwrap().joined_text(), "done");
        for step in 1..=3 {
            assert_eq!(progress.next().await.unwrap().progress, f64::from(step));
        }
        assert_eq!(client.call_tool("ask", json!({})).await.unwrap().joined_text(), r#"{"size":"S"}"#);
        client.close();
        client.ended().await;
    }
}

#[tokio::test]
async fn a_legacy_server_is_found_out() {
    let versions = &[Version::V2025_06_18];
    let running = start(&server().versions(versions).build().unwrap()).await;
    let client = connect_http(&running.url()).await.unwrap();
    assert_eq!(client.version(), Some(Version::V2025_06_18));
    assert_eq!(client.call_tool("echo", json!({"text": "hi"})).await.unwrap().joined_text(), "hi");
    let url = Endpoint::new(&running.url()).unwrap();
    let error = connect_endpoint(Client::builder("t", "1").mode(Connect::Modern), url).await.unwrap_err();
    assert!(matches!(error, ConnectionError::Refused(_)), "{error:?}");
}

#[tokio::test]
async fn nobody_at_the_address_is_a_typed_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let error = connect_http(&url).await.unwrap_err();
    assert!(matches!(error, ConnectionError::Refused(_)), "{error:?}");
    assert!(error.to_string().contains("cannot connect"), "{error}");
    assert!(matches!(connect_http("ftp://127.0.0.1/").await, Err(ConnectionError::Endpoint(_))));
}

#[tokio::test]
async fn notifications_come_by_listening_and_by_the_standing_stream() {
    let initialized = Arc::new(Notify::new());
    let tell = Arc::clone(&initialized);
    let server = server().on_initialized(move |_| tell.notify_one()).build().unwrap();
    let running = start(&server).await;
    let modern = connect(&running, Connect::Modern).await;
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = Some(true);
    let mut listening = modern.listen(&filter).await.unwrap();
    assert_eq!(listening.filter().tools_list_changed, Some(true));
    server.publish(&Event::ToolsListChanged);
    assert_eq!(&*listening.next().await.unwrap().method, "notifications/tools/list_changed");

    let legacy = connect(&running, Connect::Legacy).await;
    let mut notifications = legacy.notifications();
    initialized.notified().await;
    // The standing stream may not be open yet: what is published before waits for it.
    server.publish(&Event::ToolsListChanged);
    assert_eq!(&*notifications.next().await.unwrap().method, "notifications/tools/list_changed");
    drop(listening);
    assert_eq!(modern.call_tool("echo", json!({"text": "on"})).await.unwrap().joined_text(), "on");
}

#[tokio::test]
async fn a_lost_session_is_made_anew() {
    let server = server().build().unwrap();
    let running = start(&server).await;
    let client = connect(&running, Connect::Legacy).await;
    let first = client.session_id().unwrap();
    server.connections()[0].close();
    assert_eq!(client.call_tool("echo", json!({"text": "again"})).await.unwrap().joined_text(), "again");
    assert_ne!(client.session_id().unwrap(), first);
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_in_both_eras() {
    let (sender, mut ends) = mpsc::unbounded_channel();
    let begun = Arc::new(Notify::new());
    let beginning = Arc::clone(&begun);
    let server = server().tool(Tool::new("forever"), move |_: NoArguments, cx: Context| {
        let (begun, ends) = (Arc::clone(&beginning), sender.clone());
        async move {
            begun.notify_one();
            let _ = ends.send(cx.cancelled().await);
            "cancelled"
        }
    });
    let running = start(&server.build().unwrap()).await;
    for mode in [Connect::Modern, Connect::Legacy] {
        let client = connect(&running, mode).await;
        let call = client.call_tool("forever", json!({})).send().unwrap();
        begun.notified().await;
        drop(call);
        let why = ends.recv().await.unwrap();
        assert_eq!(matches!(why, Cancelled::Disconnected), client.era() == Some(Era::Modern), "{why:?}");
    }
}

#[tokio::test]
async fn headers_and_credentials_go_along() {
    let running = start(&server().build().unwrap()).await;
    let endpoint = Endpoint::new(&running.url()).unwrap().header("X-Team", "blue").unwrap();
    let endpoint = endpoint.bearer("secret").unwrap();
    let client = connect_endpoint(client(Connect::Modern), endpoint).await.unwrap();
    for (name, value) in [("x-team", "blue"), ("authorization", "Bearer secret")] {
        assert_eq!(client.call_tool("header", json!({"name": name})).await.unwrap().joined_text(), value);
    }
    client.set_authorization(Some("Bearer other".into())).unwrap();
    let other = client.call_tool("header", json!({"name": "authorization"})).await.unwrap();
    assert_eq!(other.joined_text(), "Bearer other");
}

/// Lets connections through to a server, until it is told to cut them all.
struct Proxy {
    address: SocketAddr,
    cut: Arc<Notify>,
    closed: Arc<Notify>,
    opened: Arc<AtomicUsize>,
}

async fn proxy(to: SocketAddr) -> Proxy {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (cut, closed, opened): (Arc<Notify>, Arc<Notify>, Arc<AtomicUsize>) = Default::default();
    let (cutting, closing, counting) = (Arc::clone(&cut), Arc::clone(&closed), Arc::clone(&opened));
    tokio::spawn(async move {
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            counting.fetch_add(1, Ordering::Relaxed);
            let (cut, closed) = (Arc::clone(&cutting), Arc::clone(&closing));
            tokio::spawn(async move {
                let mut far = tokio::net::TcpStream::connect(to).await.unwrap();
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                    () = cut.notified() => {}
                }
                drop((near, far));
                closed.notify_one();
            });
        }
    });
    Proxy { address, cut, closed, opened }
}

#[tokio::test]
async fn an_answer_is_fetched_again_after_its_connection_was_cut() {
    let (begun, release): (Arc<Notify>, Arc<Notify>) = Default::default();
    let (beginning, releasing) = (Arc::clone(&begun), Arc::clone(&release));
    let server = server().tool(Tool::new("held"), move |_: NoArguments, cx: Context| {
        let (begun, release) = (Arc::clone(&beginning), Arc::clone(&releasing));
        async move {
            let _ = cx.progress(1.0, None).await;
            begun.notify_one();
            release.notified().await;
            "kept"
        }
    });
    let replay = Replay { retry: Duration::from_millis(100), ..Replay::default() };
    let options = Options::default().replay(replay);
    let running = start_with(&server.build().unwrap(), options, Bounds::default()).await;
    let proxy = proxy(running.address).await;
    let endpoint = Endpoint::new(&format!("http://{}/mcp", proxy.address)).unwrap();
    let client = connect_endpoint(client(Connect::Legacy), endpoint).await.unwrap();
    let (call, mut progress) = client.call_tool("held", json!({})).progress_stream();
    let call = call.send().unwrap();
    begun.notified().await;
    progress.next().await.unwrap();
    proxy.cut.notify_waiters();
    release.notify_one();
    assert_eq!(call.await.unwrap().joined_text(), "kept");
}

#[tokio::test]
async fn a_modern_answer_that_breaks_off_is_a_typed_error() {
    let begun = Arc::new(Notify::new());
    let beginning = Arc::clone(&begun);
    let server = server().tool(Tool::new("forever"), move |_: NoArguments, cx: Context| {
        let begun = Arc::clone(&beginning);
        async move {
            let _ = cx.progress(1.0, None).await;
            begun.notify_one();
            std::future::pending::<()>().await;
            "never"
        }
    });
    let running = start(&server.build().unwrap()).await;
    let proxy = proxy(running.address).await;
    let endpoint = Endpoint::new(&format!("http://{}/mcp", proxy.address)).unwrap();
    let client = connect_endpoint(client(Connect::Modern), endpoint).await.unwrap();
    let (call, mut progress) = client.call_tool("forever", json!({})).progress_stream();
    let call = call.send().unwrap();
    begun.notified().await;
    progress.next().await.unwrap();
    proxy.cut.notify_waiters();
    let error = call.await.unwrap_err();
    assert!(matches!(error, ClientError::Call(_)), "{error:?}");
    // The next one goes over a new connection.
    assert_eq!(client.call_tool("echo", json!({"text": "on"})).await.unwrap().joined_text(), "on");
}

#[tokio::test]
async fn calls_in_sequence_share_a_connection() {
    let running = start(&server().build().unwrap()).await;
    let proxy = proxy(running.address).await;
    let endpoint = Endpoint::new(&format!("http://{}/mcp", proxy.address)).unwrap();
    let client = connect_endpoint(client(Connect::Modern), endpoint).await.unwrap();
    for call in 0..20 {
        let text = call.to_string();
        assert_eq!(client.call_tool("echo", json!({"text": text})).await.unwrap().joined_text(), text);
    }
    assert_eq!(proxy.opened.load(Ordering::Relaxed), 1);
    // A connection that was cut while it was idle is found out, and nobody notices.
    proxy.cut.notify_waiters();
    proxy.closed.notified().await;
    // Whoever else uses the network meanwhile lets the end of the connection be noticed.
    let endpoint = Endpoint::new(&format!("http://{}/mcp", proxy.address)).unwrap();
    let other = connect_endpoint(Client::builder("other", "1"), endpoint).await.unwrap();
    for client in [&client, &other] {
        assert_eq!(client.call_tool("echo", json!({"text": "on"})).await.unwrap().joined_text(), "on");
    }
    assert_eq!(proxy.opened.load(Ordering::Relaxed), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_from_many_tasks_are_answered_each_by_its_own() {
    let running = start(&server().build().unwrap()).await;
    for mode in [Connect::Modern, Connect::Legacy] {
        let client = connect(&running, mode).await;
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..16 {
            let client = client.clone();
            tasks.spawn(async move {
                for call in 0..20 {
                    let text = format!("{task}.{call}");
                    let echo = client.call_tool("echo", json!({"text": text})).await.unwrap();
                    assert_eq!(echo.joined_text(), text);
                }
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
    }
}
