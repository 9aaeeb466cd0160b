//! Runs a handler, and decides when it waits for nothing but input.
//!
//! A handler that is not ready waits for whatever kept a clone of its waker. Questions keep none. So it is polled
//! with a waker whose clones can be counted:
//!
//! | after a poll that is not ready | then |
//! |---|---|
//! | no question is open | wait |
//! | woken meanwhile | poll again |
//! | nothing keeps the waker | only input can help: ask |
//! | something keeps it, and a [`once`](super::Context::once) is under way | wait: it must not be done twice |
//! | something keeps it | wait, for [`PATIENCE`] at most: it may be a timer that is meant to go with the question |
//!
//! Waiting for cancellation ([`Context::cancelled`](super::Context::cancelled)) does not count as something. Asking
//! drops the run, with whatever it was waiting for.
//!
//! The first poll happens on the connection's own task, so that a handler that is ready at once costs neither a
//! spawn nor a waker; whoever is not goes to a task of its own. **A handler that computes without awaiting blocks
//! its connection while it does**: use the blocking pool of the runtime, or
//! [`Server::always_spawn`](super::Server::always_spawn).

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{self, Poll, Wake, Waker};
use std::time::Duration;

use mcp_sansio::server::{InputRequired, Reply};

use super::context::Context;
use super::error::HandlerError;
use super::link::{Link, SlotGuard};
use crate::runtime::BoxFuture;

/// How long questions wait for other things that a handler waits for at the same time.
pub const PATIENCE: Duration = Duration::from_millis(100);

/// What a handler ends with.
pub(super) type HandlerResult = Result<Reply, HandlerError>;

/// How a run ended.
pub(super) enum Ending {
    Done(HandlerResult),
    /// The handler waits for input only.
    Asks(InputRequired),
    Panicked(String),
    /// The request was cancelled, and the handler did not ask to be told.
    Dropped,
}

/// One run of a handler.
pub(super) struct Run {
    /// `None` before it is started, and once it has ended.
    future: Option<BoxFuture<'static, HandlerResult>>,
    context: Context,
    patience: Option<BoxFuture<'static, ()>>,
    impatient: bool,
}

impl Run {
    /// A run that is not started.
    pub(super) const fn new(context: Context) -> Self {
        Self { future: None, context, patience: None, impatient: false }
    }

    pub(super) const fn context(&self) -> &Context {
        &self.context
    }

    /// Calls the handler.
    pub(super) fn start(
        &mut self,
        handler: impl FnOnce(Context) -> BoxFuture<'static, HandlerResult>,
    ) -> Result<(), Ending> {
        let context = self.context.clone();
        self.future = Some(catch_unwind(AssertUnwindSafe(|| handler(context))).map_err(panicked)?);
        Ok(())
    }

    /// Polls with a waker that does nothing but count. Whoever is not ready must be polled again at once, by a task.
    pub(super) fn poll_inline(&mut self) -> Poll<Ending> {
        let probe = Probe::silent();
        if let Poll::Ready(ending) = self.poll_handler(&probe.waker) {
            probe.give_back();
            return Poll::Ready(ending);
        }
        let settled = self.context.cell().has_questions() && !probe.woken() && self.others(&probe) == 0;
        if settled { Poll::Ready(self.ask()) } else { Poll::Pending }
    }

    fn poll_handler(&mut self, waker: &Waker) -> Poll<Ending> {
        let Some(future) = &mut self.future else { return Poll::Ready(Ending::Dropped) };
        let mut cx = task::Context::from_waker(waker);
        let polled = catch_unwind(AssertUnwindSafe(|| self.context.enter(|| future.as_mut().poll(&mut cx))));
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(result)) => {
                self.future = None;
                Poll::Ready(Ending::Done(result))
            }
            Err(payload) => {
                let ending = panicked(payload);
                // A future that panicked may panic again when it is dropped.
                let future = self.future.take();
                let _ = catch_unwind(AssertUnwindSafe(|| drop(future)));
                Poll::Ready(ending)
            }
        }
    }

    /// How many things beside questions and cancellation the handler waits for.
    fn others(&self, probe: &Probe) -> usize {
        // The probe itself holds two: one to read, one as the waker.
        Arc::strong_count(&probe.count).saturating_sub(2).saturating_sub(self.context.cell().clones_of(&probe.waker))
    }

    fn ask(&mut self) -> Ending {
        let came = self.context.facts().memo().cloned();
        let mut cell = self.context.cell();
        let (requests, timeouts) = cell.take_questions();
        let (state, memo) = (cell.take_state(), cell.memo_json(came.as_ref()));
        drop(cell);
        let future = self.future.take();
        match catch_unwind(AssertUnwindSafe(|| drop(future))) {
            Ok(()) => Ending::Asks(InputRequired { requests, state, memo, timeouts }),
            Err(payload) => panicked(payload),
        }
    }
}

impl Future for Run {
    type Output = Ending;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Ending> {
        let this = &mut *self;
        {
            let mut cell = this.context.cell();
            cell.set_task(cx.waker());
            if cell.is_doomed() {
                drop(cell);
                let future = this.future.take();
                let dropped = catch_unwind(AssertUnwindSafe(|| drop(future)));
                return Poll::Ready(dropped.map_or_else(panicked, |()| Ending::Dropped));
            }
        }
        if !this.context.cell().has_questions() {
            if let Poll::Ready(ending) = this.poll_handler(cx.waker()) {
                return Poll::Ready(ending);
            }
            if !this.context.cell().has_questions() {
                return Poll::Pending;
            }
        }
        let probe = Probe::new(cx.waker().clone());
        if let Poll::Ready(ending) = this.poll_handler(&probe.waker) {
            return Poll::Ready(ending);
        }
        let (questions, busy) = {
            let cell = this.context.cell();
            (cell.has_questions(), cell.is_busy())
        };
        if !questions || probe.woken() {
            return Poll::Pending;
        }
        if this.others(&probe) == 0 {
            return Poll::Ready(this.ask());
        }
        let runtime = this.context.runtime();
        let patience = this.patience.get_or_insert_with(|| runtime.sleep(PATIENCE));
        this.impatient = this.impatient || patience.as_mut().poll(cx).is_ready();
        if this.impatient && !busy { Poll::Ready(this.ask()) } else { Poll::Pending }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Dropped with its task, or by a driver that ends: the handler's own drop must not take others down.
        if let Some(future) = self.future.take() {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(future)));
        }
    }
}

/// A run on a task of its own, with the duty to answer.
pub(super) struct Task {
    pub(super) run: Run,
    /// `None` once it is answered.
    pub(super) guard: Option<SlotGuard<Arc<Link>>>,
}

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<()> {
        let ending = task::ready!(Pin::new(&mut self.run).poll(cx));
        if let Some(guard) = self.guard.take() {
            guard.finish(&self.run.context, ending);
        }
        Poll::Ready(())
    }
}

/// A waker whose clones can be counted.
struct Probe {
    count: Arc<Count>,
    waker: Waker,
}

thread_local! {
    static SILENT: std::cell::Cell<Option<Probe>> = const { std::cell::Cell::new(None) };
}

struct Count {
    woken: AtomicBool,
    inner: Option<Waker>,
}

impl Probe {
    fn new(inner: Waker) -> Self {
        Self::with(Some(inner))
    }

    /// Wakes nobody: for a first poll that is followed by another one. Most handlers never look at it, so that one
    /// serves many, one after the other.
    fn silent() -> Self {
        SILENT.take().unwrap_or_else(|| Self::with(None))
    }

    /// For the next handler, unless something has kept the waker, which may do so for good.
    fn give_back(self) {
        if Arc::strong_count(&self.count) == 2 && !self.woken() {
            SILENT.set(Some(self));
        }
    }

    fn with(inner: Option<Waker>) -> Self {
        let count = Arc::new(Count { woken: AtomicBool::new(false), inner });
        let waker = Waker::from(Arc::clone(&count));
        Self { count, waker }
    }

    fn woken(&self) -> bool {
        self.count.woken.load(Ordering::Acquire)
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        if let Some(inner) = &self.inner {
            inner.wake_by_ref();
        }
    }
}

fn panicked(payload: Box<dyn Any + Send>) -> Ending {
    Ending::Panicked(panic_text(payload))
}

/// What was said in a panic.
pub(super) fn panic_text(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<&'static str>() {
        Ok(text) => (*text).to_owned(),
        Err(payload) => payload.downcast::<String>().map_or_else(|_| String::from("a panic"), |text| *text),
    }
}
