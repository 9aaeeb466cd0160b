//! Results in general: kind, caching hints, pages of lists.
//!
//! Sources: `basic/index` (ResultType), `server/utilities/pagination`, `server/utilities/caching`. How pages are
//! cut and walked is decided in `server` and `client`.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::macros::{self, Build, Object, Source, members, object, open_enum};
use super::{Extra, Meta, Number};

open_enum! {
    /// What kind of result a modern server answers. Absent means [`ResultType::Complete`]. A value that is
    /// neither known nor defined by an extension in use makes a result invalid.
    pub enum ResultType {
        /// The final answer.
        Complete = "complete",
        /// The server needs input first: see [`InputRequiredResult`](super::InputRequiredResult).
        InputRequired = "input_required",
    }
}

/// Who may share a cached result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CacheScope {
    /// Only callers with the same authorization.
    #[default]
    Private,
    /// Everyone.
    Public,
}

impl CacheScope {
    /// The value on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Public => "public",
        }
    }

    /// What a value on the wire means; unknown ones share nothing.
    #[must_use]
    pub fn from_wire(text: &str) -> Self {
        if text == Self::Public.as_str() { Self::Public } else { Self::Private }
    }
}

/// How a result may be cached. The default is not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CacheHints {
    /// How long the result stays fresh after it was received, in milliseconds. 0 is not at all.
    pub ttl_ms: u64,
    /// Who may share it.
    pub scope: CacheScope,
}

impl CacheHints {
    /// Hints from the members of a result: absent or negative times are 0, absent or unknown scopes private.
    #[must_use]
    pub fn from_wire(ttl_ms: Option<&Number>, scope: Option<&str>) -> Self {
        Self {
            ttl_ms: ttl_ms.map_or(0, Number::saturating_u64),
            scope: scope.map_or(CacheScope::Private, CacheScope::from_wire),
        }
    }

    /// Fresh for a time, for callers with the same authorization.
    #[must_use]
    pub const fn private(ttl_ms: u64) -> Self {
        Self { ttl_ms, scope: CacheScope::Private }
    }

    /// Fresh for a time, for everyone.
    #[must_use]
    pub const fn public(ttl_ms: u64) -> Self {
        Self { ttl_ms, scope: CacheScope::Public }
    }
}

object! {
    /// Parameters of every list method.
    pub struct PaginatedParams {
        required {}
        optional {
            /// Where to go on; absent is the first page. Opaque, and `""` is a cursor like any other.
            cursor: String = "cursor",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

object! {
    /// A result that says no more than that it worked.
    pub struct EmptyResult {
        required {}
        optional {
            /// Modern: `complete`.
            result_type: ResultType = "resultType",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

/// Something that list methods answer pages of.
pub trait Listed: Serialize + DeserializeOwned {
    /// The member of the result that holds the items.
    const MEMBER: &'static str;
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ListResult<T> {
    /// The items, in the order of the server.
    pub items: Vec<T>,
    /// Where the next page begins; absent at the end. Only presence matters: `""` is a cursor.
    pub next_cursor: Option<String>,
    /// Modern: `complete`.
    pub result_type: Option<ResultType>,
    /// Modern: how long the page stays fresh. See [`ListResult::cache_hints`].
    pub ttl_ms: Option<Number>,
    /// Modern: who may share the page. See [`ListResult::cache_hints`].
    pub cache_scope: Option<String>,
    /// Metadata.
    pub meta: Option<Meta>,
    /// Members that this type does not know, in the order they came.
    pub extra: Extra,
}

/// A page of tools.
pub type ListToolsResult = ListResult<super::Tool>;
/// A page of prompts.
pub type ListPromptsResult = ListResult<super::Prompt>;
/// A page of resources.
pub type ListResourcesResult = ListResult<super::Resource>;
/// A page of resource templates.
pub type ListResourceTemplatesResult = ListResult<super::ResourceTemplate>;

impl<T> ListResult<T> {
    /// The last page of a list: these items and nothing after them.
    #[must_use]
    pub fn new(items: impl Into<Vec<T>>) -> Self {
        Self {
            items: items.into(),
            next_cursor: None,
            result_type: None,
            ttl_ms: None,
            cache_scope: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    /// Says where the next page begins.
    #[must_use]
    pub fn next_cursor(mut self, cursor: impl Into<String>) -> Self {
        self.next_cursor = Some(cursor.into());
        self
    }

    /// Sets the metadata.
    #[must_use]
    pub fn meta(mut self, meta: impl Into<Meta>) -> Self {
        self.meta = Some(meta.into());
        self
    }

    /// The caching hints as a client should understand them.
    #[must_use]
    pub fn cache_hints(&self) -> CacheHints {
        CacheHints::from_wire(self.ttl_ms.as_ref(), self.cache_scope.as_deref())
    }

    /// Sets the caching hints.
    #[must_use]
    pub fn cached(mut self, hints: CacheHints) -> Self {
        self.ttl_ms = Some(hints.ttl_ms.into());
        self.cache_scope = Some(hints.scope.as_str().to_owned());
        self
    }
}

/// Collects a [`ListResult`].
pub(crate) struct ListBuilder<T> {
    items: Option<Vec<T>>,
    rest: <ListTail as Object>::Builder,
}

members! {
    /// What every page has beside its items.
    pub(crate) struct ListTail {
        required {}
        optional {
            /// See [`ListResult`].
            next_cursor: String = "nextCursor",
            /// See [`ListResult`].
            result_type: ResultType = "resultType",
            /// See [`ListResult`].
            ttl_ms: Number = "ttlMs",
            /// See [`ListResult`].
            cache_scope: String = "cacheScope",
            /// See [`ListResult`].
            meta: Meta = "_meta",
        }
    }
}

impl<T> Default for ListBuilder<T> {
    fn default() -> Self {
        Self { items: None, rest: Default::default() }
    }
}

impl<T: Listed> Build for ListBuilder<T> {
    type Object = ListResult<T>;

    fn member<'de, S: Source<'de>>(&mut self, key: Cow<'de, str>, source: S) -> Result<(), S::Error> {
        if key == T::MEMBER { macros::fill(&mut self.items, T::MEMBER, source) } else { self.rest.member(key, source) }
    }

    fn finish<E: serde::de::Error>(self) -> Result<ListResult<T>, E> {
        let items = self.items.ok_or_else(|| E::missing_field(T::MEMBER))?;
        let ListTail { next_cursor, result_type, ttl_ms, cache_scope, meta, extra } = self.rest.finish()?;
        Ok(ListResult { items, next_cursor, result_type, ttl_ms, cache_scope, meta, extra })
    }
}

impl<T: Listed> Object for ListResult<T> {
    type Builder = ListBuilder<T>;
    const NAME: &'static str = "ListResult";

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(T::MEMBER, &self.items)?;
        write_present(map, "nextCursor", self.next_cursor.as_ref())?;
        write_present(map, "resultType", self.result_type.as_ref())?;
        write_present(map, "ttlMs", self.ttl_ms.as_ref())?;
        write_present(map, "cacheScope", self.cache_scope.as_ref())?;
        write_present(map, "_meta", self.meta.as_ref())?;
        self.extra.write(map)
    }
}

fn write_present<M: SerializeMap, T: Serialize>(
    map: &mut M,
    name: &'static str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(name, value))
}

impl<T: Listed> Serialize for ListResult<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write(&mut map)?;
        map.end()
    }
}

impl<'de, T: Listed> Deserialize<'de> for ListResult<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        macros::read_object(deserializer)
    }
}
