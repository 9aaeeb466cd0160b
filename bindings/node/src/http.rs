//! The service and the endpoint of an HTTP server, and a request on its way through them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::error::Misuse;
use mcp_sansio::http::server::{
    Admitted, Allow, Endpoint, Exchange, Head, Intake, Judged, Options, Replay, Request, Response, Routed, Service,
    Session, SessionKey,
};
use napi::Env;
use napi::bindgen_prelude::{Buffer as Octets, Result};
use napi_derive::napi;
use serde::Deserialize;

use crate::action::{event, respond};
use crate::definition::Definition;
use crate::pack::{Buffer, Made, Numbers, Pack};
use crate::server::{Machine, ServerMachine};
use crate::value::{argument, latin1, millis, now, read, seed, thrown};

/// What an HTTP server is.
#[napi]
#[derive(Clone)]
pub struct HttpService(Arc<Service>);

/// Settings; what is left out has the defaults of the core.
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

#[napi]
impl HttpService {
    /// A service of a definition.
    #[napi(constructor)]
    pub fn new(definition: &Definition, settings: String) -> Result<Self> {
        let options = read::<Settings>(&settings)?.options();
        Ok(Self(Arc::new(Service::new(Arc::clone(&definition.0), options))))
    }
}

/// A request on its way.
#[napi]
pub struct HttpRequest {
    service: Arc<Service>,
    way: Way,
    buffer: Buffer,
}

/// How far it has got. The wrapper's table has the same order.
enum Way {
    Gone,
    Answered(Response),
    Intake(Intake),
    Session(Box<Request>),
    Exchange(Box<Exchange>),
}

#[napi]
impl HttpRequest {
    /// Judges a head. The headers are an array of pairs; their values are bytes, one in each character.
    #[napi(constructor)]
    pub fn new(
        service: &HttpService,
        method: String,
        target: String,
        authority: Option<String>,
        headers: String,
        principal: Option<String>,
    ) -> Result<Self> {
        let headers: Vec<(String, String)> = read(&headers)?;
        let headers: Vec<(String, Bytes)> = headers.into_iter().map(|(name, value)| (name, latin1(&value))).collect();
        let mut head = Head::new(&method, &target);
        if let Some(authority) = &authority {
            head = head.authority(authority);
        }
        if let Some(principal) = principal {
            head = head.principal(principal.into());
        }
        for (name, value) in &headers {
            head.header(name, value);
        }
        let way = match service.0.judge(head) {
            Judged::Post(intake) => Way::Intake(intake),
            Judged::Refused(response) => Way::Answered(response),
            Judged::Session(request) => Way::Session(request),
            _ => Way::Gone,
        };
        Ok(Self { service: Arc::clone(&service.0), way, buffer: Buffer::default() })
    }

    /// How far it has got.
    #[napi]
    pub fn way(&self) -> u32 {
        match &self.way {
            Way::Gone => 0,
            Way::Answered(_) => 1,
            Way::Intake(_) => 2,
            Way::Session(_) => 3,
            Way::Exchange(_) => 4,
        }
    }

    /// `Intake::push`.
    #[napi]
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        let Way::Intake(intake) = &mut self.way else { return Err(taken()) };
        if let Err(response) = intake.push(Bytes::copy_from_slice(bytes)) {
            self.way = Way::Answered(*response);
        }
        Ok(())
    }

    /// `Intake::finish`.
    #[napi]
    pub fn finish(&mut self, bytes: &[u8], mono: f64, unix: f64) -> Result<()> {
        let seed = seed(bytes)?;
        self.way = match std::mem::replace(&mut self.way, Way::Gone) {
            Way::Intake(intake) => match intake.finish(&self.service, now(mono, unix), seed) {
                Routed::Answered(response) => Way::Answered(response),
                Routed::Exchange(exchange) => Way::Exchange(exchange),
                Routed::Session(request) => Way::Session(request),
                _ => Way::Gone,
            },
            _ => return Err(taken()),
        };
        Ok(())
    }

    /// `Intake::give_up`.
    #[napi]
    pub fn give_up(&mut self) {
        if let Way::Intake(intake) = std::mem::replace(&mut self.way, Way::Gone) {
            self.way = Way::Answered(intake.give_up());
        }
    }

    /// The answer, packed.
    #[napi]
    pub fn response(&mut self, env: Env, numbers: Numbers<'_>) -> Option<Made> {
        let Way::Answered(response) = &self.way else { return None };
        Some(respond(&mut Pack::new(&mut self.buffer, numbers), response).made(&env))
    }

    /// The machine that serves it alone.
    #[napi]
    pub fn exchange(&mut self) -> Option<ServerMachine> {
        match std::mem::replace(&mut self.way, Way::Gone) {
            Way::Exchange(exchange) => Some(ServerMachine::of(Machine::Exchange(exchange))),
            _ => None,
        }
    }

    /// `Session::accept`.
    #[napi]
    pub fn accept(&mut self, session: &mut ServerMachine, mono: f64, unix: f64) -> Result<f64> {
        match (&mut session.machine, std::mem::replace(&mut self.way, Way::Gone)) {
            (Machine::Session(session), Way::Session(request)) => {
                Ok(session.accept(now(mono, unix), request).to_u64() as f64)
            }
            _ => Err(taken()),
        }
    }
}

fn taken() -> napi::Error {
    thrown(Misuse::WrongState("the request is not where this verb takes it on"))
}

/// The registry. Sessions and listen streams have numbers here, and objects in the wrapper.
#[napi]
pub struct HttpEndpoint {
    endpoint: Endpoint<u32, u32>,
    keys: BTreeMap<u32, SessionKey>,
    opened: Option<Session>,
    last: u32,
}

#[napi]
impl HttpEndpoint {
    /// The registry of a service.
    #[napi(constructor)]
    pub fn new(service: &HttpService, bytes: &[u8]) -> Result<Self> {
        let endpoint = Endpoint::new(Arc::clone(&service.0), seed(bytes)?);
        Ok(Self { endpoint, keys: BTreeMap::new(), opened: None, last: 0 })
    }

    /// `seed`.
    #[napi]
    pub fn seed(&mut self) -> Octets {
        self.endpoint.seed().0.to_vec().into()
    }

    /// `admit`: the number of the session that it leads to, or 0; negative if that session has ended.
    #[napi]
    pub fn admit(&mut self, request: &mut HttpRequest, mono: f64, unix: f64) -> Result<f64> {
        let Way::Session(led) = std::mem::replace(&mut request.way, Way::Gone) else { return Err(taken()) };
        let Self { endpoint, keys, opened, last } = self;
        let admitted = endpoint.admit(now(mono, unix), led, |key, session| enter(keys, opened, last, key, session));
        let (way, number) = match admitted {
            Admitted::Answered(response) => (Way::Answered(response), 0.0),
            Admitted::Ended { session, response } => (Way::Answered(response), -f64::from(session)),
            Admitted::Exchange(exchange) => (Way::Exchange(exchange), 0.0),
            Admitted::Session { session, request, .. } => (Way::Session(request), f64::from(session)),
            _ => (Way::Gone, 0.0),
        };
        request.way = way;
        Ok(number)
    }

    /// The machine of the session that has just been opened or imported.
    #[napi]
    pub fn opened(&mut self) -> Option<ServerMachine> {
        self.opened.take().map(|session| ServerMachine::of(Machine::Session(Box::new(session))))
    }

    /// `import`: the number of the session.
    #[napi]
    pub fn import(&mut self, exported: &[u8], mono: f64, unix: f64) -> Result<u32> {
        let Self { endpoint, keys, opened, last } = self;
        let wrap = |key, session| enter(keys, opened, last, key, session);
        endpoint.import(now(mono, unix), exported, wrap).map_err(thrown)?;
        Ok(self.last)
    }

    /// `Session::export`.
    #[napi]
    pub fn export(&self, session: &ServerMachine) -> Option<Octets> {
        match &session.machine {
            Machine::Session(session) => session.export().map(|bytes| bytes.to_vec().into()),
            Machine::Lines(_) | Machine::Exchange(_) => None,
        }
    }

    /// `exchange_ended`.
    #[napi]
    pub fn exchange_ended(&mut self, session: u32, mono: f64, unix: f64) {
        if let Some(key) = self.keys.get(&session) {
            self.endpoint.exchange_ended(now(mono, unix), *key);
        }
    }

    /// `remove`.
    #[napi]
    pub fn remove(&mut self, session: u32) {
        if let Some(key) = self.keys.remove(&session) {
            self.endpoint.remove(key);
        }
    }

    /// `listen`, and `Exchange::listening` with its outcome: whether there was room.
    #[napi]
    pub fn listen(&mut self, machine: &mut ServerMachine, number: u32, mono: f64, unix: f64) -> Result<bool> {
        let subscription = machine.listen.take().ok_or_else(|| argument("no listen stream was asked for"))?;
        let Machine::Exchange(exchange) = &mut machine.machine else { return Err(taken()) };
        let admitted = self.endpoint.listen(subscription, number);
        exchange.listening(now(mono, unix), admitted);
        Ok(admitted.is_ok())
    }

    /// `unlisten`.
    #[napi]
    pub fn unlisten(&mut self, machine: &ServerMachine) {
        if let Some(key) = machine.listen_key() {
            self.endpoint.unlisten(key);
        }
    }

    /// `listeners`: the numbers of those that want to hear of it.
    #[napi]
    pub fn listeners(&self, changed: String, uri: Option<String>) -> Result<Vec<u32>> {
        let event = event(&changed, uri).map_err(thrown)?;
        Ok(self.endpoint.listeners(&event).copied().collect())
    }

    /// `replace_service`: whether the lists have changed, by name.
    #[napi]
    pub fn replace_service(&mut self, service: &HttpService) -> Vec<&'static str> {
        let events = self.endpoint.replace_service(Arc::clone(&service.0));
        events.iter().map(|event| crate::action::names(event).0).collect()
    }

    /// `handle_timeout`.
    #[napi]
    pub fn handle_timeout(&mut self, mono: f64, unix: f64) {
        self.endpoint.handle_timeout(now(mono, unix));
    }

    /// `poll_expired`: the number of a session.
    #[napi]
    pub fn poll_expired(&mut self) -> Option<u32> {
        let number = self.endpoint.poll_expired()?;
        self.keys.remove(&number);
        Some(number)
    }

    /// `poll_timeout`: null, or the name of what is waited for; its time is in `numbers`.
    #[napi]
    pub fn poll_timeout(&self, numbers: Numbers<'_>) -> Option<&'static str> {
        let (at, kind) = self.endpoint.poll_timeout()?;
        if let Some(place) = numbers.first_mut() {
            *place = millis(at);
        }
        Some(kind.name())
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
