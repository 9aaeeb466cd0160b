//! The committed corpora, replayed.

use std::path::Path;

use mcp_sansio_fuzz::{TARGETS, engine};

#[test]
fn every_corpus_replays() {
    for target in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
        let outcome = engine::replay(*target, &folder).unwrap_or_else(|error| panic!("{}: {error}", target.name));
        assert!(outcome.executions > 0, "the corpus of {} is empty", target.name);
    }
}

/// A target that breaks its promise is caught and its input kept: the check can fail.
#[test]
fn a_broken_promise_is_noticed() {
    fn broken(input: &[u8]) -> mcp_sansio_fuzz::Signature {
        assert!(!input.contains(&b'x'), "promise");
        mcp_sansio_fuzz::Signature::new()
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("input"), b"x").unwrap();
    let target = mcp_sansio_fuzz::Target { name: "broken", run: broken };
    let error = engine::replay(target, &folder).unwrap_err();
    assert!(error.to_string().contains("broke its promise"));
}
