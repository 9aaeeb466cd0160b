//! The client on a byte stream: lines in, frames out.

use bytes::Bytes;

use super::core::{Core, Out};
use super::verbs::{Client, Transport, sealed};
use super::{Action, Config, ConfigError};
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::error::Error;
use crate::jsonrpc::is_plain_line;
use crate::limits::Bound;
use crate::machine::{Input, Now};
use crate::stdio::line::{LineDecoder, LineError};

/// A stream of lines: the pipes of a child process, a socket, or any other pair of byte streams.
#[derive(Debug)]
pub struct Lines(LineDecoder);

impl sealed::Sealed for Lines {}

impl Transport for Lines {}

impl Client {
    /// A client on a byte stream that has not said anything yet.
    ///
    /// # Errors
    /// When the configuration contradicts itself.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let lines = LineDecoder::new(config.limits.frame_bytes);
        Ok(Self { core: Core::new(config)?, transport: Lines(lines) })
    }

    /// Something happened on the stream. Reports of what was written are taken at any time; nothing else is after
    /// the end.
    ///
    /// # Errors
    /// When the stream cannot be read on, because a line has no end; when the machine is closed. Frames that are no
    /// messages are diagnostics.
    pub fn handle(&mut self, now: Now, input: Input) -> Result<(), Error> {
        self.core.touch(now);
        if let Input::Written(bytes) = input {
            self.core.on_written(now, bytes);
            self.core.settle();
            return Ok(());
        }
        self.core.alive()?;
        match input {
            Input::Bytes(line) if self.transport.0.passes_whole(line.len()) && is_plain_line(&line) => {
                self.core.on_plain_line(now, line);
            }
            Input::Bytes(bytes) => {
                self.transport.0.push(bytes);
                while let Some(line) = self.transport.0.next() {
                    self.line(now, line);
                }
            }
            Input::Eof => {
                while let Some(line) = self.transport.0.finish() {
                    self.line(now, line);
                }
                self.core.on_eof();
            }
            Input::Written(_) => {}
        }
        self.core.settle();
        match self.core.failure() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn line(&mut self, now: Now, line: Result<Bytes, LineError>) {
        if self.core.alive().is_err() {
            // What comes after the end is nobody's.
            return;
        }
        match line {
            Ok(frame) => self.core.on_frame(now, frame),
            Err(error @ LineError::TooLong { .. }) => {
                self.core.diagnose(Diagnostic::new(DiagnosticKind::Limit(Bound::FrameBytes), error.to_string()));
            }
            Err(LineError::Flood { limit }) => self.core.fail(Error::limit(Bound::FrameBytes, limit)),
        }
    }

    /// The next thing to do; `None` when everything is done.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.core.poll().map(|out| match out {
            Out::Event(action) => action,
            Out::Frame(frame, _) | Out::Cancel { frame, .. } => Action::Write(frame),
        })
    }

    /// The era, as soon as it is known.
    #[cfg(test)]
    pub(super) fn core_era(&self) -> Option<crate::spec::Era> {
        self.core.era()
    }
}
