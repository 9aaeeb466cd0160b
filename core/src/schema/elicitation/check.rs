//! What a user answered, against the form.
//!
//! Both sides should look (M-ELIC-33, -34; L-ELIC-26): the client before it sends, the server before it believes.
//! Answers to names that are no field are legal by JSON Schema; they only have to be something that an answer can
//! hold. Work is linear in the answers: a text is looked at once per rule, options are searched.

use serde_json::{Map, Value};

use super::fields::Choosable;
use super::{ChoicesField, ElicitationSchema, Field, NumberField, StringField, format};
use crate::schema::number::{compare, is_integer};
use crate::schema::pattern::{Pattern, PatternBudget};
use crate::schema::problem::{Path, shortened};
use crate::schema::steps::Steps;
use crate::schema::{Invalid, Problem, SchemaLimits};

/// Options that a message names.
const SHOWN_OPTIONS: usize = 8;
/// Bytes of an option that a message shows.
const SHOWN_OPTION: usize = 32;
/// States of the automaton of one field's pattern.
const PATTERN_STATES: usize = 10_000;

impl ElicitationSchema {
    /// Puts the default of every field that has none of its own answer into `content`. Defaults that their own
    /// field does not allow are left out.
    pub fn apply_defaults(&self, content: &mut Map<String, Value>) {
        for (name, field) in &self.fields {
            if content.contains_key(name) {
                continue;
            }
            if let Some(value) = field.default_value().filter(|value| field.first_problem(name, value).is_none()) {
                content.insert(name.clone(), value);
            }
        }
    }

    /// Whether `content` answers the form.
    ///
    /// # Errors
    /// The first problems, by field, without any value of the answers.
    pub fn validate_content(&self, content: &Map<String, Value>) -> Result<(), Invalid> {
        let mut problems = Vec::new();
        let missing = |name: &str| problem(name, "required", "required field is missing".to_owned());
        for (name, field) in &self.fields {
            match content.get(name) {
                Some(value) => problems.extend(field.first_problem(name, value)),
                None if field.is_required() => problems.push(missing(name)),
                None => {}
            }
            if problems.len() >= SchemaLimits::PROBLEMS {
                return Err(Invalid::new(problems, false));
            }
        }
        problems.extend(
            self.required_elsewhere.iter().filter(|name| !content.contains_key(*name)).map(|name| missing(name)),
        );
        let known = |name: &String| self.fields.iter().any(|(field, _)| field == name);
        for (name, value) in content.iter().filter(|(name, _)| !known(name)) {
            if !is_answer(value) {
                let expected = "expected a string, a number, a boolean or a list of strings".to_owned();
                problems.push(problem(name, "type", expected));
            }
            if problems.len() >= SchemaLimits::PROBLEMS {
                return Err(Invalid::new(problems, false));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Invalid::new(problems, true)) }
    }
}

impl Field {
    /// The first thing that is wrong with `value` as an answer to this field.
    pub(super) fn first_problem(&self, name: &str, value: &Value) -> Option<Problem> {
        let found = match (self, value) {
            (Self::String(field), Value::String(text)) => text_problem(field, text),
            (Self::Number(field), Value::Number(_)) => number_problem(field, value),
            (Self::Boolean(_), Value::Bool(_)) => None,
            (Self::Choice(field), Value::String(text)) => option_problem(&field.options, text),
            (Self::Choices(field), Value::Array(items)) => return choices_problem(field, name, items),
            _ => Some(("type", format!("expected {}", self.expected()))),
        };
        found.map(|(keyword, message)| problem(name, keyword, message))
    }

    fn expected(&self) -> &'static str {
        match self {
            Self::String(_) | Self::Choice(_) => "type string",
            Self::Number(field) if field.integer => "type integer",
            Self::Number(_) => "type number",
            Self::Boolean(_) => "type boolean",
            Self::Choices(_) => "a list of strings",
        }
    }
}

type Found = Option<(&'static str, String)>;

fn text_problem(field: &StringField, text: &str) -> Found {
    let length = text.chars().count() as u64;
    if let Some(min) = field.min_length.filter(|min| length < *min) {
        return Some(("minLength", format!("expected at least {min} characters")));
    }
    if let Some(max) = field.max_length.filter(|max| length > *max) {
        return Some(("maxLength", format!("expected at most {max} characters")));
    }
    if let Some(format) = &field.format
        && !format::holds(format, text)
    {
        return Some(("format", format!("expected {}", format::describe(format))));
    }
    match &field.pattern {
        Some(pattern) if !matches_pattern(pattern, text) => {
            Some(("pattern", format!("expected a match of the pattern {}", shortened(pattern, SHOWN_OPTION * 4))))
        }
        _ => None,
    }
}

/// A pattern that cannot be used says nothing: forms have no such member by their schema.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let Ok(pattern) = Pattern::compile(pattern, &mut PatternBudget::new(PATTERN_STATES)) else { return true };
    // Out of steps is no match: what cannot be checked is not accepted.
    pattern.is_match(text, &mut Steps::new(SchemaLimits::STEPS)).unwrap_or(false)
}

fn number_problem(field: &NumberField, value: &Value) -> Found {
    let Value::Number(number) = value else { return None };
    if field.integer && !is_integer(number) {
        return Some(("type", "expected type integer".to_owned()));
    }
    if let Some(Value::Number(min)) = &field.minimum
        && compare(number, min).is_lt()
    {
        return Some(("minimum", format!("expected at least {min}")));
    }
    if let Some(Value::Number(max)) = &field.maximum
        && compare(number, max).is_gt()
    {
        return Some(("maximum", format!("expected at most {max}")));
    }
    None
}

fn option_problem(options: &[Choosable], text: &str) -> Found {
    if options.iter().any(|option| option.value == text) {
        return None;
    }
    let mut shown: Vec<String> =
        options.iter().take(SHOWN_OPTIONS).map(|option| shortened(&option.value, SHOWN_OPTION)).collect();
    if options.len() > SHOWN_OPTIONS {
        shown.push("…".to_owned());
    }
    Some(("enum", format!("expected one of {}", shown.join(", "))))
}

fn choices_problem(field: &ChoicesField, name: &str, items: &[Value]) -> Option<Problem> {
    let count = items.len() as u64;
    if let Some(min) = field.min_items.filter(|min| count < *min) {
        return Some(problem(name, "minItems", format!("expected at least {min} options")));
    }
    if let Some(max) = field.max_items.filter(|max| count > *max) {
        return Some(problem(name, "maxItems", format!("expected at most {max} options")));
    }
    let mut sorted: Vec<&str> = field.options.iter().map(|option| option.value.as_str()).collect();
    sorted.sort_unstable();
    items.iter().enumerate().find_map(|(index, item)| {
        let found = match item.as_str() {
            Some(text) if sorted.binary_search(&text).is_ok() => None,
            Some(text) => option_problem(&field.options, text),
            None => Some(("type", "expected type string".to_owned())),
        };
        let (keyword, message) = found?;
        let mut path = Path::default();
        path.push_name(name);
        path.push_index(index);
        Some(Problem::new(&path, keyword, message))
    })
}

/// What the content of a result can hold at all.
fn is_answer(value: &Value) -> bool {
    match value {
        Value::String(_) | Value::Number(_) | Value::Bool(_) => true,
        Value::Array(items) => items.iter().all(Value::is_string),
        Value::Null | Value::Object(_) => false,
    }
}

fn problem(name: &str, keyword: &'static str, message: String) -> Problem {
    let mut path = Path::default();
    path.push_name(name);
    Problem::new(&path, keyword, message)
}
