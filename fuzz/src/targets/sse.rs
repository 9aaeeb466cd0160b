//! Server-sent events: whole, and cut where the input says; what was read is written and read again.

use bytes::Bytes;
use mcp_sansio::http::sse::{Decoder, Event, Outgoing, SseError};

use crate::Signature;
use crate::input::Choices;

/// A bound that small inputs pass.
const BOUND: usize = 64;

/// What a stream came to.
#[derive(Debug, PartialEq)]
struct Stream {
    events: Vec<Event>,
    failed: Option<SseError>,
    retry: Option<std::time::Duration>,
    id: Option<String>,
}

/// Runs one input: a few cuts, then the bytes.
pub fn run(input: &[u8]) -> Signature {
    let mut choices = Choices::new(input);
    let cuts = choices.slice();
    let bytes = choices.rest();
    let whole = read(BOUND, std::iter::once(bytes));
    let mut parts = Vec::new();
    let mut rest = bytes;
    for cut in cuts {
        let (part, after) = rest.split_at(usize::from(*cut).min(rest.len()));
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    assert_eq!(whole, read(BOUND, parts.into_iter()), "chunks change events");
    assert_eq!(whole, read(BOUND, bytes.chunks(1)), "single bytes change events");

    let mut signature = Signature::new();
    let mut wire = Vec::new();
    for event in &whole.events {
        signature.note(if event.data.is_empty() { "empty" } else { "data" });
        signature.note(if event.name.is_some() { "named" } else { "message" });
        let mut outgoing = Outgoing::data(&event.data).id(event.id.as_deref().unwrap_or_default());
        if let Some(name) = &event.name {
            outgoing = outgoing.name(name);
        }
        outgoing.encode(&mut wire).unwrap_or_else(|error| panic!("what was read cannot be written: {error}"));
    }
    // Text that was not UTF-8 grows when it is written: the bound is not what is looked at here.
    let again = read(4 * BOUND, std::iter::once(&*wire));
    assert_eq!(again.events, whole.events, "what was written reads otherwise");
    if let Some(error) = &whole.failed {
        signature.note_variant(error);
    }
    signature.note(if whole.retry.is_some() { "retry" } else { "no retry" });
    signature.note(if whole.id.is_some() { "id" } else { "no id" });
    signature
}

fn read<'a>(bound: usize, chunks: impl Iterator<Item = &'a [u8]>) -> Stream {
    let mut decoder = Decoder::new(bound);
    let (mut events, mut failed) = (Vec::new(), None);
    for chunk in chunks {
        let mut chunk = Bytes::copy_from_slice(chunk);
        while failed.is_none() {
            match decoder.next(&mut chunk) {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => failed = Some(error),
            }
        }
        assert!(decoder.buffered() <= bound + 1, "stored {}", decoder.buffered());
    }
    let id = decoder.last_event_id().map(|id| id.to_string());
    Stream { events, failed, retry: decoder.retry(), id }
}
