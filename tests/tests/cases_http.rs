//! The cases from real reports that need HTTP, under their ids `O..`. Machines are fed with heads and bytes, whole and
//! byte by byte; no test has a socket.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::client::{Action, CallError, List, Request};
use mcp_sansio::http::client::ExchangeError;
use mcp_sansio::http::server::Options;
use mcp_sansio::http::sse;
use mcp_sansio::json::Json;
use mcp_sansio::model::{ReadResourceResult, Resource, Tool};
use mcp_sansio::server::{Definition, DefinitionBuilder, Reply};
use mcp_sansio::spec::Version;
use mcp_sansio_tests::frames::{call, modern, request};
use mcp_sansio_tests::guest::{EVENTS, Guest, config, header, message};
use mcp_sansio_tests::site::{Site, whole_and_split};
use serde_json::{Value, json};

fn builder() -> DefinitionBuilder {
    let add = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    Definition::builder("server", "1.0.0")
        .tool(Tool::new("slow"))
        .tool(Tool::new("add").input_schema(add))
        .resource(Resource::new("file", "file:///data/文件.txt"))
}

fn definition() -> Definition {
    builder().build().unwrap()
}

fn modern_only() -> Definition {
    builder().versions(&[Version::V2026_07_28]).build().unwrap()
}

/// O05: an id is a string or an integer; `null` makes no notification of a request. M-BASE-04, M-BASE-05
#[test]
fn o05_null_and_fractional_ids() {
    whole_and_split(|site| {
        for definition in [definition(), modern_only()] {
            let mut site = site(definition, Options::default());
            for id in [json!(null), json!(1.5)] {
                let answer = site.modern(&modern(id, "tools/list", json!({})), &[]);
                assert_eq!(site.refusal(answer), (400, -32600, None));
                let params = json!({"name": "slow", "arguments": {}});
                let answer = site.modern(&modern(Value::Null, "tools/call", params), &[]);
                assert_eq!(site.refusal(answer), (400, -32600, None));
            }
            site.idle();
        }
    });
}

/// O06: the same id twice in one session: the second is refused, the first has its answer, a third may have the id.
#[test]
fn o06_the_same_id_twice() {
    whole_and_split(|site| {
        let mut site = site(definition(), Options::default());
        let id = site.open("2025-11-25", json!({}));
        let slow = |k: &str| request(1, "tools/call", json!({"name": "slow", "arguments": {"k": k}}));
        let a = site.legacy(Some(&id), &slow("a"));
        let first = site.invocation();
        let b = site.legacy(Some(&id), &slow("b"));
        let (status, code, _) = site.refusal(b);
        assert_eq!((status, code), (400, -32600));
        site.idle();
        assert_eq!(site.status(a), 0, "it goes on");
        site.reply(first, Reply::Tool(mcp_sansio::model::CallToolResult::text("a")));
        assert_eq!(site.only(a)["result"]["content"][0]["text"], "a");
        let c = site.legacy(Some(&id), &slow("c"));
        site.answer("c");
        assert_eq!(site.only(c)["result"]["content"][0]["text"], "c");
    });
}

/// O06, two sessions: the same id is no clash, and each has its own answer.
#[test]
fn o06_the_same_id_in_two_sessions() {
    let mut site = Site::new(definition(), Options::default());
    let sessions = [site.open("2025-11-25", json!({})), site.open("2025-06-18", json!({}))];
    let answers = sessions
        .each_ref()
        .map(|id| site.legacy(Some(id), &request(1, "tools/call", json!({"name": "slow", "arguments": {"k": id}}))));
    let (first, second) = (site.invocation(), site.invocation());
    site.reply(second, Reply::Tool(mcp_sansio::model::CallToolResult::text("second")));
    assert_eq!(site.status(answers[0]), 0);
    site.reply(first, Reply::Tool(mcp_sansio::model::CallToolResult::text("first")));
    assert_eq!(answers.map(|answer| site.only(answer)["result"]["content"][0]["text"].clone()), ["first", "second"]);
}

/// The stream of O09, with the id of the request, which has one digit.
fn o09_stream(id: &Value, ending: &str) -> String {
    let text = format!(
        "\u{feff}: hello\n\nid: s1-1\ndata:\n\nretry: 2500\nevent: message\nid: s1-2\n\
         data: {{\"jsonrpc\":\"2.0\",\ndata: \"id\":{id},\"result\":{{\"tools\":[]}}}}\n\n:\n\n"
    );
    assert_eq!(text.replace('\n', "\r\n").len(), 141);
    text.replace('\n', ending)
}

/// O09: a stream with everything in it is one message, in each of the three line ends, however it is cut. L-HTTP-06,
/// L-HTTP-07
#[test]
fn o09_a_stream_with_everything_in_it() {
    for ending in ["\r\n", "\n", "\r"] {
        for cut in [usize::MAX, 1, 2, 3, 5, 7, 64] {
            let mut guest = Guest::legacy(config(), Version::V2025_11_25, "s-1");
            guest.cut = cut;
            let call = guest.call(Request::list(List::Tools, None));
            let fetch = guest.fetch();
            guest.head(&fetch, 200, EVENTS);
            guest.body(&fetch, o09_stream(&message(&fetch)["id"], ending).as_bytes());
            assert_eq!(guest.done(call).unwrap().json().get(), r#"{"tools":[]}"#);
            guest.end(&fetch);
            guest.quiet();
            assert!(guest.remarks().is_empty());
            // The same seen by the decoder: one message, the last id, and the time to wait.
            let mut decoder = sse::Decoder::new(1_000);
            let mut messages = 0;
            for part in o09_stream(&json!(3), ending).as_bytes().chunks(cut) {
                let mut bytes = Bytes::copy_from_slice(part);
                while let Some(event) = decoder.next(&mut bytes).unwrap() {
                    messages += usize::from(!event.data.is_empty());
                }
            }
            assert_eq!(messages, 1);
            assert_eq!(decoder.last_event_id().map(|id| &**id), Some("s1-2"));
            assert_eq!(decoder.retry(), Some(Duration::from_millis(2_500)));
        }
    }
}

/// O09, cut short: what the stream has said of itself is kept to: 2,500 ms, then the event that was read last.
/// L-HTTP-09, L-HTTP-10, L-HTTP-22
#[test]
fn o09_a_stream_that_ends_before_its_answer_is_resumed() {
    for cut in [usize::MAX, 1] {
        let mut guest = Guest::legacy(config(), Version::V2025_11_25, "s-1");
        guest.cut = cut;
        let call = guest.call(Request::list(List::Tools, None));
        let fetch = guest.fetch();
        guest.head(&fetch, 200, EVENTS);
        let whole = o09_stream(&message(&fetch)["id"], "\r\n");
        let (before, _) = whole.split_once("data: \"id\"").unwrap();
        guest.body(&fetch, before.as_bytes());
        guest.end(&fetch);
        guest.quiet();
        assert_eq!(guest.due().0, Duration::from_millis(2_500));
        guest.pass(Duration::from_millis(2_499));
        guest.quiet();
        guest.pass(Duration::from_millis(1));
        let resumed = guest.fetch();
        assert_eq!(resumed.method.as_str(), "GET");
        assert_eq!(header(&resumed, "last-event-id"), Some("s1-1"), "the other event was not whole");
        guest.head(&resumed, 200, EVENTS);
        let (_, rest) = whole.split_once("retry").unwrap();
        guest.body(&resumed, format!("retry{rest}").as_bytes());
        guest.done(call).unwrap();
        guest.end(&resumed);
        guest.quiet();
    }
}

/// O10: a session that is gone is replaced, and the request goes out once more. L-SESS-07
#[test]
fn o10_a_lost_session_is_replaced_once() {
    for lost_again in [false, true] {
        let mut guest = Guest::legacy(config(), Version::V2025_11_25, "old");
        let call = guest.call(Request::list(List::Tools, None));
        let fetch = guest.fetch();
        assert_eq!(header(&fetch, "mcp-session-id"), Some("old"));
        guest.respond(&fetch, 404, &[("content-type", "text/plain")], b"gone");
        let initialize = guest.fetch();
        guest.open(&initialize, Version::V2025_11_25, "new");
        assert!(matches!(guest.event(), Action::Renewed(_)));
        let again = guest.fetch();
        assert_eq!((&message(&again)["method"], header(&again, "mcp-session-id")), (&json!("tools/list"), Some("new")));
        assert_ne!(message(&again)["id"], message(&fetch)["id"]);
        if lost_again {
            guest.respond(&again, 404, &[], b"");
            let outcome = guest.done(call);
            assert!(matches!(outcome, Err(CallError::Exchange(ExchangeError::SessionLost))), "{outcome:?}");
        } else {
            guest.answer(&again, json!({"tools": []}));
            guest.done(call).unwrap();
        }
        guest.quiet();
    }
}

const O12_NAME: &str = "=?base64?ZmlsZTovLy9kYXRhL+aWh+S7ti50eHQ=?=";

/// O12: an encoded name is decoded before it is compared; what cannot be decoded, is spelled otherwise or is missing is
/// refused. M-HDR-14, M-HDR-15, M-HDR-17, M-ENC-04, M-ENC-07
#[test]
fn o12_encoded_names() {
    whole_and_split(|site| {
        let mut site = site(modern_only(), Options::default());
        let read = modern(2, "resources/read", json!({"uri": "file:///data/文件.txt"}));
        let answer = site.modern(&read, &[("Mcp-Name", O12_NAME)]);
        let invocation = site.invocation();
        let contents = ReadResourceResult::text("file:///data/文件.txt", "text/plain", "x");
        site.reply(invocation, Reply::Resource(contents));
        assert_eq!(site.only(answer)["result"]["contents"][0]["text"], "x");
        for wrong in ["=?base64?%%%?=", "=?BASE64?ZmlsZTovLy9kYXRhL+aWh+S7ti50eHQ=?=", "-"] {
            let answer = site.modern(&read, &[("Mcp-Name", wrong)]);
            assert_eq!(site.refusal(answer), (400, -32020, Some(json!(2))), "{wrong}");
        }
        site.idle();
    });
}

/// O12, the client's side: what no header can carry is encoded, and so is what looks as if it were. M-HDR-10, M-ENC-06
#[test]
fn o12_names_are_encoded_by_the_client() {
    let mut guest = Guest::modern(config());
    for (request, name) in [
        (Request::read_resource("file:///data/文件.txt"), O12_NAME),
        (Request::get_prompt("=?base64?literal?=", &Json::EMPTY_OBJECT), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        (Request::get_prompt("plain", &Json::EMPTY_OBJECT), "plain"),
    ] {
        guest.call(request);
        assert_eq!(header(&guest.fetch(), "mcp-name"), Some(name));
    }
}

/// O12, both sides: what our client sends is what our server reads.
#[test]
fn o12_the_client_is_understood_by_the_server() {
    for name in ["plain", "größe", " padded ", "=?base64?literal?=", "tab\tinside", "line\nbreak", ""] {
        let mut guest = Guest::modern(config());
        let (_, fetch) = guest.tool(name, json!({}));
        let tools = builder().tool(Tool::new(name)).build();
        let headers: Vec<_> = fetch
            .headers
            .iter()
            .map(|(name, value)| (name, std::str::from_utf8(value).unwrap()))
            .chain([("host", "localhost")])
            .collect();
        // Names that no tool may have are unknown: their headers fit all the same.
        let known = tools.is_ok();
        let mut site = Site::new(tools.unwrap_or_else(|_| definition()), Options::default());
        let answer = site.send("POST", &headers, &fetch.body);
        if known {
            site.answer("x");
            assert_eq!(site.status(answer), 200, "{name:?}");
        } else {
            assert_eq!(site.refusal(answer).1, -32602, "{name:?}");
        }
    }
}

/// O19: which error it is, with which status. M-HDR-05, M-TOOL-23, M-TOOL-24, M-META-10, M-META-11
#[test]
fn o19_which_error_it_is() {
    whole_and_split(|site| {
        let mut site = site(modern_only(), Options::default());
        let answer = site.modern(&modern(31, "tools/frobnicate", json!({})), &[]);
        assert_eq!(site.refusal(answer), (404, -32601, Some(json!(31))));
        let answer = site.modern(&call(32, "nope", json!({})), &[]);
        let (_, code, id) = site.refusal(answer);
        assert_eq!((code, id), (-32602, Some(json!(32))));
        let answer = site.modern(&call(33, "add", json!([1])), &[]);
        let (_, code, id) = site.refusal(answer);
        assert_eq!((code, id), (-32602, Some(json!(33))));
        let answer = site.modern(&call(34, "add", json!({"a": "x"})), &[]);
        let result = site.only(answer);
        assert_eq!((site.status(answer), &result["id"], &result["result"]["isError"]), (200, &json!(34), &json!(true)));
        assert!(result["result"]["content"][0]["text"].as_str().unwrap().contains('a'));
        let answer = site.modern(&request(35, "tools/list", json!({})), &[]);
        assert_eq!(site.refusal(answer), (400, -32602, Some(json!(35))));
        site.idle();
    });
}
