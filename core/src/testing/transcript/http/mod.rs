//! What both roles share over HTTP: headers, bodies and events, as files write them.

pub(super) mod client;
pub(super) mod server;

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::Feed;
use super::play::{Problem, Role, Stage, read};
use crate::http::Headers;
use crate::json::Json;
use crate::model::Extra;
use crate::testing::pair::Side;

/// The length of pieces, where it matters to nobody.
const PIECE: usize = 7;

/// The pieces in which a body arrives.
fn pieces(bytes: &[u8], feed: Feed) -> Vec<Bytes> {
    let length = match feed {
        Feed::Whole => bytes.len().max(1),
        Feed::Bytes => 1,
        Feed::Trailing => PIECE,
    };
    bytes.chunks(length).map(Bytes::copy_from_slice).collect()
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Headers as a file writes them: each a string, several strings, or `null` for none.
#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
enum Written {
    One(String),
    Many(Vec<String>),
    #[default]
    None,
}

impl Written {
    fn values(self) -> Vec<String> {
        match self {
            Self::One(value) => vec![value],
            Self::Many(values) => values,
            Self::None => Vec::new(),
        }
    }
}

/// Reads headers on top of others, which they replace.
fn headers(defaults: &[(&str, &str)], written: Option<&Json>) -> Result<Headers, Problem> {
    let mut all: BTreeMap<String, Vec<String>> =
        defaults.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()])).collect();
    let written: BTreeMap<String, Written> = written.map(read).transpose()?.unwrap_or_default();
    all.extend(written.into_iter().map(|(name, value)| (name, value.values())));
    let each = all.into_iter().flat_map(|(name, values)| values.into_iter().map(move |value| (name.clone(), value)));
    Ok(each.collect())
}

/// Headers as an object, to be compared.
fn object(headers: &Headers) -> String {
    let mut all: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (name, value) in headers.iter() {
        all.entry(name).or_default().push(String::from_utf8_lossy(value).into());
    }
    let one = |mut values: Vec<Value>| if values.len() == 1 { values.remove(0) } else { values.into() };
    let members = all.into_iter().map(|(name, values)| (name.to_owned(), one(values)));
    Value::Object(members.collect()).to_string()
}

/// A body or the data of an event, as what is expected of it can be compared with.
fn as_expected(expected: &Json, text: &str) -> String {
    match text {
        _ if expected.is_string() => quoted(text),
        "" => "null".to_owned(),
        text => text.to_owned(),
    }
}

/// An event, or a comment, as its bytes say it.
#[derive(Debug, PartialEq, Eq)]
enum Block {
    Comment,
    Event { data: Option<String>, id: Option<String>, event: Option<String>, retry: Option<u64> },
}

impl Block {
    fn read(text: &str) -> Result<Self, Problem> {
        let lines: Vec<&str> = text.lines().collect();
        if lines.iter().all(|line| line.starts_with(':')) {
            return Ok(Self::Comment);
        }
        let (mut data, mut id, mut event, mut retry) = (None::<String>, None, None, None);
        for line in lines {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match name {
                "data" => data = Some(data.map_or(value.clone(), |data| data + "\n" + &value)),
                "id" => id = Some(value),
                "event" => event = Some(value),
                "retry" => retry = Some(value.parse().map_err(|_| format!("{value:?} is no time"))?),
                other => return Err(format!("an event has no line {other:?}")),
            }
        }
        Ok(Self::Event { data, id, event, retry })
    }

    /// The event as an object, to be compared with what is expected.
    fn object(&self, expected: &Json) -> Result<String, Problem> {
        let Self::Event { data, id, event, retry } = self else { return Err("a comment".to_owned()) };
        let expected: Extra = read(expected)?;
        let any = Json::NULL;
        let data = data.as_ref().map(|data| as_expected(expected.get("data").unwrap_or(&any), data));
        let text = |text: &Option<String>| text.as_deref().map(quoted);
        let retry = retry.map(|retry| retry.to_string());
        let members = [("data", data), ("id", text(id)), ("event", text(event)), ("retry", retry)];
        let members = members.into_iter().filter_map(|(name, value)| Some(format!("{}:{}", quoted(name), value?)));
        Ok(format!("{{{}}}", members.collect::<Vec<_>>().join(",")))
    }

    /// The bytes of an event as a file writes it.
    fn write(expected: &Json, kept: &super::compare::Kept) -> Result<(Vec<u8>, String), Problem> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Event {
            data: Option<Json>,
            id: Option<String>,
            event: Option<String>,
            retry: Option<u64>,
        }
        let Event { data, id, event, retry } = read(&kept.filled(expected))?;
        let data = match data {
            Some(data) => {
                let bytes = super::bytes(&data, kept).ok_or("the data are no text")?;
                Some(String::from_utf8(bytes).map_err(|_| "the data are no text")?)
            }
            None => None,
        };
        let mut out = String::new();
        let mut line = |name: &str, value: &str| out.push_str(&format!("{name}: {value}\n"));
        if let Some(id) = id {
            line("id", &id);
        }
        if let Some(event) = event {
            line("event", &event);
        }
        if let Some(retry) = retry {
            line("retry", &retry.to_string());
        }
        for text in data.iter().flat_map(|data| data.split('\n')) {
            line("data", text);
        }
        out.push('\n');
        Ok((out.into_bytes(), data.unwrap_or_default()))
    }
}

impl<M: Role> Stage<M> {
    /// Notes the message that an answer or an event carries, if it carries one.
    fn note_message(&mut self, from: Side, text: &str, wrong: bool) {
        if wrong || text.starts_with(['{', '[']) {
            self.note(from, text, wrong);
        }
    }

    /// Compares the members that a file names with those of a description.
    fn compare_members(&mut self, expected: &Json, got: impl Fn(&str, &Json) -> Option<String>) -> Result<(), Problem> {
        let expected: Extra = read(&self.kept.filled(expected))?;
        for (name, value) in expected.iter() {
            let got = got(name, value).ok_or_else(|| format!("there is no {name:?}"))?;
            self.kept.compare(value, &got).map_err(|problem| format!("{name} {problem}"))?;
        }
        Ok(())
    }
}
