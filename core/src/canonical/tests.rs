//! The binding of a state to its arguments rests on this (M-MRTR-09).

use proptest::prelude::*;
use serde_json::Value;

use super::{CanonicalError, Digest, MAX_DEPTH, canonicalize};
use crate::json::Json;

fn digest(text: &str) -> Digest {
    Digest::of(&Json::from_text(text).expect("JSON")).expect("a digest")
}

#[test]
fn space_escapes_and_order_do_not_count() {
    let canonical = r#"{"":[],"a":{"x":null,"y":[1,true]},"b":"é\"\\/\n"}"#;
    let spelled =
        " { \"b\" : \"\\u00e9\\\"\\\\\\/\\u000a\" ,\r\n\t\"\\u0061\":{\"y\":[ 1 , true ],\"x\":null}, \"\": [ ] } ";
    assert_eq!(canonicalize(spelled).as_deref(), Ok(canonical));
    assert_eq!(canonicalize(canonical).as_deref(), Ok(canonical));
    assert_eq!(digest(spelled), digest(canonical));
}

#[test]
fn members_are_ordered_by_code_points_at_every_level() {
    assert_eq!(
        canonicalize(r#"{"é":1,"z":{"b":0,"aa":0,"a":0},"\ud83d\ude00":2,"\uffee":3}"#).as_deref(),
        Ok("{\"z\":{\"a\":0,\"aa\":0,\"b\":0},\"é\":1,\"\u{ffee}\":3,\"😀\":2}")
    );
    // Order within an array is meaning.
    assert_ne!(digest("[1,2]"), digest("[2,1]"));
}

#[test]
fn numbers_are_exact() {
    let pairs = [
        ("9007199254740993", "9007199254740992"),
        ("18446744073709551617", "18446744073709551616"),
        ("0.1", "0.10000000000000000001"),
        ("1e400", "1e401"),
        ("-0", "0"),
        ("1", "1.0"),
    ];
    for (a, b) in pairs {
        assert_ne!(digest(a), digest(b), "{a} and {b}");
        assert_eq!(canonicalize(a).as_deref(), Ok(a));
    }
}

#[test]
fn kinds_absence_and_repetition_differ() {
    let texts = [
        "null",
        "false",
        "true",
        "0",
        "\"\"",
        "\"0\"",
        "[]",
        "{}",
        "[null]",
        "{\"a\":null}",
        "{\"a\":1}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":2,\"a\":1}",
        "[[],[]]",
        "[[[]]]",
        "\"null\"",
    ];
    for (i, a) in texts.iter().enumerate() {
        for (j, b) in texts.iter().enumerate() {
            assert_eq!(digest(a) == digest(b), i == j, "{a} and {b}");
        }
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |depth| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(canonicalize(&nested(MAX_DEPTH)), Ok(nested(MAX_DEPTH)));
    let too_deep = Err(CanonicalError::TooDeep { limit: MAX_DEPTH });
    assert_eq!(canonicalize(&nested(MAX_DEPTH + 1)), too_deep);
    assert_eq!(canonicalize(&"[".repeat(1 << 20)), too_deep);
    assert_eq!(canonicalize(&"{\"a\":".repeat(1 << 20)), too_deep);
}

#[test]
fn half_a_surrogate_pair_has_no_digest() {
    let json = Json::from_text(r#"{"a":"\ud800"}"#).expect("grammatical JSON");
    assert_eq!(Digest::of(&json), Err(CanonicalError::Malformed));
}

#[test]
fn what_is_not_json_is_refused() {
    let texts = [
        "",
        " ",
        "{",
        "}",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "\"",
        "\"\\\"",
        "\"\\x\"",
        "\"\t\"",
        "nul",
        "nulll",
        "01",
        "1.",
        ".5",
        "1e",
        "+1",
        "-",
        "1 1",
        "NaN",
        "[1]]",
        "'a'",
        "\u{feff}1",
        "1,",
        "tru e",
        "1.e5",
        "1e+",
    ];
    for text in texts {
        assert_eq!(canonicalize(text), Err(CanonicalError::Malformed), "{text:?}");
    }
}

#[test]
fn nested_objects_in_the_wrong_order_stay_cheap() {
    // Every level must be put in order, and the innermost value is a megabyte.
    let mut text = format!("\"{}\"", "x".repeat(1 << 20));
    for _ in 0..MAX_DEPTH {
        text = format!("{{\"b\":{text},\"a\":0}}");
    }
    let canonical = canonicalize(&text).expect("canonical");
    assert!(canonical.starts_with("{\"a\":0,\"b\":{\"a\":0,"));
    assert_eq!(canonical.len(), text.len());
}

#[test]
fn debug_shows_a_prefix_only() {
    assert_eq!(format!("{:?}", Digest::from([0xAB; 32])), "Digest(abababab..)");
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(".{0,4}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Writes `value` with members in reverse order, spaces everywhere and every character of a string escaped.
fn spell_differently(value: &Value, out: &mut String) {
    let escape = |text: &str, out: &mut String| {
        out.push('"');
        for unit in text.encode_utf16() {
            out.push_str(&format!("\\u{unit:04x}"));
        }
        out.push('"');
    };
    match value {
        Value::String(text) => escape(text, out),
        Value::Array(items) => {
            out.push_str("[ ");
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "\t,\n" } else { "" });
                spell_differently(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push_str("{\r\n");
            for (index, (name, member)) in members.iter().rev().enumerate() {
                out.push_str(if index > 0 { " , " } else { "" });
                escape(name, out);
                out.push_str(" : ");
                spell_differently(member, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

proptest! {
    #[test]
    fn other_spellings_have_the_same_canonical_text(value in any_value()) {
        let mut spelled = String::new();
        spell_differently(&value, &mut spelled);
        let canonical = canonicalize(&value.to_string());
        prop_assert_eq!(&canonicalize(&spelled), &canonical);
        let canonical = canonical.expect("depth is small");
        prop_assert_eq!(&canonicalize(&canonical), &Ok(canonical.clone()));
        // It is the same value.
        let read = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        prop_assert_eq!(read(&canonical), read(&value.to_string()));
    }

    #[test]
    fn other_values_have_other_digests(a in any_value(), b in any_value()) {
        prop_assert_eq!(digest(&a.to_string()) == digest(&b.to_string()), a == b);
    }

    #[test]
    fn it_accepts_what_the_parser_accepts(text in "[\\[\\]{},:\"\\\\ 0-9eE.+\\-a-c\tnulre]{0,12}") {
        let canonical = canonicalize(&text);
        let parsed = serde_json::from_str::<&serde_json::value::RawValue>(&text);
        prop_assert_eq!(canonical.is_ok(), parsed.is_ok(), "{:?}", canonical);
    }
}
