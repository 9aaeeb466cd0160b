//! Servers as child processes: how they start, speak and end.
#![cfg(unix)]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::front::mcp::client::{Client, ClientBuilder, ConnectionError};
use crate::front::mcp::core::client::Connect;
use crate::front::mcp::{Command, CommandError};
use serde_json::json;

use crate::front::{self, STDIO_SERVER, example, sleep};

fn client() -> ClientBuilder {
    Client::builder("tester", "1.0")
}

/// A shell that runs `script` around the example server: `$0` is the server.
fn shell(script: &str) -> Command {
    Command::new("sh").arg("-c").arg(script).arg(example(STDIO_SERVER))
}

fn is_alive(pid: &str) -> bool {
    std::process::Command::new("kill").args(["-0", pid]).stderr(std::process::Stdio::null()).status().unwrap().success()
}

/// Waits until a process has ended. The kernel may take a moment.
async fn ended(pid: &str) -> bool {
    for _ in 0..200 {
        if !is_alive(pid) {
            return true;
        }
        sleep(Duration::from_millis(10)).await;
    }
    false
}

#[front::test]
async fn both_eras_over_a_child_process() {
    for mode in [Connect::Modern, Connect::Legacy] {
        // Longer than anybody runs a test: a server that ends by itself is not waited for.
        let command = Command::new(example(STDIO_SERVER)).grace(Duration::from_secs(86_400));
        let client = command.connect(client().mode(mode)).await.unwrap();
        let sum = client.call_tool("add", json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!(sum.joined_text(), r#"{"sum":3.0}"#);
        client.close();
        client.ended().await;
    }
}

#[front::test]
async fn folder_and_environment_are_given() {
    let folder = std::env::temp_dir().canonicalize().unwrap();
    let (command, stderr) = shell(r#"echo "$PWD|$GIVEN|$HOME|$PATH" >&2; exec "$0""#)
        .directory(&folder)
        .clear_env()
        .env("GIVEN", "yes")
        .env("PATH", "/usr/bin:/bin")
        .capture_stderr();
    let client = command.connect(client()).await.unwrap();
    client.close();
    client.ended().await;
    assert_eq!(stderr.text().trim(), format!("{}|yes||/usr/bin:/bin", folder.display()));
}

#[front::test]
async fn standard_error_comes_line_by_line() {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&lines);
    let client = shell(r#"printf 'one\ntwo\r\n\nlast' >&2; exec "$0""#)
        .stderr_lines(move |line| seen.lock().unwrap().push(line.to_owned()))
        .connect(client())
        .await
        .unwrap();
    client.close();
    client.ended().await;
    assert_eq!(*lines.lock().unwrap(), ["one", "two", "", "last"]);
}

#[front::test]
async fn a_program_that_does_not_exist_is_named() {
    let error = Command::new("/no/such/server").connect(client()).await.unwrap_err();
    assert!(matches!(error, CommandError::Spawn { .. }));
    assert!(error.to_string().contains("/no/such/server"), "{error}");
}

#[front::test]
async fn a_server_that_ends_at_once_says_why() {
    let (command, _) = shell("echo 'no licence' >&2; exit 7").capture_stderr();
    let error = command.connect(client()).await.unwrap_err();
    let CommandError::Connect { source, status, stderr } = &error else { panic!("{error:?}") };
    assert!(matches!(source, ConnectionError::Closed), "{source:?}");
    assert_eq!(status.unwrap().code(), Some(7));
    assert_eq!(stderr.as_deref(), Some("no licence\n"));
    assert!(error.to_string().contains("exit status: 7"), "{error}");
}

#[front::test]
async fn a_server_that_does_not_end_is_asked_and_then_killed() {
    let grace = Duration::from_millis(150);
    // It serves, and goes on after the end of its input. The second one does not listen to SIGTERM either.
    for (script, steps) in
        [(r#""$0"; while :; do sleep 0.05; done"#, 1), (r#"trap "" TERM; "$0"; while :; do sleep 0.05; done"#, 2)]
    {
        let pid_script = format!("echo $$ >&2; {script}");
        let (command, stderr) = shell(&pid_script).grace(grace).capture_stderr();
        let client = command.connect(client()).await.unwrap();
        let begun = Instant::now();
        client.close();
        client.ended().await;
        assert!(begun.elapsed() >= grace * steps, "{script}: {:?}", begun.elapsed());
        assert!(ended(stderr.text().trim()).await, "{script}");
    }
}

#[front::test]
async fn what_a_server_has_started_ends_with_it() {
    // A package runner: it starts something, and ends without waiting for it.
    let script = r#"sleep 1000 & echo $! >&2; exec "$0""#;
    let (command, stderr) = shell(script).grace(Duration::from_millis(150)).capture_stderr();
    let client = command.connect(client()).await.unwrap();
    let pid = stderr.text().trim().to_owned();
    assert!(is_alive(&pid));
    client.close();
    client.ended().await;
    assert!(ended(&pid).await);
}

#[front::test]
async fn a_connection_that_is_forgotten_ends_its_server() {
    let (command, stderr) = shell(r#"echo $$ >&2; exec "$0""#).capture_stderr();
    let client = command.connect(client()).await.unwrap();
    drop(client);
    assert!(ended(stderr.text().trim()).await);
}
