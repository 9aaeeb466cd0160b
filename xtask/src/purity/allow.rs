//! The allow list of crates: `crate | touches | reason`, one a line, sorted; `#` opens a comment.

use std::collections::{BTreeMap, BTreeSet};

/// What a crate may reach outside of its arguments. `nothing` is the normal case.
const TOUCHES: &[&str] = &["nothing", "clock", "cpu", "io", "locks", "platform", "randomness", "threads"];

/// One line of the list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Allowed<'a> {
    pub(super) name: &'a str,
    pub(super) touches: Vec<&'a str>,
    pub(super) reason: &'a str,
}

/// Reads the list; the error names the line.
pub(super) fn parse(text: &str) -> Result<Vec<Allowed<'_>>, String> {
    let mut list: Vec<Allowed<'_>> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let entry = entry(line).map_err(|error| format!("line {}: {error}", number + 1))?;
        if list.last().is_some_and(|before| before.name >= entry.name) {
            return Err(format!("line {}: `{}` is not in order, or there twice", number + 1, entry.name));
        }
        list.push(entry);
    }
    Ok(list)
}

fn entry(line: &str) -> Result<Allowed<'_>, String> {
    let fields: Vec<&str> = line.splitn(3, '|').map(str::trim).collect();
    let [name, touches, reason] = fields[..] else {
        return Err("needs `crate | touches | reason`".to_owned());
    };
    let touches: Vec<&str> = touches.split(',').map(str::trim).collect();
    if let Some(odd) = touches.iter().find(|touch| !TOUCHES.contains(touch)) {
        return Err(format!("`{odd}` is not one of {}", TOUCHES.join(", ")));
    }
    if name.is_empty() || reason.len() < 8 {
        return Err(format!("`{name}` needs a reason"));
    }
    Ok(Allowed { name, touches, reason })
}

/// What the list and the tree do not agree on.
pub(super) fn compare(linked: &BTreeSet<&str>, allowed: &[Allowed<'_>]) -> Vec<String> {
    let listed: BTreeSet<&str> = allowed.iter().map(|entry| entry.name).collect();
    let unlisted = linked.difference(&listed).map(|name| format!("`{name}` is linked into the core and not allowed"));
    let stale = listed.difference(linked).map(|name| format!("`{name}` is allowed and no longer linked"));
    unlisted.chain(stale).collect()
}

/// The names under each thing touched.
pub(super) fn by_touch<'a>(allowed: &[Allowed<'a>]) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in allowed {
        for touch in &entry.touches {
            groups.entry(touch).or_default().push(entry.name);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# crates\nahash | randomness | seeds its hasher once\nbytes | nothing | shared buffers\n";

    #[test]
    fn unlisted_and_stale_crates_are_named() {
        let allowed = parse(LIST).unwrap();
        assert_eq!(compare(&BTreeSet::from(["ahash", "bytes"]), &allowed), Vec::<String>::new());
        let complaints = compare(&BTreeSet::from(["ahash", "rand"]), &allowed);
        assert_eq!(complaints.len(), 2);
        assert!(complaints[0].contains("`rand`") && complaints[1].contains("`bytes`"));
    }

    #[test]
    fn a_line_says_what_is_touched_and_why() {
        assert!(parse("ahash | randomness").unwrap_err().contains("line 1"));
        assert!(parse("ahash | dice | seeds its hasher once").unwrap_err().contains("`dice`"));
        assert!(parse("ahash | randomness | -").unwrap_err().contains("reason"));
        assert!(parse("b | nothing | some reason\na | nothing | some reason").unwrap_err().contains("order"));
    }

    #[test]
    fn crates_are_grouped_by_what_they_touch() {
        let allowed = parse("a | io, locks | some reason\nb | locks | some reason").unwrap();
        assert_eq!(by_touch(&allowed)["locks"], ["a", "b"]);
    }
}
