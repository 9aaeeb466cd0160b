//! Members that a type does not know, and other small ordered lists of named JSON.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::macros::Text;
use crate::json::Json;

/// A list of named JSON values in the order of the wire. An empty one allocates nothing.
///
/// Names that stand twice are kept twice; like common JSON readers, [`Extra::get`] answers the last one.
#[derive(Clone, Default)]
#[expect(clippy::box_collection, reason = "most objects have no such members: an empty list is one word")]
pub struct Extra(Option<Box<Vec<Member>>>);

type Member = (Cow<'static, str>, Json);

impl Extra {
    /// The empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self(None)
    }

    fn members(&self) -> &[Member] {
        self.0.as_ref().map_or(&[], |members| members)
    }

    /// The value with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.members().iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Sets the value with this name, in its old place if it has one. Answers the old value.
    pub fn insert(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Json>) -> Option<Json> {
        let (name, value) = (name.into(), value.into());
        let members = self.0.get_or_insert_default();
        if let Some((_, old)) = members.iter_mut().rev().find(|(key, _)| *key == name) {
            return Some(std::mem::replace(old, value));
        }
        members.push((name, value));
        None
    }

    /// Appends a value without looking for an old one.
    pub(crate) fn push(&mut self, name: impl Into<Cow<'static, str>>, value: Json) {
        self.0.get_or_insert_default().push((name.into(), value));
    }

    /// Takes every value with this name out; answers the last one.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        let mut last = None;
        self.0.as_mut()?.retain_mut(|(key, value)| {
            let keep = key != name;
            if !keep {
                last = Some(std::mem::replace(value, Json::NULL));
            }
            keep
        });
        last
    }

    /// Whether there is a value with this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.members().iter().any(|(key, _)| key == name)
    }

    /// The names and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> {
        self.members().iter().map(|(name, value)| (&**name, value))
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members().len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members().is_empty()
    }

    /// Writes the values as members of an object that is being written.
    pub(crate) fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.members().iter().try_for_each(|(name, value)| map.serialize_entry(&**name, value))
    }
}

impl PartialEq for Extra {
    fn eq(&self, other: &Self) -> bool {
        self.members() == other.members()
    }
}

impl fmt::Debug for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<N: Into<Cow<'static, str>>, V: Into<Json>> FromIterator<(N, V)> for Extra {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(values: I) -> Self {
        let members: Vec<Member> = values.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self((!members.is_empty()).then(|| Box::new(members)))
    }
}

impl IntoIterator for Extra {
    type Item = Member;
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.map(|members| *members).unwrap_or_default().into_iter()
    }
}

impl Serialize for Extra {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Extra {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ExtraVisitor;

        impl<'de> Visitor<'de> for ExtraVisitor {
            type Value = Extra;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Extra, A::Error> {
                let mut extra = Extra::new();
                while let Some(Text(name)) = map.next_key()? {
                    extra.push(name.into_owned(), map.next_value()?);
                }
                Ok(extra)
            }
        }

        deserializer.deserialize_map(ExtraVisitor)
    }
}
