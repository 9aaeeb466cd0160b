//! Reading objects member by member, for the types that [`super::macros`] generates.
//!
//! ```text
//!   reader ──▶ read_object ──▶ Builder::member, once per member ──▶ Builder::finish
//!   reader ──▶ read_tagged ──▶ Parts { tag, head, rest } ──▶ the builder that the tag selects, or JSON
//! ```
//!
//! Only what stands before the tag of a union is kept aside, as JSON text. Depth is bounded by the JSON reader.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer};

use super::extra::Extra;
use crate::json::Json;

/// What [`object!`] generates beside the struct.
pub(crate) trait Object: Sized {
    /// Collects members.
    type Builder: Build<Object = Self>;
    /// The name of the type, for errors.
    const NAME: &'static str;

    /// Writes every member that is present.
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

/// Collects the members of an [`Object`], in whatever order they come.
pub(crate) trait Build: Default {
    /// What is built.
    type Object;

    /// Takes one member.
    fn member<'de, S: Source<'de>>(&mut self, key: Cow<'de, str>, source: S) -> Result<(), S::Error>;

    /// Takes the tag, as a union has read it. False where the tag is a member like any other.
    fn tag(&mut self, _tag: &str) -> bool {
        false
    }

    /// Ends the object; a required member that did not come is an error.
    fn finish<E: serde::de::Error>(self) -> Result<Self::Object, E>;
}

/// Where the value of a member comes from: the reader itself, or something that was read before.
pub(crate) trait Source<'de> {
    /// The reader's error.
    type Error: serde::de::Error;

    /// Decodes the value.
    fn value<T: DeserializeOwned>(self) -> Result<T, Self::Error>;
}

struct Next<'a, A>(&'a mut A);

impl<'de, A: MapAccess<'de>> Source<'de> for Next<'_, A> {
    type Error = A::Error;

    fn value<T: DeserializeOwned>(self) -> Result<T, A::Error> {
        self.0.next_value()
    }
}

struct Kept<E>(Json, PhantomData<E>);

impl<'de, E: serde::de::Error> Source<'de> for Kept<E> {
    type Error = E;

    fn value<T: DeserializeOwned>(self) -> Result<T, E> {
        self.0.parse().map_err(E::custom)
    }
}

/// A string, borrowed where the reader can lend it: a member's name, or a tag.
pub(crate) struct Text<'de>(pub(crate) Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }

        deserializer.deserialize_str(TextVisitor)
    }
}

/// Fills a slot of a builder, once.
pub(crate) fn fill<'de, T, S>(slot: &mut Option<T>, name: &'static str, source: S) -> Result<(), S::Error>
where
    T: DeserializeOwned,
    S: Source<'de>,
{
    fill_via::<T, T, S>(slot, name, source)
}

/// Fills a slot of a builder, once, reading the value as another type.
pub(crate) fn fill_via<'de, T, V, S>(slot: &mut Option<T>, name: &'static str, source: S) -> Result<(), S::Error>
where
    V: DeserializeOwned + Into<T>,
    S: Source<'de>,
{
    if slot.is_some() {
        return Err(S::Error::duplicate_field(name));
    }
    *slot = Some(source.value::<V>()?.into());
    Ok(())
}

/// Reads an [`Object`].
pub(crate) fn read_object<'de, T: Object, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct ObjectVisitor<T>(PhantomData<T>);

    impl<'de, T: Object> Visitor<'de> for ObjectVisitor<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "an object ({})", T::NAME)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            read_rest::<T, A>(T::Builder::default(), map)
        }
    }

    deserializer.deserialize_map(ObjectVisitor(PhantomData))
}

fn read_rest<'de, T: Object, A: MapAccess<'de>>(mut builder: T::Builder, mut map: A) -> Result<T, A::Error> {
    while let Some(Text(key)) = map.next_key()? {
        builder.member(key, Next(&mut map))?;
    }
    builder.finish()
}

/// What [`union!`] generates: an enum told apart by one member.
pub(crate) trait Tagged: Sized {
    /// The name of the type, for errors.
    const NAME: &'static str;
    /// The member that tells the variants apart.
    const TAG: &'static str;

    /// Goes on where the tag was found (or was not, at the end): `head` came before it.
    fn resume<'de, A: MapAccess<'de>>(parts: Parts<'de, A>) -> Result<Self, A::Error>;
}

/// An object that was read up to its tag.
pub(crate) struct Parts<'de, A> {
    /// The tag; absent or `null` is `None`.
    pub(crate) tag: Option<Cow<'de, str>>,
    tag_name: &'static str,
    head: Vec<(Cow<'de, str>, Json)>,
    map: A,
}

impl<'de, A: MapAccess<'de>> Parts<'de, A> {
    /// Reads the object as `T`.
    pub(crate) fn into_object<T: Object>(self) -> Result<T, A::Error> {
        let mut builder = T::Builder::default();
        if let Some(tag) = &self.tag
            && !builder.tag(tag)
        {
            let tag = Json::from_value(tag).map_err(A::Error::custom)?;
            builder.member(Cow::Borrowed(self.tag_name), Kept(tag, PhantomData::<A::Error>))?;
        }
        for (key, value) in self.head {
            builder.member(key, Kept(value, PhantomData::<A::Error>))?;
        }
        read_rest(builder, self.map)
    }

    /// Reads the object as JSON: same members, same order.
    pub(crate) fn into_json(mut self) -> Result<Json, A::Error> {
        let mut members = Extra::new();
        for (key, value) in self.head {
            members.push(key.into_owned(), value);
        }
        if let Some(tag) = &self.tag {
            members.push(self.tag_name, Json::from_value(tag).map_err(A::Error::custom)?);
        }
        while let Some(Text(key)) = self.map.next_key()? {
            members.push(key.into_owned(), self.map.next_value()?);
        }
        Json::from_value(&members).map_err(A::Error::custom)
    }
}

/// A visitor for a [`Tagged`] type.
pub(crate) struct TaggedVisitor<T>(pub(crate) PhantomData<T>);

impl<'de, T: Tagged> Visitor<'de> for TaggedVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object ({})", T::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut head = Vec::new();
        while let Some(Text(key)) = map.next_key()? {
            if key == T::TAG {
                match map.next_value::<Option<Text<'de>>>()? {
                    Some(Text(tag)) => {
                        return T::resume(Parts { tag: Some(tag), tag_name: T::TAG, head, map });
                    }
                    None => head.push((key, Json::NULL)),
                }
            } else {
                head.push((key, map.next_value()?));
            }
        }
        T::resume(Parts { tag: None, tag_name: T::TAG, head, map })
    }
}

/// Reads a [`Tagged`] type.
pub(crate) fn read_tagged<'de, T: Tagged, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(TaggedVisitor(PhantomData))
}

/// Takes the tag of an object that can be one thing only.
pub(crate) fn check_tag<'de, S: Source<'de>>(
    seen: &mut Option<()>,
    name: &'static str,
    expected: &'static str,
    source: S,
) -> Result<(), S::Error> {
    if seen.is_some() {
        return Err(S::Error::duplicate_field(name));
    }
    // The peer's spelling stays out of the error.
    if source.value::<String>()? != expected {
        return Err(S::Error::custom(format_args!("`{name}` is not `{expected}`")));
    }
    *seen = Some(());
    Ok(())
}
