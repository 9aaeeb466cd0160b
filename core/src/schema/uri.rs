//! URI references within one document: RFC 3986 §5.2, as far as `$id` and `$ref` need it.
//!
//! Identifiers are only compared, never opened, so nothing is normalised beyond what resolution prescribes.

/// The parts of a reference (RFC 3986, appendix B).
struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Parts<'a> {
    /// Splits a reference that has no fragment.
    fn of(reference: &'a str) -> Self {
        let (scheme, rest) = match reference.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
            _ => (None, reference),
        };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query)),
            None => (rest, None),
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => match rest.find('/') {
                Some(at) => {
                    let (authority, path) = rest.split_at(at);
                    (Some(authority), path)
                }
                None => (Some(rest), ""),
            },
            None => (None, rest),
        };
        Self { scheme, authority, path, query }
    }
}

/// Splits off the fragment: what stands before `#`, and after it if there is one.
pub(super) fn split_fragment(reference: &str) -> (&str, Option<&str>) {
    match reference.split_once('#') {
        Some((uri, fragment)) => (uri, Some(fragment)),
        None => (reference, None),
    }
}

/// `reference` (without fragment) as seen from `base`.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    if reference.is_empty() {
        return base.to_owned();
    }
    let base = Parts::of(base);
    let target = Parts::of(reference);
    if target.scheme.is_some() {
        return compose(target.scheme, target.authority, &without_dots(target.path), target.query);
    }
    if target.authority.is_some() {
        return compose(base.scheme, target.authority, &without_dots(target.path), target.query);
    }
    if target.path.is_empty() {
        return compose(base.scheme, base.authority, base.path, target.query.or(base.query));
    }
    let path = if target.path.starts_with('/') {
        without_dots(target.path)
    } else if base.authority.is_some() && base.path.is_empty() {
        without_dots(&format!("/{}", target.path))
    } else {
        let folder = base.path.rfind('/').and_then(|at| base.path.get(..=at)).unwrap_or_default();
        without_dots(&format!("{folder}{}", target.path))
    };
    compose(base.scheme, base.authority, &path, target.query)
}

fn compose(scheme: Option<&str>, authority: Option<&str>, path: &str, query: Option<&str>) -> String {
    let mut uri = String::new();
    if let Some(scheme) = scheme {
        uri.push_str(scheme);
        uri.push(':');
    }
    if let Some(authority) = authority {
        uri.push_str("//");
        uri.push_str(authority);
    }
    uri.push_str(path);
    if let Some(query) = query {
        uri.push('?');
        uri.push_str(query);
    }
    uri
}

/// Removes `.` and `..` segments (§5.2.4).
fn without_dots(path: &str) -> String {
    if !path.split('/').any(|segment| matches!(segment, "." | "..")) {
        return path.to_owned();
    }
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    let mut folder = false;
    for segment in path.strip_prefix('/').unwrap_or(path).split('/') {
        folder = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            segment => kept.push(segment),
        }
    }
    let mut out = String::from(if rooted { "/" } else { "" });
    out.push_str(&kept.join("/"));
    if folder && !out.ends_with('/') {
        out.push('/');
    }
    out
}

fn is_scheme(text: &str) -> bool {
    text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// Percent-decoding of a fragment; text that is no encoding, or no UTF-8, stays as it is.
pub(super) fn decode(fragment: &str) -> String {
    let bytes = fragment.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let encoded = (*byte == b'%')
            .then(|| fragment.get(at + 1..at + 3))
            .flatten()
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(encoded.unwrap_or(*byte));
        at += if encoded.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out).unwrap_or_else(|_| fragment.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 3986 §5.4 that have no fragment.
    #[test]
    fn resolves_the_examples_of_the_rfc() {
        let base = "http://a/b/c/d;p?q";
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../../g", "http://a/g"),
            ("g;x=1/../y", "http://a/b/c/y"),
        ] {
            assert_eq!(resolve(base, reference), expected, "{reference}");
        }
        assert_eq!(resolve("", "person.json"), "person.json");
        assert_eq!(resolve("person.json", "other.json"), "other.json");
        assert_eq!(resolve("https://example.com", "x"), "https://example.com/x");
    }

    #[test]
    fn decodes_only_what_is_encoded() {
        assert_eq!(decode("/a%25b%7e1/100%"), "/a%b~1/100%");
        assert_eq!(decode("%zz%"), "%zz%");
        assert_eq!(decode("%ff"), "%ff");
    }
}
