//! What the head of an answer says: one function, one table.
//!
//! | status | POST of a request | GET that resumes or listens | POST of anything else |
//! |---|---|---|---|
//! | 2xx, JSON | read a message | no stream | taken |
//! | 2xx, event stream | read events | read events | taken |
//! | 2xx, anything else | [`ContentType`](ExchangeError::ContentType), or [`Ended`](ExchangeError::Ended) if there is nothing | no stream | taken |
//! | 3xx | [`Redirected`](ExchangeError::Redirected) | likewise | likewise |
//! | 401, 403 with a challenge | ask for credentials | likewise | likewise |
//! | 404, a session was named | the session is gone | likewise | likewise |
//! | 400 and more | read the body: it may hold an error | [`Status`](ExchangeError::Status) | likewise |
//!
//! A length beyond the bound is refused before the body is read. Sources: `basic/transports/streamable-http` (Sending
//! Messages), `basic/transports` of the earlier revisions, RFC 9110 §15.

use bytes::Bytes;

use super::error::{Challenge, ExchangeError};
use crate::http::Headers;
use crate::http::head::{media, name};

/// What a request was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Message,
    Request,
    Stream,
}

/// What to do with the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Ask(Challenge),
    /// Read events.
    Events,
    Fail(ExchangeError),
    /// The session that the request named is gone.
    Gone,
    /// Read one message.
    Json,
    /// Read what may be an error.
    Refused,
    /// It was taken.
    Taken,
}

/// Judges a head. `session` says that the request named one; `limit` is the longest message that is read.
pub(super) fn judge(sent: Sent, session: bool, status: u16, headers: &Headers, limit: usize) -> Verdict {
    match status {
        200..=299 => accepted(sent, status, headers, limit),
        300..=399 => Verdict::Fail(ExchangeError::Redirected { status }),
        401 => Verdict::Ask(challenge(status, headers)),
        403 if headers.get(name::WWW_AUTHENTICATE).is_some() => Verdict::Ask(challenge(status, headers)),
        404 if session => Verdict::Gone,
        _ if sent == Sent::Request => Verdict::Refused,
        _ => Verdict::Fail(ExchangeError::Status { status }),
    }
}

fn accepted(sent: Sent, status: u16, headers: &Headers, limit: usize) -> Verdict {
    if sent == Sent::Message {
        return Verdict::Taken;
    }
    let kind = headers.get(name::CONTENT_TYPE);
    if kind.is_some_and(media::is_event_stream) {
        return Verdict::Events;
    }
    let length = headers.get(name::CONTENT_LENGTH).and_then(|text| std::str::from_utf8(text).ok()?.parse::<u64>().ok());
    if kind.is_some_and(media::is_json) && sent == Sent::Request {
        let too_long = length.is_some_and(|length| length > limit as u64);
        return if too_long { Verdict::Fail(ExchangeError::TooLong { limit }) } else { Verdict::Json };
    }
    if kind.is_none() && (matches!(status, 202 | 204 | 205) || length == Some(0)) {
        return Verdict::Fail(ExchangeError::Ended);
    }
    Verdict::Fail(ExchangeError::ContentType { status })
}

fn challenge(status: u16, headers: &Headers) -> Challenge {
    let www_authenticate = headers.all(name::WWW_AUTHENTICATE).map(Bytes::copy_from_slice).collect();
    Challenge { status, www_authenticate }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(sent: Sent, session: bool, status: u16, headers: &[(&'static str, &'static str)]) -> Verdict {
        let headers: Headers = headers.iter().copied().collect();
        judge(sent, session, status, &headers, 1_000)
    }

    const JSON: (&str, &str) = ("content-type", "application/json");
    const EVENTS: (&str, &str) = ("content-type", "text/event-stream; charset=utf-8");
    const HTML: (&str, &str) = ("content-type", "text/html");

    /// M-HTTP-14, L-HTTP-06, L-HTTP-05: both kinds of answers, and nothing else.
    #[test]
    fn m_http_14_what_is_accepted() {
        use Sent::{Message, Request, Stream};
        assert_eq!(verdict(Request, false, 200, &[JSON]), Verdict::Json);
        assert_eq!(verdict(Request, false, 200, &[EVENTS]), Verdict::Events);
        assert_eq!(verdict(Request, false, 201, &[EVENTS]), Verdict::Events);
        assert_eq!(verdict(Stream, false, 200, &[EVENTS]), Verdict::Events);
        let content_type = |status| Verdict::Fail(ExchangeError::ContentType { status });
        assert_eq!(verdict(Stream, false, 200, &[JSON]), content_type(200));
        assert_eq!(verdict(Request, false, 200, &[HTML]), content_type(200));
        assert_eq!(verdict(Request, false, 202, &[HTML]), content_type(202));
        assert_eq!(verdict(Request, false, 200, &[]), content_type(200));
        assert_eq!(verdict(Request, false, 200, &[("content-length", "0")]), Verdict::Fail(ExchangeError::Ended));
        assert_eq!(verdict(Request, false, 202, &[]), Verdict::Fail(ExchangeError::Ended));
        for status in [200, 202, 204] {
            assert_eq!(verdict(Message, true, status, &[HTML]), Verdict::Taken);
        }
        let bound = Verdict::Fail(ExchangeError::TooLong { limit: 1_000 });
        assert_eq!(verdict(Request, false, 200, &[JSON, ("content-length", "1001")]), bound);
        assert_eq!(verdict(Request, false, 200, &[JSON, ("content-length", "1000")]), Verdict::Json);
        // A stream may be as long as it likes.
        assert_eq!(verdict(Request, false, 200, &[EVENTS, ("content-length", "1001")]), Verdict::Events);
    }

    #[test]
    fn what_is_refused() {
        use Sent::{Message, Request, Stream};
        for sent in [Message, Request, Stream] {
            for status in [301, 302, 303, 307, 308] {
                let redirected = Verdict::Fail(ExchangeError::Redirected { status });
                assert_eq!(verdict(sent, true, status, &[("location", "https://evil")]), redirected);
            }
            let ask = |status, values: &[&'static str]| {
                let www_authenticate = values.iter().map(|value| Bytes::from_static(value.as_bytes())).collect();
                Verdict::Ask(Challenge { status, www_authenticate })
            };
            assert_eq!(verdict(sent, true, 401, &[]), ask(401, &[]));
            let two = [("www-authenticate", "Basic"), ("WWW-Authenticate", "Bearer scope=\"a\"")];
            assert_eq!(verdict(sent, true, 401, &two), ask(401, &["Basic", "Bearer scope=\"a\""]));
            assert_eq!(verdict(sent, true, 403, &two[..1]), ask(403, &["Basic"]));
            assert_eq!(verdict(sent, true, 404, &[JSON]), Verdict::Gone);
            for status in [400, 403, 405, 406, 413, 415, 429, 500, 503] {
                let expected =
                    if sent == Request { Verdict::Refused } else { Verdict::Fail(ExchangeError::Status { status }) };
                assert_eq!(verdict(sent, true, status, &[HTML]), expected);
            }
        }
        assert_eq!(verdict(Request, false, 404, &[JSON]), Verdict::Refused);
    }
}
