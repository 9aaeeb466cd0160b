//! One pass over a frame: check it, bound its depth, classify it, note where the members stand.

use bytes::Bytes;
use thiserror::Error;

use super::members::{Field, Members, MetaField, Shape, Span};
use super::scan::{Fault, Scanner, is_plain};
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

/// A frame, classified, whose params or result were written to where its reader wants them: a [`Members`] is large, and
/// whoever keeps it need not have it handed over.
pub(crate) enum Head {
    Batch(Vec<Bytes>),
    Error { id: Option<RequestId>, error: Json },
    Notification { method: MethodName },
    Request { id: RequestId, method: MethodName },
    Result { id: RequestId },
}

impl Head {
    /// The whole message.
    #[inline]
    pub(crate) fn with(self, body: Members) -> Message {
        match self {
            Self::Batch(parts) => Message::Batch(parts),
            Self::Error { id, error } => Message::Error { id, error },
            Self::Notification { method } => Message::Notification { method, params: body },
            Self::Request { id, method } => Message::Request { id, method, params: body },
            Self::Result { id } => Message::Result { id, result: body },
        }
    }
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

    /// Reads a name without escapes, in ASCII.
    fn plain(name: &[u8]) -> Self {
        Method::parse_bytes(name).map_or_else(|| Self::other(name), Self::Known)
    }

    #[cold]
    fn other(name: &[u8]) -> Self {
        Self::Other(String::from_utf8_lossy(name).into())
    }

    /// Reads the token of a string.
    fn read(token: &[u8]) -> Option<Self> {
        if let Some(method) = super::members::unquoted(token).and_then(Method::parse_bytes) {
            return Some(Self::Known(method));
        }
        let name = super::members::string_token(token)?;
        Some(Method::parse(&name).map_or_else(|| Self::Other(name.into()), Self::Known))
    }
}

/// Whose message it would have been that cannot be read: nothing of it is used but its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// A result or an error, to this request of ours.
    Answer(RequestId),
    /// A request.
    Request(RequestId),
}

/// A frame that is no message. Whose it would have been is there when that could be read.
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
        /// The id of the message that it is nevertheless: whoever waits for it need not wait for ever.
        of: Option<Unread>,
    },
    /// JSON that is no message.
    #[error("{what}")]
    NotMessage {
        /// What is wrong.
        what: &'static str,
        /// The message that it nevertheless is.
        of: Option<Unread>,
    },
}

impl InvalidFrame {
    /// The request of the peer that it is: an answer to it may be expected.
    #[must_use]
    pub const fn request(&self) -> Option<&RequestId> {
        match self {
            Self::TooDeep { of: Some(Unread::Request(id)), .. }
            | Self::NotMessage { of: Some(Unread::Request(id)), .. } => Some(id),
            _ => None,
        }
    }

    /// The request of ours that it answers. An error about it must not carry this id: the peer would take that for the
    /// end of a request of its own that happens to have the same one.
    #[must_use]
    pub const fn answered(&self) -> Option<&RequestId> {
        match self {
            Self::TooDeep { of: Some(Unread::Answer(id)), .. }
            | Self::NotMessage { of: Some(Unread::Answer(id)), .. } => Some(id),
            _ => None,
        }
    }
}

/// Decodes one frame.
///
/// # Errors
/// [`InvalidFrame`], for anything that is not exactly one message (or a batch, whose messages are decoded later).
pub fn decode(frame: &Bytes, depth: usize) -> Result<Message, InvalidFrame> {
    decode_owned(frame.clone(), depth)
}

/// As [`decode`], for a frame that nobody else needs.
pub(crate) fn decode_owned(frame: Bytes, depth: usize) -> Result<Message, InvalidFrame> {
    let mut body = Members::absent();
    let head = decode_into(frame, depth, &mut body)?;
    Ok(head.with(body))
}

/// As [`decode_owned`], for a line that [`is_plain_line`]. The newline is white space at its end.
pub(crate) fn decode_plain_line(line: Bytes, depth: usize) -> Result<Message, InvalidFrame> {
    let mut body = Members::absent();
    let head = decode_plain_line_into(line, depth, &mut body)?;
    Ok(head.with(body))
}

/// As [`decode_owned`]. The params or the result go to `body`, which holds nothing yet.
pub(crate) fn decode_into(frame: Bytes, depth: usize, body: &mut Members) -> Result<Head, InvalidFrame> {
    if is_plain(&frame) { decode_as::<true>(frame, depth, body) } else { decode_as::<false>(frame, depth, body) }
}

/// As [`decode_plain_line`]. The params or the result go to `body`, which holds nothing yet.
pub(crate) fn decode_plain_line_into(line: Bytes, depth: usize, body: &mut Members) -> Result<Head, InvalidFrame> {
    decode_as::<true>(line, depth, body)
}

/// Whether a chunk of a stream is one whole line, with its newline, of an object in plain text: what a quiet stream
/// brings. One look at its bytes then takes the place of two, for a newline within and for what is not plain.
pub(crate) fn is_plain_line(chunk: &[u8]) -> bool {
    matches!(chunk, [b'{', rest @ .., b'\n'] if is_plain(rest))
}

#[inline(never)]
fn decode_as<const PLAIN: bool>(frame: Bytes, depth: usize, body: &mut Members) -> Result<Head, InvalidFrame> {
    let fault = fault(depth);
    let scanner = Scanner::<PLAIN>::new(&frame, depth).map_err(fault)?;
    match scanner.peek() {
        Some(b'{') => {
            let mut envelope = Envelope::new(body);
            if let Err(wrong) = envelope.read(&frame, scanner) {
                return Err(if wrong == Fault::TooDeep { too_deep(frame, depth) } else { fault(wrong) });
            }
            envelope.body.attach(frame);
            envelope.classify()
        }
        Some(b'[') => batch(&frame, scanner).map_err(fault),
        _ => {
            single(scanner).map_err(fault)?;
            Err(InvalidFrame::NotMessage { what: "a message is a JSON object", of: None })
        }
    }
}

/// Finds out whose message it is that nests too deep. Reading past values takes no stack, however deep they are.
#[cold]
fn too_deep(frame: Bytes, limit: usize) -> InvalidFrame {
    let of = match decode_as::<false>(frame, usize::MAX, &mut Members::absent()) {
        Ok(Head::Request { id, .. }) => Some(Unread::Request(id)),
        Ok(Head::Result { id } | Head::Error { id: Some(id), .. }) => Some(Unread::Answer(id)),
        _ => None,
    };
    InvalidFrame::TooDeep { limit, of }
}

/// Decodes a value that stands alone, such as the params of a message inside another.
pub(super) fn members_of(text: Bytes, depth: usize) -> Result<Members, InvalidFrame> {
    let fault = fault(depth);
    let mut members = Members::absent();
    let mut scanner = Scanner::<false>::new(&text, depth).map_err(fault)?;
    read_members(&mut scanner, &mut members).and_then(|()| scanner.end()).map_err(fault)?;
    members.attach(text);
    Ok(members)
}

const fn fault(limit: usize) -> impl Fn(Fault) -> InvalidFrame + Copy {
    move |fault| match fault {
        Fault::NotUtf8 => InvalidFrame::NotUtf8,
        Fault::Syntax => InvalidFrame::NotJson,
        Fault::TooDeep => InvalidFrame::TooDeep { limit, of: None },
    }
}

#[inline(never)]
fn single<const PLAIN: bool>(mut scanner: Scanner<'_, PLAIN>) -> Result<(), Fault> {
    scanner.value()?;
    scanner.end()
}

#[inline(never)]
fn batch<const PLAIN: bool>(frame: &Bytes, mut scanner: Scanner<'_, PLAIN>) -> Result<Head, Fault> {
    let mut parts = Vec::new();
    scanner.enter()?;
    while scanner.next_item(parts.is_empty(), b']')? {
        parts.push(scanner.value()?.slice(frame));
    }
    scanner.end().map(|()| Head::Batch(parts))
}

enum Id {
    Absent,
    Null,
    Invalid,
    Valid(RequestId),
}

impl Id {
    fn read(token: &[u8]) -> Self {
        match RequestId::from_json_bytes(token) {
            Some(id) => Self::Valid(id),
            None if token == b"null" => Self::Null,
            None => Self::Invalid,
        }
    }
}

/// The members of a message.
pub(super) const ENVELOPE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// A member of a message, by its place in [`ENVELOPE`].
#[derive(Clone, Copy)]
enum Member {
    Version,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other = 7,
}

impl Member {
    fn named(name: &[u8]) -> Self {
        match name {
            b"jsonrpc" => Self::Version,
            b"id" => Self::Id,
            b"method" => Self::Method,
            b"params" => Self::Params,
            b"result" => Self::Result,
            b"error" => Self::Error,
            _ => Self::Other,
        }
    }

    /// See [`Scanner::usual_key`].
    #[inline(always)]
    fn usual(word: u64, after: &[u8]) -> Option<(Self, usize)> {
        const ID: u64 = u64::from_le_bytes(*b"\"id\":\0\0\0");
        const METHOD: u64 = u64::from_le_bytes(*b"\"method\"");
        const PARAMS: u64 = u64::from_le_bytes(*b"\"params\"");
        const RESULT: u64 = u64::from_le_bytes(*b"\"result\"");
        const VERSION: u64 = u64::from_le_bytes(*b"\"jsonrpc");
        match word {
            METHOD if after.starts_with(b":") => Some((Self::Method, 9)),
            PARAMS if after.starts_with(b":") => Some((Self::Params, 9)),
            RESULT if after.starts_with(b":") => Some((Self::Result, 9)),
            VERSION if after.starts_with(b"\":") => Some((Self::Version, 10)),
            word if word & 0xFF_FFFF_FFFF == ID => Some((Self::Id, 5)),
            _ => None,
        }
    }
}

/// What stands in a message, before anyone asks whether it may.
struct Envelope<'b> {
    version: bool,
    id: Id,
    method: Option<MethodName>,
    error: Option<Json>,
    /// The members of `result`, or else of `params`.
    body: &'b mut Members,
    has_result: bool,
    /// The first thing that makes the frame no message, though it is JSON.
    wrong: Option<&'static str>,
}

impl<'b> Envelope<'b> {
    const fn new(body: &'b mut Members) -> Self {
        Self { version: false, id: Id::Absent, method: None, error: None, body, has_result: false, wrong: None }
    }

    fn read<const PLAIN: bool>(&mut self, frame: &Bytes, mut scanner: Scanner<'_, PLAIN>) -> Result<(), Fault> {
        scanner.enter()?;
        let mut seen = 0_u8;
        loop {
            let member = match scanner.usual_key(seen == 0, Member::usual) {
                Some(member) => member,
                None => match scanner.next_key(seen == 0)? {
                    Some(name) => Member::named(name),
                    None => break,
                },
            };
            let bit = 1 << member as u8;
            self.member(frame, &mut scanner, member)?;
            // Those that are not ours may stand twice.
            if seen & bit & !OTHER != 0 {
                // Two readers that each take another one of the two would disagree about the message.
                self.twice();
            }
            seen |= bit;
        }
        scanner.end()
    }

    #[cold]
    fn twice(&mut self) {
        self.wrong = self.wrong.or(Some("a member of the message stands twice"));
    }

    /// Reads the value of one member.
    #[inline(always)]
    fn member<const PLAIN: bool>(
        &mut self,
        frame: &Bytes,
        scanner: &mut Scanner<'_, PLAIN>,
        member: Member,
    ) -> Result<(), Fault> {
        match member {
            Member::Version if scanner.take(b"\"2.0\"") => self.version = true,
            Member::Id => match scanner.small_integer() {
                Some(number) => self.id = Id::Valid(number.into()),
                None => self.id = Id::read(scanner.any_value()?.bytes(frame)),
            },
            Member::Method => match scanner.plain_string() {
                Some(name) => self.method = Some(MethodName::plain(name)),
                None => self.unusual_method(frame, scanner)?,
            },
            Member::Params if !self.has_result => read_members(scanner, self.body)?,
            Member::Result => {
                if self.body.shape != Shape::Absent {
                    *self.body = Members::absent();
                }
                self.has_result = true;
                read_members(scanner, self.body)?;
            }
            Member::Error => self.error = Some(Json::from_validated(scanner.any_value()?.slice(frame))),
            Member::Version => {
                self.version = false;
                scanner.any_value()?;
            }
            Member::Params | Member::Other => {
                scanner.any_value()?;
            }
        }
        Ok(())
    }

    /// A method in a text that is not plain, or what is no string.
    #[inline(never)]
    fn unusual_method<const PLAIN: bool>(
        &mut self,
        frame: &Bytes,
        scanner: &mut Scanner<'_, PLAIN>,
    ) -> Result<(), Fault> {
        match MethodName::read(scanner.any_value()?.bytes(frame)) {
            Some(name) => self.method = Some(name),
            None => self.wrong = self.wrong.or(Some("method must be a string")),
        }
        Ok(())
    }

    fn classify(self) -> Result<Head, InvalidFrame> {
        // The id of an answer names a request of our own.
        let is_answer = self.method.is_none() && (self.has_result || self.error.is_some());
        let whose = if is_answer { Unread::Answer } else { Unread::Request };
        let invalid = |what, id: Option<RequestId>| Err(InvalidFrame::NotMessage { what, of: id.map(whose) });
        let id = match self.id {
            Id::Absent => None,
            Id::Null if self.error.is_some() => None,
            Id::Null => return invalid("id must not be null", None),
            Id::Invalid => return invalid("id must be a string or an integer", None),
            Id::Valid(id) => Some(id),
        };
        if let Some(what) = self.wrong {
            return invalid(what, id);
        }
        if !self.version {
            return invalid("jsonrpc must be \"2.0\"", id);
        }
        match (self.method, id, self.has_result, self.error) {
            (Some(method), Some(id), false, None) => Ok(Head::Request { id, method }),
            (Some(method), None, false, None) => Ok(Head::Notification { method }),
            (None, Some(id), true, None) => Ok(Head::Result { id }),
            (None, id, false, Some(error)) => Ok(Head::Error { id, error }),
            (_, id, ..) => invalid("a message has either a method, or an id with a result or an error", id),
        }
    }
}

/// The bit of members that are not ours.
const OTHER: u8 = 1 << Member::Other as u8;

/// Reads the value of `params` or `result`, of whatever type.
fn read_members<const PLAIN: bool>(scanner: &mut Scanner<'_, PLAIN>, members: &mut Members) -> Result<(), Fault> {
    (members.shape, members.whole) = read_object(scanner, members, |scanner, members, first| {
        let field = match scanner.usual_key(first, Field::usual) {
            Some(field) => Some(field),
            None => match scanner.next_key(first)? {
                Some(name) => Field::parse(name),
                None => return Ok(false),
            },
        };
        let span = match field {
            Some(Field::Meta) => read_meta(scanner, members)?,
            _ => scanner.value()?,
        };
        if let Some(field) = field {
            members.insert(field, span);
        }
        Ok(true)
    })?;
    Ok(())
}

fn read_meta<const PLAIN: bool>(scanner: &mut Scanner<'_, PLAIN>, members: &mut Members) -> Result<Span, Fault> {
    let (shape, span) = read_object(scanner, members, |scanner, members, first| {
        let Some(name) = scanner.next_key(first)? else { return Ok(false) };
        let span = scanner.value()?;
        if let Some(field) = MetaField::parse(name) {
            members.insert(field, span);
        }
        Ok(true)
    })?;
    members.meta_shape = shape;
    Ok(span)
}

/// Reads an object member by member, until there is none; any other type but `null` is noted as such and read past.
#[inline(always)]
fn read_object<const PLAIN: bool>(
    scanner: &mut Scanner<'_, PLAIN>,
    members: &mut Members,
    mut member: impl FnMut(&mut Scanner<'_, PLAIN>, &mut Members, bool) -> Result<bool, Fault>,
) -> Result<(Shape, Span), Fault> {
    let start = scanner.position();
    match scanner.peek() {
        Some(b'{') => {
            scanner.enter()?;
            let mut first = true;
            while member(scanner, members, first)? {
                first = false;
            }
            Ok((Shape::Object, Span::new(start, scanner.position())))
        }
        // `null` in the place of an object is what some languages write for nothing.
        Some(b'n') => Ok((Shape::Absent, scanner.any_value()?)),
        _ => Ok((Shape::Other, scanner.any_value()?)),
    }
}
