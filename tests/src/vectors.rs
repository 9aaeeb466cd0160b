//! The conversations of `tests/vectors`, read and played.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use mcp_sansio::testing::{Carrier, Feed, Frame, Mismatch, Side, Transcript};

use crate::fixtures;

/// The text of every fixture, by name.
pub static FIXTURES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| read("vectors/fixtures"));

/// The text of every vector, by name.
pub static VECTORS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| read("vectors"));

fn read(folder: &str) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("a file").path());
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let name = path.file_stem().and_then(|name| name.to_str()).expect("a file has a name").to_owned();
            (name, fs::read_to_string(&path).expect("a file can be read"))
        })
        .collect()
}

/// Every vector, as what it is.
///
/// # Panics
/// When a file is none, or has another name than it says.
#[must_use]
pub fn all() -> Vec<Transcript> {
    let transcripts = VECTORS.iter().map(|(name, text)| {
        let transcript = Transcript::read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(transcript.name, *name, "a vector is called like its file");
        transcript
    });
    transcripts.collect()
}

/// Plays a vector against the machine of its fixture.
///
/// # Errors
/// Where the machine went another way.
///
/// # Panics
/// When there is no such fixture.
pub fn play(transcript: &Transcript, feed: Feed) -> Result<Vec<Frame>, Mismatch> {
    let name = &transcript.fixture;
    let fixture = FIXTURES.get(name).unwrap_or_else(|| panic!("{}: no fixture {name}", transcript.name));
    let pinned = transcript.session.as_ref().map(|session| session.version.as_str());
    let options = transcript.http.get();
    match (transcript.transport, transcript.role) {
        (Carrier::Stdio, Side::Server) => transcript.play_server(fixtures::server(fixture), feed),
        (Carrier::Stdio, Side::Client) => transcript.play_client(fixtures::client(fixture, pinned), feed),
        (Carrier::Http, Side::Server) => {
            transcript.play_http_server(fixtures::definition(fixture), fixtures::options(options), feed)
        }
        (Carrier::Http, Side::Client) => {
            transcript.play_http_client(fixtures::http_client(fixture, options, pinned), feed)
        }
    }
}
