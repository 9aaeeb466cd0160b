//! Heads: whatever a peer sends is judged, and what a client writes into headers is what a server reads.
//!
//! | half | input | promise |
//! |---|---|---|
//! | raw | method, target, headers, body | no panic; one answer, with a status that HTTP knows |
//! | mirror | a name | the head that a client makes of it agrees with its body, whatever the name holds |
//! | forge | a name and a header | the header passes only if it carries the name |

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use mcp_sansio::client::{CallOptions, Config, Connect, Request};
use mcp_sansio::http::client::{Action, Endpoint, HttpClient, Input};
use mcp_sansio::http::server::Options;
use mcp_sansio::json::Json;
use mcp_sansio::machine::Now;
use mcp_sansio::model::Implementation;
use mcp_sansio::server::Definition;
use mcp_sansio::testing::{HttpFront, HttpRequest};
use serde_json::{Value, json};

use crate::Signature;
use crate::input::Choices;

const NAMES: &[&str] = &[
    "accept",
    "Accept",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-param-a",
    "MCP-Protocol-Version",
    "mcp-session-id",
    "origin",
    "Mcp-Param-",
    "x",
    "",
];

const VALUES: &[&str] = &[
    "application/json",
    "application/json, text/event-stream",
    "text/event-stream;q=0",
    "*/*",
    "localhost",
    "localhost:99999",
    "[::1]:80",
    "http://localhost:3000",
    "null",
    "2026-07-28",
    "2025-11-25",
    "tools/call",
    "echo",
    "=?base64?ZWNobw==?=",
    "=?base64?=",
    "=?base64??=",
    "18446744073709551616",
    "-1",
    "0-0",
    "99999999999999999999-1",
    "00000000000000000000000000000000",
    "http://[::1",
];

/// Runs one input: which half, then what it is about.
pub fn run(input: &[u8]) -> Signature {
    let mut choices = Choices::new(input);
    let mut signature = Signature::new();
    match choices.below(3) {
        0 => raw(&mut choices, &mut signature),
        1 => mirror(&mut choices, &mut signature),
        _ => forge(&mut choices, &mut signature),
    }
    signature
}

fn definition() -> Arc<Definition> {
    static DEFINITION: LazyLock<Arc<Definition>> = LazyLock::new(super::server::definition);
    Arc::clone(&DEFINITION)
}

fn raw(choices: &mut Choices<'_>, signature: &mut Signature) {
    let options = match choices.below(4) {
        0 => Options::default(),
        1 => Options::default().stateless(),
        2 => Options::default().json_answers(),
        _ => Options::default().sse_pair("/sse", "/messages"),
    };
    let mut front = HttpFront::new(definition(), options);
    let method = choices.pick(&["POST", "GET", "DELETE", "PUT", "post", ""]).unwrap_or_default();
    let target = choices.pick(&["/mcp", "/sse", "/messages?sessionId=", "/messages?sessionId=0&sessionId=%", "*", ""]);
    let mut request = HttpRequest::new(method, target.unwrap_or_default());
    if choices.below(4) == 0 {
        request.headers = mcp_sansio::http::Headers::new();
    }
    if choices.below(2) == 0 {
        request = request.header("content-type", "application/json").header("accept", "*/*");
    }
    for _ in 0..choices.below(8) {
        let name = choices.pick(NAMES).unwrap_or_default();
        let value = match choices.below(3) {
            0 => Bytes::copy_from_slice(choices.slice()),
            _ => Bytes::from_static(choices.pick(VALUES).unwrap_or_default().as_bytes()),
        };
        request = request.header(name, value);
    }
    let ask = front.begin(Now::default(), &request);
    signature.note(if front.wants_body(ask) { "body" } else { "head" });
    front.body(Now::default(), ask, Bytes::copy_from_slice(choices.slice()));
    front.body(Now::default(), ask, Bytes::copy_from_slice(choices.rest()));
    front.end(Now::default(), ask);
    let (status, body, over) = front.read(Now::default(), ask);
    if let Some(status) = status {
        assert!((200..600).contains(&status), "{status}");
        signature.note(&status.to_string());
    }
    assert!(!front.wants_body(ask));
    // Where the old event stream is, what is no GET is refused without a word of the protocol.
    let is_silent = status == Some(405) && body.is_empty();
    if over && !is_silent && status.is_some_and(|status| status >= 400) {
        let error: Value = serde_json::from_slice(&body).unwrap_or_else(|error| panic!("no JSON: {error}"));
        let code = error["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {error}"));
        signature.note(&code.to_string());
    }
}

/// The head and the body of a request about something of this name.
fn fetch(name: &str, tool: bool) -> (HttpRequest, Bytes) {
    let now = Now::default();
    let config = Config::new(Implementation::new("c", "1")).connect(Connect::Modern);
    let endpoint = Endpoint::new("http://localhost/mcp").unwrap_or_else(|error| panic!("{error}"));
    let mut client = HttpClient::over_http(config, endpoint).unwrap_or_else(|error| panic!("{error}"));
    client.connect(now).unwrap_or_else(|error| panic!("{error}"));
    let request = if tool { Request::call_tool(name, &Json::EMPTY_OBJECT) } else { Request::read_resource(name) };
    client.call(now, request, CallOptions::new()).unwrap_or_else(|error| panic!("{error}"));
    let discovered = json!({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete",
        "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "resources": {}}}});
    while let Some(action) = client.poll_action() {
        let Action::Fetch(fetch) = action else { continue };
        if fetch.headers.get("mcp-name").is_some() {
            return (HttpRequest::of(&fetch), fetch.body.clone());
        }
        let headers = [("content-type", "application/json")].into_iter().collect();
        let body = Bytes::from(discovered.to_string());
        for input in [
            Input::Head { fetch: fetch.id, status: 200, headers },
            Input::Body { fetch: fetch.id, bytes: body },
            Input::End { fetch: fetch.id },
        ] {
            client.handle(now, input).unwrap_or_else(|error| panic!("{error}"));
        }
    }
    panic!("the client asks for nothing of the name {name:?}");
}

/// The code of the error that a server answers a request with; 0 if it has none.
fn code(request: &HttpRequest, body: Bytes) -> i64 {
    let mut front = HttpFront::new(definition(), Options::default());
    let ask = front.ask(Now::default(), request, body);
    let (_, body, _) = front.read(Now::default(), ask);
    serde_json::from_slice(&body).map_or(0, |answer: Value| answer["error"]["code"].as_i64().unwrap_or(0))
}

const MISMATCH: i64 = -32020;

fn mirror(choices: &mut Choices<'_>, signature: &mut Signature) {
    let tool = choices.below(2) == 0;
    let name = String::from_utf8_lossy(choices.rest()).into_owned();
    let (request, body) = fetch(&name, tool);
    let header = request.headers.get("mcp-name").map(<[u8]>::to_vec).unwrap_or_default();
    assert!(header.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~')), "no header carries {header:?}");
    let code = code(&request, body);
    assert_ne!(code, MISMATCH, "the name {name:?} became {header:?}");
    signature.note(if header.starts_with(b"=?base64?") { "encoded" } else { "plain" });
    signature.note(&code.to_string());
}

fn forge(choices: &mut Choices<'_>, signature: &mut Signature) {
    let name = String::from_utf8_lossy(choices.slice()).into_owned();
    let forged = choices.rest();
    let (mut request, body) = fetch(&name, true);
    let honest = request.headers.get("mcp-name").map(<[u8]>::to_vec).unwrap_or_default();
    let others = request.headers.iter().filter(|(known, _)| *known != "mcp-name");
    let kept = others.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    request.headers = kept;
    request.headers.push("mcp-name", Bytes::copy_from_slice(forged));
    let passes = code(&request, body) != MISMATCH;
    let padding = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = forged.iter().position(|byte| !padding(byte)).unwrap_or(forged.len());
    let end = forged.iter().rposition(|byte| !padding(byte)).map_or(start, |last| last + 1);
    let trimmed = forged.get(start..end).unwrap_or_default();
    // The name itself, or the name in Base64, which may be spelled where it need not.
    let spelled = carried(trimmed).is_some_and(|carried| carried == name);
    if passes {
        assert!(spelled, "{forged:?} passes for {name:?}");
    }
    if trimmed == honest {
        assert!(passes, "{forged:?} does not pass for {name:?}");
    }
    signature.note(if passes { "passes" } else { "refused" });
    signature.note(if trimmed.starts_with(b"=?base64?") { "base64" } else { "plain" });
}

/// What a header says, by a second reading of the specification.
fn carried(header: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(header).ok()?;
    let inner = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let Some(inner) = inner else { return Some(text.to_owned()) };
    let mut bits = 0_u32;
    let (mut count, mut out) = (0, Vec::new());
    for byte in inner.trim_end_matches('=').bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(digit)) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    String::from_utf8(out).ok()
}
