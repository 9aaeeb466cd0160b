//! Requests of ours that are not answered yet.
//!
//! Wire ids count up from 1 and are never used again, which satisfies both eras: unique in a legacy session,
//! unique among outstanding requests in the modern era. An answer to an id that is not here is somebody else's
//! problem: the caller reports it and goes on.

use std::collections::BTreeMap;

use crate::ids::RequestId;

#[derive(Debug)]
pub(crate) struct Outbound<T> {
    last: i64,
    calls: BTreeMap<i64, T>,
    bound: usize,
}

impl<T> Outbound<T> {
    pub(crate) const fn new(bound: usize) -> Self {
        Self { last: 0, calls: BTreeMap::new(), bound }
    }

    /// Mints an id and keeps `data` under it; `None` if the bound is reached.
    pub(crate) fn open(&mut self, data: T) -> Option<i64> {
        if self.calls.len() >= self.bound {
            return None;
        }
        self.last += 1;
        self.calls.insert(self.last, data);
        Some(self.last)
    }

    pub(crate) fn get_mut(&mut self, id: i64) -> Option<&mut T> {
        self.calls.get_mut(&id)
    }

    /// Ends the request with this wire id. Only our own integers match: `"1"` is not `1`.
    pub(crate) fn close(&mut self, id: &RequestId) -> Option<(i64, T)> {
        let id = id.as_i64()?;
        self.calls.remove(&id).map(|data| (id, data))
    }

    pub(crate) fn remove(&mut self, id: i64) -> Option<T> {
        self.calls.remove(&id)
    }

    /// Ends the requests for which `ends` holds, in the order of their ids.
    pub(crate) fn take_if(&mut self, mut ends: impl FnMut(&T) -> bool) -> Vec<(i64, T)> {
        let ids: Vec<i64> = self.calls.iter().filter(|(_, data)| ends(data)).map(|(id, _)| *id).collect();
        ids.into_iter().filter_map(|id| self.calls.remove(&id).map(|data| (id, data))).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}
