//! Values that mirror the body: plain where they can be, in Base64 where they cannot.
//!
//! | value | header |
//! |---|---|
//! | visible ASCII, inner spaces and tabs | as it is |
//! | anything else, or what looks like the line below | `=?base64?` … `?=` |
//!
//! A value that only begins or only ends like the sentinel is plain. Source: `basic/transports/streamable-http`
//! (Value Encoding).

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::trim;

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// The header value that carries `text`.
pub(crate) fn encode(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let padded = trim(bytes).len() != bytes.len();
    if !padded && bytes.iter().all(is_plain) && sentinel(bytes).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(PREFIX.len() + bytes.len().div_ceil(3) * 4 + SUFFIX.len());
    out.push_str(PREFIX);
    STANDARD.encode_string(bytes, &mut out);
    out.push_str(SUFFIX);
    Cow::Owned(out)
}

/// The text that a header value carries; `None` if it holds what no such value may hold.
pub(crate) fn decode(value: &[u8]) -> Option<Cow<'_, str>> {
    let value = trim(value);
    match sentinel(value) {
        Some(inner) => {
            let bytes = STANDARD.decode(inner).ok()?;
            String::from_utf8(bytes).ok().map(Cow::Owned)
        }
        None => value.iter().all(is_plain).then(|| std::str::from_utf8(value).ok().map(Cow::Borrowed))?,
    }
}

fn is_plain(byte: &u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~')
}

/// What stands between the markers, if both are there.
fn sentinel(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(PREFIX.as_bytes())?.strip_suffix(SUFFIX.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the specification: M-ENC-01 … M-ENC-03, M-ENC-06, M-ENC-08.
    #[test]
    fn m_enc_01_02_03_06_08_values_are_written() {
        for (text, header) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("a b\tc", "a b\tc"),
            ("", ""),
            ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
            ("=?BASE64?x?=", "=?BASE64?x?="),
        ] {
            assert_eq!(encode(text), header);
            assert_eq!(decode(header.as_bytes()).as_deref(), Some(text));
        }
    }

    /// M-ENC-04, M-ENC-05, M-ENC-07, M-HDR-16, M-HDR-19, M-XMH-19.
    #[test]
    fn m_enc_04_05_07_values_are_read() {
        assert_eq!(decode(b"  x \t").as_deref(), Some("x"), "white space around a value is none of it");
        assert_eq!(decode(b"=?base64?=").as_deref(), Some("=?base64?="), "the markers do not overlap");
        assert_eq!(decode(b"=?base64??=").as_deref(), Some(""));
        for broken in ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?%%%?=", "=?base64?/w==?="] {
            assert_eq!(decode(broken.as_bytes()), None, "{broken}");
        }
        assert_eq!(decode(b"a\x01b"), None);
        assert_eq!(decode("\u{e9}".as_bytes()), None);
        assert_eq!(decode(b"a\x7f"), None);
    }
}
