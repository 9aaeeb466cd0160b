//! The steps of a client over HTTP: requests that it wants sent, and what comes of them.

use bytes::Bytes;
use serde::Deserialize;

use super::{Block, as_expected, headers, object, pieces, quoted};
use crate::client::Action;
use crate::error::Error;
use crate::http::Headers;
use crate::http::client::{Action as Act, Fetch, FetchFailed, FetchId, HttpClient, Input, Unauthorized};
use crate::json::Json;
use crate::machine::Now;
use crate::testing::pair::Side;
use crate::testing::transcript::calls::{Calls, ClientEvent, ClientVerbs as _};
use crate::testing::transcript::client::{ClientMemory, handshake_result};
use crate::testing::transcript::play::{Deadline, Problem, Role, Said, Stage, read};
use crate::testing::transcript::{Step, Verbs, bytes};

pub(in super::super) const VERBS: Verbs = &[
    // The machine says.
    ("fetch", &["as"]),
    ("abort", &[]),
    ("unauthorized", &["status", "www_authenticate"]),
    ("renewed", &[]),
    ("done", &["error", "exchange", "status"]),
    // What happens.
    ("answer", &["of", "invalid"]),
    ("stream", &["of"]),
    ("event", &["of", "invalid"]),
    ("comment", &[]),
    ("finished", &[]),
    ("in", &["of"]),
    ("fail", &["why"]),
    // The application wants.
    ("authorize", &["with"]),
    ("refuse_authorization", &[]),
    ("set_authorization", &[]),
];

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
const EVENTS: &[(&str, &str)] = &[("content-type", "text/event-stream")];

/// Something that a client over HTTP says, to its application or to whoever drives it.
#[derive(Debug)]
pub enum HttpClientEvent {
    /// It wants a request sent.
    Fetch(Wanted),
    /// It wants no more of an exchange.
    Abort(FetchId),
    /// It wants credentials.
    Unauthorized(Unauthorized),
    /// It tells its application.
    Event(ClientEvent),
}

/// A request that a client wants sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The exchange.
    pub id: FetchId,
    /// The method.
    pub method: String,
    /// The URL, absolute.
    pub url: String,
    /// The headers, but for those that an HTTP library makes itself.
    pub headers: Headers,
    /// The body, empty if there is none.
    pub body: Bytes,
}

/// A client over HTTP.
pub trait Fetches: Calls<Event = HttpClientEvent> {
    /// The request was wanted by the transcript as well, and goes out. If the server is out of reach, no connection will
    /// come about: [`FetchFailed::NotSent`] tells when.
    ///
    /// # Errors
    /// When something else goes out than was wanted.
    fn send(&mut self, fetch: FetchId, reachable: bool) -> Result<(), Problem>;

    /// Something comes of an exchange.
    ///
    /// # Errors
    /// As the machine's own `handle`.
    fn feed(&mut self, now: Now, input: Input) -> Result<(), Error>;

    /// The credentials for a request that the server wants some for, or none.
    ///
    /// # Errors
    /// When the machine refuses them.
    fn authorize(&mut self, now: Now, fetch: FetchId, credentials: Option<Bytes>) -> Result<(), Error>;

    /// The credentials for later requests, or none.
    ///
    /// # Errors
    /// When the machine refuses them.
    fn set_authorization(&mut self, credentials: Option<Bytes>) -> Result<(), Error>;
}

impl Calls for HttpClient {
    type Verbs = Self;

    fn verbs(&mut self) -> &mut Self {
        self
    }

    fn heard(event: &HttpClientEvent) -> Option<&ClientEvent> {
        match event {
            HttpClientEvent::Event(event) => Some(event),
            _ => None,
        }
    }

    fn hear(event: HttpClientEvent) -> Result<ClientEvent, Problem> {
        match event {
            HttpClientEvent::Event(event) => Ok(event),
            other => Err(format!("instead of an event: {other:?}")),
        }
    }
}

impl Fetches for HttpClient {
    fn send(&mut self, _: FetchId, _: bool) -> Result<(), Problem> {
        Ok(())
    }

    fn feed(&mut self, now: Now, input: Input) -> Result<(), Error> {
        self.handle(now, input)
    }

    fn authorize(&mut self, now: Now, fetch: FetchId, credentials: Option<Bytes>) -> Result<(), Error> {
        match credentials {
            Some(credentials) => Self::authorize(self, now, fetch, credentials),
            None => self.refuse_authorization(now, fetch),
        }
    }

    fn set_authorization(&mut self, credentials: Option<Bytes>) -> Result<(), Error> {
        Self::set_authorization(self, credentials)
    }
}

impl Role for HttpClient {
    type Event = HttpClientEvent;
    type Memory = ClientMemory;

    const SIDE: Side = Side::Client;

    fn poll(stage: &mut Stage<Self>) -> Result<Option<Said<HttpClientEvent>>, Problem> {
        let Some(action) = stage.machine.poll_action() else { return Ok(None) };
        Ok(Some(Said::Event(match action {
            Act::Event(Action::Diagnostic(remark)) => return Ok(Some(Said::Remark(remark))),
            Act::Event(action) => HttpClientEvent::Event(ClientEvent::of(action)?),
            Act::Abort(fetch) => HttpClientEvent::Abort(fetch),
            Act::Unauthorized(asked) => HttpClientEvent::Unauthorized(*asked),
            Act::Fetch(fetch) => {
                let Fetch { id, method, url, headers, body } = *fetch;
                stage.note_request(&body)?;
                HttpClientEvent::Fetch(Wanted {
                    id,
                    method: method.as_str().to_owned(),
                    url: url.to_string(),
                    headers,
                    body,
                })
            }
        })))
    }

    fn handle_timeout(&mut self, now: Now) {
        Self::handle_timeout(self, now);
    }

    fn deadline(&self) -> Deadline {
        Deadline::of(self.poll_timeout())
    }

    fn close(&mut self, now: Now) {
        Self::close(self, now);
    }

    fn open(stage: &mut Stage<Self>, version: &str, capabilities: &Json) -> Result<(), Problem> {
        stage.open_pinned_session(version, capabilities)
    }

    fn take(stage: &mut Stage<Self>, step: &Step, rest: &[Step]) -> Result<(), Problem> {
        stage.fetch_step(step, rest)
    }
}

impl<M: Fetches> Stage<M> {
    /// Notes the message that a request carries, if it carries one.
    ///
    /// # Errors
    /// When it is not text.
    pub fn note_request(&mut self, body: &[u8]) -> Result<(), Problem> {
        let text = std::str::from_utf8(body).map_err(|_| "a body is not UTF-8")?;
        if !text.is_empty() {
            self.note(Side::Client, text, false);
        }
        Ok(())
    }

    /// Opens a legacy session over HTTP.
    ///
    /// # Errors
    /// When it does not open.
    pub fn open_pinned_session(&mut self, version: &str, capabilities: &Json) -> Result<(), Problem> {
        self.done(|client, now| client.connect(now))?;
        let initialize = self.sent()?;
        let result = handshake_result(&String::from_utf8_lossy(&initialize.body), version, capabilities)?;
        let session = [("content-type", "application/json"), ("mcp-session-id", "session")];
        self.answer_whole(initialize.id, 200, headers(&session, None)?, result.as_bytes())?;
        self.note(Side::Server, &result, false);
        let initialized = self.sent()?;
        self.answer_whole(initialized.id, 202, Headers::new(), b"")?;
        M::hear(self.event_of(|event| matches!(M::heard(event), Some(ClientEvent::Connected(_))))?)?;
        // The stream of the session, if the machine asks for it: there is none.
        self.drain()?;
        while self.says_more() {
            let said = self.event_of(|_| true)?;
            match said {
                HttpClientEvent::Fetch(fetch) => {
                    self.machine.send(fetch.id, true)?;
                    self.answer_whole(fetch.id, 405, Headers::new(), b"")?;
                }
                HttpClientEvent::Abort(_) => {}
                other => return Err(format!("instead of a stream: {other:?}")),
            }
        }
        Ok(())
    }

    /// Takes a step that every client over HTTP has.
    ///
    /// # Errors
    /// When it fails.
    pub fn fetch_step(&mut self, step: &Step, rest: &[Step]) -> Result<(), Problem> {
        match &*step.verb {
            "fetch" => self.fetch(step, rest),
            "abort" => {
                let wanted = self.named(Some(&step.value))?;
                match self.event_of(|event| matches!(event, HttpClientEvent::Abort(fetch) if *fetch == wanted))? {
                    HttpClientEvent::Abort(fetch) if fetch == wanted => Ok(()),
                    other => Err(format!("another event: {other:?}")),
                }
            }
            "unauthorized" => self.unauthorized(step),
            "answer" | "stream" | "event" | "comment" | "finished" | "in" | "fail" => self.reaches(step),
            "authorize" | "refuse_authorization" => {
                let fetch = self.named(Some(&step.value))?;
                let with: Option<String> = step.more.get("with").map(read).transpose()?;
                if with.is_none() && step.verb == "authorize" {
                    return Err("with what?".to_owned());
                }
                let done = self.machine.authorize(self.now, fetch, with.map(Into::into));
                done.map_err(|error| format!("refused: {error}"))
            }
            "set_authorization" => {
                let value: Option<String> = read(&step.value)?;
                let done = self.machine.set_authorization(value.map(Into::into));
                done.map_err(|error| format!("refused: {error}"))
            }
            _ => self.call_step(step),
        }
    }

    /// The exchange of this name.
    fn named(&self, name: Option<&Json>) -> Result<FetchId, Problem> {
        let name: String = name.map(read).transpose()?.unwrap_or_default();
        self.memory.fetches.get(&name).copied().ok_or_else(|| format!("no exchange is called {name:?}"))
    }

    /// A request that must be wanted now.
    fn wanted(&mut self) -> Result<Wanted, Problem> {
        match self.event_of(|event| matches!(event, HttpClientEvent::Fetch(_)))? {
            HttpClientEvent::Fetch(fetch) => Ok(fetch),
            other => Err(format!("instead of a request: {other:?}")),
        }
    }

    /// A request that must be wanted now, and goes out.
    fn sent(&mut self) -> Result<Wanted, Problem> {
        let wanted = self.wanted()?;
        self.machine.send(wanted.id, true)?;
        Ok(wanted)
    }

    fn fetch(&mut self, step: &Step, rest: &[Step]) -> Result<(), Problem> {
        let fetch = self.wanted()?;
        let name: String = step.more.get("as").map(read).transpose()?.unwrap_or_default();
        self.machine.send(fetch.id, !never_sent(&name, rest))?;
        self.memory.fetches.insert(name, fetch.id);
        let body = String::from_utf8_lossy(&fetch.body).into_owned();
        self.compare_members(&step.value, |member, expected| match member {
            "method" => Some(quoted(&fetch.method)),
            "url" => Some(quoted(&fetch.url)),
            "headers" => Some(object(&fetch.headers)),
            "body" => Some(as_expected(expected, &body)),
            _ => None,
        })
    }

    fn unauthorized(&mut self, step: &Step) -> Result<(), Problem> {
        let wanted = self.named(Some(&step.value))?;
        let challenge = match self.event_of(|event| matches!(event, HttpClientEvent::Unauthorized(_)))? {
            HttpClientEvent::Unauthorized(asked) if asked.fetch == wanted => asked.challenge,
            other => return Err(format!("another event: {other:?}")),
        };
        if let Some(status) = step.more.get("status") {
            self.kept.compare(status, &challenge.status.to_string())?;
        }
        if let Some(values) = step.more.get("www_authenticate") {
            let said: Vec<_> = challenge.www_authenticate.iter().map(|value| String::from_utf8_lossy(value)).collect();
            self.kept.compare(values, &serde_json::json!(said).to_string())?;
        }
        Ok(())
    }

    /// Something of an answer reaches the machine.
    fn reaches(&mut self, step: &Step) -> Result<(), Problem> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Answer {
            #[serde(default = "ok")]
            status: u16,
            headers: Option<Json>,
            body: Option<Json>,
        }
        let itself = matches!(&*step.verb, "comment" | "finished" | "fail");
        let fetch = self.named(if itself { Some(&step.value) } else { step.more.get("of") })?;
        let wrong = step.more.contains_key("invalid");
        match &*step.verb {
            "answer" => {
                let Answer { status, headers: written, body } = read(&self.kept.filled(&step.value))?;
                let body = body.map_or(Some(Vec::new()), |body| bytes(&body, &self.kept)).ok_or("the body is none")?;
                if let Ok(text) = std::str::from_utf8(&body) {
                    self.note_message(Side::Server, text, wrong);
                }
                let defaults = if body.is_empty() || written.is_some() { &[] } else { JSON };
                self.answer_whole(fetch, status, headers(defaults, written.as_ref())?, &body)
            }
            "stream" => {
                let Answer { status, headers: written, .. } = read(&self.kept.filled(&step.value))?;
                let defaults = if written.is_some() { &[] } else { EVENTS };
                let headers = headers(defaults, written.as_ref())?;
                self.feed_client(Input::Head { fetch, status, headers })
            }
            "event" => {
                let (bytes, message) = Block::write(&step.value, &self.kept)?;
                self.note_message(Side::Server, &message, wrong);
                self.feed_body(fetch, &bytes)
            }
            "comment" => self.feed_body(fetch, b":\n\n"),
            "in" => {
                let bytes = bytes(&step.value, &self.kept).ok_or("the input is neither text nor hexadecimal")?;
                self.feed_body(fetch, &bytes)
            }
            "finished" => self.feed_client(Input::End { fetch }),
            _ => {
                let reason = match &*read::<String>(step.more.get("why").ok_or("why?")?)? {
                    "not_sent" => FetchFailed::NotSent("no connection".into()),
                    "broken" => FetchFailed::Broken("the connection was lost".into()),
                    other => return Err(format!("{other:?} is no failure")),
                };
                self.feed_client(Input::Failed { fetch, reason })
            }
        }
    }

    /// A whole answer.
    fn answer_whole(&mut self, fetch: FetchId, status: u16, headers: Headers, body: &[u8]) -> Result<(), Problem> {
        self.feed_client(Input::Head { fetch, status, headers })?;
        self.feed_body(fetch, body)?;
        self.feed_client(Input::End { fetch })
    }

    fn feed_body(&mut self, fetch: FetchId, body: &[u8]) -> Result<(), Problem> {
        let mut pieces = pieces(body, self.feed).into_iter();
        pieces.try_for_each(|bytes| self.feed_client(Input::Body { fetch, bytes }))
    }

    fn feed_client(&mut self, input: Input) -> Result<(), Problem> {
        // A fatal error shows as the end of the connection too, which a step must expect.
        match self.machine.feed(self.now, input) {
            Ok(()) | Err(Error::LimitExceeded { .. }) => self.drain(),
            Err(error) => Err(format!("the machine refused it: {error}")),
        }
    }
}

/// Whether what the file says of an exchange next is that it never went out.
fn never_sent(name: &str, rest: &[Step]) -> bool {
    let said_of = |step: &&Step| match &*step.verb {
        "answer" | "stream" | "event" | "in" => {
            step.more.get("of").is_some_and(|of| of.parse::<String>().is_ok_and(|of| of == name))
        }
        "comment" | "finished" | "fail" => step.value.parse::<String>().is_ok_and(|of| of == name),
        _ => false,
    };
    let why = rest.iter().find(said_of).and_then(|step| step.more.get("why")?.parse::<String>().ok());
    why.is_some_and(|why| why == "not_sent")
}

const fn ok() -> u16 {
    200
}
