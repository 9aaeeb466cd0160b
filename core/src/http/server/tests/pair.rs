//! The transport of 2024-11-05.

use super::*;
use crate::server::Closed;
use crate::spec::Version;

fn options() -> Options {
    Options::default().sse_pair("/sse", "/messages")
}

impl Rig {
    fn at(&mut self, method: &str, target: &str, body: &Value) -> usize {
        let headers = [("host", "localhost"), ("content-type", "application/json")];
        let body = if method == "POST" { body.to_string() } else { String::new() };
        self.send_to(method, target, &headers, body.as_bytes())
    }

    /// Opens the stream, and says where to post.
    fn open_pair(&mut self) -> (usize, String) {
        let answer = self.at("GET", "/sse", &Value::Null);
        let body = String::from_utf8(self.answers[answer].body.clone()).unwrap();
        let address = body.strip_prefix("event: endpoint\ndata: ").unwrap().trim_end().to_owned();
        self.answers[answer].body.clear();
        (answer, address)
    }
}

/// L-PVH-05, M-HCOMP-09, D-17: one stream to the client, and an address to post to.
#[test]
fn m_hcomp_09_one_stream_and_one_address() {
    whole_and_split(|rig| {
        let mut rig = rig(definition(), options());
        let (stream, address) = rig.open_pair();
        assert!(address.starts_with("/messages?sessionId="));
        assert_eq!(rig.answers[stream].headers["content-type"], "text/event-stream");
        let answer = rig.at("POST", &address, &initialize("2024-11-05", json!({"roots": {}})));
        assert_eq!((rig.status(answer), rig.answers[answer].body.len()), (202, 0));
        let result = rig.messages(stream).remove(0);
        assert_eq!(result["result"]["protocolVersion"], "2024-11-05");
        rig.at("POST", &address, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let answer = rig.at("POST", &address, &call(1, "slow", json!({})));
        assert_eq!(rig.status(answer), 202);
        let (who, invocation) = rig.invoked();
        assert_eq!(invocation.context.version(), Version::V2024_11_05);
        let _ = rig.progress(who, invocation.slot.id(), 1.0);
        rig.publish(&Event::ToolsListChanged);
        let Who::Session(session) = who else { panic!("a session") };
        let slot = Some(invocation.slot.id());
        let asked = rig.sessions[session].request(rig.now, slot, "roots/list", None, None).unwrap();
        rig.drain(who);
        rig.reply(who, invocation.slot, text("x"));
        let heard = rig.messages(stream);
        assert_eq!(heard.len(), 4, "{heard:?}");
        assert_eq!((&heard[2]["method"], &heard[3]["id"]), (&json!("roots/list"), &json!(1)));
        let response = json!({"jsonrpc": "2.0", "id": heard[2]["id"], "result": {"roots": []}});
        rig.at("POST", &address, &response);
        assert!(rig.others.iter().any(|action| matches!(action, Action::Answered { call, .. } if *call == asked)));
        // Errors of messages go the same way; what is no message is refused at once.
        rig.at("POST", &address, &initialize("2024-11-05", json!({})));
        assert_eq!(rig.messages(stream)[0]["error"]["code"], -32600);
        let answer = rig.at("POST", &address, &json!(7));
        assert_eq!(rig.status(answer), 400);
        // The stream is the session.
        rig.disconnect(stream);
        assert!(matches!(rig.others.last(), Some(Action::Closed(Closed::Requested))));
        let answer = rig.at("POST", &address, &request(2, "ping", json!({})));
        assert_eq!(rig.status(answer), 404);
    });
}

#[test]
fn the_doors_are_apart() {
    let mut rig = Rig::new(definition(), options());
    let (_, address) = rig.open_pair();
    let id = address.split('=').nth(1).unwrap().to_owned();
    let answer = rig.legacy(Some(&id), &request(1, "ping", json!({})));
    assert_eq!(rig.status(answer), 404, "a session of the old transport is none of the new one");
    let streamable = rig.open("2025-11-25", json!({}));
    let ping = request(1, "ping", json!({}));
    let answer = rig.at("POST", &format!("/messages?sessionId={streamable}"), &ping);
    assert_eq!(rig.status(answer), 404);
    for (target, expected) in
        [("/messages", 400), ("/messages?sessionId=x", 404), (&format!("{address}&sessionId={id}"), 400)]
    {
        let answer = rig.at("POST", target, &ping);
        assert_eq!(rig.status(answer), expected, "{target}");
    }
    for (method, target, allow) in [("POST", "/sse", "GET"), ("GET", "/messages", "POST"), ("DELETE", "/sse", "GET")] {
        let answer = rig.at(method, target, &ping);
        assert_eq!((rig.status(answer), rig.answers[answer].headers["allow"].as_str()), (405, allow));
    }
    // Off by default, and where no legacy revision is offered.
    let modern = builder().versions(&[Version::V2026_07_28]).build().unwrap();
    for mut rig in [Rig::new(definition(), Options::default()), Rig::new(modern, options())] {
        let answer = rig.at("GET", "/sse", &Value::Null);
        assert!(matches!(rig.status(answer), 400 | 405));
        assert_eq!(rig.endpoint.sessions().count(), 0);
    }
}
