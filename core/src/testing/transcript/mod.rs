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
//! Remarks (`diagnostic`) that no step names are passed over; everything else that the machine says must be named,
//! to the last action.

mod client;
mod play;
mod server;

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use thiserror::Error;

use super::pair::{Frame, Side};
use crate::client::Client;
use crate::json::Json;
use crate::server::Server;

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
    /// Which definition or configuration that machine has; whoever plays it knows the name.
    pub fixture: String,
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

/// How a transcript's input reaches the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// Each `in` as one piece.
    Whole,
    /// Each `in` byte by byte.
    Bytes,
    /// Each `in` together with the beginning of the next one.
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
            fixture: String,
            session: Option<Session>,
            steps: Vec<crate::model::Extra>,
        }
        let file: File = serde_json::from_str(text).map_err(|error| BadTranscript(error.to_string()))?;
        let (role, verbs) = match &*file.role {
            "server" => (Side::Server, server::VERBS),
            "client" => (Side::Client, client::VERBS),
            other => return Err(BadTranscript(format!("{}: {other:?} is no role", file.name))),
        };
        let steps = file.steps.into_iter().enumerate().map(|(index, members)| {
            Step::read(members, verbs)
                .map_err(|problem| BadTranscript(format!("{}, step {}: {problem}", file.name, index + 1)))
        });
        Ok(Self {
            steps: steps.collect::<Result<_, _>>()?,
            name: file.name,
            about: file.about,
            proves: file.proves,
            role,
            fixture: file.fixture,
            session: file.session,
        })
    }

    /// Plays the transcript against a server that nothing has happened to.
    ///
    /// # Errors
    /// Where the server went another way; a transcript for clients goes wrong at its first step.
    pub fn play_server(&self, server: Server, feed: Feed) -> Result<Vec<Frame>, Mismatch> {
        play::Stage::new(server, Side::Server).play(self, feed)
    }

    /// Plays the transcript against a client that nothing has happened to. With a [`Session`], a client that is
    /// pinned to its revision.
    ///
    /// # Errors
    /// Where the client went another way; a transcript for servers goes wrong at its first step.
    pub fn play_client(&self, client: Client, feed: Feed) -> Result<Vec<Frame>, Mismatch> {
        play::Stage::new(client, Side::Client).play(self, feed)
    }
}

/// Verbs of a role, each with the further members that its steps may have.
type Verbs = &'static [(&'static str, &'static [&'static str])];

/// Verbs that both roles have.
const COMMON: Verbs = &[
    ("in", &["invalid"]),
    ("out", &[]),
    ("end", &[]),
    ("advance_ms", &[]),
    ("timeout", &[]),
    ("idle", &[]),
    ("diagnostic", &[]),
    ("close", &[]),
    ("closed", &[]),
];

/// One step.
#[derive(Clone, Debug)]
struct Step {
    verb: String,
    value: Json,
    more: BTreeMap<String, Json>,
}

impl Step {
    /// The one verb whose steps may have all the other members.
    fn read(members: crate::model::Extra, verbs: Verbs) -> Result<Self, String> {
        let mut more: BTreeMap<String, Json> = BTreeMap::new();
        for (name, value) in members {
            if more.insert(name.into_owned(), value).is_some() {
                return Err("a member stands twice".to_owned());
            }
        }
        let fits = |verb: &&str, allowed: &[&str]| {
            more.contains_key(*verb) && more.keys().all(|name| name == verb || allowed.contains(&&**name))
        };
        let verb = COMMON
            .iter()
            .chain(verbs)
            .find(|(verb, allowed)| fits(verb, allowed))
            .map(|(verb, _)| (*verb).to_owned())
            .ok_or_else(|| {
                format!("the role has no step with {}", more.keys().cloned().collect::<Vec<_>>().join(", "))
            })?;
        let value = more.remove(&verb).unwrap_or(Json::NULL);
        Ok(Self { verb, value, more })
    }

    /// The line of an `in` step that is one, without its newline.
    fn line(&self) -> Option<String> {
        if self.verb != "in" {
            return None;
        }
        if self.value.is_string() {
            return self.value.parse().ok();
        }
        self.hex().is_none().then(|| compact(self.value.get()))
    }

    /// The digits of an `in` step that gives bytes.
    fn hex(&self) -> Option<String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Hex {
            hex: String,
        }
        self.value.parse::<Hex>().ok().map(|bytes| bytes.hex)
    }

    /// The bytes that an `in` step gives the machine, values of earlier frames filled in; `None` for every other
    /// step.
    fn bytes(&self, kept: &play::Kept) -> Option<Vec<u8>> {
        if self.verb != "in" {
            return None;
        }
        match self.hex() {
            Some(hex) => {
                let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
                digits
                    .chunks(2)
                    .map(|pair| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()))
                    .collect()
            }
            None => self.line().map(|line| format!("{}\n", kept.fill(&line)).into_bytes()),
        }
    }
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
