//! Messages of the client: judged by era, admitted, answered or handed over.
//!
//! | request | era |
//! |---|---|
//! | `initialize` without an envelope | opens a legacy session |
//! | names its revision in `_meta` | modern, whatever came before |
//! | any other, with a session | the session's revision |
//! | any other, without one | refused; `ping` is answered |

use std::sync::Arc;

use bytes::Bytes;

use super::admit::{Admission, admit};
use super::api::{Action, Call, Invocation, Notified};
use super::context::{Context, Request, Rounds};
use super::core::{Batch, Core, Key, Out, Pending};
use super::envelope;
use super::listen;
use super::result;
use super::rounds::{self, BadRetry};
use super::session::Session;
use super::wire::{Fate, Origin, Route, Way, Wire};
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::engine::inbound::Refused;
use crate::error::{Error, ErrorObject};
use crate::ids::{ProgressToken, ReplySlot, RequestId};
use crate::jsonrpc::{
    Field, FrameWriter, Head, InvalidFrame, Members, Message, MetaField, MethodName, decode, decode_into,
    decode_plain_line_into,
};
use crate::limits::Bound;
use crate::machine::Now;
use crate::model::LoggingLevel;
use crate::spec::{Era, Method, Version};

impl Core {
    pub(crate) fn on_frame(&mut self, now: Now, frame: Bytes) {
        self.read(now, |depth, params| decode_into(frame, depth, params));
    }

    /// As [`Core::on_frame`], for a line that is plain text.
    pub(crate) fn on_plain_line(&mut self, now: Now, line: Bytes) {
        self.read(now, |depth, params| decode_plain_line_into(line, depth, params));
    }

    /// Reads a frame. What nearly all frames are, a request, is read to where it stays until it is answered: its params
    /// are large, and each hand that they went through would cost a copy.
    #[inline(always)]
    fn read(&mut self, now: Now, decode: impl FnOnce(usize, &mut Members) -> Result<Head, InvalidFrame>) {
        let mut shared = Arc::new(Request::UNREAD);
        // Nobody else has it yet.
        let Some(request) = Arc::get_mut(&mut shared) else { return };
        match decode(self.definition.policy.limits.json_depth, &mut request.params) {
            Ok(Head::Request { id, method }) => {
                (request.id, request.method) = (id, method);
                let accepted = self.accept(request);
                self.receive_request(now, shared, accepted, Way::alone(0));
            }
            Ok(head) => {
                let body = std::mem::replace(&mut request.params, Members::absent());
                self.on_message(now, head.with(body), 0);
            }
            Err(invalid) => self.on_invalid_frame(now, invalid),
        }
    }

    #[cold]
    fn on_invalid_frame(&mut self, now: Now, invalid: InvalidFrame) {
        let (request, answered) = (invalid.request().cloned(), invalid.answered().cloned());
        let error = Error::InvalidFrame(invalid);
        match request {
            Some(id) => {
                self.say(Diagnostic::new(kind_of(&error), error.to_string()).of(&id));
                self.send_refusal(&id, &error.to_object(), Way::alone(0));
            }
            None => self.refuse_frame(&error, 0),
        }
        if let Some(id) = answered {
            // Whoever waits for it need not wait for another.
            self.receive_answer(now, &id, Err(None));
        }
    }

    /// Takes a message that came with `origin`.
    #[inline(never)]
    pub(crate) fn on_message(&mut self, now: Now, message: Message, origin: Origin) {
        match message {
            Message::Batch(parts) => self.receive_batch(now, &parts, origin),
            message => self.receive_message(now, message, Way::alone(origin)),
        }
    }

    /// Answers a frame whose id could not be read, once.
    #[cold]
    pub(crate) fn refuse_frame(&mut self, error: &Error, origin: Origin) {
        self.say(Diagnostic::new(kind_of(error), error.to_string()));
        let null_id = self.session.as_ref().is_some_and(|session| !session.version.error_id_is_optional());
        let error = error.to_object();
        self.write(FrameWriter::error(None, null_id, &error), Route::Answer(origin, Fate::Refused(error.code)));
    }

    /// A batch of a session that has them. Its answers go out together, as one array.
    #[cold]
    fn receive_batch(&mut self, now: Now, parts: &[Bytes], origin: Origin) {
        let limits = &self.definition.policy.limits;
        if !self.session.as_ref().is_some_and(|session| session.version.has_batches()) {
            let what = "batches exist in 2025-03-26 only";
            return self.refuse_frame(&InvalidFrame::NotMessage { what, of: None }.into(), origin);
        }
        if parts.is_empty() {
            let what = "a batch is not empty";
            return self.refuse_frame(&InvalidFrame::NotMessage { what, of: None }.into(), origin);
        }
        if parts.len() > limits.batch_messages {
            return self.refuse_frame(&Error::limit(Bound::BatchMessages, limits.batch_messages), origin);
        }
        let depth = limits.json_depth;
        let batch = self.next_batch;
        self.next_batch += 1;
        // One more than there are requests: the batch must not end before all of it is read.
        self.batches.insert(batch, Batch { origin, waiting: 1, answers: Vec::new() });
        for part in parts {
            match decode(part, depth) {
                Ok(Message::Batch(_)) => self.answer_invalid_part(batch, "a batch holds no batch", None),
                Ok(message) => self.receive_message(now, message, Way { origin, batch: Some(batch) }),
                Err(invalid) => {
                    let what = if let InvalidFrame::NotMessage { what, .. } = invalid { what } else { "not a message" };
                    self.answer_invalid_part(batch, what, invalid.request().cloned());
                    if let Some(id) = invalid.answered() {
                        self.receive_answer(now, id, Err(None));
                    }
                }
            }
        }
        self.leave_batch(batch, None);
    }

    #[cold]
    fn answer_invalid_part(&mut self, batch: u64, what: &'static str, id: Option<RequestId>) {
        self.say(Diagnostic::new(DiagnosticKind::InvalidFrame, what));
        let frame = FrameWriter::error(id.as_ref(), true, &ErrorObject::invalid_request(what));
        if let Some(batch) = self.batches.get_mut(&batch) {
            batch.answers.push(frame);
        }
    }

    fn receive_message(&mut self, now: Now, message: Message, way: Way) {
        match message {
            Message::Request { id, method, params } => {
                if let Some(batch) = way.batch.and_then(|batch| self.batches.get_mut(&batch)) {
                    batch.waiting += 1;
                }
                let mut request = Request { id, method, params, ..Request::UNREAD };
                let accepted = self.accept(&mut request);
                self.receive_request(now, Arc::new(request), accepted, way);
            }
            Message::Notification { method, params } => self.receive_notification(now, method, &params),
            Message::Result { id, result } => {
                let json = result.json();
                self.receive_answer(now, &id, if result.is_object() { Ok(json) } else { Err(None) });
            }
            Message::Error { id: Some(id), error } => {
                self.receive_answer(now, &id, Err(Some(ErrorObject::read(&error))));
            }
            Message::Error { id: None, .. } => {
                self.say(Diagnostic::new(DiagnosticKind::Ignored, "the client could not read one of our messages"));
            }
            // Taken apart before.
            Message::Batch(_) => {}
        }
    }

    #[inline(always)]
    fn receive_request(&mut self, now: Now, request: Arc<Request>, accepted: Result<(), Otherwise>, way: Way) {
        match accepted {
            Ok(()) => self.admit(now, request, way),
            Err(otherwise) => self.receive_otherwise(&request, otherwise, way),
        }
    }

    #[cold]
    fn receive_otherwise(&mut self, request: &Request, otherwise: Otherwise, way: Way) {
        let Request { id, params, .. } = request;
        match otherwise {
            Otherwise::Initialize if way.batch.is_some() => {
                let text = "initialize is not part of a batch";
                self.send_refusal(id, &ErrorObject::invalid_request(text), way);
            }
            Otherwise::Initialize => self.initialize(id, params, way),
            Otherwise::Ping => self.send_result(id, b"{}", way),
            Otherwise::Duplicate => self.refuse(id, Refused::Duplicate, way),
            Otherwise::Refused(error) => self.send_refusal(id, &error, way),
        }
    }

    /// Decides at which revision a request is served, and notes that with what else the request needs.
    #[inline(always)]
    fn accept(&self, request: &mut Request) -> Result<(), Otherwise> {
        if self.inbound.has(&request.id) || self.listens.contains_key(&request.id) {
            return Err(Otherwise::Duplicate);
        }
        request.params.check().map_err(ErrorObject::from)?;
        let version = self.judge(&request.method, &request.params)?;
        self.furnish(request, version);
        Ok(())
    }

    /// Notes the revision that a request is served at, and who has sent it.
    #[inline(always)]
    fn furnish(&self, request: &mut Request, version: Version) {
        request.version = version;
        request.asks = self.wire.can_ask(version.era());
        request.sender = self.sender.clone();
        if version.era() == Era::Legacy {
            request.session = self.session.as_ref().map(|session| Arc::clone(&session.facts));
        }
    }

    /// Decides the era and the revision of a request.
    fn judge(&self, method: &MethodName, params: &Members) -> Result<Version, Otherwise> {
        let initialize = *method == MethodName::Known(Method::Initialize);
        if envelope::claims_modern(params) && self.definition.offers_era(Era::Modern) {
            if let Wire::Session { .. } = self.wire {
                let text = "a request of a session has no envelope of the modern era";
                return Err(ErrorObject::invalid_request(text).into());
            }
            // The method is gone in the modern era, whatever the envelope says.
            if initialize {
                return Err(ErrorObject::method_not_found(method.as_str()).into());
            }
            return Ok(envelope::check(&self.definition, params)?);
        }
        if initialize {
            return Err(Otherwise::Initialize);
        }
        if let Some(session) = &self.session {
            if let (Wire::Stateless, MethodName::Known(Method::ResourcesSubscribe | Method::ResourcesUnsubscribe)) =
                (self.wire, method)
            {
                // Nothing could be delivered.
                return Err(ErrorObject::method_not_found(method.as_str()).into());
            }
            return Ok(session.version);
        }
        if *method == MethodName::Known(Method::Ping) && self.definition.offers_era(Era::Legacy) {
            return Err(Otherwise::Ping);
        }
        let error = if self.definition.offers_era(Era::Modern) {
            envelope::absent(params)
        } else if let MethodName::Known(known) = method
            && self.definition.versions().iter().any(|version| known.exists_in(*version))
        {
            ErrorObject::invalid_request("the session is not open: initialize comes first")
        } else {
            ErrorObject::method_not_found(method.as_str())
        };
        Err(error.into())
    }

    #[cold]
    fn initialize(&mut self, id: &RequestId, params: &Members, way: Way) {
        if self.session.is_some() {
            let text = "the session is open already";
            return self.send_refusal(id, &ErrorObject::invalid_request(text), way);
        }
        match Session::open(&self.definition, params) {
            Ok(session) => {
                let mut frame = FrameWriter::result(id, 512);
                session.write_result(&self.definition, self.wire, frame.out());
                self.session = Some(session);
                self.write(frame.finish(), Route::Answer(way.origin, Fate::Result));
            }
            Err(error) => self.send_refusal(id, &error, way),
        }
    }

    /// Serves a request at a revision that was decided elsewhere.
    pub(super) fn serve(&mut self, now: Now, mut request: Request, version: Version, way: Way) {
        self.furnish(&mut request, version);
        self.admit(now, Arc::new(request), way);
    }

    #[inline(always)]
    fn admit(&mut self, now: Now, request: Arc<Request>, way: Way) {
        match admit(&self.definition, request.version, &request.method, &request.params) {
            Ok(Admission::Invoke(call, expects)) => self.invoke(now, request, call, expects, way),
            Ok(Admission::Result(text)) => self.send_result(&request.id, &text, way),
            Ok(admission) => self.serve_here(&request, admission, way),
            Err(error) => self.send_error(&request.id, &error, way),
        }
    }

    /// Serves what needs no code of the application.
    #[inline(never)]
    fn serve_here(&mut self, request: &Request, admission: Admission, way: Way) {
        let id = &request.id;
        match admission {
            Admission::ToolError(text) => {
                let mut frame = FrameWriter::result(id, 256);
                result::tool_error(&self.definition, request.version, &text, frame.out());
                return self.send(frame.finish(), way, Fate::Result);
            }
            Admission::Listen(_) if way.batch.is_some() => {
                // A stream ends when it likes: the other answers of the batch would wait for it.
                let error = ErrorObject::invalid_request("a listen stream is not part of a batch");
                return self.send_error(id, &error, way);
            }
            Admission::Listen(filter) => return self.listen(id.clone(), filter),
            Admission::SetLevel(level) => {
                if let Some(session) = &mut self.session {
                    session.level = Some(level);
                }
            }
            Admission::Subscribe(uri) => {
                if let Some(Err(error)) = self.session.as_mut().map(|session| session.subscribe(&self.definition, uri))
                {
                    return self.send_error(id, &error, way);
                }
            }
            Admission::Unsubscribe(uri) => {
                if let Some(session) = &mut self.session {
                    session.unsubscribe(&uri);
                }
            }
            // Served before.
            Admission::Result(_) | Admission::Invoke(..) => return,
        }
        self.send_result(id, b"{}", way);
    }

    /// Hands a request to the application.
    fn invoke(&mut self, now: Now, request: Arc<Request>, call: Call, expects: result::Expects, way: Way) {
        let (level, rounds) = match self.read_modern(now, &request) {
            Ok(read) => read,
            Err(bad) => return self.refuse_retry(&request.id, &bad, way),
        };
        let token = match request.params.meta_raw(MetaField::ProgressToken).map(RequestId::from_json_text) {
            Some(None) => {
                let error = ErrorObject::invalid_params("progressToken must be a string or an integer");
                return self.send_error(&request.id, &error, way);
            }
            token => token.flatten().map(ProgressToken),
        };
        let context = Context { request, rounds };
        let pending = Pending { context: context.clone(), expects, level, way, asking: None };
        match self.inbound.open(context.request.id.clone(), token, pending) {
            Ok(slot) => {
                if let Some(limit) = self.definition.policy.limits.invocation {
                    self.deadlines.set(Key::Invocation(slot), now.mono.after(limit));
                }
                let slot = ReplySlot(slot);
                self.event(Action::Invoke(Box::new(Invocation { slot, call, context })));
            }
            Err(refused) => self.refuse(&context.request.id, refused, way),
        }
    }

    #[cold]
    fn refuse_retry(&mut self, id: &RequestId, bad: &BadRetry, way: Way) {
        if let BadRetry::State(refused) = bad {
            let text = format!("requestState refused: {}", refused.cause());
            self.say(Diagnostic::new(DiagnosticKind::RequestState, text).of(id));
        }
        self.send_error(id, &bad.to_object(), way);
    }

    /// Refuses a request that there is no place for.
    #[cold]
    fn refuse(&mut self, id: &RequestId, refused: Refused, way: Way) {
        let error = match refused {
            Refused::Duplicate => ErrorObject::invalid_request("a request with this id is in flight"),
            Refused::Full => Error::limit(Bound::InFlight, self.definition.policy.limits.in_flight).to_object(),
        };
        self.say(Diagnostic::new(DiagnosticKind::Refused, error.message.clone()).of(id));
        self.send_refusal(id, &error, way);
    }

    /// What only modern requests carry: a log level, and the answers and state of a retry.
    fn read_modern(
        &self,
        now: Now,
        request: &Request,
    ) -> Result<(Option<LoggingLevel>, Option<Arc<Rounds>>), BadRetry> {
        if request.version.era() == Era::Legacy {
            return Ok((None, None));
        }
        let level = envelope::log_level(&request.params).map_err(BadRetry::Answers)?;
        let may_ask = matches!(request.method, MethodName::Known(method) if method.may_need_input());
        let handed_over = matches!(request.method, MethodName::Known(method)
            if self.definition.features.handed_over.contains(&method));
        let rounds = if may_ask && !handed_over { rounds::read_retry(&self.definition, request, now)? } else { None };
        Ok((level, rounds.map(Arc::new)))
    }

    #[cold]
    fn listen(&mut self, id: RequestId, filter: listen::Filter) {
        if self.wire != Wire::Lines {
            return self.out.push(Out::Listen(id, Box::new(filter)));
        }
        let bound = self.definition.policy.limits.listen_streams;
        if self.listens.len() >= bound {
            let error = Error::limit(Bound::ListenStreams, bound).to_object();
            return self.send_error(&id, &error, Way::alone(0));
        }
        self.open_listen(id, filter);
    }

    /// Opens a listen stream that is admitted.
    pub(crate) fn open_listen(&mut self, id: RequestId, filter: listen::Filter) {
        self.write(listen::acknowledged(&id, &filter), Route::Related(0, None));
        self.listens.insert(id, filter);
    }

    #[inline(never)]
    fn receive_notification(&mut self, now: Now, method: MethodName, params: &Members) {
        match method {
            MethodName::Known(Method::Cancelled) => self.receive_cancelled(now, params),
            MethodName::Known(Method::Initialized) => match &mut self.session {
                Some(session) if !session.initialized => {
                    session.initialized = true;
                    self.event(Action::Notified(Notified::Initialized));
                }
                _ => self.ignore("notifications/initialized without a session that waits for it"),
            },
            MethodName::Known(Method::RootsListChanged) if self.session.is_some() => {
                self.event(Action::Notified(Notified::RootsListChanged));
            }
            // Our requests carry no token, so that nothing can put their deadlines off.
            MethodName::Known(Method::Progress) => self.ignore("progress that nobody asked for"),
            MethodName::Known(_) => self.ignore("a notification that a client does not send, or not now"),
            MethodName::Other(method) => {
                let features = &self.definition.features;
                if !features.notifications.contains(&method) && !features.hand_over_unknown {
                    return self.ignore("an unknown notification");
                }
                self.event(Action::Notified(Notified::Custom { method, params: params.json() }));
            }
        }
    }

    /// The client does not want an answer any more. Whatever is malformed or unknown is ignored: it may have
    /// crossed the answer on its way.
    fn receive_cancelled(&mut self, _now: Now, params: &Members) {
        let Some(id) = params.raw(Field::RequestId).and_then(RequestId::from_json_text) else {
            return self.ignore("a cancellation that names no request");
        };
        if self.listens.remove(&id).is_some() {
            return;
        }
        let reason = params.string(Field::Reason).ok().flatten().map(Into::into);
        match self.inbound.cancel(&id) {
            Some(slot) => self.cancelled(slot, reason),
            None => self.ignore("a cancellation of a request that is not in flight"),
        }
        self.close_if_drained();
    }

    pub(super) fn ignore(&mut self, text: &'static str) {
        self.say(Diagnostic::new(DiagnosticKind::Ignored, text));
    }
}

/// What becomes of a request that is not served at a revision.
enum Otherwise {
    Initialize,
    /// Before any session, the one request that needs none.
    Ping,
    Duplicate,
    Refused(ErrorObject),
}

impl From<ErrorObject> for Otherwise {
    fn from(error: ErrorObject) -> Self {
        Self::Refused(error)
    }
}

const fn kind_of(error: &Error) -> DiagnosticKind {
    match error {
        Error::LimitExceeded { bound, .. } => DiagnosticKind::Limit(*bound),
        Error::InvalidFrame(InvalidFrame::TooDeep { .. }) => DiagnosticKind::Limit(Bound::JsonDepth),
        _ => DiagnosticKind::InvalidFrame,
    }
}
