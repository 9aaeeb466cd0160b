//! What every front must do, on async-std. The tests are shared.
#![allow(clippy::unwrap_used, missing_docs)]

mod front;
#[path = "../../io-common/tests/fronts/mod.rs"]
mod shared;

/// Streams and an executor of smol, as a program that is on smol uses them.
#[allow(dead_code)]
#[path = "../examples/smol.rs"]
mod smol_example;

#[test]
fn the_example_on_smol_says_hello() {
    smol_example::main().unwrap();
}
