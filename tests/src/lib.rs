//! What the tests of this package share: machines under test, and the published schemas that every frame is held to.

pub mod bridge;
pub mod fixtures;
pub mod frames;
#[cfg(unix)]
pub mod fronts;
pub mod guest;
pub mod mutants;
pub mod schema;
pub mod site;
pub mod solo;
pub mod vectors;
