//! Media types: what a body is, and what a peer can read.
//!
//! Parameters other than the weight are ignored: JSON and event streams are UTF-8, whatever they say. A weight of
//! zero refuses; an exact type is believed before a wildcard. Source: RFC 9110 §8.3 and §12.5.1.

use super::trim;

/// JSON, as messages come.
pub(crate) const JSON: &str = "application/json";
/// Server-sent events.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// What nearly every client says that it can read.
const USUAL: &[u8] = b"application/json, text/event-stream";

/// Whether the value of `Content-Type` says JSON.
pub(crate) fn is_json(value: &[u8]) -> bool {
    value == JSON.as_bytes() || essence(value).eq_ignore_ascii_case(JSON.as_bytes())
}

/// Whether the value of `Content-Type` says server-sent events.
pub(crate) fn is_event_stream(value: &[u8]) -> bool {
    essence(value).eq_ignore_ascii_case(EVENT_STREAM.as_bytes())
}

fn essence(value: &[u8]) -> &[u8] {
    trim(value.split(|byte| *byte == b';').next().unwrap_or_default())
}

/// What a peer can read, as its `Accept` headers say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accept {
    present: bool,
    json: Wish,
    events: Wish,
}

/// What is known of one type: how exactly it was named, and whether it is welcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wish {
    exactness: u8,
    welcome: bool,
}

impl Accept {
    /// Adds the value of one header; there may be several.
    pub(crate) fn add(&mut self, value: &[u8]) {
        self.present = true;
        if value == USUAL {
            let named = Wish { exactness: 3, welcome: true };
            (self.json, self.events) = (named, named);
            return;
        }
        for range in value.split(|byte| *byte == b',') {
            let welcome = !refuses(range);
            self.json.hear(range, JSON, b"application/*", welcome);
            self.events.hear(range, EVENT_STREAM, b"text/*", welcome);
        }
    }

    /// Whether JSON is welcome. Who says nothing takes anything.
    pub(crate) const fn json(self) -> bool {
        !self.present || self.json.welcome
    }

    /// Whether an event stream is welcome.
    pub(crate) const fn events(self) -> bool {
        !self.present || self.events.welcome
    }
}

impl Wish {
    fn hear(&mut self, range: &[u8], exact: &str, family: &[u8], welcome: bool) {
        let range = essence(range);
        let exactness = if range.eq_ignore_ascii_case(exact.as_bytes()) {
            3
        } else if range.eq_ignore_ascii_case(family) {
            2
        } else if range == b"*/*" {
            1
        } else {
            return;
        };
        if exactness >= self.exactness {
            // Named twice with the same exactness: the kinder one holds.
            let kind = exactness == self.exactness && self.welcome;
            *self = Self { exactness, welcome: welcome || kind };
        }
    }
}

/// Whether a media range has the weight zero.
fn refuses(range: &[u8]) -> bool {
    range.split(|byte| *byte == b';').skip(1).any(|parameter| {
        let mut parts = parameter.splitn(2, |byte| *byte == b'=');
        let name = trim(parts.next().unwrap_or_default());
        let weight = trim(parts.next().unwrap_or_default());
        name.eq_ignore_ascii_case(b"q")
            && weight.first() == Some(&b'0')
            && weight.iter().all(|byte| matches!(byte, b'0' | b'.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(values: &[&str]) -> (bool, bool) {
        let mut accept = Accept::default();
        for value in values {
            accept.add(value.as_bytes());
        }
        (accept.json(), accept.events())
    }

    #[test]
    fn content_types_are_compared_without_case_and_parameters() {
        assert!(is_json(b"application/json"));
        assert!(is_json(b" Application/JSON ; charset=utf-8"));
        assert!(!is_json(b"application/json-seq"));
        assert!(!is_json(b""));
        assert!(is_event_stream(b"text/event-stream;charset=UTF-8"));
        assert!(!is_event_stream(b"text/html"));
    }

    #[test]
    fn what_is_acceptable() {
        assert_eq!(accept(&[]), (true, true), "who says nothing takes anything");
        assert_eq!(accept(&["application/json, text/event-stream"]), (true, true));
        assert_eq!(accept(&["application/json", "Text/Event-Stream;q=0.1"]), (true, true));
        assert_eq!(accept(&["*/*"]), (true, true));
        assert_eq!(accept(&["application/*"]), (true, false));
        assert_eq!(accept(&["text/*;q=0.3, text/html"]), (false, true));
        assert_eq!(accept(&["application/json"]), (true, false));
        assert_eq!(accept(&["text/event-stream; q=0.000, */*"]), (true, false), "the exact type is believed");
        assert_eq!(accept(&["*/*, text/event-stream;q=0"]), (true, false), "in any order");
        assert_eq!(accept(&[""]), (false, false));
        assert_eq!(accept(&["image/png"]), (false, false));
    }
}
