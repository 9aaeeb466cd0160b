//! Requests of the peer that are not answered yet.
//!
//! ```text
//!              open                    close
//!   (free) ───────────▶ Running ─────────────────▶ (free, next generation)
//!                          │ cancel      close (output dropped)
//!                          └──────▶ Cancelling ────────▶ (free)
//! ```
//!
//! The id of a request is free again once it is answered or cancelled; the slot only when it is closed. A slot
//! that is not open, by generation, is found out.

use std::cmp::Ordering;
use std::collections::VecDeque;

use crate::ids::{ProgressToken, RequestId, SlotId};

/// Why a request was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The id is that of a request in flight.
    Duplicate,
    /// The bound on requests in flight is reached.
    Full,
}

#[derive(Debug)]
pub(crate) struct Inbound<T> {
    slots: Vec<Slot<T>>,
    /// The free place that is taken next; each knows the one after it.
    free: Option<u32>,
    open: usize,
    /// The places of the requests that are owed an answer, in the order of their ids. Clients count up and are answered
    /// about in order, so that both ends of the queue see most of the work, and nothing is allocated for a request.
    by_id: VecDeque<u32>,
    bound: usize,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    /// The free place after this one, if this one is free.
    next: Option<u32>,
    entry: Option<Entry<T>>,
}

/// A request in flight.
#[derive(Debug)]
pub(crate) struct Entry<T> {
    pub(crate) id: RequestId,
    /// Cancelled: whatever the application still says is dropped.
    pub(crate) muted: bool,
    /// Where progress goes, if the peer wants any. Few do, and an entry is moved.
    reports: Option<Box<Reports>>,
    pub(crate) data: T,
}

#[derive(Debug)]
struct Reports {
    token: ProgressToken,
    /// The last progress that was sent.
    last: Option<f64>,
}

impl<T> Inbound<T> {
    pub(crate) const fn new(bound: usize) -> Self {
        Self { slots: Vec::new(), free: None, open: 0, by_id: VecDeque::new(), bound }
    }

    /// Whether a request with this id is in flight.
    pub(crate) fn has(&self, id: &RequestId) -> bool {
        self.find(id).is_ok()
    }

    /// Where the id stands among those that are owed an answer, or where it would.
    fn find(&self, id: &RequestId) -> Result<usize, usize> {
        let order = |index: &u32| self.slots.get(*index as usize)?.entry.as_ref().map(|entry| entry.id.cmp(id));
        match self.by_id.back().and_then(order) {
            None | Some(Ordering::Less) => Err(self.by_id.len()),
            Some(Ordering::Equal) => Ok(self.by_id.len() - 1),
            Some(Ordering::Greater) => self.by_id.binary_search_by(|index| order(index).unwrap_or(Ordering::Less)),
        }
    }

    /// Gives the id free that stands at this place.
    fn forget(&mut self, at: usize) -> Option<u32> {
        if at == 0 { self.by_id.pop_front() } else { self.by_id.remove(at) }
    }

    /// Takes a request.
    pub(crate) fn open(&mut self, id: RequestId, token: Option<ProgressToken>, data: T) -> Result<SlotId, Refused> {
        let Err(at) = self.find(&id) else { return Err(Refused::Duplicate) };
        // Cancelled requests whose handlers still run count too: they hold memory.
        if self.open_slots() >= self.bound {
            return Err(Refused::Full);
        }
        let reports = token.map(|token| Box::new(Reports { token, last: None }));
        let index = match self.free {
            Some(index) => index,
            None => {
                self.slots.push(Slot { generation: 0, next: None, entry: None });
                u32::try_from(self.slots.len() - 1).map_err(|_| Refused::Full)?
            }
        };
        let Some(slot) = self.slots.get_mut(index as usize) else { return Err(Refused::Full) };
        slot.entry = Some(Entry { id, muted: false, reports, data });
        self.free = slot.next.take();
        self.open += 1;
        if at == self.by_id.len() {
            self.by_id.push_back(index);
        } else {
            self.by_id.insert(at, index);
        }
        Ok(SlotId { index, generation: slot.generation })
    }

    pub(crate) fn get_mut(&mut self, slot: SlotId) -> Option<&mut Entry<T>> {
        self.slots
            .get_mut(slot.index as usize)
            .filter(|s| s.generation == slot.generation)
            .and_then(|s| s.entry.as_mut())
    }

    /// Mutes the request with this id, if it is in flight.
    pub(crate) fn cancel(&mut self, id: &RequestId) -> Option<SlotId> {
        let at = self.find(id).ok()?;
        let index = self.forget(at)?;
        let slot = self.slots.get_mut(index as usize)?;
        slot.entry.as_mut()?.muted = true;
        Some(SlotId { index, generation: slot.generation })
    }

    /// Mutes the request of an open slot.
    pub(crate) fn mute(&mut self, slot: SlotId) {
        if let Some(id) = self.get_mut(slot).filter(|entry| !entry.muted).map(|entry| entry.id.clone()) {
            self.cancel(&id);
        }
    }

    /// Ends a request. The slot's name is never valid again.
    pub(crate) fn close(&mut self, slot: SlotId) -> Option<Entry<T>> {
        self.vacate(slot)?.take()
    }

    /// As [`Inbound::close`], for an entry that nobody needs any more.
    pub(crate) fn discard(&mut self, slot: SlotId) {
        if let Some(entry) = self.vacate(slot) {
            *entry = None;
        }
    }

    /// Frees the name of an open slot. Answers with the place of its entry.
    fn vacate(&mut self, slot: SlotId) -> Option<&mut Option<Entry<T>>> {
        let place = self.slots.get(slot.index as usize).filter(|s| s.generation == slot.generation)?;
        let entry = place.entry.as_ref()?;
        // The id of a muted request is free already, and may be another's by now.
        let at = if entry.muted { None } else { self.find(&entry.id).ok() };
        if let Some(at) = at {
            self.forget(at);
        }
        let place = self.slots.get_mut(slot.index as usize)?;
        place.generation = place.generation.wrapping_add(1);
        place.next = self.free.replace(slot.index);
        self.open -= 1;
        Some(&mut place.entry)
    }

    /// Gives an open slot a new name, so that a reply under the old one is found out.
    pub(crate) fn renew(&mut self, slot: SlotId) -> Option<SlotId> {
        let place = self.slots.get_mut(slot.index as usize).filter(|s| s.generation == slot.generation)?;
        place.entry.as_ref()?;
        place.generation = place.generation.wrapping_add(1);
        Some(SlotId { index: slot.index, generation: place.generation })
    }

    /// Requests whose slots are open, muted ones included.
    pub(crate) const fn open_slots(&self) -> usize {
        self.open
    }

    /// Requests that are owed an answer.
    pub(crate) fn owed(&self) -> usize {
        self.by_id.len()
    }

    /// Open slots, muted ones included, in the order of their places.
    pub(crate) fn slots(&self) -> Vec<SlotId> {
        self.slots
            .iter()
            .zip(0_u32..)
            .filter(|(slot, _)| slot.entry.is_some())
            .map(|(slot, index)| SlotId { index, generation: slot.generation })
            .collect()
    }
}

impl<T> Entry<T> {
    /// Where progress goes, if the peer wants any.
    pub(crate) fn token(&self) -> Option<&ProgressToken> {
        self.reports.as_ref().map(|reports| &reports.token)
    }

    /// Whether a report of `progress` may go out: there is a token, and it exceeds the last.
    pub(crate) fn advances(&mut self, progress: f64) -> bool {
        let Some(reports) = self.reports.as_mut().filter(|_| !self.muted && progress.is_finite()) else { return false };
        let advances = reports.last.is_none_or(|last| progress > last);
        if advances {
            reports.last = Some(progress);
        }
        advances
    }
}
