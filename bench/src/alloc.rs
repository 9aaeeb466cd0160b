//! An allocator that counts, while it is asked to.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::Relaxed};

/// The system's allocator. Not counting costs a look at a flag, for everything that is measured alike.
pub(crate) struct Counting;

static ON: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

fn count(bytes: isize) {
    if ON.load(Relaxed) {
        let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
        PEAK.fetch_max(live, Relaxed);
    }
}

const fn signed(bytes: usize) -> isize {
    // An allocation is never larger than `isize::MAX`.
    bytes.cast_signed()
}

// SAFETY: everything is passed on as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(signed(layout.size()));
        // SAFETY: as our caller has promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-signed(layout.size()));
        // SAFETY: as our caller has promised.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(signed(size) - signed(layout.size()));
        // SAFETY: as our caller has promised.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// What was allocated and not freed since counting began, and the most that it ever was.
#[derive(Clone, Copy)]
pub(crate) struct Count {
    pub(crate) live: isize,
    pub(crate) peak: isize,
}

/// Runs `work` and counts. What it answers is still alive then.
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> (T, Count) {
    LIVE.store(0, Relaxed);
    PEAK.store(0, Relaxed);
    ON.store(true, Relaxed);
    let made = work();
    ON.store(false, Relaxed);
    (made, Count { live: LIVE.load(Relaxed), peak: PEAK.load(Relaxed) })
}
