//! async-std, for tests that know no runtime.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

pub(crate) use async_std::net::TcpListener;
pub(crate) use async_std::test;
pub(crate) use mcp_sansio_async_std as mcp;
pub(crate) use mcp_sansio_async_std::TcpConnector;

use async_std::net::TcpStream;
use mcp_sansio_async_std::{AsyncStdRuntime, Runtime};

#[path = "../../../io-common/tests/fronts/task.rs"]
mod task;

pub(crate) use self::task::{Task, example, sleep, spawn};

/// Where the example is that serves over stdio.
pub(crate) const STDIO_SERVER: &str = "async_std_server";

pub(crate) fn runtime() -> Arc<dyn Runtime> {
    AsyncStdRuntime::current()
}

/// Runs a test on several threads, as every other one here.
pub(crate) fn run_on_threads(test: impl Future<Output = ()>) {
    async_std::task::block_on(test);
}

/// A stream as those of `futures-io`.
pub(crate) type Stream = TcpStream;

pub(crate) async fn connect(address: SocketAddr) -> io::Result<Stream> {
    TcpStream::connect(address).await
}

pub(crate) async fn accept(listener: &TcpListener) -> io::Result<Stream> {
    listener.accept().await.map(|(stream, _)| stream)
}

/// The two ends of a stream.
pub(crate) async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (near, far) = futures_util::future::join(connect(address), accept(&listener)).await;
    (near.unwrap(), far.unwrap())
}
