//! Extensions: additive, and written against the public API of the rest of the crate only.

pub mod apps;
