//! The interop matrix: SDKs of others against this library, over stdio and HTTP, in both roles and both eras.
//!
//! ```text
//! peer's client ──drives──► interop-server        role server      each prints one JSON line per cell,
//! interop-client ──drives──► peer's server        role client      which matrix.json must have foreseen
//! ```
//!
//! `tests/interop/FIXTURE.md` says what each cell is. `cargo xtask test --only interop` installs the peers, builds the
//! binaries and runs this target; nothing else does, because it needs Node and Python. A pairing that differs from the
//! matrix is driven once more, by itself, and the run says so.
//!
//! | variable | meaning |
//! |---|---|
//! | `MCP_INTEROP_CACHE` | where `cargo xtask peers` has installed them: required |
//! | `MCP_INTEROP_WRITE` | writes `tests/interop/cells.tsv`, the outcome that is checked in, instead of comparing it |
//! | `MCP_INTEROP_ONLY` | runs only pairings whose `peer/transport/era/role` contains this; `cells.tsv` is left alone then |
#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use serde::Deserialize;

const FEATURES: [&str; 12] = [
    "lists",
    "calls",
    "prompts",
    "resources",
    "completion",
    "progress",
    "cancellation",
    "elicitation",
    "sampling",
    "roots",
    "logging",
    "listen",
];
/// Given to a driver, and to the server that it starts, they speak HTTP.
const HTTP: &str = "--http";
const ERAS: [&str; 2] = ["legacy", "modern"];
/// What a cell may take: ten seconds where nothing else runs, and Python alone may need them to start where much does.
const CELL_SECONDS: &str = "60";
/// The longest silence of a driver: a cell, and putting its server away.
const SILENCE: Duration = Duration::from_secs(120);
/// How many drivers run at a time.
const JOBS: usize = 2;
/// How much of the end of a driver's standard error is shown when a cell fails.
const TAIL: usize = 4_000;
/// The columns that `cargo xtask requirements` reads.
const HEADER: &str = "peer\ttransport\tera\trole\tfeature\toutcome\tnote\n";

#[test]
fn every_cell_is_as_the_matrix_says() {
    let place = Place::find();
    let matrix = matrix(&place);
    let pairings = pairings(&place);
    check_shape(&matrix, &pairings);
    check_versions(&matrix, &place);

    let only = std::env::var("MCP_INTEROP_ONLY").ok();
    let is_chosen = |(pairing, era): &(&Pairing, &str)| {
        let Pairing { peer, transport, role, .. } = pairing;
        only.as_ref().is_none_or(|only| format!("{peer}/{transport}/{era}/{role}").contains(only.as_str()))
    };
    let runs: Vec<_> = pairings.iter().flat_map(|pairing| ERAS.map(|era| (pairing, era))).filter(is_chosen).collect();
    assert!(!runs.is_empty(), "no pairing is called {only:?}");
    let mut outcomes = drive_all(&runs, &place);

    let mut problems = Vec::new();
    let mut tsv = HEADER.to_owned();
    for ((pairing, era), run) in runs.iter().zip(&mut outcomes) {
        let (mut rows, mut differences) = judge_run(&matrix, pairing, era, run);
        if !differences.is_empty() {
            // A peer may lose a race with itself where much else runs: it gets one more try, with nothing beside it.
            say(&format!("{} {era} differs and is driven again: {}\n", pairing.name(), differences.join("; ")));
            *run = drive(pairing, era, &place);
            (rows, differences) = judge_run(&matrix, pairing, era, run);
        }
        tsv.push_str(&rows);
        problems.append(&mut differences);
    }
    say(&table(&runs, &outcomes));
    for ((pairing, era), run) in runs.iter().zip(&outcomes) {
        if run.verdicts.values().any(|verdict| verdict.verdict == "fail") || run.problem.is_some() {
            say(&format!("--- standard error of {} {era} ---\n{}\n", pairing.name(), run.stderr));
        }
    }
    assert!(problems.is_empty(), "{} cells differ from the matrix:\n{}", problems.len(), problems.join("\n"));
    if only.is_none() {
        keep(&place.interop.join("cells.tsv"), &tsv);
    }
}

/// The rows of `cells.tsv` that a run comes to, and how it differs from the matrix.
fn judge_run(matrix: &[Cell], pairing: &Pairing, era: &str, run: &Run) -> (String, Vec<String>) {
    let mut differences = Vec::new();
    differences.extend(run.problem.iter().map(|problem| format!("{} {era}: {problem}", pairing.name())));
    let rows = FEATURES.map(|feature| {
        let expected = find(matrix, pairing, era, feature).expect("the matrix has its shape");
        compare(expected, run.verdicts.get(feature), &mut differences)
    });
    (rows.concat(), differences)
}

/// The outcome that is checked in must be that of the run.
fn keep(path: &Path, tsv: &str) {
    if std::env::var_os("MCP_INTEROP_WRITE").is_some() {
        std::fs::write(path, tsv).expect("cells.tsv can be written");
        return;
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(kept == tsv, "cells.tsv is not the outcome of this run: MCP_INTEROP_WRITE=1 writes it anew");
}

/// Where everything is.
struct Place {
    /// `tests/interop`.
    interop: PathBuf,
    /// Scripts of Node, beside their packages.
    node: PathBuf,
    python: PathBuf,
    /// Our binaries, and those of rmcp.
    binaries: PathBuf,
}

impl Place {
    fn find() -> Self {
        let cache = std::env::var_os("MCP_INTEROP_CACHE").map(PathBuf::from);
        let cache = cache.expect("MCP_INTEROP_CACHE is not set: run `cargo xtask test --only interop`");
        let server = PathBuf::from(env!("CARGO_BIN_EXE_interop-server"));
        let python = if cfg!(windows) { "venv/Scripts/python.exe" } else { "venv/bin/python" };
        let place = Self {
            interop: Path::new(env!("CARGO_MANIFEST_DIR")).join("interop"),
            node: cache.join("node"),
            python: cache.join(python),
            binaries: server.parent().expect("a binary is in a folder").to_owned(),
        };
        for needed in [&place.node.join("node_modules"), &place.python, &place.binary("rmcp-server")] {
            assert!(needed.exists(), "{} is missing: run `cargo xtask test --only interop`", needed.display());
        }
        place
    }

    fn binary(&self, name: &str) -> PathBuf {
        self.binaries.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.interop.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }
}

/// A client and a server, one of which is ours.
#[derive(Clone)]
struct Pairing {
    peer: &'static str,
    transport: &'static str,
    /// The role of this library.
    role: &'static str,
    driver: Vec<OsString>,
    server: Vec<OsString>,
}

impl Pairing {
    fn name(&self) -> String {
        format!("{} ({}, {})", self.peer, self.role, self.transport)
    }

    /// The word for HTTP, where it is to be said.
    fn flag(&self) -> Option<&'static str> {
        (self.transport == "http").then_some(HTTP)
    }
}

fn pairings(place: &Place) -> Vec<Pairing> {
    let words = |words: &[&dyn AsRef<std::ffi::OsStr>]| words.iter().map(|word| word.as_ref().to_owned()).collect();
    let node = |script: &str| -> Vec<OsString> { words(&[&"node", &place.node.join(script)]) };
    let python =
        |script: &str| -> Vec<OsString> { words(&[&place.python, &place.interop.join("python").join(script)]) };
    let reference = |name: &str| node(&format!("node_modules/@modelcontextprotocol/{name}/dist/index.js"));
    let rmcp = |name: &str| words(&[&place.binary(name)]);

    let serving = |peer, driver| {
        let server = words(&[&place.binary("interop-server")]);
        Pairing { peer, transport: "stdio", role: "server", driver, server }
    };
    let calling = |peer, kind: &[&str], server| {
        let mut driver: Vec<OsString> = words(&[&place.binary("interop-client")]);
        driver.extend(kind.iter().map(OsString::from));
        Pairing { peer, transport: "stdio", role: "client", driver, server }
    };
    let fixtures = vec![
        serving("typescript-client", node("client2.mjs")),
        serving("typescript-sdk-1", node("client1.mjs")),
        serving("python", python("client.py")),
        serving("rmcp", rmcp("rmcp-client")),
        calling("typescript-server", &[], node("server2.mjs")),
        calling("python", &[], python("server.py")),
        calling("rmcp", &[], rmcp("rmcp-server")),
    ];
    let references = [
        calling("server-everything", &["--server", "everything"], reference("server-everything")),
        calling("server-filesystem", &["--server", "filesystem"], reference("server-filesystem")),
        calling("server-memory", &["--server", "memory"], reference("server-memory")),
    ];
    let everything = calling("server-everything", &["--server", "everything"], node("everything.mjs"));
    let over_http = fixtures.clone().into_iter().chain([everything]);
    let over_http = over_http.map(|pairing| Pairing { transport: "http", ..pairing });
    let over_stdio = fixtures.into_iter().chain(references);
    over_stdio.chain(over_http).collect()
}

/// A cell of `matrix.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cell {
    peer: String,
    version: String,
    transport: String,
    era: String,
    role: String,
    feature: String,
    expect: String,
    why: String,
}

fn matrix(place: &Place) -> Vec<Cell> {
    serde_json::from_str(&place.read("matrix.json")).unwrap_or_else(|error| panic!("matrix.json: {error}"))
}

fn find<'a>(matrix: &'a [Cell], pairing: &Pairing, era: &str, feature: &str) -> Option<&'a Cell> {
    matrix.iter().find(|cell| {
        cell.peer == pairing.peer
            && cell.transport == pairing.transport
            && cell.role == pairing.role
            && cell.era == era
            && cell.feature == feature
    })
}

/// Each cell is there once, and says why if it cannot pass.
fn check_shape(matrix: &[Cell], pairings: &[Pairing]) {
    for pairing in pairings {
        for (era, feature) in ERAS.iter().flat_map(|era| FEATURES.map(|feature| (era, feature))) {
            let found = find(matrix, pairing, era, feature).is_some();
            assert!(found, "matrix.json lacks {} {era} {feature}", pairing.name());
        }
    }
    // So none is there twice, and none that is not run.
    assert_eq!(matrix.len(), pairings.len() * ERAS.len() * FEATURES.len(), "cells of matrix.json");
    for cell in matrix {
        let sound = match &*cell.expect {
            "pass" => cell.why.is_empty(),
            "cannot" => !cell.why.is_empty(),
            _ => false,
        };
        let Cell { peer, transport, era, role, feature, expect, why, .. } = cell;
        assert!(sound, "{peer} {transport} {era} {role} {feature}: {expect} {why:?}");
    }
}

/// The matrix speaks of the versions that are installed.
fn check_versions(matrix: &[Cell], place: &Place) {
    let npm: serde_json::Value = serde_json::from_str(&place.read("node/package.json")).expect("package.json");
    let (pip, cargo) = (place.read("python/requirements.txt"), place.read("rmcp/Cargo.toml"));
    for cell in matrix {
        let package = match &*cell.peer {
            "typescript-client" => "client",
            "typescript-server" => "server",
            "typescript-sdk-1" => "sdk",
            other => other,
        };
        let pinned = match &*cell.peer {
            "python" => pip.lines().any(|line| line.trim() == format!("mcp=={}", cell.version)),
            "rmcp" => cargo.contains(&format!("rmcp = {{ version = \"={}\"", cell.version)),
            _ => npm["dependencies"][format!("@modelcontextprotocol/{package}")] == *cell.version,
        };
        assert!(pinned, "{} is not pinned at {}, which matrix.json speaks of", cell.peer, cell.version);
    }
}

/// A line of a driver.
#[derive(Deserialize)]
struct Verdict {
    cell: String,
    verdict: String,
    why: String,
}

/// What a driver came to.
struct Run {
    verdicts: BTreeMap<String, Verdict>,
    problem: Option<String>,
    stderr: String,
}

/// Runs the drivers, [`JOBS`] at a time; the outcomes are in the order of the runs.
fn drive_all(runs: &[(&Pairing, &str)], place: &Place) -> Vec<Run> {
    let waiting = Mutex::new(runs.iter().enumerate().collect::<VecDeque<_>>());
    let outcomes = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some((at, (pairing, era))) = next else { return };
                    let run = drive(pairing, era, place);
                    outcomes.lock().unwrap_or_else(PoisonError::into_inner).insert(at, run);
                }
            });
        }
    });
    outcomes.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

fn drive(pairing: &Pairing, era: &str, place: &Place) -> Run {
    let (program, arguments) = pairing.driver.split_first().expect("a driver is a command");
    let spawned = Command::new(program)
        .args(arguments)
        .args(pairing.flag())
        .arg(era)
        .args(&pairing.server)
        .args(pairing.flag())
        .current_dir(&place.interop)
        .env("INTEROP_CELL_SECONDS", CELL_SECONDS)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env_remove("INTEROP_CELLS")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            let problem = Some(format!("{} does not start: {error}", program.display()));
            return Run { verdicts: BTreeMap::new(), problem, stderr: String::new() };
        }
    };
    let stderr = Stderr::read(child.stderr.take().expect("standard error is piped"));
    let (verdicts, problem) = listen(&mut child);
    let status = child.wait().expect("our own child can be waited for");
    let problem = problem.or_else(|| (!status.success()).then(|| format!("the driver ended: {status}")));
    Run { verdicts, problem, stderr: stderr.text() }
}

/// Reads verdicts until the driver has no more, and ends a driver that is silent for too long. Its server ends with
/// it, for it sees the end of its input.
fn listen(child: &mut Child) -> (BTreeMap<String, Verdict>, Option<String>) {
    let stdout = child.stdout.take().expect("standard output is piped");
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let mut verdicts = BTreeMap::new();
    let mut problem = None;
    loop {
        match lines.recv_timeout(SILENCE) {
            Ok(Ok(line)) => match serde_json::from_str::<Verdict>(&line) {
                Ok(verdict) if verdicts.contains_key(&verdict.cell) => {
                    problem = Some(format!("{} came to two verdicts", verdict.cell));
                }
                Ok(verdict) => drop(verdicts.insert(verdict.cell.clone(), verdict)),
                Err(error) => problem = Some(format!("not a verdict ({error}): {line}")),
            },
            Ok(Err(error)) => problem = Some(format!("unreadable output: {error}")),
            Err(mpsc::RecvTimeoutError::Disconnected) => return (verdicts, problem),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                // It may have ended just now, and then there is nobody to kill.
                let _ = child.kill();
                return (verdicts, Some(format!("no verdict within {} s", SILENCE.as_secs())));
            }
        }
    }
}

/// The end of what a driver and its servers write to standard error.
struct Stderr(Arc<Mutex<Vec<u8>>>);

impl Stderr {
    /// Reads on a thread of its own, which nobody waits for: a server that outlives its driver holds the other end.
    fn read(mut from: impl Read + Send + 'static) -> Self {
        let tail = Arc::<Mutex<Vec<u8>>>::default();
        let kept = Arc::clone(&tail);
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut chunk) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&chunk[..count]);
                let surplus = kept.len().saturating_sub(TAIL);
                kept.drain(..surplus);
            }
        });
        Self(tail)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

/// Judges a cell, and gives its row of `cells.tsv`.
fn compare(expected: &Cell, verdict: Option<&Verdict>, problems: &mut Vec<String>) -> String {
    let Cell { peer, transport, era, role, feature, expect, why, .. } = expected;
    let (outcome, note) = verdict.map_or(("missing", ""), |verdict| (&*verdict.verdict, &*verdict.why));
    if outcome != expect || (outcome == "cannot" && note != why) {
        let cell = format!("{peer} {transport} {era} {role} {feature}");
        problems.push(format!("{cell}: expected {expect} ({why}), got {outcome} ({note})"));
    }
    format!("{peer}\t{transport}\t{era}\t{role}\t{feature}\t{outcome}\t{}\n", note.replace(['\t', '\n'], " "))
}

/// One row for each pairing and era, one column for each feature.
fn table(runs: &[(&Pairing, &str)], outcomes: &[Run]) -> String {
    let mut text = format!("\n{:<20}{:<10}{:<8}{:<8}", "peer", "transport", "role", "era");
    for feature in FEATURES {
        let _ = write!(text, "{feature:<13}");
    }
    for ((pairing, era), run) in runs.iter().zip(outcomes) {
        let _ = write!(text, "\n{:<20}{:<10}{:<8}{era:<8}", pairing.peer, pairing.transport, pairing.role);
        for feature in FEATURES {
            let verdict = run.verdicts.get(feature).map_or("MISSING", |verdict| match &*verdict.verdict {
                "pass" => "pass",
                "cannot" => "-",
                _ => "FAIL",
            });
            let _ = write!(text, "{verdict:<13}");
        }
    }
    text.push_str("\n(-: the peer has no such feature, see matrix.json)\n");
    text
}

/// Writes past the test harness, which would keep the output of a test that passes to itself.
fn say(text: &str) {
    // A reader that has gone misses the table only.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// The judge itself, without a peer.
mod judge {
    use super::*;

    fn judged(expect: &str, why: &str, verdict: Option<(&str, &str)>) -> (usize, String) {
        let text = |text: &str| text.to_owned();
        let cell = Cell {
            peer: text("p"),
            version: text("1"),
            transport: text("http"),
            era: text("modern"),
            role: text("client"),
            feature: text("lists"),
            expect: text(expect),
            why: text(why),
        };
        let verdict =
            verdict.map(|(verdict, why)| Verdict { cell: text("lists"), verdict: text(verdict), why: text(why) });
        let mut problems = Vec::new();
        let row = compare(&cell, verdict.as_ref(), &mut problems);
        (problems.len(), row)
    }

    #[test]
    fn a_cell_that_is_as_foreseen_is_no_problem() {
        assert_eq!(judged("pass", "", Some(("pass", ""))), (0, "p\thttp\tmodern\tclient\tlists\tpass\t\n".into()));
        let (problems, row) = judged("cannot", "too old", Some(("cannot", "too old")));
        assert_eq!((problems, &*row), (0, "p\thttp\tmodern\tclient\tlists\tcannot\ttoo old\n"));
    }

    #[test]
    fn missing_failed_unforeseen_and_stale_cells_are_problems() {
        assert_eq!(judged("pass", "", None).0, 1);
        assert_eq!(judged("pass", "", Some(("fail", "hung"))).0, 1);
        assert_eq!(judged("pass", "", Some(("cannot", "too old"))).0, 1);
        assert_eq!(judged("cannot", "too old", Some(("pass", ""))).0, 1, "a stale `cannot`");
        assert_eq!(judged("cannot", "too old", Some(("cannot", "no idea"))).0, 1, "another reason");
        assert_eq!(judged("cannot", "too old", Some(("fail", "hung"))).0, 1);
    }
}
