//! The registry of an endpoint: which legacy sessions and listen streams there are, and whose.
//!
//! It is the only thing that requests share and change, and small: the machines themselves are elsewhere, behind
//! handles of the caller's. Modern requests do not come here, but for listen streams.
//!
//! ```text
//!                  admit                         exchange_ended
//!   (none) ──────────────────▶ busy ◀────────────────────────────▶ idle ──30 min, or room is needed──▶ expired
//!          initialize            │                                  │
//!                                └────────── DELETE, remove ────────┘
//! ```
//!
//! | asked for | answered |
//! |---|---|
//! | no session, and no `initialize` | 400 |
//! | a session that is not known | 404; a modern request is served all the same |
//! | somebody else's session | 403 |
//! | a revision that is not offered | 400 |
//! | a session too many | the expired are removed first, then 503; no live one ever is |
//! | a listen stream too many | 503 |

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use super::action::Subscription;
use super::exchange::Exchange;
use super::head::{Kept, Service, Single};
use super::intake::{Routed, legacy_version, modern};
use super::options::Claim;
use super::response::Response;
use super::session::{Owner, Request, RequestKind, Session};
use super::session_id::SessionId;
use crate::error::{Error, Misuse};
use crate::jsonrpc::{Message, MethodName};
use crate::limits::Bound;
use crate::machine::{Mono, Now, TimerKind};
use crate::rng::{Rng, Seed};
use crate::server::listen::Filter;
use crate::server::{Event, envelope};
use crate::spec::{Era, Method};

/// The name of a session in the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionKey(SessionId);

/// The name of a listen stream in the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenKey(u64);

/// There is no room for another listen stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    bound: Bound,
    limit: usize,
}

impl NoRoom {
    /// Which bound is reached.
    #[must_use]
    pub const fn bound(self) -> Bound {
        self.bound
    }

    /// Its value.
    #[must_use]
    pub const fn limit(self) -> usize {
        self.limit
    }
}

/// Who answers a request about a session.
#[derive(Debug)]
#[non_exhaustive]
pub enum Admitted<S> {
    /// Nobody else: answer with this.
    Answered(Response),
    /// The session is ended: close its machine, and answer with this.
    Ended {
        /// The handle of the session, which the registry knows no more.
        session: S,
        /// The answer to the request.
        response: Response,
    },
    /// It is no request of a session after all: drive this machine.
    Exchange(Box<Exchange>),
    /// This session: give it the request, and report with [`Endpoint::exchange_ended`] when it is answered.
    Session {
        /// The name of the session.
        key: SessionKey,
        /// The handle of its machine.
        session: S,
        /// What to give it.
        request: Box<Request>,
    },
}

/// The registry. `S` is the caller's handle of a session's machine, `L` that of a listen stream.
pub struct Endpoint<S, L> {
    service: Arc<Service>,
    rng: Rng,
    sessions: BTreeMap<SessionId, Entry<S>>,
    /// When to look whether a session is idle: each that is not busy stands here once, at the time of its last exchange
    /// or an earlier one. So a session that is in use costs nothing here.
    idle: BTreeSet<(Mono, SessionId)>,
    expired: VecDeque<S>,
    listens: BTreeMap<ListenKey, Listener<L>>,
    by_principal: BTreeMap<Arc<str>, usize>,
    last_listen: u64,
}

#[derive(Debug)]
struct Entry<S> {
    handle: S,
    owner: Owner,
    /// It is one of the old transport.
    pair: bool,
    busy: usize,
    /// When it was used last.
    since: Mono,
    /// Where it stands among the idle ones.
    looked: Option<Mono>,
}

#[derive(Debug)]
struct Listener<L> {
    handle: L,
    filter: Filter,
    principal: Option<Arc<str>>,
}

impl<S, L> fmt::Debug for Endpoint<S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("sessions", &self.sessions.len())
            .field("listens", &self.listens.len())
            .finish_non_exhaustive()
    }
}

impl<S: Clone, L> Endpoint<S, L> {
    /// The registry of an endpoint that serves `service`. The seed is from the operating system: the names of
    /// sessions are drawn from it.
    #[must_use]
    pub fn new(service: Arc<Service>, seed: Seed) -> Self {
        Self {
            service,
            rng: Rng::new(seed),
            sessions: BTreeMap::new(),
            idle: BTreeSet::new(),
            expired: VecDeque::new(),
            listens: BTreeMap::new(),
            by_principal: BTreeMap::new(),
            last_listen: 0,
        }
    }

    /// A seed that nobody else has. A connection takes one, and draws from it a seed for each of its requests.
    #[must_use]
    pub fn seed(&mut self) -> Seed {
        self.rng.subseed()
    }

    /// What is served.
    #[must_use]
    pub const fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Serves something else from now on. The answer says what clients must hear; sessions are told by
    /// [`Session::replace_definition`].
    #[must_use]
    pub fn replace_service(&mut self, service: Arc<Service>) -> Vec<Event> {
        let changes = self.service.definition.changes_to(&service.definition);
        self.service = service;
        changes
    }

    /// Leads a request about a session to it. A session that the request opens is given to `wrap`, which makes a
    /// handle of it.
    pub fn admit(
        &mut self,
        now: Now,
        request: Box<Request>,
        wrap: impl FnOnce(SessionKey, Session) -> S,
    ) -> Admitted<S> {
        match &request.kept.session {
            // Whatever its query says: the stream of another session is not to be had twice.
            _ if matches!(request.kind, RequestKind::Pair) => self.open_pair(now, request, wrap),
            Single::Absent => self.open(now, request, wrap),
            Single::One(Some(id)) if self.sessions.contains_key(id) => {
                let id = *id;
                self.lead(now, id, request)
            }
            Single::One(_) => self.stray(now, *request),
            Single::Many => answered(400, "the header Mcp-Session-Id stands twice"),
        }
    }

    /// A request without a session: `initialize` opens one.
    fn open(&mut self, now: Now, request: Box<Request>, wrap: impl FnOnce(SessionKey, Session) -> S) -> Admitted<S> {
        let Request { kind, kept } = *request;
        let RequestKind::Posted(message, _) = kind else { return answered(400, MISSING) };
        let opens = matches!(&message, Message::Request { method, .. }
            if *method == MethodName::Known(Method::Initialize));
        if !opens {
            return refused(&message, 400, MISSING);
        }
        if let Err(full) = self.make_room(now) {
            return Admitted::Answered(Response::refused(503, None, &full.to_object()));
        }
        let id = SessionId::draw(&mut self.rng);
        let seed = self.rng.subseed();
        match Session::open(&self.service, now, id, &kept, seed, message) {
            Ok(session) => {
                let request = Box::new(Request { kind: RequestKind::Opened, kept });
                self.enter(now, session, request, wrap)
            }
            Err(response) => Admitted::Answered(response),
        }
    }

    /// A `GET` of the old transport, which opens a session by itself.
    fn open_pair(
        &mut self,
        now: Now,
        request: Box<Request>,
        wrap: impl FnOnce(SessionKey, Session) -> S,
    ) -> Admitted<S> {
        let service = Arc::clone(&self.service);
        let Some(pair) = &service.options.pair else { return answered(404, UNKNOWN) };
        if let Err(full) = self.make_room(now) {
            return Admitted::Answered(Response::refused(503, None, &full.to_object()));
        }
        let id = SessionId::draw(&mut self.rng);
        let seed = self.rng.subseed();
        let session = Session::pair(&service, id, &request.kept, seed, &pair.messages);
        self.enter(now, session, request, wrap)
    }

    fn enter(
        &mut self,
        now: Now,
        session: Session,
        request: Box<Request>,
        wrap: impl FnOnce(SessionKey, Session) -> S,
    ) -> Admitted<S> {
        let (id, owner) = (session.id, session.owner.clone());
        let handle = wrap(SessionKey(id), session);
        let pair = request.kept.pair;
        self.sessions.insert(id, Entry { handle: handle.clone(), owner, pair, busy: 1, since: now.mono, looked: None });
        Admitted::Session { key: SessionKey(id), session: handle, request }
    }

    /// Whether there is room for another session, if need be after the expired are gone.
    fn make_room(&mut self, now: Now) -> Result<(), Error> {
        let Some(bound) = self.service.definition.limits().sessions else { return Ok(()) };
        if self.sessions.len() >= bound {
            self.expire(now);
        }
        if self.sessions.len() >= bound { Err(Error::limit(Bound::Sessions, bound)) } else { Ok(()) }
    }

    /// Enters a session that [`Session::export`] made bytes of. It is idle, until its client comes back.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] where there is no room;
    /// [`Misuse::Argument`](crate::error::Misuse::Argument) for bytes that are no session of this server, or one
    /// that is here already.
    pub fn import(
        &mut self,
        now: Now,
        exported: &[u8],
        wrap: impl FnOnce(SessionKey, Session) -> S,
    ) -> Result<SessionKey, Error> {
        self.make_room(now)?;
        let session = Session::import(&self.service, exported, self.rng.subseed())?;
        let (id, owner) = (session.id, session.owner.clone());
        if self.sessions.contains_key(&id) {
            return Err(Misuse::Argument("the session is here already".into()).into());
        }
        let handle = wrap(SessionKey(id), session);
        let looked = Some(now.mono);
        self.sessions.insert(id, Entry { handle, owner, pair: false, busy: 0, since: now.mono, looked });
        self.idle.insert((now.mono, id));
        Ok(SessionKey(id))
    }

    /// A request of a session that lives.
    fn lead(&mut self, now: Now, id: SessionId, request: Box<Request>) -> Admitted<S> {
        let Some(entry) = self.sessions.get_mut(&id) else { return answered(404, UNKNOWN) };
        if entry.pair != request.kept.pair {
            return answered(404, UNKNOWN);
        }
        if !owns(&self.service, id, &entry.owner, &request.kept) {
            return answered(403, "the session is somebody else's");
        }
        if let Err(response) = legacy_version(&self.service, &request.kept) {
            return Admitted::Answered(*response);
        }
        if let RequestKind::Delete = request.kind {
            return match self.remove(SessionKey(id)) {
                Some(session) => Admitted::Ended { session, response: Response::ended() },
                None => answered(404, UNKNOWN),
            };
        }
        entry.busy += 1;
        entry.since = now.mono;
        Admitted::Session { key: SessionKey(id), session: entry.handle.clone(), request }
    }

    /// A request of a session that nobody knows. Modern clients have none, whatever a header says.
    fn stray(&self, now: Now, request: Request) -> Admitted<S> {
        let modern_offered = self.service.definition.offers_era(Era::Modern);
        let Request { kind, kept } = request;
        let RequestKind::Posted(message, seed) = kind else { return answered(404, UNKNOWN) };
        match message {
            Message::Request { id, method, params } if modern_offered && envelope::claims_modern(&params) => {
                match modern(&self.service, now, seed, kept, id, method, params) {
                    Routed::Answered(response) => Admitted::Answered(response),
                    Routed::Exchange(exchange) => Admitted::Exchange(exchange),
                    Routed::Session(_) => answered(404, UNKNOWN),
                }
            }
            message => refused(&message, 404, UNKNOWN),
        }
    }

    /// An exchange of a session is over: its answer is complete, or its client is gone.
    pub fn exchange_ended(&mut self, now: Now, key: SessionKey) {
        let Some(entry) = self.sessions.get_mut(&key.0) else { return };
        entry.busy = entry.busy.saturating_sub(1);
        entry.since = now.mono;
        if entry.busy == 0 && entry.looked.is_none() {
            entry.looked = Some(now.mono);
            self.idle.insert((now.mono, key.0));
        }
    }

    /// Forgets a session. To be done after [`Action::Closed`](super::Action::Closed), if it is not known to be
    /// forgotten.
    pub fn remove(&mut self, key: SessionKey) -> Option<S> {
        let entry = self.sessions.remove(&key.0)?;
        if let Some(looked) = entry.looked {
            self.idle.remove(&(looked, key.0));
        }
        Some(entry.handle)
    }

    /// The handles of all sessions. Every one hears of every event: it knows itself what its client wants.
    pub fn sessions(&self) -> impl Iterator<Item = &S> {
        self.sessions.values().map(|entry| &entry.handle)
    }

    /// Enters a listen stream.
    ///
    /// # Errors
    /// When there is no room. The exchange must hear either outcome.
    pub fn listen(&mut self, subscription: Subscription, handle: L) -> Result<ListenKey, NoRoom> {
        let limits = self.service.definition.limits();
        let Subscription { filter, principal } = subscription;
        if let Some(limit) = limits.listens.filter(|limit| self.listens.len() >= *limit) {
            return Err(NoRoom { bound: Bound::Listens, limit });
        }
        if let Some(principal) = &principal {
            let count = self.by_principal.get(principal).copied().unwrap_or(0);
            if let Some(limit) = limits.listens_per_principal.filter(|limit| count >= *limit) {
                return Err(NoRoom { bound: Bound::ListensPerPrincipal, limit });
            }
            self.by_principal.insert(Arc::clone(principal), count + 1);
        }
        self.last_listen += 1;
        let key = ListenKey(self.last_listen);
        self.listens.insert(key, Listener { handle, filter, principal });
        Ok(key)
    }

    /// Forgets a listen stream.
    pub fn unlisten(&mut self, key: ListenKey) -> Option<L> {
        let Listener { handle, principal, .. } = self.listens.remove(&key)?;
        if let Some(principal) = principal
            && let Some(count) = self.by_principal.get_mut(&principal)
        {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_principal.remove(&principal);
            }
        }
        Some(handle)
    }

    /// The handles of the listen streams that want to hear of an event.
    pub fn listeners(&self, event: &Event) -> impl Iterator<Item = &L> {
        self.listens.values().filter(|listener| listener.filter.passes(event)).map(|listener| &listener.handle)
    }

    /// The handles of all listen streams.
    pub fn all_listeners(&self) -> impl Iterator<Item = &L> {
        self.listens.values().map(|listener| &listener.handle)
    }

    /// Removes sessions that have been idle for too long; [`Endpoint::poll_expired`] hands them out.
    pub fn handle_timeout(&mut self, now: Now) {
        self.expire(now);
    }

    fn expire(&mut self, now: Now) {
        let Some(limit) = self.service.definition.limits().session_idle else { return };
        while let Some((looked, id)) = self.idle.first().copied().filter(|(at, _)| at.after(limit) <= now.mono) {
            self.idle.remove(&(looked, id));
            let Some(entry) = self.sessions.get_mut(&id) else { continue };
            // What was used since then is looked at again; what is in use, when it is not any more.
            let again = Some(entry.since).filter(|since| since.after(limit) > now.mono);
            entry.looked = again.filter(|_| entry.busy == 0);
            if let Some(again) = entry.looked {
                self.idle.insert((again, id));
            } else if entry.busy == 0 {
                let expired = self.remove(SessionKey(id));
                self.expired.extend(expired);
            }
        }
    }

    /// A session that has expired: close its machine. To be asked after `admit` and `handle_timeout`.
    #[must_use]
    pub fn poll_expired(&mut self) -> Option<S> {
        self.expired.pop_front()
    }

    /// When to call `handle_timeout`; `None` if nothing is waited for.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Mono, TimerKind)> {
        let limit = self.service.definition.limits().session_idle?;
        self.idle.first().map(|(since, _)| (since.after(limit), TimerKind::Idle))
    }
}

const MISSING: &str = "the header Mcp-Session-Id is missing";
const UNKNOWN: &str = "no such session";

fn answered<S>(status: u16, text: &'static str) -> Admitted<S> {
    Admitted::Answered(Response::refused_head(status, text))
}

/// A refusal that names the request, if there is one.
fn refused<S>(message: &Message, status: u16, text: &'static str) -> Admitted<S> {
    let id = match message {
        Message::Request { id, .. } => Some(id),
        _ => None,
    };
    let error = crate::error::ErrorObject::invalid_request(text);
    Admitted::Answered(Response::refused(status, id, &error))
}

/// Whether a session may be used by whoever asks.
fn owns(service: &Service, id: SessionId, owner: &Owner, kept: &Kept) -> bool {
    let (principal, origin) = (&kept.sender.principal, &kept.origin);
    match &service.options.owner {
        None => owner.principal == *principal && owner.origin == *origin,
        Some(owns) => (owns.0)(&Claim {
            session: &id.to_text(),
            opened_by: owner.principal.as_deref(),
            opened_from: owner.origin.as_deref(),
            principal: principal.as_deref(),
            origin: origin.as_deref(),
        }),
    }
}
