//! The transport of 2024-11-05, when nothing else is there.

use super::*;
use crate::client::InputAnswer;
use crate::model::{ClientCapabilities, ElicitResult};

/// A client whose `initialize` was refused with this status.
fn refused(config: Config, status: u16) -> (Driver, Fetch) {
    let mut driver = Driver::new(config.connect(Connect::Legacy));
    driver.client.connect(driver.now).unwrap();
    let request = driver.fetch();
    driver.respond(&request, status, &[("content-type", "text/html")], "<p>");
    (driver, request)
}

/// A client on the old transport, and its stream.
fn paired(config: Config) -> (Driver, Fetch) {
    let (mut driver, first) = refused(config, 405);
    let stream = driver.fetch();
    driver.head(&stream, 200, EVENTS);
    driver.body(&stream, "event: endpoint\ndata: /messages?session=1\n\n");
    let request = driver.fetch();
    assert_eq!((request.method, &*request.url), (Method::Post, "https://example.com/messages?session=1"));
    assert_eq!(request.body, first.body);
    driver.respond(&request, 202, NONE, "Accepted");
    driver.body(&stream, &event(&result(&request.rpc_id(), session("2024-11-05"))));
    assert_eq!(driver.connected().version, Version::V2024_11_05);
    let opening = driver.fetch();
    assert_eq!(opening.rpc_method(), "notifications/initialized");
    assert_eq!(&*opening.url, "https://example.com/messages?session=1");
    driver.respond(&opening, 202, NONE, "");
    driver.quiet();
    (driver, stream)
}

/// M-HCOMP-10, L-PVH-05, D-17: the refusal of `initialize` leads to a stream, and its first event to the address for
/// messages.
#[test]
fn m_hcomp_10_l_pvh_05_the_old_transport_is_found_and_spoken() {
    let (mut driver, stream) = paired(config());
    assert_eq!((stream.method, &*stream.url), (Method::Get, "https://example.com/mcp"));
    assert_eq!(stream.header("accept"), Some("text/event-stream"));
    let (a, first) = driver.tool("a");
    let (b, second) = driver.tool("b");
    // Answers may come before the POST is answered, and in any order.
    driver.body(&stream, &event(&result(&second.rpc_id(), json!({"content": []}))));
    driver.done(b).unwrap();
    driver.respond(&second, 202, NONE, "");
    driver.respond(&first, 202, NONE, "");
    driver.quiet();
    driver.body(&stream, &event(&result(&first.rpc_id(), json!({"content": []}))));
    driver.done(a).unwrap();
    // The server asks, and is told what is cancelled.
    driver.body(&stream, &event(&json!({"jsonrpc": "2.0", "id": 9, "method": "ping"})));
    let pong = driver.fetch();
    assert_eq!(pong.message(), json!({"jsonrpc": "2.0", "id": 9, "result": {}}));
    let (c, third) = driver.tool("c");
    driver.respond(&third, 202, NONE, "");
    driver.client.cancel(driver.now, c, None).unwrap();
    assert_eq!(driver.done(c).unwrap_err(), CallError::Cancelled);
    assert_eq!(driver.fetch().rpc_method(), "notifications/cancelled");
    driver.quiet();
    // A message that is not taken ends its call.
    let (d, fourth) = driver.tool("d");
    driver.respond(&fourth, 500, NONE, "");
    driver.aborted.clear();
    assert_eq!(driver.failed(d), ExchangeError::Status { status: 500 });
    // The end of the stream is the end.
    let (e, fifth) = driver.tool("e");
    driver.respond(&fifth, 202, NONE, "");
    driver.end(&stream);
    assert_eq!(driver.done(e).unwrap_err(), CallError::Disconnected);
    assert_eq!(driver.closed(), Closed::EndOfInput);
    driver.quiet();
    assert_eq!(driver.client.poll_timeout(), None);
}

/// Questions of the server are answered by POST.
#[test]
fn questions_come_in_the_stream() {
    let (mut driver, stream) = paired(config().capabilities(ClientCapabilities::new().with_roots()));
    driver.body(&stream, &event(&json!({"jsonrpc": "2.0", "id": "r", "method": "roots/list"})));
    let client::Action::NeedInput(needed) = driver.event() else { panic!("a question") };
    let wrong = InputAnswer::Elicit(ElicitResult::decline());
    assert!(driver.client.supply_input(driver.now, needed.input, &wrong).is_err());
    driver.client.supply_input(driver.now, needed.input, &InputAnswer::Declined).unwrap();
    assert_eq!(driver.fetch().message()["error"]["code"], -1);
    driver.client.close(driver.now);
    assert_eq!(driver.closed(), Closed::Requested);
    assert_eq!(std::mem::take(&mut driver.aborted), [stream.id]);
    driver.quiet();
}

/// D-17: an address of another origin is not used, and what is no old server is what it was.
#[test]
fn d17_what_is_no_old_server_is_refused_as_it_was() {
    type Step = fn(&mut Driver, &Fetch);
    let steps: [Step; 6] = [
        |driver, stream| driver.respond(stream, 404, NONE, ""),
        |driver, stream| driver.respond(stream, 200, JSON, "{}"),
        |driver, stream| driver.respond(stream, 200, EVENTS, ""),
        |driver, stream| driver.broken(stream),
        |driver, stream| driver.respond(stream, 200, EVENTS, "event: endpoint\ndata: https://evil.example/m\n\n"),
        |driver, stream| driver.respond(stream, 401, NONE, ""),
    ];
    for status in [400, 404, 405] {
        for step in steps {
            let (mut driver, _) = refused(config(), status);
            let stream = driver.fetch();
            step(&mut driver, &stream);
            driver.aborted.clear();
            let expected = ExchangeError::Status { status };
            assert_eq!(driver.closed(), Closed::NotConnected(ConnectError::Exchange(expected)));
            driver.quiet();
        }
    }
    // Other refusals are no sign of an old server, and neither is an error of the protocol.
    let (mut driver, _) = refused(config(), 500);
    assert!(matches!(driver.closed(), Closed::NotConnected(ConnectError::Exchange(_))));
    driver.quiet();
}

/// Who does not want it does not get it.
#[test]
fn the_old_transport_can_be_switched_off() {
    let endpoint = endpoint().deprecated_sse(false);
    let mut driver = Driver::at(config().connect(Connect::Legacy), endpoint);
    driver.client.connect(driver.now).unwrap();
    let request = driver.fetch();
    driver.respond(&request, 404, NONE, "");
    assert!(matches!(driver.closed(), Closed::NotConnected(ConnectError::Exchange(_))));
    driver.quiet();
}
