//! The body of a `POST`: gathered under its bound, decoded, and led to whoever serves it.
//!
//! | the body | the head | led to |
//! |---|---|---|
//! | a request with an envelope | no session | a modern exchange |
//! | | names a session | the endpoint: refused if the session lives |
//! | a request without one | names a session | that session, at its revision |
//! | | a revision that is not legacy | a modern exchange, which refuses it |
//! | | anything else | the endpoint: `initialize` opens a session |
//! | a notification | names a session, or a legacy revision | that session |
//! | | a modern revision that is offered | taken: 202 |
//! | | anything else | 400 |
//! | a response, a batch | names a session | that session |
//! | | anything else | 400 |
//!
//! Where only one era is offered, the head decides nothing; where legacy clients are served without sessions, what
//! the table leads to a session is an exchange of its own. Sources: `basic/transports/streamable-http` (Sending
//! Messages, Backward Compatibility), `basic/versioning`.

use bytes::Bytes;

use super::echo;
use super::exchange::Exchange;
use super::head::{Kept, Named, Service, Single, too_long};
use super::response::{Response, modern_status};
use super::session::{Request, RequestKind};
use crate::copy::append;
use crate::error::{Error, ErrorObject};
use crate::ids::RequestId;
use crate::jsonrpc::{InvalidFrame, Members, Message, MethodName, decode_owned};
use crate::machine::Now;
use crate::rng::Seed;
use crate::server::envelope;
use crate::server::wire::Fate;
use crate::spec::{Era, Method, Version};

/// The body of one `POST`, as it arrives.
#[derive(Debug)]
pub struct Intake {
    body: Body,
    expected: usize,
    bound: usize,
    kept: Kept,
}

/// What has arrived: one piece is not copied.
#[derive(Debug)]
enum Body {
    Empty,
    One(Bytes),
    Many(Vec<u8>),
}

/// Who serves a request.
#[derive(Debug)]
#[non_exhaustive]
pub enum Routed {
    /// It is served already: answer with this.
    Answered(Response),
    /// A request that stands alone: drive this machine.
    Exchange(Box<Exchange>),
    /// A request of a legacy session, or one that opens one: ask the endpoint.
    Session(Box<Request>),
}

impl Intake {
    pub(super) fn new(announced: Option<usize>, bound: usize, kept: Kept) -> Self {
        Self { body: Body::Empty, expected: announced.unwrap_or(0).min(bound), bound, kept }
    }

    /// How many bytes may still come.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.bound.saturating_sub(self.length())
    }

    fn length(&self) -> usize {
        match &self.body {
            Body::Empty => 0,
            Body::One(bytes) => bytes.len(),
            Body::Many(bytes) => bytes.len(),
        }
    }

    /// Takes a piece of the body.
    ///
    /// # Errors
    /// The answer to a body that is too long: give it, and read no more.
    pub fn push(&mut self, bytes: Bytes) -> Result<(), Box<Response>> {
        if bytes.len() > self.remaining() {
            self.body = Body::Empty;
            return Err(Box::new(too_long(self.bound)));
        }
        self.body = match std::mem::replace(&mut self.body, Body::Empty) {
            Body::Empty => Body::One(bytes),
            Body::One(first) => {
                let announced = self.expected.min(ANNOUNCED_ROOM);
                let mut all = Vec::with_capacity(announced.max(first.len() + bytes.len()));
                append(&mut all, &first);
                append(&mut all, &bytes);
                Body::Many(all)
            }
            Body::Many(mut all) => {
                append(&mut all, &bytes);
                Body::Many(all)
            }
        };
        Ok(())
    }

    /// The body takes longer than the transport waits: the answer, where one can still be given.
    #[must_use]
    pub fn give_up(self) -> Response {
        Response::refused_head(408, "the body did not come in time")
    }

    /// The body has broken off, or its framing is wrong: the answer, where one can still be given.
    #[must_use]
    pub fn broken(self) -> Response {
        Response::refused_head(400, "the body broke off")
    }

    /// The body is complete: who serves it? Every call needs a seed of its own.
    #[must_use]
    pub fn finish(self, service: &Service, now: Now, seed: Seed) -> Routed {
        let frame = match self.body {
            Body::Empty => Bytes::new(),
            Body::One(bytes) => bytes,
            Body::Many(bytes) => bytes.into(),
        };
        match decode_owned(frame, service.definition.limits().json_depth) {
            Ok(message) => route(service, now, seed, self.kept, message),
            Err(invalid) => Routed::Answered(invalid_frame(&invalid)),
        }
    }
}

/// As much room is made for an announced body before any of it has come: what is announced need not be sent.
const ANNOUNCED_ROOM: usize = 64 << 10;

/// The refusal of a body that is no message.
#[cold]
fn invalid_frame(invalid: &InvalidFrame) -> Response {
    Response::refused(400, invalid.request(), &Error::InvalidFrame(invalid.clone()).to_object())
}

/// The two ways in which a message can be served.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leads {
    Modern,
    Legacy,
}

fn route(service: &Service, now: Now, seed: Seed, kept: Kept, message: Message) -> Routed {
    match (leads(service, &kept, &message), message) {
        (Leads::Modern, Message::Request { id, method, params }) => {
            modern(service, now, seed, kept, id, method, params)
        }
        (Leads::Modern, message @ Message::Notification { .. }) => match judge_notification(service, &kept, &message) {
            Ok(()) => Routed::Exchange(Exchange::notification(service, now, seed, kept.sender, message)),
            Err(error) => Routed::Answered(Response::refused(400, None, &error)),
        },
        (Leads::Modern, Message::Batch(_)) => refuse("a message stands alone: batches are of 2025-03-26"),
        (Leads::Modern, Message::Result { .. } | Message::Error { .. }) => {
            refuse("a response to a request that this server has not made")
        }
        (Leads::Legacy, message) if service.options.stateless && !kept.pair => {
            stateless(service, now, seed, kept, message)
        }
        (Leads::Legacy, message) => {
            Routed::Session(Box::new(Request { kind: RequestKind::Posted(message, seed), kept }))
        }
    }
}

fn leads(service: &Service, kept: &Kept, message: &Message) -> Leads {
    if kept.pair {
        return Leads::Legacy;
    }
    if !service.definition.offers_era(Era::Legacy) {
        return Leads::Modern;
    }
    if !service.definition.offers_era(Era::Modern) {
        return Leads::Legacy;
    }
    let in_session = !service.options.stateless && kept.session != Single::Absent;
    if in_session {
        return Leads::Legacy;
    }
    let says_legacy = match &kept.version {
        Single::One(Named::Known(version)) => Some(version.era() == Era::Legacy),
        Single::Absent => None,
        Single::One(Named::Other(_)) | Single::Many => Some(false),
    };
    let legacy = match message {
        Message::Request { method, params, .. } => {
            // A handshake settles the revision itself, whatever unknown one a header names.
            let settles = *method == MethodName::Known(Method::Initialize)
                && matches!(kept.version, Single::One(Named::Other(_)));
            !envelope::claims_modern(params) && (says_legacy != Some(false) || settles)
        }
        // Who says nothing has a session, or needs none.
        Message::Notification { .. } => says_legacy.unwrap_or(service.options.stateless),
        // Only a session has answers to give. Batches are told what they lack by whom they would belong to.
        Message::Result { .. } | Message::Error { .. } => false,
        Message::Batch(_) => service.options.stateless && says_legacy != Some(false),
    };
    if legacy { Leads::Legacy } else { Leads::Modern }
}

#[cold]
fn refuse(text: &'static str) -> Routed {
    Routed::Answered(Response::refused_head(400, text))
}

/// A request of the modern era: its envelope, then its headers, then whatever it asks.
pub(super) fn modern(
    service: &Service,
    now: Now,
    seed: Seed,
    kept: Kept,
    id: RequestId,
    method: MethodName,
    params: Members,
) -> Routed {
    match judge(service, &kept, &method, &params) {
        Ok(version) => {
            Routed::Exchange(Exchange::modern(service, now, seed, kept.sender, (id, version, method, params)))
        }
        Err(error) => {
            let status = modern_status(Fate::Refused(error.code));
            Routed::Answered(Response::refused(status, Some(&id), &error))
        }
    }
}

/// A notification has no envelope: the header alone says which revision it is of.
fn judge_notification(service: &Service, kept: &Kept, message: &Message) -> Result<(), ErrorObject> {
    if let Message::Notification { params, .. } = message {
        params.check()?;
    }
    match &kept.version {
        Single::One(Named::Known(version)) if service.definition.offers(*version) => Ok(()),
        Single::Absent | Single::Many => Err(echo::version_missing()),
        Single::One(Named::Known(version)) => Err(envelope::unsupported(&service.definition, version.as_str())),
        Single::One(Named::Other(version)) => Err(envelope::unsupported(&service.definition, version)),
    }
}

/// | order | refused with |
/// |---|---|
/// | `initialize`, which the era does not have | -32601 |
/// | the envelope is incomplete | -32602 |
/// | the header names another revision, or none | -32020 |
/// | the revision is not offered | -32022 |
/// | the log level is none | -32602 |
/// | the other headers contradict the body | -32020 |
fn judge(service: &Service, kept: &Kept, method: &MethodName, params: &Members) -> Result<Version, ErrorObject> {
    params.check()?;
    if *method == MethodName::Known(Method::Initialize) {
        return Err(no_initialize(service, kept, params));
    }
    let claim = envelope::complete(params)?;
    echo::check_version(kept, &claim)?;
    let version = envelope::offered(&service.definition, &claim)?;
    envelope::log_level(params)?;
    echo::check(&service.definition, kept, method, params)?;
    Ok(version)
}

/// The refusal of `initialize`: the method is gone for whoever says that it speaks a modern revision; whoever says
/// nothing is a legacy client, and may show its user the revisions that would be served.
#[cold]
fn no_initialize(service: &Service, kept: &Kept, params: &Members) -> ErrorObject {
    let legacy = match &kept.version {
        Single::Absent => true,
        Single::One(Named::Known(version)) => version.era() == Era::Legacy,
        Single::One(Named::Other(_)) | Single::Many => false,
    };
    if !legacy || envelope::claims_modern(params) {
        return ErrorObject::method_not_found(Method::Initialize.as_str());
    }
    match crate::server::session::Session::open(&service.definition, params) {
        Err(error) => error,
        // Not reached: legacy clients come here only where no legacy revision is offered.
        Ok(_) => ErrorObject::method_not_found(Method::Initialize.as_str()),
    }
}

/// A legacy message that stands alone.
fn stateless(service: &Service, now: Now, seed: Seed, kept: Kept, message: Message) -> Routed {
    if matches!(message, Message::Result { .. } | Message::Error { .. }) {
        return refuse("a response to a request that this server has not made");
    }
    let opens = matches!(&message, Message::Request { method, .. }
        if *method == MethodName::Known(Method::Initialize));
    let version = match legacy_version(service, &kept) {
        Ok(version) => version,
        // `initialize` settles the revision itself.
        Err(_) if opens => None,
        Err(response) => return Routed::Answered(*response),
    };
    let version = version.unwrap_or_else(|| assumed(service));
    Routed::Exchange(Exchange::stateless(service, now, seed, kept.sender, version, message))
}

/// The legacy revision that a header names, if there is one.
pub(super) fn legacy_version(service: &Service, kept: &Kept) -> Result<Option<Version>, Box<Response>> {
    match &kept.version {
        Single::Absent => Ok(None),
        // What is bound to a session is served at its revision.
        Single::One(Named::Known(version)) if version.era() == Era::Modern => Ok(None),
        Single::One(Named::Known(version)) if service.definition.offers(*version) => Ok(Some(*version)),
        Single::One(_) | Single::Many => {
            Err(Box::new(Response::refused_head(400, "the revision in the header is not one of this server's")))
        }
    }
}

/// The revision of a client that names none: the first one that had this transport.
fn assumed(service: &Service) -> Version {
    let offered = &service.definition;
    let first = Some(Version::V2025_03_26).filter(|version| offered.offers(*version));
    first.or_else(|| offered.versions_of(Era::Legacy).next()).unwrap_or(Version::V2025_03_26)
}
