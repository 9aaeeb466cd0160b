//! Legacy sessions: the handshake, levels, subscriptions, export.

use super::*;
use crate::model::LoggingLevel;

fn initialize(version: Value) -> Value {
    legacy(
        1,
        "initialize",
        json!({"protocolVersion": version, "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"}}),
    )
}

/// L-LIFE: the revision asked for if offered, else the newest legacy one; never a modern one.
#[test]
fn revisions_are_negotiated() {
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut rig = Rig::new(definition());
        rig.send(initialize(json!(asked)));
        let answer = rig.one();
        assert_eq!(answer["result"]["protocolVersion"], answered);
        assert_eq!(answer["result"]["serverInfo"]["name"], "server");
        assert!(answer["result"].get("resultType").is_none());
        let completions = answered != "2024-11-05";
        assert_eq!(answer["result"]["capabilities"].get("completions").is_some(), completions);
    }
}

/// A failed `initialize` leaves no session; a second one is refused.
#[test]
fn initialize_needs_its_members_and_comes_once() {
    let mut rig = Rig::new(definition());
    for member in ["protocolVersion", "capabilities", "clientInfo"] {
        let mut request = initialize(json!("2025-11-25"));
        request["params"].as_object_mut().unwrap().remove(member);
        rig.send(request);
        assert_eq!(rig.one()["error"]["code"], -32602, "{member}");
        rig.send(legacy(2, "tools/list", json!({})));
        assert!(rig.one().get("error").is_some());
    }
    for (member, wrong) in [
        ("protocolVersion", json!(20251125)),
        ("capabilities", json!([])),
        ("clientInfo", json!("me")),
        ("clientInfo", json!({"name": "c"})),
        ("clientInfo", json!({"version": "1"})),
    ] {
        let mut request = initialize(json!("2025-11-25"));
        request["params"][member] = wrong;
        rig.send(request);
        assert_eq!(rig.one()["error"]["code"], -32602, "{member}");
    }
    rig.send(initialize(json!("2025-11-25")));
    rig.one();
    rig.send(initialize(json!("2025-11-25")));
    assert_eq!(rig.one()["error"]["code"], -32600);
}

/// What a session subscribes to is bounded in number and in bytes; what it has subscribed to it may name again.
#[test]
fn subscriptions_are_bounded() {
    let mut limits = crate::limits::Limits::server();
    limits.frame_bytes = 1_000;
    limits.subscriptions = 3;
    let mut rig = Rig::legacy(builder().limits(limits).build().unwrap(), "2025-11-25", json!({}));
    let mut subscribe = |uri: String| {
        rig.send(legacy(1, "resources/subscribe", json!({"uri": uri})));
        rig.one()["error"]["message"].as_str().map(ToOwned::to_owned)
    };
    let long = |tail: &str| format!("file:///{}{tail}", "x".repeat(592));
    assert_eq!(subscribe(long("a")), None);
    assert_eq!(subscribe(long("b")).unwrap(), "frame_bytes = 1000 exceeded");
    assert_eq!(subscribe(long("a")), None);
    for uri in ["file:///1", "file:///2"] {
        assert_eq!(subscribe(uri.into()), None);
    }
    assert_eq!(subscribe("file:///3".into()).unwrap(), "subscriptions = 3 exceeded");
    assert_eq!(subscribe("file:///2".into()), None);
}

/// M-LOG, L-LOG: nothing before a level is set, then that level and above; requests of the modern era carry theirs.
#[test]
fn log_levels_are_kept() {
    let message = |level| LogMessage { level, logger: Some("l".to_owned()), data: json!("d").into() };
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({}));
    assert_eq!(rig.server.log(rig.now, None, &message(LoggingLevel::Emergency)).unwrap(), Sent::NotWanted);
    rig.send(legacy(1, "logging/setLevel", json!({"level": "warning"})));
    assert_eq!(rig.one()["result"], json!({}));
    rig.send(legacy(1, "logging/setLevel", json!({"level": "loud"})));
    assert_eq!(rig.one()["error"]["code"], -32602);
    assert_eq!(rig.server.log(rig.now, None, &message(LoggingLevel::Info)).unwrap(), Sent::NotWanted);
    assert_eq!(rig.server.log(rig.now, None, &message(LoggingLevel::Error)).unwrap(), Sent::Yes);
    rig.drain();
    assert_eq!(
        rig.one(),
        json!({"jsonrpc": "2.0", "method": "notifications/message",
            "params": {"level": "error", "logger": "l", "data": "d"}})
    );
    let mut rig = Rig::new(definition());
    for (level, allowed) in [(None, false), (Some("info"), true), (Some("error"), false)] {
        let mut request = modern(1, "tools/call", json!({"name": "slow"}));
        if let Some(level) = level {
            request["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!(level);
        }
        rig.send(request);
        let slot = rig.invoked().slot;
        let sent = rig.server.log(rig.now, Some(slot.id()), &message(LoggingLevel::Warning)).unwrap();
        assert_eq!(sent == Sent::Yes, allowed, "{level:?}");
        assert_eq!(rig.server.log(rig.now, None, &message(LoggingLevel::Error)).unwrap(), Sent::NotWanted);
        rig.reply(slot, text("x"));
    }
    // U-25
    let mut request = modern(1, "tools/call", json!({"name": "slow"}));
    request["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("loud");
    rig.take();
    rig.send(request);
    assert_eq!(rig.one()["error"]["code"], -32602);
    assert!(rig.invocations.is_empty());
}

/// L-RES: updates reach subscribers only; unsubscribing ends them.
#[test]
fn subscriptions_are_kept_for_each_session() {
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({}));
    let updated = |uri: &str| Event::ResourceUpdated { uri: uri.into() };
    assert_eq!(rig.server.publish(rig.now, &updated("file:///a")), Sent::NotWanted);
    rig.send(legacy(1, "resources/subscribe", json!({"uri": "file:///a"})));
    assert_eq!(rig.one()["result"], json!({}));
    rig.send(legacy(2, "resources/subscribe", json!({})));
    assert_eq!(rig.one()["error"]["code"], -32602);
    assert_eq!(rig.server.publish(rig.now, &updated("file:///b")), Sent::NotWanted);
    assert_eq!(rig.server.publish(rig.now, &updated("file:///a")), Sent::Yes);
    rig.drain();
    assert_eq!(
        rig.one(),
        json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "file:///a"}})
    );
    rig.send(legacy(3, "resources/unsubscribe", json!({"uri": "file:///a"})));
    rig.one();
    assert_eq!(rig.server.publish(rig.now, &updated("file:///a")), Sent::NotWanted);
}

/// The application may veto a subscription, and add `_meta` to the answer.
#[test]
fn subscriptions_can_be_vetoed() {
    let mut rig = Rig::legacy(builder().ask_subscriptions().build().unwrap(), "2025-11-25", json!({}));
    for (reply, subscribed) in [
        (Reply::Error(crate::error::ErrorObject::invalid_params("not this one")), false),
        (Reply::Empty { meta: Some(json!({"a": 1}).into()) }, true),
    ] {
        rig.send(legacy(1, "resources/subscribe", json!({"uri": "file:///a"})));
        let slot = rig.invoked().slot;
        rig.reply(slot, reply);
        let answer = rig.one();
        assert_eq!(answer.get("result"), subscribed.then_some(&json!({"_meta": {"a": 1}})));
        let sent = rig.server.publish(rig.now, &Event::ResourceUpdated { uri: "file:///a".into() });
        assert_eq!(sent == Sent::Yes, subscribed);
        rig.drain();
        rig.take();
    }
}

/// Past the bound on subscriptions a client is refused, whether or not the application is asked: it would wait for
/// news that never come.
#[test]
fn subscriptions_past_the_bound_are_refused() {
    let limits = crate::limits::Limits { subscriptions: 1, ..crate::limits::Limits::default() };
    for asked in [false, true] {
        let builder = builder().subscriptions().limits(limits.clone());
        let builder = if asked { builder.ask_subscriptions() } else { builder };
        let mut rig = Rig::legacy(builder.build().unwrap(), "2025-11-25", json!({}));
        for (id, uri, taken) in [(1, "file:///a", true), (2, "file:///b", false), (3, "file:///a", true)] {
            rig.send(legacy(id, "resources/subscribe", json!({"uri": uri})));
            if asked {
                let slot = rig.invoked().slot;
                rig.reply(slot, Reply::Empty { meta: None });
            }
            let answer = rig.one();
            assert_eq!(answer.get("result").is_some(), taken, "{answer}");
            assert_eq!(answer["error"]["code"].as_i64().is_some(), !taken, "{answer}");
        }
    }
}

/// A session is a value: another machine goes on with it.
#[test]
fn sessions_can_move() {
    let mut rig = Rig::legacy(definition(), "2025-06-18", json!({"roots": {}}));
    rig.send(legacy(1, "resources/subscribe", json!({"uri": "file:///a"})));
    rig.send(legacy(2, "logging/setLevel", json!({"level": "info"})));
    rig.send(legacy(3, "tools/call", json!({"name": "slow"})));
    assert!(rig.server.export_session().is_none(), "requests in flight do not travel");
    let slot = rig.invoked().slot;
    rig.reply(slot, text("x"));
    let exported = rig.server.export_session().unwrap();
    let mut other = Rig::new(definition());
    other.server.import_session(&exported).unwrap();
    assert!(other.server.import_session(&exported).is_err());
    assert_eq!(other.server.publish(other.now, &Event::ResourceUpdated { uri: "file:///a".into() }), Sent::Yes);
    other.drain();
    other.take();
    other.send(legacy(4, "tools/call", json!({"name": "slow"})));
    let context = other.invoked().context;
    assert_eq!(context.version(), Version::V2025_06_18);
    assert!(context.client_capabilities().has_roots());
    assert_eq!(context.client_info().unwrap().name, "c");
    // The level has come along, too: what is below it is not logged.
    for (level, sent) in [(LoggingLevel::Debug, Sent::NotWanted), (LoggingLevel::Info, Sent::Yes)] {
        let message = LogMessage { level, logger: None, data: json!("x").into() };
        assert_eq!(other.server.log(other.now, None, &message).unwrap(), sent);
    }
}

/// What no session of the definition could have exported is refused: the bounds and the offer hold for it as well.
#[test]
fn sessions_that_could_not_be_are_refused() {
    let mut rig = Rig::legacy(definition(), "2025-06-18", json!({"roots": {}}));
    rig.send(legacy(1, "resources/subscribe", json!({"uri": "file:///a"})));
    rig.send(legacy(2, "logging/setLevel", json!({"level": "info"})));
    rig.take();
    let exported: Value = rig.server.export_session().unwrap().parse().unwrap();
    let taken = |definition, value: Value| Rig::new(definition).server.import_session(&value.into()).is_ok();
    let with = |name: &str, value: Value| {
        let mut changed = exported.clone();
        changed[name] = value;
        changed
    };
    assert!(taken(definition(), exported.clone()));
    for (name, value) in [
        ("format", json!(2)),
        ("version", json!("2026-07-28")),
        ("version", json!("2025-06-19")),
        ("info", json!(7)),
        ("info", json!({"name": "no version"})),
        ("capabilities", json!("x")),
        ("level", json!("loud")),
        ("subscriptions", json!({})),
        ("news", json!(true)),
    ] {
        assert!(!taken(definition(), with(name, value.clone())), "{name}: {value}");
    }
    for wrong in [json!({}), json!(7), json!([])] {
        assert!(!taken(definition(), wrong));
    }
    // Nothing is asked for that is not offered, and no more than the bound allows.
    let plain = || Definition::builder("plain", "1").build().unwrap();
    let bare = |level: Value, uris: Value| {
        let mut changed = with("level", level);
        changed["subscriptions"] = uris;
        changed
    };
    assert!(taken(plain(), bare(Value::Null, json!([]))));
    assert!(!taken(plain(), bare(json!("info"), json!([]))));
    assert!(!taken(plain(), bare(Value::Null, json!(["file:///a"]))));
    let limits = crate::limits::Limits { subscriptions: 1, ..crate::limits::Limits::default() };
    let bounded = || builder().subscriptions().logging().limits(limits.clone()).build().unwrap();
    assert!(taken(bounded(), exported.clone()));
    assert!(!taken(bounded(), with("subscriptions", json!(["file:///a", "file:///b"]))));
}

/// Server-to-client requests: not before the session is initialized, answered once, withdrawn when late.
#[test]
fn requests_to_the_client_are_answered_once() {
    let mut rig = Rig::new(definition());
    let mut request = initialize(json!("2025-11-25"));
    request["params"]["capabilities"] = json!({"roots": {}});
    rig.send(request);
    rig.take();
    assert!(rig.server.request(rig.now, None, "roots/list", None, None).is_err());
    let ping = rig.server.request(rig.now, None, "ping", None, None).unwrap();
    rig.drain();
    let frame = rig.one();
    assert_eq!(frame["method"], "ping");
    rig.send(json!({"jsonrpc": "2.0", "id": frame["id"], "result": {}}));
    assert!(matches!(rig.others.pop(), Some(Action::Answered { call, outcome: Ok(_) }) if call == ping));
    rig.send(json!({"jsonrpc": "2.0", "id": frame["id"], "result": {}}));
    assert!(rig.others.is_empty());
    rig.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    rig.others.clear();
    assert!(rig.server.request(rig.now, None, "tools/list", None, None).is_err());
    let slow = rig.server.request(rig.now, None, "roots/list", None, Some(Duration::from_secs(1))).unwrap();
    rig.drain();
    rig.take();
    rig.advance(Duration::from_secs(1));
    assert_eq!(rig.one()["method"], "notifications/cancelled");
    assert!(matches!(
        rig.others.pop(),
        Some(Action::Answered { call, outcome: Err(RequestFailure::TimedOut) }) if call == slow
    ));
}
