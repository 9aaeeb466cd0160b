//! The head of a request: what is read of it, what is judged before its body is read, what is kept until then.
//!
//! | order | refused with |
//! |---|---|
//! | the host or the origin is not welcome | 403 |
//! | a method that the endpoint does not have | 405 with `Allow` |
//! | a body that is no JSON | 415 |
//! | a client that cannot read the answer | 406 |
//! | a body that is announced as too long | 413 |
//! | a `GET` or `DELETE` without a session | 400 |
//!
//! Nothing here depends on the era; what does is judged with the body ([`intake`](super::intake)). A header that may
//! stand once and stands twice is as good as wrong.

use std::any::Any;
use std::sync::Arc;

use super::intake::Intake;
use super::options::Options;
use super::replay::EventId;
use super::response::{Allowed, Response};
use super::session::{Request, RequestKind, SESSION};
use super::session_id::SessionId;
use crate::error::Error;
use crate::http::head::media::{self, Accept};
use crate::http::head::{name, trim};
use crate::limits::Bound;
use crate::server::Definition;
use crate::server::context::Sender;
use crate::spec::{Era, Method, Version};

/// A header that may stand once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Single<T> {
    #[default]
    Absent,
    One(T),
    Many,
}

impl<T> Single<T> {
    fn add(&mut self, value: T) {
        *self = match self {
            Self::Absent => Self::One(value),
            Self::One(_) | Self::Many => Self::Many,
        };
    }

    pub(super) fn map<U>(self, map: impl FnOnce(T) -> U) -> Single<U> {
        match self {
            Self::Absent => Single::Absent,
            Self::One(value) => Single::One(map(value)),
            Self::Many => Single::Many,
        }
    }
}

/// The head of a request, as it is fed in. It borrows, and is needed until it is judged.
#[derive(Debug)]
pub struct Head<'h> {
    method: &'h str,
    target: &'h str,
    authority: Option<&'h str>,
    host: Single<&'h [u8]>,
    origin: Single<&'h [u8]>,
    accept: Accept,
    content_type: Single<&'h [u8]>,
    content_length: Single<&'h [u8]>,
    version: Single<&'h [u8]>,
    session: Single<&'h [u8]>,
    last_event: Single<&'h [u8]>,
    mcp_method: Single<&'h [u8]>,
    mcp_name: Single<&'h [u8]>,
    params: Vec<(&'h str, &'h [u8])>,
    sender: Sender,
}

impl<'h> Head<'h> {
    /// The head of a request with this method. The target is its path and query, as they came.
    #[must_use]
    pub fn new(method: &'h str, target: &'h str) -> Self {
        Self {
            method,
            target,
            authority: None,
            host: Single::Absent,
            origin: Single::Absent,
            accept: Accept::default(),
            content_type: Single::Absent,
            content_length: Single::Absent,
            version: Single::Absent,
            session: Single::Absent,
            last_event: Single::Absent,
            mcp_method: Single::Absent,
            mcp_name: Single::Absent,
            params: Vec::new(),
            sender: Sender::default(),
        }
    }

    /// The authority that an HTTP/2 request, or one in absolute form, names: it goes before the `Host` header.
    #[must_use]
    pub const fn authority(mut self, authority: &'h str) -> Self {
        self.authority = Some(authority);
        self
    }

    /// A header. Give every one that came; names are compared without case.
    pub fn header(&mut self, name: &'h str, value: &'h [u8]) {
        let value = trim(value);
        // The usual case costs one look: libraries give names in lower case.
        let Some(known) = field(name) else {
            let prefix = name.get(..name::PARAM_PREFIX.len());
            if prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(name::PARAM_PREFIX)) {
                self.params.push((name.get(name::PARAM_PREFIX.len()..).unwrap_or_default(), value));
            }
            return;
        };
        match known {
            Field::Accept => self.accept.add(value),
            Field::ContentLength => self.content_length.add(value),
            Field::ContentType => self.content_type.add(value),
            Field::Host => self.host.add(value),
            Field::LastEventId => self.last_event.add(value),
            Field::Method => self.mcp_method.add(value),
            Field::Name => self.mcp_name.add(value),
            Field::Origin => self.origin.add(value),
            Field::ProtocolVersion => self.version.add(value),
            Field::SessionId => self.session.add(value),
        }
    }

    /// Who is asking, as the caller has authenticated it.
    #[must_use]
    pub fn principal(mut self, principal: Arc<str>) -> Self {
        self.sender.principal = Some(principal);
        self
    }

    /// Anything of the caller's that handlers shall find in
    /// [`Context::data`](crate::server::Context::data), such as all headers of the request.
    #[must_use]
    pub fn data(mut self, data: Arc<dyn Any + Send + Sync>) -> Self {
        self.sender.data = Some(data);
        self
    }

    /// What the body will be compared with.
    fn keep(self, legacy: bool, pair: bool) -> Kept {
        let owned = |value: &[u8]| -> Box<[u8]> { value.into() };
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let session = if pair { self.session_of_query() } else { self.session.map(SessionId::read) };
        Kept {
            version: self.version.map(|value| {
                let known = std::str::from_utf8(value).ok().and_then(Version::parse);
                known.map_or_else(|| Named::Other(text(value)), Named::Known)
            }),
            method: self
                .mcp_method
                .map(|value| Method::parse_bytes(value).map_or_else(|| Named::Other(text(value)), Named::Known)),
            name: self.mcp_name.map(owned),
            params: self.params.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            session,
            pair,
            last_event: if legacy { self.last_event.map(EventId::read) } else { Single::Absent },
            origin: match self.origin {
                Single::One(origin) if legacy => Some(origin.into()),
                _ => None,
            },
            sender: self.sender,
        }
    }
}

/// A header that the protocol knows by one name.
#[derive(Clone, Copy)]
enum Field {
    Accept,
    ContentLength,
    ContentType,
    Host,
    LastEventId,
    Method,
    Name,
    Origin,
    ProtocolVersion,
    SessionId,
}

fn field(name: &str) -> Option<Field> {
    const FIELDS: [(&str, Field); 10] = [
        (name::ACCEPT, Field::Accept),
        (name::CONTENT_LENGTH, Field::ContentLength),
        (name::CONTENT_TYPE, Field::ContentType),
        (name::HOST, Field::Host),
        (name::LAST_EVENT_ID, Field::LastEventId),
        (name::METHOD, Field::Method),
        (name::NAME, Field::Name),
        (name::ORIGIN, Field::Origin),
        (name::PROTOCOL_VERSION, Field::ProtocolVersion),
        (name::SESSION_ID, Field::SessionId),
    ];
    let is = |known: &str| known.len() == name.len() && (known == name || known.eq_ignore_ascii_case(name));
    FIELDS.iter().find(|(known, _)| is(known)).map(|(_, field)| *field)
}

/// A value that is one of ours, or any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Named<T> {
    Known(T),
    Other(String),
}

/// What is kept of a head until its body is there.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) version: Single<Named<Version>>,
    pub(super) method: Single<Named<Method>>,
    pub(super) name: Single<Box<[u8]>>,
    /// The headers of mirrored arguments, without their prefix.
    pub(super) params: Vec<(Box<str>, Box<[u8]>)>,
    /// `None` is a value that no session ever had.
    pub(super) session: Single<Option<SessionId>>,
    pub(super) last_event: Single<Option<EventId>>,
    pub(super) origin: Option<Box<[u8]>>,
    /// The session is one of the old transport.
    pub(super) pair: bool,
    pub(super) sender: Sender,
}

/// The methods of HTTP that mean something.
#[derive(Clone, Copy)]
enum Verb {
    Delete,
    Get,
    /// Opens a session of the old transport.
    Pair,
    /// A message of one.
    PairPost,
    Post,
}

/// What becomes of a request, as far as its head tells.
#[derive(Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "made once for each request; a box would cost more than the move")]
pub enum Judged {
    /// Read the body.
    Post(Intake),
    /// Answer with this; do not read the body.
    Refused(Response),
    /// A request about a legacy session, which has no body: ask the endpoint.
    Session(Box<Request>),
}

/// What an HTTP server is: its definition and its options. Immutable, and shared by all that serve.
#[derive(Clone, Debug)]
pub struct Service {
    pub(super) definition: Arc<Definition>,
    pub(super) options: Options,
}

impl Service {
    /// A service of this definition, which decides what is served at which revisions.
    #[must_use]
    pub const fn new(definition: Arc<Definition>, options: Options) -> Self {
        Self { definition, options }
    }

    /// What is served.
    #[must_use]
    pub const fn definition(&self) -> &Arc<Definition> {
        &self.definition
    }

    /// How it is served.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.options
    }

    pub(super) fn has_sessions(&self) -> bool {
        !self.options.stateless && self.definition.offers_era(Era::Legacy)
    }

    /// Judges a head.
    #[must_use]
    pub fn judge(&self, head: Head<'_>) -> Judged {
        let intake = |head: Head<'_>, pair| {
            let bound = self.definition.limits().frame_bytes;
            let announced = head.content_length_hint();
            Judged::Post(Intake::new(announced, bound, head.keep(self.definition.offers_era(Era::Legacy), pair)))
        };
        let request =
            |head: Head<'_>, kind, pair| Judged::Session(Box::new(Request { kind, kept: head.keep(true, pair) }));
        match self.check(&head) {
            Ok(Verb::Post) => intake(head, false),
            Ok(Verb::PairPost) => intake(head, true),
            Ok(Verb::Get) => request(head, RequestKind::Get, false),
            Ok(Verb::Delete) => request(head, RequestKind::Delete, false),
            Ok(Verb::Pair) => request(head, RequestKind::Pair, true),
            Err(response) => Judged::Refused(response),
        }
    }

    fn check(&self, head: &Head<'_>) -> Result<Verb, Response> {
        let host = match (head.authority, head.host) {
            (Some(authority), _) => Single::One(authority.as_bytes()),
            (None, host) => host,
        };
        let hosts = &self.options.hosts;
        let welcome = match host {
            Single::One(host) => hosts.admits(host),
            Single::Absent | Single::Many => hosts.admits(b""),
        };
        if !welcome {
            return Err(Response::refused_head(403, "the host is not one of this server's"));
        }
        let welcome = match head.origin {
            Single::Absent => true,
            Single::One(origin) => self.options.origins.admits(origin),
            Single::Many => false,
        };
        if !welcome {
            return Err(Response::refused_head(403, "the origin is not welcome"));
        }
        let verb = self.verb(head)?;
        match verb {
            Verb::Post | Verb::PairPost => self.check_post(head, verb)?,
            Verb::Get | Verb::Pair if !head.accept.events() => {
                return Err(Response::refused_head(406, "the client must accept text/event-stream"));
            }
            Verb::Get | Verb::Pair | Verb::Delete => {}
        }
        Ok(verb)
    }

    /// What a method means on a path. Only the old transport has paths of its own.
    fn verb(&self, head: &Head<'_>) -> Result<Verb, Response> {
        let legacy = self.definition.offers_era(Era::Legacy);
        if let Some(pair) = self.options.pair.as_ref().filter(|_| legacy) {
            let path = head.target.split('?').next().unwrap_or_default();
            if *path == *pair.events {
                return if head.method == "GET" { Ok(Verb::Pair) } else { Err(Response::not_allowed(Allowed::Get)) };
            }
            if *path == *pair.messages {
                let post = head.method == "POST";
                return if post { Ok(Verb::PairPost) } else { Err(Response::not_allowed(Allowed::Post)) };
            }
        }
        match head.method {
            "POST" => Ok(Verb::Post),
            "GET" if self.has_sessions() => Ok(Verb::Get),
            "DELETE" if self.has_sessions() => Ok(Verb::Delete),
            _ if self.has_sessions() => Err(Response::not_allowed(Allowed::Sessions)),
            _ => Err(Response::not_allowed(Allowed::Post)),
        }
    }

    fn check_post(&self, head: &Head<'_>, verb: Verb) -> Result<(), Response> {
        if !matches!(head.content_type, Single::One(value) if media::is_json(value)) {
            return Err(Response::refused_head(415, "the body must be application/json"));
        }
        let events = self.options.json_answers || head.accept.events();
        // On the old transport nothing is answered.
        let accepts = matches!(verb, Verb::PairPost) || (head.accept.json() && events);
        if !accepts {
            let text = "the client must accept application/json and text/event-stream";
            return Err(Response::refused_head(406, text));
        }
        let bound = self.definition.limits().frame_bytes;
        if head.content_length_hint().is_some_and(|length| length > bound) {
            return Err(too_long(bound));
        }
        Ok(())
    }
}

impl Head<'_> {
    /// The session that the query names, on the old transport.
    fn session_of_query(&self) -> Single<Option<SessionId>> {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        let mut named = Single::Absent;
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            if name == SESSION {
                named.add(SessionId::read(value.as_bytes()));
            }
        }
        named
    }

    /// The length that is announced, if one is.
    fn content_length_hint(&self) -> Option<usize> {
        match self.content_length {
            Single::One(value) => {
                // Longer than any number is too long.
                let number = value.iter().try_fold(0_usize, |number, byte| {
                    let digit = byte.is_ascii_digit().then(|| usize::from(byte - b'0'))?;
                    Some(number.saturating_mul(10).saturating_add(digit))
                });
                number.filter(|_| !value.is_empty())
            }
            Single::Absent | Single::Many => None,
        }
    }
}

/// The refusal of a body that is too long.
#[cold]
pub(super) fn too_long(bound: usize) -> Response {
    Response::refused(413, None, &Error::limit(Bound::FrameBytes, bound).to_object())
}
