//! Legacy sessions: two users who use the same ids, requests and verbs in any order, streams that are lost and
//! resumed, sessions that end and sessions that travel.
//!
//! | promise | how it is checked |
//! |---|---|
//! | each request is answered once, and ends | the harness; nothing is open at the end |
//! | users do not mix | the arguments of a call name its user, and so does its answer |
//! | nobody uses the session of somebody else | 403, and never an invocation |
//! | an id names one event | the same id has the same data whenever it is read |

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_sansio::http::server::{Action, Options, Replay};
use mcp_sansio::ids::{CallId, ReplySlot, SlotId};
use mcp_sansio::machine::{Mono, Now, Unix};
use mcp_sansio::model::{CallToolResult, ElicitParams, LoggingLevel};
use mcp_sansio::server::{Call, Event, InputRequired, LogMessage, Progress, Reply};
use mcp_sansio::testing::{AskId, HttpFront, HttpMachine, HttpPiece, HttpRequest};
use serde_json::{Value, json};

use crate::Signature;
use crate::input::Choices;

/// Messages of a client; `ID` is replaced by a small id, `WHO` by the user.
const BODIES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"echo","arguments":{"who":"WHO"},"_meta":{"progressToken":1}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"echo","arguments":{"who":"WHO"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"resources/subscribe","params":{"uri":"file:///a"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"logging/setLevel","params":{"level":"debug"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/list"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":ID}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"action":"accept"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-1,"message":"no"}}"#,
    r#"[{"jsonrpc":"2.0","id":ID,"method":"ping"},{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"echo","arguments":{"who":"WHO"}}}]"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
];

const USERS: [&str; 2] = ["ada", "bob"];

/// Runs one input: the options, then operations.
pub fn run(input: &[u8]) -> Signature {
    let mut choices = Choices::new(input);
    let mut rig = Rig::new(choices.below(4));
    while !choices.is_empty() {
        rig.operate(&mut choices);
        rig.look();
    }
    rig.end()
}

#[derive(Debug, Default)]
struct User {
    session: Option<String>,
    /// The session was lost while its answers were read: what its ids name is not known any more.
    ids: Vec<String>,
}

#[derive(Debug)]
struct Answer {
    user: usize,
    /// Whether the request named the session of the other user.
    stolen: bool,
    session: Option<String>,
    status: Option<u16>,
    body: Vec<u8>,
    over: bool,
}

struct Rig {
    front: HttpFront,
    now: Now,
    users: [User; 2],
    asks: BTreeMap<AskId, Answer>,
    slots: Vec<(HttpMachine, SlotId, String)>,
    calls: Vec<(u64, CallId)>,
    /// What each event said, by session and id.
    events: BTreeMap<(String, String), String>,
    signature: Signature,
}

impl Rig {
    fn new(options: usize) -> Self {
        let replay = Replay { events: 6, bytes: 2_000, retry: Duration::from_millis(10) };
        let options = match options {
            0 => Options::default(),
            1 => Options::default().json_answers(),
            2 => Options::default().replay(replay).keep_alive(None),
            _ => Options::default().replay(replay),
        };
        Self {
            front: HttpFront::new(super::server::definition(), options),
            now: Now { mono: Mono::from_nanos(0), unix: Unix::from_millis(1_000) },
            users: [User::default(), User::default()],
            asks: BTreeMap::new(),
            slots: Vec::new(),
            calls: Vec::new(),
            events: BTreeMap::new(),
            signature: Signature::new(),
        }
    }

    fn operate(&mut self, choices: &mut Choices<'_>) {
        match choices.below(20) {
            0 | 1 => self.initialize(choices),
            2..=6 => self.post(choices),
            7 | 8 => self.get(choices),
            9 | 10 => self.reply(choices),
            11 => {
                let (machine, slot) = self.slot(choices);
                let progress = Progress { progress: f64::from(choices.byte()), total: None, message: None };
                let sent = self.front.progress(self.now, machine, slot, &progress);
                self.signature.note(&format!("{sent:?}"));
            }
            12 => {
                let (machine, slot) = self.slot(choices);
                let slot = (choices.below(2) == 0).then_some(slot);
                let message = LogMessage { level: LoggingLevel::Error, logger: None, data: json!("d").into() };
                let _ = self.front.log(self.now, machine, slot, &message);
                let _ = self.front.notify(self.now, machine, slot, "acme/news", None);
            }
            13 => self.request(choices),
            14 => {
                let (machine, slot) = self.slot(choices);
                if let HttpMachine::Session(place) = machine {
                    let closed = self.front.session(self.now, place, |session| session.close_stream(self.now, slot));
                    self.signature.note(&format!("close {closed:?}"));
                }
            }
            15 => {
                let event = match choices.below(2) {
                    0 => Event::ToolsListChanged,
                    _ => Event::ResourceUpdated { uri: "file:///a".into() },
                };
                self.front.publish(self.now, &event);
            }
            16 => {
                let unit = choices.pick(&[1, 100, 10_000]).unwrap_or(1);
                self.now.mono = self.now.mono.after(Duration::from_millis(u64::from(choices.byte()) * unit));
                self.front.handle_timeout(self.now);
            }
            17 => self.read(choices),
            18 => {
                let asks: Vec<_> = self.asks.iter().filter(|(_, answer)| !answer.over).map(|(ask, _)| *ask).collect();
                if let Some(ask) = choices.pick(&asks) {
                    self.asks.remove(&ask);
                    self.front.disconnect(self.now, ask);
                    self.signature.note("disconnect");
                }
            }
            _ => match choices.below(4) {
                0 => self.delete(choices),
                _ => self.travel(choices),
            },
        }
    }

    fn ask(&mut self, user: usize, session: Option<String>, stolen: bool, request: HttpRequest, body: String) -> AskId {
        let mut request = request;
        request.principal = Some(USERS[user].into());
        if let Some(session) = &session {
            request = request.header("mcp-session-id", session.clone());
        }
        let ask = self.front.ask(self.now, &request, body);
        self.asks.insert(ask, Answer { user, stolen, session, status: None, body: Vec::new(), over: false });
        ask
    }

    fn posting() -> HttpRequest {
        HttpRequest::new("POST", "/mcp").header("content-type", "application/json").header("accept", "*/*")
    }

    fn initialize(&mut self, choices: &mut Choices<'_>) {
        let user = choices.below(2);
        let version = choices.pick(&["2025-11-25", "2025-06-18", "2025-03-26"]).unwrap_or_default();
        let params = json!({"protocolVersion": version, "capabilities": {"elicitation": {}, "roots": {}},
            "clientInfo": {"name": USERS[user], "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string();
        let ask = self.ask(user, None, false, Self::posting(), body);
        let Some(HttpPiece::Head { status, headers }) = self.front.poll(self.now, ask) else { panic!("no answer") };
        assert_eq!(status, 200);
        let session = headers.get("mcp-session-id").map(|id| String::from_utf8_lossy(id).into_owned());
        assert!(session.is_some(), "no session");
        let other = &self.users[1 - user].session;
        assert!(session != *other, "two sessions have one name");
        self.users[user].session = session;
        if let Some(answer) = self.asks.get_mut(&ask) {
            answer.status = Some(status);
        }
        while self.piece(ask) {}
        self.signature.note(version);
    }

    /// A session for a request of a user: its own, sometimes that of the other one, or none.
    fn whose(&self, user: usize, how: u8) -> (Option<String>, bool) {
        match how % 16 {
            0 => (None, false),
            1 => (self.users[1 - user].session.clone(), self.users[1 - user].session.is_some()),
            2 => (Some("0".repeat(32)), false),
            _ => (self.users[user].session.clone(), false),
        }
    }

    fn post(&mut self, choices: &mut Choices<'_>) {
        let user = choices.below(2);
        let (session, stolen) = self.whose(user, choices.byte());
        let id = choices.pick(&["1", "2", "\"1\"", "3"]).unwrap_or("1");
        let who = if stolen { "thief" } else { USERS[user] };
        let body = choices.pick(BODIES).unwrap_or_default().replace("ID", id).replace("WHO", who);
        let ask = self.ask(user, session, stolen, Self::posting(), body);
        if choices.below(4) == 0 {
            while self.piece(ask) {}
        }
    }

    fn get(&mut self, choices: &mut Choices<'_>) {
        let user = choices.below(2);
        let (session, stolen) = self.whose(user, choices.byte());
        let mut request = HttpRequest::new("GET", "/mcp").header("accept", "text/event-stream");
        let ids = &self.users[user].ids;
        match choices.below(4) {
            0 => {}
            1 => {
                let id = choices.pick(&["0-0", "1-1", "9-9", "x", "18446744073709551615-1"]).unwrap_or_default();
                request = request.header("last-event-id", id);
            }
            _ => {
                let newest = ids.len().checked_sub(1 + choices.below(4));
                if let Some(id) = newest.and_then(|at| ids.get(at)) {
                    request = request.header("last-event-id", id.clone());
                }
            }
        }
        let ask = self.ask(user, session, stolen, request, String::new());
        if choices.below(2) == 0 {
            while self.piece(ask) {}
        }
    }

    fn delete(&mut self, choices: &mut Choices<'_>) {
        let user = choices.below(2);
        let (session, stolen) = self.whose(user, choices.byte());
        let ask = self.ask(user, session, stolen, HttpRequest::new("DELETE", "/mcp"), String::new());
        while self.piece(ask) {}
    }

    /// A session goes to another process, and comes back.
    fn travel(&mut self, choices: &mut Choices<'_>) {
        let sessions: Vec<u64> = self.front.sessions().collect();
        let Some(place) = choices.pick(&sessions) else { return };
        let Some(exported) = self.front.release(place) else { return self.signature.note("stays") };
        // What was not read of its answers is lost with the connections of that process.
        let gone: Vec<AskId> =
            self.asks.iter().filter(|(ask, a)| !a.over && self.front.is_gone(**ask)).map(|(ask, _)| *ask).collect();
        gone.iter().for_each(|ask| drop(self.asks.remove(ask)));
        let mut spoiled = exported.to_vec();
        let at = choices.below(spoiled.len().min(256));
        if choices.below(4) == 0 {
            if let Some(byte) = spoiled.get_mut(at) {
                *byte ^= 1;
            }
            // Whatever comes of it, it is no panic; a session that is read all the same is one that was spelled so.
            if let Ok(place) = self.front.adopt(self.now, &spoiled) {
                self.front.session(self.now, place, |session| session.close(self.now));
                self.signature.note("spoiled, and read");
            }
            self.signature.note("spoiled");
            self.users.iter_mut().for_each(|user| user.session = None);
            return;
        }
        let place = self.front.adopt(self.now, &exported).unwrap_or_else(|error| panic!("what was exported: {error}"));
        let again = self.front.session(self.now, place, |session| session.export()).flatten();
        assert_eq!(again.as_deref(), Some(&*exported), "what was imported is what was exported");
        assert!(self.front.adopt(self.now, &exported).is_err(), "one session lives twice");
        self.signature.note("travels");
    }

    fn slot(&self, choices: &mut Choices<'_>) -> (HttpMachine, SlotId) {
        match self.slots.get(choices.below(self.slots.len() + 1)) {
            Some((machine, slot, _)) => (*machine, *slot),
            None => {
                let sessions: Vec<u64> = self.front.sessions().collect();
                let place = choices.pick(&sessions).unwrap_or(0);
                (HttpMachine::Session(place), SlotId::from_u64(u64::from(choices.byte())))
            }
        }
    }

    fn request(&mut self, choices: &mut Choices<'_>) {
        let (machine, slot) = self.slot(choices);
        let HttpMachine::Session(place) = machine else { return };
        if choices.below(3) == 0 {
            if let Some((place, call)) = self.calls.pop() {
                let _ = self.front.session(self.now, place, |session| session.cancel_request(self.now, call, None));
            }
            return;
        }
        let slot = (choices.below(2) == 0).then_some(slot);
        let time = Some(Duration::from_secs(5));
        let made =
            self.front.session(self.now, place, |session| session.request(self.now, slot, "roots/list", None, time));
        if let Some(Ok(call)) = made {
            self.calls.push((place, call));
            self.signature.note("request");
        }
    }

    fn reply(&mut self, choices: &mut Choices<'_>) {
        if self.slots.is_empty() {
            return;
        }
        let (machine, slot, who) = self.slots.remove(choices.below(self.slots.len()));
        let reply = match choices.below(6) {
            0 => Reply::Failed,
            1 => Reply::InputRequired(InputRequired {
                requests: vec![("k".to_owned(), ElicitParams::form("?", json!({"type": "object"})).into())],
                state: Some("s".to_owned()),
                timeouts: [("k".to_owned(), Duration::from_secs(1))].into(),
                memo: None,
            }),
            _ if who.is_empty() => Reply::Empty { meta: None },
            _ => Reply::Tool(CallToolResult::text(format!("for {who}"))),
        };
        let again = ReplySlot::from_id(slot);
        let _ = self.front.reply(self.now, machine, ReplySlot::from_id(slot), reply);
        assert!(self.front.reply(self.now, machine, again, Reply::Failed).is_err(), "a slot answers twice");
    }

    fn read(&mut self, choices: &mut Choices<'_>) {
        let asks: Vec<_> = self.asks.keys().copied().collect();
        let Some(ask) = choices.pick(&asks) else { return };
        for _ in 0..=choices.below(8) {
            if !self.piece(ask) {
                return;
            }
        }
    }

    fn piece(&mut self, ask: AskId) -> bool {
        let Some(piece) = self.front.poll(self.now, ask) else { return false };
        let Some(answer) = self.asks.get_mut(&ask) else { return true };
        assert!(!answer.over, "a piece after the end: {piece:?}");
        match piece {
            HttpPiece::Head { status, .. } => {
                assert!(answer.status.replace(status).is_none(), "two heads");
                assert!(!answer.stolen || (400..500).contains(&status), "somebody else's session: {status}");
                self.signature.note(&status.to_string());
            }
            HttpPiece::Body(bytes) => {
                answer.body.extend_from_slice(&bytes);
                self.heard(ask);
            }
            HttpPiece::End => answer.over = true,
        }
        true
    }

    /// Looks at what has come of an answer: whole events, or the only message.
    fn heard(&mut self, ask: AskId) {
        let Some(answer) = self.asks.get_mut(&ask) else { return };
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        let other = format!("for {}", USERS[1 - answer.user]);
        assert!(!text.contains(&other), "{} hears what is {other}: {text}", USERS[answer.user]);
        assert!(!text.contains("for thief"));
        let Some(end) = text.rfind("\n\n") else { return };
        for event in text[..end].split("\n\n") {
            let Some(id) = event.lines().find_map(|line| line.strip_prefix("id: ")) else { continue };
            let data = event.lines().find_map(|line| line.strip_prefix("data:")).unwrap_or_default();
            let user = &mut self.users[answer.user];
            user.ids.push(id.to_owned());
            let Some(session) = answer.session.clone() else { continue };
            let before = self.events.entry((session, id.to_owned())).or_insert_with(|| data.to_owned());
            assert_eq!(before, data, "the id {id} names two events");
        }
        answer.body = text.as_bytes()[end + 2..].to_vec();
    }

    fn look(&mut self) {
        while let Some((machine, action)) = self.front.next_event() {
            self.signature.note_variant(&action);
            if let Action::Invoke(invocation) = action {
                let mut who = String::new();
                if let Call::Tool { arguments, .. } = &invocation.call {
                    let arguments: Value = arguments.parse().unwrap_or_default();
                    arguments["who"].as_str().unwrap_or("nobody").clone_into(&mut who);
                    assert_ne!(who, "thief", "somebody else's session is served");
                }
                self.slots.push((machine, invocation.slot.id(), who));
            }
        }
    }

    fn end(mut self) -> Signature {
        self.front.shut_down(self.now);
        self.look();
        for ask in self.asks.keys().copied().collect::<Vec<_>>() {
            while self.piece(ask) {}
        }
        // Exchanges that stand alone end with their handlers.
        while let Some((machine, slot, _)) = self.slots.pop() {
            let _ = self.front.reply(self.now, machine, ReplySlot::from_id(slot), Reply::Failed);
        }
        for ask in self.asks.keys().copied().collect::<Vec<_>>() {
            while self.piece(ask) {}
        }
        for (ask, answer) in &self.asks {
            assert!(answer.over, "{ask:?} has not ended: {answer:?}");
        }
        assert_eq!(self.front.sessions().count() + self.front.exchanges().count(), 0, "something is left");
        self.signature
    }
}
