//! smol, with nothing between: its sockets are streams of `futures-io`, and its executor is a `Runtime` of three
//! methods.
//!
//! `cargo run --package mcp-sansio-async-std --example smol`
//!
//! A program that does not mind a second executor beside its own needs no `Runtime`: `serve_stream` and
//! `connect_stream` take the same sockets, and await on any executor.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use mcp_sansio_async_std::client::{Client, nothing};
use mcp_sansio_async_std::core::machine::Now;
use mcp_sansio_async_std::model::Tool;
use mcp_sansio_async_std::server::{Context, NoArguments, Server};
use mcp_sansio_async_std::{BoxFuture, Runtime, connect_stream, now};
use serde_json::json;
use smol::net::{TcpListener, TcpStream};

/// An executor of smol.
struct Smol {
    /// Tasks know their executor, which holds them: one of both must not keep the other.
    executor: Weak<smol::Executor<'static>>,
    epoch: Instant,
}

impl Runtime for Smol {
    fn now(&self) -> Now {
        now(self.epoch.elapsed())
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let timer = smol::Timer::after(duration);
        Box::pin(async move {
            timer.await;
        })
    }

    fn spawn(&self, future: BoxFuture<'static, ()>) {
        if let Some(executor) = self.executor.upgrade() {
            executor.spawn(future).detach();
        }
    }
}

async fn meet(runtime: Arc<dyn Runtime>) -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::new("greeter", "1.0.0")
        .tool(Tool::new("greet"), |_: NoArguments, _: Context| async {
            smol::Timer::after(Duration::from_millis(10)).await;
            "hello from smol"
        })
        .build()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let serving = Arc::clone(&runtime);
    runtime.spawn(Box::pin(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let served = server.accept(Arc::clone(&serving)).serve(stream.clone(), stream);
            serving.spawn(Box::pin(async move {
                if let Err(error) = served.await {
                    eprintln!("{error}");
                }
            }));
        }
    }));

    let stream = TcpStream::connect(address).await?;
    let client = Client::builder("guest", "1.0.0");
    let client = client.connect_over(Arc::clone(&runtime), stream.clone(), stream, nothing()).await?;
    println!("{}", client.call_tool("greet", json!({})).await?.joined_text());

    // The same with a task of async-std behind the client.
    let client = connect_stream(Client::builder("guest", "1.0.0"), TcpStream::connect(address).await?).await?;
    println!("{}", client.call_tool("greet", json!({})).await?.joined_text());
    Ok(())
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let executor = Arc::new(smol::Executor::new());
    let runtime = Arc::new(Smol { executor: Arc::downgrade(&executor), epoch: Instant::now() });
    smol::block_on(executor.run(meet(runtime)))
}
