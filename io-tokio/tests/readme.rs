//! The transcripts of the README work as printed: every `console` block, in order, in one shell, against the example
//! that it names. It needs `sh` and `curl`.
#![cfg(all(feature = "http", unix))]
#![allow(clippy::unwrap_used, missing_docs)]

mod front;
#[path = "../../io-common/tests/fronts/web.rs"]
mod web;

#[allow(dead_code)]
#[path = "../examples/http_server.rs"]
mod http_server;

use std::process::Command;

const README: &str = include_str!("../../README.md");
/// Where the README says that the example listens.
const ADDRESS: &str = "127.0.0.1:8000";
/// Stands between the outputs of two commands.
const NEXT: &str = "@@ next @@";

/// A command with what it prints.
struct Step {
    command: String,
    output: String,
}

fn steps(text: &str) -> Vec<Step> {
    let blocks = text.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut steps: Vec<Step> = Vec::new();
    for line in blocks.flat_map(str::lines) {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command: command.to_owned(), output: String::new() });
        } else if let Some(more) = line.strip_prefix("> ") {
            steps.last_mut().unwrap().command += &format!("\n{more}");
        } else {
            steps.last_mut().unwrap().output += &format!("{line}\n");
        }
    }
    steps
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transcripts_work_as_printed() {
    let running = web::start(&http_server::adder().build().unwrap()).await;
    let steps = steps(README);
    assert!(steps.iter().filter(|step| !step.output.is_empty()).count() >= 5, "the README has transcripts");
    let commands: Vec<&str> = steps.iter().map(|step| step.command.as_str()).collect();
    let script = commands.join(&format!("\necho\necho '{NEXT}'\n"));
    let script = script.replace(ADDRESS, &running.address.to_string());
    let output = tokio::task::spawn_blocking(|| Command::new("sh").arg("-c").arg(script).output()).await.unwrap();
    let output = output.expect("a shell");
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let printed: Vec<&str> = text.split(NEXT).collect();
    assert_eq!(printed.len(), steps.len(), "{errors}");
    for (step, printed) in steps.iter().zip(printed) {
        assert_eq!(printed.trim(), step.output.trim(), "{}\n{errors}", step.command);
    }
}
