//! `cargo xtask fuzz`: runs the fuzz targets for a time and keeps the ledger of executions.
//!
//! | there is | then `fuzz-run` of the package `mcp-sansio-fuzz` is built |
//! |---|---|
//! | a nightly toolchain, and a sanitizer for this machine | by it, with AddressSanitizer |
//! | anything else | on stable |
//!
//! The engine is the same, for it is ours: no other need be installed. The targets are the folders of `fuzz/corpus`. The
//! output tells the executions: `executions: N`.

use crate::cli::{Args, Error};
use crate::process::Run;
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "
cargo xtask fuzz [--seconds N] [--target T] [--list]

Runs every fuzz target, or one, for N seconds each (60 unless told) and adds the executions to fuzz/ledger.tsv.
Where a nightly toolchain is installed, it builds them, with AddressSanitizer; otherwise they are built on stable.
";

const CORPUS: &str = "fuzz/corpus";
const LEDGER: &str = "fuzz/ledger.tsv";
const SECONDS: u64 = 60;
/// Machines that AddressSanitizer comes for with a nightly toolchain.
const SANITIZED: [&str; 4] =
    ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-apple-darwin", "aarch64-apple-darwin"];
const PROGRAM: &str = "run --release --quiet --manifest-path fuzz/Cargo.toml --bin fuzz-run";

pub(crate) fn run(workspace: &Workspace, mut args: Args) -> Result<(), Error> {
    let seconds = args.number("--seconds")?.unwrap_or(SECONDS);
    let only = args.value("--target")?;
    let list = args.switch("--list");
    args.finish()?;
    let mut targets = workspace.folders(CORPUS);
    if targets.is_empty() {
        return Err(Error::failed(format!("there is no fuzz target: {CORPUS} has no folder")));
    }
    if let Some(only) = only {
        if !targets.contains(&only) {
            return Err(Error::Usage(format!("there is no target `{only}`, only: {}", targets.join(", "))));
        }
        targets = vec![only];
    }
    if list {
        println!("{}", targets.join("\n"));
        return Ok(());
    }
    let sanitized = sanitized_host(workspace);
    match &sanitized {
        Some(host) => println!("built by nightly with AddressSanitizer, for {host}"),
        None => println!("built on stable"),
    }
    for (at, target) in targets.iter().enumerate() {
        println!("[{}/{}] {target}: {seconds} s", at + 1, targets.len());
        let executions = run_target(workspace, target, seconds, sanitized.as_deref())?;
        let files = workspace.count(&format!("{CORPUS}/{target}"));
        let ledger = if workspace.has(LEDGER) { workspace.read(LEDGER)? } else { String::new() };
        workspace.write(LEDGER, &entered(&ledger, target, executions, seconds, files))?;
    }
    println!("{}", workspace.read(LEDGER)?);
    Ok(())
}

/// This machine, if a nightly toolchain is here that has AddressSanitizer for it.
fn sanitized_host(workspace: &Workspace) -> Option<String> {
    let nightly = || Run::new(workspace, "rustup").args(["run", "nightly", "rustc", "-vV"]);
    if !nightly().works() {
        return None;
    }
    let version = nightly().output().ok()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "))?;
    SANITIZED.contains(&host).then(|| host.to_owned())
}

/// Runs one target and tells its executions.
fn run_target(workspace: &Workspace, target: &str, seconds: u64, sanitized: Option<&str>) -> Result<u64, Error> {
    let corpus = format!("{CORPUS}/{target}");
    let run = match sanitized {
        Some(host) => Run::new(workspace, "rustup")
            .args(["run", "nightly", "cargo"])
            .args(PROGRAM.split_whitespace())
            .args(["--target", host])
            .env("RUSTFLAGS", "-Zsanitizer=address"),
        None => Run::cargo(workspace, PROGRAM),
    };
    let run = run.args(["--", target, "--seconds", &seconds.to_string(), "--corpus", &corpus]);
    let mut executions = None;
    run.watch(&mut |line| executions = executions_in(line).or(executions))?;
    executions.ok_or_else(|| Error::failed(format!("the fuzz target {target} did not tell its executions")))
}

/// The figure in a closing line.
fn executions_in(line: &str) -> Option<u64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| word.trim_end_matches(':') == "executions")?;
    let after = words.get(at + 1).and_then(|word| word.trim_end_matches([',', '.', ';']).parse().ok());
    after.or_else(|| at.checked_sub(1).and_then(|before| words[before].parse().ok()))
}

/// The ledger with one run added: sums per target, in order of their names; the corpus is as large as it is now.
fn entered(ledger: &str, target: &str, executions: u64, seconds: u64, files: usize) -> String {
    let mut rows: Vec<(String, u64, u64, usize)> = ledger.lines().filter_map(row).collect();
    match rows.iter_mut().find(|(name, ..)| name == target) {
        Some(row) => *row = (row.0.clone(), row.1 + executions, row.2 + seconds, files),
        None => rows.push((target.to_owned(), executions, seconds, files)),
    }
    rows.sort();
    let mut text =
        "# All runs of `cargo xtask fuzz` that were committed, summed.\ntarget\texecutions\tseconds\tcorpus files\n"
            .to_owned();
    for (name, executions, seconds, files) in rows {
        text.push_str(&format!("{name}\t{executions}\t{seconds}\t{files}\n"));
    }
    text
}

fn row(line: &str) -> Option<(String, u64, u64, usize)> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, executions, seconds, files] = fields[..] else {
        return None;
    };
    Some((name.to_owned(), executions.parse().ok()?, seconds.parse().ok()?, files.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_are_read_from_the_output() {
        assert_eq!(executions_in("executions: 1204"), Some(1204));
        assert_eq!(executions_in("lines: 77 executions in 5 s, corpus 12"), Some(77));
        assert_eq!(executions_in("found: 3"), None);
    }

    #[test]
    fn the_ledger_sums_per_target() {
        let first = entered("", "lines", 100, 5, 3);
        let second = entered(&first, "decode", 7, 5, 1);
        let third = entered(&second, "lines", 50, 10, 4);
        let rows: Vec<&str> = third.lines().skip(2).collect();
        assert_eq!(rows, ["decode\t7\t5\t1", "lines\t150\t15\t4"]);
    }
}
