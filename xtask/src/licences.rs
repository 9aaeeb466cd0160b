//! `cargo xtask licences`: every dependency may be used, and comes from the registry.
//!
//! cargo-deny does this and more, but installing it compiles some hundred crates, minutes on a bare machine. So the
//! questions that decide are answered here from `cargo metadata`, in a second: is a licence of each package in the allow
//! list of `deny.toml`, does each package come from crates.io or from this workspace, and is none of them banned there.
//! Where cargo-deny is installed, it runs too.

use serde_json::Value;

use crate::cli::{Args, Error};
use crate::process::{Run, metadata};
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "
cargo xtask licences

Checks the licence of every dependency against deny.toml and that each comes from crates.io or from this workspace.
Runs `cargo deny check bans licenses sources` as well where cargo-deny is installed.
";

const DENY: &str = "deny.toml";
/// How cargo names crates.io in its metadata.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(crate) fn run(workspace: &Workspace, args: Args) -> Result<(), Error> {
    args.finish()?;
    check(workspace)
}

pub(crate) fn check(workspace: &Workspace) -> Result<(), Error> {
    let deny = workspace.read(DENY)?;
    let (allowed, banned) = (allow_list(&deny)?, ban_list(&deny)?);
    let metadata = metadata(workspace, "--all-features")?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let complaints: Vec<String> = packages.iter().filter_map(|package| complaint(package, &allowed, &banned)).collect();
    println!("  {} packages, {} licences allowed, {} packages banned", packages.len(), allowed.len(), banned.len());
    if !complaints.is_empty() {
        return Err(Error::failed(format!("dependencies:\n  {}", complaints.join("\n  "))));
    }
    if Run::cargo(workspace, "deny --version").works() {
        return Run::cargo(workspace, "deny check bans licenses sources").go();
    }
    Ok(())
}

/// The strings of `allow = […]` below `[licenses]`.
fn allow_list(deny: &str) -> Result<Vec<String>, Error> {
    Ok(list(deny, "licenses", "allow")?.split('"').skip(1).step_by(2).map(str::to_owned).collect())
}

/// The crates of `deny = […]` below `[bans]`.
fn ban_list(deny: &str) -> Result<Vec<String>, Error> {
    let crates = list(deny, "bans", "deny")?.split("crate = \"").skip(1);
    Ok(crates.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect())
}

/// What stands in a list of a section: all that is needed of the file, so no TOML reader is.
fn list<'d>(deny: &'d str, section: &str, key: &str) -> Result<&'d str, Error> {
    deny.split_once(&format!("[{section}]"))
        .and_then(|(_, section)| section.split_once(&format!("\n{key} = [")))
        .and_then(|(_, rest)| rest.split_once(']'))
        .map(|(list, _)| list)
        .ok_or_else(|| Error::failed(format!("{DENY} has no `{key} = […]` below `[{section}]`")))
}

fn complaint(package: &Value, allowed: &[String], banned: &[String]) -> Option<String> {
    let name = package["name"].as_str()?;
    if banned.iter().any(|banned| banned == name) {
        return Some(format!("{name} is banned by {DENY}"));
    }
    let name = format!("{name} {}", package["version"].as_str()?);
    match package["source"].as_str() {
        None | Some(CRATES_IO) => {}
        Some(source) => return Some(format!("{name} comes from {source}")),
    }
    let Some(licence) = package["license"].as_str() else {
        return Some(format!("{name} names no licence"));
    };
    (!permits(licence, allowed)).then(|| format!("{name}: `{licence}` is not allowed by {DENY}"))
}

/// Whether the licence expression (SPDX, or the older form with a slash for OR) can be met by the list.
fn permits(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    any_of(&words, &mut at, allowed) && at == words.len()
}

fn any_of(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut met = all_of(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= all_of(words, at, allowed);
    }
    met
}

fn all_of(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut met = term(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= term(words, at, allowed);
    }
    met
}

fn term(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let Some(word) = words.get(*at) else {
        return false;
    };
    *at += 1;
    if *word == "(" {
        let met = any_of(words, at, allowed);
        let closed = words.get(*at) == Some(&")");
        *at += 1;
        return met && closed;
    }
    let mut licence = (*word).to_owned();
    if let (Some(&"WITH"), Some(exception)) = (words.get(*at), words.get(*at + 1)) {
        licence = format!("{licence} WITH {exception}");
        *at += 2;
    }
    allowed.contains(&licence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Vec<String> {
        ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).to_vec()
    }

    #[test]
    fn the_list_is_read_from_its_section() {
        let deny = "[bans]\nallow = [\"GPL-3.0\"]\n[licenses]\nunused = 1\nallow = [\n  \"MIT\",\n  \"ISC\",\n]\n";
        assert_eq!(allow_list(deny).unwrap(), ["MIT", "ISC"]);
        assert!(allow_list("[licenses]\n").is_err());
        let bans = "[bans]\nwildcards = \"deny\"\ndeny = [\n  { crate = \"x\", reason = \"y\" },\n  { crate = \"z\" },\n]\n[sources]\n";
        assert_eq!(ban_list(bans).unwrap(), ["x", "z"]);
        assert!(ban_list("[bans]\n").is_err());
    }

    #[test]
    fn expressions_are_met_or_not() {
        for met in [
            "MIT",
            "Apache-2.0 OR MIT",
            "MIT/Apache-2.0",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
        ] {
            assert!(permits(met, &allowed()), "{met}");
        }
        for unmet in ["Apache-2.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND ISC", "", "MIT MIT", "(MIT", "MIT WITH x"] {
            assert!(!permits(unmet, &allowed()), "{unmet}");
        }
    }

    #[test]
    fn git_sources_missing_licences_and_bans_are_named() {
        let package = |source: Value, license: Value| serde_json::json!({ "name": "a", "version": "1.0.0", "source": source, "license": license });
        assert_eq!(complaint(&package(CRATES_IO.into(), "MIT".into()), &allowed(), &[]), None);
        assert_eq!(complaint(&package(Value::Null, "MIT".into()), &allowed(), &[]), None);
        assert!(complaint(&package("git+x".into(), "MIT".into()), &allowed(), &[]).unwrap().contains("git+x"));
        assert!(complaint(&package(CRATES_IO.into(), Value::Null), &allowed(), &[]).unwrap().contains("no licence"));
        let banned = ["a".to_owned()];
        assert!(complaint(&package(CRATES_IO.into(), "MIT".into()), &allowed(), &banned).unwrap().contains("banned"));
    }
}
