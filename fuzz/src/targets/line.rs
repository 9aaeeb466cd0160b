//! Lines: whole, and cut where the input says.

use bytes::Bytes;
use mcp_sansio::stdio::line::LineDecoder;

use crate::Signature;
use crate::input::Choices;

/// A bound that small inputs pass.
const BOUND: usize = 64;

/// Runs one input: a few cuts, then the bytes.
pub fn run(input: &[u8]) -> Signature {
    let mut choices = Choices::new(input);
    let cuts = choices.slice();
    let bytes = choices.rest();
    let whole = lines(std::iter::once(bytes));
    let mut parts = Vec::new();
    let mut rest = bytes;
    for cut in cuts {
        let (part, after) = rest.split_at(usize::from(*cut).min(rest.len()));
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    assert_eq!(whole, lines(parts.into_iter()), "chunks change lines");
    assert_eq!(whole, lines(bytes.chunks(1)), "single bytes change lines");
    let mut signature = Signature::new();
    for line in &whole {
        signature.note(line.as_ref().map_or_else(|error| error.as_str(), |_| "line"));
    }
    signature.note(if cuts.is_empty() { "whole" } else { "cut" });
    signature
}

fn lines<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<Result<Vec<u8>, String>> {
    let mut decoder = LineDecoder::new(BOUND);
    let mut lines = Vec::new();
    for chunk in chunks {
        decoder.push(Bytes::copy_from_slice(chunk));
        while let Some(line) = decoder.next() {
            lines.push(line.map(|line| line.to_vec()).map_err(|error| error.to_string()));
            if decoder.fatal().is_some() {
                return lines;
            }
        }
        assert!(decoder.buffered() <= 2 * BOUND + chunk.len(), "stored {}", decoder.buffered());
    }
    lines.extend(decoder.finish().map(|line| line.map(|line| line.to_vec()).map_err(|error| error.to_string())));
    lines
}
