//! tokio, for tests that know no runtime.
#![allow(dead_code, unused_imports)]

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

pub(crate) use mcp_sansio_tokio as mcp;
pub(crate) use mcp_sansio_tokio::TcpConnector;
pub(crate) use tokio::net::TcpListener;
pub(crate) use tokio::test;

use mcp_sansio_tokio::{Adapter, Runtime, TokioRuntime};
use tokio::net::TcpStream;

#[path = "../../../io-common/tests/fronts/task.rs"]
mod task;

pub(crate) use self::task::{Task, example, sleep, spawn};

/// Where the example is that serves over stdio.
pub(crate) const STDIO_SERVER: &str = "stdio_server";

pub(crate) fn runtime() -> Arc<dyn Runtime> {
    TokioRuntime::current()
}

/// Runs a test on several threads.
pub(crate) fn run_on_threads(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(test);
}

/// A stream as those of `futures-io`.
pub(crate) type Stream = Adapter<TcpStream>;

pub(crate) async fn connect(address: SocketAddr) -> io::Result<Stream> {
    TcpStream::connect(address).await.map(Adapter)
}

pub(crate) async fn accept(listener: &TcpListener) -> io::Result<Stream> {
    listener.accept().await.map(|(stream, _)| Adapter(stream))
}

/// The two ends of a stream, as the front takes them, that holds few bytes at a time.
pub(crate) async fn pair() -> (tokio::io::DuplexStream, tokio::io::DuplexStream) {
    tokio::io::duplex(4 << 10)
}
