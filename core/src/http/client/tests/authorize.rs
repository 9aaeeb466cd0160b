//! What becomes of 401 and 403: the application is asked, or the call ends.

use super::*;
use crate::error::{Error, Misuse};

const WANTS: &[(&str, &str)] = &[("www-authenticate", "Bearer scope=\"a\"")];

fn challenge(status: u16) -> Challenge {
    Challenge { status, www_authenticate: vec![Bytes::from_static(b"Bearer scope=\"a\"")] }
}

#[test]
fn without_anybody_to_ask_the_call_ends_with_the_challenge() {
    for (status, headers, expected) in [
        (401, WANTS, ExchangeError::Unauthorized(challenge(401))),
        (401, NONE, ExchangeError::Unauthorized(Challenge { status: 401, www_authenticate: vec![] })),
        (403, WANTS, ExchangeError::Unauthorized(challenge(403))),
        // A 403 without a challenge is surfaced unchanged.
        (403, NONE, ExchangeError::Status { status: 403 }),
    ] {
        let mut driver = Driver::modern(config());
        let (call, fetch) = driver.tool("t");
        driver.respond(&fetch, status, headers, "");
        driver.aborted.clear();
        assert_eq!(driver.failed(call), expected);
        driver.quiet();
    }
}

/// The application is asked, the clocks of the call stand still meanwhile, and the same request goes out again.
#[test]
fn the_application_is_asked_and_the_request_goes_out_again() {
    let mut driver = Driver::modern_at(config(), endpoint().ask_authorization(true));
    let (call, fetch) = driver.tool("t");
    driver.respond(&fetch, 401, WANTS, "");
    assert_eq!(std::mem::take(&mut driver.aborted), [fetch.id]);
    assert_eq!(driver.asked.pop(), Some(Unauthorized { fetch: fetch.id, challenge: challenge(401) }));
    driver.pass(seconds(3_600));
    driver.quiet();
    driver.client.authorize(driver.now, fetch.id, "Bearer abc").unwrap();
    let again = driver.fetch();
    assert_eq!(again.header("authorization"), Some("Bearer abc"));
    assert_eq!((again.body.clone(), again.header("mcp-name")), (fetch.body, Some("t")));
    assert_ne!(again.id, fetch.id);
    driver.answer(&again, complete());
    driver.done(call).unwrap();
    // Later requests have the credentials, too.
    let (_, next) = driver.tool("t");
    assert_eq!(next.header("authorization"), Some("Bearer abc"));
    // Answering twice is found out.
    let twice = driver.client.authorize(driver.now, fetch.id, "Bearer def");
    assert!(matches!(twice, Err(Error::ApiMisuse(Misuse::WrongState(_)))));
    driver.quiet();
}

#[test]
fn a_refusal_of_the_application_ends_the_call() {
    let mut driver = Driver::modern_at(config(), endpoint().ask_authorization(true));
    let (call, fetch) = driver.tool("t");
    driver.respond(&fetch, 403, WANTS, "");
    driver.aborted.clear();
    driver.asked.clear();
    // A value that no header can have leaves the question open.
    assert!(driver.client.authorize(driver.now, fetch.id, "a\r\nb").is_err());
    driver.client.refuse_authorization(driver.now, fetch.id).unwrap();
    assert_eq!(driver.failed(call), ExchangeError::Unauthorized(challenge(403)));
    assert!(driver.client.refuse_authorization(driver.now, fetch.id).is_err());
    driver.quiet();
}

/// A server that is never content is not asked for ever.
#[test]
fn nobody_is_asked_for_ever() {
    let mut driver = Driver::modern_at(config(), endpoint().ask_authorization(true));
    let (call, mut fetch) = driver.tool("t");
    for _ in 0..3 {
        driver.respond(&fetch, 401, NONE, "");
        let asked = driver.asked.pop().unwrap();
        driver.client.authorize(driver.now, asked.fetch, "Bearer abc").unwrap();
        fetch = driver.fetch();
    }
    driver.respond(&fetch, 401, NONE, "");
    driver.aborted.clear();
    assert!(matches!(driver.failed(call), ExchangeError::Unauthorized(_)));
    driver.quiet();
}

/// A call that is cancelled while the application is asked is over, and the server has nothing to cancel.
#[test]
fn a_call_can_be_cancelled_while_the_application_is_asked() {
    let endpoint = endpoint().ask_authorization(true).get_stream(false);
    let mut driver = Driver::legacy_at(config(), Version::V2025_11_25, endpoint);
    let (call, fetch) = driver.tool("t");
    driver.respond(&fetch, 401, WANTS, "");
    driver.aborted.clear();
    driver.asked.clear();
    driver.client.cancel(driver.now, call, None).unwrap();
    assert_eq!(driver.done(call).unwrap_err(), CallError::Cancelled);
    assert!(driver.client.authorize(driver.now, fetch.id, "Bearer abc").is_err());
    driver.quiet();
}

/// The very first request may need credentials, and so may the stream of a session and a resumed one.
#[test]
fn every_kind_of_request_may_need_credentials() {
    let mut driver = Driver::at(config(), endpoint().ask_authorization(true));
    driver.client.connect(driver.now).unwrap();
    let probe = driver.fetch();
    driver.respond(&probe, 401, WANTS, "");
    driver.pass(seconds(100));
    let asked = driver.asked.pop().unwrap();
    driver.client.authorize(driver.now, asked.fetch, "Bearer 1").unwrap();
    let probe = driver.fetch();
    assert_eq!(probe.header("mcp-method"), Some("server/discover"));
    assert_eq!(probe.header("mcp-session-id"), None);
    driver.respond(&probe, 400, NONE, "");
    driver.aborted.clear();
    driver.open_session("s-1", Version::V2025_11_25);
    driver.connected();
    let stream = driver.fetch();
    driver.respond(&stream, 401, WANTS, "");
    let asked = driver.asked.pop().unwrap();
    driver.client.authorize(driver.now, asked.fetch, "Bearer 2").unwrap();
    let stream = driver.fetch();
    assert_eq!((stream.method, stream.header("authorization")), (Method::Get, Some("Bearer 2")));
    let (call, fetch) = driver.tool("t");
    driver.respond(&fetch, 200, EVENTS, "id: 1\ndata:\n\n");
    driver.wait();
    let resumed = driver.fetch();
    driver.respond(&resumed, 401, WANTS, "");
    let asked = driver.asked.pop().unwrap();
    driver.client.authorize(driver.now, asked.fetch, "Bearer 3").unwrap();
    let resumed = driver.fetch();
    assert_eq!((resumed.header("last-event-id"), resumed.header("authorization")), (Some("1"), Some("Bearer 3")));
    driver.head(&resumed, 200, EVENTS);
    driver.body(&resumed, &event(&result(&fetch.rpc_id(), json!({"content": []}))));
    driver.done(call).unwrap();
    driver.aborted.clear();
    driver.end(&resumed);
    driver.quiet();
}

/// A refused probe ends the connection with the challenge.
#[test]
fn a_connection_that_needs_credentials_says_so() {
    let (mut driver, probe) = Driver::probing(config());
    driver.respond(&probe, 401, WANTS, "");
    driver.aborted.clear();
    let expected = ExchangeError::Unauthorized(challenge(401));
    assert_eq!(driver.closed(), Closed::NotConnected(ConnectError::Exchange(expected)));
    driver.quiet();
}
