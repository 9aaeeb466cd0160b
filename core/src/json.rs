//! JSON text that is carried, not decoded.
//!
//! [`Json`] is a validated JSON value in its original spelling: a slice of the frame that it came in, or text
//! that serde wrote. It is what makes unknown members, big integers and property order survive: whoever does
//! not need to look inside passes the text on as it is.
//!
//! Nothing here knows the protocol. What a value *means* is decided by the type that [`Json::parse`] is given.

use std::fmt;

use bytes::Bytes;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// One JSON value as text: valid UTF-8, valid JSON, spelling untouched.
///
/// Cloning is a reference count. Equality compares *values*, not spelling, and only falls back to parsing when
/// the texts differ.
#[derive(Clone)]
pub struct Json(Bytes);

impl Json {
    /// The value `null`.
    pub const NULL: Self = Self(Bytes::from_static(b"null"));
    /// The value `{}`.
    pub const EMPTY_OBJECT: Self = Self(Bytes::from_static(b"{}"));

    /// Validates `text` as exactly one JSON value.
    ///
    /// # Errors
    /// What the parser found, with line and column.
    pub fn from_text(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        let text: String = text.into();
        let trimmed = {
            let raw: &RawValue = serde_json::from_str(&text)?;
            // Whitespace around a raw value is not part of it.
            (raw.get().len() != text.len()).then(|| raw.get().to_owned())
        };
        Ok(Self(Bytes::from(trimmed.unwrap_or(text))))
    }

    /// Writes `value` as JSON.
    ///
    /// # Errors
    /// Only what `value`'s own `Serialize` refuses, such as a map with keys that are not strings.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(|text| Self(Bytes::from(text)))
    }

    /// A slice of a frame that the frame decoder has validated already.
    pub(crate) fn from_validated(bytes: Bytes) -> Self {
        debug_assert!(serde_json::from_slice::<&RawValue>(&bytes).is_ok());
        Self(bytes)
    }

    /// The same in memory of its own, for those who keep it longer than the frame that it is a slice of.
    pub(crate) fn apart(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    /// The text.
    #[must_use]
    pub fn get(&self) -> &str {
        // Both constructors start from text, so this cannot fail; an empty answer would be the honest fallback.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The text as bytes, shared with the frame that it came in.
    #[must_use]
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }

    /// Decodes the value.
    ///
    /// # Errors
    /// When the value has another shape than `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.get())
    }

    /// Decodes the value, borrowing strings from it.
    ///
    /// # Errors
    /// When the value has another shape than `T`.
    pub fn parse_borrowed<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.get())
    }

    /// Whether the value is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        &*self.0 == b"null"
    }

    /// Whether the value is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Whether the value is a string.
    #[must_use]
    pub fn is_string(&self) -> bool {
        self.0.first() == Some(&b'"')
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
            || matches!(
                (self.parse::<serde_json::Value>(), other.parse::<serde_json::Value>()),
                (Ok(a), Ok(b)) if a == b
            )
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Self(Bytes::from(value.to_string()))
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        let text: Box<str> = raw.into();
        Self(Bytes::from(String::from(text)))
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.get()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from).map_err(D::Error::custom)
    }
}
