//! The stdio transport: one message per line.

pub mod line;
