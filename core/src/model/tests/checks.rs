//! Naming rules, addresses, trace context, conversations.

use super::{json, read};
use crate::model::*;

/// M-META-02, M-META-03: a prefix is labels, dots and a slash.
#[test]
fn m_meta_02_03_prefixes() {
    for key in
        ["com.example/x", "a/x", "a-b.c1/x", "io.modelcontextprotocol/protocolVersion", "A.b-9.C/x", "com.example/"]
    {
        assert_eq!(check_meta_key(key), Ok(()), "{key}");
    }
    for key in ["/x", ".a/x", "a./x", "a..b/x", "1a/x", "-a/x", "a-/x", "a_b/x", "ä/x", "a b/x", "com.example.9/x"] {
        assert_eq!(check_meta_key(key), Err(KeyError::Label), "{key}");
    }
}

/// M-META-06: a name begins and ends with a letter or digit.
#[test]
fn m_meta_06_names() {
    for key in ["x", "X9", "a-b_c.d", "9", "com.example/a.b", ""] {
        assert_eq!(check_meta_key(key), Ok(()), "{key}");
    }
    for key in ["-x", "x-", ".x", "_", "com.example/x.", "a/b/c", "x y", "ü"] {
        assert_eq!(check_meta_key(key), Err(KeyError::Name), "{key}");
    }
}

/// M-META-05: reserved by the second label; T-38: the rule of 2025-11-25, not the older one.
/// M-META-19, M-META-20: a few names without prefix are reserved too.
#[test]
fn m_meta_05_19_20_reserved_keys() {
    for key in ["io.modelcontextprotocol/x", "dev.mcp/x", "org.modelcontextprotocol.api/x", "com.mcp.tools/x"] {
        assert!(is_reserved_meta_key(key), "{key}");
    }
    for key in ["com.example.mcp/x", "mcp.dev/x", "tools.mcp-x.com/x", "modelcontextprotocol/x", "mcp/x", "x"] {
        assert!(!is_reserved_meta_key(key), "{key}");
    }
    for key in ["progressToken", "traceparent", "tracestate", "baggage"] {
        assert!(is_reserved_meta_key(key), "{key}");
    }
}

#[test]
fn extension_ids_are_keys_with_a_prefix() {
    assert_eq!(check_extension_id("com.example/x"), Ok(()));
    assert_eq!(check_extension_id("x"), Err(KeyError::NoPrefix));
    assert_eq!(check_extension_id("/x"), Err(KeyError::Label));
    assert_eq!(check_extension_id("com.example/-"), Err(KeyError::Name));
}

/// M-META-19: trace context has the formats of the W3C.
#[test]
fn m_meta_19_trace_context_formats() {
    let id = "0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7";
    for good in [format!("00-{id}-01"), format!("01-{id}-01-what-ever")] {
        assert!(is_traceparent(&good), "{good}");
    }
    for bad in [
        format!("ff-{id}-01"),
        format!("00-{id}-01-x"),
        format!("00-{id}-1"),
        format!("00-{}-01", id.to_uppercase()),
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01".to_owned(),
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01".to_owned(),
        String::new(),
    ] {
        assert!(!is_traceparent(&bad), "{bad}");
    }
    for good in ["", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "a@b=1", "1a=x y", "a=1, ,b=2", "fw529a3039@dt=FfAAAA"]
    {
        assert!(is_tracestate(good), "{good}");
    }
    let many = (0..33).map(|n| format!("k{n}=1")).collect::<Vec<_>>().join(",");
    for bad in ["a", "A=1", "a=", "a=b=c", "a@1b=1", "a=\u{7f}", many.as_str()] {
        assert!(!is_tracestate(bad), "{bad}");
    }
    for good in ["k=v", "k=v;p=1;q , other= x%20y ;p", "a=", "SomeKey=SomeValue"] {
        assert!(is_baggage(good), "{good}");
    }
    for bad in ["", "k", "=v", "k=v,", "k k=v", "k=v\"", "k=a b", "k=v;", "k=ü"] {
        assert!(!is_baggage(bad), "{bad}");
    }
}

/// M-META-19: malformed parts are not passed on, in either direction.
#[test]
fn m_meta_19_trace_context_of_a_request() {
    let parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    let meta: Meta = [
        ("traceparent", serde_json::Value::from(parent)),
        ("tracestate", serde_json::Value::from("a=1")),
        ("baggage", serde_json::Value::from("bad bag")),
    ]
    .into_iter()
    .collect();
    let context = TraceContext::from_meta(&meta);
    assert_eq!(context.traceparent.as_deref(), Some(parent));
    assert_eq!((context.tracestate.as_deref(), context.baggage.as_deref()), (Some("a=1"), None));

    let mut out = Meta::new();
    TraceContext { baggage: Some("k=v".into()), traceparent: Some("?".into()), ..context }.write_to(&mut out);
    assert_eq!(super::write(&out).get(), r#"{"tracestate":"a=1","baggage":"k=v"}"#);

    let orphan: Meta = [("traceparent", json("7")), ("tracestate", json("\"a=1\""))].into_iter().collect();
    assert!(TraceContext::from_meta(&orphan).is_empty());
}

/// M-ICON-04: only `https:` and `data:`.
#[test]
fn m_icon_04_schemes() {
    for src in ["https://a.example/i.png", "HTTPS://a.example/i.png", "data:image/png;base64,AAEC", "DATA:,x"] {
        assert_eq!(Icon::new(src).check_src(), Ok(()), "{src}");
    }
    for src in [
        "http://a.example/i.png",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ftp://a/i",
        "ws://a",
        "wss://a",
        "app:i",
        " https://a.example",
        "java\nscript:x",
        "\u{1}data:,x",
        "//a.example/i.png",
        "i.png",
        "",
        "https:",
        "https:a",
        "https:///i.png",
        "https://",
        "data:image/png",
        "blob:https://a.example/1",
        "vbscript:x",
    ] {
        assert_eq!(Icon::new(src).check_src(), Err(IconSrcError), "{src:?}");
    }
}

/// M-TOOL-10, M-TOOL-12, M-TOOL-13: length and characters of tool names.
#[test]
fn m_tool_10_12_13_names() {
    for name in ["getUser", "DATA_EXPORT_v2", "admin.tools.list", "a-b", "9", &"x".repeat(128)] {
        assert_eq!(Tool::new(name).check_name(), Ok(()), "{name}");
    }
    assert_eq!(check_tool_name(""), Err(ToolNameWarning::Empty));
    assert_eq!(check_tool_name(&"x".repeat(129)), Err(ToolNameWarning::TooLong));
    for name in ["a b", "a,b", "größe", "a/b", "a:b", "a\n"] {
        assert_eq!(check_tool_name(name), Err(ToolNameWarning::Characters), "{name}");
    }
}

/// M-ROOT-03: roots are `file://`.
#[test]
fn m_root_03_root_addresses() {
    assert_eq!(Root::new("file:///home/u").check_uri(), Ok(()));
    assert_eq!(Root::new("FILE:///home/u").check_uri(), Ok(()));
    for uri in ["https://a", "file:/home", "/home", "", "filé:///"] {
        assert_eq!(Root::new(uri).check_uri(), Err(RootUriError), "{uri}");
    }
}

/// M-CACHE-04 … M-CACHE-07, M-CACHE-12, M-CACHE-13: what caching hints mean.
#[test]
fn m_cache_06_07_hints() {
    let hints = |members: &str| read::<ListToolsResult>(&format!(r#"{{"tools":[]{members}}}"#)).cache_hints();
    assert_eq!(hints(""), CacheHints::private(0));
    assert_eq!(hints(r#","ttlMs":-5,"cacheScope":"public""#), CacheHints::public(0));
    assert_eq!(hints(r#","ttlMs":60000,"cacheScope":"shared""#), CacheHints::private(60_000));
    assert_eq!(hints(r#","ttlMs":1e3"#), CacheHints::private(1_000));
    assert_eq!(hints(r#","ttlMs":99999999999999999999999"#), CacheHints::private(u64::MAX));
    assert_eq!(CacheHints::default(), CacheHints::private(0));
}

/// M-LOG-04, M-LOG-06: eight levels in order; others are told apart.
#[test]
fn m_log_06_levels() {
    let names: Vec<&str> = LoggingLevel::ALL.iter().map(|level| level.as_str()).collect();
    assert_eq!(names, ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]);
    assert!(LoggingLevel::ALL.is_sorted());
    for name in names {
        assert_eq!(LoggingLevel::parse(name).map(LoggingLevel::as_str), Some(name));
    }
    assert_eq!(read::<SetLevelParams>(r#"{"level":"loud"}"#).level.known(), None);
    assert_eq!(LoggingLevel::parse("Error"), None);
}

fn conversation(messages: &str) -> Result<(), SamplingError> {
    read::<CreateMessageParams>(&format!(r#"{{"messages":{messages},"maxTokens":1}}"#)).check()
}

const USES: &str = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}},{"type":"tool_use","id":"b","name":"t","input":{}}]}"#;
const A: &str = r#"{"type":"tool_result","toolUseId":"a","content":[]}"#;
const B: &str = r#"{"type":"tool_result","toolUseId":"b","content":[]}"#;
const TEXT: &str = r#"{"type":"text","text":"t"}"#;

/// M-SAMP-07: tool results do not mix.
#[test]
fn m_samp_07_results_stand_alone() {
    let mixed = format!(r#"[{USES},{{"role":"user","content":[{A},{B},{TEXT}]}}]"#);
    assert_eq!(conversation(&mixed), Err(SamplingError::Mixed { message: 1 }));
}

/// M-SAMP-08: each tool use is answered by the next message.
#[test]
fn m_samp_08_uses_are_answered() {
    let user = |blocks: &str| format!(r#"{{"role":"user","content":[{blocks}]}}"#);
    let both = format!("{B},{A}");
    assert_eq!(conversation(&format!("[{USES},{},{USES}]", user(&both))), Ok(()));
    assert_eq!(conversation(&format!("[{USES},{}]", user(A))), Err(SamplingError::Unanswered { message: 1 }));
    assert_eq!(conversation(&format!("[{USES},{}]", user(TEXT))), Err(SamplingError::Unanswered { message: 1 }));
    let by_model = format!(r#"[{USES},{{"role":"assistant","content":[{both}]}}]"#);
    assert_eq!(conversation(&by_model), Err(SamplingError::Unanswered { message: 1 }));
    assert_eq!(conversation(&format!("[{},{}]", user(TEXT), user(TEXT))), Ok(()));
}

/// M-SAMP-15: each tool result answers a tool use.
#[test]
fn m_samp_15_results_answer_uses() {
    let orphan = format!(r#"[{{"role":"user","content":{A}}}]"#);
    assert_eq!(conversation(&orphan), Err(SamplingError::Unasked { message: 0 }));
}

/// M-SAMP-13, M-SAMP-14: hints in order, as parts of names.
#[test]
fn m_samp_13_14_hints_in_order() {
    let wanted: ModelPreferences = read(r#"{"hints":[{"name":"sonnet"},{},{"name":"model"}]}"#);
    assert_eq!(wanted.pick(&["model-1", "x-sonnet-2", "sonnet"]), Some("x-sonnet-2"));
    assert_eq!(wanted.pick(&["other", "model-1"]), Some("model-1"));
    assert_eq!(wanted.pick(&["other"]), None);
}

#[test]
fn tool_hints_have_defaults() {
    let none = ToolAnnotations::new();
    assert!(!none.is_read_only() && none.is_destructive() && !none.is_idempotent() && none.is_open_world());
    let read_only = ToolAnnotations::new().read_only_hint(true).destructive_hint(true);
    assert!(read_only.is_read_only() && !read_only.is_destructive() && read_only.is_idempotent());
}
