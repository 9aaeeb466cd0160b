//! Composition: gateways between the eras, made with the public API alone, carry everything through.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use mcp_sansio::client::{
    Action as ClientAction, Answer, CallError, CallOptions, Config, Connect, InputAnswer, Request,
};
use mcp_sansio::error::ErrorObject;
use mcp_sansio::ids::CallId;
use mcp_sansio::json::Json;
use mcp_sansio::model::{
    CallToolResult, ClientCapabilities, ContentBlock, CreateMessageParams, CreateMessageResult, ElicitParams,
    ElicitResult, Implementation, InputRequest, ListRootsParams, ListRootsResult, LoggingLevel, Root, SamplingMessage,
    SubscriptionFilter, Tool,
};
use mcp_sansio::server::request_state::SealKeys;
use mcp_sansio::server::{
    Action as ServerAction, Definition, DefinitionBuilder, Event, InputRequired, Invocation, List, LogMessage,
    Notified, Progress, Reply, Server,
};
use mcp_sansio::spec::{ErrorCode, Version};
use mcp_sansio::testing::{Link, Pair, assert_carried};
use mcp_sansio_tests::bridge::to_legacy::ToLegacy;
use mcp_sansio_tests::bridge::to_modern::ToModern;
use mcp_sansio_tests::bridge::{Bridge, Chain};
use mcp_sansio_tests::schema::Reader;
use serde_json::json;

fn capabilities() -> ClientCapabilities {
    ClientCapabilities::new().with_form().with_sampling().with_roots()
}

fn config(name: &str, connect: Connect) -> Config {
    Config::new(Implementation::new(name, "1.0.0")).capabilities(capabilities()).connect(connect)
}

/// Everything on, so that a bridge may hand it through.
fn open(builder: DefinitionBuilder) -> Definition {
    builder
        .dynamic(List::Tools)
        .dynamic(List::Prompts)
        .subscriptions()
        .list_changed()
        .logging()
        .completions()
        .build()
        .unwrap()
}

fn backend(versions: &[Version]) -> Definition {
    let backend = Definition::builder("backend", "1.0.0").versions(versions).tool(Tool::new("slow"));
    backend.subscriptions().list_changed().logging().hand_over_unknown().seal(SealKeys::new([5; 32])).build().unwrap()
}

const LEGACY: Version = Version::V2025_11_25;

/// A legacy host, a bridge, a modern backend.
fn to_modern() -> Chain<ToModern> {
    let backend = Pair::connected(backend(&[Version::LATEST]), config("bridge", Connect::Modern));
    let host = Pair::new(open(ToModern::definition("bridge")), config("host", Connect::Pinned(LEGACY)));
    connected(Chain { host, backend, bridge: ToModern::default() })
}

/// A modern host, a bridge, a legacy backend.
fn to_legacy() -> Chain<ToLegacy> {
    let backend = Pair::connected(backend(&[LEGACY]), ToLegacy::config(config("bridge", Connect::Legacy)));
    let host = Pair::new(open(ToLegacy::definition("bridge")), config("host", Connect::Modern));
    connected(Chain { host, backend, bridge: ToLegacy::default() })
}

fn connected<B: Bridge>(mut chain: Chain<B>) -> Chain<B> {
    chain.host.client.machine.connect(chain.host.now).unwrap();
    chain.drive();
    assert!(matches!(chain.host.client.events.pop_front(), Some(ClientAction::Connected(_))));
    chain
}

/// Both bridges, told the same.
macro_rules! both {
    ($($(#[$doc:meta])* $name:ident / $other:ident: $body:ident;)*) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            let mut chain = to_modern();
            $body(&mut chain);
            conforms(&mut chain);
        }

        $(#[$doc])*
        #[test]
        fn $other() {
            let mut chain = to_legacy();
            $body(&mut chain);
            conforms(&mut chain);
        }
    )*};
}

both! {
    /// Methods that nobody knows, known ones, and integers beyond 64 bits go through as they are.
    to_modern_carries_requests / to_legacy_carries_requests: requests;
    /// Code, message and data of an error go through as they are.
    to_modern_carries_errors / to_legacy_carries_errors: errors;
    /// Notifications that nobody knows go through both ways.
    to_modern_carries_unknown_notifications / to_legacy_carries_unknown_notifications: unknown_notifications;
    /// Progress goes through under the host's own token, before the result.
    to_modern_carries_progress / to_legacy_carries_progress: progress;
    /// Log messages go through at the level that the host asked for.
    to_modern_carries_log_messages / to_legacy_carries_log_messages: log_messages;
    /// A cancellation reaches the backend's handler with its reason, and the host hears nothing more.
    to_modern_carries_cancellation / to_legacy_carries_cancellation: cancellation;
    /// Questions of all kinds reach the host, and its answers the backend.
    to_modern_carries_questions / to_legacy_carries_questions: questions;
    /// A handler that asks round after round.
    to_modern_carries_rounds / to_legacy_carries_rounds: rounds;
    /// A host that cancels while it is asked.
    to_modern_carries_cancellation_of_questions / to_legacy_carries_cancellation_of_questions: cancelled_question;
    /// Two calls at once do not mix, nor do their questions.
    to_modern_keeps_calls_apart / to_legacy_keeps_calls_apart: calls_apart;
}

// ---- What is said to both.

fn call<B: Bridge>(chain: &mut Chain<B>, method: &str, params: &str, options: CallOptions) -> CallId {
    let params = Json::from_text(params).unwrap();
    let call = chain.host.call(Request::custom(method, params).unwrap(), options);
    chain.drive();
    call
}

fn slow<B: Bridge>(chain: &mut Chain<B>) -> (CallId, Invocation) {
    let call = call(chain, "tools/call", r#"{"name":"slow","arguments":{}}"#, CallOptions::new());
    let invocation = chain.backend.invocation().unwrap();
    (call, invocation)
}

fn answer<B: Bridge>(chain: &mut Chain<B>, invocation: Invocation, reply: Reply) {
    chain.backend.reply(invocation, reply);
    chain.drive();
}

fn exchange<B: Bridge>(chain: &mut Chain<B>, method: &str, params: &str, result: &str) -> Answer {
    let call = call(chain, method, params, CallOptions::new());
    let invocation = chain.backend.invocation().unwrap_or_else(|| panic!("{method} reached nobody"));
    assert_eq!(invocation.context.method(), method);
    let sent: mcp_sansio::model::Extra = Json::from_text(params).unwrap().parse().unwrap();
    let sent = sent.into_iter().filter(|(name, _)| name != "_meta").collect::<mcp_sansio::model::Extra>();
    assert_carried("params", &Json::from_value(&sent).unwrap(), &invocation.context.params());
    let result = Json::from_text(result).unwrap();
    answer(chain, invocation, Reply::Raw(result.clone()));
    let answer = chain.host.done(call).unwrap().unwrap();
    assert_carried("result", &result, &answer.json());
    answer
}

fn requests<B: Bridge>(chain: &mut Chain<B>) {
    exchange(
        chain,
        "tools/call",
        r#"{"name":"slow","arguments":{"big":123456789012345678901234567890,"f":1.50,"deep":[{"n":null}]},"later":-0.0}"#,
        r#"{"content":[{"type":"hologram","x":36893488147419103232}],"structuredContent":{"n":18446744073709551617},"later":1E400}"#,
    );
    exchange(
        chain,
        "acme/count",
        r#"{"n":340282366920938463463374607431768211456}"#,
        r#"{"n":340282366920938463463374607431768211457}"#,
    );
    let params = r#"{"a":1,"_meta":{"com.acme/trace":{"n":18446744073709551617}}}"#;
    let call = call(chain, "acme/meta", params, CallOptions::new());
    let invocation = chain.backend.invocation().unwrap();
    assert!(invocation.context.meta().get().contains(r#""com.acme/trace":{"n":18446744073709551617}"#));
    answer(chain, invocation, Reply::Raw(Json::from_text(r#"{"_meta":{"com.acme/x":[1]}}"#).unwrap()));
    assert!(chain.host.done(call).unwrap().unwrap().json().get().contains(r#""com.acme/x":[1]"#));
}

fn errors<B: Bridge>(chain: &mut Chain<B>) {
    let data = Json::from_text(r#"{"n":18446744073709551617,"s":"\u00e9"}"#).unwrap();
    for code in [-32603, -32002, -32042, 7] {
        let error = ErrorObject::new(ErrorCode(code), "quota\n\"x\"").with_data(data.clone());
        let call = call(chain, "acme/fail", "{}", CallOptions::new());
        let invocation = chain.backend.invocation().unwrap();
        answer(chain, invocation, Reply::Error(error.clone()));
        let Err(CallError::Remote(received)) = chain.host.done(call).unwrap() else { panic!() };
        assert_eq!((received.code, &received.message), (error.code, &error.message));
        assert_eq!(received.data.unwrap().get(), data.get());
    }
    let call = call(chain, "tools/call", r#"{"name":"nope"}"#, CallOptions::new());
    let Err(CallError::Remote(received)) = chain.host.done(call).unwrap() else { panic!() };
    assert_eq!(received.code, ErrorCode::INVALID_PARAMS);
}

fn unknown_notifications<B: Bridge>(chain: &mut Chain<B>) {
    let params = Json::from_text(r#"{"n":18446744073709551617,"_meta":{"x/y":1}}"#).unwrap();
    chain.host.client.machine.notify(chain.host.now, "notifications/acme/up", &params).unwrap();
    chain.backend.server.machine.notify(chain.backend.now, "notifications/acme/down", Some(&params)).unwrap();
    chain.drive();
    let up = chain.backend.server.events.pop_front();
    let Some(ServerAction::Notified(Notified::Custom { method, params: came })) = up else { panic!("{up:?}") };
    assert_eq!((&*method, came.get()), ("notifications/acme/up", params.get()));
    let (method, came) = notified(chain);
    assert_eq!((&*method, came.get()), ("notifications/acme/down", params.get()));
}

fn notified<B: Bridge>(chain: &mut Chain<B>) -> (Box<str>, Json) {
    let event = chain.host.client.take(|action| match action {
        ClientAction::Notified { method, params, .. } => Ok((method, params)),
        other => Err(other),
    });
    event.unwrap_or_else(|| panic!("the host was told nothing: {:?}", chain.host.client.events))
}

fn progress<B: Bridge>(chain: &mut Chain<B>) {
    let params = r#"{"name":"slow","arguments":{}}"#;
    let wanted = call(chain, "tools/call", params, CallOptions::new().progress_token("mine"));
    let other = call(chain, "tools/call", params, CallOptions::new().progress());
    let (first, second) = (chain.backend.invocation().unwrap(), chain.backend.invocation().unwrap());
    let report = |chain: &mut Chain<B>, invocation: &Invocation, progress: f64| {
        let message = Some(format!("at {progress}"));
        let report = Progress { progress, total: Some(3.0), message };
        let sent = chain.backend.server.machine.progress(chain.backend.now, invocation.slot.id(), &report);
        assert_eq!(sent.unwrap(), mcp_sansio::server::Sent::Yes);
    };
    report(chain, &first, 0.5);
    report(chain, &second, 2.0);
    report(chain, &first, 1.25);
    answer(chain, first, Reply::Tool(CallToolResult::text("done")));
    answer(chain, second, Reply::Tool(CallToolResult::text("done")));
    let mut seen = Vec::new();
    for event in chain.host.client.events.drain(..) {
        match event {
            ClientAction::Progress { call, progress } => {
                assert_eq!(
                    (progress.total, progress.message.unwrap()),
                    (Some(3.0), format!("at {}", progress.progress))
                );
                seen.push((call, progress.progress));
            }
            ClientAction::Done { call, outcome } => seen.push((call, if outcome.is_ok() { -1.0 } else { -2.0 })),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, [(wanted, 0.5), (other, 2.0), (wanted, 1.25), (wanted, -1.0), (other, -1.0)]);
}

fn log_messages<B: Bridge>(chain: &mut Chain<B>) {
    let level = chain.host.client.machine.set_level(chain.host.now, LoggingLevel::Warning).unwrap();
    chain.drive();
    assert!(chain.host.done(level).unwrap().is_ok());
    let (call, invocation) = slow(chain);
    let data = Json::from_text("18446744073709551617").unwrap();
    for level in [LoggingLevel::Info, LoggingLevel::Error] {
        let message = LogMessage { level, logger: Some("l".to_owned()), data: data.clone() };
        let slot = Some(invocation.slot.id());
        let _ = chain.backend.server.machine.log(chain.backend.now, slot, &message).unwrap();
    }
    chain.drive();
    let (method, params) = notified(chain);
    assert_eq!(&*method, "notifications/message");
    assert_carried(
        "message",
        &Json::from_text(r#"{"level":"error","logger":"l","data":18446744073709551617}"#).unwrap(),
        &params,
    );
    assert!(chain.host.client.events.is_empty());
    answer(chain, invocation, Reply::Failed);
    assert!(chain.host.done(call).is_some());
}

fn heard_of_cancellation<B: Bridge>(chain: &mut Chain<B>, invocation: &Invocation, wanted: Option<&str>) {
    let signal = chain.backend.server.take(|action| match action {
        ServerAction::Cancelled { slot, reason } => Ok((slot, reason)),
        other => Err(other),
    });
    let (slot, reason) = signal.expect("the backend heard of it");
    assert_eq!((slot, reason.as_deref()), (invocation.slot.id(), wanted));
}

fn cancellation<B: Bridge>(chain: &mut Chain<B>) {
    let (call, invocation) = slow(chain);
    chain.host.client.machine.cancel(chain.host.now, call, Some("had enough")).unwrap();
    chain.drive();
    heard_of_cancellation(chain, &invocation, Some("had enough"));
    assert_eq!(chain.host.done(call).unwrap().unwrap_err(), CallError::Cancelled);
    answer(chain, invocation, Reply::Tool(CallToolResult::text("late")));
    assert!(chain.host.client.events.is_empty());
    // The way is free for the next one.
    let (next, invocation) = slow(chain);
    answer(chain, invocation, Reply::Tool(CallToolResult::text("x")));
    assert!(chain.host.done(next).unwrap().is_ok());
}

fn form(message: &str) -> InputRequest {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    ElicitParams::form(message, schema).into()
}

fn ask(requests: Vec<(&str, InputRequest)>) -> Reply {
    let requests = requests.into_iter().map(|(key, request)| (key.to_owned(), request)).collect();
    Reply::InputRequired(InputRequired { requests, ..InputRequired::default() })
}

/// Answers the oldest question of the host.
fn supply<B: Bridge>(chain: &mut Chain<B>, answer: impl Fn(&InputRequest) -> InputAnswer) {
    let needed = chain.host.question().unwrap_or_else(|| panic!("nobody asked: {:?}", chain.host.client.events));
    let answer = answer(&needed.request);
    chain.host.supply(needed.input, &answer);
    chain.drive();
}

fn by_kind(request: &InputRequest) -> InputAnswer {
    match request {
        InputRequest::Elicit(_) => InputAnswer::Elicit(ElicitResult::accept(json!({"name": "Kim"}))),
        InputRequest::Sample(_) => {
            InputAnswer::Sample(Box::new(CreateMessageResult::assistant("m", ContentBlock::text("Hi"))))
        }
        _ => InputAnswer::Roots(ListRootsResult::new(vec![Root::new("file:///r")])),
    }
}

fn input(invocation: &Invocation, key: &str) -> serde_json::Value {
    invocation.context.input(key).expect("it was answered").as_ref().unwrap().parse().unwrap()
}

fn questions<B: Bridge>(chain: &mut Chain<B>) {
    let (call, invocation) = slow(chain);
    let sample = CreateMessageParams::new(vec![SamplingMessage::user(ContentBlock::text("?"))], 9_u32);
    let all = vec![("who", form("Who?")), ("say", sample.into()), ("where", ListRootsParams::new().into())];
    answer(chain, invocation, ask(all));
    let invocation = loop {
        match chain.backend.invocation() {
            Some(invocation) => break invocation,
            None => supply(chain, by_kind),
        }
    };
    assert_eq!(input(&invocation, "who"), json!({"action": "accept", "content": {"name": "Kim"}}));
    assert_eq!(input(&invocation, "say")["content"]["text"], "Hi");
    assert_eq!(input(&invocation, "where"), json!({"roots": [{"uri": "file:///r"}]}));
    answer(chain, invocation, Reply::Tool(CallToolResult::text("thanks")));
    assert!(chain.host.done(call).unwrap().is_ok());
    // A refusal is an answer too.
    let (call, invocation) = slow(chain);
    answer(chain, invocation, ask(vec![("who", form("Who?"))]));
    supply(chain, |_| InputAnswer::Declined);
    let invocation = chain.backend.invocation().unwrap();
    assert_eq!(input(&invocation, "who"), json!({"action": "decline"}));
    answer(chain, invocation, Reply::Failed);
    assert!(chain.host.done(call).unwrap().unwrap().is_error());
}

fn rounds<B: Bridge>(chain: &mut Chain<B>) {
    let (call, mut invocation) = slow(chain);
    for round in 0..3 {
        assert_eq!(invocation.context.round(), round);
        answer(chain, invocation, ask(vec![("who", form(&format!("Round {round}?")))]));
        let needed = chain.host.question().unwrap();
        assert!(needed.raw.get().contains(&format!("Round {round}?")));
        chain.host.supply(needed.input, &by_kind(&needed.request));
        chain.drive();
        invocation = chain.backend.invocation().unwrap();
    }
    answer(chain, invocation, Reply::Tool(CallToolResult::text("enough")));
    assert!(chain.host.done(call).unwrap().is_ok());
}

fn cancelled_question<B: Bridge>(chain: &mut Chain<B>) {
    let (call, invocation) = slow(chain);
    answer(chain, invocation, ask(vec![("who", form("Who?"))]));
    let needed = chain.host.question().unwrap();
    chain.host.client.machine.cancel(chain.host.now, call, None).unwrap();
    chain.drive();
    let withdrawn = chain.host.client.take(|action| match action {
        ClientAction::CancelledInput { input, .. } => Ok(input),
        other => Err(other),
    });
    assert_eq!(withdrawn, Some(needed.input));
    assert_eq!(chain.host.done(call).unwrap().unwrap_err(), CallError::Cancelled);
    chain.pass(Duration::from_secs(700));
    assert!(chain.host.client.events.is_empty(), "{:?}", chain.host.client.events);
    let (next, invocation) = slow_after_rest(chain);
    answer(chain, invocation, Reply::Tool(CallToolResult::text("x")));
    assert!(chain.host.done(next).unwrap().is_ok());
}

/// A call, past whatever the backend still works on.
fn slow_after_rest<B: Bridge>(chain: &mut Chain<B>) -> (CallId, Invocation) {
    while let Some(rest) = chain.backend.invocation() {
        answer(chain, rest, Reply::Failed);
    }
    chain.backend.server.events.clear();
    slow(chain)
}

fn calls_apart<B: Bridge>(chain: &mut Chain<B>) {
    let (one, first) = slow(chain);
    let (two, second) = slow(chain);
    answer(chain, second, Reply::Tool(CallToolResult::text("two")));
    answer(chain, first, Reply::Tool(CallToolResult::text("one")));
    for (call, text) in [(one, "one"), (two, "two")] {
        let result: CallToolResult = chain.host.done(call).unwrap().unwrap().parse().unwrap();
        assert_eq!(result.joined_text(), text);
    }
}

/// Every frame on both sides fits its schema.
fn conforms<B: Bridge>(chain: &mut Chain<B>) {
    chain.drive();
    for pair in [&chain.host, &chain.backend] {
        let mut reader = Reader::new();
        for frame in &pair.frames {
            if let Err(problem) = reader.read(frame) {
                // What a test sends through on purpose is not all in the schema; everything else must be.
                assert!(is_on_purpose(&frame.text), "{problem}");
            }
        }
    }
}

/// Frames with content that no revision knows.
fn is_on_purpose(text: &str) -> bool {
    text.contains("hologram")
        || text.contains("acme/")
        || text.contains("{\"name\":\"nope\"")
        || text.contains("\"code\":-32042")
}

// ---- What only one of them does.

/// A legacy host hears of changes unasked; the bridge listens for it.
#[test]
fn to_modern_carries_changes() {
    let mut chain = to_modern();
    assert!(chain.backend.frames.iter().any(|frame| frame.text.contains("subscriptions/listen")));
    let subscribed = call(&mut chain, "resources/subscribe", r#"{"uri":"x:1"}"#, CallOptions::new());
    assert!(chain.host.done(subscribed).unwrap().is_ok());
    let publish = |chain: &mut Chain<ToModern>, event: &Event| {
        let _ = chain.backend.server.machine.publish(chain.backend.now, event);
        chain.drive();
    };
    publish(&mut chain, &Event::ToolsListChanged);
    publish(&mut chain, &Event::ResourceUpdated { uri: "x:1".into() });
    publish(&mut chain, &Event::ResourceUpdated { uri: "x:2".into() });
    let (method, params) = notified(&mut chain);
    assert_eq!((&*method, params.get()), ("notifications/tools/list_changed", "{}"));
    let (method, params) = notified(&mut chain);
    assert_eq!((&*method, params.get()), ("notifications/resources/updated", r#"{"uri":"x:1"}"#));
    let unsubscribed = call(&mut chain, "resources/unsubscribe", r#"{"uri":"x:1"}"#, CallOptions::new());
    assert!(chain.host.done(unsubscribed).unwrap().is_ok());
    publish(&mut chain, &Event::ResourceUpdated { uri: "x:1".into() });
    assert!(chain.host.client.events.is_empty());
    conforms(&mut chain);
}

/// A modern host asks for changes; the bridge subscribes for it, and stops when the host does.
#[test]
fn to_legacy_carries_changes() {
    let mut chain = to_legacy();
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = Some(true);
    filter.resource_subscriptions = Some(vec!["x:1".to_owned()]);
    let stream = chain.host.client.machine.listen(chain.host.now, &filter, CallOptions::new()).unwrap();
    chain.drive();
    let opened = chain.host.client.events.pop_front();
    let Some(ClientAction::Listening { call, filter: honoured }) = opened else { panic!("{opened:?}") };
    assert_eq!((call, honoured), (stream, filter));
    for event in [
        Event::PromptsListChanged,
        Event::ToolsListChanged,
        Event::ResourceUpdated { uri: "x:2".into() },
        Event::ResourceUpdated { uri: "x:1".into() },
    ] {
        let _ = chain.backend.server.machine.publish(chain.backend.now, &event);
    }
    chain.drive();
    for wanted in ["notifications/tools/list_changed", "notifications/resources/updated"] {
        let event = chain.host.client.events.pop_front();
        let Some(ClientAction::Notified { method, subscription, .. }) = event else { panic!("{event:?}") };
        assert_eq!((&*method, subscription), (wanted, Some(stream)));
    }
    assert!(chain.host.client.events.is_empty());
    chain.host.client.machine.cancel(chain.host.now, stream, None).unwrap();
    chain.drive();
    assert!(chain.backend.frames.iter().any(|frame| frame.text.contains("resources/unsubscribe")));
    conforms(&mut chain);
}

/// An error as the answer of a question: an elicitation counts as cancelled, the call of any other ends with it.
#[test]
fn to_modern_carries_refused_questions() {
    let refusal = ErrorObject::new(ErrorCode::USER_REJECTED, "no").with_data(Json::from(json!([1])));
    let mut chain = to_modern();
    let (call, invocation) = slow(&mut chain);
    answer(&mut chain, invocation, ask(vec![("who", form("Who?"))]));
    supply(&mut chain, |_| InputAnswer::Refused(refusal.clone()));
    let invocation = chain.backend.invocation().unwrap();
    assert_eq!(input(&invocation, "who"), json!({"action": "cancel"}));
    answer(&mut chain, invocation, Reply::Tool(CallToolResult::text("fine")));
    assert!(chain.host.done(call).unwrap().is_ok());
    let (call, invocation) = slow(&mut chain);
    answer(&mut chain, invocation, ask(vec![("where", ListRootsParams::new().into())]));
    supply(&mut chain, |_| InputAnswer::Refused(refusal.clone()));
    assert_eq!(chain.host.done(call).unwrap().unwrap_err(), CallError::Remote(refusal.clone()));
    conforms(&mut chain);
}

/// A legacy backend that takes its question back is not kept waiting, nor is the host's answer an error.
#[test]
fn to_legacy_carries_withdrawn_questions() {
    let mut chain = to_legacy();
    let (call, invocation) = slow(&mut chain);
    let slot = invocation.slot.id();
    let params = Json::from(json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}));
    let server = &mut chain.backend.server.machine;
    let question = server.request(chain.backend.now, Some(slot), "elicitation/create", Some(&params), None).unwrap();
    chain.drive();
    let needed = chain.host.question().unwrap();
    chain.backend.server.machine.cancel_request(chain.backend.now, question, Some("never mind")).unwrap();
    answer(&mut chain, invocation, Reply::Tool(CallToolResult::text("without you")));
    assert!(chain.host.done(call).is_none(), "the host is still asked");
    chain.host.supply(needed.input, &InputAnswer::Elicit(ElicitResult::accept(json!({}))));
    chain.drive();
    let result: CallToolResult = chain.host.done(call).unwrap().unwrap().parse().unwrap();
    assert_eq!(result.joined_text(), "without you");
    conforms(&mut chain);
}

/// A legacy session goes on in another machine, at a quiet point: nobody on either side notices. And not before.
#[test]
fn a_bridged_session_moves_to_another_process() {
    let mut chain = to_modern();
    let level = chain.host.client.machine.set_level(chain.host.now, LoggingLevel::Debug).unwrap();
    chain.drive();
    chain.host.done(level).unwrap().unwrap();
    let (call, invocation) = slow(&mut chain);
    assert_eq!(chain.host.server.machine.export_session(), None, "a request is in flight");
    answer(&mut chain, invocation, Reply::Tool(CallToolResult::text("before")));
    chain.host.done(call).unwrap().unwrap();
    let session = chain.host.server.machine.export_session().unwrap();
    let stored = session.get().to_owned();

    let definition = open(ToModern::definition("bridge"));
    let mut next = Server::new(definition.into(), mcp_sansio::rng::Seed([8; 32]));
    next.import_session(&Json::from_text(stored).unwrap()).unwrap();
    chain.host.server.machine = next;

    requests(&mut chain);
    questions(&mut chain);
    unknown_notifications(&mut chain);
    conforms(&mut chain);
}

/// The bridges work over links that cut and delay.
#[test]
fn bridges_do_not_mind_how_bytes_arrive() {
    let bad =
        |seed| Link::seeded(seed).split(5).merge().delay(Duration::from_millis(3)).jitter(Duration::from_millis(9));
    let mut chain = to_modern();
    (chain.host.up, chain.host.down, chain.backend.up, chain.backend.down) = (bad(1), bad(2), bad(3), bad(4));
    requests(&mut chain);
    questions(&mut chain);
    progress(&mut chain);
    conforms(&mut chain);
    let mut chain = to_legacy();
    (chain.host.up, chain.host.down, chain.backend.up, chain.backend.down) = (bad(5), bad(6), bad(7), bad(8));
    requests(&mut chain);
    questions(&mut chain);
    progress(&mut chain);
    conforms(&mut chain);
}
