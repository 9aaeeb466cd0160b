//! Conversations in files, played against one machine.
//!
//! A transcript is a JSON object that names a role, a fixture and its steps, so that other languages can play it
//! too; `tests/vectors/README.md` of this project describes the format in full.
//!
//! ```json
//! {"name": "ping", "about": "A ping is answered.", "role": "server", "fixture": "basic",
//!  "session": {"version": "2025-11-25"},
//!  "steps": [
//!    {"in": {"jsonrpc": "2.0", "id": 1, "method": "ping"}},
//!    {"out": {"jsonrpc": "2.0", "id": 1, "result": {}}}
//!  ]}
//! ```
//!
//! | kind of step | examples |
//! |---|---|
//! | something happens | `in`, `end`, `advance_ms` |
//! | the application wants something | `reply`, `report`, `publish`, `call`, `cancel`, `supply`, … |
//! | the machine must say so, in this order | `out`, `invoke`, `cancelled`, `done`, `need_input`, `diagnostic`, … |
//! | nothing happens, but this must hold | `timeout`, `idle` |
//!
//! Over HTTP an exchange has a name, and `ask`, `answer`, `stream`, `event`, `fetch`, … stand in the place of lines.
//! Remarks (`diagnostic`) that no step names are passed over; everything else that the machine says must be named,
//! to the last action.

mod calls;
mod client;
mod compare;
mod http;
mod lines;
mod play;
mod server;
mod words;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use thiserror::Error;

pub use self::calls::{Calls, ClientEvent, ClientVerbs, Reason};
pub use self::client::ClientMemory;
pub use self::http::client::{Fetches, HttpClientEvent, Wanted};
pub use self::http::server::Hosts;
pub use self::lines::Lines;
pub use self::play::{Deadline, Problem, Role, Said, Stage};
pub use self::server::{Message, ServerEvent, ServerMemory, Serves};
use super::http::HttpFront;
use super::pair::{Frame, Side};
use crate::client::Client;
use crate::http::client::HttpClient;
use crate::http::server::Options;
use crate::json::Json;
use crate::server::{Definition, Server};

/// A conversation. See the module's documentation.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// What it is called.
    pub name: String,
    /// What it shows, in a sentence.
    pub about: String,
    /// The requirements that it proves.
    pub proves: Vec<String>,
    /// Which machine it is played against.
    pub role: Side,
    /// What carries the messages.
    pub transport: Carrier,
    /// Which definition or configuration that machine has; whoever plays it knows the name.
    pub fixture: String,
    /// How it is served or reached over HTTP, an object.
    pub http: Json,
    /// The legacy session that is open before the first step, if one is.
    pub session: Option<Session>,
    steps: Vec<Step>,
}

/// A legacy session that a transcript starts with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Its revision.
    pub version: String,
    /// What the other side can do, an object.
    #[serde(default = "no_capabilities")]
    pub capabilities: Json,
}

const fn no_capabilities() -> Json {
    Json::EMPTY_OBJECT
}

/// What carries the messages of a transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// Lines of a byte stream.
    #[default]
    Stdio,
    /// Exchanges of Streamable HTTP.
    Http,
}

/// How a transcript's input reaches the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// Each line or body as one piece.
    Whole,
    /// Each line or body byte by byte.
    Bytes,
    /// Each line together with the beginning of the next one; bodies in pieces of seven bytes.
    Trailing,
}

impl Feed {
    /// Every way: whatever works in one must work in all.
    pub const ALL: [Self; 3] = [Self::Whole, Self::Bytes, Self::Trailing];
}

/// A file that is no transcript.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct BadTranscript(String);

/// Where a machine went another way than its transcript.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{transcript}, step {step} ({verb}): {problem}")]
pub struct Mismatch {
    /// The transcript's name.
    pub transcript: String,
    /// The step, counted from 1; one more than there are for what comes after the last.
    pub step: usize,
    /// What the step is; `end of file` after the last.
    pub verb: String,
    /// What went wrong.
    pub problem: String,
}

impl Transcript {
    /// Reads a transcript.
    ///
    /// # Errors
    /// When the text is none, or a step is not one of its role's.
    pub fn read(text: &str) -> Result<Self, BadTranscript> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            name: String,
            about: String,
            #[serde(default)]
            proves: Vec<String>,
            role: String,
            #[serde(default)]
            transport: Carrier,
            fixture: String,
            #[serde(default = "no_capabilities")]
            http: Json,
            session: Option<Session>,
            steps: Vec<crate::model::Extra>,
        }
        let file: File = serde_json::from_str(text).map_err(|error| BadTranscript(error.to_string()))?;
        let (role, own) = match &*file.role {
            "server" => (Side::Server, server::VERBS),
            "client" => (Side::Client, client::VERBS),
            other => return Err(BadTranscript(format!("{}: {other:?} is no role", file.name))),
        };
        let carried = match (file.transport, role) {
            (Carrier::Stdio, _) => lines::VERBS,
            (Carrier::Http, Side::Server) => http::server::VERBS,
            (Carrier::Http, Side::Client) => http::client::VERBS,
        };
        let verbs = [COMMON, carried, own];
        let steps = file.steps.into_iter().enumerate().map(|(index, members)| {
            Step::read(members, &verbs)
                .map_err(|problem| BadTranscript(format!("{}, step {}: {problem}", file.name, index + 1)))
        });
        Ok(Self {
            steps: steps.collect::<Result<_, _>>()?,
            name: file.name,
            about: file.about,
            proves: file.proves,
            role,
            transport: file.transport,
            fixture: file.fixture,
            http: file.http,
            session: file.session,
        })
    }

    /// Plays the transcript against whatever takes the steps of its role and transport, and has what it starts with:
    /// nothing has happened to it; with a [`Session`], a client is pinned to its revision.
    ///
    /// # Errors
    /// Where it went another way; a transcript of another role or transport goes wrong at its first step.
    pub fn play<M: Role>(&self, machine: M, feed: Feed) -> Result<Vec<Frame>, Mismatch> {
        Stage::new(machine, feed).play(self)
    }

    /// Plays the transcript against a server that nothing has happened to.
    ///
    /// # Errors
    /// Where the server went another way; a transcript for clients goes wrong at its first step.
    pub fn play_server(&self, server: Server, feed: Feed) -> Result<Vec<Frame>, Mismatch> {
        self.play(server, feed)
    }

    /// Plays the transcript against a client that nothing has happened to. With a [`Session`], a client that is
    /// pinned to its revision.
    ///
    /// # Errors
    /// Where the client went another way; a transcript for servers goes wrong at its first step.
    pub fn play_client(&self, client: Client, feed: Feed) -> Result<Vec<Frame>, Mismatch> {
        self.play(client, feed)
    }

    /// Plays the transcript against a server of Streamable HTTP.
    ///
    /// # Errors
    /// Where the server went another way; a transcript of another role or transport goes wrong at its first step.
    ///
    /// # Panics
    /// When a machine breaks a promise that every front relies on; see [`HttpFront`](super::HttpFront).
    pub fn play_http_server(
        &self,
        definition: impl Into<Arc<Definition>>,
        options: Options,
        feed: Feed,
    ) -> Result<Vec<Frame>, Mismatch> {
        self.play(HttpFront::new(definition, options), feed)
    }

    /// Plays the transcript against a client of Streamable HTTP that nothing has happened to. With a [`Session`], a
    /// client that is pinned to its revision.
    ///
    /// # Errors
    /// Where the client went another way; a transcript of another role or transport goes wrong at its first step.
    pub fn play_http_client(&self, client: HttpClient, feed: Feed) -> Result<Vec<Frame>, Mismatch> {
        self.play(client, feed)
    }
}

/// Verbs of a role, each with the further members that its steps may have.
type Verbs = &'static [(&'static str, &'static [&'static str])];

/// Verbs that all machines have.
const COMMON: Verbs =
    &[("advance_ms", &[]), ("timeout", &[]), ("idle", &[]), ("quiet", &[]), ("diagnostic", &[]), ("close", &[])];

/// One step.
#[derive(Clone, Debug)]
pub struct Step {
    verb: String,
    value: Json,
    more: BTreeMap<String, Json>,
}

impl Step {
    /// The one verb whose steps may have all the other members.
    fn read(members: crate::model::Extra, verbs: &[Verbs]) -> Result<Self, String> {
        let mut more: BTreeMap<String, Json> = BTreeMap::new();
        for (name, value) in members {
            if more.insert(name.into_owned(), value).is_some() {
                return Err("a member stands twice".to_owned());
            }
        }
        let fits = |verb: &&str, allowed: &[&str]| {
            more.contains_key(*verb) && more.keys().all(|name| name == verb || allowed.contains(&&**name))
        };
        let verb = verbs
            .iter()
            .copied()
            .flatten()
            .find(|(verb, allowed)| fits(verb, allowed))
            .map(|(verb, _)| (*verb).to_owned())
            .ok_or_else(|| {
                format!("the role has no step with {}", more.keys().cloned().collect::<Vec<_>>().join(", "))
            })?;
        let value = more.remove(&verb).unwrap_or(Json::NULL);
        Ok(Self { verb, value, more })
    }

    /// The bytes of an `in` step of stdio, newline included; `None` for every other step.
    fn line(&self, kept: &compare::Kept) -> Option<Vec<u8>> {
        if self.verb != "in" {
            return None;
        }
        let is_hex = hex(&self.value).is_some();
        let mut bytes = bytes(&self.value, kept)?;
        if !is_hex {
            bytes.push(b'\n');
        }
        Some(bytes)
    }
}

/// The digits of a value that gives bytes.
fn hex(value: &Json) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Hex {
        hex: String,
    }
    value.parse::<Hex>().ok().map(|bytes| bytes.hex)
}

/// The bytes that a value stands for: hexadecimal digits, a text, or a JSON value, values of earlier frames filled in.
fn bytes(value: &Json, kept: &compare::Kept) -> Option<Vec<u8>> {
    if let Some(hex) = hex(value) {
        let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        return digits.chunks(2).map(byte).collect();
    }
    let value = kept.filled(value);
    if value.is_string() {
        return value.parse::<String>().ok().map(|text| kept.fill(&text).into_bytes());
    }
    Some(compact(value.get()).into_bytes())
}

/// A JSON text without white space between its tokens: a frame is one line however the file is laid out.
fn compact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for character in text.chars() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else {
            in_string = character == '"';
            if character.is_ascii_whitespace() {
                continue;
            }
        }
        out.push(character);
    }
    out
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.verb, self.value)
    }
}
