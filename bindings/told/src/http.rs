//! The service and the registry of an HTTP server, and a request on its way through them.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::error::{Error, Misuse};
use mcp_sansio::http::server::{
    Admitted, Allow, Endpoint, Exchange, Head, Intake, Judged, ListenKey, NoRoom, Options, Replay, Request, Response,
    Routed, Service, Session, SessionKey, Subscription,
};
use mcp_sansio::machine::{Mono, Now, TimerKind};
use mcp_sansio::server::Definition;
use serde::Deserialize;

use crate::Result;
use crate::cell::Inside;
use crate::server::{Kind, Machine, event, event_names};
use crate::told::{argument, latin1, read, seed};

/// What an HTTP server is. Settings are named as the methods of [`Options`]; what is left out has their defaults.
///
/// # Errors
/// When they are no settings.
pub fn service(definition: &Arc<Definition>, settings: &str) -> Result<Arc<Service>> {
    Ok(Arc::new(Service::new(Arc::clone(definition), options(settings)?)))
}

/// The options of a service, for a binding that adds code to them (who is welcome, who owns a session).
///
/// # Errors
/// When they are no settings.
pub fn options(settings: &str) -> Result<Options> {
    Ok(read::<Settings>(settings)?.options())
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    stateless: bool,
    json_answers: bool,
    keep_alive_ms: Option<u64>,
    no_keep_alive: bool,
    replay: Option<Kept>,
    hosts: Option<Welcome>,
    origins: Option<Welcome>,
    sse_pair: Option<(String, String)>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Kept {
    events: Option<usize>,
    bytes: Option<usize>,
    retry_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Welcome {
    Any(),
    Loopback(),
    List(Vec<String>),
}

impl Welcome {
    fn allow(self) -> Allow {
        match self {
            Self::Any() => Allow::any(),
            Self::Loopback() => Allow::loopback(),
            Self::List(entries) => Allow::list(entries),
        }
    }
}

impl Settings {
    fn options(self) -> Options {
        let mut options = Options::default();
        if self.stateless {
            options = options.stateless();
        }
        if self.json_answers {
            options = options.json_answers();
        }
        if self.no_keep_alive {
            options = options.keep_alive(None);
        }
        if let Some(interval) = self.keep_alive_ms {
            options = options.keep_alive(Some(Duration::from_millis(interval)));
        }
        if let Some(Kept { events, bytes, retry_ms }) = self.replay {
            let usual = Replay::default();
            options = options.replay(Replay {
                events: events.unwrap_or(usual.events),
                bytes: bytes.unwrap_or(usual.bytes),
                retry: retry_ms.map_or(usual.retry, Duration::from_millis),
            });
        }
        if let Some(hosts) = self.hosts {
            options = options.hosts(hosts.allow());
        }
        if let Some(origins) = self.origins {
            options = options.origins(origins.allow());
        }
        match self.sse_pair {
            Some((events, messages)) => options.sse_pair(events, messages),
            None => options,
        }
    }
}

/// A request on its way.
#[derive(Debug)]
pub struct Incoming {
    service: Arc<Service>,
    way: Way,
}

/// How far a request has got.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "made once for each request; a box would cost more than the move")]
enum Way {
    Gone,
    Answered(Response),
    Intake(Intake),
    Session(Box<Request>),
    Exchange(Box<Exchange>),
}

impl Incoming {
    /// Judges a head. The headers are a JSON array of pairs, whose values have one byte in each character.
    ///
    /// # Errors
    /// When the headers are no such array.
    pub fn judge(
        service: &Arc<Service>,
        (method, target): (&str, &str),
        authority: Option<&str>,
        headers: &str,
        principal: Option<String>,
    ) -> Result<Self> {
        let headers: Vec<(String, String)> = read(headers)?;
        let headers: Vec<(String, Bytes)> = headers.into_iter().map(|(name, value)| (name, latin1(&value))).collect();
        Ok(Self::of(service, (method, target), authority, &headers, principal, None))
    }

    /// The same of headers as bytes, with something for [`Context::data`](mcp_sansio::server::Context::data).
    #[must_use]
    pub fn of<N: AsRef<[u8]>>(
        service: &Arc<Service>,
        (method, target): (&str, &str),
        authority: Option<&str>,
        headers: &[(N, Bytes)],
        principal: Option<String>,
        data: Option<Arc<dyn Any + Send + Sync>>,
    ) -> Self {
        let mut head = Head::new(method, target);
        if let Some(authority) = authority {
            head = head.authority(authority);
        }
        if let Some(principal) = principal {
            head = head.principal(principal.into());
        }
        if let Some(data) = data {
            head = head.data(data);
        }
        for (name, value) in headers {
            // A name that is no text is none of the protocol's.
            head.header(std::str::from_utf8(name.as_ref()).unwrap_or_default(), value);
        }
        let way = match service.judge(head) {
            Judged::Post(intake) => Way::Intake(intake),
            Judged::Refused(response) => Way::Answered(response),
            Judged::Session(request) => Way::Session(request),
            _ => Way::Gone,
        };
        Self { service: Arc::clone(service), way }
    }

    /// `Intake::remaining`: none where no body is read.
    #[must_use]
    pub fn remaining(&self) -> usize {
        match &self.way {
            Way::Intake(intake) => intake.remaining(),
            _ => 0,
        }
    }

    /// How far it has got: 0 taken, 1 answered, 2 its body is read, 3 to a session, 4 served alone.
    #[must_use]
    pub const fn way(&self) -> u32 {
        match &self.way {
            Way::Gone => 0,
            Way::Answered(_) => 1,
            Way::Intake(_) => 2,
            Way::Session(_) => 3,
            Way::Exchange(_) => 4,
        }
    }

    /// `Intake::push`.
    ///
    /// # Errors
    /// When no body is read.
    pub fn push(&mut self, bytes: Bytes) -> Result<()> {
        let Way::Intake(intake) = &mut self.way else { return Err(taken()) };
        if let Err(response) = intake.push(bytes) {
            self.way = Way::Answered(*response);
        }
        Ok(())
    }

    /// `Intake::finish`.
    ///
    /// # Errors
    /// When no body is read, or the seed has not 32 bytes.
    pub fn finish(&mut self, now: Now, bytes: &[u8]) -> Result<()> {
        let seed = seed(bytes)?;
        let Way::Intake(intake) = self.take_if(|way| matches!(way, Way::Intake(_)))? else { return Err(taken()) };
        self.way = match intake.finish(&self.service, now, seed) {
            Routed::Answered(response) => Way::Answered(response),
            Routed::Exchange(exchange) => Way::Exchange(exchange),
            Routed::Session(request) => Way::Session(request),
            _ => Way::Gone,
        };
        Ok(())
    }

    /// `Intake::broken`, or else `Intake::give_up`.
    pub fn refuse(&mut self, is_broken: bool) {
        if let Ok(Way::Intake(intake)) = self.take_if(|way| matches!(way, Way::Intake(_))) {
            self.way = Way::Answered(if is_broken { intake.broken() } else { intake.give_up() });
        }
    }

    /// The answer.
    #[must_use]
    pub const fn response(&self) -> Option<&Response> {
        match &self.way {
            Way::Answered(response) => Some(response),
            _ => None,
        }
    }

    /// The machine that serves it alone.
    pub fn exchange(&mut self) -> Option<Machine> {
        match self.take_if(|way| matches!(way, Way::Exchange(_))) {
            Ok(Way::Exchange(exchange)) => Some(Machine::of(Kind::Exchange(exchange))),
            _ => None,
        }
    }

    /// `Session::accept`: the number of the exchange.
    ///
    /// # Errors
    /// When the request is not on its way to a session.
    pub fn accept(&mut self, now: Now, session: &mut Machine) -> Result<u64> {
        let Kind::Session(session) = &mut session.kind else { return Err(taken()) };
        match self.take_if(|way| matches!(way, Way::Session(_)))? {
            Way::Session(request) => Ok(session.accept(now, request).to_u64()),
            _ => Err(taken()),
        }
    }

    /// Takes the request from where it is, if that is where it is expected.
    fn take_if(&mut self, expected: impl FnOnce(&Way) -> bool) -> Result<Way> {
        if expected(&self.way) { Ok(std::mem::replace(&mut self.way, Way::Gone)) } else { Err(taken()) }
    }
}

fn taken() -> Error {
    Misuse::WrongState("the request was used before, or is not where this verb takes it on").into()
}

impl Inside for Incoming {}

impl Inside for Registry {}

/// The registry. Sessions and listen streams have numbers here; the binding holds their machines.
#[derive(Debug)]
pub struct Registry {
    endpoint: Endpoint<u32, u32>,
    keys: BTreeMap<u32, SessionKey>,
    opened: Option<Session>,
    last: u32,
}

impl Registry {
    /// The registry of a service.
    ///
    /// # Errors
    /// When the seed has not 32 bytes.
    pub fn new(service: &Arc<Service>, bytes: &[u8]) -> Result<Self> {
        let endpoint = Endpoint::new(Arc::clone(service), seed(bytes)?);
        Ok(Self { endpoint, keys: BTreeMap::new(), opened: None, last: 0 })
    }

    /// `seed`.
    pub fn seed(&mut self) -> [u8; 32] {
        self.endpoint.seed().0
    }

    /// `admit`: the number of the session that the request leads to, or 0; negative if that session has ended.
    ///
    /// # Errors
    /// When the request is not on its way to a session.
    pub fn admit(&mut self, now: Now, request: &mut Incoming) -> Result<i64> {
        let Way::Session(led) = request.take_if(|way| matches!(way, Way::Session(_)))? else { return Err(taken()) };
        let Self { endpoint, keys, opened, last } = self;
        let admitted = endpoint.admit(now, led, |key, session| enter(keys, opened, last, key, session));
        let (way, number) = match admitted {
            Admitted::Answered(response) => (Way::Answered(response), 0),
            Admitted::Ended { session, response } => {
                keys.remove(&session);
                (Way::Answered(response), -i64::from(session))
            }
            Admitted::Exchange(exchange) => (Way::Exchange(exchange), 0),
            Admitted::Session { session, request, .. } => (Way::Session(request), i64::from(session)),
            _ => (Way::Gone, 0),
        };
        request.way = way;
        Ok(number)
    }

    /// The machine of the session that has just been opened or imported.
    pub fn opened(&mut self) -> Option<Machine> {
        self.opened.take().map(|session| Machine::of(Kind::Session(Box::new(session))))
    }

    /// `import`: the number of the session.
    ///
    /// # Errors
    /// As [`Endpoint::import`].
    pub fn import(&mut self, now: Now, exported: &[u8]) -> Result<u32> {
        let Self { endpoint, keys, opened, last } = self;
        endpoint.import(now, exported, |key, session| enter(keys, opened, last, key, session))?;
        Ok(self.last)
    }

    /// `Session::export`.
    #[must_use]
    pub fn export(session: &Machine) -> Option<Bytes> {
        match &session.kind {
            Kind::Session(session) => session.export(),
            Kind::Lines(_) | Kind::Exchange(_) => None,
        }
    }

    /// `exchange_ended`.
    pub fn exchange_ended(&mut self, now: Now, session: u32) {
        if let Some(key) = self.keys.get(&session) {
            self.endpoint.exchange_ended(now, *key);
        }
    }

    /// `remove`.
    pub fn remove(&mut self, session: u32) {
        if let Some(key) = self.keys.remove(&session) {
            self.endpoint.remove(key);
        }
    }

    /// `listen`, and `Exchange::listening` with its outcome: whether there was room.
    ///
    /// # Errors
    /// When the machine has not asked for it.
    pub fn listen(&mut self, now: Now, machine: &mut Machine, number: u32) -> Result<bool> {
        let subscription = machine.listen.take().ok_or_else(|| argument("no listen stream was asked for"))?;
        let Kind::Exchange(exchange) = &mut machine.kind else { return Err(taken()) };
        let admitted = self.endpoint.listen(subscription, number);
        exchange.listening(now, admitted);
        Ok(admitted.is_ok())
    }

    /// `listen` alone, for a binding that keeps the subscription and hands the outcome on itself
    /// ([`Machine::listening`]).
    ///
    /// # Errors
    /// When there is no room.
    pub fn enter(&mut self, subscription: Subscription, number: u32) -> std::result::Result<ListenKey, NoRoom> {
        self.endpoint.listen(subscription, number)
    }

    /// `unlisten`: the number of the stream that it was.
    pub fn unlisten(&mut self, machine: &Machine) -> Option<u32> {
        self.endpoint.unlisten(machine.listen_key()?)
    }

    /// `listeners`: the numbers of those that want to hear of it.
    ///
    /// # Errors
    /// When these names mean no event.
    pub fn listeners(&self, changed: &str, uri: Option<String>) -> Result<Vec<u32>> {
        let event = event(changed, uri)?;
        Ok(self.endpoint.listeners(&event).copied().collect())
    }

    /// `replace_service`: the lists that have changed, by name.
    pub fn replace_service(&mut self, service: &Arc<Service>) -> Vec<&'static str> {
        let events = self.endpoint.replace_service(Arc::clone(service));
        events.iter().map(|event| event_names(event).0).collect()
    }

    /// `handle_timeout`.
    pub fn handle_timeout(&mut self, now: Now) {
        self.endpoint.handle_timeout(now);
    }

    /// `poll_expired`: the number of a session.
    pub fn poll_expired(&mut self) -> Option<u32> {
        let number = self.endpoint.poll_expired()?;
        self.keys.remove(&number);
        Some(number)
    }

    /// `poll_timeout`.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Mono, TimerKind)> {
        self.endpoint.poll_timeout()
    }
}

fn enter(
    keys: &mut BTreeMap<u32, SessionKey>,
    opened: &mut Option<Session>,
    last: &mut u32,
    key: SessionKey,
    session: Session,
) -> u32 {
    *last += 1;
    keys.insert(*last, key);
    *opened = Some(session);
    *last
}
