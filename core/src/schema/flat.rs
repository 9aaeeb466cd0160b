//! Flat objects, judged from their text.
//!
//! Most arguments of tools are one object of a few strings and numbers, and most schemas say little more of them than
//! which there are. Such a text is walked through once, and nothing is built of it: that takes a tenth of the time of
//! reading it into a value, applying the schema, and dropping the value.
//!
//! Only the verdict *it fits* comes from here. Whatever is not known here, and whatever does not fit, is the
//! evaluator's, which also finds the words. The walk is linear in the text, and so needs no budget.
//!
//! | known | left to the evaluator |
//! |---|---|
//! | `type`, `required`, `properties`, `additionalProperties` of the root | every other keyword about objects |
//! | `type`, `enum` of strings, lengths, bounds of integers | patterns, `multipleOf`, everything that applies schemas |
//! | strings without escapes, numbers that nobody could misread | arrays, objects, exponents, long numbers |

use std::cmp::Ordering;

use memchr::memchr2;
use serde_json::Number;

use super::dialect::Types;
use super::node::{Graph, Node, NodeId, NumberChecks, ObjectChecks, TextChecks};
use super::number::compare;

/// A schema whose texts can be judged here: what has to be known of it is found out once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flat {
    /// The properties that are required, by position.
    required: u64,
}

impl Flat {
    /// `None` for a schema that says more than is known here.
    pub(super) fn of(graph: &Graph) -> Option<Self> {
        let root = graph.node(graph.root);
        let plain = !graph.is_dynamic() && is_plain(root) && root.constants.is_empty();
        (plain && root.types.overlaps(Types::OBJECT)).then_some(())?;
        let none = ObjectChecks::default();
        let checks = root.object.as_deref().unwrap_or(&none);
        let known = checks.min.is_none()
            && checks.max.is_none()
            && checks.patterns.is_empty()
            && checks.names.is_none()
            && checks.dependent_required.is_empty()
            && checks.dependent_schemas.is_empty()
            && checks.properties.len() <= u64::BITS as usize;
        known.then_some(())?;
        let mut required = checks.required.iter().map(|name| position(&checks.properties, name.as_bytes()));
        let required = required.try_fold(0, |bits, at| Some(bits | 1 << at?))?;
        Some(Self { required })
    }

    /// Whether a text of JSON fits the schema for certain.
    pub(super) fn fits(self, graph: &Graph, text: &[u8]) -> bool {
        let checks = graph.node(graph.root).object.as_deref();
        let properties = checks.map_or(&[][..], |checks| &checks.properties);
        let additional = checks.and_then(|checks| checks.additional);
        let seen = members(graph, properties, additional, &mut Reader { rest: text });
        seen.is_some_and(|seen| seen & self.required == self.required)
    }
}

/// Walks through the object that is all of the text. Answers which of the properties are there, by position; `None` is
/// no verdict.
fn members(
    graph: &Graph,
    properties: &[(Box<str>, NodeId)],
    additional: Option<NodeId>,
    reader: &mut Reader<'_>,
) -> Option<u64> {
    let mut seen = 0;
    reader.take(b'{')?;
    let mut first = true;
    while !reader.ends(first)? {
        first = false;
        let name = reader.string()?;
        reader.take(b':')?;
        let property = position(properties, name).and_then(|at| Some((at, properties.get(at)?.1)));
        match (property, additional) {
            (Some((at, node)), _) => {
                seen |= 1 << at;
                member(graph.node(node), reader)?;
            }
            (None, Some(node)) => member(graph.node(node), reader)?,
            (None, None) => {
                reader.scalar()?;
            }
        }
    }
    Some(seen)
}

/// Where a name stands among the properties, which are sorted.
fn position(properties: &[(Box<str>, NodeId)], name: &[u8]) -> Option<usize> {
    /// So many are looked at one by one: most differ in length.
    const FEW: usize = 8;
    if properties.len() <= FEW {
        return properties.iter().position(|(property, _)| property.as_bytes() == name);
    }
    properties.binary_search_by(|(property, _)| property.as_bytes().cmp(name)).ok()
}

/// Whether nothing but checks of the value itself is asked for.
fn is_plain(node: &Node) -> bool {
    !node.never && node.applied.is_empty() && node.unevaluated_items.is_none() && node.unevaluated_properties.is_none()
}

/// Judges one member.
fn member(node: &Node, reader: &mut Reader<'_>) -> Option<()> {
    let fits = is_plain(node)
        && match reader.scalar()? {
            Scalar::String(text) => {
                node.types.overlaps(Types::STRING)
                    && node
                        .constants
                        .iter()
                        .all(|constant| constant.texts.binary_search_by(|allowed| allowed.as_bytes().cmp(text)).is_ok())
                    && node.text.as_deref().is_none_or(|checks| text_fits(checks, text))
            }
            Scalar::Integer(number) => {
                node.types.overlaps(Types::INTEGER)
                    && node.constants.is_empty()
                    && node.number.as_deref().is_none_or(|checks| number_fits(checks, number))
            }
            // It may be whole: `1.0` is an integer, in most dialects.
            Scalar::Fraction => {
                node.types.overlaps(Types::INTEGER)
                    && node.types.overlaps(Types::FRACTION)
                    && node.constants.is_empty()
                    && node.number.is_none()
            }
            Scalar::Boolean => node.types.overlaps(Types::BOOLEAN) && node.constants.is_empty(),
            Scalar::Null => node.types.overlaps(Types::NULL) && node.constants.is_empty(),
        };
    fits.then_some(())
}

fn text_fits(checks: &TextChecks, text: &[u8]) -> bool {
    if checks.min.is_none() && checks.max.is_none() {
        return checks.pattern.is_none();
    }
    // Every character begins with a byte that continues none.
    let length = text.iter().filter(|byte| **byte & 0xC0 != 0x80).count() as u64;
    checks.pattern.is_none() && checks.min.is_none_or(|min| length >= min) && checks.max.is_none_or(|max| length <= max)
}

fn number_fits(checks: &NumberChecks, number: i64) -> bool {
    let number = Number::from(number);
    let holds = |bound: &Option<Number>, right: fn(Ordering) -> bool| {
        bound.as_ref().is_none_or(|bound| right(compare(&number, bound)))
    };
    checks.multiple_of.is_none()
        && holds(&checks.minimum, Ordering::is_ge)
        && holds(&checks.maximum, Ordering::is_le)
        && holds(&checks.exclusive_minimum, Ordering::is_gt)
        && holds(&checks.exclusive_maximum, Ordering::is_lt)
}

/// A value that has no parts, and is read the same by everybody.
enum Scalar<'t> {
    /// What stands between the quotes: no escapes.
    String(&'t [u8]),
    Integer(i64),
    Fraction,
    Boolean,
    Null,
}

/// A text that is known to be JSON. Where it is not what is looked for, there is no verdict.
struct Reader<'t> {
    rest: &'t [u8],
}

impl<'t> Reader<'t> {
    fn skip_blank(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// Reads one byte, and the white space on both sides of it.
    fn take(&mut self, byte: u8) -> Option<()> {
        self.skip_blank();
        self.rest = self.rest.strip_prefix(&[byte])?;
        self.skip_blank();
        Some(())
    }

    /// Whether the object ends here; if not, reads what stands before the next member.
    fn ends(&mut self, first: bool) -> Option<bool> {
        self.skip_blank();
        if self.rest.first() == Some(&b'}') {
            return Some(true);
        }
        if !first {
            self.take(b',')?;
        }
        Some(false)
    }

    fn string(&mut self) -> Option<&'t [u8]> {
        let text = self.rest.strip_prefix(b"\"")?;
        let (text, rest) = text.split_at_checked(memchr2(b'"', b'\\', text)?)?;
        self.rest = rest.strip_prefix(b"\"")?;
        Some(text)
    }

    fn scalar(&mut self) -> Option<Scalar<'t>> {
        /// Digits that fit an `i64`, and an `f64` without a doubt.
        const LONGEST: usize = 15;
        let (literal, scalar) = match self.rest.first()? {
            b'"' => return self.string().map(Scalar::String),
            b't' => (4, Scalar::Boolean),
            b'f' => (5, Scalar::Boolean),
            b'n' => (4, Scalar::Null),
            _ => {
                let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
                let length = self.rest.iter().position(|byte| !is_part(byte))?;
                let token = self.rest.get(..length).filter(|token| (1..=LONGEST).contains(&token.len()))?;
                let (sign, digits) = token.strip_prefix(b"-").map_or((1, token), |digits| (-1, digits));
                let number = digits.iter().try_fold(0_i64, |number, digit| {
                    digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
                });
                let is_fraction = || token.contains(&b'.') && !token.iter().any(|byte| matches!(byte, b'e' | b'E'));
                match number {
                    Some(number) => (length, Scalar::Integer(sign * number)),
                    None if is_fraction() => (length, Scalar::Fraction),
                    None => return None,
                }
            }
        };
        self.rest = self.rest.get(literal..)?;
        Some(scalar)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use crate::json::Json;
    use crate::schema::{Schema, SchemaLimits};

    fn compile(schema: &Value) -> Schema {
        Schema::compile(&Json::from(schema.clone()), &SchemaLimits::default()).unwrap()
    }

    fn verdict(schema: &Value, text: &str) -> bool {
        fits(&compile(schema), text)
    }

    fn fits(schema: &Schema, text: &str) -> bool {
        schema.flat.is_some_and(|flat| flat.fits(&schema.graph, text.as_bytes()))
    }

    #[test]
    fn what_is_plain_is_known() {
        let schema = json!({
            "type": "object",
            "properties": {
                "text": {"type": "string", "minLength": 2, "maxLength": 3},
                "kind": {"enum": ["a", "b"]},
                "n": {"type": "integer", "minimum": 0, "exclusiveMaximum": 10, "format": "uint8"},
                "x": {"type": "number"},
                "flag": {"type": ["boolean", "null"]},
            },
            "required": ["text", "n"],
        });
        for text in [
            r#"{"text":"äö","n":0}"#,
            r#" { "n" : 9 , "text" : "abc" , "kind" : "b" , "x" : -1.5 , "flag" : null } "#,
            r#"{"text":"ab","n":1,"n":2,"other":false,"flag":true,"x":7}"#,
        ] {
            assert!(verdict(&schema, text), "{text}");
        }
        for text in [
            r#"{"text":"ab"}"#,
            r#"{"text":"a","n":1}"#,
            r#"{"text":"äöüß","n":1}"#,
            r#"{"text":"ab","n":-1}"#,
            r#"{"text":"ab","n":10}"#,
            r#"{"text":"ab","n":1,"kind":"c"}"#,
            r#"{"text":"ab","n":1,"flag":0}"#,
            r#"{"text":"ab","n":1,"n":"2"}"#,
            r#"{"text":"a\u0062","n":1}"#,
            r#"{"text":"ab","n":1e0}"#,
            r#"{"text":"ab","n":1,"other":[1]}"#,
            r#"{"text":"ab","n":1,"x":1234567890123456}"#,
            "[]",
            "1",
        ] {
            assert!(!verdict(&schema, text), "{text}");
        }
        assert!(!verdict(&json!({"type": "object", "additionalProperties": false}), r#"{"a":1}"#));
        assert!(!verdict(&json!({"type": "object", "minProperties": 0, "not": {}}), "{}"));
        assert!(verdict(&json!({"type": "object"}), "{}"));
    }

    /// Properties are found among few and among many, and there is a place for the last of those that are counted.
    #[test]
    fn many_properties_are_counted_up_to_a_bound() {
        let schema = |count: usize| {
            let name = |number| format!("p{number:02}");
            let properties: serde_json::Map<_, _> = (0..count).map(|n| (name(n), json!({"type": "integer"}))).collect();
            json!({"type": "object", "properties": properties, "required": [name(0), name(count - 1)]})
        };
        for count in [2, 8, 9, 64] {
            let (schema, last) = (schema(count), count - 1);
            assert!(verdict(&schema, &format!(r#"{{"p{last:02}":1,"p00":1}}"#)), "{count}");
            assert!(!verdict(&schema, &format!(r#"{{"p{last:02}":1}}"#)), "{count}");
            assert!(!verdict(&schema, &format!(r#"{{"p{last:02}":"1","p00":1}}"#)), "{count}");
        }
        assert!(!verdict(&schema(65), r#"{"p64":1,"p00":1}"#), "no verdict");
        assert!(!verdict(&json!({"required": ["p"]}), r#"{"p":1}"#), "no verdict");
    }

    fn schemas() -> impl Strategy<Value = Value> {
        let property = prop_oneof![
            Just(json!({"type": "string"})),
            Just(json!({"type": "string", "maxLength": 2})),
            Just(json!({"enum": ["a", "bc", 1, null]})),
            Just(json!({"type": "integer", "minimum": 0})),
            Just(json!({"type": ["integer", "null"], "multipleOf": 2})),
            Just(json!({"type": "number", "exclusiveMaximum": 3.5})),
            Just(json!({"type": "boolean", "not": {"const": true}})),
            Just(json!({"pattern": "^a"})),
            Just(json!(true)),
            Just(json!(false)),
        ];
        let names = || prop::sample::subsequence(vec!["a", "b", "c"], 0..=3);
        (prop::collection::vec(property, 4), names(), names(), any::<bool>()).prop_map(
            |(properties, present, required, closed)| {
                let mut schema = json!({"type": "object", "properties": {}, "required": required});
                for (name, property) in present.iter().zip(&properties) {
                    schema["properties"][name] = property.clone();
                }
                if closed {
                    schema["additionalProperties"] = properties[3].clone();
                }
                schema
            },
        )
    }

    fn texts() -> impl Strategy<Value = String> {
        let value = prop::sample::select(vec![
            "\"a\"",
            "\"bc\"",
            "\"äöü\"",
            "\"\\u0061\"",
            "0",
            "-0",
            "7",
            "-3",
            "1.0",
            "3.25",
            "1e400",
            "99999999999999999999",
            "true",
            "false",
            "null",
            "[]",
            "{\"a\":1}",
        ]);
        let name = prop::sample::select(vec!["a", "b", "c", "d", "\\u0061"]);
        prop::collection::vec((name, value), 0..5).prop_map(|members| {
            let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\" :{value}")).collect();
            format!("{{{}}}", members.join(", "))
        })
    }

    proptest! {
        /// What fits here fits there.
        #[test]
        fn the_evaluator_agrees(schema in schemas(), text in texts()) {
            let schema = compile(&schema);
            if fits(&schema, &text) {
                let json = Json::from_text(text.as_str()).unwrap();
                prop_assert!(schema.validate_json(&json).is_ok(), "{text}");
            }
        }
    }
}
