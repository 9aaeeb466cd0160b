//! Requests in flight, blind to role and era.
//!
//! * [`inbound`]: requests of the peer. Each has a slot that is answered, cancelled or abandoned, once.
//! * [`outbound`]: requests of ours. Each has a wire id minted here that is never used again.
//! * [`silent`]: the pace of rounds that ask nothing.

pub(crate) mod inbound;
pub(crate) mod outbound;
pub(crate) mod silent;
