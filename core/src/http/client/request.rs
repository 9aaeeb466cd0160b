//! The head of every request.
//!
//! | header | modern POST | legacy POST | `initialize` | GET | DELETE |
//! |---|---|---|---|---|---|
//! | `accept` | JSON and events | JSON and events | JSON and events | events | – |
//! | `content-type` | JSON | JSON | JSON | – | – |
//! | `mcp-protocol-version` | as in the envelope | the session's | – | the session's | the session's |
//! | `mcp-method` | yes | – | – | – | – |
//! | `mcp-name`, `mcp-param-*` | where there is something to name | – | – | – | – |
//! | `mcp-session-id` | – | if the server gave one | – | likewise | yes |
//! | `last-event-id` | – | – | – | if a stream is resumed | – |
//!
//! The headers of the [`Endpoint`](super::Endpoint) come on top. Sources: `basic/transports/streamable-http` (Request
//! Metadata), `basic/transports` of 2025-11-25 (Session Management, Resumability, Protocol Version Header).

use bytes::Bytes;

use super::api::{Action, Fetch, FetchId};
use super::exchange::{Call, Exchange, Kind, Phase, Resume};
use super::machine::Http;
use crate::client::{Core, Head, Purpose};
use crate::http::head::{media, name, value};
use crate::http::{Headers, Method};
use crate::spec::Version;

/// What an answer to a POST may be.
const BOTH: &str = "application/json, text/event-stream";

impl Http {
    /// Sends the request of an exchange, and keeps the exchange under a new name.
    pub(super) fn launch(&mut self, core: &Core, mut exchange: Exchange) -> FetchId {
        self.last_fetch += 1;
        let id = FetchId(self.last_fetch);
        exchange.phase = Phase::Head;
        let begins =
            matches!(&exchange.kind, Kind::Call(call) if call.head.purpose != Purpose::Legacy && !call.resumed);
        exchange.session = if begins { None } else { self.session.clone() };
        if let Some(wire) = exchange.kind.wire() {
            self.by_wire.insert(wire, id);
        }
        let (method, body) = match &exchange.kind {
            Kind::Call(call) if call.resumed => (Method::Get, Bytes::new()),
            Kind::Call(call) => (Method::Post, unframed(&call.frame)),
            Kind::Message { frame, .. } | Kind::Posted { frame, .. } => (Method::Post, unframed(frame)),
            Kind::Listen(_) | Kind::Pair => (Method::Get, Bytes::new()),
            Kind::Delete => (Method::Delete, Bytes::new()),
        };
        let headers = self.request_headers(core, &exchange);
        let url = if method == Method::Post { self.post_url() } else { self.endpoint.shared_url() };
        let fetch = Fetch { id, method, url, headers, body };
        self.actions.push_back(Action::Fetch(Box::new(fetch)));
        self.exchanges.insert(id, exchange);
        id
    }

    fn request_headers(&self, core: &Core, exchange: &Exchange) -> Headers {
        let mut headers = Headers::new();
        match &exchange.kind {
            Kind::Call(call) if call.resumed => stream_headers(&mut headers, &call.resume),
            Kind::Call(call) => call_headers(&mut headers, call),
            Kind::Posted { .. } => post_headers(&mut headers),
            Kind::Pair => headers.push(name::ACCEPT, media::EVENT_STREAM),
            Kind::Message { .. } => {
                post_headers(&mut headers);
                if !core.is_legacy()
                    && let Some(method) = message_method(exchange)
                {
                    headers.push(name::METHOD, value::encode(&method).into_owned());
                }
            }
            Kind::Listen(resume) => stream_headers(&mut headers, resume),
            Kind::Delete => {}
        }
        if !matches!(&exchange.kind, Kind::Call(call) if !call.resumed) {
            version_header(&mut headers, core.version_named().or(self.spoken));
        }
        if let Some(session) = &exchange.session {
            headers.push(name::SESSION_ID, Bytes::copy_from_slice(session.as_bytes()));
        }
        for (name, value) in self.endpoint.headers().iter() {
            headers.push(name.to_owned(), value.clone());
        }
        headers
    }
}

/// The frame without the newline that lines end with.
fn unframed(frame: &Bytes) -> Bytes {
    match frame.last() {
        Some(b'\n') => frame.slice(..frame.len() - 1),
        _ => frame.clone(),
    }
}

fn post_headers(headers: &mut Headers) {
    headers.push(name::CONTENT_TYPE, media::JSON);
    headers.push(name::ACCEPT, BOTH);
}

fn call_headers(headers: &mut Headers, call: &Call) {
    post_headers(headers);
    let Head { purpose, method, name, version, params } = &call.head;
    version_header(headers, *version);
    if *purpose == Purpose::Modern {
        headers.push(name::METHOD, value::encode(method).into_owned());
        if let Some(name) = name {
            headers.push(name::NAME, value::encode(name).into_owned());
        }
        for (name, text) in params {
            headers.push(format!("{}{name}", name::PARAM_PREFIX), value::encode(text).into_owned());
        }
    }
}

fn stream_headers(headers: &mut Headers, resume: &Resume) {
    headers.push(name::ACCEPT, media::EVENT_STREAM);
    if let Some(id) = &resume.last_id {
        headers.push(name::LAST_EVENT_ID, Bytes::copy_from_slice(id.as_bytes()));
    }
}

fn version_header(headers: &mut Headers, version: Option<Version>) {
    if let Some(version) = version {
        headers.push(name::PROTOCOL_VERSION, version.as_str());
    }
}

/// The method of a notification.
fn message_method(exchange: &Exchange) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Message {
        method: String,
    }
    let Kind::Message { frame, .. } = &exchange.kind else { return None };
    serde_json::from_slice::<Message>(frame).ok().map(|message| message.method)
}
