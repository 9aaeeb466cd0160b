//! The vocabulary of the protocol, each fact in one table.
//!
//! | table | decides |
//! |---|---|
//! | [`version`] | which revisions exist, their era, and what each of them has |
//! | [`method`] | every request and notification: name, sender, first and last revision |
//! | [`code`] | every error code with its number |
//! | [`meta`] | the reserved `_meta` keys |
//!
//! Everything else in the crate asks these tables; no other module spells a method, key, code or version.

pub mod code;
pub mod meta;
pub mod method;
pub mod version;

pub use code::ErrorCode;
pub use method::{Kind, Method, Sender};
pub use version::{Era, Version};
