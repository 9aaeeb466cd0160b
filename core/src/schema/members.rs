//! Objects as lists of members in the order of their text.
//!
//! A map would sort them, depending on the features of `serde_json` that a host has chosen. The order in which an
//! author wrote properties is what users see, so it is kept.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::json::Json;

/// The members of an object, names unescaped, values as they are written. A repeated name is kept twice.
#[derive(Debug, Clone, Default)]
pub(super) struct Members(pub(super) Vec<(String, Json)>);

impl Members {
    /// The members of `raw`, or `None` if it is no object.
    pub(super) fn of(raw: &Json) -> Option<Self> {
        raw.parse().ok()
    }

    /// The value of the last member called `name`: what other readers take, too.
    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        self.0.iter().rev().find(|(member, _)| member == name).map(|(_, value)| value)
    }

    pub(super) fn push(&mut self, name: &str, value: impl Into<Json>) {
        self.0.push((name.to_owned(), value.into()));
    }

    /// The object. Values are written as they came.
    pub(super) fn to_json(&self) -> Json {
        // Strings as keys and valid JSON as values: nothing that the writer could refuse.
        Json::from_value(self).unwrap_or(Json::EMPTY_OBJECT)
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    members.push((name, Json::from(map.next_value::<Box<RawValue>>()?)));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}
