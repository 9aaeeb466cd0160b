//! The server machine in process: a frame in, the frame of the answer out.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcp_sansio::machine::{Input, Now};
use mcp_sansio::model::{CallToolResult, Tool};
use mcp_sansio::rng::Seed;
use mcp_sansio::server::{Action, Call, Definition, Reply, Server};
use serde_json::json;

use crate::floor::{self, EchoArguments};
use crate::frames::{self, Cycle, Era};
use crate::measure::{Case, Contender};

/// The machine with the application that the benchmark needs.
pub(crate) struct Echo {
    server: Server,
    now: Now,
}

impl Echo {
    pub(crate) fn new(definition: Arc<Definition>, era: Era) -> Self {
        let mut echo = Self { server: Server::new(definition, Seed([7; 32])), now: Now::default() };
        if era == Era::Legacy {
            echo.input(Bytes::from_static(frames::OPENING.as_bytes()));
            while echo.server.poll_action().is_some() {}
        }
        echo
    }

    pub(crate) fn input(&mut self, bytes: Bytes) {
        self.server.handle(self.now, Input::Bytes(bytes)).expect("the machine is open");
    }

    /// Does all that is to be done; `sent` gets every frame.
    pub(crate) fn drain(&mut self, mut sent: impl FnMut(Bytes)) {
        while let Some(action) = self.server.poll_action() {
            match action {
                Action::Invoke(invocation) => {
                    let Call::Tool { arguments, .. } = &invocation.call else { panic!("only tools are called") };
                    let arguments: EchoArguments<'_> = arguments.parse_borrowed().expect("our own frame");
                    black_box(arguments.n);
                    let result = CallToolResult::text(arguments.text);
                    self.server.reply(self.now, invocation.slot, Reply::Tool(result)).expect("the slot is open");
                }
                Action::Write(frame) => {
                    self.server.handle(self.now, Input::Written(frame.len())).expect("the machine is open");
                    sent(frame);
                }
                other => panic!("unexpected: {other:?}"),
            }
        }
    }

    pub(crate) const fn machine(&mut self) -> &mut Server {
        &mut self.server
    }

    /// The answer to one request.
    pub(crate) fn serve(&mut self, frame: Bytes) -> Bytes {
        self.input(frame);
        let mut answer = None;
        self.drain(|frame| answer = Some(frame));
        answer.expect("every request is answered")
    }

    /// Serves so many requests, and looks at the clock after each, as a driver does. That the frames have owners before
    /// is no work of the machine, nor is it to carry the answers about.
    fn time(&mut self, frames: &mut Cycle<'_, Bytes>, count: usize) -> Duration {
        let frames: Vec<Bytes> = (0..count).map(|_| frames.next().clone()).collect();
        let start = Instant::now();
        for frame in frames {
            self.input(frame);
            self.drain(|answer| {
                black_box(&answer);
            });
            black_box((self.server.poll_timeout(), self.server.wants_input()));
        }
        start.elapsed()
    }
}

/// A server of so many tools, the first of which is the echo. Each has a description and a schema like real ones.
pub(crate) fn definition(tools: usize, validated: bool) -> Arc<Definition> {
    let mut builder = Definition::builder("bench", "1.0.0").page_size(tools.clamp(1, 1_000));
    for number in 0..tools {
        let tool = Tool::new(frames::tool_name(number)).description(description(number));
        builder = builder.tool(if validated { tool.input_schema(schema()) } else { tool });
    }
    Arc::new(builder.build().expect("the definition is right"))
}

/// What the tool `number` of a catalogue says of itself.
pub(crate) fn description(number: usize) -> String {
    format!("Echoes its text, as tool {number}.")
}

/// The result of a list of so many tools.
pub(crate) fn first_page(era: Era, tools: usize) -> Vec<u8> {
    #[derive(serde::Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        result: &'a serde_json::value::RawValue,
    }
    let answer = Echo::new(definition(tools, true), era).serve(frames::list(era, 0));
    let answer: Answer<'_> = serde_json::from_slice(&answer).expect("a list is answered with a result");
    answer.result.get().as_bytes().to_vec()
}

/// The schema of [`EchoArguments`].
pub(crate) fn schema() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": { "text": { "type": "string" }, "n": { "type": "integer" } },
        "required": ["text", "n"],
    })
}

/// The cases of a single tool.
pub(crate) fn calls<'p>(era: Era, calls: &'p [Bytes], chunks: &'p [Bytes]) -> Case<'p> {
    let (plain, checked) = (definition(1, false), definition(1, true));
    assert_same_answer(era, &plain, &calls[0]);
    let (mut plain, mut checked, mut piped) =
        (Echo::new(Arc::clone(&plain), era), Echo::new(checked, era), Echo::new(plain, era));
    let (mut first, mut second) = (Cycle::new(calls), Cycle::new(calls));
    let (mut third, mut fourth, mut chunks) = (Cycle::new(calls), Cycle::new(calls), Cycle::new(chunks));
    Case {
        title: format!("server: tools/call, {}", era.name()),
        operations: 100,
        contenders: vec![
            Contender::new("floor", move |n| {
                (0..n).for_each(|_| drop(black_box(floor::echo(era, first.next()))));
            }),
            Contender::timed("machine", move |n| plain.time(&mut second, n)).at_most(1.5),
            Contender::timed("machine, arguments validated", move |n| checked.time(&mut third, n)).at_most(2.5),
            Contender::new("machine, 20 frames at a time", move |n| {
                for _ in 0..n / 20 {
                    piped.input(chunks.next().clone());
                    piped.drain(|answer| {
                        black_box(&answer);
                    });
                }
            }),
            Contender::new("rmcp 3.11.0, its types alone: parse and write", move |n| {
                (0..n).for_each(|_| drop(black_box(rmcp_types(fourth.next()))));
            }),
        ],
    }
}

/// What rmcp's own message types take for a call: no service, no task, no transport.
fn rmcp_types(frame: &[u8]) -> Vec<u8> {
    use rmcp::model::{
        CallToolResult, ClientJsonRpcMessage, ClientRequest, ContentBlock, JsonRpcMessage, ServerJsonRpcMessage,
        ServerResult,
    };
    let message: ClientJsonRpcMessage = serde_json::from_slice(frame).expect("our own frame");
    let JsonRpcMessage::Request(message) = message else { panic!("a request was sent") };
    let ClientRequest::CallToolRequest(call) = message.request else { panic!("a tool was called") };
    let arguments = call.params.arguments.unwrap_or_default();
    let text = arguments.get("text").and_then(|text| text.as_str()).expect("our own frame");
    let result = CallToolResult::success(vec![ContentBlock::text(text)]);
    let answer = ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), message.id);
    serde_json::to_vec(&answer).expect("it serialises")
}

/// The floor writes what the machine writes, or the comparison means nothing.
fn assert_same_answer(era: Era, definition: &Arc<Definition>, call: &Bytes) {
    let ours = Echo::new(Arc::clone(definition), era).serve(call.clone());
    let parse = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).expect("an answer is JSON");
    assert_eq!(parse(&ours), parse(&floor::echo(era, call)));
}

/// `tools/list` of 1,000 tools on one page.
pub(crate) fn lists(era: Era, lists: &[Bytes]) -> Case<'_> {
    let mut echo = Echo::new(definition(1_000, true), era);
    let result = first_page(era, 1_000);
    let (mut first, mut second) = (Cycle::new(lists), Cycle::new(lists));
    Case {
        title: format!("server: tools/list of 1,000, {} ({} KiB)", era.name(), result.len() / 1_024),
        operations: 20,
        contenders: vec![
            Contender::new("floor", move |n| {
                (0..n).for_each(|_| drop(black_box(floor::list(first.next(), &result))));
            }),
            Contender::timed("machine", move |n| echo.time(&mut second, n)).at_most(1.5),
        ],
    }
}

/// Calls of one tool among 1, 1,000 and 10,000; the first is what the others are held to. And calls that go through
/// the whole catalogue, where each tool's schema has to come from farther away.
pub(crate) fn catalogues(era: Era) -> Case<'static> {
    let contender = |tools: usize, called: usize, name: String| {
        let mut echo = Echo::new(definition(tools, true), era);
        let calls: Vec<_> = (0..frames::POOL)
            .map(|number| frames::call(era, number, &frames::tool_name(number * 7_919 % called)))
            .collect();
        let mut at = 0;
        Contender::new(name, move |n| {
            for _ in 0..n {
                drop(black_box(echo.serve(calls[at].clone())));
                at = (at + 1) % calls.len();
            }
        })
    };
    let one = |tools: usize| contender(tools, 1, format!("one of {tools}"));
    Case {
        title: format!("server: catalogue, validated tools/call, {}", era.name()),
        operations: 100,
        contenders: vec![
            one(1),
            one(1_000).at_most(1.1),
            one(10_000).at_most(1.1),
            contender(1_000, 1_000, "each of 1000 in turn".to_owned()),
            contender(10_000, 10_000, "each of 10000 in turn".to_owned()),
        ],
    }
}
