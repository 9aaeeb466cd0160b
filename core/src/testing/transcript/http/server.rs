//! The steps of a server over HTTP: requests that arrive, answers that must go out.
//!
//! Each request has a queue of what was said to it. Streams are read as they come, so that it does not matter how the
//! machine cuts them into chunks.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;

use super::{Block, as_expected, headers, object, pieces};
use crate::error::Error;
use crate::http::Headers;
use crate::http::server::Action as Act;
use crate::ids::{CallId, ReplySlot, SlotId};
use crate::json::Json;
use crate::machine::Now;
use crate::server::{Action, Event, LogMessage, Progress, Reply, Sent};
use crate::testing::http::{AskId, HttpFront, HttpMachine, HttpPiece, HttpRequest};
use crate::testing::pair::Side;
use crate::testing::transcript::play::{Deadline, Problem, Role, Said, Stage, read};
use crate::testing::transcript::server::{
    INITIALIZED, Message, ServerEvent, ServerMemory, Serves, check_sent, initialize,
};
use crate::testing::transcript::{Step, Verbs, bytes};

pub(in super::super) const VERBS: Verbs = &[
    // What happens.
    ("ask", &["as", "open", "invalid"]),
    ("more", &["body", "invalid"]),
    ("end", &[]),
    ("give_up", &[]),
    ("broken", &[]),
    ("disconnect", &[]),
    ("stall", &[]),
    // The machine says.
    ("answer", &["of"]),
    ("stream", &["of"]),
    ("event", &["of"]),
    ("comment", &[]),
    ("finished", &[]),
    ("invoke", &["as", "reply", "on"]),
    ("notified", &["on"]),
    ("closed", &["on"]),
    // The application wants.
    ("log", &["of", "on", "sent"]),
    ("notify", &["on"]),
    ("request", &["as", "of", "on", "timeout_ms", "refused"]),
    ("close_stream", &["sent"]),
];

/// What a request of each method has, unless the file says otherwise.
const POST: &[(&str, &str)] =
    &[("host", "localhost"), ("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
const GET: &[(&str, &str)] = &[("host", "localhost"), ("accept", "text/event-stream")];
const OTHER: &[(&str, &str)] = &[("host", "localhost")];

/// A server that requests come to. Whoever implements this gives them their names.
pub trait Hosts: Serves {
    /// The head of a request. Its body follows, if only its end.
    fn begin(&mut self, now: Now, request: &HttpRequest) -> AskId;

    /// A part of the body.
    fn body(&mut self, now: Now, ask: AskId, bytes: Bytes);

    /// The body is whole.
    fn end(&mut self, now: Now, ask: AskId);

    /// The body does not come.
    fn give_up(&mut self, now: Now, ask: AskId);

    /// The body breaks off.
    fn broken(&mut self, now: Now, ask: AskId);

    /// The client has gone.
    fn disconnect(&mut self, now: Now, ask: AskId);

    /// The client reads nothing from here on.
    fn stall(&mut self, ask: AskId);

    /// Whether a client that reads nothing can only show what is said to it when it reads again.
    fn reads_later(&self, _ask: AskId) -> bool {
        false
    }

    /// The client reads again.
    fn resume(&mut self, _ask: AskId) {}

    /// Whether the head of a request is refused before any code of this project sees it.
    fn refuses_head(&self, _ask: AskId) -> bool {
        false
    }

    /// The next part of an answer.
    ///
    /// # Errors
    /// When it is none of HTTP.
    fn hear(&mut self, now: Now, ask: AskId) -> Result<Option<HttpPiece>, Problem>;

    /// Ends the stream that carries the answer to an invocation.
    ///
    /// # Errors
    /// When there is no such invocation.
    fn close_stream(&mut self, now: Now, place: Self::Place, slot: SlotId) -> Result<Sent, Error>;
}

/// A request, and what was said to it.
#[derive(Debug)]
pub(in super::super) struct Ask {
    pub(in super::super) id: AskId,
    said: VecDeque<Heard>,
    /// The head, until the body is whole.
    head: Option<(u16, Headers)>,
    body: Vec<u8>,
    streams: bool,
    /// What its client has sent, and whether that is wrong on purpose.
    sent: (Vec<u8>, bool),
}

#[derive(Debug)]
enum Heard {
    Answer { status: u16, headers: Headers, body: String },
    Block(Block),
    Finished,
    Stream { status: u16, headers: Headers },
}

impl Ask {
    const fn new(id: AskId) -> Self {
        Self { id, said: VecDeque::new(), head: None, body: Vec::new(), streams: false, sent: (Vec::new(), false) }
    }

    /// Takes a part of the answer. Gives back the messages that it completes.
    fn hear(&mut self, piece: HttpPiece) -> Result<Vec<String>, Problem> {
        match piece {
            HttpPiece::Head { status, headers } => {
                self.streams = headers.get("content-type") == Some(b"text/event-stream");
                match self.streams {
                    true => self.said.push_back(Heard::Stream { status, headers }),
                    false => self.head = Some((status, headers)),
                }
                Ok(Vec::new())
            }
            HttpPiece::Body(bytes) => {
                self.body.extend_from_slice(&bytes);
                if self.streams { self.blocks() } else { Ok(Vec::new()) }
            }
            HttpPiece::End if self.streams => {
                if !self.body.is_empty() {
                    return Err("the stream ends within an event".to_owned());
                }
                self.said.push_back(Heard::Finished);
                Ok(Vec::new())
            }
            HttpPiece::End => {
                let (status, headers) = self.head.take().ok_or("an answer has no head")?;
                let body = std::mem::take(&mut self.body);
                let body = String::from_utf8(body).map_err(|_| "a body is not UTF-8")?;
                self.said.push_back(Heard::Answer { status, headers, body: body.clone() });
                Ok(vec![body])
            }
        }
    }

    /// The events that are complete.
    fn blocks(&mut self) -> Result<Vec<String>, Problem> {
        let mut messages = Vec::new();
        while let Some(end) = self.body.windows(2).position(|two| two == b"\n\n") {
            let text = self.body.drain(..end + 2).collect();
            let text = String::from_utf8(text).map_err(|_| "an event is not UTF-8")?;
            let block = Block::read(text.trim_end_matches('\n'))?;
            if let Block::Event { data: Some(data), .. } = &block {
                messages.push(data.clone());
            }
            self.said.push_back(Heard::Block(block));
        }
        Ok(messages)
    }
}

impl Role for HttpFront {
    type Event = (HttpMachine, ServerEvent);
    type Memory = ServerMemory<HttpMachine>;

    const SIDE: Side = Side::Server;

    fn poll(stage: &mut Stage<Self>) -> Result<Option<Said<Self::Event>>, Problem> {
        stage.hear()?;
        let Some((place, action)) = stage.machine.next_event() else { return Ok(None) };
        let action = match action {
            Act::Answered { call, outcome } => Action::Answered { call, outcome },
            Act::Cancelled { slot, reason } => Action::Cancelled { slot, reason },
            Act::Closed(closed) => Action::Closed(closed),
            Act::Diagnostic(remark) => return Ok(Some(Said::Remark(remark))),
            Act::Invoke(invocation) => Action::Invoke(invocation),
            Act::Notified(notified) => Action::Notified(notified),
            Act::Chunk { .. } | Act::Finish { .. } | Act::Listen(_) | Act::Publish(_) | Act::Respond { .. } => {
                return Err(format!("the front does this itself: {action:?}"));
            }
        };
        Ok(Some(Said::Event((place, ServerEvent::of(action)?))))
    }

    fn handle_timeout(&mut self, now: Now) {
        Self::handle_timeout(self, now);
    }

    fn deadline(&self) -> Deadline {
        Deadline::of(self.poll_timeout())
    }

    fn close(&mut self, now: Now) {
        self.shut_down(now);
    }

    fn open(stage: &mut Stage<Self>, version: &str, capabilities: &Json) -> Result<(), Problem> {
        stage.open_session_over_http(version, capabilities)
    }

    fn take(stage: &mut Stage<Self>, step: &Step, _rest: &[Step]) -> Result<(), Problem> {
        stage.host_step(step)
    }

    fn left(stage: &Stage<Self>) -> Option<String> {
        stage.unread()
    }
}

fn request(method: &str) -> HttpRequest {
    HttpRequest { headers: Headers::new(), ..HttpRequest::new(method, "/mcp") }
}

impl<M: Hosts> Stage<M> {
    /// Opens a legacy session over HTTP.
    ///
    /// # Errors
    /// When it does not open.
    pub fn open_session_over_http(&mut self, version: &str, capabilities: &Json) -> Result<(), Problem> {
        self.arrive("session", &HttpRequest { headers: headers(POST, None)?, ..request("POST") })?;
        let initialize = initialize(version, capabilities);
        self.body("session", initialize.as_bytes(), false)?;
        self.complete("session")?;
        let Heard::Answer { status: 200, headers: said, body } = self.heard("session")? else {
            return Err("the session was not opened".to_owned());
        };
        let id = said.get("mcp-session-id").map(String::from_utf8_lossy).filter(|_| body.contains(version));
        let id = id.ok_or_else(|| format!("the session was not opened: {body}"))?.into_owned();
        self.kept.keep("session", super::quoted(&id));
        let more = [("mcp-session-id", &*id), ("mcp-protocol-version", version)];
        let all: Vec<(&str, &str)> = POST.iter().copied().chain(more).collect();
        let initialized = HttpRequest { headers: headers(&all, None)?, ..request("POST") };
        self.arrive("", &initialized)?;
        self.body("", INITIALIZED.as_bytes(), false)?;
        self.complete("")?;
        match self.heard("")? {
            Heard::Answer { status: 202, .. } => self.event().map(drop),
            other => Err(format!("the session was not opened: {other:?}")),
        }
    }

    /// Takes a step that every server over HTTP has.
    ///
    /// # Errors
    /// When it fails.
    pub fn host_step(&mut self, step: &Step) -> Result<(), Problem> {
        match &*step.verb {
            "ask" => self.ask(step),
            "more" => {
                let name: String = read(&step.value)?;
                let body = step.more.get("body").ok_or("more of what?")?;
                let body = bytes(body, &self.kept).ok_or("the body is none")?;
                self.body(&name, &body, step.more.contains_key("invalid"))
            }
            "end" => self.complete(&read::<String>(&step.value)?),
            "give_up" | "broken" | "disconnect" | "stall" => {
                let id = self.ask_id(&read::<String>(&step.value)?)?;
                match &*step.verb {
                    "give_up" => self.machine.give_up(self.now, id),
                    "broken" => self.machine.broken(self.now, id),
                    "disconnect" => self.machine.disconnect(self.now, id),
                    _ => self.machine.stall(id),
                }
                Ok(())
            }
            "answer" | "stream" | "event" | "comment" | "finished" => self.said_to(step),
            "close_stream" => {
                let (place, slot) = self.slot(&step.value)?;
                let sent = self.machine.close_stream(self.now, place, slot);
                let sent = sent.map_err(|error| format!("refused: {error}"))?;
                check_sent(step, sent)
            }
            _ => self.serve_step(step),
        }
    }

    /// Takes what was said to every request.
    ///
    /// # Errors
    /// When it is no answer.
    pub fn hear(&mut self) -> Result<(), Problem> {
        let mut messages = Vec::new();
        for ask in self.memory.asks.values_mut() {
            while let Some(piece) = self.machine.hear(self.now, ask.id)? {
                messages.extend(ask.hear(piece)?);
            }
        }
        for message in messages {
            self.note_message(Side::Server, &message, false);
        }
        Ok(())
    }

    /// A step that waits for a client to read again.
    #[must_use]
    pub fn unchecked(&self) -> Option<String> {
        self.memory.later.first().map(|step| format!("nobody has read for {step}"))
    }

    /// Something that was said to a request, and that no step has asked for.
    #[must_use]
    pub fn unread(&self) -> Option<String> {
        let left = self.memory.asks.iter().find_map(|(name, ask)| Some((name, ask.said.front()?)));
        left.map(|(name, heard)| format!("{heard:?} to {name:?}"))
    }

    fn ask(&mut self, step: &Step) -> Result<(), Problem> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            method: Option<String>,
            target: Option<String>,
            authority: Option<String>,
            headers: Option<Json>,
            body: Option<Json>,
            principal: Option<String>,
        }
        let written: Written = read(&self.kept.filled(&step.value))?;
        let method = written.method.as_deref().unwrap_or("POST");
        let defaults = match method {
            "POST" => POST,
            "GET" => GET,
            _ => OTHER,
        };
        let request = HttpRequest {
            target: written.target.unwrap_or_else(|| "/mcp".to_owned()),
            authority: written.authority,
            principal: written.principal.map(Into::into),
            headers: headers(defaults, written.headers.as_ref())?,
            ..request(method)
        };
        let body = written.body.as_ref().map(|body| bytes(body, &self.kept));
        let body = body.map_or(Ok(Vec::new()), |body| body.ok_or("the body is none"))?;
        let name: String = step.more.get("as").map(read).transpose()?.unwrap_or_default();
        self.arrive(&name, &request)?;
        self.body(&name, &body, step.more.contains_key("invalid"))?;
        if step.more.contains_key("open") { Ok(()) } else { self.complete(&name) }
    }

    /// A request arrives. Whoever had its name has it no more.
    fn arrive(&mut self, name: &str, request: &HttpRequest) -> Result<(), Problem> {
        self.drain()?;
        if let Some(left) = self.memory.asks.get(name).and_then(|ask| ask.said.front()) {
            return Err(format!("another request has this name, and {left:?} was said to it"));
        }
        let id = self.machine.begin(self.now, request);
        self.memory.asks.insert(name.to_owned(), Ask::new(id));
        self.memory.places.remove(name);
        self.place_of(name);
        Ok(())
    }

    /// More of a body.
    fn body(&mut self, name: &str, bytes: &[u8], wrong: bool) -> Result<(), Problem> {
        let id = self.ask_id(name)?;
        if let Some(ask) = self.memory.asks.get_mut(name) {
            ask.sent.0.extend_from_slice(bytes);
            ask.sent.1 |= wrong;
        }
        for piece in pieces(bytes, self.feed) {
            self.machine.body(self.now, id, piece);
        }
        Ok(())
    }

    /// The body is whole.
    fn complete(&mut self, name: &str) -> Result<(), Problem> {
        let id = self.ask_id(name)?;
        let (sent, wrong) = self.memory.asks.get_mut(name).map(|ask| std::mem::take(&mut ask.sent)).unwrap_or_default();
        if let Ok(text) = std::str::from_utf8(&sent)
            && !text.is_empty()
        {
            self.note(Side::Client, text, wrong);
        }
        self.machine.end(self.now, id);
        self.place_of(name);
        Ok(())
    }

    /// Notes which machine serves a request.
    fn place_of(&mut self, name: &str) {
        let served = self.memory.asks.get(name).and_then(|ask| self.machine.served_by(ask.id));
        if let Some(place) = served {
            self.memory.places.insert(name.to_owned(), place);
        }
    }

    fn ask_id(&self, name: &str) -> Result<AskId, Problem> {
        let ask = self.memory.asks.get(name).ok_or_else(|| format!("no request is called {name:?}"))?;
        Ok(ask.id)
    }

    /// The next thing that is said to a request.
    fn heard(&mut self, name: &str) -> Result<Heard, Problem> {
        self.drain()?;
        let ask = self.memory.asks.get_mut(name).ok_or_else(|| format!("no request is called {name:?}"))?;
        ask.said.pop_front().ok_or_else(|| "nothing was said to it".to_owned())
    }

    fn said_to(&mut self, step: &Step) -> Result<(), Problem> {
        let named = matches!(&*step.verb, "comment" | "finished");
        let name = if named { Some(&step.value) } else { step.more.get("of") };
        let name: String = name.map(read).transpose()?.unwrap_or_default();
        let id = self.ask_id(&name)?;
        if self.machine.reads_later(id) && step.verb != "stream" {
            self.memory.later.push(step.clone());
            if step.verb != "finished" {
                return Ok(());
            }
            self.machine.resume(id);
            return std::mem::take(&mut self.memory.later).iter().try_for_each(|step| self.said_to(step));
        }
        match (&*step.verb, self.heard(&name)?) {
            ("answer", Heard::Answer { status: 400..=499, .. }) if self.machine.refuses_head(id) => Ok(()),
            ("answer", Heard::Answer { status, headers, body }) => {
                self.compare_members(&step.value, |member, expected| match member {
                    "status" => Some(status.to_string()),
                    "headers" => Some(object(&headers)),
                    "body" => Some(as_expected(expected, &body)),
                    _ => None,
                })
            }
            ("stream", Heard::Stream { status, headers }) => {
                self.compare_members(&step.value, |member, _| match member {
                    "status" => Some(status.to_string()),
                    "headers" => Some(object(&headers)),
                    _ => None,
                })
            }
            ("event", Heard::Block(block @ Block::Event { .. })) => {
                let event = block.object(&step.value)?;
                self.kept.compare(&step.value, &event)
            }
            ("comment", Heard::Block(Block::Comment)) | ("finished", Heard::Finished) => Ok(()),
            (_, other) => Err(format!("something else was said: {other:?}")),
        }
    }
}

impl Serves for HttpFront {
    type Place = HttpMachine;

    const ALONE: Option<HttpMachine> = None;

    fn served_by(&self, ask: AskId) -> Option<HttpMachine> {
        Self::served_by(self, ask)
    }

    fn reply(&mut self, now: Now, place: HttpMachine, slot: SlotId, reply: Reply) -> Result<(), Error> {
        Self::reply(self, now, place, ReplySlot::from_id(slot), reply)
    }

    fn abandon(&mut self, now: Now, place: HttpMachine, slot: SlotId) {
        // A machine that is gone has nothing left to abandon.
        let _ = Self::reply(self, now, place, ReplySlot::from_id(slot), Reply::Failed);
    }

    fn progress(&mut self, now: Now, place: HttpMachine, slot: SlotId, progress: &Progress) -> Result<Sent, Error> {
        Self::progress(self, now, place, slot, progress)
    }

    fn log(&mut self, now: Now, place: HttpMachine, slot: Option<SlotId>, message: &LogMessage) -> Result<Sent, Error> {
        Self::log(self, now, place, slot, message)
    }

    fn notify(&mut self, now: Now, place: HttpMachine, method: &str, params: Option<&Json>) -> Result<(), Error> {
        Self::notify(self, now, place, None, method, params)
    }

    fn publish(&mut self, now: Now, event: &Event) -> Option<Sent> {
        Self::publish(self, now, event);
        None
    }

    fn request(
        &mut self,
        now: Now,
        place: HttpMachine,
        slot: Option<SlotId>,
        message: &Message,
        timeout: Option<Duration>,
    ) -> Result<CallId, Error> {
        Self::request(self, now, place, slot, (&message.method, message.params.as_ref()), timeout)
    }

    fn cancel_request(
        &mut self,
        now: Now,
        place: HttpMachine,
        call: CallId,
        reason: Option<&str>,
    ) -> Result<(), Error> {
        Self::cancel_request(self, now, place, call, reason)
    }
}

impl Hosts for HttpFront {
    fn begin(&mut self, now: Now, request: &HttpRequest) -> AskId {
        Self::begin(self, now, request)
    }

    fn body(&mut self, now: Now, ask: AskId, bytes: Bytes) {
        Self::body(self, now, ask, bytes);
    }

    fn end(&mut self, now: Now, ask: AskId) {
        Self::end(self, now, ask);
    }

    fn give_up(&mut self, now: Now, ask: AskId) {
        Self::give_up(self, now, ask);
    }

    fn broken(&mut self, now: Now, ask: AskId) {
        Self::broken(self, now, ask);
    }

    fn disconnect(&mut self, now: Now, ask: AskId) {
        Self::disconnect(self, now, ask);
    }

    fn stall(&mut self, ask: AskId) {
        Self::stall(self, ask);
    }

    fn hear(&mut self, now: Now, ask: AskId) -> Result<Option<HttpPiece>, Problem> {
        Ok(Self::poll(self, now, ask))
    }

    fn close_stream(&mut self, now: Now, place: HttpMachine, slot: SlotId) -> Result<Sent, Error> {
        Self::close_stream(self, now, place, slot)
    }
}
