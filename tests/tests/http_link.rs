//! Clients and a server of Streamable HTTP over links that delay, cut, break and double: every request ends exactly
//! once, no message is lost or delivered twice, and users who use the same ids do not mix.
//!
//! Cases are drawn from a fixed seed, so that a run is the same run everywhere.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::Cell;
use std::time::Duration;

use mcp_sansio::client::{Action, CallError, CallOptions, Config, Connect, Request};
use mcp_sansio::http::client::Endpoint;
use mcp_sansio::http::server::{Options, Replay};
use mcp_sansio::ids::CallId;
use mcp_sansio::json::Json;
use mcp_sansio::model::{CallToolResult, Implementation, SubscriptionFilter, Tool};
use mcp_sansio::server::{Call, Definition, Event, Progress, Reply};
use mcp_sansio::spec::Version;
use mcp_sansio::testing::{HttpLink, HttpPair};
use proptest::prelude::*;
use proptest::test_runner::{Config as RunConfig, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

/// Steps that the tool reports before it answers.
const STEPS: u64 = 4;
const LONG: Duration = Duration::from_secs(900);

fn cases(cases: u32, test: impl Fn(u64, u8)) {
    let config = RunConfig { cases, failure_persistence: None, ..RunConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&(any::<u64>(), any::<u8>()), |(seed, how)| {
        test(seed, how);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

/// A server whose tool says who asked: notifications, progress and the answer all name the call.
fn pair(options: Options, seed: u64) -> HttpPair {
    let definition = Definition::builder("s", "1").tool(Tool::new("say")).list_changed().build().unwrap();
    let mut pair = HttpPair::new(definition, options, seed);
    pair.serve(|front, now, machine, invocation| {
        let Call::Tool { arguments, .. } = &invocation.call else { panic!("{:?}", invocation.call) };
        let arguments: Value = arguments.parse().unwrap();
        let slot = invocation.slot.id();
        for step in 1..=STEPS {
            let params = Json::from(json!({"of": arguments["of"], "step": step}));
            // A client that is gone hears nothing, which is no error of the handler's.
            let _ = front.notify(now, machine, Some(slot), "acme/step", Some(&params));
            let progress = Progress { progress: step as f64, total: None, message: None };
            let _ = front.progress(now, machine, slot, &progress);
        }
        let text = arguments["of"].as_str().unwrap_or_default().to_owned();
        front.reply(now, machine, invocation.slot, Reply::Tool(CallToolResult::text(text))).unwrap();
    });
    pair
}

fn config(connect: Connect) -> Config {
    Config::new(Implementation::new("c", "1")).connect(connect)
}

fn endpoint() -> Endpoint {
    Endpoint::new("http://localhost/mcp").unwrap()
}

fn connects(how: u8) -> Connect {
    match how % 5 {
        0 => Connect::Pinned(Version::V2025_03_26),
        1 => Connect::Pinned(Version::V2025_06_18),
        2 => Connect::Pinned(Version::V2025_11_25),
        3 => Connect::Modern,
        _ => Connect::Auto,
    }
}

/// Adds a client and waits until it is connected.
fn join(pair: &mut HttpPair, connect: Connect, principal: &str) -> usize {
    let place = pair.join(config(connect), endpoint(), Some(principal));
    let connected = |pair: &mut HttpPair| pair.peers[place].client.server().is_some();
    assert!(pair.run_until(Duration::from_secs(60), connected), "{connect:?}");
    // So that the session is open and its stream stands.
    pair.pass(Duration::from_secs(1));
    place
}

fn call(pair: &mut HttpPair, place: usize, of: &str) -> CallId {
    let arguments = Json::from(json!({"of": of}));
    let options = CallOptions::new().progress();
    let now = pair.now;
    pair.peers[place].client.call(now, Request::call_tool("say", &arguments), options).unwrap()
}

/// Waits until a call has ended, and lets what is under way arrive.
fn outcomes(pair: &mut HttpPair, calls: &[(usize, CallId, String)]) -> Vec<Result<String, CallError>> {
    let mut ends: Vec<_> = calls.iter().map(|_| None).collect();
    let done = pair.run_until(LONG, |pair| {
        for ((place, call, _), end) in calls.iter().zip(&mut ends) {
            if end.is_none() {
                *end = pair.peers[*place].done(*call);
            }
        }
        ends.iter().all(Option::is_some)
    });
    assert!(done, "a call has not ended: {pair:?}");
    let text = |answer: mcp_sansio::client::Answer| answer.parse::<CallToolResult>().unwrap().joined_text();
    ends.into_iter().map(|end| end.unwrap().map(text)).collect()
}

/// The steps that a client has heard of a call, in order.
fn heard(pair: &HttpPair, place: usize, of: &str) -> Vec<u64> {
    let step = |event: &Action| match event {
        Action::Notified { method, params, .. } if &**method == "acme/step" => {
            let params: Value = params.parse().unwrap();
            (params["of"] == of).then(|| params["step"].as_u64().unwrap())
        }
        _ => None,
    };
    pair.peers[place].events.iter().filter_map(step).collect()
}

fn progress(pair: &HttpPair, place: usize, call: CallId) -> Vec<u64> {
    let step = |event: &Action| match event {
        Action::Progress { call: of, progress } if *of == call => Some(progress.progress as u64),
        _ => None,
    };
    pair.peers[place].events.iter().filter_map(step).collect()
}

fn all() -> Vec<u64> {
    (1..=STEPS).collect()
}

/// Two users, each with calls of the same ids, over links that only delay, reorder and cut into pieces: everything
/// arrives once, in order, at the one who asked.
#[test]
fn users_with_the_same_ids_never_mix() {
    let ended = Cell::new(0);
    cases(48, |seed, how| {
        let mut pair = pair(Options::default(), seed);
        pair.link =
            HttpLink::new().delay(Duration::from_millis(3), Duration::from_millis(40)).split(1 + how as usize % 90);
        let users = [join(&mut pair, connects(how), "ada"), join(&mut pair, connects(how / 5), "bob")];
        let mut calls = Vec::new();
        for round in 0..4 {
            for place in users {
                let of = format!("{place}/{round}");
                calls.push((place, call(&mut pair, place, &of), of));
            }
            pair.pass(Duration::from_millis(u64::from(how) % 30));
        }
        for (outcome, (place, call, of)) in outcomes(&mut pair, &calls).into_iter().zip(&calls) {
            assert_eq!(outcome.as_ref(), Ok(of));
            assert_eq!(heard(&pair, *place, of), all());
            assert_eq!(progress(&pair, *place, *call), all());
            assert_eq!(heard(&pair, 1 - *place, of), [] as [u64; 0], "somebody else hears of it");
            ended.set(ended.get() + 1);
        }
        pair.pass(Duration::from_secs(5));
        assert_eq!(pair.front.exchanges().count(), 0);
    });
    assert_eq!(ended.get(), 48 * 8);
}

/// The same over links that lose requests, break answers off and double requests: whatever is lost, each call ends
/// exactly once, with its own answer or an error, and nothing is heard twice by way of one answer.
#[test]
fn every_request_ends_once_whatever_breaks() {
    let (well, badly) = (Cell::new(0), Cell::new(0));
    cases(64, |seed, how| {
        let replay = Options::default().replay(Replay { retry: Duration::from_millis(20), ..Replay::default() });
        let options = if how & 1 == 0 { replay } else { Options::default() };
        let mut pair = pair(options, seed);
        let users = [join(&mut pair, connects(how), "ada"), join(&mut pair, connects(how / 5), "bob")];
        pair.link = HttpLink::new()
            .delay(Duration::from_millis(1), Duration::from_millis(30))
            .split(1 + how as usize % 50)
            .cut(40)
            .lose(9)
            .double(7);
        let mut calls = Vec::new();
        for round in 0..4 {
            for place in users {
                let of = format!("{place}/{round}");
                calls.push((place, call(&mut pair, place, &of), of));
            }
            pair.pass(Duration::from_millis(u64::from(how) % 30));
        }
        for (outcome, (place, _, of)) in outcomes(&mut pair, &calls).into_iter().zip(&calls) {
            match outcome {
                Ok(text) => {
                    assert_eq!(text, *of, "an answer went to another call");
                    well.set(well.get() + 1);
                }
                Err(CallError::Exchange(_) | CallError::Remote(_)) => badly.set(badly.get() + 1),
                Err(other) => panic!("{of}: {other:?}"),
            }
            let steps = heard(&pair, *place, of);
            assert!(steps.is_sorted(), "{of}: {steps:?}");
            assert_eq!(heard(&pair, 1 - *place, of), [] as [u64; 0], "somebody else hears of it");
        }
    });
    assert!(well.get() > 100 && badly.get() > 20, "{} and {}", well.get(), badly.get());
}

/// A session of 2025-11-25 with a replay store: answers break off again and again, and nothing is lost or doubled.
/// An answer that broke before its first event has nothing to come back with; it ends with an error.
#[test]
fn what_breaks_off_is_resumed_without_loss() {
    let (well, broken) = (Cell::new(0), Cell::new(0));
    cases(64, |seed, how| {
        let options = Options::default().replay(Replay { retry: Duration::from_millis(20), ..Replay::default() });
        let mut pair = pair(options, seed);
        let place = join(&mut pair, Connect::Pinned(Version::V2025_11_25), "ada");
        pair.link = HttpLink::new()
            .delay(Duration::from_millis(1), Duration::from_millis(10))
            .split(20 + how as usize % 200)
            .cut(12 + u32::from(how) % 20);
        let mut calls = Vec::new();
        for round in 0..5 {
            let of = format!("{round}");
            calls.push((place, call(&mut pair, place, &of), of));
        }
        for (outcome, (_, call, of)) in outcomes(&mut pair, &calls).into_iter().zip(&calls) {
            match outcome {
                Ok(text) => {
                    assert_eq!(text, *of);
                    assert_eq!(heard(&pair, place, of), all(), "{of}: a message was lost or came twice");
                    assert_eq!(progress(&pair, place, *call), all());
                    well.set(well.get() + 1);
                }
                Err(CallError::Exchange(_)) => {
                    assert_eq!(
                        heard(&pair, place, of),
                        [] as [u64; 0],
                        "{of}: an event had come, and it was not resumed"
                    );
                }
                Err(other) => panic!("{of}: {other:?}"),
            }
        }
        broken.set(broken.get() + pair.broken());
    });
    assert!(well.get() > 200 && broken.get() > 64, "{} calls ended well, {} answers broke", well.get(), broken.get());
}

/// What belongs to no request reaches a session that listens, over streams that break: each event once, in order.
#[test]
fn the_standing_stream_loses_nothing() {
    cases(32, |seed, how| {
        let options = Options::default().replay(Replay { retry: Duration::from_millis(20), ..Replay::default() });
        let mut pair = pair(options, seed);
        let place = join(&mut pair, Connect::Pinned(Version::V2025_11_25), "ada");
        pair.link =
            HttpLink::new().delay(Duration::from_millis(1), Duration::from_millis(10)).cut(4 + u32::from(how) % 9);
        let session = pair.front.sessions().next().unwrap();
        for number in 0..20 {
            let params = Json::from(json!({"of": "all", "step": number}));
            let (now, machine) = (pair.now, mcp_sansio::testing::HttpMachine::Session(session));
            pair.front.notify(now, machine, None, "acme/step", Some(&params)).unwrap();
            pair.pass(Duration::from_millis(u64::from(how) % 50));
        }
        pair.link = HttpLink::new();
        pair.pass(Duration::from_secs(60));
        assert_eq!(heard(&pair, place, "all"), (0..20).collect::<Vec<u64>>(), "after {} breaks", pair.broken());
    });
}

/// A listen stream of the modern era that breaks is opened anew, and its client is told that it may have missed
/// something.
#[test]
fn a_listen_stream_is_opened_anew() {
    cases(16, |seed, how| {
        let mut pair = pair(Options::default(), seed);
        let place = join(&mut pair, Connect::Modern, "ada");
        let filter = SubscriptionFilter::new().tools_list_changed(true);
        let now = pair.now;
        let listen = pair.peers[place].client.listen(now, &filter, CallOptions::new()).unwrap();
        pair.pass(Duration::from_secs(1));
        pair.link = HttpLink::new().cut(2 + u32::from(how) % 3);
        for _ in 0..6 {
            let now = pair.now;
            pair.front.publish(now, &Event::ToolsListChanged);
            pair.pass(Duration::from_secs(20));
        }
        pair.link = HttpLink::new();
        pair.pass(Duration::from_secs(60));
        let ended = pair.peers[place].done(listen);
        let opened = pair.peers[place].events.iter().filter(|event| matches!(event, Action::Listening { .. })).count();
        match ended {
            // It broke before it was worth it once too often.
            Some(outcome) => assert!(matches!(outcome, Err(CallError::Exchange(_))), "{outcome:?}"),
            None => {
                let before = pair.peers[place].events.len();
                let now = pair.now;
                pair.front.publish(now, &Event::ToolsListChanged);
                pair.pass(Duration::from_secs(1));
                assert!(pair.peers[place].events.len() > before, "a stream that stands carries news");
                assert!(opened > usize::from(pair.broken() > 1), "{opened} times open after {} breaks", pair.broken());
            }
        }
    });
}
