//! How long a connection of an HTTP server may wait for a head, on a clock that the test moves.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, missing_docs)]

mod lab;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_io::{AsyncRead, AsyncWrite};
use lab::{Lab, Pipe};
use mcp_sansio::json::Json;
use mcp_sansio::model::Tool;
use mcp_sansio_io::http::{Bounds, Connections, Stream};
use mcp_sansio_io::server::Server;
use serde_json::json;

/// Both directions of a connection.
struct Both(Pipe, Pipe);

impl AsyncRead for Both {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_read(cx, bytes)
    }
}

impl AsyncWrite for Both {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.1).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.1).poll_close(cx)
    }
}

/// A client of one connection, that writes by hand.
struct Peer {
    lab: Arc<Lab>,
    to: Pipe,
    from: Pipe,
    connections: Connections,
}

impl Peer {
    fn new() -> Self {
        let lab = Lab::new();
        let runtime = lab.runtime();
        let server = Server::new("s", "1")
            .tool(Tool::new("wait"), move |seconds: Json, _| {
                let seconds: serde_json::Value = seconds.parse().unwrap();
                let time = Duration::from_secs(seconds["seconds"].as_u64().unwrap());
                let sleep = runtime.sleep(time);
                async move {
                    sleep.await;
                    "done"
                }
            })
            .build()
            .unwrap();
        let service = server.http(lab.runtime()).build().unwrap();
        let (to, from) = (Pipe::new(usize::MAX), Pipe::new(usize::MAX));
        let connections = Connections::new(lab.runtime(), Bounds::default());
        connections.serve(Stream(Both(to.clone(), from.clone())), service);
        lab.settle();
        Self { lab, to, from, connections }
    }

    fn advance(&self, seconds: u64) {
        self.lab.advance(Duration::from_secs(seconds));
    }

    fn is_open(&self) -> bool {
        self.connections.open() == 1
    }

    /// Writes a head of a request, which says what follows.
    fn head(&self, more: &str) {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{more}\r\n"
        );
        self.to.push(head.as_bytes());
        self.lab.settle();
    }

    /// Calls the tool, which waits for so many seconds.
    fn call(&self, seconds: u64) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": "wait", "arguments": {"seconds": seconds}, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        self.to.push(
            format!(
                "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                 accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
                 mcp-method: tools/call\r\nmcp-name: wait\r\ncontent-length: {}\r\n\r\n{body}",
                body.len(),
            )
            .as_bytes(),
        );
        self.lab.settle();
    }
}

#[test]
fn a_head_has_half_a_minute_however_it_comes() {
    let peer = Peer::new();
    for byte in b"POST" {
        peer.to.push(&[*byte]);
        peer.advance(7);
        assert!(peer.is_open());
    }
    peer.advance(1);
    assert!(peer.is_open());
    peer.advance(1);
    assert!(!peer.is_open(), "30 s after the connection was there");
}

#[test]
fn the_time_of_a_head_begins_with_the_end_of_the_answer_before() {
    let peer = Peer::new();
    for _ in 0..4 {
        peer.advance(20);
        peer.call(0);
        assert!(peer.is_open() && peer.from.len() > 0);
    }
    peer.advance(29);
    assert!(peer.is_open());
    peer.advance(1);
    assert!(!peer.is_open());
}

#[test]
fn a_call_that_is_worked_on_is_waited_for() {
    let peer = Peer::new();
    peer.advance(29);
    peer.call(100);
    peer.advance(99);
    assert!(peer.is_open());
    peer.advance(1);
    assert!(peer.from.len() > 0, "it is answered");
    peer.advance(29);
    assert!(peer.is_open());
    peer.advance(1);
    assert!(!peer.is_open());
}

#[test]
fn an_answer_that_is_taken_slowly_is_no_idle_connection() {
    let peer = Peer::new();
    peer.from.set_room(10);
    peer.call(0);
    for taken in 1..5 {
        assert_eq!(peer.from.len(), 10 * taken);
        peer.advance(20);
        assert!(peer.is_open());
        peer.from.set_room(10 * (taken + 1));
        peer.lab.settle();
    }
    peer.from.set_room(usize::MAX);
    peer.advance(29);
    assert!(peer.is_open());
    peer.advance(1);
    assert!(!peer.is_open(), "30 s after the last of the answer was taken");
}

#[test]
fn a_body_that_never_comes_ends_the_connection() {
    for more in
        ["content-length: 5\r\n", "content-length: 5\r\nexpect: 100-continue\r\n", "transfer-encoding: chunked\r\n"]
    {
        let peer = Peer::new();
        peer.head(more);
        peer.advance(59);
        assert!(peer.is_open(), "{more}");
        peer.advance(1);
        assert!(peer.from.len() > 0, "it is answered");
        peer.advance(30);
        assert!(!peer.is_open(), "{more}");
    }
}

#[test]
fn a_request_that_is_refused_before_its_body_ends_the_connection() {
    for more in ["origin: http://evil.example\r\ncontent-length: 5\r\n", "content-length: 999999999\r\n"] {
        let peer = Peer::new();
        peer.head(more);
        assert!(peer.from.len() > 0, "it is answered: {more}");
        peer.advance(30);
        assert!(!peer.is_open(), "{more}");
    }
}

#[test]
fn the_end_of_what_a_client_says_ends_the_connection() {
    for said in ["", "POST /m"] {
        let peer = Peer::new();
        peer.to.push(said.as_bytes());
        peer.lab.settle();
        peer.to.end();
        peer.lab.settle();
        assert!(!peer.is_open(), "{said:?}");
    }
    let peer = Peer::new();
    peer.call(100);
    peer.to.end();
    peer.lab.settle();
    assert!(!peer.is_open(), "who ends what it says waits for nothing any more");
}

#[test]
fn requests_that_come_together_are_answered_one_after_the_other() {
    let peer = Peer::new();
    for seconds in [10, 10, 0] {
        peer.call(seconds);
    }
    peer.advance(9);
    assert_eq!(peer.from.len(), 0);
    peer.advance(1);
    let one = peer.from.len();
    peer.advance(9);
    assert!(peer.is_open() && one > 0 && peer.from.len() == one);
    peer.advance(1);
    assert_eq!(peer.from.len(), 3 * one);
    peer.advance(29);
    assert!(peer.is_open());
    peer.advance(1);
    assert!(!peer.is_open(), "30 s after the last answer");
}
