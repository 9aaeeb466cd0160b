//! What the tests of this package share: machines under test, and the published schemas that every frame is held to.

pub mod bridge;
pub mod fixtures;
pub mod frames;
pub mod schema;
pub mod solo;
