//! What an HTTP server decides beside its definition, and where the server of a client is.

use mcp_sansio::http::client::Endpoint;
use mcp_sansio::http::server::{Allow, Options, Replay};
use mcp_sansio::json::Json;
use serde::Deserialize;

use crate::{Failure, present, read, seconds};

/// The settings of an HTTP server that are values. Those that are code (which hosts and origins are welcome, who owns
/// a session) are set on the [`Options`] themselves.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    hosts: Option<Json>,
    origins: Option<Json>,
    #[serde(deserialize_with = "present")]
    keep_alive: Option<Option<f64>>,
    stateless: bool,
    json_answers: bool,
    replay: Option<Json>,
    sse_pair: Option<(String, String)>,
}

/// Makes options of an object of settings: `hosts` and `origins` (`"any"`, `"loopback"` or a list), `keep_alive` (in
/// seconds, `null` for none), `stateless`, `json_answers`, `replay` (`true` or `events`, `bytes`, `retry` in seconds),
/// `sse_pair` (two paths).
///
/// # Errors
/// What is no setting.
pub fn options(settings: &Json) -> Result<Options, Failure> {
    let given: Settings = read(settings)?;
    let mut options = Options::default();
    if let Some(hosts) = given.hosts {
        options = options.hosts(allow(&hosts)?);
    }
    if let Some(origins) = given.origins {
        options = options.origins(allow(&origins)?);
    }
    if let Some(interval) = given.keep_alive {
        options = options.keep_alive(interval.map(seconds));
    }
    if given.stateless {
        options = options.stateless();
    }
    if given.json_answers {
        options = options.json_answers();
    }
    if let Some(kept) = given.replay.as_ref().map(replay).transpose()?.flatten() {
        options = options.replay(kept);
    }
    if let Some((events, messages)) = given.sse_pair {
        options = options.sse_pair(events, messages);
    }
    Ok(options)
}

fn allow(given: &Json) -> Result<Allow, Failure> {
    match given.get() {
        "\"any\"" => Ok(Allow::any()),
        "\"loopback\"" => Ok(Allow::loopback()),
        _ => Ok(Allow::list(read::<Vec<String>>(given)?)),
    }
}

fn replay(given: &Json) -> Result<Option<Replay>, Failure> {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Kept {
        events: Option<usize>,
        bytes: Option<usize>,
        retry: Option<f64>,
    }
    let usual = Replay::default();
    Ok(match given.get() {
        "false" | "null" => None,
        "true" => Some(usual),
        _ => {
            let Kept { events, bytes, retry } = read(given)?;
            Some(Replay {
                events: events.unwrap_or(usual.events),
                bytes: bytes.unwrap_or(usual.bytes),
                retry: retry.map_or(usual.retry, seconds),
            })
        }
    })
}

/// Makes the endpoint of a client: `url`, `headers` (pairs), `authorization`, `ask_authorization`, `get_stream`,
/// `deprecated_sse`.
///
/// # Errors
/// What is no setting, no address or no header.
pub fn endpoint(settings: &Json) -> Result<Endpoint, Failure> {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Settings {
        url: String,
        #[serde(default)]
        headers: Vec<(String, String)>,
        authorization: Option<String>,
        ask_authorization: Option<bool>,
        get_stream: Option<bool>,
        deprecated_sse: Option<bool>,
    }
    let given: Settings = read(settings)?;
    let refused = |error: mcp_sansio::http::client::EndpointError| Failure::misuse(error.to_string());
    let mut endpoint = Endpoint::new(&given.url).map_err(refused)?;
    for (name, value) in given.headers {
        endpoint = endpoint.header(&name, value).map_err(refused)?;
    }
    if let Some(value) = given.authorization {
        endpoint = endpoint.authorization(value).map_err(refused)?;
    }
    if let Some(ask) = given.ask_authorization {
        endpoint = endpoint.ask_authorization(ask);
    }
    if let Some(open) = given.get_stream {
        endpoint = endpoint.get_stream(open);
    }
    if let Some(look) = given.deprecated_sse {
        endpoint = endpoint.deprecated_sse(look);
    }
    Ok(endpoint)
}
