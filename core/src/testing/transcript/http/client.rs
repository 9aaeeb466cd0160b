//! The steps of a client over HTTP: requests that it wants sent, and what comes of them.

use serde::Deserialize;

use super::{Block, as_expected, headers, object, pieces, quoted};
use crate::client::{Action, Client, Transport};
use crate::http::Headers;
use crate::http::client::{Action as Act, FetchFailed, FetchId, HttpClient, Input};
use crate::json::Json;
use crate::machine::Now;
use crate::testing::pair::Side;
use crate::testing::transcript::client::{Calls, ClientMemory, handshake_result};
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

impl Calls for HttpClient {
    fn verbs(&mut self) -> &mut Client<dyn Transport> {
        self
    }

    fn said(event: Act) -> Result<Action, Problem> {
        match event {
            Act::Event(event) => Ok(event),
            other => Err(format!("instead of an event: {other:?}")),
        }
    }
}

impl Role for HttpClient {
    type Event = Act;
    type Memory = ClientMemory;

    const SIDE: Side = Side::Client;

    fn poll(stage: &mut Stage<Self>) -> Result<Option<Said<Act>>, Problem> {
        Ok(match stage.machine.poll_action() {
            None => None,
            Some(Act::Event(Action::Diagnostic(remark))) => Some(Said::Remark(remark)),
            Some(Act::Event(Action::Write(_))) => return Err("a client of HTTP writes a frame".to_owned()),
            Some(action) => {
                if let Act::Fetch(fetch) = &action
                    && !fetch.body.is_empty()
                {
                    let text = std::str::from_utf8(&fetch.body).map_err(|_| "a body is not UTF-8")?;
                    stage.note(Side::Client, text, false);
                }
                Some(Said::Event(action))
            }
        })
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
        stage.done(|client, now| client.connect(now))?;
        let initialize = stage.wanted()?;
        let result = handshake_result(&String::from_utf8_lossy(&initialize.body), version, capabilities)?;
        let session = [("content-type", "application/json"), ("mcp-session-id", "session")];
        stage.whole(initialize.id, 200, headers(&session, None)?, result.as_bytes())?;
        stage.note(Side::Server, &result, false);
        let initialized = stage.wanted()?;
        stage.whole(initialized.id, 202, Headers::new(), b"")?;
        loop {
            match stage.event()? {
                Act::Fetch(fetch) => stage.whole(fetch.id, 405, Headers::new(), b"")?,
                Act::Abort(_) => {}
                Act::Event(Action::Connected(_)) => break,
                other => return Err(format!("instead of a connection: {other:?}")),
            }
        }
        stage.pass_stream()
    }

    fn take(stage: &mut Stage<Self>, step: &Step, _rest: &[Step]) -> Result<(), Problem> {
        match &*step.verb {
            "fetch" => stage.fetch(step),
            "abort" => match stage.event()? {
                Act::Abort(fetch) if fetch == stage.named(Some(&step.value))? => Ok(()),
                other => Err(format!("another event: {other:?}")),
            },
            "unauthorized" => stage.unauthorized(step),
            "answer" | "stream" | "event" | "comment" | "finished" | "in" | "fail" => stage.reaches(step),
            "authorize" => {
                let fetch = stage.named(Some(&step.value))?;
                let with: String = read(step.more.get("with").ok_or("with what?")?)?;
                let done = stage.machine.authorize(stage.now, fetch, with);
                done.map_err(|error| format!("refused: {error}"))
            }
            "refuse_authorization" => {
                let fetch = stage.named(Some(&step.value))?;
                let done = stage.machine.refuse_authorization(stage.now, fetch);
                done.map_err(|error| format!("refused: {error}"))
            }
            "set_authorization" => {
                let value: Option<String> = read(&step.value)?;
                let done = stage.machine.set_authorization(value.map(Into::into));
                done.map_err(|error| format!("refused: {error}"))
            }
            _ => stage.call_step(step),
        }
    }
}

impl Stage<HttpClient> {
    /// The exchange of this name.
    fn named(&self, name: Option<&Json>) -> Result<FetchId, Problem> {
        let name: String = name.map(read).transpose()?.unwrap_or_default();
        self.memory.fetches.get(&name).copied().ok_or_else(|| format!("no exchange is called {name:?}"))
    }

    /// A request that must be wanted now.
    fn wanted(&mut self) -> Result<Box<crate::http::client::Fetch>, Problem> {
        match self.event()? {
            Act::Fetch(fetch) => Ok(fetch),
            other => Err(format!("instead of a request: {other:?}")),
        }
    }

    /// The stream of a session that is open, if the machine asks for it: there is none.
    fn pass_stream(&mut self) -> Result<(), Problem> {
        while let Some(said) = self.next(|_| true)? {
            match said {
                Said::Event(Act::Fetch(fetch)) => self.whole(fetch.id, 405, Headers::new(), b"")?,
                Said::Event(Act::Abort(_)) => {}
                other => return Err(format!("instead of a stream: {other:?}")),
            }
        }
        Ok(())
    }

    fn fetch(&mut self, step: &Step) -> Result<(), Problem> {
        let fetch = self.wanted()?;
        let name: String = step.more.get("as").map(read).transpose()?.unwrap_or_default();
        self.memory.fetches.insert(name, fetch.id);
        let body = String::from_utf8_lossy(&fetch.body).into_owned();
        self.compare_members(&step.value, |member, expected| match member {
            "method" => Some(quoted(fetch.method.as_str())),
            "url" => Some(quoted(&fetch.url)),
            "headers" => Some(object(&fetch.headers)),
            "body" => Some(as_expected(expected, &body)),
            _ => None,
        })
    }

    fn unauthorized(&mut self, step: &Step) -> Result<(), Problem> {
        let wanted = self.named(Some(&step.value))?;
        let challenge = match self.event()? {
            Act::Unauthorized(asked) if asked.fetch == wanted => asked.challenge,
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
                self.whole(fetch, status, headers(defaults, written.as_ref())?, &body)
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
    fn whole(&mut self, fetch: FetchId, status: u16, headers: Headers, body: &[u8]) -> Result<(), Problem> {
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
        match self.machine.handle(self.now, input) {
            Ok(()) | Err(crate::error::Error::LimitExceeded { .. }) => self.drain(),
            Err(error) => Err(format!("the machine refused it: {error}")),
        }
    }
}

const fn ok() -> u16 {
    200
}
