//! The server of the suite: one definition for both eras.
//!
//! | module | offers |
//! |---|---|
//! | `content` | tools that answer content of each kind, schemas that must arrive unchanged |
//! | `session` | tools that talk to their client while they run |
//! | `input` | tools and a prompt that need input of each kind |
//! | `diagnostic` | tools that show how a request without a session is served |
//! | `features` | resources, prompts, completions |

mod content;
mod diagnostic;
mod features;
mod input;
mod session;

use std::sync::Arc;

use mcp_sansio_io::Runtime;
use mcp_sansio_io::core::model::CacheHints;
use mcp_sansio_io::core::server::{BuildError, List};
use mcp_sansio_io::core::spec::{Era, Version};
use mcp_sansio_io::server::{BuiltServer, Server};

/// A picture of one pixel.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A sound of no length.
pub(crate) const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

/// How long clients may keep what does not change.
const FRESH_MS: u64 = 300_000;

/// The server, for clients of both eras or of one, on a runtime.
///
/// # Errors
/// When the catalogue contradicts itself.
pub fn everything(only: Option<Era>, runtime: &Arc<dyn Runtime>) -> Result<BuiltServer, BuildError> {
    let offered = |version: &Version| only.is_none_or(|era| version.era() == era);
    let versions: Vec<Version> = Version::ALL.into_iter().filter(offered).collect();
    let server = Server::new("mcp-sansio-everything", env!("CARGO_PKG_VERSION"))
        .title("Everything")
        .description("Offers what the conformance suite asks for")
        .instructions("Made for the conformance suite: nothing here does anything useful.")
        .versions(&versions)
        .logging()
        .subscriptions()
        .list_changed()
        .cache_discover(CacheHints::public(FRESH_MS))
        .cache_reads(CacheHints::private(FRESH_MS))
        .error_reporter(|report| eprintln!("everything-server: {report}"));
    let lists = [List::Tools, List::Prompts, List::Resources, List::Templates];
    let server = lists.into_iter().fold(server, |server, list| server.cache(list, CacheHints::public(FRESH_MS)));
    // The suite calls the first tool without arguments and wants a result: content comes first.
    features::add(diagnostic::add(input::add(session::add(content::add(server), runtime)))).build()
}
