//! `cargo xtask bench`: starts the benchmark package, optimised, with the options given.

use crate::cli::{Args, Error};
use crate::process::Run;
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "
cargo xtask bench [options of the benchmarks]

Installs the peers that are measured too, and runs the benchmarks of the folder `bench` in a build of the profile `dist` and prints their table.
`--quick` takes few repetitions; `cargo xtask bench -- --help` tells all options.
";

pub(crate) fn run(workspace: &Workspace, args: Args) -> Result<(), Error> {
    if !workspace.has("bench/Cargo.toml") {
        return Err(Error::failed("there is no folder `bench` with benchmarks in this tree"));
    }
    let given = args.rest().into_iter().filter(|word| word != "--");
    crate::peers::install(workspace)?;
    let cache = workspace.path(crate::peers::CACHE);
    Run::cargo(workspace, "run --profile dist --package mcp-sansio-bench --")
        .args(given)
        .env(crate::peers::CACHE_VARIABLE, cache)
        .go()
}
