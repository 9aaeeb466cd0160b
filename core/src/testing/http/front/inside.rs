//! What the front does by itself: machines find their handles, actions the requests that they answer.

use super::*;

impl HttpFront {
    pub(super) fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(super) fn with<R>(
        &mut self,
        now: Now,
        machine: HttpMachine,
        exchange: impl FnOnce(&mut Exchange) -> Result<R, Error>,
        session: impl FnOnce(&mut Session) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.now = now;
        let gone = || Error::from(crate::error::Misuse::WrongState("the machine is gone"));
        let done = match machine {
            HttpMachine::Exchange(place) => exchange(self.exchanges.get_mut(&place).ok_or_else(gone)?),
            HttpMachine::Session(place) => session(&mut self.sessions.get_mut(&place).ok_or_else(gone)?.1),
        };
        self.drain(machine);
        done
    }

    pub(super) fn exchange(&mut self, ask: AskId, exchange: Exchange) {
        let place = self.number();
        self.exchanges.insert(place, exchange);
        self.route(ask, HttpMachine::Exchange(place), ExchangeId::default());
    }

    pub(super) fn admit(&mut self, ask: AskId, request: Box<Request>) {
        let place = self.number();
        let mut made = None;
        let admitted = self.endpoint.admit(self.now, request, |key, session| {
            made = Some((key, session));
            place
        });
        self.sessions.extend(made.map(|made| (place, made)));
        match admitted {
            Admitted::Answered(response) => self.respond(ask, response),
            Admitted::Exchange(exchange) => self.exchange(ask, *exchange),
            Admitted::Ended { session, response } => {
                self.close(session);
                self.respond(ask, response);
            }
            Admitted::Session { session, request, .. } => {
                let now = self.now;
                let accepted = self.sessions.get_mut(&session).map(|(_, session)| session.accept(now, request));
                let exchange =
                    accepted.unwrap_or_else(|| panic!("the registry names session {session}, which is gone"));
                self.route(ask, HttpMachine::Session(session), exchange);
            }
        }
        self.close_expired();
    }

    pub(super) fn route(&mut self, ask: AskId, machine: HttpMachine, exchange: ExchangeId) {
        if let Some(ask) = self.asks.get_mut(&ask) {
            ask.route = Some((machine, exchange));
            ask.served = Some(machine);
        }
        let before = self.routes.insert((machine, exchange), ask);
        assert!(before.is_none(), "{machine:?} gives the name {exchange:?} twice");
        self.drain(machine);
    }

    pub(super) fn close_expired(&mut self) {
        while let Some(place) = self.endpoint.poll_expired() {
            self.close(place);
        }
    }

    pub(super) fn close(&mut self, place: u64) {
        let now = self.now;
        if let Some((_, session)) = self.sessions.get_mut(&place) {
            session.close(now);
        }
        self.drain(HttpMachine::Session(place));
    }

    pub(super) fn input(&mut self, machine: HttpMachine, exchange: ExchangeId, input: Input) {
        let now = self.now;
        match machine {
            HttpMachine::Exchange(place) => {
                if let Some(machine) = self.exchanges.get_mut(&place) {
                    machine.handle(now, input);
                }
            }
            HttpMachine::Session(place) => {
                if let Some((_, session)) = self.sessions.get_mut(&place) {
                    session.handle(now, exchange, input);
                }
            }
        }
        self.drain(machine);
    }

    pub(super) fn drain(&mut self, machine: HttpMachine) {
        loop {
            let action = match machine {
                HttpMachine::Exchange(place) => self.exchanges.get_mut(&place).and_then(Exchange::poll_action),
                HttpMachine::Session(place) => self.sessions.get_mut(&place).and_then(|(_, s)| s.poll_action()),
            };
            let Some(action) = action else { break };
            self.obey(machine, action);
        }
        let (over, timeout) = match machine {
            HttpMachine::Exchange(place) => {
                let exchange = self.exchanges.get(&place);
                (exchange.is_some_and(Exchange::is_over), exchange.and_then(Exchange::poll_timeout))
            }
            HttpMachine::Session(place) => {
                let session = self.sessions.get(&place).map(|(_, session)| session);
                (session.is_some_and(Session::is_closed), session.and_then(Session::poll_timeout))
            }
        };
        assert!(
            timeout.is_none_or(|(_, kind)| kind != TimerKind::Actions),
            "{machine:?} is drained, and says it is not"
        );
        if over {
            self.bury(machine);
        }
    }

    /// A machine that is over is dropped. Every request that came to it must have its answer.
    pub(super) fn bury(&mut self, machine: HttpMachine) {
        let owed = self.routes.keys().find(|(of, _)| *of == machine);
        assert!(owed.is_none(), "{machine:?} is over, and {owed:?} is not answered");
        match machine {
            HttpMachine::Exchange(place) => {
                self.unlisten(place);
                self.exchanges.remove(&place);
            }
            HttpMachine::Session(place) => {
                if let Some((key, _)) = self.sessions.remove(&place) {
                    let _ = self.endpoint.remove(key);
                }
            }
        }
    }

    pub(super) fn unlisten(&mut self, place: u64) {
        if let Some(key) = self.exchanges.get(&place).and_then(Exchange::listen_key) {
            let _ = self.endpoint.unlisten(key);
        }
    }

    pub(super) fn obey(&mut self, machine: HttpMachine, action: Action) {
        match action {
            Action::Respond { exchange, response } => match self.routes.get(&(machine, exchange)) {
                Some(ask) => self.respond(*ask, response),
                None => panic!("{machine:?} answers {exchange:?}, which is over"),
            },
            Action::Chunk { exchange, bytes } => {
                let ask = self.streaming(machine, exchange);
                ask.out.push_back(HttpPiece::Body(bytes));
            }
            Action::Finish { exchange } => {
                let ask = self.streaming(machine, exchange);
                ask.out.push_back(HttpPiece::End);
                ask.state = State::Over;
                self.routes.remove(&(machine, exchange));
                self.ended(machine);
            }
            Action::Listen(subscription) => {
                let HttpMachine::Exchange(place) = machine else { panic!("{machine:?} wants to listen") };
                let admitted = self.endpoint.listen(subscription, place);
                let now = self.now;
                if let Some(exchange) = self.exchanges.get_mut(&place) {
                    exchange.listening(now, admitted);
                }
            }
            Action::Publish(event) => {
                let now = self.now;
                self.publish(now, &event);
            }
            action => self.events.push_back((machine, action)),
        }
    }

    pub(super) fn streaming(&mut self, machine: HttpMachine, exchange: ExchangeId) -> &mut Ask {
        let ask = self.routes.get(&(machine, exchange)).and_then(|ask| self.asks.get_mut(ask));
        match ask {
            Some(ask) if ask.state == State::Streaming => ask,
            other => panic!("{machine:?} writes to {exchange:?}, which is {:?}", other.map(|ask| ask.state)),
        }
    }

    pub(super) fn respond(&mut self, ask: AskId, response: Response) {
        let Some(entry) = self.asks.get_mut(&ask) else { return };
        assert_eq!(entry.state, State::Waiting, "{ask:?} is answered twice");
        let named = |(name, value): (&'static str, &str)| (name, Bytes::copy_from_slice(value.as_bytes()));
        let headers = response.headers().map(named).collect();
        entry.out.push_back(HttpPiece::Head { status: response.status(), headers });
        match response.into_body() {
            Body::Stream => entry.state = State::Streaming,
            Body::Whole(bytes) => {
                if !bytes.is_empty() {
                    entry.out.push_back(HttpPiece::Body(bytes));
                }
                entry.out.push_back(HttpPiece::End);
                entry.state = State::Over;
                // What is whole is never reported as written.
                if let Some((machine, exchange)) = entry.route.take() {
                    self.routes.remove(&(machine, exchange));
                    self.ended(machine);
                }
            }
        }
    }

    /// An exchange is over: the registry must know.
    pub(super) fn ended(&mut self, machine: HttpMachine) {
        match machine {
            HttpMachine::Exchange(place) => self.unlisten(place),
            HttpMachine::Session(place) => {
                if let Some((key, _)) = self.sessions.get(&place) {
                    self.endpoint.exchange_ended(self.now, *key);
                }
            }
        }
    }
}
