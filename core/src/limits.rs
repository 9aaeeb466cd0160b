//! Every bound, with its reason. Hitting one is a typed error that names it ([`Bound`]).

use std::fmt;
use std::time::Duration;

/// A bound of [`Limits`], by name: what an error says was hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Bound {
    /// [`Limits::frame_bytes`].
    FrameBytes,
    /// [`Limits::json_depth`].
    JsonDepth,
    /// [`Limits::batch_messages`].
    BatchMessages,
    /// [`Limits::in_flight`].
    InFlight,
    /// [`Limits::calls`].
    Calls,
    /// [`Limits::output_bytes`].
    OutputBytes,
    /// [`Limits::subscriptions`].
    Subscriptions,
    /// [`Limits::listen_streams`].
    ListenStreams,
    /// [`Limits::rounds`].
    Rounds,
    /// [`Limits::walk_pages`].
    WalkPages,
    /// [`Limits::walk_items`].
    WalkItems,
    /// [`Limits::walk_bytes`].
    WalkBytes,
    /// [`Limits::cache_entries`].
    CacheEntries,
    /// [`Limits::request_state_bytes`].
    RequestStateBytes,
    /// [`Limits::input_requests`].
    InputRequests,
    /// [`Limits::sessions`].
    Sessions,
    /// [`Limits::listens`].
    Listens,
    /// [`Limits::listens_per_principal`].
    ListensPerPrincipal,
    /// [`Limits::session_streams`].
    SessionStreams,
}

impl Bound {
    /// The name of the field of [`Limits`].
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FrameBytes => "frame_bytes",
            Self::JsonDepth => "json_depth",
            Self::BatchMessages => "batch_messages",
            Self::InFlight => "in_flight",
            Self::Calls => "calls",
            Self::OutputBytes => "output_bytes",
            Self::Subscriptions => "subscriptions",
            Self::ListenStreams => "listen_streams",
            Self::Rounds => "rounds",
            Self::WalkPages => "walk_pages",
            Self::WalkItems => "walk_items",
            Self::WalkBytes => "walk_bytes",
            Self::CacheEntries => "cache_entries",
            Self::RequestStateBytes => "request_state_bytes",
            Self::InputRequests => "input_requests",
            Self::Sessions => "sessions",
            Self::Listens => "listens",
            Self::ListensPerPrincipal => "listens_per_principal",
            Self::SessionStreams => "session_streams",
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The bounds of a machine. Start from [`Limits::default`] for a client and [`Limits::server`] for a server, which
/// differ in [`Limits::rounds`], and change what you must.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest frame read, in bytes without its newline, and the longest body of an HTTP request. 4 MiB: a
    /// base64 image of 3 MB fits.
    pub frame_bytes: usize,
    /// The deepest nesting of JSON read. 64: deeper values exhaust the stacks of common recursive readers.
    pub json_depth: usize,
    /// The most messages in one 2025-03-26 batch. 100.
    pub batch_messages: usize,
    /// The most requests of the peer in flight at once; a further one is refused. 1,024: more than the window of
    /// any client seen, and each costs a few hundred bytes.
    pub in_flight: usize,
    /// The most requests of our own in flight at once; a further call is an error. 1,024.
    pub calls: usize,
    /// The most bytes queued for a slow reader before progress and log messages are dropped, and reading stops.
    /// 8 MiB: two frames of the longest kind. A server ends the stream at sixteen times as many, a client at twice.
    pub output_bytes: usize,
    /// The most resources that one legacy session or one listen stream may name. 1,000.
    pub subscriptions: usize,
    /// The most listen streams on one connection. 100.
    pub listen_streams: usize,
    /// The most rounds of input for one request: 8 on the server's legacy wire, 16 for a client.
    pub rounds: u32,
    /// The most pages of a whole walk. 1,000.
    pub walk_pages: usize,
    /// The most items of a whole walk. 100,000.
    pub walk_items: usize,
    /// The most bytes of the pages of a whole walk. 256 MiB: many times what any host shows its model, and what
    /// pages of the longest kind come to before they are too many.
    pub walk_bytes: usize,
    /// The most results kept in a client's cache. 1,000: the oldest leaves first.
    pub cache_entries: usize,
    /// The longest `requestState` that is written or opened, in bytes. 64 KiB.
    pub request_state_bytes: usize,
    /// How long a sealed `requestState` opens. 300 s, sealed anew each round.
    pub request_state_ttl: Duration,
    /// The most requests for input in one round. 32.
    pub input_requests: usize,
    /// How long a client waits at least before it resumes a stream that broke (HTTP). 100 ms, twice as long after each
    /// attempt that brought nothing.
    pub resume_floor: Duration,
    /// How long a client may spend in all on resuming the stream of one request, and on reopening one stream of
    /// notifications that is not found (HTTP). 300 s.
    pub resume_budget: Duration,
    /// How long a server-to-client request of the legacy era may take. 600 s: people answer some of them.
    pub server_request: Duration,
    /// How long owed answers are awaited after end of input. 1.5 s.
    pub drain: Duration,
    /// How long a handler may take before its request is answered with an error. None by default.
    pub invocation: Option<Duration>,
    /// The most legacy sessions of an HTTP endpoint. 10,000: at a few kilobytes each they stay under 100 MB.
    pub sessions: Option<usize>,
    /// How long a legacy session of an HTTP endpoint lives without a request. 30 min: longer than a coffee break.
    pub session_idle: Option<Duration>,
    /// The most listen streams of an HTTP endpoint. 1,000: each holds a connection open.
    pub listens: Option<usize>,
    /// The most listen streams of one principal of an HTTP endpoint; clients that nobody has named are bounded by
    /// [`Limits::listens`] alone. 100.
    pub listens_per_principal: Option<usize>,
    /// The most exchanges of one legacy HTTP session that are open at once. 1,088: one for each request that may be
    /// in flight, and some for notifications and for listening.
    pub session_streams: usize,
}

impl Limits {
    /// The defaults of a server: eight rounds.
    #[must_use]
    pub fn server() -> Self {
        Self { rounds: 8, ..Self::default() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame_bytes: 4 << 20,
            json_depth: 64,
            batch_messages: 100,
            in_flight: 1_024,
            calls: 1_024,
            output_bytes: 8 << 20,
            subscriptions: 1_000,
            listen_streams: 100,
            rounds: 16,
            walk_pages: 1_000,
            walk_items: 100_000,
            walk_bytes: 256 << 20,
            cache_entries: 1_000,
            request_state_bytes: 64 << 10,
            request_state_ttl: Duration::from_secs(300),
            input_requests: 32,
            resume_floor: Duration::from_millis(100),
            resume_budget: Duration::from_secs(300),
            server_request: Duration::from_secs(600),
            drain: Duration::from_millis(1_500),
            invocation: None,
            sessions: Some(10_000),
            session_idle: Some(Duration::from_secs(30 * 60)),
            listens: Some(1_000),
            listens_per_principal: Some(100),
            session_streams: 1_088,
        }
    }
}
