//! Installing what the interop tests drive: the SDKs of other languages, from their registries, at pinned versions.
//!
//! ```text
//! tests/interop/node      package.json, package-lock.json, *.mjs   --copied-->  .cache/node   + npm ci
//! tests/interop/python    requirements.txt                                      .cache/venv   + pip install
//! conformance/suite       the same, for `cargo xtask conformance`  --copied-->  .cache/conformance
//! ```
//!
//! The tests are told the cache by `MCP_INTEROP_CACHE`. An installation is kept until its lock file changes. A missing
//! tool is an error that says what to install; in CI, as root on Debian, the package is installed first.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::{Args, Error};
use crate::process::Run;
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "
cargo xtask peers

Installs the SDKs of other languages that the interop tests drive, below .cache in the root of the tree, as the
step `interop` of `cargo xtask test` does. With it, `cargo test` alone can run them:
cargo build --bins && MCP_INTEROP_CACHE=\"$PWD/.cache\" cargo test -p mcp-sansio-tests --test interop
";

pub(crate) const CACHE: &str = ".cache";
/// Tells the interop tests where the peers are.
pub(crate) const CACHE_VARIABLE: &str = "MCP_INTEROP_CACHE";

/// The interpreter of the environment, below the cache, that the Python binding is installed into for its tests.
pub(crate) const BUILT_PYTHON: &str = if cfg!(windows) { "built/Scripts/python.exe" } else { "built/bin/python" };

const NODE: &str = "tests/interop/node";
const PYTHON: &str = "tests/interop/python";
/// Holds the lock file that an installation was made from.
const STAMP: &str = ".installed-from";

/// A program that must be there, and what brings it.
struct Tool {
    program: &'static str,
    probe: &'static [&'static str],
    debian: &'static str,
    advice: &'static str,
}

const NODE_TOOL: Tool = Tool {
    program: "node",
    probe: &["--version"],
    debian: "nodejs",
    advice: "install Node.js 20 or later (https://nodejs.org)",
};
const NPM: Tool =
    Tool { program: "npm", probe: &["--version"], debian: "npm", advice: "install npm, which comes with Node.js" };
const PYTHON_TOOL: Tool = Tool {
    program: "python3",
    probe: &["--version"],
    debian: "python3",
    advice: "install Python 3.10 or later (https://python.org)",
};
/// `venv` without `ensurepip` makes environments without pip: Debian ships the two apart.
const VENV: Tool = Tool {
    program: "python3",
    probe: &["-c", "import venv, ensurepip"],
    debian: "python3-venv",
    advice: "install the venv module of Python (Debian: apt-get install python3-venv)",
};

pub(crate) fn run(workspace: &Workspace, args: Args) -> Result<(), Error> {
    args.finish()?;
    install(workspace)
}

/// Installs every peer that the tree names and that is not installed yet.
pub(crate) fn install(workspace: &Workspace) -> Result<(), Error> {
    if workspace.has(&format!("{NODE}/package-lock.json")) {
        install_node(workspace)?;
    }
    if workspace.has(&format!("{PYTHON}/requirements.txt")) {
        install_python(workspace)?;
    }
    Ok(())
}

fn install_node(workspace: &Workspace) -> Result<(), Error> {
    install_packages(workspace, NODE, "node", &[]).map(drop)
}

/// Installs the npm packages that the lock file in `from` names, into a folder of the cache, and answers which. Scripts
/// resolve packages from where they stand, so all that stands in `from` is copied beside them.
pub(crate) fn install_packages(
    workspace: &Workspace,
    from: &str,
    folder: &str,
    options: &[&str],
) -> Result<PathBuf, Error> {
    require(workspace, &NODE_TOOL)?;
    let home = workspace.path(CACHE).join(folder);
    copy(&workspace.path(from), &home)?;
    // Other options install other packages.
    let lock = workspace.read(&format!("{from}/package-lock.json"))? + &options.join(" ");
    if is_current(&home, &lock) {
        println!("  the packages of {from} are installed");
        return Ok(home);
    }
    require(workspace, &NPM)?;
    let npm = || Run::new(workspace, "npm").args(["ci", "--no-audit", "--no-fund"]).args(options);
    twice(|| npm().args(["--prefix"]).args([&home]).go())?;
    stamp(&home, &lock)?;
    Ok(home)
}

fn install_python(workspace: &Workspace) -> Result<(), Error> {
    install_requirements(workspace, PYTHON, "venv").map(drop)
}

/// Installs the packages of PyPI that `requirements.txt` in `from` names into an environment in the cache, and answers
/// its interpreter.
pub(crate) fn install_requirements(workspace: &Workspace, from: &str, folder: &str) -> Result<PathBuf, Error> {
    require(workspace, &PYTHON_TOOL)?;
    let home = workspace.path(CACHE).join(folder);
    let python = home.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let requirements = workspace.read(&format!("{from}/requirements.txt"))?;
    if is_current(&home, &requirements) && Run::new(workspace, &python).args(["--version"]).works() {
        println!("  the packages of {from} are installed in {folder}");
        return Ok(python);
    }
    require(workspace, &VENV)?;
    Run::new(workspace, "python3").args(["-m", "venv", "--clear"]).args([&home]).go()?;
    let pip = || Run::new(workspace, &python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    twice(|| pip().args(["--requirement"]).args([workspace.path(from).join("requirements.txt")]).go())?;
    stamp(&home, &requirements)?;
    Ok(python)
}

/// A registry that did not answer may answer the second time.
fn twice(install: impl Fn() -> Result<(), Error>) -> Result<(), Error> {
    install().or_else(|_| install())
}

/// Fails, with the way out, when a tool is not there and cannot be brought.
fn require(workspace: &Workspace, tool: &Tool) -> Result<(), Error> {
    let works = || Run::new(workspace, tool.program).args(tool.probe).works();
    if works() || (install_debian(workspace, tool.debian) && works()) {
        return Ok(());
    }
    Err(Error::failed(format!("`{} {}` does not work: {}", tool.program, tool.probe.join(" "), tool.advice)))
}

/// In CI as root, the system's package manager may be used; a person is asked instead.
fn install_debian(workspace: &Workspace, package: &str) -> bool {
    let in_ci = env::var("CI").is_ok_and(|value| value == "true");
    let is_root = Run::new(workspace, "id").args(["-u"]).output().is_ok_and(|id| id.trim() == "0");
    if !in_ci || !is_root || !Run::new(workspace, "apt-get").args(["--version"]).works() {
        return false;
    }
    let apt = |line: &str| {
        Run::new(workspace, "apt-get").args(line.split_whitespace()).env("DEBIAN_FRONTEND", "noninteractive").go()
    };
    let installed =
        apt("update -qq").and_then(|()| apt(&format!("install --yes -qq --no-install-recommends {package}")));
    installed.is_ok()
}

fn is_current(home: &Path, lock: &str) -> bool {
    fs::read_to_string(home.join(STAMP)).is_ok_and(|from| from == lock)
}

fn stamp(home: &Path, lock: &str) -> Result<(), Error> {
    fs::write(home.join(STAMP), lock).map_err(|error| Error::failed(format!("{}: {error}", home.display())))
}

/// Copies a folder over another, but for installed packages.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let told = |error: std::io::Error| Error::failed(format!("{} cannot be copied: {error}", from.display()));
    fs::create_dir_all(to).map_err(told)?;
    for entry in fs::read_dir(from).map_err(told)? {
        let entry = entry.map_err(told)?;
        if entry.file_name() == "node_modules" {
            continue;
        }
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target).map_err(told)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_copied_without_its_packages_and_stamped() {
        let root = env::temp_dir().join(format!("xtask-peers-{}", std::process::id()));
        let (from, to) = (root.join("from"), root.join("to"));
        fs::create_dir_all(from.join("lib")).unwrap();
        fs::create_dir_all(from.join("node_modules/x")).unwrap();
        fs::write(from.join("lib/a.mjs"), "a").unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("lib/a.mjs")).unwrap(), "a");
        assert!(!to.join("node_modules").exists());
        assert!(!is_current(&to, "lock 1"));
        stamp(&to, "lock 1").unwrap();
        assert!(is_current(&to, "lock 1") && !is_current(&to, "lock 2"));
        fs::remove_dir_all(&root).unwrap();
    }
}
