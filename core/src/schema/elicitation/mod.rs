//! The forms that a server may ask a user to fill in: `requestedSchema` of `elicitation/create`.
//!
//! Specification: *Elicitation*, *Requested Schema* (`client/elicitation`, 2025-06-18, 2025-11-25, 2026-07-28).
//!
//! A form is a flat object; every field is one of five kinds:
//!
//! | field | on the wire | revisions |
//! |---|---|---|
//! | [`StringField`] | `type: "string"`, `format` email, uri, date, date-time | all |
//! | [`NumberField`] | `type: "integer"` or `"number"`; bounds may be fractions (T-51) | all |
//! | [`BooleanField`] | `type: "boolean"` | all |
//! | [`ChoiceField`] | `enum`; `enum` + `enumNames` | all |
//! | | `oneOf` of `const` + `title` | from 2025-11-25 |
//! | [`ChoicesField`] | `type: "array"`, `items` with `enum`, or `anyOf` of `const` + `title` | from 2025-11-25 |
//!
//! `default` is for booleans only in 2025-06-18, and for every field later. [`ElicitationSchema::shape_for`] writes
//! a form for a revision; it fails where the older one has no such form. Members that are not known here are kept.
//!
//! ```
//! use mcp_sansio::schema::elicitation::{ChoiceField, ElicitationSchema, NumberField, StringField};
//!
//! let form = ElicitationSchema::new()
//!     .string("name", StringField::new().title("Your name").min_length(1).required())
//!     .integer("nights", NumberField::new().minimum(1).maximum(30).default_value(2))
//!     .choice("room", ChoiceField::titled([("d", "Double"), ("s", "Single")]).default_value("d"));
//! assert!(form.to_json()?.get().starts_with(r#"{"type":"object","properties":{"name":{"type":"string","#));
//! # Ok::<(), mcp_sansio::schema::elicitation::ElicitationError>(())
//! ```
//!
//! Left to the caller: whether the client can show forms at all, and asking for secrets, which a form must not.

mod check;
mod fields;
mod format;
mod parse;
mod render;

#[cfg(test)]
mod tests;

pub use self::fields::{BooleanField, ChoiceField, ChoicesField, Field, NumberField, StringField, StringFormat};

use super::members::Members;

/// The revisions of the protocol, as far as forms differ between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ElicitationDialect {
    /// 2025-06-18: no titled `oneOf`, no choice of several, defaults for booleans only.
    V2025_06_18,
    /// 2025-11-25 and 2026-07-28.
    V2025_11_25,
}

/// Fields of one form: far more than a user would fill in.
pub const MAX_FIELDS: usize = 256;
/// Options of one field.
pub const MAX_OPTIONS: usize = 10_000;

/// A form: named fields in the order in which they are shown.
#[derive(Debug, Clone, Default)]
pub struct ElicitationSchema {
    fields: Vec<(String, Field)>,
    /// Required names that are no field of the form. Legal, and kept; no user can answer them.
    required_elsewhere: Vec<String>,
    /// Members of the root that are not known here, such as `$schema` or `title`.
    other: Members,
}

impl ElicitationSchema {
    /// A form without fields.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text.
    #[must_use]
    pub fn string(self, name: impl Into<String>, field: StringField) -> Self {
        self.field(name, Field::String(field))
    }

    /// Adds a whole number.
    #[must_use]
    pub fn integer(self, name: impl Into<String>, mut field: NumberField) -> Self {
        field.integer = true;
        self.field(name, Field::Number(field))
    }

    /// Adds a number.
    #[must_use]
    pub fn number(self, name: impl Into<String>, mut field: NumberField) -> Self {
        field.integer = false;
        self.field(name, Field::Number(field))
    }

    /// Adds a yes or no.
    #[must_use]
    pub fn boolean(self, name: impl Into<String>, field: BooleanField) -> Self {
        self.field(name, Field::Boolean(field))
    }

    /// Adds a choice of one option.
    #[must_use]
    pub fn choice(self, name: impl Into<String>, field: ChoiceField) -> Self {
        self.field(name, Field::Choice(field))
    }

    /// Adds a choice of several options.
    #[must_use]
    pub fn choices(self, name: impl Into<String>, field: ChoicesField) -> Self {
        self.field(name, Field::Choices(field))
    }

    /// Adds a field of any kind.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, field: Field) -> Self {
        self.fields.push((name.into(), field));
        self
    }

    /// The fields, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Field)> {
        self.fields.iter().map(|(name, field)| (name.as_str(), field))
    }

    /// Whether the form asks for more than one option of a field anywhere, which 2025-06-18 cannot express.
    #[must_use]
    pub fn has_choices(&self) -> bool {
        self.fields.iter().any(|(_, field)| matches!(field, Field::Choices(_)))
    }
}

/// Why a form cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElicitationError {
    /// Two fields have one name.
    #[error("form has two fields {field:?}")]
    DuplicateField {
        /// The name.
        field: String,
    },
    /// A member of a field, or of the root (then `field` is empty), is not what the specification allows.
    #[error("form field {field:?}: {member} must be {expected}")]
    InvalidMember {
        /// The field.
        field: String,
        /// The member.
        member: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// A field holds an object, or a list of anything but options.
    #[error("form field {field:?} is nested: forms are flat")]
    Nested {
        /// The field.
        field: String,
    },
    /// The schema is no object.
    #[error("form is not an object schema")]
    NotAForm,
    /// More fields than [`MAX_FIELDS`].
    #[error("form has more than {limit} fields")]
    TooManyFields {
        /// The bound that was hit.
        limit: usize,
    },
    /// More options than [`MAX_OPTIONS`].
    #[error("form field {field:?} has more than {limit} options")]
    TooManyOptions {
        /// The field.
        field: String,
        /// The bound that was hit.
        limit: usize,
    },
    /// The revision has no such field.
    #[error("form field {field:?} has several answers, which this revision cannot express")]
    Unsupported {
        /// The field.
        field: String,
    },
    /// A field has a type that forms do not know.
    #[error("form field {field:?} has none of the types string, number, integer, boolean and array of options")]
    UnsupportedType {
        /// The field.
        field: String,
    },
}
