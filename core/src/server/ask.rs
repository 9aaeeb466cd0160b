//! Requests to a legacy client: questions of handlers, and requests of the application.
//!
//! ```text
//!  reply(InputRequired) ─▶ one request for each question ─▶ all answered ─▶ Invoke again, with all answers
//!                               │ cancelled by the client, timed out, gone: withdrawn
//! ```
//!
//! A question that no answer comes to counts as refused: the handler sees an error under its key and decides.

use std::sync::Arc;
use std::time::Duration;

use super::admit::{Admission, admit};
use super::api::{Action, InputRequired, Invocation, Reply, RequestFailure};
use super::context::Rounds;
use super::core::{Core, Key, Outgoing};
use super::rounds::{self, Unaskable};
use super::wire::{Origin, Route};
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::engine::silent::pause_before;
use crate::error::{Error, ErrorObject, Misuse};
use crate::ids::{CallId, ReplySlot, RequestId, SlotId};
use crate::json::Json;
use crate::jsonrpc::FrameWriter;
use crate::limits::Bound;
use crate::machine::Now;
use crate::model::{ClientCapabilities, CreateMessageParams, ElicitParams, ElicitationCapability};
use crate::spec::{ErrorCode, Kind, Method, Sender};

/// A question that waits for its answer.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) slot: SlotId,
    pub(super) origin: Origin,
    pub(super) key: String,
}

/// A round of questions.
#[derive(Debug)]
pub(super) struct Asking {
    waiting: usize,
    rounds: Rounds,
}

impl Core {
    /// Sends a request to the client of the legacy session. The answer comes as [`Action::Answered`].
    pub(crate) fn request(
        &mut self,
        now: Now,
        slot: Option<SlotId>,
        method: &str,
        params: Option<&Json>,
        timeout: Option<Duration>,
    ) -> Result<CallId, Error> {
        self.out.touch(now);
        self.check_open()?;
        let mut on_behalf = None;
        if let Some(slot) = slot {
            let entry = self.inbound.get_mut(slot).filter(|entry| !entry.muted).ok_or(Misuse::SlotNotOpen)?;
            on_behalf = Some((slot, entry.data.way.origin));
            if entry.data.context.era() == crate::spec::Era::Modern {
                return Err(Misuse::WrongState("a modern client is asked with InputRequired").into());
            }
        }
        if !self.wire.carries_related() {
            return Err(Misuse::WrongState("this transport carries answers only: the client cannot be asked").into());
        }
        let known = Method::parse(method);
        let Some(session) = &self.session else {
            return Err(Misuse::WrongState("only a legacy session takes requests of the server").into());
        };
        if !session.initialized && known != Some(Method::Ping) {
            return Err(Misuse::WrongState("the session is not initialized yet").into());
        }
        if known.is_some_and(|known| {
            known.kind() != Kind::Request || known.sender() == Sender::Client || !known.exists_in(session.version)
        }) {
            return Err(Misuse::WrongState("the session's revision has no such request of a server").into());
        }
        let needed = known.and_then(|known| required(known, params));
        if needed.is_some_and(|needed| session.facts.capabilities().missing(&needed).is_some()) {
            return Err(Misuse::WrongState("the client has not declared what the request needs").into());
        }
        let id = self.send_request(now, Outgoing::Request(on_behalf), method, params, timeout)?;
        Ok(CallId(id.unsigned_abs()))
    }

    /// Withdraws a request: the client is told, and no answer is delivered.
    pub(crate) fn cancel_request(&mut self, now: Now, call: CallId, reason: Option<&str>) -> Result<(), Error> {
        self.out.touch(now);
        let id = i64::try_from(call.0).map_err(|_| Misuse::CallNotOpen)?;
        if !matches!(self.outbound.get_mut(id), Some(Outgoing::Request(_))) {
            return Err(Misuse::CallNotOpen.into());
        }
        let origin = self.outbound.remove(id).and_then(|outgoing| outgoing.origin());
        self.tell_withdrawn(id, origin, reason);
        Ok(())
    }

    /// Announces that an elicitation by URL has ended (2025-11-25 only; elsewhere nothing is sent).
    pub(crate) fn elicitation_complete(&mut self, now: Now, elicitation_id: &str) -> super::api::Sent {
        self.out.touch(now);
        if !self.session.as_ref().is_some_and(|session| session.version.has_url_elicitation_error()) {
            return super::api::Sent::NotWanted;
        }
        let frame = FrameWriter::notification(Method::ElicitationComplete.as_str(), 64).params(|params| {
            params.string("elicitationId", elicitation_id);
        });
        self.write(frame, Route::Standing(None));
        super::api::Sent::Yes
    }

    fn send_request(
        &mut self,
        now: Now,
        outgoing: Outgoing,
        method: &str,
        params: Option<&Json>,
        timeout: Option<Duration>,
    ) -> Result<i64, Error> {
        let bound = self.definition.policy.limits.calls;
        let origin = outgoing.origin();
        let id = self.outbound.open(outgoing).ok_or_else(|| Error::limit(Bound::Calls, bound))?;
        let frame = FrameWriter::request(&RequestId::from(id), method, params.map_or(0, |params| params.get().len()));
        let frame = match params {
            Some(params) => frame.params_raw(params.as_bytes()),
            None => frame.finish(),
        };
        self.write(frame, route(origin, Some(id)));
        self.arm(now, id, timeout);
        Ok(id)
    }

    /// Asks a legacy client what a handler needs.
    pub(super) fn ask(&mut self, now: Now, slot: SlotId, asked: &InputRequired) -> Result<(), Error> {
        self.deadlines.clear(Key::Invocation(slot));
        let Some(entry) = self.inbound.get_mut(slot) else { return Err(Misuse::SlotNotOpen.into()) };
        let (version, origin) = (entry.data.context.version(), entry.data.way.origin);
        let mut rounds = entry.data.context.rounds.as_ref().map(|rounds| (**rounds).clone()).unwrap_or_default();
        rounds.round = rounds.round.saturating_add(1);
        let round = rounds.round;
        rounds.state = asked.state.clone();
        rounds.memo = asked.memo.clone();
        let limits = &self.definition.policy.limits;
        if !self.definition.policy.legacy_shim || rounds.round > limits.rounds {
            let why = if self.definition.policy.legacy_shim {
                Unaskable::Refuse(Error::limit(Bound::Rounds, limits.rounds as usize).to_object())
            } else {
                Unaskable::Handler("questions on a legacy wire are switched off".to_owned())
            };
            self.cannot_ask(slot, why);
            return Ok(());
        }
        if !self.wire.carries_related() {
            let why = "this transport carries answers only: the client cannot be asked".to_owned();
            self.cannot_ask(slot, Unaskable::Handler(why));
            return Ok(());
        }
        if self.session.as_ref().is_some_and(|session| !session.initialized) {
            let error = ErrorObject::invalid_request("input is needed, and the session is not initialized yet");
            self.cannot_ask(slot, Unaskable::Refuse(error));
            return Ok(());
        }
        let mut prepared = Vec::with_capacity(asked.requests.len());
        for (key, request) in &asked.requests {
            match rounds::legacy_params(request, version, self.rng.get()) {
                Ok(params) => prepared.push((key, request.method(), params)),
                Err(why) => {
                    self.cannot_ask(slot, why);
                    return Ok(());
                }
            }
        }
        let slot = self.inbound.renew(slot).ok_or(Misuse::SlotNotOpen)?;
        if let Some(entry) = self.inbound.get_mut(slot) {
            entry.data.asking = Some(Box::new(Asking { waiting: prepared.len(), rounds }));
        }
        for (key, method, params) in prepared {
            let question = Outgoing::Question(Question { slot, origin, key: key.clone() });
            let method = method.map_or("", Method::as_str);
            let timeout = asked.timeouts.get(key).copied();
            if let Err(error) = self.send_request(now, question, method, Some(&params), timeout) {
                self.answered(now, slot, key.clone(), Err(error.to_object()));
            }
        }
        match asked.requests.is_empty().then(|| pause_before(round)) {
            Some(pause) if !pause.is_zero() => self.deadlines.set(Key::Again(slot), now.mono.after(pause)),
            _ => self.invoke_again_if_answered(now, slot),
        }
        Ok(())
    }

    /// The client answered one of our requests. `Err(None)` is a result that is no object.
    pub(super) fn receive_answer(&mut self, now: Now, id: &RequestId, answer: Result<Json, Option<ErrorObject>>) {
        let Some((wire, outgoing)) = self.outbound.close(id) else {
            return self.say(Diagnostic::new(DiagnosticKind::Ignored, "an answer that nothing waits for").of(id));
        };
        self.deadlines.clear(Key::Outgoing(wire));
        let answer = answer.map_err(|error| {
            error.unwrap_or_else(|| {
                ErrorObject::new(ErrorCode::INTERNAL_ERROR, "the client answered with a result that is no object")
            })
        });
        self.deliver(now, wire, outgoing, answer.map_err(RequestFailure::Remote));
    }

    fn deliver(&mut self, now: Now, wire: i64, outgoing: Outgoing, outcome: Result<Json, RequestFailure>) {
        match outgoing {
            Outgoing::Request(_) => {
                self.event(Action::Answered { call: CallId(wire.unsigned_abs()), outcome });
            }
            Outgoing::Question(Question { slot, key, .. }) => {
                let answer = outcome.map_err(|failure| match failure {
                    RequestFailure::Remote(error) => error,
                    RequestFailure::TimedOut => {
                        ErrorObject::new(ErrorCode::INTERNAL_ERROR, "the client did not answer in time")
                    }
                    RequestFailure::Gone => ErrorObject::new(ErrorCode::INTERNAL_ERROR, "the client is gone"),
                });
                self.answered(now, slot, key, answer);
                self.invoke_again_if_answered(now, slot);
            }
        }
    }

    fn answered(&mut self, _now: Now, slot: SlotId, key: String, answer: Result<Json, ErrorObject>) {
        let entry = self.inbound.get_mut(slot);
        if let Some(asking) = entry.and_then(|entry| entry.data.asking.as_mut()) {
            asking.waiting = asking.waiting.saturating_sub(1);
            asking.rounds.answers.insert(key, answer);
        }
    }

    /// Runs the handler again once everything that it asked is answered.
    pub(super) fn invoke_again_if_answered(&mut self, now: Now, slot: SlotId) {
        let Some(entry) = self.inbound.get_mut(slot) else { return };
        if entry.data.asking.as_ref().is_none_or(|asking| asking.waiting > 0) {
            return;
        }
        let Some(asking) = entry.data.asking.take() else { return };
        entry.data.context.rounds = Some(Arc::new(asking.rounds));
        let context = entry.data.context.clone();
        let request = &context.request;
        // What was asked follows from the request, which has not changed; the definition may have.
        match admit(&self.definition, request.version, &request.method, &request.params) {
            Ok(Admission::Invoke(call, expects)) => {
                if let Some(entry) = self.inbound.get_mut(slot) {
                    entry.data.expects = expects;
                }
                if let Some(limit) = self.definition.policy.limits.invocation {
                    self.deadlines.set(Key::Invocation(slot), now.mono.after(limit));
                }
                let slot = ReplySlot(slot);
                self.event(Action::Invoke(Box::new(Invocation { slot, call, context })));
            }
            Ok(_) => self.finish_with(slot, Reply::Failed),
            Err(error) => self.finish_with(slot, Reply::Error(error)),
        }
    }

    pub(super) fn request_timed_out(&mut self, wire: i64) {
        // The time does not matter for what follows but for a deadline of the next invocation, which starts now.
        let Some(outgoing) = self.outbound.remove(wire) else { return };
        self.tell_withdrawn(wire, outgoing.origin(), Some("timed out"));
        let now = self.out.now();
        self.deliver(now, wire, outgoing, Err(RequestFailure::TimedOut));
    }

    /// A request of ours cannot reach the client: it has no answer.
    pub(crate) fn request_gone(&mut self, now: Now, wire: i64) {
        let Some(outgoing) = self.outbound.remove(wire) else { return };
        self.deadlines.clear(Key::Outgoing(wire));
        self.deliver(now, wire, outgoing, Err(RequestFailure::Gone));
    }

    /// Withdraws what was asked on behalf of a slot.
    pub(super) fn withdraw_requests(&mut self, slot: SlotId) {
        let taken = self.outbound.take_if(|outgoing| match outgoing {
            Outgoing::Question(question) => question.slot == slot,
            Outgoing::Request(on_behalf) => on_behalf.is_some_and(|(known, _)| known == slot),
        });
        for (wire, outgoing) in taken {
            self.tell_withdrawn(wire, outgoing.origin(), Some("the request that it served was cancelled"));
            if let Outgoing::Request(_) = outgoing {
                let outcome = Err(RequestFailure::Gone);
                self.event(Action::Answered { call: CallId(wire.unsigned_abs()), outcome });
            }
        }
    }

    /// The client will send no more: nothing that we asked is answered.
    pub(super) fn client_gone(&mut self) {
        let now = self.out.now();
        for (wire, outgoing) in self.outbound.take_if(|_| true) {
            self.deadlines.clear(Key::Outgoing(wire));
            self.deliver(now, wire, outgoing, Err(RequestFailure::Gone));
        }
    }

    fn tell_withdrawn(&mut self, wire: i64, origin: Option<Origin>, reason: Option<&str>) {
        self.deadlines.clear(Key::Outgoing(wire));
        let frame = FrameWriter::notification(Method::Cancelled.as_str(), 64).params(|params| {
            params.integer("requestId", wire);
            if let Some(reason) = reason {
                params.string("reason", reason);
            }
        });
        self.write(frame, route(origin, None));
    }
}

/// With its request, or with none.
fn route(origin: Option<Origin>, id: Option<i64>) -> Route {
    origin.map_or(Route::Standing(id), |origin| Route::Related(origin, id))
}

/// What the client must have declared for a request of ours. Params that cannot be read need the feature alone.
fn required(method: Method, params: Option<&Json>) -> Option<ClientCapabilities> {
    let empty = Json::EMPTY_OBJECT;
    let params = params.unwrap_or(&empty);
    let none = ClientCapabilities::new();
    Some(match method {
        Method::ElicitationCreate => match params.parse::<ElicitParams>() {
            Ok(params) => params.required_capabilities(),
            Err(_) => none.elicitation(ElicitationCapability::new()),
        },
        Method::RootsList => none.with_roots(),
        Method::SamplingCreateMessage => match params.parse::<CreateMessageParams>() {
            Ok(params) => params.required_capabilities(),
            Err(_) => none.with_sampling(),
        },
        _ => return None,
    })
}
