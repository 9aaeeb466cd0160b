//! Events whole, byte by byte, with trailing bytes, and through the encoder and back.

use std::time::Duration;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::{Decoder, Event, KEEP_ALIVE, MAX_ID, Outgoing, SseError};

/// Name, data and id of an event.
type Seen = (Option<String>, Vec<u8>, Option<String>);

/// What a stream came to.
#[derive(Debug, PartialEq)]
struct Stream {
    events: Vec<Seen>,
    id: Option<String>,
    retry: Option<u64>,
    failed: Option<SseError>,
}

fn seen(event: Event) -> Seen {
    (event.name.map(Into::into), event.data.to_vec(), event.id.map(|id| id.to_string()))
}

fn decode<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Stream {
    let mut decoder = Decoder::new(limit);
    let (mut events, mut failed) = (Vec::new(), None);
    for chunk in chunks {
        let mut chunk = Bytes::copy_from_slice(chunk);
        loop {
            match decoder.next(&mut chunk) {
                Ok(Some(event)) => events.push(seen(event)),
                Ok(None) => break,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        assert!(failed.is_some() || chunk.is_empty(), "what was not refused is read");
        assert!(decoder.buffered() <= limit + 1, "nothing unbounded is stored");
    }
    let id = decoder.last_event_id().map(|id| id.to_string());
    let retry = decoder.retry().and_then(|retry| u64::try_from(retry.as_millis()).ok());
    Stream { events, id, retry, failed }
}

/// Decodes `input` whole, byte by byte and in two pieces, and asserts that all agree.
fn every_way(limit: usize, input: &[u8]) -> Stream {
    let whole = decode(limit, [input]);
    assert_eq!(whole, decode(limit, input.chunks(1)), "cuts must not matter: {input:?}");
    for cut in 0..input.len() {
        let (head, tail) = input.split_at(cut);
        assert_eq!(whole, decode(limit, [head, tail]), "cut at {cut}: {input:?}");
    }
    whole
}

/// The data of every event.
fn data(input: &str) -> Vec<String> {
    let stream = every_way(1_000, input.as_bytes());
    assert_eq!(stream.failed, None);
    stream.events.into_iter().map(|(_, data, _)| String::from_utf8(data).unwrap()).collect()
}

#[test]
fn every_end_of_line_ends_a_line_once() {
    for end in ["\n", "\r", "\r\n"] {
        let input = format!("data: a{end}data: b{end}{end}data:c{end}{end}{end}{end}data{end}{end}");
        assert_eq!(data(&input), ["a\nb", "c", ""], "{end:?}");
    }
    // Mixed: CR LF is one end, LF CR are two.
    assert_eq!(data("data: a\n\rdata: b\r\n\n"), ["a", "b"]);
    assert_eq!(data("data: a\r\r\ndata: b\r\r"), ["a", "b"]);
}

#[test]
fn the_event_is_given_at_its_blank_line_without_waiting_for_the_byte_after_a_cr() {
    let mut decoder = Decoder::new(100);
    let mut input = Bytes::from_static(b"data: a\r\r");
    assert_eq!(decoder.next(&mut input).unwrap().unwrap().data, "a");
    // The LF that may follow is not another line.
    let mut rest = Bytes::from_static(b"\ndata: b\n\n");
    assert_eq!(decoder.next(&mut rest).unwrap().unwrap().data, "b");
}

#[test]
fn a_byte_order_mark_is_skipped_at_the_very_start_only() {
    assert_eq!(data("\u{feff}data: a\n\n"), ["a"]);
    assert_eq!(data("\u{feff}\u{feff}data: a\n\ndata: b\n\n"), ["b"]);
    assert_eq!(data("data: a\n\n\u{feff}data: b\n\n"), ["a"]);
    // A part of one belongs to the first line, which is of no known field.
    let stream = every_way(100, b"\xEF\xBBdata: a\ndata: b\n\n");
    assert_eq!(stream.events, [(None, b"b".to_vec(), None)]);
    let stream = every_way(100, b"\xEF\ndata: b\n\n");
    assert_eq!(stream.events, [(None, b"b".to_vec(), None)]);
}

#[test]
fn one_space_after_the_colon_is_no_part_of_the_value() {
    assert_eq!(
        data("data:a\n\ndata: a\n\ndata:  a\n\ndata:\n\ndata: \n\ndata:a: b\n\n"),
        ["a", "a", " a", "", "", "a: b"]
    );
}

#[test]
fn comments_and_unknown_fields_mean_nothing_and_are_not_stored() {
    let long = "x".repeat(5_000);
    let input =
        format!(":\n\n: {long}\n{long}: 1\ndatas: 2\ndat: 3\nDATA: 4\n data: 5\nevents\ndata: a\n:{long}\n\n:\n\n");
    let stream = decode(10, [input.as_bytes()]);
    assert_eq!(stream, decode(10, input.as_bytes().chunks(1)));
    assert_eq!(stream.events, [(None, b"a".to_vec(), None)]);
    assert_eq!(stream.failed, None);
    assert_eq!(every_way(10, KEEP_ALIVE).events, []);
}

#[test]
fn a_block_without_data_is_no_event_but_its_id_counts() {
    let stream = every_way(100, b"id: 1\nevent: x\n\ndata: a\n\n");
    assert_eq!(stream.events, [(None, b"a".to_vec(), Some("1".to_owned()))], "and its name is forgotten");
}

#[test]
fn an_id_stands_until_the_next_one_and_counts_only_when_its_event_is_whole() {
    let stream = every_way(100, b"id: 1\ndata: a\n\ndata: b\n\nid:2\ndata: c\n");
    assert_eq!(
        stream.events,
        [(None, b"a".to_vec(), Some("1".to_owned())), (None, b"b".to_vec(), Some("1".to_owned()))]
    );
    assert_eq!(stream.id.as_deref(), Some("1"), "the last event was cut");
}

#[test]
fn an_id_with_a_nul_is_ignored_and_an_empty_one_forgets() {
    let stream = every_way(100, b"id: 1\ndata: a\n\nid: 2\0\ndata: b\n\nid\ndata: c\n\n");
    let ids: Vec<_> = stream.events.into_iter().map(|(_, _, id)| id).collect();
    assert_eq!(ids, [Some("1".to_owned()), Some("1".to_owned()), None]);
    assert_eq!(every_way(100, b"id: 1\nid: 2\0\n\n").id.as_deref(), Some("1"));
    assert_eq!(every_way(100, b"id: 1\nid:\n\n").id, None);
}

#[test]
fn an_id_that_is_too_long_for_a_header_is_an_error() {
    let fits = format!("id: {}\n\n", "i".repeat(MAX_ID));
    assert_eq!(decode(1 << 20, fits.as_bytes().chunks(7)).id.map(|id| id.len()), Some(MAX_ID));
    let too_long = format!("id: {}", "i".repeat(MAX_ID + 1));
    assert_eq!(decode(1 << 20, [too_long.as_bytes()]).failed, Some(SseError::IdTooLong { limit: MAX_ID }));
    assert_eq!(decode(1 << 20, too_long.as_bytes().chunks(7)).failed, Some(SseError::IdTooLong { limit: MAX_ID }));
}

#[test]
fn the_waiting_time_is_digits_and_nothing_else() {
    for (value, expected) in [
        ("0", Some(0)),
        ("1500", Some(1_500)),
        ("007", Some(7)),
        ("99999999999999999999999999", Some(u64::MAX)),
        ("", None),
        ("1s", None),
        ("-1", None),
        ("1.5", None),
        ("1 ", None),
        ("99999999999999999999999999x", None),
    ] {
        let input = format!("retry: {value}\n");
        assert_eq!(every_way(1, input.as_bytes()).retry, expected, "{value:?}");
    }
    // The last good one stands, and it needs no event.
    assert_eq!(every_way(100, b"retry: 5\nretry: x\n\nretry:\n").retry, Some(5));
}

#[test]
fn names_are_kept_and_the_last_one_counts() {
    let stream = every_way(100, b"event: a\nevent: endpoint\ndata: /p\n\nevent: a\nevent\ndata: q\n\n");
    assert_eq!(stream.events, [(Some("endpoint".to_owned()), b"/p".to_vec(), None), (None, b"q".to_vec(), None)]);
}

#[test]
fn the_bound_counts_what_an_event_holds() {
    let refused = Some(SseError::TooLong { limit: 8 });
    assert_eq!(every_way(8, b"data: 12345678\n\n").events.len(), 1);
    assert_eq!(every_way(8, b"data: 123456789").failed, refused);
    assert_eq!(every_way(8, b"data: 123\ndata: 5678\n\n").events.len(), 1);
    assert_eq!(every_way(8, b"data: 123\ndata: 56789\n\n").failed, refused);
    assert_eq!(every_way(8, b"event: 1234\ndata: 5678\n\n").events.len(), 1);
    assert_eq!(every_way(8, b"event: 1234\ndata: 56789\n\n").failed, refused);
    assert_eq!(every_way(8, b"id: 1234\nevent: 5\ndata: 6789\n\n").failed, refused);
    assert_eq!(every_way(8, b"event: 1234567890").failed, refused);
    // Lines without a byte of data cost their LF each.
    assert_eq!(every_way(8, "data\n".repeat(9).as_bytes()).failed, None);
    assert_eq!(every_way(8, "data\n".repeat(10).as_bytes()).failed, refused);
    // Events do not add up.
    assert_eq!(every_way(8, "data: 12345678\n\n".repeat(5).as_bytes()).events.len(), 5);
}

#[test]
fn after_a_refusal_nothing_is_read_and_the_error_stands() {
    let mut decoder = Decoder::new(4);
    let mut input = Bytes::from_static(b"data: 12345\n\ndata: a\n\n");
    assert_eq!(decoder.next(&mut input), Err(SseError::TooLong { limit: 4 }));
    let left = input.len();
    assert_eq!(decoder.next(&mut input), Err(SseError::TooLong { limit: 4 }));
    assert_eq!((input.len(), decoder.buffered()), (left, 0));
}

#[test]
fn data_in_one_piece_is_not_copied() {
    let mut input = Bytes::from_static(b"data: {\"a\":1}\n\n");
    let range = input.as_ptr_range();
    let event = Decoder::new(100).next(&mut input).unwrap().unwrap();
    assert!(range.contains(&event.data.as_ptr()));
}

#[test]
fn bytes_that_are_not_utf8_reach_the_data_as_they_are() {
    let stream = every_way(100, b"event: \xFF\nid: \xFE\ndata: \xFF\x00\n\n");
    let replaced = Some("\u{fffd}".to_owned());
    assert_eq!(stream.events, [(replaced.clone(), b"\xFF\x00".to_vec(), replaced)]);
}

#[test]
fn what_an_event_cannot_carry_is_refused_and_nothing_is_written() {
    let mut out = Vec::new();
    for id in ["a\nb", "a\rb", "a\0b"] {
        assert_eq!(Outgoing::data(b"x").id(id).encode(&mut out).unwrap_err().field, "id");
    }
    assert_eq!(Outgoing::data(b"x").name("a\nb").encode(&mut out).unwrap_err().field, "event");
    assert_eq!(out, b"");
}

#[test]
fn a_priming_event_has_an_id_a_waiting_time_and_empty_data() {
    let mut out = Vec::new();
    Outgoing::data(b"").id("s-1").retry(Duration::from_millis(500)).encode(&mut out).unwrap();
    assert_eq!(out, b"id: s-1\nretry: 500\ndata: \n\n");
    let stream = every_way(100, &out);
    assert_eq!(stream.events, [(None, vec![], Some("s-1".to_owned()))]);
    assert_eq!(stream.retry, Some(500));
    out.clear();
    Outgoing::silent().id("s-2").encode(&mut out).unwrap();
    let stream = every_way(100, &out);
    assert_eq!((stream.events.len(), stream.id.as_deref()), (0, Some("s-2")));
}

/// An event that somebody writes.
type Written = (Option<String>, Option<String>, Option<u32>, Vec<u8>);

fn written() -> impl Strategy<Value = Vec<Written>> {
    let text = |pattern: &'static str| option::of(proptest::string::string_regex(pattern).expect("a pattern"));
    let data = vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b' '), Just(b':'), any::<u8>()], 0..40);
    vec((text("[^\r\n\0]{0,8}"), text("[^\r\n]{0,8}"), option::of(any::<u32>()), data), 0..6)
}

/// Line ends as a reader sees them.
fn joined(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = data.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte == b'\r' {
            bytes.next_if_eq(&b'\n');
        }
        out.push(if byte == b'\r' { b'\n' } else { byte });
    }
    out
}

proptest! {
    /// What is written is read again, however it is cut, comments between the events included.
    #[test]
    fn what_is_written_is_read(events in written(), cuts in vec(1_usize..30, 1..10), tail in "[^\r\n]{0,9}") {
        let mut wire = Vec::new();
        let (mut id_in_force, mut retry) = (None, None);
        let mut expected = Vec::new();
        for (id, name, wait, data) in &events {
            let mut event = Outgoing::data(data);
            if let Some(id) = id {
                event = event.id(id);
                id_in_force = Some(id.clone()).filter(|id| !id.is_empty());
            }
            if let Some(name) = name {
                event = event.name(name);
            }
            if let Some(wait) = wait {
                event = event.retry(Duration::from_millis(u64::from(*wait)));
                retry = Some(u64::from(*wait));
            }
            event.encode(&mut wire).expect("no line breaks in names and ids");
            wire.extend_from_slice(KEEP_ALIVE);
            expected.push((name.clone().filter(|name| !name.is_empty()), joined(data), id_in_force.clone()));
        }
        wire.extend_from_slice(tail.as_bytes());
        let mut chunks = Vec::new();
        let mut rest = wire.as_slice();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (head, tail) = rest.split_at((*cut).min(rest.len()));
            chunks.push(head);
            rest = tail;
        }
        let stream = decode(1_000, chunks);
        prop_assert_eq!(&stream.events, &expected);
        prop_assert_eq!(stream.failed, None);
        prop_assert_eq!(stream.id, id_in_force);
        prop_assert_eq!(stream.retry, retry);
    }

    /// No bytes hurt, and cuts never matter.
    #[test]
    fn noise_reads_the_same_however_it_is_cut(
        noise in vec(prop_oneof![
            Just(b"data:".to_vec()), Just(b"id:".to_vec()), Just(b"event".to_vec()), Just(b"retry: 1".to_vec()),
            Just(b"\r".to_vec()), Just(b"\n".to_vec()), Just(b"\n\n".to_vec()), Just(b" ".to_vec()),
            vec(any::<u8>(), 1..4),
        ], 0..40),
    ) {
        let noise = noise.concat();
        prop_assert_eq!(decode(20, [&*noise]), decode(20, noise.chunks(1)));
    }
}
