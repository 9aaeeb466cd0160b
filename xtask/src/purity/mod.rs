//! `cargo xtask purity`: the core has no clock, randomness, lock, thread, async or IO.
//!
//! | check | against |
//! |---|---|
//! | the normal dependency tree of the core, every feature and every platform | `xtask/purity.txt`: each crate with what it touches and why that is fine |
//! | the words of `core/src` outside tests | the table in [`scan`] |
//! | `cargo check` for `wasm32-unknown-unknown`, where that target is installed | a platform that has none of it |
//!
//! And the normal dependency tree of the front on async-std has no runtime of tokio ([`runtime`]).
//!
//! Beside these, `core/clippy.toml` binds the types and methods behind paths and re-exports that a scan cannot see.

mod allow;
mod runtime;
mod scan;

use std::collections::BTreeSet;

use crate::cli::{Args, Error};
use crate::process::Run;
use crate::source;
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "
cargo xtask purity

Checks the dependency tree of the core against xtask/purity.txt, scans core/src for clocks, randomness, locks,
threads, async and IO, and compiles the core for wasm32-unknown-unknown where that target is installed.
Checks that no runtime of tokio is in the dependency tree of the front on async-std.
";

const ALLOW_LIST: &str = "xtask/purity.txt";
const WASM: &str = "wasm32-unknown-unknown";

pub(crate) fn run(workspace: &Workspace, args: Args) -> Result<(), Error> {
    args.finish()?;
    check(workspace)
}

pub(crate) fn check(workspace: &Workspace) -> Result<(), Error> {
    let mut complaints = dependencies(workspace)?;
    complaints.extend(sources(workspace)?);
    if !complaints.is_empty() {
        return Err(Error::failed(format!("the core is not pure:\n  {}", complaints.join("\n  "))));
    }
    let complaints = runtime::complaints(workspace)?;
    if !complaints.is_empty() {
        return Err(Error::failed(format!(
            "the front on async-std is not free of tokio:\n  {}",
            complaints.join("\n  ")
        )));
    }
    wasm(workspace)
}

/// The crates that a build of the core links, against the allow list. Procedural macros run inside the compiler only
/// and are left out with what they use.
fn dependencies(workspace: &Workspace) -> Result<Vec<String>, Error> {
    let tree = Run::cargo(workspace, "tree --package mcp-sansio --all-features --edges normal,no-proc-macro")
        .args(["--target", "all", "--prefix", "none", "--format", "{p}"])
        .output()?;
    let linked: BTreeSet<&str> =
        tree.lines().filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "mcp-sansio").collect();
    let text = workspace.read(ALLOW_LIST)?;
    let allowed = allow::parse(&text).map_err(|error| Error::failed(format!("{ALLOW_LIST}: {error}")))?;
    println!("  {} crates in the normal tree of the core; those that touch more than their arguments:", linked.len());
    for (touches, names) in allow::by_touch(&allowed).into_iter().filter(|(touches, _)| *touches != "nothing") {
        println!("    {touches:<11} {}", names.join(", "));
    }
    Ok(allow::compare(&linked, &allowed))
}

fn sources(workspace: &Workspace) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    let mut scanned = 0;
    for path in workspace.files("core/src", &["rs"]) {
        if source::is_test_file(&path) {
            continue;
        }
        scanned += 1;
        let text = workspace.read(&path)?;
        for finding in scan::impurities(&text) {
            complaints.push(format!("{path}:{}: `{}`: {}", finding.line, finding.what, finding.why));
        }
    }
    println!("  {scanned} files of core/src scanned");
    Ok(complaints)
}

/// The compiler for a target without an operating system is the strictest reader. It is an extra: the two checks
/// above decide, and the target cannot be installed everywhere.
fn wasm(workspace: &Workspace) -> Result<(), Error> {
    let sysroot = Run::new(workspace, "rustc").args(["--print", "sysroot"]).output()?;
    let library = std::path::Path::new(sysroot.trim()).join("lib/rustlib").join(WASM);
    if !library.is_dir() {
        println!("  {WASM}: not checked, the target is not installed (rustup target add {WASM})");
        return Ok(());
    }
    Run::cargo(workspace, "check --quiet --package mcp-sansio --all-features --target").args([WASM]).go()
}
