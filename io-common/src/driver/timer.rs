//! One timer for all deadlines of a connection.
//!
//! Deadlines move with every call, and mostly to later. So a sleep is only replaced when something must happen
//! *before* it ends; one that ends too early finds nothing due and is set anew.

use std::sync::Arc;
use std::task::{Context, Poll};

use mcp_sansio::machine::{Mono, Now};

use crate::runtime::{BoxFuture, Runtime};

#[derive(Default)]
pub(crate) struct Timer {
    sleep: Option<(Mono, BoxFuture<'static, ()>)>,
}

impl Timer {
    /// Ready when `at` may have come: look at the clock again.
    pub(crate) fn poll(
        &mut self,
        runtime: &Arc<dyn Runtime>,
        now: Now,
        at: Option<Mono>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let Some(at) = at else {
            self.sleep = None;
            return Poll::Pending;
        };
        if self.sleep.as_ref().is_none_or(|(end, _)| *end > at) {
            self.sleep = Some((at, runtime.sleep(now.mono.until(at))));
        }
        let Some((_, sleep)) = &mut self.sleep else { return Poll::Pending };
        let ready = sleep.as_mut().poll(cx);
        if ready.is_ready() {
            self.sleep = None;
        }
        ready
    }
}
