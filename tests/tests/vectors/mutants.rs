//! A vector whose expectations are changed does not hold: no step is passed over, and no part of one.

use mcp_sansio::testing::{Feed, Transcript};
use mcp_sansio_tests::vectors::{VECTORS, play};
use serde_json::Value;

/// Steps that are expectations, in both roles.
const EXPECTED: &[&str] = &[
    "out",
    "invoke",
    "cancelled",
    "notified",
    "answered",
    "connected",
    "renewed",
    "done",
    "progress",
    "need_input",
    "cancelled_input",
    "cancelled_invoke",
    "listening",
    "timeout",
    "closed",
    "diagnostic",
    "fetch",
    "abort",
    "unauthorized",
];
/// Those of a server over HTTP; for a client they are what happens.
const SAID: &[&str] = &["answer", "stream", "event", "comment", "finished"];
/// Members beside the verb that are expectations too.
const BESIDE: &[&str] = &[
    "result",
    "error",
    "failure",
    "code",
    "data",
    "exchange",
    "status",
    "reason",
    "sent",
    "limit",
    "www_authenticate",
];
/// So many steps of each vector are changed.
const STEPS: usize = 5;

fn is_expected(step: &Value, said: bool) -> bool {
    let members = step.as_object().unwrap();
    EXPECTED.iter().any(|verb| members.contains_key(*verb))
        || said && SAID.iter().any(|verb| members.contains_key(*verb))
}

/// The values of a step that are compared.
fn compared(step: &mut Value) -> Vec<&mut Value> {
    let members = step.as_object_mut().unwrap().iter_mut();
    let named = |name: &str| EXPECTED.contains(&name) || SAID.contains(&name) || BESIDE.contains(&name);
    members.filter(|(name, _)| named(name)).map(|(_, value)| value).collect()
}

/// Every value below this one that a file spells out, in order; words that stand for others are passed over.
fn leaves(value: &mut Value) -> Vec<&mut Value> {
    let is_word = value.as_str().is_some_and(|text| text.starts_with('$'));
    let is_full = value.as_object().is_some_and(|members| !members.is_empty())
        || value.as_array().is_some_and(|items| !items.is_empty());
    if is_word || !is_full {
        return if is_word { Vec::new() } else { vec![value] };
    }
    match value {
        Value::Object(members) => {
            members.iter_mut().filter(|(name, _)| *name != "$more").flat_map(|(_, value)| leaves(value)).collect()
        }
        Value::Array(items) => items.iter_mut().flat_map(leaves).collect(),
        _ => Vec::new(),
    }
}

fn change(leaf: &mut Value) {
    *leaf = match leaf.take() {
        Value::Null => Value::from(0),
        Value::Bool(value) => Value::from(!value),
        Value::Number(number) => Value::from(format!("not {number}")),
        Value::String(text) => Value::from(format!("{text}~")),
        Value::Array(_) => Value::from(vec![Value::Null]),
        Value::Object(_) => serde_json::json!({"extra": 1}),
    };
}

/// Whether a file that was changed is still one that holds.
fn holds(file: &Value) -> bool {
    // What is no transcript any more is found out too.
    Transcript::read(&file.to_string()).is_ok_and(|transcript| play(&transcript, Feed::Whole).is_ok())
}

/// Numbers beyond 64 bits would be rounded here: such files are left alone.
fn parsed() -> impl Iterator<Item = (&'static str, Value)> {
    VECTORS
        .iter()
        .map(|(name, text)| (name.as_str(), serde_json::from_str(text).unwrap()))
        .filter(|(_, file)| holds(file))
}

fn expected_steps(file: &Value) -> Vec<usize> {
    let said = file["role"] == "server";
    let steps = file["steps"].as_array().unwrap();
    (0..steps.len()).filter(|at| is_expected(&steps[*at], said)).collect()
}

/// At most so many of them, spread over the whole.
fn spread(all: &[usize], most: usize) -> impl Iterator<Item = usize> + '_ {
    let every = all.len().div_ceil(most).max(1);
    all.iter().copied().step_by(every)
}

#[test]
fn a_changed_expectation_fails() {
    let (mut survivors, mut tried) = (Vec::new(), 0);
    for (name, file) in parsed() {
        for (turn, at) in spread(&expected_steps(&file), STEPS).enumerate() {
            let mut mutant = file.clone();
            let mut places: Vec<&mut Value> = compared(&mut mutant["steps"][at]).into_iter().flat_map(leaves).collect();
            if places.is_empty() {
                continue;
            }
            let which = (turn * 7 + at) % places.len();
            change(places[which]);
            tried += 1;
            if holds(&mutant) {
                survivors.push(format!("{name}, step {}: {}", at + 1, mutant["steps"][at]));
            }
        }
    }
    assert!(survivors.is_empty(), "{} of {tried}:\n{}", survivors.len(), survivors.join("\n"));
    assert!(tried > 1_000, "only {tried} changes were tried");
}

/// What the machine says and no step names is found out. Deadlines and remarks need not be named.
#[test]
fn an_expectation_that_is_left_out_fails() {
    let (mut survivors, mut tried) = (Vec::new(), 0);
    for (name, file) in parsed() {
        let steps = file["steps"].as_array().unwrap();
        let free = |at: &usize| steps[*at].get("timeout").is_some() || steps[*at].get("diagnostic").is_some();
        let named: Vec<usize> = expected_steps(&file).into_iter().filter(|at| !free(at)).collect();
        for at in spread(&named, STEPS / 2) {
            let mut mutant = file.clone();
            mutant["steps"].as_array_mut().unwrap().remove(at);
            tried += 1;
            if holds(&mutant) {
                survivors.push(format!("{name}, without step {}: {}", at + 1, steps[at]));
            }
        }
    }
    assert!(survivors.is_empty(), "{} of {tried}:\n{}", survivors.len(), survivors.join("\n"));
    assert!(tried > 500, "only {tried} were tried");
}

/// A file for one transport is no file for another.
#[test]
fn a_vector_is_for_one_transport() {
    for (name, file) in parsed() {
        let mut other = file;
        other["transport"] = if other["transport"] == "http" { "stdio".into() } else { "http".into() };
        assert!(Transcript::read(&other.to_string()).is_err(), "{name} over another transport");
    }
}
