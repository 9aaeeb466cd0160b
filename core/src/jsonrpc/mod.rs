//! JSON-RPC 2.0 frames: read in one pass, written without newlines.
//!
//! [`decode`] classifies a frame **by which members it has**, never by trying shapes:
//!
//! | `method` | `id` | `result` | `error` | message |
//! |---|---|---|---|---|
//! | yes | string or integer | – | – | request |
//! | yes | absent | – | – | notification |
//! | – | string or integer | yes | – | result |
//! | – | string, integer, `null` or absent | – | yes | error |
//! | anything else | | | | invalid (-32600) |
//!
//! The same pass notes where the members of `params`, `result` and `_meta` stand that the protocol knows
//! ([`Members`]); their values stay text until somebody asks. Source: `basic/index` (Messages).

mod decode;
mod encode;
mod members;
mod scan;
#[cfg(test)]
mod tests;

pub(crate) use decode::{Head, decode_into, decode_owned, decode_plain_line, decode_plain_line_into, is_plain_line};
pub use decode::{InvalidFrame, Message, MethodName, Unread, decode};
pub(crate) use encode::{FrameWriter, ObjectWriter, one_line, write_i64, write_str};
pub(crate) use members::{Field, MetaField};
pub use members::{FieldError, Members};
