//! Randomness from the operating system: seeds for machines, a key for sealed states.

#[cfg(feature = "http")]
use std::cell::RefCell;
use std::sync::OnceLock;

#[cfg(feature = "http")]
use mcp_sansio::rng::Rng;
use mcp_sansio::rng::Seed;

/// The operating system gives no randomness: nothing can be sealed, and nothing should be served.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gives no randomness: {0}")]
pub struct NoRandomness(String);

/// A seed for one machine.
pub(crate) fn seed() -> Result<Seed, NoRandomness> {
    bytes().map(Seed)
}

/// A seed for a machine that lives as long as a request, without asking the operating system each time: every thread
/// has a stream of its own.
#[cfg(feature = "http")]
pub(crate) fn subseed() -> Result<Seed, NoRandomness> {
    thread_local! {
        static STREAM: RefCell<Option<Rng>> = const { RefCell::new(None) };
    }
    STREAM.with_borrow_mut(|stream| {
        let stream = match stream {
            Some(stream) => stream,
            None => stream.insert(Rng::new(seed()?)),
        };
        Ok(stream.subseed())
    })
}

/// The sealing key of this process, for servers that were not given one.
pub(crate) fn process_key() -> Result<[u8; 32], NoRandomness> {
    static KEY: OnceLock<[u8; 32]> = OnceLock::new();
    if let Some(key) = KEY.get() {
        return Ok(*key);
    }
    let fresh = bytes()?;
    Ok(*KEY.get_or_init(|| fresh))
}

fn bytes() -> Result<[u8; 32], NoRandomness> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| NoRandomness(error.to_string()))?;
    Ok(bytes)
}
