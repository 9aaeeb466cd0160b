//! `cargo xtask python`: the wheel, built by one command and tested as a stranger would.
//!
//! ```text
//! bindings/python/checks/requirements.txt   --pip--> .cache/python-tools     maturin, mypy, ruff, pytest
//! bindings/python/checks/package-lock.json  --npm--> .cache/python-checks    pyright
//! bindings/python          --maturin--> .cache/python-wheels  --pip--> .cache/built (a clean environment)
//! bindings/python/{tests,examples}          --copied--> .cache/python-away   where nothing of the tree can be imported
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::{Args, Error};
use crate::peers::{self, CACHE, CACHE_VARIABLE};
use crate::process::Run;
use crate::report::Tally;
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "
cargo xtask python [--build]

Builds the wheel of bindings/python, installs it into a clean environment, and away from the tree checks its types
(stubtest, mypy, pyright), runs its tests, its examples with the SDKs of others, and the transcripts of tests/vectors.
What that needs is installed below .cache in the root of the tree.

  --build  stop when the wheel is built, in .cache/python-wheels, and installed for the tests
";

pub(crate) const HOME: &str = "bindings/python";
const CHECKS: &str = "bindings/python/checks";
const VECTORS: &str = "tests/vectors";

pub(crate) fn run(workspace: &Workspace, mut args: Args) -> Result<(), Error> {
    let build_only = args.switch("--build");
    args.finish()?;
    if build_only {
        let stranger = install(workspace)?;
        println!("  the wheel is installed for {}", stranger.display());
        return Ok(());
    }
    let mut tally = Tally::default();
    check(workspace, &mut tally)
}

/// The step of `cargo xtask test`.
pub(crate) fn check(workspace: &Workspace, tally: &mut Tally) -> Result<(), Error> {
    let stranger = install(workspace)?;
    let away = workspace.path(CACHE).join("python-away");
    bring(workspace, &away)?;
    lint(workspace, &away, &stranger)?;
    peers::install(workspace)?;
    Run::new(workspace, &stranger)
        .args(["-m", "pytest", "-p", "no:cacheprovider"])
        .at(&away)
        .env(CACHE_VARIABLE, workspace.path(CACHE))
        .env("MCP_INTEROP_SCRIPTS", workspace.path("tests/interop"))
        .tests(tally)?;
    vectors(workspace, &stranger, tally)
}

/// Plays the transcripts with the installed wheel.
pub(crate) fn vectors(workspace: &Workspace, stranger: &Path, tally: &mut Tally) -> Result<(), Error> {
    let runner = workspace.path(CACHE).join("python-away/tests/vectors.py");
    Run::new(workspace, stranger).args([runner, workspace.path(VECTORS)]).tests(tally)
}

/// Builds the wheel and installs it, alone with what tests it, for an interpreter that the answer names.
pub(crate) fn install(workspace: &Workspace) -> Result<PathBuf, Error> {
    let tools = peers::install_requirements(workspace, CHECKS, "python-tools")?;
    let wheels = workspace.path(CACHE).join("python-wheels");
    // Only what is built now may be found there.
    let _ = fs::remove_dir_all(&wheels);
    let maturin = tools.with_file_name(if cfg!(windows) { "maturin.exe" } else { "maturin" });
    Run::new(workspace, maturin)
        .args(["build", "--profile", "dist", "--locked", "--manifest-path"])
        .args([workspace.path(HOME).join("Cargo.toml")])
        .args(["--interpreter"])
        .args([&tools])
        .args(["--out"])
        .args([&wheels])
        .go()?;
    let wheel = fs::read_dir(&wheels)
        .ok()
        .and_then(|mut files| files.next()?.ok())
        .ok_or_else(|| Error::failed("maturin has built no wheel"))?;
    let folder = Path::new(peers::BUILT_PYTHON).iter().next().map(|folder| folder.to_string_lossy().into_owned());
    let stranger = peers::install_requirements(workspace, CHECKS, &folder.unwrap_or_default())?;
    Run::new(workspace, &stranger)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps"])
        .args([wheel.path()])
        .go()?;
    Ok(stranger)
}

/// Copies tests, examples and settings away from the tree.
fn bring(workspace: &Workspace, away: &Path) -> Result<(), Error> {
    let _ = fs::remove_dir_all(away);
    for folder in ["tests", "examples"] {
        peers::copy(&workspace.path(HOME).join(folder), &away.join(folder))?;
    }
    fs::copy(workspace.path(HOME).join("pyproject.toml"), away.join("pyproject.toml"))
        .map(drop)
        .map_err(|error| Error::failed(format!("pyproject.toml cannot be copied: {error}")))
}

/// Style of the tree; types of the installed package, and of the examples and tests against it.
fn lint(workspace: &Workspace, away: &Path, stranger: &Path) -> Result<(), Error> {
    let module = |name: &str| Run::new(workspace, stranger).args(["-m", name]);
    module("ruff").args(["check"]).args([workspace.path(HOME)]).go()?;
    module("ruff").args(["format", "--check"]).args([workspace.path(HOME)]).go()?;
    module("mypy.stubtest").args(["mcp_sansio"]).at(away).go()?;
    for folder in ["examples", "tests"] {
        module("mypy").args(["--strict", "."]).at(&away.join(folder)).go()?;
    }
    let pyright = peers::install_packages(workspace, CHECKS, "python-checks", &[])?;
    Run::new(workspace, "node")
        .args([pyright.join("node_modules/pyright/index.js")])
        .args(["--pythonpath"])
        .args([stranger])
        .args(["examples"])
        .at(away)
        .go()
}
