//! What may prove a row: test functions, vectors and interop cells, collected from the tree.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::Error;
use crate::source::{functions, tokens};
use crate::workspace::Workspace;

const VECTORS: &str = "tests/vectors";
const CELLS: &str = "tests/interop/cells.tsv";

/// Everything in the tree that can be named as a proof.
#[derive(Debug, Default)]
pub(super) struct Proofs {
    /// By `file::function`.
    tests: BTreeMap<String, Test>,
    vectors: BTreeSet<String>,
    /// By `peer/era/role/feature`, with the outcome.
    cells: BTreeMap<String, String>,
}

#[derive(Debug)]
struct Test {
    ignored: bool,
    /// Rows that the test names in its name, comments or body.
    rows: BTreeSet<String>,
}

impl Proofs {
    pub(super) fn collect(workspace: &Workspace) -> Result<Self, Error> {
        let mut proofs = Self::default();
        // The tests of this tool are full of made-up rows.
        for path in workspace.files(".", &["rs"]).into_iter().filter(|path| !path.starts_with("xtask/")) {
            proofs.add_tests(&path, &workspace.read(&path)?);
        }
        for path in workspace.files(VECTORS, &["json"]) {
            proofs.add_vector(&path);
        }
        if workspace.has(CELLS) {
            proofs.add_cells(&workspace.read(CELLS)?);
        }
        Ok(proofs)
    }

    pub(super) fn add_tests(&mut self, path: &str, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        for function in functions(&tokens(text)).into_iter().filter(|function| function.is_test) {
            let written = lines.get(function.docs_line - 1..function.end_line).unwrap_or_default().join("\n");
            let mut rows = rows_named(&written);
            rows.extend(rows_named(&function.name.to_ascii_uppercase().replace('_', "-")));
            let test = Test { ignored: function.is_ignored, rows };
            self.tests.insert(format!("{path}::{}", function.name), test);
        }
    }

    fn add_vector(&mut self, path: &str) {
        let name = path.strip_prefix(VECTORS).unwrap_or(path).trim_start_matches('/').trim_end_matches(".json");
        self.vectors.insert(name.to_owned());
    }

    /// Columns: peer, transport, era, role, feature, outcome, note.
    pub(super) fn add_cells(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
            if let [peer, transport, era, role, feature, outcome, ..] = fields[..] {
                self.cells.insert(format!("{peer}/{transport}/{era}/{role}/{feature}"), outcome.to_owned());
            }
        }
    }

    /// Why a name proves nothing, if so.
    pub(super) fn missing(&self, proof: &str) -> Option<String> {
        if let Some(name) = proof.strip_prefix("vector:") {
            return (!self.vectors.contains(name)).then(|| format!("there is no {VECTORS}/{name}.json"));
        }
        if let Some(cell) = proof.strip_prefix("interop:") {
            return match self.cells.get(cell).map(String::as_str) {
                Some("pass") => None,
                Some(outcome) => Some(format!("the interop cell {cell} says `{outcome}`")),
                None => Some(format!("there is no interop cell {cell}")),
            };
        }
        match self.tests.get(proof) {
            Some(test) if test.ignored => Some(format!("the test {proof} is ignored")),
            Some(_) => None,
            None => Some(format!("there is no test {proof}")),
        }
    }

    /// The tests that name each row, in order.
    pub(super) fn mentions(&self) -> BTreeMap<String, Vec<String>> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, test) in self.tests.iter().filter(|(_, test)| !test.ignored) {
            for row in &test.rows {
                found.entry(row.clone()).or_default().push(name.clone());
            }
        }
        found
    }
}

/// Row ids in a text: `M-BASE-07`, `L-TOOL-03`. A range or list such as `M-BASE-07, 08` names its first row only.
pub(super) fn rows_named(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for piece in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-') {
        let parts: Vec<&str> = piece.split('-').collect();
        for window in parts.windows(3) {
            let [era, section, number] = window else {
                continue;
            };
            let section_fits = !section.is_empty() && section.chars().all(|c| c.is_ascii_uppercase());
            let number_fits = number.len() >= 2 && number.starts_with(|c: char| c.is_ascii_digit());
            if matches!(*era, "M" | "L") && section_fits && number_fits {
                found.insert(window.join("-"));
            }
        }
    }
    found
}
