//! The rows of the legacy revisions (L-…), the differences between them (D-…) and the traps between the eras (T-…),
//! as they bind a client.

use super::*;
use crate::error::{Error, ErrorObject, Misuse};
use crate::model::{
    ContentBlock, CreateMessageResult, ElicitParams, ElicitResult, InputRequest, ListRootsResult, SamplingContent,
};

const LEGACY: [Version; 4] = [Version::V2024_11_05, Version::V2025_03_26, Version::V2025_06_18, Version::V2025_11_25];

fn everything() -> ClientCapabilities {
    form().with_url().with_sampling_tools().with_roots()
}

fn client(version: Version) -> Driver {
    Driver::legacy(config().capabilities(everything()), version)
}

fn sample(messages: &Value) -> Value {
    json!({"messages": messages, "maxTokens": 5, "tools": []})
}

impl Driver {
    fn asks(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}));
    }

    fn supply(&mut self, input: InputId, answer: &InputAnswer) -> Result<(), Error> {
        self.client.supply_input(self.now, input, answer)
    }
}

/// L-LIFE-01, L-LIFE-02, L-LIFE-04, L-LIFE-07, L-ROOT-01, L-SAMP-01, L-ELIC-01: `initialize` comes first and says
/// everything, the newest revision unless another is wanted; `initialized` follows its answer, and then the rest.
#[test]
fn the_handshake_says_everything() {
    let mut roots = everything();
    roots.roots = Some(crate::model::RootsCapability::new().list_changed(true));
    let declared =
        json!({"roots": {"listChanged": true}, "sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}});
    let modes = LEGACY.map(|version| (Connect::Pinned(version), version));
    for (mode, version) in modes.into_iter().chain([(Connect::Legacy, Version::V2025_11_25)]) {
        let mut driver = Driver::new(config().capabilities(roots.clone()).connect(mode));
        driver.client.connect(driver.now).unwrap();
        driver.call(Request::list(List::Tools, None));
        let request = driver.frame();
        assert_eq!(request["method"], "initialize");
        let expected = json!({"protocolVersion": version.as_str(), "capabilities": declared, "clientInfo": {"name": "c", "version": "1"}});
        assert_eq!(request["params"], expected);
        driver.quiet();
        driver.result(&request["id"], session(version.as_str()));
        assert_eq!(driver.frame(), json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(driver.frame()["method"], "tools/list");
        assert_eq!(driver.connected().version, version);
    }
}

/// T-34, T-35: a session speaks the revision that the server chose; the modern era is never fallen back from
/// because of what a call meets.
#[test]
fn the_revision_of_a_session_stays() {
    let mut driver = client(Version::V2025_06_18);
    for (code, data) in [(-32022, json!({"supported": ["2026-07-28"], "requested": "x"})), (-32602, json!(null))] {
        let (call, frame) = driver.tool("t");
        driver.error(&frame["id"], code, data);
        assert!(matches!(driver.done(call), Err(CallError::Remote(_))));
        driver.quiet();
    }
    assert_eq!(driver.client.server().unwrap().version, Version::V2025_06_18);
}

/// L-BASE-02, L-BASE-03, L-BASE-04, L-BASE-05, D-16, T-11: ids are integers and never come twice, whatever became of
/// their requests.
#[test]
fn ids_are_never_used_again() {
    let mut driver = client(Version::V2025_11_25);
    let mut ids = std::collections::BTreeSet::from([1_i64]);
    for round in 0..20 {
        let (call, frame) = driver.tool("t");
        assert_eq!(frame["jsonrpc"], "2.0");
        assert!(ids.insert(frame["id"].as_i64().unwrap()), "{frame}");
        match round % 4 {
            0 => driver.result(&frame["id"], json!({"content": []})),
            1 => driver.error(&frame["id"], -32603, json!(null)),
            2 => driver.client.cancel(driver.now, call, None).unwrap(),
            _ => driver.pass(seconds(60)),
        }
        let _ = driver.done(call);
        driver.drain();
        driver.written.clear();
    }
}

/// L-BASE-07, T-40: an error ends the call whose id it carries; without one, or with a foreign one, it ends nothing.
#[test]
fn errors_belong_to_their_request() {
    let mut driver = client(Version::V2025_06_18);
    let (call, frame) = driver.tool("t");
    driver.say(json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "m"}}));
    driver.say(json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "m"}}));
    driver.error(&json!(frame["id"].to_string()), -32603, json!(null));
    for _ in 0..3 {
        assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    }
    driver.quiet();
    driver.error(&frame["id"], -32000, json!({"x": 1}));
    let Err(CallError::Remote(error)) = driver.done(call) else { panic!() };
    assert_eq!((error.code.0, &*error.message), (-32000, "no"));
    assert_eq!(error.data.unwrap().parse::<Value>().unwrap(), json!({"x": 1}));
}

/// L-BASE-08, L-TASK-14, T-04: notifications are never answered. One about a task is handed on, and changes nothing.
#[test]
fn notifications_are_never_answered() {
    let mut driver = client(Version::V2025_11_25);
    let (call, frame) = driver.tool("t");
    let status = json!({"taskId": "t", "status": "failed"});
    driver.notify("notifications/tasks/status", status);
    assert!(matches!(driver.event(), Action::Notified { method, .. } if &*method == "notifications/tasks/status"));
    for method in [
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/progress",
        "x/y",
        "ping",
        "elicitation/create",
    ] {
        driver.notify(method, json!({"requestId": frame["id"], "progressToken": 1}));
    }
    driver.drain();
    assert!(driver.written.is_empty(), "{:?}", driver.written);
    driver.events.clear();
    // D-25, T-10: a server may only take back its own requests.
    driver.result(&frame["id"], json!({"content": []}));
    assert!(driver.done(call).is_ok());
}

/// L-CANC-01, L-CANC-04, L-CANC-05: only an open call is cancelled, once, and what crosses the cancellation is
/// dropped.
#[test]
fn only_open_calls_are_cancelled() {
    for version in LEGACY {
        let mut driver = client(version);
        let (call, frame) = driver.tool("t");
        driver.client.cancel(driver.now, call, Some("enough")).unwrap();
        let sent = driver.frame();
        assert_eq!(sent["method"], "notifications/cancelled");
        assert_eq!(sent["params"], json!({"requestId": frame["id"], "reason": "enough"}));
        assert_eq!(driver.done(call).unwrap_err(), CallError::Cancelled);
        assert_eq!(driver.client.cancel(driver.now, call, None), Err(Error::ApiMisuse(Misuse::CallNotOpen)));
        driver.result(&frame["id"], json!({"content": []}));
        assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
        let (done, frame) = driver.tool("t");
        driver.result(&frame["id"], json!({"content": []}));
        assert!(driver.done(done).is_ok());
        assert!(driver.client.cancel(driver.now, done, None).is_err());
        driver.quiet();
    }
}

/// L-LIFE-14: each call has its own clocks; when one runs out, the server is told.
#[test]
fn calls_have_their_own_time() {
    let mut driver = client(Version::V2025_11_25);
    let options = |idle| CallOptions::new().idle(Some(seconds(idle)));
    let slow = driver.call_with(Request::list(List::Prompts, None), options(20));
    let quick = driver.call_with(Request::list(List::Tools, None), options(5));
    let (slow_frame, quick_frame) = (driver.frame(), driver.frame());
    for (call, frame, wait) in [(quick, quick_frame, 5), (slow, slow_frame, 15)] {
        driver.pass(seconds(wait));
        assert!(matches!(driver.done(call), Err(CallError::TimedOut { .. })));
        let told = driver.frame();
        assert_eq!((&told["method"], &told["params"]["requestId"]), (&json!("notifications/cancelled"), &frame["id"]));
        driver.quiet();
    }
}

/// L-PROG-01: tokens of open calls are unique; progress that rises is told, and none after the end.
#[test]
fn progress_of_every_revision() {
    for version in LEGACY {
        let mut driver = client(version);
        let wish = || CallOptions::new().progress();
        let (a, b) = (driver.call_with(Request::ping(), wish()), driver.call_with(Request::ping(), wish()));
        let (first, second) = (driver.frame(), driver.frame());
        let token = |frame: &Value| frame["params"]["_meta"]["progressToken"].clone();
        assert_ne!(token(&first), token(&second));
        for progress in [1, 1, 2] {
            driver.notify("notifications/progress", json!({"progressToken": token(&first), "progress": progress}));
        }
        assert!(matches!(driver.event(), Action::Progress { call, .. } if call == a));
        assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
        assert!(matches!(driver.event(), Action::Progress { call, progress } if call == a && progress.progress == 2.0));
        driver.result(&first["id"], json!({}));
        assert!(driver.done(a).is_ok());
        driver.notify("notifications/progress", json!({"progressToken": token(&first), "progress": 9}));
        driver.quiet();
        driver.result(&second["id"], json!({}));
        assert!(driver.done(b).is_ok());
    }
}

/// L-TASK-03, L-TASK-06, D-19, T-01: no request is made a task, whatever the server says; a request that wants to be
/// one is answered as it is; methods of tasks are unknown here.
#[test]
fn nothing_is_made_a_task() {
    let mut driver = Driver::new(config().capabilities(everything()).connect(Connect::Legacy));
    driver.client.connect(driver.now).unwrap();
    let request = driver.frame();
    assert!(request["params"]["capabilities"].get("tasks").is_none());
    let mut answer = session("2025-11-25");
    answer["capabilities"]["tasks"] = json!({"requests": {"tools": {"call": {}}}});
    driver.result(&request["id"], answer);
    driver.frame();
    driver.connected();
    let list = driver.call(Request::list(List::Tools, None));
    let frame = driver.frame();
    let tool = json!({"name": "t", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}});
    driver.result(&frame["id"], json!({"tools": [tool]}));
    assert!(driver.done(list).is_ok());
    let (_, frame) = driver.tool("t");
    assert_eq!(frame["params"], json!({"name": "t", "arguments": {}}));
    let mut params = sample(&json!([]));
    params["task"] = json!({"ttl": 60_000});
    driver.asks(9, "sampling/createMessage", params);
    let needed = driver.ask();
    let model = CreateMessageResult::assistant("m", ContentBlock::text("x"));
    driver.supply(needed.input, &InputAnswer::Sample(Box::new(model))).unwrap();
    assert_eq!(
        driver.frame()["result"],
        json!({"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"})
    );
    for method in ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"] {
        driver.asks(1, method, json!({"taskId": "t"}));
        assert_eq!(driver.frame()["error"]["code"], -32601);
        driver.diagnostic();
    }
}

/// L-TOOL-10, L-TOOL-13, L-TOOL-15: a result that breaks its promise is reported with what came; a tool that failed
/// says so to whoever called it.
#[test]
fn results_of_tools_are_checked() {
    for version in [Version::V2025_06_18, Version::V2025_11_25] {
        let mut driver = client(version);
        let list = driver.call(Request::list(List::Tools, None));
        let frame = driver.frame();
        let schema = json!({"type": "object", "required": ["x"]});
        driver.result(
            &frame["id"],
            json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema}]}),
        );
        assert!(driver.done(list).is_ok());
        let (call, frame) = driver.tool("t");
        driver.result(&frame["id"], json!({"content": [], "structuredContent": {}}));
        assert!(matches!(driver.done(call), Err(CallError::OutputInvalid { .. })));
        let (call, frame) = driver.tool("t");
        let failed = json!({"content": [{"type": "text", "text": "no such city"}], "isError": true});
        driver.result(&frame["id"], failed.clone());
        let answer = driver.done(call).unwrap();
        assert!(answer.is_error());
        assert_eq!(answer.json().parse::<Value>().unwrap(), failed);
    }
}

/// L-RES-04, D-09, T-31: both codes of an unknown resource are understood, in both eras.
#[test]
fn d09_unknown_resources_have_two_codes() {
    for mut driver in [client(Version::V2025_11_25), Driver::modern(config())] {
        for (code, data, expected) in [
            (-32002, json!(null), true),
            (-32602, json!({"uri": "a:b"}), true),
            (-32602, json!(null), false),
            (-32603, json!({"uri": "a:b"}), false),
        ] {
            let call = driver.call(Request::read_resource("a:b"));
            let frame = driver.frame();
            driver.error(&frame["id"], code, data);
            let Err(CallError::Remote(error)) = driver.done(call) else { panic!() };
            assert_eq!(error.is_resource_not_found(), expected, "{error:?}");
        }
    }
}

/// L-LOG-14, L-LOG-16, L-LOG-17, L-PROMPT-06, D-23, T-43: pages of any size, cursors that are only carried, and an
/// absent cursor is the end; page by page or in one go.
#[test]
fn lists_are_walked() {
    let pages = [(3, Some("")), (0, Some("{\"page\":2}")), (1, Some("==/ é")), (0, None)];
    for version in LEGACY {
        let mut driver = client(version);
        let walk = driver.client.walk(driver.now, List::Prompts, CallOptions::new()).unwrap();
        driver.drain();
        let mut cursor: Option<&str> = None;
        for (items, next) in pages {
            let frame = driver.frame();
            assert_eq!(frame["method"], "prompts/list");
            assert_eq!(frame["params"].get("cursor").and_then(Value::as_str), cursor);
            let mut page = json!({"prompts": vec![json!({"name": "p"}); items]});
            if let Some(next) = next {
                page["nextCursor"] = json!(next);
            }
            driver.result(&frame["id"], page);
            cursor = next;
        }
        assert_eq!(driver.done(walk).unwrap().items().len(), 4);
        driver.quiet();
        let single = driver.call(Request::list(List::Prompts, Some("")));
        let frame = driver.frame();
        assert_eq!(frame["params"]["cursor"], "");
        driver.result(&frame["id"], json!({"prompts": [], "nextCursor": "x"}));
        let answer = driver.done(single).unwrap();
        assert_eq!(answer.next_cursor().as_deref(), Some("x"));
    }
}

/// L-ROOT-04: an application that fails says no more than that.
#[test]
fn failures_are_internal_errors() {
    let mut driver = client(Version::V2025_11_25);
    for (id, method, params) in [(1, "roots/list", json!({})), (2, "sampling/createMessage", sample(&json!([])))] {
        driver.asks(id, method, params);
        let needed = driver.ask();
        driver.supply(needed.input, &InputAnswer::Refused(ErrorObject::internal())).unwrap();
        assert_eq!(driver.frame()["error"], json!({"code": -32603, "message": "internal error"}));
    }
    driver.quiet();
}

/// L-SAMP-06, L-SAMP-10, L-SAMP-12: conversations that break the rules of tool use never reach the application.
#[test]
fn conversations_are_checked() {
    let uses = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]});
    let result = json!({"type": "tool_result", "toolUseId": "a", "content": []});
    let text = json!({"type": "text", "text": "x"});
    let user = |content: Value| json!({"role": "user", "content": content});
    let mut driver = client(Version::V2025_11_25);
    for wrong in [
        json!([uses, user(json!([result, text]))]),
        json!([uses, user(text)]),
        json!([uses, uses]),
        json!([user(json!([{"type": "tool_result", "toolUseId": "z", "content": []}]))]),
    ] {
        driver.asks(1, "sampling/createMessage", sample(&wrong));
        assert_eq!(driver.frame()["error"]["code"], -32602, "{wrong}");
        assert_eq!(driver.diagnostic().kind, DiagnosticKind::Refused);
    }
    driver.asks(1, "sampling/createMessage", sample(&json!([uses, user(json!([result]))])));
    driver.ask();
    driver.quiet();
}

/// L-SAMP-11: metadata of tool uses and results reaches the application, typed and raw, and comes back.
#[test]
fn metadata_of_tool_blocks_is_kept() {
    let messages = json!([
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}, "_meta": {"c/x": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "toolUseId": "a", "content": [], "_meta": {"c/y": 2}}]}
    ]);
    let mut driver = client(Version::V2025_11_25);
    driver.asks(1, "sampling/createMessage", sample(&messages));
    let needed = driver.ask();
    assert_eq!(needed.raw.parse::<Value>().unwrap()["messages"], messages);
    let InputRequest::Sample(params) = needed.request else { panic!() };
    assert_eq!(Json::from_value(&params.messages).unwrap().parse::<Value>().unwrap(), messages);
    let block: ContentBlock =
        raw(json!({"type": "tool_use", "id": "b", "name": "t", "input": {}, "_meta": {"c/z": 3}})).parse().unwrap();
    let model = CreateMessageResult::assistant("m", block);
    driver.supply(needed.input, &InputAnswer::Sample(Box::new(model))).unwrap();
    assert_eq!(driver.frame()["result"]["content"]["_meta"], json!({"c/z": 3}));
}

/// D-01, D-03, T-19, T-22: what an older revision cannot carry is made fit, or refused before it is sent, and the
/// question stays open.
#[test]
fn answers_are_shaped_for_the_revision() {
    let texts = || SamplingContent::Many(vec![ContentBlock::text("a"), ContentBlock::text("b")]);
    let images =
        || SamplingContent::Many(vec![ContentBlock::image([1], "image/png"), ContentBlock::image([2], "image/png")]);
    let answer = |content: SamplingContent| InputAnswer::Sample(Box::new(CreateMessageResult::assistant("m", content)));
    let plain = || json!({"messages": [], "maxTokens": 5});
    for version in LEGACY {
        let lists = version >= Version::V2025_11_25;
        let mut driver = client(version);
        driver.asks(1, "sampling/createMessage", plain());
        let needed = driver.ask();
        driver.supply(needed.input, &answer(texts())).unwrap();
        let content = driver.frame()["result"]["content"].clone();
        let one = json!({"type": "text", "text": "a\nb"});
        assert_eq!(
            content,
            if lists { json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]) } else { one }
        );
        driver.asks(2, "sampling/createMessage", plain());
        let needed = driver.ask();
        assert_eq!(driver.supply(needed.input, &answer(images())).is_ok(), lists, "{version}");
        if !lists {
            driver.quiet();
            driver.supply(needed.input, &answer(SamplingContent::One(ContentBlock::audio([1], "audio/wav")))).unwrap();
            let kind = if version == Version::V2024_11_05 { "text" } else { "audio" };
            assert_eq!(driver.frame()["result"]["content"]["type"], kind);
        }
    }
    let schema =
        json!({"type": "object", "properties": {"c": {"type": "array", "items": {"type": "string", "enum": ["a"]}}}});
    let chosen = InputAnswer::Elicit(ElicitResult::accept(raw(json!({"c": ["a"]}))));
    for (version, fits) in [(Version::V2025_06_18, false), (Version::V2025_11_25, true)] {
        let mut driver = client(version);
        driver.asks(1, "elicitation/create", json!({"message": "m", "requestedSchema": schema}));
        let needed = driver.ask();
        assert_eq!(driver.supply(needed.input, &chosen).is_ok(), fits, "{version}");
    }
}

/// L-ELIC-11, L-ELIC-12, T-20, T-21: a client that declares elicitation takes forms unless it says otherwise, and a
/// question without a mode is a form.
#[test]
fn a_question_without_a_mode_is_a_form() {
    let bare = ClientCapabilities::new().elicitation(crate::model::ElicitationCapability::new());
    let schema = json!({"type": "object", "properties": {"a": {"type": "boolean"}}});
    for version in [Version::V2025_06_18, Version::V2025_11_25] {
        let mut driver = Driver::legacy(config().capabilities(bare.clone()), version);
        driver.asks(1, "elicitation/create", json!({"message": "m", "requestedSchema": schema}));
        let needed = driver.ask();
        assert!(matches!(needed.request, InputRequest::Elicit(ElicitParams::Form(_))));
        let answer = InputAnswer::Elicit(ElicitResult::accept(raw(json!({"a": true}))));
        driver.supply(needed.input, &answer).unwrap();
        assert_eq!(driver.frame()["result"], json!({"action": "accept", "content": {"a": true}}));
    }
}

/// L-ELIC-22: a page is shown to the application and to nobody else: nothing is fetched, and nothing is agreed to
/// before the application says so.
#[test]
fn pages_wait_for_consent() {
    let mut driver = client(Version::V2025_11_25);
    let url = json!({"mode": "url", "message": "m", "url": "https://e/x", "elicitationId": "e1"});
    driver.asks(1, "elicitation/create", url);
    let needed = driver.ask();
    let InputRequest::Elicit(ElicitParams::Url(page)) = &needed.request else { panic!() };
    assert_eq!(page.url, "https://e/x");
    driver.notify("notifications/elicitation/complete", json!({"elicitationId": "e1"}));
    assert!(matches!(driver.event(), Action::Notified { .. }));
    driver.pass(seconds(500));
    driver.quiet();
    driver.supply(needed.input, &InputAnswer::Elicit(ElicitResult::accept_url())).unwrap();
    assert_eq!(driver.frame(), json!({"jsonrpc": "2.0", "id": 1, "result": {"action": "accept"}}));
}

/// L-ELIC-15: a call that a page stands before has ended; it can be made again, or not, without the completion.
#[test]
fn the_completion_need_not_come() {
    let mut driver = client(Version::V2025_11_25);
    let url = json!({"mode": "url", "message": "m", "url": "https://e", "elicitationId": "e1"});
    let (call, frame) = driver.tool("t");
    driver.error(&frame["id"], -32042, json!({"elicitations": [url]}));
    assert!(matches!(driver.done(call), Err(CallError::Remote(_))));
    assert_eq!(driver.client.poll_timeout(), None);
    let (again, frame) = driver.tool("t");
    driver.result(&frame["id"], json!({"content": []}));
    assert!(driver.done(again).is_ok());
    driver.notify("notifications/elicitation/complete", json!({"elicitationId": "e1"}));
    assert!(matches!(driver.event(), Action::Notified { .. }));
    driver.quiet();
}

/// D-21, T-33: who the server is, read in one way in both eras.
#[test]
fn d21_one_way_to_the_servers_identity() {
    let mut driver = Driver::new(config());
    driver.client.connect(driver.now).unwrap();
    let probe = driver.frame();
    let identity = json!({"name": "s", "version": "1"});
    let meta = json!({"io.modelcontextprotocol/serverInfo": identity});
    driver.result(&probe["id"], json!({"supportedVersions": ["2026-07-28"], "capabilities": {}, "_meta": meta}));
    let modern = driver.connected();
    for version in LEGACY {
        let driver = client(version);
        assert_eq!(driver.client.server().unwrap().info, modern.info);
    }
    assert_eq!(modern.info.unwrap().name, "s");
}

/// L-BASE-16, T-38: names of `_meta` that the protocol keeps for itself are carried as they came.
#[test]
fn reserved_names_of_meta_are_carried() {
    let mut driver = client(Version::V2025_11_25);
    let (call, frame) = driver.tool("t");
    let result = json!({"content": [], "_meta": {"io.modelcontextprotocol/related-task": 5, "com.mcp.x/y": [],
        "io.modelcontextprotocol/serverInfo": "odd", "mcp.dev/free": 1}});
    driver.result(&frame["id"], result.clone());
    let answer = driver.done(call).unwrap();
    assert_eq!(answer.json().parse::<Value>().unwrap(), result);
    assert_eq!(answer.server_info(), None);
    driver.quiet();
}

/// L-PROG-04, T-49: pings go out and come in on every revision.
#[test]
fn ping_goes_both_ways() {
    for version in LEGACY {
        let mut driver = client(version);
        let call = driver.call(Request::ping());
        let frame = driver.frame();
        assert_eq!(frame["method"], "ping");
        driver.result(&frame["id"], json!({}));
        assert!(driver.done(call).is_ok());
        driver.asks("p", "ping", json!({}));
        assert_eq!(driver.frame(), json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
        driver.quiet();
    }
}

/// L-ROOT-03: an answer of roots holds files only.
#[test]
fn roots_are_files() {
    let mut driver = client(Version::V2024_11_05);
    driver.asks(1, "roots/list", json!({}));
    let needed = driver.ask();
    let of = |uri: &str| InputAnswer::Roots(ListRootsResult::new(vec![crate::model::Root::new(uri)]));
    for wrong in ["https://e", "/home", "file:x", ""] {
        assert!(driver.supply(needed.input, &of(wrong)).is_err(), "{wrong}");
    }
    driver.quiet();
    driver.supply(needed.input, &of("file:///a")).unwrap();
    assert_eq!(driver.frame()["result"], json!({"roots": [{"uri": "file:///a"}]}));
}
