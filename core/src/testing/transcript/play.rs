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
pub type Problem = String;

/// Something that a machine says.
#[derive(Debug)]
pub enum Said<E> {
    /// A frame of a byte stream, newline included.
    Frame(Bytes),
    /// Passed over unless a step names it.
    Remark(Diagnostic),
    /// Whoever drives the machine, or its application, must see it.
    Event(E),
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// Nothing.
    None,
    /// This moment, for this reason.
    At(Mono, TimerKind),
    /// This moment; why is not known.
    Moment(Mono),
}

impl Deadline {
    /// As a machine says it.
    #[must_use]
    pub fn of(due: Option<(Mono, TimerKind)>) -> Self {
        due.map_or(Self::None, |(at, kind)| Self::At(at, kind))
    }

    fn check(self, now: Mono, in_ms: u64, wanted: &str) -> Result<(), Problem> {
        let until = |at| now.until(at).as_millis();
        match self {
            Self::None => Err("nothing is waited for".to_owned()),
            Self::At(at, kind) if until(at) != u128::from(in_ms) || kind.name() != wanted => {
                Err(format!("the deadline is {} in {} ms", kind.name(), until(at)))
            }
            Self::Moment(at) if until(at) != u128::from(in_ms) => Err(format!("the deadline is in {} ms", until(at))),
            _ => Ok(()),
        }
    }
}

/// Whatever takes the steps of a role: a machine, or something that has one inside.
pub trait Role: Sized {
    /// What its driver or its application must see.
    type Event: std::fmt::Debug;
    /// What is remembered between steps.
    type Memory: Default;

    /// Which side it is.
    const SIDE: Side;
    /// Whether frames and events come in one order. If not, a step looks for the next of its own kind.
    const ORDERED: bool = true;

    /// The next thing that it says. `None`: it has said everything that it has to say for now.
    ///
    /// # Errors
    /// What it must not say.
    fn poll(stage: &mut Stage<Self>) -> Result<Option<Said<Self::Event>>, Problem>;

    /// Time has passed.
    fn handle_timeout(&mut self, now: Now);

    /// What it waits for.
    fn deadline(&self) -> Deadline;

    /// Ends it.
    fn close(&mut self, now: Now);

    /// Opens the legacy session that a transcript starts with.
    ///
    /// # Errors
    /// When it does not open.
    fn open(stage: &mut Stage<Self>, version: &str, capabilities: &Json) -> Result<(), Problem>;

    /// Takes a step that not all machines have. `rest` are those that follow.
    ///
    /// # Errors
    /// When the step fails.
    fn take(stage: &mut Stage<Self>, step: &Step, rest: &[Step]) -> Result<(), Problem>;

    /// What is still to be checked, for which the transcript ends too early.
    fn unchecked(_stage: &Stage<Self>) -> Option<String> {
        None
    }

    /// What is left beside the events that the stage keeps.
    fn left(_stage: &Stage<Self>) -> Option<String> {
        None
    }
}

/// Where a transcript is played: the machine, its clock, and what it has said.
#[derive(Debug)]
pub struct Stage<M: Role> {
    /// The machine.
    pub machine: M,
    /// The time: that of the transcript.
    pub now: Now,
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
        let over = self.quiet().and_then(|()| M::unchecked(&self).map_or(Ok(()), Err));
        over.map_err(|problem| failed(transcript.steps.len() + 1, END_OF_FILE, problem))?;
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
    pub fn note(&mut self, from: Side, text: &str, wrong: bool) {
        self.frames.push(Frame { from, at: self.now.mono, text: text.to_owned(), wrong });
    }

    /// An event, which must come now.
    ///
    /// # Errors
    /// When it does not.
    pub fn event(&mut self) -> Result<M::Event, Problem> {
        self.event_of(|_| true)
    }

    /// The same; where there is no order, the next event that fits.
    ///
    /// # Errors
    /// When there is none.
    pub fn event_of(&mut self, fits: impl Fn(&M::Event) -> bool) -> Result<M::Event, Problem> {
        match self.next(|said| matches!(said, Said::Event(event) if fits(event)))? {
            Some(Said::Event(event)) => Ok(event),
            Some(other) => Err(format!("instead of an event: {}", shown(&other))),
            None => Err(match self.said.front() {
                Some(other) => format!("nothing of the kind happened, but {}", shown(other)),
                None => "nothing happened".to_owned(),
            }),
        }
    }

    /// The next thing that is no remark; where there is no order among frames and events, the next one of a kind.
    pub(super) fn next(&mut self, of: impl Fn(&Said<M::Event>) -> bool) -> Result<Option<Said<M::Event>>, Problem> {
        self.drain()?;
        let place = if M::ORDERED { Some(0) } else { self.said.iter().position(of) };
        Ok(place.and_then(|place| self.said.remove(place)))
    }

    /// Whether something was said that no step has asked for.
    pub(super) fn says_more(&self) -> bool {
        !self.said.is_empty()
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
        self.machine.deadline().check(self.now.mono, expected.in_ms, &expected.kind)
    }

    fn idle(&mut self) -> Result<(), Problem> {
        self.quiet()?;
        match self.machine.deadline() {
            Deadline::None => Ok(()),
            Deadline::At(_, kind) => Err(format!("waiting for {}", kind.name())),
            Deadline::Moment(at) => Err(format!("waiting for {:?}", self.now.mono.until(at))),
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
