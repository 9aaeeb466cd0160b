//! Playing a transcript: what all machines have in common, in both roles and over both transports.
//!
//! ```text
//!   steps ──▶ Stage::step ─┬─ time, remarks, the end ─────────────▶ here
//!                          └─ Role::take ─┬─ lines in and out ────▶ lines
//!                                         ├─ exchanges of HTTP ───▶ http
//!                                         └─ the application ─────▶ server, client
//! ```
//!
//! Whatever the machine says is taken at once, and waits in the order in which it came until a step asks for it.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::compare::Kept;
use super::{Feed, Mismatch, Step, Transcript};
use crate::diagnostic::Diagnostic;
use crate::json::Json;
use crate::machine::{Mono, Now, TimerKind, Unix};
use crate::model::LoggingLevel;
use crate::testing::pair::{Frame, Side};

const END_OF_FILE: &str = "end of file";

/// Why a step fails.
pub(super) type Problem = String;

/// Something that a machine says.
#[derive(Debug)]
pub(super) enum Said<E> {
    /// A frame of a byte stream, newline included.
    Frame(Bytes),
    Remark(Diagnostic),
    /// Whoever drives the machine, or its application, must see it.
    Event(E),
}

/// A machine with the steps that only it has.
pub(super) trait Role: Sized {
    type Event: std::fmt::Debug;
    /// What is remembered between steps.
    type Memory: Default;

    /// Which side the machine is.
    const SIDE: Side;

    fn poll(stage: &mut Stage<Self>) -> Result<Option<Said<Self::Event>>, Problem>;

    fn handle_timeout(&mut self, now: Now);

    fn poll_timeout(&self) -> Option<(Mono, TimerKind)>;

    fn close(&mut self, now: Now);

    /// Opens the legacy session that a transcript starts with.
    fn open(stage: &mut Stage<Self>, version: &str, capabilities: &Json) -> Result<(), Problem>;

    /// Takes a step that not all machines have. `rest` are those that follow.
    fn take(stage: &mut Stage<Self>, step: &Step, rest: &[Step]) -> Result<(), Problem>;

    /// What is left beside the events that the stage keeps.
    fn left(_stage: &Stage<Self>) -> Option<String> {
        None
    }
}

pub(super) struct Stage<M: Role> {
    pub(super) machine: M,
    pub(super) now: Now,
    pub(super) kept: Kept,
    pub(super) memory: M::Memory,
    pub(super) feed: Feed,
    /// How much of the next frame has been read already.
    pub(super) early: usize,
    /// Frames and events that no step has asked for yet.
    said: VecDeque<Said<M::Event>>,
    /// Remarks that no step has asked for: they may come before or after the frame that they go with.
    remarks: Vec<Diagnostic>,
    frames: Vec<Frame>,
}

impl<M: Role> Stage<M> {
    pub(super) fn new(machine: M, feed: Feed) -> Self {
        Self {
            machine,
            now: Now { mono: Mono::from_nanos(0), unix: Unix::from_millis(1_800_000_000_000) },
            kept: Kept::default(),
            memory: M::Memory::default(),
            feed,
            early: 0,
            said: VecDeque::new(),
            remarks: Vec::new(),
            frames: Vec::new(),
        }
    }

    pub(super) fn play(mut self, transcript: &Transcript) -> Result<Vec<Frame>, Mismatch> {
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
        for (index, step) in transcript.steps.iter().enumerate() {
            let rest = transcript.steps.get(index + 1..).unwrap_or_default();
            self.step(step, rest).map_err(|problem| failed(index + 1, &step.verb, problem))?;
        }
        self.quiet().map_err(|problem| failed(transcript.steps.len() + 1, END_OF_FILE, problem))?;
        Ok(self.frames)
    }

    fn step(&mut self, step: &Step, rest: &[Step]) -> Result<(), Problem> {
        // Whatever the last step brought about is said before the next one.
        self.drain()?;
        let mut values = step.more.values().chain([&step.value]);
        if let Some(name) = values.find_map(|value| self.kept.unknown(value)) {
            return Err(format!("nothing is kept as {name:?}"));
        }
        match &*step.verb {
            "close" => {
                self.machine.close(self.now);
                Ok(())
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
            "quiet" => self.quiet(),
            "diagnostic" => self.diagnostic(&step.value),
            _ => M::take(self, step, rest),
        }
    }

    /// Notes what one side has said to the other.
    pub(super) fn note(&mut self, from: Side, text: &str, wrong: bool) {
        self.frames.push(Frame { from, at: self.now.mono, text: text.to_owned(), wrong });
    }

    /// An event, which must come now.
    pub(super) fn event(&mut self) -> Result<M::Event, Problem> {
        match self.next()? {
            Some(Said::Event(event)) => Ok(event),
            Some(other) => Err(format!("instead of an event: {}", shown(&other))),
            None => Err("nothing happened".to_owned()),
        }
    }

    /// The next thing that is no remark.
    pub(super) fn next(&mut self) -> Result<Option<Said<M::Event>>, Problem> {
        self.drain()?;
        Ok(self.said.pop_front())
    }

    fn diagnostic(&mut self, expected: &Json) -> Result<(), Problem> {
        self.drain()?;
        let wanted: String = read(expected)?;
        match self.remarks.iter().position(|found| found.kind.name() == wanted) {
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
        self.quiet()?;
        match self.machine.poll_timeout() {
            None => Ok(()),
            Some((_, kind)) => Err(format!("waiting for {}", kind.name())),
        }
    }

    fn quiet(&mut self) -> Result<(), Problem> {
        self.drain()?;
        let left = self.said.front().map(shown).or_else(|| M::left(self));
        left.map_or(Ok(()), |left| Err(format!("the machine said more: {left}")))
    }

    pub(super) fn drain(&mut self) -> Result<(), Problem> {
        while let Some(said) = M::poll(self)? {
            match said {
                Said::Remark(remark) => self.remarks.push(remark),
                said => self.said.push_back(said),
            }
        }
        Ok(())
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

pub(super) fn shown<E: std::fmt::Debug>(said: &Said<E>) -> String {
    match said {
        Said::Frame(frame) => format!("the frame {}", String::from_utf8_lossy(frame).trim_end()),
        Said::Remark(diagnostic) => format!("the remark {:?} {diagnostic}", diagnostic.kind.name()),
        Said::Event(event) => format!("the event {event:?}"),
    }
}
