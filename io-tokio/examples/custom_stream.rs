//! Any byte stream will do: here, one that counts what passes through it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use mcp_sansio_tokio::client::Client;
use mcp_sansio_tokio::model::Tool;
use mcp_sansio_tokio::server::{NoArguments, Server};
use mcp_sansio_tokio::{connect_stream, serve_stream};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

/// A stream around another one: encryption, compression or a log would look the same.
struct Counted {
    inner: DuplexStream,
    sent: Arc<AtomicUsize>,
}

impl AsyncRead for Counted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = written {
            self.sent.fetch_add(count, Ordering::Relaxed);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::new("greeter", "1.0.0")
        .tool(Tool::new("greet"), |_: NoArguments, _| async { "hello over a stream of your own" })
        .build()?;
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    tokio::spawn(serve_stream(server, theirs));
    let sent = Arc::new(AtomicUsize::new(0));
    let stream = Counted { inner: ours, sent: Arc::clone(&sent) };
    let client = connect_stream(Client::builder("counter", "1.0.0"), stream).await?;
    eprintln!("{}", client.call_tool("greet", json!({})).await?.joined_text());
    eprintln!("{} bytes sent", sent.load(Ordering::Relaxed));
    Ok(())
}
