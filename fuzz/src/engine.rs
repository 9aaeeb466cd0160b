//! A mutating fuzzer for a stable compiler: no instrumentation, but feedback by [`Signature`].

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::{Signature, Target};

/// Pieces of the protocol that random bytes would not hit upon.
const DICTIONARY: &[&str] = &[
    "\"jsonrpc\":\"2.0\"",
    "\"id\":1",
    "\"id\":\"1\"",
    "\"id\":null",
    "\"method\":\"tools/call\"",
    "\"params\":{}",
    "\"result\":{}",
    "\"error\":{\"code\":-32600,\"message\":\"m\"}",
    "\"_meta\":{}",
    "\"progressToken\":1",
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"",
    "\"io.modelcontextprotocol/clientCapabilities\":{}",
    "\"resultType\":\"input_required\"",
    "\"requestState\":\"\"",
    "\"inputRequests\":{}",
    "\"inputResponses\":{}",
    "\"name\":\"echo\"",
    "\"arguments\":{}",
    "\"uri\":\"item://1\"",
    "\"cursor\":\"\"",
    "\"nextCursor\":\"\"",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\n",
    "\r\n",
    "\u{feff}",
    "\\u0000",
    "\\ud800",
    "1e400",
    "123456789012345678901234567890",
    "-0",
    "\"$ref\":\"#\"",
    "\"anyOf\":[{},{}]",
    "\"items\":{}",
    "\"pattern\":\"(a+)+$\"",
    "\"properties\":{}",
    "\"type\":\"object\"",
    "{+a}",
    "{/a*}",
    "{?a,b}",
    "{a:3}",
    "%20",
    "%ff",
    "data: ",
    "data:\r\n",
    "id: 1\n",
    "id\n",
    "event: e\n",
    "retry: 10\n",
    "\n\n",
    ":\n",
    "=?base64?",
    "?=",
    "ZWNobw==",
];

/// The longest input that is kept.
const LONGEST: usize = 8 << 10;

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Inputs run.
    pub executions: u64,
    /// Inputs found that show something new.
    pub found: u64,
    /// Inputs in the corpus at the end.
    pub corpus: u64,
}

/// Runs `target` for `time`, from the corpus in `folder`, and keeps what it finds there.
///
/// # Errors
/// When the folder cannot be read or written; or the input that breaks a promise, saved beside the corpus.
pub fn fuzz(target: Target, folder: &Path, time: Duration, seed: u64) -> io::Result<Outcome> {
    fs::create_dir_all(folder)?;
    let mut corpus = load(folder)?;
    let mut seen = BTreeSet::new();
    let mut outcome = Outcome::default();
    for input in &corpus {
        seen.extend(run(target, input, folder)?.features());
        outcome.executions += 1;
    }
    let mut random = Random(seed | 1);
    let start = Instant::now();
    while start.elapsed() < time {
        // Reading the clock costs more than most inputs.
        for _ in 0..64 {
            let input = mutate(&corpus, &mut random);
            outcome.executions += 1;
            let signature = run(target, &input, folder)?;
            if signature.features().any(|feature| !seen.contains(&feature)) {
                seen.extend(signature.features());
                outcome.found += 1;
                fs::write(folder.join(name(&input)), &input)?;
                corpus.push(input);
            }
        }
    }
    outcome.corpus = corpus.len() as u64;
    Ok(outcome)
}

/// Runs every input of a corpus once.
///
/// # Errors
/// As [`fuzz`].
pub fn replay(target: Target, folder: &Path) -> io::Result<Outcome> {
    let corpus = load(folder)?;
    for input in &corpus {
        run(target, input, folder)?;
    }
    let count = corpus.len() as u64;
    Ok(Outcome { executions: count, found: 0, corpus: count })
}

fn run(target: Target, input: &[u8], folder: &Path) -> io::Result<Signature> {
    catch_unwind(AssertUnwindSafe(|| (target.run)(input))).map_err(|_| {
        let saved = folder.with_file_name(format!("{}-{}", target.name, name(input)));
        let place = match fs::write(&saved, input) {
            Ok(()) => format!("the input is saved as {}", saved.display()),
            Err(error) => format!("the input could not be saved ({error}): {input:?}"),
        };
        io::Error::other(format!("target {} broke its promise; {place}", target.name))
    })
}

fn load(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut paths: Vec<_> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.sort();
    paths.into_iter().filter(|path| path.is_file()).map(fs::read).collect()
}

/// A name made of the content, so that the same input is found once.
fn name(input: &[u8]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in input {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

fn mutate(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = corpus.get(random.below(corpus.len())).cloned().unwrap_or_default();
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        match random.below(8) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 if at < input.len() => input[at] = random.next() as u8,
            2 => input.insert(at, random.next() as u8),
            3 if at < input.len() => {
                let end = (at + 1 + random.below(16)).min(input.len());
                input.drain(at..end);
            }
            4 => {
                let word = DICTIONARY.get(random.below(DICTIONARY.len())).copied().unwrap_or_default();
                input.splice(at..at, word.bytes());
            }
            5 => {
                let other = corpus.get(random.below(corpus.len())).cloned().unwrap_or_default();
                let from = random.below(other.len() + 1);
                let end = (from + random.below(64)).min(other.len());
                input.splice(at..at, other.get(from..end).unwrap_or_default().iter().copied());
            }
            6 if at < input.len() => {
                let end = (at + random.below(32)).min(input.len());
                let part = input.get(at..end).unwrap_or_default().to_vec();
                input.splice(at..at, part);
            }
            _ => input.truncate(at),
        }
    }
    input.truncate(LONGEST);
    input
}

/// xorshift64*: fast and good enough to choose mutations.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        ((self.next() >> 33) as usize) % bound.max(1)
    }
}
