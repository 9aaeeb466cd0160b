//! A server and a client in memory, on one clock that stands still unless the test moves it.
//!
//! ```text
//!             ┌──────── up ───────▶┐
//!      client machine          server machine ──Invoke──▶ handler, or `invocation()`
//!             └◀─────── down ──────┘
//!        │ NeedInput ──▶ answerer, or `question()`
//!        │ Done ───────▶ `done(call)`
//! ```
//!
//! Whatever nobody has set a handler for waits in the peers' `events`, so that a test reads as a script: call,
//! drive, look, reply, drive, look. Whatever a test does, the pair itself holds the machines to what every machine
//! promises: a call ends once and nothing comes for it afterwards, every frame is one line, no deadline stays due,
//! and the two come to rest.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::link::Link;
use super::peer::{Peer, Sorted, line};
use super::tree::Tree;
use crate::client::{self, Answer, CallError, CallOptions, Client, Config, InputAnswer, InputNeeded, Request};
use crate::ids::CallId;
use crate::json::Json;
use crate::machine::{Input, Mono, Now, Unix};
use crate::model::Extra;
use crate::rng::Seed;
use crate::server::{self, Definition, Invocation, Reply, Server};

/// Turns after which two machines that still talk are taken for a loop.
const TURNS_MOST: usize = 1_000_000;
/// Where the wall clock of a pair starts: 2027-01-15, a time that no test can take for zero.
const START: Unix = Unix::from_millis(1_800_000_000_000);

/// Who wrote a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// A frame that a machine wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Who.
    pub from: Side,
    /// When.
    pub at: Mono,
    /// One line, without its newline.
    pub text: String,
    /// Whether a transcript says that the frame is wrong on purpose.
    pub wrong: bool,
}

type Handler = Box<dyn FnMut(&mut Server, Now, Invocation)>;
type Answerer = Box<dyn FnMut(&InputNeeded) -> Option<InputAnswer>>;

/// A server and a client in memory. See the module's documentation.
pub struct Pair {
    /// The server.
    pub server: Peer<Server>,
    /// The client.
    pub client: Peer<Client>,
    /// What the client's frames travel on.
    pub up: Link,
    /// What the server's frames travel on.
    pub down: Link,
    /// The time. Move it with [`pass`](Self::pass), [`step`](Self::step) or [`at`](Self::at).
    pub now: Now,
    /// Everything that was written, in order.
    pub frames: Vec<Frame>,
    handler: Option<Handler>,
    answerer: Option<Answerer>,
    ended: BTreeSet<CallId>,
}

impl Pair {
    /// A server of this definition and a client of this configuration that have not met yet. The server's seed is
    /// fixed, which only a test may do.
    ///
    /// # Panics
    /// When the configuration contradicts itself.
    #[must_use]
    pub fn new(definition: impl Into<Arc<Definition>>, config: Config) -> Self {
        let client = Client::new(config).unwrap_or_else(|error| panic!("the configuration makes no client: {error}"));
        Self::of(Server::new(definition.into(), Seed([7; 32])), client)
    }

    /// A pair of machines that exist already.
    #[must_use]
    pub fn of(server: Server, client: Client) -> Self {
        Self {
            server: Peer::new(server),
            client: Peer::new(client),
            up: Link::new(),
            down: Link::new(),
            now: Now { mono: Mono::from_nanos(0), unix: START },
            frames: Vec::new(),
            handler: None,
            answerer: None,
            ended: BTreeSet::new(),
        }
    }

    /// A pair that has connected.
    ///
    /// # Panics
    /// When no connection comes about.
    #[must_use]
    pub fn connected(definition: impl Into<Arc<Definition>>, config: Config) -> Self {
        let mut pair = Self::new(definition, config);
        pair.connect();
        pair
    }

    /// Puts other links between the two.
    #[must_use]
    pub fn links(mut self, up: Link, down: Link) -> Self {
        (self.up, self.down) = (up, down);
        self
    }

    /// Sets what runs for every invocation from now on.
    pub fn serve(&mut self, handler: impl FnMut(&mut Server, Now, Invocation) + 'static) {
        self.handler = Some(Box::new(handler));
    }

    /// Sets a handler that answers at once.
    ///
    /// # Panics
    /// While driving, when the machine refuses a reply.
    pub fn serve_with(&mut self, mut handler: impl FnMut(&Invocation) -> Reply + 'static) {
        self.serve(move |server, now, invocation| {
            let reply = handler(&invocation);
            if let Err(error) = server.reply(now, invocation.slot, reply) {
                panic!("the server refused a reply: {error}");
            }
        });
    }

    /// Sets who answers questions from now on. `None` leaves a question to [`question`](Self::question).
    pub fn answer(&mut self, answerer: impl FnMut(&InputNeeded) -> Option<InputAnswer> + 'static) {
        self.answerer = Some(Box::new(answerer));
    }

    // ---- Time.

    /// One turn. If anything can happen now, it happens; else the clock goes on to the next thing that will. False
    /// if there is none.
    pub fn step(&mut self) -> bool {
        if self.work() {
            return true;
        }
        let Some(next) = self.next() else { return false };
        self.at(next);
        true
    }

    /// Lets everything happen that is under way: until nothing is queued and nothing in flight. The clock moves only
    /// as far as the links take, and deadlines that come on the way fire.
    pub fn drive(&mut self) {
        for _ in 0..TURNS_MOST {
            if self.work() {
                continue;
            }
            if self.up.poll_timeout().or_else(|| self.down.poll_timeout()).is_none() {
                return;
            }
            // A deadline that comes on the way comes first.
            if let Some(next) = self.next() {
                self.at(next);
            }
        }
        panic!("the machines do not come to rest");
    }

    /// Steps until `done`, over deadlines too; false if everything came to rest before.
    pub fn drive_until(&mut self, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        for _ in 0..TURNS_MOST {
            if done(self) {
                return true;
            }
            if !self.step() {
                return false;
            }
        }
        panic!("the machines do not come to rest");
    }

    /// Lets this time pass, with everything that happens in it.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now.mono.after(time);
        self.drive();
        for _ in 0..TURNS_MOST {
            match self.next().filter(|next| *next <= end) {
                Some(next) => self.at(next),
                None => {
                    self.at(end);
                    return self.drive();
                }
            }
            while self.work() {}
        }
        panic!("the machines do not come to rest");
    }

    /// The next time at which anything happens by itself.
    #[must_use]
    pub fn next(&self) -> Option<Mono> {
        earliest([self.up.poll_timeout(), self.down.poll_timeout(), self.server.deadline(), self.client.deadline()])
    }

    /// Sets the clock, never back, and fires what is due.
    pub fn at(&mut self, time: Mono) {
        let passed = self.now.mono.until(time);
        let millis = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        self.now = Now {
            mono: self.now.mono.max(time),
            unix: Unix::from_millis(self.now.unix.as_millis().saturating_add(millis)),
        };
        self.server.wake(self.now);
        self.client.wake(self.now);
    }

    /// Everything that can happen at this moment; false if nothing could.
    fn work(&mut self) -> bool {
        let mut busy = false;
        while let Some(sorted) = self.server.act(self.now) {
            busy = true;
            match sorted {
                Sorted::Frame(frame) => self.carry(Side::Server, &frame),
                Sorted::Event { action, last } => self.server_event(action, last),
                Sorted::Diagnostic(_) => {}
            }
        }
        while let Some(sorted) = self.client.act(self.now) {
            busy = true;
            match sorted {
                Sorted::Frame(frame) => self.carry(Side::Client, &frame),
                Sorted::Event { action, last } => self.client_event(action, last),
                Sorted::Diagnostic(_) => {}
            }
        }
        if let Some(input) = self.up.poll(self.now.mono) {
            busy = true;
            self.server.receive(self.now, input);
        }
        if let Some(input) = self.down.poll(self.now.mono) {
            busy = true;
            self.client.receive(self.now, input);
        }
        busy
    }

    fn carry(&mut self, from: Side, frame: &Bytes) {
        self.frames.push(Frame { from, at: self.now.mono, text: line(frame).to_owned(), wrong: false });
        match from {
            Side::Client => self.up.send(self.now.mono, frame),
            Side::Server => self.down.send(self.now.mono, frame),
        }
    }

    fn server_event(&mut self, action: server::Action, last: bool) {
        if last {
            self.down.finish();
        }
        match (action, &mut self.handler) {
            (server::Action::Invoke(invocation), Some(handler)) => {
                handler(&mut self.server.machine, self.now, *invocation);
            }
            (action, _) => self.server.events.push_back(action),
        }
    }

    fn client_event(&mut self, action: client::Action, last: bool) {
        if last {
            self.up.finish();
        }
        match &action {
            client::Action::Done { call, .. } => assert!(self.ended.insert(*call), "{call:?} ended twice"),
            client::Action::Progress { call, .. } | client::Action::Listening { call, .. } => {
                assert!(!self.ended.contains(call), "something came for {call:?} after its end");
            }
            client::Action::NeedInput(needed) => {
                let over = needed.call.filter(|call| self.ended.contains(call));
                assert_eq!(over, None, "a question came for a call after its end");
                if let Some(answer) = self.answerer.as_mut().and_then(|answerer| answerer(needed)) {
                    return self.supply(needed.input, &answer);
                }
            }
            _ => {}
        }
        self.client.events.push_back(action);
    }

    // ---- The application of the client.

    /// Connects, and drives until that is done.
    ///
    /// # Panics
    /// When no connection comes about.
    pub fn connect(&mut self) {
        if let Err(error) = self.client.machine.connect(self.now) {
            panic!("the client cannot connect: {error}");
        }
        self.drive_until(|pair| pair.client.machine.server().is_some() || pair.client.is_closed());
        self.drive();
        let connected = self.client.take(|action| match action {
            client::Action::Connected(facts) => Ok(facts),
            other => Err(other),
        });
        assert!(connected.is_some(), "no connection came about: {:?}", self.client.events);
        self.server.take(|action| match action {
            server::Action::Notified(server::Notified::Initialized) => Ok(()),
            other => Err(other),
        });
    }

    /// Starts a call.
    ///
    /// # Panics
    /// When the client refuses it.
    pub fn call(&mut self, request: Request, options: CallOptions) -> CallId {
        self.client
            .machine
            .call(self.now, request, options)
            .unwrap_or_else(|error| panic!("the client refused a call: {error}"))
    }

    /// Makes a call and drives until it has ended, over deadlines if it must.
    ///
    /// # Errors
    /// How the call failed.
    ///
    /// # Panics
    /// When everything comes to rest before the call has ended: nobody answers it.
    pub fn run(&mut self, request: Request) -> Result<Answer, CallError> {
        let call = self.call(request, CallOptions::new());
        let mut outcome = None;
        self.drive_until(|pair| {
            outcome = pair.done(call);
            outcome.is_some()
        });
        outcome.unwrap_or_else(|| panic!("{call:?} does not end"))
    }

    /// The end of a call, if it has ended.
    pub fn done(&mut self, call: CallId) -> Option<Result<Answer, CallError>> {
        self.client.take(|action| match action {
            client::Action::Done { call: done, outcome } if done == call => Ok(outcome),
            other => Err(other),
        })
    }

    /// The oldest question of the server that nobody has answered.
    pub fn question(&mut self) -> Option<InputNeeded> {
        self.client.take(|action| match action {
            client::Action::NeedInput(needed) => Ok(*needed),
            other => Err(other),
        })
    }

    /// Answers a question.
    ///
    /// # Panics
    /// When the client refuses the answer.
    pub fn supply(&mut self, input: client::InputId, answer: &InputAnswer) {
        if let Err(error) = self.client.machine.supply_input(self.now, input, answer) {
            panic!("the client refused an answer: {error}");
        }
    }

    // ---- The application of the server.

    /// The oldest invocation that nobody has dealt with.
    pub fn invocation(&mut self) -> Option<Invocation> {
        self.server.take(|action| match action {
            server::Action::Invoke(invocation) => Ok(*invocation),
            other => Err(other),
        })
    }

    /// Answers an invocation.
    ///
    /// # Panics
    /// When the server refuses the reply.
    pub fn reply(&mut self, invocation: Invocation, reply: Reply) {
        if let Err(error) = self.server.machine.reply(self.now, invocation.slot, reply) {
            panic!("the server refused a reply: {error}");
        }
    }

    // ---- Received is sent.

    /// Makes a call whose handler answers `reply`, and asserts that what is received is what was sent: the handler
    /// sees the method and every parameter as the client gave it, the client every member of the result, or the
    /// error, as the handler gave it. Members that an era adds are not looked at.
    ///
    /// # Panics
    /// When it is not so, and when a handler is set.
    pub fn exchange(&mut self, request: Request, reply: Reply) -> Result<Answer, CallError> {
        assert!(self.handler.is_none(), "exchange is the handler itself");
        let (method, params) = (request.method().to_owned(), request.params().clone());
        let call = self.call(request, CallOptions::new());
        self.drive_until(|pair| pair.server.events.iter().any(|event| matches!(event, server::Action::Invoke(_))));
        let invocation = self.invocation().unwrap_or_else(|| panic!("{method} reached no handler"));
        assert_eq!(invocation.context.method(), method);
        assert_carried("params", &params, &invocation.context.params());
        let sent = sent(&reply);
        self.reply(invocation, reply);
        let mut outcome = None;
        self.drive_until(|pair| {
            outcome = pair.done(call);
            outcome.is_some()
        });
        let outcome = outcome.unwrap_or_else(|| panic!("{method} does not end"));
        match (&sent, &outcome) {
            (Some(Ok(sent)), Ok(answer)) => assert_carried("result", sent, &answer.json()),
            (Some(Err(sent)), Err(CallError::Remote(received))) => assert_eq!(sent, received),
            (Some(sent), received) => panic!("{sent:?} was sent and {received:?} was received"),
            (None, _) => {}
        }
        outcome
    }

    /// Asserts that everything is over: nothing queued, in flight, waited for or left to look at.
    ///
    /// # Panics
    /// When it is not so.
    pub fn assert_quiet(&mut self) {
        while self.work() {}
        assert!(self.server.events.is_empty(), "the server's application missed {:?}", self.server.events);
        assert!(self.client.events.is_empty(), "the client's application missed {:?}", self.client.events);
        assert!(self.up.is_idle() && self.down.is_idle(), "bytes are in flight");
        assert_eq!(self.next(), None, "something is waited for");
    }

    /// Ends the client's side of the stream: the server sees the end of its input.
    pub fn hang_up(&mut self) {
        self.up.finish();
        self.drive();
    }
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair")
            .field("now", &self.now)
            .field("up", &self.up)
            .field("down", &self.down)
            .field("frames", &self.frames)
            .field("server", &self.server.events)
            .field("client", &self.client.events)
            .finish_non_exhaustive()
    }
}

/// Asserts that every member of one object is in another, as it was: numbers to the last digit.
///
/// # Panics
/// When it is not so.
#[track_caller]
pub fn assert_carried(what: &str, sent: &Json, received: &Json) {
    let members = |json: &Json| json.parse::<Extra>().unwrap_or_else(|_| panic!("{what} is no object: {json}"));
    let received = members(received);
    for (name, value) in members(sent).iter() {
        let Some(came) = received.get(name) else { panic!("{what} lost {name:?} on the way") };
        assert!(Tree::read(value.get()) == Tree::read(came.get()), "{what}: {name:?} was {value} and became {came}");
    }
}

/// What a reply puts on the wire, where that can be said without the definition.
fn sent(reply: &Reply) -> Option<Result<Json, crate::error::ErrorObject>> {
    let written = match reply {
        Reply::Error(error) => return Some(Err(error.clone())),
        Reply::Prompt(result) => Json::from_value(result),
        Reply::Raw(json) => Ok(json.clone()),
        Reply::Resource(result) => Json::from_value(result),
        Reply::Tool(result) => Json::from_value(result),
        _ => return None,
    };
    written.ok().map(Ok)
}

fn earliest<const N: usize>(times: [Option<Mono>; N]) -> Option<Mono> {
    times.into_iter().flatten().min()
}

/// Input that a test feeds to a machine by hand.
impl From<&str> for Input {
    fn from(text: &str) -> Self {
        Self::Bytes(Bytes::copy_from_slice(text.as_bytes()))
    }
}
