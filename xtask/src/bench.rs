//! `cargo xtask bench`: starts the benchmark package, optimised, with the options given.

use crate::cli::{Args, Error};
use crate::process::Run;
use crate::workspace::Workspace;
use crate::{node, peers, python};

pub(crate) const HELP: &str = "
cargo xtask bench [options of the benchmarks]

Installs the peers that are measured too, builds the packages of the bindings, runs the benchmarks of the folder `bench` in
a build of the profile `dist` and prints their tables.
`--quick` takes few repetitions; `cargo xtask bench -- --help` tells all options.
";

pub(crate) fn run(workspace: &Workspace, args: Args) -> Result<(), Error> {
    if !workspace.has("bench/Cargo.toml") {
        return Err(Error::failed("there is no folder `bench` with benchmarks in this tree"));
    }
    let given: Vec<String> = args.rest().into_iter().filter(|word| word != "--").collect();
    peers::install(workspace)?;
    let mut bench = Run::cargo(workspace, "run --profile dist --package mcp-sansio-bench --");
    if wants(&given, "python") {
        bench = bench.env("MCP_BENCH_PYTHON", python::install(workspace)?);
    }
    if wants(&given, "node") {
        node::build(workspace)?;
        bench = bench.env("MCP_BENCH_NODE", "node").env(node::MODULES, node::modules(workspace)?);
    }
    bench.args(given).env(peers::CACHE_VARIABLE, workspace.path(peers::CACHE)).go()
}

/// Whether a binding may be measured, or another case is asked for.
fn wants(given: &[String], binding: &str) -> bool {
    let only = given.iter().position(|word| word == "--only").and_then(|at| given.get(at + 1));
    only.is_none_or(|only| format!("{binding}: tools/call").contains(only.as_str()))
}
