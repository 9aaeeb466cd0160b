//! Vectors whose expectations are changed, or left out: whoever plays them must find out.

use mcp_sansio::testing::Transcript;
use serde_json::Value;

use crate::vectors::VECTORS;

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
fn is_expected(step: &Value, said: bool) -> bool {
    let has = |verbs: &[&str]| verbs.iter().any(|verb| step.get(*verb).is_some());
    has(EXPECTED) || said && has(SAID)
}

/// The values of a step that are compared.
fn compared(step: &mut Value, shown: impl Fn(&str) -> bool) -> Vec<&mut Value> {
    let named = |name: &str| EXPECTED.contains(&name) || SAID.contains(&name) || BESIDE.contains(&name);
    let members = step.as_object_mut().into_iter().flatten();
    members.filter(|(name, _)| named(name) && shown(name)).map(|(_, value)| value).collect()
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

/// What became of the vectors that were changed.
#[derive(Debug, Default)]
pub struct Mutants {
    /// How many there were.
    pub tried: usize,
    /// Those that held all the same.
    pub survivors: Vec<String>,
}

impl Mutants {
    fn add(&mut self, file: &Value, holds: &dyn Fn(&Transcript) -> bool, what: impl FnOnce() -> String) {
        self.tried += 1;
        // What is no transcript any more is found out too.
        if Transcript::read(&file.to_string()).is_ok_and(|transcript| holds(&transcript)) {
            self.survivors.push(what());
        }
    }

    /// Checks that all were found out, and that there were so many.
    ///
    /// # Panics
    /// When that is not so.
    pub fn check(&self, least: usize) {
        let Self { tried, survivors } = self;
        assert!(survivors.is_empty(), "{} of {tried}:\n{}", survivors.len(), survivors.join("\n"));
        assert!(*tried > least, "only {tried} were tried");
    }
}

/// Every vector that holds, as JSON. Numbers beyond 64 bits are rounded there: such files are left alone.
pub fn parsed(holds: &dyn Fn(&Transcript) -> bool) -> impl Iterator<Item = (&'static str, Value)> {
    let files = VECTORS.iter().filter_map(|(name, text)| Some((name.as_str(), serde_json::from_str(text).ok()?)));
    files.filter(|(_, file): &(&str, Value)| {
        Transcript::read(&file.to_string()).is_ok_and(|transcript| holds(&transcript))
    })
}

fn expected_steps(file: &Value) -> Vec<usize> {
    let said = file["role"] == "server";
    let steps = file["steps"].as_array().into_iter().flatten().enumerate();
    steps.filter(|(_, step)| is_expected(step, said)).map(|(at, _)| at).collect()
}

/// At most so many of them, spread over the whole.
fn spread(all: &[usize], most: usize) -> impl Iterator<Item = usize> + '_ {
    let every = all.len().div_ceil(most).max(1);
    all.iter().copied().step_by(every)
}

/// Changes a value of some steps of each vector, `most` at most; of the expectations that `shown` is true of,
/// which is given the file, the index of the step, and the member.
pub fn changed(holds: &dyn Fn(&Transcript) -> bool, most: usize, shown: fn(&Value, usize, &str) -> bool) -> Mutants {
    let mut mutants = Mutants::default();
    for (name, file) in parsed(holds) {
        for (turn, at) in spread(&expected_steps(&file), most).enumerate() {
            let mut mutant = file.clone();
            let step = &mut mutant["steps"][at];
            let mut places: Vec<&mut Value> =
                compared(step, |member| shown(&file, at, member)).into_iter().flat_map(leaves).collect();
            if places.is_empty() {
                continue;
            }
            let which = (turn * 7 + at) % places.len();
            change(places[which]);
            mutants.add(&mutant, holds, || format!("{name}, step {}: {}", at + 1, mutant["steps"][at]));
        }
    }
    mutants
}

/// Leaves a step of each vector out, `most` of them one by one. Deadlines and remarks need not be named.
pub fn left_out(holds: &dyn Fn(&Transcript) -> bool, most: usize) -> Mutants {
    let mut mutants = Mutants::default();
    for (name, file) in parsed(holds) {
        let Some(steps) = file["steps"].as_array() else { continue };
        let free = |at: &usize| steps[*at].get("timeout").is_some() || steps[*at].get("diagnostic").is_some();
        let named: Vec<usize> = expected_steps(&file).into_iter().filter(|at| !free(at)).collect();
        for at in spread(&named, most) {
            let mut mutant = file.clone();
            if let Some(steps) = mutant["steps"].as_array_mut() {
                steps.remove(at);
            }
            mutants.add(&mutant, holds, || format!("{name}, without step {}: {}", at + 1, steps[at]));
        }
    }
    mutants
}
