//! Frames in and out: what is a message, and that nothing is lost.

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::ids::RequestId;
use crate::spec::Method;

fn read(text: &str) -> Result<Message, InvalidFrame> {
    decode(&Bytes::copy_from_slice(text.as_bytes()), 64)
}

/// M-BASE-07: ids keep type and value.
#[test]
fn ids_are_exact() {
    for id in [
        "0",
        "-1",
        "9007199254740991",
        "999999999999999999",
        "9223372036854775808",
        "9999999999999999999",
        "\"\"",
        "\"1\"",
        "\"00\"",
        "18446744073709551617",
        r#""a\"b\n""#,
    ] {
        let message = read(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).unwrap();
        let Message::Request { id: read, .. } = message else { panic!("{id}") };
        assert_eq!(read.to_json().parse::<Value>().unwrap(), serde_json::from_str::<Value>(id).unwrap());
    }
    assert_ne!(RequestId::from(1), RequestId::from("1"));
}

/// O05: null and fractional ids are refused, and no notification is made of them.
#[test]
fn o05_ids_of_other_types_are_refused() {
    for id in ["null", "1.5", "1.0", "1e0", "true", "[1]", "{}"] {
        let error = read(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#)).unwrap_err();
        assert!(matches!(error, InvalidFrame::NotMessage { of: None, .. }), "{id}: {error:?}");
    }
}

/// The id of a malformed answer is one of ours, which an error to the peer must not carry.
#[test]
fn ids_of_malformed_answers_are_not_the_peers() {
    for text in [
        r#"{"id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"result":{}}"#,
        r#"{"jsonrpc":"1.0","error":{"code":1,"message":"m"},"id":1}"#,
    ] {
        assert!(matches!(read(text), Err(InvalidFrame::NotMessage { of: Some(Unread::Answer(_)), .. })), "{text}");
    }
    for text in [r#"{"id":1,"method":"ping"}"#, r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#] {
        assert!(matches!(read(text), Err(InvalidFrame::NotMessage { of: Some(Unread::Request(_)), .. })), "{text}");
    }
}

#[test]
fn messages_are_told_apart_by_their_members() {
    assert!(matches!(
        read(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).unwrap(),
        Message::Notification { method: MethodName::Known(Method::Initialized), .. }
    ));
    assert!(matches!(
        read(r#"{"result":{},"id":"x","jsonrpc":"2.0","more":[1,{"a":2}]}"#).unwrap(),
        Message::Result { .. }
    ));
    for text in [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}"#,
    ] {
        assert!(matches!(read(text).unwrap(), Message::Error { id: None, .. }));
    }
    for text in [
        "{}",
        "1",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
    ] {
        assert!(matches!(read(text), Err(InvalidFrame::NotMessage { .. })), "{text}");
    }
    for text in ["", "{", "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":", "nonsense", "{} {}"] {
        assert_eq!(read(text).unwrap_err(), InvalidFrame::NotJson, "{text}");
    }
}

/// What a message says, or why it is none, without the places where it says it.
fn said(text: &str) -> String {
    let fields = |members: &Members| {
        let known = [Field::Name, Field::Arguments, Field::Meta, Field::Content, Field::Cursor];
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap().to_string();
        let found = known.map(|field| members.present(field).map(value));
        format!("{:?} {found:?}", members.check())
    };
    match read(text) {
        Ok(Message::Request { id, method, params }) => format!("{id:?} {method:?} {}", fields(&params)),
        Ok(Message::Notification { method, params }) => format!("{method:?} {}", fields(&params)),
        Ok(Message::Result { id, result }) => format!("{id:?} result {}", fields(&result)),
        Ok(Message::Error { id, error }) => format!("{id:?} {}", error.parse::<Value>().unwrap()),
        other => format!("{other:?}"),
    }
}

/// The keys that most messages have are known at a glance; any white space before their colon, and they are read like
/// any other. Both ways say the same, in every order of the members, and of what is nearly such a key too.
#[test]
fn usual_keys_are_read_as_any_others() {
    let usual = [
        ("jsonrpc", "\"2.0\""),
        ("id", "17"),
        ("method", "\"tools/call\""),
        ("params", r#"{"name":"a","arguments":{"x":[1]},"_meta":{"progressToken":1}}"#),
    ];
    let answer = [("jsonrpc", "\"2.0\""), ("id", "17"), ("result", r#"{"content":[{}],"cursor":"b"}"#)];
    let others = [
        ("jsonrpc", "\"2.1\""),
        ("jsonrpc", "2.0"),
        ("jsonrpcs", "\"2.0\""),
        ("id", "0"),
        ("id", "00"),
        ("id", "-1"),
        ("id", "1.0"),
        ("id", "1e2"),
        ("id", "1x"),
        ("id", "999999999999999999"),
        ("id", "1000000000000000000"),
        ("id", "9223372036854775807"),
        ("id", "9223372036854775808"),
        ("id", "9999999999999999999"),
        ("id", "18446744073709551616"),
        ("id", "999999999999999999999999999999"),
        ("id", "\"17\""),
        ("id", "null"),
        ("id", ""),
        ("ids", "1"),
        ("method", "\"own\""),
        ("method", "\"tools\\/call\""),
        ("method", "\"töols\""),
        ("method", "5"),
        ("method", "\"ping"),
        ("methods", "\"ping\""),
        ("params", "null"),
        ("params", "[]"),
        ("params", r#"{"names":1,"arguments2":2,"_metas":3,"contents":4,"name":"b"}"#),
        ("params", r#"{"name":"a","name":"b"}"#),
        ("params", r#"{"_meta":1}"#),
        ("params", "{\"name\":\"a\",}"),
        ("params", "{"),
        ("paramss", "{}"),
        ("result", "{}"),
        ("result", "null"),
        ("error", r#"{"code":1,"message":"m"}"#),
    ];
    let text = |members: &[(&str, &str)], colon: &str| {
        let member = |(key, value): &(&str, &str)| format!("\"{key}\":{value}").replace("\":", &format!("\"{colon}"));
        format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
    };
    let same = |members: &[(&str, &str)]| {
        let compact = said(&text(members, ":"));
        assert_eq!(compact, said(&text(members, " : ")), "{members:?}");
        compact
    };
    for base in [&usual[..], &answer[..]] {
        for turn in 0..base.len() {
            let mut members = base.to_vec();
            members.rotate_left(turn);
            same(&members);
            members.reverse();
            assert!(same(&members).contains("17"));
            for other in others {
                for at in 0..=members.len() {
                    let mut more = members.clone();
                    more.insert(at, other);
                    same(&more);
                    more.retain(|member| member.0 != other.0 || *member == other);
                    same(&more);
                }
            }
        }
    }
    assert!(same(&usual).contains(r#"Known(ToolsCall) Ok(()) [Some("\"a\""), Some("{\"x\":[1]}")"#));
}

#[test]
fn members_are_found_where_they_stand() {
    let cases = [
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"_meta":{"progressToken":7,"x":[]},"name":"n"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params": { "name" : "n" , "_meta" : { "progressToken" : 7 } } }"#,
        r#"{"jsonrpc":"2.0","params":{"\u006eame":"n","_meta":{"progressToken":7}},"id":1,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","params":{"name":"\u006e","_meta":{"progressToken":7,"z":{}}},"id":1,"method":"m"}"#,
    ];
    for text in cases {
        let Message::Request { params, .. } = read(text).unwrap() else { panic!("{text}") };
        assert_eq!(params.required_string(Field::Name).unwrap(), "n");
        assert_eq!(params.meta_raw(MetaField::ProgressToken), Some("7"));
        let whole: Value = serde_json::from_str(text).unwrap();
        assert_eq!(params.json().parse::<Value>().unwrap(), whole["params"], "{text}");
    }
}

#[test]
fn params_of_other_types_are_refused_with_their_id() {
    for params in ["[1]", "1", "1.5", "\"x\"", "true", r#"{"name":"a","name":"b"}"#, r#"{"_meta":1}"#] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
        let Message::Request { params, .. } = read(&text).unwrap() else { panic!("{text}") };
        assert!(params.check().is_err(), "{text}");
    }
    let Message::Request { params, .. } = read(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#).unwrap()
    else {
        panic!()
    };
    assert_eq!(params.json().get(), "{}");
}

/// What nests too deep still has a sender who waits, or somebody who waits for it.
#[test]
fn messages_that_nest_too_deep_keep_their_id() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (text, whose) in [
        (
            format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":{deep}}},"id":1}}"#),
            Some(Unread::Request(1.into())),
        ),
        (format!(r#"{{"jsonrpc":"2.0","id":"x","result":{{"a":{deep}}}}}"#), Some(Unread::Answer("x".into()))),
        (format!(r#"{{"jsonrpc":"2.0","error":{deep},"id":1}}"#), Some(Unread::Answer(1.into()))),
        (format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":{deep}}}}}"#), None),
        (format!(r#"{{"id":1,"method":"m","params":{{"a":{deep}}}}}"#), None),
        (format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":{deep}"#), None),
    ] {
        assert_eq!(read(&text).unwrap_err(), InvalidFrame::TooDeep { limit: 64, of: whose });
    }
}

#[test]
fn nesting_is_bounded_and_strings_do_not_count() {
    let nested =
        |n: usize| format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":{}{}}}}}"#, "[".repeat(n), "]".repeat(n));
    assert!(read(&nested(62)).is_ok());
    assert_eq!(read(&nested(63)).unwrap_err(), InvalidFrame::TooDeep { limit: 64, of: None });
    assert_eq!(read(&"[".repeat(1 << 20)).unwrap_err(), InvalidFrame::TooDeep { limit: 64, of: None });
    let braces = r#"\"[{"#.repeat(100);
    assert!(read(&format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":"{braces}"}}}}"#)).is_ok());
}

/// Most messages begin with their version: what follows it is judged as ever.
#[test]
fn what_follows_the_version_is_judged() {
    assert!(matches!(read(r#"{"jsonrpc":"2.0" , "id" : 1,"method":"ping"}"#), Ok(Message::Request { .. })));
    assert!(matches!(read(r#"{"id":1,"method":"ping","jsonrpc":"2.0"}"#), Ok(Message::Request { .. })));
    assert_eq!(read(r#"{"jsonrpc":"2.0""#).unwrap_err(), InvalidFrame::NotJson);
    assert_eq!(read(r#"{"jsonrpc":"2.0""id":1}"#).unwrap_err(), InvalidFrame::NotJson);
    assert_eq!(read(r#"{"jsonrpc":"2.0",}"#).unwrap_err(), InvalidFrame::NotJson);
    for text in [
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.01","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}"#,
    ] {
        assert!(matches!(read(text), Err(InvalidFrame::NotMessage { .. })), "{text}");
    }
}

/// What is a number is what `serde_json` takes for one, in plain text and in any other.
#[test]
fn numbers_are_those_of_json() {
    let numbers = "0 -0 7 -12 10.25 1.5e3 1e5 1E5 1e+5 1E-5 -0.0e-0 1e999 123456789012345678901234567890";
    let others = "- -- -a +1 00 01 -01 1. .5 1.e5 1.x 1e 1E 1e+ 1E- 1e+-5 1.0.0 1e5.0 0x1 1_0 1- 1e5e5 NaN";
    for (texts, right) in [(numbers, true), (others, false)] {
        for text in texts.split(' ') {
            assert_eq!(serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok(), right, "{text}");
            for rest in ["", r#","b":"\n""#] {
                let frame = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":{text}}}{rest}}}"#);
                assert_eq!(read(&frame).is_ok(), right, "{frame}");
            }
        }
    }
}

#[test]
fn plain_lines_are_whole_objects_in_printable_ascii() {
    for line in ["{}\n", "{\"a\": [1, 2]}\n", "{no JSON}\n"] {
        assert!(is_plain_line(line.as_bytes()), "{line:?}");
    }
    let others =
        ["", "{", "{\n{}", "{}", "{}\n\n", "{}\r\n", " {}\n", "[]\n", "\n", "{\t}\n", "{\"\\n\":1}\n", "{\"é\":1}\n"];
    for chunk in others {
        assert!(!is_plain_line(chunk.as_bytes()), "{chunk:?}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_refused() {
    assert_eq!(decode(&Bytes::from_static(b"\xff\xfe"), 64).unwrap_err(), InvalidFrame::NotUtf8);
}

/// M-STDIO-01: a frame holds no newline, whatever raw text was put into it.
#[test]
fn frames_hold_no_newline() {
    let frame = FrameWriter::request(&RequestId::from("a\nb"), "m", 0).params_raw(b"{\r\n\"a\":\n1}");
    assert_eq!(frame.iter().filter(|b| **b == b'\n').count(), 1);
    assert!(!frame.contains(&b'\r'));
    let value: Value = serde_json::from_slice(&frame).unwrap();
    assert_eq!(value, json!({"jsonrpc": "2.0", "id": "a\nb", "method": "m", "params": {"a": 1}}));
}

#[test]
fn objects_can_be_reopened() {
    for (text, expected) in [("{}", r#"{"b":1}"#), ("{ \"a\" : 2 } ", r#"{"a":2,"b":1}"#)] {
        let mut out = text.as_bytes().to_vec();
        let mut object = ObjectWriter::reopen(&mut out);
        object.integer("b", 1);
        object.end();
        assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), serde_json::from_str::<Value>(expected).unwrap());
    }
}

/// Words, blocks of words and the last few bytes are looked at by different code.
#[test]
fn what_ends_a_run_is_found_wherever_it_stands() {
    for length in 0..70 {
        // Bytes that differ from what is looked for by one, by the high bit, or not at all but in their place.
        let text: Vec<u8> = b"!#[]\x20\x7f\x80\xa2\xdc\xff".iter().copied().cycle().take(length).collect();
        assert_eq!((scan::quote(&text), scan::special(&text)), (length, length));
        for at in 0..length {
            for (byte, is_quote) in [(b'"', true), (b'\\', false), (0, false), (0x1f, false)] {
                let mut text = text.clone();
                text[at] = byte;
                // One more behind it, which is not the first.
                text.push(byte);
                assert_eq!(scan::special(&text), at);
                assert_eq!(scan::quote(&text), if is_quote { at } else { length + 1 });
            }
        }
    }
}

/// Whole blocks of a text and its end are looked at apart.
#[test]
fn what_is_not_plain_is_found_wherever_it_stands() {
    for length in 0..100 {
        let text: Vec<u8> = b" !#[]~a0".iter().copied().cycle().take(length).collect();
        assert!(scan::is_plain(&text) && scan::needs_no_escape(&text));
        for at in 0..length {
            for byte in 0..=u8::MAX {
                let mut text = text.clone();
                text[at] = byte;
                assert_eq!(scan::is_plain(&text), matches!(byte, 0x20..0x80) && byte != b'\\', "{byte} at {at}");
                let is_special = byte < 0x20 || matches!(byte, b'"' | b'\\');
                assert_eq!(scan::needs_no_escape(&text), !is_special, "{byte} at {at}");
            }
        }
    }
}
