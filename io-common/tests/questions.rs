//! Questions in the middle of a handler, on raw frames, in both eras.
#![allow(clippy::unwrap_used, missing_docs)]

mod lab;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lab::wire::{Wire, text};
use lab::{Gate, Lab};
use mcp_sansio::model::{ElicitParams, Tool};
use mcp_sansio_io::server::{BuiltServer, Context, HandlerError, NoArguments, Server};
use serde_json::{Value, json};

fn form(message: &str) -> ElicitParams {
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}});
    ElicitParams::form(message, schema)
}

/// A tool that asks `form` once, counting its runs.
fn asking(runs: &Arc<AtomicUsize>) -> BuiltServer {
    let runs = Arc::clone(runs);
    Server::new("s", "1")
        .tool(Tool::new("ask"), move |_: NoArguments, cx: Context| {
            let runs = Arc::clone(&runs);
            async move {
                runs.fetch_add(1, Ordering::Relaxed);
                let first = cx.elicit("first", form("first?")).await?;
                let second = cx.elicit("second", form("second?")).await?;
                Ok(format!("{} {}", first.accepted(), second.accepted()))
            }
        })
        .build()
        .unwrap()
}

#[test]
fn questions_in_sequence_take_a_round_each_in_the_modern_era() {
    let runs = Arc::new(AtomicUsize::new(0));
    let wire = Wire::new(&asking(&runs));
    wire.modern(1, "tools/call", json!({"name": "ask", "arguments": {}}));
    let first = wire.line();
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    assert_eq!(first["result"]["inputRequests"]["first"]["params"]["message"], "first?");
    assert_eq!(first["result"]["inputRequests"].as_object().unwrap().len(), 1);
    let accept = json!({"action": "accept", "content": {"ok": true}});
    wire.modern(
        2,
        "tools/call",
        json!({"name": "ask", "arguments": {}, "inputResponses": {"first": accept},
        "requestState": first["result"]["requestState"]}),
    );
    let second = wire.line();
    assert_eq!(second["result"]["inputRequests"]["second"]["params"]["message"], "second?", "{second}");
    wire.modern(
        3,
        "tools/call",
        json!({"name": "ask", "arguments": {},
        "inputResponses": {"second": {"action": "decline"}}, "requestState": second["result"]["requestState"]}),
    );
    assert_eq!(text(&wire.line()), "true false");
    assert_eq!(runs.load(Ordering::Relaxed), 3);
    assert_eq!(wire.lab.spawned.load(Ordering::Relaxed), 0, "a handler that only asks costs no spawn");
}

#[test]
fn questions_in_sequence_are_real_requests_in_the_legacy_era() {
    let runs = Arc::new(AtomicUsize::new(0));
    let wire = Wire::legacy(&asking(&runs));
    wire.call(1, "ask", json!({}));
    for (message, action) in [("first?", "accept"), ("second?", "cancel")] {
        let request = wire.line();
        assert_eq!(
            (&request["method"], &request["params"]["message"]),
            (&json!("elicitation/create"), &json!(message))
        );
        let mut result = json!({"action": action});
        if action == "accept" {
            result["content"] = json!({"ok": true});
        }
        wire.to.line(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string());
    }
    assert_eq!(text(&wire.line()), "true false");
    assert_eq!(runs.load(Ordering::Relaxed), 3);
}

/// L-LIFE-14: a question may have a time-out of its own, and the handler decides what silence means.
#[test]
fn a_question_without_an_answer_in_time_counts_as_refused() {
    let server = Server::new("s", "1")
        .tool(Tool::new("ask"), |_: NoArguments, cx: Context| async move {
            let answer = cx.elicit("k", form("?")).timeout(Duration::from_secs(5)).await;
            Ok::<_, HandlerError>(if answer.is_ok() { "answer" } else { "silence" })
        })
        .build()
        .unwrap();
    let wire = Wire::legacy(&server);
    wire.call(1, "ask", json!({}));
    assert_eq!(wire.line()["method"], "elicitation/create");
    wire.lab.advance(Duration::from_secs(4));
    assert!(wire.lines().is_empty());
    wire.lab.advance(Duration::from_secs(1));
    let lines = wire.lines();
    assert_eq!(lines[0]["method"], "notifications/cancelled");
    assert_eq!(text(&lines[1]), "silence");
}

/// Asks with everything that a handler may wait for at the same time.
fn joined() -> BuiltServer {
    Server::new("s", "1")
        .tool(Tool::new("together"), |_: NoArguments, cx: Context| async move {
            let (a, b) = futures_util::join!(cx.elicit("a", form("a?")), cx.roots("b"));
            Ok(format!("{} {}", a?.accepted(), b?.roots.len()))
        })
        .tool(Tool::new("nested"), |_: NoArguments, cx: Context| async move {
            let inner = async {
                let a = cx.elicit("a", form("a?")).await?;
                Ok::<_, HandlerError>((a, cx.elicit("c", form("c?")).await?))
            };
            let (pair, b) = futures_util::join!(inner, cx.elicit("b", form("b?")));
            let (a, c) = pair?;
            Ok(format!("{} {} {}", a.accepted(), b?.accepted(), c.accepted()))
        })
        .tool(Tool::new("watched"), |_: NoArguments, cx: Context| async move {
            let asked = std::pin::pin!(cx.elicit("a", form("a?")));
            match futures_util::future::select(asked, cx.cancelled()).await {
                futures_util::future::Either::Left((a, _)) => Ok(a?.accepted().to_string()),
                futures_util::future::Either::Right(_) => Ok(String::from("cancelled")),
            }
        })
        .build()
        .unwrap()
}

fn answers(wire: &Wire, mut request: Value) -> Value {
    // Answers everything that is asked, until the tool answers.
    for round in 2..10 {
        if request["result"]["resultType"] != "input_required" {
            return request;
        }
        let keys: Vec<String> = request["result"]["inputRequests"].as_object().unwrap().keys().cloned().collect();
        let mut responses = json!({});
        for key in keys {
            let roots = request["result"]["inputRequests"][&key]["method"] == "roots/list";
            responses[&key] = if roots { json!({"roots": []}) } else { json!({"action": "accept", "content": {}}) };
        }
        let name = request["tool"].as_str().unwrap().to_owned();
        wire.modern(
            round,
            "tools/call",
            json!({"name": name, "arguments": {}, "inputResponses": responses,
            "requestState": request["result"]["requestState"]}),
        );
        request = wire.line();
        request["tool"] = name.into();
    }
    panic!("too many rounds: {request}");
}

#[test]
fn questions_awaited_together_are_asked_together() {
    let wire = Wire::new(&joined());
    wire.modern(1, "tools/call", json!({"name": "together", "arguments": {}}));
    let mut asked = wire.line();
    assert_eq!(asked["result"]["inputRequests"].as_object().unwrap().len(), 2, "{asked}");
    asked["tool"] = "together".into();
    assert_eq!(text(&answers(&wire, asked)), "true 0");
}

#[test]
fn nested_questions_are_asked_as_they_come_up() {
    let wire = Wire::new(&joined());
    wire.modern(1, "tools/call", json!({"name": "nested", "arguments": {}}));
    let mut asked = wire.line();
    let keys: Vec<&String> = asked["result"]["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["a", "b"]);
    asked["tool"] = "nested".into();
    assert_eq!(text(&answers(&wire, asked)), "true true true");
}

#[test]
fn waiting_for_cancellation_beside_a_question_does_not_delay_it() {
    let wire = Wire::new(&joined());
    wire.modern(1, "tools/call", json!({"name": "watched", "arguments": {}}));
    let mut asked = wire.line();
    asked["tool"] = "watched".into();
    assert_eq!(text(&answers(&wire, asked)), "true");
}

#[test]
fn a_question_beside_other_work_waits_for_it_in_both_eras() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::new("s", "1")
        .tool(Tool::new("both"), move |_: NoArguments, cx: Context| {
            let gate = held.clone();
            async move {
                let work = cx.once("work", async {
                    gate.passed().await;
                    Ok(7)
                });
                let (asked, worked) = futures_util::join!(cx.elicit("a", form("a?")), work);
                Ok(format!("{} {}", asked?.accepted(), worked?))
            }
        })
        .build()
        .unwrap();
    let modern = Wire::new(&server);
    modern.modern(1, "tools/call", json!({"name": "both", "arguments": {}}));
    let legacy = Wire::legacy(&server);
    legacy.call(1, "both", json!({}));
    for wire in [&modern, &legacy] {
        // Work that must not be done twice is waited for, however long it takes.
        wire.lab.advance(Duration::from_secs(60));
        assert_eq!(wire.lines(), Vec::<Value>::new());
    }
    gate.open();
    let mut asked = modern.line();
    asked["tool"] = "both".into();
    assert_eq!(text(&answers(&modern, asked)), "true 7");
    let request = legacy.line();
    assert_eq!(request["method"], "elicitation/create");
    legacy.to.line(&json!({"jsonrpc": "2.0", "id": request["id"], "result": {"action": "decline"}}).to_string());
    assert_eq!(text(&legacy.line()), "false 7");
}

#[test]
fn a_question_beside_a_timer_is_asked_before_the_timer_ends() {
    let lab_of_timer: Arc<Mutex<Option<Arc<Lab>>>> = Arc::default();
    let slot = Arc::clone(&lab_of_timer);
    let server = Server::new("s", "1")
        .tool(Tool::new("timed"), move |_: NoArguments, cx: Context| {
            let runtime = slot.lock().unwrap().as_ref().unwrap().runtime();
            async move {
                let asked = cx.elicit("a", form("a?"));
                let timer = runtime.sleep(Duration::from_secs(30));
                match futures_util::future::select(std::pin::pin!(asked), timer).await {
                    futures_util::future::Either::Left((a, _)) => Ok(a?.accepted().to_string()),
                    futures_util::future::Either::Right(_) => Ok(String::from("too late")),
                }
            }
        })
        .build()
        .unwrap();
    for legacy in [false, true] {
        let wire = if legacy { Wire::legacy(&server) } else { Wire::new(&server) };
        *lab_of_timer.lock().unwrap() = Some(Arc::clone(&wire.lab));
        if legacy {
            wire.call(1, "timed", json!({}));
        } else {
            wire.modern(1, "tools/call", json!({"name": "timed", "arguments": {}}));
        }
        assert_eq!(wire.lines(), Vec::<Value>::new(), "the timer might be short");
        wire.lab.advance(Duration::from_millis(150));
        let mut asked = wire.line();
        let answer = if legacy {
            wire.to.line(
                &json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {}}})
                    .to_string(),
            );
            wire.line()
        } else {
            asked["tool"] = "timed".into();
            answers(&wire, asked)
        };
        assert_eq!(text(&answer), "true");
    }
}

#[test]
fn an_answer_that_does_not_fit_its_form_is_refused() {
    let runs = Arc::new(AtomicUsize::new(0));
    let wire = Wire::new(&asking(&runs));
    wire.modern(1, "tools/call", json!({"name": "ask", "arguments": {}}));
    let asked = wire.line();
    let wrong = json!({"action": "accept", "content": {"ok": "secret"}});
    wire.modern(
        2,
        "tools/call",
        json!({"name": "ask", "arguments": {}, "inputResponses": {"first": wrong},
        "requestState": asked["result"]["requestState"]}),
    );
    let refused = wire.line();
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(!refused.to_string().contains("secret"), "{refused}");
}

#[test]
fn a_state_can_be_used_once_only() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let keep = Arc::clone(&seen);
    let server = Server::new("s", "1")
        .tool(Tool::new("ask"), |_: NoArguments, cx: Context| async move {
            Ok(cx.elicit("a", form("a?")).await?.accepted().to_string())
        })
        .single_use_states(move |token| {
            let token = format!("{token:?}");
            let mut seen = keep.lock().unwrap();
            let new = !seen.contains(&token);
            seen.push(token);
            new
        })
        .build()
        .unwrap();
    let wire = Wire::new(&server);
    wire.modern(1, "tools/call", json!({"name": "ask", "arguments": {}}));
    let asked = wire.line();
    let retry = json!({"name": "ask", "arguments": {}, "inputResponses": {"a": {"action": "decline"}},
        "requestState": asked["result"]["requestState"]});
    wire.modern(2, "tools/call", retry.clone());
    assert_eq!(text(&wire.line()), "false");
    wire.modern(3, "tools/call", retry);
    assert_eq!(wire.line()["error"]["code"], -32602);
    assert_eq!(seen.lock().unwrap().len(), 2);
}

#[test]
fn once_is_done_once_and_state_travels() {
    let done = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&done);
    let server = Server::new("s", "1")
        .tool(Tool::new("buy"), move |_: NoArguments, cx: Context| {
            let count = Arc::clone(&count);
            async move {
                let order = cx.once("order", async { Ok(count.fetch_add(1, Ordering::Relaxed)) }).await?;
                let state = cx.state().map(str::to_owned);
                cx.set_state("left");
                cx.elicit("sure", form("sure?")).await?;
                Ok(format!("{order} {state:?} {}", cx.round()))
            }
        })
        .build()
        .unwrap();
    let wire = Wire::new(&server);
    wire.modern(1, "tools/call", json!({"name": "buy", "arguments": {}}));
    let mut asked = wire.line();
    asked["tool"] = "buy".into();
    assert_eq!(text(&answers(&wire, asked)), "0 Some(\"left\") 1");
    let wire = Wire::legacy(&server);
    wire.call(1, "buy", json!({}));
    let asked = wire.line();
    wire.to.line(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}}).to_string());
    assert_eq!(text(&wire.line()), "1 Some(\"left\") 1");
    assert_eq!(done.load(Ordering::Relaxed), 2);
}
