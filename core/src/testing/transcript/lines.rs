//! The steps of stdio: lines in, lines out, the end of the input.
//!
//! Input runs ahead of the steps by the beginning of the next frame at most ([`Feed::Trailing`]); everything else
//! happens in the order of the file.

use bytes::Bytes;

use super::play::{Problem, Role, Said, Stage, shown};
use super::{Feed, Step, Verbs};
use crate::error::Error;
use crate::json::Json;
use crate::machine::{Input, Now};
use crate::testing::pair::Side;
use crate::testing::peer::{Machine, Sorted};

pub(super) const VERBS: Verbs = &[("in", &["invalid"]), ("out", &[]), ("end", &[])];

/// How much of the next frame a trailing feed delivers early.
const TRAILING: usize = 9;

/// A machine of a byte stream.
pub trait Lines: Role {
    /// Something happens on the stream: bytes come, or their end.
    ///
    /// # Errors
    /// As the machine's own `handle`.
    fn handle(&mut self, now: Now, input: Input) -> Result<(), Error>;
}

/// The next thing that a machine of a byte stream says. What it writes is reported as written at once.
pub(super) fn poll<M: Lines + Machine>(stage: &mut Stage<M>) -> Result<Option<Said<M::Action>>, Problem> {
    let Some(action) = stage.machine.poll_action() else { return Ok(None) };
    Ok(Some(match M::sort(action) {
        Sorted::Diagnostic(remark) => Said::Remark(remark),
        Sorted::Event { action, .. } => Said::Event(action),
        Sorted::Frame(frame) => {
            stage.written(&frame)?;
            // Once it is closed, nobody asks what was written.
            let _ = Lines::handle(&mut stage.machine, stage.now, Input::Written(frame.len()));
            Said::Frame(frame)
        }
    }))
}

impl<M: Lines> Stage<M> {
    /// Notes a frame that the machine has written.
    ///
    /// # Errors
    /// When it is not one line of UTF-8.
    pub fn written(&mut self, frame: &[u8]) -> Result<(), Problem> {
        let line = frame.strip_suffix(b"\n").ok_or("a frame has no newline")?;
        let text = std::str::from_utf8(line).map_err(|_| "a frame is not UTF-8")?;
        if text.contains('\n') {
            return Err("a newline within a frame".to_owned());
        }
        self.note(M::SIDE, text, false);
        Ok(())
    }

    /// Takes a step of stdio; `None` if it is none.
    pub fn line_step(&mut self, step: &Step, rest: &[Step]) -> Option<Result<(), Problem>> {
        match &*step.verb {
            "in" => Some(self.input(step, rest)),
            "out" => Some(self.output(&step.value)),
            "end" => Some(self.feed_machine(Input::Eof)),
            _ => None,
        }
    }

    /// Gives the machine its next frame, but for what came with the frame before.
    fn input(&mut self, step: &Step, rest: &[Step]) -> Result<(), Problem> {
        let bytes = step.line(&self.kept).ok_or("the input is neither a line nor hexadecimal")?;
        if let Ok(text) = std::str::from_utf8(&bytes) {
            self.note(other(M::SIDE), text.trim_end_matches('\n'), step.more.contains_key("invalid"));
        }
        let mut bytes = bytes.get(self.early..).unwrap_or_default().to_vec();
        self.early = 0;
        if self.feed == Feed::Bytes {
            return bytes.iter().try_for_each(|byte| self.feed_machine(Input::Bytes(Bytes::copy_from_slice(&[*byte]))));
        }
        if self.feed == Feed::Trailing {
            let until_end = rest.iter().take_while(|step| step.verb != "end");
            let next = until_end.filter_map(|step| step.line(&self.kept)).next();
            let line = next.iter().flatten().take_while(|byte| **byte != b'\n').take(TRAILING);
            let before = bytes.len();
            // What a step still has to fill in is not known yet.
            bytes.extend(line.take_while(|byte| **byte != b'$'));
            self.early = bytes.len() - before;
        }
        self.feed_machine(Input::Bytes(bytes.into()))
    }

    /// Gives a line to the machine that no step has.
    ///
    /// # Errors
    /// When it is not taken.
    pub fn say(&mut self, line: &str) -> Result<(), Problem> {
        self.note(other(M::SIDE), line, false);
        self.feed_machine(Input::Bytes(format!("{line}\n").into()))
    }

    fn feed_machine(&mut self, input: Input) -> Result<(), Problem> {
        // A fatal error shows as the end of the connection too, which a step must expect.
        match self.machine.handle(self.now, input) {
            Ok(()) | Err(Error::LimitExceeded { .. }) => Ok(()),
            Err(error) => Err(format!("the machine refused it: {error}")),
        }
    }

    fn output(&mut self, expected: &Json) -> Result<(), Problem> {
        let frame = self.frame()?;
        self.kept.compare(expected, &frame)
    }

    /// A frame that the machine must write now, whatever it says.
    ///
    /// # Errors
    /// When it writes none.
    pub fn frame(&mut self) -> Result<String, Problem> {
        match self.next(|said| matches!(said, Said::Frame(_)))? {
            Some(Said::Frame(frame)) => Ok(String::from_utf8_lossy(&frame).trim_end().to_owned()),
            Some(other) => Err(format!("instead of a frame: {}", shown(&other))),
            None => Err("nothing was written".to_owned()),
        }
    }
}

pub(super) fn other(side: Side) -> Side {
    if side == Side::Server { Side::Client } else { Side::Server }
}
