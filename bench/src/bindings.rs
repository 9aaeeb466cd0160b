//! A call through the bindings, in processes of their languages.
//!
//! Each binding has a script that lets its subjects take turns and prints microseconds of processor time for a call, by
//! case, subject and repetition; the first subject of a case is its floor. `cargo xtask bench` builds the packages and
//! says what runs the scripts; without a word of it there is nothing to measure.

use std::process::{Command, Stdio};

use crate::report::{Goal, Row, Table, Verdict, best, median, worst};

/// A language: what names its interpreter, its script, and what its subjects may cost in microseconds.
struct Binding {
    name: &'static str,
    variable: &'static str,
    script: &'static str,
    goals: &'static [(&'static str, f64)],
}

const BINDINGS: [Binding; 2] = [
    Binding {
        name: "python",
        variable: "MCP_BENCH_PYTHON",
        script: concat!(env!("CARGO_MANIFEST_DIR"), "/../bindings/python/bench.py"),
        goals: &[("sync", 3.0), ("async", 5.0)],
    },
    Binding {
        name: "node",
        variable: "MCP_BENCH_NODE",
        script: concat!(env!("CARGO_MANIFEST_DIR"), "/../bindings/node/bench.mjs"),
        goals: &[("call", 4.0)],
    },
];

pub(crate) const COLUMNS: &[&str] = &["best", "median", "spread", "× floor"];

/// Measures the bindings whose title has `only`.
pub(crate) fn measure(is_quick: bool, only: &str, table: &mut Table) {
    for binding in &BINDINGS {
        let title = format!("{}: tools/call", binding.name);
        match std::env::var_os(binding.variable) {
            Some(program) if title.contains(only) => {
                let mut command = Command::new(program);
                command.args([binding.script, "--json"]).args(is_quick.then_some("--quick"));
                binding.tell(&title, output(command), table);
            }
            None if title.contains(only) => println!("  {title}: left out, for {} is not set", binding.variable),
            _ => {}
        }
    }
}

/// What a script prints: cases with their subjects and what they have cost.
type Seen = Vec<(String, Vec<(String, Vec<f64>)>)>;

fn output(mut command: Command) -> Seen {
    let output = command.stderr(Stdio::inherit()).output().expect("the interpreter starts");
    assert!(output.status.success(), "{command:?} failed");
    serde_json::from_slice(&output.stdout).expect("the script prints what it has seen as JSON")
}

impl Binding {
    fn tell(&self, title: &str, seen: Seen, table: &mut Table) {
        for (case, subjects) in seen {
            let title = format!("{title}, {case}");
            let floor = subjects.first().map_or(f64::NAN, |(_, seen)| best(seen));
            for (name, seen) in subjects {
                let micros = |micros: f64| format!("{micros:.2} µs");
                let cells = vec![
                    micros(best(&seen)),
                    micros(median(&seen)),
                    format!("{}–{}", micros(best(&seen)), micros(worst(&seen))),
                    format!("{:.2}", best(&seen) / floor),
                ];
                let goal = self.goals.iter().find(|(of, _)| *of == name);
                let verdict = goal.map(|(_, most)| Verdict::new(Goal::Within(*most), best(&seen)));
                table.push(Row::cells(&title, &name, cells, verdict));
            }
        }
    }
}
