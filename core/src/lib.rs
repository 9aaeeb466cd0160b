//! The Model Context Protocol as pure, sans-IO state machines.
#![forbid(unsafe_code)]

pub mod json;
