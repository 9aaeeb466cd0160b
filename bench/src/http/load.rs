//! The generator of the load: one thread, many connections, one request in flight on each.
//!
//! The connections are served in turn. All requests are out before the first answer is waited for, so that the server
//! always has others to do. While it waits, this thread asks again and again rather than sleeping: to wake it would be
//! charged to the server, and the more often the longer it takes for an answer.

use std::hint::spin_loop;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use memchr::memmem;

use super::servers::Kind;
use crate::frames::{self, Era, POOL};
use crate::os;
use crate::served::Sample;

/// What is asked of a server: calls of an era, with so much text to echo.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) era: Era,
    pub(super) connections: usize,
    pub(super) text: usize,
}

/// A server in a process of its own, and what is sent to it.
pub(super) struct Load {
    child: Child,
    /// The server ends when this does.
    _input: ChildStdin,
    address: SocketAddr,
    connections: Vec<Connection>,
}

/// One connection.
pub(super) struct Connection {
    stream: TcpStream,
    requests: Vec<Vec<u8>>,
    /// What every answer has to hold, by request.
    wanted: Vec<String>,
    next: usize,
    buffer: Vec<u8>,
    filled: usize,
}

impl Load {
    /// Starts a server, and connects to it.
    pub(super) fn start(kind: Kind, job: Job) -> Self {
        let mut command = kind.command().expect("the server is there");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server can be started");
        os::pin_process(child.id(), 0);
        let (input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).expect("the server says where it listens");
        let address = line.trim().trim_start_matches("http://").trim_end_matches("/mcp");
        let address: SocketAddr = address.parse().expect("an address");
        let connections = (0..job.connections).map(|number| {
            let mut connection = Connection::open(address);
            connection.prepare(address, job, number);
            connection
        });
        Self { connections: connections.collect(), child, _input: input, address }
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The memory of its own that the server holds, in bytes.
    pub(super) fn memory(&self) -> usize {
        os::memory(self.child.id())
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
    pub(super) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("a socket");
        stream.set_nonblocking(true).expect("a socket");
        Self { stream, requests: Vec::new(), wanted: Vec::new(), next: 0, buffer: vec![0; 4 << 10], filled: 0 }
    }

    /// Makes ready what is sent.
    fn prepare(&mut self, address: SocketAddr, job: Job, number: usize) {
        let headers = match job.era {
            Era::Modern => modern("tools/call", "mcp-name: echo\r\n"),
            Era::Legacy => self.open_session(address),
        };
        let large = frames::text(0).repeat(job.text / 64);
        let (calls, wanted) = if job.text == 64 {
            (frames::calls(job.era), (0..POOL).map(frames::text).collect())
        } else {
            (vec![frames::call_with(job.era, 0, "echo", &large)], vec![large])
        };
        self.next = number % calls.len();
        self.requests = calls.iter().map(|call| post(address, &headers, call)).collect();
        self.wanted = wanted;
    }

    /// Opens a legacy session. Answers with the headers of its requests.
    pub(super) fn open_session(&mut self, address: SocketAddr) -> String {
        let (initialize, initialized) = frames::OPENING.split_once('\n').expect("two lines");
        write(&self.stream, &post(address, "", initialize.as_bytes()));
        let head = self.read_answer(|head, _| String::from_utf8_lossy(head).into_owned());
        let session = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
        });
        let session = session.map_or_else(String::new, |session| format!("mcp-session-id: {session}\r\n"));
        let headers = format!("mcp-protocol-version: 2025-11-25\r\n{session}");
        write(&self.stream, &post(address, &headers, initialized.as_bytes()));
        self.read_answer(|_, _| ());
        headers
    }

    fn send(&mut self) {
        write(&self.stream, &self.requests[self.next]);
    }

    fn receive(&mut self) {
        let wanted = std::mem::take(&mut self.wanted[self.next]);
        self.read_answer(|head, body| {
            let found = memmem::find(body, wanted.as_bytes());
            assert!(found.is_some(), "{} {}", String::from_utf8_lossy(head), String::from_utf8_lossy(body));
        });
        self.wanted[self.next] = wanted;
        self.next = (self.next + 1) % self.requests.len();
    }

    /// Opens a stream that stays open, and waits for its first event.
    pub(super) fn listen(&mut self, address: SocketAddr) {
        let meta = Era::Modern.meta();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}}{meta}}}}}"#
        );
        let request = post(address, &modern("subscriptions/listen", ""), body.as_bytes());
        write(&self.stream, &request);
        while memmem::find(&self.buffer[..self.filled], b"acknowledged").is_none() {
            self.read();
        }
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
            self.read();
        }
    }

    fn read(&mut self) {
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.filled * 2, 0);
        }
        let count = patiently(|| self.stream.read(&mut self.buffer[self.filled..]));
        let seen = || String::from_utf8_lossy(&self.buffer[..self.filled]);
        assert_ne!(count, 0, "the server goes on: {}", seen());
        self.filled += count;
    }
}

fn write(mut stream: &TcpStream, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let count = patiently(|| stream.write(bytes));
        bytes = &bytes[count..];
    }
}

/// Asks until there is an answer, without sleeping and without taking the lock of the socket all the time.
fn patiently(mut ask: impl FnMut() -> std::io::Result<usize>) -> usize {
    loop {
        match ask() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => (0..32).for_each(|_| spin_loop()),
            answer => return answer.expect("the server goes on"),
        }
    }
}

/// The headers of a modern request.
fn modern(method: &str, name: &str) -> String {
    format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n{name}")
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
