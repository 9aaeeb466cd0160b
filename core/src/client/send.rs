//! When a call goes out, and what it is before: the verbs that make, send and end calls.
//!
//! A call is sent when the connection admits its method and the pipe has room; otherwise it waits in line, under its
//! clocks. Before it goes out it may turn out that it need not (the cache has the answer) or may not (the revision
//! has no such method, the server no such capability).

use super::api::{Action, Answer, AnswerBody, CallError, List};
use super::calls::{Call, Due, Hard, Kind, Listen, Phase};
use super::core::{Core, Out, Route, Wire};
use super::envelope;
use super::request::{CacheUse, CallOptions, ProgressWish, Request};
use super::walk::Walk;
use crate::error::{Error, Misuse};
use crate::ids::{CallId, ProgressToken, RequestId};
use crate::json::Json;
use crate::jsonrpc::{Field, FrameWriter};
use crate::limits::Bound;
use crate::machine::Now;
use crate::model::{LoggingLevel, ServerCapabilities, SubscriptionFilter};
use crate::spec::{Era, Method};

impl Core {
    pub(crate) fn call(&mut self, now: Now, request: Request, options: CallOptions) -> Result<CallId, Error> {
        self.start(now, request, options, Kind::Plain)
    }

    pub(crate) fn walk(&mut self, now: Now, list: List, options: CallOptions) -> Result<CallId, Error> {
        self.start(now, Request::list(list, None), options, Kind::Walk(Box::new(Walk::new(list))))
    }

    pub(crate) fn listen(
        &mut self,
        now: Now,
        filter: &SubscriptionFilter,
        options: CallOptions,
    ) -> Result<CallId, Error> {
        let limits = &self.config.limits;
        if self.listens >= limits.listen_streams {
            return Err(Error::limit(Bound::ListenStreams, limits.listen_streams));
        }
        if filter.resource_subscriptions.as_ref().is_some_and(|uris| uris.len() > limits.subscriptions) {
            return Err(Error::limit(Bound::Subscriptions, limits.subscriptions));
        }
        // A stream is meant to stay open: its idle clock runs until the acknowledgement only.
        let options = if options.hard.is_none() { options.hard(None) } else { options };
        let call = self.start(now, Request::listen(filter), options, Kind::Listen(Listen::default()))?;
        self.listens += 1;
        Ok(call)
    }

    pub(crate) fn set_level(&mut self, now: Now, level: LoggingLevel) -> Result<CallId, Error> {
        self.alive()?;
        self.log_level = Some(level);
        self.start(now, Request::set_level(level), CallOptions::new(), Kind::Plain)
    }

    fn start(&mut self, now: Now, request: Request, options: CallOptions, kind: Kind) -> Result<CallId, Error> {
        self.alive()?;
        let limit = self.config.limits.calls;
        if self.calls.len() >= limit {
            return Err(Error::limit(Bound::Calls, limit));
        }
        let foreign_meta = envelope::foreign_members(&self.config, &request, &options)?;
        let token = self.token(options.progress)?;
        let idle = options.idle.unwrap_or(self.config.timeouts.idle);
        let hard = options.hard.unwrap_or(self.config.timeouts.hard);
        let call = Call {
            request,
            kind,
            phase: Phase::Waiting,
            token: token.clone(),
            progress: f64::NEG_INFINITY,
            foreign_meta,
            log_level: options.log_level,
            cache: if self.config.cache { options.cache } else { CacheUse::Bypass },
            partition: options.partition,
            epoch: 0,
            drive_input: options.drive_input.unwrap_or(self.config.drive_input),
            rounds: 0,
            silent_rounds: 0,
            reissued: false,
            renewed: false,
            refreshed: false,
            idle,
            idle_at: idle.map(|idle| now.mono.after(idle)),
            hard: hard.map_or(Hard::Off, |hard| Hard::Until(now.mono.after(hard))),
        };
        let id = self.calls.open(call);
        if let Some(token) = token {
            self.tokens.insert(token, id);
        }
        self.send(now, id);
        Ok(id)
    }

    /// The progress token of a new call.
    fn token(&mut self, wish: ProgressWish) -> Result<Option<ProgressToken>, Misuse> {
        match wish {
            ProgressWish::None => Ok(None),
            ProgressWish::Minted => loop {
                self.last_token += 1;
                let token = ProgressToken::from(self.last_token);
                if !self.tokens.contains_key(&token) {
                    return Ok(Some(token));
                }
            },
            ProgressWish::Token(token) if self.tokens.contains_key(&token) => {
                Err(Misuse::Argument("the progress token belongs to an open call".into()))
            }
            ProgressWish::Token(token) => Ok(Some(token)),
        }
    }

    /// Sends the next leg of a call, or lets it wait.
    pub(super) fn send(&mut self, now: Now, id: CallId) {
        let room = self.has_room();
        let Some(call) = self.calls.get_mut(id) else { return };
        call.touch(now.mono);
        call.phase = Phase::Waiting;
        let method = call.request.known();
        // Nobody overtakes the calls that wait, but those that the connection admits before it is made.
        let admitted = self.admits(method);
        let in_turn = self.parked.is_empty() || !matches!(self.state, super::connect::State::Ready(_));
        if admitted && room && in_turn {
            self.send_now(now, id);
        } else {
            self.parked.push_back(id);
        }
        self.calls.arm(id);
    }

    /// Whether a request of this method may go out now. Over HTTP nothing goes out within the handshake: there is no
    /// session yet that it could name.
    fn admits(&self, method: Option<Method>) -> bool {
        self.state.admits(method) && !(self.is_http() && matches!(self.state, super::connect::State::Initializing(_)))
    }

    /// Sends what waits, as far as the connection admits it and there is room.
    pub(super) fn send_parked(&mut self, now: Now) {
        // One turn of the whole line keeps its order.
        for _ in 0..self.parked.len() {
            if !self.has_room() && self.version().is_some() {
                return;
            }
            let Some(id) = self.parked.pop_front() else { return };
            let Some(call) = self.calls.get(id) else { continue };
            if self.has_room() && self.admits(call.request.known()) {
                self.send_now(now, id);
                self.calls.arm(id);
            } else {
                self.parked.push_back(id);
            }
        }
    }

    fn send_now(&mut self, now: Now, id: CallId) {
        if let Err(error) = self.admissible(id) {
            return self.done(id, Err(error));
        }
        let Some(call) = self.calls.get(id) else { return };
        let method = call.request.known();
        if method == Some(Method::LoggingSetLevel) && self.is_modern() {
            // The level travels with every request now: there is nothing to tell the server.
            return self.done(id, Ok(Answer { body: AnswerBody::Empty, cached: false }));
        }
        if self.answer_from_cache(now, id) {
            return;
        }
        let Some(wire) = self.open_wire(Wire::Call(id)) else { return };
        let modern = self.is_modern();
        if modern
            && self.envelope.is_none()
            && let Some(version) = self.newest(Era::Modern)
        {
            self.claim(version);
        }
        let epoch = self.cache.epoch();
        let Some(call) = self.calls.get_mut(id) else { return };
        call.phase = Phase::Sent { wire };
        // Each leg is a request of its own, and its progress starts anew.
        call.progress = f64::NEG_INFINITY;
        call.epoch = epoch;
        let level = call.log_level.or(self.log_level);
        let envelope = self.envelope.as_ref().filter(|_| modern);
        let frame = envelope::request_frame(&mut self.buffer, wire, call, envelope, level);
        self.frame(frame, Route::Request(wire));
        if level.is_some() {
            self.deprecated("logging");
        }
    }

    /// Whether the revision has the method, and the server its capability.
    fn admissible(&self, id: CallId) -> Result<(), CallError> {
        let Some(method) = self.calls.get(id).and_then(|call| call.request.known()) else { return Ok(()) };
        let version = match (self.version(), self.era()) {
            (Some(version), _) => version,
            (None, Some(Era::Legacy)) => self.newest(Era::Legacy).unwrap_or(crate::spec::Version::LATEST_LEGACY),
            (None, _) => self.newest(Era::Modern).unwrap_or(crate::spec::Version::LATEST_LEGACY),
        };
        let level_for_all = method == Method::LoggingSetLevel && version.era() == Era::Modern;
        if !method.exists_in(version) && !level_for_all {
            return Err(CallError::NotInVersion { method, version });
        }
        let Some(facts) = self.server().filter(|_| self.config.strict_capabilities) else { return Ok(()) };
        match capability(method).filter(|(_, declared)| !declared(&facts.capabilities)) {
            Some(("completions", _)) if !version.has_completions_capability() => Ok(()),
            Some((capability, _)) => Err(CallError::CapabilityMissing { capability }),
            None => Ok(()),
        }
    }

    pub(crate) fn cancel(&mut self, id: CallId, reason: Option<&str>) -> Result<(), Error> {
        self.alive()?;
        if self.calls.get(id).is_none() {
            return Err(Misuse::CallNotOpen.into());
        }
        self.withdraw(id, reason);
        self.done(id, Err(CallError::Cancelled));
        Ok(())
    }

    /// Tells the server, if it has the request, that no answer is wanted.
    pub(super) fn withdraw(&mut self, id: CallId, reason: Option<&str>) {
        let Some(Phase::Sent { wire } | Phase::Refreshing { wire, .. }) = self.calls.get(id).map(|call| &call.phase)
        else {
            return;
        };
        let wire = *wire;
        self.wires.remove(wire);
        let frame = FrameWriter::notification(Method::Cancelled.as_str(), 64).params(|params| {
            params.id(Field::RequestId.name(), &RequestId::from(wire));
            if let Some(reason) = reason {
                params.string(Field::Reason.name(), reason);
            }
        });
        self.out.push_frame(frame.len(), Out::Cancel { wire, frame });
    }

    pub(super) fn call_due(&mut self, now: Now, id: CallId, due: Due) {
        match due {
            Due::Retry => self.send(now, id),
            Due::Timeout(kind) => {
                self.withdraw(id, Some("timed out"));
                self.done(id, Err(CallError::TimedOut { kind }));
            }
        }
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Json) -> Result<(), Error> {
        self.alive()?;
        if Method::is_reserved(method) {
            return Err(
                Misuse::Argument(format!("{method} belongs to the protocol: there is a verb for it").into()).into()
            );
        }
        if !params.is_object() {
            return Err(Misuse::Argument("params must be an object".into()).into());
        }
        self.may_notify()?;
        let frame = FrameWriter::notification(method, params.as_bytes().len()).params_raw(params.as_bytes());
        self.frame(frame, Route::Notification);
        Ok(())
    }

    pub(crate) fn roots_changed(&mut self) -> Result<(), Error> {
        self.may_notify()?;
        if self.is_modern() {
            return Ok(());
        }
        if !self.config.capabilities.has_roots_list_changed() {
            return Err(Misuse::WrongState("roots.listChanged was not declared").into());
        }
        self.frame(FrameWriter::notification(Method::RootsListChanged.as_str(), 0).finish(), Route::Notification);
        Ok(())
    }

    fn may_notify(&self) -> Result<(), Error> {
        self.alive()?;
        if self.server().is_none() {
            return Err(Misuse::WrongState("the connection is not made yet").into());
        }
        if !self.has_room() {
            return Err(Error::limit(Bound::OutputBytes, self.config.limits.output_bytes));
        }
        Ok(())
    }

    /// The server says how far a call has got.
    pub(super) fn on_progress(&mut self, now: Now, params: &crate::jsonrpc::Members) {
        let token = params.raw(Field::ProgressToken).and_then(RequestId::from_json_text).map(ProgressToken);
        // Progress of a call that has ended is no fault: it may have been on its way.
        let Some(id) = token.and_then(|token| self.tokens.get(&token).copied()) else { return };
        let Some(call) = self.calls.get_mut(id).filter(|call| matches!(call.phase, Phase::Sent { .. })) else { return };
        let progress = params.raw(Field::Progress).and_then(|text| text.parse::<f64>().ok());
        let Some(progress) = progress.filter(|progress| progress.is_finite()) else {
            return self.ignore("a progress notification has no number for its progress");
        };
        if progress <= call.progress {
            return self.ignore("a progress notification does not exceed the one before");
        }
        call.progress = progress;
        call.touch(now.mono);
        let report = super::api::Progress {
            progress,
            total: params.raw(Field::Total).and_then(|text| text.parse().ok()),
            message: params.string(Field::Message).ok().flatten().map(std::borrow::Cow::into_owned),
            raw: params.json(),
        };
        self.event(Action::Progress { call: id, progress: report });
    }
}

type Declared = fn(&ServerCapabilities) -> bool;

/// The capability that a method needs.
fn capability(method: Method) -> Option<(&'static str, Declared)> {
    match method {
        Method::CompletionComplete => Some(("completions", |server| server.completions.is_some())),
        Method::LoggingSetLevel => Some(("logging", |server| server.logging.is_some())),
        Method::PromptsGet | Method::PromptsList => Some(("prompts", |server| server.prompts.is_some())),
        Method::ResourcesList | Method::ResourcesRead | Method::ResourcesTemplatesList => {
            Some(("resources", |server| server.resources.is_some()))
        }
        Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
            Some(("resources.subscribe", ServerCapabilities::resources_subscribe))
        }
        Method::ToolsCall | Method::ToolsList => Some(("tools", |server| server.tools.is_some())),
        _ => None,
    }
}
