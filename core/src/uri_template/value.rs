//! Values of variables: what expansion takes and matching gives.

use std::collections::BTreeMap;

/// The value of a variable, never percent-encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// One text.
    Text(String),
    /// Texts in order. An empty list is undefined.
    List(Vec<String>),
    /// Names and texts in order. An empty map is undefined.
    Map(Vec<(String, String)>),
}

impl Value {
    /// Whether expansion treats the value as absent.
    pub(super) fn is_undefined(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::List(items) => items.is_empty(),
            Self::Map(members) => members.is_empty(),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<String>> for Value {
    fn from(items: Vec<String>) -> Self {
        Self::List(items)
    }
}

impl From<Vec<(String, String)>> for Value {
    fn from(members: Vec<(String, String)>) -> Self {
        Self::Map(members)
    }
}

/// The values of variables by name, in the order of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings(BTreeMap<String, Value>);

impl Bindings {
    /// No values.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// The value of `name`, if it has one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The value of `name`, if it is one text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Value::Text(text) => Some(text),
            Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The value of `name`, if it is a list.
    #[must_use]
    pub fn list(&self, name: &str) -> Option<&[String]> {
        match self.get(name)? {
            Value::List(items) => Some(items),
            Value::Text(_) | Value::Map(_) => None,
        }
    }

    /// Gives `name` a value, and returns the one that it had.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        self.0.insert(name.into(), value.into())
    }

    /// Names and values, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// How many variables have a value.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no variable has a value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<String>, V: Into<Value>> FromIterator<(N, V)> for Bindings {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(values: I) -> Self {
        Self(values.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl IntoIterator for Bindings {
    type Item = (String, Value);
    type IntoIter = std::collections::btree_map::IntoIter<String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
