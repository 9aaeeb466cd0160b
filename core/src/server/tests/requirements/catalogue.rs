//! Capabilities, lists, caching hints, tools, resources, prompts, completion.

use super::*;
use crate::model::{CacheHints, ResourceContents};

fn plain() -> DefinitionBuilder {
    Definition::builder("s", "1")
}

fn greet() -> Prompt {
    Prompt::new("greet").argument(PromptArgument::new("who").required(true))
}

/// M-DISC-07, M-ERR-14, M-TOOL-02, M-TOOL-03, M-RES-01, M-RES-02, M-PROMPT-01, M-PROMPT-02, M-PROMPT-11, M-COMP-01,
/// M-VER-03, M-DISC-01: what `server/discover` declares is answered, and nothing else is.
#[test]
fn m_disc_07_capabilities_are_what_is_answered() {
    let complete = json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": ""}});
    let methods = [
        ("tools", "tools/list", json!({})),
        ("tools", "tools/call", json!({"name": "slow"})),
        ("prompts", "prompts/list", json!({})),
        ("prompts", "prompts/get", json!({"name": "greet", "arguments": {"who": "x"}})),
        ("resources", "resources/list", json!({})),
        ("resources", "resources/templates/list", json!({})),
        ("resources", "resources/read", json!({"uri": "file:///a"})),
        ("completions", "completion/complete", complete),
    ];
    let servers: [(DefinitionBuilder, &[&str]); 6] = [
        (plain(), &[]),
        (plain().tool(tool("slow")), &["tools"]),
        (plain().prompt(greet()), &["prompts"]),
        (plain().resource(Resource::new("a", "file:///a")), &["resources"]),
        (plain().prompt(greet()).completions(), &["prompts", "completions"]),
        (builder(), &["tools", "prompts", "resources", "completions", "logging"]),
    ];
    for (definition, offered) in servers {
        let mut rig = Rig::new(definition.build().unwrap());
        rig.send(modern(0, "server/discover", json!({})));
        let discovered = rig.one();
        let mut declared: Vec<&String> = discovered["result"]["capabilities"].as_object().unwrap().keys().collect();
        declared.sort();
        let mut expected = offered.to_vec();
        expected.sort_unstable();
        assert_eq!(declared, expected);
        for (id, (capability, method, params)) in methods.iter().enumerate() {
            rig.send(modern(id, method, params.clone()));
            if offered.contains(capability) {
                let handed_over = rig.invocations.pop().is_some();
                let answered = rig.take().iter().any(|frame| frame["result"]["resultType"] == "complete");
                assert!(handed_over != answered, "{method}");
            } else {
                assert_eq!(rig.one()["error"]["code"], -32_601, "{method}");
            }
        }
    }
}

/// All pages of a list, each as it came.
fn pages(rig: &mut Rig, method: &str) -> Vec<Value> {
    let mut pages = Vec::new();
    let mut params = json!({});
    loop {
        rig.send(modern(1, method, params));
        let page = rig.one();
        params = json!({"cursor": page["result"]["nextCursor"]});
        pages.push(page);
        if params["cursor"].is_null() {
            return pages;
        }
    }
}

/// M-TOOL-04, M-TOOL-05, M-RES-03, M-PROMPT-03, M-PAGE-02: lists are the same on every connection, in the order of the
/// definition, whatever happened before; a cursor leads to the same page each time.
#[test]
fn m_tool_04_05_lists_are_the_same_everywhere() {
    let mut definition = builder().page_size(2);
    for number in (0..5).rev() {
        definition = definition
            .tool(tool(&format!("tool_{number}")))
            .prompt(Prompt::new(format!("prompt_{number}")))
            .resource(Resource::new("r", format!("r://{number}")))
            .template(ResourceTemplate::new("t", format!("t{number}://{{x}}")));
    }
    let definition = Arc::new(definition.build().unwrap());
    let lists = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
    let read = |rig: &mut Rig| lists.map(|list| pages(rig, list));
    let connect = |seed: u8| {
        let mut rig = Rig::new(builder().build().unwrap());
        rig.server = Server::new(Arc::clone(&definition), Seed([seed; 32]));
        rig
    };
    let mut rig = connect(1);
    let first = read(&mut rig);
    assert!(first.iter().all(|pages| pages.len() >= 3));
    let names: Vec<_> = first[0].iter().flat_map(|page| page["result"]["tools"].as_array().unwrap()).collect();
    let names: Vec<_> = names.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["slow", "add", "tool_4", "tool_3", "tool_2", "tool_1", "tool_0"]);
    rig.send(slow(9));
    rig.send(modern(10, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})));
    rig.send(modern(11, "prompts/get", json!({"name": "nope"})));
    let slot = rig.invoked().slot;
    rig.reply(slot, text("x"));
    rig.take();
    assert_eq!(read(&mut rig), first);
    assert_eq!(read(&mut connect(2)), first);
}

/// M-CACHE-01, M-CACHE-08, M-CACHE-12, M-CACHE-18, M-DISC-02: hints stand on everything that may be cached, on every
/// page the same, and on nothing else; times are integers that are not negative, whatever a handler says.
#[test]
fn m_cache_01_08_12_hints_are_stated() {
    let hinted = builder()
        .page_size(1)
        .cache(List::Tools, CacheHints::public(1))
        .cache(List::Prompts, CacheHints::private(2))
        .cache(List::Resources, CacheHints::public(3))
        .cache(List::Templates, CacheHints::private(4))
        .cache_reads(CacheHints::public(5))
        .cache_discover(CacheHints::public(u64::MAX));
    let hints = |frame: &Value| (frame["result"]["ttlMs"].as_u64().unwrap(), frame["result"]["cacheScope"].clone());
    for (definition, configured) in [(hinted, true), (builder(), false)] {
        let mut rig = Rig::new(definition.build().unwrap());
        for (method, ttl, scope) in [
            ("tools/list", 1, "public"),
            ("prompts/list", 2, "private"),
            ("resources/list", 3, "public"),
            ("resources/templates/list", 4, "private"),
            ("server/discover", u64::MAX, "public"),
        ] {
            let expected = if configured { (ttl, json!(scope)) } else { (0, json!("private")) };
            for page in pages(&mut rig, method) {
                assert_eq!(hints(&page), expected, "{method}");
            }
        }
        let read = |rig: &mut Rig, result: ReadResourceResult| {
            rig.send(modern(1, "resources/read", json!({"uri": "file:///a"})));
            let slot = rig.invoked().slot;
            rig.reply(slot, Reply::Resource(result));
            hints(&rig.one())
        };
        let result = || ReadResourceResult::text("file:///a", "text/plain", "x");
        let default = if configured { (5, json!("public")) } else { (0, json!("private")) };
        assert_eq!(read(&mut rig, result()), default);
        assert_eq!(read(&mut rig, result().ttl_ms(-5)), (0, json!("private")));
        assert_eq!(read(&mut rig, result().ttl_ms(7).cache_scope("shared")), (7, json!("private")));
        assert_eq!(read(&mut rig, result().cached(CacheHints::public(9))), (9, json!("public")));
        rig.send(slow(1));
        let slot = rig.invoked().slot;
        rig.reply(slot, text("x"));
        let answer = rig.one();
        assert!(answer["result"].get("ttlMs").is_none() && answer["result"].get("cacheScope").is_none());
    }
}

/// M-TOOL-08, M-JS-06, M-JS-13: an input schema is an object for objects, valid under its dialect, and published with
/// every keyword in the author's order.
#[test]
fn m_tool_08_m_js_13_input_schemas() {
    let with = |schema: Json| plain().tool(Tool::new("t").input_schema(schema)).build();
    for wrong in [
        "null",
        "true",
        "7",
        "[]",
        r#"{"type":"array"}"#,
        r#"{"type":["object"]}"#,
        r#"{"type":"object","required":1}"#,
    ] {
        assert!(with(Json::from_text(wrong).unwrap()).is_err(), "{wrong}");
    }
    let text = concat!(
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","#,
        r##""properties":{"z":{"$ref":"#/$defs/p"},"a":{"anyOf":[{"const":1},{"not":{"type":"string"}}]}},"##,
        r#""$defs":{"p":{"$anchor":"p","type":"integer","maximum":1.50}},"oneOf":[{"required":["z"]},{"required":["a"]}],"#,
        r#""allOf":[{}],"if":{"required":["z"]},"then":{"minProperties":1},"else":{},"additionalProperties":false,"x-own":[1]}"#
    );
    let definition = with(Json::from_text(text).unwrap()).unwrap();
    assert_eq!(definition.tools().next().unwrap().input_schema.get(), text);
    let mut server = Server::new(Arc::new(definition), Seed([1; 32]));
    let frame = Bytes::from(format!("{}\n", modern(1, "tools/list", json!({}))));
    server.handle(Now::default(), Input::Bytes(frame)).unwrap();
    let Some(Action::Write(list)) = server.poll_action() else { panic!() };
    assert!(std::str::from_utf8(&list).unwrap().contains(&format!("\"inputSchema\":{text}")));
    let mut rig = Rig::new(with(Json::EMPTY_OBJECT).unwrap());
    rig.send(modern(1, "tools/list", json!({})));
    assert_eq!(rig.one()["result"]["tools"][0]["inputSchema"]["type"], "object");
}

/// M-TOOL-11: names that differ by case are different names.
#[test]
fn m_tool_11_names_are_case_sensitive() {
    let mut rig = Rig::new(plain().tool(tool("get")).tool(tool("GET")).build().unwrap());
    for (name, index) in [("get", 0), ("GET", 1)] {
        rig.send(modern(name, "tools/call", json!({"name": name})));
        assert!(matches!(rig.invoked().call, Call::Tool { index: Some(found), .. } if found == index));
    }
    rig.send(modern(1, "tools/call", json!({"name": "Get"})));
    assert_eq!(rig.one()["error"]["code"], -32_602);
}

/// M-TOOL-19, M-TOOL-20: structured content is any value, with its JSON as a text.
#[test]
fn m_tool_20_structured_content_is_any_value() {
    for value in [json!({"a": 1}), json!([1, "x"]), json!("x"), json!(5), json!(true), json!(null)] {
        let mut rig = Rig::new(definition());
        rig.send(slow(1));
        let slot = rig.invoked().slot;
        rig.reply(slot, Reply::Tool(CallToolResult::structured(value.clone())));
        let answer = rig.one();
        assert_eq!(answer["result"].get("structuredContent"), Some(&value));
        let mirror = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(mirror).unwrap(), value);
    }
}

/// M-RES-07, M-RES-08, M-RES-13: addresses of resources are URIs: refused in a definition, not found in a request.
#[test]
fn m_res_07_13_addresses_are_uris() {
    for wrong in ["", "a", "/a", "1a:b", "a b:c", ":x", "a:b c", "a:<b>", "a:b\n", "a:b%2", "a:b%zz", "a:\\b", "a_b:c"]
    {
        assert!(plain().resource(Resource::new("r", wrong)).build().is_err(), "{wrong:?}");
        assert!(plain().list_only_resource(Resource::new("r", wrong)).build().is_err(), "{wrong:?}");
        let mut rig = Rig::new(plain().read_any().build().unwrap());
        rig.send(modern(1, "resources/read", json!({"uri": wrong})));
        let error = rig.one();
        assert_eq!((&error["error"]["code"], &error["error"]["data"]["uri"]), (&json!(-32_602), &json!(wrong)));
        assert!(rig.invocations.is_empty());
    }
    for right in ["a:b", "file:///a", "custom+x-1.y://h/p?q#f", "urn:a:b", "a:%20%C3%A9", "a:é", "https://[::1]/x"] {
        assert!(plain().resource(Resource::new("r", right)).build().is_ok(), "{right}");
        let mut rig = Rig::new(plain().read_any().build().unwrap());
        rig.send(modern(1, "resources/read", json!({"uri": right})));
        rig.invoked();
    }
}

/// M-RES-16: a `file:` address that a client makes up cannot climb out of its folder.
#[test]
fn m_res_16_files_are_not_traversed() {
    let servers: [fn() -> DefinitionBuilder; 3] = [
        || plain().template(ResourceTemplate::new("f", "file:///data/{+path}")),
        || plain().template(ResourceTemplate::new("f", "file:///data/{path}")),
        || plain().read_any(),
    ];
    for server in servers {
        for climbs in [
            "file:///data/..",
            "file:///data/../etc/passwd",
            "file:///data/%2e%2E/etc",
            "file:///data/.%2e",
            "file:///data/a%2fb",
            "file:///data/..%2f..%2Fetc",
            "file:///data/a%5c..%5cb",
            "file:///data/a%00b",
            "FILE:///data/..",
        ] {
            let mut rig = Rig::new(server().build().unwrap());
            rig.send(modern(1, "resources/read", json!({"uri": climbs})));
            assert_eq!(rig.one()["error"]["code"], -32_602, "{climbs}");
            assert!(rig.invocations.is_empty());
        }
        let mut rig = Rig::new(server().build().unwrap());
        rig.send(modern(1, "resources/read", json!({"uri": "file:///data/a..b%20%C3%A9"})));
        rig.invoked();
    }
    let mut rig = Rig::new(plain().read_any().build().unwrap());
    rig.send(modern(1, "resources/read", json!({"uri": "item://a/../b"})));
    rig.invoked();
}

/// M-RES-09, M-PROMPT-08, M-COMP-02: a failing handler of anything but a tool is -32603, and tells nothing.
#[test]
fn m_res_09_m_prompt_08_m_comp_02_failures_are_internal_errors() {
    let mut rig = Rig::new(definition());
    for (method, params) in [
        ("resources/read", json!({"uri": "file:///a"})),
        ("prompts/get", json!({"name": "greet", "arguments": {"who": "x"}})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": "item://{id}"},
            "argument": {"name": "id", "value": "x"}}),
        ),
    ] {
        rig.send(modern(1, method, params));
        let slot = rig.invoked().slot;
        rig.reply(slot, Reply::Failed);
        assert_eq!(rig.one()["error"], json!({"code": -32_603, "message": "internal error"}), "{method}");
    }
}

/// M-PROMPT-05, M-PROMPT-06, M-PROMPT-07, M-PROMPT-12, M-RES-15: pictures, sounds and embedded resources come out with
/// base64, MIME type and address.
#[test]
fn m_prompt_05_06_07_contents_are_whole() {
    let blocks = [
        (ContentBlock::image([0, 255], "image/png"), json!({"type": "image", "data": "AP8=", "mimeType": "image/png"})),
        (ContentBlock::audio([1], "audio/wav"), json!({"type": "audio", "data": "AQ==", "mimeType": "audio/wav"})),
        (
            ContentBlock::resource(ResourceContents::text("a:b", "text/plain", "x")),
            json!({"type": "resource", "resource": {"uri": "a:b", "mimeType": "text/plain", "text": "x"}}),
        ),
        (
            ContentBlock::resource(ResourceContents::blob("a:b", "image/png", [0, 255])),
            json!({"type": "resource", "resource": {"uri": "a:b", "mimeType": "image/png", "blob": "AP8="}}),
        ),
    ];
    let mut rig = Rig::new(definition());
    for (block, expected) in blocks {
        rig.send(modern(1, "prompts/get", json!({"name": "greet", "arguments": {"who": "x"}})));
        let slot = rig.invoked().slot;
        rig.reply(slot, Reply::Prompt(GetPromptResult::new(vec![PromptMessage::user(block)])));
        assert_eq!(rig.one()["result"]["messages"][0]["content"], expected);
    }
    rig.send(modern(1, "resources/read", json!({"uri": "file:///a"})));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::Resource(ReadResourceResult::blob("file:///a", "image/png", [0, 255])));
    assert_eq!(
        rig.one()["result"]["contents"][0],
        json!({"uri": "file:///a", "mimeType": "image/png", "blob": "AP8="})
    );
}

/// M-COMP-07: a template is referred to as it is listed, or by an address that it matches; what is filled in already
/// comes along.
#[test]
fn m_comp_07_references_and_context() {
    let mut rig = Rig::new(definition());
    for uri in ["item://{id}", "item://5"] {
        rig.send(modern(
            1,
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": uri},
            "argument": {"name": "id", "value": "x"}, "context": {"arguments": {"other": "y"}}}),
        ));
        let invocation = rig.invoked();
        let Call::Complete { reference, argument, value, context } = invocation.call else { panic!("{uri}") };
        assert_eq!(reference, Reference::Template(Some(0), "item://{id}".into()));
        assert_eq!((&*argument, &*value, context.get()), ("id", "x", r#"{"other":"y"}"#));
        rig.reply(invocation.slot, Reply::Completion(Completion::new(Vec::new())));
        rig.take();
    }
    rig.send(modern(
        1,
        "completion/complete",
        json!({"ref": {"type": "ref/resource", "uri": "none://5"},
        "argument": {"name": "id", "value": "x"}}),
    ));
    assert_eq!(rig.one()["error"]["code"], -32_602);
    rig.send(modern(
        1,
        "completion/complete",
        json!({"ref": {"type": "ref/resource", "uri": "item://5"},
        "argument": {"name": "id", "value": "x"}, "context": {"arguments": {"other": 7}}}),
    ));
    assert_eq!(rig.one()["error"]["code"], -32_602);
}
