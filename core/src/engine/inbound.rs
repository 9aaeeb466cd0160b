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
    by_id: Ids,
    bound: usize,
}

/// The places of requests by id, sorted. Clients count up and are answered about in order, so that both ends of
/// the queue see most of the work, and nothing is allocated for a request.
#[derive(Debug)]
struct Ids(VecDeque<(RequestId, u32)>);

impl Ids {
    /// Where the id stands, or where it would.
    fn find(&self, id: &RequestId) -> Result<usize, usize> {
        match self.0.back().map(|(last, _)| last.cmp(id)) {
            None | Some(Ordering::Less) => Err(self.0.len()),
            Some(Ordering::Equal) => Ok(self.0.len() - 1),
            Some(Ordering::Greater) => self.0.binary_search_by(|(known, _)| known.cmp(id)),
        }
    }

    fn get(&self, id: &RequestId) -> Option<u32> {
        self.find(id).ok().and_then(|at| self.0.get(at)).map(|(_, index)| *index)
    }

    /// Adds an id where [`Ids::find`] has said.
    fn insert(&mut self, at: usize, id: RequestId, index: u32) {
        if at == self.0.len() {
            self.0.push_back((id, index));
        } else {
            self.0.insert(at, (id, index));
        }
    }

    fn remove(&mut self, id: &RequestId) -> Option<u32> {
        let removed = match self.find(id).ok()? {
            0 => self.0.pop_front(),
            at => self.0.remove(at),
        };
        removed.map(|(_, index)| index)
    }
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
    pub(crate) token: Option<ProgressToken>,
    /// The last progress that was sent.
    pub(crate) progress: Option<f64>,
    pub(crate) data: T,
}

impl<T> Inbound<T> {
    pub(crate) const fn new(bound: usize) -> Self {
        Self { slots: Vec::new(), free: None, open: 0, by_id: Ids(VecDeque::new()), bound }
    }

    /// Whether a request with this id is in flight.
    pub(crate) fn has(&self, id: &RequestId) -> bool {
        self.by_id.find(id).is_ok()
    }

    /// Takes a request.
    pub(crate) fn open(&mut self, id: RequestId, token: Option<ProgressToken>, data: T) -> Result<SlotId, Refused> {
        let Err(at) = self.by_id.find(&id) else { return Err(Refused::Duplicate) };
        // Cancelled requests whose handlers still run count too: they hold memory.
        if self.open_slots() >= self.bound {
            return Err(Refused::Full);
        }
        let entry = Entry { id: id.clone(), muted: false, token, progress: None, data };
        let index = match self.free {
            Some(index) => index,
            None => {
                self.slots.push(Slot { generation: 0, next: None, entry: None });
                u32::try_from(self.slots.len() - 1).map_err(|_| Refused::Full)?
            }
        };
        let Some(slot) = self.slots.get_mut(index as usize) else { return Err(Refused::Full) };
        slot.entry = Some(entry);
        self.free = slot.next.take();
        self.open += 1;
        self.by_id.insert(at, id, index);
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
        let index = self.by_id.remove(id)?;
        let slot = self.slots.get_mut(index as usize)?;
        slot.entry.as_mut()?.muted = true;
        Some(SlotId { index, generation: slot.generation })
    }

    /// Mutes the request of an open slot.
    pub(crate) fn mute(&mut self, slot: SlotId) {
        if let Some(id) = self.get_mut(slot).map(|entry| entry.id.clone())
            && self.by_id.get(&id) == Some(slot.index)
        {
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
        let place = self.slots.get_mut(slot.index as usize).filter(|s| s.generation == slot.generation)?;
        let entry = place.entry.as_ref()?;
        if !entry.muted {
            self.by_id.remove(&entry.id);
        }
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
        self.by_id.0.len()
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
    /// Whether a report of `progress` may go out: there is a token, and it exceeds the last.
    pub(crate) fn advances(&mut self, progress: f64) -> bool {
        let advances = !self.muted
            && self.token.is_some()
            && progress.is_finite()
            && self.progress.is_none_or(|last| progress > last);
        if advances {
            self.progress = Some(progress);
        }
        advances
    }
}
