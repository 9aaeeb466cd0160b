//! The streams of a session: what goes out on which, what is kept, who comes back for it.
//!
//! | the engine says | the exchange waits | it streams | it is lost |
//! |---|---|---|---|
//! | the answer | one JSON object | the last event | kept, or lost |
//! | what belongs to the request | opens the stream | an event | kept, or lost |
//! | that no answer is due | 202 | the end of the stream | – |
//! | that the session is over | 404 | the end of the stream | – |

use bytes::Bytes;

use super::*;

impl Session {
    pub(super) fn begin(&mut self, now: Now, exchange: ExchangeId) {
        let mut outlet = Outlet::new(now, exchange, self.keep_alive);
        if self.json_answers {
            outlet.stays_json();
        }
        self.streams.insert(exchange.0, Stream { outlet: Some(outlet), ..Stream::default() });
        self.exchanges.insert(exchange.0, exchange.0);
    }

    pub(super) fn post(&mut self, now: Now, exchange: ExchangeId, kept: Kept, message: Message) {
        match message {
            Message::Request { .. } | Message::Batch(_) => {
                self.begin(now, exchange);
                self.core.on_message_of(now, kept.sender, message, exchange.0);
                self.drain(now);
                self.prime(now, exchange.0);
            }
            message => {
                self.out.push(Action::Respond { exchange, response: Response::accepted() });
                self.core.on_message_of(now, kept.sender, message, exchange.0);
            }
        }
    }

    /// Whether streams begin with an event that says nothing.
    pub(super) fn primes(&self) -> Option<Duration> {
        let retry = self.replay?.retry;
        (!self.json_answers && self.core.session_version()? >= Version::V2025_11_25).then_some(retry)
    }

    /// Opens the stream of a request that is not answered at once.
    pub(super) fn prime(&mut self, now: Now, origin: u64) {
        let Some(retry) = self.primes() else { return };
        let Some(stream) = self.streams.get_mut(origin) else { return };
        let Some(outlet) = stream.outlet.as_mut().filter(|outlet| outlet.is_waiting()) else { return };
        stream.last += 1;
        let id = EventId { stream: origin, number: stream.last };
        outlet.prime(&mut self.out, now, &id.to_string(), retry);
    }

    /// A `GET`: the standing stream, or one that was lost.
    pub(super) fn listen(&mut self, now: Now, exchange: ExchangeId, last_event: &Single<Option<EventId>>) {
        let resumed = match last_event {
            _ if self.replay.is_none() => None,
            Single::Absent => None,
            Single::One(Some(id)) if self.resumable(*id) => Some(*id),
            Single::One(_) | Single::Many => {
                let response = Response::refused_head(400, "the event is not known, or not any more");
                return self.out.push(Action::Respond { exchange, response });
            }
        };
        let mut outlet = Outlet::new(now, exchange, self.keep_alive);
        outlet.open(&mut self.out, now);
        let from = resumed.unwrap_or(EventId { stream: STANDING, number: self.delivered });
        let mut sent = 0;
        for event in self.log.after(from.stream, from.number) {
            let id = self.replay.map(|_| event.id.to_string());
            outlet.event(&mut self.out, now, id.as_deref(), &event.frame);
            sent = event.id.number;
        }
        if from.stream == STANDING {
            self.delivered = self.delivered.max(sent);
            if self.replay.is_none() {
                self.log.forget(STANDING);
            }
        }
        let primes = self.primes().filter(|_| resumed.is_none() && sent == 0);
        let stream = match from.stream {
            STANDING => Some(&mut self.standing),
            other => self.streams.get_mut(other),
        };
        let Some(stream) = stream else { return outlet.finish(&mut self.out) };
        if let Some(retry) = primes {
            stream.last += 1;
            self.delivered = stream.last;
            let id = EventId { stream: from.stream, number: stream.last };
            outlet.prime(&mut self.out, now, &id.to_string(), retry);
        }
        if let Some(mut old) = stream.outlet.take() {
            self.exchanges.remove(old.exchange().0);
            old.finish(&mut self.out);
        }
        if stream.done {
            return outlet.finish(&mut self.out);
        }
        stream.outlet = Some(outlet);
        self.exchanges.insert(exchange.0, from.stream);
    }

    /// Whether all that came after an event can be sent again. What was missed of the standing stream is no loss to
    /// any request.
    pub(super) fn resumable(&self, id: EventId) -> bool {
        match id.stream {
            STANDING => id.number <= self.standing.last,
            stream => {
                // An answer that has not begun has sent no event, not even its first one.
                let sent = |stream: &Stream| stream.lost <= id.number && (1..=stream.last).contains(&id.number);
                self.streams.get(stream).is_some_and(sent)
            }
        }
    }

    pub(super) fn drain(&mut self, now: Now) {
        while let Some(out) = self.core.take() {
            match out {
                Out::Frame(frame, _) if self.post_to.is_some() => self.stand(now, frame),
                Out::Frame(frame, Route::Answer(origin, fate)) => self.answer(now, origin, frame, fate),
                Out::Frame(frame, Route::Related(origin, request)) => self.related(now, origin, frame, request),
                Out::Frame(frame, Route::Standing(_)) => self.stand(now, frame),
                Out::Ended(origin) => self.ended(origin),
                Out::Event(Said::Closed(closed)) => self.closed(closed),
                Out::Event(said) => {
                    if let Some(action) = Action::of(said) {
                        self.out.push(action);
                    }
                }
                // The legacy era has none.
                Out::Listen(..) => {}
            }
        }
    }

    /// The answer to a request: alone, or as the last event of its stream.
    pub(super) fn answer(&mut self, now: Now, origin: u64, frame: Bytes, fate: Fate) {
        // The answer to `initialize` names the session, and comes before there is a revision to know events by.
        let opens = origin == 1 && self.streams.len() == 1 && self.last_exchange == 1;
        if !opens && !matches!(fate, Fate::Refused(_)) {
            self.prime(now, origin);
        }
        let Some(stream) = self.streams.get_mut(origin) else { return };
        if let Some(outlet) = stream.outlet.as_mut().filter(|outlet| outlet.is_waiting()) {
            let mut response = Response::json(legacy_status(fate), frame);
            if opens && fate == Fate::Result {
                response = response.in_session(self.id.to_text());
            }
            outlet.respond(&mut self.out, response);
            self.exchanges.remove(origin);
            self.streams.remove(origin);
            return;
        }
        self.event(now, origin, frame);
        self.complete(origin);
    }

    /// A request has ended without an answer.
    pub(super) fn ended(&mut self, origin: u64) {
        let outlet = self.streams.get_mut(origin).and_then(|stream| stream.outlet.as_mut());
        if let Some(outlet) = outlet.filter(|outlet| outlet.is_waiting()) {
            // What the end of the session cuts off was not taken: its client shall open another.
            let closed = self.core.is_closed();
            outlet.respond(&mut self.out, if closed { session_over() } else { Response::accepted() });
        }
        self.complete(origin);
    }

    /// Nothing more comes on a stream.
    pub(super) fn complete(&mut self, origin: u64) {
        let Some(stream) = self.streams.get_mut(origin) else { return };
        if let Some(mut outlet) = stream.outlet.take() {
            self.exchanges.remove(outlet.exchange().0);
            outlet.finish(&mut self.out);
        }
        stream.done = true;
        if stream.kept == 0 {
            self.streams.remove(origin);
        }
    }

    /// What belongs to a request. Where it cannot be delivered, a question has no answer.
    pub(super) fn related(&mut self, now: Now, origin: u64, frame: Bytes, request: Option<i64>) {
        let reachable = self.streams.get(origin).is_some_and(|stream| stream.outlet.is_some());
        if !reachable && self.replay.is_none() {
            self.lost();
            if let Some(id) = request {
                self.core.request_gone(now, id);
            }
            return;
        }
        self.event(now, origin, frame);
        self.cut_if_slow(now, origin);
    }

    /// Sends a frame on the stream of a request, and keeps it where that is wanted.
    pub(super) fn event(&mut self, now: Now, origin: u64, frame: Bytes) {
        let Some(stream) = self.streams.get_mut(origin) else { return };
        let Some(_) = self.replay else {
            match &mut stream.outlet {
                Some(outlet) => outlet.event(&mut self.out, now, None, &frame),
                None => self.lost(),
            }
            return;
        };
        stream.last += 1;
        stream.kept += 1;
        let id = EventId { stream: origin, number: stream.last };
        if let Some(outlet) = &mut stream.outlet {
            outlet.event(&mut self.out, now, Some(&id.to_string()), &frame);
        }
        self.keep(Stored { id, frame });
    }

    /// What belongs to no request: to the client that listens, or kept until it does.
    pub(super) fn stand(&mut self, now: Now, frame: Bytes) {
        self.standing.last += 1;
        let id = EventId { stream: STANDING, number: self.standing.last };
        let text = self.replay.map(|_| id.to_string());
        if let Some(outlet) = &mut self.standing.outlet {
            outlet.event(&mut self.out, now, text.as_deref(), &frame);
            self.delivered = id.number;
            if self.replay.is_none() {
                return self.cut_if_slow(now, STANDING);
            }
        }
        self.keep(Stored { id, frame });
        self.cut_if_slow(now, STANDING);
    }

    pub(super) fn keep(&mut self, event: Stored) {
        let streams = &mut self.streams;
        self.log.push(event, |oldest| {
            let Some(stream) = streams.get_mut(oldest.stream) else { return };
            stream.lost = oldest.number;
            stream.kept = stream.kept.saturating_sub(1);
            if stream.done && stream.kept == 0 {
                streams.remove(oldest.stream);
            }
        });
    }

    /// Ends a connection whose client reads so slowly that twice the bound waits for it.
    pub(super) fn cut_if_slow(&mut self, now: Now, stream: u64) {
        let bound = self.core.definition().limits().output_bytes;
        let stream = match stream {
            STANDING => &mut self.standing,
            other => match self.streams.get_mut(other) {
                Some(stream) => stream,
                None => return,
            },
        };
        let slow = stream.outlet.as_ref().is_some_and(|outlet| outlet.unwritten() > bound.saturating_mul(2));
        let Some(mut outlet) = stream.outlet.take_if(|_| slow) else { return };
        self.exchanges.remove(outlet.exchange().0);
        match self.replay {
            Some(replay) => outlet.leave(&mut self.out, now, replay.retry),
            None => outlet.finish(&mut self.out),
        }
        let kind = DiagnosticKind::Limit(Bound::OutputBytes);
        let text = Error::limit(Bound::OutputBytes, bound).to_string();
        self.out.push(Action::Diagnostic(Diagnostic::new(kind, text)));
    }

    #[cold]
    pub(super) fn lost(&mut self) {
        let text = "a message was lost: its client is gone, and nothing is kept for replay";
        self.out.push(Action::Diagnostic(Diagnostic::new(DiagnosticKind::Muted, text)));
    }

    pub(super) fn closed(&mut self, closed: Closed) {
        for stream in self.streams.values_mut().chain([&mut self.standing]) {
            if let Some(mut outlet) = stream.outlet.take() {
                if outlet.is_waiting() {
                    outlet.respond(&mut self.out, session_over());
                }
                outlet.finish(&mut self.out);
            }
        }
        self.streams.clear();
        self.exchanges.clear();
        self.out.push(Action::Closed(closed));
    }
}

/// The answer to a request that a session leaves behind.
#[cold]
pub(super) fn session_over() -> Response {
    Response::refused_head(404, "the session has ended")
}
