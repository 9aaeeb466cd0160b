//! `cargo xtask node`: the npm package, built by one command and tested as a stranger would.
//!
//! ```text
//! bindings/node/package-lock.json  --npm-->  .cache/node-binding     the compiler of types, the SDKs of others
//! bindings/node                    --build.mjs-->  bindings/node/dist
//! bindings/node/{tests,examples}   --test.mjs-->   a folder outside of the tree, where the tarball is installed
//! ```

use std::path::PathBuf;

use crate::cli::{Args, Error};
use crate::peers;
use crate::process::Run;
use crate::report::Tally;
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "
cargo xtask node [--build]

Builds the package of bindings/node, installs its tarball into an empty folder away from the tree, and there runs its
tests, its examples with the SDKs of others, the transcripts of tests/vectors, and checks its types.
What that needs is installed below .cache in the root of the tree.

  --build  stop when the package is built, in bindings/node/dist
";

/// There is a binding where this is.
pub(crate) const LOCK: &str = "bindings/node/package-lock.json";
/// Tells the scripts of the binding where the packages of its lock file are.
pub(crate) const MODULES: &str = "MCP_NODE_MODULES";

pub(crate) fn run(workspace: &Workspace, mut args: Args) -> Result<(), Error> {
    let build_only = args.switch("--build");
    args.finish()?;
    if build_only { build(workspace) } else { check(workspace, &mut Tally::default()) }
}

/// The step of `cargo xtask test`. The binding's own script does it.
pub(crate) fn check(workspace: &Workspace, tally: &mut Tally) -> Result<(), Error> {
    let modules = modules(workspace)?;
    peers::install(workspace)?;
    Run::new(workspace, "node")
        .args(["bindings/node/test.mjs"])
        .env(MODULES, modules)
        .env(peers::CACHE_VARIABLE, workspace.path(peers::CACHE))
        .env("MCP_INTEROP_SCRIPTS", workspace.path("tests/interop"))
        .tests(tally)
}

/// Builds the package where it stands.
pub(crate) fn build(workspace: &Workspace) -> Result<(), Error> {
    Run::new(workspace, "node").args(["bindings/node/build.mjs"]).env(MODULES, modules(workspace)?).go()
}

/// Plays the transcripts with the package as it is in the tree.
pub(crate) fn vectors(workspace: &Workspace) -> Result<(), Error> {
    build(workspace)?;
    Run::new(workspace, "node").args(["bindings/node/tests/vectors.mjs", "tests/vectors"]).go()
}

/// Installs npm's packages, and answers where they are.
pub(crate) fn modules(workspace: &Workspace) -> Result<PathBuf, Error> {
    Ok(peers::install_packages(workspace, "bindings/node", "node-binding", &[])?.join("node_modules"))
}
