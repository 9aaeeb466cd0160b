//! The members of an object that the protocol knows, by where they stand in the frame.
//!
//! A [`Members`] is what the one parse of a frame leaves behind for `params` and `result`: spans, not values.
//! Unknown members are not listed, but they are still there in [`Members::json`], the object's own text.

use std::borrow::Cow;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::json::Json;

/// A range of a frame. Frames are shorter than 4 GiB (`Limits::frame_bytes` is capped there).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// Where `part`, a piece of `frame`, stands in it.
    pub(super) fn of(frame: &str, part: &str) -> Self {
        let start = (part.as_ptr() as usize).wrapping_sub(frame.as_ptr() as usize);
        // A part that is not of this frame gives a span that `slice` answers with nothing.
        Self { start: clamp(start), end: clamp(start.wrapping_add(part.len())) }
    }

    pub(super) fn new(start: usize, end: usize) -> Self {
        Self { start: clamp(start), end: clamp(end) }
    }

    pub(super) const fn start(self) -> usize {
        self.start as usize
    }

    pub(super) const fn end(self) -> usize {
        self.end as usize
    }

    fn text(self, frame: &Bytes) -> &str {
        // The frame was checked to be UTF-8 as a whole, and spans lie on token boundaries.
        frame.get(self.start()..self.end()).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or("null")
    }

    fn json(self, frame: &Bytes) -> Json {
        if self.start <= self.end && self.end() <= frame.len() {
            Json::from_validated(frame.slice(self.start()..self.end()))
        } else {
            Json::NULL
        }
    }
}

fn clamp(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

macro_rules! fields {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $text:expr,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($variant,)* }

        impl $name {
            pub(super) fn parse(name: &str) -> Option<Self> {
                $(if name == $text { return Some(Self::$variant); })*
                None
            }

            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

fields! {
    /// A member of `params` or `result` that the machines look at.
    Field {
        Meta = "_meta",
        Name = "name",
        Arguments = "arguments",
        Uri = "uri",
        Cursor = "cursor",
        ResultType = "resultType",
        Content = "content",
        StructuredContent = "structuredContent",
        IsError = "isError",
        NextCursor = "nextCursor",
        TtlMs = "ttlMs",
        CacheScope = "cacheScope",
        InputRequests = "inputRequests",
        InputResponses = "inputResponses",
        RequestState = "requestState",
        ProtocolVersion = "protocolVersion",
        SupportedVersions = "supportedVersions",
        Capabilities = "capabilities",
        ClientInfo = "clientInfo",
        ServerInfo = "serverInfo",
        Instructions = "instructions",
        RequestId = "requestId",
        Reason = "reason",
        ProgressToken = "progressToken",
        Progress = "progress",
        Total = "total",
        Message = "message",
        Level = "level",
        Logger = "logger",
        Data = "data",
        Notifications = "notifications",
        Reference = "ref",
        Argument = "argument",
        Context = "context",
        Tools = "tools",
        Prompts = "prompts",
        Resources = "resources",
        ResourceTemplates = "resourceTemplates",
    }
}

fields! {
    /// A reserved key of `_meta`.
    MetaField {
        ProtocolVersion = crate::spec::meta::PROTOCOL_VERSION,
        ClientInfo = crate::spec::meta::CLIENT_INFO,
        ClientCapabilities = crate::spec::meta::CLIENT_CAPABILITIES,
        LogLevel = crate::spec::meta::LOG_LEVEL,
        ServerInfo = crate::spec::meta::SERVER_INFO,
        SubscriptionId = crate::spec::meta::SUBSCRIPTION_ID,
        ProgressToken = crate::spec::meta::PROGRESS_TOKEN,
        Traceparent = crate::spec::meta::TRACEPARENT,
        Tracestate = crate::spec::meta::TRACESTATE,
        Baggage = crate::spec::meta::BAGGAGE,
    }
}

/// A few spans by key: inline up to `N`, which covers every message that the specification shows.
#[derive(Clone, Debug)]
pub(super) struct Spans<K, const N: usize> {
    inline: [Option<(K, Span)>; N],
    len: usize,
    more: Vec<(K, Span)>,
}

impl<K: Copy + PartialEq, const N: usize> Spans<K, N> {
    pub(super) const fn new() -> Self {
        Self { inline: [None; N], len: 0, more: Vec::new() }
    }

    /// Adds a span; false if the key is there already.
    pub(super) fn insert(&mut self, key: K, span: Span) -> bool {
        if self.get(key).is_some() {
            return false;
        }
        match self.inline.get_mut(self.len) {
            Some(place) => {
                *place = Some((key, span));
                self.len += 1;
            }
            None => self.more.push((key, span)),
        }
        true
    }

    fn get(&self, key: K) -> Option<Span> {
        self.inline
            .iter()
            .take(self.len)
            .flatten()
            .chain(&self.more)
            .find_map(|(k, span)| (*k == key).then_some(*span))
    }
}

/// What stood in the place of `params` or `result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Absent,
    Object,
    Other,
}

/// Where an object stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Params,
    Result,
    Alone,
}

/// The members of `params` or `result` of one frame.
#[derive(Clone, Debug)]
pub struct Members {
    pub(super) frame: Bytes,
    pub(super) place: Place,
    pub(super) shape: Shape,
    /// `None` when the one pass could not tell: see [`object_span`].
    pub(super) whole: Option<Span>,
    /// A known member that stood twice.
    pub(super) twice: Option<&'static str>,
    pub(super) fields: Spans<Field, 7>,
    pub(super) meta: Spans<MetaField, 5>,
    pub(super) meta_shape: Shape,
}

/// A member that is missing or of another type than the method wants.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FieldError {
    /// The member is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// The member has another type.
    #[error("{0} must be {1}")]
    Type(&'static str, &'static str),
    /// Two readers that each take another one of the two would disagree about the message.
    #[error("{0} stands twice")]
    Twice(&'static str),
}

impl Members {
    /// Members of a value that did not come in a frame of its own.
    ///
    /// # Errors
    /// When the text is not one JSON value or nests too deeply.
    pub fn of(json: &Json, depth: usize) -> Result<Self, super::InvalidFrame> {
        super::decode::members_of(json.as_bytes().clone(), depth)
    }

    pub(super) const fn absent(frame: Bytes, place: Place) -> Self {
        Self {
            frame,
            place,
            shape: Shape::Absent,
            whole: None,
            twice: None,
            fields: Spans::new(),
            meta: Spans::new(),
            meta_shape: Shape::Absent,
        }
    }

    /// The object's own text, unknown members included; `{}` if it was absent.
    #[must_use]
    pub fn json(&self) -> Json {
        match (self.shape, self.whole) {
            (Shape::Absent, _) => Json::EMPTY_OBJECT,
            (_, Some(whole)) => whole.json(&self.frame),
            (_, None) => self.find_whole(),
        }
    }

    /// Looks a second time for the object's own text, where the first pass could not tell it.
    fn find_whole(&self) -> Json {
        #[derive(serde::Deserialize)]
        struct Places<'a> {
            #[serde(borrow)]
            params: Option<&'a RawValue>,
            #[serde(borrow)]
            result: Option<&'a RawValue>,
        }
        let text = std::str::from_utf8(&self.frame).unwrap_or("null");
        let part = match self.place {
            Place::Alone => serde_json::from_str::<&RawValue>(text).ok(),
            Place::Params => serde_json::from_str::<Places<'_>>(text).ok().and_then(|places| places.params),
            Place::Result => serde_json::from_str::<Places<'_>>(text).ok().and_then(|places| places.result),
        };
        part.map_or(Json::EMPTY_OBJECT, |part| raw_span(text, part).json(&self.frame))
    }

    /// Refuses params that are no object, a `_meta` that is no object, and known members that stand twice.
    pub(crate) fn check(&self) -> Result<(), FieldError> {
        if self.shape == Shape::Other {
            return Err(FieldError::Type("params", "an object"));
        }
        if self.meta_shape == Shape::Other {
            return Err(FieldError::Type(Field::Meta.name(), "an object"));
        }
        self.twice.map_or(Ok(()), |name| Err(FieldError::Twice(name)))
    }

    /// Whether the place held an object.
    pub(crate) fn is_object(&self) -> bool {
        self.shape == Shape::Object
    }

    /// The text of a member, `null` counting as present.
    pub(crate) fn present(&self, field: Field) -> Option<&str> {
        self.fields.get(field).map(|span| span.text(&self.frame))
    }

    /// The text of a member, `null` counting as absent.
    pub(crate) fn raw(&self, field: Field) -> Option<&str> {
        self.present(field).filter(|text| *text != "null")
    }

    /// The member as carried JSON, `null` counting as absent.
    pub(crate) fn value(&self, field: Field) -> Option<Json> {
        self.raw(field)?;
        self.present_value(field)
    }

    /// The member as carried JSON, `null` counting as present.
    pub(crate) fn present_value(&self, field: Field) -> Option<Json> {
        self.fields.get(field).map(|span| span.json(&self.frame))
    }

    /// An optional string.
    pub(crate) fn string(&self, field: Field) -> Result<Option<Cow<'_, str>>, FieldError> {
        self.raw(field)
            .map(|text| string_token(text).ok_or(FieldError::Type(field.name(), "a string")))
            .transpose()
    }

    /// A required string.
    pub(crate) fn required_string(&self, field: Field) -> Result<Cow<'_, str>, FieldError> {
        self.string(field)?.ok_or(FieldError::Missing(field.name()))
    }

    /// An optional object.
    pub(crate) fn object(&self, field: Field) -> Result<Option<Json>, FieldError> {
        match self.value(field) {
            Some(json) if !json.is_object() => Err(FieldError::Type(field.name(), "an object")),
            other => Ok(other),
        }
    }

    /// An optional member decoded as `T`.
    pub(crate) fn parse<T: DeserializeOwned>(
        &self,
        field: Field,
        expected: &'static str,
    ) -> Result<Option<T>, FieldError> {
        self.raw(field)
            .map(|text| serde_json::from_str(text).map_err(|_| FieldError::Type(field.name(), expected)))
            .transpose()
    }

    /// The text of a reserved `_meta` key, `null` counting as absent.
    pub(crate) fn meta_raw(&self, field: MetaField) -> Option<&str> {
        self.meta.get(field).map(|span| span.text(&self.frame)).filter(|text| *text != "null")
    }

    /// A reserved `_meta` key as a string.
    pub(crate) fn meta_string(&self, field: MetaField) -> Result<Option<Cow<'_, str>>, FieldError> {
        self.meta_raw(field)
            .map(|text| string_token(text).ok_or(FieldError::Type(field.name(), "a string")))
            .transpose()
    }
}

/// The value of a JSON string token; `None` for any other token.
pub(crate) fn string_token(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(text).ok().map(Cow::Owned)
}

/// The span of an object, found from its first key and last value, which the parser hands out as slices.
///
/// `None` when they do not show it (an empty object, an escaped first key): the caller then parses once more.
pub(super) fn object_span(frame: &str, first_key: Option<&str>, last_value: Option<Span>) -> Option<Span> {
    let bytes = frame.as_bytes();
    let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\r' | b'\n');
    // Step over the quote before the key.
    let mut start = Span::of(frame, first_key?).start().checked_sub(1)?;
    loop {
        start = start.checked_sub(1)?;
        match bytes.get(start)? {
            b'{' => break,
            b if blank(b) => {}
            _ => return None,
        }
    }
    let mut end = last_value?.end();
    loop {
        match bytes.get(end)? {
            b'}' => return Some(Span::new(start, end + 1)),
            b if blank(b) => end += 1,
            _ => return None,
        }
    }
}

/// Where `raw` stands in `frame`.
pub(super) fn raw_span(frame: &str, raw: &RawValue) -> Span {
    Span::of(frame, raw.get())
}
