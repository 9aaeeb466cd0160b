//! The words that give an impure core away. Tests are left out: they may read a clock to prove a time bound.

use crate::source::{Kind, Token, tokens, without_tests};

/// One forbidden word in the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) line: usize,
    pub(super) what: String,
    pub(super) why: &'static str,
}

/// Modules of the standard library that reach outside.
const STD_MODULES: &[(&str, &str)] = &[
    ("env", "the environment is the caller's"),
    ("fs", "files are the caller's"),
    ("net", "sockets are the caller's"),
    ("os", "the operating system is the caller's"),
    ("process", "processes are the caller's"),
    ("thread", "threads are the caller's"),
];

/// Names of types and functions, wherever they come from.
const NAMES: &[(&str, &str)] = &[
    ("Barrier", "threads are the caller's"),
    ("Condvar", "locks are the caller's"),
    ("Instant", "time is an argument"),
    ("Mutex", "locks are the caller's"),
    ("OsRng", "randomness comes from the seed"),
    ("RandomState", "randomness comes from the seed"),
    ("RwLock", "locks are the caller's"),
    ("SystemTime", "time is an argument"),
    ("getrandom", "randomness comes from the seed"),
    ("thread_local", "state lives in the machine"),
    ("thread_rng", "randomness comes from the seed"),
    ("tokio", "the core knows no runtime"),
    ("async_std", "the core knows no runtime"),
    ("stderr", "IO is the caller's"),
    ("stdin", "IO is the caller's"),
    ("stdout", "IO is the caller's"),
    ("tracing", "the core reports diagnostics as actions"),
    ("unsafe", "the core forbids it"),
];

/// Types whose default hasher is random, with the number of type arguments that names another one.
const HASHED: &[(&str, usize)] = &[("HashMap", 3), ("HashSet", 2)];

/// Names that are only a finding when they are called as functions.
const STREAMS: &[&str] = &["stderr", "stdin", "stdout"];

/// Keywords of asynchronous code.
const ASYNC: &[&str] = &["async", "await"];

/// Macros that print.
const PRINT: &[&str] = &["dbg", "eprint", "eprintln", "print", "println"];

/// Everything impure in a file of the core.
pub(super) fn impurities(source: &str) -> Vec<Finding> {
    let all: Vec<Token<'_>> = tokens(source).into_iter().filter(|token| token.kind != Kind::Comment).collect();
    let code = without_tests(&all);
    let mut found = Vec::new();
    let mut importing = false;
    for (at, token) in code.iter().enumerate() {
        importing = token.is_ident("use") || importing && !token.is_punct(";");
        if token.kind != Kind::Ident {
            continue;
        }
        if !importing && has_random_hasher(&code, at) {
            let why = "the default hasher is random: use an ordered collection, or name a hasher with a fixed key";
            found.push(Finding { line: token.line, what: token.text.to_owned(), why });
        }
        if let Some((what, why)) = judge(&code, at) {
            found.push(Finding { line: token.line, what, why });
        }
        if token.text == "std" {
            found.extend(std_modules(&code, at));
        }
    }
    found
}

/// The name at `at`, judged with the token around it.
fn judge(code: &[Token<'_>], at: usize) -> Option<(String, &'static str)> {
    let text = code[at].text;
    let next_is = |mark: &str| code.get(at + 1).is_some_and(|next| next.is_punct(mark));
    let after_dot = at > 0 && code[at - 1].is_punct(".");
    if ASYNC.contains(&text) {
        return Some((text.to_owned(), "the core is synchronous"));
    }
    if PRINT.contains(&text) && next_is("!") {
        return Some((format!("{text}!"), "the core reports diagnostics as actions"));
    }
    if text.starts_with("Atomic") && text.len() > "Atomic".len() {
        return Some((text.to_owned(), "shared state is the caller's"));
    }
    if text == "mut" && at > 0 && code[at - 1].is_ident("static") {
        return Some(("static mut".to_owned(), "state lives in the machine"));
    }
    let (_, why) = NAMES.iter().find(|(name, _)| *name == text)?;
    // A field or variable of ours may share its name with a function that opens a stream.
    if STREAMS.contains(&text) && (after_dot || !next_is("(")) {
        return None;
    }
    Some((text.to_owned(), why))
}

/// A hashed collection that is not seen to have a hasher of its own. `default` takes the hasher from the type.
fn has_random_hasher(code: &[Token<'_>], at: usize) -> bool {
    let Some((_, arguments)) = HASHED.iter().find(|(name, _)| *name == code[at].text) else { return false };
    let after: Vec<&str> = code[at + 1..].iter().take(4).map(|token| token.text).collect();
    match after[..] {
        ["<", ..] => type_arguments(&code[at + 1..]) < *arguments,
        [":", ":", "<", ..] => type_arguments(&code[at + 3..]) < *arguments,
        [":", ":", method, ..] => !matches!(method, "default" | "with_hasher" | "with_capacity_and_hasher"),
        _ => true,
    }
}

/// How many arguments stand between the angle bracket at the start and its end.
fn type_arguments(code: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    let mut count = 1;
    for token in code {
        match token.text {
            "<" | "(" | "[" => depth += 1,
            ">" | ")" | "]" => depth -= 1,
            "," if depth == 1 => count += 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    count
}

/// Modules named after `std::`, in a path or as the first words inside `std::{…}`.
fn std_modules(code: &[Token<'_>], at: usize) -> Vec<Finding> {
    let path = |ahead: usize| code.get(at + ahead).is_some_and(|token| token.is_punct(":"));
    if !path(1) || !path(2) {
        return Vec::new();
    }
    let named = match code.get(at + 3) {
        Some(token) if token.is_punct("{") => group_heads(&code[at + 3..]),
        Some(token) => vec![token],
        None => Vec::new(),
    };
    let mut found = Vec::new();
    for token in named {
        if let Some((name, why)) = STD_MODULES.iter().find(|(name, _)| *name == token.text) {
            found.push(Finding { line: token.line, what: format!("std::{name}"), why });
        }
    }
    found
}

/// The first word of each entry of the outermost use group.
fn group_heads<'t, 'a>(group: &'t [Token<'a>]) -> Vec<&'t Token<'a>> {
    let mut heads = Vec::new();
    let mut depth = 0_usize;
    for (at, token) in group.iter().enumerate() {
        if token.is_punct("{") {
            depth += 1;
        } else if token.is_punct("}") {
            depth -= 1;
            if depth == 0 {
                break;
            }
        } else if depth == 1 && (group[at - 1].is_punct("{") || group[at - 1].is_punct(",")) {
            heads.push(token);
        }
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        impurities(source).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn clocks_threads_io_and_locks_are_found() {
        assert_eq!(words("use std::time::{Duration, Instant};"), ["Instant"]);
        assert_eq!(words("let t = std::time::SystemTime::now();"), ["SystemTime"]);
        assert_eq!(words("std::thread::spawn(f); std::net::TcpStream::connect(a)"), ["std::thread", "std::net"]);
        assert_eq!(words("use std::{collections::{BTreeMap, fs}, fs, env::args};"), ["std::fs", "std::env"]);
        assert_eq!(words("struct S { a: Arc<Mutex<u8>>, b: RwLock<u8> }"), ["Mutex", "RwLock"]);
        assert_eq!(words("static mut N: AtomicU64;"), ["static mut", "AtomicU64"]);
    }

    #[test]
    fn async_and_printing_are_found() {
        assert_eq!(words("async fn f() { g().await }"), ["async", "await"]);
        assert_eq!(words("println!(\"x\"); dbg!(y); print(z)"), ["println!", "dbg!"]);
    }

    #[test]
    fn hashed_collections_name_a_hasher() {
        let random = "use std::collections::HashMap; let a: HashMap<(u8, u8), Vec<u8>> = HashMap::new(); \
                      b.collect::<HashSet<_>>(); HashSet::<u8>::new()";
        assert_eq!(words(random), ["HashMap", "HashMap", "HashSet", "HashSet"]);
        let fixed = "use std::collections::{HashMap, HashSet}; type T = HashMap<Box<str>, u8, BuildHasherDefault<H>>; \
                     let a: HashSet<u8, H> = HashSet::default();";
        assert_eq!(words(fixed), Vec::<String>::new());
    }

    #[test]
    fn comments_strings_and_tests_may_say_anything() {
        let source = "//! Instant::now\n/* std::fs */ const A: &str = \"std::thread async\";\n\
                      #[cfg(test)] mod tests { use std::time::Instant; }";
        assert_eq!(words(source), Vec::<String>::new());
    }

    #[test]
    fn the_line_is_the_line_of_the_word() {
        assert_eq!(impurities("fn f() {\n    std::fs::read(x);\n}")[0].line, 2);
    }

    #[test]
    fn methods_of_ours_may_share_a_name() {
        assert_eq!(words("self.stdout.push(1); stdin.next(); x.stdin()"), Vec::<String>::new());
        assert_eq!(words("io::stdout().lock()"), ["stdout"]);
    }
}
