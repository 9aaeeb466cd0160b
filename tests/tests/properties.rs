//! Whatever happens, in whatever order: nothing panics, every call ends exactly once, and answers find their calls.
//!
//! Cases are drawn from a fixed seed, so that a run is the same run everywhere.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcp_sansio::client::{
    Action as ClientAction, CallError, CallOptions, Config, Connect, InputAnswer, InputNeeded, List, Request,
};
use mcp_sansio::error::ErrorObject;
use mcp_sansio::ids::{CallId, ReplySlot, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::machine::Input;
use mcp_sansio::model::{
    CallToolResult, ClientCapabilities, ElicitParams, ElicitResult, Implementation, LoggingLevel, SubscriptionFilter,
    Tool,
};
use mcp_sansio::server::request_state::SealKeys;
use mcp_sansio::server::{
    Action as ServerAction, Definition, Event, InputRequired, Invocation, LogMessage, Progress, Reply,
};
use mcp_sansio::spec::{ErrorCode, Version};
use mcp_sansio::testing::{Link, Pair, Side};
use proptest::prelude::*;
use proptest::test_runner::{Config as RunConfig, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

/// What is done, and to which of the things that there are.
type Op = (u8, u8);

/// How a pair connects, and what its links are like.
#[derive(Clone, Copy, Debug)]
struct Setting {
    era: u8,
    seed: u64,
    faithful: bool,
}

fn settings(faithful: bool) -> impl Strategy<Value = Setting> {
    (any::<u8>(), any::<u64>()).prop_map(move |(era, seed)| Setting { era, seed, faithful })
}

fn run(faithful: bool, cases: u32) {
    let config = RunConfig { cases, failure_persistence: None, ..RunConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let ops = proptest::collection::vec(any::<Op>(), 1..60);
    let ended = Cell::new(0);
    let outcome = runner.run(&(settings(faithful), ops), |(setting, ops)| {
        ended.set(ended.get() + World::new(setting).run(&ops));
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    assert!(ended.get() > cases as usize, "only {} calls were made", ended.get());
}

/// Whatever is done over links that only delay and cut: calls end once, with their own answers.
#[test]
fn any_order_of_operations_is_survived() {
    run(true, 96);
}

/// The same over links that lose, double, swap and spoil: answers may be lost or wrong, but nothing else is.
#[test]
fn any_fault_of_the_links_is_survived() {
    run(false, 96);
}

struct World {
    pair: Pair,
    setting: Setting,
    /// Calls by name, with what they sent: they have not ended.
    open: BTreeMap<CallId, u64>,
    ended: usize,
    invocations: Vec<Invocation>,
    /// Slots that were answered: they must not take another answer.
    stale: Vec<SlotId>,
    /// Slots whose answer nobody wants any more.
    muted: BTreeSet<SlotId>,
    questions: Vec<InputNeeded>,
    next: u64,
}

impl World {
    fn new(setting: Setting) -> Self {
        let definition = Definition::builder("s", "1")
            .tool(Tool::new("slow"))
            .logging()
            .subscriptions()
            .list_changed()
            .seal(SealKeys::new([1; 32]))
            .build()
            .unwrap();
        let connect = match setting.era % 4 {
            0 => Connect::Legacy,
            1 => Connect::Pinned(Version::V2025_03_26),
            2 => Connect::Auto,
            _ => Connect::Modern,
        };
        let capabilities = ClientCapabilities::new().with_form();
        let config = Config::new(Implementation::new("c", "1")).connect(connect).capabilities(capabilities);
        let mut pair = Pair::connected(definition, config);
        let link = |seed| {
            let link =
                Link::seeded(seed).split(1 + usize::from(setting.era) % 40).jitter(Duration::from_millis(5)).merge();
            if setting.faithful { link } else { link.lose(12).double(9).swap(7).spoil(8) }
        };
        (pair.up, pair.down) = (link(setting.seed), link(setting.seed ^ 1));
        Self {
            pair,
            setting,
            open: BTreeMap::new(),
            ended: 0,
            invocations: Vec::new(),
            stale: Vec::new(),
            muted: BTreeSet::new(),
            questions: Vec::new(),
            next: 0,
        }
    }

    /// How many calls have ended.
    fn run(mut self, ops: &[Op]) -> usize {
        for (kind, which) in ops {
            self.apply(*kind, usize::from(*which));
            self.collect();
        }
        self.finish()
    }

    fn apply(&mut self, kind: u8, which: usize) {
        match kind % 20 {
            0..=3 => self.call(which),
            4..=7 => self.reply(which),
            8 => self.cancel(which),
            9 => self.supply(which),
            10 => self.report(which),
            11 => self.publish(which),
            12 => self.pass(which),
            13 => self.reply_again(which),
            14 => self.noise(which),
            15 => self.listen(which),
            16 => self.notify(which),
            17 => self.ask_client(which),
            18 => drop(self.pair.step()),
            _ => self.pair.drive(),
        }
    }

    fn started(&mut self, call: Result<CallId, mcp_sansio::error::Error>) {
        // A closed client refuses; that is an answer too.
        if let Ok(call) = call {
            assert!(self.open.insert(call, self.next).is_none(), "a name was given twice");
        }
    }

    fn call(&mut self, which: usize) {
        self.next += 1;
        let request = match which % 5 {
            0 => Request::list(List::Tools, None),
            1 => Request::custom("acme/unknown", Json::EMPTY_OBJECT).unwrap(),
            _ => Request::call_tool("slow", &Json::from(json!({"n": self.next}))),
        };
        let mut options = CallOptions::new();
        if which.is_multiple_of(2) {
            options = options.progress();
        }
        if which.is_multiple_of(3) {
            options = options.idle(Some(Duration::from_millis(50)));
        }
        let call = self.pair.client.machine.call(self.pair.now, request, options);
        self.started(call);
    }

    fn listen(&mut self, which: usize) {
        let mut filter = SubscriptionFilter::new();
        filter.tools_list_changed = Some(which.is_multiple_of(2));
        filter.resource_subscriptions = Some(vec![format!("x:{}", which % 3)]);
        let call = self.pair.client.machine.listen(self.pair.now, &filter, CallOptions::new());
        self.started(call);
    }

    fn pick<T>(items: &[T], which: usize) -> Option<usize> {
        (!items.is_empty()).then(|| which % items.len())
    }

    fn reply(&mut self, which: usize) {
        let Some(index) = Self::pick(&self.invocations, which) else { return };
        let invocation = self.invocations.remove(index);
        let n = number(&invocation.context.params());
        self.stale.push(invocation.slot.id());
        let form = || ElicitParams::form("?", json!({"type": "object", "properties": {}})).into();
        let reply = match which % 6 {
            0 => Reply::Failed,
            1 => Reply::Error(ErrorObject::new(ErrorCode(1), "no").with_data(Json::from(json!(n)))),
            2 => Reply::InputRequired(InputRequired {
                requests: vec![("k".to_owned(), form())],
                ..InputRequired::default()
            }),
            3 => Reply::Raw(Json::from(json!({"content": [{"type": "text", "text": n.to_string()}]}))),
            _ => Reply::Tool(CallToolResult::text(n.to_string())),
        };
        let (slot, id) = (invocation.slot.id(), invocation.context.request_id().to_string());
        let before = answers(&self.pair, &id);
        // A machine that has closed has no slots.
        let _ = self.pair.server.machine.reply(self.pair.now, invocation.slot, reply);
        if self.muted.contains(&slot) {
            self.pair.drive();
            assert_eq!(answers(&self.pair, &id), before, "a cancelled request was answered");
        }
    }

    fn reply_again(&mut self, which: usize) {
        if let Some(index) = Self::pick(&self.stale, which) {
            let slot = ReplySlot::from_id(self.stale[index]);
            let outcome =
                self.pair.server.machine.reply(self.pair.now, slot, Reply::Tool(CallToolResult::text("again")));
            assert!(outcome.is_err(), "a slot was answered twice");
        }
        let nobody = ReplySlot::from_id(SlotId::from_u64(which as u64 | 1 << 63));
        assert!(self.pair.server.machine.reply(self.pair.now, nobody, Reply::Failed).is_err());
    }

    fn cancel(&mut self, which: usize) {
        let calls: Vec<CallId> = self.open.keys().copied().collect();
        if let Some(index) = Self::pick(&calls, which) {
            let _ = self.pair.client.machine.cancel(self.pair.now, calls[index], Some("r"));
        }
        let _ = self.pair.client.machine.cancel(self.pair.now, CallId::from_u64(which as u64 | 1 << 60), None);
    }

    fn supply(&mut self, which: usize) {
        let Some(index) = Self::pick(&self.questions, which) else { return };
        let needed = self.questions.remove(index);
        let answer = match which % 4 {
            0 => InputAnswer::Declined,
            1 => InputAnswer::Refused(ErrorObject::internal()),
            2 => InputAnswer::Raw(Json::from(json!(7))),
            _ => InputAnswer::Elicit(ElicitResult::accept(json!({}))),
        };
        // The question may be withdrawn by now, and one of the answers fits none.
        let _ = self.pair.client.machine.supply_input(self.pair.now, needed.input, &answer);
    }

    fn report(&mut self, which: usize) {
        let slots: Vec<SlotId> =
            self.invocations.iter().map(|invocation| invocation.slot.id()).chain(self.stale.iter().copied()).collect();
        let Some(index) = Self::pick(&slots, which) else { return };
        let progress = Progress { progress: which as f64, total: None, message: None };
        let _ = self.pair.server.machine.progress(self.pair.now, slots[index], &progress);
        let message = LogMessage { level: LoggingLevel::Error, logger: None, data: Json::NULL };
        let _ = self.pair.server.machine.log(self.pair.now, Some(slots[index]), &message);
    }

    fn publish(&mut self, which: usize) {
        let event = match which % 3 {
            0 => Event::ToolsListChanged,
            1 => Event::ResourceUpdated { uri: "x:1".into() },
            _ => Event::PromptsListChanged,
        };
        let _ = self.pair.server.machine.publish(self.pair.now, &event);
    }

    fn pass(&mut self, which: usize) {
        self.pair.pass(Duration::from_millis(which as u64 * if which.is_multiple_of(7) { 1_000 } else { 1 }));
    }

    /// Bytes that no machine sent. A stray line may sit in the middle of another: only then links stay faithful.
    fn noise(&mut self, which: usize) {
        let noise: [&[u8]; 6] = [
            b"noise\n",
            b"\xff\xfe\n",
            b"{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}\n",
            b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":999}}\n",
            b"[]\n",
            b"{\"jsonrpc\":\"2.0\",\"id\":\"odd\",\"error\":{}}\n",
        ];
        self.pair.drive();
        let bytes = Input::Bytes(bytes::Bytes::from_static(noise[which % noise.len()]));
        self.pair.server.receive(self.pair.now, bytes.clone());
        self.pair.client.receive(self.pair.now, bytes);
    }

    fn notify(&mut self, which: usize) {
        let params = Json::from(json!({"n": which}));
        let _ = self.pair.client.machine.notify(self.pair.now, "notifications/acme/x", &params);
        let _ = self.pair.server.machine.notify(self.pair.now, "notifications/acme/y", Some(&params));
        if which.is_multiple_of(16) {
            let _ = self
                .pair
                .client
                .machine
                .set_level(self.pair.now, LoggingLevel::Debug)
                .map(|call| self.open.insert(call, 0));
        }
    }

    fn ask_client(&mut self, which: usize) {
        let slot = Self::pick(&self.invocations, which).map(|index| self.invocations[index].slot.id());
        let slot = slot.filter(|_| which.is_multiple_of(2));
        let params = Json::from(json!({"message": "m", "requestedSchema": {"type": "object", "properties": {}}}));
        let _ = self.pair.server.machine.request(self.pair.now, slot, "elicitation/create", Some(&params), None);
        let _ = self.pair.server.machine.request(self.pair.now, slot, "ping", None, Some(Duration::from_millis(5)));
    }

    /// Looks at everything that has come.
    fn collect(&mut self) {
        while let Some(event) = self.pair.server.events.pop_front() {
            match event {
                ServerAction::Invoke(invocation) => self.invocations.push(*invocation),
                ServerAction::Cancelled { slot, .. } => drop(self.muted.insert(slot)),
                _ => {}
            }
        }
        while let Some(event) = self.pair.client.events.pop_front() {
            match event {
                ClientAction::NeedInput(needed) => self.questions.push(*needed),
                ClientAction::Done { call, outcome } => {
                    let sent = self.open.remove(&call).expect("a call ends once, and after it was made");
                    self.ended += 1;
                    if self.setting.faithful {
                        is_its_own(sent, outcome);
                    }
                }
                _ => {}
            }
        }
    }

    /// Ends everything: each call has ended, and no request was answered twice.
    fn finish(mut self) -> usize {
        self.pair.drive();
        self.collect();
        let frames = self.pair.frames.len();
        self.pair.client.machine.close(self.pair.now);
        self.pair.drive();
        self.collect();
        assert!(self.open.is_empty(), "calls without an end: {:?}", self.open);
        self.pair.pass(Duration::from_secs(2));
        self.collect();
        assert!(self.pair.server.is_closed() && self.pair.client.is_closed());
        for invocation in std::mem::take(&mut self.invocations) {
            self.pair.server.machine.abandon(self.pair.now, invocation.slot);
        }
        self.pair.drive();
        self.collect();
        assert_eq!(self.pair.next(), None);
        assert!(self.pair.client.machine.call(self.pair.now, Request::ping(), CallOptions::new()).is_err());
        if self.setting.faithful {
            answered_once(&self.pair, frames);
        }
        self.ended
    }
}

/// An answer belongs to the call that asked for it.
fn is_its_own(sent: u64, outcome: Result<mcp_sansio::client::Answer, CallError>) {
    match outcome {
        Ok(answer) => {
            let Ok(result) = answer.parse::<CallToolResult>() else { return };
            let text = result.joined_text();
            if let Ok(n) = text.parse::<u64>() {
                assert_eq!(n, sent, "the answer of another call");
            }
        }
        Err(CallError::Remote(error)) if error.code == ErrorCode(1) => {
            assert_eq!(error.data, Some(Json::from(json!(sent))), "the error of another call");
        }
        Err(_) => {}
    }
}

/// How often the server has answered a request. No batches: nobody sends any.
fn answers(pair: &Pair, id: &str) -> usize {
    let begins = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"");
    let answer = |text: &str| text.starts_with(&begins) && !text.starts_with(&format!("{begins}method"));
    pair.frames.iter().filter(|frame| frame.from == Side::Server && answer(&frame.text)).count()
}

fn number(params: &Json) -> u64 {
    params.parse::<Value>().ok().and_then(|params| params["arguments"]["n"].as_u64()).unwrap_or(0)
}

/// No request is answered twice, and ids of requests are not used twice.
fn answered_once(pair: &Pair, frames: usize) {
    let mut requests: BTreeMap<(Side, String), bool> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for frame in &pair.frames[..frames] {
        let message: Value = serde_json::from_str(&frame.text).unwrap();
        let messages = message.as_array().cloned().unwrap_or_else(|| vec![message]);
        for message in messages {
            let Some(id) = message.get("id").map(Value::to_string) else { continue };
            if message.get("method").is_some() {
                assert!(seen.insert((frame.from, id.clone())), "the id {id} was used twice");
                requests.insert((frame.from, id), false);
            } else {
                let other = if frame.from == Side::Client { Side::Server } else { Side::Client };
                if let Some(answered) = requests.get_mut(&(other, id.clone())) {
                    assert!(!std::mem::replace(answered, true), "the request {id} was answered twice");
                }
            }
        }
    }
}
