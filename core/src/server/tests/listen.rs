//! `subscriptions/listen`.

use super::*;

fn listen(id: impl Into<Value>, filter: Value) -> Value {
    modern(id, "subscriptions/listen", json!({"notifications": filter}))
}

/// U-31, U-32: the acknowledgement comes first, is the honoured subset, and carries the id with its type.
#[test]
fn u31_the_acknowledgement_is_the_honoured_subset() {
    let tools_only = Definition::builder("s", "1").tool(tool("a")).list_changed().build().unwrap();
    let mut rig = Rig::new(tools_only);
    for id in [json!("L-1"), json!(0)] {
        rig.send(listen(
            id.clone(),
            json!({"toolsListChanged": true, "promptsListChanged": true,
            "resourceSubscriptions": ["file:///a"]}),
        ));
        assert_eq!(
            rig.one(),
            json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
                "_meta": {"io.modelcontextprotocol/subscriptionId": id}, "notifications": {"toolsListChanged": true}}})
        );
    }
    let _ = rig.server.publish(rig.now, &Event::ToolsListChanged);
    rig.drain();
    let ids: Vec<_> = rig
        .take()
        .iter()
        .map(|frame| frame["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone())
        .collect();
    assert_eq!(ids.len(), 2);
    assert!(ids.contains(&json!(0)) && ids.contains(&json!("L-1")));
}

/// U-34: only what was asked for.
#[test]
fn u34_streams_carry_what_was_asked_for() {
    let mut rig = Rig::new(definition());
    rig.send(listen(1, json!({"resourceSubscriptions": ["file:///a"]})));
    rig.one();
    for event in [
        Event::ToolsListChanged,
        Event::PromptsListChanged,
        Event::ResourcesListChanged,
        Event::ResourceUpdated { uri: "file:///b".into() },
    ] {
        assert_eq!(rig.server.publish(rig.now, &event), Sent::NotWanted);
    }
    assert_eq!(rig.server.publish(rig.now, &Event::ResourceUpdated { uri: "file:///a".into() }), Sent::Yes);
    rig.drain();
    assert_eq!(
        rig.one(),
        json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {
            "_meta": {"io.modelcontextprotocol/subscriptionId": 1}, "uri": "file:///a"}})
    );
}

/// A stream that the client cancels ends in silence, and its id is free.
#[test]
fn a_cancelled_stream_is_silent() {
    let mut rig = Rig::new(definition());
    rig.send(listen(1, json!({"toolsListChanged": true})));
    rig.send(listen(1, json!({"toolsListChanged": true})));
    assert_eq!(rig.take()[1]["error"]["code"], -32600);
    rig.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    assert_eq!(rig.server.publish(rig.now, &Event::ToolsListChanged), Sent::NotWanted);
    assert!(rig.frames.is_empty());
}

/// U-35: the server's own end is a `cancelled` and then the result.
#[test]
fn u35_the_end_is_graceful() {
    for eof in [false, true] {
        let mut rig = Rig::new(definition());
        rig.send(listen(9, json!({"toolsListChanged": true})));
        rig.take();
        if eof {
            rig.server.handle(rig.now, Input::Eof).unwrap();
        } else {
            rig.server.close(rig.now);
        }
        rig.drain();
        let frames = rig.take();
        assert_eq!(frames[0]["method"], "notifications/cancelled");
        assert_eq!(frames[0]["params"]["requestId"], 9);
        assert_eq!((&frames[1]["id"], &frames[1]["result"]["resultType"]), (&json!(9), &json!("complete")));
        assert_eq!(frames[1]["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 9);
        assert!(matches!(rig.others.last(), Some(Action::Closed(_))));
    }
}

/// Filters of other shapes are refused, and so is one stream too many.
#[test]
fn filters_are_checked_and_streams_bounded() {
    let mut rig = Rig::new(definition());
    for params in [
        json!({}),
        json!({"notifications": 7}),
        json!({"notifications": {"toolsListChanged": 1}}),
        json!({"notifications": {"resourceSubscriptions": "file:///a"}}),
    ] {
        rig.send(modern(1, "subscriptions/listen", params));
        assert_eq!(rig.one()["error"]["code"], -32602);
    }
    for id in 0..100 {
        rig.send(listen(id, json!({})));
    }
    assert!(rig.take().iter().all(|frame| frame.get("error").is_none()));
    rig.send(listen(100, json!({})));
    assert!(rig.one()["error"]["message"].as_str().unwrap().contains("listen_streams"));
}

/// D-12: a legacy session hears of lists without asking, but only if the server said so.
#[test]
fn legacy_sessions_hear_of_lists() {
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({}));
    assert_eq!(rig.server.publish(rig.now, &Event::PromptsListChanged), Sent::Yes);
    rig.drain();
    assert_eq!(rig.one(), json!({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}));
    let quiet = Definition::builder("s", "1").tool(tool("a")).build().unwrap();
    let mut rig = Rig::legacy(quiet, "2025-11-25", json!({}));
    assert_eq!(rig.server.publish(rig.now, &Event::ToolsListChanged), Sent::NotWanted);
}
