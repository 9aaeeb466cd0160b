//! Tools, prompts, resources, completion: what is refused here and what reaches the application.

use super::*;
use crate::model::{Completion, GetPromptResult, PromptMessage, ReadResourceResult};

fn call(name: &str, arguments: Value) -> Value {
    modern(1, "tools/call", json!({"name": name, "arguments": arguments}))
}

/// O19, U-29: which error it is.
#[test]
fn o19_which_error_it_is() {
    let mut rig = Rig::new(definition());
    rig.send(modern(31, "tools/frobnicate", json!({})));
    assert_eq!(rig.one()["error"]["code"], -32601);
    rig.send(call("nope", json!({})));
    assert_eq!(rig.one()["error"]["code"], -32602);
    rig.send(call("add", json!([1])));
    assert_eq!(rig.one()["error"]["code"], -32602);
    rig.send(modern(1, "tools/call", json!({"arguments": {}})));
    assert_eq!(rig.one()["error"]["code"], -32602);
    rig.send(modern(1, "tools/call", json!({"name": 7})));
    assert_eq!(rig.one()["error"]["code"], -32602);
    rig.send(call("add", json!({"a": "x"})));
    let result = rig.one();
    assert_eq!(result["result"]["isError"], true);
    assert_eq!(result["result"]["resultType"], "complete");
    let said = result["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains('a'), "{said}");
    assert!(!said.contains("\"x\""), "the text tells no value: {said}");
    assert!(rig.invocations.is_empty());
}

/// T-32: before 2025-11-25 bad arguments are an error.
#[test]
fn bad_arguments_follow_the_revision() {
    for (version, result) in [("2024-11-05", false), ("2025-03-26", false), ("2025-06-18", false), ("2025-11-25", true)]
    {
        let mut rig = Rig::legacy(definition(), version, json!({}));
        rig.send(legacy(1, "tools/call", json!({"name": "add", "arguments": {}})));
        let answer = rig.one();
        if result {
            assert_eq!(answer["result"]["isError"], true);
        } else {
            assert_eq!(answer["error"]["code"], -32602);
        }
    }
}

/// M-TOOL: arguments reach the handler as they were spelled, `{}` if absent or null.
#[test]
fn arguments_arrive_untouched() {
    let mut rig = Rig::new(definition());
    let big = r#"{"z":123456789012345678901234567890,"a":1e400,"f":0.10}"#;
    rig.send_bytes(
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"slow\",\"arguments\":{big},\"_meta\":{}}}}}\n",
            modern(1, "x", json!({}))["params"]["_meta"]
        )
        .as_bytes(),
    );
    let Call::Tool { index, name, arguments } = rig.invoked().call else { panic!() };
    assert_eq!((index, &*name, arguments.get()), (Some(0), "slow", big));
    for request in [json!({"name": "slow"}), json!({"name": "slow", "arguments": null})] {
        rig.send(modern(2, "tools/call", request));
        let invocation = rig.invocations.pop().unwrap();
        let Call::Tool { arguments, .. } = invocation.call else { panic!() };
        assert_eq!(arguments.get(), "{}");
        rig.reply(invocation.slot, Reply::Failed);
    }
}

/// M-TOOL-21, U-28: a result that breaks the output schema never looks like success.
#[test]
fn u28_results_must_match_their_schema() {
    let schema = json!({"type": "object", "required": ["t"]});
    let made = || builder().tool(Tool::new("typed").output_schema(schema.clone())).build().unwrap();
    for (value, fits) in [(json!({}), false), (json!({"t": 1}), true), (json!([]), false)] {
        let mut rig = Rig::new(made());
        rig.send(call("typed", json!({})));
        let slot = rig.invoked().slot;
        rig.reply(slot, Reply::Tool(CallToolResult::structured(value.clone())));
        let answer = rig.one();
        if fits {
            assert_eq!(answer["result"]["structuredContent"], value);
            assert_eq!(answer["result"]["content"][0]["type"], "text");
        } else {
            assert_eq!(answer["error"], json!({"code": -32603, "message": "internal error"}));
            assert_eq!(rig.diagnostics.len(), 1);
        }
    }
    // An error result is exempt.
    let mut rig = Rig::new(made());
    rig.send(call("typed", json!({})));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::Tool(CallToolResult::error("no")));
    assert_eq!(rig.one()["result"]["isError"], true);
}

/// A failure inside a handler tells nothing of the inside: a generic result for tools, -32603 for the rest.
#[test]
fn failures_tell_nothing() {
    let mut rig = Rig::new(definition());
    rig.send(call("slow", json!({})));
    let slot = rig.invoked().slot;
    rig.server.abandon(rig.now, slot);
    rig.drain();
    let answer = rig.one();
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(answer["result"]["content"][0]["text"], "the tool failed");
    rig.send(modern(2, "resources/read", json!({"uri": "file:///a"})));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::Failed);
    assert_eq!(rig.one()["error"]["code"], -32603);
    rig.send(modern(3, "resources/read", json!({"uri": "file:///a"})));
    let slot = rig.invoked().slot;
    rig.reply(slot, text("a tool's result is no answer to a read"));
    assert_eq!(rig.one()["error"]["code"], -32603);
}

/// A slot answers once; a second reply, an abandoned slot and another machine's slot are found out.
#[test]
fn slots_are_used_once() {
    let mut rig = Rig::new(definition());
    rig.send(call("slow", json!({})));
    let slot = rig.invoked().slot;
    let copy = ReplySlot::from_id(slot.id());
    rig.reply(slot, text("once"));
    assert!(rig.server.reply(rig.now, copy, text("twice")).is_err());
    let foreign = ReplySlot::from_id(SlotId::from_u64(u64::MAX));
    assert!(rig.server.reply(rig.now, foreign, text("x")).is_err());
    rig.drain();
    assert_eq!(rig.take().len(), 1);
}

/// T-31: the code for an unknown resource differs by era; the data names it in both.
#[test]
fn unknown_resources_have_the_code_of_their_era() {
    let mut rig = Rig::new(definition());
    rig.send(modern(1, "resources/read", json!({"uri": "file:///none"})));
    let error = rig.one();
    assert_eq!((&error["error"]["code"], &error["error"]["data"]["uri"]), (&json!(-32602), &json!("file:///none")));
    let mut rig = Rig::legacy(definition(), "2025-06-18", json!({}));
    rig.send(legacy(1, "resources/read", json!({"uri": "file:///none"})));
    let error = rig.one();
    assert_eq!((&error["error"]["code"], &error["error"]["data"]["uri"]), (&json!(-32002), &json!("file:///none")));
}

/// Exact URIs before templates; a template's values are decoded.
#[test]
fn reads_are_routed() {
    let mut rig = Rig::new(definition());
    rig.send(modern(1, "resources/read", json!({"uri": "item://a%20b"})));
    let invocation = rig.invoked();
    let Call::Read { target: ReadTarget::Template(0, values), uri } = &invocation.call else {
        panic!("{:?}", invocation.call)
    };
    assert_eq!(&**uri, "item://a%20b");
    assert_eq!(values.text("id"), Some("a b"));
    rig.reply(invocation.slot, Reply::Resource(ReadResourceResult::text("item://a%20b", "text/plain", "x")));
    let answer = rig.one();
    assert_eq!((&answer["result"]["ttlMs"], &answer["result"]["cacheScope"]), (&json!(0), &json!("private")));
    rig.send(modern(1, "resources/read", json!({"uri": "file:///a"})));
    assert!(matches!(rig.invoked().call, Call::Read { target: ReadTarget::Resource(0), .. }));
}

#[test]
fn prompts_are_checked_before_their_handler() {
    let mut rig = Rig::new(definition());
    for params in [
        json!({"name": "none"}),
        json!({"name": "greet"}),
        json!({"name": "greet", "arguments": {"who": 1}}),
        json!({"name": "greet", "arguments": "x"}),
    ] {
        rig.send(modern(1, "prompts/get", params));
        assert_eq!(rig.one()["error"]["code"], -32602);
    }
    rig.send(modern(1, "prompts/get", json!({"name": "greet", "arguments": {"who": "you"}})));
    let slot = rig.invoked().slot;
    let result = GetPromptResult::new(vec![PromptMessage::user(crate::model::ContentBlock::text("Hello"))]);
    rig.reply(slot, Reply::Prompt(result));
    assert_eq!(rig.one()["result"]["messages"][0]["role"], "user");
}

/// M-COMP: references are checked, and at most 100 values go out.
#[test]
fn completions_are_checked_and_bounded() {
    let mut rig = Rig::new(definition());
    let ask = |reference: Value, name: &str| {
        modern(1, "completion/complete", json!({"ref": reference, "argument": {"name": name, "value": "x"}}))
    };
    for (reference, name) in [
        (json!({"type": "ref/prompt", "name": "none"}), "who"),
        (json!({"type": "ref/prompt", "name": "greet"}), "nobody"),
        (json!({"type": "ref/resource", "uri": "none://{id}"}), "id"),
        (json!({"type": "ref/later"}), "id"),
        (json!(7), "id"),
    ] {
        rig.send(ask(reference.clone(), name));
        assert_eq!(rig.one()["error"]["code"], -32602, "{reference}");
    }
    rig.send(ask(json!({"type": "ref/resource", "uri": "item://{id}"}), "id"));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::Completion(Completion::new((0..150).map(|n| n.to_string()).collect::<Vec<_>>())));
    let answer = rig.one();
    let completion = &answer["result"]["completion"];
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!(completion["hasMore"], true);
    // D-14: 2024-11-05 has the method without a capability.
    let mut rig = Rig::legacy(definition(), "2024-11-05", json!({}));
    rig.send(legacy(
        1,
        "completion/complete",
        json!({"ref": {"type": "ref/prompt", "name": "greet"},
        "argument": {"name": "who", "value": ""}}),
    ));
    assert!(matches!(rig.invoked().call, Call::Complete { .. }));
}

/// M-PAGE, U-20: pages in order, one scope, and cursors that are only what the list gave out.
#[test]
fn lists_are_paged() {
    let mut many = builder().page_size(50);
    for number in 0..118 {
        many = many.tool(tool(&format!("tool_{number:03}")));
    }
    let mut rig = Rig::new(many.build().unwrap());
    let (mut cursor, mut names, mut pages) = (None, Vec::new(), 0);
    loop {
        let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        rig.send(modern(1, "tools/list", params));
        let page = rig.one();
        let result = &page["result"];
        assert_eq!(result["cacheScope"], "private");
        names.extend(result["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()));
        pages += 1;
        cursor = result.get("nextCursor").cloned();
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((pages, names.len()), (3, 120));
    names.dedup();
    assert_eq!(names.len(), 120);
    for cursor in ["", "x", "00000000.1", "1"] {
        rig.send(modern(1, "tools/list", json!({"cursor": cursor})));
        assert_eq!(rig.one()["error"]["code"], -32602, "{cursor:?}");
    }
    rig.send(modern(1, "tools/list", json!({"cursor": 7})));
    assert_eq!(rig.one()["error"]["code"], -32602);
}

/// Names and URIs that stand twice, methods of the protocol and impossible settings are refused at build.
#[test]
fn wrong_definitions_do_not_build() {
    let wrong = [
        builder().tool(tool("slow")),
        builder().prompt(Prompt::new("greet")),
        builder().resource(Resource::new("b", "file:///a")),
        builder().template(ResourceTemplate::new("b", "item://{id}")),
        builder().template(ResourceTemplate::new("c", "item://{")),
        builder().method("tools/call"),
        builder().method("server/discover"),
        builder().notification("notifications/cancelled"),
        builder().method("tasks/get"),
        builder().method("a/b").method("a/b"),
        builder().page_size(0),
        builder().versions(&[]),
        builder().extension("noprefix", Json::EMPTY_OBJECT),
        builder().tool(Tool::new("bad").input_schema(json!({"type": "string"}))),
        builder().tool(Tool::new("bad").input_schema(json!({"$ref": "http://127.0.0.1:9/s.json"}))),
        builder().tool(Tool::new("bad").output_schema(json!({"$schema": "https://example.com/other"}))),
    ];
    for (number, builder) in wrong.into_iter().enumerate() {
        assert!(builder.build().is_err(), "{number}");
    }
}

/// Custom methods reach the application raw; a raw reply gets the modern members only if it lacks them.
#[test]
fn raw_methods_pass_through() {
    let made = || builder().method("acme/do").notification("acme/said").build().unwrap();
    let mut rig = Rig::new(made());
    rig.send(modern(1, "acme/do", json!({"x": [1, 2]})));
    let invocation = rig.invoked();
    let Call::Raw { method, params } = &invocation.call else { panic!() };
    assert_eq!(&**method, "acme/do");
    assert_eq!(params.parse::<Value>().unwrap()["x"], json!([1, 2]));
    let replies = [
        (json!({}), json!({"resultType": "complete"})),
        (json!({"resultType": "later", "n": 1}), json!({"resultType": "later", "n": 1})),
        (json!({"_meta": {"a": 1}}), json!({"resultType": "complete"})),
    ];
    let mut slot = Some(invocation.slot);
    for (reply, expected) in replies {
        let slot = slot.take().unwrap_or_else(|| {
            rig.send(modern(1, "acme/do", json!({})));
            rig.invoked().slot
        });
        rig.reply(slot, Reply::Raw(reply.clone().into()));
        let answer = rig.one();
        assert_eq!(answer["result"]["resultType"], expected["resultType"]);
        assert_eq!(answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "server");
        for (key, value) in reply.as_object().unwrap().iter().filter(|(key, _)| *key != "_meta") {
            assert_eq!(&answer["result"][key], value);
        }
    }
    rig.send(json!({"jsonrpc": "2.0", "method": "acme/said", "params": {"n": 1}}));
    assert!(matches!(rig.others.pop(), Some(Action::Notified(Notified::Custom { .. }))));
    let mut rig = Rig::legacy(made(), "2025-11-25", json!({}));
    rig.send(legacy(1, "acme/do", json!({})));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::Raw(json!({"n": 1}).into()));
    assert_eq!(rig.one()["result"], json!({"n": 1}));
}

/// A replaced definition serves new requests and announces what has changed.
#[test]
fn a_new_definition_is_announced() {
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({}));
    rig.server.replace_definition(rig.now, Arc::new(builder().tool(tool("extra")).build().unwrap()));
    rig.drain();
    assert_eq!(rig.one(), json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    rig.server.replace_definition(rig.now, Arc::new(builder().tool(tool("extra")).build().unwrap()));
    rig.drain();
    assert!(rig.frames.is_empty());
    rig.send(legacy(1, "tools/call", json!({"name": "extra"})));
    rig.invoked();
}

/// Dynamic lists are answered by the application, and stamped here.
#[test]
fn dynamic_lists_are_stamped() {
    let mut rig = Rig::new(Definition::builder("s", "1").dynamic(List::Tools).build().unwrap());
    rig.send(modern(1, "tools/list", json!({"cursor": ""})));
    let invocation = rig.invoked();
    assert!(matches!(&invocation.call, Call::List { list: List::Tools, cursor: Some(cursor) } if cursor.is_empty()));
    let item = json!({"name": "t", "inputSchema": {"type": "object"}});
    let page = ListPage { items: vec![item.clone().into()], next_cursor: Some("n".to_owned()) };
    rig.reply(invocation.slot, Reply::List(page));
    let answer = rig.one();
    assert_eq!(answer["result"]["tools"], json!([item]));
    assert_eq!(answer["result"]["nextCursor"], "n");
    assert_eq!(answer["result"]["resultType"], "complete");
    rig.send(modern(2, "tools/call", json!({"name": "anything"})));
    assert!(matches!(rig.invoked().call, Call::Tool { index: None, .. }));
}
