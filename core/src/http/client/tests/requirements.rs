//! Rows of the requirements that have no test of their own elsewhere.

use super::*;
use crate::client::{InputAnswer, List};
use crate::model::{ClientCapabilities, ElicitResult, SubscriptionFilter};

/// A request that carries one message, which is no response.
fn is_one_message(fetch: &Fetch) {
    assert_eq!(fetch.method, Method::Post);
    assert_eq!(fetch.header("content-type"), Some("application/json"));
    assert_eq!(fetch.header("accept"), Some("application/json, text/event-stream"));
    let message = fetch.message();
    assert!(message.is_object(), "{message}");
    assert_eq!(message["jsonrpc"], "2.0");
    assert!(message["method"].is_string() && message.get("result").is_none() && message.get("error").is_none());
}

fn form() -> Value {
    json!({"method": "elicitation/create",
        "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}})
}

/// M-HTTP-06, M-HTTP-07, M-HTTP-08, M-HTTP-09, M-HTTP-10, M-HDR-01, M-HDR-02: whatever a modern client has to say is
/// one request or notification in a `POST` of its own, with its headers; answers to questions of the server are none.
#[test]
fn m_http_06_09_10_every_post_is_one_message_of_a_client() {
    let mut driver = Driver::modern(config().capabilities(ClientCapabilities::new().with_form()));
    let filter = SubscriptionFilter { tools_list_changed: Some(true), ..SubscriptionFilter::default() };
    let mut fetches = Vec::new();
    driver.client.listen(driver.now, &filter, CallOptions::new()).unwrap();
    fetches.push(driver.fetch());
    driver.client.notify(driver.now, "x/y", &Json::EMPTY_OBJECT).unwrap();
    fetches.push(driver.fetch());
    for request in [
        Request::discover(),
        Request::list(List::Tools, None),
        Request::list(List::Resources, Some("c")),
        Request::read_resource("file:///a"),
        Request::get_prompt("p", &Json::EMPTY_OBJECT),
        Request::custom("x/y", Json::EMPTY_OBJECT).unwrap(),
    ] {
        driver.call(request);
        fetches.push(driver.fetch());
    }
    let (call, first) = driver.tool("t");
    let asked = json!({"resultType": "input_required", "inputRequests": {"who": form()}, "requestState": "s"});
    driver.answer(&first, asked);
    let client::Action::NeedInput(needed) = driver.event() else { panic!("a question") };
    driver.client.supply_input(driver.now, needed.input, &InputAnswer::Elicit(ElicitResult::decline())).unwrap();
    let again = driver.fetch();
    assert_eq!((again.rpc_method().as_str(), &again.message()["params"]["requestState"]), ("tools/call", &json!("s")));
    // A server that asks all the same gets no answer.
    driver.head(&again, 200, EVENTS);
    let mut question = form();
    question["jsonrpc"] = json!("2.0");
    question["id"] = json!(1);
    driver.body(&again, &event(&question));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    driver.body(&again, &event(&result(&again.rpc_id(), complete())));
    driver.done(call).unwrap();
    driver.end(&again);
    driver.quiet();
    fetches.extend([first, again]);
    let mut names = std::collections::BTreeSet::new();
    for fetch in &fetches {
        is_one_message(fetch);
        assert!(names.insert(fetch.id), "each is an exchange of its own");
        let message = fetch.message();
        assert_eq!(fetch.header("mcp-method"), message["method"].as_str());
        let claim = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        assert_eq!(fetch.header("mcp-protocol-version"), Some("2026-07-28"));
        assert!(message.get("id").is_none() || claim == "2026-07-28", "{message}");
        assert!(fetch.headers.iter().all(|(name, _)| name != "mcp-session-id" && name != "last-event-id"));
    }
}

/// M-HTTP-21, M-HTTP-22: a modern answer that breaks off is not resumed, whatever ids its events had: the call ends,
/// and made anew it is a new request with a new id.
#[test]
fn m_http_22_a_broken_call_is_made_anew() {
    for broken in [true, false] {
        let mut driver = Driver::modern(config());
        let (call, first) = driver.tool("t");
        driver.head(&first, 200, EVENTS);
        driver.body(&first, "id: e-1\nretry: 10\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x/y\"}\n\nid: e-2\ndata: {");
        assert!(matches!(driver.event(), client::Action::Notified { .. }));
        let expected = if broken {
            driver.broken(&first);
            ExchangeError::Broken("reset".into())
        } else {
            driver.end(&first);
            ExchangeError::Ended
        };
        assert_eq!(driver.failed(call), expected);
        driver.pass(seconds(600));
        driver.quiet();
        let (call, second) = driver.tool("t");
        assert_eq!(second.method, Method::Post);
        assert_ne!(second.rpc_id(), first.rpc_id());
        assert_eq!(second.header("last-event-id"), None);
        driver.answer(&second, complete());
        driver.done(call).unwrap();
        driver.quiet();
    }
}

/// M-HDR-11, M-HDR-12: names of headers of answers have no case; a value is given back to the letter.
#[test]
fn m_hdr_11_12_names_of_headers_have_no_case_and_values_have() {
    for (kind, session_name) in [("CONTENT-TYPE", "MCP-SESSION-ID"), ("content-Type", "MCP-Session-Id")] {
        let mut driver = Driver::at(config().connect(Connect::Legacy), endpoint().get_stream(false));
        driver.client.connect(driver.now).unwrap();
        let request = driver.fetch();
        driver.head(&request, 200, &[(kind, "application/json"), (session_name, "aBcD-xYz")]);
        driver.body(&request, &result(&request.rpc_id(), session("2025-11-25")).to_string());
        driver.end(&request);
        driver.connected();
        assert_eq!(driver.fetch().header("mcp-session-id"), Some("aBcD-xYz"));
    }
    // The same on an answer of the modern era.
    let mut driver = Driver::modern(config());
    let (call, fetch) = driver.tool("t");
    driver.head(&fetch, 200, &[("CONTENT-TYPE", "text/event-stream")]);
    driver.body(&fetch, &event(&result(&fetch.rpc_id(), complete())));
    driver.done(call).unwrap();
}

/// M-XMH-16: a call of a tool has its standard headers, its name, and one header for each annotated argument.
#[test]
fn m_xmh_16_a_call_has_the_standard_headers_and_those_of_its_arguments() {
    let mut driver = Driver::modern(config());
    let list = driver.call(Request::list(List::Tools, None));
    let fetch = driver.fetch();
    let annotated = |kind: &str, name: &str| json!({"type": kind, "x-mcp-header": name});
    let schema = json!({"type": "object", "properties": {"a": annotated("string", "Alpha"),
        "deep": {"type": "object", "properties": {"b": annotated("integer", "Beta"), "c": {"type": "string"}}},
        "none": annotated("boolean", "None")}});
    let tool = json!({"name": "größe", "inputSchema": schema});
    driver.answer(&fetch, json!({"resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private"}));
    driver.done(list).unwrap();
    let arguments = Json::from(json!({"a": "x\ny", "deep": {"b": -7, "c": "d"}}));
    driver.call(Request::call_tool("größe", &arguments));
    let fetch = driver.fetch();
    let mut mirrored: Vec<_> = fetch.headers.iter().filter(|(name, _)| name.starts_with("mcp-")).collect();
    mirrored.sort_unstable();
    let mirrored: Vec<_> =
        mirrored.into_iter().map(|(name, value)| (name, std::str::from_utf8(value).unwrap())).collect();
    assert_eq!(
        mirrored,
        [
            ("mcp-method", "tools/call"),
            ("mcp-name", "=?base64?Z3LDtsOfZQ==?="),
            ("mcp-param-alpha", "=?base64?eAp5?="),
            ("mcp-param-beta", "-7"),
            ("mcp-protocol-version", "2026-07-28"),
        ]
    );
}

/// M-HCOMP-03: whoever fell back speaks the legacy era from then on, in a new session too.
#[test]
fn m_hcomp_03_who_fell_back_stays_legacy() {
    let mut driver = Driver::at(config(), endpoint().get_stream(false));
    driver.client.connect(driver.now).unwrap();
    let probe = driver.fetch();
    driver.respond(&probe, 400, NONE, "");
    driver.aborted.clear();
    driver.open_session("s-1", Version::V2025_11_25);
    driver.connected();
    let is_legacy = |fetch: &Fetch| {
        assert_eq!(fetch.header("mcp-method"), None);
        assert_eq!(fetch.header("mcp-name"), None);
        assert_eq!(fetch.header("mcp-protocol-version"), Some("2025-11-25"));
        let meta = &fetch.message()["params"]["_meta"];
        assert!(meta.get("io.modelcontextprotocol/protocolVersion").is_none(), "{meta}");
    };
    // Not even an error of the modern era leads back.
    let (call, fetch) = driver.tool("t");
    is_legacy(&fetch);
    driver.respond(&fetch, 400, JSON, &error(&fetch.rpc_id(), -32020, Value::Null).to_string());
    assert!(matches!(driver.done(call), Err(CallError::Remote(_))));
    let (call, fetch) = driver.tool("t");
    driver.respond(&fetch, 404, NONE, "");
    driver.aborted.clear();
    driver.open_session("s-2", Version::V2025_11_25);
    assert!(matches!(driver.event(), client::Action::Renewed(_)));
    let again = driver.fetch();
    is_legacy(&again);
    driver.answer(&again, json!({"content": []}));
    driver.done(call).unwrap();
    driver.quiet();
}

/// L-HTTP-04, L-LIFE-11, L-PVH-01, L-PVH-02, L-SESS-04: each message of a session is a `POST` of its own, with session
/// and revision, at every revision: nothing is put into a batch.
#[test]
fn l_http_04_every_message_of_a_session_is_a_post_of_its_own() {
    for version in [Version::V2025_03_26, Version::V2025_06_18, Version::V2025_11_25] {
        let mut driver = Driver::legacy(config(), version);
        let (first, _) = (driver.call(Request::ping()), driver.call(Request::list(List::Tools, None)));
        driver.client.notify(driver.now, "x/y", &Json::EMPTY_OBJECT).unwrap();
        driver.client.cancel(driver.now, first, None).unwrap();
        driver.drain();
        let fetches: Vec<_> = driver.fetches.drain(..).collect();
        let methods: Vec<_> = fetches.iter().map(Fetch::rpc_method).collect();
        assert_eq!(methods, ["ping", "tools/list", "x/y", "notifications/cancelled"]);
        for fetch in &fetches {
            is_one_message(fetch);
            assert_eq!(fetch.header("mcp-session-id"), Some("s-1"));
            assert_eq!(fetch.header("mcp-protocol-version"), Some(version.as_str()));
        }
    }
}

/// L-SESS-03: the name of a session goes to its server and nowhere else: not into what is shown, and not into errors.
#[test]
fn l_sess_03_the_name_of_a_session_is_not_shown() {
    const NAME: &str = "s3cr3t-n4m3";
    let mut driver = Driver::at(config().connect(Connect::Legacy), endpoint().get_stream(false));
    driver.client.connect(driver.now).unwrap();
    driver.open_session(NAME, Version::V2025_11_25);
    driver.connected();
    let (call, fetch) = driver.tool("t");
    assert_eq!(fetch.header("mcp-session-id"), Some(NAME));
    assert!(!format!("{fetch:?}").contains(NAME));
    assert!(!format!("{:?}", driver.client).contains(NAME));
    // Where a redirect leads is another server.
    driver.respond(&fetch, 307, &[("location", "https://evil.example/")], NAME);
    let failed = driver.failed(call);
    assert!(!format!("{failed} {failed:?}").contains(NAME));
    driver.aborted.clear();
    driver.quiet();
    // What the server says of it is not passed on.
    let (call, fetch) = driver.tool("t");
    let headers = [("content-type", "text/plain"), ("mcp-session-id", NAME)];
    driver.respond(&fetch, 500, &headers, &format!("no session {NAME}"));
    let failed = driver.failed(call);
    assert!(!format!("{failed} {failed:?}").contains(NAME));
    driver.aborted.clear();
    driver.quiet();
}

/// D-16: ids only grow: across calls that end, eras that change, and sessions that are lost.
#[test]
fn d_16_ids_only_grow_in_both_eras() {
    let mut driver = Driver::at(config(), endpoint().get_stream(false));
    driver.client.connect(driver.now).unwrap();
    let probe = driver.fetch();
    let mut ids = vec![probe.rpc_id()];
    driver.respond(&probe, 400, NONE, "");
    driver.aborted.clear();
    ids.push(driver.fetches.front().map(Fetch::rpc_id).expect("a handshake"));
    driver.open_session("s-1", Version::V2025_11_25);
    driver.connected();
    for _ in 0..2 {
        let (call, fetch) = driver.tool("t");
        ids.push(fetch.rpc_id());
        driver.answer(&fetch, json!({"content": []}));
        driver.done(call).unwrap();
    }
    let (call, fetch) = driver.tool("t");
    ids.push(fetch.rpc_id());
    driver.respond(&fetch, 404, NONE, "");
    driver.aborted.clear();
    driver.drain();
    ids.push(driver.fetches.front().map(Fetch::rpc_id).expect("a handshake"));
    driver.open_session("s-2", Version::V2025_11_25);
    driver.event();
    let again = driver.fetch();
    ids.push(again.rpc_id());
    driver.answer(&again, json!({"content": []}));
    driver.done(call).unwrap();
    let ids: Vec<_> = ids.iter().map(|id| id.as_u64().expect("ids are counted")).collect();
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
}
