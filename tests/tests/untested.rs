//! Statements that no scenario of the official suite tests, under the ids `U-..` of the project's collection. Those
//! that need HTTP are in `untested_http`; those of OAuth come with it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use mcp_sansio::client::{Action, CallError, CallOptions, Client, List, Request};
use mcp_sansio::json::Json;
use mcp_sansio::model::{
    CacheHints, CallToolResult, ClientCapabilities, CreateMessageParams, ElicitParams, InputRequest, ListRootsParams,
    LoggingLevel, Prompt, Resource, SamplingMessage, Tool,
};
use mcp_sansio::schema::mirror::{MirrorKind, mirrors};
use mcp_sansio::server::request_state::SealKeys;
use mcp_sansio::server::{
    BuildError, Call, Closed, Definition, DefinitionBuilder, Event, InputRequired, List as Catalogue, LogMessage,
    Progress, Reply, Sent, Server,
};
use mcp_sansio_tests::frames::{call, cancelled, handshake, modern, modern_with, notification, result};
use mcp_sansio_tests::solo::{Solo, code};
use serde_json::{Value, json};

fn builder() -> DefinitionBuilder {
    let add = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    Definition::builder("server", "1.0.0").tool(Tool::new("slow")).tool(Tool::new("add").input_schema(add))
}

fn text(text: &str) -> Reply {
    Reply::Tool(CallToolResult::text(text))
}

fn form() -> InputRequest {
    ElicitParams::form("Who?", json!({"type": "object", "properties": {"name": {"type": "string"}}})).into()
}

fn ask(request: InputRequest) -> Reply {
    Reply::InputRequired(InputRequired { requests: vec![("k".to_owned(), request)], ..InputRequired::default() })
}

// ---- Servers.

/// U-14: ids come back as they were sent. M-BASE-07
#[test]
fn u14_ids_come_back_as_they_were_sent() {
    let mut solo = Solo::server(builder().build().unwrap());
    for id in [json!(0), json!(-1), json!(9_007_199_254_740_991_i64), json!(""), json!("1"), json!("00")] {
        solo.say(modern(id.clone(), "server/discover", json!({})));
        let answer = solo.frame();
        assert_eq!(answer["id"].to_string(), id.to_string());
        assert!(answer["result"].is_object());
    }
}

/// U-19: the answer to `server/discover` has caching hints. M-CACHE-01, M-DISC-02
#[test]
fn u19_discover_has_caching_hints() {
    let plain = builder().build().unwrap();
    let hinted = builder().cache_discover(CacheHints::public(1_000)).build().unwrap();
    for (definition, ttl, scope) in [(plain, 0, "private"), (hinted, 1_000, "public")] {
        let mut solo = Solo::server(definition);
        solo.say(modern(1, "server/discover", json!({})));
        let discovered = &solo.frame()["result"];
        assert_eq!((&discovered["ttlMs"], &discovered["cacheScope"]), (&json!(ttl), &json!(scope)));
        assert_eq!(discovered.get("serverInfo"), None);
    }
}

/// U-20: every page of a list has the same scope. M-CACHE-18
#[test]
fn u20_pages_have_one_scope() {
    let mut builder = builder().page_size(1).cache(Catalogue::Tools, CacheHints::public(5));
    builder = builder.tool(Tool::new("third"));
    let mut solo = Solo::server(builder.build().unwrap());
    let (mut cursor, mut scopes) = (Value::Null, Vec::new());
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        solo.say(modern(scopes.len(), "tools/list", params));
        let page = solo.frame()["result"].clone();
        scopes.push((page["cacheScope"].clone(), page["ttlMs"].clone()));
        match page.get("nextCursor") {
            Some(next) => cursor = next.clone(),
            None => break,
        }
    }
    assert_eq!(scopes, vec![(json!("public"), json!(5)); 3]);
}

/// The error of a retry with this state: nothing may run.
fn refused(solo: &mut Solo<Server>, name: &str, arguments: Value, state: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments, "requestState": state,
        "inputResponses": {"k": {"action": "accept", "content": {"name": "Kim"}}}});
    solo.say(modern_with(2, "tools/call", params, json!({"elicitation": {}})));
    let frame = solo.frame();
    assert_eq!(frame["error"]["code"], -32602, "{frame}");
    solo.quiet();
    frame["error"]["message"].clone()
}

/// U-22: a state is bound to its request and expires; all refusals are alike, and nothing runs. M-MRTR-08, M-MRTR-09
#[test]
fn u22_states_are_bound() {
    let keys = || SealKeys::new([3; 32]);
    let mut solo = Solo::server(builder().seal(keys()).audience("us").build().unwrap());
    let first = json!({"name": "slow", "arguments": {"x": 1}});
    solo.say(modern_with(1, "tools/call", first.clone(), json!({"elicitation": {}})));
    let invocation = solo.invocation();
    solo.reply(invocation, ask(form()));
    let state = solo.frame()["result"]["requestState"].clone();
    let mut texts =
        vec![refused(&mut solo, "slow", json!({"x": 2}), &state), refused(&mut solo, "add", json!({"n": 1}), &state)];
    // Another server with the same keys, which is somebody else.
    let mut other = Solo::server(builder().seal(keys()).audience("them").build().unwrap());
    texts.push(refused(&mut other, "slow", json!({"x": 1}), &state));
    // And one that is us.
    let mut twin = Solo::server(builder().seal(keys()).audience("us").build().unwrap());
    let mut retry = first;
    retry["requestState"] = state.clone();
    twin.say(modern_with(1, "tools/call", retry, json!({"elicitation": {}})));
    assert_eq!(twin.invocation().context.round(), 1);
    solo.pass(Duration::from_secs(300));
    texts.push(refused(&mut solo, "slow", json!({"x": 1}), &state));
    assert!(texts.windows(2).all(|pair| pair[0] == pair[1]), "{texts:?}");
}

/// U-23: nothing is asked that the request did not declare; the error names what is missing. M-MRTR-12, M-ELIC-07,
/// M-META-12, M-META-13, M-SAMP-04
#[test]
fn u23_undeclared_input_is_never_asked() {
    let url = || -> InputRequest { ElicitParams::url("Visit", "https://example.com").into() };
    let sample =
        || CreateMessageParams::new(vec![SamplingMessage::user(mcp_sansio::model::ContentBlock::text("?"))], 9_u32);
    let with_tools = || {
        let mut params = sample();
        params.tools = Some(vec![Tool::new("t")]);
        InputRequest::from(params)
    };
    let cases: [(Value, InputRequest, Value); 7] = [
        (json!({"elicitation": {}}), url(), json!({"elicitation": {"url": {}}})),
        (json!({"elicitation": {"form": {}}}), url(), json!({"elicitation": {"url": {}}})),
        (json!({"elicitation": {"url": {}}}), form(), json!({"elicitation": {"form": {}}})),
        (json!({}), form(), json!({"elicitation": {"form": {}}})),
        (json!({"sampling": {}}), with_tools(), json!({"sampling": {"tools": {}}})),
        (json!({}), sample().into(), json!({"sampling": {}})),
        (json!({}), ListRootsParams::new().into(), json!({"roots": {}})),
    ];
    for (declared, request, missing) in cases {
        let mut solo = Solo::server(builder().seal(SealKeys::new([3; 32])).build().unwrap());
        solo.say(modern_with(1, "tools/call", json!({"name": "slow"}), declared.clone()));
        let invocation = solo.invocation();
        solo.reply(invocation, ask(request.clone()));
        let error = solo.frame()["error"].clone();
        assert_eq!((&error["code"], &error["data"]), (&json!(-32021), &json!({"requiredCapabilities": missing})));
        solo.quiet();
    }
    for (declared, request) in [(json!({"elicitation": {}}), form()), (json!({"elicitation": {"url": {}}}), url())] {
        let mut solo = Solo::server(builder().build().unwrap());
        solo.say(modern_with(1, "tools/call", json!({"name": "slow"}), declared));
        let invocation = solo.invocation();
        solo.reply(invocation, ask(request));
        assert_eq!(solo.frame()["result"]["inputRequests"]["k"]["method"], "elicitation/create");
    }
}

/// U-25: a bad level is refused, and the tool does not run. M-LOG-06
#[test]
fn u25_a_bad_level_is_refused() {
    let mut solo = Solo::server(builder().logging().build().unwrap());
    let level = json!({"io.modelcontextprotocol/logLevel": "loud"});
    solo.say(modern(5, "tools/call", json!({"name": "slow", "_meta": level})));
    let error = solo.frame();
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!(5), &json!(-32602)));
    solo.quiet();
}

/// U-26: progress keeps the token's type, grows strictly, ends with the answer, and needs a token. M-PROG-02,
/// M-PROG-03, M-PROG-05, M-PROG-08
#[test]
fn u26_progress_tokens() {
    let mut solo = Solo::server(builder().build().unwrap());
    for (id, meta) in [(1, json!({"progressToken": 7})), (2, json!({"progressToken": "7"})), (3, json!({}))] {
        solo.say(modern(id, "tools/call", json!({"name": "slow", "_meta": meta})));
    }
    let invocations = [solo.invocation(), solo.invocation(), solo.invocation()];
    for (invocation, token) in invocations.into_iter().zip([Some(json!(7)), Some(json!("7")), None]) {
        let slot = invocation.slot.id();
        for (progress, wanted) in [(0.1, true), (0.100_000_01, true), (0.100_000_01, false), (0.05, false)] {
            let report = Progress { progress, total: None, message: None };
            let sent = solo.peer.machine.progress(solo.now, slot, &report).unwrap();
            assert_eq!(sent == Sent::Yes, wanted && token.is_some());
            if sent == Sent::Yes {
                let frame = solo.frame();
                assert_eq!(
                    (&frame["params"]["progressToken"], frame["params"]["progress"].as_f64()),
                    (token.as_ref().unwrap(), Some(progress))
                );
            }
            solo.silent();
        }
        solo.reply(invocation, text("done"));
        assert!(solo.frame()["result"].is_object());
        let late = Progress { progress: 9.0, total: None, message: None };
        assert!(solo.peer.machine.progress(solo.now, slot, &late).is_err());
        solo.quiet();
    }
}

/// U-28: a result that breaks the output schema is no success. M-TOOL-21
#[test]
fn u28_results_keep_their_schema() {
    let schema = json!({"type": "object", "required": ["t"]});
    let mut solo = Solo::server(builder().tool(Tool::new("typed").output_schema(schema)).build().unwrap());
    for (content, fits) in [(json!({}), false), (json!({"t": 1}), true), (json!([1]), false)] {
        solo.say(call(1, "typed", json!({})));
        let invocation = solo.invocation();
        solo.reply(invocation, Reply::Tool(CallToolResult::structured(content.clone())));
        let frame = solo.frame();
        if fits {
            assert_eq!(frame["result"]["structuredContent"], content);
        } else {
            assert_eq!(frame["error"]["code"], -32603, "{frame}");
        }
    }
}

/// U-29: an unknown tool and a malformed envelope are errors, bad arguments a result. M-TOOL-23, M-TOOL-24
#[test]
fn u29_unknown_tools_and_bad_arguments() {
    let mut solo = Solo::server(builder().build().unwrap());
    solo.say(call(1, "nope", json!({})));
    assert_eq!(solo.frame()["error"]["code"], -32602);
    solo.say(call(2, "add", json!({"n": "x"})));
    let frame = solo.frame();
    assert_eq!(frame["result"]["isError"], true);
    assert!(!frame["result"]["content"][0]["text"].as_str().unwrap().is_empty());
    solo.say(modern(3, "tools/call", json!({"arguments": {}})));
    assert_eq!(solo.frame()["error"]["code"], -32602);
    solo.quiet();
}

fn listen(id: impl Into<Value>, filter: Value) -> Value {
    modern(id, "subscriptions/listen", json!({"notifications": filter}))
}

fn subscription(frame: &Value) -> &Value {
    &frame["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

/// U-31: the acknowledgement comes first and names what is honoured, no more. M-SUB-03, M-SUB-05
#[test]
fn u31_the_honoured_subset() {
    let mut solo = Solo::server(builder().list_changed().build().unwrap());
    solo.say(listen(
        "x",
        json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["file:///a"]}),
    ));
    let acknowledged = solo.frame();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({"toolsListChanged": true}));
    assert_eq!(subscription(&acknowledged), "x");
    solo.quiet();
}

/// U-32: frames of a stream carry the id of its request, with its type. M-SUB-07, M-SUB-09
#[test]
fn u32_subscription_ids() {
    let mut solo = Solo::server(builder().list_changed().build().unwrap());
    for id in [json!("L-1"), json!(0)] {
        solo.say(listen(id.clone(), json!({"toolsListChanged": true})));
        assert_eq!(subscription(&solo.frame()), &id);
    }
    assert_eq!(solo.peer.machine.publish(solo.now, &Event::ToolsListChanged), Sent::Yes);
    let mut told = [subscription(&solo.frame()).clone(), subscription(&solo.frame()).clone()];
    told.sort_by_key(Value::to_string);
    assert_eq!(told, [json!("L-1"), json!(0)]);
    solo.quiet();
}

/// U-34: only what was subscribed goes on the stream, and nothing of other requests. M-SUB-17, M-SUB-18
#[test]
fn u34_only_subscribed_resources() {
    let definition = builder().resource(Resource::new("a", "file:///a")).subscriptions().logging().build().unwrap();
    let mut solo = Solo::server(definition);
    solo.say(listen(9, json!({"resourceSubscriptions": ["file:///a"]})));
    solo.frame();
    let meta = json!({"progressToken": "t", "io.modelcontextprotocol/logLevel": "debug"});
    solo.say(modern(1, "tools/call", json!({"name": "slow", "_meta": meta})));
    let invocation = solo.invocation();
    let slot = invocation.slot.id();
    let message = LogMessage { level: LoggingLevel::Info, logger: None, data: json!(1).into() };
    assert_eq!(
        solo.peer.machine.progress(solo.now, slot, &Progress { progress: 1.0, total: None, message: None }).unwrap(),
        Sent::Yes
    );
    assert_eq!(solo.peer.machine.log(solo.now, Some(slot), &message).unwrap(), Sent::Yes);
    for method in ["notifications/progress", "notifications/message"] {
        let frame = solo.frame();
        assert_eq!((&frame["method"], subscription(&frame)), (&json!(method), &Value::Null));
    }
    let updated = |uri: &str| Event::ResourceUpdated { uri: uri.into() };
    assert_eq!(solo.peer.machine.publish(solo.now, &updated("file:///a")), Sent::Yes);
    assert_eq!(solo.peer.machine.publish(solo.now, &updated("file:///b")), Sent::NotWanted);
    let frame = solo.frame();
    assert_eq!((&frame["params"]["uri"], subscription(&frame)), (&json!("file:///a"), &json!(9)));
    solo.reply(invocation, text("done"));
    assert_eq!(solo.frame()["id"], 1);
    solo.quiet();
}

/// U-35: a stream that the server ends gets its result; on a byte stream a cancellation may come before. M-SUB-10,
/// M-SUB-11, M-CANC-02
#[test]
fn u35_streams_end_gracefully() {
    let mut solo = Solo::server(builder().list_changed().build().unwrap());
    solo.say(listen(9, json!({"toolsListChanged": true})));
    solo.frame();
    solo.peer.machine.close(solo.now);
    assert_eq!(solo.frame(), cancelled(9));
    let last = solo.frame();
    assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!(9), &json!("complete")));
    assert_eq!(last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 9);
    solo.silent();
    assert!(solo.peer.is_closed());
}

/// U-37: a schema that lies elsewhere is refused where it is built or used, and never fetched. M-JS-07, M-JS-10
#[test]
fn u37_foreign_schemas_are_refused() {
    let foreign = json!({"type": "object", "properties": {"u": {"$ref": "http://127.0.0.1:1/s.json"}}});
    let input = builder().tool(Tool::new("t").input_schema(foreign.clone())).build();
    let output = builder().tool(Tool::new("t").output_schema(foreign)).build();
    for refused in [input, output] {
        let Err(BuildError::Schema { error, .. }) = refused else { panic!("{refused:?}") };
        assert!(error.to_string().contains("127.0.0.1"), "{error}");
    }
}

/// U-38: validation is bounded, whatever the schema and the arguments; the machine lives on. M-JS-11
#[test]
fn u38_validation_is_bounded() {
    let mut definitions = serde_json::Map::new();
    for level in 0..60 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        definitions.insert(format!("l{level}"), json!({"anyOf": [next, next]}));
    }
    definitions.insert("l60".to_owned(), json!({"type": "string"}));
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/l0"}}, "$defs": definitions});
    let mut solo = match builder().tool(Tool::new("deep").input_schema(schema)).build() {
        Ok(definition) => Solo::server(definition),
        // Refusing what cannot be bounded is right too.
        Err(error) => {
            assert!(matches!(error, BuildError::Schema { .. }));
            Solo::server(builder().build().unwrap())
        }
    };
    solo.say(call(1, "deep", json!({"a": 1})));
    let frame = solo.frame();
    assert!(frame["result"]["isError"] == true || frame["error"]["code"] == -32602, "{frame}");
    let deep = format!("{}{}", "[".repeat(500_000), "]".repeat(500_000));
    let line = modern(2, "tools/call", json!({"name": "slow", "arguments": {"a": "DEEP"}})).to_string();
    solo.feed(format!("{}\n", line.replace("\"DEEP\"", &deep)).as_bytes());
    assert_eq!(solo.frame()["error"]["code"], -32600);
    solo.say(call(3, "slow", json!({})));
    solo.answer("alive");
    assert_eq!(solo.frame()["id"], 3);
}

// ---- Clients.

/// U-40: an unknown type of result is an error of the API, and nothing is sent. M-BASE-10, M-BASE-11
#[test]
fn u40_unknown_result_types() {
    for answer in [json!({"resultType": "later", "content": []}), json!({"resultType": "task", "taskId": "t"})] {
        let mut solo = Solo::modern(Solo::config());
        let (call, frame) = solo.tool("t", json!({}));
        solo.say(result(frame["id"].clone(), answer.clone()));
        let Err(CallError::InvalidResult { result, .. }) = solo.done(call) else { panic!() };
        assert_eq!(result, Json::from(answer));
        solo.quiet();
    }
}

/// U-41: a state alone is retried, the empty one too, and not for ever. M-MRTR-15, M-MRTR-16
#[test]
fn u41_states_alone() {
    let mut solo = Solo::modern(Solo::config());
    let (call, mut frame) = solo.tool("t", json!({}));
    let mut ids = vec![frame["id"].clone()];
    loop {
        solo.say(result(frame["id"].clone(), json!({"resultType": "input_required", "requestState": ""})));
        solo.pass(Duration::from_secs(5));
        let ended = solo.peer.take(|action| match action {
            Action::Done { call: done, outcome } if done == call => Ok(outcome),
            other => Err(other),
        });
        if let Some(outcome) = ended {
            assert!(matches!(outcome, Err(CallError::RoundsExceeded { limit: 16 })));
            break;
        }
        frame = solo.frame();
        assert_eq!(frame["params"]["requestState"], "");
        assert_eq!(frame["params"].get("inputResponses"), None);
        assert!(!ids.contains(&frame["id"]));
        ids.push(frame["id"].clone());
        assert!(ids.len() < 100);
    }
    assert_eq!(ids.len(), 17);
    solo.quiet();
}

/// U-43: what was not declared is not answered: the call fails here. M-ELIC-07, M-SAMP-12, M-PAT-02
#[test]
fn u43_undeclared_input_fails_the_call() {
    let url = json!({"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": "https://x.y"}});
    let sample = json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}});
    for asked in [url, sample] {
        let mut solo = Solo::modern(Solo::config().capabilities(ClientCapabilities::new().with_form()));
        let (call, frame) = solo.tool("t", json!({}));
        solo.say(result(frame["id"].clone(), json!({"resultType": "input_required", "inputRequests": {"k": asked}})));
        assert!(matches!(solo.done(call), Err(CallError::InputUnsupported { .. })));
        solo.quiet();
    }
}

/// U-46: which annotations of arguments are valid. M-XMH-07, M-XMH-09, M-XMH-10
#[test]
fn u46_annotations_of_arguments() {
    let header = |kind: &str, name: &str| json!({"type": kind, "x-mcp-header": name});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let invalid = [
        object(json!({"a": header("number", "A")})),
        object(json!({"a": {"type": "array", "items": header("string", "A")}})),
        object(json!({"a": {"oneOf": [header("string", "A")]}})),
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d"}}, "$defs": {"d": header("string", "A")}}),
        json!({"type": "object", "if": {"required": ["a"]}, "then": {"properties": {"a": header("string", "A")}}}),
        object(
            json!({"x": object(json!({"a": header("string", "A")})), "y": object(json!({"a": header("string", "a")}))}),
        ),
        object(json!({"a": header("string", "a/b")})),
    ];
    for schema in invalid {
        assert!(mirrors(&Json::from(schema.clone())).is_err(), "{schema}");
    }
    let called_so = object(json!({"x-mcp-header": {"type": "string"}}));
    let data =
        object(json!({"a": {"type": "object", "default": {"x-mcp-header": "A"}, "examples": [{"x-mcp-header": "B"}]}}));
    for schema in [called_so, data] {
        assert_eq!(mirrors(&Json::from(schema)).unwrap(), vec![]);
    }
    let nested = object(json!({"loc": object(json!({"city": header("string", "City")}))}));
    let found = mirrors(&Json::from(nested)).unwrap();
    assert_eq!(
        (&*found[0].header, &found[0].path[..], found[0].kind),
        ("City", &["loc".to_owned(), "city".to_owned()][..], MirrorKind::String)
    );
}

/// U-52: what the answer to the probe means. M-STDIO-16, M-STDIO-17, M-STDIO-18, M-STDIO-19
#[test]
fn u52_probe_and_fallback() {
    let error = |code: i64, data: Value| json!({"error": {"code": code, "message": "x", "data": data}});
    let discovered = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {},
        "ttlMs": 0, "cacheScope": "private"});
    let cases = [
        (Some(error(-32601, Value::Null)), Some("initialize")),
        (Some(error(-32602, Value::Null)), Some("initialize")),
        (Some(error(-32000, Value::Null)), Some("initialize")),
        (None, Some("initialize")),
        (Some(json!({"result": discovered})), None),
        (Some(error(-32022, json!({"supported": ["2026-07-28"], "requested": "2027-01-01"}))), Some("server/discover")),
    ];
    for (answer, next) in cases {
        let mut solo = Solo::client(Solo::config());
        let probe = solo.connect();
        assert_eq!(probe["method"], "server/discover");
        match &answer {
            Some(answer) => {
                let mut frame = json!({"jsonrpc": "2.0", "id": probe["id"]});
                for (name, value) in answer.as_object().unwrap() {
                    frame[name] = value.clone();
                }
                solo.say(frame);
            }
            None => solo.pass(Duration::from_secs(5)),
        }
        match next {
            Some(method) => assert_eq!(solo.frame()["method"], method, "{answer:?}"),
            None => solo.connected(),
        }
        solo.quiet();
    }
}

fn reading(solo: &mut Solo<Client>, partition: &str) -> mcp_sansio::ids::CallId {
    solo.call(Request::read_resource("u:1"), CallOptions::new().partition(partition))
}

/// Answers the read that must have gone out.
fn serve_read(solo: &mut Solo<Client>, ttl: i64) {
    let frame = solo.frame();
    assert_eq!(frame["method"], "resources/read");
    let contents = json!({"resultType": "complete", "contents": [], "ttlMs": ttl, "cacheScope": "private"});
    solo.say(result(frame["id"].clone(), contents));
}

/// U-53: what a client may give twice, and to whom. M-CACHE-02, M-CACHE-03, M-CACHE-07, M-CACHE-13, M-CACHE-14
#[test]
fn u53_the_cache() {
    let mut solo = Solo::modern(Solo::config().capabilities(ClientCapabilities::new().with_form()));
    let read = |solo: &mut Solo<Client>, partition: &str, ttl: Option<i64>| {
        let call = reading(solo, partition);
        if let Some(ttl) = ttl {
            serve_read(solo, ttl);
        }
        solo.silent();
        solo.done(call).unwrap().is_cached()
    };
    assert!(!read(&mut solo, "one", Some(60_000)));
    assert!(read(&mut solo, "one", None));
    assert!(!read(&mut solo, "two", Some(0)));
    solo.say(notification("notifications/resources/updated", json!({"uri": "u:1"})));
    solo.peer.events.clear();
    assert!(!read(&mut solo, "one", Some(-5)));
    assert!(!read(&mut solo, "one", Some(0)));
    // A result that came through questions is for this once.
    let call = reading(&mut solo, "one");
    let frame = solo.frame();
    let params = json!({"message": "m", "requestedSchema": {"type": "object", "properties": {}}});
    let asked = json!({"resultType": "input_required", "inputRequests": {"k": {"method": "elicitation/create", "params": params}}});
    solo.say(result(frame["id"].clone(), asked));
    let input = solo.question().input;
    solo.peer.machine.supply_input(solo.now, input, &mcp_sansio::client::InputAnswer::Declined).unwrap();
    serve_read(&mut solo, 60_000);
    assert!(solo.done(call).is_ok());
    assert!(!read(&mut solo, "one", Some(0)));
    // Other parameters are another question.
    let call = solo.call(Request::read_resource("u:2"), CallOptions::new());
    serve_read(&mut solo, 60_000);
    assert!(solo.done(call).is_ok());
    assert!(!read(&mut solo, "one", Some(0)));
    solo.quiet();
}

// ---- Both eras on one stream.

/// U-59: one message a line, no word after a cancellation, both eras in one process, an end that is an end.
/// M-STDIO-01, M-STDIO-02, M-STDIO-04, M-STDIO-11, M-STDIO-13, M-VER-11, M-VER-12
#[test]
fn u59_purity_of_a_byte_stream() {
    let mut solo = Solo::server(builder().prompt(Prompt::new("p")).build().unwrap());
    solo.say(call(1, "slow", json!({"t": "a\nb"})));
    let invocation = solo.invocation();
    let Call::Tool { arguments, .. } = &invocation.call else { panic!() };
    assert_eq!(arguments.parse::<Value>().unwrap(), json!({"t": "a\nb"}));
    // That a frame is one line is asserted of every frame.
    solo.reply(invocation, text("a\nb"));
    assert_eq!(solo.frame()["result"]["content"][0]["text"], "a\nb");
    solo.say(call(2, "slow", json!({})));
    let waiting = solo.invocation();
    solo.say(cancelled(2));
    solo.peer.events.clear();
    solo.reply(waiting, text("too late"));
    solo.quiet();
    solo.say(modern(3, "tools/list", json!({})));
    assert_eq!(solo.frame()["result"]["resultType"], "complete");
    for frame in handshake("2025-11-25", json!({})) {
        solo.say(frame);
    }
    assert_eq!(solo.frame()["result"]["protocolVersion"], "2025-11-25");
    solo.say(json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list"}));
    assert_eq!(solo.frame()["result"].get("resultType"), None);
    solo.say(modern(5, "tools/list", json!({})));
    assert_eq!(solo.frame()["result"]["resultType"], "complete");
    solo.peer.events.clear();
    solo.peer.receive(solo.now, mcp_sansio::machine::Input::Eof);
    solo.silent();
    assert!(matches!(solo.peer.events.back(), Some(mcp_sansio::server::Action::Closed(Closed::EndOfInput))));
}

/// Codes of older implementations mean nothing, but for the one of a missing resource. M-ERR-04, M-ERR-08, M-RES-10
#[test]
fn errors_arrive_as_they_were_sent() {
    for wanted in [-32000, -32002, -32019, -32601, 7] {
        let mut solo = Solo::modern(Solo::config());
        let call = solo.call(Request::list(List::Resources, None), CallOptions::new());
        let frame = solo.frame();
        solo.say(json!({"jsonrpc": "2.0", "id": frame["id"], "error": {"code": wanted, "message": "m"}}));
        assert_eq!(code(&solo.done(call)), Some(wanted));
        solo.quiet();
    }
}
