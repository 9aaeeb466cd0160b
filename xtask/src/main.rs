//! The workspace's own commands, run as `cargo xtask COMMAND`.
//!
//! | command | decides |
//! |---|---|
//! | `test` | whether everything in the tree holds, in every language |
//! | `purity` | whether the core stays free of clocks, randomness, locks and IO, and async-std of tokio |
//! | `words` | whether fronts are thin and know no protocol words |
//! | `requirements` | which rows of the specification are proved, by which tests |
//! | `licences` | whether every dependency may be used and comes from the registry |
//! | `peers` | nothing: it installs what the interop tests drive |
//! | `python` | whether the wheel holds, installed as a stranger would |
//! | `node` | whether the npm package holds, installed as a stranger would |
//! | `conformance` | whether the official suite passes, but for what is known |
//! | `fuzz` | how long each fuzz target ran |
//! | `vectors` | whether every front says what the conversations of `tests/vectors` say |
//! | `bench` | nothing: it starts the benchmark package |
//!
//! Exit codes: 0 all held, 1 something did not hold, 2 the command line was wrong.
#![allow(clippy::print_stdout, reason = "a command line program speaks on standard output")]

mod bench;
mod cli;
mod conformance;
mod fuzz;
mod licences;
mod node;
mod peers;
mod process;
mod purity;
mod python;
mod report;
mod requirements;
mod source;
mod test;
mod vectors;
mod words;
mod workspace;

use std::io::Write as _;
use std::process::ExitCode;

use cli::{Args, Error};
use workspace::Workspace;

/// One subcommand: its name, one line for the overview, its help text and its body.
struct Command {
    name: &'static str,
    summary: &'static str,
    help: &'static str,
    run: fn(&Workspace, Args) -> Result<(), Error>,
}

const COMMANDS: &[Command] = &[
    Command { name: "test", summary: "every check and every test of the tree", help: test::HELP, run: test::run },
    Command {
        name: "purity",
        summary: "the core has no clock, randomness, lock, thread or IO",
        help: purity::HELP,
        run: purity::run,
    },
    Command {
        name: "words",
        summary: "fronts hold no protocol words; files and functions stay short",
        help: words::HELP,
        run: words::run,
    },
    Command {
        name: "requirements",
        summary: "which rows of the specification are proved, and by what",
        help: requirements::HELP,
        run: requirements::run,
    },
    Command {
        name: "licences",
        summary: "licences and sources of every dependency",
        help: licences::HELP,
        run: licences::run,
    },
    Command { name: "peers", summary: "install what the interop tests drive", help: peers::HELP, run: peers::run },
    Command { name: "python", summary: "build the wheel and test it", help: python::HELP, run: python::run },
    Command { name: "node", summary: "build the npm package and test it", help: node::HELP, run: node::run },
    Command {
        name: "conformance",
        summary: "run the official conformance suite",
        help: conformance::HELP,
        run: conformance::run,
    },
    Command { name: "fuzz", summary: "run the fuzz targets and keep the ledger", help: fuzz::HELP, run: fuzz::run },
    Command {
        name: "vectors",
        summary: "play the conversations of tests/vectors in every front",
        help: vectors::HELP,
        run: vectors::run,
    },
    Command { name: "bench", summary: "run the benchmarks", help: bench::HELP, run: bench::run },
];

fn main() -> ExitCode {
    match dispatch(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Told) => ExitCode::from(1),
        Err(Error::Failed(message)) => {
            eprintln!("error: {message}");
            ExitCode::from(1)
        }
        Err(Error::Usage(message)) => {
            eprintln!("error: {message}\nTry `cargo xtask --help`.");
            ExitCode::from(2)
        }
    }
}

fn dispatch(mut words: Vec<String>) -> Result<(), Error> {
    if words.is_empty() {
        say(&overview());
        return Err(Error::Usage("no command given".into()));
    }
    let name = words.remove(0);
    if matches!(name.as_str(), "--help" | "-h" | "help") {
        say(&overview());
        return Ok(());
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return Err(Error::Usage(format!("there is no command `{name}`")));
    };
    let args = Args::new(words);
    if args.asks_for_help() {
        say(command.help.trim());
        return Ok(());
    }
    (command.run)(&Workspace::find()?, args)
}

/// Prints a text that somebody may have read enough of: a pipe that is closed is no fault.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn overview() -> String {
    let mut text = String::from("cargo xtask COMMAND [options]\n\n");
    for command in COMMANDS {
        text.push_str(&format!("  {:<14}{}\n", command.name, command.summary));
    }
    text.push_str("\n`cargo xtask COMMAND --help` tells the options.");
    text
}
