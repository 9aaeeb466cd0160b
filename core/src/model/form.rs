//! Forms of elicitation for 2025-06-18, whose choices are `enum` with `enumNames`, one at a time.
//!
//! ```text
//!   {"type":"string","oneOf":[{"const":"a","title":"A"}]}  →  {"type":"string","enum":["a"],"enumNames":["A"]}
//!   {"type":"array","items":{…}}                           →  error: a choice of several values
//! ```

use serde::Deserialize;

use super::{Extra, ShapeError};
use crate::json::Json;

/// A choice with its title.
#[derive(Deserialize)]
struct Choice {
    #[serde(rename = "const")]
    value: Json,
    title: Json,
}

/// The form as 2025-06-18 knows it; `None` where it is that already. What is no form at all stays as it is.
pub(crate) fn downgrade_form(schema: &Json) -> Result<Option<Json>, ShapeError> {
    let Ok(mut form) = schema.parse::<Extra>() else { return Ok(None) };
    let Some(Ok(properties)) = form.get("properties").map(Json::parse::<Extra>) else { return Ok(None) };
    let mut changed = false;
    let mut plain = Extra::new();
    for (name, property) in properties {
        let (property, new) = match downgrade_property(&property)? {
            Some(new) => (new, true),
            None => (property, false),
        };
        changed |= new;
        plain.push(name, property);
    }
    if !changed {
        return Ok(None);
    }
    // Carried JSON always serialises.
    let Ok(plain) = Json::from_value(&plain) else { return Ok(None) };
    form.insert("properties", plain);
    Ok(Json::from_value(&form).ok())
}

fn downgrade_property(property: &Json) -> Result<Option<Json>, ShapeError> {
    let Ok(mut members) = property.parse::<Extra>() else { return Ok(None) };
    let is_list = |kind: &Json| kind.parse_borrowed::<&str>().is_ok_and(|kind| kind == "array");
    if members.get("type").is_some_and(is_list) {
        return Err(ShapeError::MultiSelect);
    }
    let Some(Ok(choices)) = members.get("oneOf").map(Json::parse::<Vec<Choice>>) else { return Ok(None) };
    let (values, titles): (Vec<Json>, Vec<Json>) =
        choices.into_iter().map(|choice| (choice.value, choice.title)).unzip();
    // As above.
    let (Ok(values), Ok(titles)) = (Json::from_value(&values), Json::from_value(&titles)) else { return Ok(None) };
    members.remove("oneOf");
    members.insert("enum", values);
    members.insert("enumNames", titles);
    Ok(Json::from_value(&members).ok())
}

/// Whether a value of a filled-in form is a list.
pub(crate) fn has_list(content: &Json) -> bool {
    let is_list = |value: &Json| value.get().starts_with('[');
    content.parse::<Extra>().is_ok_and(|values| values.iter().any(|(_, value)| is_list(value)))
}
