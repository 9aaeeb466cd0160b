//! Forms: built, written for each revision, read back, answered. M-ELIC-11, -12, -33, -34; L-ELIC-08, -09, -26;
//! T-22, T-23, T-51.

use serde_json::{Map, Value, json};

use super::*;
use crate::json::Json;

fn parse(form: Value) -> Result<ElicitationSchema, ElicitationError> {
    ElicitationSchema::parse(&Json::from(form))
}

fn with(field: Value) -> Value {
    json!({"type": "object", "properties": {"f": field}})
}

fn content(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no content"),
    }
}

fn written(form: &ElicitationSchema, dialect: ElicitationDialect) -> Value {
    form.shape_for(dialect).expect("a form").parse().expect("JSON")
}

fn all_kinds() -> ElicitationSchema {
    ElicitationSchema::new()
        .string("z", StringField::new().title("Z").description("last letter").min_length(1).max_length(9).required())
        .string("mail", StringField::new().format(StringFormat::Email).default_value("a@b.example"))
        .integer("count", NumberField::new().minimum(0).maximum(10).default_value(5))
        .number("ratio", NumberField::new().minimum(0.5).maximum(1.5).default_value(0.75))
        .boolean("sure", BooleanField::new().default_value(true).required())
        .choice("plain", ChoiceField::of(["red", "green"]).default_value("red"))
        .choice("titled", ChoiceField::titled([("#f00", "Red"), ("#0f0", "Green")]).default_value("#0f0"))
}

fn with_choices() -> ElicitationSchema {
    all_kinds()
        .choices("many", ChoicesField::of(["a", "b", "c"]).min_items(1).max_items(2).default_value(["a", "b"]))
        .choices("many_titled", ChoicesField::titled([("x", "X!"), ("y", "Y!")]).title("Pick"))
}

/// M-ELIC-11, L-ELIC-09: every kind as the specification writes it, in the order in which it was added.
#[test]
fn m_elic_11_every_kind_is_written_as_specified() {
    let text = with_choices().to_json().expect("a form");
    let expected = concat!(
        r#"{"type":"object","properties":{"#,
        r#""z":{"type":"string","title":"Z","description":"last letter","minLength":1,"maxLength":9},"#,
        r#""mail":{"type":"string","format":"email","default":"a@b.example"},"#,
        r#""count":{"type":"integer","minimum":0,"maximum":10,"default":5},"#,
        r#""ratio":{"type":"number","minimum":0.5,"maximum":1.5,"default":0.75},"#,
        r#""sure":{"type":"boolean","default":true},"#,
        r#""plain":{"type":"string","enum":["red","green"],"default":"red"},"#,
        r##""titled":{"type":"string","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}],"##,
        r##""default":"#0f0"},"##,
        r#""many":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b","c"]},"#,
        r#""default":["a","b"]},"#,
        r#""many_titled":{"type":"array","title":"Pick","#,
        r#""items":{"anyOf":[{"const":"x","title":"X!"},{"const":"y","title":"Y!"}]}}"#,
        r#"},"required":["z","sure"]}"#,
    );
    assert_eq!(text.get(), expected);
}

/// T-23: 2025-06-18 has no titled options but `enumNames`, and defaults for booleans only.
#[test]
fn t23_the_older_revision_gets_enum_names_and_no_defaults() {
    let form = written(&all_kinds(), ElicitationDialect::V2025_06_18);
    let properties = &form["properties"];
    assert_eq!(
        properties["titled"],
        json!({"type": "string", "enum": ["#f00", "#0f0"], "enumNames": ["Red", "Green"]})
    );
    assert_eq!(properties["plain"], json!({"type": "string", "enum": ["red", "green"]}));
    assert_eq!(properties["sure"], json!({"type": "boolean", "default": true}));
    for name in ["mail", "count", "ratio"] {
        assert_eq!(properties[name].get("default"), None, "{name}");
    }
    assert_eq!(form["required"], json!(["z", "sure"]));
}

/// T-22: several answers cannot be expressed before 2025-11-25.
#[test]
fn t22_the_older_revision_has_no_choices() {
    assert!(with_choices().has_choices() && !all_kinds().has_choices());
    let error = with_choices().shape_for(ElicitationDialect::V2025_06_18).expect_err("not expressible");
    assert_eq!(error, ElicitationError::Unsupported { field: "many".to_owned() });
}

/// What was written is read back, and written again the same.
#[test]
fn forms_survive_a_round_trip() {
    let text = with_choices().to_json().expect("a form");
    let again = ElicitationSchema::parse(&text).expect("a form").to_json().expect("a form");
    assert_eq!(again.get(), text.get());
    let old = all_kinds().shape_for(ElicitationDialect::V2025_06_18).expect("a form");
    let again = ElicitationSchema::parse(&old).expect("a form");
    assert_eq!(again.to_json().expect("a form").get(), old.get());
    assert_eq!(again.shape_for(ElicitationDialect::V2025_06_18).expect("a form").get(), old.get());
}

/// Members that are not known here are kept, wherever they stand.
#[test]
fn unknown_members_are_kept() {
    let form = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "x-root": [1],
        "additionalProperties": false,
        "properties": {
            "a": {"type": "string", "format": "phone", "x-a": 12_345_678_901_234_567_890_u64},
            "b": {"type": "string", "oneOf": [{"const": "1", "title": "One", "x-option": true}]},
            "c": {"type": "array", "items": {"type": "string", "enum": ["q"], "x-items": 1}, "uniqueItems": true},
            "d": {"type": "string", "enum": ["p"], "enumNames": ["P"]},
            "e": {"type": "string", "pattern": "^x"},
        },
        "required": ["a", "elsewhere"],
    });
    let parsed = parse(form.clone()).expect("a form");
    assert_eq!(written(&parsed, ElicitationDialect::V2025_11_25), form);
}

/// M-ELIC-11: forms are flat; what is not is refused by name.
#[test]
fn m_elic_11_what_is_no_form_is_refused() {
    let nested = || ElicitationError::Nested { field: "f".to_owned() };
    let kind = || ElicitationError::UnsupportedType { field: "f".to_owned() };
    let member = |member, expected| ElicitationError::InvalidMember { field: "f".to_owned(), member, expected };
    for (form, expected) in [
        (json!([]), ElicitationError::NotAForm),
        (json!(true), ElicitationError::NotAForm),
        (json!({"properties": {}}), ElicitationError::NotAForm),
        (json!({"type": "array", "properties": {}}), ElicitationError::NotAForm),
        (with(json!({"type": "object", "properties": {}})), nested()),
        (with(json!({"type": "array", "items": {"type": "object"}})), nested()),
        (with(json!({"type": "array", "items": {"type": "string"}})), nested()),
        (with(json!({"type": "array"})), nested()),
        (with(json!({"type": "array", "items": {"type": "number", "enum": ["1"]}})), nested()),
        (with(json!({"type": "null"})), kind()),
        (with(json!({"type": ["string", "null"]})), kind()),
        (with(json!({"enum": ["a"]})), kind()),
        (with(json!({"$ref": "#/$defs/a"})), kind()),
        (with(json!(true)), member("the field", "an object")),
        (with(json!({"type": "string", "title": 1})), member("title", "a string")),
        (with(json!({"type": "string", "minLength": -1})), member("minLength", "an integer that is not negative")),
        (with(json!({"type": "string", "default": 1})), member("default", "a string")),
        (with(json!({"type": "number", "minimum": "1"})), member("minimum", "a number")),
        (with(json!({"type": "boolean", "default": "yes"})), member("default", "a boolean")),
        (with(json!({"type": "string", "enum": [1]})), member("enum", "an array of strings")),
        (
            with(json!({"type": "string", "oneOf": [{"const": "a"}]})),
            member("oneOf", "an array of objects with const and title"),
        ),
    ] {
        assert_eq!(parse(form.clone()).expect_err("not a form"), expected, "{form}");
    }
    let root = |member, expected| ElicitationError::InvalidMember { field: String::new(), member, expected };
    assert_eq!(parse(json!({"type": "object"})).expect_err("no fields"), root("properties", "an object of fields"));
    let required = json!({"type": "object", "properties": {}, "required": "a"});
    assert_eq!(parse(required).expect_err("no list"), root("required", "an array of strings"));
    let twice = Json::from_text(r#"{"type":"object","properties":{"a":{"type":"string"},"a":{"type":"boolean"}}}"#);
    let error = ElicitationSchema::parse(&twice.expect("JSON")).expect_err("twice");
    assert_eq!(error, ElicitationError::DuplicateField { field: "a".to_owned() });
}

#[test]
fn sizes_are_bounded() {
    let fields: Map<String, Value> = (0..=MAX_FIELDS).map(|n| (format!("f{n}"), json!({"type": "string"}))).collect();
    let error = parse(json!({"type": "object", "properties": fields})).expect_err("too many");
    assert_eq!(error, ElicitationError::TooManyFields { limit: MAX_FIELDS });
    let options: Vec<String> = (0..=MAX_OPTIONS).map(|n| n.to_string()).collect();
    let expected = ElicitationError::TooManyOptions { field: "f".to_owned(), limit: MAX_OPTIONS };
    assert_eq!(parse(with(json!({"type": "string", "enum": options}))).expect_err("too many"), expected);
    let form = ElicitationSchema::new().choice("f", ChoiceField::of(options));
    assert_eq!(form.to_json().expect_err("too many"), expected);
}

/// A form that contradicts itself is the author's mistake, and found before it is sent.
#[test]
fn contradictions_are_found() {
    let form = ElicitationSchema::new;
    for (form, member) in [
        (form().string("f", StringField::new().min_length(2).max_length(1)), "maxLength"),
        (form().string("f", StringField::new().min_length(2).default_value("a")), "default"),
        (form().string("f", StringField::new().format(StringFormat::Date).default_value("today")), "default"),
        (form().integer("f", NumberField::new().minimum(2).maximum(1.5)), "maximum"),
        (form().integer("f", NumberField::new().default_value(1.5)), "default"),
        (form().number("f", NumberField::new().minimum(f64::NAN)), "minimum"),
        (form().choice("f", ChoiceField::of(["a"]).default_value("b")), "default"),
        (form().choice("f", ChoiceField::of(Vec::<String>::new())), "options"),
        (form().choices("f", ChoicesField::of(["a", "a"])), "options"),
        (form().choices("f", ChoicesField::of(["a"]).min_items(2).max_items(1)), "maxItems"),
        (form().choices("f", ChoicesField::of(["a", "b"]).max_items(1).default_value(["a", "b"])), "default"),
    ] {
        match form.to_json() {
            Err(ElicitationError::InvalidMember { field, member: found, .. }) => {
                assert_eq!((field.as_str(), found), ("f", member));
            }
            other => panic!("{member}: {other:?}"),
        }
    }
    let twice = form().boolean("f", BooleanField::new()).string("f", StringField::new());
    assert_eq!(twice.check(), Err(ElicitationError::DuplicateField { field: "f".to_owned() }));
}

/// M-ELIC-12, L-ELIC-08: defaults of every kind, and only where the user said nothing.
#[test]
fn m_elic_12_defaults_fill_the_gaps() {
    let mut answers = content(json!({"z": "text", "count": 9, "plain": null}));
    with_choices().apply_defaults(&mut answers);
    let expected = json!({
        "z": "text", "mail": "a@b.example", "count": 9, "ratio": 0.75, "sure": true, "plain": null,
        "titled": "#0f0", "many": ["a", "b"],
    });
    assert_eq!(Value::Object(answers), expected);
    // A default that its own field does not allow would only make the answer invalid.
    let form = parse(with(json!({"type": "string", "maxLength": 1, "default": "too long"}))).expect("a form");
    let mut answers = Map::new();
    form.apply_defaults(&mut answers);
    assert!(answers.is_empty());
}

/// M-ELIC-33, -34, L-ELIC-26: what the user answered is checked, field by field.
#[test]
fn m_elic_33_answers_are_checked() {
    let check = |field: Value, good: &[Value], bad: &[(Value, &str)]| {
        let form = parse(with(field.clone())).expect("a form");
        for value in good {
            assert_eq!(form.validate_content(&content(json!({"f": value}))), Ok(()), "{field} on {value}");
        }
        for (value, expected) in bad {
            let error = form.validate_content(&content(json!({"f": value}))).expect_err("invalid");
            assert_eq!(error.to_string(), *expected, "{field} on {value}");
        }
    };
    check(
        json!({"type": "string", "minLength": 2, "maxLength": 3}),
        &[json!("ab"), json!("é💩a")],
        &[
            (json!("a"), "f: expected at least 2 characters"),
            (json!("abcd"), "f: expected at most 3 characters"),
            (json!(7), "f: expected type string"),
            (json!(null), "f: expected type string"),
        ],
    );
    check(
        json!({"type": "string", "format": "email"}),
        &[json!("a@b.c")],
        &[(json!("a"), "f: expected an e-mail address")],
    );
    check(json!({"type": "string", "format": "uri"}), &[json!("a:b")], &[(json!("a"), "f: expected an absolute URI")]);
    check(
        json!({"type": "string", "format": "date"}),
        &[json!("2026-07-28")],
        &[(json!("28.7.2026"), "f: expected a date such as 2026-07-28")],
    );
    check(
        json!({"type": "string", "format": "date-time"}),
        &[json!("2026-07-28T00:00:00Z")],
        &[(json!("2026-07-28"), "f: expected a date and time such as 2026-07-28T12:00:00Z")],
    );
    check(json!({"type": "string", "format": "phone"}), &[json!("anything")], &[]);
    check(
        json!({"type": "string", "pattern": "^[a-z]+$"}),
        &[json!("abc")],
        &[(json!("ABC"), "f: expected a match of the pattern ^[a-z]+$")],
    );
    // T-51: bounds are numbers, whatever the published schema says.
    check(
        json!({"type": "number", "minimum": 0.5, "maximum": 2}),
        &[json!(0.5), json!(2), json!(1.25)],
        &[
            (json!(0.25), "f: expected at least 0.5"),
            (json!(2.5), "f: expected at most 2"),
            (json!("1"), "f: expected type number"),
        ],
    );
    check(
        json!({"type": "integer", "maximum": 2.5}),
        &[json!(2), json!(2.0), json!(-7)],
        &[(json!(1.5), "f: expected type integer"), (json!(3), "f: expected at most 2.5")],
    );
    check(json!({"type": "boolean"}), &[json!(true)], &[(json!("true"), "f: expected type boolean")]);
    for options in [
        json!({"type": "string", "enum": ["a", "b"]}),
        json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}),
        json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}),
    ] {
        check(
            options,
            &[json!("a"), json!("b")],
            &[(json!("A"), "f: expected one of a, b"), (json!(["a"]), "f: expected type string")],
        );
    }
    for items in [
        json!({"type": "string", "enum": ["a", "b"]}),
        json!({"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}),
    ] {
        check(
            json!({"type": "array", "items": items, "minItems": 1, "maxItems": 2}),
            &[json!(["a"]), json!(["b", "a"])],
            &[
                (json!([]), "f: expected at least 1 options"),
                (json!(["a", "b", "a"]), "f: expected at most 2 options"),
                (json!(["a", "c"]), "f[1]: expected one of a, b"),
                (json!([1]), "f[0]: expected type string"),
                (json!("a"), "f: expected a list of strings"),
            ],
        );
    }
}

#[test]
fn required_and_unknown_names() {
    let form = parse(json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}},
        "required": ["a", "elsewhere"],
    }))
    .expect("a form");
    let shown = |value: Value| form.validate_content(&content(value)).map_err(|error| error.to_string());
    assert_eq!(shown(json!({"a": "x", "elsewhere": 1})), Ok(()));
    assert_eq!(shown(json!({"a": "x", "elsewhere": ["s"], "more": true})), Ok(()));
    let missing = "a: required field is missing; elsewhere: required field is missing";
    assert_eq!(shown(json!({"b": true})), Err(missing.to_owned()));
    let nested = "more: expected a string, a number, a boolean or a list of strings";
    assert_eq!(shown(json!({"a": "x", "elsewhere": 1, "more": {"x": 1}})), Err(nested.to_owned()));
}

/// Answers are the user's: none of them is repeated in an error, and errors stay short.
#[test]
fn errors_show_no_answers_and_are_bounded() {
    let options: Vec<String> = (0..1_000).map(|n| format!("option {n} {}", "x".repeat(100))).collect();
    let mut form = ElicitationSchema::new();
    for n in 0..50 {
        form = form.choice(format!("f{n}"), ChoiceField::of(options.clone()));
    }
    let answers = content((0..50).map(|n| (format!("f{n}"), json!("hunter2"))).collect());
    let error = form.validate_content(&answers).expect_err("invalid");
    assert_eq!((error.problems().len(), error.is_complete()), (8, false));
    let shown = error.to_string();
    assert!(!shown.contains("hunter2") && shown.len() < 4_096, "{shown}");
}

#[test]
fn fields_can_be_looked_at() {
    let form = with_choices();
    let shown: Vec<_> = form
        .fields()
        .map(|(name, field)| (name, field.title(), field.description(), field.is_required(), field.default_value()))
        .collect();
    assert_eq!(shown.first(), Some(&("z", Some("Z"), Some("last letter"), true, None)));
    assert_eq!(shown.get(7), Some(&("many", None, None, false, Some(json!(["a", "b"])))));
    let Some((_, Field::Choice(choice))) = form.fields().nth(6) else { panic!("a choice") };
    assert_eq!(choice.options().collect::<Vec<_>>(), [("#f00", Some("Red")), ("#0f0", Some("Green"))]);
}
