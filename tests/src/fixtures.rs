//! The servers and clients that vectors name, made from `tests/vectors/fixtures/*.json`.
//!
//! The files are data, so that other languages make the same machines from them; `tests/vectors/README.md` says what
//! their members mean.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::client::{Client, Config, Connect, Timeouts};
use mcp_sansio::http::client::{Endpoint, EndpointError, HttpClient};
use mcp_sansio::http::server::{Allow, Options, Replay};
use mcp_sansio::json::Json;
use mcp_sansio::limits::Limits;
use mcp_sansio::model::{
    CacheHints, CacheScope, ClientCapabilities, Extra, Implementation, LoggingLevel, Prompt, Resource,
    ResourceTemplate, Tool,
};
use mcp_sansio::rng::Seed;
use mcp_sansio::server::request_state::SealKeys;
use mcp_sansio::server::{Definition, DefinitionBuilder, List, Server};
use mcp_sansio::spec::{Method, Version};
use serde::{Deserialize, Deserializer};

/// A server of a fixture, which nothing has happened to.
///
/// # Panics
/// When the fixture is none.
#[must_use]
pub fn server(text: &str) -> Server {
    Server::new(Arc::new(definition(text)), Seed([7; 32]))
}

/// The definition of a fixture.
///
/// # Panics
/// When the fixture is none.
#[must_use]
pub fn definition(text: &str) -> Definition {
    let fixture: ServerFixture = serde_json::from_str(text).unwrap_or_else(|error| panic!("no fixture: {error}"));
    fixture.builder().build().unwrap_or_else(|error| panic!("the fixture makes no definition: {error}"))
}

/// How a server is served over HTTP: the options of a vector.
///
/// # Panics
/// When the text holds none.
#[must_use]
pub fn options(text: &str) -> Options {
    let written: ServedBy = serde_json::from_str(text).unwrap_or_else(|error| panic!("no options: {error}"));
    let mut options = Options::default();
    if written.stateless {
        options = options.stateless();
    }
    if written.json_answers {
        options = options.json_answers();
    }
    if let Some(millis) = written.keep_alive_ms {
        options = options.keep_alive(millis.map(Duration::from_millis));
    }
    if let Some(window) = written.replay {
        let default = Replay::default();
        options = options.replay(Replay {
            events: window.events.unwrap_or(default.events),
            bytes: window.bytes.unwrap_or(default.bytes),
            retry: window.retry_ms.map_or(default.retry, Duration::from_millis),
        });
    }
    if let Some(hosts) = written.hosts {
        options = options.hosts(hosts.allow());
    }
    if let Some(origins) = written.origins {
        options = options.origins(origins.allow());
    }
    if let Some(pair) = written.sse_pair {
        options = options.sse_pair(pair.events, pair.messages);
    }
    options
}

/// A client of a fixture over HTTP, reached as a vector says; pinned to a revision if one is given.
///
/// # Panics
/// When the fixture or the options are none.
#[must_use]
pub fn http_client(text: &str, options: &str, pinned: Option<&str>) -> HttpClient {
    let fixture: ClientFixture = serde_json::from_str(text).unwrap_or_else(|error| panic!("no fixture: {error}"));
    let reached: ReachedBy = serde_json::from_str(options).unwrap_or_else(|error| panic!("no options: {error}"));
    HttpClient::over_http(fixture.config(pinned), reached.endpoint())
        .unwrap_or_else(|error| panic!("the fixture makes no client: {error}"))
}

/// A client of a fixture, which nothing has happened to; pinned to a revision if one is given.
///
/// # Panics
/// When the fixture is none.
#[must_use]
pub fn client(text: &str, pinned: Option<&str>) -> Client {
    let fixture: ClientFixture = serde_json::from_str(text).unwrap_or_else(|error| panic!("no fixture: {error}"));
    let config = fixture.config(pinned);
    Client::new(config).unwrap_or_else(|error| panic!("the fixture makes no client: {error}"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServedBy {
    #[serde(default)]
    stateless: bool,
    #[serde(default)]
    json_answers: bool,
    /// `null` is none; absent is the default.
    #[serde(default, deserialize_with = "present")]
    keep_alive_ms: Option<Option<u64>>,
    replay: Option<Window>,
    hosts: Option<Welcome>,
    origins: Option<Welcome>,
    sse_pair: Option<SsePair>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Window {
    events: Option<usize>,
    bytes: Option<usize>,
    retry_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SsePair {
    events: String,
    messages: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Welcome {
    Word(String),
    List(Vec<String>),
}

impl Welcome {
    fn allow(self) -> Allow {
        match self {
            Self::Word(word) if word == "any" => Allow::any(),
            Self::Word(word) if word == "loopback" => Allow::loopback(),
            Self::Word(word) => panic!("{word:?} is no rule"),
            Self::List(entries) => Allow::list(entries),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReachedBy {
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    authorization: Option<String>,
    #[serde(default)]
    pub(crate) ask_authorization: bool,
    get_stream: Option<bool>,
    deprecated_sse: Option<bool>,
}

impl ReachedBy {
    pub(crate) fn endpoint(self) -> Endpoint {
        let wrong = |error: EndpointError| panic!("the options make no endpoint: {error}");
        let url = self.url.unwrap_or_else(|| "http://localhost/mcp".to_owned());
        let mut endpoint = Endpoint::new(&url)
            .unwrap_or_else(wrong)
            .ask_authorization(self.ask_authorization)
            .get_stream(self.get_stream.unwrap_or(true))
            .deprecated_sse(self.deprecated_sse.unwrap_or(true));
        for (name, value) in self.headers {
            endpoint = endpoint.header(&name, value).unwrap_or_else(wrong);
        }
        if let Some(value) = self.authorization {
            endpoint = endpoint.authorization(value).unwrap_or_else(wrong);
        }
        endpoint
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerFixture {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) instructions: Option<String>,
    #[serde(default)]
    pub(crate) tools: Vec<Tool>,
    #[serde(default)]
    pub(crate) prompts: Vec<Prompt>,
    #[serde(default)]
    pub(crate) resources: Vec<Resource>,
    #[serde(default)]
    pub(crate) templates: Vec<ResourceTemplate>,
    #[serde(default)]
    pub(crate) completions: bool,
    #[serde(default)]
    pub(crate) logging: bool,
    #[serde(default)]
    pub(crate) subscriptions: bool,
    #[serde(default)]
    pub(crate) ask_subscriptions: bool,
    #[serde(default)]
    pub(crate) list_changed: bool,
    #[serde(default)]
    pub(crate) read_any: bool,
    pub(crate) page_size: Option<usize>,
    pub(crate) seal_key: Option<u8>,
    pub(crate) versions: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) methods: Vec<String>,
    #[serde(default)]
    pub(crate) notifications: Vec<String>,
    #[serde(default)]
    pub(crate) hand_over: Vec<String>,
    #[serde(default)]
    pub(crate) hand_over_unknown: bool,
    #[serde(default)]
    pub(crate) dynamic: Vec<String>,
    #[serde(default)]
    pub(crate) cache: Extra,
    pub(crate) send_identity: Option<bool>,
    pub(crate) legacy_input: Option<bool>,
    #[serde(default)]
    pub(crate) extensions: Extra,
    #[serde(default)]
    pub(crate) limits: Bounds,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hints {
    #[serde(rename = "ttlMs")]
    pub(crate) ttl_ms: u64,
    #[serde(rename = "cacheScope")]
    pub(crate) cache_scope: String,
}

/// The bounds that vectors reach.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Bounds {
    pub(crate) frame_bytes: Option<usize>,
    pub(crate) json_depth: Option<usize>,
    pub(crate) in_flight: Option<usize>,
    pub(crate) listen_streams: Option<usize>,
    pub(crate) subscriptions: Option<usize>,
    pub(crate) rounds: Option<u32>,
    pub(crate) walk_pages: Option<usize>,
    pub(crate) walk_items: Option<usize>,
    pub(crate) batch_messages: Option<usize>,
    pub(crate) output_bytes: Option<usize>,
    pub(crate) sessions: Option<usize>,
    pub(crate) listens: Option<usize>,
    pub(crate) listens_per_principal: Option<usize>,
    pub(crate) session_streams: Option<usize>,
    pub(crate) invocation_ms: Option<u64>,
    pub(crate) session_idle_ms: Option<u64>,
    pub(crate) resume_budget_ms: Option<u64>,
}

impl Bounds {
    pub(crate) fn apply(&self, limits: &mut Limits) {
        let set = |to: &mut usize, from: Option<usize>| *to = from.unwrap_or(*to);
        set(&mut limits.frame_bytes, self.frame_bytes);
        set(&mut limits.json_depth, self.json_depth);
        set(&mut limits.in_flight, self.in_flight);
        set(&mut limits.listen_streams, self.listen_streams);
        set(&mut limits.subscriptions, self.subscriptions);
        set(&mut limits.walk_pages, self.walk_pages);
        set(&mut limits.walk_items, self.walk_items);
        set(&mut limits.batch_messages, self.batch_messages);
        set(&mut limits.output_bytes, self.output_bytes);
        set(&mut limits.session_streams, self.session_streams);
        limits.sessions = self.sessions.or(limits.sessions);
        limits.listens = self.listens.or(limits.listens);
        limits.listens_per_principal = self.listens_per_principal.or(limits.listens_per_principal);
        limits.session_idle = self.session_idle_ms.map(Duration::from_millis).or(limits.session_idle);
        limits.resume_budget = self.resume_budget_ms.map_or(limits.resume_budget, Duration::from_millis);
        limits.rounds = self.rounds.unwrap_or(limits.rounds);
        limits.invocation = self.invocation_ms.map(Duration::from_millis);
    }
}

impl ServerFixture {
    fn builder(self) -> DefinitionBuilder {
        let mut builder = Definition::builder(self.name, self.version);
        if let Some(text) = self.instructions {
            builder = builder.instructions(text);
        }
        builder = self.tools.into_iter().fold(builder, DefinitionBuilder::tool);
        builder = self.prompts.into_iter().fold(builder, DefinitionBuilder::prompt);
        builder = self.resources.into_iter().fold(builder, DefinitionBuilder::resource);
        builder = self.templates.into_iter().fold(builder, DefinitionBuilder::template);
        builder = self.methods.into_iter().fold(builder, DefinitionBuilder::method);
        builder = self.notifications.into_iter().fold(builder, DefinitionBuilder::notification);
        type Switch = fn(DefinitionBuilder) -> DefinitionBuilder;
        let switches: [(bool, Switch); 7] = [
            (self.completions, DefinitionBuilder::completions),
            (self.logging, DefinitionBuilder::logging),
            (self.subscriptions, DefinitionBuilder::subscriptions),
            (self.ask_subscriptions, DefinitionBuilder::ask_subscriptions),
            (self.list_changed, DefinitionBuilder::list_changed),
            (self.read_any, DefinitionBuilder::read_any),
            (self.hand_over_unknown, DefinitionBuilder::hand_over_unknown),
        ];
        builder = switches.into_iter().filter(|(on, _)| *on).fold(builder, |builder, (_, switch)| switch(builder));
        for name in self.hand_over {
            builder = builder.hand_over(Method::parse(&name).expect("a fixture hands methods over"));
        }
        for name in self.dynamic {
            builder = builder.dynamic(list(&name));
        }
        for (name, hints) in self.cache.iter() {
            builder = cached(builder, name, &hints.parse().expect("a fixture has caching hints"));
        }
        for (id, settings) in self.extensions {
            builder = builder.extension(id, settings);
        }
        if let Some(names) = self.versions {
            let versions: Vec<_> =
                names.iter().map(|name| Version::parse(name).expect("a fixture names revisions")).collect();
            builder = builder.versions(&versions);
        }
        if let Some(byte) = self.seal_key {
            builder = builder.seal(SealKeys::new([byte; 32]));
        }
        let mut limits = Limits::server();
        self.limits.apply(&mut limits);
        builder
            .page_size(self.page_size.unwrap_or(50))
            .send_identity(self.send_identity.unwrap_or(true))
            .legacy_input(self.legacy_input.unwrap_or(true))
            .limits(limits)
    }
}

fn cached(builder: DefinitionBuilder, name: &str, hints: &Hints) -> DefinitionBuilder {
    let hints = match CacheScope::from_wire(&hints.cache_scope) {
        CacheScope::Public => CacheHints::public(hints.ttl_ms),
        _ => CacheHints::private(hints.ttl_ms),
    };
    match name {
        "discover" => builder.cache_discover(hints),
        "read" => builder.cache_reads(hints),
        name => builder.cache(list(name), hints),
    }
}

pub(crate) fn list(name: &str) -> List {
    match name {
        "prompts" => List::Prompts,
        "resources" => List::Resources,
        "templates" => List::Templates,
        "tools" => List::Tools,
        other => panic!("{other} is no list"),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientFixture {
    pub(crate) name: String,
    pub(crate) version: String,
    #[serde(default)]
    pub(crate) connect: Option<String>,
    #[serde(default)]
    pub(crate) capabilities: Option<ClientCapabilities>,
    #[serde(default)]
    pub(crate) server_methods: Vec<String>,
    #[serde(default)]
    pub(crate) result_types: Vec<String>,
    #[serde(default)]
    pub(crate) apply_defaults: bool,
    pub(crate) send_client_info: Option<bool>,
    pub(crate) strict_capabilities: Option<bool>,
    pub(crate) validate_output: Option<bool>,
    pub(crate) cache: Option<bool>,
    pub(crate) log_level: Option<String>,
    pub(crate) meta: Option<Json>,
    pub(crate) probe_ms: Option<u64>,
    #[serde(default)]
    pub(crate) limits: Bounds,
}

impl ClientFixture {
    pub(crate) fn connect(&self, pinned: Option<&str>) -> Connect {
        match pinned.or(self.connect.as_deref()) {
            None | Some("auto") => Connect::Auto,
            Some("legacy") => Connect::Legacy,
            Some("modern") => Connect::Modern,
            Some(name) => Connect::Pinned(Version::parse(name).expect("a fixture names a revision")),
        }
    }

    fn config(self, pinned: Option<&str>) -> Config {
        let connect = self.connect(pinned);
        let mut limits = Limits::default();
        self.limits.apply(&mut limits);
        let mut config = Config::new(Implementation::new(self.name, self.version))
            .connect(connect)
            .capabilities(self.capabilities.unwrap_or_default())
            .apply_defaults(self.apply_defaults)
            .send_client_info(self.send_client_info.unwrap_or(true))
            .strict_capabilities(self.strict_capabilities.unwrap_or(false))
            .validate_output(self.validate_output.unwrap_or(true))
            .cache(self.cache.unwrap_or(true))
            .limits(limits);
        config = self.server_methods.into_iter().fold(config, Config::server_method);
        config = self.result_types.into_iter().fold(config, Config::result_type);
        if let Some(name) = self.log_level {
            config = config.log_level(LoggingLevel::parse(&name).expect("a fixture names a level"));
        }
        if let Some(meta) = self.meta {
            config = config.meta(meta);
        }
        if let Some(millis) = self.probe_ms {
            config = config.timeouts(Timeouts::default().probe(Duration::from_millis(millis)));
        }
        config
    }
}
