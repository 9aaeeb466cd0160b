//! Rounds of input.

use super::*;
use crate::error::{Error, ErrorObject, Misuse};
use crate::limits::{Bound, Limits};
use crate::model::{ElicitResult, InputRequest};
use crate::spec::ErrorCode;

fn who() -> Value {
    json!({"method": "elicitation/create", "params": {"message": "Who approves?",
           "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}})
}

fn input_required(mut members: Value) -> Value {
    members["resultType"] = json!("input_required");
    members
}

fn accept(name: &str) -> InputAnswer {
    InputAnswer::Elicit(ElicitResult::accept(raw(json!({"name": name}))))
}

/// O13: the retry is the request with another id, the answers, and the state as the very token that came.
#[test]
fn o13_an_input_request_that_carries_metadata() {
    let mut driver = Driver::modern(config().capabilities(form()).send_client_info(false));
    let call = driver.call(Request::call_tool("deploy", &raw(json!({"env": "test"}))));
    let frame = driver.frame();
    driver.feed(
        format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"input_required","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"s","version":"1"}}}},"inputRequests":{{"who":{}}},"requestState":"A b/+=\u00e9"}}}}{}"#,
            frame["id"], who(), "\n"
        )
        .as_bytes(),
    );
    let needed = driver.ask();
    assert_eq!((needed.call, &*needed.key), (Some(call), "who"));
    let InputRequest::Elicit(crate::model::ElicitParams::Form(form)) = &needed.request else { panic!() };
    assert_eq!(form.message, "Who approves?");
    assert_eq!(needed.raw.parse::<Value>().unwrap(), who()["params"]);
    driver.quiet();
    driver.client.supply_input(driver.now, needed.input, &accept("Kim")).unwrap();
    let Some(Action::Write(bytes)) = driver.client.poll_action() else { panic!() };
    assert!(std::str::from_utf8(&bytes).unwrap().contains(r#""requestState":"A b/+=\u00e9""#), "the escape survives");
    let retry: Value = serde_json::from_slice(&bytes).unwrap();
    assert_ne!(retry["id"], frame["id"]);
    assert_eq!(
        retry["params"],
        json!({"name": "deploy", "arguments": {"env": "test"},
               "inputResponses": {"who": {"action": "accept", "content": {"name": "Kim"}}}, "requestState": "A b/+=é",
               "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                         "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}})
    );
    driver.result(&retry["id"], complete());
    assert!(driver.done(call).is_ok());
    driver.quiet();
}

/// O13 b, M-MRTR-17: no state came, so none goes back, also not that of an earlier round.
#[test]
fn o13_b_without_state_the_retry_has_none() {
    let mut driver = Driver::modern(config().capabilities(form()));
    let (call, frame) = driver.tool("deploy");
    driver.result(&frame["id"], input_required(json!({"requestState": "s"})));
    let second = driver.frame();
    assert_eq!(second["params"]["requestState"], "s");
    driver.result(&second["id"], input_required(json!({"inputRequests": {"who": who()}})));
    let needed = driver.ask();
    driver.client.supply_input(driver.now, needed.input, &accept("Kim")).unwrap();
    let third = driver.frame();
    assert!(third["params"].get("requestState").is_none());
    assert!(third["params"].get("inputResponses").is_some());
    // Answers of an earlier round do not come again either.
    driver.result(&third["id"], input_required(json!({"requestState": "t"})));
    let fourth = driver.frame();
    assert!(fourth["params"].get("inputResponses").is_none());
    driver.result(&fourth["id"], complete());
    assert!(driver.done(call).is_ok());
}

/// U-41, O13 d, M-MRTR-15, -16: state alone is retried at once, then later and later; `""` is a state; a server that
/// never stops is given up.
#[test]
fn u41_state_only_rounds() {
    let mut driver = Driver::modern(config());
    let (call, mut frame) = driver.tool("t");
    let mut ids = vec![frame["id"].clone()];
    let waits = [0, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000, 5_000, 5_000, 5_000, 5_000, 5_000];
    for wait in waits {
        driver.result(&frame["id"], input_required(json!({"requestState": ""})));
        if wait > 0 {
            driver.quiet();
            assert_eq!(driver.client.poll_timeout(), Some((driver.now.mono.after(millis(wait)), TimerKind::Backoff)));
            driver.pass(millis(wait - 1));
            driver.quiet();
            driver.pass(millis(1));
        }
        frame = driver.frame();
        assert!(!ids.contains(&frame["id"]));
        ids.push(frame["id"].clone());
        assert_eq!(frame["params"]["requestState"], "");
        assert!(frame["params"].get("inputResponses").is_none());
    }
    driver.result(&frame["id"], input_required(json!({"requestState": ""})));
    assert_eq!(driver.done(call).unwrap_err(), CallError::RoundsExceeded { limit: 16 });
    driver.quiet();
}

/// An empty record of questions is answered with an empty record of answers.
#[test]
fn no_questions_give_no_answers() {
    let mut driver = Driver::modern(config());
    let (_, frame) = driver.tool("t");
    driver.result(&frame["id"], input_required(json!({"inputRequests": {}, "requestState": "s"})));
    assert_eq!(driver.frame()["params"]["inputResponses"], json!({}));
}

/// U-43, M-ELIC-07, M-SAMP-12: what was not declared is never asked, and the call fails here without a retry.
#[test]
fn u43_undeclared_input_fails_here() {
    let sample = json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}});
    let mut with_tools = sample.clone();
    with_tools["params"]["tools"] = json!([]);
    let url = json!({"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": "https://e"}});
    let hologram = json!({"method": "elicitation/create", "params": {"mode": "hologram", "message": "m"}});
    let sampling = ClientCapabilities::new().with_sampling();
    let cases = [
        (form(), url, "elicitation.url"),
        (ClientCapabilities::new().with_url(), who(), "elicitation"),
        (form(), sample, "sampling"),
        (sampling, with_tools, "sampling.tools"),
        (form(), json!({"method": "roots/list"}), "roots"),
        (ClientCapabilities::new(), who(), "elicitation"),
        (form(), hologram, "elicitation of an unknown mode"),
        (form(), json!({"method": "x/y", "params": {}}), "a method that is no input request"),
    ];
    for (declared, request, expected) in cases {
        let mut driver = Driver::modern(config().capabilities(declared));
        let (call, frame) = driver.tool("t");
        // The question that is fine is not asked either.
        driver.result(&frame["id"], input_required(json!({"inputRequests": {"k": request}, "requestState": "s"})));
        let Err(CallError::InputUnsupported { key, what }) = driver.done(call) else { panic!("{expected}") };
        assert_eq!(key, "k");
        assert!(what.starts_with(expected), "{what} / {expected}");
        driver.quiet();
    }
}

/// Results that ask in a way that the specification forbids.
#[test]
fn malformed_input_required_results_are_invalid() {
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "https://e/s.json"}}});
    for members in [
        json!({}),
        json!({"inputRequests": null, "requestState": null}),
        json!({"requestState": 1}),
        json!({"inputRequests": []}),
        json!({"inputRequests": {"k": 1}}),
        json!({"inputRequests": {"k": {"method": "elicitation/create"}}}),
        json!({"inputRequests": {"k": {"method": "elicitation/create", "params": {"message": "m", "requestedSchema": schema}}}}),
    ] {
        let mut driver = Driver::modern(config().capabilities(form()));
        let (call, frame) = driver.tool("t");
        driver.result(&frame["id"], input_required(members.clone()));
        let Err(CallError::InvalidResult { result, .. }) = driver.done(call) else { panic!("{members}") };
        assert_eq!(result.parse::<Value>().unwrap(), input_required(members));
        driver.quiet();
    }
    // Only three methods may ask.
    let mut driver = Driver::modern(config());
    let call = driver.call(Request::list(List::Tools, None));
    let frame = driver.frame();
    driver.result(&frame["id"], input_required(json!({"requestState": "s"})));
    assert!(matches!(driver.done(call), Err(CallError::InvalidResult { .. })));
    // A key that stands twice.
    let mut driver = Driver::modern(config().capabilities(form()));
    let (call, frame) = driver.tool("t");
    let text = format!(r#"{{"resultType":"input_required","inputRequests":{{"k":{0},"k":{0}}}}}"#, who());
    driver.feed(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{text}}}\n", frame["id"]).as_bytes());
    assert!(matches!(driver.done(call), Err(CallError::InvalidResult { .. })));
}

/// Questions are bounded by number.
#[test]
fn questions_are_bounded() {
    let mut limits = Limits::default();
    limits.input_requests = 2;
    let mut driver = Driver::modern(config().capabilities(form()).limits(limits));
    let (call, frame) = driver.tool("t");
    driver.result(&frame["id"], input_required(json!({"inputRequests": {"a": who(), "b": who(), "c": who()}})));
    let error = driver.done(call).unwrap_err();
    assert_eq!(error, CallError::BoundExceeded { bound: Bound::InputRequests, limit: 2, partial: Vec::new() });
    driver.quiet();
}

/// M-MRTR-14: all answers are gathered first, in whatever order; then comes one retry, in the order of the questions.
#[test]
fn all_answers_are_gathered_first() {
    let capabilities = form().with_roots().with_sampling();
    let mut driver = Driver::modern(config().capabilities(capabilities));
    let (_, frame) = driver.tool("t");
    let sample = json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}});
    let requests = json!({"b": who(), "a": sample, "c": {"method": "roots/list"}});
    driver.feed(
        format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"input_required","inputRequests":{{"b":{},"a":{},"c":{}}}}}}}{}"#,
            frame["id"], requests["b"], requests["a"], requests["c"], "\n"
        )
        .as_bytes(),
    );
    let elicit = driver.ask();
    // M-SAMP-01, roots: deprecated in this revision, said once for each.
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Deprecated);
    let sample = driver.ask();
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Deprecated);
    let roots = driver.ask();
    let keys = [&*elicit.key, &*sample.key, &*roots.key];
    assert_eq!(keys, ["b", "a", "c"]);
    let answer =
        |driver: &mut Driver, input, answer: &InputAnswer| driver.client.supply_input(driver.now, input, answer);
    let listed = crate::model::ListRootsResult::new(vec![crate::model::Root::new("file:///a")]);
    answer(&mut driver, roots.input, &InputAnswer::Roots(listed)).unwrap();
    let model: crate::model::CreateMessageResult =
        raw(json!({"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"})).parse().unwrap();
    answer(&mut driver, sample.input, &InputAnswer::Sample(Box::new(model))).unwrap();
    driver.quiet();
    // Each question is answered once.
    let again = answer(&mut driver, roots.input, &InputAnswer::Declined);
    assert!(matches!(again, Err(Error::ApiMisuse(Misuse::WrongState(_)))));
    answer(&mut driver, elicit.input, &InputAnswer::Declined).unwrap();
    let retry = driver.frame();
    assert_eq!(
        retry["params"]["inputResponses"],
        json!({"b": {"action": "decline"},
               "a": {"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"},
               "c": {"roots": [{"uri": "file:///a"}]}})
    );
    let text = serde_json::to_string(&retry).unwrap();
    assert!(!text.contains("requestState"));
    driver.quiet();
}

/// M-ELIC-33, L-ELIC-26: answers are checked before they are sent, and one that does not fit can be put right.
#[test]
fn answers_are_checked_against_the_schema() {
    let mut driver = Driver::modern(config().capabilities(form().with_url()));
    let (_, frame) = driver.tool("t");
    driver.result(&frame["id"], input_required(json!({"inputRequests": {"who": who()}})));
    let needed = driver.ask();
    let content = |value: Value| InputAnswer::Elicit(ElicitResult::accept(raw(value)));
    for wrong in [
        content(json!({})),
        content(json!({"name": 1})),
        content(json!([])),
        InputAnswer::Elicit(ElicitResult::accept_url()),
        InputAnswer::Raw(raw(json!({"action": "accept", "content": {"name": 1}}))),
        InputAnswer::Raw(raw(json!({"content": {"name": "x"}}))),
        InputAnswer::Raw(raw(json!([]))),
        InputAnswer::Roots(crate::model::ListRootsResult::new(Vec::new())),
    ] {
        let error = driver.client.supply_input(driver.now, needed.input, &wrong).unwrap_err();
        assert!(matches!(error, Error::ApiMisuse(Misuse::Argument(_))), "{error:?}");
    }
    driver.quiet();
    driver.client.supply_input(driver.now, needed.input, &accept("Kim")).unwrap();
    driver.frame();
}

/// M-ELIC-12: defaults are filled in if that is configured; what the user gave keeps its spelling.
#[test]
fn defaults_are_filled_in_if_configured() {
    let request = json!({"method": "elicitation/create", "params": {"message": "m", "requestedSchema": {
        "type": "object", "required": ["a"],
        "properties": {"a": {"type": "integer", "default": 3}, "b": {"type": "number"}, "c": {"type": "string", "default": "x"}}}}});
    for (apply, given, expected) in [
        (true, r#"{"b":1.50}"#, Some(json!({"b": 1.5, "a": 3, "c": "x"}))),
        (true, r#"{"a":4,"c":"y"}"#, Some(json!({"a": 4, "c": "y"}))),
        (false, r#"{"b":1.50}"#, None),
    ] {
        let mut driver = Driver::modern(config().capabilities(form()).apply_defaults(apply));
        let (_, frame) = driver.tool("t");
        driver.result(&frame["id"], input_required(json!({"inputRequests": {"k": request}})));
        let needed = driver.ask();
        let answer = InputAnswer::Elicit(ElicitResult::accept(Json::from_text(given).unwrap()));
        let outcome = driver.client.supply_input(driver.now, needed.input, &answer);
        match expected {
            Some(expected) => {
                outcome.unwrap();
                assert_eq!(driver.frame()["params"]["inputResponses"]["k"]["content"], expected);
            }
            None => assert!(outcome.is_err()),
        }
    }
}

/// M-ELIC-15: accepting a page carries no content, and neither does a refusal.
#[test]
fn pages_and_refusals_carry_no_content() {
    let mut driver = Driver::modern(config().capabilities(form().with_url()));
    let (_, frame) = driver.tool("t");
    let url = json!({"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": "https://e"}});
    driver.result(&frame["id"], input_required(json!({"inputRequests": {"u": url, "v": url, "w": who(), "x": who()}})));
    let asked: Vec<InputNeeded> = (0..4).map(|_| driver.ask()).collect();
    let accepted = ElicitResult::accept(raw(json!({"a": 1})));
    let mut declined = ElicitResult::decline();
    declined.content = Some(raw(json!({"secret": 1})));
    let refused = InputAnswer::Refused(ErrorObject::internal());
    let answers = [
        ("u", InputAnswer::Elicit(accepted)),
        ("v", InputAnswer::Elicit(ElicitResult::cancel())),
        ("w", InputAnswer::Elicit(declined)),
        ("x", refused),
    ];
    for needed in &asked {
        let (_, answer) = answers.iter().find(|(key, _)| *key == needed.key).unwrap();
        driver.client.supply_input(driver.now, needed.input, answer).unwrap();
    }
    assert_eq!(
        driver.frame()["params"]["inputResponses"],
        json!({"u": {"action": "accept"}, "v": {"action": "cancel"}, "w": {"action": "decline"}, "x": {"action": "cancel"}})
    );
}

/// M-PROG-06: a retry is a request of its own. The handler runs from its start, its progress counts from there, and
/// both the application and the idle clock hear of it.
#[test]
fn progress_starts_anew_with_each_round() {
    let mut driver = Driver::modern(config().capabilities(form()));
    let options = CallOptions::new().progress_token("t").idle(Some(Duration::from_secs(10)));
    let call = driver.call_with(Request::call_tool("deploy", &Json::EMPTY_OBJECT), options);
    let frame = driver.frame();
    let report = |progress| json!({"progressToken": "t", "progress": progress});
    driver.notify("notifications/progress", report(5));
    assert!(matches!(driver.event(), Action::Progress { .. }));
    driver.result(&frame["id"], input_required(json!({"inputRequests": {"who": who()}})));
    let needed = driver.ask();
    driver.client.supply_input(driver.now, needed.input, &accept("Kim")).unwrap();
    let retry = driver.frame();
    assert_eq!(retry["params"]["_meta"]["progressToken"], "t");
    driver.pass(Duration::from_secs(9));
    for (progress, increases) in [(1, true), (1, false), (2, true)] {
        driver.notify("notifications/progress", report(progress));
        assert_eq!(matches!(driver.event(), Action::Progress { .. }), increases, "{progress}");
    }
    driver.pass(Duration::from_secs(9));
    driver.result(&retry["id"], complete());
    assert!(driver.done(call).is_ok());
    driver.quiet();
}

/// T-25: answers in a retry are bare; metadata of the legacy results stays out.
#[test]
fn answers_are_bare() {
    let mut driver = Driver::modern(config().capabilities(form()));
    let (_, frame) = driver.tool("t");
    driver.result(&frame["id"], input_required(json!({"inputRequests": {"k": who()}})));
    let needed = driver.ask();
    let answer =
        InputAnswer::Raw(raw(json!({"_meta": {"a": 1}, "action": "accept", "content": {"name": "x"}, "y": 1})));
    driver.client.supply_input(driver.now, needed.input, &answer).unwrap();
    assert_eq!(
        driver.frame()["params"]["inputResponses"]["k"],
        json!({"action": "accept", "content": {"name": "x"}, "y": 1})
    );
}

/// T-26: refusing the model has no wire form in this era: the call ends, and its other questions are withdrawn.
#[test]
fn t26_refused_sampling_ends_the_call() {
    let mut driver = Driver::modern(config().capabilities(form().with_sampling()));
    let (call, frame) = driver.tool("t");
    let sample = json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}});
    driver.result(&frame["id"], input_required(json!({"inputRequests": {"a": who(), "b": sample}})));
    let first = driver.ask();
    driver.diagnostic();
    let second = driver.ask();
    driver.client.supply_input(driver.now, second.input, &InputAnswer::Declined).unwrap();
    assert!(matches!(driver.event(), Action::CancelledInput { input, .. } if input == first.input));
    let Err(CallError::InputRefused { key, error }) = driver.done(call) else { panic!() };
    assert_eq!((&*key, error.code), ("b", ErrorCode::USER_REJECTED));
    driver.quiet();
}

/// Cancelling a call that waits for the user withdraws the questions; there is nothing to tell the server.
#[test]
fn cancelling_a_call_that_asks() {
    let mut driver = Driver::modern(config().capabilities(form()));
    let (call, frame) = driver.tool("t");
    driver.result(&frame["id"], input_required(json!({"inputRequests": {"a": who(), "b": who()}})));
    let (first, second) = (driver.ask(), driver.ask());
    driver.client.supply_input(driver.now, first.input, &accept("x")).unwrap();
    driver.client.cancel(driver.now, call, Some("enough")).unwrap();
    assert!(matches!(driver.event(), Action::CancelledInput { input, .. } if input == second.input));
    assert_eq!(driver.done(call).unwrap_err(), CallError::Cancelled);
    assert!(driver.client.supply_input(driver.now, second.input, &accept("x")).is_err());
    driver.quiet();
}

/// The clocks stand still while the user thinks, and go on afterwards.
#[test]
fn clocks_stand_still_while_the_user_thinks() {
    let mut driver = Driver::modern(config().capabilities(form()));
    let options = CallOptions::new().idle(Some(seconds(10))).hard(Some(seconds(20)));
    let call = driver.call_with(Request::call_tool("t", &Json::EMPTY_OBJECT), options);
    let frame = driver.frame();
    driver.pass(seconds(5));
    driver.result(&frame["id"], input_required(json!({"inputRequests": {"a": who()}})));
    let needed = driver.ask();
    assert_eq!(driver.client.poll_timeout(), None);
    driver.pass(seconds(3_600));
    driver.quiet();
    driver.client.supply_input(driver.now, needed.input, &accept("x")).unwrap();
    driver.frame();
    assert_eq!(driver.client.poll_timeout(), Some((driver.now.mono.after(seconds(10)), TimerKind::CallIdle)));
    driver.pass(seconds(9));
    driver.quiet();
    driver.pass(seconds(1));
    assert_eq!(driver.done(call).unwrap_err(), CallError::TimedOut { kind: TimeoutKind::Idle });
    driver.frame();
    driver.quiet();
}

/// Driving by hand: the result is the answer, and the next round is made from it.
#[test]
fn rounds_can_be_driven_by_hand() {
    let mut driver = Driver::modern(config());
    let request = Request::call_tool("t", &raw(json!({"a": 1})));
    let manual = || CallOptions::new().drive_input(false);
    let call = driver.call_with(request.clone(), manual());
    let frame = driver.frame();
    driver.result(&frame["id"], input_required(json!({"inputRequests": {"k": who()}, "requestState": "s"})));
    let answer = driver.done(call).unwrap();
    assert!(answer.is_input_required());
    let again = request.clone().retry(&answer, &raw(json!({"k": {"action": "cancel"}}))).unwrap();
    let call = driver.call_with(again, manual());
    let frame = driver.frame();
    assert_eq!(frame["params"]["inputResponses"], json!({"k": {"action": "cancel"}}));
    assert_eq!(frame["params"]["requestState"], "s");
    assert_eq!(frame["params"]["arguments"], json!({"a": 1}));
    driver.result(&frame["id"], complete());
    let answer = driver.done(call).unwrap();
    assert!(request.retry(&answer, &Json::EMPTY_OBJECT).is_err());
}

/// M-MRTR: the rounds of two calls do not touch each other.
#[test]
fn rounds_of_two_calls_do_not_mix() {
    let mut driver = Driver::modern(config().capabilities(form()));
    let (first, one) = driver.tool("one");
    let (second, two) = driver.tool("two");
    driver.result(&two["id"], input_required(json!({"inputRequests": {"k": who()}, "requestState": "two"})));
    driver.result(&one["id"], input_required(json!({"inputRequests": {"k": who()}, "requestState": "one"})));
    let (of_two, of_one) = (driver.ask(), driver.ask());
    assert_eq!((of_two.call, of_one.call), (Some(second), Some(first)));
    driver.client.supply_input(driver.now, of_one.input, &accept("1")).unwrap();
    let retry = driver.frame();
    assert_eq!((&retry["params"]["name"], &retry["params"]["requestState"]), (&json!("one"), &json!("one")));
    assert_eq!(retry["params"]["inputResponses"]["k"]["content"]["name"], "1");
    driver.quiet();
}

/// Progress goes on under the same token in every round.
#[test]
fn progress_goes_on_over_rounds() {
    let mut driver = Driver::modern(config());
    let call = driver.call_with(Request::call_tool("t", &Json::EMPTY_OBJECT), CallOptions::new().progress());
    let frame = driver.frame();
    driver.result(&frame["id"], input_required(json!({"requestState": "s"})));
    let retry = driver.frame();
    assert_eq!(retry["params"]["_meta"]["progressToken"], frame["params"]["_meta"]["progressToken"]);
    driver.notify("notifications/progress", json!({"progressToken": 1, "progress": 1}));
    assert!(matches!(driver.event(), Action::Progress { call: of, .. } if of == call));
}
