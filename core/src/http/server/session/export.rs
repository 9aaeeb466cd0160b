//! A session as bytes, its replay window included, to go on in another process.
//!
//! The form is JSON with a version number of its own. Members that it does not know are refused, because a session
//! that is understood by half is worse than none. Requests in flight do not travel: export at a quiet point. Streams
//! that are open do not either: their clients come back, with the id of their last event if there is a replay store.
//!
//! The bytes hold the name of the session and messages of its user: keep them as you would keep those.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::*;
use crate::error::Misuse;

const FORMAT: u32 = 1;
/// Whatever is counted goes on from there, and must not come to its end.
const LAST: u64 = u64::MAX / 2;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exported {
    format: u32,
    id: String,
    principal: Option<String>,
    /// In Base64: a header holds any bytes.
    origin: Option<String>,
    session: Json,
    last_exchange: u64,
    last_request: i64,
    standing: (u64, u64),
    delivered: u64,
    streams: Vec<ExportedStream>,
    events: Vec<ExportedEvent>,
}

/// A stream that is complete, and has events that are kept.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportedStream {
    stream: u64,
    last: u64,
    lost: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportedEvent {
    stream: u64,
    number: u64,
    message: Json,
}

impl Session {
    /// The session as bytes; `None` while requests are in flight, before it is open, and after it is closed.
    #[must_use]
    pub fn export(&self) -> Option<Bytes> {
        if self.post_to.is_some() || self.is_closed() || !self.out.is_empty() {
            return None;
        }
        let (session, last_request) = (self.core.export_session()?, self.core.last_request());
        let event = |event: &Stored| {
            let line = event.frame.strip_suffix(b"\n").unwrap_or(&event.frame);
            let message = Json::from_validated(event.frame.slice_ref(line));
            ExportedEvent { stream: event.id.stream, number: event.id.number, message }
        };
        let stream = |(id, stream): (u64, &Stream)| ExportedStream { stream: id, last: stream.last, lost: stream.lost };
        let exported = Exported {
            format: FORMAT,
            id: self.id.to_text().into(),
            principal: self.owner.principal.as_deref().map(str::to_owned),
            origin: self.owner.origin.as_deref().map(|origin| STANDARD.encode(origin)),
            session,
            last_exchange: self.last_exchange,
            last_request,
            standing: (self.standing.last, self.standing.lost),
            delivered: self.delivered,
            streams: self.streams.iter().filter(|(_, stream)| stream.done).map(stream).collect(),
            events: self.log.iter().map(event).collect(),
        };
        serde_json::to_vec(&exported).ok().map(Bytes::from)
    }

    /// The session that [`Session::export`] made bytes of.
    pub(in super::super) fn import(service: &Service, exported: &[u8], seed: Seed) -> Result<Self, Error> {
        Self::read(service, exported, seed)
            .ok_or_else(|| Misuse::Argument("the value is no exported session of this server".into()).into())
    }

    fn read(service: &Service, exported: &[u8], seed: Seed) -> Option<Self> {
        let exported: Exported =
            serde_json::from_slice(exported).ok().filter(|read: &Exported| read.format == FORMAT)?;
        let streams = exported.streams.iter().map(|stream| stream.last);
        let mut counted = streams.chain([exported.last_exchange, exported.standing.0, exported.delivered]);
        if counted.any(|number| number > LAST) {
            return None;
        }
        let origin = match exported.origin {
            Some(origin) => Some(STANDARD.decode(origin).ok()?.into()),
            None => None,
        };
        let owner = Owner { principal: exported.principal.map(Into::into), origin };
        let mut session = Self::new(service, SessionId::read(exported.id.as_bytes())?, owner, seed);
        session.core.import_session(&exported.session).ok()?;
        session.core.resume_requests(exported.last_request)?;
        session.last_exchange = exported.last_exchange;
        (session.standing.last, session.standing.lost) = exported.standing;
        session.delivered = exported.delivered;
        for stream in exported.streams {
            if stream.stream == STANDING || stream.stream > session.last_exchange {
                return None;
            }
            let kept = Stream { last: stream.last, lost: stream.lost, done: true, ..Stream::default() };
            session.streams.insert(stream.stream, kept);
        }
        for event in exported.events {
            let id = EventId { stream: event.stream, number: event.number };
            let stream = match id.stream {
                STANDING => &mut session.standing,
                other => session.streams.get_mut(other)?,
            };
            if id.number > stream.last {
                return None;
            }
            stream.kept += 1;
            let mut frame = event.message.as_bytes().to_vec();
            crate::jsonrpc::one_line(&mut frame);
            frame.push(b'\n');
            session.keep(Stored { id, frame: frame.into() });
        }
        // What lost its last event on the way is nothing that anybody could come back for.
        session.streams.retain(|stream| stream.kept > 0);
        Some(session)
    }
}
