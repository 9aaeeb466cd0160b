//! Elicitation, sampling and roots on a legacy wire: what may be asked of whom, in which form, and what an answer
//! is worth.

use std::time::Duration;

use super::*;
use crate::error::ErrorObject;
use crate::model::{
    ContentBlock, CreateMessageParams, ElicitParams, IncludeContext, InputRequest, ListRootsParams, SamplingMessage,
};
use crate::spec::ErrorCode;

fn ask(request: impl Into<InputRequest>) -> InputRequired {
    InputRequired { requests: vec![("k".to_owned(), request.into())], ..InputRequired::default() }
}

pub(super) fn roots() -> InputRequired {
    ask(ListRootsParams::new())
}

fn form() -> ElicitParams {
    ElicitParams::form("Who?", json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}))
}

fn page() -> ElicitParams {
    ElicitParams::url("Visit", "https://example.com/x")
}

fn sample() -> CreateMessageParams {
    CreateMessageParams::new(vec![SamplingMessage::user(ContentBlock::text("?"))], 10_u32)
}

fn conversation(messages: Value) -> CreateMessageParams {
    let params: Json = json!({"messages": messages, "maxTokens": 5, "tools": []}).into();
    params.parse().unwrap()
}

/// A tool of a session that asks: what goes out.
fn asked(version: &str, capabilities: Value, asked: InputRequired) -> (Rig, Vec<Value>) {
    let mut rig = Rig::legacy(definition(), version, capabilities);
    rig.send(legacy(1, "tools/call", json!({"name": "slow"})));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::InputRequired(asked));
    let frames = rig.take();
    (rig, frames)
}

/// L-ROOT-08, L-SAMP-02, L-SAMP-04, L-ELIC-02, L-LIFE-12, T-50: what the client has not declared is never asked, by a
/// handler's question nor by a request of the application.
#[test]
fn only_what_was_declared_is_asked() {
    let mut with_context = sample();
    with_context.include_context = Some(IncludeContext::AllServers);
    let with_tools = sample().tools(vec![tool("t")]);
    let with_choice = sample().tool_choice(crate::model::ToolChoice::new());
    let cases: Vec<(Value, InputRequest)> = vec![
        (json!({}), ListRootsParams::new().into()),
        (json!({}), sample().into()),
        (json!({"sampling": {}}), with_tools.into()),
        (json!({"sampling": {"context": {}}}), with_choice.into()),
        (json!({"sampling": {"tools": {}}}), with_context.clone().into()),
        (json!({}), form().into()),
        (json!({"elicitation": {"url": {}}}), form().into()),
        (json!({"elicitation": {}}), page().into()),
        (json!({"elicitation": {"form": {}}}), page().into()),
    ];
    for (declared, request) in cases {
        let (mut rig, frames) = asked("2025-11-25", declared.clone(), ask(request.clone()));
        assert_eq!(frames.len(), 1);
        assert_eq!((&frames[0]["id"], &frames[0]["result"]["isError"]), (&json!(1), &json!(true)), "{declared}");
        let wire = Json::from_value(&request).unwrap().parse::<Value>().unwrap();
        if wire["params"]["includeContext"].is_string() {
            // An application's own request is only held to what the client must refuse.
            continue;
        }
        let params = wire.get("params").map(|params| Json::from(params.clone()));
        let method = wire["method"].as_str().unwrap();
        assert!(rig.server.request(rig.now, None, method, params.as_ref(), None).is_err(), "{declared} {wire}");
        rig.drain();
        assert!(rig.frames.is_empty());
    }
    // T-50: revisions before the capability just carry it.
    let (_, frames) = asked("2025-06-18", json!({"sampling": {}}), ask(with_context));
    assert_eq!(frames[0]["params"]["includeContext"], "allServers");
    // What is declared goes out, both ways.
    let (mut rig, frames) = asked("2025-11-25", json!({"roots": {}}), roots());
    assert_eq!(frames[0]["method"], "roots/list");
    assert!(rig.server.request(rig.now, None, "roots/list", None, None).is_ok());
}

/// L-LIFE-12, D-01: a revision that has no elicitation is not asked, whatever the client declares.
#[test]
fn only_what_the_revision_has_is_asked() {
    for version in LEGACY {
        let (mut rig, frames) = asked(version, json!({"elicitation": {}}), ask(form()));
        let has = version >= "2025-06-18";
        assert_eq!(frames[0].get("method").is_some(), has, "{version}");
        let params = Json::from_value(&form()).unwrap();
        let request = rig.server.request(rig.now, None, "elicitation/create", Some(&params), None);
        assert_eq!(request.is_ok(), has);
    }
}

/// L-LIFE-14: a question waits for as long as its handler says, and then counts as refused; the client is told.
#[test]
fn a_question_may_have_a_time_out_of_its_own() {
    let requests = ["slow", "quick"].map(|key| (key.to_owned(), ListRootsParams::new().into()));
    let timeouts = [("quick".to_owned(), Duration::from_secs(5))].into();
    let both = InputRequired { requests: requests.into(), timeouts, ..InputRequired::default() };
    let (mut rig, frames) = asked("2025-11-25", json!({"roots": {}}), both);
    rig.advance(Duration::from_secs(4));
    assert!(rig.take().is_empty());
    rig.advance(Duration::from_secs(1));
    let told = rig.one();
    assert_eq!((&told["method"], &told["params"]["requestId"]), (&json!("notifications/cancelled"), &frames[1]["id"]));
    rig.send(json!({"jsonrpc": "2.0", "id": frames[0]["id"], "result": {"roots": []}}));
    let context = rig.invoked().context;
    assert!(context.input("slow").unwrap().is_ok());
    assert_eq!(context.input("quick").unwrap().as_ref().unwrap_err().code, ErrorCode::INTERNAL_ERROR);
}

/// A handler that keeps state and asks nothing runs again, at the pace that a modern client keeps, until the bound.
#[test]
fn rounds_that_ask_nothing_are_paced() {
    let waiting = || InputRequired { state: Some("job".to_owned()), ..InputRequired::default() };
    let (mut rig, frames) = asked("2025-11-25", json!({}), waiting());
    assert!(frames.is_empty());
    let mut waits = Vec::new();
    for round in 1..=8 {
        let from = rig.now.mono;
        while rig.invocations.is_empty() {
            let (at, _) = rig.server.poll_timeout().unwrap();
            rig.advance(rig.now.mono.until(at));
        }
        waits.push(from.until(rig.now.mono).as_millis());
        let invocation = rig.invoked();
        assert_eq!((invocation.context.round(), invocation.context.state()), (round, Some("job")));
        rig.reply(invocation.slot, Reply::InputRequired(waiting()));
    }
    assert_eq!(waits, [0, 100, 200, 400, 800, 1_600, 3_200, 5_000]);
    assert_eq!(rig.one()["result"]["isError"], true, "the rounds are used up");
}

/// L-ROOT-08: the application hears that roots have changed, and an answer of roots that are none is found out.
#[test]
fn changed_roots_are_told() {
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({"roots": {"listChanged": true}}));
    rig.send(json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    assert!(matches!(rig.others.pop(), Some(Action::Notified(Notified::RootsListChanged))));
    let mut rig = Rig::new(definition());
    rig.send(json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    assert!(rig.others.is_empty(), "no session, no roots");
}

/// L-SAMP-05, L-SAMP-10, L-SAMP-12: conversations that break the rules of tool use are not sent; the handler fails.
#[test]
fn conversations_are_checked() {
    let uses = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]});
    let result = json!({"type": "tool_result", "toolUseId": "a", "content": []});
    let text = json!({"type": "text", "text": "x"});
    let user = |content: Value| json!({"role": "user", "content": content});
    let declared = || json!({"sampling": {"tools": {}}});
    for wrong in [
        json!([uses, user(json!([result, text]))]),
        json!([uses, user(text)]),
        json!([user(json!([result]))]),
        json!([uses, user(json!([{"type": "tool_result", "toolUseId": "b", "content": []}]))]),
    ] {
        let (rig, frames) = asked("2025-11-25", declared(), ask(conversation(wrong.clone())));
        assert_eq!((frames.len(), &frames[0]["result"]["isError"]), (1, &json!(true)), "{wrong}");
        assert!(!rig.diagnostics.is_empty());
    }
    let (_, frames) = asked("2025-11-25", declared(), ask(conversation(json!([uses, user(json!([result]))]))));
    assert_eq!(frames[0]["method"], "sampling/createMessage");
}

/// D-03, T-19: one block for each message before 2025-11-25.
#[test]
fn d03_sampling_messages_have_one_block() {
    let many = || {
        let blocks = vec![ContentBlock::text("a"), ContentBlock::text("b")];
        CreateMessageParams::new(vec![SamplingMessage::user(blocks)], 10_u32)
    };
    for version in LEGACY {
        let (_, frames) = asked(version, json!({"sampling": {}}), ask(many()));
        let messages = frames[0]["params"]["messages"].as_array().unwrap();
        let lists = messages.iter().filter(|message| message["content"].is_array()).count();
        assert_eq!((messages.len(), lists), if version >= "2025-11-25" { (1, 1) } else { (2, 0) }, "{version}");
    }
}

/// L-SAMP-11: metadata of tool uses and results goes out as the application gave it.
#[test]
fn metadata_of_tool_blocks_is_kept() {
    let messages = json!([
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}, "_meta": {"c/x": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "toolUseId": "a", "content": [], "_meta": {"c/y": 2}}], "_meta": {}}
    ]);
    let (_, frames) = asked("2025-11-25", json!({"sampling": {"tools": {}}}), ask(conversation(messages.clone())));
    assert_eq!(frames[0]["params"]["messages"], messages);
}

/// L-ELIC-04, L-ELIC-13: every question has its message; a page has its mode, a valid address and an id.
#[test]
fn pages_have_an_address_and_an_id() {
    let both = || json!({"elicitation": {"form": {}, "url": {}}});
    let (_, frames) = asked("2025-11-25", both(), ask(page()));
    let params = &frames[0]["params"];
    assert_eq!((&params["mode"], &params["message"]), (&json!("url"), &json!("Visit")));
    assert_eq!(params["url"], "https://example.com/x");
    let id = params["elicitationId"].as_str().unwrap().to_owned();
    let mut other = ask(page());
    other.requests.push(("l".to_owned(), page().into()));
    let (_, frames) = asked("2025-11-25", both(), other);
    assert_ne!(frames[0]["params"]["elicitationId"], frames[1]["params"]["elicitationId"]);
    assert!(id.len() >= 16, "{id}");
    let (_, frames) = asked("2025-11-25", both(), ask(form()));
    assert_eq!(frames[0]["params"]["message"], "Who?");
    for wrong in ["", "example.com", "https://a b", "/x"] {
        let (rig, frames) = asked("2025-11-25", both(), ask(ElicitParams::url("Visit", wrong)));
        assert_eq!(frames[0]["result"]["isError"], true, "{wrong:?}");
        assert!(!rig.diagnostics.is_empty());
    }
}

/// L-ELIC-05, T-24: the end of an elicitation is told under its id, to the client of this connection, where the
/// revision has the notification.
#[test]
fn ends_of_elicitations_are_told() {
    for version in LEGACY {
        let mut rig = Rig::legacy(definition(), version, json!({"elicitation": {"url": {}}}));
        let sent = rig.server.elicitation_complete(rig.now, "e1");
        rig.drain();
        let told = notification("notifications/elicitation/complete", json!({"elicitationId": "e1"}));
        let expected = if version == "2025-11-25" { (Sent::Yes, vec![told]) } else { (Sent::NotWanted, vec![]) };
        assert_eq!((sent, rig.take()), expected, "{version}");
    }
    let mut rig = Rig::new(definition());
    assert_eq!(rig.server.elicitation_complete(rig.now, "e1"), Sent::NotWanted);
}

/// L-ELIC-07, D-10, T-24: -32042 goes out on 2025-11-25 only, and only with pages that have ids; a modern client gets
/// the same pages as questions.
#[test]
fn url_elicitation_required() {
    let required = |data: Value| {
        Reply::Error(ErrorObject::new(ErrorCode::URL_ELICITATION_REQUIRED, "visit first").with_data(data))
    };
    let one = |id: Option<&str>| {
        let mut page = json!({"mode": "url", "message": "m", "url": "https://example.com"});
        if let Some(id) = id {
            page["elicitationId"] = json!(id);
        }
        json!({"elicitations": [page]})
    };
    let url = || json!({"elicitation": {"url": {}}});
    let answer = |version: &str, capabilities: Value, reply: Reply| {
        let mut rig = Rig::legacy(definition(), version, capabilities);
        rig.send(legacy(1, "tools/call", json!({"name": "slow"})));
        let slot = rig.invoked().slot;
        rig.reply(slot, reply);
        rig.one()
    };
    let sent = answer("2025-11-25", url(), required(one(Some("e1"))));
    assert_eq!(sent["error"], json!({"code": -32042, "message": "visit first", "data": one(Some("e1"))}));
    for (version, capabilities, data) in [
        ("2025-11-25", url(), one(None)),
        ("2025-11-25", url(), json!({"elicitations": []})),
        ("2025-11-25", url(), json!({})),
        ("2025-11-25", url(), json!({"elicitations": [{"mode": "form", "message": "m", "requestedSchema": {}}]})),
        ("2025-11-25", json!({"elicitation": {}}), one(Some("e1"))),
        ("2025-06-18", url(), one(Some("e1"))),
        ("2024-11-05", url(), one(Some("e1"))),
    ] {
        let sent = answer(version, capabilities, required(data.clone()));
        assert_ne!(sent["error"]["code"], -32042, "{version} {data}");
        assert_eq!(sent["id"], 1);
    }
    let mut rig = Rig::new(definition());
    rig.send(with_capabilities(1, "tools/call", json!({"name": "slow"}), url()));
    let slot = rig.invoked().slot;
    rig.reply(slot, required(one(Some("e1"))));
    let answer = rig.one();
    assert_eq!(answer["result"]["resultType"], "input_required");
    let question = &answer["result"]["inputRequests"]["e1"];
    assert_eq!(question["params"], json!({"mode": "url", "message": "m", "url": "https://example.com"}));
}

/// L-ELIC-26: an answer is checked against the form before the handler believes it; what the client refused is its
/// refusal.
#[test]
fn answers_are_checked_before_they_are_believed() {
    let cases = [
        (json!({"result": {"action": "accept", "content": {"n": 1}}}), Ok(())),
        (json!({"result": {"action": "decline"}}), Ok(())),
        (json!({"result": {"action": "accept", "content": {"n": "secret"}}}), Err(-32602)),
        (json!({"result": {"action": "accept", "content": {}}}), Err(-32602)),
        (json!({"result": {"action": "accept"}}), Err(-32602)),
        (json!({"result": {"content": {"n": 1}}}), Err(-32602)),
        (json!({"error": {"code": -1, "message": "no"}}), Err(-1)),
    ];
    for (answer, expected) in cases {
        let (mut rig, frames) = asked("2025-11-25", json!({"elicitation": {}}), ask(form()));
        let mut frame = answer.clone();
        frame["jsonrpc"] = json!("2.0");
        frame["id"] = frames[0]["id"].clone();
        rig.send(frame);
        let invocation = rig.invoked();
        let read = invocation.context.elicited("k", &form()).unwrap();
        let text = format!("{read:?}");
        assert_eq!(read.map(drop).map_err(|error| error.code.0), expected, "{answer}");
        assert!(!text.contains("secret"));
    }
}

/// L-ELIC-10, L-ELIC-16, L-ELIC-18: what a handler keeps between rounds is its own request's: the same answer under
/// the same id on another connection changes nothing.
#[test]
fn answers_stay_on_their_connection() {
    let capabilities = || json!({"elicitation": {}});
    let (mut one, asked_one) = asked("2025-11-25", capabilities(), ask(form()));
    let (mut other, asked_other) = asked("2025-11-25", capabilities(), ask(form()));
    assert_eq!(asked_one[0]["id"], asked_other[0]["id"]);
    one.send(json!({"jsonrpc": "2.0", "id": asked_one[0]["id"], "result": {"action": "accept", "content": {"n": 1}}}));
    let first = one.invoked();
    assert!(first.context.input("k").is_some());
    assert!(other.invocations.is_empty());
    other.send(json!({"jsonrpc": "2.0", "id": asked_other[0]["id"], "result": {"action": "cancel"}}));
    let second = other.invoked();
    let action = |invocation: &Invocation| {
        let answer = invocation.context.input("k").unwrap().clone().unwrap();
        answer.parse::<Value>().unwrap()["action"].clone()
    };
    assert_eq!((action(&first), action(&second)), (json!("accept"), json!("cancel")));
}
