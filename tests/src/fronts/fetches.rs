//! A client over HTTP: the player is its server, on loopback connections that the front's own pool opens, and its
//! application.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpStream;
use std::sync::Arc;

use bytes::Bytes;
use mcp_sansio::error::Error;
use mcp_sansio::http::Headers;
use mcp_sansio::http::client::{FetchFailed, FetchId, Input};
use mcp_sansio::json::Json;
use mcp_sansio::machine::Now;
use mcp_sansio::testing::player::{
    Calls, ClientEvent, ClientMemory, Deadline, Fetches, HttpClientEvent, Problem, Role, Said, Stage, Step, Wanted,
};
use mcp_sansio::testing::{Feed, Side};

use super::Front;
use super::lab::Lab;
use super::net::{Gate, Net, Way};
use super::tap::End;
use super::user::{Notes, User};
use crate::fixtures::{ClientFixture, ReachedBy};

/// What HTTP itself adds to a request, so that no machine has to.
const OF_HTTP: [&str; 2] = ["host", "content-length"];

/// A front's client over HTTP, seen from both of its ends.
pub(super) struct OnNet {
    lab: Arc<Lab>,
    user: User,
    net: Arc<Net>,
    /// Requests that were seen and have not been sent yet.
    seen: BTreeMap<FetchId, Wanted>,
    connections: Vec<Connection>,
    /// Exchanges that the client wants no more of, and those of them that never got out.
    aborted: BTreeSet<FetchId>,
    dropped: BTreeSet<FetchId>,
    failed: Option<Problem>,
}

/// A connection from the client.
struct Connection {
    end: End<TcpStream>,
    /// Host and port that the client wanted.
    target: String,
    read: Vec<u8>,
    /// The exchange that is on it, and how its answer is cut.
    exchange: Option<FetchId>,
    chunked: bool,
}

impl OnNet {
    /// A client of a fixture, on the runtime of a front.
    pub(super) fn new<F: Front>(fixture: &str, options: &str, pinned: Option<&str>, feed: Feed) -> Self {
        let fixture: ClientFixture = serde_json::from_str(fixture).expect("the fixture is a client's");
        let reached: ReachedBy = serde_json::from_str(options).expect("the options are a client's");
        let lab = Lab::new(F::runtime());
        let (notes, net) = (Arc::new(Notes::default()), Arc::new(Net::default()));
        let mut client = fixture.user(pinned, &notes);
        if reached.ask_authorization {
            let notes = Arc::clone(&notes);
            client = client.on_unauthorized(move |asked| Arc::clone(&notes).credentials(asked));
        }
        let gate = Gate::new(&lab, &net, F::connector, feed);
        let (connecting, driver) =
            client.over_http(lab.runtime(), gate, reached.endpoint()).expect("the fixture makes a client");
        let user = User::new(&lab, notes, connecting, driver);
        let (aborted, dropped) = (BTreeSet::new(), BTreeSet::new());
        Self { lab, user, net, seen: BTreeMap::new(), connections: Vec::new(), aborted, dropped, failed: None }
    }

    fn rest(&mut self) -> Result<(), Problem> {
        let Self { lab, net, connections, aborted, dropped, .. } = self;
        lab.rest(|| {
            for (end, target) in net.wires().opened.drain(..) {
                connections.push(Connection { end, target, read: Vec::new(), exchange: None, chunked: false });
            }
            let mut heard = false;
            for Connection { end, read, .. } in connections.iter_mut() {
                heard |= end.hear(read).map_err(|error| format!("a connection fails: {error}"))?;
            }
            Ok(heard)
        })?;
        for fetch in net.wires().dropped.drain(..) {
            dropped.insert(fetch);
            aborted.insert(fetch);
        }
        // A client ends an exchange by closing its connection.
        connections.retain(|connection| {
            let shut = connection.end.is_shut();
            if shut {
                aborted.extend(connection.exchange);
            }
            !shut
        });
        Ok(())
    }

    /// The connection that an exchange is on; none if it is over.
    fn on(&mut self, fetch: FetchId) -> Option<&mut Connection> {
        self.connections.iter_mut().find(|connection| connection.exchange == Some(fetch))
    }

    /// Something comes of an exchange. One that was aborted has nobody to hear of it.
    fn comes(&mut self, input: Input) -> Result<(), Problem> {
        match input {
            Input::Head { fetch, status, headers } => {
                let Some(connection) = self.on(fetch) else { return Ok(()) };
                connection.answers(status, &headers);
            }
            Input::Body { fetch, bytes } => {
                let Some(connection) = self.on(fetch) else { return Ok(()) };
                connection.says(&bytes);
            }
            Input::End { fetch } => {
                let Some(connection) = self.on(fetch) else { return Ok(()) };
                if connection.chunked {
                    connection.write(b"0\r\n\r\n");
                }
                connection.exchange = None;
            }
            Input::Failed { fetch, reason: FetchFailed::NotSent(_) } => self.net.pass(fetch, Way::Nowhere),
            Input::Failed { fetch, .. } => self.connections.retain(|connection| connection.exchange != Some(fetch)),
            other => return Err(format!("nothing that can happen: {other:?}")),
        }
        // What arrives in one piece is what was written in one piece.
        self.rest()
    }
}

impl Connection {
    fn write(&mut self, bytes: &[u8]) {
        // A client that has closed the connection does not hear any more.
        let _ = self.end.give(bytes, &mut self.read);
    }

    fn answers(&mut self, status: u16, headers: &Headers) {
        let mut head = format!("HTTP/1.1 {status} As-It-Is\r\n").into_bytes();
        for (name, value) in headers.iter() {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        }
        let bodiless = matches!(status, 204 | 304);
        self.chunked = !bodiless && headers.get("content-length").is_none();
        if self.chunked {
            head.extend_from_slice(b"transfer-encoding: chunked\r\n");
        }
        head.extend_from_slice(b"\r\n");
        self.write(&head);
        if bodiless {
            // That is all of it.
            self.exchange = None;
        }
    }

    fn says(&mut self, bytes: &[u8]) {
        if !self.chunked {
            return self.write(bytes);
        }
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.write(&chunk);
    }

    /// The request that has arrived, if it is whole.
    fn request(&mut self) -> Result<Option<Arrived>, Problem> {
        let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
        let head = String::from_utf8_lossy(&self.read[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let headers: Option<Vec<(String, String)>> = lines
            .map(|line| line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())))
            .collect();
        let headers = headers.ok_or_else(|| format!("a header has no colon: {head}"))?;
        let value = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
        let length: usize = match value("content-length") {
            Some(length) => length.parse().map_err(|_| format!("{length:?} is no length"))?,
            None => 0,
        };
        let host = value("host").ok_or("a request names no host")?;
        if self.read.len() < end + 4 + length {
            return Ok(None);
        }
        let body = self.read[end + 4..end + 4 + length].to_vec();
        self.read.drain(..end + 4 + length);
        let mut headers: Vec<_> = headers.into_iter().filter(|(name, _)| !OF_HTTP.contains(&&**name)).collect();
        headers.sort();
        Ok(Some(Arrived { method: method.to_owned(), url: format!("http://{host}{target}"), headers, body }))
    }
}

/// A request as its server sees it.
#[derive(Debug, PartialEq, Eq)]
struct Arrived {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Arrived {
    /// As it was made.
    fn of(wanted: &Wanted) -> Self {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let mut headers: Vec<_> = wanted.headers.iter().map(|(name, value)| (name.to_owned(), text(value))).collect();
        headers.sort();
        Self { method: wanted.method.clone(), url: wanted.url.clone(), headers, body: wanted.body.to_vec() }
    }

    /// Whether a connection to this place can carry it.
    fn goes_to(&self, target: &str) -> bool {
        let rest = self.url.strip_prefix("http://").unwrap_or_default();
        let authority = rest.split('/').next().unwrap_or_default();
        target == authority || target.strip_suffix(":80") == Some(authority)
    }
}

impl Fetches for OnNet {
    fn send(&mut self, fetch: FetchId, reachable: bool) -> Result<(), Problem> {
        let wanted = self.seen.remove(&fetch).ok_or("a request that was not seen")?;
        // One that will never be sent is kept at the gate until the transcript says so; one that was aborted in the
        // meantime is not there any more.
        if !reachable || self.dropped.contains(&fetch) {
            return Ok(());
        }
        self.net.pass(fetch, Way::Out);
        self.rest()?;
        for connection in &mut self.connections {
            if connection.exchange.is_some() {
                continue;
            }
            if let Some(arrived) = connection.request()? {
                if arrived != Arrived::of(&wanted) || !arrived.goes_to(&connection.target) {
                    return Err(format!("sent was {wanted:?}, but {arrived:?} came to {}", connection.target));
                }
                connection.exchange = Some(fetch);
                return Ok(());
            }
        }
        Err(format!("the server has seen nothing of {wanted:?}"))
    }

    fn feed(&mut self, _now: Now, input: Input) -> Result<(), Error> {
        if let Err(problem) = self.comes(input) {
            self.failed.get_or_insert(problem);
        }
        Ok(())
    }

    fn authorize(&mut self, _now: Now, fetch: FetchId, credentials: Option<Bytes>) -> Result<(), Error> {
        self.user.notes.authorize(fetch, credentials)
    }

    fn set_authorization(&mut self, credentials: Option<Bytes>) -> Result<(), Error> {
        self.user.client.set_authorization(credentials)
    }
}

impl Role for OnNet {
    type Event = HttpClientEvent;
    type Memory = ClientMemory;

    const SIDE: Side = Side::Client;
    // Exchanges, calls and handlers are on different ways.
    const ORDERED: bool = false;

    fn poll(stage: &mut Stage<Self>) -> Result<Option<Said<HttpClientEvent>>, Problem> {
        let this = &mut stage.machine;
        this.rest()?;
        if let Some(problem) = this.failed.take() {
            return Err(problem);
        }
        let wanted = this.net.wires().wanted.pop_front();
        if let Some(wanted) = wanted {
            this.seen.insert(wanted.id, wanted.clone());
            stage.note_request(&wanted.body)?;
            return Ok(Some(Said::Event(HttpClientEvent::Fetch(wanted))));
        }
        if let Some(fetch) = this.aborted.pop_first() {
            return Ok(Some(Said::Event(HttpClientEvent::Abort(fetch))));
        }
        let (asked, remark) = {
            let mut papers = this.user.notes.papers();
            (papers.unauthorized.pop_front(), papers.remarks.pop_front())
        };
        if let Some(remark) = remark {
            if let Some(asked) = asked {
                this.user.notes.papers().unauthorized.push_front(asked);
            }
            return Ok(Some(Said::Remark(remark)));
        }
        if let Some(asked) = asked {
            return Ok(Some(Said::Event(HttpClientEvent::Unauthorized(asked))));
        }
        Ok(this.user.next()?.map(|event| Said::Event(HttpClientEvent::Event(event))))
    }

    fn handle_timeout(&mut self, now: Now) {
        self.lab.set(now);
    }

    fn deadline(&self) -> Deadline {
        self.lab.deadline(&[])
    }

    fn close(&mut self, _now: Now) {
        self.user.client.close();
    }

    fn open(stage: &mut Stage<Self>, version: &str, capabilities: &Json) -> Result<(), Problem> {
        stage.open_pinned_session(version, capabilities)
    }

    fn take(stage: &mut Stage<Self>, step: &Step, rest: &[Step]) -> Result<(), Problem> {
        stage.fetch_step(step, rest)
    }

    fn left(stage: &Stage<Self>) -> Option<String> {
        let unread = stage.machine.connections.iter().find(|connection| !connection.read.is_empty())?;
        Some(format!("a request that nobody has made: {}", String::from_utf8_lossy(&unread.read)))
    }
}

impl Calls for OnNet {
    type Verbs = User;

    fn verbs(&mut self) -> &mut User {
        &mut self.user
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
