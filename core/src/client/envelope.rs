//! What a request says beside its params.
//!
//! | member of `_meta` | legacy | modern | from |
//! |---|---|---|---|
//! | protocol version, client capabilities | – | always | the machine |
//! | client info | – | unless switched off | the configuration |
//! | `progressToken` | if progress is wanted | if progress is wanted | the machine, or the caller |
//! | log level | – | if one is wanted | the call, the configuration |
//! | trace context | if given | if given | the call |
//! | all others | as given | as given | the call, the request, the configuration, in this order of weight |
//!
//! Keys that the machine fills cannot be had in any other way: what stands under them in the `meta` of a call or in
//! the `_meta` of custom params is left out. Source: `basic/index` (`_meta`) of 2026-07-28, whose part that never
//! changes is written once for each revision.

use bytes::Bytes;

use super::calls::Call;
use super::config::Config;
use super::request::{CallOptions, Request};
use crate::copy::append;
use crate::error::Misuse;
use crate::ids::{ProgressToken, RequestId};
use crate::json::Json;
use crate::jsonrpc::{Field, FrameWriter, ObjectWriter};
use crate::model::{LoggingLevel, is_baggage, is_traceparent, is_tracestate};
use crate::spec::{Version, meta};

/// Whether the machine fills this key of `_meta`.
pub(super) fn is_filled(key: &str) -> bool {
    matches!(
        key,
        meta::PROTOCOL_VERSION | meta::CLIENT_INFO | meta::CLIENT_CAPABILITIES | meta::LOG_LEVEL | meta::PROGRESS_TOKEN
    )
}

/// The part of a modern `_meta` that is the same for every request: members without braces.
#[derive(Debug)]
pub(super) struct Envelope {
    pub(super) version: Version,
    members: Box<str>,
}

impl Envelope {
    pub(super) fn new(version: Version, config: &Config) -> Self {
        let mut out = Vec::new();
        let mut object = ObjectWriter::new(&mut out);
        object.string(meta::PROTOCOL_VERSION, version.as_str());
        if config.send_client_info {
            object.value(meta::CLIENT_INFO, &config.info);
        }
        let mut capabilities = config.capabilities.clone();
        if let Some(roots) = &mut capabilities.roots {
            // Nobody announces changed roots in this era.
            roots.list_changed = None;
        }
        object.value(meta::CLIENT_CAPABILITIES, &capabilities);
        object.end();
        let text = String::from_utf8(out).unwrap_or_default();
        let members = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
        Self { version, members: members.into() }
    }

    /// `_meta` of a request of the machine's own, such as the probe.
    pub(super) fn write_bare(&self, config_meta: Option<&Json>, out: &mut Vec<u8>) {
        out.push(b'{');
        out.extend_from_slice(self.members.as_bytes());
        if let Some(more) = config_meta.and_then(inner) {
            out.push(b',');
            out.extend_from_slice(more.as_bytes());
        }
        out.push(b'}');
    }
}

/// What an object holds between its braces; `None` if that is nothing.
fn inner(object: &Json) -> Option<&str> {
    let inner = object.get().strip_prefix('{')?.strip_suffix('}')?.trim();
    (!inner.is_empty()).then_some(inner)
}

/// The members of `_meta` that come from outside the machine, without braces; empty if there are none.
pub(super) fn foreign_members(config: &Config, request: &Request, options: &CallOptions) -> Result<Box<[u8]>, Misuse> {
    let trace = &options.trace;
    if config.meta.is_none() && request.meta.is_none() && options.meta.is_none() && trace.is_empty() {
        return Ok(Box::default());
    }
    let mut members: Vec<(String, Json)> = Vec::new();
    let mut set = |key: String, value: Json| match members.iter_mut().find(|(old, _)| *old == key) {
        Some((_, old)) => *old = value,
        None => members.push((key, value)),
    };
    for source in [config.meta.as_ref(), request.meta.as_ref(), options.meta.as_ref()].into_iter().flatten() {
        let source = super::text::object(source)
            .ok_or_else(|| Misuse::Argument("meta must be an object whose names stand once".into()))?;
        for (key, value) in source.into_iter().filter(|(key, _)| !is_filled(key)) {
            set(key.into_owned(), value);
        }
    }
    let parent = trace.traceparent.as_deref().filter(|text| is_traceparent(text));
    let state = trace.tracestate.as_deref().filter(|text| parent.is_some() && is_tracestate(text));
    let baggage = trace.baggage.as_deref().filter(|text| is_baggage(text));
    for (key, value) in [(meta::TRACEPARENT, parent), (meta::TRACESTATE, state), (meta::BAGGAGE, baggage)] {
        if let Some(value) = value {
            set(key.to_owned(), Json::from(serde_json::Value::from(value)));
        }
    }
    let mut out = Vec::new();
    let mut object = ObjectWriter::new(&mut out);
    for (key, value) in &members {
        object.raw(key, value.get());
    }
    // The closing brace is not written: what is kept has no braces.
    out.remove(0);
    Ok(out.into_boxed_slice())
}

/// The frame of one leg of a call, written in a buffer that is used again.
pub(super) fn request_frame(
    buffer: &mut Vec<u8>,
    wire: i64,
    call: &Call,
    envelope: Option<&Envelope>,
    level: Option<LoggingLevel>,
) -> Bytes {
    frame(buffer, wire, &call.request, call.token.as_ref(), &call.foreign_meta, envelope, level)
}

/// The frame of a request.
pub(super) fn frame(
    buffer: &mut Vec<u8>,
    wire: i64,
    request: &Request,
    token: Option<&ProgressToken>,
    foreign_meta: &[u8],
    envelope: Option<&Envelope>,
    level: Option<LoggingLevel>,
) -> Bytes {
    let fixed = envelope.map_or("", |envelope| &envelope.members);
    let capacity = request.params.as_bytes().len()
        + fixed.len()
        + foreign_meta.len()
        + request.input_responses.as_ref().map_or(0, |json| json.as_bytes().len())
        + request.request_state.as_ref().map_or(0, |json| json.as_bytes().len())
        + 160;
    let (id, method) = (RequestId::from(wire), request.method.as_str());
    let mut frame = FrameWriter::request_in(std::mem::take(buffer), &id, method, capacity);
    let out = frame.out();
    out.extend_from_slice(b",\"params\":");
    append(out, request.params.as_bytes());
    let mut params = ObjectWriter::reopen(out);
    if let Some(responses) = &request.input_responses {
        params.raw(Field::InputResponses.name(), responses.get());
    }
    if let Some(state) = &request.request_state {
        params.raw(Field::RequestState.name(), state.get());
    }
    if envelope.is_some() || token.is_some() || !foreign_meta.is_empty() {
        let out = params.key(Field::Meta.name());
        out.push(b'{');
        out.extend_from_slice(fixed.as_bytes());
        if !fixed.is_empty() && !foreign_meta.is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(foreign_meta);
        out.push(b'}');
        if token.is_some() || envelope.is_some() && level.is_some() {
            let mut object = ObjectWriter::reopen(out);
            if let Some(token) = token {
                object.id(meta::PROGRESS_TOKEN, &token.0);
            }
            if let Some(level) = level.filter(|_| envelope.is_some()) {
                object.string(meta::LOG_LEVEL, level.as_str());
            }
            object.end();
        }
    }
    params.end();
    frame.finish_into(buffer)
}
