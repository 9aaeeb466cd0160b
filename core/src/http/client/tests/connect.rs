//! How the era is found over HTTP, and how a session begins.

use super::*;
use crate::client::List;
use crate::spec::Era;

fn refusal(code: i64, data: Value) -> String {
    error(&Value::Null, code, data).to_string()
}

/// M-HTTP-06 … -09, M-HDR-01, -02, -08: the head of a modern request.
#[test]
fn m_hdr_01_02_08_a_modern_request_has_its_headers() {
    let (mut driver, probe) = Driver::probing(config());
    assert_eq!((probe.method, &*probe.url), (Method::Post, "https://example.com/mcp"));
    assert_eq!(probe.header("content-type"), Some("application/json"));
    assert_eq!(probe.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(probe.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(probe.header("mcp-method"), Some("server/discover"));
    assert_eq!(probe.header("mcp-name"), None);
    assert_eq!(probe.header("mcp-session-id"), None);
    let meta = &probe.message()["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(probe.body.last(), Some(&b'}'), "one object and no newline");
    driver.answer(&probe, discovered());
    assert_eq!(driver.connected().version, Version::V2026_07_28);
    driver.quiet();
}

/// U-50 a, b, M-HCOMP-01, -03, M-VER-07: a refusal that is no modern error means `initialize`, whatever its status.
#[test]
fn u50_a_b_f_what_is_no_modern_error_falls_back() {
    for (status, headers, body) in [
        (400, NONE, String::new()),
        (400, JSON, refusal(-32000, json!("Bad Request: No valid session ID"))),
        (400, JSON, refusal(-32601, Value::Null)),
        (404, &[("content-type", "text/html")], "<h1>Not Found</h1>".to_owned()),
        (405, NONE, String::new()),
        (406, JSON, refusal(-32000, Value::Null)),
        (422, JSON, r#"{"detail":"no"}"#.to_owned()),
        (500, NONE, "oops".to_owned()),
        (200, &[("content-type", "text/html")], "<p>".to_owned()),
        (202, NONE, String::new()),
        (200, JSON, "[".to_owned()),
        (200, JSON, String::new()),
    ] {
        let (mut driver, probe) = Driver::probing(config());
        driver.respond(&probe, status, headers, &body);
        driver.aborted.clear();
        driver.events.retain(|event| !matches!(event, client::Action::Diagnostic(_)));
        let request = driver.fetch();
        assert_eq!(request.rpc_method(), "initialize", "{status} {body}");
        assert_eq!(request.message()["params"]["protocolVersion"], "2025-11-25");
        assert_eq!(request.header("mcp-protocol-version"), None);
        assert_eq!(request.header("mcp-method"), None);
        driver.quiet();
    }
}

/// U-50 c, M-HCOMP-02: a version error leads to a modern retry, even with the version that was refused, once.
#[test]
fn u50_c_a_version_error_stays_modern() {
    let (mut driver, probe) = Driver::probing(config());
    let data = json!({"supported": ["2026-07-28"], "requested": "2026-07-28"});
    driver.respond(&probe, 400, JSON, &error(&probe.rpc_id(), -32022, data.clone()).to_string());
    let again = driver.fetch();
    assert_eq!(again.rpc_method(), "server/discover");
    assert_ne!(again.rpc_id(), probe.rpc_id());
    assert_eq!(again.header("mcp-protocol-version"), Some("2026-07-28"));
    driver.respond(&again, 400, JSON, &error(&again.rpc_id(), -32022, data).to_string());
    assert!(matches!(driver.closed(), Closed::NotConnected(ConnectError::NoCommonVersion { .. })));
    driver.quiet();
}

/// U-50 d: refused headers are the answer, not a legacy server.
#[test]
fn u50_d_refused_headers_do_not_fall_back() {
    let (mut driver, probe) = Driver::probing(config());
    driver.respond(&probe, 400, JSON, &refusal(-32020, Value::Null));
    assert!(matches!(driver.closed(), Closed::NotConnected(ConnectError::Refused(error)) if error.code.0 == -32020));
    driver.quiet();
}

/// U-50 e, M-HDR-05: an unknown method with its own status comes from a modern server.
#[test]
fn u50_e_a_server_without_discovery_is_modern() {
    let (mut driver, probe) = Driver::probing(config());
    driver.respond(&probe, 404, JSON, &error(&probe.rpc_id(), -32601, Value::Null).to_string());
    let facts = driver.connected();
    assert_eq!((facts.version, facts.era()), (Version::V2026_07_28, Era::Modern));
    let (_, fetch) = driver.tool("t");
    assert_eq!(fetch.header("mcp-protocol-version"), Some("2026-07-28"));
    driver.quiet();
}

/// What says nothing about the server's era is the answer of the connection.
#[test]
fn what_says_nothing_about_the_era_ends_the_connection() {
    let status = |status| ExchangeError::Status { status };
    for (code, expected) in [
        (403, status(403)),
        (408, status(408)),
        (429, status(429)),
        (502, status(502)),
        (503, status(503)),
        (504, status(504)),
        (301, ExchangeError::Redirected { status: 301 }),
        (307, ExchangeError::Redirected { status: 307 }),
    ] {
        let (mut driver, probe) = Driver::probing(config());
        driver.respond(&probe, code, NONE, "");
        driver.aborted.clear();
        assert_eq!(driver.closed(), Closed::NotConnected(ConnectError::Exchange(expected)));
        driver.quiet();
    }
    let (mut driver, probe) = Driver::probing(config());
    driver.input(Input::Failed { fetch: probe.id, reason: FetchFailed::NotSent("refused".into()) });
    let not_sent = ExchangeError::NotSent("refused".into());
    assert_eq!(driver.closed(), Closed::NotConnected(ConnectError::Exchange(not_sent)));
    driver.quiet();
}

/// An explicit modern connection never falls back, and says what came.
#[test]
fn a_modern_connection_says_what_the_probe_came_to() {
    let (mut driver, probe) = Driver::probing(config().connect(Connect::Modern));
    driver.respond(&probe, 404, NONE, "");
    let status = ExchangeError::Status { status: 404 };
    assert_eq!(driver.closed(), Closed::NotConnected(ConnectError::Exchange(status)));
    let (mut driver, probe) = Driver::probing(config().connect(Connect::Modern));
    driver.respond(&probe, 400, JSON, &refusal(-32000, Value::Null));
    assert!(matches!(driver.closed(), Closed::NotConnected(ConnectError::NotModern { error: Some(_) })));
}

/// L-LIFE-11, L-PVH-01, -02, L-SESS-04, L-HTTP-04: a legacy session from its beginning to its end.
#[test]
fn l_sess_04_08_a_session_is_named_and_ended() {
    let (mut driver, probe) = Driver::probing(config());
    driver.respond(&probe, 400, NONE, "");
    let list = driver.client.walk(driver.now, List::Tools, CallOptions::new()).unwrap();
    let request = driver.fetch();
    let headers = [("content-type", "application/json"), ("Mcp-Session-Id", "abc~!")];
    driver.head(&request, 200, &headers);
    driver.body(&request, &result(&request.rpc_id(), session("2025-06-18")).to_string());
    driver.end(&request);
    assert_eq!(driver.connected().version, Version::V2025_06_18);
    assert_eq!(driver.client.session_id(), Some("abc~!"));
    let opening = driver.fetch();
    assert_eq!(opening.rpc_method(), "notifications/initialized");
    assert_eq!(opening.header("mcp-protocol-version"), Some("2025-06-18"));
    assert_eq!(opening.header("mcp-session-id"), Some("abc~!"));
    assert_eq!(opening.header("mcp-method"), None);
    // Nobody overtakes it.
    driver.quiet();
    driver.head(&opening, 202, NONE);
    driver.end(&opening);
    let stream = driver.fetch();
    assert_eq!((stream.method, stream.header("accept")), (Method::Get, Some("text/event-stream")));
    assert_eq!(stream.header("mcp-session-id"), Some("abc~!"));
    assert_eq!(stream.header("mcp-protocol-version"), Some("2025-06-18"));
    assert_eq!(stream.header("last-event-id"), None);
    assert!(stream.body.is_empty());
    let tools = driver.fetch();
    assert_eq!(tools.rpc_method(), "tools/list");
    assert_eq!(tools.header("mcp-session-id"), Some("abc~!"));
    assert_eq!(tools.header("mcp-name"), None);
    driver.respond(&stream, 405, NONE, "");
    driver.aborted.clear();
    driver.answer(&tools, json!({"tools": []}));
    driver.done(list).unwrap();
    driver.quiet();

    driver.client.close(driver.now);
    let delete = driver.fetch();
    assert_eq!((delete.method, delete.header("mcp-session-id")), (Method::Delete, Some("abc~!")));
    assert_eq!(delete.header("mcp-protocol-version"), Some("2025-06-18"));
    assert_eq!(driver.closed(), Closed::Requested);
    // Whatever the server makes of it.
    driver.respond(&delete, 405, NONE, "");
    driver.quiet();
    assert_eq!(driver.client.poll_timeout(), None);
}

#[test]
fn a_session_without_an_id_has_none_to_name_or_end() {
    let mut driver = Driver::new(config().connect(Connect::Legacy));
    driver.client.connect(driver.now).unwrap();
    let request = driver.fetch();
    driver.answer(&request, session("2025-11-25"));
    driver.connected();
    let opening = driver.fetch();
    assert_eq!(opening.header("mcp-session-id"), None);
    driver.client.close(driver.now);
    assert_eq!(driver.closed(), Closed::Requested);
    driver.quiet();
}

/// L-SESS-02: an id that is not visible ASCII cannot be sent back.
#[test]
fn an_id_that_is_no_header_is_not_used() {
    for id in ["a b", "caf\u{e9}", ""] {
        let mut driver = Driver::new(config().connect(Connect::Legacy));
        driver.client.connect(driver.now).unwrap();
        let request = driver.fetch();
        driver.head(&request, 200, &[("content-type", "application/json"), ("mcp-session-id", id)]);
        assert_eq!(driver.diagnostic().kind, DiagnosticKind::Exchange);
        assert_eq!(driver.client.session_id(), None);
    }
}

/// A server that never answers `notifications/initialized` is not waited for.
#[test]
fn the_opening_is_not_waited_for_for_ever() {
    let mut driver = Driver::at(config().connect(Connect::Legacy), endpoint().get_stream(false));
    driver.client.connect(driver.now).unwrap();
    let request = driver.fetch();
    driver.answer(&request, session("2025-11-25"));
    driver.connected();
    let opening = driver.fetch();
    let call = driver.call(Request::ping());
    driver.quiet();
    assert_eq!(driver.wait(), (seconds(5), TimerKind::Stream));
    let ping = driver.fetch();
    assert_eq!(ping.rpc_method(), "ping");
    // Its answer is late, and taken.
    driver.head(&opening, 202, NONE);
    driver.answer(&ping, json!({}));
    driver.done(call).unwrap();
    driver.quiet();
}

/// The refusal of `initialize` is told as it came.
#[test]
fn a_refused_handshake_says_why() {
    let start = || {
        let mut driver = Driver::new(config().connect(Connect::Legacy));
        driver.client.connect(driver.now).unwrap();
        let request = driver.fetch();
        (driver, request)
    };
    let (mut driver, request) = start();
    driver.respond(&request, 400, JSON, &refusal(-32602, json!("x")));
    assert!(matches!(driver.closed(), Closed::NotConnected(ConnectError::Refused(error)) if error.code.0 == -32602));
    let (mut driver, request) = start();
    driver.respond(&request, 503, NONE, "busy");
    let busy = ExchangeError::Status { status: 503 };
    assert_eq!(driver.closed(), Closed::NotConnected(ConnectError::Exchange(busy)));
}

/// A server that says nothing at all is waited for as for any request, and is no legacy server for that.
#[test]
fn silence_over_http_says_nothing_about_the_era() {
    let (mut driver, probe) = Driver::probing(config());
    assert_eq!(driver.wait(), (seconds(60), TimerKind::Probe));
    assert_eq!(driver.closed(), Closed::NotConnected(ConnectError::TimedOut));
    assert_eq!(std::mem::take(&mut driver.aborted), [probe.id]);
    driver.quiet();
    assert_eq!(driver.client.poll_timeout(), None);
}

#[test]
fn nothing_secret_is_shown() {
    let endpoint = endpoint().authorization("Bearer secret").unwrap();
    let driver = Driver::legacy_at(config(), Version::V2025_11_25, endpoint);
    assert_eq!(driver.client.session_id(), Some("s-1"));
    let shown = format!("{:?}", driver.client);
    assert!(!shown.contains("s-1") && !shown.contains("secret"), "{shown}");
}
