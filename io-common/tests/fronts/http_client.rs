//! A client over HTTP against our own server, over real sockets, in both eras.

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use crate::front::mcp::client::{Client, ClientBuilder, ClientError, ConnectionError};
use crate::front::mcp::core::client::Connect;
use crate::front::mcp::core::http::server::{Options, Replay};
use crate::front::mcp::core::server::Event;
use crate::front::mcp::http::client::{Endpoint, ResponseBody, Transport, TransportError};
use crate::front::mcp::http::{Bounds, HttpBody, HttpService};
use crate::front::mcp::model::{ElicitParams, ElicitResult, SubscriptionFilter, Tool};
use crate::front::mcp::server::{Cancelled, Context, HandlerError, NoArguments, Server};
use crate::front::mcp::spec::{Era, Version};
use crate::front::mcp::{BoxFuture, connect_endpoint, connect_http};
use bytes::Bytes;
use futures_util::future::{join, select};
use futures_util::io::{ReadHalf, WriteHalf};
use futures_util::{AsyncReadExt as _, AsyncWriteExt as _};
use http_body::Body as _;
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tower_service::Service as _;

use super::web::{Running, start, start_with};
use crate::front::{self, TcpListener, accept, run_on_threads, runtime, spawn};

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

#[front::test]
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

#[front::test]
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

#[front::test]
async fn nobody_at_the_address_is_a_typed_error() {
    // The port of a connection is taken, so that no other test can come to listen there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let url = format!("http://{}/", taken.local_addr().unwrap());
    let error = connect_http(&url).await.unwrap_err();
    assert!(matches!(error, ConnectionError::Refused(_)), "{error:?}");
    assert!(error.to_string().contains("cannot connect"), "{error}");
    assert!(matches!(connect_http("ftp://127.0.0.1/").await, Err(ConnectionError::Endpoint(_))));
}

#[front::test]
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

#[front::test]
async fn a_lost_session_is_made_anew() {
    let server = server().build().unwrap();
    let running = start(&server).await;
    let client = connect(&running, Connect::Legacy).await;
    let first = client.session_id().unwrap();
    server.connections()[0].close();
    assert_eq!(client.call_tool("echo", json!({"text": "again"})).await.unwrap().joined_text(), "again");
    assert_ne!(client.session_id().unwrap(), first);
}

#[front::test]
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

#[front::test]
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

#[front::test]
async fn a_client_that_closes_ends_its_session() {
    let server = server().build().unwrap();
    let running = start(&server).await;
    let client = connect(&running, Connect::Legacy).await;
    assert_eq!(server.connections().len(), 1);
    client.close();
    client.ended().await;
    assert!(server.connections().is_empty());
    // The last handle closes, too.
    let client = connect(&running, Connect::Legacy).await;
    let ended = client.ended();
    drop(client);
    ended.await;
    assert!(server.connections().is_empty());
}

/// HTTP without a network: requests go straight to the service.
struct InProcess(HttpService);

impl Transport for InProcess {
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ResponseBody>, TransportError>> {
        let (head, body) = request.into_parts();
        let mut service = self.0.clone();
        let answer = service.call(http::Request::from_parts(head, Full::new(body)));
        Box::pin(async move {
            let answer = answer.await.map_err(|never| TransportError::broken("calling", never))?;
            Ok(answer.map(|body| Box::pin(Pieces(body)) as ResponseBody))
        })
    }
}

struct Pieces(HttpBody);

impl futures_core::Stream for Pieces {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        let frame = std::task::ready!(Pin::new(&mut self.0).poll_frame(cx));
        Poll::Ready(frame.map(|frame| Ok(frame.unwrap().into_data().unwrap())))
    }
}

#[front::test]
async fn any_http_library_can_be_brought() {
    let server = server().build().unwrap();
    let service = server.http(runtime()).build().unwrap();
    for mode in [Connect::Modern, Connect::Legacy] {
        let endpoint = Endpoint::new("http://localhost/mcp").unwrap();
        let transport = InProcess(service.clone());
        let (connecting, driver) = client(mode).over_http(runtime(), transport, endpoint).unwrap();
        spawn(driver);
        let client = connecting.await.unwrap();
        let (call, mut progress) = client.call_tool("steps", json!({})).progress_stream();
        assert_eq!(call.await.unwrap().joined_text(), "done");
        assert_eq!(progress.next().await.unwrap().progress, 1.0);
        assert_eq!(client.call_tool("ask", json!({})).await.unwrap().joined_text(), r#"{"size":"S"}"#);
    }
}

#[front::test]
async fn the_pair_of_2024_11_05_is_spoken_where_both_want_it() {
    let options = Options::default().sse_pair("/sse", "/messages");
    let running = start_with(&server().build().unwrap(), options, Bounds::default()).await;
    let url = format!("http://{}/sse", running.address);
    let endpoint = Endpoint::new(&url).unwrap().deprecated_sse(true);
    let client = connect_endpoint(client(Connect::Legacy), endpoint).await.unwrap();
    assert_eq!(client.call_tool("echo", json!({"text": "hi"})).await.unwrap().joined_text(), "hi");
    assert_eq!(client.call_tool("ask", json!({})).await.unwrap().joined_text(), r#"{"size":"S"}"#);
}

/// Lets connections through to a server, until it is told to cut them all.
struct Proxy {
    address: SocketAddr,
    cut: Arc<Notify>,
    closed: Arc<Notify>,
    opened: Arc<AtomicUsize>,
}

/// Copies until both directions have ended.
async fn copy_both_ways(near: front::Stream, far: front::Stream) {
    let (near, far) = (near.split(), far.split());
    let one_way = |(reader, mut writer): (ReadHalf<front::Stream>, WriteHalf<front::Stream>)| async move {
        let _ = futures_util::io::copy(reader, &mut writer).await;
        let _ = writer.close().await;
    };
    join(one_way((near.0, far.1)), one_way((far.0, near.1))).await;
}

async fn proxy(to: SocketAddr) -> Proxy {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (cut, closed, opened): (Arc<Notify>, Arc<Notify>, Arc<AtomicUsize>) = Default::default();
    let (cutting, closing, counting) = (Arc::clone(&cut), Arc::clone(&closed), Arc::clone(&opened));
    spawn(async move {
        loop {
            let near = accept(&listener).await.unwrap();
            counting.fetch_add(1, Ordering::Relaxed);
            let (cut, closed) = (Arc::clone(&cutting), Arc::clone(&closing));
            spawn(async move {
                let far = front::connect(to).await.unwrap();
                select(pin!(copy_both_ways(near, far)), pin!(cut.notified())).await;
                closed.notify_one();
            });
        }
    });
    Proxy { address, cut, closed, opened }
}

#[front::test]
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

#[front::test]
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

#[front::test]
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

#[test]
fn calls_from_many_tasks_are_answered_each_by_its_own() {
    run_on_threads(async {
        let running = start(&server().build().unwrap()).await;
        for mode in [Connect::Modern, Connect::Legacy] {
            let client = connect(&running, mode).await;
            let mut tasks = Vec::new();
            for task in 0..16 {
                let client = client.clone();
                tasks.push(spawn(async move {
                    for call in 0..20 {
                        let text = format!("{task}.{call}");
                        let echo = client.call_tool("echo", json!({"text": text})).await.unwrap();
                        assert_eq!(echo.joined_text(), text);
                    }
                }));
            }
            for task in tasks {
                task.await.unwrap();
            }
        }
    });
}
