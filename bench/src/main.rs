//! What the machines and fronts cost: `cargo xtask bench`.
//!
//! Every figure is a ratio of things measured in the same run, by turns: against the *floor* (reading and writing
//! the same frames, and nothing else), against a raw line loop, against a peer. See `BENCHMARKS.md`.

mod alloc;
mod bindings;
mod client;
mod echo;
mod floor;
mod frames;
mod http;
mod measure;
mod memory;
mod os;
mod report;
mod served;
mod server;
mod stdio;

use std::time::Duration;

use bytes::Bytes;
use frames::Era;
use measure::{Case, Effort};
use report::Table;

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

const HELP: &str = "
mcp-sansio-bench [--quick] [--only WORD] [--write FILE]

--quick         few repetitions: whether it works, not how fast it is
--only WORD     only the cases whose title has WORD
--write FILE    also writes the tables, as Markdown
--loop NAME N   runs the contender NAME of the case of --only N times, for a profiler
--serve NAME N  is the server NAME with N tools, on standard streams, or on a port if NAME begins with `http-`
";

struct Options {
    is_quick: bool,
    effort: Effort,
    served: served::Effort,
    only: String,
    write: Option<String>,
    profile: Option<(String, usize)>,
}

fn main() {
    let mut options = Options {
        is_quick: false,
        effort: Effort { repetitions: 7, batches: 400 },
        served: served::Effort { repetitions: 7, run: Duration::from_millis(400) },
        only: String::new(),
        write: None,
        profile: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| fail(&format!("{word} wants a value")));
        match word.as_str() {
            "--quick" => {
                options.is_quick = true;
                options.effort = Effort { repetitions: 2, batches: 20 };
                options.served = served::Effort { repetitions: 2, run: Duration::from_millis(50) };
            }
            "--only" => options.only = value(),
            "--write" => options.write = Some(value()),
            "--loop" | "--serve" => {
                let name = value();
                let count = value().parse().unwrap_or_else(|_| fail(&format!("{word} wants a name and a number")));
                if word == "--serve" {
                    let served = match name.strip_prefix("http-") {
                        Some(name) => http::serve(name, count),
                        None => stdio::serve(&name, count),
                    };
                    return served.unwrap_or_else(|error| fail(&error.to_string()));
                }
                options.profile = Some((name, count));
            }
            "--help" | "-h" => return println!("{HELP}"),
            other => fail(&format!("unknown option {other}")),
        }
    }
    // Before this process keeps itself to one of them.
    let cores = os::cores();
    let mut tables = vec![in_process(&options)];
    if options.profile.is_none() {
        tables.push(through_bindings(&options));
        tables.push(threads(&options));
        tables.push(over_stdio(&options));
        tables.push(over_http(&options));
        tables.push(in_memory(&options));
        tables.push(http_memory(&options));
    }
    tables.retain(|table| !table.is_empty());
    let missed: Vec<String> = tables.iter().flat_map(Table::missed).collect();
    if options.profile.is_none() {
        println!("{} goals missed{}", missed.len(), missed.iter().fold(String::new(), |all, one| all + "\n  " + one));
    }
    if let Some(file) = &options.write
        && let Err(error) = std::fs::write(file, page(&tables, cores))
    {
        fail(&format!("{file} cannot be written: {error}"));
    }
}

/// The page that `--write` makes.
fn page(tables: &[Table], cores: usize) -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown");
    let model = model.trim_start_matches([' ', '\t', ':']);
    let head = format!(
        "# Benchmarks\n\n`cargo xtask bench --write BENCHMARKS.md` makes this file. Here it ran on {cores} cores ({model}), \
         in a build of the profile `dist`. Everything in a table was measured in one run, by turns; the ratios travel to other \
         machines, the figures do not. A goal is what the project has set itself before it measured; a row that misses it says \
         so.\n"
    );
    tables.iter().fold(head, |page, table| page + "\n" + &table.to_markdown())
}

fn fail(text: &str) -> ! {
    eprintln!("{text}\n{HELP}");
    std::process::exit(2);
}

fn in_process(options: &Options) -> Table {
    let about = "One thread, no IO: a frame in, the frame of the answer out, and everything between: queue, ids, deadlines, \
        reports of what was written. Ids and arguments differ from call to call. The floor is one typed, borrowed \
        pass of `serde_json` over the same frame and an answer written by hand with the same members; nothing is checked \
        there. \"Best\" is the best repetition, and each repetition the best of many short batches.";
    let mut table = Table::new("In process", about, report::TIMES);
    let pools = Era::ALL.map(|era| {
        let calls = frames::calls(era);
        let chunks: Vec<Bytes> = calls.chunks_exact(20).map(|calls| calls.concat().into()).collect();
        let lists: Vec<Bytes> = (0..64).map(|number| frames::list(era, number)).collect();
        (era, calls, lists, chunks)
    });
    for (era, calls, lists, chunks) in &pools {
        run(options, &mut table, &format!("server: tools/call, {}", era.name()), || server::calls(*era, calls, chunks));
        run(options, &mut table, &format!("server: tools/list, {}", era.name()), || server::lists(*era, lists));
        run(options, &mut table, &format!("server: catalogue, {}", era.name()), || server::catalogues(*era));
        run(options, &mut table, &format!("client: tools/call, {}", era.name()), || client::calls(*era));
    }
    run(options, &mut table, "http exchange: tools/call, modern", http::exchange::calls);
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

fn through_bindings(options: &Options) -> Table {
    let about = "A process of the language, no IO: a frame in, a handler of the language that reads its arguments and makes a \
        result, the frame of the answer out, in processor time. The floor is the language's own JSON: the request parsed, \
        an answer written, nothing checked. The boundary is the same call with a result that was written beforehand \
        and arguments that nobody reads.";
    let mut table = Table::new("Through the bindings", about, bindings::COLUMNS);
    bindings::measure(options.is_quick, &options.only, &mut table);
    table
}

fn over_stdio(options: &Options) -> Table {
    let about = "Child processes on one core, the load on another, a fixed number of requests in flight. The raw loop reads \
        lines from a pipe on the same runtime, parses and answers them like the floor, and writes the answers of a read \
        at once. Our server checks the arguments against the derived schema. The processor time is the server's, user \
        and kernel. On async-std it is the same server; what that costs more is told against ours on tokio. The rates are compared by \
        turns: each run with the one of the raw loop right before it. rmcp reads and writes pipes without blocking \
        (`stdio_pipes()`), or by a pool of threads, which is its default (`stdio()`).";
    let mut table = Table::new("Over stdio", about, served::COLUMNS);
    stdio::measure(options.served, &options.only, &mut table);
    table
}

fn over_http(options: &Options) -> Table {
    let about = "Child processes on one core, the load on another, a fixed number of connections that are kept alive, each with \
        one request in flight. The raw server is hyper on the same runtime, whose service reads the body and answers it like \
        the floor. A legacy call belongs to a session, of which each connection has one. The load asks again and again rather \
        than sleeping, for to wake it would be charged to the server. On async-std the server runs on its executor, and \
        the first thread sleeps.";
    let mut table = Table::new("Over HTTP", about, served::COLUMNS);
    http::measure(options.served, &options.only, &mut table);
    table
}

fn threads(options: &Options) -> Table {
    let about = "Threads that serve modern exchanges in process, each its own, on one definition that they share. Turns in \
        which the floor, which shares nothing, gains less from a second thread than is asked of us are left out where there \
        are others: the cores of a virtual machine are at times two halves of one.";
    let mut table = Table::new("Threads", about, &["exchanges/s", "× one thread"]);
    http::exchange::threads(options.effort.repetitions, &options.only, &mut table);
    table
}

fn http_memory(options: &Options) -> Table {
    let about = "What a server over HTTP holds for each, by its anonymous memory before and after there are many.";
    let mut table = Table::new("Memory over HTTP", about, http::MEMORY_COLUMNS);
    http::measure_memory(&options.only, &mut table);
    table
}

fn in_memory(options: &Options) -> Table {
    let about =
        "Bytes that a server machine has asked of the allocator and not given back, and the size of what holds it.";
    let mut table = Table::new("Memory", about, memory::COLUMNS);
    memory::measure(&options.only, &mut table);
    table
}
