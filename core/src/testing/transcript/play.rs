//! Playing a transcript: what both roles have in common.
//!
//! Input runs ahead of the steps by the beginning of the next frame at most ([`Feed::Trailing`]); everything else
//! happens in the order of the file. Expected values are compared as JSON values, with a few words that stand for
//! what a file cannot know:
//!
//! | in an expected value | stands for |
//! |---|---|
//! | `"$any"`, `"$string"`, `"$integer"` | any value, any string, any integer |
//! | `"$keep:NAME"` | any value, which `"$use:NAME"` in a later step stands for |
//! | member `"$more": true` | further members of its object |
//! | an `error` without `message` | an error with any message |

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;

use super::{Feed, Mismatch, Step, Transcript};
use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::json::Json;
use crate::machine::{Input, Mono, Now, Unix};
use crate::model::LoggingLevel;
use crate::testing::pair::{Frame, Side};
use crate::testing::peer::{Machine, Sorted};
use crate::testing::tree::Tree;

/// How much of the next frame a trailing feed delivers early.
const TRAILING: usize = 9;

const END_OF_FILE: &str = "end of file";

/// Why a step fails.
pub(super) type Problem = String;

/// What a role adds: its own steps, and how a session opens.
pub(super) trait Role: Machine + Sized {
    /// What the role remembers between steps.
    type Memory: Default;

    fn take(stage: &mut Stage<Self>, step: &Step) -> Result<(), Problem>;

    /// Opens the legacy session that a transcript starts with.
    fn open(stage: &mut Stage<Self>, version: &str, capabilities: &Json) -> Result<(), Problem>;

    fn close(&mut self, now: Now);

    /// Why the connection is over, if the action says so.
    fn closed(action: &Self::Action) -> Option<&'static str>;
}

pub(super) struct Stage<M: Role> {
    pub(super) machine: M,
    pub(super) now: Now,
    pub(super) kept: Kept,
    pub(super) memory: M::Memory,
    role: Side,
    /// Frames and events that no step has asked for yet.
    actions: VecDeque<Sorted<M::Action>>,
    /// Remarks that no step has asked for: they may come before or after the frame that they go with.
    remarks: Vec<Diagnostic>,
    frames: Vec<Frame>,
}

impl<M: Role> Stage<M> {
    pub(super) fn new(machine: M, role: Side) -> Self {
        Self {
            machine,
            now: Now { mono: Mono::from_nanos(0), unix: Unix::from_millis(1_800_000_000_000) },
            kept: Kept::default(),
            memory: M::Memory::default(),
            role,
            actions: VecDeque::new(),
            remarks: Vec::new(),
            frames: Vec::new(),
        }
    }

    pub(super) fn play(mut self, transcript: &Transcript, feed: Feed) -> Result<Vec<Frame>, Mismatch> {
        let failed = |step: usize, verb: &str, problem| Mismatch {
            transcript: transcript.name.clone(),
            step,
            verb: verb.to_owned(),
            problem,
        };
        if let Some(session) = &transcript.session {
            M::open(&mut self, &session.version, &session.capabilities)
                .map_err(|problem| failed(0, "session", problem))?;
        }
        let mut early = 0;
        for (index, step) in transcript.steps.iter().enumerate() {
            let rest = transcript.steps.get(index + 1..).unwrap_or_default();
            self.step(step, rest, feed, &mut early).map_err(|problem| failed(index + 1, &step.verb, problem))?;
        }
        let left = self.next_event().map_err(|problem| failed(transcript.steps.len() + 1, END_OF_FILE, problem))?;
        if let Some(left) = left {
            return Err(failed(
                transcript.steps.len() + 1,
                END_OF_FILE,
                format!("the machine said more: {}", shown(&left)),
            ));
        }
        Ok(self.frames)
    }

    fn step(&mut self, step: &Step, rest: &[Step], feed: Feed, early: &mut usize) -> Result<(), Problem> {
        match &*step.verb {
            "in" => self.input(step, rest, feed, early),
            "out" => self.output(&step.value),
            "end" => self.handle(Input::Eof),
            "close" => {
                self.machine.close(self.now);
                Ok(())
            }
            "closed" => {
                let action = self.event()?;
                let why = M::closed(&action).ok_or("another action than the end of the connection")?;
                let wanted: String = read(&step.value)?;
                if why == wanted { Ok(()) } else { Err(format!("closed for {why}")) }
            }
            "advance_ms" => {
                let millis: u64 = read(&step.value)?;
                self.now.mono = self.now.mono.after(Duration::from_millis(millis));
                self.now.unix = Unix::from_millis(self.now.unix.as_millis().saturating_add(millis));
                self.machine.handle_timeout(self.now);
                Ok(())
            }
            "timeout" => self.timeout(&step.value),
            "idle" => self.idle(),
            "diagnostic" => self.diagnostic(&step.value),
            _ => M::take(self, step),
        }
    }

    /// Gives the machine its next frame. `early` of its bytes came with the frame before.
    fn input(&mut self, step: &Step, rest: &[Step], feed: Feed, early: &mut usize) -> Result<(), Problem> {
        let bytes = step.bytes(&self.kept).ok_or("the input is neither a line nor hexadecimal")?;
        if let Ok(text) = std::str::from_utf8(&bytes) {
            self.note(text.trim_end_matches('\n'), step.more.contains_key("invalid"));
        }
        let mut bytes = bytes.get(*early..).unwrap_or_default().to_vec();
        *early = 0;
        if feed == Feed::Bytes {
            return bytes.iter().try_for_each(|byte| self.handle(Input::Bytes(Bytes::copy_from_slice(&[*byte]))));
        }
        if feed == Feed::Trailing {
            let until_end = rest.iter().take_while(|step| step.verb != "end");
            let next = until_end.filter_map(|step| step.bytes(&self.kept)).next();
            let line = next.iter().flatten().take_while(|byte| **byte != b'\n').take(TRAILING);
            let before = bytes.len();
            // What a step still has to fill in is not known yet.
            bytes.extend(line.take_while(|byte| **byte != b'$'));
            *early = bytes.len() - before;
        }
        self.handle(Input::Bytes(bytes.into()))
    }

    /// Notes what the machine reads.
    fn note(&mut self, text: &str, wrong: bool) {
        let from = if self.role == Side::Server { Side::Client } else { Side::Server };
        self.frames.push(Frame { from, at: self.now.mono, text: text.to_owned(), wrong });
    }

    fn handle(&mut self, input: Input) -> Result<(), Problem> {
        // A fatal error shows as the end of the connection too, which a step must expect.
        match self.machine.handle(self.now, input) {
            Ok(()) | Err(Error::LimitExceeded { .. }) => Ok(()),
            Err(error) => Err(format!("the machine refused it: {error}")),
        }
    }

    fn output(&mut self, expected: &Json) -> Result<(), Problem> {
        match self.next_event()? {
            Some(Sorted::Frame(frame)) => {
                let text = std::str::from_utf8(&frame).map_err(|_| "a frame is not UTF-8")?;
                self.kept.compare(expected, text.trim_end())
            }
            Some(other) => Err(format!("instead of a frame: {}", shown(&other))),
            None => Err("nothing was written".to_owned()),
        }
    }

    /// A frame that the machine must write now, whatever it says.
    pub(super) fn frame(&mut self) -> Result<String, Problem> {
        match self.next_event()? {
            Some(Sorted::Frame(frame)) => Ok(String::from_utf8_lossy(&frame).trim_end().to_owned()),
            Some(other) => Err(format!("instead of a frame: {}", shown(&other))),
            None => Err("nothing was written".to_owned()),
        }
    }

    /// An event for the application, which must come now.
    pub(super) fn event(&mut self) -> Result<M::Action, Problem> {
        match self.next_event()? {
            Some(Sorted::Event { action, .. }) => Ok(action),
            Some(other) => Err(format!("instead of an event: {}", shown(&other))),
            None => Err("nothing happened".to_owned()),
        }
    }

    /// Gives a line to the machine that no step has.
    pub(super) fn say(&mut self, line: &str) -> Result<(), Problem> {
        self.note(line, false);
        self.handle(Input::Bytes(format!("{line}\n").into()))
    }

    fn diagnostic(&mut self, expected: &Json) -> Result<(), Problem> {
        self.drain()?;
        let wanted: String = read(expected)?;
        match self.remarks.iter().position(|remark| remark.kind.name() == wanted) {
            Some(found) => {
                self.remarks.drain(..=found);
                Ok(())
            }
            None => Err(format!(
                "no such remark, but {:?}",
                self.remarks.iter().map(|remark| remark.kind.name()).collect::<Vec<_>>()
            )),
        }
    }

    fn timeout(&mut self, expected: &Json) -> Result<(), Problem> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Timeout {
            in_ms: u64,
            kind: String,
        }
        let expected: Timeout = read(expected)?;
        self.drain()?;
        let Some((at, kind)) = self.machine.poll_timeout() else { return Err("nothing is waited for".to_owned()) };
        let (in_ms, kind) = (self.now.mono.until(at).as_millis(), kind.name());
        if in_ms == u128::from(expected.in_ms) && kind == expected.kind {
            Ok(())
        } else {
            Err(format!("the deadline is {kind} in {in_ms} ms"))
        }
    }

    fn idle(&mut self) -> Result<(), Problem> {
        if let Some(left) = self.next_event()? {
            return Err(format!("the machine said more: {}", shown(&left)));
        }
        match self.machine.poll_timeout() {
            None => Ok(()),
            Some((_, kind)) => Err(format!("waiting for {}", kind.name())),
        }
    }

    /// The next action that is no remark.
    fn next_event(&mut self) -> Result<Option<Sorted<M::Action>>, Problem> {
        self.drain()?;
        Ok(self.actions.pop_front())
    }

    fn drain(&mut self) -> Result<(), Problem> {
        while let Some(action) = self.machine.poll_action() {
            let sorted = M::sort(action);
            if let Sorted::Frame(frame) = &sorted {
                let line = frame.strip_suffix(b"\n").ok_or("a frame has no newline")?;
                let text = std::str::from_utf8(line).map_err(|_| "a frame is not UTF-8")?;
                if text.contains('\n') {
                    return Err("a newline within a frame".to_owned());
                }
                self.frames.push(Frame { from: self.role, at: self.now.mono, text: text.to_owned(), wrong: false });
                // Once it is closed, nobody asks what was written.
                let _ = self.machine.handle(self.now, Input::Written(frame.len()));
            }
            match sorted {
                Sorted::Diagnostic(remark) => self.remarks.push(remark),
                sorted => self.actions.push_back(sorted),
            }
        }
        Ok(())
    }
}

/// Values of earlier frames, by the names that the file gives them.
#[derive(Debug, Default)]
pub(super) struct Kept(BTreeMap<String, String>);

impl Kept {
    /// A text with the kept values in their places.
    pub(super) fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("\"$use:{name}\""), value))
    }

    pub(super) fn filled(&self, json: &Json) -> Json {
        // A kept value is JSON, and so is what it is filled into.
        Json::from_text(self.fill(json.get())).unwrap_or_else(|_| json.clone())
    }

    /// Compares a value with what was expected, and keeps what that says.
    pub(super) fn compare(&mut self, expected: &Json, got: &str) -> Result<(), Problem> {
        let tree = Tree::read(got).ok_or_else(|| format!("no JSON value: {got}"))?;
        let expected = Tree::read(&self.fill(expected.get())).ok_or("the expected value is none")?;
        self.same(&expected, &tree, "").map_err(|place| format!("at {place:?}: {got}"))
    }

    /// Whether a value is as expected; else the place where it is not.
    fn same(&mut self, expected: &Tree, got: &Tree, place: &str) -> Result<(), String> {
        let wrong = || Err(place.to_owned());
        match (expected, got) {
            (Tree::Text(word), _) if word == "$any" => Ok(()),
            (Tree::Text(word), Tree::Text(_)) if word == "$string" => Ok(()),
            (Tree::Text(word), Tree::Number(digits)) if word == "$integer" && !digits.contains(['.', 'e']) => Ok(()),
            (Tree::Text(word), got) if word.starts_with("$keep:") => {
                self.0.insert(word["$keep:".len()..].to_owned(), got.to_string());
                Ok(())
            }
            (Tree::Object(members), Tree::Object(came)) => {
                let open = members.contains_key("$more");
                let free_message = place.ends_with("/error") && !members.contains_key("message");
                for (name, value) in members.iter().filter(|(name, _)| *name != "$more") {
                    let below = format!("{place}/{name}");
                    let Some(came) = came.get(name) else { return Err(below) };
                    self.same(value, came, &below)?;
                }
                match came.keys().find(|name| !members.contains_key(*name)) {
                    Some(more) if !(open || free_message && more == "message") => Err(format!("{place}/{more}")),
                    _ => Ok(()),
                }
            }
            (Tree::Array(items), Tree::Array(came)) if items.len() == came.len() => items
                .iter()
                .zip(came)
                .enumerate()
                .try_for_each(|(index, (item, came))| self.same(item, came, &format!("{place}/{index}"))),
            (expected, got) if expected == got => Ok(()),
            _ => wrong(),
        }
    }
}

/// Reads a value of a step.
pub(super) fn read<T: serde::de::DeserializeOwned>(json: &Json) -> Result<T, Problem> {
    json.parse().map_err(|error| format!("the step is wrong: {error}"))
}

/// Reads a level of log messages.
pub(super) fn level(json: &Json) -> Result<LoggingLevel, Problem> {
    LoggingLevel::parse(&read::<String>(json)?).ok_or_else(|| format!("{json} is no level"))
}

fn shown<A>(sorted: &Sorted<A>) -> String {
    match sorted {
        Sorted::Frame(frame) => format!("the frame {}", String::from_utf8_lossy(frame).trim_end()),
        Sorted::Diagnostic(diagnostic) => format!("the remark {:?} {diagnostic}", diagnostic.kind.name()),
        Sorted::Event { .. } => "an event for the application".to_owned(),
    }
}
