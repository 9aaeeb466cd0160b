//! What is refused without its body.

use super::*;

const GOOD: [(&str, &str); 3] =
    [("host", "127.0.0.1:80"), ("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

/// The headers of a good request, with changes. `-` leaves one out.
fn head(changes: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let mut headers: Vec<_> = GOOD.into_iter().filter(|(name, _)| changes.iter().all(|(n, _)| n != name)).collect();
    headers.extend(changes.iter().filter(|(_, value)| *value != "-"));
    headers
}

fn status(options: Options, method: &str, changes: &[(&'static str, &'static str)]) -> u16 {
    let mut rig = Rig::new(definition(), options);
    // A body that would be refused with another status, if it were read.
    let answer = rig.send(method, &head(changes), b"no json");
    rig.status(answer)
}

/// M-HTTP-02, M-HTTP-03, L-HTTP-02: hosts and origins.
#[test]
fn m_http_02_03_l_http_02_origin_and_host_are_judged_first() {
    let by_default = |changes| status(Options::default(), "POST", changes);
    assert_eq!(by_default(&[]), 400, "the body was read");
    assert_eq!(by_default(&[("host", "evil.example")]), 403);
    assert_eq!(by_default(&[("host", "-")]), 403);
    assert_eq!(by_default(&[("origin", "http://evil.example")]), 403);
    assert_eq!(by_default(&[("origin", "null")]), 403);
    assert_eq!(by_default(&[("origin", "http://localhost:5173")]), 400);
    assert_eq!(by_default(&[("origin", "http://evil.example"), ("content-type", "text/plain")]), 403);
    assert_eq!(status(Options::default(), "PUT", &[("origin", "http://evil.example")]), 403);
    for method in ["GET", "DELETE"] {
        assert_eq!(status(Options::default(), method, &[("origin", "http://evil.example")]), 403);
        assert_eq!(status(Options::default(), method, &[("host", "evil.example")]), 403);
    }
    let open = Options::default().hosts(Allow::any()).origins(Allow::list(["https://app.example"]));
    assert_eq!(status(open.clone(), "POST", &[("host", "-")]), 400);
    assert_eq!(status(open.clone(), "POST", &[("origin", "https://app.example")]), 400);
    assert_eq!(status(open, "POST", &[("origin", "http://localhost")]), 403, "a list is all there is");
}

/// A header that may stand once and stands twice is as good as wrong.
#[test]
fn headers_do_not_stand_twice() {
    let mut rig = Rig::new(definition(), Options::default());
    for (twice, expected) in [("host", 403), ("origin", 403), ("content-type", 415)] {
        let value = if twice == "content-type" { "application/json" } else { "localhost" };
        let mut headers = head(&[]);
        headers.extend([(twice, value), (twice, value)]);
        let answer = rig.send("POST", &headers, b"{}");
        assert_eq!(rig.status(answer), expected, "{twice}");
    }
}

#[test]
fn the_authority_goes_before_the_host() {
    let service = Service::new(Arc::new(definition()), Options::default());
    let mut head = Head::new("POST", "/").authority("evil.example");
    head.header("host", b"localhost");
    assert!(matches!(service.judge(head), Judged::Refused(response) if response.status() == 403));
}

/// M-HCOMP-04, L-HTTP-16: methods.
#[test]
fn l_http_16_methods_of_an_endpoint() {
    for method in ["PUT", "OPTIONS", "get", "PATCH"] {
        let mut rig = Rig::new(definition(), Options::default());
        let answer = rig.send(method, &head(&[]), b"");
        assert_eq!(rig.status(answer), 405, "{method}");
        assert_eq!(rig.answers[answer].headers["allow"], "GET, POST, DELETE");
        assert_eq!(rig.refusal(answer), (405, -32600, Value::Null));
    }
}

#[test]
fn media_types_are_judged() {
    let by_default = |changes| status(Options::default(), "POST", changes);
    assert_eq!(by_default(&[("content-type", "text/plain")]), 415);
    assert_eq!(by_default(&[("content-type", "-")]), 415);
    assert_eq!(by_default(&[("content-type", "application/json; charset=utf-8")]), 400);
    assert_eq!(by_default(&[("accept", "application/json")]), 406);
    assert_eq!(by_default(&[("accept", "text/event-stream")]), 406);
    assert_eq!(by_default(&[("accept", "*/*")]), 400);
    assert_eq!(by_default(&[("accept", "-")]), 400);
    let json = Options::default().json_answers();
    assert_eq!(status(json.clone(), "POST", &[("accept", "application/json")]), 400, "a stream never comes");
    assert_eq!(status(json, "GET", &[("accept", "application/json")]), 406);
    assert_eq!(status(Options::default(), "GET", &[("accept", "text/html")]), 406);
}

/// A body that is announced as too long is refused unread; one that is not announced, as soon as it is.
#[test]
fn long_bodies_are_refused() {
    let mut limits = crate::limits::Limits::server();
    limits.frame_bytes = 10;
    let definition = || builder().limits(limits.clone()).build().unwrap();
    for (length, expected) in [("11", 413), ("10", 400), ("99999999999999999999999", 413), ("x", 400)] {
        let mut rig = Rig::new(definition(), Options::default());
        let answer = rig.send("POST", &head(&[("content-length", length)]), b"{}");
        assert_eq!(rig.status(answer), expected, "{length}");
    }
    whole_and_split(|rig| {
        let mut rig = rig(definition(), Options::default());
        let answer = rig.send("POST", &head(&[]), b"[1,2,3,4,5]");
        assert_eq!(rig.refusal(answer), (413, -32600, Value::Null));
        let text = String::from_utf8(rig.answers[answer].body.clone()).unwrap();
        assert!(text.contains("frame_bytes"), "{text}");
        let answer = rig.send("POST", &head(&[]), b"[1,2,3,45]");
        assert_eq!(rig.status(answer), 400, "at the bound it is read");
    });
}

/// Names of headers are compared without case, M-HDR-11.
#[test]
fn m_hdr_11_header_names_have_no_case() {
    let mut rig = Rig::new(definition(), Options::default());
    let body = modern(1, "tools/list", json!({})).to_string();
    let headers = [
        ("HOST", "localhost"),
        ("CONTENT-type", "application/json"),
        ("aCCept", "*/*"),
        ("MCP-PROTOCOL-VERSION", MODERN),
        ("MCP-METHOD", "  tools/list\t"),
    ];
    let answer = rig.send("POST", &headers, body.as_bytes());
    assert_eq!(rig.status(answer), 200, "{:?}", rig.answers);
}
