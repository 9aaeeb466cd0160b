//! Requests of legacy servers.

use super::*;
use crate::error::{Error, ErrorObject, Misuse};
use crate::ids::ReplySlot;
use crate::limits::Limits;
use crate::model::{ElicitResult, InputRequest, ListRootsResult, Root};
use crate::spec::ErrorCode;

fn everything() -> ClientCapabilities {
    form().with_url().with_sampling_tools().with_roots()
}

fn ask_form() -> Value {
    json!({"message": "m", "requestedSchema": {"type": "object", "properties": {"a": {"type": "integer"}}}})
}

impl Driver {
    fn request(&mut self, id: Value, method: &str, params: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    fn refused(&mut self, id: Value, code: i64) {
        let frame = self.frame();
        assert_eq!((&frame["id"], &frame["error"]["code"]), (&id, &json!(code)));
        assert_eq!(self.diagnostic().kind, DiagnosticKind::Refused);
    }
}

/// L-PROG-04: `ping` is answered at once with the id as it came, before the session is open too.
#[test]
fn ping_is_answered() {
    let mut driver = Driver::new(config().connect(Connect::Legacy));
    driver.client.connect(driver.now).unwrap();
    let request = driver.frame();
    driver.say(json!({"jsonrpc": "2.0", "id": "p\"1", "method": "ping"}));
    assert_eq!(driver.frame(), json!({"jsonrpc": "2.0", "id": "p\"1", "result": {}}));
    driver.request(json!(0), "roots/list", json!({}));
    driver.refused(json!(0), -32600);
    driver.result(&request["id"], session("2025-11-25"));
    driver.frame();
    driver.connected();
    driver.feed(b"{\"jsonrpc\":\"2.0\",\"id\":18446744073709551617,\"method\":\"ping\"}\n");
    assert_eq!(driver.frame()["result"], json!({}));
    driver.quiet();
}

/// Elicitation, sampling and roots are asked of the application, and answered as responses.
#[test]
fn questions_are_answered_with_responses() {
    let mut driver = Driver::legacy(config().capabilities(everything()), Version::V2025_11_25);
    driver.request(json!(0), "elicitation/create", ask_form());
    let needed = driver.ask();
    assert_eq!((needed.call, &*needed.key), (None, ""));
    let wrong = InputAnswer::Elicit(ElicitResult::accept(raw(json!({"a": "x"}))));
    assert!(driver.client.supply_input(driver.now, needed.input, &wrong).is_err());
    let answer = InputAnswer::Elicit(ElicitResult::accept(raw(json!({"a": 1}))));
    driver.client.supply_input(driver.now, needed.input, &answer).unwrap();
    assert_eq!(driver.frame(), json!({"jsonrpc": "2.0", "id": 0, "result": {"action": "accept", "content": {"a": 1}}}));

    driver.request(json!("s"), "sampling/createMessage", json!({"messages": [], "maxTokens": 5, "tools": []}));
    let needed = driver.ask();
    assert!(matches!(needed.request, InputRequest::Sample(_)));
    let answer =
        raw(json!({"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m", "_meta": {"k": 1}}));
    driver.client.supply_input(driver.now, needed.input, &InputAnswer::Raw(answer.clone())).unwrap();
    assert_eq!(driver.frame()["result"], answer.parse::<Value>().unwrap());

    driver.say(json!({"jsonrpc": "2.0", "id": 2, "method": "roots/list"}));
    let needed = driver.ask();
    // L-ROOT-03: nothing but files.
    let web = InputAnswer::Roots(ListRootsResult::new(vec![Root::new("https://e")]));
    assert!(driver.client.supply_input(driver.now, needed.input, &web).is_err());
    let files = InputAnswer::Roots(ListRootsResult::new(vec![Root::new("file:///a")]));
    driver.client.supply_input(driver.now, needed.input, &files).unwrap();
    assert_eq!(driver.frame()["result"], json!({"roots": [{"uri": "file:///a"}]}));
    driver.quiet();
}

/// T-19, T-22: answers are made what the revision can carry, or refused here.
#[test]
fn answers_are_shaped_for_the_revision() {
    let mut driver = Driver::legacy(config().capabilities(everything()), Version::V2025_06_18);
    driver.request(json!(1), "sampling/createMessage", json!({"messages": [], "maxTokens": 5}));
    let needed = driver.ask();
    let texts = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
    let answer: crate::model::CreateMessageResult =
        raw(json!({"role": "assistant", "content": texts, "model": "m"})).parse().unwrap();
    driver.client.supply_input(driver.now, needed.input, &InputAnswer::Sample(Box::new(answer))).unwrap();
    assert_eq!(driver.frame()["result"]["content"], json!({"type": "text", "text": "a\nb"}));
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string", "enum": ["x"]}}}});
    driver.request(json!(2), "elicitation/create", json!({"message": "m", "requestedSchema": schema}));
    let needed = driver.ask();
    let list = InputAnswer::Elicit(ElicitResult::accept(raw(json!({"a": ["x"]}))));
    assert!(driver.client.supply_input(driver.now, needed.input, &list).is_err());
    driver.client.supply_input(driver.now, needed.input, &InputAnswer::Declined).unwrap();
    driver.frame();
    driver.quiet();
}

/// L-SAMP-06, behaviour: a refusal has a code; a handler may choose its own.
#[test]
fn refusals_have_a_code() {
    let mut driver = Driver::legacy(config().capabilities(everything()), Version::V2025_11_25);
    driver.request(json!(1), "sampling/createMessage", json!({"messages": [], "maxTokens": 5}));
    let needed = driver.ask();
    driver.client.supply_input(driver.now, needed.input, &InputAnswer::Declined).unwrap();
    assert_eq!(driver.frame()["error"]["code"], -1);
    driver.request(json!(2), "elicitation/create", ask_form());
    let needed = driver.ask();
    driver.client.supply_input(driver.now, needed.input, &InputAnswer::Declined).unwrap();
    assert_eq!(driver.frame()["result"], json!({"action": "decline"}));
    driver.request(json!(3), "elicitation/create", ask_form());
    let needed = driver.ask();
    let own = ErrorObject::new(ErrorCode(77), "closed").with_data(raw(json!({"x": 1})));
    driver.client.supply_input(driver.now, needed.input, &InputAnswer::Refused(own)).unwrap();
    assert_eq!(driver.frame()["error"], json!({"code": 77, "message": "closed", "data": {"x": 1}}));
    driver.quiet();
}

/// L-ROOT-04, L-ELIC-03, L-SAMP-03: what was not declared is refused by the machine, with the right code.
#[test]
fn undeclared_features_are_refused() {
    let sample = |tools: bool| {
        let mut params = json!({"messages": [], "maxTokens": 5});
        if tools {
            params["toolChoice"] = json!({"mode": "auto"});
        }
        params
    };
    let url = json!({"mode": "url", "message": "m", "url": "https://e", "elicitationId": "x"});
    let none = ClientCapabilities::new;
    let cases = [
        (none(), "roots/list", json!({}), -32601),
        (none(), "sampling/createMessage", sample(false), -32601),
        (none(), "elicitation/create", ask_form(), -32601),
        (form(), "elicitation/create", url, -32602),
        (none().with_url(), "elicitation/create", ask_form(), -32602),
        (none().with_sampling(), "sampling/createMessage", sample(true), -32602),
        (everything(), "elicitation/create", json!({"message": 1}), -32602),
        (
            everything(),
            "elicitation/create",
            json!({"message": "m", "requestedSchema": {"$ref": "https://e/x"}}),
            -32602,
        ),
        (everything(), "sampling/createMessage", json!([]), -32602),
        (everything(), "tools/list", json!({}), -32601),
        (everything(), "x/y", json!({}), -32601),
    ];
    for (declared, method, params, code) in cases {
        let mut driver = Driver::legacy(config().capabilities(declared), Version::V2025_11_25);
        driver.request(json!(5), method, params);
        driver.refused(json!(5), code);
        driver.quiet();
    }
    // L-SAMP-06: tool results that answer no tool use.
    let mut driver = Driver::legacy(config().capabilities(everything()), Version::V2025_11_25);
    let stray = json!({"role": "user", "content": {"type": "tool_result", "toolUseId": "t", "content": []}});
    driver.request(json!(6), "sampling/createMessage", json!({"messages": [stray], "maxTokens": 5}));
    driver.refused(json!(6), -32602);
    // A revision that does not have the method.
    let mut driver = Driver::legacy(config().capabilities(everything()), Version::V2025_03_26);
    driver.request(json!(7), "elicitation/create", ask_form());
    driver.refused(json!(7), -32601);
}

/// L-CANC-04: a server that takes its request back gets no answer, and the application is told.
#[test]
fn a_server_may_cancel_its_requests() {
    let config = config().capabilities(everything()).server_method("x/y");
    let mut driver = Driver::legacy(config, Version::V2025_11_25);
    driver.request(json!(1), "elicitation/create", ask_form());
    let needed = driver.ask();
    driver.notify("notifications/cancelled", json!({"requestId": "1"}));
    driver.quiet();
    driver.notify("notifications/cancelled", json!({"requestId": 1, "reason": "late"}));
    let Action::CancelledInput { input, reason } = driver.event() else { panic!() };
    assert_eq!((input, reason.as_deref()), (needed.input, Some("late")));
    let late = driver.client.supply_input(driver.now, needed.input, &InputAnswer::Declined);
    assert!(matches!(late, Err(Error::ApiMisuse(Misuse::WrongState(_)))));

    driver.request(json!(2), "x/y", json!({"n": 1}));
    let Action::Invoke { slot, method, params } = driver.event() else { panic!() };
    assert_eq!((&*method, params.get()), ("x/y", r#"{"n":1}"#));
    driver.notify("notifications/cancelled", json!({"requestId": 2}));
    assert!(matches!(driver.event(), Action::CancelledInvoke { slot: of, .. } if of == slot.id()));
    driver.client.reply(driver.now, slot, Ok(Json::EMPTY_OBJECT)).unwrap();
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Muted);
    // Unknown, finished and malformed cancellations are ignored.
    for params in [json!({"requestId": 2}), json!({"requestId": 99}), json!({"requestId": {}}), json!({})] {
        driver.notify("notifications/cancelled", params);
    }
    driver.quiet();
}

/// Methods that the configuration names go to the application raw, and a slot is answered once.
#[test]
fn named_methods_are_invoked() {
    let config = config().server_method("x/y").server_method("sampling/createMessage");
    let mut driver = Driver::legacy(config, Version::V2025_11_25);
    let invoke = |driver: &mut Driver, id: i64, method: &str| {
        driver.request(json!(id), method, json!({}));
        match driver.event() {
            Action::Invoke { slot, .. } => slot,
            other => panic!("{other:?}"),
        }
    };
    let slot = invoke(&mut driver, 1, "x/y");
    let id = slot.id();
    assert!(driver.client.reply(driver.now, ReplySlot::from_id(id), Ok(raw(json!([])))).is_err());
    driver.client.reply(driver.now, slot, Ok(raw(json!({"big": 9_007_199_254_740_993_u64})))).unwrap();
    assert_eq!(driver.frame()["result"], json!({"big": 9_007_199_254_740_993_u64}));
    let twice = driver.client.reply(driver.now, ReplySlot::from_id(id), Ok(Json::EMPTY_OBJECT));
    assert_eq!(twice, Err(Error::ApiMisuse(Misuse::SlotNotOpen)));
    let slot = invoke(&mut driver, 2, "sampling/createMessage");
    driver.client.reply(driver.now, slot, Err(ErrorObject::new(ErrorCode::USER_REJECTED, "no"))).unwrap();
    assert_eq!(driver.frame()["error"]["code"], -1);
    let slot = invoke(&mut driver, 3, "x/y");
    driver.client.abandon(driver.now, slot).unwrap();
    assert_eq!(driver.frame()["error"], json!({"code": -32603, "message": "internal error"}));
    driver.quiet();
}

/// Duplicate ids and too many requests are refused, not queued.
#[test]
fn requests_are_bounded_and_ids_unique() {
    let mut limits = Limits::default();
    limits.in_flight = 2;
    let mut driver = Driver::legacy(config().capabilities(everything()).limits(limits), Version::V2025_11_25);
    driver.request(json!(1), "roots/list", json!({}));
    driver.request(json!("1"), "roots/list", json!({}));
    let (first, _) = (driver.ask(), driver.ask());
    driver.request(json!(1), "roots/list", json!({}));
    driver.refused(json!(1), -32600);
    driver.request(json!(2), "roots/list", json!({}));
    let frame = driver.frame();
    assert!(frame["error"]["message"].as_str().unwrap().contains("in_flight = 2"));
    driver.diagnostic();
    let roots = || InputAnswer::Roots(ListRootsResult::new(Vec::new()));
    driver.client.supply_input(driver.now, first.input, &roots()).unwrap();
    assert_eq!(driver.frame()["id"], 1);
    driver.request(json!(1), "roots/list", json!({}));
    driver.ask();
    driver.quiet();
}

/// While a legacy server waits for the user, its silence does not end our calls; the hard clock does.
#[test]
fn questions_stop_the_idle_clock() {
    let mut driver = Driver::legacy(config().capabilities(everything()), Version::V2025_11_25);
    let (call, _) = driver.tool("t");
    driver.pass(seconds(50));
    driver.request(json!(1), "elicitation/create", ask_form());
    let needed = driver.ask();
    assert_eq!(driver.client.poll_timeout(), Some((driver.now.mono.after(seconds(550)), TimerKind::CallHard)));
    driver.pass(seconds(300));
    driver.quiet();
    driver.client.supply_input(driver.now, needed.input, &InputAnswer::Declined).unwrap();
    driver.frame();
    assert_eq!(driver.client.poll_timeout(), Some((driver.now.mono.after(seconds(60)), TimerKind::CallIdle)));
    driver.request(json!(2), "elicitation/create", ask_form());
    driver.ask();
    driver.notify("notifications/cancelled", json!({"requestId": 2}));
    driver.event();
    driver.pass(seconds(60));
    assert_eq!(driver.done(call).unwrap_err(), CallError::TimedOut { kind: TimeoutKind::Idle });
}

/// The end withdraws questions and invocations.
#[test]
fn the_end_withdraws_what_is_open() {
    let config = config().capabilities(everything()).server_method("x/y");
    let mut driver = Driver::legacy(config, Version::V2025_11_25);
    driver.request(json!(1), "roots/list", json!({}));
    driver.request(json!(2), "x/y", json!({}));
    let needed = driver.ask();
    let Action::Invoke { slot, .. } = driver.event() else { panic!() };
    driver.client.handle(driver.now, Input::Eof).unwrap();
    assert!(matches!(driver.event(), Action::CancelledInput { input, .. } if input == needed.input));
    assert!(matches!(driver.event(), Action::CancelledInvoke { slot: of, .. } if of == slot.id()));
    assert!(matches!(driver.event(), Action::Closed(Closed::EndOfInput)));
    assert!(driver.client.reply(driver.now, slot, Ok(Json::EMPTY_OBJECT)).is_err());
    driver.quiet();
}

/// A server that only asks and never reads cannot make us hold answers without bound.
#[test]
fn answers_to_a_server_that_does_not_read_are_bounded() {
    let mut limits = Limits::default();
    limits.output_bytes = 1_000;
    let mut driver = Driver::legacy(config().limits(limits), Version::V2025_11_25);
    driver.tool("t");
    let mut error = None;
    for id in 0..1_000 {
        let ping = format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
        // Nothing is written, and nothing is reported as written.
        error = driver.client.handle(driver.now, Input::Bytes(Bytes::from(ping))).err();
        if error.is_some() {
            break;
        }
    }
    assert!(matches!(error, Some(Error::LimitExceeded { bound: crate::limits::Bound::OutputBytes, .. })));
}

/// L-ROOT-02: a verb announces changed roots, in the era that wants to know and if that was declared.
#[test]
fn changed_roots_are_announced() {
    let mut declared = ClientCapabilities::new().with_roots();
    declared.roots = Some(crate::model::RootsCapability::new().list_changed(true));
    let mut driver = Driver::legacy(config().capabilities(declared.clone()), Version::V2025_11_25);
    driver.client.roots_changed(driver.now).unwrap();
    assert_eq!(driver.frame(), json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    let mut driver = Driver::legacy(config(), Version::V2025_11_25);
    assert!(driver.client.roots_changed(driver.now).is_err());
    let mut driver = Driver::modern(config().capabilities(declared));
    driver.client.roots_changed(driver.now).unwrap();
    driver.quiet();
}
