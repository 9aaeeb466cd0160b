//! HTTP, seen from the protocol: each request has an exchange of its own, and messages belong to the exchange that
//! they came in.
//!
//! | in an exchange, the server may say | modern | legacy |
//! |---|---|---|
//! | the answer to its request | ends the exchange | ends the exchange |
//! | an answer to another open request | ignored | taken: some servers mix their streams up |
//! | an error without an id | the answer to its request | the answer to its request |
//! | a notification about another request of ours | ignored | taken |
//! | a request | ignored | taken |
//!
//! | an exchange fails | what becomes of its request |
//! |---|---|
//! | of the probe | what [`probe`](super::probe) says |
//! | of `initialize` | no connection |
//! | of an open listen stream | opened again after a while, within a budget |
//! | because the session is gone, before the server looked at the call | sent again in a new session, once |
//! | of a list of tools that is read for a call | the call ends with what its headers were refused with |
//! | of any other call | the call ends |

use std::time::Duration;

use bytes::Bytes;

use super::api::{Action, CallError, ConnectError};
use super::calls::{Kind, Listen, Phase};
use super::connect::{Attempt, State};
use super::core::{Core, Wire};
use super::inbound::{Origin, Owed};
use super::mirror::Mirrors;
use super::probe::{self, Outcome};
use crate::error::ErrorObject;
use crate::http::client::ExchangeError;
use crate::ids::{ProgressToken, RequestId};
use crate::jsonrpc::{Field, Members, Message, MetaField, MethodName, decode, decode_owned};
use crate::machine::Now;
use crate::spec::{Era, Method, Version};

/// The longest wait before a listen stream is opened again.
const REOPEN_MOST: Duration = Duration::from_secs(10);

/// What the head of a request says about it.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) purpose: Purpose,
    pub(crate) method: Box<str>,
    /// The tool, prompt or resource that it is about.
    pub(crate) name: Option<String>,
    /// The revision to name; none before it is known.
    pub(crate) version: Option<Version>,
    /// Mirrored arguments: names without their prefix, values not encoded yet.
    pub(crate) params: Vec<(String, String)>,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A legacy request, whose stream may be resumed.
    Legacy,
    Initialize,
    Modern,
}

/// What a frame of an exchange came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Another request was answered: nothing more comes in its own exchange.
    pub(crate) other: Option<i64>,
    /// It was no message.
    pub(crate) malformed: bool,
}

impl Core {
    /// From now on, requests travel apart.
    pub(crate) fn speak_http(&mut self) {
        self.mirrors = Some(Mirrors::default());
    }

    pub(super) const fn is_http(&self) -> bool {
        self.mirrors.is_some()
    }

    /// Whether a request still waits for its answer.
    pub(crate) fn is_open(&mut self, wire: i64) -> bool {
        self.wires.get_mut(wire).is_some()
    }

    /// The head for a frame of ours that is about to leave. `None` if its request has ended, or ends here because an
    /// argument cannot stand in a header.
    pub(crate) fn head(&mut self, wire: i64) -> Option<Head> {
        let kind = *self.wires.get_mut(wire)?;
        let purpose = match (&self.state, self.is_modern()) {
            (State::Initializing(state), _) if state.wire() == wire => Purpose::Initialize,
            (_, true) => Purpose::Modern,
            (_, false) => Purpose::Legacy,
        };
        let version = if purpose == Purpose::Initialize { None } else { self.version_named() };
        let mut head = Head { purpose, method: "".into(), name: None, version, params: Vec::new() };
        match kind {
            Wire::Connect if purpose == Purpose::Initialize => head.method = Method::Initialize.as_str().into(),
            Wire::Connect => head.method = Method::ServerDiscover.as_str().into(),
            Wire::Refresh(_) => head.method = Method::ToolsList.as_str().into(),
            Wire::Call(id) => {
                let request = &self.calls.get(id)?.request;
                head.method = request.method.as_str().into();
                if purpose == Purpose::Modern {
                    head.name = request.header_name();
                    if request.known() == Some(Method::ToolsCall) {
                        match self.mirrors.as_ref().map_or(Ok(Vec::new()), |mirrors| mirrors.headers(request)) {
                            Ok(params) => head.params = params,
                            Err(error) => {
                                self.wires.remove(wire);
                                self.done(id, Err(CallError::Mirror(error)));
                                return None;
                            }
                        }
                    }
                }
            }
        }
        Some(head)
    }

    /// The revision that headers name.
    pub(crate) fn version_named(&self) -> Option<Version> {
        if self.is_modern() { self.envelope.as_ref().map(|envelope| envelope.version) } else { self.version() }
    }

    /// Whether the connection is a legacy session, open or on its way.
    pub(crate) fn is_legacy(&self) -> bool {
        self.era() == Some(Era::Legacy)
    }

    /// Takes a frame that came in the exchange of `wire`, or in a stream of its own.
    pub(crate) fn on_exchange(&mut self, now: Now, wire: Option<i64>, frame: Bytes) -> Heard {
        let mut heard = Heard::default();
        match decode_owned(frame, self.config.limits.json_depth) {
            Ok(Message::Batch(parts)) => {
                let Some(batch) = self.open_batch(&parts) else { return heard };
                for part in parts {
                    match decode(&part, self.config.limits.json_depth) {
                        Ok(Message::Request { id, method, params }) => {
                            self.on_request(now, id, &method, &params, Some(batch));
                        }
                        Ok(message) => self.heard(now, wire, message, &mut heard),
                        Err(error) => self.on_noise(&error),
                    }
                }
                self.seal_batch(batch);
            }
            Ok(message) => self.heard(now, wire, message, &mut heard),
            Err(error) => {
                heard.malformed = true;
                self.on_noise(&error);
                if error.answered().is_some_and(|id| id.as_i64() == wire) {
                    self.answered_badly(&error);
                }
            }
        }
        self.check_output();
        heard
    }

    fn heard(&mut self, now: Now, wire: Option<i64>, message: Message, heard: &mut Heard) {
        match &message {
            Message::Result { id, .. } | Message::Error { id: Some(id), .. } => {
                let answered = id.as_i64();
                if answered != wire || wire.is_none() {
                    if self.is_modern() {
                        return self.ignore("an answer came in the exchange of another request");
                    }
                    heard.other = answered.filter(|answered| self.is_open(*answered));
                }
            }
            Message::Error { id: None, error } => {
                if let Some(wire) = wire.filter(|wire| self.is_open(*wire)) {
                    let error = ErrorObject::read(error);
                    return self.refused(now, wire, None, error);
                }
            }
            Message::Notification { method, params } => {
                if self.is_modern() && !self.belongs(wire, method, params) {
                    return self.ignore("a notification came in the exchange of another request");
                }
            }
            Message::Request { .. } | Message::Batch(_) => {}
        }
        self.on_message(now, message);
    }

    /// Whether a notification may come in an exchange: what names a request must name its own.
    fn belongs(&mut self, wire: Option<i64>, method: &MethodName, params: &Members) -> bool {
        let named = match method {
            MethodName::Known(Method::Progress) => {
                let token = params.raw(Field::ProgressToken).and_then(RequestId::from_json_text).map(ProgressToken);
                let Some(call) = token.and_then(|token| self.tokens.get(&token).copied()) else { return true };
                return matches!(wire.and_then(|wire| self.wires.get_mut(wire)), Some(Wire::Call(id)) if *id == call);
            }
            MethodName::Known(Method::Cancelled) => params.raw(Field::RequestId),
            MethodName::Known(_) | MethodName::Other(_) => params.meta_raw(MetaField::SubscriptionId),
        };
        named.is_none_or(|text| RequestId::from_json_text(text).and_then(|id| id.as_i64()) == wire)
    }

    /// The server answered a request with this HTTP status and an error.
    pub(crate) fn exchange_refused(&mut self, now: Now, wire: i64, status: u16, error: ErrorObject) {
        self.refused(now, wire, Some(status), error);
    }

    fn refused(&mut self, now: Now, wire: i64, status: Option<u16>, error: ErrorObject) {
        match (self.wires.remove(wire), status) {
            (Some(Wire::Connect), Some(status)) => self.probe_rejected(now, status, error),
            (Some(Wire::Connect), None) => self.connect_error(now, error),
            (Some(Wire::Call(id)), _) => self.call_error(now, id, error),
            (Some(Wire::Refresh(id)), _) => self.refresh_failed(id),
            (None, _) => {}
        }
    }

    /// An exchange brought no answer to its request. `wait` is what the server wants us to wait, if it says.
    pub(crate) fn exchange_failed(&mut self, now: Now, wire: i64, error: ExchangeError, wait: Option<Duration>) {
        match self.wires.remove(wire) {
            Some(Wire::Connect) => self.connect_failed(now, error),
            Some(Wire::Refresh(id)) => self.refresh_failed(id),
            Some(Wire::Call(id)) => {
                let budget = self.config.limits.resume_budget;
                let floor = self.config.limits.resume_floor.max(wait.unwrap_or_default());
                let Some(call) = self.calls.get_mut(id) else { return };
                let reopened = match &mut call.kind {
                    Kind::Listen(listen) => error.is_passing() && listen.reopens(now.mono, floor, budget),
                    Kind::Plain | Kind::Walk(_) => false,
                };
                let Kind::Listen(listen) = &call.kind else {
                    return self.done(id, Err(CallError::Exchange(error)));
                };
                let Some((_, times)) = listen.broken.filter(|_| reopened) else {
                    return self.done(id, Err(CallError::Exchange(error)));
                };
                call.idle = listen.idle;
                call.phase = Phase::Backoff { until: now.mono.after(pause(floor, times)) };
                self.calls.arm(id);
                // What was missed is not known.
                self.cache.forget(&[
                    Method::PromptsList,
                    Method::ResourcesList,
                    Method::ResourcesRead,
                    Method::ResourcesTemplatesList,
                    Method::ToolsList,
                ]);
            }
            None => {}
        }
    }

    fn connect_failed(&mut self, now: Now, error: ExchangeError) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Probing(state) => {
                let verdict = probe::judge(Outcome::Exchange(&error), &self.offers, state.repeated());
                self.obey(now, verdict, None);
            }
            State::Initializing(_) => self.not_connected(ConnectError::Exchange(error)),
            other => self.state = other,
        }
    }

    fn probe_rejected(&mut self, now: Now, status: u16, error: ErrorObject) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Probing(state) => {
                let outcome = Outcome::Rejected { status, error: &error };
                let verdict = probe::judge(outcome, &self.offers, state.repeated());
                self.obey(now, verdict, None);
            }
            other => {
                self.state = other;
                self.connect_error(now, error);
            }
        }
    }

    /// The server does not know the session that a request named, and has not looked at the request. `current` says
    /// that it is the session that is spoken; else there is a newer one already.
    pub(crate) fn session_gone(&mut self, now: Now, wire: i64, current: bool) {
        match self.wires.remove(wire) {
            Some(Wire::Call(id)) => {
                let Some(call) = self.calls.get_mut(id) else { return };
                if call.renewed {
                    return self.done(id, Err(CallError::Exchange(ExchangeError::SessionLost)));
                }
                call.renewed = true;
                call.phase = Phase::Waiting;
                if current {
                    self.renew(now);
                }
                self.send(now, id);
            }
            // Neither is sent within a session.
            Some(Wire::Connect) => self.connect_failed(now, ExchangeError::SessionLost),
            Some(Wire::Refresh(id)) => self.refresh_failed(id),
            None => {}
        }
    }

    /// Opens a new session instead of one that is gone.
    pub(crate) fn renew(&mut self, now: Now) {
        let State::Ready(facts) = &self.state else { return };
        let version = facts.version;
        let asked: Vec<_> = self
            .questions
            .iter()
            .filter(|(_, question)| matches!(question.origin, Origin::Request { .. }))
            .map(|(input, _)| *input)
            .collect();
        for input in asked {
            self.questions.remove(&input);
            self.event(Action::CancelledInput { input, reason: None });
        }
        for slot in self.inbound.slots() {
            if self.inbound.close(slot).is_some_and(|entry| matches!(entry.data, Owed::Invoke { .. }) && !entry.muted) {
                self.event(Action::CancelledInvoke { slot, reason: None });
            }
        }
        self.calls.set_paused(false, now.mono);
        self.initialize(now, version, Attempt { repeated: false, renewing: true });
    }

    /// The clocks of a request stand still: somebody is asked for credentials.
    pub(crate) fn hold(&mut self, now: Now, wire: i64) {
        match self.wires.get_mut(wire) {
            Some(Wire::Connect) => match &mut self.state {
                State::Initializing(state) => state.disarm(),
                State::Probing(state) => state.disarm(),
                State::Closed(_) | State::Idle | State::Ready(_) => {}
            },
            Some(Wire::Call(id) | Wire::Refresh(id)) => {
                if let Some(call) = self.calls.get_mut(*id) {
                    call.idle_at = None;
                    call.pause(now.mono);
                }
            }
            None => {}
        }
    }

    /// They run again.
    pub(crate) fn release(&mut self, now: Now, wire: i64) {
        let at = self.config.timeouts.idle.map(|idle| now.mono.after(idle));
        match self.wires.get_mut(wire) {
            Some(Wire::Connect) => match &mut self.state {
                State::Initializing(state) => state.arm(at),
                State::Probing(state) => state.arm(at),
                State::Closed(_) | State::Idle | State::Ready(_) => {}
            },
            Some(Wire::Call(id) | Wire::Refresh(id)) => {
                let id = *id;
                if let Some(call) = self.calls.get_mut(id) {
                    call.resume(now.mono);
                    call.touch(now.mono);
                    self.calls.arm(id);
                }
            }
            None => {}
        }
    }

    /// The idle clock of a request stands still until something is heard of it: its stream is resumed, and has a
    /// budget of its own.
    pub(crate) fn rest(&mut self, wire: i64) {
        if let Some(Wire::Call(id)) = self.wires.get_mut(wire)
            && let Some(call) = self.calls.get_mut(*id)
        {
            call.idle_at = None;
        }
    }
}

impl Listen {
    /// Whether a broken stream is opened again; notes that it is broken.
    fn reopens(&mut self, now: crate::machine::Mono, floor: Duration, budget: Duration) -> bool {
        if !self.acknowledged && self.broken.is_none() {
            // It was never open.
            return false;
        }
        let (since, times) = self.broken.map_or((now, 0), |(since, times)| (since, times.saturating_add(1)));
        self.acknowledged = false;
        self.broken = Some((since, times));
        since.after(budget) >= now.after(pause(floor, times))
    }
}

/// The wait before the next attempt: twice as long after each that failed.
fn pause(floor: Duration, times: u32) -> Duration {
    floor.saturating_mul(1_u32.checked_shl(times).unwrap_or(u32::MAX)).min(REOPEN_MOST.max(floor))
}
