//! `cargo xtask vectors`: the same conversations, played by every front of the tree.
//!
//! | front | played by | with |
//! |---|---|---|
//! | `rust` | `tests/tests/vectors.rs` | cargo |
//! | `tokio`, `async-std` | `tests/tests/fronts.rs` | cargo: through handlers, futures and connections of those fronts |
//! | `python` | `bindings/python/tests/vectors.py FOLDER` | the interpreter that the tests of that binding install |
//! | `node` | `bindings/node/tests/vectors.mjs FOLDER` | node, and the package, which is built first |
//!
//! A player exits with 0 when every file of the folder held, and says which did not otherwise.

use crate::cli::{Args, Error};
use crate::process::Run;
use crate::report::Tally;
use crate::workspace::Workspace;
use crate::{node, peers};

pub(crate) const HELP: &str = "
cargo xtask vectors [--front FRONT]

Plays the conversations of tests/vectors in every front of the tree: each must say exactly what they say.
The package of Node is built first; that of Python is played as its own tests have built it last: `cargo xtask python`.

  --front FRONT  rust, tokio, async-std, python or node; give it several times for several
";

const VECTORS: &str = "tests/vectors";
const FRONTS_PLAYER: &str = "tests/tests/fronts.rs";
const PYTHON_PLAYER: &str = "bindings/python/tests/vectors.py";

/// A language, and how it plays.
struct Front {
    name: &'static str,
    player: &'static str,
    play: fn(&Workspace) -> Result<(), Error>,
}

const FRONTS: &[Front] = &[
    Front { name: "rust", player: "tests/tests/vectors.rs", play: rust },
    Front { name: "tokio", player: FRONTS_PLAYER, play: tokio },
    Front { name: "async-std", player: FRONTS_PLAYER, play: async_std },
    Front { name: "python", player: PYTHON_PLAYER, play: python },
    Front { name: "node", player: "bindings/node/tests/vectors.mjs", play: node::vectors },
];

pub(crate) fn run(workspace: &Workspace, mut args: Args) -> Result<(), Error> {
    let mut named = Vec::new();
    while let Some(name) = args.value("--front")? {
        named.push(name);
    }
    args.finish()?;
    let mut failed = Vec::new();
    for front in chosen(workspace, &named)? {
        println!("\n{}: {}", front.name, front.player);
        match (front.play)(workspace) {
            Ok(()) => println!("{}: every vector holds", front.name),
            Err(Error::Failed(message) | Error::Usage(message)) => {
                println!("{}: {message}", front.name);
                failed.push(front.name);
            }
            Err(Error::Told) => failed.push(front.name),
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Error::failed(format!("vectors differ in {}", failed.join(", ")))) }
}

/// The fronts of the tree, or those that were named, which must be in it.
fn chosen(workspace: &Workspace, named: &[String]) -> Result<Vec<&'static Front>, Error> {
    if named.is_empty() {
        return Ok(FRONTS.iter().filter(|front| workspace.has(front.player)).collect());
    }
    let find = |name: &String| {
        let names: Vec<&str> = FRONTS.iter().map(|front| front.name).collect();
        let unknown = || Error::Usage(format!("there is no front `{name}`, only: {}", names.join(", ")));
        let front = FRONTS.iter().find(|front| front.name == *name).ok_or_else(unknown)?;
        if workspace.has(front.player) {
            return Ok(front);
        }
        Err(Error::failed(format!("the front `{name}` is not in this tree: there is no {}", front.player)))
    };
    named.iter().map(find).collect()
}

fn rust(workspace: &Workspace) -> Result<(), Error> {
    let test = Run::cargo(workspace, "test --package mcp-sansio-tests --test vectors");
    test.tests(&mut Tally::default())
}

fn tokio(workspace: &Workspace) -> Result<(), Error> {
    over(workspace, "every_vector_holds_on_tokio")
}

fn async_std(workspace: &Workspace) -> Result<(), Error> {
    over(workspace, "every_vector_holds_on_async_std")
}

/// Plays over a front of Rust: a test of its own.
fn over(workspace: &Workspace, test: &str) -> Result<(), Error> {
    let test = Run::cargo(workspace, &format!("test --package mcp-sansio-tests --test fronts -- --exact {test}"));
    let mut tally = Tally::default();
    test.tests(&mut tally)?;
    if tally.passed == 0 { Err(Error::failed("its test is not there")) } else { Ok(()) }
}

fn python(workspace: &Workspace) -> Result<(), Error> {
    let python = workspace.path(peers::CACHE).join(peers::BUILT_PYTHON);
    if !python.is_file() {
        return Err(Error::failed("the binding is not built: cargo xtask test --only python"));
    }
    Run::new(workspace, python).args([PYTHON_PLAYER, VECTORS]).go()
}

#[cfg(test)]
mod fronts {
    use super::*;

    #[test]
    fn a_front_is_in_the_tree_or_an_error_says_that_it_is_not() {
        let workspace = Workspace::find().unwrap();
        let all = chosen(&workspace, &[]).unwrap();
        assert_eq!(all[0].name, "rust");
        for front in FRONTS {
            let picked = chosen(&workspace, &[front.name.to_owned()]);
            match picked {
                Ok(picked) => assert!(all.iter().any(|other| other.name == picked[0].name)),
                Err(Error::Failed(message)) => assert!(message.contains(front.player), "{message}"),
                Err(other) => panic!("{other:?}"),
            }
        }
        assert!(matches!(chosen(&workspace, &["perl".to_owned()]), Err(Error::Usage(_))));
    }
}
