//! Objects and arrays taken apart without decoding what is in them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::Json;

/// How much of a name of the server's is shown in a remark, in characters: enough to recognise, not enough to flood.
pub(super) const SHOWN: usize = 100;

/// The members of an object in order, as slices of its text; `None` if it is no object, or a name stands twice.
pub(super) fn object(json: &Json) -> Option<Vec<(Cow<'_, str>, Json)>> {
    let members: Entries<'_> = json.parse_borrowed().ok()?;
    let mut names = BTreeSet::new();
    let distinct = members.0.iter().all(|(name, _)| names.insert(&**name));
    distinct.then(|| members.0.into_iter().map(|(name, raw)| (name, part(json, raw))).collect())
}

/// The elements of an array, as slices of its text; `None` if it is no array.
pub(super) fn array(json: &Json) -> Option<Vec<Json>> {
    let items: Vec<&RawValue> = json.parse_borrowed().ok()?;
    Some(items.into_iter().map(|item| part(json, item)).collect())
}

/// The value of a string token.
pub(super) fn string(token: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Name<'_>>(token).ok().map(|name| name.0)
}

/// Writes elements as an array.
pub(super) fn write_array(out: &mut Vec<u8>, items: &[Json]) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(item.as_bytes());
    }
    out.push(b']');
}

/// A part of `whole` that shares its memory.
fn part(whole: &Json, raw: &RawValue) -> Json {
    // Only values that were borrowed from `whole` come here, which is what `slice_ref` asks for.
    Json::from_validated(whole.as_bytes().slice_ref(raw.get().as_bytes()))
}

struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut entries = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    entries.push((name, map.next_value()?));
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor)
    }
}

/// A name, borrowed where it has no escapes.
pub(super) struct Name<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(NameVisitor)
    }
}
