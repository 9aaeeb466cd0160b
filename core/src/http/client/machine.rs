//! What the frames of the core become: exchanges that are launched, held back or aborted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::api::{Action, FetchId, Input};
use super::endpoint::{Endpoint, EndpointError};
use super::error::ExchangeError;
use super::exchange::{Call, Exchange, Kind, Phase, Resume};
use super::pair::Pair;
use crate::client::{self, Client, Config, ConfigError, Core, Out, Purpose, Route, Sealed, Transport};
use crate::error::{Error, Misuse};
use crate::machine::{Deadlines, Mono, Now, TimerKind};
use crate::spec::Version;

/// How long everything waits for `notifications/initialized` to be taken. A server that is silent is not waited for.
const OPENING: Duration = Duration::from_secs(5);

/// Streamable HTTP under a client.
#[derive(Debug)]
pub struct Http {
    pub(super) endpoint: Endpoint,
    pub(super) actions: VecDeque<Action>,
    pub(super) last_fetch: u64,
    pub(super) exchanges: BTreeMap<FetchId, Exchange>,
    /// The exchange in which the answer to a request is awaited.
    pub(super) by_wire: BTreeMap<i64, FetchId>,
    /// One for each exchange at most; what it means, the phase says.
    pub(super) timers: Deadlines<FetchId>,
    /// Those that have come, and are not obeyed yet.
    due: VecDeque<FetchId>,
    pub(super) session: Option<Arc<str>>,
    /// The revision that is or was spoken.
    pub(super) spoken: Option<Version>,
    /// The exchange that opens the session, while others wait for it.
    pub(super) opening: Option<FetchId>,
    held: VecDeque<(Bytes, Route)>,
    pub(super) pair: Pair,
    now: Mono,
}

impl Sealed for Http {}

impl Transport for Http {
    fn on_timeout(&mut self, now: Now) {
        self.now = self.now.max(now.mono);
        while let Some(fetch) = self.timers.take_due(now.mono) {
            self.due.push_back(fetch);
        }
    }

    fn deadline(&self) -> Option<(Mono, TimerKind)> {
        if !self.actions.is_empty() || !self.due.is_empty() {
            return Some((self.now, TimerKind::Actions));
        }
        let (at, fetch) = self.timers.first()?;
        Some((at, self.exchanges.get(&fetch).map_or(TimerKind::Stream, Exchange::timer)))
    }
}

impl Client<Http> {
    /// A client over HTTP that has not said anything yet.
    ///
    /// # Errors
    /// When the configuration contradicts itself.
    pub fn over_http(config: Config, endpoint: Endpoint) -> Result<Self, ConfigError> {
        let mut core = Core::new(config)?;
        core.speak_http();
        let transport = Http {
            endpoint,
            actions: VecDeque::new(),
            last_fetch: 0,
            exchanges: BTreeMap::new(),
            by_wire: BTreeMap::new(),
            timers: Deadlines::new(),
            due: VecDeque::new(),
            session: None,
            spoken: None,
            opening: None,
            held: VecDeque::new(),
            pair: Pair::No,
            now: Mono::default(),
        };
        Ok(Self { core, transport })
    }

    /// Something happened in an exchange. What comes of exchanges that are over, or after the end, is ignored.
    ///
    /// # Errors
    /// The error that the machine has failed with.
    pub fn handle(&mut self, now: Now, input: Input) -> Result<(), Error> {
        self.core.touch(now);
        self.transport.now = self.transport.now.max(now.mono);
        if let Some(error) = self.core.failure() {
            return Err(error);
        }
        let core = &mut self.core;
        match input {
            Input::Head { fetch, status, headers } => self.transport.on_head(core, now, fetch, status, &headers),
            Input::Body { fetch, bytes } => self.transport.on_body(core, now, fetch, bytes),
            Input::End { fetch } => self.transport.on_end(core, now, fetch),
            Input::Failed { fetch, reason } => self.transport.on_failed(core, now, fetch, reason),
        }
        self.core.settle();
        match self.core.failure() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// The next thing to do; `None` when everything is done.
    pub fn poll_action(&mut self) -> Option<Action> {
        loop {
            if let Some(action) = self.transport.actions.pop_front() {
                return Some(action);
            }
            let now = self.core.now();
            if let Some(fetch) = self.transport.due.pop_front() {
                self.transport.obey(&mut self.core, now, fetch);
            } else {
                match self.core.poll()? {
                    Out::Event(event) => self.transport.pass(&mut self.core, event),
                    Out::Frame(frame, route) => self.transport.send(&mut self.core, now, frame, route),
                    Out::Cancel { wire, frame } => self.transport.cancel(&mut self.core, now, wire, frame),
                }
            }
            self.core.settle();
        }
    }

    /// Answers `Action::Unauthorized`: the request goes out anew with these credentials, and so do all later ones.
    ///
    /// # Errors
    /// When nothing waits under this name, or the value is no value of a header.
    pub fn authorize(&mut self, now: Now, fetch: FetchId, authorization: impl Into<Bytes>) -> Result<(), Error> {
        self.core.touch(now);
        let exchange = self.asked(fetch)?;
        let set = self.transport.endpoint.set_authorization(Some(authorization.into()));
        if let Err(error) = set {
            self.transport.exchanges.insert(fetch, exchange);
            return Err(misuse(&error));
        }
        if let Some(wire) = exchange.kind.wire() {
            self.core.release(now, wire);
        }
        self.transport.relaunch(&mut self.core, now, exchange);
        self.core.settle();
        Ok(())
    }

    /// Answers `Action::Unauthorized`: there are no credentials. The call ends, if it was one.
    ///
    /// # Errors
    /// When nothing waits under this name.
    pub fn refuse_authorization(&mut self, now: Now, fetch: FetchId) -> Result<(), Error> {
        self.core.touch(now);
        let exchange = self.asked(fetch)?;
        if let Phase::Asked(challenge) = &exchange.phase {
            let error = ExchangeError::Unauthorized(challenge.clone());
            self.transport.fail(&mut self.core, now, exchange, error);
        }
        self.core.settle();
        Ok(())
    }

    /// Takes out what waits for credentials.
    fn asked(&mut self, fetch: FetchId) -> Result<Exchange, Error> {
        self.core.alive()?;
        match self.transport.exchanges.remove(&fetch) {
            Some(exchange) if matches!(exchange.phase, Phase::Asked(_)) => Ok(exchange),
            other => {
                self.transport.exchanges.extend(other.map(|exchange| (fetch, exchange)));
                Err(Misuse::WrongState("no request waits for credentials under this name").into())
            }
        }
    }

    /// Sets the credentials for all later requests.
    ///
    /// # Errors
    /// When the value is no value of a header.
    pub fn set_authorization(&mut self, authorization: Option<Bytes>) -> Result<(), Error> {
        self.transport.endpoint.set_authorization(authorization).map_err(|error| misuse(&error))
    }

    /// The id of the legacy session, if the server gave one.
    #[must_use]
    pub fn session_id(&self) -> Option<&str> {
        self.transport.session.as_deref()
    }
}

fn misuse(error: &EndpointError) -> Error {
    Misuse::Argument(error.to_string().into()).into()
}

impl Http {
    /// An event of the core goes to the application.
    fn pass(&mut self, core: &mut Core, event: client::Action) {
        match &event {
            client::Action::Connected(facts) | client::Action::Renewed(facts) => self.spoken = Some(facts.version),
            client::Action::Closed(_) => self.shut(core),
            _ => {}
        }
        self.actions.push_back(Action::Event(event));
    }

    /// Makes an exchange of a frame, now or when the session is open.
    pub(super) fn send(&mut self, core: &mut Core, now: Now, frame: Bytes, route: Route) {
        if self.opening.is_some() {
            self.held.push_back((frame, route));
            return;
        }
        let length = frame.len();
        let kind = match route {
            Route::Request(wire) => {
                let Some(head) = core.head(wire) else { return core.on_written(now, length) };
                if head.purpose == Purpose::Initialize {
                    self.leave_session();
                }
                let resume = Resume::new(core.limits().resume_budget);
                match self.is_pair() {
                    true => Kind::Posted { wire, frame },
                    false => Kind::Call(Box::new(Call { wire, head, frame, resume, resumed: false })),
                }
            }
            Route::Initialized => Kind::Message { frame, opens: true },
            Route::Notification | Route::Response => Kind::Message { frame, opens: false },
        };
        let opens = matches!(kind, Kind::Message { opens: true, .. });
        let fetch = self.launch(core, Exchange::new(kind, length));
        if opens {
            self.opening = Some(fetch);
            self.timers.set(fetch, now.mono.after(OPENING));
        }
    }

    /// The session is open for the other requests, and its own stream may begin.
    pub(super) fn opened(&mut self, core: &mut Core, now: Now) {
        self.opening = None;
        if self.endpoint.wants_get_stream() && core.is_legacy() && !self.is_pair() {
            let resume = Resume::new(core.limits().resume_budget);
            self.launch(core, Exchange::new(Kind::Listen(resume), 0));
        }
        for (frame, route) in std::mem::take(&mut self.held) {
            self.send(core, now, frame, route);
        }
    }

    /// A session ends, because a new one begins.
    fn leave_session(&mut self) {
        self.session = None;
        let listens = |exchange: &Exchange| matches!(exchange.kind, Kind::Listen(_));
        let streams: Vec<FetchId> =
            self.exchanges.iter().filter(|(_, exchange)| listens(exchange)).map(|(id, _)| *id).collect();
        for fetch in streams {
            self.drop_exchange(fetch);
        }
    }

    /// Nobody waits for the answer to a request any more.
    fn cancel(&mut self, core: &mut Core, now: Now, wire: i64, frame: Bytes) {
        let fetch = self.by_wire.get(&wire).copied();
        if self.is_pair() {
            // Its answer would come in the one stream: the server must know.
            self.send(core, now, frame, Route::Notification);
            let unwritten = fetch.map_or(0, |fetch| self.drop_exchange(fetch));
            return core.on_written(now, unwritten);
        }
        let Some(fetch) = fetch else {
            // It was never sent, or its exchange is over.
            return core.on_written(now, frame.len());
        };
        let exchange = self.exchanges.get(&fetch);
        let told = exchange.is_some_and(|exchange| match &exchange.kind {
            Kind::Call(call) => call.is_resumable() && !matches!(exchange.phase, Phase::Asked(_)),
            _ => false,
        });
        if told {
            self.send(core, now, frame, Route::Notification);
        } else {
            core.on_written(now, frame.len());
        }
        let unwritten = self.drop_exchange(fetch);
        core.on_written(now, unwritten);
    }

    /// Forgets an exchange, and aborts it if there is one outside. Answers how much of it is not written.
    pub(super) fn drop_exchange(&mut self, fetch: FetchId) -> usize {
        self.timers.clear(fetch);
        let Some(exchange) = self.exchanges.remove(&fetch) else { return 0 };
        self.forget_wire(&exchange);
        if exchange.is_running() {
            self.actions.push_back(Action::Abort(fetch));
        }
        exchange.unwritten
    }

    /// The answer to a request is not awaited in this exchange any more.
    pub(super) fn forget_wire(&mut self, exchange: &Exchange) {
        if let Some(wire) = exchange.kind.wire() {
            self.by_wire.remove(&wire);
        }
    }

    /// The end: what nobody waits for any more is aborted, and the session is ended.
    fn shut(&mut self, core: &mut Core) {
        let waited = |exchange: &Exchange| !matches!(exchange.kind, Kind::Delete | Kind::Message { .. });
        let streams: Vec<FetchId> =
            self.exchanges.iter().filter(|(_, exchange)| waited(exchange)).map(|(id, _)| *id).collect();
        for fetch in streams {
            self.drop_exchange(fetch);
        }
        if self.session.is_some() {
            self.launch(core, Exchange::new(Kind::Delete, 0));
        }
        self.exchanges.clear();
        self.timers = Deadlines::new();
        self.due.clear();
        self.held.clear();
        self.opening = None;
        self.session = None;
    }
}
