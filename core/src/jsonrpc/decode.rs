//! One pass over a frame: classify, find the members, bound the depth.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use thiserror::Error;

use super::members::{Field, Members, MetaField, Place, Shape, Span, object_span, raw_span};
use crate::ids::RequestId;
use crate::json::Json;
use crate::spec::Method;

/// A frame, classified.
#[derive(Clone, Debug)]
pub enum Message {
    /// An array of messages, each still to be decoded; only 2025-03-26 has them.
    Batch(Vec<Bytes>),
    /// An error; without an id the peer could not read ours.
    Error {
        /// The request that failed.
        id: Option<RequestId>,
        /// The `error` member.
        error: Json,
    },
    /// A notification.
    Notification {
        /// What it says.
        method: MethodName,
        /// Its parameters.
        params: Members,
    },
    /// A request.
    Request {
        /// Its id.
        id: RequestId,
        /// What is asked for.
        method: MethodName,
        /// Its parameters.
        params: Members,
    },
    /// A result.
    Result {
        /// The request that it answers.
        id: RequestId,
        /// The `result` member.
        result: Members,
    },
}

/// The method of a message: one of the protocol's, or another's by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MethodName {
    /// A method of the protocol, in whatever revision.
    Known(Method),
    /// Any other name.
    Other(Box<str>),
}

impl MethodName {
    /// The name on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(method) => method.as_str(),
            Self::Other(name) => name,
        }
    }

    fn parse(name: &str) -> Self {
        Method::parse(name).map_or_else(|| Self::Other(name.into()), Self::Known)
    }
}

/// A frame that is no message. The id is there when it could be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidFrame {
    /// Bytes that are not UTF-8.
    #[error("the frame is not UTF-8")]
    NotUtf8,
    /// Text that is not JSON.
    #[error("the frame is not JSON")]
    NotJson,
    /// JSON that nests deeper than the bound.
    #[error("the frame nests deeper than json_depth = {limit}")]
    TooDeep {
        /// The bound.
        limit: usize,
    },
    /// JSON that is no message.
    #[error("{what}")]
    NotMessage {
        /// What is wrong.
        what: &'static str,
        /// The id, where it could be read.
        id: Option<RequestId>,
    },
}

/// Decodes one frame.
///
/// # Errors
/// [`InvalidFrame`], for anything that is not exactly one message (or a batch, whose messages are decoded later).
pub fn decode(frame: &Bytes, depth: usize) -> Result<Message, InvalidFrame> {
    let text = std::str::from_utf8(frame).map_err(|_| InvalidFrame::NotUtf8)?;
    check_depth(frame, depth)?;
    match text.bytes().find(|b| !b.is_ascii_whitespace()) {
        Some(b'{') => decode_object(frame, text),
        Some(b'[') => decode_batch(frame, text),
        _ if serde_json::from_str::<IgnoredAny>(text).is_ok() => {
            Err(InvalidFrame::NotMessage { what: "a message is a JSON object", id: None })
        }
        _ => Err(InvalidFrame::NotJson),
    }
}

/// Refuses JSON that nests too deeply. Counting the openers is a vector loop, so that an ordinary frame, which
/// has fewer of them than the bound, costs next to nothing; only others are walked with care for strings.
fn check_depth(frame: &[u8], limit: usize) -> Result<(), InvalidFrame> {
    // `[` is 0x5b and `{` is 0x7b: one bit apart.
    if frame.iter().map(|b| usize::from(b | 0x20 == b'{')).sum::<usize>() <= limit {
        return Ok(());
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in frame {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b'[' | b'{') => {
                depth += 1;
                if depth > limit {
                    return Err(InvalidFrame::TooDeep { limit });
                }
            }
            (false, b']' | b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

fn decode_batch(frame: &Bytes, text: &str) -> Result<Message, InvalidFrame> {
    let parts: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| InvalidFrame::NotJson)?;
    Ok(Message::Batch(
        parts
            .into_iter()
            .map(|part| {
                let span = raw_span(text, part);
                frame.slice(span.start()..span.end())
            })
            .collect(),
    ))
}

fn decode_object(frame: &Bytes, text: &str) -> Result<Message, InvalidFrame> {
    let invalid = |what, id: Option<RequestId>| Err(InvalidFrame::NotMessage { what, id });
    let mut parser = serde_json::Deserializer::from_str(text);
    let envelope = parser
        .deserialize_map(EnvelopeVisitor { frame, text })
        .and_then(|envelope| parser.end().map(|()| envelope));
    let Ok(envelope) = envelope else {
        return match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => invalid("the frame is not a JSON-RPC 2.0 message", None),
            Err(_) => Err(InvalidFrame::NotJson),
        };
    };
    let id = match envelope.id {
        Id::Absent => None,
        Id::Null if envelope.error.is_some() => None,
        Id::Null => return invalid("id must not be null", None),
        Id::Invalid => return invalid("id must be a string or an integer", None),
        Id::Valid(id) => Some(id),
    };
    if let Some(what) = envelope.wrong {
        return invalid(what, id);
    }
    if !envelope.version {
        return invalid("jsonrpc must be \"2.0\"", id);
    }
    match (envelope.method, id, envelope.result, envelope.error) {
        (Some(method), Some(id), None, None) => {
            Ok(Message::Request { id, method, params: envelope.params.unwrap_or_else(|| Members::absent(frame.clone(), Place::Params)) })
        }
        (Some(method), None, None, None) => {
            Ok(Message::Notification { method, params: envelope.params.unwrap_or_else(|| Members::absent(frame.clone(), Place::Params)) })
        }
        (None, Some(id), Some(result), None) => Ok(Message::Result { id, result }),
        (None, id, None, Some(error)) => Ok(Message::Error { id, error }),
        (_, id, ..) => invalid("a message has either a method, or an id with a result or an error", id),
    }
}

enum Id {
    Absent,
    Null,
    Invalid,
    Valid(RequestId),
}

struct Envelope {
    version: bool,
    id: Id,
    method: Option<MethodName>,
    params: Option<Members>,
    result: Option<Members>,
    error: Option<Json>,
    /// The first thing that makes the frame no message, though it is JSON.
    wrong: Option<&'static str>,
}

struct EnvelopeVisitor<'f> {
    frame: &'f Bytes,
    text: &'f str,
}

impl<'de: 'f, 'f> Visitor<'de> for EnvelopeVisitor<'f> {
    type Value = Envelope;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Envelope, A::Error> {
        let mut envelope = Envelope {
            version: false,
            id: Id::Absent,
            method: None,
            params: None,
            result: None,
            error: None,
            wrong: None,
        };
        let mut seen = 0_u8;
        while let Some(key) = map.next_key_seed(Text)? {
            let bit = match &*key {
                "jsonrpc" => {
                    envelope.version = map.next_value::<&RawValue>()?.get() == "\"2.0\"";
                    1
                }
                "id" => {
                    let text = map.next_value::<&RawValue>()?.get();
                    envelope.id = match RequestId::from_json_text(text) {
                        Some(id) => Id::Valid(id),
                        None if text == "null" => Id::Null,
                        None => Id::Invalid,
                    };
                    2
                }
                "method" => {
                    let text = map.next_value::<&RawValue>()?.get();
                    match super::members::string_token(text) {
                        Some(name) => envelope.method = Some(MethodName::parse(&name)),
                        None => envelope.wrong = envelope.wrong.or(Some("method must be a string")),
                    }
                    4
                }
                "params" => {
                    envelope.params = Some(map.next_value_seed(self.members(Place::Params))?);
                    8
                }
                "result" => {
                    envelope.result = Some(map.next_value_seed(self.members(Place::Result))?);
                    16
                }
                "error" => {
                    let span = raw_span(self.text, map.next_value::<&RawValue>()?);
                    envelope.error = Some(Json::from_validated(self.frame.slice(span.start()..span.end())));
                    32
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    0
                }
            };
            if seen & bit != 0 {
                // Two readers that each take another one of the two would disagree about the message.
                envelope.wrong = envelope.wrong.or(Some("a member of the message stands twice"));
            }
            seen |= bit;
        }
        Ok(envelope)
    }
}

impl<'f> EnvelopeVisitor<'f> {
    const fn members(&self, place: Place) -> MembersSeed<'f> {
        MembersSeed { frame: self.frame, text: self.text, place }
    }
}

/// Decodes a value that stands alone, such as the params of a message inside another.
pub(super) fn members_of(frame: Bytes, depth: usize) -> Result<Members, InvalidFrame> {
    let text = std::str::from_utf8(&frame).map_err(|_| InvalidFrame::NotUtf8)?;
    check_depth(&frame, depth)?;
    let mut parser = serde_json::Deserializer::from_str(text);
    let members = MembersSeed { frame: &frame, text, place: Place::Alone }.deserialize(&mut parser);
    members.and_then(|members| parser.end().map(|()| members)).map_err(|_| InvalidFrame::NotJson)
}

/// A JSON string, borrowed where it has no escapes.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Reads the value of `params` or `result`, of whatever type.
struct MembersSeed<'f> {
    frame: &'f Bytes,
    text: &'f str,
    place: Place,
}

impl<'de: 'f, 'f> DeserializeSeed<'de> for MembersSeed<'f> {
    type Value = Members;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Members, D::Error> {
        let mut members = Members::absent(self.frame.clone(), self.place);
        let found = deserializer.deserialize_any(Object { text: self.text, sink: &mut members })?;
        members.shape = found.shape;
        members.whole = found.span;
        Ok(members)
    }
}

/// Reads the value of `_meta`, of whatever type, into the members that it belongs to.
struct MetaSeed<'f, 'm> {
    text: &'f str,
    members: &'m mut Members,
}

impl<'de: 'f, 'f> DeserializeSeed<'de> for MetaSeed<'f, '_> {
    type Value = Option<Span>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Span>, D::Error> {
        let found = deserializer.deserialize_any(Object { text: self.text, sink: &mut Meta(self.members) })?;
        self.members.meta_shape = found.shape;
        Ok(found.span)
    }
}

/// Where the entries of an object go. Answers where the value stands, if it is known.
trait Sink<'de> {
    fn entry<A: MapAccess<'de>>(&mut self, text: &str, key: &str, map: &mut A) -> Result<Option<Span>, A::Error>;
}

impl<'de> Sink<'de> for Members {
    fn entry<A: MapAccess<'de>>(&mut self, text: &str, key: &str, map: &mut A) -> Result<Option<Span>, A::Error> {
        let field = Field::parse(key);
        if field == Some(Field::Meta) {
            if self.meta_shape != Shape::Absent {
                self.twice = Some(Field::Meta.name());
            }
            return map.next_value_seed(MetaSeed { text, members: self });
        }
        let span = raw_span(text, map.next_value::<&RawValue>()?);
        if let Some(field) = field {
            if !self.fields.insert(field, span) {
                self.twice = Some(field.name());
            }
        }
        Ok(Some(span))
    }
}

struct Meta<'m>(&'m mut Members);

impl<'de> Sink<'de> for Meta<'_> {
    fn entry<A: MapAccess<'de>>(&mut self, text: &str, key: &str, map: &mut A) -> Result<Option<Span>, A::Error> {
        let span = raw_span(text, map.next_value::<&RawValue>()?);
        if let Some(field) = MetaField::parse(key) {
            if !self.0.meta.insert(field, span) {
                self.0.twice = Some(field.name());
            }
        }
        Ok(Some(span))
    }
}

/// What stood in a place, and where, if that could be told without a second look.
struct Found {
    shape: Shape,
    span: Option<Span>,
}

impl Found {
    const OTHER: Self = Self { shape: Shape::Other, span: None };
}

/// Visits an object entry by entry; any other type but `null` is noted as such and read past.
struct Object<'f, 's, S> {
    text: &'f str,
    sink: &'s mut S,
}

impl<'de, S: Sink<'de>> Visitor<'de> for Object<'_, '_, S> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let (mut first_key, mut last_value, mut first) = (None, None, true);
        while let Some(key) = map.next_key_seed(Text)? {
            if first {
                first = false;
                first_key = match key {
                    Cow::Borrowed(key) => Some(key),
                    Cow::Owned(_) => None,
                };
            }
            last_value = self.sink.entry(self.text, &key, &mut map)?;
        }
        Ok(Found { shape: Shape::Object, span: object_span(self.text, first_key, last_value) })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Found, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Found::OTHER)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Found, E> {
        Ok(Found::OTHER)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Found, E> {
        Ok(Found::OTHER)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Found, E> {
        Ok(Found::OTHER)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Found, E> {
        Ok(Found::OTHER)
    }

    fn visit_str<E>(self, _: &str) -> Result<Found, E> {
        Ok(Found::OTHER)
    }

    /// `null` in the place of an object is what some languages write for nothing.
    fn visit_unit<E>(self) -> Result<Found, E> {
        Ok(Found { shape: Shape::Absent, span: None })
    }
}
