//! No runtime of tokio in the front on async-std: hyper uses what tokio has beside one, channels, and that is all.

use crate::cli::Error;
use crate::process::Run;
use crate::workspace::Workspace;

const FRONT: &str = "mcp-sansio-async-std";
/// The features of tokio that any executor can poll.
const RUNTIME_FREE: &[&str] = &["default", "sync"];
/// What is nothing but a runtime, or a part of one.
const RUNTIMES: &[&str] = &["mio", "tokio-stream", "tokio-util"];

/// Where the front runs. In a browser it does not, and what async-std brings there is not asked.
const PLATFORMS: &[&str] = &["x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc", "aarch64-apple-darwin"];

/// What of tokio a build of the front links and should not, with every feature.
pub(super) fn complaints(workspace: &Workspace) -> Result<Vec<String>, Error> {
    let tree = Run::cargo(workspace, "tree --all-features --edges normal,no-proc-macro --prefix none")
        .args(["--package", FRONT, "--format", "{p} | {f}"])
        .args(PLATFORMS.iter().flat_map(|platform| ["--target", *platform]))
        .output()?;
    let complaints = judge(&tree);
    if complaints.is_empty() {
        println!("  {FRONT} links no runtime of tokio");
    }
    Ok(complaints)
}

/// Reads lines such as `tokio v1.54.1 | default,sync`.
fn judge(tree: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for line in tree.lines() {
        let (package, features) = line.split_once('|').unwrap_or((line, ""));
        let name = package.split_whitespace().next().unwrap_or_default();
        if RUNTIMES.contains(&name) {
            complaints.push(format!("{FRONT} links `{name}`"));
        }
        // A package that was listed before has its mark where the features end.
        let features = features.trim_end().trim_end_matches("(*)");
        let features = features.split(',').map(str::trim).filter(|feature| !feature.is_empty());
        if name == "tokio" {
            let runtime = features.filter(|feature| !RUNTIME_FREE.contains(feature));
            complaints.extend(runtime.map(|feature| format!("{FRONT} links tokio with `{feature}`")));
        }
    }
    complaints.sort();
    complaints.dedup();
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_no_runtime_and_timers_are() {
        assert_eq!(judge("hyper v1.12.0 | http1\ntokio v1.54.1 | default,sync (*)\ntokio v1.54.1 | \n"), [""; 0]);
        let found = judge("tokio v1.54.1 | default,net,rt,sync\ntokio v1.54.1 | rt (*)\nmio v1.2.5 | net\n");
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().any(|complaint| complaint.contains("`rt`")));
    }
}
