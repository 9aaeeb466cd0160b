//! Which era a server speaks, and what happens until that is known.

use super::*;
use crate::client::probe::{Outcome, Verdict, judge};
use crate::error::{Error, ErrorObject, Misuse};
use crate::spec::{Era, ErrorCode};

fn start(config: Config) -> (Driver, Value) {
    let mut driver = Driver::new(config);
    driver.client.connect(driver.now).unwrap();
    let first = driver.frame();
    (driver, first)
}

fn refusal(code: i64, data: Value) -> ErrorObject {
    ErrorObject::new(ErrorCode(code), "no").with_data(data)
}

/// The whole table of the probe (M-STDIO-16 … -19, M-VER-07, M-DISC-04, T-12, T-13).
#[test]
fn u52_the_probe_table() {
    use Version::{V2024_11_05, V2025_11_25, V2026_07_28};
    let all = [V2026_07_28, V2025_11_25, V2024_11_05];
    let modern = [V2026_07_28];
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let unsupported = |supported: &[&str]| refusal(-32022, json!({"supported": supported, "requested": "x"}));

    assert_eq!(judge(Outcome::Discovered(&names(&["2026-07-28"])), &all, false), Verdict::Modern(V2026_07_28));
    // A dual-era server that lists legacy revisions too is spoken to in the newest.
    assert_eq!(
        judge(Outcome::Discovered(&names(&["2024-11-05", "2026-07-28"])), &all, false),
        Verdict::Modern(V2026_07_28)
    );
    assert_eq!(
        judge(Outcome::Discovered(&names(&["2027-01-01", "2024-11-05"])), &all, false),
        Verdict::Handshake(V2024_11_05)
    );
    assert!(matches!(
        judge(Outcome::Discovered(&names(&["2027-01-01"])), &all, false),
        Verdict::Fail(ConnectError::NoCommonVersion { .. })
    ));
    // T-12: the server knows the modern era and wants a handshake.
    assert_eq!(judge(Outcome::Error(&unsupported(&["2025-11-25"])), &all, false), Verdict::Handshake(V2025_11_25));
    assert_eq!(judge(Outcome::Error(&unsupported(&["2026-07-28"])), &all, false), Verdict::Again(V2026_07_28));
    assert!(matches!(
        judge(Outcome::Error(&unsupported(&["2026-07-28"])), &all, true),
        Verdict::Fail(ConnectError::NoCommonVersion { .. })
    ));
    // Modern errors do not fall back, even where a legacy revision is on offer.
    for error in [refusal(-32020, json!(null)), refusal(-32021, json!({"requiredCapabilities": {"roots": {}}}))] {
        assert!(matches!(judge(Outcome::Error(&error), &all, false), Verdict::Fail(ConnectError::Refused(_))));
    }
    // T-13: codes alone prove nothing, and neither does anything else.
    let legacy = [
        refusal(-32601, json!(null)),
        refusal(-32602, json!("")),
        refusal(-32000, json!(null)),
        refusal(-32022, json!(null)),
        refusal(-32022, json!({"supported": "2026-07-28"})),
        refusal(-32021, json!({"requiredCapabilities": 1})),
        refusal(7, json!({})),
    ];
    for error in &legacy {
        assert_eq!(judge(Outcome::Error(error), &all, false), Verdict::Handshake(V2025_11_25), "{error:?}");
        assert!(matches!(
            judge(Outcome::Error(error), &modern, false),
            Verdict::Fail(ConnectError::NotModern { error: Some(_) })
        ));
    }
    for outcome in [Outcome::Silence, Outcome::OtherResult] {
        assert_eq!(judge(outcome, &all, false), Verdict::Handshake(V2025_11_25));
        assert_eq!(judge(outcome, &modern, false), Verdict::Fail(ConnectError::NotModern { error: None }));
    }
}

/// O11 a, b: any unrecognised error means `initialize`.
#[test]
fn o11_a_b_an_error_of_any_kind_falls_back() {
    for (code, data) in [(-32602, json!("")), (-32000, json!(null)), (-32601, json!(null))] {
        let (mut driver, probe) = start(config());
        assert_eq!(probe["method"], "server/discover");
        assert_eq!(probe["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        driver.error(&probe["id"], code, data);
        let request = driver.frame();
        assert_eq!(request["method"], "initialize");
        assert_eq!(
            request["params"],
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}})
        );
        driver.quiet();
    }
}

/// O11 c: the probe times out, and its late answer is ignored.
#[test]
fn o11_c_silence_falls_back_and_a_late_answer_is_ignored() {
    let (mut driver, probe) = start(config());
    assert_eq!(driver.client.poll_timeout(), Some((driver.now.mono.after(seconds(5)), TimerKind::Probe)));
    driver.pass(millis(4_999));
    driver.quiet();
    driver.pass(millis(1));
    let request = driver.frame();
    assert_eq!(
        (&request["method"], &request["params"]["protocolVersion"]),
        (&json!("initialize"), &json!("2025-11-25"))
    );
    driver.pass(millis(1));
    driver.error(&probe["id"], -32602, json!(""));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    driver.quiet();
    // Even a late proof of the modern era changes nothing any more.
    driver.result(&request["id"], session("2025-11-25"));
    assert_eq!(driver.frame(), json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let facts = driver.connected();
    assert_eq!((facts.version, facts.era()), (Version::V2025_11_25, Era::Legacy));
    assert_eq!(driver.client.server(), Some(&facts));
    assert_eq!(driver.client.poll_timeout(), None);
}

/// A modern server that takes longer to start than the probe may take is not lost: it refuses `initialize`, but has
/// answered the probe by then.
#[test]
fn a_late_discover_result_counts_when_initialize_is_refused() {
    let refuse = |driver: &mut Driver, request: &Value| {
        driver.error(&request["id"], -32022, json!({"supported": ["2026-07-28"], "requested": "2025-11-25"}));
    };
    let (mut driver, probe) = start(config());
    driver.pass(seconds(5));
    let request = driver.frame();
    assert_eq!(request["method"], "initialize");
    driver.result(&probe["id"], json!({"supportedVersions": ["2026-07-28"], "capabilities": {}}));
    driver.quiet();
    refuse(&mut driver, &request);
    let facts = driver.connected();
    assert_eq!((facts.version, facts.era()), (Version::V2026_07_28, Era::Modern));
    driver.quiet();

    // What is no proof leads to one more handshake at most.
    let (mut driver, probe) = start(config());
    driver.pass(seconds(5));
    let request = driver.frame();
    driver.result(&probe["id"], json!({}));
    refuse(&mut driver, &request);
    let again = driver.frame();
    assert_eq!(again["method"], "initialize");
    refuse(&mut driver, &again);
    assert!(matches!(driver.event(), Action::Closed(Closed::NotConnected(ConnectError::Refused(_)))));
}

/// O11 d: a modern error never leads to `initialize`; the next request has a new id.
#[test]
fn o11_d_a_version_error_stays_modern() {
    let (mut driver, probe) = start(config());
    driver.error(&probe["id"], -32022, json!({"supported": ["2026-07-28"], "requested": "2027-02-02"}));
    let again = driver.frame();
    assert_eq!(again["method"], "server/discover");
    assert_eq!(again["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_ne!(again["id"], probe["id"]);
    // Once only.
    driver.error(&again["id"], -32022, json!({"supported": ["2026-07-28"], "requested": "2026-07-28"}));
    assert!(matches!(driver.event(), Action::Closed(Closed::NotConnected(ConnectError::NoCommonVersion { .. }))));
    driver.quiet();
}

/// T-12: a server that knows the modern era but speaks legacy revisions only gets the handshake with the newest.
#[test]
fn t12_a_version_error_with_legacy_revisions_leads_to_the_handshake() {
    let (mut driver, probe) = start(config());
    driver.error(&probe["id"], -32022, json!({"supported": ["2025-03-26", "2025-06-18"], "requested": "2026-07-28"}));
    let request = driver.frame();
    assert_eq!(
        (&request["method"], &request["params"]["protocolVersion"]),
        (&json!("initialize"), &json!("2025-06-18"))
    );
}

/// U-52 e, M-DISC-04: a discover result is a modern server; T-33: its identity is in the metadata or the body.
#[test]
fn u52_e_a_discover_result_connects() {
    let (mut driver, probe) = start(config());
    driver.result(
        &probe["id"],
        json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
               "instructions": "ask", "x": 9_007_199_254_740_993_u64,
               "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "2"}}}),
    );
    let facts = driver.connected();
    assert_eq!((facts.version, facts.era()), (Version::V2026_07_28, Era::Modern));
    assert_eq!(facts.info.unwrap().name, "s");
    assert_eq!(facts.instructions.as_deref(), Some("ask"));
    assert!(facts.capabilities.tools.is_some() && facts.capabilities.prompts.is_none());
    assert!(facts.raw.get().contains("9007199254740993"));
    driver.quiet();
}

/// M-STDIO-20: an explicit modern revision never falls back.
#[test]
fn an_explicit_modern_connection_never_falls_back() {
    for mode in [Connect::Modern, Connect::Pinned(Version::V2026_07_28)] {
        let (mut driver, probe) = start(config().connect(mode));
        driver.error(&probe["id"], -32601, json!(null));
        let Action::Closed(Closed::NotConnected(ConnectError::NotModern { error: Some(error) })) = driver.event()
        else {
            panic!()
        };
        assert_eq!(error.code, ErrorCode::METHOD_NOT_FOUND);
        driver.quiet();

        let (mut driver, _) = start(config().connect(mode));
        driver.pass(seconds(5));
        assert!(matches!(
            driver.event(),
            Action::Closed(Closed::NotConnected(ConnectError::NotModern { error: None }))
        ));
        driver.quiet();
    }
}

/// L-LIFE-07, L-LIFE-10: counter-offers are taken if we speak them, and only then.
#[test]
fn counter_offers_are_taken_if_supported() {
    let (mut driver, request) = start(config().connect(Connect::Legacy));
    assert_eq!(request["params"]["protocolVersion"], "2025-11-25");
    driver.result(&request["id"], session("2024-11-05"));
    driver.frame();
    assert_eq!(driver.connected().version, Version::V2024_11_05);

    for (answer, mode) in [("1999-01-01", Connect::Legacy), ("2024-11-05", Connect::Pinned(Version::V2025_11_25))] {
        let (mut driver, request) = start(config().connect(mode));
        driver.result(&request["id"], session(answer));
        let Action::Closed(Closed::NotConnected(ConnectError::NoCommonVersion { theirs, .. })) = driver.event() else {
            panic!()
        };
        assert_eq!(theirs, [answer]);
        driver.quiet();
    }
}

/// The text of the failure spells revisions as the protocol does, and does not grow with what the server claims.
#[test]
fn no_common_revision_is_told_in_words_of_the_protocol() {
    let ours = vec![Version::V2026_07_28, Version::V2025_11_25];
    let text = |theirs: Vec<String>| ConnectError::NoCommonVersion { ours: ours.clone(), theirs }.to_string();
    assert_eq!(
        text(vec!["1999\u{1b}[2J".to_owned()]),
        "no common revision: we speak 2026-07-28, 2025-11-25, the server \"1999\\u{1b}[2J\""
    );
    assert_eq!(text(Vec::new()), "no common revision: we speak 2026-07-28, 2025-11-25, the server none");
    let flood = text(vec!["x".repeat(1 << 16); 1_000]);
    assert!(flood.len() < 600, "{} bytes", flood.len());
    assert!(flood.ends_with(" and 992 more"), "{flood}");
}

/// An `initialize` result that names a modern revision is refused.
#[test]
fn initialize_never_negotiates_a_modern_revision() {
    let (mut driver, request) = start(config().connect(Connect::Legacy));
    driver.result(&request["id"], session("2026-07-28"));
    assert!(matches!(driver.event(), Action::Closed(Closed::NotConnected(ConnectError::InvalidAnswer(_)))));
    driver.quiet();
}

/// L-LIFE-15: a server that refuses the first offer in an error that names its revisions gets one more.
#[test]
fn a_refusal_that_names_revisions_is_answered_with_one_more_offer() {
    let (mut driver, request) = start(config().connect(Connect::Legacy));
    driver.error(&request["id"], -32602, json!({"supported": ["2024-11-05"], "requested": "2025-11-25"}));
    let again = driver.frame();
    assert_eq!(again["params"]["protocolVersion"], "2024-11-05");
    driver.error(&again["id"], -32602, json!({"supported": ["2025-03-26"]}));
    assert!(matches!(driver.event(), Action::Closed(Closed::NotConnected(ConnectError::Refused(_)))));
}

/// L-CANC-02: `initialize` is never cancelled, and the connection is over when it goes unanswered.
#[test]
fn initialize_is_never_cancelled() {
    let (mut driver, _) = start(config().connect(Connect::Legacy));
    driver.pass(seconds(60));
    assert!(matches!(driver.event(), Action::Closed(Closed::NotConnected(ConnectError::TimedOut))));
    driver.quiet();
}

/// L-LIFE-05: nothing but `ping` goes out before the session is open; what waited goes out in order, and bounded.
#[test]
fn calls_wait_for_the_connection() {
    let mut limits = crate::limits::Limits::default();
    limits.calls = 3;
    let mut driver = Driver::new(config().connect(Connect::Legacy).limits(limits));
    driver.call(Request::list(List::Tools, None));
    driver.client.connect(driver.now).unwrap();
    let request = driver.frame();
    driver.call(Request::ping());
    let ping = driver.frame();
    assert_eq!(ping["method"], "ping");
    driver.call(Request::read_resource("a:b"));
    let refused = driver.client.call(driver.now, Request::ping(), CallOptions::new());
    assert!(matches!(refused, Err(Error::LimitExceeded { bound: crate::limits::Bound::Calls, limit: 3 })));
    driver.quiet();
    driver.result(&request["id"], session("2025-11-25"));
    assert_eq!(driver.frame()["method"], "notifications/initialized");
    assert_eq!(driver.frame()["method"], "tools/list");
    assert_eq!(driver.frame()["method"], "resources/read");
    driver.connected();
    driver.quiet();
}

/// Calls that wait run on their own clocks, and end with the attempt.
#[test]
fn waiting_calls_time_out_and_end() {
    let (mut driver, _) = start(config().connect(Connect::Legacy));
    let call = driver.call_with(Request::list(List::Tools, None), CallOptions::new().idle(Some(seconds(1))));
    let other = driver.call(Request::list(List::Tools, None));
    driver.pass(seconds(1));
    // It was never sent, so that there is nothing to cancel.
    assert_eq!(driver.done(call).unwrap_err(), CallError::TimedOut { kind: TimeoutKind::Idle });
    driver.quiet();
    driver.pass(seconds(59));
    assert_eq!(driver.done(other).unwrap_err(), CallError::Disconnected);
    assert!(matches!(driver.event(), Action::Closed(Closed::NotConnected(ConnectError::TimedOut))));
}

/// Discovery can be had on its own, before connecting.
#[test]
fn discover_works_before_connect() {
    let mut driver = Driver::new(config());
    let call = driver.call(Request::discover());
    let frame = driver.frame();
    assert_eq!(frame["method"], "server/discover");
    assert_eq!(frame["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    driver.result(&frame["id"], json!({"supportedVersions": ["2026-07-28"], "capabilities": {}}));
    let answer: crate::model::DiscoverResult = driver.done(call).unwrap().parse().unwrap();
    assert_eq!(answer.supported_versions, ["2026-07-28"]);
    assert!(driver.client.server().is_none());
    driver.quiet();
}

/// A modern revision on the handshake is a construction error that says why.
#[test]
fn contradictory_configurations_make_no_client() {
    let error = |config: Config| Client::new(config).unwrap_err();
    let modern = error(config().connect(Connect::Legacy).versions([Version::V2026_07_28]));
    assert_eq!(modern, ConfigError::ModernOnHandshake(Version::V2026_07_28));
    assert!(modern.to_string().contains("2026-07-28 has no initialize handshake"));
    assert_eq!(
        error(config().connect(Connect::Modern).versions([Version::V2026_07_28, Version::V2025_06_18])),
        ConfigError::LegacyWithoutHandshake(Version::V2025_06_18)
    );
    assert_eq!(error(config().versions([])), ConfigError::NoVersion);
    assert_eq!(
        error(config().connect(Connect::Pinned(Version::V2025_06_18)).versions([Version::V2025_11_25])),
        ConfigError::NoVersion
    );
    assert_eq!(error(config().meta(raw(json!([])))), ConfigError::MetaNotObject);
    assert_eq!(
        error(config().meta(raw(json!({"progressToken": 1})))),
        ConfigError::MetaReserved("progressToken".into())
    );
    assert_eq!(error(config().server_method("ping")), ConfigError::ServerMethod("ping".into()));
    assert_eq!(error(config().server_method("tools/call")), ConfigError::ServerMethod("tools/call".into()));
    assert_eq!(error(config().result_type("complete")), ConfigError::ResultType("complete".into()));
}

/// Connecting twice, and everything after the end, is a mistake of the caller.
#[test]
fn verbs_after_the_end_are_misuse() {
    let mut driver = Driver::modern(config());
    assert!(matches!(driver.client.connect(driver.now), Err(Error::ApiMisuse(Misuse::WrongState(_)))));
    let (call, _) = driver.tool("t");
    driver.client.close(driver.now);
    assert_eq!(driver.done(call).unwrap_err(), CallError::Disconnected);
    assert!(matches!(driver.event(), Action::Closed(Closed::Requested)));
    driver.client.close(driver.now);
    driver.quiet();
    let closed = Error::ApiMisuse(Misuse::Closed);
    assert_eq!(driver.client.call(driver.now, Request::ping(), CallOptions::new()).unwrap_err(), closed);
    assert_eq!(driver.client.cancel(driver.now, call, None).unwrap_err(), closed);
    assert_eq!(driver.client.connect(driver.now).unwrap_err(), closed);
    assert_eq!(driver.client.handle(driver.now, Input::Eof).unwrap_err(), closed);
    // What was queued may leave after the end.
    assert_eq!(driver.client.handle(driver.now, Input::Written(1)), Ok(()));
    assert!(!driver.client.wants_input());
    assert_eq!(driver.client.poll_timeout(), None);
    driver.quiet();
}

/// M-VER-02: -32022 on a call is answered with one more try under the same name, or says that there is none.
#[test]
fn a_version_error_on_a_call_is_retried_once() {
    let mut driver = Driver::modern(config());
    let (call, frame) = driver.tool("t");
    driver.error(&frame["id"], -32022, json!({"supported": ["2026-07-28"], "requested": "2026-07-28"}));
    let again = driver.frame();
    assert_ne!(again["id"], frame["id"]);
    assert_eq!(again["params"], frame["params"]);
    driver.error(&again["id"], -32022, json!({"supported": ["2026-07-28"], "requested": "2026-07-28"}));
    assert!(matches!(driver.done(call), Err(CallError::Incompatible { .. })));

    let (call, frame) = driver.tool("t");
    driver.error(&frame["id"], -32022, json!({"supported": ["2025-11-25"], "requested": "2026-07-28"}));
    let Err(CallError::Incompatible { requested, supported }) = driver.done(call) else { panic!() };
    assert_eq!((requested, supported), (Version::V2026_07_28, vec!["2025-11-25".to_owned()]));
    driver.quiet();
}
