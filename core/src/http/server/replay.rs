//! What went out on the streams of a session, for clients that come back for it.
//!
//! ```text
//!   stream 3:  3-1 ── 3-2 ── 3-3 …       Last-Event-ID: 3-1  ─▶  3-2, 3-3 and what follows
//!   stream 0:  0-1 ── 0-2 …              the stream of a GET, which belongs to no request
//! ```
//!
//! Numbers count up within a stream, and a stream is the exchange whose request opened it: no id is used twice in a
//! session. The log is bounded over all streams together; the oldest events leave first. Source: `basic/transports`
//! (Resumability and Redelivery) of 2025-11-25.

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;

/// The stream that belongs to no request.
pub(super) const STANDING: u64 = 0;

/// The id of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    pub(super) number: u64,
}

impl EventId {
    /// `None` for anything that no event was ever called.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let number = |text: &str| {
            let canonical = text == "0" || !text.starts_with(['0', '+', '-']);
            canonical.then(|| text.parse().ok()).flatten()
        };
        let (stream, event) = std::str::from_utf8(value).ok()?.split_once('-')?;
        Some(Self { stream: number(stream)?, number: number(event)? })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}

/// An event that is kept.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) id: EventId,
    pub(super) frame: Bytes,
}

/// The events of a session that are kept, in the order in which they were sent.
#[derive(Debug)]
pub(super) struct Log {
    events: VecDeque<Stored>,
    bytes: usize,
    most_events: usize,
    most_bytes: usize,
}

impl Log {
    pub(super) const fn new(most_events: usize, most_bytes: usize) -> Self {
        Self { events: VecDeque::new(), bytes: 0, most_events, most_bytes }
    }

    /// Keeps an event, and forgets the oldest ones that there is no room for: `forget` hears of each.
    pub(super) fn push(&mut self, event: Stored, mut forget: impl FnMut(EventId)) {
        self.bytes = self.bytes.saturating_add(event.frame.len());
        self.events.push_back(event);
        while self.events.len() > self.most_events || self.bytes > self.most_bytes {
            let Some(oldest) = self.events.pop_front() else { return };
            self.bytes = self.bytes.saturating_sub(oldest.frame.len());
            forget(oldest.id);
        }
    }

    /// The events of a stream after a number.
    pub(super) fn after(&self, stream: u64, number: u64) -> impl Iterator<Item = &Stored> {
        self.events.iter().filter(move |event| event.id.stream == stream && event.id.number > number)
    }

    /// Forgets the events of a stream.
    pub(super) fn forget(&mut self, stream: u64) {
        self.events.retain(|event| event.id.stream != stream);
        self.bytes = self.events.iter().map(|event| event.frame.len()).sum();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Stored> {
        self.events.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_one_spelling() {
        assert_eq!(EventId::read(b"3-17"), Some(EventId { stream: 3, number: 17 }));
        assert_eq!(EventId { stream: 3, number: 17 }.to_string(), "3-17");
        assert_eq!(EventId::read(b"0-0"), Some(EventId { stream: 0, number: 0 }));
        for other in ["", "3", "3-", "-3", "03-1", "3-+1", "3-1-1", "3--1", "99999999999999999999-1", " 3-1"] {
            assert_eq!(EventId::read(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn the_oldest_leave_first() {
        let mut log = Log::new(3, 10);
        let mut gone = Vec::new();
        let event =
            |stream, number, length: usize| Stored { id: EventId { stream, number }, frame: vec![b'x'; length].into() };
        for (stream, number, length) in [(1, 1, 2), (2, 1, 2), (1, 2, 2), (1, 3, 2), (2, 2, 6), (1, 4, 11)] {
            log.push(event(stream, number, length), |id| gone.push(id.to_string()));
        }
        assert_eq!(
            gone,
            ["1-1", "2-1", "1-2", "1-3", "2-2", "1-4"],
            "by count, then by bytes, and the huge one itself"
        );
        log.push(event(1, 5, 1), |_| {});
        log.push(event(2, 3, 1), |_| {});
        assert_eq!(log.after(1, 4).count(), 1);
        assert_eq!(log.after(1, 5).count(), 0);
        log.forget(1);
        assert_eq!((log.after(1, 0).count(), log.after(2, 0).count()), (0, 1));
        assert_eq!(log.bytes, 1);
    }
}
