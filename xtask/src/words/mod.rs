//! `cargo xtask words`: fronts are thin and know no protocol, and nothing in the tree grows out of reach.
//!
//! | check | listed | fails |
//! |---|---|---|
//! | protocol words in the source of a front, outside comments and tests ([`protocol`]) | | any |
//! | lines of a thin front, outside tests | always | from 900 |
//! | lines of a Rust file | above 600 | above 650 |
//! | lines of a function | above 80 | above 90 |
//!
//! A front is each folder `io-*` and each folder below `bindings`. The runtime-free front (`io-common`) and the
//! language-free one (`bindings/told`) hold what the thin ones share, so they have no budget as a whole.

mod protocol;

use crate::cli::{Args, Error};
use crate::source::{self, Kind, Token, functions, tokens, without_tests};
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "
cargo xtask words

Fails on protocol words (methods, headers, versions, members, codes) in the source of a front, on a thin front of
900 lines or more, on a file of more than 650 lines and on a function of more than 90.
Files above 600 lines and functions above 80 are listed.
";

const FRONT_BUDGET: usize = 900;
const FILE_LISTED: usize = 600;
const FILE_FAILS: usize = 650;
const FUNCTION_LISTED: usize = 80;
const FUNCTION_FAILS: usize = 90;

pub(crate) fn run(workspace: &Workspace, args: Args) -> Result<(), Error> {
    args.finish()?;
    check(workspace)
}

pub(crate) fn check(workspace: &Workspace) -> Result<(), Error> {
    let mut complaints = Vec::new();
    for front in fronts(workspace) {
        complaints.extend(front_complaints(workspace, &front)?);
    }
    complaints.extend(length_complaints(workspace)?);
    if complaints.is_empty() {
        return Ok(());
    }
    Err(Error::failed(format!("words and sizes:\n  {}", complaints.join("\n  "))))
}

fn fronts(workspace: &Workspace) -> Vec<String> {
    let adapters = workspace.folders(".").into_iter().filter(|name| name.starts_with("io-"));
    let bindings = workspace.folders("bindings").into_iter().map(|name| format!("bindings/{name}"));
    adapters.chain(bindings).collect()
}

/// Words and budget of one front.
fn front_complaints(workspace: &Workspace, front: &str) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    let mut lines = 0;
    for path in workspace.files(&format!("{front}/src"), &["rs"]) {
        if source::is_test_file(&path) {
            continue;
        }
        let text = workspace.read(&path)?;
        let kept = without_tests(&tokens(&text));
        lines += lines_of(&kept);
        for finding in protocol::words(&kept) {
            complaints.push(format!("{path}:{}: `{}`: {}", finding.line, finding.what, finding.why));
        }
    }
    let thin = !matches!(front, "io-common" | "bindings/told");
    if thin && lines >= FRONT_BUDGET {
        complaints.push(format!("{front}/src has {lines} lines without tests; it stays under {FRONT_BUDGET}"));
    }
    let budget = if thin { format!(" of {FRONT_BUDGET}") } else { String::new() };
    println!("  {front}: {lines}{budget} lines without tests");
    Ok(complaints)
}

/// Lines that hold a token, comments included: blank lines and those of tests are not counted.
fn lines_of(tokens: &[Token<'_>]) -> usize {
    let mut counted = 0;
    let mut last = 0;
    for token in tokens {
        let from = token.line.max(last + 1);
        if token.end_line >= from {
            counted += token.end_line - from + 1;
            last = token.end_line;
        }
    }
    counted
}

fn length_complaints(workspace: &Workspace) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    for path in workspace.files(".", &["rs"]) {
        let text = workspace.read(&path)?;
        let lines = text.lines().count();
        judge(&mut complaints, lines, FILE_LISTED, FILE_FAILS, &path);
        let code: Vec<Token<'_>> = tokens(&text).into_iter().filter(|token| token.kind != Kind::Comment).collect();
        for function in functions(&code) {
            let what = format!("{path}:{} {}", function.line, function.name);
            judge(&mut complaints, function.lines(), FUNCTION_LISTED, FUNCTION_FAILS, &what);
        }
    }
    Ok(complaints)
}

fn judge(complaints: &mut Vec<String>, lines: usize, listed: usize, fails: usize, what: &str) {
    if lines > fails {
        complaints.push(format!("{what}: {lines} lines, more than {fails}: split it by what it decides"));
    } else if lines > listed {
        println!("  long: {lines} lines: {what}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_that_hold_something_outside_tests() {
        let text = "//! Docs.\n\nfn a() {\n\n    b(\"x\ny\");\n}\n\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";
        assert_eq!(lines_of(&without_tests(&tokens(text))), 5);
    }

    #[test]
    fn lengths_are_listed_before_they_fail() {
        let mut complaints = Vec::new();
        judge(&mut complaints, 90, FUNCTION_LISTED, FUNCTION_FAILS, "f");
        assert_eq!(complaints, Vec::<String>::new());
        judge(&mut complaints, 91, FUNCTION_LISTED, FUNCTION_FAILS, "f");
        assert_eq!(complaints.len(), 1);
    }
}
