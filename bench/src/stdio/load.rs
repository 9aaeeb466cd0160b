//! The generator of the load: one thread that keeps a number of requests in flight and looks at every answer.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use memchr::memmem;

use super::Job;
use crate::frames::{self, Era, POOL};
use crate::os;
use crate::served::Sample;

/// A server in a process of its own, and what is sent to it.
pub(super) struct Load {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    requests: Vec<Bytes>,
    /// What every answer has to hold, by request.
    wanted: Vec<String>,
    job: Job,
    /// The request that goes out next.
    next: usize,
    /// What was read and is no whole line yet.
    buffer: Vec<u8>,
    filled: usize,
}

impl Load {
    /// Starts this program again, as the server `name`.
    pub(super) fn start(name: &str, era: Era, job: Job) -> Self {
        let program = std::env::current_exe().expect("a program knows its own file");
        let mut child = Command::new(program)
            .args(["--serve", name, if job == Job::List { "1000" } else { "1" }])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started");
        let (input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let requests = (0..POOL).map(|number| match job {
            Job::Call => frames::call(era, number, "echo"),
            Job::List => frames::list(era, number),
        });
        let wanted = (0..POOL).map(|number| match job {
            Job::Call => frames::text(number),
            Job::List => format!("\"{}\"", frames::tool_name(999)),
        });
        let mut load = Self {
            child,
            input,
            output,
            requests: requests.collect(),
            wanted: wanted.collect(),
            job,
            next: 0,
            buffer: vec![0; 1 << 20],
            filled: 0,
        };
        if era == Era::Legacy {
            load.open();
        }
        load
    }

    /// Opens the session of the legacy era.
    fn open(&mut self) {
        let (initialize, initialized) = frames::OPENING.split_once('\n').expect("two lines");
        self.write(format!("{initialize}\n").as_bytes());
        while memchr::memchr(b'\n', &self.buffer[..self.filled]).is_none() {
            self.read();
        }
        self.filled = 0;
        self.write(initialized.as_bytes());
    }

    /// Keeps `window` requests in flight for some time, then waits for the answers that are due.
    pub(super) fn run(&mut self, window: usize, time: Duration) -> Sample {
        let cpu = os::cpu_time(self.child.id());
        let start = Instant::now();
        self.send(window);
        let (mut calls, mut in_flight) = (0, window);
        while in_flight > 0 {
            self.read();
            let answered = self.take_answers();
            calls += answered;
            if start.elapsed() < time {
                self.send(answered);
            } else {
                in_flight -= answered;
            }
        }
        let elapsed = start.elapsed();
        Sample { calls, elapsed, cpu: os::cpu_time(self.child.id()) - cpu }
    }

    fn send(&mut self, count: usize) {
        let mut out = Vec::with_capacity(count * 512);
        for _ in 0..count {
            out.extend_from_slice(&self.requests[self.next]);
            self.next = (self.next + 1) % POOL;
        }
        self.write(&out);
    }

    fn write(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).expect("the server reads");
    }

    fn read(&mut self) {
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.filled * 2, 0);
        }
        let count = self.output.read(&mut self.buffer[self.filled..]).expect("the server writes");
        assert_ne!(count, 0, "the server goes on");
        self.filled += count;
    }

    /// Checks the whole lines that were read, and forgets them.
    fn take_answers(&mut self) -> usize {
        let (mut from, mut answers) = (0, 0);
        while let Some(length) = memchr::memchr(b'\n', &self.buffer[from..self.filled]) {
            self.check(&self.buffer[from..from + length]);
            from += length + 1;
            answers += 1;
        }
        self.buffer.copy_within(from..self.filled, 0);
        self.filled -= from;
        answers
    }

    /// The answer has an id of ours, and what was asked for under it.
    fn check(&self, line: &[u8]) {
        let shown = || String::from_utf8_lossy(&line[..line.len().min(400)]);
        let head = &line[..line.len().min(64)];
        let at = memmem::find(head, b"\"id\":").unwrap_or_else(|| panic!("an answer has an id: {}", shown())) + 5;
        let digits = head[at..].iter().take_while(|byte| byte.is_ascii_digit());
        let id = digits.fold(0, |id, digit| id * 10 + usize::from(digit - b'0'));
        let number = frames::number(id);
        // The last tool of a list stands near its end.
        let part = if self.job == Job::List { &line[line.len().saturating_sub(1_024)..] } else { line };
        let found = memmem::find(part, self.wanted[number].as_bytes());
        assert!(found.is_some(), "an answer echoes its request: {}", shown());
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // Its input is still open, so it would wait for more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
