//! Rows of the requirements that have no test of their own elsewhere: base protocol, errors, `_meta`, statelessness.
//!
//! | module | rows |
//! |---|---|
//! | this one | messages, error codes, `_meta`, one request at a time |
//! | `catalogue` | capabilities, lists, caching, tools, resources, prompts, completion |
//! | `input` | rounds of input, elicitation, sampling, roots |
//! | `mirrors` | annotations of arguments |
//! | `streams` | listen streams, cancellation, progress, log messages |

mod catalogue;
mod input;
mod mirrors;
mod streams;

use super::*;
use crate::diagnostic::DiagnosticKind;
use crate::error::ErrorObject;
use crate::model::{
    ClientCapabilities, Completion, ContentBlock, ElicitParams, GetPromptResult, InputRequest, LoggingLevel,
    PromptMessage, ReadResourceResult,
};
use crate::server::request_state::SealKeys;
use crate::spec::ErrorCode;

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

fn sealed() -> DefinitionBuilder {
    builder().seal(SealKeys::new([3; 32])).method("acme/do")
}

fn form() -> ElicitParams {
    ElicitParams::form(
        "Who?",
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}),
    )
}

fn ask(requests: Vec<(&str, InputRequest)>) -> Reply {
    let requests = requests.into_iter().map(|(key, request)| (key.to_owned(), request)).collect();
    Reply::InputRequired(InputRequired { requests, ..InputRequired::default() })
}

fn slow(id: impl Into<Value>) -> Value {
    modern(id, "tools/call", json!({"name": "slow"}))
}

fn progress(progress: f64) -> Progress {
    Progress { progress, total: None, message: None }
}

fn log_message(level: LoggingLevel) -> LogMessage {
    LogMessage { level, logger: None, data: json!("d").into() }
}

/// One request of every kind that is answered, and what the application says if it is asked.
fn requests() -> Vec<(Value, Option<Reply>)> {
    let elicits = json!({"elicitation": {}});
    let prompt = GetPromptResult::new(vec![PromptMessage::user(ContentBlock::text("Hello"))]);
    let calls = json!({"name": "slow"});
    vec![
        (modern(1, "server/discover", json!({})), None),
        (modern("2", "tools/list", json!({})), None),
        (modern(3, "prompts/list", json!({})), None),
        (modern(4, "resources/list", json!({})), None),
        (modern(5, "resources/templates/list", json!({})), None),
        (modern(6, "tools/call", json!({"name": "add", "arguments": {"a": "x"}})), None),
        (slow(7), Some(Reply::Tool(CallToolResult::text("two\nlines\r\n")))),
        (slow(8), Some(Reply::Failed)),
        (slow(9), Some(Reply::Error(ErrorObject::new(ErrorCode(7), "of the application")))),
        (with_capabilities(10, "tools/call", calls, elicits), Some(ask(vec![("who", form().into())]))),
        (slow(11), Some(Reply::Raw(json!({"content": [], "_meta": {"a": 1}}).into()))),
        (
            modern(12, "resources/read", json!({"uri": "file:///a"})),
            Some(Reply::Resource(ReadResourceResult::text("file:///a", "text/plain", "x"))),
        ),
        (modern(13, "prompts/get", json!({"name": "greet", "arguments": {"who": "x"}})), Some(Reply::Prompt(prompt))),
        (
            modern(
                14,
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "greet"},
                "argument": {"name": "who", "value": ""}}),
            ),
            Some(Reply::Completion(Completion::new(vec!["a".to_owned()]))),
        ),
        (modern(15, "acme/do", json!({})), Some(Reply::Raw(json!({}).into()))),
        (modern(16, "tools/call", json!({"name": "nope"})), None),
        (modern(17, "no/such", json!({})), None),
        (modern("listen", "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})), None),
    ]
}

/// Everything that a server says in a long conversation, noise included.
fn conversation(make: impl Fn() -> DefinitionBuilder) -> Vec<Value> {
    let mut rig = Rig::new(make().build().unwrap());
    for line in [
        "nonsense",
        "{}",
        "7",
        "[]",
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":7}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
    ] {
        rig.send_bytes(format!("{line}\n").as_bytes());
    }
    rig.send_bytes(b"\xff\xfe\n");
    for (mut request, reply) in requests() {
        request["params"]["_meta"]["progressToken"] = json!("t");
        request["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
        rig.send(request);
        if let Some(reply) = reply {
            let slot = rig.invoked().slot;
            let _ = rig.server.progress(rig.now, slot.id(), &progress(1.0)).unwrap();
            let _ = rig.server.log(rig.now, Some(slot.id()), &log_message(LoggingLevel::Info)).unwrap();
            rig.reply(slot, reply);
        }
    }
    let _ = rig.server.publish(rig.now, &Event::ToolsListChanged);
    rig.server.replace_definition(rig.now, Arc::new(make().tool(tool("more")).build().unwrap()));
    rig.server.close(rig.now);
    rig.drain();
    rig.take()
}

/// M-BASE-02, M-BASE-08, M-BASE-09, M-BASE-14, M-BASE-15, M-BASE-16, M-BASE-18, M-BASE-19, M-BASE-20, M-ERR-02,
/// M-ERR-03, M-ERR-05, M-STDIO-04, M-STDIO-08, M-PAT-01: whatever comes in, what goes out is a result, an error or a
/// notification (never a request), shaped as the revision says, with the codes that it knows. That each is one line of
/// UTF-8 (M-STDIO-02, M-BASE-03) is asserted wherever the rig reads a frame.
#[test]
fn m_base_every_frame_is_a_message_of_a_server() {
    let (mut results, mut errors, mut notifications) = (0, 0, 0);
    for frame in conversation(sealed) {
        let members: Vec<&str> = frame.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(frame["jsonrpc"], "2.0", "{frame}");
        let id = &frame["id"];
        if members.contains(&"method") {
            notifications += 1;
            assert!(frame["method"].as_str().unwrap().starts_with("notifications/"), "{frame}");
            assert!(frame.get("params").is_none_or(Value::is_object), "{frame}");
            assert!(members.iter().all(|name| ["jsonrpc", "method", "params"].contains(name)), "{frame}");
        } else if members.contains(&"result") {
            results += 1;
            assert_eq!(members.len(), 3, "{frame}");
            assert!(id.is_string() || id.is_i64(), "{frame}");
            assert!(
                ["complete", "input_required"].contains(&frame["result"]["resultType"].as_str().unwrap()),
                "{frame}"
            );
        } else {
            errors += 1;
            assert!(frame.get("id").is_none_or(|id| id.is_string() || id.is_i64()), "{frame}");
            let code = frame["error"]["code"].as_i64().unwrap();
            assert!([-32_700, -32_600, -32_601, -32_602, -32_603, 7].contains(&code), "{frame}");
            let message = frame["error"]["message"].as_str().unwrap();
            assert!(!message.is_empty() && message.len() < 200 && !message.contains('\n'), "{frame}");
        }
    }
    assert!(results >= 14 && errors >= 9 && notifications >= 10, "{results} {errors} {notifications}");
}

/// M-ERR-01, M-ERR-15, M-BASE-13, M-BASE-19: each cause has its code, and its error the id of the request if that
/// could be read.
#[test]
fn m_err_01_m_err_15_causes_have_their_codes() {
    let mut rig = Rig::new(definition());
    let mut bad_level = slow(1);
    bad_level["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("loud");
    let mut no_meta = modern(1, "tools/list", json!({}));
    no_meta["params"] = json!({});
    let mut no_params = no_meta.clone();
    no_params.as_object_mut().unwrap().remove("params");
    let mut array = no_meta.clone();
    array["params"] = json!([]);
    let cases = [
        (-32_700, None, "nonsense".to_owned()),
        (-32_700, None, r#"{"jsonrpc":"2.0","id":3,"method":"#.to_owned()),
        (-32_600, None, r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#.to_owned()),
        (-32_600, Some(1), r#"{"jsonrpc":"2.0","id":1}"#.to_owned()),
        (-32_600, Some(1), r#"{"jsonrpc":"2.0","id":1,"method":7}"#.to_owned()),
        (-32_600, None, format!("[{}]", modern(1, "tools/list", json!({})))),
        (-32_601, Some(1), modern(1, "no/such", json!({})).to_string()),
        (-32_601, Some(1), modern(1, "notifications/cancelled", json!({"requestId": 1})).to_string()),
        (-32_602, Some(1), modern(1, "tools/call", json!({"name": "nope"})).to_string()),
        (-32_602, Some(1), modern(1, "prompts/get", json!({"name": "nope"})).to_string()),
        (-32_602, Some(1), modern(1, "prompts/get", json!({"name": "greet"})).to_string()),
        (-32_602, Some(1), modern(1, "tools/list", json!({"cursor": "x"})).to_string()),
        (-32_602, Some(1), bad_level.to_string()),
        (-32_602, Some(1), no_meta.to_string()),
        (-32_602, Some(1), no_params.to_string()),
        (-32_602, Some(1), array.to_string()),
    ];
    for (code, id, line) in cases {
        rig.send_bytes(format!("{line}\n").as_bytes());
        let frame = rig.one();
        assert_eq!(frame["error"]["code"], code, "{line}: {frame}");
        assert_eq!(frame.get("id"), id.map(|id: i64| json!(id)).as_ref(), "{line}: {frame}");
    }
    rig.send(modern(1, "resources/read", json!({"uri": "file:///a"})));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::Failed);
    assert_eq!(rig.one()["error"]["code"], -32_603);
}

/// M-BASE-17: notifications are never answered, whatever is wrong with them.
#[test]
fn m_base_17_notifications_are_not_answered() {
    let mut rig = Rig::new(definition());
    for (method, params) in [
        ("notifications/cancelled", json!({"requestId": 99})),
        ("notifications/cancelled", json!({"requestId": {}})),
        ("notifications/cancelled", json!([])),
        ("notifications/initialized", json!({})),
        ("notifications/roots/list_changed", json!({})),
        ("notifications/progress", json!({"progressToken": 1, "progress": 1})),
        ("notifications/message", json!({})),
        ("no/such", json!({})),
        ("tools/call", json!({"name": "slow"})),
        ("tools/list", json!({"_meta": 7})),
    ] {
        rig.send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
        assert!(rig.frames.is_empty(), "{method} {params}: {:?}", rig.frames);
    }
    assert!(rig.invocations.is_empty());
}

/// M-ERR-05, M-ERR-07: codes of older revisions, and codes that the specification has not given a meaning, do not get
/// out of a handler; a gateway's errors are the other server's.
#[test]
fn m_err_05_07_foreign_codes_of_handlers_are_not_sent() {
    let read = |id| modern(id, "resources/read", json!({"uri": "file:///a"}));
    for (code, sent) in [
        (-32_002, -32_602),
        (-32_042, -32_603),
        (-32_050, -32_603),
        (-32_099, -32_603),
        (-32_023, -32_603),
        (-32_021, -32_021),
        (-32_100, -32_100),
        (-32_602, -32_602),
        (7, 7),
    ] {
        let mut rig = Rig::new(sealed().build().unwrap());
        let error = || ErrorObject::new(ErrorCode(code), "gone").with_data(json!({"uri": "file:///a"}));
        rig.send(read(1));
        let slot = rig.invoked().slot;
        rig.reply(slot, Reply::Error(error()));
        let answer = rig.one();
        assert_eq!(answer["error"]["code"], sent, "{code}");
        let replaced = sent == -32_603;
        assert_eq!(answer["error"].get("data").is_none(), replaced, "{answer}");
        assert_eq!(rig.diagnostics.iter().any(|said| said.kind == DiagnosticKind::Output), replaced);
        rig.send(modern(2, "acme/do", json!({})));
        let slot = rig.invoked().slot;
        rig.reply(slot, Reply::Error(error()));
        assert_eq!(rig.one()["error"]["code"], code);
    }
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({"elicitation": {"url": {}}}));
    rig.send(legacy(1, "resources/read", json!({"uri": "file:///a"})));
    let slot = rig.invoked().slot;
    let page = json!({"mode": "url", "message": "m", "url": "https://e", "elicitationId": "e"});
    let data = json!({"elicitations": [page]});
    rig.reply(slot, Reply::Error(ErrorObject::new(ErrorCode::URL_ELICITATION_REQUIRED, "visit").with_data(data)));
    assert_eq!(rig.one()["error"]["code"], -32_042);
}

/// M-ERR-02, M-ERR-03, M-ERR-04, M-ERR-09: the codes that this crate has are those of the specification; codes of the
/// old range have no meaning but for -32002.
#[test]
fn m_err_02_03_04_codes_of_the_old_range_have_no_meaning() {
    for code in -32_019..=-32_000 {
        assert_eq!(ErrorCode(code).name().is_some(), code == -32_002, "{code}");
        assert!(!ErrorCode(code).is_recognised_modern() && !ErrorCode(code).is_reserved());
        let error = ErrorObject::new(ErrorCode(code), "m");
        assert_eq!(error.is_resource_not_found(), code == -32_002);
    }
    for code in -32_099..=-32_020 {
        let known = [-32_020, -32_021, -32_022, -32_042].contains(&code);
        assert_eq!(ErrorCode(code).name().is_some(), known, "{code}");
        assert!(ErrorCode(code).is_reserved());
        assert_eq!(ErrorCode(code).is_recognised_modern(), known && code != -32_042);
    }
}

/// M-META-15, M-DISC-03: every result says who the server is, unless that is switched off.
#[test]
fn m_meta_15_every_result_names_the_server() {
    for named in [true, false] {
        let frames = conversation(|| sealed().send_identity(named));
        let results: Vec<_> = frames.iter().filter_map(|frame| frame.get("result")).collect();
        assert!(results.len() >= 14);
        for result in results {
            let identity = result.get("_meta").and_then(|meta| meta.get(SERVER_INFO));
            assert_eq!(identity.is_some(), named, "{result}");
            assert!(identity.is_none_or(|identity| *identity == json!({"name": "server", "version": "1.0.0"})));
            assert!(result.get("serverInfo").is_none());
        }
    }
}

/// M-META-01, M-META-09, M-META-16, M-META-17: answers do not depend on who the client says it is, nor on what stands
/// under other reserved keys; none of it is needed.
#[test]
fn m_meta_09_16_17_answers_do_not_depend_on_names() {
    let answers = |extra: Value| {
        let mut rig = Rig::new(sealed().build().unwrap());
        let mut seen = Vec::new();
        for (mut request, reply) in requests() {
            for (key, value) in extra.as_object().unwrap() {
                request["params"]["_meta"][key] = value.clone();
            }
            rig.send(request.clone());
            if let Some(reply) = reply {
                let slot = rig.invoked().slot;
                rig.reply(slot, reply);
            }
            if let Some(state) = rig.frames.last().and_then(|frame| frame["result"].get("requestState")).cloned() {
                request["params"]["requestState"] = state;
                rig.send(request);
                let slot = rig.invoked().slot;
                rig.reply(slot, text("done"));
            }
            seen.append(&mut rig.take());
        }
        seen
    };
    let info = "io.modelcontextprotocol/clientInfo";
    let plain = answers(json!({}));
    for extra in [
        json!({info: {"name": "admin", "version": "1"}}),
        json!({info: {"name": "", "version": "", "title": "x", "later": [1]}}),
        json!({info: 7}),
        json!({"io.modelcontextprotocol/later": [1, {}], "dev.mcp/x": null, "traceparent": 7, "com.example/y": "z"}),
    ] {
        assert_eq!(answers(extra.clone()), plain, "{extra}");
    }
}

/// M-META-12, M-STATE-01, M-STATE-06, M-ERR-12: what an earlier request on the same connection declared is forgotten.
#[test]
fn m_state_01_nothing_is_remembered_of_earlier_requests() {
    let mut rig = Rig::new(definition());
    let mut rich = with_capabilities(1, "tools/call", json!({"name": "slow"}), json!({"elicitation": {}}));
    rich["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "rich", "version": "1"});
    rig.send(rich);
    let invocation = rig.invoked();
    assert_eq!(invocation.context.client_info().unwrap().name, "rich");
    rig.reply(invocation.slot, ask(vec![("who", form().into())]));
    assert_eq!(rig.one()["result"]["resultType"], "input_required");
    rig.send(slow(2));
    let invocation = rig.invoked();
    assert!(invocation.context.client_info().is_none());
    assert!(!invocation.context.client_capabilities().has_form());
    rig.reply(invocation.slot, ask(vec![("who", form().into())]));
    let error = rig.one();
    assert_eq!(error["error"]["code"], -32_021);
    assert_eq!(error["error"]["data"], json!({"requiredCapabilities": {"elicitation": {"form": {}}}}));
    let mut unversioned = slow(3);
    unversioned["params"]["_meta"].as_object_mut().unwrap().remove("io.modelcontextprotocol/protocolVersion");
    rig.send(unversioned);
    assert_eq!(rig.one()["error"]["code"], -32_602);
}

/// M-STATE-02, M-VER-12: requests of several conversations, and of both eras, are in flight at once and answered in any
/// order.
#[test]
fn m_state_02_m_ver_12_conversations_interleave() {
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({}));
    rig.send(legacy(1, "tools/call", json!({"name": "slow"})));
    rig.send(slow(2));
    rig.send(modern(3, "resources/read", json!({"uri": "file:///a"})));
    rig.send(slow("2"));
    let mut open = std::mem::take(&mut rig.invocations);
    let expected = [("\"2\"", true), ("3", true), ("2", true), ("1", false)];
    for (id, stamped) in expected {
        let Invocation { slot, call, .. } = open.pop().unwrap();
        let reply = match call {
            Call::Read { .. } => Reply::Resource(ReadResourceResult::text("file:///a", "text/plain", id)),
            _ => text(id),
        };
        rig.reply(slot, reply);
        let answer = rig.one();
        assert_eq!(answer["id"].to_string(), id);
        assert_eq!(answer["result"].get("resultType").is_some(), stamped);
        assert!(answer.to_string().contains(&json!(id).to_string()), "{answer}");
    }
}

/// M-STATE-03, M-STATE-05: state travels in an explicit token, which any process with the key opens.
#[test]
fn m_state_03_05_another_process_goes_on() {
    let made = |key: u8, seed: u8| {
        let definition = builder().seal(SealKeys::new([key; 32])).build().unwrap();
        let mut rig = Rig::new(builder().build().unwrap());
        rig.server = Server::new(Arc::new(definition), Seed([seed; 32]));
        rig
    };
    let mut first = made(3, 1);
    first.send(slow(1));
    let slot = first.invoked().slot;
    let asked = InputRequired { state: Some("page 2".to_owned()), ..InputRequired::default() };
    first.reply(slot, Reply::InputRequired(asked));
    let mut retry = slow(2);
    retry["params"]["requestState"] = first.one()["result"]["requestState"].clone();
    let mut second = made(3, 2);
    second.send(retry.clone());
    assert_eq!(second.invoked().context.state(), Some("page 2"));
    let mut stranger = made(4, 2);
    stranger.send(retry);
    assert_eq!(stranger.one()["error"]["code"], -32_602);
}

/// M-VER-04, M-VER-05: an extension that the client has not declared is refused by name, or done without.
#[test]
fn m_ver_05_missing_extensions_are_refused_by_name() {
    let required = ClientCapabilities::new().with_extension("com.example/x", json!({})).unwrap();
    let mut rig = Rig::new(definition());
    rig.send(slow(1));
    let invocation = rig.invoked();
    assert!(invocation.context.client_capabilities().extension("com.example/x").is_none());
    let error = invocation.context.require_capabilities(&required).unwrap_err();
    rig.reply(invocation.slot, Reply::Error(error));
    let answer = rig.one();
    assert_eq!(answer["error"]["code"], -32_021);
    assert_eq!(answer["error"]["data"], json!({"requiredCapabilities": {"extensions": {"com.example/x": {}}}}));
    let declared = json!({"extensions": {"com.example/x": {"level": 2}}});
    rig.send(with_capabilities(2, "tools/call", json!({"name": "slow"}), declared));
    let context = rig.invoked().context;
    assert!(context.require_capabilities(&required).is_ok());
    let error = context.require_capability("sampling.tools").unwrap_err();
    assert_eq!(error.data.unwrap().get(), r#"{"requiredCapabilities":{"sampling":{"tools":{}}}}"#);
    assert!(context.require_capability("no.such.thing").is_err());
    assert_eq!(context.client_capabilities().extension("com.example/x").unwrap().get(), r#"{"level":2}"#);
}

/// M-META-19: what a handler gets of a trace context is well-formed.
#[test]
fn m_meta_19_malformed_trace_context_is_dropped() {
    let parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    for (meta, expected) in [
        (
            json!({"traceparent": parent, "tracestate": "a=1", "baggage": "k=v"}),
            [Some(parent), Some("a=1"), Some("k=v")],
        ),
        (json!({"traceparent": parent, "tracestate": "A=1", "baggage": "no bag"}), [Some(parent), None, None]),
        (json!({"traceparent": "00-1-2-3", "tracestate": "a=1", "baggage": 7}), [None, None, None]),
        (json!({}), [None, None, None]),
    ] {
        let mut rig = Rig::new(definition());
        rig.send(modern(1, "tools/call", json!({"name": "slow", "_meta": meta})));
        let trace = rig.invoked().context.trace_context();
        assert_eq!([trace.traceparent.as_deref(), trace.tracestate.as_deref(), trace.baggage.as_deref()], expected);
    }
}
