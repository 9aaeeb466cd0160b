//! Rows of the requirements that have no test of their own elsewhere.

use super::*;
use crate::model::{ElicitParams, InputRequest};
use crate::server::InputRequired;
use crate::spec::Version;

const LATEST: &str = "2025-11-25";

fn kept() -> Options {
    Options::default().replay(Replay::default())
}

/// A modern call that wants progress.
fn watched(id: impl Into<Value>) -> Value {
    modern(id, "tools/call", json!({"name": "slow", "_meta": {"progressToken": "t"}}))
}

fn ask() -> Reply {
    let form = ElicitParams::form("Who?", json!({"type": "object", "properties": {}}));
    let requests = vec![("who".to_owned(), InputRequest::from(form))];
    Reply::InputRequired(InputRequired { requests, ..InputRequired::default() })
}

/// M-HTTP-01, L-HTTP-01: one path takes `POST` of both eras, and `GET` of the legacy one.
#[test]
fn m_http_01_l_http_01_one_path_serves_both_eras() {
    whole_and_split(|rig| {
        let mut rig = rig(definition(), Options::default());
        let answer = rig.modern(&modern(1, "tools/list", json!({})));
        assert_eq!(rig.json(answer)["result"]["resultType"], "complete");
        let id = rig.open(LATEST, json!({}));
        let answer = rig.legacy(Some(&id), &request(1, "tools/list", json!({})));
        assert_eq!(rig.json(answer)["result"]["tools"].as_array().map(Vec::len), Some(3));
        let listening = rig.get(Some(&id), &[]);
        assert!(rig.messages(listening).is_empty() && !rig.answers[listening].done);
    });
}

/// M-HTTP-15: notifications of two requests that run at once go to their own streams, whatever the order.
#[test]
fn m_http_15_streams_of_two_requests_do_not_mix() {
    let mut rig = Rig::new(definition(), Options::default());
    // One id and one token for both: two clients know nothing of each other.
    let (a, b) = (rig.modern(&watched(1)), rig.modern(&watched(1)));
    let (on_a, first) = rig.invocations.remove(0);
    let (on_b, second) = rig.invoked();
    for step in [1.0, 2.0] {
        let _ = rig.progress(on_b, second.slot.id(), step * 10.0);
        let _ = rig.progress(on_a, first.slot.id(), step);
    }
    rig.reply(on_b, second.slot, text("b"));
    rig.reply(on_a, first.slot, text("a"));
    for (answer, name, factor) in [(a, "a", 1.0), (b, "b", 10.0)] {
        let heard = rig.messages(answer);
        let steps: Vec<_> = heard.iter().filter_map(|message| message["params"]["progress"].as_f64()).collect();
        assert_eq!(steps, [factor, factor * 2.0]);
        assert_eq!(heard[2]["result"]["content"][0]["text"], name);
        assert_eq!(heard.len(), 3);
    }
}

/// M-HTTP-16, M-PAT-01, M-SUB-18: no stream of the modern era carries a request, not even when the handler asks for
/// input, and a listen stream nothing of other requests.
#[test]
fn m_http_16_nothing_that_a_modern_client_reads_is_a_request() {
    let mut rig = Rig::new(definition(), Options::default());
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listening = rig.modern(&modern("l", "subscriptions/listen", filter));
    let params = json!({"name": "slow", "_meta": {"progressToken": "t"}});
    let capabilities = json!({"elicitation": {}, "roots": {}, "sampling": {}});
    let answer = rig.modern(&with_capabilities(1, "tools/call", params, capabilities));
    let (who, invocation) = rig.invoked();
    let _ = rig.progress(who, invocation.slot.id(), 1.0);
    rig.publish(&Event::ToolsListChanged);
    rig.reply(who, invocation.slot, ask());
    let heard = rig.messages(answer);
    assert_eq!(heard[1]["result"]["resultType"], "input_required", "{heard:?}");
    assert_eq!(heard[1]["result"]["inputRequests"]["who"]["method"], "elicitation/create");
    let listened = rig.messages(listening);
    let methods: Vec<_> = listened.iter().map(|message| message["method"].as_str().unwrap()).collect();
    let expected = ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed"];
    assert_eq!(methods, expected, "no progress of others");
    for message in heard.iter().chain(&listened) {
        assert!(message.get("method").is_none() || message.get("id").is_none(), "{message}");
    }
}

/// M-HDR-16, M-XMH-19: a header that holds what no header may hold is a header that says something else.
#[test]
fn m_hdr_16_m_xmh_19_headers_that_are_no_text_are_refused() {
    let send = |name: &str, value: &[u8]| {
        let body = modern(1, "tools/call", json!({"name": "mirrored", "arguments": {"region": "eu"}}));
        let service = Service::new(Arc::new(definition()), Options::default());
        let mut head = Head::new("POST", "/mcp");
        let headers: [(&str, &[u8]); 6] = [
            ("host", b"localhost"),
            ("content-type", b"application/json"),
            ("mcp-protocol-version", MODERN.as_bytes()),
            ("mcp-method", b"tools/call"),
            ("mcp-name", b"mirrored"),
            ("mcp-param-region", b"eu"),
        ];
        for (known, usual) in headers {
            head.header(known, if known == name { value } else { usual });
        }
        let Judged::Post(mut intake) = service.judge(head) else { panic!("a good head") };
        intake.push(body.to_string().into()).unwrap();
        match intake.finish(&service, Now::default(), Seed([1; 32])) {
            Routed::Answered(response) => {
                let Body::Whole(body) = response.body() else { panic!("a whole answer") };
                let body: Value = serde_json::from_slice(body).unwrap();
                Some((response.status(), body["error"]["code"].clone(), body["id"].clone()))
            }
            Routed::Exchange(_) => None,
            Routed::Session(_) => panic!("no session"),
        }
    };
    assert_eq!(send("mcp-param-region", b"=?base64?ZXU=?="), None, "it is served");
    let refused = Some((400, json!(-32020), json!(1)));
    for name in ["mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-region"] {
        for value in [&b"\xff"[..], b"eu\0", b"e\x01u", b"eu\x7f", "größe".as_bytes(), b"=?base64?ZX\xff?=", b""] {
            assert_eq!(send(name, value), refused, "{name}: {value:?}");
        }
        assert_eq!(send(name, b"=?base64?/w==?="), refused, "{name}: no UTF-8 inside");
    }
}

/// M-XMH-08: an integer that not every peer can represent has no header, and one that claims to repeat it is refused.
#[test]
fn m_xmh_08_integers_beyond_the_range_are_refused() {
    let mut rig = Rig::new(definition(), Options::default());
    for (value, header, served) in [
        (json!(9_007_199_254_740_991_i64), "9007199254740991", true),
        (json!(-9_007_199_254_740_991_i64), "-9007199254740991", true),
        (json!(9_007_199_254_740_991_i64), "9007199254740992", false),
        (json!(9_007_199_254_740_992_i64), "9007199254740992", false),
        (json!(-9_007_199_254_740_992_i64), "-9007199254740992", false),
        (json!(9_007_199_254_740_992_i64), "9007199254740993", false),
    ] {
        let body = modern(9, "tools/call", json!({"name": "mirrored", "arguments": {"n": value}}));
        let answer = rig.modern_with(&body, &[("Mcp-Param-N", header)]);
        if served {
            rig.invoked();
        } else {
            assert_eq!(rig.refusal(answer), (400, -32020, json!(9)), "{value} {header}");
        }
    }
    assert!(rig.invocations.is_empty());
}

/// M-HCOMP-08, M-HCOMP-09: the old transport stands beside the new one, which goes on as ever.
#[test]
fn m_hcomp_08_the_old_transport_stands_beside_the_new_one() {
    let mut rig = Rig::new(definition(), Options::default().sse_pair("/sse", "/messages"));
    let old = rig.send_to("GET", "/sse", &[("host", "localhost")], b"");
    assert_eq!((rig.status(old), rig.answers[old].headers["content-type"].as_str()), (200, "text/event-stream"));
    let answer = rig.modern(&modern(1, "tools/list", json!({})));
    assert_eq!(rig.answered(answer), 1);
    let id = rig.open(LATEST, json!({}));
    let answer = rig.legacy(Some(&id), &request(2, "tools/list", json!({})));
    assert_eq!(rig.answered(answer), 2);
    assert!(!rig.answers[old].done);
}

/// L-HTTP-05: what cannot be taken is an HTTP error, and what can is a 202 without a body.
#[test]
fn l_http_05_what_is_not_taken_is_an_error() {
    whole_and_split(|rig| {
        let mut rig = rig(definition(), Options::default());
        let id = rig.open(LATEST, json!({}));
        let note = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
        let late = json!({"jsonrpc": "2.0", "id": 99, "result": {}});
        for body in [&note, &late] {
            let taken = rig.legacy(Some(&id), body);
            assert_eq!((rig.status(taken), rig.answers[taken].body.len()), (202, 0), "{body}");
            let nowhere = rig.legacy(Some("0123456789abcdef0123456789abcdef"), body);
            assert_eq!(rig.status(nowhere), 404, "{body}");
            assert!(rig.json(nowhere).get("id").is_none_or(Value::is_null));
        }
        for body in [json!({"jsonrpc": "2.0", "method": 7}), json!({"jsonrpc": "1.0", "method": "x"}), json!(7)] {
            let answer = rig.legacy(Some(&id), &body);
            assert_eq!(rig.refusal(answer), (400, -32600, Value::Null), "{body}");
        }
    });
}

/// L-HTTP-17, L-HTTP-18: the stream that a client listens on has nothing of its requests; an answer comes on a `GET`
/// only to whoever resumes the stream of its request.
#[test]
fn l_http_17_18_no_answer_comes_where_nobody_resumes() {
    for options in [Options::default(), kept()] {
        let mut rig = Rig::new(definition(), options);
        let id = rig.open(LATEST, json!({}));
        let listening = rig.get(Some(&id), &[]);
        let _ = rig.events(listening);
        let answer = rig.legacy(Some(&id), &call(1, "slow", json!({})));
        let (who, invocation) = rig.invoked();
        let _ = rig.progress(who, invocation.slot.id(), 1.0);
        let seen = rig.events(answer);
        rig.disconnect(answer);
        let _ = rig.progress(who, invocation.slot.id(), 2.0);
        rig.reply(who, invocation.slot, text("x"));
        assert!(rig.messages(listening).is_empty());
        let second = rig.get(Some(&id), &[]);
        assert!(rig.messages(second).iter().all(Value::is_null), "an empty event at most");
        let Some(last) = seen.last().and_then(|(id, _)| id.clone()) else { continue };
        let back = rig.get(Some(&id), &[("Last-Event-ID", &last)]);
        let missed = rig.messages(back);
        assert_eq!(missed.len(), 2);
        assert_eq!((&missed[0]["params"]["progress"], &missed[1]["id"]), (&json!(2.0), &json!(1)));
        assert!(rig.answers[back].done && !rig.answers[second].done);
    }
}

/// L-SESS-01: names of sessions are drawn from the seed, 128 bits each: the same seed gives the same ones, another one
/// others, and neither the clock nor what was asked has a part in them.
#[test]
fn l_sess_01_names_come_from_the_seed_alone() {
    let names = |seed: u8, hour: u64, version: &str| {
        let mut rig = Rig::new(definition(), Options::default());
        rig.endpoint = Endpoint::new(Arc::clone(&rig.service), Seed([seed; 32]));
        rig.advance(Duration::from_secs(hour * 3_600));
        (0..50).map(|_| rig.open(version, json!({}))).collect::<Vec<_>>()
    };
    let first = names(1, 0, LATEST);
    assert_eq!(first, names(1, 7, "2025-03-26"));
    let other = names(2, 0, LATEST);
    let all: std::collections::BTreeSet<_> = first.iter().chain(&other).collect();
    assert_eq!(all.len(), 100);
    // No digit stands still: nothing is counted, and nothing is fixed.
    for place in 0..32 {
        let digits: std::collections::BTreeSet<_> = all.iter().filter_map(|name| name.as_bytes().get(place)).collect();
        assert!(digits.len() > 8, "place {place}: {digits:?}");
    }
}

/// D-07: `initialize` opens a session when it stands alone, and is refused in a batch.
#[test]
fn d_07_initialize_is_in_no_batch() {
    whole_and_split(|rig| {
        for options in [Options::default(), Options::default().stateless()] {
            let mut rig = rig(definition(), options);
            let batch = json!([initialize("2025-03-26", json!({}))]);
            for version in [None, Some("2025-03-26")] {
                let headers: Vec<_> = version.map(|version| ("mcp-protocol-version", version)).into_iter().collect();
                let answer = rig.legacy_with(None, &batch, &headers);
                let body = rig.json(answer);
                let error = if body.is_array() { &body[0]["error"] } else { &body["error"] };
                assert_eq!(error["code"], -32600, "{body}");
                assert!(!rig.answers[answer].headers.contains_key("mcp-session-id"));
            }
            assert_eq!(rig.endpoint.sessions().count(), 0);
        }
    });
}

/// D-08: three rules for a request whose head names no revision.
#[test]
fn d_08_a_request_without_a_revision() {
    // A session has its own.
    let mut rig = Rig::new(definition(), Options::default());
    for version in ["2025-03-26", "2025-06-18", LATEST] {
        let id = rig.open(version, json!({}));
        rig.legacy(Some(&id), &call(1, "slow", json!({})));
        assert_eq!(rig.invoked().1.context.version().as_str(), version);
    }
    // Without sessions it is the first one that had this transport.
    let mut rig = Rig::new(definition(), Options::default().stateless());
    rig.legacy(None, &call(1, "slow", json!({})));
    assert_eq!(rig.invoked().1.context.version(), Version::V2025_03_26);
    // A modern server needs the header.
    let mut rig = Rig::new(builder().versions(&[Version::V2026_07_28]).build().unwrap(), Options::default());
    let answer = rig.modern_with(&modern(1, "tools/list", json!({})), &[("mcp-protocol-version", "-")]);
    assert_eq!(rig.refusal(answer), (400, -32020, json!(1)));
}

/// D-18: a server of both eras puts the name of a session on the answer to `initialize`, and on no other.
#[test]
fn d_18_answers_of_the_modern_era_name_no_session() {
    for options in [Options::default(), kept(), Options::default().json_answers()] {
        let mut rig = Rig::new(definition(), options);
        let id = rig.open(LATEST, json!({}));
        let opened = rig.answers.len();
        let filter = json!({"notifications": {"toolsListChanged": true}});
        rig.modern(&modern(1, "server/discover", json!({})));
        rig.modern(&modern(2, "x/y", json!({})));
        rig.modern(&modern(3, "subscriptions/listen", filter));
        rig.modern(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
        rig.modern(&watched(4));
        let (who, invocation) = rig.invoked();
        let _ = rig.progress(who, invocation.slot.id(), 1.0);
        rig.reply(who, invocation.slot, text("x"));
        rig.legacy(Some(&id), &request(5, "tools/list", json!({})));
        rig.get(Some(&id), &[]);
        for answer in &rig.answers[opened..] {
            assert!(answer.status >= 200);
            assert!(!answer.headers.contains_key("mcp-session-id"), "{answer:?}");
        }
    }
}
