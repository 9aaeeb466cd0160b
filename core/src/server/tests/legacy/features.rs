//! Tools, resources, prompts, completion, logging, lists: on every legacy revision, and what the modern era does
//! differently.

use super::*;
use crate::error::ErrorObject;
use crate::model::{
    Completion, ContentBlock, GetPromptResult, Icon, LoggingLevel, PromptMessage, ReadResourceResult, ResourceContents,
};

fn reply_to(rig: &mut Rig, request: Value, reply: Reply) -> Value {
    rig.send(request);
    let slot = rig.invoked().slot;
    rig.reply(slot, reply);
    rig.one()
}

fn line(level: LoggingLevel) -> LogMessage {
    LogMessage { level, logger: None, data: json!("d").into() }
}

/// L-TOOL-02, L-RES-01, L-PROMPT-01, L-LOG-01, L-LOG-08: what is offered is declared, and nothing else.
#[test]
fn what_is_offered_is_declared() {
    let bare = || Definition::builder("s", "1");
    let greet = || Prompt::new("greet");
    let offers: Vec<(DefinitionBuilder, Value)> = vec![
        (bare(), json!({})),
        (bare().tool(tool("t")), json!({"tools": {}})),
        (bare().tool(tool("t")).list_changed(), json!({"tools": {"listChanged": true}})),
        (bare().prompt(greet()), json!({"prompts": {}})),
        (bare().prompt(greet()).list_changed(), json!({"prompts": {"listChanged": true}})),
        (bare().resource(Resource::new("a", "file:///a")), json!({"resources": {}})),
        (bare().subscriptions(), json!({"resources": {"subscribe": true}})),
        (bare().subscriptions().list_changed(), json!({"resources": {"subscribe": true, "listChanged": true}})),
        (bare().logging(), json!({"logging": {}})),
        (bare().completions(), json!({"completions": {}})),
    ];
    for (builder, declared) in offers {
        let definition = Arc::new(builder.build().unwrap());
        for version in LEGACY {
            let mut expected = declared.clone();
            if version == "2024-11-05" {
                expected.as_object_mut().unwrap().remove("completions");
            }
            let mut rig = Rig::new(bare().build().unwrap());
            rig.server.replace_definition(rig.now, Arc::clone(&definition));
            rig.send(initialize(version, json!({})));
            assert_eq!(rig.one()["result"]["capabilities"], expected, "{version}");
        }
    }
}

/// L-LIFE-12, L-PROMPT-07, L-LOG-01, L-LOG-10: what is not offered is an unknown method, and nothing of it is sent.
#[test]
fn what_is_not_offered_is_not_there() {
    for version in LEGACY {
        let bare = Definition::builder("s", "1").tool(tool("t")).early_log_level(LoggingLevel::Debug).build().unwrap();
        let mut rig = Rig::legacy(bare, version, json!({}));
        let reference =
            json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": ""}});
        for (method, params) in [
            ("prompts/list", json!({})),
            ("prompts/get", json!({"name": "greet"})),
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("resources/read", json!({"uri": "file:///a"})),
            ("resources/subscribe", json!({"uri": "file:///a"})),
            ("resources/unsubscribe", json!({"uri": "file:///a"})),
            ("logging/setLevel", json!({"level": "debug"})),
        ] {
            rig.send(legacy(1, method, params));
            assert_eq!(rig.one()["error"]["code"], -32601, "{method}");
        }
        rig.send(legacy(1, "completion/complete", reference));
        let expected = if version == "2024-11-05" { -32602 } else { -32601 };
        assert_eq!(rig.one()["error"]["code"], expected);
        for event in [
            Event::ToolsListChanged,
            Event::PromptsListChanged,
            Event::ResourcesListChanged,
            Event::ResourceUpdated { uri: "file:///a".into() },
        ] {
            assert!(published(&mut rig, &event).is_empty());
        }
        assert_eq!(rig.server.log(rig.now, None, &line(LoggingLevel::Emergency)).unwrap(), Sent::NotWanted);
    }
}

/// L-TOOL-03, L-RES-02, L-PROMPT-02, D-12: a session hears of changed lists without asking; a modern client does
/// not, on the same stream.
#[test]
fn changed_lists_are_announced() {
    for version in LEGACY {
        let mut rig = Rig::legacy(definition(), version, json!({}));
        for (event, method) in [
            (Event::ToolsListChanged, "notifications/tools/list_changed"),
            (Event::PromptsListChanged, "notifications/prompts/list_changed"),
            (Event::ResourcesListChanged, "notifications/resources/list_changed"),
        ] {
            assert_eq!(published(&mut rig, &event), [json!({"jsonrpc": "2.0", "method": method})]);
        }
    }
    let mut rig = Rig::new(definition());
    rig.send(modern(1, "tools/list", json!({})));
    rig.take();
    assert!(published(&mut rig, &Event::ToolsListChanged).is_empty());
}

/// L-TOOL-04, T-18, D-22: an input schema is an object, with every keyword that its author wrote, on every revision;
/// what is optional and new is not taken away from older clients.
#[test]
fn input_schemas_are_objects() {
    for wrong in [json!(null), json!(true), json!([]), json!("object"), json!({"type": "array"})] {
        assert!(builder().tool(Tool::new("bad").input_schema(wrong.clone())).build().is_err(), "{wrong}");
    }
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false,
        "$defs": {"x": {"type": "string"}}, "dependentRequired": {"a": []}});
    let fancy = Tool::new("fancy").title("F").icon(Icon::new("https://e/i.png")).input_schema(schema.clone());
    for version in LEGACY {
        let mut rig = Rig::legacy(builder().tool(fancy.clone()).build().unwrap(), version, json!({}));
        rig.send(legacy(1, "tools/list", json!({})));
        let answer = rig.one();
        let tools = answer["result"]["tools"].as_array().unwrap();
        assert!(tools.iter().all(|tool| tool["inputSchema"]["type"] == "object"));
        let listed = &tools[2];
        for (key, value) in schema.as_object().unwrap() {
            assert_eq!(&listed["inputSchema"][key], value);
        }
        assert_eq!((&listed["title"], &listed["icons"][0]["src"]), (&json!("F"), &json!("https://e/i.png")));
    }
}

/// L-TOOL-05: names are unique, and told apart by case.
#[test]
fn tool_names_are_told_apart_by_case() {
    let made = builder().tool(tool("Slow")).tool(tool("SLOW")).build().unwrap();
    let mut rig = Rig::legacy(made, "2025-11-25", json!({}));
    for (name, expected) in [("slow", 0_u64), ("Slow", 2), ("SLOW", 3)] {
        rig.send(legacy(expected, "tools/call", json!({"name": name})));
        let invocation = rig.invoked();
        assert!(matches!(invocation.call, Call::Tool { index: Some(index), .. } if index as u64 == expected));
    }
    rig.send(legacy(9, "tools/call", json!({"name": "sLOW"})));
    assert_eq!(rig.one()["error"]["code"], -32602);
    assert!(builder().tool(tool("add")).build().is_err());
}

/// L-TOOL-07, L-TOOL-08, D-01, D-02, D-04, D-05, T-16, T-17: one handler, and each revision gets what it can carry.
#[test]
fn results_are_shaped_for_the_revision() {
    let list = json!({"type": "array", "items": {"type": "integer"}});
    let made = || builder().tool(Tool::new("list").output_schema(list.clone())).build().unwrap();
    let result = || {
        let mut result = CallToolResult::structured(json!([1, 2]));
        result.content.push(ContentBlock::audio(b"x", "audio/wav"));
        result.content.push(ContentBlock::resource_link("a", "file:///a"));
        Reply::Tool(result)
    };
    for (version, kinds, structured) in [
        ("2024-11-05", ["text", "text", "text"], None),
        ("2025-03-26", ["text", "audio", "text"], None),
        ("2025-06-18", ["text", "audio", "resource_link"], Some(json!({"result": [1, 2]}))),
        ("2025-11-25", ["text", "audio", "resource_link"], Some(json!({"result": [1, 2]}))),
    ] {
        let mut rig = Rig::legacy(made(), version, json!({}));
        rig.send(legacy(1, "tools/list", json!({})));
        let answer = rig.one();
        let listed = answer["result"]["tools"][2].get("outputSchema");
        let root = structured.as_ref().map(|_| json!("object"));
        assert_eq!(listed.map(|schema| schema["type"].clone()), root, "{version}");
        if let Some(schema) = listed {
            assert_eq!(schema["properties"]["result"], list);
        }
        let answer = reply_to(&mut rig, legacy(2, "tools/call", json!({"name": "list"})), result());
        let content = answer["result"]["content"].as_array().unwrap();
        assert_eq!(content.iter().map(|block| block["type"].as_str().unwrap()).collect::<Vec<_>>(), kinds);
        assert_eq!(content[0]["text"], "[1,2]", "L-TOOL-08: the text says the same");
        assert_eq!(answer["result"].get("structuredContent"), structured.as_ref());
        let messages = ["audio", "link"].map(|kind| {
            PromptMessage::user(if kind == "audio" {
                ContentBlock::audio(b"x", "audio/wav")
            } else {
                ContentBlock::resource_link("a", "file:///a")
            })
        });
        let prompt = legacy(3, "prompts/get", json!({"name": "greet", "arguments": {"who": "x"}}));
        let answer = reply_to(&mut rig, prompt, Reply::Prompt(GetPromptResult::new(messages.to_vec())));
        for (position, kind) in kinds[1..].iter().enumerate() {
            assert_eq!(answer["result"]["messages"][position]["content"]["type"], *kind, "{version}");
        }
    }
    let mut rig = Rig::new(made());
    rig.send(modern(1, "tools/list", json!({})));
    assert_eq!(rig.one()["result"]["tools"][2]["outputSchema"]["type"], "array");
    let answer = reply_to(&mut rig, modern(2, "tools/call", json!({"name": "list"})), result());
    assert_eq!(answer["result"]["structuredContent"], json!([1, 2]));
}

/// L-TOOL-09: a result that breaks its schema never goes out, on whatever revision.
#[test]
fn results_keep_their_promise() {
    let schema = json!({"type": "object", "properties": {"t": {"type": "integer"}}, "required": ["t"]});
    for version in LEGACY {
        let made = builder().tool(Tool::new("typed").output_schema(schema.clone())).build().unwrap();
        let mut rig = Rig::legacy(made, version, json!({}));
        let call = || legacy(1, "tools/call", json!({"name": "typed"}));
        for wrong in [CallToolResult::structured(json!({"t": "x"})), CallToolResult::text("none")] {
            let answer = reply_to(&mut rig, call(), Reply::Tool(wrong));
            assert_eq!(answer["error"]["code"], -32603, "{version}");
        }
        let answer = reply_to(&mut rig, call(), Reply::Tool(CallToolResult::structured(json!({"t": 1}))));
        assert!(answer.get("result").is_some());
    }
}

/// L-TOOL-12, L-TOOL-14: no call of a tool that is not there, or that is malformed, reaches a handler.
#[test]
fn calls_are_checked_first() {
    for version in LEGACY {
        let mut rig = Rig::legacy(definition(), version, json!({}));
        for params in [
            json!({"name": "none"}),
            json!({}),
            json!({"name": 7}),
            json!({"name": "add", "arguments": [1]}),
            json!({"name": "add", "arguments": "x"}),
        ] {
            rig.send(legacy(1, "tools/call", params));
            assert_eq!(rig.one()["error"]["code"], -32602);
        }
        rig.send(legacy(1, "tools/call", json!({"name": "add", "arguments": {"a": "x"}})));
        let answer = rig.one();
        assert_eq!(answer.get("result").is_some(), version >= "2025-11-25", "{answer}");
        assert!(rig.invocations.is_empty());
    }
}

/// L-RES-03, T-05, T-06: the flag means a request of its own in the legacy era, answered at once, and a filter of a
/// stream in the modern one, acknowledged by a notification.
#[test]
fn subscriptions_of_both_eras() {
    let updated = Event::ResourceUpdated { uri: "file:///a".into() };
    for version in LEGACY {
        let mut rig = Rig::legacy(definition(), version, json!({}));
        rig.send(legacy(1, "resources/subscribe", json!({"uri": "file:///a"})));
        assert_eq!(rig.one()["result"], json!({}));
        let notified = notification("notifications/resources/updated", json!({"uri": "file:///a"}));
        assert_eq!(published(&mut rig, &updated), [notified]);
        assert!(published(&mut rig, &Event::ResourceUpdated { uri: "file:///b".into() }).is_empty());
        rig.send(legacy(2, "resources/unsubscribe", json!({"uri": "file:///a"})));
        assert_eq!(rig.one()["result"], json!({}));
        assert!(published(&mut rig, &updated).is_empty());
    }
    let mut rig = Rig::new(definition());
    rig.send(modern(1, "resources/subscribe", json!({"uri": "file:///a"})));
    assert_eq!(rig.one()["error"]["code"], -32601);
    rig.send(modern(2, "subscriptions/listen", json!({"notifications": {"resourceSubscriptions": ["file:///a"]}})));
    let acknowledged = rig.one();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert!(acknowledged.get("id").is_none());
    assert_eq!(published(&mut rig, &updated).len(), 1);
}

/// L-RES-04, D-09, T-31: -32002 on legacy revisions, -32602 on the modern one; what fails inside is -32603.
#[test]
fn unknown_resources_and_failures() {
    let read = |uri: &str| json!({"uri": uri});
    for version in LEGACY {
        let mut rig = Rig::legacy(definition(), version, json!({}));
        rig.send(legacy(1, "resources/read", read("file:///none")));
        let error = rig.one();
        assert_eq!((&error["error"]["code"], &error["error"]["data"]["uri"]), (&json!(-32002), &json!("file:///none")));
        let answer = reply_to(&mut rig, legacy(2, "resources/read", read("file:///a")), Reply::Failed);
        assert_eq!(answer["error"]["code"], -32603);
        let gone = Reply::Error(resource_not_found(Version::parse(version).unwrap(), "file:///a"));
        let answer = reply_to(&mut rig, legacy(3, "resources/read", read("file:///a")), gone);
        assert_eq!(answer["error"]["code"], -32002);
    }
    let mut rig = Rig::new(definition());
    rig.send(modern(1, "resources/read", read("file:///none")));
    assert_eq!(rig.one()["error"]["code"], -32602);
}

/// L-RES-06, L-RES-07: addresses are URIs, in the catalogue and in requests.
#[test]
fn addresses_are_uris() {
    for wrong in ["", "a", "/a", "a b:c", "1x:y", "x:a b"] {
        assert!(builder().resource(Resource::new("r", wrong)).build().is_err(), "{wrong:?}");
        let mut rig = Rig::legacy(builder().read_any().build().unwrap(), "2025-11-25", json!({}));
        for method in ["resources/read", "resources/subscribe"] {
            rig.send(legacy(1, method, json!({"uri": wrong})));
            assert!(rig.one().get("error").is_some(), "{method} {wrong:?}");
        }
        assert!(rig.invocations.is_empty());
        assert!(published(&mut rig, &Event::ResourceUpdated { uri: wrong.into() }).is_empty());
    }
    assert!(builder().resource(Resource::new("r", "git+ssh.1://u@h/a%20b?c#d")).build().is_ok());
}

/// L-RES-09, L-PROMPT-03: bytes go out as base64 with their type; embedded resources have their address.
#[test]
fn bytes_go_out_as_base64() {
    for version in LEGACY {
        let mut rig = Rig::legacy(definition(), version, json!({}));
        let contents = ReadResourceResult::new(vec![ResourceContents::blob("file:///a", "x/y", [0xfb, 0xff])]);
        let answer =
            reply_to(&mut rig, legacy(1, "resources/read", json!({"uri": "file:///a"})), Reply::Resource(contents));
        assert_eq!(answer["result"]["contents"], json!([{"uri": "file:///a", "mimeType": "x/y", "blob": "+/8="}]));
        let messages = vec![
            PromptMessage::user(ContentBlock::image([0xfb, 0xff], "image/png")),
            PromptMessage::user(ContentBlock::resource(ResourceContents::text("file:///a", "text/plain", "x"))),
        ];
        let prompt = legacy(2, "prompts/get", json!({"name": "greet", "arguments": {"who": "x"}}));
        let answer = reply_to(&mut rig, prompt, Reply::Prompt(GetPromptResult::new(messages)));
        let content = |position: usize| &answer["result"]["messages"][position]["content"];
        assert_eq!(*content(0), json!({"type": "image", "data": "+/8=", "mimeType": "image/png"}));
        assert_eq!(
            *content(1),
            json!({"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "x"}})
        );
    }
}

/// L-PROMPT-04, L-PROMPT-05, L-PROMPT-08: names and arguments of prompts are checked before their handler runs.
#[test]
fn prompts_are_checked_first() {
    for version in LEGACY {
        let mut rig = Rig::legacy(definition(), version, json!({}));
        for params in [
            json!({"name": "none"}),
            json!({}),
            json!({"name": "greet"}),
            json!({"name": "greet", "arguments": {}}),
            json!({"name": "greet", "arguments": {"who": 1}}),
        ] {
            rig.send(legacy(1, "prompts/get", params));
            assert_eq!(rig.one()["error"]["code"], -32602);
        }
        assert!(rig.invocations.is_empty());
        let prompt = legacy(2, "prompts/get", json!({"name": "greet", "arguments": {"who": "x"}}));
        assert_eq!(reply_to(&mut rig, prompt.clone(), Reply::Failed)["error"]["code"], -32603);
        assert_eq!(reply_to(&mut rig, prompt, text("not a prompt"))["error"]["code"], -32603);
    }
}

/// L-LOG-02, L-LOG-03, L-LOG-04, D-13: a session sets its own level; before that the definition decides.
#[test]
fn levels_are_each_sessions_own() {
    for (least, name) in
        LoggingLevel::ALL.iter().zip(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"])
    {
        let mut rig = Rig::legacy(definition(), "2025-11-25", json!({}));
        let mut other = Rig::legacy(definition(), "2025-11-25", json!({}));
        rig.send(legacy(1, "logging/setLevel", json!({"level": name})));
        assert_eq!(rig.one()["result"], json!({}));
        for level in LoggingLevel::ALL {
            let sent = rig.server.log(rig.now, None, &line(level)).unwrap();
            assert_eq!(sent == Sent::Yes, level >= *least, "{level:?} at {name}");
            assert_eq!(other.server.log(other.now, None, &line(level)).unwrap(), Sent::NotWanted);
        }
    }
    let mut rig = Rig::legacy(builder().early_log_level(LoggingLevel::Error).build().unwrap(), "2024-11-05", json!({}));
    assert_eq!(rig.server.log(rig.now, None, &line(LoggingLevel::Warning)).unwrap(), Sent::NotWanted);
    assert_eq!(rig.server.log(rig.now, None, &line(LoggingLevel::Error)).unwrap(), Sent::Yes);
    for wrong in [json!("loud"), json!(3), json!(null), json!("ERROR")] {
        rig.send(legacy(1, "logging/setLevel", json!({"level": wrong})));
        assert_eq!(rig.take().pop().unwrap()["error"]["code"], -32602);
    }
    assert_eq!(rig.server.log(rig.now, None, &line(LoggingLevel::Warning)).unwrap(), Sent::NotWanted);
}

/// T-27, T-29: the capability is the same in both eras; the level of a session never reaches a modern request.
#[test]
fn levels_do_not_cross_the_eras() {
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({}));
    rig.send(legacy(1, "logging/setLevel", json!({"level": "debug"})));
    rig.send(modern(2, "logging/setLevel", json!({"level": "debug"})));
    let frames = rig.take();
    assert_eq!((&frames[0]["result"], &frames[1]["error"]["code"]), (&json!({}), &json!(-32601)));
    rig.send(modern(3, "tools/call", json!({"name": "slow"})));
    let slot = rig.invoked().slot;
    assert_eq!(rig.server.log(rig.now, Some(slot.id()), &line(LoggingLevel::Emergency)).unwrap(), Sent::NotWanted);
    assert_eq!(rig.server.log(rig.now, None, &line(LoggingLevel::Debug)).unwrap(), Sent::Yes);
}

/// L-LOG-05, L-LOG-07: a client that does not read gets no more log lines, and is not made to hold them.
#[test]
fn log_lines_are_bounded() {
    let mut limits = crate::limits::Limits::server();
    limits.output_bytes = 500;
    let loud = builder().limits(limits).early_log_level(LoggingLevel::Debug).build().unwrap();
    let mut rig = Rig::legacy(loud, "2025-11-25", json!({}));
    let sent =
        (0..1_000).take_while(|_| rig.server.log(rig.now, None, &line(LoggingLevel::Emergency)).unwrap() == Sent::Yes);
    let sent = sent.count();
    assert!((5..20).contains(&sent), "{sent}");
    assert_eq!(rig.server.log(rig.now, None, &line(LoggingLevel::Emergency)).unwrap(), Sent::Full);
    rig.drain();
    assert_eq!(rig.take().len(), sent);
    assert_eq!(rig.server.log(rig.now, None, &line(LoggingLevel::Debug)).unwrap(), Sent::Yes);
}

/// L-LOG-09, L-LOG-10, L-LOG-13, D-14, T-30: completion is checked, bounded, in the order of its handler; 2024-11-05
/// has it without a capability.
#[test]
fn completion_of_every_revision() {
    let ask = |name: &str, argument: &str| {
        legacy(
            1,
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": argument, "value": "x"}}),
        )
    };
    for version in LEGACY {
        let mut rig = Rig::legacy(definition(), version, json!({}));
        for wrong in [
            ask("none", "who"),
            ask("greet", "none"),
            legacy(1, "completion/complete", json!({})),
            legacy(
                1,
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who"}}),
            ),
        ] {
            rig.send(wrong);
            assert_eq!(rig.one()["error"]["code"], -32602);
        }
        assert!(rig.invocations.is_empty());
        assert_eq!(reply_to(&mut rig, ask("greet", "who"), Reply::Failed)["error"]["code"], -32603);
        let values: Vec<String> = (0..101).rev().map(|n| n.to_string()).collect();
        let answer = reply_to(&mut rig, ask("greet", "who"), Reply::Completion(Completion::new(values.clone())));
        let completion = &answer["result"]["completion"];
        assert_eq!(completion["values"], json!(values[..100]));
        assert_eq!(completion["hasMore"], true);
    }
}

/// L-LOG-15, L-LOG-18, D-23, T-42, T-43: a cursor leads to the same page on every connection and in both eras, `""`
/// is a cursor, one that nobody gave out is -32602, and lists do not depend on the connection.
#[test]
fn cursors_are_stable() {
    let paged = Arc::new(builder().page_size(1).build().unwrap());
    let page = |rig: &mut Rig, cursor: Option<&str>, version: &str| {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        rig.send(if version == LATEST { modern(1, "tools/list", params) } else { legacy(1, "tools/list", params) });
        let answer = rig.one();
        (
            answer["result"]["tools"].clone(),
            answer["result"]["nextCursor"].as_str().map(str::to_owned),
            answer["error"]["code"].clone(),
        )
    };
    let mut pages = Vec::new();
    for version in ["2025-06-18", "2025-11-25", LATEST] {
        let mut rig = Rig::new(definition());
        rig.server.replace_definition(rig.now, Arc::clone(&paged));
        if version != LATEST {
            rig.send(initialize(version, json!({"roots": {}})));
            rig.take();
        }
        let (first, cursor, _) = page(&mut rig, None, version);
        let (second, end, _) = page(&mut rig, cursor.as_deref(), version);
        assert_eq!(page(&mut rig, cursor.as_deref(), version).0, second);
        assert_eq!((first[0]["name"].as_str(), second[0]["name"].as_str(), &end), (Some("slow"), Some("add"), &None));
        for wrong in ["", "x", "-1", "00000000.1"] {
            assert_eq!(page(&mut rig, Some(wrong), version).2, -32602, "{wrong:?}");
        }
        pages.push((first, second, cursor));
    }
    assert!(pages.windows(2).all(|pair| pair[0] == pair[1]));
    let mut rig =
        Rig::legacy(Definition::builder("s", "1").dynamic(List::Tools).build().unwrap(), "2025-11-25", json!({}));
    rig.send(legacy(1, "tools/list", json!({"cursor": ""})));
    assert!(matches!(rig.invoked().call, Call::List { cursor: Some(cursor), .. } if cursor.is_empty()));
}

/// An application's own error keeps its code and its data on every legacy revision.
#[test]
fn errors_of_the_application_pass() {
    for version in LEGACY {
        let mut rig = Rig::legacy(definition(), version, json!({}));
        let own = ErrorObject::new(crate::spec::ErrorCode(77), "closed").with_data(json!({"x": 1}));
        let answer = reply_to(&mut rig, legacy(1, "tools/call", json!({"name": "slow"})), Reply::Error(own));
        assert_eq!(answer["error"], json!({"code": 77, "message": "closed", "data": {"x": 1}}));
    }
}
