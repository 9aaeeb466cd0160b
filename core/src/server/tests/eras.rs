//! Which era a request belongs to, and what each refuses.

use super::*;

/// M-VER-11, U-59: both eras at once on one stream, each request judged by its own claim.
#[test]
fn both_eras_share_a_stream() {
    let mut rig = Rig::new(definition());
    rig.send(modern(1, "tools/list", json!({})));
    assert_eq!(rig.one()["result"]["resultType"], "complete");
    rig.send(json!({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}));
    assert_eq!(rig.one()["result"]["protocolVersion"], "2025-11-25");
    rig.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    rig.send(legacy(3, "tools/list", json!({})));
    let legacy_list = rig.one();
    assert!(legacy_list["result"].get("resultType").is_none());
    assert!(legacy_list["result"].get("_meta").is_none());
    rig.send(modern(4, "tools/list", json!({})));
    assert_eq!(rig.one()["result"]["resultType"], "complete");
}

/// M-META: a missing required key is -32602, and the error names it.
#[test]
fn an_incomplete_envelope_is_refused_by_name() {
    let mut rig = Rig::new(definition());
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    for (meta, missing) in [
        (json!({}), vec![version, capabilities]),
        (json!({version: LATEST}), vec![capabilities]),
        (json!({capabilities: {}}), vec![version]),
        (json!({version: 7, capabilities: {}}), vec![version]),
        (json!({version: LATEST, capabilities: []}), vec![capabilities]),
    ] {
        rig.send(legacy(1, "tools/list", json!({"_meta": meta})));
        let error = rig.one();
        assert_eq!(error["error"]["code"], -32602, "{error}");
        for key in missing {
            assert!(error["error"]["message"].as_str().unwrap().contains(key), "{error}");
        }
    }
}

/// M-VER-03: an unsupported revision is -32022 with what is supported and what was asked for.
#[test]
fn an_unsupported_revision_is_refused_with_the_supported_ones() {
    let mut rig = Rig::new(definition());
    for claim in ["2027-02-02", "2025-11-25", ""] {
        let mut request = modern(1, "tools/list", json!({}));
        request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(claim);
        rig.send(request);
        let error = rig.one();
        assert_eq!(error["error"]["code"], -32022);
        assert_eq!(error["error"]["data"]["requested"], claim);
        assert_eq!(error["error"]["data"]["supported"], json!([LATEST]), "as server/discover names them");
    }
}

/// Methods that the modern era removed are unknown there, even as the first frame.
#[test]
fn removed_methods_are_unknown_in_the_modern_era() {
    let mut rig = Rig::new(definition());
    for method in
        ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/get", "x/y"]
    {
        rig.send(modern(1, method, json!({"uri": "file:///a", "level": "info", "protocolVersion": "2025-11-25"})));
        let error = rig.one();
        assert_eq!(error["error"]["code"], -32601, "{method}: {error}");
    }
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({}));
    for method in ["server/discover", "subscriptions/listen", "sampling/createMessage", "elicitation/create"] {
        rig.send(legacy(1, method, json!({})));
        assert_eq!(rig.one()["error"]["code"], -32601, "{method}");
    }
}

/// M-DISC, U-19: what the server is, with caching hints, and modern revisions only.
#[test]
fn discover_says_what_the_server_is() {
    let mut rig = Rig::new(definition());
    rig.send(modern("d", "server/discover", json!({})));
    let first = rig.one();
    let result = &first["result"];
    assert_eq!(result["supportedVersions"], json!([LATEST]));
    assert_eq!(result["ttlMs"], 0);
    assert_eq!(result["cacheScope"], "private");
    assert_eq!(result["instructions"], "Be kind.");
    assert_eq!(
        result["capabilities"],
        json!({"tools": {"listChanged": true}, "prompts": {"listChanged": true},
            "resources": {"subscribe": true, "listChanged": true}, "completions": {}, "logging": {}})
    );
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"], json!({"name": "server", "version": "1.0.0"}));
    rig.send(modern("d", "server/discover", json!({})));
    assert_eq!(rig.one(), first);
}

/// A server without legacy revisions names its own in the error that `initialize` gets.
#[test]
fn a_modern_only_server_refuses_initialize_by_name() {
    let mut rig = Rig::new(builder().versions(&[Version::V2026_07_28]).build().unwrap());
    rig.send(legacy(
        1,
        "initialize",
        json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"}}),
    ));
    let error = rig.one();
    assert!(error["error"]["message"].as_str().unwrap().contains(LATEST), "{error}");
    rig.send(legacy(2, "ping", json!({})));
    assert_eq!(rig.one()["error"]["code"], -32602);
}

/// A server without modern revisions is a legacy server to everyone.
#[test]
fn a_legacy_only_server_knows_no_envelope() {
    let legacy_only = &Version::ALL[..4];
    let mut rig = Rig::new(builder().versions(legacy_only).build().unwrap());
    rig.send(modern(1, "server/discover", json!({})));
    assert_eq!(rig.one()["error"]["code"], -32601);
    rig.send(modern(2, "tools/list", json!({})));
    assert_eq!(rig.one()["error"]["code"], -32600);
    rig.send(legacy(3, "ping", json!({})));
    assert_eq!(rig.one()["result"], json!({}));
}
