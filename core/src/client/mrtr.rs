//! Rounds of input: a result that asks first becomes questions for the application, and the answers a retry.
//!
//! ```text
//!             ┌─ questions ──▶ Asking: NeedInput for each key ──all answered──▶ retry with inputResponses
//!  input_     │
//!  required ──┼─ state only ─▶ retry at once, later ones after 100 ms, 200 ms, … 5 s
//!             ├─ not declared ▶ the call ends; nothing is sent
//!             └─ neither ────▶ invalid result
//! ```
//!
//! The retry is the original request with a new id. `requestState` goes back as the very token that came, so that
//! even an escape survives, and only if one came. `inputResponses` is there only if `inputRequests` was. Nothing of
//! one request's rounds touches another's. Source: `basic/patterns/mrtr`.

use std::borrow::Cow;

use super::api::{Action, CallError, InputId, InputNeeded};
use super::calls::Phase;
use super::core::{Core, answer};
use super::inbound::{Asked, Origin, Question};
use crate::engine::silent::pause_before;
use crate::error::ErrorObject;
use crate::ids::CallId;
use crate::json::Json;
use crate::jsonrpc::{Field, Members, ObjectWriter};
use crate::limits::Bound;
use crate::machine::Now;
use crate::model::{ClientCapabilities, ElicitParams, InputRequest};
use crate::spec::Method;

/// Questions of one round.
#[derive(Debug)]
pub(super) struct Asking {
    answers: Vec<(Box<str>, InputId, Option<Json>)>,
}

impl Asking {
    /// The questions without an answer.
    pub(super) fn open(&self) -> Vec<InputId> {
        self.answers.iter().filter(|(_, _, answer)| answer.is_none()).map(|(_, input, _)| *input).collect()
    }

    /// Takes an answer; true if it was the last that was missing.
    fn take(&mut self, input: InputId, answer: Json) -> bool {
        if let Some((.., slot)) = self.answers.iter_mut().find(|(_, id, _)| *id == input) {
            *slot = Some(answer);
        }
        self.answers.iter().all(|(.., answer)| answer.is_some())
    }

    fn responses(&self) -> Json {
        let mut out = Vec::new();
        let mut object = ObjectWriter::new(&mut out);
        for (key, _, answer) in &self.answers {
            object.raw(key, answer.as_ref().map_or("null", Json::get));
        }
        object.end();
        Json::from_validated(out.into())
    }
}

/// One entry of `inputRequests`, understood.
struct Wanted {
    key: Box<str>,
    request: InputRequest,
    asked: Asked,
    raw: Json,
}

impl Core {
    pub(super) fn input_required(&mut self, now: Now, id: CallId, result: Members) {
        let Some(call) = self.calls.get_mut(id) else { return };
        if !call.request.known().is_some_and(Method::may_need_input) {
            return self.invalid_result(id, "a result of this method cannot be input_required", &result);
        }
        if !call.drive_input {
            return self.done(id, Ok(answer(result)));
        }
        call.rounds += 1;
        let limit = self.config.limits.rounds;
        if call.rounds > limit {
            return self.done(id, Err(CallError::RoundsExceeded { limit }));
        }
        let (requests, state) = (result.value(Field::InputRequests), result.value(Field::RequestState));
        if requests.is_none() && state.is_none() {
            return self.invalid_result(
                id,
                "an input_required result has neither inputRequests nor requestState",
                &result,
            );
        }
        if state.as_ref().is_some_and(|state| !state.is_string()) {
            return self.invalid_result(id, "requestState is no string", &result);
        }
        call.request.request_state = state;
        let wanted = match requests.map(|requests| self.wanted(&requests)) {
            None => None,
            Some(Ok(wanted)) => Some(wanted),
            Some(Err(CallError::InvalidResult { problem, .. })) => {
                let result = result.json();
                return self.done(id, Err(CallError::InvalidResult { problem, result }));
            }
            Some(Err(error)) => return self.done(id, Err(error)),
        };
        match wanted {
            None => self.retry_silently(now, id, None),
            Some(wanted) if wanted.is_empty() => self.retry_silently(now, id, Some(Json::EMPTY_OBJECT)),
            Some(wanted) => self.ask(now, id, wanted),
        }
    }

    /// Reads the questions, and refuses those that we have not declared.
    fn wanted(&self, requests: &Json) -> Result<Vec<Wanted>, CallError> {
        // Whoever calls puts the result in.
        fn invalid(problem: impl Into<Cow<'static, str>>) -> CallError {
            CallError::InvalidResult { problem: problem.into(), result: Json::NULL }
        }

        let entries = super::text::object(requests)
            .ok_or_else(|| invalid("inputRequests is no object, or a key stands twice"))?;
        let limit = self.config.limits.input_requests;
        if entries.len() > limit {
            let (bound, limit) = (Bound::InputRequests, limit as u64);
            return Err(CallError::BoundExceeded { bound, limit, partial: Vec::new() });
        }
        entries
            .into_iter()
            .map(|(key, entry)| {
                let request: InputRequest =
                    entry.parse().map_err(|_| invalid("an input request does not fit its method"))?;
                if let Some(what) = self.undeclared(&request) {
                    return Err(CallError::InputUnsupported { key: key.into_owned(), what: what.into() });
                }
                let asked = Asked::of(&request).map_err(invalid)?;
                Ok(Wanted { key: key.into(), request, asked, raw: params_of(&entry) })
            })
            .collect()
    }

    fn ask(&mut self, now: Now, id: CallId, wanted: Vec<Wanted>) {
        let mut answers = Vec::with_capacity(wanted.len());
        for Wanted { key, request, asked, raw } in wanted {
            let input = self.mint_input();
            if let Some(feature) = asked.deprecated() {
                self.deprecated(feature);
            }
            self.questions.insert(input, Question { origin: Origin::Round { call: id, key: key.clone() }, asked });
            let needed = InputNeeded { input, call: Some(id), key: key.clone().into_string(), request, raw };
            self.event(Action::NeedInput(Box::new(needed)));
            answers.push((key, input, None));
        }
        if let Some(call) = self.calls.get_mut(id) {
            call.silent_rounds = 0;
            call.pause(now.mono);
            call.phase = Phase::Asking(Box::new(Asking { answers }));
        }
    }

    /// The application has answered one question of a call.
    pub(super) fn round_answered(&mut self, now: Now, id: CallId, input: InputId, answer: Json) {
        let Some(call) = self.calls.get_mut(id) else { return };
        let Phase::Asking(asking) = &mut call.phase else { return };
        if asking.take(input, answer) {
            call.request.input_responses = Some(asking.responses());
            call.resume(now.mono);
            self.send(now, id);
        }
    }

    /// The application has refused a question, and the wire has no word for that: the call ends.
    pub(super) fn round_refused(&mut self, id: CallId, key: &str, error: ErrorObject) {
        self.done(id, Err(CallError::InputRefused { key: key.to_owned(), error }));
    }

    fn retry_silently(&mut self, now: Now, id: CallId, responses: Option<Json>) {
        let Some(call) = self.calls.get_mut(id) else { return };
        call.request.input_responses = responses;
        call.silent_rounds += 1;
        let wait = pause_before(call.silent_rounds);
        if wait.is_zero() {
            return self.send(now, id);
        }
        call.phase = Phase::Backoff { until: now.mono.after(wait) };
        self.calls.arm(id);
    }

    pub(super) fn mint_input(&mut self) -> InputId {
        self.last_input += 1;
        InputId(self.last_input)
    }

    /// What a question needs that we have not declared; `None` if we have.
    pub(super) fn undeclared(&self, request: &InputRequest) -> Option<String> {
        match request {
            InputRequest::Unknown(_) => Some("a method that is no input request".to_owned()),
            InputRequest::Elicit(ElicitParams::Unknown(_)) => Some("elicitation of an unknown mode".to_owned()),
            known => self
                .config
                .capabilities
                .missing(&known.required_capabilities())
                .map(|missing| named(&missing).to_owned()),
        }
    }
}

/// The params of an input request, `{}` if absent.
fn params_of(entry: &Json) -> Json {
    super::text::object(entry)
        .and_then(|members| members.into_iter().find(|(name, _)| name == "params"))
        .map(|(_, params)| params)
        .filter(|params| !params.is_null())
        .unwrap_or(Json::EMPTY_OBJECT)
}

/// The name of a missing capability, as the specification writes it.
fn named(missing: &ClientCapabilities) -> &'static str {
    if missing.elicitation.is_some() {
        match &missing.elicitation {
            Some(elicitation) if elicitation.url.is_some() => "elicitation.url",
            Some(elicitation) if elicitation.form.is_some() => "elicitation.form",
            _ => "elicitation",
        }
    } else if let Some(sampling) = &missing.sampling {
        if sampling.tools.is_some() {
            "sampling.tools"
        } else if sampling.context.is_some() {
            "sampling.context"
        } else {
            "sampling"
        }
    } else if missing.roots.is_some() {
        "roots"
    } else {
        "a capability"
    }
}
