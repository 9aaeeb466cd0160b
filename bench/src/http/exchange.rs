//! The machines of HTTP in process: a head and a body in, an answer out. On one thread, and on two, as long as this
//! process may use more than one core.

use std::hint::black_box;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcp_sansio::http::server::{Action, Body, Exchange, Head, Input, Judged, Options, Routed, Service};
use mcp_sansio::machine::Now;
use mcp_sansio::model::CallToolResult;
use mcp_sansio::rng::{Rng, Seed};
use mcp_sansio::server::{Call, Reply};

use crate::floor::{self, EchoArguments};
use crate::frames::{self, Cycle, Era};
use crate::measure::{Case, Contender};
use crate::report::{self, Goal, Row, Table, Verdict};
use crate::{os, server};

/// The headers of a call, as they arrive.
const HEADERS: [(&str, &[u8]); 7] = [
    ("host", b"127.0.0.1:8080"),
    ("accept", b"application/json, text/event-stream"),
    ("content-type", b"application/json"),
    ("content-length", b"400"),
    ("mcp-protocol-version", b"2026-07-28"),
    ("mcp-method", b"tools/call"),
    ("mcp-name", b"echo"),
];
/// Exchanges that a thread serves in one go: some milliseconds, for a virtual machine may be moved the next moment.
const MANY: usize = 2_500;
/// How many turns a repetition has.
const TURNS: usize = 20;

/// One exchange from its head to its answer.
fn serve(service: &Service, seeds: &mut Rng, body: &Bytes) -> Bytes {
    let now = Now::default();
    let mut head = Head::new("POST", "/mcp");
    for (name, value) in HEADERS {
        head.header(name, value);
    }
    let Judged::Post(mut intake) = service.judge(head) else { panic!("a post is read") };
    intake.push(body.clone()).expect("a short body");
    let Routed::Exchange(mut exchange) = intake.finish(service, now, seeds.subseed()) else {
        panic!("a modern request is an exchange of its own")
    };
    answer(&mut exchange, now).expect("every request is answered")
}

fn answer(exchange: &mut Exchange, now: Now) -> Option<Bytes> {
    let mut answer = None;
    while let Some(action) = exchange.poll_action() {
        match action {
            Action::Invoke(invocation) => {
                let Call::Tool { arguments, .. } = &invocation.call else { panic!("only tools are called") };
                let arguments: EchoArguments<'_> = arguments.parse_borrowed().expect("our own frame");
                black_box(arguments.n);
                let result = CallToolResult::text(arguments.text);
                exchange.reply(now, invocation.slot, Reply::Tool(result)).expect("the slot is open");
            }
            Action::Respond { response, .. } => {
                let Body::Whole(bytes) = response.into_body() else { panic!("a reply at once is no stream") };
                exchange.handle(now, Input::Written(bytes.len()));
                answer = Some(bytes);
            }
            other => panic!("unexpected: {other:?}"),
        }
    }
    answer
}

fn service() -> Service {
    Service::new(server::definition(1, true), Options::default())
}

/// An exchange against the floor of its body.
pub(crate) fn calls() -> Case<'static> {
    let calls: &'static [Bytes] = frames::calls(Era::Modern).leak();
    let service = service();
    let mut seeds = Rng::new(Seed([7; 32]));
    let (mut first, mut second) = (Cycle::new(calls), Cycle::new(calls));
    Case {
        title: "http exchange: tools/call, modern".to_owned(),
        operations: 100,
        contenders: vec![
            Contender::new("floor of the body", move |n| {
                (0..n).for_each(|_| drop(black_box(floor::echo(Era::Modern, first.next()))));
            }),
            Contender::new("head and body, arguments validated", move |n| {
                (0..n).for_each(|_| drop(black_box(serve(&service, &mut seeds, second.next()))));
            }),
        ],
    }
}

/// Two threads with exchanges of their own, on one definition that they share. The floor, which shares nothing, shows
/// what a second core is worth: those of a virtual machine are at times two halves of one. Turns in which it is not
/// worth what is asked of us say nothing about us, and are left out where there are others.
pub(crate) fn threads(repetitions: usize, only: &str, table: &mut Table) {
    let case = "http exchange: one definition, many threads";
    if !case.contains(only) {
        return;
    }
    const WANTED: f64 = 1.8;
    const UNDISTURBED: f64 = 0.8;
    const ENOUGH: usize = 5;
    let service = Arc::new(service());
    let floor: Work = |_, _, body| floor::echo(Era::Modern, body).into();
    let mut turns: Vec<[f64; 4]> = Vec::new();
    for _ in 0..repetitions * TURNS {
        let rate = |threads, work| (MANY * threads) as f64 / run(&service, threads, work).as_secs_f64();
        turns.push([rate(1, floor), rate(2, floor), rate(1, serve), rate(2, serve)]);
    }
    let all = turns.len();
    let fastest = turns.iter().map(|turn| turn[0]).fold(0.0, f64::max);
    // One thread that was disturbed makes two look good.
    let is_fit = |turn: &[f64; 4]| turn[1] / turn[0] >= WANTED && turn[0] >= UNDISTURBED * fastest;
    let fit: Vec<_> = turns.iter().copied().filter(is_fit).collect();
    let title = format!("{case} ({} of {all} turns with two whole cores)", fit.len());
    let enough = fit.len() >= ENOUGH;
    let turns = if enough { fit } else { turns };
    let median = |of: fn(&[f64; 4]) -> f64| report::median(&turns.iter().map(of).collect::<Vec<_>>());
    let (idle, served) = (median(|turn| turn[1] / turn[0]), median(|turn| turn[3] / turn[2]));
    let goal = enough.then(|| Verdict::new(Goal::AtLeast(WANTED), served));
    let rows = [
        ("floor of the body, one thread", median(|turn| turn[0]), 1.0, None),
        ("floor of the body, two threads", median(|turn| turn[1]), idle, None),
        ("exchanges, one thread", median(|turn| turn[2]), 1.0, None),
        ("exchanges, two threads", median(|turn| turn[3]), served, goal),
    ];
    for (name, rate, times, goal) in rows {
        table.push(Row::cells(&title, name, vec![format!("{rate:.0}"), format!("{times:.2}")], goal));
    }
}

/// What a thread does with a body.
type Work = fn(&Service, &mut Rng, &Bytes) -> Bytes;

/// How long so many threads need, each to do this [`MANY`] times.
fn run(service: &Arc<Service>, threads: usize, work: Work) -> Duration {
    let gate = Barrier::new(threads + 1);
    std::thread::scope(|scope| {
        for number in 0..threads {
            let (service, gate) = (Arc::clone(service), &gate);
            scope.spawn(move || {
                // Each has a core, as the servers have: what the scheduler would do is not compared here.
                os::pin(number % os::cores());
                let calls = frames::calls(Era::Modern);
                let mut seeds = Rng::new(Seed([u8::try_from(number).unwrap_or(0); 32]));
                let mut calls = Cycle::new(&calls);
                work(&service, &mut seeds, calls.next());
                gate.wait();
                (0..MANY).for_each(|_| drop(black_box(work(&service, &mut seeds, calls.next()))));
                gate.wait();
            });
        }
        gate.wait();
        let start = Instant::now();
        gate.wait();
        start.elapsed()
    })
}
