//! What every driver of a client does: outcomes go to calls, questions to handlers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;

use futures_util::FutureExt;
use futures_util::future::{AbortHandle, Abortable};
use mcp_sansio::client::{Action, Answer, CallError, Closed, InputAnswer, InputId, InputNeeded};
use mcp_sansio::error::ErrorObject;
use mcp_sansio::ids::{CallId, ReplySlot};
use mcp_sansio::json::Json;

use super::Notification;
use super::link::{Ended, Link};
use crate::report::Report;
use crate::runtime::BoxFuture;
use crate::server::HandlerError;

pub(super) struct Worker {
    pub(super) link: Arc<Link>,
    outcomes: Vec<(CallId, Result<Answer, CallError>)>,
    wakers: Vec<Waker>,
    pub(super) closed: Option<Closed>,
}

impl Worker {
    pub(super) const fn new(link: Arc<Link>) -> Self {
        Self { link, outcomes: Vec::new(), wakers: Vec::new(), closed: None }
    }

    /// Does what the machine asks for, if it has nothing to do with bytes.
    pub(super) fn act_on(&mut self, action: Action) {
        match action {
            Action::Done { call, outcome } => self.outcomes.push((call, outcome)),
            Action::Progress { call, progress } => self.link.progressed(call, progress),
            Action::Notified { method, params, subscription } => {
                self.link.notified(&Notification { method: method.into(), params }, subscription);
            }
            Action::Connected(facts) | Action::Renewed(facts) => self.link.connected(*facts),
            Action::Listening { call, filter } => self.link.listening(call, filter),
            Action::NeedInput(needed) => self.ask(*needed),
            Action::CancelledInput { input, .. } => {
                if let Some(handler) = self.link.quietly(|state| state.inputs.remove(&input)) {
                    handler.abort();
                }
            }
            Action::Invoke { slot, method, params } => self.invoke(slot, method, params),
            Action::CancelledInvoke { slot, .. } => {
                if let Some(handler) = self.link.quietly(|state| state.invokes.remove(&slot)) {
                    handler.abort();
                }
            }
            Action::Diagnostic(diagnostic) => self.link.hooks.report(&Report::Diagnostic(&diagnostic)),
            Action::Closed(why) => self.closed = Some(why),
            // An action of a newer core has no meaning here.
            _ => {}
        }
    }

    /// Tells calls of their outcomes.
    pub(super) fn tell(&mut self) {
        self.link.done(&mut self.outcomes, &mut self.wakers);
    }

    /// Runs the handler of a question.
    fn ask(&self, needed: InputNeeded) {
        let input = needed.input;
        let (abort, registration) = AbortHandle::new_pair();
        self.link.quietly(|state| state.inputs.insert(input, abort));
        let guard = InputGuard { link: Arc::clone(&self.link), input, answered: false };
        let link = Arc::clone(&self.link);
        let method = needed.request.method().map_or("", |method| method.as_str());
        let work = async move {
            let answer = caught(|| link.handlers.answer(needed)).await;
            guard.answer(answer.map_err(|error| refusal(&link, method, error)));
        };
        self.link.runtime.spawn(Box::pin(Abortable::new(work, registration).map(drop)));
    }

    /// Runs the handler of a request of the server.
    fn invoke(&self, slot: ReplySlot, method: Box<str>, params: Json) {
        let (abort, registration) = AbortHandle::new_pair();
        self.link.quietly(|state| state.invokes.insert(slot.id(), abort));
        let guard = SlotGuard { link: Arc::clone(&self.link), slot: Some(slot) };
        let link = Arc::clone(&self.link);
        let work = async move {
            let Some(handler) = link.handlers.methods.get(&method) else { return };
            let answer = caught(|| handler(params)).await;
            guard.reply(answer.map_err(|error| refusal(&link, &method, error)));
        };
        self.link.runtime.spawn(Box::pin(Abortable::new(work, registration).map(drop)));
    }
}

/// Runs a handler; a panic becomes an error.
async fn caught<T>(handler: impl FnOnce() -> BoxFuture<'static, Result<T, HandlerError>>) -> Result<T, HandlerError> {
    let panicked = |_| HandlerError::hidden("the handler panicked");
    let work = catch_unwind(AssertUnwindSafe(handler)).map_err(panicked)?;
    AssertUnwindSafe(work).catch_unwind().await.map_err(panicked)?
}

/// What the server is told of a failure; the rest goes to the error reporter.
fn refusal(link: &Link, method: &str, error: HandlerError) -> ErrorObject {
    let (object, hidden) = error.into_object();
    if let Some(error) = hidden {
        link.hooks.report(&Report::NotificationFailed { method, error: &*error });
    }
    object
}

/// The duty to answer a question. Dropped without an answer, it refuses.
struct InputGuard {
    link: Arc<Link>,
    input: InputId,
    answered: bool,
}

impl InputGuard {
    fn answer(mut self, answer: Result<InputAnswer, ErrorObject>) {
        self.answered = true;
        let input = self.input;
        self.link.quietly(|state| state.inputs.remove(&input));
        let answer = answer.unwrap_or_else(InputAnswer::Refused);
        if let Err(error) = self.link.with(|machine, now| machine.supply_input(now, input, &answer)) {
            // The answer does not fit, or the question has gone. The first is the handler's fault.
            self.link.hooks.report(&Report::AnswerRefused { error: &error });
            self.refuse();
        }
    }

    fn refuse(&self) {
        let (input, refusal) = (self.input, InputAnswer::Refused(ErrorObject::internal()));
        // A question that has gone needs no answer.
        let _ = self.link.with(|machine, now| machine.supply_input(now, input, &refusal));
    }
}

impl Drop for InputGuard {
    fn drop(&mut self) {
        if !self.answered {
            let open = self.link.quietly(|state| state.inputs.remove(&self.input));
            // A question that was withdrawn is not in the table any more.
            if open.is_some() {
                self.refuse();
            }
        }
    }
}

/// The duty to answer a request of the server.
struct SlotGuard {
    link: Arc<Link>,
    slot: Option<ReplySlot>,
}

impl SlotGuard {
    fn reply(mut self, reply: Result<Json, ErrorObject>) {
        if let Some(slot) = self.slot.take() {
            self.link.quietly(|state| state.invokes.remove(&slot.id()));
            if let Err(error) = self.link.with(|machine, now| machine.reply(now, slot, reply)) {
                self.link.hooks.report(&Report::AnswerRefused { error: &error });
            }
        }
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.link.quietly(|state| state.invokes.remove(&slot.id()));
            // A connection that has ended needs no answers.
            let _ = self.link.with(|machine, now| machine.abandon(now, slot));
        }
    }
}

/// Tells the end when it is dropped, whatever came before: the last thing that happens on a connection.
pub(super) struct EndGuard(pub(super) Arc<Link>);

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.0.end(Ended::Dropped);
    }
}
