//! A form for the wire.

use serde_json::{Value, json};

use super::fields::{Choosable, Spelling};
use super::{
    ChoiceField, ChoicesField, ElicitationDialect, ElicitationError, ElicitationSchema, Field, MAX_FIELDS, MAX_OPTIONS,
    NumberField, StringField,
};
use crate::json::Json;
use crate::schema::members::Members;
use crate::schema::number::compare;

impl ElicitationSchema {
    /// The form as the newest revisions write it.
    ///
    /// # Errors
    /// As [`shape_for`](Self::shape_for).
    pub fn to_json(&self) -> Result<Json, ElicitationError> {
        self.shape_for(ElicitationDialect::V2025_11_25)
    }

    /// The form as a revision writes it. For 2025-06-18 titled options become `enum` and `enumNames`, and defaults
    /// other than of booleans are left out.
    ///
    /// # Errors
    /// If the form contradicts itself ([`check`](Self::check)), or the revision has no such field.
    pub fn shape_for(&self, dialect: ElicitationDialect) -> Result<Json, ElicitationError> {
        self.check()?;
        let mut properties = Members::default();
        for (name, field) in &self.fields {
            properties.push(name, render(name, field, dialect)?.to_json());
        }
        let mut form = Members::default();
        form.push("type", json!("object"));
        form.push("properties", properties.to_json());
        let required: Vec<&str> = self
            .fields
            .iter()
            .filter(|(_, field)| field.is_required())
            .map(|(name, _)| name)
            .chain(&self.required_elsewhere)
            .map(String::as_str)
            .collect();
        if !required.is_empty() {
            form.push("required", json!(required));
        }
        form.0.extend(self.other.0.iter().cloned());
        Ok(form.to_json())
    }

    /// Whether the form makes sense: different names, options that exist, defaults that fit.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self) -> Result<(), ElicitationError> {
        if self.fields.len() > MAX_FIELDS {
            return Err(ElicitationError::TooManyFields { limit: MAX_FIELDS });
        }
        for (index, (name, field)) in self.fields.iter().enumerate() {
            if self.fields.iter().take(index).any(|(earlier, _)| earlier == name) {
                return Err(ElicitationError::DuplicateField { field: name.clone() });
            }
            check_field(name, field)?;
        }
        Ok(())
    }
}

fn check_field(name: &str, field: &Field) -> Result<(), ElicitationError> {
    let invalid = |member, expected| Err(ElicitationError::InvalidMember { field: name.to_owned(), member, expected });
    match field {
        Field::String(StringField { min_length: Some(min), max_length: Some(max), .. }) if min > max => {
            return invalid("maxLength", "at least minLength");
        }
        Field::Number(NumberField { minimum, maximum, default, .. }) => {
            for (member, value) in [("minimum", minimum), ("maximum", maximum), ("default", default)] {
                if value.as_ref().is_some_and(|value| !value.is_number()) {
                    return invalid(member, "a number");
                }
            }
            if let (Some(Value::Number(min)), Some(Value::Number(max))) = (minimum, maximum)
                && compare(min, max).is_gt()
            {
                return invalid("maximum", "at least minimum");
            }
        }
        Field::Choice(ChoiceField { options, .. }) => check_options(name, options)?,
        Field::Choices(ChoicesField { options, min_items, max_items, .. }) => {
            check_options(name, options)?;
            if matches!((min_items, max_items), (Some(min), Some(max)) if min > max) {
                return invalid("maxItems", "at least minItems");
            }
        }
        _ => {}
    }
    match field.default_value() {
        Some(value) if field.first_problem(name, &value).is_some() => {
            invalid("default", "a value that the field allows")
        }
        _ => Ok(()),
    }
}

fn check_options(name: &str, options: &[Choosable]) -> Result<(), ElicitationError> {
    if options.len() > MAX_OPTIONS {
        return Err(ElicitationError::TooManyOptions { field: name.to_owned(), limit: MAX_OPTIONS });
    }
    let mut values: Vec<&str> = options.iter().map(|option| option.value.as_str()).collect();
    values.sort_unstable();
    let repeated = values.windows(2).any(|pair| pair.first() == pair.last());
    if values.is_empty() || repeated {
        let expected = "different ones, at least one";
        return Err(ElicitationError::InvalidMember { field: name.to_owned(), member: "options", expected });
    }
    Ok(())
}

fn render(name: &str, field: &Field, dialect: ElicitationDialect) -> Result<Members, ElicitationError> {
    let mut out = Members::default();
    out.push("type", json!(type_of(field)));
    for (member, text) in [("title", field.title()), ("description", field.description())] {
        if let Some(text) = text {
            out.push(member, json!(text));
        }
    }
    match field {
        Field::String(field) => string(field, &mut out),
        Field::Number(field) => {
            for (member, value) in [("minimum", &field.minimum), ("maximum", &field.maximum)] {
                if let Some(value) = value {
                    out.push(member, value.clone());
                }
            }
        }
        Field::Boolean(_) => {}
        Field::Choice(field) => match (field.spelling, dialect) {
            (Spelling::Plain, _) => out.push("enum", values(&field.options)),
            (Spelling::Legacy, _) | (Spelling::Titled, ElicitationDialect::V2025_06_18) => {
                out.push("enum", values(&field.options));
                out.push("enumNames", titles(&field.options));
            }
            (Spelling::Titled, _) => out.push("oneOf", titled(&field.options)),
        },
        Field::Choices(_) if dialect == ElicitationDialect::V2025_06_18 => {
            return Err(ElicitationError::Unsupported { field: name.to_owned() });
        }
        Field::Choices(field) => choices(field, &mut out),
    }
    let has_default = dialect > ElicitationDialect::V2025_06_18 || matches!(field, Field::Boolean(_));
    if let Some(value) = field.default_value().filter(|_| has_default) {
        out.push("default", value);
    }
    out.0.extend(field.common().other.0.iter().cloned());
    Ok(out)
}

fn type_of(field: &Field) -> &'static str {
    match field {
        Field::String(_) | Field::Choice(_) => "string",
        Field::Number(field) if field.integer => "integer",
        Field::Number(_) => "number",
        Field::Boolean(_) => "boolean",
        Field::Choices(_) => "array",
    }
}

fn string(field: &StringField, out: &mut Members) {
    for (member, bound) in [("minLength", field.min_length), ("maxLength", field.max_length)] {
        if let Some(bound) = bound {
            out.push(member, json!(bound));
        }
    }
    if let Some(format) = &field.format {
        out.push("format", json!(format.as_str()));
    }
    if let Some(pattern) = &field.pattern {
        out.push("pattern", json!(pattern));
    }
}

fn choices(field: &ChoicesField, out: &mut Members) {
    for (member, bound) in [("minItems", field.min_items), ("maxItems", field.max_items)] {
        if let Some(bound) = bound {
            out.push(member, json!(bound));
        }
    }
    let mut items = Members::default();
    if field.spelling == Spelling::Titled {
        items.push("anyOf", titled(&field.options));
    } else {
        items.push("type", json!("string"));
        items.push("enum", values(&field.options));
        if field.spelling == Spelling::Legacy {
            items.push("enumNames", titles(&field.options));
        }
    }
    items.0.extend(field.items_other.0.iter().cloned());
    out.push("items", items.to_json());
}

fn values(options: &[Choosable]) -> Value {
    options.iter().map(|option| option.value.as_str()).collect()
}

fn titles(options: &[Choosable]) -> Value {
    options.iter().map(|option| option.title.as_ref().unwrap_or(&option.value).as_str()).collect()
}

fn titled(options: &[Choosable]) -> Json {
    let list: Vec<Members> = options
        .iter()
        .map(|option| {
            let mut members = Members::default();
            members.push("const", json!(option.value));
            members.push("title", json!(option.title.as_ref().unwrap_or(&option.value)));
            members.0.extend(option.other.0.iter().cloned());
            members
        })
        .collect();
    Json::from_value(&list).unwrap_or(Json::NULL)
}
