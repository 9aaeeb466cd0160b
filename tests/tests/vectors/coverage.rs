//! What the vectors cover, and that nothing of it goes missing.
//!
//! | what | by |
//! |---|---|
//! | every method, in every era that has it | role, transport |
//! | every revision | role, transport |
//! | every error code | role, transport |
//! | every status of HTTP | role |
//! | every kind of step, deadline, remark, end and failure | role, transport |
//! | every option and every fixture | – |

use std::collections::{BTreeMap, BTreeSet};

use mcp_sansio::spec::{Era, Method, Version, meta};
use mcp_sansio::testing::{Carrier, Feed, Frame, Side, Transcript};
use mcp_sansio_tests::vectors::{FIXTURES, VECTORS, all, play};
use serde_json::Value;

/// What is covered, each with a vector that shows it.
type Covered = BTreeMap<String, String>;

fn place(transcript: &Transcript) -> String {
    let transport = if transcript.transport == Carrier::Http { "http" } else { "stdio" };
    let role = if transcript.role == Side::Server { "server" } else { "client" };
    format!("{role} {transport}")
}

/// The eras of the messages of a conversation, as far as they can be told: what has no envelope is modern where no
/// session is opened, and legacy where one is and no request is modern.
struct Eras {
    modern: bool,
    legacy: bool,
    role: Side,
}

impl Eras {
    fn of(frames: &[Frame], transcript: &Transcript) -> Self {
        let messages: Vec<Value> = frames.iter().filter_map(|frame| serde_json::from_str(&frame.text).ok()).collect();
        let requests = || messages.iter().filter(|message| message["id"] != Value::Null);
        let modern = requests().any(claims);
        let stateless = transcript.http.get().contains("stateless");
        let legacy =
            stateless || transcript.session.is_some() || requests().any(|message| message["method"] == "initialize");
        Self { modern, legacy, role: transcript.role }
    }

    fn era(&self, message: &Value) -> Option<Era> {
        let in_stream = message["params"]["_meta"].get(meta::SUBSCRIPTION_ID).is_some();
        match (self.modern, self.legacy) {
            _ if claims(message) || in_stream => Some(Era::Modern),
            (true, false) => Some(Era::Modern),
            (false, _) => Some(Era::Legacy),
            // A request without an envelope is legacy. A notification may be either, but for a client, which has probed
            // and gone back.
            (true, true) if self.role == Side::Client => Some(Era::Legacy),
            (true, true) => message.get("id").map(|_| Era::Legacy),
        }
    }
}

fn claims(message: &Value) -> bool {
    message["params"]["_meta"].get(meta::PROTOCOL_VERSION).is_some()
}

fn parts(frame: &Frame) -> Vec<Value> {
    match serde_json::from_str(&frame.text) {
        Ok(Value::Array(parts)) => parts,
        Ok(message) => vec![message],
        Err(_) => Vec::new(),
    }
}

/// Everything that one vector covers.
fn covers(transcript: &Transcript, file: &Value) -> BTreeSet<String> {
    let place = place(transcript);
    let frames = play(transcript, Feed::Whole).unwrap_or_default();
    let eras = Eras::of(&frames, transcript);
    let mut all = BTreeSet::from([format!("fixture {}", transcript.fixture)]);
    let mut put = |text: String| {
        all.insert(format!("{place} {text}"));
    };
    for frame in &frames {
        for message in parts(frame) {
            if let (Some(method), Some(era)) = (message["method"].as_str(), eras.era(&message)) {
                put(format!("{} {method}", format!("{era:?}").to_lowercase()));
            }
            if let Some(code) = message["error"]["code"].as_i64() {
                put(format!("code {code}"));
            }
            let asked = &message["params"]["_meta"][meta::PROTOCOL_VERSION];
            for version in [asked, &message["result"]["protocolVersion"]].into_iter().filter_map(Value::as_str) {
                put(format!("version {version}"));
            }
        }
    }
    if let Some(session) = &transcript.session {
        put("session".to_owned());
        put(format!("version {}", session.version));
    }
    for name in file["http"].as_object().into_iter().flat_map(serde_json::Map::keys) {
        put(format!("option {name}"));
    }
    for step in file["steps"].as_array().unwrap() {
        for (name, value) in step.as_object().unwrap() {
            put(format!("step {name}"));
            match &**name {
                "timeout" => put(format!("timer {}", value["kind"].as_str().unwrap())),
                "diagnostic" | "closed" | "exchange" | "failure" | "sent" => {
                    put(format!("{name} {}", value.as_str().unwrap()));
                }
                "error" if value.is_string() => put(format!("failed {}", value.as_str().unwrap())),
                "answer" | "stream" if value.is_object() => {
                    put(format!("status {}", value["status"].as_u64().unwrap_or(200)))
                }
                "ask" => put(format!("method {}", value["method"].as_str().unwrap_or("POST"))),
                "fetch" => put(format!("method {}", value["method"].as_str().unwrap())),
                "reply" if transcript.role == Side::Server => {
                    put(format!("reply {}", value.as_object().unwrap().keys().next().unwrap()));
                }
                _ => {}
            }
        }
    }
    all
}

fn covered() -> Covered {
    let mut all_of_them = Covered::new();
    for transcript in all() {
        let file: Value = serde_json::from_str(&VECTORS[&transcript.name]).unwrap();
        for what in covers(&transcript, &file) {
            all_of_them.entry(what).or_insert_with(|| transcript.name.clone());
        }
    }
    all_of_them
}

/// Methods that a transport does not carry in an era, and why.
const ABSENT: &[(&str, &str, &str)] =
    &[("client http modern", "notifications/cancelled", "a request is cancelled by closing its exchange")];

const PLACES: [&str; 4] = ["server stdio", "server http", "client stdio", "client http"];
const REMARKS: &[&str] =
    &["deprecated", "ignored", "invalid_frame", "limit", "muted", "output", "refused", "request_state"];

/// Words that must be covered at each of some places.
const WANTED: &[(&[&str], &str, &str)] = &[
    (&PLACES, "", "session|step timeout|step idle|step advance_ms|step close|step diagnostic|step invalid"),
    (&PLACES, "closed", "requested"),
    (&["server stdio", "client stdio"], "closed", "end_of_input|failed"),
    (&["client stdio", "client http"], "closed", "not_connected"),
    (&["client http"], "closed", "end_of_input"),
    // ---- Servers.
    (&["server stdio"], "code", "-32700|-32600|-32601|-32602|-32603|-32002|-32021|-32022|-1|-32042"),
    (&["server http"], "code", "-32700|-32600|-32601|-32602|-32603|-32002|-32020|-32021|-32022"),
    (&["server http"], "status", "200|202|204|400|403|404|405|406|408|413|415|503"),
    (&["server http"], "method", "POST|GET|DELETE|PUT|OPTIONS|HEAD|PATCH"),
    (&["server stdio", "server http"], "reply", "tool|prompt|resource|completion|input|error|failed|raw"),
    (&["server stdio"], "reply", "list|state_used"),
    (&["server stdio", "server http"], "sent", "yes|not_wanted"),
    (&["server http"], "sent", "full"),
    (&["server stdio", "server http"], "failure", "timed_out|gone"),
    (&["server stdio"], "timer", "drain|invocation"),
    (&["server http"], "timer", "keep_alive|idle|invocation"),
    (
        &["server stdio", "server http"],
        "step",
        "invoke|as|reply|to|cancelled|reason|notified|answered|abandon|report|of|sent|log|notify|publish|request|\
         timeout_ms|refused|cancel_request",
    ),
    (
        &["server http"],
        "step",
        "ask|open|more|body|end|give_up|broken|disconnect|stall|answer|stream|event|comment|finished|on|\
         close_stream|quiet",
    ),
    (&["server http"], "option", "stateless|json_answers|keep_alive_ms|replay|hosts|origins|sse_pair"),
    // ---- Clients.
    (&["client stdio"], "code", "-32700|-32600|-32601|-32602|-32603|-32022"),
    (&["client http"], "code", "-32600|-32601|-32602|-32603|-32020|-32022|-32000"),
    (&["client http"], "status", "200|202|204|301|302|303|307|308|400|401|403|404|405|413|429|500|503"),
    (&["client http"], "method", "POST|GET|DELETE"),
    (
        &["client stdio"],
        "failed",
        "remote|timed_out_idle|timed_out_hard|cancelled|disconnected|invalid_result|output_invalid|input_unsupported|\
         input_refused|rounds_exceeded|bound_exceeded|incompatible|not_in_version|capability_missing",
    ),
    (&["client http"], "failed", "remote|timed_out_idle|timed_out_hard|cancelled|disconnected|exchange|mirror"),
    (
        &["client http"],
        "exchange",
        "status|redirected|unauthorized|content_type|too_long|malformed|ended|not_sent|broken|session_lost",
    ),
    (&["client stdio", "client http"], "timer", "probe|call_idle"),
    (&["client http"], "timer", "call_hard|backoff|stream|drain"),
    (
        &["client stdio", "client http"],
        "step",
        "connected|done|result|error|code|progress|need_input|notified|listening|connect|call|options|walk|listen|\
         cancel|supply|answer|notify|roots_changed|cached",
    ),
    (&["client stdio"], "step", "cancelled_input|invoke|reply|cancelled_invoke|retry|responses|set_level|limit|data"),
    (
        &["client http"],
        "step",
        "fetch|abort|unauthorized|renewed|stream|event|comment|finished|in|fail|authorize|refuse_authorization|\
         set_authorization|status|www_authenticate|why|with",
    ),
    (&["client http"], "option", "headers|authorization|ask_authorization|get_stream|deprecated_sse"),
];

fn wanted() -> BTreeSet<String> {
    let mut all: BTreeSet<String> = FIXTURES.keys().map(|name| format!("fixture {name}")).collect();
    for place in PLACES {
        for method in Method::ALL {
            for era in [Era::Legacy, Era::Modern] {
                let has = Version::ALL.iter().any(|version| version.era() == era && method.exists_in(*version));
                let era = format!("{era:?}").to_lowercase();
                let absent = |(of, name, _): &(&str, &str, &str)| {
                    *name == method.as_str() && format!("{place} {era}").ends_with(of)
                };
                if has && !ABSENT.iter().any(absent) {
                    all.insert(format!("{place} {era} {method}"));
                }
            }
        }
        all.extend(Version::ALL.iter().map(|version| format!("{place} version {version}")));
    }
    for (places, kind, words) in WANTED {
        for place in *places {
            all.extend(words.split('|').map(|word| match *kind {
                "" => format!("{place} {word}"),
                kind => format!("{place} {kind} {word}"),
            }));
        }
    }
    all
}

#[test]
fn the_vectors_cover_everything_that_they_did() {
    let covered = covered();
    let missing: Vec<String> = wanted().into_iter().filter(|what| !covered.contains_key(what)).collect();
    assert!(missing.is_empty(), "no vector covers {} things:\n{}", missing.len(), missing.join("\n"));
    for remark in REMARKS {
        let told = PLACES.iter().any(|place| covered.contains_key(&format!("{place} diagnostic {remark}")));
        assert!(told, "no vector shows the remark {remark}");
    }
    for (of, name, why) in ABSENT {
        let shown = covered.iter().find(|(what, _)| what.contains(of) && what.ends_with(name));
        assert!(shown.is_none(), "{why}: but {shown:?}");
    }
}

#[test]
fn there_are_many_of_every_kind() {
    let vectors = all();
    let count =
        |role, transport| vectors.iter().filter(|vector| vector.role == role && vector.transport == transport).count();
    let http = (count(Side::Server, Carrier::Http), count(Side::Client, Carrier::Http));
    let stdio = (count(Side::Server, Carrier::Stdio), count(Side::Client, Carrier::Stdio));
    assert!(vectors.len() >= 400, "only {} vectors", vectors.len());
    assert!(http.0 >= 130 && http.1 >= 70, "only {http:?} over HTTP");
    assert!(stdio.0 >= 100 && stdio.1 >= 60, "only {stdio:?} on stdio");
}
