//! A server over HTTP: the player opens a connection for each request, and writes and reads HTTP/1.1.
//!
//! ```text
//!   player ══ a loopback connection for each request ══▶ Connections of the front ─▶ Named ─▶ HttpService ─▶ handlers
//! ```
//!
//! What stands before the service of a front says who asks: here it is [`Named`], which reads that, and the number of
//! the request, from two headers of the player, and takes them away. So a handler's request is known by its context.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::net::{SocketAddr, TcpStream};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as Polling, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderValue, Request as Asked, Response as Answered};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use mcp_sansio::error::{Error, Misuse};
use mcp_sansio::http::server::Options;
use mcp_sansio::ids::{CallId, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::machine::Now;
use mcp_sansio::server::{Event, LogMessage, Progress, Reply, Sent};
use mcp_sansio::testing::player::{
    Deadline, Hosts, Message, Problem, Role, Said, ServerEvent, ServerMemory, Serves, Stage, Step,
};
use mcp_sansio::testing::{AskId, Feed, HttpPiece, HttpRequest, Side};
use mcp_sansio_io::http::{Bounds, Connections, HttpBody, HttpService, Listener, Principal};
use mcp_sansio_io::server::{BuiltServer, Connection};
use tokio::sync::oneshot;
use tower_service::Service;

use super::Front;
use super::answers::Answer;
use super::app::{Desk, Origin, said};
use super::lab::Lab;
use super::tap::{self, End, Half, Tap};
use crate::fixtures::ServerFixture;

/// How long a body may take: longer than any transcript, so that only the player ends it.
const BODY_TIME: Duration = Duration::from_secs(1_000_003);
/// The same for everything else about connections.
const LONG: Duration = Duration::from_secs(1_000_000);

/// The pieces in which bodies come that come neither whole nor byte by byte.
const PIECE: usize = 7;

const ASK: &str = "player-ask";
const PRINCIPAL: &str = "player-principal";

/// A front that serves HTTP, seen from both of its ends.
pub(super) struct OverHttp {
    lab: Arc<Lab>,
    desk: Arc<Desk>,
    server: BuiltServer,
    address: SocketAddr,
    feed: Feed,
    service: HttpService,
    gates: Gates,
    /// Ends the server.
    _shut: oneshot::Sender<()>,
    talks: BTreeMap<u64, Talk>,
    /// Those that machines were heard of by: sessions, and requests of the modern era. A place is an index here.
    machines: Vec<Machine>,
}

/// A request and its answer.
struct Talk {
    /// `None` when the client has gone.
    client: Option<End<TcpStream>>,
    /// The head, until it is written.
    head: Option<HttpRequest>,
    /// What of the body is to be written.
    body: Vec<u8>,
    /// Whether all of the body is known.
    whole: bool,
    /// The body goes out in chunks, for its length was not known in time.
    chunked: bool,
    /// What goes out next is no chunk, and nothing after it.
    broken: bool,
    read: Vec<u8>,
    answer: Answer,
    pieces: VecDeque<HttpPiece>,
    /// The session that it says to belong to.
    session: Option<Box<str>>,
    /// Its head is none that hyper reads.
    unreadable: bool,
}

/// A machine inside of the front, known by its connection.
struct Machine {
    connection: Connection,
    /// The request that it was first heard of with.
    ask: u64,
    /// The session's id, once it is told.
    session: Option<Box<str>>,
    is_session: bool,
    closed: bool,
}

impl OverHttp {
    /// A server of a fixture, on the runtime of a front.
    pub(super) fn new<F: Front>(fixture: &str, options: Options, feed: Feed) -> Self {
        let fixture: ServerFixture = serde_json::from_str(fixture).expect("the fixture is a server's");
        let lab = Lab::new(F::runtime());
        let desk = Arc::new(Desk::default());
        let server = fixture.server(&desk);
        let runtime = lab.runtime();
        let service = server.http(Arc::clone(&runtime)).options(options).body_time(BODY_TIME);
        let service = service.build().expect("there is randomness");
        let mut listener = F::listen();
        let address = listener.local_addr().expect("a listener has an address");
        if let Some(companion) = listener.companion() {
            // On the front's own runtime: it waits for sockets as a reactor does, and is nothing that comes to rest.
            F::runtime().spawn(companion);
        }
        let mut bounds = Bounds::default();
        (bounds.head_time, bounds.write_time) = (LONG, LONG);
        let connections = Connections::new(Arc::clone(&runtime), bounds);
        let (shut, shutdown) = oneshot::channel::<()>();
        let gates = Gates::default();
        let named = Named { service: service.clone(), gates: Arc::clone(&gates) };
        let (finish, accepting) = (service.clone(), Arc::clone(&lab));
        runtime.spawn(Box::pin(async move {
            let accept = |cx: &mut Polling<'_>| {
                let stream = ready!(listener.poll_accept(cx))?;
                let place = accepting.arrived().expect("nobody connects but the player");
                Poll::Ready(Ok(Tap::new(stream, &place, Half::Whole)))
            };
            let shutdown = async { drop(shutdown.await) };
            connections.accept_all(named, accept, shutdown, move || finish.shut_down()).await;
        }));
        let (talks, machines) = (BTreeMap::new(), Vec::new());
        Self { lab, desk, server, address, feed, service, gates, _shut: shut, talks, machines }
    }

    /// Writes what is to be written, and waits until everything is read that comes of it.
    fn rest(&mut self) -> Result<(), Problem> {
        for talk in self.talks.values_mut() {
            talk.write();
        }
        let Self { lab, talks, .. } = self;
        lab.rest(|| {
            let mut heard = false;
            for Talk { client, read, .. } in talks.values_mut() {
                if let Some(client) = client {
                    heard |= client.hear(read).map_err(|error| format!("the stream fails: {error}"))?;
                }
            }
            Ok(heard)
        })?;
        for talk in self.talks.values_mut() {
            talk.read()?;
        }
        self.look();
        Ok(())
    }

    /// Finds out which sessions there are, and which are over.
    fn look(&mut self) {
        let last = self.talks.last_key_value().map_or(0, |(ask, _)| *ask);
        for connection in self.server.connections() {
            let place = self.machine(&connection, last);
            self.machines[place].is_session = true;
        }
        for machine in &mut self.machines {
            if machine.session.is_none()
                && let Some(talk) = self.talks.get(&machine.ask)
            {
                machine.session.clone_from(&talk.session);
            }
        }
    }

    /// The machine of a connection. One that is new was made by a request.
    fn machine(&mut self, connection: &Connection, ask: u64) -> usize {
        if let Some(place) = self.machines.iter().position(|known| known.connection == *connection) {
            return place;
        }
        self.machines.push(Machine {
            connection: connection.clone(),
            ask,
            session: None,
            is_session: false,
            closed: false,
        });
        self.machines.len() - 1
    }

    fn place_of(&mut self, origin: &Origin) -> usize {
        let last = self.talks.last_key_value().map_or(0, |(ask, _)| *ask);
        match origin {
            Origin::Call(context) => {
                let named = context.http().and_then(|head| head.extensions.get::<Number>());
                self.machine(&context.connection(), named.map_or(last, |Number(ask)| *ask))
            }
            Origin::Connection(connection) => self.machine(connection, last),
            Origin::Driver => usize::MAX,
        }
    }

    /// A session that has ended, and of which nothing was said yet.
    fn ended(&mut self) -> Option<usize> {
        let over = |machine: &Machine| machine.is_session && !machine.closed && machine.connection.is_closed();
        let place = self.machines.iter().position(over)?;
        self.machines[place].closed = true;
        Some(place)
    }

    fn connection(&self, place: usize) -> Result<&Connection, Error> {
        let machine = self.machines.get(place);
        machine.map(|machine| &machine.connection).ok_or_else(|| Misuse::WrongState("there is no such machine").into())
    }
}

impl Talk {
    fn write(&mut self) {
        let Some(client) = &mut self.client else { return };
        let mut out = Vec::new();
        let chunked = self.head.is_none() && self.chunked;
        if let Some(head) = self.head.take() {
            self.chunked = !self.whole;
            write_head(&mut out, &head, self.whole.then_some(self.body.len()));
        }
        let body = std::mem::take(&mut self.body);
        if self.chunked {
            if !body.is_empty() {
                out.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
                out.extend_from_slice(&body);
                out.extend_from_slice(b"\r\n");
            }
            if self.broken {
                out.extend_from_slice(b"no length\r\n");
                self.chunked = false;
            } else if chunked && self.whole {
                out.extend_from_slice(b"0\r\n\r\n");
                self.chunked = false;
            }
        } else if !self.broken {
            out.extend_from_slice(&body);
        }
        // A server that has refused a request need not read it.
        let _ = client.give(&out, &mut self.read);
    }

    fn read(&mut self) -> Result<(), Problem> {
        while let Some(piece) = self.answer.next(&mut self.read)? {
            if let HttpPiece::Head { headers, .. } = &piece
                && let Some(id) = headers.get("mcp-session-id")
            {
                self.session = Some(String::from_utf8_lossy(id).into());
            }
            self.pieces.push_back(piece);
        }
        if self.answer.is_over() {
            // Each request has a connection of its own.
            self.client = None;
        } else if self.client.as_ref().is_some_and(End::is_shut) {
            return Err("the connection ends within an answer".to_owned());
        }
        Ok(())
    }
}

fn write_head(out: &mut Vec<u8>, head: &HttpRequest, length: Option<usize>) {
    let authority = head.authority.as_ref().map(|authority| format!("http://{authority}")).unwrap_or_default();
    out.extend_from_slice(format!("{} {authority}{} HTTP/1.1\r\n", head.method, head.target).as_bytes());
    let mut header = |name: &str, value: &[u8]| {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    };
    for (name, value) in head.headers.iter() {
        header(name, value);
    }
    match length {
        _ if head.headers.get("content-length").is_some() => {}
        Some(0) if head.method != "POST" => {}
        Some(length) => header("content-length", length.to_string().as_bytes()),
        None => header("transfer-encoding", b"chunked"),
    }
    if let Some(principal) = &head.principal {
        header(PRINCIPAL, principal.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

impl Role for OverHttp {
    type Event = (usize, ServerEvent);
    type Memory = ServerMemory<usize>;

    const SIDE: Side = Side::Server;

    fn poll(stage: &mut Stage<Self>) -> Result<Option<Said<Self::Event>>, Problem> {
        stage.machine.rest()?;
        stage.hear()?;
        let machine = &mut stage.machine;
        if let Some(remark) = machine.desk.papers().remarks.pop_front() {
            return Ok(Some(Said::Remark(remark)));
        }
        if let Some((origin, event)) = machine.desk.next() {
            return Ok(Some(Said::Event((machine.place_of(&origin), event))));
        }
        Ok(machine.ended().map(|place| Said::Event((place, ServerEvent::Closed(None)))))
    }

    fn handle_timeout(&mut self, now: Now) {
        self.lab.set(now);
    }

    fn deadline(&self) -> Deadline {
        self.lab.deadline(&[BODY_TIME, LONG])
    }

    fn close(&mut self, _now: Now) {
        self.service.shut_down();
        self.server.connections().iter().for_each(Connection::close);
    }

    fn open(stage: &mut Stage<Self>, version: &str, capabilities: &Json) -> Result<(), Problem> {
        stage.open_session_over_http(version, capabilities)
    }

    fn take(stage: &mut Stage<Self>, step: &Step, _rest: &[Step]) -> Result<(), Problem> {
        stage.host_step(step)
    }

    fn unchecked(stage: &Stage<Self>) -> Option<String> {
        stage.unchecked()
    }

    fn left(stage: &Stage<Self>) -> Option<String> {
        stage.unread()
    }
}

impl Hosts for OverHttp {
    fn begin(&mut self, _now: Now, request: &HttpRequest) -> AskId {
        let ask = self.talks.last_key_value().map_or(0, |(ask, _)| ask + 1);
        let place = tap::place(&self.lab, self.feed);
        let theirs = if self.feed == Feed::Trailing { place.clone().at_most(PIECE) } else { place.clone() };
        // It may be accepted before it is known here that it is connected.
        self.lab.arrives(theirs);
        let stream = TcpStream::connect(self.address).expect("the server listens");
        stream.set_nodelay(true).expect("a socket does not wait");
        stream.set_write_timeout(Some(tap::LOOK)).expect("a socket has a time");
        let client = place.end(stream);
        let mut head = request.clone();
        head.headers.push(ASK, ask.to_string());
        let session = request.headers.get("mcp-session-id").map(|id| String::from_utf8_lossy(id).into());
        let length = request.headers.get("content-length").map(String::from_utf8_lossy);
        let talk = Talk {
            client: Some(client),
            head: Some(head),
            body: Vec::new(),
            whole: false,
            chunked: false,
            broken: false,
            read: Vec::new(),
            answer: Answer::of(&request.method),
            pieces: VecDeque::new(),
            session,
            unreadable: length.is_some_and(|length| length.parse::<u64>().is_err()),
        };
        self.talks.insert(ask, talk);
        AskId::from_u64(ask)
    }

    fn body(&mut self, _now: Now, ask: AskId, bytes: Bytes) {
        if let Some(talk) = self.talks.get_mut(&ask.to_u64()) {
            talk.body.extend_from_slice(&bytes);
        }
    }

    fn end(&mut self, _now: Now, ask: AskId) {
        if let Some(talk) = self.talks.get_mut(&ask.to_u64()) {
            talk.whole = true;
        }
    }

    fn give_up(&mut self, _now: Now, _ask: AskId) {
        self.lab.pass(BODY_TIME);
    }

    fn broken(&mut self, _now: Now, ask: AskId) {
        if let Some(talk) = self.talks.get_mut(&ask.to_u64()) {
            talk.broken = true;
        }
    }

    fn disconnect(&mut self, _now: Now, ask: AskId) {
        if let Some(talk) = self.talks.get_mut(&ask.to_u64()) {
            talk.client = None;
        }
    }

    fn stall(&mut self, ask: AskId) {
        gates(&self.gates).insert(ask.to_u64(), None);
    }

    fn reads_later(&self, ask: AskId) -> bool {
        gates(&self.gates).contains_key(&ask.to_u64())
    }

    fn resume(&mut self, ask: AskId) {
        let waker = gates(&self.gates).remove(&ask.to_u64()).flatten();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn refuses_head(&self, ask: AskId) -> bool {
        self.talks.get(&ask.to_u64()).is_some_and(|talk| talk.unreadable)
    }

    fn hear(&mut self, _now: Now, ask: AskId) -> Result<Option<HttpPiece>, Problem> {
        Ok(self.talks.get_mut(&ask.to_u64()).and_then(|talk| talk.pieces.pop_front()))
    }

    fn close_stream(&mut self, _now: Now, _place: usize, slot: SlotId) -> Result<Sent, Error> {
        Ok(self.desk.context(slot)?.close_stream())
    }
}

impl Serves for OverHttp {
    type Place = usize;

    const ALONE: Option<usize> = None;

    fn served_by(&self, ask: AskId) -> Option<usize> {
        let session = self.talks.get(&ask.to_u64())?.session.as_ref();
        let by_session = |machine: &Machine| session.is_some() && machine.session.as_ref() == session;
        let by_ask = |machine: &Machine| machine.ask == ask.to_u64();
        self.machines.iter().position(by_session).or_else(|| self.machines.iter().position(by_ask))
    }

    fn reply(&mut self, _now: Now, _place: usize, slot: SlotId, reply: Reply) -> Result<(), Error> {
        self.desk.answer(slot, Some(reply))
    }

    fn abandon(&mut self, _now: Now, _place: usize, slot: SlotId) {
        // Whoever is gone already is not missed.
        let _ = self.desk.answer(slot, None);
    }

    fn progress(&mut self, _now: Now, _place: usize, slot: SlotId, progress: &Progress) -> Result<Sent, Error> {
        Ok(said(self.desk.context(slot)?.report_progress(progress.clone())))
    }

    fn log(&mut self, _now: Now, place: usize, slot: Option<SlotId>, message: &LogMessage) -> Result<Sent, Error> {
        match slot {
            Some(slot) => Ok(said(self.desk.context(slot)?.log_message(message.clone()))),
            None => Ok(self.connection(place)?.log(message)),
        }
    }

    fn notify(&mut self, _now: Now, place: usize, method: &str, params: Option<&Json>) -> Result<(), Error> {
        self.connection(place)?.notify(method, params)
    }

    fn publish(&mut self, _now: Now, event: &Event) -> Option<Sent> {
        self.server.publish(event);
        None
    }

    fn request(
        &mut self,
        _now: Now,
        place: usize,
        slot: Option<SlotId>,
        message: &Message,
        timeout: Option<Duration>,
    ) -> Result<CallId, Error> {
        let (method, params) = (&*message.method, message.params.as_ref());
        let connection = self.connection(place)?.clone();
        let request = match slot {
            Some(slot) => self.desk.context(slot)?.request(method, params, timeout)?,
            None => connection.request(method, params, timeout)?,
        };
        Ok(self.desk.wait(&*self.lab.runtime(), Origin::Connection(connection), request))
    }

    fn cancel_request(&mut self, _now: Now, _place: usize, call: CallId, reason: Option<&str>) -> Result<(), Error> {
        self.desk.withdraw(call, reason)
    }
}

/// The number of a request, among its extensions.
#[derive(Clone, Copy)]
struct Number(u64);

/// Requests whose clients read nothing, with whom to wake when they do again.
type Gates = Arc<Mutex<BTreeMap<u64, Option<Waker>>>>;

fn gates(gates: &Gates) -> MutexGuard<'_, BTreeMap<u64, Option<Waker>>> {
    gates.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What stands before the service.
#[derive(Clone)]
struct Named {
    service: HttpService,
    gates: Gates,
}

impl Service<Asked<Incoming>> for Named {
    type Response = Answered<Gated>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Polling<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Asked<Incoming>) -> Self::Future {
        let text = |value: HeaderValue| value.to_str().map(str::to_owned).unwrap_or_default();
        let number = request.headers_mut().remove(ASK).and_then(|value| text(value).parse().ok());
        let principal = request.headers_mut().remove(PRINCIPAL).map(text);
        if let Some(number) = number {
            request.extensions_mut().insert(Number(number));
        }
        if let Some(principal) = principal {
            request.extensions_mut().insert(Principal::new(principal));
        }
        let (answer, gates) = (self.service.call(request), Arc::clone(&self.gates));
        Box::pin(async move { Ok(answer.await?.map(|body| Gated { body, number, gates })) })
    }
}

/// An answer. Of one whose client reads nothing, nothing more is taken: as hyper does when no byte leaves any more,
/// which it would find out some hundred kilobytes later.
struct Gated {
    body: HttpBody,
    number: Option<u64>,
    gates: Gates,
}

impl Body for Gated {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Polling<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        if let Some(number) = this.number
            && let Some(waker) = gates(&this.gates).get_mut(&number)
        {
            *waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Pin::new(&mut this.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
