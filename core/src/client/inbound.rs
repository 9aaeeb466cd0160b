//! Requests of a legacy server, and the answers to every question, of whichever era it came.
//!
//! | request | answered by |
//! |---|---|
//! | any, while the era is unknown or modern | nobody: a client writes no responses there |
//! | `ping` | the machine |
//! | a method that the configuration names | the application, raw (`Invoke`) |
//! | `elicitation/create`, `sampling/createMessage`, `roots/list` | the application (`NeedInput`), if declared |
//! | a feature that was not declared, any other method | the machine: -32601 |
//! | a mode or option that was not declared, params that do not fit | the machine: -32602 |
//!
//! While a legacy server waits for the application, the idle clocks of our calls stand still: it may be waiting on
//! behalf of any of them. Sources: 2025-11-25 `client/elicitation`, `client/sampling`, `client/roots`,
//! `basic/utilities/ping`, `basic/utilities/cancellation`; 2025-03-26 `basic/index` (Batching).

use std::collections::BTreeMap;

use bytes::Bytes;

use super::answer::{Form, Supplied};
use super::api::{Action, InputAnswer, InputId, InputNeeded};
use super::core::{Core, Route, owned_name};
use crate::copy::append;
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::engine::inbound::Refused;
use crate::error::{Error, ErrorObject, Misuse};
use crate::ids::{CallId, ReplySlot, RequestId, SlotId};
use crate::json::Json;
use crate::jsonrpc::{Field, FrameWriter, Members, MethodName};
use crate::limits::Bound;
use crate::machine::Now;
use crate::model::{ElicitParams, InputRequest, UrlElicitationData};
use crate::spec::{Era, ErrorCode, Method, Version};

/// A request of the server that is owed an answer.
#[derive(Debug)]
pub(super) enum Owed {
    Invoke { batch: Option<BatchId> },
    Question { input: InputId, batch: Option<BatchId> },
}

impl Owed {
    const fn batch(&self) -> Option<BatchId> {
        match self {
            Self::Invoke { batch } | Self::Question { batch, .. } => *batch,
        }
    }
}

/// A question that the application has not answered.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) origin: Origin,
    pub(super) asked: Asked,
}

/// Who asked.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// A request of a legacy server.
    Request { slot: SlotId },
    /// A result that wants input first.
    Round { call: CallId, key: Box<str> },
}

/// What was asked, as far as the answer depends on it.
#[derive(Debug)]
pub(super) enum Asked {
    Form(Form),
    Roots,
    Sample,
    Url,
}

impl Asked {
    /// Fails if the request has a form that cannot be checked, or messages that break the rules.
    pub(super) fn of(request: &InputRequest) -> Result<Self, String> {
        Ok(match request {
            InputRequest::Elicit(ElicitParams::Form(form)) => Self::Form(
                Form::read(&form.requested_schema).map_err(|error| format!("the form cannot be used: {error}"))?,
            ),
            InputRequest::Sample(params) => {
                params.check().map_err(|error| error.to_string())?;
                Self::Sample
            }
            InputRequest::Roots(_) => Self::Roots,
            // Modes and methods that are not known were refused before.
            InputRequest::Elicit(_) | InputRequest::Unknown(_) => Self::Url,
        })
    }

    /// The feature, if 2026-07-28 deprecates it.
    pub(super) const fn deprecated(&self) -> Option<&'static str> {
        match self {
            Self::Roots => Some("roots"),
            Self::Sample => Some("sampling"),
            Self::Form(_) | Self::Url => None,
        }
    }
}

/// The name of a batch whose answers go out together.
pub(super) type BatchId = u64;

/// Batches with open requests.
#[derive(Debug, Default)]
pub(super) struct Batches {
    last: BatchId,
    open: BTreeMap<BatchId, Batch>,
}

#[derive(Debug, Default)]
struct Batch {
    /// Requests that are owed an answer.
    owed: usize,
    /// Whether all messages of the batch were read.
    sealed: bool,
    answers: Vec<Bytes>,
}

impl Batches {
    pub(super) fn open(&mut self) -> BatchId {
        self.last += 1;
        self.open.insert(self.last, Batch::default());
        self.last
    }

    fn batch(&mut self, id: Option<BatchId>) -> Option<&mut Batch> {
        self.open.get_mut(&id?)
    }

    /// Ends the batch if everything is answered; the frame, if there was anything to answer.
    fn finish(&mut self, id: BatchId) -> Option<Bytes> {
        let batch = self.open.get(&id)?;
        if !batch.sealed || batch.owed > 0 {
            return None;
        }
        let batch = self.open.remove(&id)?;
        if batch.answers.is_empty() {
            return None;
        }
        let mut out = vec![b'['];
        for (index, answer) in batch.answers.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(answer.strip_suffix(b"\n").unwrap_or(answer));
        }
        out.extend_from_slice(b"]\n");
        Some(out.into())
    }
}

impl Core {
    pub(super) fn on_request(
        &mut self,
        now: Now,
        id: RequestId,
        method: &MethodName,
        params: &Members,
        batch: Option<BatchId>,
    ) {
        if self.era() != Some(Era::Legacy) {
            let text = "the server sent a request, which only a legacy session allows";
            return self.diagnose(Diagnostic::new(DiagnosticKind::Ignored, text).of(&id));
        }
        if let Some(batch) = self.batches.batch(batch) {
            batch.owed += 1;
        }
        if let Err(error) = params.check() {
            return self.refuse(&id, batch, &ErrorObject::invalid_params(error.to_string()));
        }
        if *method == MethodName::Known(Method::Ping) {
            return self.respond(&id, batch, &Ok(Json::EMPTY_OBJECT));
        }
        let Some(version) = self.version() else {
            let error = ErrorObject::invalid_request("the session is not open yet");
            return self.refuse(&id, batch, &error);
        };
        if self.config.server_methods.contains(method.as_str()) {
            return self.invoke(id, method, params, batch);
        }
        let MethodName::Known(known @ (Method::ElicitationCreate | Method::RootsList | Method::SamplingCreateMessage)) =
            method
        else {
            return self.refuse(&id, batch, &ErrorObject::method_not_found(method.as_str()));
        };
        if !known.exists_in(version) || !self.declares(*known) {
            return self.refuse(&id, batch, &ErrorObject::method_not_found(method.as_str()));
        }
        match self.read_question(*known, params) {
            Ok((request, asked)) => self.question(now, id, request, asked, params.json(), batch),
            Err(error) => self.refuse(&id, batch, &error),
        }
    }

    /// Whether the feature behind a request was declared at all.
    const fn declares(&self, method: Method) -> bool {
        let declared = &self.config.capabilities;
        match method {
            Method::ElicitationCreate => declared.elicitation.is_some(),
            Method::RootsList => declared.roots.is_some(),
            Method::SamplingCreateMessage => declared.sampling.is_some(),
            _ => false,
        }
    }

    fn read_question(&self, method: Method, params: &Members) -> Result<(InputRequest, Asked), ErrorObject> {
        let unfit = |_| ErrorObject::invalid_params("the params do not fit the method");
        let json = params.json();
        let request = match method {
            Method::ElicitationCreate => InputRequest::Elicit(json.parse().map_err(unfit)?),
            Method::SamplingCreateMessage => InputRequest::Sample(Box::new(json.parse().map_err(unfit)?)),
            _ => InputRequest::Roots(json.parse().map_err(unfit)?),
        };
        if let Some(what) = self.undeclared(&request) {
            return Err(ErrorObject::invalid_params(format!("not declared: {what}")));
        }
        let asked = Asked::of(&request).map_err(ErrorObject::invalid_params)?;
        Ok((request, asked))
    }

    fn invoke(&mut self, id: RequestId, method: &MethodName, params: &Members, batch: Option<BatchId>) {
        match self.inbound.open(id.clone(), None, Owed::Invoke { batch }) {
            Ok(slot) => {
                self.event(Action::Invoke { slot: ReplySlot(slot), method: owned_name(method), params: params.json() })
            }
            Err(refused) => self.no_slot(&id, batch, refused),
        }
    }

    fn question(
        &mut self,
        now: Now,
        id: RequestId,
        request: InputRequest,
        asked: Asked,
        raw: Json,
        batch: Option<BatchId>,
    ) {
        let input = self.mint_input();
        let slot = match self.inbound.open(id.clone(), None, Owed::Question { input, batch }) {
            Ok(slot) => slot,
            Err(refused) => return self.no_slot(&id, batch, refused),
        };
        if let InputRequest::Elicit(ElicitParams::Url(url)) = &request
            && let Some(name) = &url.elicitation_id
        {
            self.expect_elicitation(name);
        }
        self.questions.insert(input, Question { origin: Origin::Request { slot }, asked });
        self.pause_for_questions(now);
        let needed = InputNeeded { input, call: None, key: String::new(), request, raw };
        self.event(Action::NeedInput(Box::new(needed)));
    }

    fn no_slot(&mut self, id: &RequestId, batch: Option<BatchId>, refused: Refused) {
        let error = match refused {
            Refused::Duplicate => ErrorObject::invalid_request("a request with this id is in flight"),
            Refused::Full => Error::limit(Bound::InFlight, self.config.limits.in_flight).to_object(),
        };
        self.refuse(id, batch, &error);
    }

    fn refuse(&mut self, id: &RequestId, batch: Option<BatchId>, error: &ErrorObject) {
        self.diagnose(
            Diagnostic::new(DiagnosticKind::Refused, format!("a request of the server was refused: {}", error.code))
                .of(id),
        );
        self.respond(id, batch, &Err(error.clone()));
    }

    /// Writes one response, or keeps it for its batch.
    fn respond(&mut self, id: &RequestId, batch: Option<BatchId>, reply: &Result<Json, ErrorObject>) {
        let frame = match reply {
            Ok(result) => {
                let mut frame = FrameWriter::result(id, result.as_bytes().len());
                append(frame.out(), result.as_bytes());
                frame.finish()
            }
            Err(error) => FrameWriter::error(Some(id), false, error),
        };
        match self.batches.batch(batch) {
            Some(open) => {
                open.answers.push(frame);
                self.settle_batch(batch);
            }
            None => self.frame(frame, Route::Response),
        }
    }

    /// One request of a batch has ended.
    fn settle_batch(&mut self, id: Option<BatchId>) {
        let Some(batch) = self.batches.batch(id) else { return };
        batch.owed = batch.owed.saturating_sub(1);
        if let Some(frame) = id.and_then(|id| self.batches.finish(id)) {
            self.frame(frame, Route::Response);
        }
    }

    pub(super) fn seal_batch(&mut self, id: BatchId) {
        if let Some(batch) = self.batches.batch(Some(id)) {
            batch.sealed = true;
        }
        if let Some(frame) = self.batches.finish(id) {
            self.frame(frame, Route::Response);
        }
    }

    /// The server wants no answer to a request of its own.
    pub(super) fn on_cancelled_request(&mut self, now: Now, params: &Members) {
        let Some(id) = params.raw(Field::RequestId).and_then(RequestId::from_json_text) else { return };
        let reason = params.string(Field::Reason).ok().flatten().map(Box::from);
        let Some(slot) = self.inbound.cancel(&id) else { return };
        let Some(entry) = self.inbound.get_mut(slot) else { return };
        let batch = entry.data.batch();
        match entry.data {
            Owed::Question { input, .. } => {
                self.inbound.close(slot);
                self.questions.remove(&input);
                self.pause_for_questions(now);
                self.event(Action::CancelledInput { input, reason });
            }
            Owed::Invoke { .. } => self.event(Action::CancelledInvoke { slot, reason }),
        }
        self.settle_batch(batch);
    }

    pub(crate) fn reply(&mut self, slot: SlotId, reply: &Result<Json, ErrorObject>) -> Result<(), Error> {
        self.alive()?;
        if !matches!(self.inbound.get_mut(slot).map(|entry| &entry.data), Some(Owed::Invoke { .. })) {
            return Err(Misuse::SlotNotOpen.into());
        }
        if reply.as_ref().is_ok_and(|result| !result.is_object()) {
            return Err(Misuse::Argument("a result must be an object".into()).into());
        }
        let Some(entry) = self.inbound.close(slot) else { return Ok(()) };
        if entry.muted {
            self.diagnose(
                Diagnostic::new(DiagnosticKind::Muted, "a reply came after the server had cancelled its request")
                    .of(&entry.id),
            );
            return Ok(());
        }
        self.respond(&entry.id, entry.data.batch(), reply);
        Ok(())
    }

    pub(crate) fn supply_input(&mut self, now: Now, input: InputId, answer: &InputAnswer) -> Result<(), Error> {
        self.alive()?;
        let version = self.version().unwrap_or(Version::LATEST);
        let question = self.questions.get(&input).ok_or(Misuse::WrongState("the question is not open"))?;
        let supplied = super::answer::judge(&question.asked, answer, self.config.apply_defaults, version)?;
        let Some(Question { origin, .. }) = self.questions.remove(&input) else { return Ok(()) };
        match (origin, supplied) {
            (Origin::Request { slot }, supplied) => {
                self.pause_for_questions(now);
                let reply = match supplied {
                    Supplied::Result(result) => Ok(result),
                    Supplied::Refused { error, .. } => Err(error),
                };
                if let Some(entry) = self.inbound.close(slot) {
                    self.respond(&entry.id, entry.data.batch(), &reply);
                }
            }
            (Origin::Round { call, .. }, Supplied::Result(result)) => {
                self.round_answered(now, call, input, super::answer::without_meta(&result));
            }
            (Origin::Round { call, .. }, Supplied::Refused { instead: Some(result), .. }) => {
                self.round_answered(now, call, input, result);
            }
            (Origin::Round { call, key }, Supplied::Refused { error, instead: None }) => {
                self.round_refused(call, &key, error);
            }
        }
        Ok(())
    }

    /// The idle clocks stand still while a legacy server waits for the application.
    fn pause_for_questions(&mut self, now: Now) {
        let waits = self.questions.values().any(|question| matches!(question.origin, Origin::Request { .. }));
        self.calls.set_paused(waits, now.mono);
    }

    fn expect_elicitation(&mut self, name: &str) {
        if self.elicitations.len() < self.config.limits.in_flight {
            self.elicitations.insert(name.into());
        }
    }

    /// -32042 names elicitations whose completion will be announced.
    pub(super) fn expect_elicitations(&mut self, error: &ErrorObject) {
        if error.code != ErrorCode::URL_ELICITATION_REQUIRED {
            return;
        }
        let data: Option<UrlElicitationData> = error.data.as_ref().and_then(|data| data.parse().ok());
        for url in data.into_iter().flat_map(|data| data.elicitations) {
            if let Some(name) = &url.elicitation_id {
                self.expect_elicitation(name);
            }
        }
    }
}
