//! Tests of the model: what is read is written again as it came, and what an older revision cannot carry is shaped.

mod capability;
mod checks;
mod construct;
mod properties;
mod round_trip;
mod shape;
mod unknown;

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Extra;
use crate::json::Json;

/// JSON for comparison: members in any order, numbers by their spelling.
#[derive(Debug, PartialEq, Eq)]
enum Exact {
    Object(BTreeMap<String, Self>),
    List(Vec<Self>),
    Text(String),
    Other(String),
}

fn exact(json: &Json) -> Exact {
    match json.get().as_bytes().first() {
        Some(b'{') => {
            let members: Extra = json.parse().unwrap();
            Exact::Object(members.iter().map(|(name, value)| (name.to_owned(), exact(value))).collect())
        }
        Some(b'[') => Exact::List(json.parse::<Vec<Json>>().unwrap().iter().map(exact).collect()),
        Some(b'"') => Exact::Text(json.parse().unwrap()),
        _ => Exact::Other(json.get().to_owned()),
    }
}

#[track_caller]
fn json(text: &str) -> Json {
    Json::from_text(text).unwrap()
}

#[track_caller]
fn read<T: DeserializeOwned>(text: &str) -> T {
    json(text).parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn write<T: Serialize>(value: &T) -> Json {
    Json::from_value(value).unwrap()
}

/// Reads, writes, compares; answers what was read.
#[track_caller]
fn round_trip<T: DeserializeOwned + Serialize + Clone + PartialEq + std::fmt::Debug>(text: &str) -> T {
    let value: T = read(text);
    let written = write(&value);
    assert_eq!(exact(&written), exact(&json(text)), "{text} became {written}");
    assert_eq!(written.parse::<T>().unwrap(), value, "{written} reads otherwise the second time");
    value
}

#[track_caller]
fn assert_json<T: Serialize>(value: &T, expected: &str) {
    let written = write(value);
    assert_eq!(exact(&written), exact(&json(expected)), "{written}");
}
