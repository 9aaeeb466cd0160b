//! From a template and values to a URI (RFC 6570, section 3).

use percent_encoding::percent_encode_byte;

use super::MAX_URI_BYTES;
use super::parse::{Expression, Operator, Part, Variable};
use super::unit;
use super::value::{Bindings, Value};

/// Why a template cannot be expanded with some values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpandError {
    /// A prefix of a list or a map is not defined.
    #[error("the variable {name} has a prefix in the template, so its value must be a text")]
    PrefixOfComposite {
        /// The variable.
        name: String,
    },
    /// The URI would be too long.
    #[error("the expanded URI is longer than the limit of {limit} bytes")]
    TooLong {
        /// [`MAX_URI_BYTES`].
        limit: usize,
    },
}

pub(super) fn expand(parts: &[Part], values: &Bindings) -> Result<String, ExpandError> {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Literal(literal) => out.push_str(&literal.expanded),
            Part::Expression(expression) => write_expression(&mut out, expression, values)?,
        }
        check_length(&out)?;
    }
    Ok(out)
}

fn check_length(out: &str) -> Result<(), ExpandError> {
    if out.len() > MAX_URI_BYTES { Err(ExpandError::TooLong { limit: MAX_URI_BYTES }) } else { Ok(()) }
}

fn write_expression(out: &mut String, expression: &Expression, values: &Bindings) -> Result<(), ExpandError> {
    let operator = expression.operator;
    let mut before = operator.first();
    for variable in &expression.variables {
        let Some(value) = values.get(&variable.name).filter(|value| !value.is_undefined()) else {
            continue;
        };
        out.extend(before.map(char::from));
        before = Some(operator.separator());
        match value {
            Value::Text(text) => write_text(out, operator, variable, text),
            Value::List(_) | Value::Map(_) if variable.prefix().is_some() => {
                return Err(ExpandError::PrefixOfComposite { name: variable.name.clone() });
            }
            Value::List(items) if variable.explodes() => write_items(out, operator, variable, items)?,
            Value::Map(members) if variable.explodes() => write_members(out, operator, members)?,
            Value::List(items) => write_joined(out, operator, variable, items.iter().map(String::as_str))?,
            Value::Map(members) => {
                let texts = members.iter().flat_map(|(name, text)| [name.as_str(), text.as_str()]);
                write_joined(out, operator, variable, texts)?;
            }
        }
        check_length(out)?;
    }
    Ok(())
}

fn write_text(out: &mut String, operator: Operator, variable: &Variable, text: &str) {
    let text = match variable.prefix() {
        Some(length) => prefix(text, length, operator.reserved()),
        None => text,
    };
    if operator.named() {
        write_pair(out, operator, &variable.name, text);
    } else {
        encode(out, text, operator.reserved());
    }
}

/// A list or a map that is not exploded: one value, with commas.
fn write_joined<'a>(
    out: &mut String,
    operator: Operator,
    variable: &Variable,
    texts: impl Iterator<Item = &'a str>,
) -> Result<(), ExpandError> {
    if operator.named() {
        out.push_str(&variable.name);
        out.push('=');
    }
    for (index, text) in texts.enumerate() {
        if index > 0 {
            out.push(',');
        }
        encode(out, text, operator.reserved());
        check_length(out)?;
    }
    Ok(())
}

fn write_items(out: &mut String, operator: Operator, variable: &Variable, items: &[String]) -> Result<(), ExpandError> {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(char::from(operator.separator()));
        }
        if operator.named() {
            write_pair(out, operator, &variable.name, item);
        } else {
            encode(out, item, operator.reserved());
        }
        check_length(out)?;
    }
    Ok(())
}

fn write_members(out: &mut String, operator: Operator, members: &[(String, String)]) -> Result<(), ExpandError> {
    for (index, (name, text)) in members.iter().enumerate() {
        if index > 0 {
            out.push(char::from(operator.separator()));
        }
        encode(out, name, operator.reserved());
        if text.is_empty() && operator.named() {
            out.push_str(operator.if_empty());
        } else {
            out.push('=');
            encode(out, text, operator.reserved());
        }
        check_length(out)?;
    }
    Ok(())
}

/// The name of a variable, which is in the form of a URI already, and a value.
fn write_pair(out: &mut String, operator: Operator, name: &str, text: &str) {
    out.push_str(name);
    if text.is_empty() {
        out.push_str(operator.if_empty());
    } else {
        out.push('=');
        encode(out, text, operator.reserved());
    }
}

/// Appends `text` with everything encoded but unreserved characters, and with `reserved` also but reserved ones
/// and triplets.
fn encode(out: &mut String, text: &str, reserved: bool) {
    for (offset, character) in text.char_indices() {
        let keep = match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '.' | '_' | '~' => true,
            ':' | '/' | '?' | '#' | '[' | ']' | '@' | '!' | '$' | '&' | '\'' | '(' | ')' | '*' | '+' | ',' | ';'
            | '=' => reserved,
            '%' => reserved && text.get(offset..).and_then(unit::octet).is_some(),
            _ => false,
        };
        if keep {
            out.push(character);
        } else {
            let mut buffer = [0; 4];
            out.extend(character.encode_utf8(&mut buffer).bytes().map(percent_encode_byte));
        }
        // A value may be of any length; what is beyond the bound need not be written to be seen.
        if out.len() > MAX_URI_BYTES {
            return;
        }
    }
}

/// The first `length` characters of `text`. With `reserved` a triplet, or several that make up one character, are
/// one character.
fn prefix(text: &str, length: usize, reserved: bool) -> &str {
    let mut count = 0;
    for (offset, character) in text.char_indices() {
        let triplet = text.get(offset..).filter(|_| reserved && character == '%').and_then(unit::octet);
        // The digits of a triplet come by as characters of their own.
        let inside = reserved && in_triplet(text, offset);
        let continuation = triplet.is_some_and(|octet| octet & 0xC0 == 0x80);
        if inside || continuation {
            continue;
        }
        if count == length {
            return text.get(..offset).unwrap_or(text);
        }
        count += 1;
    }
    text
}

/// Whether the character at `offset` is a digit of a triplet that begins before it.
fn in_triplet(text: &str, offset: usize) -> bool {
    (1..=2).any(|back| {
        let start = offset.checked_sub(back).and_then(|start| text.get(start..));
        start.is_some_and(|start| unit::octet(start).is_some())
    })
}
