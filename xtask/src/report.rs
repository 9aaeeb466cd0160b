//! What a test run counted, and the table at its end.

use std::time::Duration;

/// Checks that held and did not hold. A step that runs no test counts as one check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Tally {
    /// Adds what the closing line of a Rust test binary says, or that of pytest; other lines count nothing.
    pub(crate) fn read(&mut self, line: &str) {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("test result: ") {
            self.passed += number_before(rest, " passed;");
            self.failed += number_before(rest, " failed;");
        } else if line.starts_with("==") && line.ends_with("==") && line.contains(" in ") {
            self.passed += number_before(line, " passed");
            self.failed += number_before(line, " failed");
        }
    }

    /// What one finished step is worth.
    pub(crate) fn settle(self, held: bool) -> Self {
        if held {
            Self { passed: self.passed.max(1), failed: self.failed }
        } else {
            Self { passed: self.passed, failed: self.failed.max(1) }
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

fn number_before(text: &str, mark: &str) -> u64 {
    let Some(end) = text.find(mark) else { return 0 };
    text[..end].rsplit(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// One line of the closing table.
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    pub(crate) held: bool,
    pub(crate) tally: Tally,
    pub(crate) took: Duration,
}

/// The closing table, ending with the counted line.
pub(crate) fn table(outcomes: &[Outcome]) -> String {
    let mut text = format!("\n{:<14} {:<6} {:>8} {:>8} {:>9}\n", "step", "", "passed", "failed", "seconds");
    let mut sum = Tally::default();
    for outcome in outcomes {
        let verdict = if outcome.held { "ok" } else { "FAILED" };
        text.push_str(&format!(
            "{:<14} {:<6} {:>8} {:>8} {:>9.1}\n",
            outcome.name,
            verdict,
            outcome.tally.passed,
            outcome.tally.failed,
            outcome.took.as_secs_f64()
        ));
        sum.add(outcome.tally);
    }
    text.push_str(&format!("\n{} passed, {} failed", sum.passed, sum.failed));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_of_test_binaries_are_summed() {
        let mut tally = Tally::default();
        tally.read("test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s");
        tally.read("test ids_are_exact ... ok");
        tally.read("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out");
        assert_eq!(tally, Tally { passed: 15, failed: 2 });
        tally.read("================== 1 failed, 40 passed, 2 warnings in 21.65s ==================");
        tally.read("=================== test session starts ===================");
        assert_eq!(tally, Tally { passed: 55, failed: 3 });
    }

    #[test]
    fn a_step_without_tests_counts_as_one_check() {
        assert_eq!(Tally::default().settle(true), Tally { passed: 1, failed: 0 });
        assert_eq!(Tally::default().settle(false), Tally { passed: 0, failed: 1 });
        assert_eq!(Tally { passed: 4, failed: 2 }.settle(false), Tally { passed: 4, failed: 2 });
    }

    #[test]
    fn the_table_ends_with_the_counted_line() {
        let outcomes = [
            Outcome {
                name: "fmt",
                held: true,
                tally: Tally { passed: 1, failed: 0 },
                took: Duration::from_millis(1500),
            },
            Outcome { name: "tests", held: false, tally: Tally { passed: 9, failed: 1 }, took: Duration::ZERO },
        ];
        assert_eq!(table(&outcomes).lines().last(), Some("10 passed, 1 failed"));
    }
}
