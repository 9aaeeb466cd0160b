//! Rounds of input in both eras: one handler, two wires.

use super::*;
use crate::error::ErrorObject;
use crate::model::{CreateMessageParams, ElicitParams, InputRequest, ListRootsParams, SamplingMessage};
use crate::server::request_state::SealKeys;

fn sealed() -> Definition {
    builder().seal(SealKeys::new([3; 32])).build().unwrap()
}

fn form() -> InputRequest {
    ElicitParams::form("Who?", json!({"type": "object", "properties": {"name": {"type": "string"}}})).into()
}

fn ask(requests: Vec<(&str, InputRequest)>) -> InputRequired {
    InputRequired {
        requests: requests.into_iter().map(|(key, request)| (key.to_owned(), request)).collect(),
        ..InputRequired::default()
    }
}

fn call(id: u64, arguments: Value, capabilities: Value) -> Value {
    with_capabilities(id, "tools/call", json!({"name": "slow", "arguments": arguments}), capabilities)
}

fn retry(id: u64, arguments: Value, capabilities: Value, answers: Value, state: &Value) -> Value {
    let mut request = call(id, arguments, capabilities);
    request["params"]["inputResponses"] = answers;
    if !state.is_null() {
        request["params"]["requestState"] = state.clone();
    }
    request
}

fn accept(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

/// M-MRTR: questions go out in the result, answers of all rounds come back to the handler.
#[test]
fn modern_rounds_add_up() {
    let mut rig = Rig::new(sealed());
    let capabilities = json!({"elicitation": {}});
    rig.send(call(1, json!({"x": 1}), capabilities.clone()));
    let first = rig.invoked();
    assert_eq!(first.context.round(), 0);
    rig.reply(
        first.slot,
        Reply::InputRequired(InputRequired {
            state: Some("s1".to_owned()),
            memo: Some(json!({"m": 1}).into()),
            ..ask(vec![("who", form())])
        }),
    );
    let asked = rig.one();
    assert_eq!(asked["result"]["resultType"], "input_required");
    assert_eq!(asked["result"]["inputRequests"]["who"]["method"], "elicitation/create");
    assert!(asked["result"]["_meta"]["io.modelcontextprotocol/serverInfo"].is_object());
    let state = &asked["result"]["requestState"];
    assert!(!state.as_str().unwrap().contains("s1"));
    rig.send(retry(2, json!({"x": 1}), capabilities.clone(), json!({"who": accept("Kim"), "extra": {}}), state));
    let second = rig.invoked();
    assert_eq!((second.context.state(), second.context.round()), (Some("s1"), 1));
    assert_eq!(second.context.memo().unwrap().parse::<Value>().unwrap(), json!({"m": 1}));
    assert!(second.context.state_token().is_some());
    rig.reply(second.slot, Reply::InputRequired(ask(vec![("more", form())])));
    let state = rig.one()["result"]["requestState"].clone();
    rig.send(retry(3, json!({"x": 1}), capabilities, json!({"more": accept("Lee")}), &state));
    let third = rig.invoked();
    assert_eq!(third.context.state(), None);
    let answers: Vec<_> = third.context.inputs().map(|(key, answer)| (key.to_owned(), answer.is_ok())).collect();
    assert_eq!(answers, [("extra".to_owned(), true), ("more".to_owned(), true), ("who".to_owned(), true)]);
    assert_eq!(third.context.input("who").unwrap().as_ref().unwrap().parse::<Value>().unwrap(), accept("Kim"));
    rig.reply(third.slot, text("Hello"));
    assert_eq!(rig.one()["result"]["resultType"], "complete");
}

/// U-22, M-MRTR-09: a state is refused on every other request, after its time, and when used up: one text for all.
#[test]
fn u22_states_are_bound() {
    let mut rig = Rig::new(sealed());
    let capabilities = json!({"elicitation": {}});
    rig.send(call(1, json!({"x": 1}), capabilities.clone()));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::InputRequired(ask(vec![("who", form())])));
    let state = rig.one()["result"]["requestState"].clone();
    let mut other_tool = retry(2, json!({"x": 1}), capabilities.clone(), json!({}), &state);
    other_tool["params"]["name"] = json!("add");
    other_tool["params"]["arguments"] = json!({"a": 1});
    let mut wrong = vec![
        retry(2, json!({"x": 2}), capabilities.clone(), json!({}), &state),
        other_tool,
        retry(2, json!({"x": 1}), capabilities.clone(), json!({}), &json!("nonsense")),
        retry(2, json!({"x": 1}), capabilities.clone(), json!({}), &json!("")),
    ];
    let mut texts = std::collections::BTreeSet::new();
    for request in wrong.drain(..) {
        rig.send(request);
        let error = rig.one();
        assert_eq!(error["error"]["code"], -32602);
        texts.insert(error["error"]["message"].to_string());
    }
    // Key order and white space do not matter: the arguments are the same value.
    rig.send(retry(3, json!({"x": 1}), capabilities.clone(), json!({}), &state));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::StateUsed);
    texts.insert(rig.one()["error"]["message"].to_string());
    rig.advance(Duration::from_secs(300));
    rig.send(retry(4, json!({"x": 1}), capabilities, json!({}), &state));
    texts.insert(rig.one()["error"]["message"].to_string());
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(rig.invocations.is_empty());
    assert!(!rig.diagnostics.is_empty());
}

/// U-22, M-MRTR-09, M-ELIC-17, M-ELIC-24: a state is refused when somebody else brings it, as the front says who calls.
#[test]
fn u22_states_are_bound_to_the_principal() {
    let mut rig = Rig::new(sealed());
    let capabilities = json!({"elicitation": {}});
    rig.server.set_principal(Some("alice".into()));
    rig.send(call(1, json!({}), capabilities.clone()));
    let asking = rig.invoked();
    assert_eq!(asking.context.principal(), Some("alice"));
    rig.reply(asking.slot, Reply::InputRequired(ask(vec![("who", form())])));
    let state = rig.one()["result"]["requestState"].clone();
    for (id, other) in [(2, Some("bob".into())), (3, None)] {
        rig.server.set_principal(other);
        rig.send(retry(id, json!({}), capabilities.clone(), json!({"who": accept("Kim")}), &state));
        assert_eq!(rig.one()["error"]["code"], -32602);
    }
    rig.server.set_principal(Some("alice".into()));
    rig.send(retry(4, json!({}), capabilities, json!({"who": accept("Kim")}), &state));
    assert!(rig.invoked().context.input("who").unwrap().is_ok());
}

/// Without a key the state passes as it is written, and `""` is a state.
#[test]
fn without_a_key_the_state_is_the_handlers() {
    let mut rig = Rig::new(definition());
    rig.send(call(1, json!({}), json!({})));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::InputRequired(InputRequired { state: Some(String::new()), ..InputRequired::default() }));
    let asked = rig.one();
    assert_eq!(asked["result"]["requestState"], "");
    assert!(asked["result"].get("inputRequests").is_none());
    let mut request = call(2, json!({}), json!({}));
    request["params"]["requestState"] = json!("");
    rig.send(request);
    assert_eq!(rig.invoked().context.state(), Some(""));
}

/// U-23: nothing is asked that the client has not declared; -32021 names exactly the missing part.
#[test]
fn u23_undeclared_input_is_never_asked() {
    let url = || -> InputRequest { ElicitParams::url("Visit", "https://example.com").into() };
    let sample = |tools: bool| -> InputRequest {
        let mut params =
            CreateMessageParams::new(vec![SamplingMessage::user(crate::model::ContentBlock::text("?"))], 10_u32);
        if tools {
            params.tools = Some(vec![tool("t")]);
        }
        params.into()
    };
    let cases: Vec<(Value, InputRequest, Value)> = vec![
        (json!({"elicitation": {}}), url(), json!({"elicitation": {"url": {}}})),
        (json!({"elicitation": {"url": {}}}), form(), json!({"elicitation": {"form": {}}})),
        (json!({"sampling": {}}), sample(true), json!({"sampling": {"tools": {}}})),
        (json!({}), sample(false), json!({"sampling": {}})),
        (json!({}), ListRootsParams::new().into(), json!({"roots": {}})),
    ];
    for (declared, request, missing) in cases {
        let mut rig = Rig::new(sealed());
        rig.send(call(1, json!({}), declared.clone()));
        let slot = rig.invoked().slot;
        rig.reply(slot, Reply::InputRequired(ask(vec![("k", request)])));
        let error = rig.one();
        assert_eq!(error["error"]["code"], -32021, "{declared}");
        assert_eq!(error["error"]["data"], json!({"requiredCapabilities": missing}));
    }
}

/// Input is asked for by tools, prompts and reads only; a handler that asks elsewhere, or nothing, has failed.
#[test]
fn m_mrtr_only_some_requests_may_ask() {
    let mut rig = Rig::new(sealed());
    rig.send(modern(
        1,
        "completion/complete",
        json!({"ref": {"type": "ref/prompt", "name": "greet"},
        "argument": {"name": "who", "value": ""}}),
    ));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::InputRequired(ask(vec![("k", form())])));
    assert_eq!(rig.one()["error"]["code"], -32603);
    rig.send(call(2, json!({}), json!({})));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::InputRequired(InputRequired::default()));
    assert_eq!(rig.one()["result"]["isError"], true);
    for (method, params) in [
        ("prompts/get", json!({"name": "greet", "arguments": {"who": "x"}})),
        ("resources/read", json!({"uri": "file:///a"})),
    ] {
        rig.send(with_capabilities(3, method, params, json!({"elicitation": {}})));
        let slot = rig.invoked().slot;
        rig.reply(slot, Reply::InputRequired(ask(vec![("k", form())])));
        assert_eq!(rig.one()["result"]["resultType"], "input_required");
    }
}

/// M-MRTR: answers of the wrong shape are refused.
#[test]
fn answers_are_objects() {
    let mut rig = Rig::new(sealed());
    for answers in [json!([]), json!("x"), json!({"who": "Kim"}), json!({"who": null})] {
        rig.send(retry(1, json!({}), json!({}), answers, &Value::Null));
        assert_eq!(rig.one()["error"]["code"], -32602);
    }
}

/// D-11: on a legacy wire the same handler's questions become requests, and it runs again with the answers.
#[test]
fn legacy_rounds_are_requests() {
    let mut rig = Rig::legacy(sealed(), "2025-11-25", json!({"elicitation": {}, "roots": {}}));
    rig.send(legacy(1, "tools/call", json!({"name": "slow", "arguments": {"x": 1}})));
    let first = rig.invoked();
    let used = ReplySlot::from_id(first.slot.id());
    rig.reply(
        first.slot,
        Reply::InputRequired(InputRequired {
            state: Some("s".to_owned()),
            ..ask(vec![("who", form()), ("roots", ListRootsParams::new().into())])
        }),
    );
    assert!(rig.server.reply(rig.now, used, text("again")).is_err());
    let frames = rig.take();
    assert_eq!(frames[0]["method"], "elicitation/create");
    assert_eq!(frames[1]["method"], "roots/list");
    rig.send(json!({"jsonrpc": "2.0", "id": frames[1]["id"], "result": {"roots": []}}));
    assert!(rig.invocations.is_empty());
    rig.send(json!({"jsonrpc": "2.0", "id": frames[0]["id"], "error": {"code": -1, "message": "no"}}));
    let second = rig.invoked();
    assert!(matches!(&second.call, Call::Tool { arguments, .. } if arguments.get() == r#"{"x":1}"#));
    assert_eq!(second.context.state(), Some("s"));
    assert!(second.context.input("roots").unwrap().is_ok());
    let refused: &Result<Json, ErrorObject> = second.context.input("who").unwrap();
    assert_eq!(refused.as_ref().unwrap_err().code.0, -1);
    rig.reply(second.slot, text("done"));
    let answer = rig.one();
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(1), &json!("done")));
}

/// The legacy rounds are bounded, can be switched off, and know what the client can do.
#[test]
fn legacy_rounds_are_bounded() {
    let mut rig = Rig::legacy(sealed(), "2025-11-25", json!({"elicitation": {}}));
    rig.send(legacy(1, "tools/call", json!({"name": "slow"})));
    for round in 0..9 {
        let invocation = rig.invoked();
        assert_eq!(invocation.context.round(), round);
        rig.reply(invocation.slot, Reply::InputRequired(ask(vec![("who", form())])));
        let frame = rig.one();
        if round < 8 {
            rig.send(json!({"jsonrpc": "2.0", "id": frame["id"], "result": accept("x")}));
        } else {
            assert_eq!(frame["result"]["isError"], true, "{frame}");
        }
    }
    let off = builder().legacy_input(false).build().unwrap();
    let mut rig = Rig::legacy(off, "2025-11-25", json!({"elicitation": {}}));
    rig.send(legacy(1, "tools/call", json!({"name": "slow"})));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::InputRequired(ask(vec![("who", form())])));
    assert_eq!(rig.one()["result"]["isError"], true);
    for (version, capabilities) in [("2025-11-25", json!({})), ("2025-03-26", json!({"elicitation": {}}))] {
        let mut rig = Rig::legacy(sealed(), version, capabilities);
        rig.send(legacy(1, "tools/call", json!({"name": "slow"})));
        let slot = rig.invoked().slot;
        rig.reply(slot, Reply::InputRequired(ask(vec![("who", form())])));
        let answer = rig.one();
        assert_eq!(answer["result"]["isError"], true);
        assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("elicitation"), "{answer}");
    }
}

/// T-24, T-23: older revisions get the shapes that they know.
#[test]
fn questions_are_shaped_for_the_revision() {
    let titled = json!({"type": "object", "properties": {"c": {"type": "string", "oneOf": [
        {"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]}}});
    let mut rig = Rig::legacy(sealed(), "2025-06-18", json!({"elicitation": {}}));
    rig.send(legacy(1, "tools/call", json!({"name": "slow"})));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::InputRequired(ask(vec![("c", ElicitParams::form("Which?", titled).into())])));
    let frame = rig.one();
    assert!(frame["params"].get("mode").is_none());
    let choice = &frame["params"]["requestedSchema"]["properties"]["c"];
    assert_eq!((&choice["enum"], &choice["enumNames"]), (&json!(["r", "g"]), &json!(["Red", "Green"])));
    let mut rig = Rig::legacy(sealed(), "2025-11-25", json!({"elicitation": {"url": {}}}));
    rig.send(legacy(1, "tools/call", json!({"name": "slow"})));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::InputRequired(ask(vec![("u", ElicitParams::url("Visit", "https://example.com").into())])));
    let frame = rig.one();
    assert_eq!(frame["params"]["mode"], "url");
    let id = frame["params"]["elicitationId"].as_str().unwrap();
    assert_eq!(rig.server.elicitation_complete(rig.now, id), Sent::Yes);
}

/// Cancelling a request withdraws the questions asked for it, and it is never answered.
#[test]
fn nested_requests_are_withdrawn() {
    let mut rig = Rig::legacy(sealed(), "2025-11-25", json!({"elicitation": {}}));
    rig.send(legacy(1, "tools/call", json!({"name": "slow"})));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::InputRequired(ask(vec![("who", form())])));
    let question = rig.one();
    rig.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    let withdrawn = rig.one();
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    rig.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": accept("late")}));
    assert!(rig.invocations.is_empty() && rig.frames.is_empty());
    rig.send(legacy(1, "tools/call", json!({"name": "slow"})));
    rig.invoked();
}

/// A question that nobody answers ends in an error under its key, and the handler decides.
#[test]
fn questions_time_out() {
    let mut rig = Rig::legacy(sealed(), "2025-11-25", json!({"elicitation": {}}));
    rig.send(legacy(1, "tools/call", json!({"name": "slow"})));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::InputRequired(ask(vec![("who", form())])));
    rig.take();
    rig.advance(Duration::from_secs(600));
    assert_eq!(rig.one()["method"], "notifications/cancelled");
    let again = rig.invoked();
    assert!(again.context.input("who").unwrap().is_err());
    rig.reply(again.slot, text("nobody there"));
    assert_eq!(rig.one()["id"], 1);
    assert_eq!(rig.server.poll_timeout(), None);
}
