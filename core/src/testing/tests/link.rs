//! Links carry what they are given, as they were told to.

use std::time::Duration;

use bytes::Bytes;

use super::*;

const NOW: Mono = Mono::from_nanos(5);

fn frames() -> Vec<Bytes> {
    (0..40).map(|n| Bytes::from(format!("{{\"frame\":{n}}}\n"))).collect()
}

/// What arrives from now on, until nothing more comes.
fn arrivals(link: &mut Link) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut now = NOW;
    loop {
        while let Some(input) = link.poll(now) {
            match input {
                Input::Bytes(bytes) => all.push(bytes.to_vec()),
                other => panic!("{other:?}"),
            }
        }
        match link.poll_timeout() {
            Some(due) => now = due,
            None => return all,
        }
    }
}

fn carried(mut link: Link) -> Vec<Vec<u8>> {
    for frame in frames() {
        link.send(NOW, &frame);
    }
    arrivals(&mut link)
}

#[test]
fn a_plain_link_carries_frames_as_they_are() {
    assert_eq!(carried(Link::new()), frames().iter().map(|frame| frame.to_vec()).collect::<Vec<_>>());
}

#[test]
fn splitting_and_merging_keep_the_bytes() {
    let whole = frames().concat();
    for link in [
        Link::seeded(1).split(1),
        Link::seeded(2).split(5),
        Link::seeded(3).merge(),
        Link::seeded(4).split(50).merge(),
        Link::seeded(5).split(0).delay(Duration::from_millis(3)).jitter(Duration::from_millis(9)),
    ] {
        let pieces = carried(link);
        assert_eq!(pieces.concat(), whole);
        assert!(pieces.iter().all(|piece| !piece.is_empty()));
    }
    assert_eq!(carried(Link::seeded(3).merge()).len(), 1);
    assert_eq!(carried(Link::seeded(1).split(1)).len(), whole.len());
    assert!(
        carried(Link::seeded(4).split(50).merge())
            .iter()
            .any(|piece| piece.iter().filter(|b| **b == b'\n').count() > 1)
    );
}

#[test]
fn delayed_frames_arrive_when_they_are_due_and_in_order() {
    let mut link = Link::new().delay(Duration::from_millis(2));
    link.send(NOW, &Bytes::from_static(b"a\n"));
    assert_eq!(link.poll(NOW), None);
    let due = NOW.after(Duration::from_millis(2));
    assert_eq!(link.poll_timeout(), Some(due));
    assert!(!link.is_idle());
    assert_eq!(link.poll(due), Some(Input::from("a\n")));
    assert!(link.is_idle());
    assert_eq!((link.sent(), link.received()), (2, 2));
}

#[test]
fn faults_change_what_arrives() {
    let sent = frames();
    let count = |link: Link| carried(link).len();
    assert!((1..40).contains(&count(Link::seeded(1).lose(3))));
    assert_eq!(count(Link::seeded(1).lose(1)), 0);
    assert!((41..80).contains(&count(Link::seeded(2).double(3))));
    let swapped = carried(Link::seeded(3).delay(Duration::from_millis(1)).swap(4));
    assert_ne!(swapped, sent);
    let mut sorted = swapped;
    sorted.sort_by_key(|frame| sent.iter().position(|other| other == frame));
    assert_eq!(sorted, sent);
    let spoilt = carried(Link::seeded(4).spoil(2));
    assert!(spoilt.iter().zip(&sent).any(|(came, sent)| came != sent));
    assert!(
        spoilt.iter().all(|frame| frame.ends_with(b"\n") && frame.iter().filter(|byte| **byte == b'\n').count() == 1)
    );
    let shouted = carried(Link::new().tamper(|frame| frame.make_ascii_uppercase()));
    assert!(shouted.iter().all(|frame| frame.starts_with(b"{\"FRAME\"")));
}

#[test]
fn the_same_seed_draws_the_same_faults() {
    let link = |seed| Link::seeded(seed).lose(4).double(5).swap(3).spoil(6).split(3).merge();
    assert_eq!(carried(link(9)), carried(link(9)));
    assert_ne!(carried(link(9)), carried(link(10)));
}

#[test]
fn the_end_comes_after_everything_else_and_once() {
    let mut link = Link::new();
    link.send(NOW, &Bytes::from_static(b"a\n"));
    link.finish();
    link.send(NOW, &Bytes::from_static(b"b\n"));
    assert_eq!(link.poll(NOW), Some(Input::from("a\n")));
    assert_eq!(link.poll(NOW), Some(Input::Eof));
    assert_eq!(link.poll(NOW), None);
    let mut link = Link::new();
    link.send(NOW, &Bytes::from_static(b"a\n"));
    link.lose_all();
    assert!(link.is_idle());
}
