//! Lines that are no messages, ids, batches, the end of input.

use super::*;
use crate::error::Misuse;
use crate::machine::TimerKind;

/// O03: bytes that are not UTF-8 reach no handler, and the server lives on.
#[test]
fn o03_bytes_that_are_not_utf8_reach_no_handler() {
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({}));
    rig.send_bytes(b"\xff\xfe\n");
    rig.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"tools/call\",\"params\":{\"name\":\"slow\",\"arguments\":{\"t\":\"\xff\"}}}\n");
    rig.send(legacy(7, "ping", json!({})));
    assert!(rig.invocations.is_empty());
    let frames = rig.take();
    assert_eq!(frames.len(), 3);
    for error in &frames[..2] {
        assert_eq!(error["error"]["code"], -32700);
        assert!(error.get("id").is_none());
    }
    assert_eq!(frames[2], json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
}

/// Older schemas require the id of an error, as `null` if it could not be read.
#[test]
fn unreadable_frames_are_answered_as_the_revision_wants() {
    for (version, has_id) in [("2024-11-05", true), ("2025-03-26", true), ("2025-06-18", true), ("2025-11-25", false)] {
        let mut rig = Rig::legacy(definition(), version, json!({}));
        rig.send_bytes(b"nonsense\n");
        let error = rig.one();
        assert_eq!(error["error"]["code"], -32700);
        assert_eq!(error.get("id").is_some(), has_id, "{version}");
    }
}

/// O04: `1` and `"1"` are two requests.
#[test]
fn o04_ids_keep_their_type() {
    let mut rig = Rig::new(definition());
    rig.send(modern(1, "tools/call", json!({"name": "slow", "arguments": {"k": "a"}})));
    rig.send(modern("1", "tools/call", json!({"name": "slow", "arguments": {"k": "b"}})));
    let [a, b] = <[Invocation; 2]>::try_from(std::mem::take(&mut rig.invocations)).unwrap();
    rig.reply(b.slot, text("b"));
    rig.reply(a.slot, text("a"));
    let frames = rig.take();
    assert_eq!((&frames[0]["id"], &frames[0]["result"]["content"][0]["text"]), (&json!("1"), &json!("b")));
    assert_eq!((&frames[1]["id"], &frames[1]["result"]["content"][0]["text"]), (&json!(1), &json!("a")));
}

/// A second request with the id of one in flight is refused; the first goes on; later reuse is tolerated.
#[test]
fn o06_an_id_in_flight_is_taken() {
    let mut rig = Rig::new(definition());
    rig.send(modern(1, "tools/call", json!({"name": "slow"})));
    rig.send(modern(1, "tools/call", json!({"name": "slow"})));
    assert_eq!(rig.one()["error"]["code"], -32600);
    let first = rig.invoked();
    rig.reply(first.slot, text("a"));
    assert_eq!(rig.one()["result"]["content"][0]["text"], "a");
    rig.send(modern(1, "tools/call", json!({"name": "slow"})));
    let third = rig.invoked();
    rig.reply(third.slot, text("c"));
    assert_eq!(rig.one()["result"]["content"][0]["text"], "c");
}

/// D-06: batches on 2025-03-26 only, answered as one array; `initialize` is not part of one.
#[test]
fn batches_are_answered_as_batches() {
    let batch = json!([
        legacy(1, "ping", json!({})),
        {"jsonrpc": "2.0", "method": "notifications/unknown"},
        legacy(2, "tools/call", json!({"name": "slow"})),
        legacy(3, "initialize", json!({})),
        7
    ]);
    let mut rig = Rig::legacy(definition(), "2025-03-26", json!({}));
    rig.send(batch.clone());
    assert!(rig.frames.is_empty());
    let call = rig.invoked();
    rig.reply(call.slot, text("late"));
    let answer = rig.one();
    let mut ids: Vec<_> = answer.as_array().unwrap().iter().map(|a| a["id"].clone()).collect();
    ids.sort_by_key(ToString::to_string);
    assert_eq!(ids, vec![json!(1), json!(2), json!(3), json!(null)]);
    rig.send(json!([{"jsonrpc": "2.0", "method": "notifications/unknown"}]));
    assert!(rig.frames.is_empty());
    rig.send(json!([]));
    assert_eq!(rig.one()["error"]["code"], -32600);
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut rig = Rig::legacy(definition(), version, json!({}));
        rig.send(batch.clone());
        assert_eq!(rig.one()["error"]["code"], -32600);
        assert!(rig.invocations.is_empty());
    }
}

/// A batch of more messages than the bound is refused as a whole, by its name and number, and nothing of it is done.
#[test]
fn batches_past_the_bound_are_refused() {
    let limits = crate::limits::Limits { batch_messages: 2, ..crate::limits::Limits::default() };
    let mut rig = Rig::legacy(builder().limits(limits).build().unwrap(), "2025-03-26", json!({}));
    let call = |id: i64| legacy(id, "tools/call", json!({"name": "slow"}));
    rig.send(json!([call(1), call(2), call(3)]));
    let answer = rig.one();
    assert!(answer["error"]["message"].as_str().unwrap().contains("batch_messages = 2"), "{answer}");
    assert_eq!(answer.get("id"), Some(&Value::Null), "{answer}");
    assert!(rig.invocations.is_empty());
    rig.send(json!([call(1), call(2)]));
    assert_eq!(rig.invocations.len(), 2);
}

/// A modern listen request that stands in a batch does not keep the batch's answers back.
#[test]
fn a_listen_stream_is_not_part_of_a_batch() {
    let mut rig = Rig::legacy(definition(), "2025-03-26", json!({}));
    let listen = modern(2, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    rig.send(json!([legacy(1, "ping", json!({})), listen]));
    let answer = rig.one();
    assert_eq!(answer[0], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!((&answer[1]["id"], &answer[1]["error"]["code"]), (&json!(2), &json!(-32600)));
    let _ = rig.server.publish(rig.now, &Event::ToolsListChanged);
    rig.drain();
    assert!(rig.take().iter().all(|frame| frame["params"].get("_meta").is_none()), "no stream is open");
}

/// A client that is asked something is read on, for its answer; one that only floods meanwhile, and reads nothing, is
/// given up in the end. So is one that lets events pile up.
#[test]
fn a_client_that_reads_nothing_is_given_up() {
    let rig = || {
        let mut limits = crate::limits::Limits::server();
        limits.output_bytes = 1_000;
        let mut rig = Rig::legacy(builder().limits(limits).build().unwrap(), "2025-11-25", json!({}));
        rig.send(legacy("s", "resources/subscribe", json!({"uri": "file:///a"})));
        rig.take();
        rig
    };

    let mut flooded = rig();
    let _ = flooded.server.request(flooded.now, None, "ping", None, None).unwrap();
    let ping = Bytes::from(format!("{}\n", legacy(1, "ping", json!({}))));
    let refused = (0..1_000).find_map(|_| {
        assert!(flooded.server.is_closed() || flooded.server.wants_input());
        flooded.server.handle(flooded.now, Input::Bytes(ping.clone())).err()
    });
    assert_eq!(refused.unwrap().to_string(), "output_bytes = 1000 exceeded");
    assert!(flooded.server.is_closed());

    let mut piled = rig();
    let event = Event::ResourceUpdated { uri: "file:///a".into() };
    assert!((0..1_000).any(|_| piled.server.publish(piled.now, &event) == Sent::NotWanted));
    assert!(piled.server.is_closed());
}

/// End of input: owed answers go out, then the machine closes; the deadline ends the rest.
#[test]
fn owed_answers_are_finished_at_the_end_of_input() {
    let mut rig = Rig::new(definition());
    rig.send(modern(1, "tools/call", json!({"name": "slow"})));
    rig.send(modern(2, "tools/call", json!({"name": "slow"})));
    rig.server.handle(rig.now, Input::Eof).unwrap();
    rig.drain();
    assert!(!rig.server.is_closed());
    let first = rig.invocations.remove(0);
    rig.reply(first.slot, text("in time"));
    assert_eq!(rig.one()["id"], 1);
    rig.advance(Duration::from_millis(1_500));
    assert!(rig.server.is_closed());
    assert_eq!(rig.cancelled.len(), 1);
    assert!(matches!(rig.others.last(), Some(Action::Closed(Closed::EndOfInput))));
    let late = rig.invoked();
    rig.reply(late.slot, text("too late"));
    assert!(rig.frames.is_empty());
}

#[test]
fn an_idle_server_closes_at_once_and_an_unterminated_line_still_counts() {
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({}));
    let bytes = legacy(1, "ping", json!({})).to_string();
    rig.send_bytes(bytes.as_bytes());
    assert!(rig.frames.is_empty());
    rig.server.handle(rig.now, Input::Eof).unwrap();
    rig.drain();
    assert_eq!(rig.one()["id"], 1);
    assert!(rig.server.is_closed());
    assert!(rig.server.handle(rig.now, Input::Eof).is_err());
}

/// An over-long line is refused at its bound without being stored; a flood closes the connection.
#[test]
fn over_long_lines_are_refused() {
    let limits = {
        let mut limits = crate::limits::Limits::server();
        limits.frame_bytes = 1_000;
        limits
    };
    let mut rig = Rig::new(builder().limits(limits).build().unwrap());
    rig.send_bytes(&[b'x'; 1_500]);
    rig.send_bytes(b"\n");
    let error = rig.one();
    assert_eq!(error["error"]["code"], -32600);
    assert!(error["error"]["message"].as_str().unwrap().contains("frame_bytes = 1000"), "{error}");
    rig.send(modern(1, "tools/list", json!({})));
    assert_eq!(rig.one()["id"], 1);
    let flood = Bytes::from(vec![b'x'; 17_000]);
    let fatal = rig.server.handle(rig.now, Input::Bytes(flood.clone())).unwrap_err();
    assert_eq!(rig.server.handle(rig.now, Input::Bytes(flood)).unwrap_err(), fatal);
    rig.drain();
    assert!(rig.server.is_closed());
}

/// Of many lines in one chunk a few are read before others are done: a handler that answers at once never has more
/// requests in flight than those.
#[test]
fn lines_are_read_a_few_at_a_time() {
    let mut limits = crate::limits::Limits::server();
    limits.in_flight = 4;
    let mut rig = Rig::new(builder().limits(limits).build().unwrap());
    let call = |id: i64| modern(id, "tools/call", json!({"name": "slow"})).to_string();
    let calls: String = (1..10).map(|id| format!("{}\n", call(id))).collect();
    rig.server.handle(rig.now, Input::Bytes(format!("{calls}{}", call(10)).into())).unwrap();
    rig.server.handle(rig.now, Input::Eof).unwrap();
    assert!(!rig.server.wants_input(), "the end has come, though it was not read yet");
    let late = rig.server.handle(rig.now, Input::Bytes("{}\n".into())).unwrap_err();
    assert_eq!(late, Misuse::WrongState("bytes after the end of input").into());
    let (mut invoked, mut answered) = (Vec::new(), Vec::new());
    while let Some(action) = rig.server.poll_action() {
        match action {
            Action::Invoke(invocation) => {
                invoked.push(invocation.context.request_id().as_i64().unwrap());
                rig.server.reply(rig.now, invocation.slot, text("done")).unwrap();
            }
            Action::Write(answer) => {
                let answer: Value = serde_json::from_slice(&answer).unwrap();
                assert_eq!(answer["result"]["content"][0]["text"], "done");
                answered.push(answer["id"].as_i64().unwrap());
            }
            Action::Closed(Closed::EndOfInput) => break,
            other => panic!("unexpected: {other:?}"),
        }
        assert_eq!(rig.server.poll_timeout(), Some((rig.now.mono, TimerKind::Actions)), "more is there");
    }
    let all: Vec<i64> = (1..=10).collect();
    assert_eq!((&invoked, &answered), (&all, &all));
    assert!(rig.server.poll_action().is_none());
    assert_eq!(rig.server.poll_timeout(), None);
}

/// What was not read yet is no part of an exported session, and is never read once the machine is closed.
#[test]
fn lines_that_were_not_read_are_lost_with_the_machine_and_not_before() {
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({}));
    let ping = |id| format!("{}\n", legacy(id, "ping", json!({})));
    let pings: String = (1..=20).map(ping).collect();
    rig.server.handle(rig.now, Input::Bytes(pings.into())).unwrap();
    let mut answered = 0;
    while answered < 4 {
        let Some(Action::Write(_)) = rig.server.poll_action() else { panic!("a ping is answered") };
        answered += 1;
    }
    assert_eq!(rig.server.export_session(), None, "others were sent before it");
    rig.server.close(rig.now);
    while let Some(Action::Write(_)) = rig.server.poll_action() {
        answered += 1;
    }
    assert!(answered < 20, "the rest was not read");
    assert!(rig.server.poll_action().is_none());
    assert_eq!(rig.server.poll_timeout(), None);
}

/// What is queued can be had without reading more; and a caller who reads on without polling is held back.
#[test]
fn input_that_is_held_stays_so_until_it_is_polled() {
    let mut limits = crate::limits::Limits::server();
    limits.output_bytes = 2_000;
    let mut rig = Rig::new(builder().limits(limits).build().unwrap());
    let ping = |id: i64| format!("{}\n", modern(id, "server/discover", json!({})));
    let chunk: String = (1..=8).map(ping).collect();
    let mut handed_in = 0;
    while rig.server.wants_input() {
        rig.server.handle(rig.now, Input::Bytes(chunk.clone().into())).unwrap();
        handed_in += 1;
        assert!(handed_in < 10, "held back");
    }
    let mut queued = 0;
    while let Some(action) = rig.server.poll_queued() {
        assert!(matches!(action, Action::Write(_)));
        queued += 1;
    }
    assert!((1..8).contains(&queued), "{queued}");
    assert_eq!(rig.server.poll_timeout(), Some((rig.now.mono, TimerKind::Actions)), "there is more");
    rig.drain();
    assert_eq!(rig.frames.len() + queued, 8 * handed_in);
    assert_eq!(rig.server.poll_timeout(), None);
}

/// A stream that has no lines any more behind requests that were not polled: they are served, and then it ends.
#[test]
fn a_flood_behind_requests_ends_the_connection_after_them() {
    let mut limits = crate::limits::Limits::server();
    limits.frame_bytes = 1_000;
    let mut rig = Rig::new(builder().limits(limits).build().unwrap());
    let mut bytes: String = (1..=6).map(|id: i64| format!("{}\n", modern(id, "tools/list", json!({})))).collect();
    bytes.push_str(&"x".repeat(17_000));
    rig.server.handle(rig.now, Input::Bytes(bytes.into())).unwrap();
    assert!(!rig.server.is_closed());
    rig.drain();
    assert_eq!(rig.take().len(), 7, "six lists, and the refusal of the line");
    assert!(matches!(rig.others.last(), Some(Action::Closed(Closed::Failed(_)))));
    assert!(rig.server.handle(rig.now, Input::Eof).is_err());
}

/// A chunk that is one whole line in plain text takes a shorter way, which changes nothing: not the bound, nor what
/// is held from before, nor what is no such chunk.
#[test]
fn whole_plain_lines_are_read_as_any_others() {
    let frame = |filler: usize| {
        let padding = "x".repeat(filler);
        format!("{}\n", modern(1, "tools/list", json!({"padding": padding})))
    };
    let limit = frame(100).len() - 1;
    let mut limits = crate::limits::Limits::server();
    limits.frame_bytes = limit;
    let mut rig = Rig::new(builder().limits(limits).build().unwrap());
    for blank in [&b"\n"[..], b" \r\n"] {
        rig.send_bytes(blank);
        rig.send_bytes(frame(100).as_bytes());
        assert_eq!(rig.one()["id"], 1, "as long as the bound");
    }
    rig.send_bytes(frame(101).as_bytes());
    assert!(rig.one()["error"]["message"].as_str().unwrap().contains("frame_bytes"));
    // The rest of a line, a line with a carriage return, two lines, a line and a half: none of them is a plain line.
    let whole = frame(5);
    let (first, second) = whole.split_at(20);
    rig.send_bytes(first.as_bytes());
    rig.send_bytes(second.as_bytes());
    assert_eq!(rig.one()["id"], 1);
    rig.send_bytes(frame(5).replace('\n', "\r\n").as_bytes());
    assert_eq!(rig.one()["id"], 1);
    rig.send_bytes(frame(5).repeat(2).as_bytes());
    assert_eq!(rig.take().len(), 2);
    rig.send_bytes(format!("{}{first}", frame(5)).as_bytes());
    assert_eq!(rig.one()["id"], 1);
    // A whole line after half of one is the end of that, and no message of its own.
    rig.send_bytes(frame(5).as_bytes());
    assert_eq!(rig.one()["error"]["code"], -32700);
    // Nor is one that ends a line that was too long.
    rig.send_bytes("x".repeat(limit + 2).as_bytes());
    assert!(rig.one()["error"]["message"].as_str().unwrap().contains("frame_bytes"));
    rig.send_bytes(frame(5).as_bytes());
    assert_eq!(rig.take().len(), 0);
    rig.send_bytes(frame(5).as_bytes());
    assert_eq!(rig.one()["id"], 1);
}

/// Undrained is loud, and reading stops while the client does not read.
#[test]
fn queued_actions_ask_to_be_drained() {
    let mut rig = Rig::new(definition());
    assert_eq!(rig.server.poll_timeout(), None);
    let frame = Bytes::from(format!("{}\n", modern(1, "tools/list", json!({}))));
    rig.server.handle(rig.now, Input::Bytes(frame)).unwrap();
    assert_eq!(rig.server.poll_timeout(), Some((rig.now.mono, TimerKind::Actions)));
    rig.drain();
    assert_eq!(rig.server.poll_timeout(), None);
}
