//! Event streams: whole, and cut where the input says; and events that are written, read again.

use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::http::sse::{Decoder, Outgoing};

use crate::Signature;
use crate::input::Choices;

/// A bound that small inputs pass.
const BOUND: usize = 96;

/// What a decoder made of a stream.
#[derive(Debug, PartialEq)]
struct Read {
    events: Vec<(Option<String>, Vec<u8>, Option<String>)>,
    failed: Option<String>,
    last_id: Option<String>,
    has_ids: bool,
    retry: Option<Duration>,
}

/// Runs one input: a few cuts, then the bytes.
pub fn run(input: &[u8]) -> Signature {
    let mut choices = Choices::new(input);
    let cuts = choices.slice();
    let bytes = choices.rest();
    let mut parts = Vec::new();
    let mut rest = bytes;
    for cut in cuts {
        let (part, after) = rest.split_at(usize::from(*cut).min(rest.len()));
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    let whole = read(BOUND, std::iter::once(bytes));
    assert_eq!(whole, read(BOUND, parts.into_iter()), "cuts change events");
    assert_eq!(whole, read(BOUND, bytes.chunks(1)), "single bytes change events");
    let mut signature = Signature::new();
    for (name, data, id) in &whole.events {
        assert!(data.len() <= BOUND, "an event is longer than the bound");
        signature.note(if name.is_some() { "named" } else { "message" });
        signature.note(match (data.is_empty(), data.contains(&b'\n')) {
            (true, _) => "empty",
            (_, true) => "lines",
            _ => "line",
        });
        signature.note(if id.is_some() { "id" } else { "no id" });
    }
    whole.failed.iter().for_each(|error| signature.note(error));
    signature.note(if whole.retry.is_some() { "retry" } else { "no retry" });
    signature.note(if whole.has_ids { "ids" } else { "no ids" });
    written(bytes, cuts, &mut signature);
    signature
}

fn read<'a>(bound: usize, chunks: impl Iterator<Item = &'a [u8]>) -> Read {
    let mut decoder = Decoder::new(bound);
    let mut read = Read { events: Vec::new(), failed: None, last_id: None, has_ids: false, retry: None };
    for chunk in chunks {
        let mut chunk = Bytes::copy_from_slice(chunk);
        loop {
            match decoder.next(&mut chunk) {
                Ok(Some(event)) => {
                    let text = |text: &str| text.to_owned();
                    read.events.push((
                        event.name.as_deref().map(text),
                        event.data.to_vec(),
                        event.id.as_deref().map(text),
                    ));
                }
                Ok(None) => {
                    assert!(chunk.is_empty(), "nothing is left unread");
                    break;
                }
                Err(error) => {
                    assert_eq!(decoder.next(&mut Bytes::from_static(b"data: x\n\n")), Err(error), "it repeats itself");
                    read.failed = Some(error.to_string());
                    break;
                }
            }
            assert!(decoder.buffered() <= bound + 1, "stored {}", decoder.buffered());
        }
        if read.failed.is_some() {
            break;
        }
    }
    read.last_id = decoder.last_event_id().map(ToString::to_string);
    read.has_ids = decoder.has_ids();
    // Numbers before the failure count; where the failure fell is the same for all cuts.
    read.retry = decoder.retry();
    read
}

/// The bytes as the data of an event, with an id and a name made of them: written, then read.
fn written(bytes: &[u8], cuts: &[u8], signature: &mut Signature) {
    let id = String::from_utf8_lossy(cuts);
    let name = String::from_utf8_lossy(bytes.get(..bytes.len().min(12)).unwrap_or_default());
    let retry = Duration::from_millis(bytes.len() as u64);
    let mut out = Vec::new();
    let event = Outgoing::data(bytes).id(&id).name(&name).retry(retry);
    match event.encode(&mut out) {
        Err(error) => {
            assert!(out.is_empty(), "nothing is written");
            assert!(id.contains(['\r', '\n', '\0']) || name.contains(['\r', '\n']), "{error}");
            signature.note(error.field);
        }
        Ok(()) => {
            let after = [out.as_slice(), b"data: after\n\n"].concat();
            let read = read(1 << 20, after.chunks(3));
            let data = normal(bytes);
            let id = (!id.is_empty()).then(|| id.into_owned());
            let name = (!name.is_empty()).then(|| name.into_owned());
            assert_eq!(read.events, [(name, data, id.clone()), (None, b"after".to_vec(), id)]);
            assert_eq!(read.retry, Some(retry));
            signature.note("written");
        }
    }
}

/// Line ends as readers see them.
fn normal(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len());
    let mut bytes = data.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte == b'\r' {
            let _ = bytes.next_if_eq(&b'\n');
            out.push(b'\n');
        } else {
            out.push(byte);
        }
    }
    out
}
