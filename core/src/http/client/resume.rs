//! When a broken stream is resumed, and when it is given up.
//!
//! | stream | breaks | resumed |
//! |---|---|---|
//! | of a modern request | with or without the id of an event | never: there is no such thing in that era |
//! | of a legacy request | without the id of an event | never: nothing says where to go on |
//! | of a legacy request | with one | by a GET that names it, after the wait |
//! | of a session | in any way | by a GET, with the id if there is one |
//!
//! The wait is what the server asks for (`retry`), and at least 100 ms, twice as long after each attempt in a row that
//! brought nothing. All silence between the break and the next event, over all breaks of one request, is paid from one
//! budget; a wait that would pass it is not begun, and what is left of it is how long a resumed stream may be silent.
//!
//! Source: `basic/transports` of 2025-11-25 (Sending Messages, Resumability and Redelivery).

use std::time::Duration;

use super::api::{Action, FetchId};
use super::error::ExchangeError;
use super::exchange::{Exchange, Kind, Phase, Resume};
use super::machine::Http;
use crate::client::Core;
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::machine::{Mono, Now};

/// The longest wait of our own choice.
const WAIT_MOST: Duration = Duration::from_secs(10);
/// A stream that was open for so long was worth the attempt, even if nothing came.
const WORTH: Duration = Duration::from_secs(5);

impl Http {
    /// A stream has ended or broken before its purpose was reached. The exchange is over and taken out.
    pub(super) fn broken(&mut self, core: &mut Core, now: Now, fetch: FetchId, exchange: Exchange, why: ExchangeError) {
        let floor = core.limits().resume_floor;
        let mut exchange = exchange;
        let wait = match &mut exchange.kind {
            Kind::Call(call) if call.is_resumable() && call.resume.can_name_its_place() => {
                let wait = call.resume.wait(now.mono, floor);
                if wait.is_some() {
                    core.rest(call.wire);
                }
                wait
            }
            Kind::Listen(resume) => {
                if resume.opened.is_some_and(|opened| opened.until(now.mono) >= WORTH) {
                    resume.start_over(core.limits().resume_budget);
                }
                resume.wait(now.mono, floor)
            }
            Kind::Call(_) | Kind::Delete | Kind::Message { .. } | Kind::Pair | Kind::Posted { .. } => None,
        };
        let Some(wait) = wait else { return self.fail(core, now, exchange, why) };
        exchange.phase = Phase::Waiting;
        self.exchanges.insert(fetch, exchange);
        self.timers.set(fetch, now.mono.after(wait));
    }

    /// Sends the request of an exchange again, whatever it is.
    pub(super) fn relaunch(&mut self, core: &mut Core, now: Now, mut exchange: Exchange) {
        let silence = match &mut exchange.kind {
            Kind::Call(call) if call.resumed => {
                call.resume.silent.get_or_insert(now.mono);
                Some(call.resume.deadline(now.mono))
            }
            Kind::Listen(resume) if resume.silent.is_some() => Some(resume.deadline(now.mono)),
            _ => None,
        };
        let opens = matches!(exchange.kind, Kind::Message { opens: true, .. });
        let fetch = self.launch(core, exchange);
        if let Some(at) = silence {
            self.timers.set(fetch, at);
        }
        if opens && self.opening.is_some() {
            self.opening = Some(fetch);
        }
    }

    /// A deadline has come.
    pub(super) fn obey(&mut self, core: &mut Core, now: Now, fetch: FetchId) {
        let Some(mut exchange) = self.exchanges.remove(&fetch) else { return };
        match exchange.phase {
            Phase::Waiting => {
                if let Kind::Call(call) = &mut exchange.kind {
                    call.resumed = true;
                }
                self.relaunch(core, now, exchange);
            }
            Phase::Rest => {
                self.forget_wire(&exchange);
                self.actions.push_back(Action::Abort(fetch));
            }
            _ if self.opening == Some(fetch) => {
                // It may be answered yet; nobody waits for that.
                self.exchanges.insert(fetch, exchange);
                self.opened(core, now);
            }
            // A resumed stream has been silent for all that was left.
            Phase::Asked(_) | Phase::Events(_) | Phase::Head | Phase::Json(_) | Phase::Refused { .. } => {
                if exchange.is_running() {
                    self.actions.push_back(Action::Abort(fetch));
                }
                self.fail(core, now, exchange, ExchangeError::Ended);
            }
        }
    }

    /// An exchange that was taken out ends without what was asked for.
    pub(super) fn fail(&mut self, core: &mut Core, now: Now, mut exchange: Exchange, why: ExchangeError) {
        core.on_written(now, std::mem::take(&mut exchange.unwritten));
        let Some(exchange) = self.look_for_pair(core, exchange, &why) else { return };
        self.forget_wire(&exchange);
        match exchange.kind {
            Kind::Call(call) => core.exchange_failed(now, call.wire, why, call.resume.retry),
            Kind::Posted { wire, .. } => core.exchange_failed(now, wire, why, None),
            Kind::Pair => self.pair_ended(core, now),
            Kind::Delete => {}
            Kind::Listen(_) => {
                let text = format!("the stream of the session is given up: {why}");
                core.diagnose(Diagnostic::new(DiagnosticKind::Exchange, text));
            }
            Kind::Message { opens, .. } => {
                let text = format!("a notification or a response was not taken: {why}");
                core.diagnose(Diagnostic::new(DiagnosticKind::Exchange, text));
                if opens && self.opening.is_some() {
                    self.opened(core, now);
                }
            }
        }
    }
}

impl Resume {
    /// Whether there is an id that a header can carry.
    fn can_name_its_place(&self) -> bool {
        let is_plain =
            |id: &str| !id.starts_with(' ') && !id.ends_with(' ') && !id.bytes().any(|b| b.is_ascii_control());
        self.last_id.as_deref().is_some_and(is_plain)
    }

    /// How long to wait before the next attempt; `None` if the budget does not allow it.
    fn wait(&mut self, now: Mono, floor: Duration) -> Option<Duration> {
        self.silent.get_or_insert(now);
        let own = floor.saturating_mul(1_u32.checked_shl(self.attempts).unwrap_or(u32::MAX)).min(WAIT_MOST.max(floor));
        let wait = own.max(self.retry.unwrap_or_default());
        self.attempts = self.attempts.saturating_add(1);
        self.opened = None;
        (now.after(wait) < self.deadline(now)).then_some(wait)
    }

    /// When the budget is used up.
    pub(super) fn deadline(&self, now: Mono) -> Mono {
        self.silent.unwrap_or(now).after(self.left)
    }

    /// Something came: the silence is paid for.
    pub(super) fn heard(&mut self, now: Mono) {
        if let Some(silent) = self.silent.take() {
            self.left = self.left.saturating_sub(silent.until(now));
        }
        self.attempts = 0;
    }

    pub(super) const fn start_over(&mut self, budget: Duration) {
        self.left = budget;
        self.silent = None;
        self.attempts = 0;
    }
}
