//! Reads that do not ask in vain.
//!
//! ```text
//!   read ──filled the buffer──▶ read again
//!     └────less, or nothing───▶ drained ──readable──▶ read
//! ```
//!
//! async-io tries to read whenever it is polled, and what is polled again after each answer would ask the operating
//! system twice for each request. A read that did not fill its buffer has said already that there is no more. What comes
//! after it is told by the reactor, the end of the stream included.

use std::io;

/// Reads, and notes whether that took all that there was. `None` if nothing was there, or a signal came.
pub(crate) fn read_once(mut source: impl io::Read, drained: &mut bool, bytes: &mut [u8]) -> Option<io::Result<usize>> {
    *drained = false;
    match source.read(bytes) {
        Ok(count) => {
            *drained = count > 0 && count < bytes.len();
            Some(Ok(count))
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            *drained = true;
            None
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
        Err(error) => Some(Err(error)),
    }
}
