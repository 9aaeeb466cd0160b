//! Runs one fuzz target: `fuzz-run TARGET [--seconds N] [--corpus DIR] [--seed N] [--replay]`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_sansio_fuzz::{TARGETS, Target, engine};

const HELP: &str = "\
fuzz-run TARGET [options]

  --seconds N   how long to run (10)
  --corpus DIR  where inputs are read from and kept (fuzz/corpus/TARGET)
  --seed N      the seed of the mutations (the time)
  --replay      run the corpus once and change nothing
  --list        name the targets
  --help        this text

Exit codes: 0 all promises held, 1 a promise was broken or a file failed, 2 wrong arguments.";

struct Options {
    target: Target,
    seconds: u64,
    corpus: PathBuf,
    seed: u64,
    replay: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let first = arguments.first().map_or("--help", String::as_str);
    if first == "--help" {
        say(HELP);
        return ExitCode::SUCCESS;
    }
    if first == "--list" {
        TARGETS.iter().for_each(|target| say(target.name));
        return ExitCode::SUCCESS;
    }
    match parse(&arguments) {
        Ok(options) => run(&options),
        Err(error) => {
            eprintln!("fuzz-run: {error}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> ExitCode {
    let outcome = if options.replay {
        engine::replay(options.target, &options.corpus)
    } else {
        engine::fuzz(options.target, &options.corpus, Duration::from_secs(options.seconds), options.seed)
    };
    match outcome {
        Ok(outcome) => {
            say(&format!("target: {}", options.target.name));
            say(&format!("executions: {}", outcome.executions));
            say(&format!("found: {}", outcome.found));
            say(&format!("corpus: {}", outcome.corpus));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("fuzz-run: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut rest = arguments.iter();
    let name = rest.next().ok_or("which target?")?;
    let target =
        TARGETS.iter().find(|target| target.name == name).ok_or_else(|| format!("no target is named {name}"))?;
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let mut options = Options { target: *target, seconds: 10, corpus, seed: clock, replay: false };
    while let Some(option) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{option} needs a value"));
        let number = |text: &String| text.parse().map_err(|_| format!("{text} is no number"));
        match option.as_str() {
            "--seconds" => options.seconds = number(value()?)?,
            "--seed" => options.seed = number(value()?)?,
            "--corpus" => options.corpus = value()?.into(),
            "--replay" => options.replay = true,
            other => return Err(format!("{other} is no option")),
        }
    }
    Ok(options)
}

#[expect(clippy::print_stdout, reason = "the answer of a command line tool")]
fn say(text: &str) {
    println!("{text}");
}
