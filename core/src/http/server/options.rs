//! What an HTTP server decides beside its definition.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The settings of a [`Service`](super::Service). Start from [`Options::default`].
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) hosts: Allow,
    pub(super) origins: Allow,
    pub(super) keep_alive: Option<Duration>,
    pub(super) stateless: bool,
    pub(super) json_answers: bool,
    pub(super) replay: Option<Replay>,
    pub(super) owner: Option<Owns>,
    pub(super) pair: Option<Pair>,
}

/// The two addresses of the old transport.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) events: Box<str>,
    pub(super) messages: Box<str>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hosts: Allow::loopback(),
            origins: Allow::loopback(),
            keep_alive: Some(Duration::from_secs(15)),
            stateless: false,
            json_answers: false,
            replay: None,
            owner: None,
            pair: None,
        }
    }
}

impl Options {
    /// Which hosts clients may mean. [`Allow::loopback`] by default: a name that leads to this machine from
    /// elsewhere is how DNS rebinding works.
    #[must_use]
    pub fn hosts(mut self, hosts: Allow) -> Self {
        self.hosts = hosts;
        self
    }

    /// Which sites may speak through a browser. [`Allow::loopback`] by default. A request without an origin comes
    /// from no browser and passes.
    #[must_use]
    pub fn origins(mut self, origins: Allow) -> Self {
        self.origins = origins;
        self
    }

    /// How long a stream may be silent before it shows a sign of life, and how long an answer may take before it
    /// becomes a stream. 15 s by default; zero is taken as one nanosecond, `None` switches both off.
    #[must_use]
    pub fn keep_alive(mut self, interval: Option<Duration>) -> Self {
        self.keep_alive = interval.map(|interval| interval.max(Duration::from_nanos(1)));
        self
    }

    /// Serves legacy clients without sessions: every request stands alone, so that `initialize` may come at any
    /// time, the client cannot be asked, and progress and log messages are dropped.
    #[must_use]
    pub const fn stateless(mut self) -> Self {
        self.stateless = true;
        self
    }

    /// Answers every request with one JSON object: progress and log messages are dropped, and legacy clients
    /// cannot be asked. Streams that were asked for (a legacy `GET`, a listen stream) still are streams.
    #[must_use]
    pub const fn json_answers(mut self) -> Self {
        self.json_answers = true;
        self
    }

    /// Keeps what goes out on the streams of legacy sessions, so that clients whose connection is lost can come
    /// back for it. Not kept by default.
    #[must_use]
    pub const fn replay(mut self, replay: Replay) -> Self {
        self.replay = Some(replay);
        self
    }

    /// Decides who may use a legacy session. Without it, principal and origin must be those of `initialize`.
    #[must_use]
    pub fn owner(mut self, owns: impl Fn(&Claim<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.owner = Some(Owns(Arc::new(owns)));
        self
    }

    /// Serves the deprecated transport of 2024-11-05 too, for clients that know no other: they `GET` the path
    /// `events` and `POST` to the path `messages`. Both are paths of their own, beside that of the endpoint. Off by
    /// default.
    #[must_use]
    pub fn sse_pair(mut self, events: impl Into<Box<str>>, messages: impl Into<Box<str>>) -> Self {
        self.pair = Some(Pair { events: events.into(), messages: messages.into() });
        self
    }
}

/// What is kept of the streams of one legacy session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The most events. 1,000 by default; the oldest leave first.
    pub events: usize,
    /// The most bytes of them. 1 MiB by default.
    pub bytes: usize,
    /// How long a client shall wait before it comes back. 1 s by default.
    pub retry: Duration,
}

impl Default for Replay {
    fn default() -> Self {
        Self { events: 1_000, bytes: 1 << 20, retry: Duration::from_secs(1) }
    }
}

/// Who wants to use a legacy session, and who opened it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The session.
    pub session: &'a str,
    /// The principal of the request that opened it.
    pub opened_by: Option<&'a str>,
    /// The origin of that request.
    pub opened_from: Option<&'a [u8]>,
    /// The principal of this request.
    pub principal: Option<&'a str>,
    /// The origin of this request.
    pub origin: Option<&'a [u8]>,
}

/// The application's judgement of a [`Claim`].
#[derive(Clone)]
pub(super) struct Owns(pub(super) Arc<dyn Fn(&Claim<'_>) -> bool + Send + Sync>);

impl fmt::Debug for Owns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owns(..)")
    }
}

/// Which hosts or origins are welcome.
///
/// | entry | as a host | as an origin |
/// |---|---|---|
/// | `example.com` | that name, at any port | any scheme, at any port |
/// | `example.com:8443` | that name and port | any scheme, that port |
/// | `https://example.com` | that name, at any port | that scheme, at any port |
///
/// Names are compared without case. IPv6 addresses stand in brackets.
#[derive(Clone)]
pub struct Allow(Rule);

#[derive(Clone)]
enum Rule {
    Any,
    Loopback,
    List(Arc<[Box<str>]>),
    When(Arc<dyn Fn(&str) -> bool + Send + Sync>),
}

impl fmt::Debug for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Rule::Any => f.write_str("Any"),
            Rule::Loopback => f.write_str("Loopback"),
            Rule::List(entries) => f.debug_tuple("List").field(entries).finish(),
            Rule::When(_) => f.write_str("When(..)"),
        }
    }
}

impl Allow {
    /// `localhost`, `127.0.0.1` and `[::1]`, at any port.
    #[must_use]
    pub const fn loopback() -> Self {
        Self(Rule::Loopback)
    }

    /// Everything: the check is off. Only where something before this server does it.
    #[must_use]
    pub const fn any() -> Self {
        Self(Rule::Any)
    }

    /// These, and nothing else: not the loopback addresses either.
    #[must_use]
    pub fn list<T: Into<Box<str>>>(entries: impl IntoIterator<Item = T>) -> Self {
        Self(Rule::List(entries.into_iter().map(Into::into).collect()))
    }

    /// Those for which `welcome` holds. It sees the value as it came.
    #[must_use]
    pub fn when(welcome: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Rule::When(Arc::new(welcome)))
    }

    /// Whether the value of a header, or an authority, is welcome.
    pub(super) fn admits(&self, value: &[u8]) -> bool {
        if let Rule::Any = self.0 {
            return true;
        }
        let Ok(value) = std::str::from_utf8(value) else { return false };
        match &self.0 {
            Rule::Any => true,
            Rule::Loopback => is_usual(value) || Place::read(value).is_some_and(|place| place.is_loopback()),
            Rule::List(entries) => Place::read(value).is_some_and(|place| {
                entries.iter().any(|entry| Place::read(entry).is_some_and(|entry| entry.covers(&place)))
            }),
            Rule::When(welcome) => welcome(value),
        }
    }
}

/// Whether an authority is a loopback address and a port: what nearly every request says, told without taking it apart.
fn is_usual(value: &str) -> bool {
    let port = value.strip_prefix("127.0.0.1:").or_else(|| value.strip_prefix("localhost:"));
    port.is_some_and(is_port)
}

fn is_port(port: &str) -> bool {
    !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// A host or an origin, taken apart.
#[derive(Debug, PartialEq, Eq)]
struct Place<'a> {
    scheme: Option<&'a str>,
    host: &'a str,
    port: Option<&'a str>,
}

impl<'a> Place<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let colon = text.bytes().position(|byte| byte == b':');
        let scheme = colon.filter(|at| text[*at..].starts_with("://")).map(|at| &text[..at]);
        let rest = scheme.map_or(text, |scheme| &text[scheme.len() + 3..]);
        let (host, port) = match rest.strip_prefix('[') {
            Some(address) => {
                let (address, after) = address.split_once(']')?;
                let host = rest.get(..address.len() + 2)?;
                (host, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
            }
            None => match rest.bytes().position(|byte| byte == b':') {
                Some(at) => (&rest[..at], Some(&rest[at + 1..])),
                None => (rest, None),
            },
        };
        let is_name = !host.is_empty() && !host.bytes().any(|byte| matches!(byte, b'/' | b'@' | b'?' | b'#' | b'\\'));
        (is_name && port.is_none_or(is_port)).then_some(Self { scheme, host, port })
    }

    fn is_loopback(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost") || matches!(self.host, "127.0.0.1" | "[::1]")
    }

    /// Whether `other` is what this entry of a list means.
    fn covers(&self, other: &Self) -> bool {
        self.host.eq_ignore_ascii_case(other.host)
            && self.port.is_none_or(|port| other.port() == Some(port))
            && (self.scheme.is_none()
                || other.scheme.is_none()
                || self.scheme.zip(other.scheme).is_some_and(|(a, b)| a.eq_ignore_ascii_case(b)))
    }

    /// The port, or the one that the scheme stands for.
    fn port(&self) -> Option<&'a str> {
        self.port.or_else(|| {
            let scheme = self.scheme?;
            if scheme.eq_ignore_ascii_case("https") {
                Some("443")
            } else if scheme.eq_ignore_ascii_case("http") {
                Some("80")
            } else {
                None
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_by_name_and_not_by_look() {
        let allow = Allow::loopback();
        for welcome in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1",
            "127.0.0.1:1",
            "[::1]:3000",
            "[::1]",
            "http://localhost:5173",
            "https://127.0.0.1",
        ] {
            assert!(allow.admits(welcome.as_bytes()), "{welcome}");
        }
        for stranger in [
            "",
            "null",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "evil.example:127",
            "http://localhost@evil.example",
            "http://evil.example/localhost",
            "localhost:80:80",
            "localhost:",
            "[::1]evil",
            "[::1",
            "://localhost/..",
        ] {
            assert!(!allow.admits(stranger.as_bytes()), "{stranger}");
        }
        assert!(!allow.admits(b"localhost\xff"));
    }

    #[test]
    fn lists_are_with_or_without_port() {
        let allow = Allow::list(["example.com", "api.example.com:8443", "https://app.example.com"]);
        for welcome in [
            "Example.com:99",
            "https://example.com",
            "api.example.com:8443",
            "https://app.example.com:444",
            "app.example.com",
        ] {
            assert!(allow.admits(welcome.as_bytes()), "{welcome}");
        }
        for stranger in
            ["api.example.com", "api.example.com:443", "http://app.example.com", "localhost", "x.example.com"]
        {
            assert!(!allow.admits(stranger.as_bytes()), "{stranger}");
        }
        assert!(Allow::list(["a.example:443"]).admits(b"https://a.example"), "a scheme stands for its port");
        assert!(Allow::any().admits(b"\xff"));
        assert!(Allow::when(|value| value.ends_with(".test")).admits(b"x.test"));
    }
}
