//! The map from rows to answers, as `tests/requirements/map.txt` holds it: `ID | answer`, one a line.

use std::collections::BTreeMap;

/// The answer to one row.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    /// The application's duty, with the reason.
    Host(&'a str),
    /// A part of the protocol that is optional and absent, with the reason.
    NotOffered(&'a str),
    /// The proofs, at least one.
    Tests(Vec<&'a str>),
    Todo,
}

/// A reason is a sentence, not a word.
const SHORTEST_REASON: usize = 12;

/// Reads the file; the error names the line.
pub(super) fn parse(text: &str) -> Result<BTreeMap<&str, Entry<'_>>, String> {
    let mut entries = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (id, entry) = entry(line).map_err(|error| format!("line {}: {error}", number + 1))?;
        if entries.insert(id, entry).is_some() {
            return Err(format!("line {}: {id} is there twice", number + 1));
        }
    }
    Ok(entries)
}

/// Whether a line is an entry that waits for its answer.
pub(super) fn is_todo(line: &str) -> bool {
    matches!(entry(line), Ok((_, Entry::Todo)))
}

fn entry(line: &str) -> Result<(&str, Entry<'_>), String> {
    let Some((id, answer)) = line.split_once('|') else {
        return Err("needs `ID | answer`".to_owned());
    };
    let (id, answer) = (id.trim(), answer.trim());
    if answer == "todo" {
        return Ok((id, Entry::Todo));
    }
    let (kind, rest) = answer.split_once(':').unwrap_or((answer, ""));
    let rest = rest.trim();
    let entry = match kind {
        "tests" => Entry::Tests(proofs(rest)?),
        "host" => Entry::Host(reason(rest)?),
        "not-offered" => Entry::NotOffered(reason(rest)?),
        _ => {
            return Err(format!("`{kind}` is not one of tests, host, not-offered, todo"));
        }
    };
    Ok((id, entry))
}

fn proofs(rest: &str) -> Result<Vec<&str>, String> {
    let named: Vec<&str> = rest.split(',').map(str::trim).collect();
    if named.iter().any(|proof| proof.is_empty()) {
        return Err("`tests:` needs names with a comma between them".to_owned());
    }
    Ok(named)
}

fn reason(rest: &str) -> Result<&str, String> {
    if rest.len() < SHORTEST_REASON { Err(format!("`{rest}` is not a reason")) } else { Ok(rest) }
}
