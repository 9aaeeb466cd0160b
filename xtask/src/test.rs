//! `cargo xtask test`: everything that must hold, in every language of the tree, cheapest first.
//!
//! A step whose subject is not in the tree is not in the list. A step that is in the list runs, or the run fails: nothing
//! is skipped because a tool is missing, but for the compilation to WebAssembly within `purity`, whose target only rustup
//! can bring.

use std::time::Instant;

use crate::cli::{Args, Error};
use crate::process::{Run, published};
use crate::report::{Outcome, Tally, table};
use crate::workspace::Workspace;
use crate::{conformance, licences, node, peers, purity, python, requirements, words};

pub(crate) const HELP: &str = "
cargo xtask test [--list] [--only STEP]

Runs every check and every test of the tree, in order, and stops at the first that fails.
What the tests need (packages of npm and PyPI) is installed below .cache in the root of the tree.

  --list       print the steps with their purpose
  --only STEP  run one step; give it several times for several
";

const FUZZ: &str = "fuzz/Cargo.toml";
/// One choice of packages and features for all that is built and run, so that nothing is compiled twice. The fuzz
/// targets replay their corpora in a step of their own.
pub(crate) const EVERYTHING: &[&str] = &["--workspace", "--exclude", "mcp-sansio-fuzz", "--all-features"];
/// What is built for tests to start. Examples have the features of what only tests need, so binaries built without them
/// would be others.
pub(crate) const STARTED: &[&str] = &["--bins", "--examples"];

/// One step: what it is for, when it is there, and how it runs. It may count tests; otherwise it counts as one.
struct Step {
    name: &'static str,
    purpose: &'static str,
    subject: fn(&Workspace) -> bool,
    run: fn(&Workspace, &mut Tally) -> Result<(), Error>,
}

const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        purpose: "the code is formatted",
        subject: always,
        run: |workspace, _| {
            needs_component(workspace, "fmt", "rustfmt")?;
            Run::cargo(workspace, "fmt --all --check").go()
        },
    },
    Step {
        name: "words",
        purpose: "fronts hold no protocol words; files and functions stay short",
        subject: always,
        run: |workspace, _| words::check(workspace),
    },
    Step {
        name: "requirements",
        purpose: "the map from the specification to tests leads somewhere",
        subject: always,
        run: |workspace, _| requirements::check(workspace, true, false),
    },
    Step {
        name: "licences",
        purpose: "every dependency may be used and comes from the registry",
        subject: always,
        run: |workspace, _| licences::check(workspace),
    },
    Step {
        name: "purity",
        purpose: "the core has no clock, randomness, lock, thread or IO; async-std comes without tokio",
        subject: always,
        run: |workspace, _| purity::check(workspace),
    },
    Step {
        name: "clippy",
        purpose: "no warning of the compiler or of clippy, in any target",
        subject: always,
        run: |workspace, _| {
            needs_component(workspace, "clippy", "clippy")?;
            clippy(workspace, &["--all-targets"])?;
            // `--all-targets` passes over a target with `test = false`.
            if has_interop(workspace) { clippy(workspace, &["--test", "interop"]) } else { Ok(()) }
        },
    },
    Step {
        name: "docs",
        purpose: "the documentation builds without a warning",
        subject: always,
        run: |workspace, _| {
            Run::cargo(workspace, "doc --no-deps --workspace --all-features").env("RUSTDOCFLAGS", "-D warnings").go()
        },
    },
    Step {
        name: "alone",
        purpose: "each published package compiles by itself, with and without its default features",
        subject: always,
        run: |workspace, _| alone(workspace),
    },
    Step {
        name: "build",
        purpose: "binaries and examples compile, before the tests that start them",
        subject: always,
        run: |workspace, _| Run::cargo(workspace, "build").args(EVERYTHING).args(STARTED).go(),
    },
    Step {
        name: "tests",
        purpose: "unit and integration tests of every package but the fuzz targets",
        subject: always,
        run: |workspace, tally| Run::cargo(workspace, "test").args(EVERYTHING).args(["--tests"]).tests(tally),
    },
    Step {
        name: "doctests",
        purpose: "the examples in the documentation run",
        subject: always,
        run: |workspace, tally| Run::cargo(workspace, "test").args(EVERYTHING).args(["--doc"]).tests(tally),
    },
    Step {
        name: "corpora",
        purpose: "every fuzz target holds on its committed corpus",
        subject: |workspace| workspace.has(FUZZ),
        run: |workspace, tally| Run::cargo(workspace, "test --manifest-path").args([FUZZ]).tests(tally),
    },
    Step {
        name: "interop",
        purpose: "servers and clients work with the SDKs of others, in both roles and eras",
        subject: has_interop,
        run: interop,
    },
    Step {
        name: "python",
        purpose: "the Python package is built, typed, and works away from the tree",
        subject: |workspace| workspace.has(python::HOME),
        run: python::check,
    },
    Step {
        name: "node",
        purpose: "the npm package is built, installed elsewhere, and tested there",
        subject: |workspace| workspace.has(node::LOCK),
        run: node::check,
    },
    Step {
        name: "conformance",
        purpose: "the official suite passes in both roles, but for what the baseline names",
        subject: |workspace| workspace.has(conformance::SUITE),
        run: conformance::check,
    },
];

pub(crate) fn run(workspace: &Workspace, mut args: Args) -> Result<(), Error> {
    let list = args.switch("--list");
    let mut only = Vec::new();
    while let Some(name) = args.value("--only")? {
        only.push(name);
    }
    args.finish()?;
    let steps = chosen(workspace, &only)?;
    if list {
        for step in steps {
            println!("{:<14}{}", step.name, step.purpose);
        }
        return Ok(());
    }
    run_steps(workspace, &steps)
}

/// The steps whose subject is in the tree, or those that were named.
fn chosen(workspace: &Workspace, only: &[String]) -> Result<Vec<&'static Step>, Error> {
    let present: Vec<&Step> = STEPS.iter().filter(|step| (step.subject)(workspace)).collect();
    if let Some(odd) = only.iter().find(|name| !present.iter().any(|step| step.name == *name)) {
        let names: Vec<&str> = present.iter().map(|step| step.name).collect();
        return Err(Error::Usage(format!("there is no step `{odd}` here, only: {}", names.join(", "))));
    }
    Ok(present.into_iter().filter(|step| only.is_empty() || only.iter().any(|name| name == step.name)).collect())
}

fn run_steps(workspace: &Workspace, steps: &[&Step]) -> Result<(), Error> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut failure = None;
    for (at, step) in steps.iter().enumerate() {
        println!("\n[{}/{}] {}: {}", at + 1, steps.len(), step.name, step.purpose);
        let started = Instant::now();
        let mut tally = Tally::default();
        failure = (step.run)(workspace, &mut tally).err();
        let held = failure.is_none();
        outcomes.push(Outcome { name: step.name, held, tally: tally.settle(held), took: started.elapsed() });
        if let Some(Error::Failed(message) | Error::Usage(message)) = &failure {
            println!("\nThe step `{}` failed: {message}\nAgain: cargo xtask test --only {}", step.name, step.name);
        }
        if !held {
            break;
        }
    }
    println!("{}", table(&outcomes));
    if failure.is_some() { Err(Error::Told) } else { Ok(()) }
}

fn always(_: &Workspace) -> bool {
    true
}

/// The tests that need the peers of other languages. Their target says `test = false`, so that a plain `cargo test`
/// needs no Node and no Python, and only the step that installed the peers names it.
fn has_interop(workspace: &Workspace) -> bool {
    let declared = workspace.read("tests/Cargo.toml").is_ok_and(|manifest| manifest.contains("name = \"interop\""));
    declared || workspace.has("tests/tests/interop.rs")
}

fn clippy(workspace: &Workspace, targets: &[&str]) -> Result<(), Error> {
    Run::cargo(workspace, "clippy --workspace --all-features").args(targets).args(["--", "-D", "warnings"]).go()
}

/// Packages of one workspace lend each other the features of their dependencies; a user's build does not.
fn alone(workspace: &Workspace) -> Result<(), Error> {
    for package in published(workspace)? {
        for features in ["--no-default-features", "--lib"] {
            Run::cargo(workspace, "check --quiet --package").args([package.as_str(), features]).go()?;
        }
    }
    Ok(())
}

fn interop(workspace: &Workspace, tally: &mut Tally) -> Result<(), Error> {
    peers::install(workspace)?;
    // The test starts binaries of another package too, which cargo builds for that package only.
    Run::cargo(workspace, "build").args(EVERYTHING).args(STARTED).go()?;
    Run::cargo(workspace, "test")
        .args(EVERYTHING)
        .args(["--test", "interop"])
        .env(peers::CACHE_VARIABLE, workspace.path(peers::CACHE))
        .tests(tally)
}

fn needs_component(workspace: &Workspace, command: &str, component: &str) -> Result<(), Error> {
    if Run::cargo(workspace, command).args(["--version"]).works() {
        return Ok(());
    }
    Err(Error::failed(format!("`cargo {command}` is not installed: rustup component add {component}")))
}

#[cfg(test)]
mod steps {
    use super::*;

    #[test]
    fn names_are_unique_and_steps_can_be_chosen() {
        let workspace = Workspace::find().unwrap();
        let mut names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), STEPS.len());

        let picked = chosen(&workspace, &["tests".to_owned(), "fmt".to_owned()]).unwrap();
        assert_eq!(picked.iter().map(|step| step.name).collect::<Vec<_>>(), ["fmt", "tests"]);
        assert!(matches!(chosen(&workspace, &["tset".to_owned()]), Err(Error::Usage(_))));
    }
}
