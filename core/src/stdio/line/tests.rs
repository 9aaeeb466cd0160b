//! Lines whole, byte by byte, with trailing bytes, and cut anywhere (M-STDIO-01, L-STDIO-01, O01, O02, O03).

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;

use super::{FLOOD_FACTOR, LineDecoder, LineError};

type Lines = Vec<Result<Vec<u8>, LineError>>;

/// What a decoder gives for `chunks`; it is drained after each of them, and bounded while it waits.
fn decode<'a>(max_line: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Lines {
    let mut decoder = LineDecoder::new(max_line);
    let mut lines = Vec::new();
    for chunk in chunks {
        decoder.push(Bytes::copy_from_slice(chunk));
        while let Some(line) = decoder.next() {
            lines.push(line.map(|line| line.to_vec()));
        }
        assert!(decoder.buffered() <= max_line.max(1) + 1, "a waiting decoder holds at most one line");
    }
    while let Some(line) = decoder.finish() {
        lines.push(line.map(|line| line.to_vec()));
    }
    assert_eq!(decoder.buffered(), 0);
    assert_eq!(decoder.finish(), None);
    lines
}

/// Decodes `input` whole and byte by byte, and asserts that both agree.
fn both_ways(max_line: usize, input: &[u8]) -> Lines {
    let whole = decode(max_line, [input]);
    assert_eq!(whole, decode(max_line, input.chunks(1)), "cuts must not matter: {input:?}");
    whole
}

fn good(lines: &[&str]) -> Lines {
    lines.iter().map(|line| Ok(line.as_bytes().to_vec())).collect()
}

#[test]
fn o01_cuts_inside_a_character_and_between_messages() {
    let first = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Zürich, 東京"}]}}"#;
    let second = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#;
    let input = format!("{first}\n{second}\n");
    let expected = good(&[first, second]);
    assert_eq!(both_ways(1_000, input.as_bytes()), expected);
    // Every pair of cuts, those inside 東 (three bytes) included.
    for a in 0..input.len() {
        let (head, rest) = input.as_bytes().split_at(a);
        let (middle, tail) = rest.split_at(rest.len() / 3);
        assert_eq!(decode(1_000, [head, middle, tail]), expected, "cut at {a}");
    }
}

#[test]
fn o02_noise_is_handed_on_and_blank_lines_are_silent() {
    let input = b"Ready, process 12\r\n\r\n \t\r\n\n[info] done\n{\"id\":1}\r\n";
    assert_eq!(both_ways(100, input), good(&["Ready, process 12", "[info] done", "{\"id\":1}"]));
}

#[test]
fn o03_bytes_that_are_not_utf8_are_lines_of_their_own() {
    let input = b"\xFF\xFE\n{\"t\":\"\xFF\"}\n{\"id\":7}\n";
    let expected: Lines = vec![Ok(b"\xFF\xFE".to_vec()), Ok(b"{\"t\":\"\xFF\"}".to_vec()), Ok(b"{\"id\":7}".to_vec())];
    assert_eq!(both_ways(100, input), expected);
}

#[test]
fn a_byte_order_mark_is_skipped_at_the_very_start_only() {
    assert_eq!(
        both_ways(10, b"\xEF\xBB\xBFa\n\xEF\xBB\xBFb\n"),
        vec![Ok(b"a".to_vec()), Ok(b"\xEF\xBB\xBFb".to_vec())]
    );
    // It counts nothing, and a line of nothing else is blank.
    assert_eq!(both_ways(2, b"\xEF\xBB\xBFab\n"), good(&["ab"]));
    assert_eq!(both_ways(2, b"\xEF\xBB\xBF\nab\n"), good(&["ab"]));
    assert_eq!(both_ways(2, b"\xEF\xBB\xBF"), vec![]);
    // Parts of one belong to the first line.
    assert_eq!(both_ways(9, b"\xEF\xBBx\n"), vec![Ok(b"\xEF\xBBx".to_vec())]);
    assert_eq!(both_ways(9, b"\xEF\n"), vec![Ok(b"\xEF".to_vec())]);
    assert_eq!(both_ways(9, b"\xEF\xBB"), vec![Ok(b"\xEF\xBB".to_vec())]);
    assert_eq!(both_ways(9, b"\n\xEF\xBB\xBFx\n"), vec![Ok(b"\xEF\xBB\xBFx".to_vec())]);
}

#[test]
fn one_carriage_return_belongs_to_the_newline() {
    assert_eq!(both_ways(9, b"a\r\nb\r\r\nc\rd\n"), good(&["a", "b\r", "c\rd"]));
    assert_eq!(both_ways(9, b"a\r"), good(&["a"]));
    // It is outside the bound; a second one is not.
    assert_eq!(both_ways(3, b"abc\r\nabc\r"), good(&["abc", "abc"]));
    assert_eq!(both_ways(3, b"abc\r\r\nx\n"), vec![Err(LineError::TooLong { limit: 3 }), Ok(b"x".to_vec())]);
    assert_eq!(both_ways(3, b"abc\rd\nx\n"), vec![Err(LineError::TooLong { limit: 3 }), Ok(b"x".to_vec())]);
}

#[test]
fn an_unterminated_last_line_is_delivered_once() {
    assert_eq!(both_ways(9, b"a\nbc"), good(&["a", "bc"]));
    assert_eq!(both_ways(9, b"a\n  "), good(&["a"]));
    assert_eq!(both_ways(9, b""), vec![]);
    // Lines that were pushed but never asked for come first.
    let mut decoder = LineDecoder::new(9);
    decoder.push(Bytes::from_static(b"a\nb\nc"));
    assert_eq!(decoder.finish(), Some(Ok(Bytes::from_static(b"a"))));
    assert_eq!(decoder.finish(), Some(Ok(Bytes::from_static(b"b"))));
    assert_eq!(decoder.finish(), Some(Ok(Bytes::from_static(b"c"))));
    assert_eq!(decoder.finish(), None);
    assert_eq!(decoder.finish(), None);
}

#[test]
fn a_line_is_too_long_at_its_first_byte_past_the_bound() {
    let mut decoder = LineDecoder::new(4);
    decoder.push(Bytes::from_static(b"abcd"));
    assert_eq!(decoder.next(), None);
    decoder.push(Bytes::from_static(b"e"));
    assert_eq!(decoder.next(), Some(Err(LineError::TooLong { limit: 4 })), "no newline was needed to see it");
    assert_eq!(decoder.next(), None);
    assert_eq!(decoder.buffered(), 0, "nothing of it is kept");
    decoder.push(Bytes::from_static(b"fgh\nabcd\n"));
    assert_eq!(decoder.next(), Some(Ok(Bytes::from_static(b"abcd"))));
    assert_eq!(decoder.next(), None);
}

#[test]
fn a_long_line_is_reported_once_and_the_next_is_read() {
    let too_long = Err(LineError::TooLong { limit: 4 });
    assert_eq!(both_ways(4, b"abcde\nx\n"), vec![too_long.clone(), Ok(b"x".to_vec())]);
    assert_eq!(both_ways(4, b"abcdefghijkl\nx\nabcdef\n"), vec![too_long.clone(), Ok(b"x".to_vec()), too_long.clone()]);
    assert_eq!(both_ways(4, b"abcdefg"), vec![too_long]);
}

#[test]
fn a_flood_ends_the_stream() {
    let limit = 4 * FLOOD_FACTOR;
    let errors = [LineError::TooLong { limit: 4 }, LineError::Flood { limit }];
    // Exactly at the limit the line still ends; one byte more is fatal.
    let mut input = vec![b'x'; limit];
    input.extend_from_slice(b"\nok\n");
    assert_eq!(both_ways(4, &input), vec![Err(errors[0]), Ok(b"ok".to_vec())]);
    input.insert(0, b'x');
    assert_eq!(both_ways(4, &input), vec![Err(errors[0]), Err(errors[1])]);

    let mut decoder = LineDecoder::new(4);
    decoder.push(Bytes::from(input));
    assert_eq!(decoder.next(), Some(Err(errors[0])));
    assert_eq!(decoder.fatal(), None);
    assert_eq!(decoder.next(), Some(Err(errors[1])));
    assert_eq!(decoder.fatal(), Some(errors[1]));
    decoder.push(Bytes::from_static(b"{}\n"));
    assert_eq!((decoder.next(), decoder.finish(), decoder.buffered()), (None, None, 0));
    assert_eq!(errors[1].to_string(), "a line has no end within 64 bytes");
}

#[test]
fn lines_within_a_chunk_are_slices_of_it() {
    let chunk = Bytes::from(b"first\r\nsecond\nthi".to_vec());
    let mut decoder = LineDecoder::new(100);
    decoder.push(chunk.clone());
    let first = decoder.next().expect("a line").expect("within the bound");
    let second = decoder.next().expect("a line").expect("within the bound");
    assert_eq!(first.as_ptr(), chunk.as_ptr());
    assert_eq!(second.as_ptr(), chunk.slice(7..).as_ptr());
    assert_eq!((decoder.next(), decoder.buffered()), (None, 3));
    decoder.push(Bytes::from_static(b"rd\n"));
    assert_eq!(decoder.next(), Some(Ok(Bytes::from_static(b"third"))));
}

#[test]
fn several_chunks_may_wait() {
    let mut decoder = LineDecoder::new(100);
    for chunk in ["a", "", "b\nc", "d\n", "e"] {
        decoder.push(Bytes::from_static(chunk.as_bytes()));
    }
    assert_eq!(decoder.buffered(), 7);
    assert_eq!(decoder.next(), Some(Ok(Bytes::from_static(b"ab"))));
    assert_eq!(decoder.next(), Some(Ok(Bytes::from_static(b"cd"))));
    assert_eq!((decoder.next(), decoder.buffered()), (None, 1));
}

#[test]
fn a_line_of_64_mib_is_never_stored() {
    const MAX: usize = 5 << 20;
    let chunk = Bytes::from(vec![b'x'; 1 << 20]);
    let mut decoder = LineDecoder::new(MAX);
    let mut errors = Vec::new();
    for _ in 0..64 {
        decoder.push(chunk.clone());
        while let Some(line) = decoder.next() {
            errors.push(line.expect_err("there is no newline"));
        }
        assert!(decoder.buffered() <= if errors.is_empty() { MAX } else { 0 });
    }
    assert_eq!(errors, [LineError::TooLong { limit: MAX }]);
    decoder.push(Bytes::from_static(b"\n{}\n"));
    assert_eq!(decoder.next(), Some(Ok(Bytes::from_static(b"{}"))));
}

#[test]
fn the_longest_line_is_delivered_byte_by_byte() {
    // Quadratic work would make this four million bytes take hours.
    const MAX: usize = 4 << 20;
    let mut decoder = LineDecoder::new(MAX);
    let byte = Bytes::from_static(b"x");
    for _ in 0..MAX {
        decoder.push(byte.clone());
        assert_eq!(decoder.next(), None);
    }
    decoder.push(Bytes::from_static(b"\n"));
    let line = decoder.next().expect("a line").expect("within the bound");
    assert_eq!(line.len(), MAX);
}

#[test]
fn the_smallest_and_the_largest_bound_work() {
    assert_eq!(both_ways(0, b"a\nbb\n"), vec![Ok(b"a".to_vec()), Err(LineError::TooLong { limit: 1 })]);
    let mut decoder = LineDecoder::new(usize::MAX);
    decoder.push(Bytes::from_static(b"abc\r"));
    assert_eq!(decoder.next(), None);
    decoder.push(Bytes::from_static(b"\n"));
    assert_eq!(decoder.next(), Some(Ok(Bytes::from_static(b"abc"))));
}

/// The rules in one place, for a whole input, without chunks and without states.
fn reference(max_line: usize, input: &[u8]) -> Lines {
    let input = input.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(input);
    let mut lines = Vec::new();
    for raw in input.split(|&byte| byte == b'\n') {
        let line = raw.strip_suffix(b"\r").unwrap_or(raw);
        if line.len() > max_line {
            lines.push(Err(LineError::TooLong { limit: max_line }));
            if raw.len() > max_line * FLOOD_FACTOR {
                lines.push(Err(LineError::Flood { limit: max_line * FLOOD_FACTOR }));
                break;
            }
        } else if !line.iter().all(u8::is_ascii_whitespace) {
            lines.push(Ok(line.to_vec()));
        }
    }
    lines
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_lines(
        pieces in vec(prop_oneof![
            4 => vec(any::<u8>(), 0..8),
            4 => Just(b"\n".to_vec()),
            2 => Just(b"\r".to_vec()),
            1 => Just(b"\xEF\xBB\xBF".to_vec()),
            2 => vec(Just(b'x'), 0..60),
        ], 0..40),
        cuts in vec(0..600_usize, 0..12),
        max_line in 1..6_usize,
    ) {
        let input = pieces.concat();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(input.len())).collect();
        cuts.extend([0, input.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|cut| &input[cut[0]..cut[1]]).collect();
        let expected = reference(max_line, &input);
        prop_assert_eq!(&decode(max_line, chunks), &expected);
        prop_assert_eq!(both_ways(max_line, &input), expected);
    }
}
