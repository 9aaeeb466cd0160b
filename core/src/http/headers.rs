//! Headers and methods as values, for whatever HTTP library moves them.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;

/// The methods that Streamable HTTP has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Ends a legacy session.
    Delete,
    /// Opens or resumes a legacy stream.
    Get,
    /// Carries a message.
    Post,
}

impl Method {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "DELETE",
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// Headers in order: names in lower case, values as bytes. `Debug` shows only values that cannot be secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(Cow<'static, str>, Bytes)>);

impl Headers {
    /// No headers.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a header. The name is put into lower case.
    pub fn push(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Bytes>) {
        let mut name = name.into();
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            name = Cow::Owned(name.to_ascii_lowercase());
        }
        self.0.push((name, value.into()));
    }

    /// The value of the first header with this name, without the white space around it. The name is compared without
    /// case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let found = self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| super::head::trim(value))
    }

    /// The values of all headers with this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| super::head::trim(value))
    }

    /// All headers, as they are.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Bytes)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }
}

impl<N: Into<Cow<'static, str>>, V: Into<Bytes>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(headers: I) -> Self {
        let mut list = Self::new();
        for (name, value) in headers {
            list.push(name, value);
        }
        list
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use super::head::name;
        let is_harmless = |header: &str| {
            [name::ACCEPT, name::ALLOW, name::CONTENT_LENGTH, name::CONTENT_TYPE, name::METHOD, name::PROTOCOL_VERSION]
                .contains(&header)
        };
        let mut map = f.debug_map();
        for (header, value) in self.iter() {
            if is_harmless(header) {
                map.entry(&header, value);
            } else {
                map.entry(&header, &"(hidden)");
            }
        }
        map.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_case_and_secrets_are_not_shown() {
        let mut headers = Headers::new();
        headers.push("Authorization", "Bearer secret");
        headers.push("X-A", " 1 ");
        headers.push("x-a", "2");
        assert_eq!(headers.get("x-A"), Some(&b"1"[..]));
        assert_eq!(headers.all("X-a").collect::<Vec<_>>(), [b"1", b"2"]);
        assert_eq!(headers.get("x-b"), None);
        headers.push("accept", "text/html");
        assert_eq!(
            format!("{headers:?}"),
            r#"{"authorization": "(hidden)", "x-a": "(hidden)", "x-a": "(hidden)", "accept": b"text/html"}"#
        );
    }
}
