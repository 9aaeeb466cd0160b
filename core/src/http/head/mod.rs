//! Heads: what both roles share about names, values and media types.
//!
//! Names of headers are compared without case; they stand here in lower case. Values are compared with case, after
//! the white space around them is gone. Sources: `basic/transports/streamable-http` (Request Metadata) of
//! 2026-07-28, RFC 9110 §5 and §12.

pub(crate) mod media;
pub(crate) mod name;
pub(crate) mod value;

/// The bytes of a header's value without the white space around them.
pub(crate) fn trim(value: &[u8]) -> &[u8] {
    let is_padding = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().position(|byte| !is_padding(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !is_padding(byte)).map_or(start, |last| last + 1);
    value.get(start..end).unwrap_or_default()
}
