//! A server beside other routes of an axum application, behind a check of bearer tokens:
//! `cargo run --example axum -- 127.0.0.1:8000`
//!
//! ```text
//! curl http://127.0.0.1:8000/health
//! cargo run --example inspect -- --header 'Authorization: Bearer ada-secret' --call whoami '{}' http://127.0.0.1:8000/mcp
//! ```

use std::error::Error;
use std::process::ExitCode;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use mcp_sansio_tokio::TokioRuntime;
use mcp_sansio_tokio::http::{HttpService, Principal};
use mcp_sansio_tokio::model::Tool;
use mcp_sansio_tokio::server::{Context, NoArguments, Server};

/// Whose token it is. A real application asks its authorization server.
fn owner(token: &str) -> Option<&'static str> {
    match token {
        "ada-secret" => Some("ada"),
        "bob-secret" => Some("bob"),
        _ => None,
    }
}

/// Lets requests through that bring a token, and says who they come from.
async fn check(mut request: Request, next: Next) -> Response {
    let header = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    match header.and_then(|value| value.strip_prefix("Bearer ")).and_then(owner) {
        Some(name) => {
            request.extensions_mut().insert(Principal::new(name));
            next.run(request).await
        }
        None => (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")], "a token is needed\n").into_response(),
    }
}

fn whoami() -> Server {
    Server::new("whoami", "1.0.0").tool(
        Tool::new("whoami").description("Says who you are").read_only(),
        |_: NoArguments, cx: Context| async move { format!("You are {}.", cx.principal().unwrap_or("nobody")) },
    )
}

/// The service at a path of its own, behind the check; everything else is not.
pub(crate) fn application(service: HttpService) -> Router {
    Router::new()
        .route_service("/mcp", service)
        .layer(middleware::from_fn(check))
        .route("/health", get(|| async { "well\n" }))
}

pub(crate) fn service() -> Result<HttpService, Box<dyn Error>> {
    Ok(whoami().build()?.http(TokioRuntime::current()).build()?)
}

const HELP: &str = "axum [ADDRESS]

Serves the tool `whoami` at /mcp, for bearers of the tokens `ada-secret` and `bob-secret`, and /health for everybody, at
127.0.0.1:8000 unless told, until it is interrupted. It exits with 1 if it cannot.";

#[tokio::main]
#[expect(clippy::print_stdout, reason = "help is what was asked for")]
async fn main() -> ExitCode {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".into());
    if address.starts_with('-') {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match run(&address).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("axum at {address}: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(address: &str) -> Result<(), Box<dyn Error>> {
    let service = service()?;
    let application = application(service.clone());
    let listener = tokio::net::TcpListener::bind(address).await?;
    eprintln!("listening at http://{}/mcp", listener.local_addr()?);
    let stop = async move {
        // Without a handler for the signal there is nothing to wait for.
        let _ = tokio::signal::ctrl_c().await;
        service.shut_down();
    };
    axum::serve(listener, application).with_graceful_shutdown(stop).await?;
    Ok(())
}
