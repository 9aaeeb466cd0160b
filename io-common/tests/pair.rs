//! A client front and a server front on one wire, in both eras.
#![allow(clippy::unwrap_used, missing_docs)]

mod lab;

use std::future::IntoFuture;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{join, join_all};
use lab::joined::{builder, join_up};
use lab::{Gate, Lab, Pipe};
use mcp_sansio::client::{Answer, CallError, Closed, Connect, InputAnswer, TimeoutKind, Timeouts};
use mcp_sansio::json::Json;
use mcp_sansio::model::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, InputRequest, ListRootsResult, LoggingLevel,
    Prompt, Resource, ResourceTemplate, Root, SamplingContent, SamplingMessage, SubscriptionFilter, Tool,
};
use mcp_sansio::server::Event;
use mcp_sansio::spec::{Era, Method};
use mcp_sansio_io::client::{Asked, ClientError, ConnectionError, Ended, nothing};
use mcp_sansio_io::server::{
    BuiltServer, CompletionRequest, Context, HandlerError, NamedCall, NoArguments, ReadRequest, Server, Structured,
};
use serde_json::json;

const MODES: [Connect; 2] = [Connect::Legacy, Connect::Modern];

fn form(message: &str) -> ElicitParams {
    ElicitParams::form(message, json!({"type": "object", "properties": {"size": {"type": "integer"}}}))
}

fn server() -> BuiltServer {
    Server::new("pair", "2.0")
        .instructions("Be kind.")
        .page_size(7)
        .logging()
        .subscriptions()
        .list_changed()
        .tool(Tool::new("add"), |args: Json, _| async move {
            let numbers: std::collections::BTreeMap<String, i64> = args.parse()?;
            Ok(Structured(json!({"sum": numbers.values().sum::<i64>()})))
        })
        .tool(Tool::new("order"), |_: NoArguments, cx: Context| async move {
            let _ = cx.progress(1.0, Some(2.0)).await;
            let size = cx.elicit("size", form("Which size?")).await?;
            let roots = cx.roots("roots").await?.roots.len();
            let params = CreateMessageParams::new(vec![SamplingMessage::user(SamplingContent::from("hi"))], 10);
            let model = cx.sample("model", params).await?.model;
            Ok(format!("{} {roots} {model}", size.content.map_or_else(|| "nothing".into(), |json| json.to_string())))
        })
        .tool(Tool::new("noise"), |_: NoArguments, cx: Context| async move {
            let _ = cx.log(LoggingLevel::Error, "boo").await;
            cx.resource_updated("note://1");
            cx.publish(&Event::ToolsListChanged);
            "done"
        })
        .prompt(Prompt::new("greet").argument("name"), |args: Json, _| async move { format!("Hello {args}") })
        .resource(Resource::new("note", "note://1").mime_type("text/plain"), |_: ReadRequest, _| async { "one" })
        .template(ResourceTemplate::new("user", "user://{id}/x"), |asked: ReadRequest, _| async move {
            asked.bindings.text("id").unwrap_or_default().as_bytes().to_vec()
        })
        .complete_prompt(
            "greet",
            "name",
            |asked: CompletionRequest, _| async move { vec![format!("{}nna", asked.value)] },
        )
        .build()
        .unwrap()
}

#[test]
fn the_server_introduces_itself_in_both_eras() {
    for (mode, era) in [(Connect::Legacy, Era::Legacy), (Connect::Modern, Era::Modern), (Connect::Auto, Era::Modern)] {
        let lab = Lab::new();
        let client = join_up(&lab, &server(), builder(mode)).unwrap();
        assert_eq!(client.era(), Some(era));
        assert_eq!(client.server_info().unwrap().name, "pair");
        assert_eq!(client.instructions().as_deref(), Some("Be kind."));
        assert!(client.capabilities().unwrap().tools.is_some());
    }
}

#[test]
fn every_kind_of_call_works_in_both_eras() {
    for mode in MODES {
        let lab = Lab::new();
        let client = join_up(&lab, &server(), builder(mode)).unwrap();
        lab.run(async {
            let tools = client.tools().await.unwrap();
            assert_eq!(tools.len(), 3);
            let sum = client.call_tool("add", json!({"a": 1, "b": 2})).await.unwrap();
            assert_eq!(sum.structured_content, Some(Json::from(json!({"sum": 3}))));
            let prompt = client.get_prompt("greet", json!({"name": "Ann"})).await.unwrap();
            assert_eq!(prompt.messages.len(), 1);
            assert_eq!(client.prompts().await.unwrap()[0].name, "greet");
            let note = client.read_resource("note://1").await.unwrap();
            assert_eq!(note.contents[0].mime_type(), Some("text/plain"));
            let user = client.read_resource("user://42/x").await.unwrap();
            let mcp_sansio::model::ResourceContents::Blob(blob) = &user.contents[0] else { panic!("{user:?}") };
            assert_eq!((blob.bytes().unwrap(), &blob.mime_type), (b"42".to_vec(), &None));
            assert_eq!(client.resources().await.unwrap().len(), 1);
            assert_eq!(client.templates().await.unwrap().len(), 1);
            let completion = client.complete_prompt("greet", "name", "A").await.unwrap();
            assert_eq!(completion.values, ["Anna"]);
            let error = client.call_tool("nobody", json!({})).await.unwrap_err();
            let ClientError::Call(CallError::Remote(error)) = error else { panic!("{error:?}") };
            assert_eq!(error.code, mcp_sansio::spec::ErrorCode::INVALID_PARAMS);
            match mode {
                Connect::Legacy => client.ping().await.unwrap(),
                _ => assert!(matches!(client.ping().await, Err(ClientError::Call(CallError::NotInVersion { .. })))),
            }
        });
    }
}

#[test]
fn questions_reach_their_handlers_in_both_eras() {
    for mode in MODES {
        let lab = Lab::new();
        let client = builder(mode)
            .on_form(|params, _| async move {
                assert_eq!(params.message, "Which size?");
                ElicitResult::accept(json!({"size": 3}))
            })
            .on_roots(|| vec![Root::new("file:///a"), Root::new("file:///b")])
            .on_sample(|_, _| async { CreateMessageResult::assistant("tiny", "hello") });
        let client = join_up(&lab, &server(), client).unwrap();
        let seen = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&seen);
        let result = lab.run(async {
            client
                .call_tool("order", json!({}))
                .progress(move |progress| {
                    assert_eq!((progress.progress, progress.total), (1.0, Some(2.0)));
                    count.fetch_add(1, Ordering::Relaxed);
                })
                .await
        });
        assert_eq!(result.unwrap().joined_text(), r#"{"size":3} 2 tiny"#, "{mode:?}");
        // Each of the four runs reports. A legacy request is one request, where only the first report increases.
        let reports = if mode == Connect::Legacy { 1 } else { 4 };
        assert_eq!(seen.load(Ordering::Relaxed), reports, "{mode:?}");
    }
}

/// What a gateway needs: one handler for whatever is asked, which may answer from elsewhere.
#[test]
fn one_handler_can_answer_every_question_in_both_eras() {
    for mode in MODES {
        let lab = Lab::new();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let desk = Arc::clone(&asked);
        let client = builder(mode)
            .on_question(move |request, asked: Asked| {
                let desk = Arc::clone(&desk);
                async move {
                    match request {
                        InputRequest::Roots(_) => {
                            InputAnswer::Roots(ListRootsResult::new(vec![Root::new("file:///a")]))
                        }
                        InputRequest::Sample(_) => {
                            InputAnswer::Sample(Box::new(CreateMessageResult::assistant("tiny", "hello")))
                        }
                        _ => {
                            desk.lock().unwrap().push(asked);
                            std::future::pending().await
                        }
                    }
                }
            })
            .capabilities(|all| all.with_form().with_roots().with_sampling());
        let client = join_up(&lab, &server(), client).unwrap();
        let result = lab.run(async {
            let mut call = client.call_tool("order", json!({})).send().unwrap();
            assert!((&mut call).now_or_never().is_none());
            lab.settle();
            let question = asked.lock().unwrap().pop().expect("a question");
            assert!(client.supply_input(question.input, &InputAnswer::Roots(ListRootsResult::new(vec![]))).is_err());
            let answer = InputAnswer::Elicit(ElicitResult::accept(json!({"size": 3})));
            client.supply_input(question.input, &answer).unwrap();
            call.await
        });
        assert_eq!(result.unwrap().joined_text(), r#"{"size":3} 1 tiny"#, "{mode:?}");
    }
}

/// Content that does not fit the form never leaves; whoever reads the reports learns why.
#[test]
fn an_answer_that_does_not_fit_is_reported_and_refused() {
    for mode in MODES {
        let lab = Lab::new();
        let reports: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&reports);
        let client = builder(mode)
            .on_form(|_, _| async { ElicitResult::accept(json!({"size": "big"})) })
            .error_reporter(move |report| seen.lock().unwrap().push(report.to_string()));
        let client = join_up(&lab, &server(), client).unwrap();
        let answer = lab.run(async { client.call_tool("order", json!({})).await });
        assert!(!answer.is_ok_and(|result| result.joined_text().contains("big")), "{mode:?}");
        let reports = reports.lock().unwrap();
        let refused = reports.iter().filter(|report| report.starts_with("the answer of a handler was not taken: "));
        assert_eq!(refused.count(), 1, "{mode:?}: {reports:?}");
    }
}

/// A hook that panics costs its own call nothing, nor any other.
#[test]
fn a_progress_hook_that_panics_takes_nothing_down() {
    let lab = Lab::new();
    let client = join_up(&lab, &server(), builder(Connect::Modern).on_form(|_, _| async { ElicitResult::decline() }));
    let client = client.unwrap();
    let answer = lab.run(async { client.call_tool("order", json!({})).progress(|_| panic!("oh no")).await });
    assert!(!matches!(answer, Err(ClientError::Call(CallError::Disconnected))), "{answer:?}");
    assert_eq!(lab.run(async { client.tools().await }).unwrap().len(), 3);
}

#[test]
fn a_question_handler_that_fails_or_panics_refuses() {
    for mode in MODES {
        let lab = Lab::new();
        let reports: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&reports);
        let client = builder(mode)
            .on_form(|_, _| async {
                if true {
                    panic!("oh no");
                }
                ElicitResult::decline()
            })
            .on_roots(Vec::new)
            .on_sample(|_, _| async { CreateMessageResult::assistant("tiny", "hello") })
            .error_reporter(move |report| seen.lock().unwrap().push(report.to_string()));
        let client = join_up(&lab, &server(), client).unwrap();
        let result = lab.run(client.call_tool("order", json!({})).into_future());
        // An elicitation is cancelled in the modern era; a legacy server gets an error, and its handler fails.
        match mode {
            Connect::Legacy => assert!(result.unwrap().failed()),
            _ => assert_eq!(result.unwrap().joined_text(), "nothing 0 tiny"),
        }
        assert!(reports.lock().unwrap().iter().any(|report| report.contains("panicked")), "{reports:?}");
    }
}

#[test]
fn many_calls_at_once_get_their_own_answers() {
    for mode in MODES {
        let lab = Lab::new();
        let client = join_up(&lab, &server(), builder(mode)).unwrap();
        let calls = (0..500_i64).map(|n| client.call_tool("add", json!({"n": n})).into_future());
        let results = lab.run(join_all(calls));
        for (n, result) in results.into_iter().enumerate() {
            assert_eq!(result.unwrap().structured_content, Some(Json::from(json!({"sum": n}))));
        }
    }
}

#[test]
fn a_dropped_call_is_cancelled() {
    for mode in MODES {
        let lab = Lab::new();
        let cancelled = Gate::default();
        let gate = cancelled.clone();
        let server = Server::new("s", "1")
            .tool(Tool::new("wait"), move |_: NoArguments, cx: Context| {
                let gate = gate.clone();
                async move {
                    cx.cancelled().await;
                    gate.open();
                }
            })
            .build()
            .unwrap();
        let client = join_up(&lab, &server, builder(mode)).unwrap();
        let call = client.call_tool("wait", json!({})).send().unwrap();
        lab.settle();
        drop(call);
        lab.run(cancelled.passed());
    }
}

#[test]
fn a_call_can_be_cancelled_with_a_reason_and_waited_for() {
    let lab = Lab::new();
    let reason: Arc<Mutex<String>> = Arc::default();
    let told = Arc::clone(&reason);
    let server = Server::new("s", "1")
        .tool(Tool::new("wait"), move |_: NoArguments, cx: Context| {
            let told = Arc::clone(&told);
            async move {
                *told.lock().unwrap() = format!("{:?}", cx.cancelled().await);
            }
        })
        .build()
        .unwrap();
    let client = join_up(&lab, &server, builder(Connect::Legacy)).unwrap();
    let call = client.call_tool("wait", json!({})).send().unwrap();
    lab.settle();
    call.cancel(Some("lunch"));
    let error = lab.run(call).unwrap_err();
    assert_eq!(error, ClientError::Call(CallError::Cancelled));
    lab.settle();
    assert!(reason.lock().unwrap().contains("lunch"), "{reason:?}");
    // By its name, from anywhere; once.
    let call = client.call_tool("wait", json!({})).send().unwrap();
    let id = call.id();
    client.cancel(id, Some("dinner")).unwrap();
    assert_eq!(lab.run(call).unwrap_err(), ClientError::Call(CallError::Cancelled));
    assert!(client.cancel(id, None).is_err());
}

#[test]
fn a_call_times_out_by_the_runtime_clock() {
    for mode in MODES {
        let lab = Lab::new();
        let server = Server::new("s", "1")
            .tool(Tool::new("wait"), |_: NoArguments, _| std::future::pending::<String>())
            .build()
            .unwrap();
        let client = join_up(&lab, &server, builder(mode)).unwrap();
        let error =
            lab.run(client.call_tool("wait", json!({})).timeout(Duration::from_secs(5)).into_future()).unwrap_err();
        assert_eq!(error, ClientError::Call(CallError::TimedOut { kind: TimeoutKind::Hard }));
        let error = lab.run(client.call_tool("wait", json!({})).into_future()).unwrap_err();
        assert_eq!(error, ClientError::Call(CallError::TimedOut { kind: TimeoutKind::Idle }));
    }
}

#[test]
fn closing_fails_what_is_open_and_the_last_handle_closes() {
    let lab = Lab::new();
    let server = Server::new("s", "1")
        .tool(Tool::new("wait"), |_: NoArguments, _| std::future::pending::<String>())
        .build()
        .unwrap();
    let client = join_up(&lab, &server, builder(Connect::Legacy)).unwrap();
    let other = client.clone();
    let call = client.call_tool("wait", json!({})).send().unwrap();
    let mut notifications = client.notifications();
    other.close();
    let (outcome, ended) = lab.run(join(call, client.ended()));
    assert_eq!(outcome, Err(ClientError::Call(CallError::Disconnected)));
    assert!(matches!(ended, Ended::Closed(Closed::Requested)));
    assert!(lab.run(notifications.next()).is_none());
    assert!(matches!(lab.run(client.call_tool("wait", json!({})).into_future()), Err(ClientError::NotMade(_))));

    let client = join_up(&lab, &server, builder(Connect::Legacy)).unwrap();
    let ended = client.ended();
    drop(client);
    assert!(matches!(lab.run(ended), Ended::Closed(_)));
    // What never answers is not waited for beyond its time.
    lab.advance(Duration::from_secs(2));
    assert!(server.connections().is_empty());
}

#[test]
fn a_server_that_goes_away_fails_open_calls() {
    let lab = Lab::new();
    let server = Server::new("s", "1")
        .tool(Tool::new("leave"), |_: NoArguments, cx: Context| async move { cx.connection().close() })
        .build()
        .unwrap();
    let client = join_up(&lab, &server, builder(Connect::Modern)).unwrap();
    let outcome = lab.run(client.call_tool("leave", json!({})).into_future());
    assert_eq!(outcome, Err(ClientError::Call(CallError::Disconnected)));
    assert!(matches!(lab.run(client.ended()), Ended::Closed(Closed::EndOfInput)));
}

#[test]
fn a_handshake_that_cannot_work_says_why() {
    let lab = Lab::new();
    let modern_only = Server::new("s", "1").versions(&[mcp_sansio::spec::Version::V2026_07_28]).build().unwrap();
    let error = join_up(&lab, &modern_only, builder(Connect::Legacy)).unwrap_err();
    assert!(matches!(error, ConnectionError::Refused(_)), "{error:?}");
    assert!(error.to_string().contains("2026-07-28"), "{error}");

    // Nobody answers: the probe gives up, then the handshake does.
    let (connecting, driving) = builder(Connect::Auto)
        .timeouts(Timeouts::default().hard(Some(Duration::from_secs(30))))
        .over(lab.runtime(), Pipe::new(10), Pipe::new(1 << 20), nothing())
        .unwrap();
    lab.spawn(driving);
    let error = lab.run(connecting).unwrap_err();
    assert!(matches!(error, ConnectionError::Refused(mcp_sansio::client::ConnectError::TimedOut)), "{error:?}");

    // The server closes its side at once.
    let closed = Pipe::new(10);
    closed.end();
    let (connecting, driving) =
        builder(Connect::Auto).over(lab.runtime(), closed, Pipe::new(1 << 20), nothing()).unwrap();
    lab.spawn(driving);
    assert!(matches!(lab.run(connecting), Err(ConnectionError::Closed)));
}

#[test]
fn notifications_reach_legacy_subscribers_and_modern_listeners() {
    let lab = Lab::new();
    let server = server();
    let legacy = join_up(&lab, &server, builder(Connect::Legacy)).unwrap();
    let modern = join_up(&lab, &server, builder(Connect::Modern)).unwrap();
    let mut heard = legacy.notifications();
    lab.run(async {
        legacy.subscribe("note://1").await.unwrap();
        legacy.set_level(LoggingLevel::Info).await.unwrap();
        let mut filter = SubscriptionFilter::default();
        filter.resource_subscriptions = Some(vec!["note://1".into()]);
        let listening = modern.listen(&filter);
        let id = listening.id();
        let mut listening = listening.await.unwrap();
        assert_eq!((Some(listening.id()), listening.opened()), (id, 1));
        assert_eq!(listening.filter().resource_subscriptions, filter.resource_subscriptions);
        legacy.call_tool("noise", json!({})).await.unwrap();
        let mut known = Vec::new();
        for _ in 0..3 {
            known.push(heard.next().await.unwrap().known().unwrap());
        }
        known.sort();
        assert_eq!(known, [Method::Message, Method::ResourcesUpdated, Method::ToolsListChanged]);
        let update = listening.next().await.unwrap();
        assert_eq!(update.known(), Some(Method::ResourcesUpdated));
        legacy.unsubscribe("note://1").await.unwrap();
        assert_eq!(modern.tools().answer_as::<Answer>().await.unwrap().parse_items::<Tool>().unwrap().len(), 3);
        assert_eq!(modern.closed(), None);
        modern.close();
        assert!(listening.next().await.is_none());
        assert!(listening.ended().await.is_err());
        assert_eq!(modern.closed(), Some(Closed::Requested));
    });
}

#[test]
fn a_catalogue_can_be_replaced_while_calls_run() {
    let lab = Lab::new();
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::new("s", "1")
        .list_changed()
        .tool(Tool::new("old"), move |_: NoArguments, _| {
            let gate = held.clone();
            async move {
                gate.passed().await;
                "old"
            }
        })
        .build()
        .unwrap();
    let client = join_up(&lab, &server, builder(Connect::Legacy)).unwrap();
    let mut heard = client.notifications();
    let running = client.call_tool("old", json!({})).send().unwrap();
    // Read by the server, not yet run: its index belongs to the old catalogue.
    lab.settle();
    let new = Server::new("s", "1")
        .list_changed()
        .tool(Tool::new("first"), |_: NoArguments, _| async { "first" })
        .tool(Tool::new("second"), |_: NoArguments, _| async { "second" });
    server.replace(new).unwrap();
    gate.open();
    lab.run(async {
        assert_eq!(running.await.unwrap().joined_text(), "old");
        assert_eq!(heard.next().await.unwrap().known(), Some(Method::ToolsListChanged));
        assert_eq!(client.call_tool("second", json!({})).await.unwrap().joined_text(), "second");
    });
}

#[test]
fn dynamic_lists_custom_methods_and_server_requests() {
    let lab = Lab::new();
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let tells = Arc::clone(&told);
    let server = Server::new("s", "1")
        .dynamic_tools(
            |_, cx| async move {
                let client = cx.client_info().map_or_else(String::new, |info| info.name);
                Ok(mcp_sansio::server::ListPage {
                    items: vec![Json::from(json!({"name": client, "inputSchema": {"type": "object"}}))],
                    next_cursor: None,
                })
            },
            |call: NamedCall, _| async move { format!("{} {}", call.name, call.arguments) },
        )
        .method("acme/double", |params: Json, _| async move {
            let n: std::collections::BTreeMap<String, i64> = params.parse()?;
            Ok(json!({"n": n.get("n").ok_or_else(|| HandlerError::shown("no n"))? * 2}))
        })
        .notification("acme/hello", move |params, _| {
            let tells = Arc::clone(&tells);
            async move {
                tells.lock().unwrap().push(params.to_string());
                Ok(())
            }
        })
        .method("acme/back", |_: NoArguments, cx: Context| async move {
            cx.ping(None).await?;
            let answer = cx.request("acme/front", Some(&Json::from(json!({"q": 1}))), None)?.await;
            Ok(json!({"answer": answer.map_err(|failure| HandlerError::shown(format!("{failure:?}")))?}))
        })
        .build()
        .unwrap();
    let client = builder(Connect::Legacy).on_request("acme/front", |params| async move { Ok(params) });
    let client = join_up(&lab, &server, client).unwrap();
    lab.run(async {
        assert_eq!(client.tools().await.unwrap()[0].name, "tester");
        let answer = client.call_tool("tester", json!({"x": 1})).await.unwrap();
        assert_eq!(answer.joined_text(), r#"tester {"x":1}"#);
        let doubled: Json = client.request("acme/double", Json::from(json!({"n": 21}))).await.unwrap();
        assert_eq!(doubled, Json::from(json!({"n": 42})));
        client.notify("acme/hello", &Json::from(json!({"hi": true}))).unwrap();
        let back: Json = client.request("acme/back", Json::EMPTY_OBJECT).await.unwrap();
        assert_eq!(back, Json::from(json!({"answer": {"q": 1}})));
    });
    assert_eq!(*told.lock().unwrap(), [r#"{"hi":true}"#]);
}

#[test]
fn the_last_words_of_a_server_are_heard() {
    let lab = Lab::new();
    let (there, back) = (Pipe::new(1 << 20), Pipe::new(1 << 20));
    // It answers without reading, and goes: whatever we write fails.
    back.line(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no licence"}}"#);
    there.break_off();
    let (connecting, driving) = builder(Connect::Modern).over(lab.runtime(), back.clone(), there, nothing()).unwrap();
    lab.spawn(driving);
    lab.settle();
    back.end();
    let error = lab.run(connecting).unwrap_err();
    assert!(format!("{error:?}").contains("no licence"), "{error:?}");
}
