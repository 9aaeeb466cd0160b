//! What every front must do, on tokio. The tests are shared.
#![allow(clippy::unwrap_used, missing_docs)]

mod front;
#[path = "../../io-common/tests/fronts/mod.rs"]
mod shared;
