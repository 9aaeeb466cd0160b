//! The client machine in process: a call out, its answer in.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcp_sansio::client::{Action, Answer, CallOptions, Client, Config, Connect, Request};
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Input, Now};
use mcp_sansio::model::{CallToolResult, Implementation};
use serde_json::{Value, json};

use crate::floor;
use crate::frames::{self, Era, POOL};
use crate::measure::{Case, Contender};

/// A client that is connected.
struct Caller {
    client: Client,
    now: Now,
}

impl Caller {
    fn new(era: Era) -> Self {
        let mode = if era == Era::Modern { Connect::Modern } else { Connect::Legacy };
        let config = Config::new(Implementation::new("bench", "1.0.0")).connect(mode);
        let mut caller = Self { client: Client::new(config).expect("the settings are right"), now: Now::default() };
        caller.client.connect(caller.now).expect("the machine is new");
        let opening: Value = serde_json::from_slice(&caller.written()).expect("our own frame");
        let result = match era {
            Era::Modern => json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
            Era::Legacy => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "bench", "version": "1.0.0"}}),
        };
        let answer = json!({"jsonrpc": "2.0", "id": opening["id"], "result": result});
        caller.input(Bytes::from(format!("{answer}\n")));
        while let Some(action) = caller.client.poll_action() {
            if let Action::Write(frame) = action {
                caller.input_written(frame.len());
            }
        }
        assert!(caller.client.server().is_some(), "connected");
        caller
    }

    fn input(&mut self, bytes: Bytes) {
        self.client.handle(self.now, Input::Bytes(bytes)).expect("the machine is open");
    }

    fn input_written(&mut self, count: usize) {
        self.client.handle(self.now, Input::Written(count)).expect("the machine is open");
    }

    fn written(&mut self) -> Bytes {
        match self.client.poll_action() {
            Some(Action::Write(frame)) => {
                self.input_written(frame.len());
                frame
            }
            other => panic!("unexpected: {other:?}"),
        }
    }

    /// One call and its outcome. The answer has the id that the machine takes next.
    fn call(&mut self, arguments: &Json, answer: Bytes) -> Answer {
        let request = Request::call_tool("echo", arguments);
        self.client.call(self.now, request, CallOptions::new()).expect("the machine is open");
        black_box(self.written());
        self.input(answer);
        black_box((self.client.poll_timeout(), self.client.wants_input()));
        match self.client.poll_action() {
            Some(Action::Done { outcome, .. }) => outcome.expect("a result"),
            other => panic!("unexpected: {other:?}"),
        }
    }
}

/// Calls in batches, whose answers are made before.
struct Calls {
    caller: Caller,
    era: Era,
    arguments: Vec<Json>,
    next_id: usize,
}

impl Calls {
    fn new(era: Era) -> Self {
        let carried = |text: String| Json::from_text(text).expect("our own text");
        let mut calls =
            Self { caller: Caller::new(era), era, arguments: arguments().map(carried).collect(), next_id: 0 };
        // The first call shows which ids the machine takes.
        let request = Request::call_tool("echo", &calls.arguments[0]);
        calls.caller.client.call(calls.caller.now, request, CallOptions::new()).expect("the machine is open");
        let frame = calls.caller.written();
        let number: Value = serde_json::from_slice(&frame).expect("our own frame");
        let floor: Value = serde_json::from_slice(&floor::call(era, 1, calls.arguments[0].get())).expect("JSON");
        assert_eq!(number["params"], floor["params"], "the floor writes what the machine writes");
        calls.next_id = usize::try_from(number["id"].as_u64().expect("a number")).expect("a small one");
        calls.caller.input(answer(era, calls.next_id));
        while calls.caller.client.poll_action().is_some() {}
        calls.next_id += 1;
        calls
    }

    fn run(&mut self, operations: usize, read: impl Fn(&Answer) -> usize) -> Duration {
        let answers: Vec<Bytes> = (0..operations).map(|n| answer(self.era, self.next_id + n)).collect();
        let start = Instant::now();
        for answer in answers {
            let arguments = &self.arguments[self.next_id % self.arguments.len()];
            black_box(read(&self.caller.call(arguments, answer)));
            self.next_id += 1;
        }
        start.elapsed()
    }
}

fn arguments() -> impl Iterator<Item = String> {
    (0..POOL).map(|number| format!(r#"{{"text":"{}","n":{number}}}"#, frames::text(number)))
}

/// The answer of a server.
fn answer(era: Era, id: usize) -> Bytes {
    let (text, stamp) = (frames::text(id % POOL), era.stamp());
    Bytes::from(format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]{stamp}}}}}\n"
    ))
}

/// A call and its answer.
pub(crate) fn calls(era: Era) -> Case<'static> {
    let (mut plain, mut read, mut typed) = (Calls::new(era), Calls::new(era), Calls::new(era));
    let arguments: Vec<String> = arguments().collect();
    let mut id = 1_000;
    Case {
        title: format!("client: tools/call, {}", era.name()),
        operations: 100,
        contenders: vec![
            Contender::timed("floor", move |n| {
                let answers: Vec<Bytes> = (0..n).map(|n| answer(era, id + n)).collect();
                let start = Instant::now();
                for answer in answers {
                    drop(black_box(floor::call(era, id, &arguments[id % arguments.len()])));
                    black_box(floor::answer(&answer));
                    id += 1;
                }
                start.elapsed()
            }),
            Contender::timed("machine, to its outcome", move |n| plain.run(n, |answer| usize::from(answer.is_error())))
                .at_most(1.5),
            Contender::timed("machine, outcome read as the floor does", move |n| {
                read.run(n, |answer| {
                    let json = answer.json();
                    json.parse_borrowed::<floor::CallResult<'_>>().expect("our own frame").length()
                })
            }),
            Contender::timed("machine, outcome read into the model", move |n| {
                typed.run(n, |answer| answer.parse::<CallToolResult>().expect("our own frame").joined_text().len())
            }),
        ],
    }
}
