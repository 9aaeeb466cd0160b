//! The server front on raw frames, in both eras.
#![allow(clippy::unwrap_used, missing_docs)]

mod lab;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lab::wire::{Wire, text};
use lab::{Gate, Lab, Pipe};
use mcp_sansio::json::Json;
use mcp_sansio::model::{LoggingLevel, Prompt, ResourceTemplate, Tool};
use mcp_sansio::server::Closed;
use mcp_sansio_io::server::{
    Cancelled, CompletionRequest, Context, HandlerError, NoArguments, ReadRequest, Server, Shown, Text,
};
use mcp_sansio_io::{Outcome, Stage, StreamError};
use serde_json::{Value, json};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    /// What to say.
    text: String,
}

async fn echo(args: Echo, _: Context) -> String {
    args.text
}

#[test]
fn a_typed_handler_derives_its_schema_and_costs_no_spawn() {
    let server = Server::new("s", "1").tool(Tool::new("echo"), echo).build().unwrap();
    let wire = Wire::legacy(&server);
    wire.to.line(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let list = wire.line();
    let schema = &list["result"]["tools"][0]["inputSchema"];
    assert_eq!(schema["properties"]["text"]["description"], "What to say.");
    assert_eq!(schema["required"], json!(["text"]));

    wire.call(2, "echo", json!({"text": "hi"}));
    assert_eq!(text(&wire.line()), "hi");
    assert_eq!(wire.lab.spawned.load(Ordering::Relaxed), 0);
}

#[test]
fn pipelined_answers_leave_in_one_write() {
    let server = Server::new("s", "1").tool(Tool::new("echo"), echo).build().unwrap();
    let wire = Wire::legacy(&server);
    let before = wire.from.writes();
    for id in 0..64 {
        wire.call(id, "echo", json!({"text": "hi"}));
    }
    assert_eq!(wire.lines().len(), 64);
    assert!(wire.from.writes() - before <= 2, "{} writes", wire.from.writes() - before);
}

#[test]
fn handlers_run_concurrently() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::new("s", "1")
        .tool(Tool::new("slow"), move |_: NoArguments, _| {
            let gate = held.clone();
            async move {
                gate.passed().await;
                "slow"
            }
        })
        .tool(Tool::new("echo"), echo)
        .build()
        .unwrap();
    let wire = Wire::legacy(&server);
    wire.call(1, "slow", json!({}));
    wire.call(2, "echo", json!({"text": "quick"}));
    assert_eq!(wire.line()["id"], 2);
    gate.open();
    let line = wire.line();
    assert_eq!((&line["id"], text(&line)), (&json!(1), "slow"));
}

#[test]
fn failures_and_panics_tell_the_client_nothing_and_the_reporter_everything() {
    let reports: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&reports);
    let server = Server::new("s", "1")
        .tool(Tool::new("fails"), |_: NoArguments, _| async {
            std::fs::read_to_string("/no/such/secret")?;
            Ok("never")
        })
        .tool(Tool::new("shows"), |_: NoArguments, _| async { Err::<(), _>(HandlerError::shown("no such city")) })
        .tool(Tool::new("panics"), |_: NoArguments, _| async {
            if true {
                panic!("secret {}", 7)
            }
        })
        .tool(Tool::new("panics_at_once"), |_: NoArguments, _| {
            if true {
                panic!("early secret");
            }
            async { "never" }
        })
        .prompt(Prompt::new("panics"), |_: NoArguments, _| async {
            if true {
                panic!("p")
            }
            "x"
        })
        .error_reporter(move |report| seen.lock().unwrap().push(report.to_string()))
        .build()
        .unwrap();
    let wire = Wire::legacy(&server);
    for (id, tool) in [(1, "fails"), (2, "panics"), (3, "panics_at_once")] {
        wire.call(id, tool, json!({}));
        let line = wire.line();
        assert_eq!(line["result"]["isError"], true, "{line}");
        assert!(!line.to_string().contains("secret"), "{line}");
    }
    wire.call(4, "shows", json!({}));
    let line = wire.line();
    assert_eq!((&line["result"]["isError"], text(&line)), (&json!(true), "no such city"));
    wire.to.line(r#"{"jsonrpc":"2.0","id":5,"method":"prompts/get","params":{"name":"panics"}}"#);
    assert_eq!(wire.line()["error"]["code"], -32603);
    let reports = reports.lock().unwrap();
    assert_eq!(reports.len(), 4, "{reports:?}");
    assert!(reports[0].contains("tools/call fails"), "{reports:?}");
    assert!(reports[1].contains("secret 7") && reports[2].contains("early secret"), "{reports:?}");
}

/// A notification has no answer; its handler's panic is the error reporter's, and the connection goes on.
#[test]
fn a_handler_of_notifications_that_panics_takes_nothing_down() {
    let reports: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&reports);
    let server = Server::new("s", "1")
        .tool(Tool::new("echo"), echo)
        .notification("x/later", |_, _| async {
            if true {
                panic!("later")
            }
            Ok(())
        })
        .notification("x/early", |_, _| {
            if true {
                panic!("early")
            }
            std::future::ready(Ok(()))
        })
        .on_roots_changed(|_| panic!("roots"))
        .error_reporter(move |report| seen.lock().unwrap().push(report.to_string()))
        .build()
        .unwrap();
    let wire = Wire::legacy(&server);
    for method in ["x/later", "x/early", "notifications/roots/list_changed"] {
        wire.to.line(&json!({"jsonrpc": "2.0", "method": method}).to_string());
        assert!(wire.lines().is_empty());
    }
    wire.call(1, "echo", json!({"text": "hi"}));
    assert_eq!(text(&wire.line()), "hi");
    assert_eq!(
        *reports.lock().unwrap(),
        [
            "the handler of x/later failed: it panicked: later",
            "the handler of x/early failed: it panicked: early",
            "the handler of notifications/roots/list_changed failed: it panicked: roots",
        ]
    );
}

/// A client cannot make a server start any number of things with notifications.
#[test]
fn notifications_are_worked_on_a_bounded_number_at_a_time() {
    let gate = Gate::default();
    let held = gate.clone();
    let (dropped, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, count) = (Arc::clone(&dropped), Arc::clone(&done));
    let server = Server::new("s", "1")
        .notification("x/slow", move |_, _| {
            let (gate, count) = (held.clone(), Arc::clone(&count));
            async move {
                gate.passed().await;
                count.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        })
        .error_reporter(move |report| {
            assert!(report.to_string().contains("too many notifications"), "{report}");
            counted.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    let wire = Wire::legacy(&server);
    let send = |number| {
        for _ in 0..number {
            wire.to.line(r#"{"jsonrpc":"2.0","method":"x/slow"}"#);
        }
        assert!(wire.lines().is_empty());
    };
    send(1_034);
    assert_eq!(dropped.load(Ordering::Relaxed), 10);
    gate.open();
    wire.lab.settle();
    assert_eq!(done.load(Ordering::Relaxed), 1_024);
    send(5);
    assert_eq!((dropped.load(Ordering::Relaxed), done.load(Ordering::Relaxed)), (10, 1_029));
}

#[test]
fn notifications_whose_handlers_fail_or_panic_are_reported_and_the_connection_lives() {
    let reports: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&reports);
    let server = Server::new("s", "1")
        .tool(Tool::new("echo"), echo)
        .on_initialized(|_| panic!("at the start"))
        .notification("x/fails", |_, _| async { Err(HandlerError::hidden("no disk")) })
        .notification("x/panics", |_, _| async {
            if true {
                panic!("in the middle")
            }
            Ok(())
        })
        .error_reporter(move |report| seen.lock().unwrap().push(report.to_string()))
        .build()
        .unwrap();
    let wire = Wire::legacy(&server);
    wire.to.line(r#"{"jsonrpc":"2.0","method":"x/fails"}"#);
    wire.to.line(r#"{"jsonrpc":"2.0","method":"x/panics"}"#);
    wire.call(1, "echo", json!({"text": "hi"}));
    assert_eq!(text(&wire.line()), "hi");
    let reports = reports.lock().unwrap();
    let said = |method: &str, what: &str| reports.iter().any(|report| report.contains(method) && report.contains(what));
    assert!(said("notifications/initialized", "at the start"), "{reports:?}");
    assert!(said("x/fails", "no disk") && said("x/panics", "in the middle"), "{reports:?}");
}

#[test]
fn progress_leaves_while_the_handler_goes_on() {
    let server = Server::new("s", "1")
        .tool(Tool::new("count"), |_: NoArguments, cx: Context| async move {
            for step in 1..=3 {
                let _ = cx.progress(f64::from(step), Some(3.0)).await;
            }
            "done"
        })
        .build()
        .unwrap();
    let wire = Wire::legacy(&server);
    wire.call(9, "count", json!({}));
    let lines = wire.lines();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_eq!(lines[1]["params"], json!({"progressToken": 9, "progress": 2.0, "total": 3.0}));
    assert_eq!(text(&lines[3]), "done");
    // Each report had a write of its own, because the handler let it out.
    assert!(wire.from.writes() >= 4);
}

#[test]
fn a_cancelled_handler_is_dropped_unless_it_looks_after_itself() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let cleaned: Arc<Mutex<Vec<Cancelled>>> = Arc::default();
    struct Count(Arc<AtomicUsize>);
    impl Drop for Count {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (drops, cleans) = (Arc::clone(&dropped), Arc::clone(&cleaned));
    let server = Server::new("s", "1")
        .tool(Tool::new("forever"), move |_: NoArguments, _| {
            let count = Count(Arc::clone(&drops));
            async move {
                std::future::pending::<()>().await;
                drop(count);
            }
        })
        .tool(Tool::new("careful"), move |_: NoArguments, cx: Context| {
            let cleans = Arc::clone(&cleans);
            async move {
                let why = cx.cancelled().await;
                cleans.lock().unwrap().push(why);
            }
        })
        .build()
        .unwrap();
    let wire = Wire::legacy(&server);
    wire.call(1, "forever", json!({}));
    wire.call(2, "careful", json!({}));
    wire.call(3, "careful", json!({}));
    assert_eq!(wire.lines(), Vec::<Value>::new());
    for id in [1, 2] {
        wire.to.line(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": id, "reason": "changed my mind"}})
            .to_string(),
        );
    }
    assert_eq!(wire.lines(), Vec::<Value>::new(), "a cancelled request is never answered");
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    assert_eq!(*cleaned.lock().unwrap(), [Cancelled::ByClient(Some("changed my mind".into()))]);
    wire.connection.close();
    assert!(matches!(wire.end(), Some(Ok(Closed::Requested))));
    assert_eq!(cleaned.lock().unwrap()[1], Cancelled::Disconnected);
}

#[test]
fn a_dropped_driver_ends_its_handlers() {
    let cleaned: Arc<Mutex<Vec<Cancelled>>> = Arc::default();
    let cleans = Arc::clone(&cleaned);
    let server = Server::new("s", "1")
        .tool(Tool::new("careful"), move |_: NoArguments, cx: Context| {
            let cleans = Arc::clone(&cleans);
            async move {
                let why = cx.cancelled().await;
                cleans.lock().unwrap().push(why);
            }
        })
        .build()
        .unwrap();
    let lab = Lab::new();
    let to = Pipe::new(usize::MAX);
    let (connection, driver) = server.accept(lab.runtime()).over(to.clone(), Pipe::new(usize::MAX)).unwrap();
    let mut driver = Box::pin(driver);
    to.line(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#);
    to.line(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"careful","arguments":{}}}"#);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(driver.as_mut().poll(&mut cx).is_pending());
    lab.settle();
    drop(driver);
    lab.settle();
    assert_eq!(*cleaned.lock().unwrap(), [Cancelled::Disconnected]);
    assert!(connection.is_closed());
}

#[test]
fn owed_answers_go_out_after_the_end_of_input() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::new("s", "1")
        .tool(Tool::new("slow"), move |_: NoArguments, _| {
            let gate = held.clone();
            async move {
                gate.passed().await;
                "slow"
            }
        })
        .build()
        .unwrap();
    let wire = Wire::legacy(&server);
    wire.call(1, "slow", json!({}));
    wire.lab.settle();
    wire.to.end();
    assert!(wire.end().is_none());
    gate.open();
    assert_eq!(text(&wire.line()), "slow");
    assert!(matches!(wire.end(), Some(Ok(Closed::EndOfInput))));
    assert!(wire.from.is_closed(), "the writer is closed at the end");
}

#[test]
fn a_handler_that_never_answers_does_not_hold_the_end_up() {
    let server = Server::new("s", "1")
        .tool(Tool::new("forever"), |_: NoArguments, _| std::future::pending::<String>())
        .build()
        .unwrap();
    let wire = Wire::legacy(&server);
    wire.call(1, "forever", json!({}));
    wire.lab.settle();
    wire.to.end();
    wire.lab.advance(Duration::from_millis(1_400));
    assert!(wire.end().is_none());
    wire.lab.advance(Duration::from_millis(200));
    assert!(matches!(wire.end(), Some(Ok(Closed::EndOfInput))));
}

#[test]
fn a_slow_reader_stops_the_reading_and_loses_no_answer() {
    let server = Server::new("s", "1")
        .tool(Tool::new("big"), |_: NoArguments, _| async { "x".repeat(1 << 18) })
        .build()
        .unwrap();
    let wire = Wire::with_room(&server, 4 << 10);
    wire.to.line(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#);
    for id in 1..=64 {
        wire.call(id, "big", json!({}));
        wire.lab.settle();
    }
    assert!(wire.to.len() > 0, "the server has stopped reading");
    wire.from.set_room(usize::MAX);
    assert_eq!(wire.lines().len(), 65);
    assert_eq!(wire.to.len(), 0);
}

#[test]
fn a_broken_pipe_ends_the_connection() {
    let server = Server::new("s", "1").tool(Tool::new("echo"), echo).build().unwrap();
    let wire = Wire::legacy(&server);
    wire.from.break_off();
    wire.call(1, "echo", json!({"text": "hi"}));
    assert!(matches!(wire.end(), Some(Err(StreamError::Write(_)))));
    assert!(wire.connection.is_closed());
}

#[test]
fn around_call_sees_before_and_after() {
    let events: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&events);
    let server = Server::new("s", "1")
        .tool(Tool::new("echo"), echo)
        .tool(Tool::new("shows"), |_: NoArguments, _| async { Err::<Text, _>(Shown::new("no").into()) })
        .around_call(move |event| {
            let stage = match event.stage() {
                Stage::Begun => "begun",
                Stage::Ended { outcome: Outcome::Answered, .. } => "answered",
                Stage::Ended { outcome, .. } => outcome.error_label().unwrap(),
                _ => unreachable!(),
            };
            let client = event.client().unwrap().name;
            assert!(event.params().is_none());
            seen.lock().unwrap().push(format!("{client} {} {} {stage}", event.method(), event.target().unwrap()));
        })
        .build()
        .unwrap();
    let wire = Wire::legacy(&server);
    wire.call(1, "echo", json!({"text": "hi"}));
    wire.call(2, "shows", json!({}));
    assert_eq!(wire.lines().len(), 2);
    assert_eq!(
        *events.lock().unwrap(),
        [
            "t tools/call echo begun",
            "t tools/call echo answered",
            "t tools/call shows begun",
            "t tools/call shows tool_error"
        ]
    );
}

#[test]
fn log_lines_data_and_untyped_arguments() {
    struct Greeting(&'static str);
    let server = Server::new("s", "1")
        .logging()
        .data(Greeting("hello"))
        .tool(Tool::new("raw"), |args: Json, cx: Context| async move {
            let _ = cx.log(LoggingLevel::Warning, json!({"got": args.clone()})).await;
            let greeting: &Greeting = cx.require_data()?;
            assert!(cx.data::<String>().is_none());
            Ok(format!("{} {args}", greeting.0))
        })
        .build()
        .unwrap();
    let wire = Wire::legacy(&server);
    wire.to.line(r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}"#);
    wire.line();
    wire.call(2, "raw", json!({"n": 12}));
    let lines = wire.lines();
    assert_eq!(lines[0]["params"], json!({"level": "warning", "data": {"got": {"n": 12}}}));
    assert_eq!(text(&lines[1]), "hello {\"n\":12}");
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Stay {
    city: String,
    #[serde(default)]
    note: Option<String>,
    nights: u32,
}

/// What no client could ever use is found out when the server is built.
#[test]
fn prompts_and_completions_that_cannot_work_are_refused() {
    let refused = |server: Server| server.build().expect_err("it is refused").to_string();
    let stay = |stay: Stay, _: Context| async move { format!("{} {:?} {}", stay.city, stay.note, stay.nights) };
    let error = refused(Server::new("s", "1").prompt(Prompt::new("stay"), stay));
    assert_eq!(error, "the prompt \"stay\": its argument \"nights\" is no string");

    let nothing = |_: CompletionRequest, _: Context| async { Vec::<String>::new() };
    let server = || {
        let greet = Prompt::new("greet").argument("who");
        let note = ResourceTemplate::new("note", "note:///{author}");
        let server = Server::new("s", "1").prompt(greet, |_: Json, _| async { "hi" });
        server.template(note, |_: ReadRequest, _: Context| async { "a note" })
    };
    let server_of = |prompt: &str, argument: &str| server().complete_prompt(prompt, argument, nothing);
    assert!(server_of("greet", "who").build().is_ok());
    let error = refused(server_of("greet", "whom"));
    assert_eq!(error, "a completion of \"whom\" of \"greet\": there is no prompt with this argument");
    assert!(refused(server_of("great", "who")).contains("\"great\""));
    let server_of = |template: &str, variable: &str| server().complete_template(template, variable, nothing);
    assert!(server_of("note:///{author}", "author").build().is_ok());
    for (template, variable) in
        [("note:///{author}", "title"), ("note:///{writer}", "writer"), ("note:///Ada", "author")]
    {
        let error = refused(server_of(template, variable));
        assert!(error.ends_with("there is no resource template with this variable"), "{error}");
    }
}
