//! One direction of a byte stream, on a virtual clock, as good or as bad as a test wants it.
//!
//! ```text
//!  send(frame) ─▶ lost? ─▶ tampered? ─▶ doubled? ─▶ swapped? ─▶ in flight ──latency──▶ split, merged ─▶ poll
//! ```
//!
//! A pipe never loses or swaps frames; a proxy, a log shipper or a broken peer does. Delay, [`split`](Link::split)
//! and [`merge`](Link::merge) keep the bytes as they are, so a machine must not notice. The others change what
//! arrives, and a machine must survive it. All faults are drawn from the seed: the same test sees the same faults.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::machine::{Input, Mono};
use crate::rng::{Rng, Seed};

/// One direction of a byte stream. See the module's documentation.
pub struct Link {
    rng: Rng,
    latency: Duration,
    jitter: Duration,
    split: Option<usize>,
    merge: bool,
    lose: OneIn,
    double: OneIn,
    swap: OneIn,
    spoil: OneIn,
    tamper: Option<Tamper>,
    flying: VecDeque<Flying>,
    end: End,
    last_due: Mono,
    sent: usize,
    received: usize,
}

type Tamper = Box<dyn FnMut(&mut Vec<u8>) + Send>;

/// A chance: once in so many frames, on average; `None` is never.
type OneIn = Option<u32>;

#[derive(Debug)]
struct Flying {
    due: Mono,
    bytes: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    /// Nothing more is sent.
    Finished,
    /// And the reader knows.
    Told,
}

impl Link {
    /// A link that carries everything at once, whole and in order.
    #[must_use]
    pub fn new() -> Self {
        Self::seeded(0)
    }

    /// A link whose faults are drawn from this seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self {
            rng: Rng::new(Seed(bytes)),
            latency: Duration::ZERO,
            jitter: Duration::ZERO,
            split: None,
            merge: false,
            lose: None,
            double: None,
            swap: None,
            spoil: None,
            tamper: None,
            flying: VecDeque::new(),
            end: End::Open,
            last_due: Mono::default(),
            sent: 0,
            received: 0,
        }
    }

    /// How long a frame is on its way.
    #[must_use]
    pub const fn delay(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Up to so much more, for each frame anew. Frames stay in order.
    #[must_use]
    pub const fn jitter(mut self, jitter: Duration) -> Self {
        self.jitter = jitter;
        self
    }

    /// Cuts what arrives into pieces of one to `most` bytes, anywhere: within a character, before a newline.
    #[must_use]
    pub const fn split(mut self, most: usize) -> Self {
        self.split = Some(if most == 0 { 1 } else { most });
        self
    }

    /// Hands over everything that is due as one piece; with [`split`](Self::split), the pieces then ignore where
    /// frames begin.
    #[must_use]
    pub const fn merge(mut self) -> Self {
        self.merge = true;
        self
    }

    /// Loses one frame in `n`.
    #[must_use]
    pub const fn lose(mut self, n: u32) -> Self {
        self.lose = Some(n);
        self
    }

    /// Delivers one frame in `n` twice.
    #[must_use]
    pub const fn double(mut self, n: u32) -> Self {
        self.double = Some(n);
        self
    }

    /// Lets one frame in `n` overtake the frame before it, if that is still on its way.
    #[must_use]
    pub const fn swap(mut self, n: u32) -> Self {
        self.swap = Some(n);
        self
    }

    /// Overwrites a byte of one frame in `n`, never its newline.
    #[must_use]
    pub const fn spoil(mut self, n: u32) -> Self {
        self.spoil = Some(n);
        self
    }

    /// Lets `tamper` change every frame, its newline included, before anything else happens to it.
    #[must_use]
    pub fn tamper(mut self, tamper: impl FnMut(&mut Vec<u8>) + Send + 'static) -> Self {
        self.tamper = Some(Box::new(tamper));
        self
    }

    /// Takes a frame at this time. What is sent after [`finish`](Self::finish) is lost.
    pub fn send(&mut self, now: Mono, frame: &Bytes) {
        if self.end != End::Open {
            return;
        }
        self.sent += frame.len();
        let mut bytes = frame.to_vec();
        if let Some(tamper) = &mut self.tamper {
            tamper(&mut bytes);
        }
        if self.happens(self.lose) {
            return;
        }
        if self.happens(self.spoil) && bytes.len() > 1 {
            let place = self.below(bytes.len() - 1);
            bytes[place] = self.byte();
        }
        let copies = if self.happens(self.double) { 2 } else { 1 };
        for _ in 0..copies {
            self.fly(now, Bytes::copy_from_slice(&bytes));
        }
        if self.happens(self.swap) && self.flying.len() >= 2 {
            let last = self.flying.len() - 1;
            let (earlier, later) = (self.flying[last - 1].due, self.flying[last].due);
            self.flying.swap(last - 1, last);
            self.flying[last - 1].due = earlier;
            self.flying[last].due = later;
        }
    }

    /// Nothing more is sent: the reader sees the end once everything has arrived.
    pub fn finish(&mut self) {
        if self.end == End::Open {
            self.end = End::Finished;
        }
    }

    /// What arrives at this time. Ask until there is nothing.
    #[must_use]
    pub fn poll(&mut self, now: Mono) -> Option<Input> {
        if self.flying.front().is_none_or(|flying| flying.due > now) {
            if self.end == End::Finished && self.flying.is_empty() {
                self.end = End::Told;
                return Some(Input::Eof);
            }
            return None;
        }
        if self.merge {
            self.join_due(now);
        }
        let Flying { due, mut bytes } = self.flying.pop_front()?;
        if let Some(most) = self.split
            && !bytes.is_empty()
        {
            let rest = bytes.split_off((1 + self.below(most)).min(bytes.len()));
            if !rest.is_empty() {
                self.flying.push_front(Flying { due, bytes: rest });
            }
        }
        self.received += bytes.len();
        Some(Input::Bytes(bytes))
    }

    /// When the next bytes arrive.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Mono> {
        self.flying.front().map(|flying| flying.due)
    }

    /// Whether nothing is on its way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.flying.is_empty() && self.end != End::Finished
    }

    /// Bytes that were sent, lost ones included.
    #[must_use]
    pub const fn sent(&self) -> usize {
        self.sent
    }

    /// Bytes that have arrived.
    #[must_use]
    pub const fn received(&self) -> usize {
        self.received
    }

    /// Loses everything that is on its way.
    pub fn lose_all(&mut self) {
        self.flying.clear();
    }

    fn fly(&mut self, now: Mono, bytes: Bytes) {
        let jitter = self.draw(self.jitter.as_nanos().try_into().unwrap_or(u64::MAX));
        let due = now.after(self.latency).after(Duration::from_nanos(jitter)).max(self.last_due);
        self.last_due = due;
        self.flying.push_back(Flying { due, bytes });
    }

    fn join_due(&mut self, now: Mono) {
        let due = self.flying.iter().take_while(|flying| flying.due <= now).count();
        let joined: BytesMut = self.flying.drain(..due).flat_map(|flying| flying.bytes).collect();
        self.flying.push_front(Flying { due: now, bytes: joined.freeze() });
    }

    fn happens(&mut self, chance: OneIn) -> bool {
        chance.is_some_and(|n| self.draw(u64::from(n.max(1)) - 1) == 0)
    }

    /// A number from 0 to `most`. The rest of the division favours small numbers a little: no test minds.
    fn draw(&mut self, most: u64) -> u64 {
        if most == 0 {
            return 0;
        }
        let drawn = u64::from_le_bytes(self.rng.bytes());
        most.checked_add(1).map_or(drawn, |count| drawn % count)
    }

    fn below(&mut self, bound: usize) -> usize {
        // Smaller than `bound`, so it fits.
        self.draw(bound.saturating_sub(1) as u64) as usize
    }

    /// Any byte but a newline, which would make two frames of one.
    fn byte(&mut self) -> u8 {
        match self.rng.bytes::<1>() {
            [b'\n'] => b' ',
            [byte] => byte,
        }
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("flying", &self.flying.len())
            .field("sent", &self.sent)
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}
