//! One machine under test, with what it has said.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::client::{self, Client};
use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::machine::{Input, Mono, Now, TimerKind};
use crate::server::{self, Server};

/// What every machine of a byte stream has in common, as far as a harness needs it.
pub trait Machine {
    /// What it tells its driver to do.
    type Action;

    /// Something happened on the stream.
    ///
    /// # Errors
    /// As the machine's own `handle`.
    fn handle(&mut self, now: Now, input: Input) -> Result<(), Error>;

    /// Lets deadlines take effect.
    fn handle_timeout(&mut self, now: Now);

    /// The next thing to do.
    fn poll_action(&mut self) -> Option<Self::Action>;

    /// When to wake it, and why.
    fn poll_timeout(&self) -> Option<(Mono, TimerKind)>;

    /// Tells what a driver does by itself from what an application must see.
    fn sort(action: Self::Action) -> Sorted<Self::Action>;
}

/// An action, by who deals with it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Sorted<A> {
    /// The driver writes it.
    Frame(Bytes),
    /// Somebody may want to read it.
    Diagnostic(Diagnostic),
    /// The application deals with it; after `last` nothing comes any more.
    Event {
        /// The action.
        action: A,
        /// Whether it is the last one.
        last: bool,
    },
}

macro_rules! machine {
    ($machine:ty, $module:ident) => {
        impl Machine for $machine {
            type Action = $module::Action;

            fn handle(&mut self, now: Now, input: Input) -> Result<(), Error> {
                <$machine>::handle(self, now, input)
            }

            fn handle_timeout(&mut self, now: Now) {
                <$machine>::handle_timeout(self, now);
            }

            fn poll_action(&mut self) -> Option<Self::Action> {
                <$machine>::poll_action(self)
            }

            fn poll_timeout(&self) -> Option<(Mono, TimerKind)> {
                <$machine>::poll_timeout(self)
            }

            fn sort(action: Self::Action) -> Sorted<Self::Action> {
                match action {
                    $module::Action::Write(frame) => Sorted::Frame(frame),
                    $module::Action::Diagnostic(diagnostic) => Sorted::Diagnostic(diagnostic),
                    action => {
                        let last = matches!(action, $module::Action::Closed(_));
                        Sorted::Event { action, last }
                    }
                }
            }
        }
    };
}

machine!(Server, server);
machine!(Client, client);

/// A machine with its driver's memory.
#[derive(Debug)]
pub struct Peer<M: Machine> {
    /// The machine.
    pub machine: M,
    /// What it wanted of its application and nobody has taken, oldest first.
    pub events: VecDeque<M::Action>,
    /// What it remarked on, oldest first.
    pub diagnostics: Vec<Diagnostic>,
    /// The error that its `handle` answered last.
    pub failure: Option<Error>,
    closed: bool,
}

impl<M: Machine> Peer<M> {
    /// A machine that nothing has happened to.
    pub const fn new(machine: M) -> Self {
        Self { machine, events: VecDeque::new(), diagnostics: Vec::new(), failure: None, closed: false }
    }

    /// Takes the oldest event that `pick` answers; those that it gives back stay, in their order.
    pub fn take<T>(&mut self, mut pick: impl FnMut(M::Action) -> Result<T, M::Action>) -> Option<T> {
        let mut passed = VecDeque::new();
        let mut taken = None;
        while let Some(event) = self.events.pop_front() {
            match pick(event) {
                Ok(value) => {
                    taken = Some(value);
                    break;
                }
                Err(event) => passed.push_back(event),
            }
        }
        while let Some(event) = passed.pop_back() {
            self.events.push_front(event);
        }
        taken
    }

    /// Whether the machine has said its last.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Gives the machine something; an error of it is kept in `failure`. A closed machine is left in peace.
    pub fn receive(&mut self, now: Now, input: Input) {
        if !self.closed
            && let Err(error) = self.machine.handle(now, input)
        {
            self.failure = Some(error);
        }
    }

    /// Takes everything that the machine has to say: its frames are the answer, its events and remarks are kept.
    ///
    /// # Panics
    /// When a frame is not one line of UTF-8.
    pub fn drain(&mut self, now: Now) -> Vec<String> {
        let mut frames = Vec::new();
        while let Some(sorted) = self.act(now) {
            match sorted {
                Sorted::Frame(frame) => frames.push(line(&frame).to_owned()),
                Sorted::Event { action, .. } => self.events.push_back(action),
                Sorted::Diagnostic(diagnostic) => self.diagnostics.push(diagnostic),
            }
        }
        frames
    }

    /// Takes the machine's next action, remarks put aside and frames reported as written.
    pub(super) fn act(&mut self, now: Now) -> Option<Sorted<M::Action>> {
        loop {
            match M::sort(self.machine.poll_action()?) {
                Sorted::Diagnostic(diagnostic) => self.diagnostics.push(diagnostic),
                Sorted::Frame(frame) => {
                    // A machine that has closed since does not mind what was written.
                    let _ = self.machine.handle(now, Input::Written(frame.len()));
                    return Some(Sorted::Frame(frame));
                }
                Sorted::Event { action, last } => {
                    self.closed |= last;
                    return Some(Sorted::Event { action, last });
                }
            }
        }
    }

    /// The machine's own next deadline.
    pub(super) fn deadline(&self) -> Option<Mono> {
        if self.closed { None } else { self.machine.poll_timeout().map(|(at, _)| at) }
    }

    /// Fires what is due.
    ///
    /// # Panics
    /// When a deadline stays due though nothing came of it: a driver would spin for ever.
    pub fn wake(&mut self, now: Now) {
        if self.deadline().is_none_or(|at| at > now.mono) {
            return;
        }
        self.machine.handle_timeout(now);
        if let Some((at, kind)) = self.machine.poll_timeout() {
            assert!(
                at > now.mono || kind == TimerKind::Actions,
                "the deadline {kind:?} is still due after it was handled"
            );
        }
    }
}

/// The text of a frame.
///
/// # Panics
/// When it is not one line of UTF-8.
pub(super) fn line(frame: &Bytes) -> &str {
    let text = frame.strip_suffix(b"\n").unwrap_or_else(|| panic!("a frame has no newline"));
    assert!(!text.contains(&b'\n'), "a newline within a frame");
    std::str::from_utf8(text).unwrap_or_else(|_| panic!("a frame is not UTF-8"))
}
