//! The protocol in one tour: a server as a child process, a client, both eras.
//!
//! `cargo run --release --example quickstart`
//!
//! The program starts itself again as a server, connects to it over stdio, once in each era, and does what clients
//! do. Beside each other it shows the frames on the wire and what the client's machine makes of them. It exits with
//! 0 only if everything held.

mod server;
mod show;
mod tour;

use std::process::ExitCode;

/// Says that this process is to be the server.
const SERVE: &str = "--serve";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == SERVE) {
        return finish(server::serve().await);
    }
    show::title("quickstart: one server, one client, two eras");
    let outcome = tour::run().await;
    if outcome.is_ok() {
        show::title("everything held");
    }
    finish(outcome)
}

fn finish(outcome: Result<(), Box<dyn std::error::Error + Send + Sync>>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quickstart: {error}");
            ExitCode::FAILURE
        }
    }
}
