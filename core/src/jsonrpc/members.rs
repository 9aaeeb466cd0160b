//! The members of an object that the protocol knows, by where they stand in the frame.
//!
//! A [`Members`] is what the one parse of a frame leaves behind for `params` and `result`: spans, not values.
//! Unknown members are not listed, but they are still there in [`Members::json`], the object's own text.

use std::borrow::Cow;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::json::Json;

/// A range of a frame. Frames are shorter than 4 GiB (`Limits::frame_bytes` is capped there).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(super) fn new(start: usize, end: usize) -> Self {
        let clamp = |position| u32::try_from(position).unwrap_or(u32::MAX);
        Self { start: clamp(start), end: clamp(end) }
    }

    pub(super) const fn start(self) -> usize {
        self.start as usize
    }

    pub(super) const fn end(self) -> usize {
        self.end as usize
    }

    pub(super) fn bytes(self, frame: &Bytes) -> &[u8] {
        frame.get(self.start()..self.end()).unwrap_or(b"null")
    }

    pub(super) fn text(self, frame: &Bytes) -> &str {
        // The frame was checked to be UTF-8 as a whole, and spans lie on token boundaries.
        std::str::from_utf8(self.bytes(frame)).unwrap_or("null")
    }

    pub(super) fn slice(self, frame: &Bytes) -> Bytes {
        if self.start <= self.end && self.end() <= frame.len() {
            frame.slice(self.start()..self.end())
        } else {
            Bytes::from_static(b"null")
        }
    }
}

macro_rules! fields {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $text:expr,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($variant,)* }

        impl $name {
            const ALL: &[Self] = &[$(Self::$variant,)*];

            pub(super) fn parse(name: &[u8]) -> Option<Self> {
                $(if name == $text.as_bytes() { return Some(Self::$variant); })*
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

impl Field {
    /// The members that calls and their results have. See [`Scanner::usual_key`](super::scan::Scanner::usual_key).
    #[inline(always)]
    pub(super) fn usual(word: u64, after: &[u8]) -> Option<(Self, usize)> {
        const ARGUMENTS: u64 = u64::from_le_bytes(*b"\"argumen");
        const CONTENT: u64 = u64::from_le_bytes(*b"\"content");
        const META: u64 = u64::from_le_bytes(*b"\"_meta\":");
        const NAME: u64 = u64::from_le_bytes(*b"\"name\":\0");
        match word {
            ARGUMENTS if after.starts_with(b"ts\":") => Some((Self::Arguments, 12)),
            CONTENT if after.starts_with(b"\":") => Some((Self::Content, 10)),
            META => Some((Self::Meta, 8)),
            word if word & 0xFF_FFFF_FFFF_FFFF == NAME => Some((Self::Name, 7)),
            _ => None,
        }
    }
}

/// The static spelling of a name that a decoder looks for, in whatever place.
pub(super) fn known_name(name: &str) -> Option<&'static [u8]> {
    let fields = Field::ALL.iter().map(|field| field.name()).chain(MetaField::ALL.iter().map(|field| field.name()));
    fields.chain(super::decode::ENVELOPE).find(|known| *known == name).map(str::as_bytes)
}

/// The name of a span: the number of a [`Field`], or of a [`MetaField`] after all fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(u8);

const _: () = assert!(Field::ALL.len() + MetaField::ALL.len() <= 64, "a name is a bit of a word");

impl Name {
    const fn bit(self) -> u64 {
        1 << self.0
    }

    fn text(self) -> &'static str {
        let number = usize::from(self.0);
        let meta = || MetaField::ALL.get(number.checked_sub(Field::ALL.len())?);
        Field::ALL
            .get(number)
            .map(|field| field.name())
            .or_else(|| meta().map(|field| field.name()))
            .unwrap_or_default()
    }
}

impl From<Field> for Name {
    fn from(field: Field) -> Self {
        Self(field as u8)
    }
}

impl From<MetaField> for Name {
    fn from(field: MetaField) -> Self {
        Self(field as u8 + Field::ALL.len() as u8)
    }
}

/// What stood in the place of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Absent,
    Object,
    Other,
}

/// Spans that are kept without an allocation: more than any message that the specification shows has.
const INLINE: usize = 7;

/// The members of `params` or `result` of one frame.
#[derive(Clone, Debug)]
#[expect(clippy::box_collection, reason = "members are moved often, and hardly ever have more")]
pub struct Members {
    frame: Bytes,
    pub(super) shape: Shape,
    pub(super) meta_shape: Shape,
    pub(super) whole: Span,
    /// A known member that stood twice.
    twice: Option<Name>,
    /// The bits of the names that are noted, so that most questions for what is absent end here.
    noted: u64,
    len: u8,
    names: [Name; INLINE],
    spans: [Span; INLINE],
    more: Option<Box<Vec<(Name, Span)>>>,
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

    pub(crate) const fn absent() -> Self {
        Self {
            frame: Bytes::new(),
            shape: Shape::Absent,
            meta_shape: Shape::Absent,
            whole: Span { start: 0, end: 0 },
            twice: None,
            noted: 0,
            len: 0,
            names: [Name(0); INLINE],
            spans: [Span { start: 0, end: 0 }; INLINE],
            more: None,
        }
    }

    /// Says which frame the spans are of.
    pub(super) fn attach(&mut self, frame: Bytes) {
        self.frame = frame;
    }

    /// Notes where a known member stands.
    pub(super) fn insert(&mut self, name: impl Into<Name>, span: Span) {
        let name = name.into();
        if self.find(name).is_some() {
            self.twice = Some(name);
            return;
        }
        self.noted |= name.bit();
        let at = usize::from(self.len);
        match (self.names.get_mut(at), self.spans.get_mut(at)) {
            (Some(place), Some(at)) => {
                (*place, *at) = (name, span);
                self.len += 1;
            }
            _ => self.more.get_or_insert_default().push((name, span)),
        }
    }

    fn find(&self, name: impl Into<Name>) -> Option<Span> {
        let name = name.into();
        if self.noted & name.bit() == 0 {
            return None;
        }
        match self.names.iter().take(usize::from(self.len)).position(|known| *known == name) {
            Some(at) => self.spans.get(at).copied(),
            None => self
                .more
                .iter()
                .flat_map(|more| more.iter())
                .find_map(|(known, span)| (*known == name).then_some(*span)),
        }
    }

    /// The object's own text, unknown members included; `{}` if it was absent.
    #[must_use]
    pub fn json(&self) -> Json {
        match self.shape {
            Shape::Absent => Json::EMPTY_OBJECT,
            Shape::Object | Shape::Other => Json::from_validated(self.whole.slice(&self.frame)),
        }
    }

    /// Refuses params that are no object, a `_meta` that is no object, and known members that stand twice.
    pub(crate) fn check(&self) -> Result<(), FieldError> {
        if self.shape == Shape::Other {
            return Err(FieldError::Type("params", "an object"));
        }
        if self.meta_shape == Shape::Other {
            return Err(FieldError::Type(Field::Meta.name(), "an object"));
        }
        self.twice.map_or(Ok(()), |name| Err(FieldError::Twice(name.text())))
    }

    /// Whether the place held an object.
    pub(crate) fn is_object(&self) -> bool {
        self.shape == Shape::Object
    }

    /// The text of a member, `null` counting as present.
    pub(crate) fn present(&self, field: Field) -> Option<&str> {
        self.find(field).map(|span| span.text(&self.frame))
    }

    /// The text of a member, `null` counting as absent.
    pub(crate) fn raw(&self, field: Field) -> Option<&str> {
        self.span(field).map(|span| span.text(&self.frame))
    }

    fn span(&self, name: impl Into<Name>) -> Option<Span> {
        self.find(name).filter(|span| span.bytes(&self.frame) != b"null")
    }

    /// The member as carried JSON, `null` counting as absent.
    pub(crate) fn value(&self, field: Field) -> Option<Json> {
        self.span(field).map(|span| Json::from_validated(span.slice(&self.frame)))
    }

    /// The member as carried JSON, `null` counting as present.
    pub(crate) fn present_value(&self, field: Field) -> Option<Json> {
        self.find(field).map(|span| Json::from_validated(span.slice(&self.frame)))
    }

    /// An optional string.
    pub(crate) fn string(&self, field: Field) -> Result<Option<Cow<'_, str>>, FieldError> {
        self.span(field)
            .map(|span| string_token(span.bytes(&self.frame)).ok_or_else(|| FieldError::Type(field.name(), "a string")))
            .transpose()
    }

    /// A required string.
    pub(crate) fn required_string(&self, field: Field) -> Result<Cow<'_, str>, FieldError> {
        self.string(field)?.ok_or_else(|| FieldError::Missing(field.name()))
    }

    /// An optional object.
    pub(crate) fn object(&self, field: Field) -> Result<Option<Json>, FieldError> {
        match self.span(field) {
            None => Ok(None),
            Some(span) if span.bytes(&self.frame).starts_with(b"{") => {
                Ok(Some(Json::from_validated(span.slice(&self.frame))))
            }
            Some(_) => Err(FieldError::Type(field.name(), "an object")),
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

    /// Whether a reserved `_meta` key is there, `null` counting as absent.
    pub(crate) fn has_meta(&self, field: MetaField) -> bool {
        self.span(field).is_some()
    }

    /// Whether a reserved `_meta` key is an object; `None` if it is absent, `null` counting as absent.
    pub(crate) fn meta_is_object(&self, field: MetaField) -> Option<bool> {
        self.span(field).map(|span| span.bytes(&self.frame).starts_with(b"{"))
    }

    /// The text of a reserved `_meta` key, `null` counting as absent.
    pub(crate) fn meta_raw(&self, field: MetaField) -> Option<&str> {
        self.span(field).map(|span| span.text(&self.frame))
    }

    /// A reserved `_meta` key as a string.
    pub(crate) fn meta_string(&self, field: MetaField) -> Result<Option<Cow<'_, str>>, FieldError> {
        self.span(field)
            .map(|span| string_token(span.bytes(&self.frame)).ok_or_else(|| FieldError::Type(field.name(), "a string")))
            .transpose()
    }
}

/// What stands between the quotes of a JSON string token; `None` for any other token.
pub(super) fn unquoted(token: &[u8]) -> Option<&[u8]> {
    token.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// The value of a JSON string token; `None` for any other token.
pub(super) fn string_token(token: &[u8]) -> Option<Cow<'_, str>> {
    let inner = unquoted(token)?;
    if !inner.contains(&b'\\') {
        return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
    }
    serde_json::from_slice::<String>(token).ok().map(Cow::Owned)
}
