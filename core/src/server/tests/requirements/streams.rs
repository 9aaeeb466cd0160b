//! Listen streams, cancellation, progress, log messages.

use super::*;

fn listen(rig: &mut Rig, id: &str, filter: Value) {
    rig.send(modern(id, "subscriptions/listen", json!({"notifications": filter})));
    assert_eq!(rig.one()["method"], "notifications/subscriptions/acknowledged");
}

fn all_streams(rig: &mut Rig) {
    for (id, filter) in [
        ("tools", json!({"toolsListChanged": true})),
        ("prompts", json!({"promptsListChanged": true})),
        ("resources", json!({"resourcesListChanged": true})),
        ("updates", json!({"resourceSubscriptions": ["file:///a"]})),
    ] {
        listen(rig, id, filter);
    }
}

/// M-SUB-01, M-SUB-09, M-SUB-14, M-SUB-15, M-SUB-16, M-SUB-17, M-TOOL-07, M-RES-04, M-RES-05, M-PROMPT-04: each change
/// goes to the streams that asked for it and to no other, under their ids.
#[test]
fn m_sub_14_15_16_changes_go_to_the_streams_that_asked() {
    let mut rig = Rig::new(definition());
    all_streams(&mut rig);
    for (event, id, method) in [
        (Event::ToolsListChanged, "tools", "notifications/tools/list_changed"),
        (Event::PromptsListChanged, "prompts", "notifications/prompts/list_changed"),
        (Event::ResourcesListChanged, "resources", "notifications/resources/list_changed"),
        (Event::ResourceUpdated { uri: "file:///a".into() }, "updates", "notifications/resources/updated"),
    ] {
        assert_eq!(rig.server.publish(rig.now, &event), Sent::Yes);
        rig.drain();
        let frame = rig.one();
        assert_eq!((&frame["method"], &frame["params"]["_meta"][SUBSCRIPTION_ID]), (&json!(method), &json!(id)));
    }
    // The same for whatever differs in a new definition.
    let changed = builder()
        .tool(tool("more"))
        .prompt(Prompt::new("more"))
        .template(ResourceTemplate::new("more", "more://{x}"))
        .build()
        .unwrap();
    rig.server.replace_definition(rig.now, Arc::new(changed));
    rig.drain();
    let told: Vec<_> = rig.take().iter().map(|frame| frame["params"]["_meta"][SUBSCRIPTION_ID].clone()).collect();
    assert_eq!(told, [json!("tools"), json!("prompts"), json!("resources")]);
}

/// M-SUB-18, M-LOG-03, M-LOG-05, M-PROG-05: progress and log messages belong to the request that they are about, never
/// to a stream.
#[test]
fn m_sub_18_m_log_05_streams_carry_no_progress_and_no_log() {
    let mut rig = Rig::new(definition());
    all_streams(&mut rig);
    let mut request = modern(1, "tools/call", json!({"name": "slow", "_meta": {"progressToken": "tools"}}));
    request["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    rig.send(request);
    let slot = rig.invoked().slot;
    assert_eq!(rig.server.progress(rig.now, slot.id(), &progress(1.0)).unwrap(), Sent::Yes);
    assert_eq!(rig.server.log(rig.now, Some(slot.id()), &log_message(LoggingLevel::Info)).unwrap(), Sent::Yes);
    assert_eq!(rig.server.log(rig.now, None, &log_message(LoggingLevel::Emergency)).unwrap(), Sent::NotWanted);
    rig.drain();
    let frames = rig.take();
    assert_eq!(frames.len(), 2);
    assert_eq!(frames[0]["params"], json!({"progressToken": "tools", "progress": 1.0}));
    assert_eq!(frames[1]["params"], json!({"level": "info", "data": "d"}));
}

/// M-LOG-02, M-LOG-04: a server logs if it has said that it does, and before the answer.
#[test]
fn m_log_02_04_logs_are_declared_and_precede_the_answer() {
    for declared in [true, false] {
        let definition = Definition::builder("s", "1").tool(tool("slow"));
        let definition = if declared { definition.logging() } else { definition };
        let mut rig = Rig::new(definition.build().unwrap());
        rig.send(modern(0, "server/discover", json!({})));
        assert_eq!(rig.one()["result"]["capabilities"].get("logging").is_some(), declared);
        let mut request = slow(1);
        request["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("notice");
        rig.send(request);
        let slot = rig.invoked().slot;
        let id = slot.id();
        for level in LoggingLevel::ALL {
            let sent = rig.server.log(rig.now, Some(id), &log_message(level)).unwrap();
            assert_eq!(sent == Sent::Yes, declared && level >= LoggingLevel::Notice, "{level:?}");
        }
        rig.drain();
        rig.take();
        rig.reply(slot, text("x"));
        assert!(rig.server.log(rig.now, Some(id), &log_message(LoggingLevel::Emergency)).is_err());
        rig.drain();
        assert_eq!(rig.one()["id"], 1);
    }
}

/// M-CANC-02, M-CANC-03: the server cancels the listen requests that it ends, and nothing else, whatever happens to
/// other requests.
#[test]
fn m_canc_03_only_streams_are_cancelled_by_the_server() {
    let mut limits = crate::limits::Limits::server();
    limits.invocation = Some(Duration::from_secs(5));
    let mut rig = Rig::new(builder().limits(limits).build().unwrap());
    listen(&mut rig, "stream", json!({"toolsListChanged": true}));
    rig.send(slow(1));
    rig.advance(Duration::from_secs(5));
    assert_eq!(rig.one()["id"], 1);
    rig.send(slow(2));
    rig.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    rig.send(slow(3));
    rig.server.close(rig.now);
    rig.drain();
    let cancelled: Vec<_> =
        rig.take().into_iter().filter(|frame| frame["method"] == "notifications/cancelled").collect();
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0]["params"]["requestId"], "stream");
}

/// M-CANC-11, M-CANC-14, M-CANC-18, M-STDIO-10, M-STDIO-11: the handler of a cancelled request is told, and nothing that
/// it still says goes out.
#[test]
fn m_canc_18_a_cancelled_request_is_silent() {
    let replies: [fn() -> Reply; 5] = [
        || text("late"),
        || Reply::Failed,
        || Reply::Error(ErrorObject::internal()),
        || ask(vec![("who", form().into())]),
        || Reply::Raw(json!({}).into()),
    ];
    for reply in replies {
        let mut rig = Rig::new(definition());
        let mut request = with_capabilities(1, "tools/call", json!({"name": "slow"}), json!({"elicitation": {}}));
        request["params"]["_meta"]["progressToken"] = json!(1);
        request["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
        rig.send(request);
        let slot = rig.invoked().slot;
        rig.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
        assert_eq!(rig.cancelled, [(slot.id(), None)]);
        assert_eq!(rig.server.progress(rig.now, slot.id(), &progress(1.0)).unwrap(), Sent::NotWanted);
        let log = rig.server.log(rig.now, Some(slot.id()), &log_message(LoggingLevel::Emergency)).unwrap();
        assert_eq!(log, Sent::NotWanted);
        rig.reply(slot, reply());
        assert!(rig.frames.is_empty(), "{:?}", rig.frames);
    }
}

/// M-LOG-07, M-PROG-07: a flood of progress and log messages is dropped, not queued, when the client does not keep up.
#[test]
fn m_log_07_m_prog_07_floods_are_dropped() {
    let mut limits = crate::limits::Limits::server();
    limits.output_bytes = 2_000;
    let mut server = Server::new(Arc::new(builder().limits(limits).build().unwrap()), Seed([1; 32]));
    let now = Now::default();
    let mut request = modern(1, "tools/call", json!({"name": "slow", "_meta": {"progressToken": 1}}));
    request["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    server.handle(now, Input::Bytes(Bytes::from(format!("{request}\n")))).unwrap();
    let Some(Action::Invoke(invocation)) = server.poll_action() else { panic!() };
    let slot = invocation.slot.id();
    let (mut bytes, mut dropped) = (0, [0, 0]);
    for round in 1..1_000 {
        let logged = server.log(now, Some(slot), &log_message(LoggingLevel::Info)).unwrap();
        let reported = server.progress(now, slot, &progress(f64::from(round))).unwrap();
        dropped[0] += usize::from(logged == Sent::Full);
        dropped[1] += usize::from(reported == Sent::Full);
        while let Some(action) = server.poll_action() {
            if let Action::Write(frame) = action {
                bytes += frame.len();
            }
        }
    }
    assert!(dropped.iter().all(|dropped| *dropped > 900), "{dropped:?}");
    assert!(bytes < 2_500, "{bytes}");
}
