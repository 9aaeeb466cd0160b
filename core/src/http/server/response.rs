//! Answers: status, headers, body.
//!
//! | status | when |
//! |---|---|
//! | 200 | a result or an error of a method; a stream |
//! | 202 | a notification or a response was taken |
//! | 204 | a session was ended |
//! | 400 | no message, or half of one; a header that contradicts it, a revision that is not offered, a missing session |
//! | 403 | an origin, a host or an owner that is not welcome |
//! | 404 | an unknown session (legacy), an unknown method (modern) |
//! | 405 | a method that the endpoint does not have |
//! | 408 | a body that does not come in time |
//! | 406, 413, 415 | a client that cannot read answers, a body that is too long, or is no JSON |
//! | 503 | no room for another session or listen stream; a server that ends |

use bytes::Bytes;

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::error::ErrorObject;
use crate::http::head::{media, name};
use crate::ids::RequestId;
use crate::jsonrpc::FrameWriter;
use crate::server::wire::Fate;
use crate::spec::ErrorCode;

/// The answer to a request: its head, and the body or the beginning of a stream.
#[derive(Clone, Debug)]
pub struct Response {
    status: u16,
    kind: Kind,
    session: Option<Box<str>>,
    body: Body,
    diagnostic: Option<Box<Diagnostic>>,
}

/// The body of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// All of it; it may be empty. Nothing follows.
    Whole(Bytes),
    /// What the `Chunk` actions bring, until `Finish`.
    Stream,
}

/// Which headers an answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Empty,
    Events,
    Json,
    NotAllowed(Allowed),
}

/// The methods of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    Get,
    Post,
    Sessions,
}

impl Response {
    /// The status code.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// The headers, with names in lower case. `content-length` is the transport's.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.fixed_headers().iter().copied().chain(self.session_header())
    }

    /// Those of [`Response::headers`] whose values are the same in every answer of the kind.
    #[must_use]
    pub const fn fixed_headers(&self) -> &'static [(&'static str, &'static str)] {
        match self.kind {
            Kind::Empty => &[],
            Kind::Events => &[
                (name::CONTENT_TYPE, media::EVENT_STREAM),
                (name::CACHE_CONTROL, "no-cache, no-transform"),
                (name::X_ACCEL_BUFFERING, "no"),
            ],
            Kind::Json => &[(name::CONTENT_TYPE, media::JSON)],
            Kind::NotAllowed(Allowed::Get) => &[(name::ALLOW, "GET")],
            Kind::NotAllowed(Allowed::Post) => &[(name::ALLOW, "POST"), (name::CONTENT_TYPE, media::JSON)],
            Kind::NotAllowed(Allowed::Sessions) => {
                &[(name::ALLOW, "GET, POST, DELETE"), (name::CONTENT_TYPE, media::JSON)]
            }
        }
    }

    /// The other one of [`Response::headers`], which names the session that the answer has opened.
    #[must_use]
    pub fn session_header(&self) -> Option<(&'static str, &str)> {
        self.session.as_deref().map(|id| (name::SESSION_ID, id))
    }

    /// The body.
    #[must_use]
    pub const fn body(&self) -> &Body {
        &self.body
    }

    /// The body, when the head is written.
    #[must_use]
    pub fn into_body(self) -> Body {
        self.body
    }

    /// Why the request was refused, for the log.
    #[must_use]
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        self.diagnostic.as_deref()
    }

    /// The answer to a request whose machine has ended without one: the server stops, or the session was closed.
    #[must_use]
    #[cold]
    pub fn gone() -> Self {
        Self::refused_head(503, "the server has ended before it could answer")
    }

    const fn new(status: u16, kind: Kind, body: Body) -> Self {
        Self { status, kind, session: None, body, diagnostic: None }
    }

    /// A message was taken, and nothing is to be said about it.
    pub(super) const fn accepted() -> Self {
        Self::new(202, Kind::Empty, Body::Whole(Bytes::new()))
    }

    /// A session was ended.
    pub(super) const fn ended() -> Self {
        Self::new(204, Kind::Empty, Body::Whole(Bytes::new()))
    }

    /// A stream of events.
    pub(super) const fn events() -> Self {
        Self::new(200, Kind::Events, Body::Stream)
    }

    /// One frame. Its newline stays behind.
    pub(super) fn json(status: u16, mut frame: Bytes) -> Self {
        if frame.last() == Some(&b'\n') {
            frame.truncate(frame.len() - 1);
        }
        Self::new(status, Kind::Json, Body::Whole(frame))
    }

    /// Names the session that the answer has opened.
    pub(super) fn in_session(mut self, id: Box<str>) -> Self {
        self.session = Some(id);
        self
    }

    /// A refusal with a JSON-RPC error, about a request if it has an id.
    #[cold]
    pub(super) fn refused(status: u16, id: Option<&RequestId>, error: &ErrorObject) -> Self {
        let kind =
            if error.code == ErrorCode::PARSE_ERROR { DiagnosticKind::InvalidFrame } else { DiagnosticKind::Refused };
        let mut diagnostic = Diagnostic::new(kind, error.message.clone());
        diagnostic.id = id.cloned();
        let mut response = Self::json(status, FrameWriter::error(id, false, error));
        response.diagnostic = Some(Box::new(diagnostic));
        response
    }

    /// A refusal of a head, which has no request to speak of.
    #[cold]
    pub(super) fn refused_head(status: u16, text: &'static str) -> Self {
        Self::refused(status, None, &ErrorObject::invalid_request(text))
    }

    #[cold]
    pub(super) fn not_allowed(allowed: Allowed) -> Self {
        let mut response = Self::refused_head(405, "the endpoint has no such method");
        response.kind = Kind::NotAllowed(allowed);
        // Clients look for the old transport where a refusal is no word of the protocol.
        if allowed == Allowed::Get {
            response.body = Body::Whole(Bytes::new());
        }
        response
    }
}

/// The status of an answer in the modern era.
pub(super) const fn modern_status(fate: Fate) -> u16 {
    match fate {
        Fate::Result => 200,
        Fate::Error(ErrorCode::METHOD_NOT_FOUND) | Fate::Refused(ErrorCode::METHOD_NOT_FOUND) => 404,
        Fate::Error(
            ErrorCode::HEADER_MISMATCH
            | ErrorCode::INVALID_REQUEST
            | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
            | ErrorCode::PARSE_ERROR
            | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
        )
        | Fate::Refused(_) => 400,
        Fate::Error(_) => 200,
    }
}

/// The status of an answer in the legacy era, where errors of methods are none of HTTP.
pub(super) const fn legacy_status(fate: Fate) -> u16 {
    match fate {
        Fate::Result | Fate::Error(_) => 200,
        Fate::Refused(_) => 400,
    }
}
