//! The generator of the load: one thread, many connections, one request in flight on each.
//!
//! The connections are served in turn. All requests are out before the first answer is waited for, so that the server
//! always has others to do.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use memchr::memmem;

use crate::frames::{self, Era, POOL};
use crate::os;
use crate::served::Sample;

/// A server in a process of its own, and what is sent to it.
pub(super) struct Load {
    child: Child,
    /// The server ends when this does.
    _input: ChildStdin,
    connections: Vec<Connection>,
}

/// One connection.
struct Connection {
    stream: TcpStream,
    requests: Vec<Vec<u8>>,
    next: usize,
    buffer: Vec<u8>,
    filled: usize,
}

impl Load {
    /// Starts this program again, as the server `name`, and connects to it.
    pub(super) fn start(name: &str, era: Era, connections: usize) -> Self {
        let program = std::env::current_exe().expect("a program knows its own file");
        let mut child = Command::new(program)
            .args(["--serve", &format!("http-{name}"), "1"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started");
        let (input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).expect("the server says where it listens");
        let address: SocketAddr = line.trim().parse().expect("an address");
        let connections = (0..connections).map(|number| Connection::open(address, era, number)).collect();
        Self { child, _input: input, connections }
    }

    /// Keeps every connection busy for some time, then waits for the answers that are due.
    pub(super) fn run(&mut self, time: Duration) -> Sample {
        let cpu = os::cpu_time(self.child.id());
        let start = Instant::now();
        let mut calls = 0;
        self.connections.iter_mut().for_each(Connection::send);
        while start.elapsed() < time {
            for connection in &mut self.connections {
                connection.receive();
                connection.send();
                calls += 1;
            }
        }
        for connection in &mut self.connections {
            connection.receive();
            calls += 1;
        }
        Sample { calls, elapsed: start.elapsed(), cpu: os::cpu_time(self.child.id()) - cpu }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Connection {
    fn open(address: SocketAddr, era: Era, number: usize) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("a socket");
        let mut connection =
            Self { stream, requests: Vec::new(), next: number % POOL, buffer: vec![0; 64 << 10], filled: 0 };
        let headers = match era {
            Era::Modern => {
                "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo\r\n".to_owned()
            }
            Era::Legacy => connection.open_session(address),
        };
        let calls = frames::calls(era);
        connection.requests = calls.iter().map(|call| post(address, &headers, call)).collect();
        connection
    }

    /// Opens a legacy session. Answers with the headers of its requests.
    fn open_session(&mut self, address: SocketAddr) -> String {
        let (initialize, initialized) = frames::OPENING.split_once('\n').expect("two lines");
        self.stream.write_all(&post(address, "", initialize.as_bytes())).expect("the server reads");
        let head = self.read_answer(|head, _| String::from_utf8_lossy(head).into_owned());
        let session = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
        });
        let session = session.map_or_else(String::new, |session| format!("mcp-session-id: {session}\r\n"));
        let headers = format!("mcp-protocol-version: 2025-11-25\r\n{session}");
        self.stream.write_all(&post(address, &headers, initialized.as_bytes())).expect("the server reads");
        self.read_answer(|_, _| ());
        headers
    }

    fn send(&mut self) {
        self.stream.write_all(&self.requests[self.next]).expect("the server reads");
    }

    fn receive(&mut self) {
        let wanted = frames::text(self.next);
        self.next = (self.next + 1) % POOL;
        self.read_answer(|head, body| {
            let found = memmem::find(body, wanted.as_bytes());
            assert!(found.is_some(), "{} {}", String::from_utf8_lossy(head), String::from_utf8_lossy(body));
        });
    }

    /// Reads a whole answer, whose body has a length or comes in chunks.
    fn read_answer<T>(&mut self, look: impl FnOnce(&[u8], &[u8]) -> T) -> T {
        loop {
            if let Some((head, end)) = whole(&self.buffer[..self.filled]) {
                let answer = look(&self.buffer[..head], &self.buffer[head..end]);
                self.buffer.copy_within(end..self.filled, 0);
                self.filled -= end;
                return answer;
            }
            if self.filled == self.buffer.len() {
                self.buffer.resize(self.filled * 2, 0);
            }
            let count = self.stream.read(&mut self.buffer[self.filled..]).expect("the server writes");
            assert_ne!(count, 0, "the server goes on");
            self.filled += count;
        }
    }
}

/// Where the head of an answer ends, and where its body does, once all of it is there.
fn whole(bytes: &[u8]) -> Option<(usize, usize)> {
    let head = memmem::find(bytes, b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).expect("heads are ASCII");
    let header = |wanted: &str| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case(wanted).then(|| value.trim())
        })
    };
    let end = match header("content-length") {
        Some(length) => head + length.parse::<usize>().expect("a length"),
        None if header("transfer-encoding").is_some() => {
            let body = &bytes[head..];
            let last = if body.starts_with(b"0\r\n\r\n") { 0 } else { memmem::find(body, b"\r\n0\r\n\r\n")? + 2 };
            head + last + 5
        }
        None => head,
    };
    (end <= bytes.len()).then_some((head, end))
}

fn post(address: SocketAddr, headers: &str, frame: &[u8]) -> Vec<u8> {
    let body = frame.trim_ascii_end();
    let mut request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\naccept: application/json, text/event-stream\r\n\
         content-type: application/json\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    request.extend_from_slice(body);
    request
}
