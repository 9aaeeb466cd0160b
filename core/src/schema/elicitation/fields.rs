//! The kinds of fields, and how they are made.

use serde_json::Value;

use crate::schema::members::Members;

/// A field of any kind.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Field {
    /// Text.
    String(StringField),
    /// A number.
    Number(NumberField),
    /// Yes or no.
    Boolean(BooleanField),
    /// One of some options.
    Choice(ChoiceField),
    /// Several of some options.
    Choices(ChoicesField),
}

impl Field {
    /// What the field is called on screen.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.common().title.as_deref()
    }

    /// What the field is for.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.common().description.as_deref()
    }

    /// Whether the user must fill it in.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.common().required
    }

    /// What the field holds before the user changes it.
    #[must_use]
    pub fn default_value(&self) -> Option<Value> {
        match self {
            Self::String(field) => field.default.clone().map(Value::String),
            Self::Number(field) => field.default.clone(),
            Self::Boolean(field) => field.default.map(Value::Bool),
            Self::Choice(field) => field.default.clone().map(Value::String),
            Self::Choices(field) => field.default.clone().map(Value::from),
        }
    }

    pub(super) fn common(&self) -> &Common {
        match self {
            Self::String(field) => &field.common,
            Self::Number(field) => &field.common,
            Self::Boolean(field) => &field.common,
            Self::Choice(field) => &field.common,
            Self::Choices(field) => &field.common,
        }
    }

    pub(super) fn common_mut(&mut self) -> &mut Common {
        match self {
            Self::String(field) => &mut field.common,
            Self::Number(field) => &mut field.common,
            Self::Boolean(field) => &mut field.common,
            Self::Choice(field) => &mut field.common,
            Self::Choices(field) => &mut field.common,
        }
    }
}

/// What all fields have.
#[derive(Debug, Clone, Default)]
pub(super) struct Common {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) required: bool,
    /// Members that are not known here.
    pub(super) other: Members,
}

macro_rules! common_setters {
    () => {
        /// What the field is called on screen.
        #[must_use]
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.common.title = Some(title.into());
            self
        }

        /// What the field is for.
        #[must_use]
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.common.description = Some(description.into());
            self
        }

        /// The user must fill it in.
        #[must_use]
        pub fn required(mut self) -> Self {
            self.common.required = true;
            self
        }
    };
}

/// A text.
#[derive(Debug, Clone, Default)]
pub struct StringField {
    pub(super) common: Common,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) format: Option<StringFormat>,
    pub(super) pattern: Option<String>,
    pub(super) default: Option<String>,
}

/// What a text is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StringFormat {
    /// A day: RFC 3339 `full-date`.
    Date,
    /// A moment: RFC 3339 `date-time`.
    DateTime,
    /// An e-mail address.
    Email,
    /// An absolute URI.
    Uri,
    /// A format that the specification does not name. It is kept, and anything fits it.
    Other(String),
}

impl StringFormat {
    /// The name on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Date => "date",
            Self::DateTime => "date-time",
            Self::Email => "email",
            Self::Uri => "uri",
            Self::Other(name) => name,
        }
    }

    pub(super) fn from_name(name: &str) -> Self {
        match name {
            "date" => Self::Date,
            "date-time" => Self::DateTime,
            "email" => Self::Email,
            "uri" => Self::Uri,
            name => Self::Other(name.to_owned()),
        }
    }
}

impl StringField {
    /// A text of any kind.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    common_setters!();

    /// Characters at least.
    #[must_use]
    pub fn min_length(mut self, characters: u64) -> Self {
        self.min_length = Some(characters);
        self
    }

    /// Characters at most.
    #[must_use]
    pub fn max_length(mut self, characters: u64) -> Self {
        self.max_length = Some(characters);
        self
    }

    /// What the text is.
    #[must_use]
    pub fn format(mut self, format: StringFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// A regular expression that the text must match. Only pages of 2025-11-25 mention it; clients may ignore it.
    #[must_use]
    pub fn pattern(mut self, pattern: impl Into<String>) -> Self {
        self.pattern = Some(pattern.into());
        self
    }

    /// What the field holds at first.
    #[must_use]
    pub fn default_value(mut self, value: impl Into<String>) -> Self {
        self.default = Some(value.into());
        self
    }
}

/// A number, whole or not as the form says.
#[derive(Debug, Clone, Default)]
pub struct NumberField {
    pub(super) common: Common,
    pub(super) integer: bool,
    pub(super) minimum: Option<Value>,
    pub(super) maximum: Option<Value>,
    pub(super) default: Option<Value>,
}

impl NumberField {
    /// A number of any size.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    common_setters!();

    /// Whether only whole numbers are asked for.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        self.integer
    }

    /// The least number: an integer or a float.
    #[must_use]
    pub fn minimum(mut self, value: impl Into<Value>) -> Self {
        self.minimum = Some(value.into());
        self
    }

    /// The greatest number: an integer or a float.
    #[must_use]
    pub fn maximum(mut self, value: impl Into<Value>) -> Self {
        self.maximum = Some(value.into());
        self
    }

    /// What the field holds at first: an integer or a float.
    #[must_use]
    pub fn default_value(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into());
        self
    }
}

/// Yes or no.
#[derive(Debug, Clone, Default)]
pub struct BooleanField {
    pub(super) common: Common,
    pub(super) default: Option<bool>,
}

impl BooleanField {
    /// A yes or no.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    common_setters!();

    /// What the field holds at first.
    #[must_use]
    pub fn default_value(mut self, value: bool) -> Self {
        self.default = Some(value);
        self
    }
}

/// One thing that can be chosen.
#[derive(Debug, Clone)]
pub(super) struct Choosable {
    pub(super) value: String,
    pub(super) title: Option<String>,
    /// Members of an option that are not known here.
    pub(super) other: Members,
}

/// How options are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Spelling {
    /// `enum`.
    #[default]
    Plain,
    /// `oneOf` or `anyOf` of `const` and `title`.
    Titled,
    /// `enum` and `enumNames`.
    Legacy,
}

fn plain(options: impl IntoIterator<Item = impl Into<String>>) -> Vec<Choosable> {
    options.into_iter().map(|value| Choosable { value: value.into(), title: None, other: Members::default() }).collect()
}

fn titled(options: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Vec<Choosable> {
    options
        .into_iter()
        .map(|(value, title)| Choosable { value: value.into(), title: Some(title.into()), other: Members::default() })
        .collect()
}

/// One of some options.
#[derive(Debug, Clone, Default)]
pub struct ChoiceField {
    pub(super) common: Common,
    pub(super) options: Vec<Choosable>,
    pub(super) spelling: Spelling,
    pub(super) default: Option<String>,
}

impl ChoiceField {
    /// Options that are shown as they are.
    #[must_use]
    pub fn of(options: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { options: plain(options), ..Self::default() }
    }

    /// Options with the titles that are shown instead: (value, title).
    #[must_use]
    pub fn titled(options: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Self {
        Self { options: titled(options), spelling: Spelling::Titled, ..Self::default() }
    }

    common_setters!();

    /// What is chosen at first.
    #[must_use]
    pub fn default_value(mut self, value: impl Into<String>) -> Self {
        self.default = Some(value.into());
        self
    }

    /// The options: value, and title if it has one.
    pub fn options(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.options.iter().map(|option| (option.value.as_str(), option.title.as_deref()))
    }
}

/// Several of some options.
#[derive(Debug, Clone, Default)]
pub struct ChoicesField {
    pub(super) common: Common,
    pub(super) options: Vec<Choosable>,
    pub(super) spelling: Spelling,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) default: Option<Vec<String>>,
    /// Members of `items` that are not known here.
    pub(super) items_other: Members,
}

impl ChoicesField {
    /// Options that are shown as they are.
    #[must_use]
    pub fn of(options: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { options: plain(options), ..Self::default() }
    }

    /// Options with the titles that are shown instead: (value, title).
    #[must_use]
    pub fn titled(options: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Self {
        Self { options: titled(options), spelling: Spelling::Titled, ..Self::default() }
    }

    common_setters!();

    /// Options to choose at least.
    #[must_use]
    pub fn min_items(mut self, items: u64) -> Self {
        self.min_items = Some(items);
        self
    }

    /// Options to choose at most.
    #[must_use]
    pub fn max_items(mut self, items: u64) -> Self {
        self.max_items = Some(items);
        self
    }

    /// What is chosen at first.
    #[must_use]
    pub fn default_value(mut self, values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.default = Some(values.into_iter().map(Into::into).collect());
        self
    }

    /// The options: value, and title if it has one.
    pub fn options(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.options.iter().map(|option| (option.value.as_str(), option.title.as_deref()))
    }
}
