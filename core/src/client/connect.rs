//! How a connection comes about.
//!
//! ```text
//!                      ┌──again with another revision──┐
//!                      ▼                               │
//!   Idle ──connect──▶ Probing ─────────────────────────┤
//!     │                │  │                            │
//!     │ legacy only    │  └──modern──▶ Ready ◀──────┐  └──fail──▶ Closed
//!     └────────────────┴──legacy────▶ Initializing ─┴──refused, silent, unknown revision──▶ Closed
//! ```
//!
//! Until *Ready*, calls wait. Two may go out before: `server/discover` outside of the handshake, and `ping` within
//! it, which the lifecycle allows. `initialize` is never cancelled; when it goes unanswered the connection is over.
//! A server that starts slowly (a package runner may have to fetch it first) answers the probe late: if it then
//! refuses `initialize`, that answer counts after all.
//! A modern connection has no handshake: the probe is a request like any other, and its answer tells what the
//! server can do. What a probe means is [`probe`](super::probe)'s table.
//!
//! Sources: `basic/transports/stdio` (Backward Compatibility), `basic/versioning`; `basic/lifecycle` of 2025-11-25.

use super::api::{Action, CallError, Closed, ConnectError, ServerFacts};
use super::core::{Core, Route, Wire};
use super::envelope::Envelope;
use super::probe::{self, Outcome, Verdict};
use crate::error::{Error, ErrorObject, Misuse};
use crate::ids::{CallId, RequestId};
use crate::json::Json;
use crate::jsonrpc::{Field, FrameWriter, Members};
use crate::machine::{Mono, Now, TimerKind};
use crate::model::DiscoverResult;
use crate::spec::{Era, Method, Version};

/// Where the connection stands.
#[derive(Debug)]
pub(super) enum State {
    Closed(Closed),
    Idle,
    Initializing(Initializing),
    Probing(Probing),
    Ready(Box<ServerFacts>),
}

/// `initialize` is on its way.
#[derive(Debug)]
pub(super) struct Initializing {
    offered: Version,
    wire: i64,
    deadline: Option<Mono>,
    /// A server refused the first offer in an error that names what it speaks.
    repeated: bool,
    /// There was a session before.
    renewing: bool,
}

/// `server/discover` is on its way.
#[derive(Debug)]
pub(super) struct Probing {
    wire: i64,
    deadline: Option<Mono>,
    repeated: bool,
}

/// What went before an `initialize`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attempt {
    /// It is the second one, with another revision.
    pub(super) repeated: bool,
    /// There was a session before.
    pub(super) renewing: bool,
}

impl Initializing {
    pub(super) const fn wire(&self) -> i64 {
        self.wire
    }

    pub(super) const fn disarm(&mut self) {
        self.deadline = None;
    }

    pub(super) const fn arm(&mut self, at: Option<Mono>) {
        self.deadline = at;
    }
}

impl Probing {
    pub(super) const fn repeated(&self) -> bool {
        self.repeated
    }

    pub(super) const fn disarm(&mut self) {
        self.deadline = None;
    }

    pub(super) const fn arm(&mut self, at: Option<Mono>) {
        self.deadline = at;
    }
}

impl State {
    pub(super) fn deadline(&self) -> Option<(Mono, TimerKind)> {
        match self {
            Self::Initializing(state) => state.deadline.map(|at| (at, TimerKind::CallIdle)),
            Self::Probing(state) => state.deadline.map(|at| (at, TimerKind::Probe)),
            Self::Closed(_) | Self::Idle | Self::Ready(_) => None,
        }
    }

    pub(super) const fn is_connecting(&self) -> bool {
        matches!(self, Self::Initializing(_) | Self::Probing(_))
    }

    pub(super) const fn facts(&self) -> Option<&ServerFacts> {
        match self {
            Self::Ready(facts) => Some(facts),
            Self::Closed(_) | Self::Idle | Self::Initializing(_) | Self::Probing(_) => None,
        }
    }

    /// The era, as soon as it is known.
    pub(super) const fn era(&self) -> Option<Era> {
        match self {
            Self::Initializing(_) => Some(Era::Legacy),
            Self::Ready(facts) => Some(facts.era()),
            Self::Closed(_) | Self::Idle | Self::Probing(_) => None,
        }
    }

    /// Whether a request of this method may go out now.
    pub(super) fn admits(&self, method: Option<Method>) -> bool {
        match self {
            Self::Closed(_) => false,
            Self::Idle | Self::Probing(_) => method == Some(Method::ServerDiscover),
            Self::Initializing(_) => method == Some(Method::Ping),
            Self::Ready(_) => true,
        }
    }
}

impl Core {
    pub(crate) fn connect(&mut self, now: Now) -> Result<(), Error> {
        self.alive()?;
        if !matches!(self.state, State::Idle) {
            return Err(Misuse::WrongState("connect was called before").into());
        }
        match self.newest(Era::Modern) {
            Some(version) => self.probe(now, version, false),
            None => match self.newest(Era::Legacy) {
                Some(version) => self.initialize(now, version, Attempt::default()),
                // A configuration without any revision makes no machine.
                None => return Err(Misuse::WrongState("no revision is left to speak").into()),
            },
        }
        Ok(())
    }

    /// The newest revision of an era that the configuration allows.
    pub(super) fn newest(&self, era: Era) -> Option<Version> {
        self.offers.iter().copied().find(|version| version.era() == era)
    }

    /// Claims a modern revision from now on.
    pub(super) fn claim(&mut self, version: Version) {
        if self.envelope.as_ref().is_none_or(|envelope| envelope.version != version) {
            self.envelope = Some(Envelope::new(version, &self.config));
        }
    }

    fn probe(&mut self, now: Now, version: Version, repeated: bool) {
        self.claim(version);
        let Some(wire) = self.open_wire(Wire::Connect) else { return };
        let mut meta = Vec::new();
        if let Some(envelope) = &self.envelope {
            envelope.write_bare(self.config.meta.as_ref(), &mut meta);
        }
        let frame = FrameWriter::request(&RequestId::from(wire), Method::ServerDiscover.as_str(), meta.len() + 16)
            .params(|params| params.key(Field::Meta.name()).extend_from_slice(&meta));
        self.frame(frame, Route::Request(wire));
        // Old servers on a stream may be silent. An HTTP server answers, if only after it was started for that.
        let patience = if self.is_http() { self.config.timeouts.idle } else { Some(self.config.timeouts.probe) };
        let deadline = patience.map(|patience| now.mono.after(patience));
        self.state = State::Probing(Probing { wire, deadline, repeated });
    }

    pub(super) fn initialize(&mut self, now: Now, version: Version, attempt: Attempt) {
        let Attempt { repeated, renewing } = attempt;
        self.envelope = None;
        let Some(wire) = self.open_wire(Wire::Connect) else { return };
        let config = &self.config;
        let frame = FrameWriter::request(&RequestId::from(wire), Method::Initialize.as_str(), 256).params(|params| {
            params
                .string(Field::ProtocolVersion.name(), version.as_str())
                .value(Field::Capabilities.name(), &config.capabilities)
                .value(Field::ClientInfo.name(), &config.info);
            if let Some(meta) = &config.meta {
                params.raw(Field::Meta.name(), meta.get());
            }
        });
        self.frame(frame, Route::Request(wire));
        let deadline = self.config.timeouts.idle.map(|idle| now.mono.after(idle));
        self.state = State::Initializing(Initializing { offered: version, wire, deadline, repeated, renewing });
        // Calls that waited may be pings.
        self.send_parked(now);
    }

    pub(super) fn connect_timed_out(&mut self, now: Now) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Probing(state) => {
                self.wires.remove(state.wire);
                if self.is_http() {
                    return self.not_connected(ConnectError::TimedOut);
                }
                self.late_probe = Some((state.wire, None));
                self.obey(now, probe::judge(Outcome::Silence, &self.offers, state.repeated), None);
            }
            State::Initializing(state) => {
                self.wires.remove(state.wire);
                self.not_connected(ConnectError::TimedOut);
            }
            other => self.state = other,
        }
    }

    pub(super) fn connect_error(&mut self, now: Now, error: ErrorObject) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Probing(state) => {
                self.obey(now, probe::judge(Outcome::Error(&error), &self.offers, state.repeated), None);
            }
            State::Initializing(state) => {
                // The error example of the lifecycle names what the server speaks.
                let other = probe::supported(&error)
                    .and_then(|theirs| {
                        let legacy = |version: &&Version| version.era() == Era::Legacy;
                        let offers: Vec<Version> = self.offers.iter().filter(legacy).copied().collect();
                        probe::common(&offers, &theirs)
                    })
                    .filter(|version| *version != state.offered && !state.repeated);
                match (other, self.late_probe.take()) {
                    (Some(version), _) => {
                        self.initialize(now, version, Attempt { repeated: true, renewing: state.renewing });
                    }
                    // A modern server that was slow to start: it has answered the probe after all.
                    (None, Some((wire, Some(result)))) => {
                        let probing = Probing { wire, deadline: Some(now.mono), repeated: true };
                        self.probe_result(now, &probing, &result);
                    }
                    (None, _) => self.not_connected(ConnectError::Refused(error)),
                }
            }
            other => self.state = other,
        }
    }

    pub(super) fn connect_result(&mut self, now: Now, result: Members) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Probing(state) => self.probe_result(now, &state, &result),
            State::Initializing(state) => match self.session_facts(&result) {
                Ok(facts) => {
                    let frame = FrameWriter::notification(Method::Initialized.as_str(), 0).finish();
                    self.frame(frame, Route::Initialized);
                    self.ready(now, facts, state.renewing);
                }
                Err(error) => self.not_connected(error),
            },
            other => self.state = other,
        }
    }

    fn probe_result(&mut self, now: Now, state: &Probing, result: &Members) {
        let complete = match result.string(Field::ResultType) {
            Ok(kind) => kind.is_none_or(|kind| kind == super::COMPLETE),
            Err(_) => false,
        };
        let discovered: Option<DiscoverResult> =
            Some(result).filter(|_| complete).and_then(|result| result.json().parse().ok());
        match discovered {
            Some(discovered) => {
                let outcome = Outcome::Discovered(&discovered.supported_versions);
                let verdict = probe::judge(outcome, &self.offers, state.repeated);
                self.obey(now, verdict, Some((discovered, result)));
            }
            None => self.obey(now, probe::judge(Outcome::OtherResult, &self.offers, state.repeated), None),
        }
    }

    pub(super) fn obey(&mut self, now: Now, verdict: Verdict, discovered: Option<(DiscoverResult, &Members)>) {
        match (verdict, discovered) {
            (Verdict::Again(version), _) => self.probe(now, version, true),
            (Verdict::Fail(error), _) => self.not_connected(error),
            (Verdict::Handshake(version), _) => self.initialize(now, version, Attempt::default()),
            (Verdict::Modern(version), Some((discovered, result))) => {
                self.claim(version);
                self.remember_discovery(now, result);
                let info = discovered.server_info();
                let facts = ServerFacts {
                    version,
                    capabilities: discovered.capabilities,
                    info,
                    instructions: discovered.instructions,
                    raw: result.json(),
                };
                self.ready(now, facts, false);
            }
            (Verdict::Undiscovered, _) => {
                let version = self.envelope.as_ref().map_or(Version::LATEST, |envelope| envelope.version);
                self.ready(now, ServerFacts::undiscovered(version), false);
            }
            // Only a discover result has this verdict.
            (Verdict::Modern(_), None) => self.not_connected(ConnectError::NotModern { error: None }),
        }
    }

    /// What the answer to `initialize` says.
    fn session_facts(&self, result: &Members) -> Result<ServerFacts, ConnectError> {
        let invalid = |what: String| ConnectError::InvalidAnswer(what.into());
        if !result.is_object() {
            return Err(invalid("it is no object".to_owned()));
        }
        let name = result.required_string(Field::ProtocolVersion).map_err(|error| invalid(error.to_string()))?;
        let version = match Version::parse(&name) {
            Some(version) if version.era() == Era::Modern => {
                return Err(invalid(format!("{version} is never negotiated by initialize")));
            }
            Some(version) if self.offers.contains(&version) => version,
            _ => {
                return Err(ConnectError::NoCommonVersion {
                    ours: self.offers.clone(),
                    theirs: vec![name.into_owned()],
                });
            }
        };
        let capabilities = result
            .parse(Field::Capabilities, "an object of capabilities")
            .map_err(|error| invalid(error.to_string()))?
            .ok_or_else(|| invalid("capabilities is missing".to_owned()))?;
        Ok(ServerFacts {
            version,
            capabilities,
            // The handshake must have it; a server that leaves it out is still of use.
            info: result.parse(Field::ServerInfo, "an implementation").ok().flatten(),
            instructions: result.string(Field::Instructions).ok().flatten().map(|text| text.into_owned()),
            raw: result.json(),
        })
    }

    fn ready(&mut self, now: Now, facts: ServerFacts, renewed: bool) {
        self.state = State::Ready(Box::new(facts.clone()));
        let facts = Box::new(facts);
        self.event(if renewed { Action::Renewed(facts) } else { Action::Connected(facts) });
        self.send_parked(now);
    }

    pub(super) fn not_connected(&mut self, error: ConnectError) {
        self.end(Closed::NotConnected(error));
    }

    /// -32022 on a call: sends it again under a revision that both speak, once, or says that there is none.
    /// False if the error does not name revisions.
    pub(super) fn reissue(&mut self, now: Now, id: CallId, error: &ErrorObject) -> bool {
        let Some(supported) = probe::supported(error).filter(|_| self.is_modern()) else { return false };
        let modern: Vec<Version> = self.offers.iter().copied().filter(|version| version.era() == Era::Modern).collect();
        let requested = self.envelope.as_ref().map_or(Version::LATEST, |envelope| envelope.version);
        let Some(call) = self.calls.get_mut(id) else { return true };
        match probe::common(&modern, &supported) {
            Some(version) if !call.reissued => {
                call.reissued = true;
                self.claim(version);
                if let State::Ready(facts) = &mut self.state {
                    facts.version = version;
                }
                self.send(now, id);
            }
            _ => self.done(id, Err(CallError::Incompatible { requested, supported })),
        }
        true
    }

    /// Mints a wire id.
    pub(super) fn open_wire(&mut self, wire: Wire) -> Option<i64> {
        let minted = self.wires.open(wire)?;
        self.last_wire = minted;
        Some(minted)
    }

    /// Keeps the answer to the probe for a `server/discover` that the application may ask for.
    fn remember_discovery(&mut self, now: Now, result: &Members) {
        if self.config.cache {
            let epoch = self.cache.epoch();
            self.cache.put(now.mono, Method::ServerDiscover, &Json::EMPTY_OBJECT, None, epoch, result);
        }
    }
}
