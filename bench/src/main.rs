//! What the machines and fronts cost: `cargo xtask bench`.
//!
//! Every figure is a ratio of things measured in the same run, by turns: against the *floor* (reading and writing
//! the same frames, and nothing else), against a raw line loop, against a peer. See `BENCHMARKS.md`.

mod client;
mod floor;
mod frames;
mod measure;
mod report;
mod server;

use frames::Era;
use measure::{Case, Effort};
use report::Table;

const HELP: &str = "
mcp-sansio-bench [--quick] [--only WORD] [--write FILE]

--quick        few repetitions: whether it works, not how fast it is
--only WORD    only the cases whose title has WORD
--write FILE   also writes the tables, as Markdown
--loop NAME N  runs the contender NAME of the case of --only N times, for a profiler
";

struct Options {
    effort: Effort,
    only: String,
    write: Option<String>,
    profile: Option<(String, usize)>,
}

fn main() {
    let mut options =
        Options { effort: Effort { repetitions: 7, batches: 400 }, only: String::new(), write: None, profile: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| fail(&format!("{word} wants a value")));
        match word.as_str() {
            "--quick" => options.effort = Effort { repetitions: 2, batches: 20 },
            "--only" => options.only = value(),
            "--write" => options.write = Some(value()),
            "--loop" => {
                let name = value();
                let count = value().parse().unwrap_or_else(|_| fail("--loop wants a name and a number"));
                options.profile = Some((name, count));
            }
            "--help" | "-h" => return println!("{HELP}"),
            other => fail(&format!("unknown option {other}")),
        }
    }
    let table = in_process(&options);
    if table.is_empty() {
        return;
    }
    let missed: Vec<String> = table.missed().collect();
    println!("{} goals missed{}", missed.len(), missed.iter().fold(String::new(), |all, one| all + "\n  " + one));
    if let Some(file) = &options.write
        && let Err(error) = std::fs::write(file, page(&table))
    {
        fail(&format!("{file} cannot be written: {error}"));
    }
}

/// The page that `--write` makes.
fn page(table: &Table) -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown");
    let model = model.trim_start_matches([' ', '\t', ':']);
    format!(
        "# Benchmarks\n\nMade by `cargo xtask bench --write BENCHMARKS.md` on {cores} cores ({model}). Figures are of one \
         run; only the ratios travel.\n\nThe floor reads the same frame in one typed, borrowed serde_json pass and \
         writes the same answer by hand.\n\n{}",
        table.to_markdown()
    )
}

fn fail(text: &str) -> ! {
    eprintln!("{text}\n{HELP}");
    std::process::exit(2);
}

fn in_process(options: &Options) -> Table {
    let about = "One thread, no IO.";
    let mut table = Table::new("In process", about, report::TIMES);
    let pools =
        Era::ALL.map(|era| (era, frames::calls(era), (0..64).map(|n| frames::list(era, n)).collect::<Vec<_>>()));
    for (era, calls, lists) in &pools {
        run(options, &mut table, &format!("server: tools/call, {}", era.name()), || server::calls(*era, calls));
        run(options, &mut table, &format!("server: tools/list, {}", era.name()), || server::lists(*era, lists));
        run(options, &mut table, &format!("server: catalogue, {}", era.name()), || server::catalogues(*era));
        run(options, &mut table, &format!("client: tools/call, {}", era.name()), || client::calls(*era));
    }
    table
}

fn run<'a>(options: &Options, table: &mut Table, title: &str, case: impl FnOnce() -> Case<'a>) {
    if !title.contains(&options.only) {
        return;
    }
    match &options.profile {
        Some((name, count)) => drop(case().run_only(name, *count)),
        None => case().measure(options.effort, table),
    }
}
