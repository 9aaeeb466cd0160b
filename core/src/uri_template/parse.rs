//! From the text of a template to its parts (RFC 6570, section 2).

use percent_encoding::percent_encode_byte;

use super::unit::{self, Unit};
use super::{MAX_EXPRESSIONS, MAX_TEMPLATE_BYTES, MAX_VARIABLES};

/// The longest prefix that a modifier may name, in characters: four digits.
const MAX_PREFIX_DIGITS: usize = 4;

/// Why a text is not a template. Positions are bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The expression that is opened at `at` is never closed, or holds another `{`.
    #[error("the expression at byte {at} is not closed")]
    Unclosed {
        /// The `{`.
        at: usize,
    },
    /// A `}` closes nothing.
    #[error("the brace at byte {at} closes no expression")]
    Unopened {
        /// The `}`.
        at: usize,
    },
    /// A character may not stand in a URI, or a `%` lacks its two hexadecimal digits.
    #[error("the character at byte {at} may not stand outside of an expression")]
    Literal {
        /// The character.
        at: usize,
    },
    /// RFC 6570 reserves this operator for extensions.
    #[error("the operator at byte {at} is reserved by RFC 6570")]
    Operator {
        /// The operator.
        at: usize,
    },
    /// The name of a variable is missing or has a character that names do not have.
    #[error("there is no variable name at byte {at}")]
    Name {
        /// Where the name begins.
        at: usize,
    },
    /// A prefix is not a number from 1 to 9999, or something follows a modifier.
    #[error("there is no modifier at byte {at}")]
    Modifier {
        /// Where the modifier begins.
        at: usize,
    },
    /// The text is too long.
    #[error("the template is longer than the limit of {limit} bytes")]
    TooLong {
        /// [`MAX_TEMPLATE_BYTES`].
        limit: usize,
    },
    /// There are too many expressions.
    #[error("the template has more than the limit of {limit} expressions")]
    TooManyExpressions {
        /// [`MAX_EXPRESSIONS`].
        limit: usize,
    },
    /// There are too many variables.
    #[error("the template has more than the limit of {limit} variables")]
    TooManyVariables {
        /// [`MAX_VARIABLES`].
        limit: usize,
    },
}

/// A piece of a template.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Literal(Literal),
    Expression(Expression),
}

impl Part {
    pub(super) fn variables(&self) -> &[Variable] {
        match self {
            Self::Literal(_) => &[],
            Self::Expression(expression) => &expression.variables,
        }
    }
}

/// Text outside of expressions.
#[derive(Clone, Debug)]
pub(super) struct Literal {
    /// As it stands in every expansion: characters that a URI cannot hold are encoded.
    pub(super) expanded: String,
    pub(super) units: Vec<Unit>,
}

#[derive(Clone, Debug)]
pub(super) struct Expression {
    pub(super) operator: Operator,
    /// At least one.
    pub(super) variables: Vec<Variable>,
}

#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) modifier: Modifier,
}

impl Variable {
    pub(super) fn explodes(&self) -> bool {
        self.modifier == Modifier::Explode
    }

    pub(super) fn prefix(&self) -> Option<usize> {
        match self.modifier {
            Modifier::Prefix(length) => Some(length),
            Modifier::Explode | Modifier::None => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modifier {
    Explode,
    None,
    /// So many characters.
    Prefix(usize),
}

/// The first character of an expression; the table is that of RFC 6570, appendix A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Fragment,
    Label,
    Parameter,
    Path,
    Query,
    QueryContinuation,
    Reserved,
    Simple,
}

impl Operator {
    /// What stands before the first value.
    pub(super) const fn first(self) -> Option<u8> {
        match self {
            Self::Fragment => Some(b'#'),
            Self::Label => Some(b'.'),
            Self::Parameter => Some(b';'),
            Self::Path => Some(b'/'),
            Self::Query => Some(b'?'),
            Self::QueryContinuation => Some(b'&'),
            Self::Reserved | Self::Simple => None,
        }
    }

    /// What stands between values.
    pub(super) const fn separator(self) -> u8 {
        match self {
            Self::Fragment | Self::Reserved | Self::Simple => b',',
            Self::Label => b'.',
            Self::Parameter => b';',
            Self::Path => b'/',
            Self::Query | Self::QueryContinuation => b'&',
        }
    }

    /// Whether values are written with the names of their variables.
    pub(super) const fn named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::QueryContinuation)
    }

    /// What stands between a name and an empty value.
    pub(super) const fn if_empty(self) -> &'static str {
        if matches!(self, Self::Query | Self::QueryContinuation) { "=" } else { "" }
    }

    /// Whether reserved characters and triplets of a value stay as they are.
    pub(super) const fn reserved(self) -> bool {
        matches!(self, Self::Fragment | Self::Reserved)
    }
}

pub(super) fn parse(text: &str) -> Result<Vec<Part>, TemplateError> {
    if text.len() > MAX_TEMPLATE_BYTES {
        return Err(TemplateError::TooLong { limit: MAX_TEMPLATE_BYTES });
    }
    let mut parts = Vec::new();
    let (mut expressions, mut variables) = (0, 0);
    let mut rest = text;
    loop {
        let at = text.len() - rest.len();
        let (literal, tail) = rest.split_at(rest.find(['{', '}']).unwrap_or(rest.len()));
        if !literal.is_empty() {
            parts.push(Part::Literal(parse_literal(literal, at)?));
        }
        let at = at + literal.len();
        let Some(body) = tail.strip_prefix('{') else {
            return if tail.is_empty() { Ok(parts) } else { Err(TemplateError::Unopened { at }) };
        };
        let (body, after) = body.split_once('}').ok_or(TemplateError::Unclosed { at })?;
        if body.contains('{') {
            return Err(TemplateError::Unclosed { at });
        }
        let expression = parse_expression(body, at + 1)?;
        expressions += 1;
        variables += expression.variables.len();
        if expressions > MAX_EXPRESSIONS {
            return Err(TemplateError::TooManyExpressions { limit: MAX_EXPRESSIONS });
        }
        if variables > MAX_VARIABLES {
            return Err(TemplateError::TooManyVariables { limit: MAX_VARIABLES });
        }
        parts.push(Part::Expression(expression));
        rest = after;
    }
}

/// The ASCII characters before the first expression or encoded character.
pub(super) fn literal_prefix(parts: &[Part]) -> String {
    let Some(Part::Literal(literal)) = parts.first() else {
        return String::new();
    };
    let raw = literal.units.iter().map_while(|unit| match *unit {
        Unit::Raw(byte) => Some(char::from(byte)),
        Unit::Encoded(_) | Unit::Wide(_) | Unit::Opaque(_) => None,
    });
    raw.collect()
}

fn parse_literal(text: &str, start: usize) -> Result<Literal, TemplateError> {
    let mut expanded = String::with_capacity(text.len());
    for (offset, character) in text.char_indices() {
        let allowed = match character {
            '%' => text.get(offset..).and_then(unit::octet).is_some(),
            '"' | '<' | '>' | '\\' | '^' | '`' | '|' | ' ' => false,
            _ if character.is_ascii() => !character.is_ascii_control(),
            _ => is_iri_character(character),
        };
        if !allowed {
            return Err(TemplateError::Literal { at: start + offset });
        }
        if character.is_ascii() {
            expanded.push(character);
        } else {
            let mut buffer = [0; 4];
            expanded.extend(character.encode_utf8(&mut buffer).bytes().map(percent_encode_byte));
        }
    }
    let units = unit::split(text).ok_or(TemplateError::Literal { at: start })?;
    Ok(Literal { expanded, units })
}

/// The `ucschar` and `iprivate` of RFC 3987: no controls, no noncharacters, no specials, no tags.
fn is_iri_character(character: char) -> bool {
    let code = u32::from(character);
    !matches!(code, 0..=0x9F | 0xFDD0..=0xFDEF | 0xFFF0..=0xFFFF | 0xE_0000..=0xE_0FFF) && code & 0xFFFE != 0xFFFE
}

fn parse_expression(body: &str, start: usize) -> Result<Expression, TemplateError> {
    let operator = match body.bytes().next() {
        Some(b'#') => Operator::Fragment,
        Some(b'&') => Operator::QueryContinuation,
        Some(b'+') => Operator::Reserved,
        Some(b'.') => Operator::Label,
        Some(b'/') => Operator::Path,
        Some(b';') => Operator::Parameter,
        Some(b'?') => Operator::Query,
        Some(b'=' | b',' | b'!' | b'@' | b'|') => {
            return Err(TemplateError::Operator { at: start });
        }
        _ => Operator::Simple,
    };
    let skipped = usize::from(operator != Operator::Simple);
    let mut at = start + skipped;
    let mut variables = Vec::new();
    for text in body.get(skipped..).unwrap_or_default().split(',') {
        variables.push(parse_variable(text, at)?);
        at += text.len() + 1;
    }
    Ok(Expression { operator, variables })
}

fn parse_variable(text: &str, at: usize) -> Result<Variable, TemplateError> {
    let length = name_length(text);
    let (name, modifier) = text.split_at(length);
    if name.is_empty() || !matches!(modifier.bytes().next(), None | Some(b'*' | b':')) {
        return Err(TemplateError::Name { at });
    }
    let modifier = match modifier {
        "" => Some(Modifier::None),
        "*" => Some(Modifier::Explode),
        _ => modifier.strip_prefix(':').and_then(parse_prefix),
    };
    let modifier = modifier.ok_or(TemplateError::Modifier { at: at + length })?;
    Ok(Variable { name: name.to_owned(), modifier })
}

/// How much of `text` is a name: letters, digits, `_` and triplets, with single dots between them.
fn name_length(text: &str) -> usize {
    let mut length = 0;
    let mut dot = 0;
    loop {
        let rest = text.get(length + dot..).unwrap_or_default();
        let next = match rest.bytes().next() {
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_') => 1,
            Some(b'%') if unit::octet(rest).is_some() => 3,
            Some(b'.') if dot == 0 && length > 0 => {
                dot = 1;
                continue;
            }
            _ => return length,
        };
        length += dot + next;
        dot = 0;
    }
}

fn parse_prefix(digits: &str) -> Option<Modifier> {
    let valid = digits.len() <= MAX_PREFIX_DIGITS && !digits.starts_with('0');
    let valid = valid && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|_| valid).map(Modifier::Prefix)
}
