//! The protocol of a client, without a transport: messages in, frames and events out.
//!
//! Here messages find the part that decides about them. A transport asks three things of [`Core`]: to take every
//! message ([`Core::on_message`]), to be told what the peer's silence means ([`Core::on_eof`]), and to give out
//! what [`Core::poll`] answers. Each frame says what it is ([`Route`]), for transports that send requests apart.

use std::collections::VecDeque;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::api::{Action, Answer, AnswerBody, CallError, Closed, InputId, ServerFacts};
use super::cache::Cache;
use super::calls::{Calls, Kind, Phase};
use super::config::{Config, ConfigError};
use super::connect::State;
use super::envelope::Envelope;
use super::inbound::{BatchId, Batches, Owed, Question};
use super::listen::Torn;
use super::mirror::Mirrors;
use super::output::Outputs;
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::engine::inbound::Inbound;
use crate::engine::outbound::Outbound;
use crate::error::{Error, ErrorObject, Misuse};
use crate::ids::{CallId, ProgressToken, RequestId};
use crate::json::Json;
use crate::jsonrpc::{InvalidFrame, Members, Message, MethodName, decode, decode_owned, decode_plain_line};
use crate::limits::{Bound, Limits};
use crate::machine::{Mono, Now, Queue, TimerKind};
use crate::model::LoggingLevel;
use crate::spec::{Era, ErrorCode, Method, Version};

/// What leaves the core.
#[derive(Debug)]
pub(crate) enum Out {
    /// Something for the application; never [`Action::Write`].
    Event(Action),
    /// A frame for the server.
    Frame(Bytes, Route),
    /// Nobody waits for the answer to a request any more. The frame says so to a server that must be told.
    Cancel {
        /// The request.
        wire: i64,
        /// `notifications/cancelled`.
        frame: Bytes,
    },
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `notifications/initialized`, which opens the session.
    Initialized,
    Notification,
    Request(i64),
    Response,
}

/// What a request of ours on the wire is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Call(CallId),
    Connect,
    /// A page of tools, for a call whose headers were refused.
    Refresh(CallId),
}

#[derive(Debug)]
pub(crate) struct Core {
    pub(super) config: Config,
    /// The revisions that a connection may use, newest first.
    pub(super) offers: Vec<Version>,
    pub(super) state: State,
    pub(super) out: Queue<Out>,
    pub(super) wires: Outbound<Wire>,
    /// The newest id of `wires`.
    pub(super) last_wire: i64,
    /// The probe that was given up, and its answer, once it has come after all.
    pub(super) late_probe: Option<(i64, Option<Members>)>,
    pub(super) calls: Calls,
    /// Calls that are not sent yet, in order.
    pub(super) parked: VecDeque<CallId>,
    pub(super) tokens: BTreeMap<ProgressToken, CallId>,
    pub(super) last_token: i64,
    /// The modern envelope of the revision that is spoken, or claimed by the probe.
    pub(super) envelope: Option<Envelope>,
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) questions: BTreeMap<InputId, Question>,
    pub(super) last_input: u64,
    pub(super) inbound: Inbound<Owed>,
    pub(super) batches: Batches,
    /// URL elicitations of 2025-11-25 whose completion may still be announced.
    pub(super) elicitations: BTreeSet<Box<str>>,
    pub(super) listens: usize,
    pub(super) torn: Torn,
    pub(super) cache: Cache,
    pub(super) outputs: Outputs,
    /// Arguments that stand in headers; only over HTTP.
    pub(super) mirrors: Option<Mirrors>,
    /// Deprecated features that were remarked on.
    pub(super) deprecated: BTreeSet<&'static str>,
    /// What the last request was written in.
    pub(super) buffer: Vec<u8>,
}

impl Core {
    pub(crate) fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let offers = config.offers()?;
        // One more than calls: the handshake has a wire id too.
        let wires = Outbound::new(config.limits.calls.saturating_add(1));
        Ok(Self {
            offers,
            state: State::Idle,
            out: Queue::new(),
            wires,
            last_wire: 0,
            late_probe: None,
            calls: Calls::new(),
            parked: VecDeque::new(),
            tokens: BTreeMap::new(),
            last_token: 0,
            envelope: None,
            log_level: config.log_level,
            questions: BTreeMap::new(),
            last_input: 0,
            inbound: Inbound::new(config.limits.in_flight),
            batches: Batches::default(),
            elicitations: BTreeSet::new(),
            listens: 0,
            torn: Torn::default(),
            cache: Cache::new(config.limits.cache_entries),
            outputs: Outputs::default(),
            mirrors: None,
            deprecated: BTreeSet::new(),
            buffer: Vec::new(),
            config,
        })
    }

    // ---- What a transport asks.

    pub(crate) fn touch(&mut self, now: Now) {
        self.out.touch(now);
    }

    /// The time of the last input.
    pub(crate) const fn now(&self) -> Now {
        self.out.now()
    }

    pub(crate) const fn limits(&self) -> &Limits {
        &self.config.limits
    }

    pub(crate) fn poll(&mut self) -> Option<Out> {
        self.out.pop()
    }

    pub(crate) fn poll_timeout(&self) -> Option<(Mono, TimerKind)> {
        let own = match (self.state.deadline(), self.calls.first()) {
            (Some(connect), Some(call)) => Some(if connect.0 <= call.0 { connect } else { call }),
            (connect, call) => connect.or(call),
        };
        self.out.deadline(own)
    }

    pub(crate) fn wants_input(&self) -> bool {
        !matches!(self.state, State::Closed(_))
            && (self.has_room() || !self.calls.is_empty() || self.state.is_connecting())
    }

    /// So many bytes have left: calls that waited for room go out.
    pub(crate) fn on_written(&mut self, now: Now, bytes: usize) {
        self.out.written(bytes);
        self.send_parked(now);
    }

    /// Decodes one frame and takes what it says.
    pub(crate) fn on_frame(&mut self, now: Now, frame: Bytes) {
        let decoded = decode_owned(frame, self.config.limits.json_depth);
        self.on_decoded(now, decoded);
    }

    /// As [`Core::on_frame`], for a line that is plain text.
    pub(crate) fn on_plain_line(&mut self, now: Now, line: Bytes) {
        let decoded = decode_plain_line(line, self.config.limits.json_depth);
        self.on_decoded(now, decoded);
    }

    // Inlined, or the message is copied.
    #[inline(always)]
    fn on_decoded(&mut self, now: Now, decoded: Result<Message, InvalidFrame>) {
        match decoded {
            Ok(Message::Batch(parts)) => self.on_batch(now, &parts),
            Ok(message) => self.on_message(now, message),
            Err(error) => {
                self.on_noise(&error);
                self.answered_badly(&error);
            }
        }
        self.check_output();
    }

    /// Answers to requests of the server are all that grows while nothing is written.
    pub(super) fn check_output(&mut self) {
        if self.out.unwritten() > self.config.limits.output_bytes.saturating_mul(2) {
            self.fail(Error::limit(Bound::OutputBytes, self.config.limits.output_bytes));
        }
    }

    pub(crate) fn on_message(&mut self, now: Now, message: Message) {
        match message {
            Message::Result { id, result } => self.on_result(now, &id, result),
            Message::Error { id, error } => self.on_error(now, id.as_ref(), &error),
            Message::Notification { method, params } => self.on_notification(now, &method, params),
            Message::Request { id, method, params } => self.on_request(now, id, &method, &params, None),
            Message::Batch(_) => self.ignore("a batch within a batch is no message"),
        }
    }

    /// A frame that is no message. A client never answers it.
    pub(super) fn on_noise(&mut self, error: &InvalidFrame) {
        let kind = match error {
            InvalidFrame::TooDeep { .. } => DiagnosticKind::Limit(Bound::JsonDepth),
            InvalidFrame::NotUtf8 | InvalidFrame::NotJson | InvalidFrame::NotMessage { .. } => {
                DiagnosticKind::InvalidFrame
            }
        };
        self.diagnose(Diagnostic::new(kind, error.to_string()));
    }

    /// An answer that cannot be read is one all the same: the call must not wait for another.
    pub(super) fn answered_badly(&mut self, error: &InvalidFrame) {
        let Some(id) = error.answered() else { return };
        let Some(Wire::Call(_)) = id.as_i64().and_then(|id| self.wires.get_mut(id)) else { return };
        if let Some((_, Wire::Call(call))) = self.wires.close(id) {
            let problem = error.to_string().into();
            self.done(call, Err(CallError::InvalidResult { problem, result: Json::NULL }));
        }
    }

    fn on_batch(&mut self, now: Now, parts: &[Bytes]) {
        let Some(batch) = self.open_batch(parts) else { return };
        for part in parts {
            match decode(part, self.config.limits.json_depth) {
                Ok(Message::Request { id, method, params }) => self.on_request(now, id, &method, &params, Some(batch)),
                Ok(message) => self.on_message(now, message),
                Err(error) => {
                    self.on_noise(&error);
                    self.answered_badly(&error);
                }
            }
        }
        self.seal_batch(batch);
    }

    /// Begins a batch, if there may be one.
    pub(super) fn open_batch(&mut self, parts: &[Bytes]) -> Option<BatchId> {
        let (kind, text) = if !self.version().is_some_and(Version::has_batches) {
            (DiagnosticKind::InvalidFrame, "batches are of 2025-03-26 only")
        } else if parts.is_empty() {
            (DiagnosticKind::InvalidFrame, "an empty batch is no message")
        } else if parts.len() > self.config.limits.batch_messages {
            (DiagnosticKind::Limit(Bound::BatchMessages), "a batch has more messages than batch_messages")
        } else {
            return Some(self.batches.open());
        };
        self.diagnose(Diagnostic::new(kind, text));
        None
    }

    pub(crate) fn on_timeout(&mut self, now: Now) {
        if self.state.deadline().is_some_and(|(at, _)| at <= now.mono) {
            self.connect_timed_out(now);
        }
        while let Some((call, due)) = self.calls.take_due(now.mono) {
            self.call_due(now, call, due);
        }
    }

    /// The server will send no more.
    pub(crate) fn on_eof(&mut self) {
        self.end(Closed::EndOfInput);
    }

    /// Gives up.
    pub(crate) fn fail(&mut self, error: Error) {
        self.end(Closed::Failed(error));
    }

    pub(crate) fn close(&mut self) {
        self.end(Closed::Requested);
    }

    /// Puts the deadlines in order. To be called after everything that happened.
    pub(crate) fn settle(&mut self) {
        self.calls.settle();
    }

    // ---- Results and errors.

    fn on_result(&mut self, now: Now, id: &RequestId, result: Members) {
        match self.wires.close(id) {
            Some((_, Wire::Connect)) => self.connect_result(now, result),
            Some((_, Wire::Call(call))) => self.call_result(now, call, result),
            Some((_, Wire::Refresh(call))) => self.refresh_result(now, call, &result),
            None => match &mut self.late_probe {
                Some((wire, answer @ None))
                    if id.as_i64() == Some(*wire) && matches!(self.state, State::Initializing(_)) =>
                {
                    *answer = Some(result);
                }
                _ => self.unexpected_answer(id),
            },
        }
    }

    fn on_error(&mut self, now: Now, id: Option<&RequestId>, error: &Json) {
        let Some(id) = id else {
            let code = ErrorObject::read(error).code;
            let text = format!("the server could not read a frame of ours: {code}");
            return self.diagnose(Diagnostic::new(DiagnosticKind::Ignored, text));
        };
        match self.wires.close(id) {
            Some((_, Wire::Connect)) => self.connect_error(now, ErrorObject::read(error)),
            Some((_, Wire::Call(call))) => self.call_error(now, call, ErrorObject::read(error)),
            Some((_, Wire::Refresh(call))) => self.refresh_failed(call),
            None => self.unexpected_answer(id),
        }
    }

    fn unexpected_answer(&mut self, id: &RequestId) {
        if self.torn.take(id) {
            return;
        }
        let text = if self.is_ended(id) {
            "an answer came to a request that has ended"
        } else {
            "an answer came to a request that was never made"
        };
        self.diagnose(Diagnostic::new(DiagnosticKind::Ignored, text).of(id));
    }

    fn call_result(&mut self, now: Now, id: CallId, mut result: Members) {
        let Some(call) = self.calls.get(id) else { return };
        if !result.is_object() || result.check().is_err() {
            return self.invalid_result(id, "the result is no object, or a member of it stands twice", &result);
        }
        if self.is_modern() {
            match result.string(crate::jsonrpc::Field::ResultType) {
                Ok(None) => {}
                Ok(Some(kind)) if kind == super::COMPLETE => {}
                Ok(Some(kind)) if kind == super::INPUT_REQUIRED => return self.input_required(now, id, result),
                Ok(Some(kind)) if self.config.result_types.contains(&*kind) => {
                    return self.done(id, Ok(answer(result)));
                }
                Ok(Some(_)) => return self.invalid_result(id, "the result has an unknown resultType", &result),
                Err(_) => return self.invalid_result(id, "resultType is no string", &result),
            }
        }
        let is_tools = call.request.known() == Some(Method::ToolsList);
        if is_tools {
            result = self.mirror_tools(result);
        }
        let Some(call) = self.calls.get(id) else { return };
        match call.kind {
            Kind::Plain => self.plain_result(now, id, result),
            Kind::Walk(_) => self.walk_result(now, id, &result),
            Kind::Listen(_) => self.done(id, Ok(answer(result))),
        }
    }

    fn plain_result(&mut self, now: Now, id: CallId, result: Members) {
        let Some(call) = self.calls.get(id) else { return };
        match call.request.known() {
            Some(Method::ToolsCall) if self.config.validate_output => {
                if let Err(problem) = self.outputs.check(&call.request, &result) {
                    let result = result.json();
                    return self.done(id, Err(CallError::OutputInvalid { result, problem }));
                }
            }
            Some(Method::ToolsList) => self.see_tools(&result),
            _ => {}
        }
        self.remember(now, id, &result);
        self.done(id, Ok(answer(result)));
    }

    pub(super) fn call_error(&mut self, now: Now, id: CallId, error: ErrorObject) {
        if error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION && self.reissue(now, id, &error) {
            return;
        }
        if error.code == ErrorCode::HEADER_MISMATCH && self.refresh(now, id, &error) {
            return;
        }
        let Some(call) = self.calls.get(id) else { return };
        if error.code == ErrorCode::INVALID_PARAMS {
            self.cache.cursor_refused(&call.request);
        }
        if error.code == ErrorCode::URL_ELICITATION_REQUIRED {
            self.expect_elicitations(&error);
        }
        self.done(id, Err(CallError::Remote(error)));
    }

    pub(super) fn invalid_result(&mut self, id: CallId, problem: &'static str, result: &Members) {
        let result = result.json();
        self.done(id, Err(CallError::InvalidResult { problem: problem.into(), result }));
    }

    /// The one way in which a call ends. The wire id, if there was one, must be gone.
    pub(super) fn done(&mut self, id: CallId, outcome: Result<Answer, CallError>) {
        let closed = self.calls.close(id, |call| {
            let listens = matches!(call.kind, Kind::Listen(_));
            (call.token.take(), listens, std::mem::replace(&mut call.phase, Phase::Waiting))
        });
        let Some((token, listens, phase)) = closed else { return };
        if let Some(token) = token {
            self.tokens.remove(&token);
        }
        if listens {
            self.listens = self.listens.saturating_sub(1);
        }
        match phase {
            Phase::Waiting => self.parked.retain(|parked| *parked != id),
            Phase::Asking(asking) => {
                for input in asking.open() {
                    if self.questions.remove(&input).is_some() {
                        self.event(Action::CancelledInput { input, reason: None });
                    }
                }
            }
            Phase::Backoff { .. } | Phase::Refreshing { .. } | Phase::Sent { .. } => {}
        }
        self.event(Action::Done { call: id, outcome });
    }

    // ---- Small things that every part needs.

    pub(super) fn event(&mut self, action: Action) {
        self.out.push(Out::Event(action));
    }

    pub(super) fn frame(&mut self, frame: Bytes, route: Route) {
        self.out.push_frame(frame.len(), Out::Frame(frame, route));
    }

    pub(crate) fn diagnose(&mut self, diagnostic: Diagnostic) {
        self.event(Action::Diagnostic(diagnostic));
    }

    pub(super) fn ignore(&mut self, text: &'static str) {
        self.diagnose(Diagnostic::new(DiagnosticKind::Ignored, text));
    }

    /// Remarks once that a feature is deprecated.
    pub(super) fn deprecated(&mut self, feature: &'static str) {
        if self.is_modern() && self.deprecated.insert(feature) {
            self.diagnose(Diagnostic::new(
                DiagnosticKind::Deprecated,
                format!("{feature} {} deprecated", if feature.ends_with('s') { "are" } else { "is" }),
            ));
        }
    }

    pub(super) const fn has_room(&self) -> bool {
        self.out.unwritten() < self.config.limits.output_bytes
    }

    pub(crate) const fn server(&self) -> Option<&ServerFacts> {
        self.state.facts()
    }

    /// The revision that is spoken, once that is settled.
    pub(super) fn version(&self) -> Option<Version> {
        self.state.facts().map(|facts| facts.version)
    }

    pub(super) fn era(&self) -> Option<Era> {
        self.state.era()
    }

    /// Whether what goes out carries the modern envelope.
    pub(super) fn is_modern(&self) -> bool {
        self.era() != Some(Era::Legacy)
    }

    pub(crate) fn alive(&self) -> Result<(), Error> {
        match &self.state {
            State::Closed(Closed::Failed(error)) => Err(error.clone()),
            State::Closed(_) => Err(Misuse::Closed.into()),
            _ => Ok(()),
        }
    }

    /// The error that the machine failed with.
    pub(crate) fn failure(&self) -> Option<Error> {
        match &self.state {
            State::Closed(Closed::Failed(error)) => Some(error.clone()),
            _ => None,
        }
    }

    /// Ends everything, once: calls, questions, the connection.
    pub(super) fn end(&mut self, why: Closed) {
        if matches!(self.state, State::Closed(_)) {
            return;
        }
        self.state = State::Closed(why.clone());
        self.parked.clear();
        for call in self.calls.ids() {
            self.done(call, Err(CallError::Disconnected));
        }
        while let Some((input, _)) = self.questions.pop_first() {
            self.event(Action::CancelledInput { input, reason: None });
        }
        for slot in self.inbound.slots() {
            if self.inbound.close(slot).is_some_and(|entry| matches!(entry.data, Owed::Invoke { .. }) && !entry.muted) {
                self.event(Action::CancelledInvoke { slot, reason: None });
            }
        }
        self.event(Action::Closed(why));
    }
}

pub(super) fn answer(result: Members) -> Answer {
    Answer { body: AnswerBody::Result(Box::new(result)), cached: false }
}

/// The name of a method as an owned text.
pub(super) fn owned_name(method: &MethodName) -> Box<str> {
    method.as_str().into()
}
