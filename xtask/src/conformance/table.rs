//! The closing table: a line for each scenario, a line for each role and set.

use super::Role;
use super::baseline::Judged;
use super::verdict::Verdict;

/// A scenario of a set, with what came of it in each pass.
pub(super) struct Row {
    pub(super) role: Role,
    pub(super) set: &'static str,
    pub(super) scenario: String,
    pub(super) verdicts: Vec<Verdict>,
}

impl Row {
    /// Passed in every pass.
    pub(super) fn passed(&self) -> bool {
        self.verdicts.iter().all(Verdict::passed)
    }

    /// What went wrong, each thing once.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems: Vec<String> = Vec::new();
        for problem in self.verdicts.iter().flat_map(|verdict| &verdict.problems) {
            if !problems.contains(problem) {
                problems.push(problem.clone());
            }
        }
        problems
    }
}

/// The passes of a role, as the columns name them.
const fn passes(role: Role) -> &'static str {
    match role {
        Role::Server => "both eras/one era",
        Role::Client => "together/alone",
    }
}

pub(super) fn text(rows: &[Row], judged: &Judged) -> String {
    let mut text = format!("\n{:<8} {:<11} {:<46} {:<8} checks that succeeded\n", "role", "set", "scenario", "");
    for (row, known) in rows.iter().zip(&judged.known) {
        let verdict = match (row.passed(), known) {
            (true, _) => "ok",
            (false, true) => "known",
            (false, false) => "FAILED",
        };
        let counts: Vec<String> = row.verdicts.iter().map(|verdict| verdict.succeeded.to_string()).collect();
        let Row { role, set, scenario, .. } = row;
        text.push_str(&format!("{role:<8} {set:<11} {scenario:<46} {verdict:<8} {}\n", counts.join("/")));
    }
    text.push_str(&format!("\n{:<8} {:<11} {:>6} {:>6} {:>6}  passes\n", "role", "set", "ok", "known", "failed"));
    let mut groups: Vec<(Role, &str)> = rows.iter().map(|row| (row.role, row.set)).collect();
    groups.dedup();
    for (role, set) in groups {
        let of_group = || rows.iter().zip(&judged.known).filter(|(row, _)| (row.role, row.set) == (role, set));
        let passed = of_group().filter(|(row, _)| row.passed()).count();
        let known = of_group().filter(|(_, known)| **known).count();
        let failed = of_group().count() - passed - known;
        text.push_str(&format!("{role:<8} {set:<11} {passed:>6} {known:>6} {failed:>6}  {}\n", passes(role)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_groups_are_counted() {
        let verdict = |passed: bool| Verdict {
            succeeded: 3,
            problems: if passed { Vec::new() } else { vec!["it failed".to_owned()] },
        };
        let row = |scenario: &str, first, second| Row {
            role: Role::Client,
            set: "2026-07-28",
            scenario: scenario.to_owned(),
            verdicts: vec![verdict(first), verdict(second)],
        };
        let rows = [row("tools_call", true, true), row("auth/dpop", false, false), row("sse", true, false)];
        assert_eq!(rows[1].problems(), ["it failed"]);
        let judged = Judged { held: 2, known: vec![false, true, false], complaints: vec!["sse".to_owned()] };
        let text = text(&rows, &judged);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(lines.contains(&vec!["client", "2026-07-28", "tools_call", "ok", "3/3"]), "{text}");
        assert!(lines.contains(&vec!["client", "2026-07-28", "auth/dpop", "known", "3/3"]), "{text}");
        assert!(lines.contains(&vec!["client", "2026-07-28", "sse", "FAILED", "3/3"]), "{text}");
        assert_eq!(lines.last().unwrap()[..5], ["client", "2026-07-28", "1", "1", "1"]);
    }
}
