//! Fuzz targets of the core.
//!
//! A target is a function of bytes that panics when a promise is broken. It answers a *signature* of what it saw
//! happen: kinds of messages, of errors, of actions, never values. The [`engine`] keeps an input that shows a new
//! signature, which is feedback enough without a sanitizer or a nightly compiler; the corpora hold such inputs,
//! and the tests replay them.
//!
//! | target | promise |
//! |---|---|
//! | `line` | any chunking gives the same lines |
//! | `message` | what is accepted is the same JSON value again; nothing that is not JSON is accepted |
//! | `server` | no order of frames and verbs panics; a request is answered at most once, never after its cancellation |
//! | `client` | no order of frames and verbs panics; a call ends exactly once |
//! | `sse` | any cutting gives the same events; what is written is read |
//! | `http_head` | every head is judged; a header passes only if it carries what the body says |
//! | `http_exchange` | whatever comes of a request that stands alone, it is answered once and ends |
//! | `http_session` | the same for sessions, of two users with the same ids; sessions travel |
//! | `http_client` | whatever servers and connections do, a call ends exactly once, and no two mix |
//! | `pair` | a client and a server agree with a model of their calls |
//! | `request_state` | no token opens but those that were sealed, for what they were sealed for |
//! | `uri_template` | what matches expands to the same URI; nothing panics |
//! | `schema` | compiling and validating end within their steps |
#![forbid(unsafe_code)]

use std::collections::BTreeSet;

pub mod engine;
pub mod input;
pub mod targets;

/// A target: its name, which is also the folder of its corpus, and what it does with bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name.
    pub name: &'static str,
    /// Runs one input.
    pub run: fn(&[u8]) -> Signature,
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "client", run: targets::client::run },
    Target { name: "http_client", run: targets::http_client::run },
    Target { name: "http_exchange", run: targets::http_exchange::run },
    Target { name: "http_head", run: targets::http_head::run },
    Target { name: "http_session", run: targets::http_session::run },
    Target { name: "line", run: targets::line::run },
    Target { name: "message", run: targets::message::run },
    Target { name: "pair", run: targets::pair::run },
    Target { name: "request_state", run: targets::request_state::run },
    Target { name: "schema", run: targets::schema::run },
    Target { name: "server", run: targets::server::run },
    Target { name: "sse", run: targets::sse::run },
    Target { name: "uri_template", run: targets::uri_template::run },
];

/// What was seen to happen: the things themselves, and which followed on which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    features: BTreeSet<u32>,
    last: u32,
}

impl Signature {
    /// Nothing has happened yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { features: BTreeSet::new(), last: 0 }
    }

    /// The things and pairs of things, as numbers.
    pub fn features(&self) -> impl Iterator<Item = u32> {
        self.features.iter().copied()
    }

    /// Adds something that happened, by name.
    pub fn note(&mut self, what: &str) {
        let mut hash = 0x811c_9dc5_u32;
        for byte in what.bytes() {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
        self.features.insert(hash);
        self.features.insert(hash.rotate_left(7) ^ self.last);
        self.last = hash;
    }

    /// Adds the variant of an enum: the name before its first field, as `Debug` writes it.
    pub fn note_variant(&mut self, value: &dyn std::fmt::Debug) {
        let text = format!("{value:?}");
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
        self.note(text.get(..end).unwrap_or_default());
    }
}
