//! The client machine in process: a call out, its answer in.

use std::hint::black_box;

use bytes::Bytes;
use mcp_sansio::client::{Action, CallOptions, Client, Config, Connect, Request};
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Input, Now};
use mcp_sansio::model::{CallToolResult, Implementation};
use serde_json::{Value, json};

use crate::floor;
use crate::frames::Era;
use crate::measure::{Case, Contender};

/// A client that is connected.
struct Caller {
    client: Client,
    now: Now,
}

impl Caller {
    fn new(era: Era) -> Self {
        let mode = if era == Era::Modern { Connect::Modern } else { Connect::Legacy };
        let config = Config::new(Implementation::new("bench-client", "1.0.0")).connect(mode);
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

    /// One call and its typed result.
    fn call(&mut self, era: Era, arguments: &Json) -> usize {
        let request = Request::call_tool("echo", arguments);
        self.client.call(self.now, request, CallOptions::new()).expect("the machine is open");
        let frame = self.written();
        let id = id_of(&frame);
        self.input(answer(era, id));
        black_box((self.client.poll_timeout(), self.client.wants_input()));
        match self.client.poll_action() {
            Some(Action::Done { outcome, .. }) => {
                let result: CallToolResult = outcome.expect("a result").parse().expect("of a tool");
                result.joined_text().len()
            }
            other => panic!("unexpected: {other:?}"),
        }
    }
}

/// The id of a frame of ours: digits behind the first `"id":`.
fn id_of(frame: &[u8]) -> usize {
    let start = frame.windows(5).position(|window| window == b"\"id\":").expect("a request") + 5;
    frame[start..].iter().take_while(|b| b.is_ascii_digit()).fold(0, |id, b| id * 10 + usize::from(b - b'0'))
}

/// The answer of a server, made alike for floor and machine.
fn answer(era: Era, id: usize) -> Bytes {
    let stamp = match era {
        Era::Modern => {
            r#","resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bench","version":"1.0.0"}}"#
        }
        Era::Legacy => "",
    };
    let text = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"hello number {id}\"}}]{stamp}}}}}\n"
    );
    Bytes::from(text)
}

/// A call and its answer.
pub(crate) fn calls(era: Era) -> Case<'static> {
    let arguments: Vec<String> =
        (0..997).map(|n| format!(r#"{{"text":"hello number {}","n":{n}}}"#, n * 7919 % 10_007)).collect();
    let carried: Vec<Json> =
        arguments.iter().map(|text| Json::from_text(text.as_str()).expect("our own text")).collect();
    let mut caller = Caller::new(era);
    let (mut floor_id, mut machine_at) = (1_000, 0);
    Case {
        title: format!("client: tools/call, {}", era.name()),
        operations: 100,
        contenders: vec![
            Contender::new("floor", move |n| {
                for _ in 0..n {
                    floor_id += 1;
                    let frame = floor::call(era, floor_id, &arguments[floor_id % arguments.len()]);
                    let id = id_of(black_box(&frame));
                    black_box(floor::answer(&answer(era, id)));
                }
            }),
            Contender::new("machine", move |n| {
                for _ in 0..n {
                    machine_at = (machine_at + 1) % carried.len();
                    black_box(caller.call(era, &carried[machine_at]));
                }
            })
            .at_most(1.5),
        ],
    }
}
