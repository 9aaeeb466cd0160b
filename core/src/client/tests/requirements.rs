//! Rows of the requirements that have no test of their own elsewhere.

use super::*;
use crate::client::probe::{Outcome, Verdict, judge};
use crate::error::ErrorObject;
use crate::model::{
    CreateMessageParams, ListRootsResult, LoggingLevel, Root, RootsCapability, SubscriptionFilter, Tool,
};
use crate::spec::ErrorCode;

const META: &str = "io.modelcontextprotocol/";

fn capabilities() -> ClientCapabilities {
    let mut capabilities = form().with_url().with_sampling_tools().with_roots();
    capabilities.roots = Some(RootsCapability::new().list_changed(true));
    capabilities
}

fn input_required(requests: Value) -> Value {
    json!({"resultType": "input_required", "inputRequests": requests, "requestState": "s"})
}

fn who() -> Value {
    json!({"method": "elicitation/create", "params": {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}})
}

/// Makes every kind of call, cancels one, and answers nothing.
fn all_verbs(driver: &mut Driver) -> Vec<Value> {
    let object = Json::EMPTY_OBJECT;
    let filter = SubscriptionFilter::new().tools_list_changed(true);
    let options = || CallOptions::new().progress().log_level(LoggingLevel::Info);
    for request in [
        Request::discover(),
        Request::call_tool("t\n", &raw(json!({"text": "a\nb"}))),
        Request::get_prompt("p", &object),
        Request::read_resource("a:b"),
        Request::complete_prompt("p", "a", "", None),
        Request::custom("x/y", Json::from_text("{\r\n\"a\":\n1}").unwrap()).unwrap(),
    ]
    .into_iter()
    .chain(List::ALL.map(|list| Request::list(list, None)))
    {
        driver.call_with(request, options());
    }
    driver.client.walk(driver.now, List::Tools, CallOptions::new()).unwrap();
    let listen = driver.client.listen(driver.now, &filter, CallOptions::new()).unwrap();
    driver.client.cancel(driver.now, listen, Some("two\nlines")).unwrap();
    driver.client.notify(driver.now, "x/changed", &object).unwrap();
    driver.drain();
    std::mem::take(&mut driver.written)
}

/// M-BASE-02, M-BASE-04, M-BASE-05, M-BASE-06, M-BASE-18, M-BASE-19, M-STDIO-05, M-PAT-02, M-PROG-01, M-PROG-02: what a
/// modern client writes is requests with numbers of their own and notifications without. That each is one line
/// (M-STDIO-02) is asserted wherever the driver reads a frame.
#[test]
fn m_base_04_05_18_every_frame_is_a_message_of_a_client() {
    let mut driver = Driver::modern(config().capabilities(capabilities()));
    let (mut ids, mut tokens) = (Vec::new(), Vec::new());
    let frames = all_verbs(&mut driver);
    assert_eq!(frames.len(), 14);
    for frame in frames {
        assert_eq!(frame["jsonrpc"], "2.0");
        assert!(frame["method"].is_string() && frame["params"].is_object(), "{frame}");
        assert!(frame.get("result").is_none() && frame.get("error").is_none());
        match frame.get("id") {
            Some(id) => {
                ids.push(id.as_i64().unwrap());
                tokens.extend(frame["params"]["_meta"].get("progressToken").map(|token| token.as_i64().unwrap()));
            }
            None => assert!(["notifications/cancelled", "x/changed"].contains(&frame["method"].as_str().unwrap())),
        }
    }
    for mut numbers in [ids, tokens] {
        let made = numbers.len();
        assert!(made >= 10);
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), made);
    }
}

/// M-META-07, M-META-08, M-ELIC-04, M-ELIC-06, M-SAMP-03, M-SAMP-05, M-ROOT-02, M-MRTR-02: every request, retries
/// included, declares what the client can do; roots have no `listChanged` in this era.
#[test]
fn m_elic_04_m_samp_05_m_root_02_every_request_declares_capabilities() {
    let mut driver = Driver::modern(config().capabilities(capabilities()));
    let declared = json!({"roots": {}, "sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}});
    let mut frames = all_verbs(&mut driver);
    frames.retain(|frame| frame.get("id").is_some());
    driver.events.clear();
    let (_, frame) = driver.tool("t");
    driver.result(&frame["id"], json!({"resultType": "input_required", "requestState": "s"}));
    frames.push(driver.frame());
    for frame in frames {
        let meta = &frame["params"]["_meta"];
        assert_eq!(meta[format!("{META}clientCapabilities")], declared, "{frame}");
        assert_eq!(meta[format!("{META}protocolVersion")], "2026-07-28");
        assert_eq!(meta[format!("{META}clientInfo")], json!({"name": "c", "version": "1"}));
    }
    // The session of a legacy server hears of `listChanged`.
    let mut legacy = Driver::new(config().capabilities(capabilities()).connect(Connect::Legacy));
    legacy.client.connect(legacy.now).unwrap();
    assert_eq!(legacy.frame()["params"]["capabilities"]["roots"], json!({"listChanged": true}));
}

/// M-VER-10, M-DISC-05, M-STDIO-16, M-STDIO-20: unless it is told that the server is a legacy one, a client asks with
/// `server/discover` before anything else, in its preferred revision.
#[test]
fn m_ver_10_m_stdio_16_the_probe_comes_first() {
    for (mode, first) in [
        (Connect::Auto, "server/discover"),
        (Connect::Modern, "server/discover"),
        (Connect::Pinned(Version::V2026_07_28), "server/discover"),
        (Connect::Legacy, "initialize"),
        (Connect::Pinned(Version::V2025_06_18), "initialize"),
    ] {
        let mut driver = Driver::new(config().connect(mode));
        // A call that is made before the connection waits for it.
        driver.call(Request::call_tool("t", &Json::EMPTY_OBJECT));
        driver.quiet();
        driver.client.connect(driver.now).unwrap();
        let frame = driver.frame();
        assert_eq!(frame["method"], first, "{mode:?}");
        let version = &frame["params"]["_meta"][format!("{META}protocolVersion")];
        assert_eq!(version == "2026-07-28", first == "server/discover");
        driver.quiet();
    }
}

/// M-VER-08: the era is found once for a connection, and anew for another.
#[test]
fn m_ver_08_the_era_is_found_once() {
    for legacy in [false, true] {
        for _ in 0..2 {
            let mut driver = Driver::new(config());
            driver.client.connect(driver.now).unwrap();
            let probe = driver.frame();
            assert_eq!(probe["method"], "server/discover");
            if legacy {
                driver.error(&probe["id"], -32_601, json!(null));
                let request = driver.frame();
                driver.result(&request["id"], session("2025-11-25"));
                driver.frame();
            } else {
                driver.result(&probe["id"], json!({"supportedVersions": ["2026-07-28"], "capabilities": {}}));
            }
            driver.connected();
            for _ in 0..3 {
                let (call, frame) = driver.tool("t");
                assert_eq!(frame["method"], "tools/call");
                driver.error(&frame["id"], -32_601, json!(null));
                assert!(driver.done(call).is_err());
            }
            driver.quiet();
        }
    }
}

/// M-DISC-06, M-META-16, M-META-17, M-META-01: a client does the same whoever the server says it is.
#[test]
fn m_disc_06_nothing_depends_on_the_name_of_the_server() {
    let play = |meta: Value| {
        let mut driver = Driver::new(config().capabilities(capabilities()));
        driver.client.connect(driver.now).unwrap();
        let probe = driver.frame();
        driver.result(&probe["id"], json!({"supportedVersions": ["2026-07-28"], "capabilities": {}, "_meta": meta}));
        driver.connected();
        let (call, frame) = driver.tool("t");
        let mut asks = input_required(json!({"k": who()}));
        asks["_meta"] = meta;
        driver.result(&frame["id"], asks);
        let needed = driver.ask();
        driver.client.supply_input(driver.now, needed.input, &InputAnswer::Declined).unwrap();
        let retry = driver.frame();
        driver.result(&retry["id"], complete());
        assert!(driver.done(call).is_ok());
        let mut frames = all_verbs(&mut driver);
        frames.push(retry);
        frames
    };
    let info = format!("{META}serverInfo");
    let plain = play(json!({}));
    for meta in [
        json!({&info: {"name": "trusted", "version": "1"}}),
        json!({&info: {"name": "", "version": "", "later": 1}}),
        json!({&info: 7}),
        json!({format!("{META}later"): [1], "dev.mcp/x": null}),
    ] {
        assert_eq!(play(meta.clone()), plain, "{meta}");
    }
}

/// M-ERR-04, M-STDIO-18, M-STDIO-19: no code of the old range means anything to the probe or to a call.
#[test]
fn m_err_04_codes_of_the_old_range_mean_nothing() {
    let offers = [Version::V2026_07_28, Version::V2025_11_25];
    for code in (-32_019..=-32_000).chain([-1, 0, 404]) {
        let error = ErrorObject::new(ErrorCode(code), "m");
        let verdict = judge(Outcome::Error(&error), &offers, false);
        assert_eq!(verdict, Verdict::Handshake(Version::V2025_11_25), "{code}");
        let mut driver = Driver::modern(config());
        let (call, frame) = driver.tool("t");
        driver.error(&frame["id"], code, json!(1));
        let Err(CallError::Remote(error)) = driver.done(call) else { panic!("{code}") };
        assert_eq!(error.code.0, code);
        driver.quiet();
    }
}

/// M-ERR-08, M-RES-10: a missing resource is recognised by the code of either era.
#[test]
fn m_err_08_m_res_10_missing_resources_are_recognised() {
    for (code, data, missing) in [
        (-32_602, json!({"uri": "a:b"}), true),
        (-32_002, json!({"uri": "a:b"}), true),
        (-32_002, json!(null), true),
        (-32_602, json!(null), false),
        (-32_602, json!({"cursor": "x"}), false),
        (-32_603, json!({"uri": "a:b"}), false),
    ] {
        let mut driver = Driver::modern(config());
        let call = driver.call(Request::read_resource("a:b"));
        let frame = driver.frame();
        driver.error(&frame["id"], code, data.clone());
        let Err(CallError::Remote(error)) = driver.done(call) else { panic!() };
        assert_eq!(error.is_resource_not_found(), missing, "{code} {data}");
    }
}

/// M-SUB-02, M-SUB-12: a filter names what is wanted and nothing else; a stream that ends with its connection has not
/// ended in good order.
#[test]
fn m_sub_02_12_streams_and_their_end() {
    for (filter, written) in [
        (SubscriptionFilter::new(), json!({})),
        (SubscriptionFilter::new().prompts_list_changed(true), json!({"promptsListChanged": true})),
        (SubscriptionFilter::new().resources_list_changed(true), json!({"resourcesListChanged": true})),
        (
            SubscriptionFilter::new().tools_list_changed(true).resource_subscriptions(vec!["a:b".to_owned()]),
            json!({"toolsListChanged": true, "resourceSubscriptions": ["a:b"]}),
        ),
    ] {
        let mut driver = Driver::modern(config());
        let call = driver.client.listen(driver.now, &filter, CallOptions::new()).unwrap();
        let frame = driver.frame();
        assert_eq!(frame["params"]["notifications"], written);
        driver.notify(
            "notifications/subscriptions/acknowledged",
            json!({"_meta": {format!("{META}subscriptionId"): frame["id"]}, "notifications": written}),
        );
        assert!(matches!(driver.event(), Action::Listening { .. }));
        driver.client.handle(driver.now, Input::Eof).unwrap();
        assert_eq!(driver.done(call).unwrap_err(), CallError::Disconnected);
    }
}

/// M-CANC-06, M-CANC-08, M-CANC-09, M-CANC-10: every call has two clocks by default, which can be set for each; calls
/// that never went out are not cancelled.
#[test]
fn m_canc_06_08_every_call_has_clocks() {
    let clock = |options: CallOptions| {
        let mut driver = Driver::modern(config());
        driver.call_with(Request::read_resource("a:b"), options);
        driver.frame();
        driver.client.poll_timeout().map(|(at, kind)| (driver.now.mono.until(at), kind))
    };
    assert_eq!(clock(CallOptions::new()), Some((seconds(60), TimerKind::CallIdle)));
    assert_eq!(clock(CallOptions::new().idle(None)), Some((seconds(600), TimerKind::CallHard)));
    assert_eq!(clock(CallOptions::new().idle(Some(seconds(5)))), Some((seconds(5), TimerKind::CallIdle)));
    assert_eq!(clock(CallOptions::new().hard(Some(seconds(7)))), Some((seconds(7), TimerKind::CallHard)));
    let mut driver = Driver::new(config());
    let call = driver.call(Request::read_resource("a:b"));
    driver.client.cancel(driver.now, call, None).unwrap();
    assert_eq!(driver.done(call).unwrap_err(), CallError::Cancelled);
    driver.quiet();
}

/// M-CACHE-09, M-CACHE-10, M-CACHE-11: nothing is fetched because its time is over: only when it is asked for again.
#[test]
fn m_cache_09_10_11_stale_answers_are_not_polled() {
    let mut driver = Driver::modern(config());
    let call = driver.call(Request::read_resource("a:b"));
    let frame = driver.frame();
    driver.result(&frame["id"], json!({"contents": [], "ttlMs": 100, "cacheScope": "private"}));
    assert!(driver.done(call).is_ok());
    assert_eq!(driver.client.poll_timeout(), None);
    for _ in 0..10 {
        driver.pass(millis(100));
        driver.quiet();
    }
    driver.call(Request::read_resource("a:b"));
    assert_eq!(driver.frame()["method"], "resources/read");
}

/// M-CACHE-16: a walk that refreshes reads the whole list anew, from its start.
#[test]
fn m_cache_16_a_consistent_snapshot_starts_over() {
    let mut driver = Driver::modern(config());
    for _ in 0..2 {
        let options = CallOptions::new().cache(CacheUse::Refresh);
        let call = driver.client.walk(driver.now, List::Tools, options).unwrap();
        for (cursor, next) in [(None, Some("2")), (Some("2"), None)] {
            let frame = driver.frame();
            assert_eq!(frame["params"].get("cursor").and_then(Value::as_str), cursor);
            driver.result(&frame["id"], json!({"tools": [], "nextCursor": next, "ttlMs": 60_000}));
        }
        assert!(driver.done(call).is_ok());
    }
}

/// M-PAGE-01, M-PAGE-04, M-PAGE-05, M-PROMPT-10: pages may have any size, none too; the absent cursor ends the list.
#[test]
fn m_page_01_pages_have_any_size() {
    let mut driver = Driver::modern(config());
    let call = driver.client.walk(driver.now, List::Prompts, CallOptions::new()).unwrap();
    let sizes = [2, 0, 5, 0, 1];
    for (page, size) in sizes.into_iter().enumerate() {
        let frame = driver.frame();
        let prompts: Vec<Value> = (0..size).map(|number| json!({"name": format!("{page}.{number}")})).collect();
        let next = (page + 1 < sizes.len()).then(|| format!("c{page}"));
        driver.result(&frame["id"], json!({"prompts": prompts, "nextCursor": next}));
    }
    assert_eq!(driver.done(call).unwrap().items().len(), 8);
    driver.quiet();
}

/// M-JS-12: a received schema keeps every keyword, its order and its spelling.
#[test]
fn m_js_12_received_schemas_are_kept() {
    let schema = concat!(
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","#,
        r##""properties":{"z":{"$ref":"#/$defs/p"},"a":{"anyOf":[{"const":1},{"not":{"type":"string"}}]}},"##,
        r#""$defs":{"p":{"$anchor":"p","maximum":1.50}},"oneOf":[{"required":["z"]}],"allOf":[{}],"#,
        r#""if":{"required":["z"]},"then":{},"else":{},"additionalProperties":false,"x-own":[1]}"#
    );
    let mut driver = Driver::modern(config());
    let call = driver.call(Request::list(List::Tools, None));
    let frame = driver.frame();
    let tool = format!(r#"{{"name":"t","inputSchema":{schema},"outputSchema":{schema}}}"#);
    let text = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":[{tool}]}}}}"#, frame["id"]);
    driver.feed(format!("{text}\n").as_bytes());
    let answer = driver.done(call).unwrap();
    assert_eq!(answer.items()[0].get(), tool);
    let tools: Vec<Tool> = answer.parse_items().unwrap();
    assert_eq!(tools[0].input_schema.get(), schema);
    assert_eq!(tools[0].output_schema.as_ref().unwrap().get(), schema);
    assert_eq!(Json::from_value(&tools[0]).unwrap().get(), tool);
}

/// M-SAMP-16: metadata of tool uses and tool results stays with them.
#[test]
fn m_samp_16_metadata_of_tool_use_is_kept() {
    let text = concat!(
        r#"{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{},"_meta":{"k":1}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","toolUseId":"a","content":[],"_meta":{"k":2}}]}],"maxTokens":1}"#
    );
    let params: CreateMessageParams = Json::from_text(text).unwrap().parse().unwrap();
    assert_eq!(params.check(), Ok(()));
    assert_eq!(Json::from_value(&params).unwrap().get(), text);
}

/// M-SAMP-19, M-ROOT-08, M-ROOT-03: a question about the model or the roots that is refused ends the call, with nothing
/// sent; roots that are no files are not sent either.
#[test]
fn m_samp_19_m_root_08_refusals_end_the_call() {
    let sample = json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}});
    for request in [sample, json!({"method": "roots/list"})] {
        for refusal in [InputAnswer::Declined, InputAnswer::Refused(ErrorObject::internal())] {
            let mut driver = Driver::modern(config().capabilities(capabilities()));
            let (call, frame) = driver.tool("t");
            driver.result(&frame["id"], input_required(json!({"k": request})));
            assert_eq!(driver.diagnostic().kind, DiagnosticKind::Deprecated);
            let needed = driver.ask();
            let web = InputAnswer::Roots(ListRootsResult::new(vec![Root::new("https://e")]));
            assert!(driver.client.supply_input(driver.now, needed.input, &web).is_err());
            driver.client.supply_input(driver.now, needed.input, &refusal).unwrap();
            assert!(matches!(driver.done(call), Err(CallError::InputRefused { .. })));
            driver.quiet();
        }
    }
}
