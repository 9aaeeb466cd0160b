use std::collections::BTreeSet;

use super::{Rng, Seed};

#[test]
fn the_same_seed_gives_the_same_bytes_however_they_are_asked_for() {
    let mut whole = [0; 300];
    Rng::new(Seed([7; 32])).fill(&mut whole);
    let mut pieces = [0; 300];
    let mut rng = Rng::new(Seed([7; 32]));
    for piece in pieces.chunks_mut(4) {
        rng.fill(piece);
    }
    assert_eq!(whole, pieces);
    assert_ne!(Rng::new(Seed([8; 32])).bytes::<32>(), Rng::new(Seed([7; 32])).bytes::<32>());
}

#[test]
fn the_stream_is_chacha20() {
    // The first block of key zero, nonce zero, counter zero: RFC 8439 A.1, test vector 1.
    let expected = [
        0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90, 0x40, 0x5d, 0x6a, 0xe5, 0x53, 0x86, 0xbd, 0x28, 0xbd, 0xd2,
        0x19, 0xb8, 0xa0, 0x8d, 0xed, 0x1a, 0xa8, 0x36, 0xef, 0xcc, 0x8b, 0x77, 0x0d, 0xc7,
    ];
    assert_eq!(Rng::new(Seed([0; 32])).bytes(), expected);
}

#[test]
fn sub_seeds_differ_from_each_other_and_from_their_parent() {
    let mut rng = Rng::new(Seed([7; 32]));
    let mut seen = BTreeSet::from([[7; 32]]);
    let mut streams = BTreeSet::new();
    for _ in 0..10_000 {
        let seed = rng.subseed();
        assert!(seen.insert(seed.0));
        assert!(streams.insert(Rng::new(seed).bytes::<16>()));
    }
}

#[test]
fn debug_shows_no_byte() {
    assert_eq!(format!("{:?}", Seed([171; 32])), "Seed(..)");
    assert_eq!(format!("{:?}", Rng::new(Seed([171; 32]))), "Rng(..)");
}
