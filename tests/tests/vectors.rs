//! Every conversation of `tests/vectors`, played whole, byte by byte and with the beginning of what follows.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mcp_sansio::testing::{Carrier, Feed, Frame, Mismatch, Side, Transcript};
use mcp_sansio_tests::{fixtures, schema};

/// All vectors and fixtures, by name.
fn read(folder: &str) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap()))
        .collect()
}

fn vectors() -> Vec<Transcript> {
    let vectors = read("vectors");
    vectors
        .into_iter()
        .map(|(name, text)| {
            let transcript = Transcript::read(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(transcript.name, name, "a vector is called like its file");
            transcript
        })
        .collect()
}

fn play(transcript: &Transcript, fixtures: &BTreeMap<String, String>, feed: Feed) -> Result<Vec<Frame>, Mismatch> {
    let fixture = fixtures.get(&transcript.fixture).unwrap_or_else(|| panic!("no fixture {}", transcript.fixture));
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

#[test]
fn every_vector_holds_however_its_input_is_cut() {
    let fixtures = read("vectors/fixtures");
    let mut problems = Vec::new();
    for transcript in vectors() {
        let outcomes: Vec<_> = Feed::ALL.iter().map(|feed| play(&transcript, &fixtures, *feed)).collect();
        for (feed, outcome) in Feed::ALL.iter().zip(&outcomes) {
            match outcome {
                Err(problem) => problems.push(format!("{feed:?}: {problem}")),
                Ok(_) if outcome != &outcomes[0] => problems.push(format!("{}: {feed:?} differs", transcript.name)),
                Ok(_) => {}
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_frame_of_every_vector_fits_its_schema() {
    let fixtures = read("vectors/fixtures");
    let (mut problems, mut checked) = (Vec::new(), 0);
    for transcript in vectors() {
        let Ok(frames) = play(&transcript, &fixtures, Feed::Whole) else { continue };
        let mut reader = schema::Reader::new();
        if let Err(problem) = reader.read_all(&frames) {
            problems.push(format!("{}: {problem}", transcript.name));
        }
        checked += reader.checked();
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(checked > 500, "only {checked} messages were checked");
}

/// The vectors stay a rich set: both roles, every revision, every error code that stdio can show.
#[test]
fn the_vectors_reach_every_corner() {
    let vectors = vectors();
    assert!(vectors.len() >= 80, "only {} vectors", vectors.len());
    let count = |role| vectors.iter().filter(|vector| vector.role == role).count();
    assert!(count(Side::Server) >= 40 && count(Side::Client) >= 40);
    let fixtures = read("vectors/fixtures");
    let text: String = vectors
        .iter()
        .filter_map(|vector| play(vector, &fixtures, Feed::Whole).ok())
        .flatten()
        .map(|frame| frame.text + "\n")
        .collect();
    for code in [-32700, -32600, -32601, -32602, -32603, -32002, -32021, -32022, -1] {
        assert!(text.contains(&format!("\"code\":{code}")), "no vector shows {code}");
    }
    for method in mcp_sansio::spec::Method::ALL {
        assert!(text.contains(&format!("\"method\":\"{method}\"")), "no vector shows {method}");
    }
    for version in mcp_sansio::spec::Version::ALL {
        assert!(text.contains(&format!("\"{version}\"")), "no vector shows {version}");
    }
}
