//! Rounds of input: what may be asked, what comes back, and what is kept meanwhile.

use super::*;
use crate::model::{
    CreateMessageParams, ElicitAction, IncludeContext, ListRootsParams, SamplingMessage, ToolResultContent,
    ToolUseContent,
};

fn everything() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}})
}

/// What a client with these capabilities gets from a handler that asks this, and what the machine says about it.
fn asked(capabilities: Value, requests: Vec<(&str, InputRequest)>) -> (Value, Vec<Diagnostic>) {
    let mut rig = Rig::new(definition());
    rig.send(with_capabilities(1, "tools/call", json!({"name": "slow"}), capabilities));
    let slot = rig.invoked().slot;
    rig.reply(slot, ask(requests));
    (rig.one(), rig.diagnostics)
}

fn sample(messages: Vec<SamplingMessage>) -> CreateMessageParams {
    CreateMessageParams::new(messages, 10_u32)
}

fn tool_use(id: &str) -> ContentBlock {
    ToolUseContent::new(id, "t", json!({})).into()
}

fn tool_result(id: &str) -> ContentBlock {
    ToolResultContent::new(id).into()
}

/// M-MRTR-05, M-MRTR-06, M-MRTR-11, M-ELIC-10, M-ELIC-11, M-ELIC-14, M-SAMP-07, M-SAMP-08, M-SAMP-15: questions that
/// the specification forbids are a failure of the handler, and never reach a client.
#[test]
fn m_mrtr_05_06_wrong_questions_are_not_asked() {
    let form_of = |schema: Value| -> InputRequest { ElicitParams::form("m", schema).into() };
    let nested = json!({"type": "object", "properties": {"a": {"type": "object"}}});
    let text_block = || ContentBlock::text("t");
    let wrong: Vec<Vec<(&str, InputRequest)>> = vec![
        vec![],
        vec![("a", form().into()), ("a", form().into())],
        vec![("a", InputRequest::Unknown(json!({"method": "tools/list"}).into()))],
        vec![("a", form_of(nested))],
        vec![("a", form_of(json!({"type": "object"})))],
        vec![("a", form_of(json!({"type": "string"})))],
        vec![("a", ElicitParams::url("m", "not a url").into())],
        vec![("a", ElicitParams::url("m", "").into())],
        vec![("a", sample(vec![SamplingMessage::user(vec![tool_result("x")])]).into())],
        vec![(
            "a",
            sample(vec![SamplingMessage::assistant(vec![tool_use("x")]), SamplingMessage::user(text_block())]).into(),
        )],
        vec![(
            "a",
            sample(vec![
                SamplingMessage::assistant(vec![tool_use("x")]),
                SamplingMessage::user(vec![tool_result("x"), text_block()]),
            ])
            .into(),
        )],
    ];
    for (number, requests) in wrong.into_iter().enumerate() {
        let (answer, said) = asked(everything(), requests);
        assert_eq!(answer["result"]["isError"], true, "{number}: {answer}");
        assert!(answer["result"].get("inputRequests").is_none());
        assert!(said.iter().any(|said| said.kind == DiagnosticKind::Output), "{number}");
    }
    let balanced =
        sample(vec![SamplingMessage::assistant(vec![tool_use("x")]), SamplingMessage::user(vec![tool_result("x")])]);
    let (answer, _) = asked(everything(), vec![("a", balanced.into())]);
    assert_eq!(answer["result"]["resultType"], "input_required");
}

/// M-ELIC-08, M-ELIC-10, M-ELIC-13, M-MRTR-01, M-MRTR-06, M-SAMP-09, M-PAT-01: questions travel in the result, as method
/// and params alone; a page has its mode and no id, a form its schema.
#[test]
fn m_elic_08_10_13_questions_are_method_and_params() {
    let mut page = ElicitParams::url("Visit", "https://example.com/x");
    if let ElicitParams::Url(url) = &mut page {
        url.elicitation_id = Some("legacy".to_owned());
    }
    let requests = vec![
        ("form", form().into()),
        ("page", page.into()),
        ("model", sample(vec![SamplingMessage::user(ContentBlock::text("?"))]).into()),
        ("roots", ListRootsParams::new().into()),
    ];
    let (answer, _) = asked(everything(), requests);
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    assert_eq!(
        answer["result"]["inputRequests"],
        json!({
            "form": {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": schema}},
            "page": {"method": "elicitation/create",
                "params": {"mode": "url", "message": "Visit", "url": "https://example.com/x"}},
            "model": {"method": "sampling/createMessage", "params": {"maxTokens": 10,
                "messages": [{"role": "user", "content": {"type": "text", "text": "?"}}]}},
            "roots": {"method": "roots/list"},
        })
    );
    // There is no other way to ask a modern client.
    let mut rig = Rig::new(definition());
    rig.send(with_capabilities(1, "tools/call", json!({"name": "slow"}), everything()));
    let slot = rig.invoked().slot;
    for method in ["elicitation/create", "sampling/createMessage", "roots/list", "ping", "acme/x"] {
        for of in [Some(slot.id()), None] {
            assert!(rig.server.request(rig.now, of, method, None, None).is_err(), "{method}");
        }
    }
    rig.drain();
    assert!(rig.frames.is_empty());
}

/// M-SAMP-04, M-SAMP-06, M-MRTR-12, M-META-13: tools and context of servers are lent to clients that declared them.
#[test]
fn m_samp_04_06_options_need_their_capability() {
    let question = || sample(vec![SamplingMessage::user(ContentBlock::text("?"))]);
    let context = |context| question().include_context(context);
    let cases: Vec<(CreateMessageParams, Value, Option<Value>)> = vec![
        (context(IncludeContext::ThisServer), json!({"sampling": {}}), Some(json!({"sampling": {"context": {}}}))),
        (context(IncludeContext::AllServers), json!({"sampling": {}}), Some(json!({"sampling": {"context": {}}}))),
        (context(IncludeContext::AllServers), json!({"sampling": {"context": {}}}), None),
        (context(IncludeContext::None), json!({"sampling": {}}), None),
        (question(), json!({"sampling": {}}), None),
        (question().tools(vec![tool("t")]), json!({"sampling": {}}), Some(json!({"sampling": {"tools": {}}}))),
        (question().tools(vec![tool("t")]), json!({"sampling": {"tools": {}}}), None),
    ];
    for (params, declared, missing) in cases {
        let (answer, _) = asked(declared.clone(), vec![("k", params.into())]);
        match missing {
            Some(missing) => {
                assert_eq!(answer["error"]["code"], -32_021, "{declared}: {answer}");
                assert_eq!(answer["error"]["data"]["requiredCapabilities"], missing);
            }
            None => assert_eq!(answer["result"]["resultType"], "input_required", "{declared}: {answer}"),
        }
    }
}

/// M-MRTR-13, M-ELIC-22: once it has asked, the server holds nothing and waits for nothing: the client may never come
/// back.
#[test]
fn m_mrtr_13_nothing_waits_for_a_retry() {
    let mut rig = Rig::new(sealed().build().unwrap());
    for _ in 0..3 {
        rig.send(with_capabilities(1, "tools/call", json!({"name": "slow"}), everything()));
        let slot = rig.invoked().slot;
        rig.reply(slot, ask(vec![("who", form().into())]));
        assert_eq!(rig.one()["result"]["resultType"], "input_required");
        assert_eq!(rig.server.poll_timeout(), None);
    }
    rig.advance(Duration::from_secs(100_000));
    assert!(rig.frames.is_empty() && rig.cancelled.is_empty());
    rig.server.handle(rig.now, Input::Eof).unwrap();
    rig.drain();
    assert!(rig.server.is_closed());
}

fn retry(id: u64, answers: Value, state: &Value) -> Value {
    let params = json!({"name": "slow", "inputResponses": answers, "requestState": state});
    with_capabilities(id, "tools/call", params, everything())
}

/// A server whose tool has asked `who`, and the state of that.
fn waiting() -> (Rig, Value) {
    let mut rig = Rig::new(sealed().build().unwrap());
    rig.send(with_capabilities(1, "tools/call", json!({"name": "slow"}), everything()));
    let slot = rig.invoked().slot;
    rig.reply(slot, ask(vec![("who", form().into())]));
    let state = rig.one()["result"]["requestState"].clone();
    (rig, state)
}

/// M-MRTR-24, M-MRTR-25: what is still missing is asked again, what nobody asked for is no error.
#[test]
fn m_mrtr_24_25_missing_answers_are_asked_again() {
    let (mut rig, state) = waiting();
    rig.send(retry(2, json!({"unasked": {"action": "accept"}}), &state));
    let again = rig.invoked();
    assert!(again.context.input("who").is_none() && again.context.elicited("who", &form()).is_none());
    rig.reply(again.slot, ask(vec![("who", form().into())]));
    let answer = rig.one();
    assert_eq!(answer["result"]["resultType"], "input_required");
    assert!(answer["result"]["inputRequests"]["who"].is_object());
}

/// M-ELIC-23, M-ELIC-34, M-MRTR-22, M-MRTR-23: whatever the user did reaches the handler; accepted content is checked
/// against the form that was asked with, and the error tells no value of it.
#[test]
fn m_elic_23_34_answers_are_read_and_checked() {
    for (answer, action) in [
        (json!({"action": "accept", "content": {"name": "Kim"}}), Some(ElicitAction::Accept)),
        (json!({"action": "decline"}), Some(ElicitAction::Decline)),
        (json!({"action": "cancel"}), Some(ElicitAction::Cancel)),
        (json!({"action": "accept", "content": {"name": 4711}}), None),
        (json!({"action": "accept", "content": {}}), None),
        (json!({"action": "accept", "content": [4711]}), None),
        (json!({"action": "accept"}), None),
        (json!({"content": {"name": "4711"}}), None),
    ] {
        let (mut rig, state) = waiting();
        rig.send(retry(2, json!({"who": answer}), &state));
        let invocation = rig.invoked();
        let read = invocation.context.elicited("who", &form()).unwrap();
        match action {
            Some(action) => {
                assert_eq!(read.unwrap().action, action);
                rig.reply(invocation.slot, text("done"));
                assert_eq!(rig.one()["result"]["resultType"], "complete");
            }
            None => {
                let error = read.unwrap_err();
                assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
                assert!(!error.message.contains("4711"), "{answer}: {}", error.message);
                rig.reply(invocation.slot, Reply::Error(error));
                assert_eq!(rig.one()["error"]["code"], -32_602);
            }
        }
    }
}

/// M-MRTR-10: a state has one identity, however often it comes, so that whoever keeps identities can refuse the second.
#[test]
fn m_mrtr_10_states_can_be_used_once() {
    let (mut rig, state) = waiting();
    let mut used = std::collections::BTreeSet::new();
    for id in 2..4 {
        rig.send(retry(id, json!({}), &state));
        let invocation = rig.invoked();
        if used.insert(invocation.context.state_token().unwrap()) {
            rig.reply(invocation.slot, text("booked"));
            assert_eq!(rig.one()["result"]["resultType"], "complete");
        } else {
            rig.reply(invocation.slot, Reply::StateUsed);
            let error = rig.one();
            assert_eq!(error["error"]["code"], -32_602);
        }
    }
    assert_eq!(used.len(), 1);
    let (mut other, state) = waiting();
    other.send(retry(2, json!({}), &state));
    let slot = other.invoked().slot;
    other.reply(slot, ask(vec![("more", form().into())]));
    let next = other.one()["result"]["requestState"].clone();
    other.send(retry(3, json!({}), &next));
    assert!(used.insert(other.invoked().context.state_token().unwrap()), "each round has a state of its own");
}

/// M-MRTR-27: a result that asks is not cacheable, and says nothing about it.
#[test]
fn m_mrtr_27_results_that_ask_have_no_caching_hints() {
    let hinted = builder().cache_reads(crate::model::CacheHints::public(5)).build().unwrap();
    let mut rig = Rig::new(hinted);
    rig.send(with_capabilities(1, "resources/read", json!({"uri": "file:///a"}), everything()));
    let slot = rig.invoked().slot;
    rig.reply(slot, ask(vec![("who", form().into())]));
    let answer = rig.one();
    assert_eq!(answer["result"]["resultType"], "input_required");
    assert!(answer["result"].get("ttlMs").is_none() && answer["result"].get("cacheScope").is_none());
}

/// M-ELIC-24, M-ELIC-32, M-ELIC-17: who asks is what the front has found out, never what the client writes.
#[test]
fn m_elic_32_the_principal_is_never_the_clients_word() {
    let mut rig = Rig::new(sealed().build().unwrap());
    let mut request = slow(1);
    request["params"]["principal"] = json!("alice");
    request["params"]["_meta"]["principal"] = json!("alice");
    request["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "alice", "version": "1"});
    rig.send(request);
    assert_eq!(rig.invoked().context.principal(), None);
}

/// M-SAMP-01, M-ROOT-01, M-LOG-01, M-DEP-01, M-DEP-03: what this revision deprecates still works, and is remarked on
/// once for each.
#[test]
fn m_dep_01_deprecated_features_are_remarked_on_once() {
    let mut rig = Rig::new(definition());
    let deprecated = |rig: &Rig| rig.diagnostics.iter().filter(|said| said.kind == DiagnosticKind::Deprecated).count();
    let questions: [fn() -> InputRequest; 3] = [
        || form().into(),
        || ListRootsParams::new().into(),
        || sample(vec![SamplingMessage::user(ContentBlock::text("?"))]).into(),
    ];
    for (number, question) in questions.into_iter().enumerate() {
        for _ in 0..2 {
            rig.send(with_capabilities(1, "tools/call", json!({"name": "slow"}), everything()));
            let slot = rig.invoked().slot;
            rig.reply(slot, ask(vec![("k", question())]));
            assert_eq!(rig.one()["result"]["resultType"], "input_required");
            assert_eq!(deprecated(&rig), number);
        }
    }
    for _ in 0..2 {
        let mut request = slow(1);
        request["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
        rig.send(request);
        let slot = rig.invoked().slot;
        assert_eq!(rig.server.log(rig.now, Some(slot.id()), &log_message(LoggingLevel::Info)).unwrap(), Sent::Yes);
        rig.reply(slot, text("x"));
        assert_eq!(deprecated(&rig), 3);
    }
}
