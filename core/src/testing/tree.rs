//! JSON values compared exactly: members in any order, numbers beyond 64 bits to the last digit.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;

/// A JSON value, taken apart as far as comparing needs.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Object(BTreeMap<String, Self>),
    Array(Vec<Self>),
    Text(String),
    Number(String),
    /// `true`, `false`, `null`.
    Word(String),
}

impl Tree {
    /// Takes a value apart; `None` if the text is none, or a member of it stands twice.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        Some(match text.as_bytes().first()? {
            b'{' => {
                let members: crate::model::Extra = serde_json::from_str(text).ok()?;
                let mut object = BTreeMap::new();
                for (name, value) in members.iter() {
                    if object.insert(name.to_owned(), Self::read(value.get())?).is_some() {
                        return None;
                    }
                }
                Self::Object(object)
            }
            b'[' => {
                let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                Self::Array(items.into_iter().map(|item| Self::read(item.get())).collect::<Option<_>>()?)
            }
            b'"' => Self::Text(serde_json::from_str(text).ok()?),
            b't' | b'f' | b'n' => Self::Word(text.to_owned()),
            _ => Self::Number(text.to_owned()),
        })
    }
}

/// The value as JSON text.
impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        match self {
            Self::Object(members) => {
                f.write_str("{")?;
                for (index, (name, value)) in members.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{}:{value}", quoted(name))?;
                }
                f.write_str("}")
            }
            Self::Array(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str("]")
            }
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::Number(text) | Self::Word(text) => f.write_str(text),
        }
    }
}

impl PartialEq for Tree {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Object(a), Self::Object(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => a == b,
            (Self::Text(a), Self::Text(b)) | (Self::Word(a), Self::Word(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => same_number(a, b),
            _ => false,
        }
    }
}

/// Integers are compared by their digits, so that none is rounded; `1.0` and `1` are one number.
fn same_number(a: &str, b: &str) -> bool {
    let is_integer = |text: &str| !text.contains(['.', 'e', 'E']);
    a == b
        || (!(is_integer(a) && is_integer(b))
            && matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a == b))
}
