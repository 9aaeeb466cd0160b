//! The client's side of the driver loop.

use std::task::Waker;

use mcp_sansio::client::{Action, Client, Closed};
use mcp_sansio::error::Error;
use mcp_sansio::machine::{Input, Now, TimerKind};

use super::machine::Machine;
use super::worker::Worker;
use crate::driver::{Outbox, Side, Status};
use crate::trace::Tracer;

/// The most actions that are taken in one go.
const BATCH: usize = 128;

pub(super) struct ClientSide {
    worker: Worker,
    actions: Vec<Action>,
    failed: Option<Error>,
}

impl ClientSide {
    pub(super) const fn new(worker: Worker) -> Self {
        Self { worker, actions: Vec::new(), failed: None }
    }

    /// Uses the machine, which is one for streams here.
    fn quietly<T>(&self, verb: impl FnOnce(&mut Client) -> T) -> Option<T> {
        self.worker.link.quietly(|state| match &mut state.machine {
            Machine::Lines(machine) => Some(verb(machine)),
            #[cfg(feature = "http")]
            Machine::Http(_) => None,
        })
    }

    fn act_on(&mut self, action: Action, outbox: &mut Outbox, tracer: Option<&Tracer>) {
        if let Some(tracer) = tracer {
            tracer.client(&action);
        }
        match action {
            Action::Write(frame) => outbox.push(frame),
            other => self.worker.act_on(other),
        }
    }
}

impl Side for ClientSide {
    type Closed = Closed;
    // Answers, or the error that explains why the server has gone.
    const HEARS_LAST_WORDS: bool = true;

    fn register(&self, waker: &Waker) {
        self.worker.link.register(waker);
    }

    fn status(&self) -> Status {
        let status = self.quietly(|machine| Status {
            wants_input: machine.wants_input(),
            // Queued actions are done in any case.
            deadline: machine.poll_timeout().filter(|(_, kind)| *kind != TimerKind::Actions).map(|(at, _)| at),
        });
        status.unwrap_or(Status { wants_input: false, deadline: None })
    }

    fn handle(&mut self, now: Now, input: Input) {
        if let Some(Err(error)) = self.quietly(|machine| machine.handle(now, input)) {
            self.failed.get_or_insert(error);
        }
    }

    fn timeout(&mut self, now: Now) {
        self.quietly(|machine| machine.handle_timeout(now));
    }

    fn act(&mut self, _: Now, outbox: &mut Outbox, tracer: Option<&Tracer>) -> bool {
        let mut acted = false;
        loop {
            let mut actions = std::mem::take(&mut self.actions);
            self.quietly(|machine| {
                while actions.len() < BATCH
                    && let Some(action) = machine.poll_action()
                {
                    actions.push(action);
                }
            });
            if actions.is_empty() {
                return acted;
            }
            acted = true;
            for action in actions.drain(..) {
                self.act_on(action, outbox, tracer);
            }
            self.actions = actions;
            self.worker.tell();
        }
    }

    fn close(&mut self, now: Now) {
        self.quietly(|machine| machine.close(now));
    }

    fn closed(&mut self) -> Option<Closed> {
        let closed = self.worker.closed.take().or_else(|| self.failed.take().map(Closed::Failed))?;
        self.worker.link.closed(closed.clone());
        Some(closed)
    }
}

impl Drop for ClientSide {
    fn drop(&mut self) {
        // A driver that is dropped ends its connection; after an orderly end this changes nothing.
        self.worker.link.closed(Closed::Requested);
    }
}
