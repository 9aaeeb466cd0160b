//! Addresses of resources, judged. Sources: RFC 3986 (Syntax), `server/resources` (Security Considerations).
//!
//! | question | asked of |
//! |---|---|
//! | is it a URI? | what a definition lists, what a client reads, pages that a user is sent to |
//! | does it leave its folder? | `file:` addresses that a client made up |
//!
//! Characters beyond ASCII are let through, for clients that write IRIs. What an address means, and who may read
//! it, is the application's.

/// Whether `text` has a scheme, and no character or escape that no URI has.
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let mut letters = scheme.bytes();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
        && !rest.contains(|c: char| {
            c.is_control() || matches!(c, ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')
        })
        && rest.split('%').skip(1).all(|after| escaped(after).is_some())
}

/// Whether a `file:` URI has a segment that would lead elsewhere once a handler decodes it and asks the file
/// system: `..`, or an escaped separator or NUL.
pub(super) fn leaves_its_folder(uri: &str) -> bool {
    let path = match uri.split_once(':') {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => rest,
        _ => return false,
    };
    path.split('/').any(|segment| {
        let decoded = decode(segment);
        decoded == b".." || decoded.iter().any(|b| matches!(b, b'/' | b'\\' | 0))
    })
}

fn decode(segment: &str) -> Vec<u8> {
    let mut pieces = segment.split('%');
    let mut out = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        match escaped(piece) {
            Some((byte, rest)) => {
                out.push(byte);
                out.extend_from_slice(rest.as_bytes());
            }
            None => {
                out.push(b'%');
                out.extend_from_slice(piece.as_bytes());
            }
        }
    }
    out
}

/// The byte that stands escaped at the start of what follows a `%`, and the rest.
fn escaped(after: &str) -> Option<(u8, &str)> {
    let digits = after.get(..2).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    Some((u8::from_str_radix(digits, 16).ok()?, after.get(2..)?))
}
