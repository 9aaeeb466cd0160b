//! What a client is, what it can do, and how it behaves. Checked once, when the machine is made.

use std::collections::BTreeSet;
use std::time::Duration;

use thiserror::Error;

use crate::json::Json;
use crate::limits::Limits;
use crate::model::{ClientCapabilities, Implementation, LoggingLevel};
use crate::spec::{Era, Kind, Method, Version};

/// How the era is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Connect {
    /// Probe with `server/discover`; a server that gives no sign of the modern era gets `initialize`.
    #[default]
    Auto,
    /// `initialize`, without a probe.
    Legacy,
    /// Probe, and never fall back: what the probe fails with is the answer.
    Modern,
    /// This revision and no other, found as its era demands.
    Pinned(Version),
}

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// The longest silence of a call; progress ends a silence. 60 s. `None` is for ever.
    pub idle: Option<Duration>,
    /// The longest that a call may take whatever its progress, questions to the user not counted. 600 s.
    pub hard: Option<Duration>,
    /// How long a server may take to answer the probe. 5 s: old servers are silent, and their users wait.
    pub probe: Duration,
}

impl Timeouts {
    /// Sets the longest silence of a call.
    #[must_use]
    pub const fn idle(mut self, idle: Option<Duration>) -> Self {
        self.idle = idle;
        self
    }

    /// Sets the longest that a call may take.
    #[must_use]
    pub const fn hard(mut self, hard: Option<Duration>) -> Self {
        self.hard = hard;
        self
    }

    /// Sets how long a server may take to answer the probe.
    #[must_use]
    pub const fn probe(mut self, probe: Duration) -> Self {
        self.probe = probe;
        self
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            idle: Some(Duration::from_secs(60)),
            hard: Some(Duration::from_secs(600)),
            probe: Duration::from_secs(5),
        }
    }
}

/// The configuration of a client.
///
/// ```
/// # use mcp_sansio::client::{Config, Connect};
/// # use mcp_sansio::model::Implementation;
/// let config = Config::new(Implementation::new("inspector", "1.0.0")).connect(Connect::Modern);
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    pub(super) apply_defaults: bool,
    pub(super) cache: bool,
    pub(super) capabilities: ClientCapabilities,
    pub(super) drive_input: bool,
    pub(super) info: Implementation,
    pub(super) limits: Limits,
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) meta: Option<Json>,
    pub(super) mode: Connect,
    pub(super) result_types: BTreeSet<Box<str>>,
    pub(super) send_client_info: bool,
    pub(super) server_methods: BTreeSet<Box<str>>,
    pub(super) strict_capabilities: bool,
    pub(super) timeouts: Timeouts,
    pub(super) validate_output: bool,
    pub(super) versions: Option<Vec<Version>>,
}

/// Why a configuration makes no client.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A modern revision was asked for on the legacy handshake.
    #[error("{0} has no initialize handshake: each request claims it, so connect as Auto, Modern or Pinned")]
    ModernOnHandshake(Version),
    /// A legacy revision was asked for without its handshake.
    #[error("{0} needs the initialize handshake: connect as Auto, Legacy or Pinned")]
    LegacyWithoutHandshake(Version),
    /// The list of revisions is empty.
    #[error("no revision is left to speak")]
    NoVersion,
    /// `meta` is no object.
    #[error("meta must be an object")]
    MetaNotObject,
    /// `meta` holds a key that the machine fills.
    #[error("meta must not hold {0}: the machine fills it")]
    MetaReserved(String),
    /// A method for [`Config::server_method`] that no server may send as a request, or that the machine answers.
    #[error("{0} is not a request that an application may answer")]
    ServerMethod(String),
    /// A result type that the core protocol has a meaning for.
    #[error("the result type {0} belongs to the protocol")]
    ResultType(String),
}

impl Config {
    /// A client with this name and version that declares no capabilities.
    #[must_use]
    pub fn new(info: Implementation) -> Self {
        Self {
            apply_defaults: false,
            cache: true,
            capabilities: ClientCapabilities::new(),
            drive_input: true,
            info,
            limits: Limits::default(),
            log_level: None,
            meta: None,
            mode: Connect::Auto,
            result_types: BTreeSet::new(),
            send_client_info: true,
            server_methods: BTreeSet::new(),
            strict_capabilities: false,
            timeouts: Timeouts::default(),
            validate_output: true,
            versions: None,
        }
    }

    /// Whether accepted elicitations get the schema's defaults for what the user left out. Off.
    #[must_use]
    pub const fn apply_defaults(mut self, apply: bool) -> Self {
        self.apply_defaults = apply;
        self
    }

    /// Whether answers are kept for as long as the server allows. On.
    #[must_use]
    pub const fn cache(mut self, cache: bool) -> Self {
        self.cache = cache;
        self
    }

    /// What the client can do. Declare only what the application answers: questions of other kinds are refused
    /// here.
    #[must_use]
    pub fn capabilities(mut self, capabilities: ClientCapabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// How the era is found. Automatic.
    #[must_use]
    pub const fn connect(mut self, mode: Connect) -> Self {
        self.mode = mode;
        self
    }

    /// Whether the machine turns `input_required` results into questions and retries. On; off hands them over as
    /// answers.
    #[must_use]
    pub const fn drive_input(mut self, drive: bool) -> Self {
        self.drive_input = drive;
        self
    }

    /// The bounds.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The least level of log messages wanted for every request of the modern era. None.
    #[must_use]
    pub const fn log_level(mut self, level: LoggingLevel) -> Self {
        self.log_level = Some(level);
        self
    }

    /// Members for `_meta` of every request, an object.
    #[must_use]
    pub fn meta(mut self, meta: Json) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Accepts results of this type from an extension that the capabilities declare. They are handed over as
    /// answers; without this, an unknown result type makes a result invalid.
    #[must_use]
    pub fn result_type(mut self, name: impl Into<Box<str>>) -> Self {
        self.result_types.insert(name.into());
        self
    }

    /// Whether requests say who we are. On. The legacy handshake always does.
    #[must_use]
    pub const fn send_client_info(mut self, send: bool) -> Self {
        self.send_client_info = send;
        self
    }

    /// A request of a legacy server that the application answers itself, as `Action::Invoke`: a method of an
    /// extension, or a protocol method that is wanted raw.
    #[must_use]
    pub fn server_method(mut self, method: impl Into<Box<str>>) -> Self {
        self.server_methods.insert(method.into());
        self
    }

    /// Whether calls whose capability the server has not declared fail here. Off: some servers under-declare.
    #[must_use]
    pub const fn strict_capabilities(mut self, strict: bool) -> Self {
        self.strict_capabilities = strict;
        self
    }

    /// How long things may take.
    #[must_use]
    pub const fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Whether structured tool results are checked against the schemas that lists have shown. On.
    #[must_use]
    pub const fn validate_output(mut self, validate: bool) -> Self {
        self.validate_output = validate;
        self
    }

    /// The revisions that the client speaks. All of them.
    #[must_use]
    pub fn versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {
        self.versions = Some(versions.into_iter().collect());
        self
    }

    /// The revisions that a connection may use, newest first.
    pub(super) fn offers(&self) -> Result<Vec<Version>, ConfigError> {
        let named = self.versions.as_deref();
        let fits = |version: &Version| match self.mode {
            Connect::Auto => true,
            Connect::Legacy => version.era() == Era::Legacy,
            Connect::Modern => version.era() == Era::Modern,
            Connect::Pinned(pinned) => *version == pinned,
        };
        if let (Some(named), Connect::Legacy | Connect::Modern) = (named, self.mode)
            && let Some(stranger) = named.iter().copied().find(|version| !fits(version))
        {
            return Err(match stranger.era() {
                Era::Modern => ConfigError::ModernOnHandshake(stranger),
                Era::Legacy => ConfigError::LegacyWithoutHandshake(stranger),
            });
        }
        let mut offers: Vec<Version> = named.unwrap_or(&Version::ALL).iter().copied().filter(fits).collect();
        offers.sort_unstable();
        offers.dedup();
        offers.reverse();
        if offers.is_empty() { Err(ConfigError::NoVersion) } else { Ok(offers) }
    }

    /// Refuses what could not work.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if let Some(meta) = &self.meta {
            let members = super::text::object(meta).ok_or(ConfigError::MetaNotObject)?;
            if let Some((key, _)) = members.iter().find(|(key, _)| super::envelope::is_filled(key)) {
                return Err(ConfigError::MetaReserved(key.to_string()));
            }
        }
        for name in &self.server_methods {
            let takes = match Method::parse(name) {
                Some(method) => {
                    method.kind() == Kind::Request
                        && matches!(
                            method,
                            Method::ElicitationCreate | Method::RootsList | Method::SamplingCreateMessage
                        )
                }
                None => true,
            };
            if !takes {
                return Err(ConfigError::ServerMethod(name.to_string()));
            }
        }
        match self.result_types.iter().find(|name| matches!(&***name, super::COMPLETE | super::INPUT_REQUIRED)) {
            Some(name) => Err(ConfigError::ResultType(name.to_string())),
            None => Ok(()),
        }
    }
}
