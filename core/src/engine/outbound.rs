//! Requests of ours that are not answered yet.
//!
//! Wire ids count up from 1 and are never used again, which satisfies both eras: unique in a legacy session,
//! unique among outstanding requests in the modern era. An answer to an id that is not here is somebody else's
//! problem: the caller reports it and goes on.

use std::collections::VecDeque;

use crate::ids::RequestId;

#[derive(Debug)]
pub(crate) struct Outbound<T> {
    last: i64,
    /// In the order of their ids, which is that in which they were made: most answers are about one of the first.
    calls: VecDeque<(i64, T)>,
    bound: usize,
}

impl<T> Outbound<T> {
    pub(crate) const fn new(bound: usize) -> Self {
        Self { last: 0, calls: VecDeque::new(), bound }
    }

    /// Mints an id and keeps `data` under it; `None` if the bound is reached.
    pub(crate) fn open(&mut self, data: T) -> Option<i64> {
        if self.calls.len() >= self.bound {
            return None;
        }
        self.last += 1;
        self.calls.push_back((self.last, data));
        Some(self.last)
    }

    /// The newest id.
    pub(crate) const fn last(&self) -> i64 {
        self.last
    }

    /// Goes on after an id, so that none up to it is used again.
    pub(crate) const fn resume_after(&mut self, last: i64) {
        self.last = last;
    }

    fn position(&self, id: i64) -> Option<usize> {
        self.calls.binary_search_by_key(&id, |(id, _)| *id).ok()
    }

    pub(crate) fn get_mut(&mut self, id: i64) -> Option<&mut T> {
        let at = self.position(id)?;
        self.calls.get_mut(at).map(|(_, data)| data)
    }

    /// Ends the request with this wire id. Only our own integers match: `"1"` is not `1`.
    pub(crate) fn close(&mut self, id: &RequestId) -> Option<(i64, T)> {
        self.calls.remove(self.position(id.as_i64()?)?)
    }

    pub(crate) fn remove(&mut self, id: i64) -> Option<T> {
        self.calls.remove(self.position(id)?).map(|(_, data)| data)
    }

    /// Ends the requests for which `ends` holds, in the order of their ids.
    pub(crate) fn take_if(&mut self, mut ends: impl FnMut(&T) -> bool) -> Vec<(i64, T)> {
        let all = std::mem::take(&mut self.calls).into_iter();
        let (ended, rest): (Vec<_>, _) = all.partition(|(_, data)| ends(data));
        self.calls = rest.into();
        ended
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}
