//! The example server on its standard streams, fed by hand.
#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use crate::front::{STDIO_SERVER, example};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
const CALL: &str =
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}"#;

fn check(output: &str) {
    let lines: Vec<serde_json::Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{output}");
    assert_eq!(lines[1]["result"]["structuredContent"]["sum"], 3.0);
}

#[test]
fn pipes() {
    let mut child = Command::new(example(STDIO_SERVER)).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // No newline at the end, and input ends before any answer is read.
    write!(child.stdin.take().unwrap(), "{HELLO}\n{CALL}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with('{'), "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn files() {
    let folder = std::env::temp_dir().join(format!("mcp-sansio-stdio-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (input, output) = (folder.join("in"), folder.join("out"));
    std::fs::write(&input, format!("{HELLO}\n{CALL}\n")).unwrap();
    let status = Command::new(example(STDIO_SERVER))
        .stdin(std::fs::File::open(&input).unwrap())
        .stdout(std::fs::File::create(&output).unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    check(&std::fs::read_to_string(&output).unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn sockets_as_node_gives_them() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let output: OwnedFd = theirs.try_clone().unwrap().into();
    let mut child = Command::new(example(STDIO_SERVER)).stdin(OwnedFd::from(theirs)).stdout(output).spawn().unwrap();
    write!(ours, "{HELLO}\n{CALL}\n").unwrap();
    ours.shutdown(Shutdown::Write).unwrap();
    assert!(child.wait().unwrap().success());
    let mut text = String::new();
    // The command above has closed its copies; ours ends when the child's do.
    ours.read_to_string(&mut text).unwrap();
    check(&text);
}

#[test]
fn standard_error_on_the_same_pipe_stays_blocking() {
    let script = r#"exec "$0" 2>&1"#;
    let mut child = Command::new("sh")
        .args(["-c", script])
        .arg(example(STDIO_SERVER))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    write!(child.stdin.take().unwrap(), "{HELLO}\n{CALL}\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    check(&String::from_utf8(output.stdout).unwrap());
}

#[test]
fn a_client_that_goes_away_is_no_error() {
    let mut child = Command::new(example(STDIO_SERVER)).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    // The server may be gone before everything is written.
    let _ = write!(stdin, "{HELLO}\n{CALL}\n");
    assert!(child.wait().unwrap().success());
}
