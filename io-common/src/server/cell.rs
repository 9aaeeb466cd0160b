//! What one run of a handler shares with the machinery around it: its open questions, its cancellation, its memo.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use mcp_sansio::json::Json;
use mcp_sansio::model::InputRequest;

/// Why a handler's answer is not wanted any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cancelled {
    /// The client cancelled the request, perhaps with a reason.
    ByClient(Option<Arc<str>>),
    /// The connection is over.
    Disconnected,
}

/// The mutable part of a context.
#[derive(Default)]
pub(super) struct Cell {
    /// Questions that wait for an answer in this run, in the order they were asked.
    questions: Vec<Open>,
    cancelled: Option<Cancelled>,
    /// The handler looks after its own cancellation.
    watched: bool,
    /// Futures that wait for cancellation, by number.
    watchers: Vec<(u64, Waker)>,
    next_watcher: u64,
    /// The task that runs the handler, once it is one.
    task: Option<Waker>,
    /// Results that must survive, read from the state when first needed.
    memo: Option<BTreeMap<String, Json>>,
    state: Option<String>,
    /// How many side effects are under way that must not be done twice.
    busy: usize,
}

struct Open {
    key: String,
    request: InputRequest,
    timeout: Option<Duration>,
    /// How many futures wait for it.
    waiting: usize,
}

impl Cell {
    /// A future waits for the answer to `key`. Of two requests under one key, the first counts.
    pub(super) fn ask(&mut self, key: &str, request: &InputRequest, timeout: Option<Duration>) {
        match self.questions.iter_mut().find(|open| open.key == key) {
            Some(open) => open.waiting += 1,
            None => self.questions.push(Open { key: key.to_owned(), request: request.clone(), timeout, waiting: 1 }),
        }
    }

    /// Such a future is gone.
    pub(super) fn unask(&mut self, key: &str) {
        if let Some(at) = self.questions.iter().position(|open| open.key == key) {
            self.questions[at].waiting -= 1;
            if self.questions[at].waiting == 0 {
                self.questions.remove(at);
            }
        }
    }

    pub(super) fn has_questions(&self) -> bool {
        !self.questions.is_empty()
    }

    /// The questions, and how long those may take that have a time-out of their own.
    pub(super) fn take_questions(&mut self) -> (Vec<(String, InputRequest)>, BTreeMap<String, Duration>) {
        let timed = |open: &Open| Some((open.key.clone(), open.timeout?));
        let timeouts = self.questions.iter().filter_map(timed).collect();
        (self.questions.drain(..).map(|open| (open.key, open.request)).collect(), timeouts)
    }

    /// Cancels the run. Answers whom to wake, outside of the lock.
    pub(super) fn cancel(&mut self, why: Cancelled) -> Vec<Waker> {
        self.cancelled.get_or_insert(why);
        self.watchers.drain(..).map(|(_, waker)| waker).chain(self.task.take()).collect()
    }

    pub(super) const fn cancelled(&self) -> Option<&Cancelled> {
        self.cancelled.as_ref()
    }

    /// Whether the run is to be dropped: it is cancelled, and the handler has not asked to be told.
    pub(super) const fn is_doomed(&self) -> bool {
        self.cancelled.is_some() && !self.watched
    }

    /// The handler looks after its own cancellation from now on.
    pub(super) const fn watch(&mut self) {
        self.watched = true;
    }

    /// Registers a future that waits for cancellation, under its number.
    pub(super) fn add_watcher(&mut self, number: Option<u64>, waker: &Waker) -> u64 {
        let number = number.unwrap_or_else(|| {
            self.next_watcher += 1;
            self.next_watcher
        });
        match self.watchers.iter_mut().find(|(known, _)| *known == number) {
            Some((_, known)) => known.clone_from(waker),
            None => self.watchers.push((number, waker.clone())),
        }
        number
    }

    pub(super) fn remove_watcher(&mut self, number: u64) {
        self.watchers.retain(|(known, _)| *known != number);
    }

    /// How many clones of `waker` are kept here.
    pub(super) fn clones_of(&self, waker: &Waker) -> usize {
        self.watchers.iter().filter(|(_, known)| known.will_wake(waker)).count()
    }

    pub(super) fn set_task(&mut self, waker: &Waker) {
        match &mut self.task {
            Some(known) => known.clone_from(waker),
            None => self.task = Some(waker.clone()),
        }
    }

    pub(super) fn set_state(&mut self, state: String) {
        self.state = Some(state);
    }

    pub(super) const fn take_state(&mut self) -> Option<String> {
        self.state.take()
    }

    /// The memo, read from what came with the request when it is first needed.
    pub(super) fn memo(&mut self, came: Option<&Json>) -> &mut BTreeMap<String, Json> {
        self.memo.get_or_insert_with(|| came.and_then(|json| json.parse().ok()).unwrap_or_default())
    }

    /// The memo as it goes into the state: what came with the request if nothing was added.
    pub(super) fn memo_json(&self, came: Option<&Json>) -> Option<Json> {
        match &self.memo {
            Some(memo) if memo.is_empty() => None,
            Some(memo) => Json::from_value(memo).ok(),
            None => came.cloned(),
        }
    }

    pub(super) const fn start_work(&mut self) {
        self.busy += 1;
    }

    pub(super) const fn end_work(&mut self) {
        self.busy = self.busy.saturating_sub(1);
    }

    pub(super) const fn is_busy(&self) -> bool {
        self.busy > 0
    }
}
