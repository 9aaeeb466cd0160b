//! The characters of a URI as matching sees them: each one whole, and known to be raw or encoded.
//!
//! `%2F` and `/` are two different units, because one is data and the other structure. `%C3%A9` is one unit, the
//! same as a raw `é`, so that no cut can go through it.

/// One character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// An ASCII character as itself.
    Raw(u8),
    /// An ASCII character that was percent-encoded.
    Encoded(u8),
    /// A character beyond ASCII, in either way.
    Wide(char),
    /// An encoded byte that is no part of a UTF-8 text. It may be in a literal, never in a value.
    Opaque(u8),
}

/// The units of `text`; `None` if a `%` lacks its two digits.
pub(super) fn split(text: &str) -> Option<Vec<Unit>> {
    let mut units = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if character != '%' {
            units.push(raw(character));
            rest = rest.get(character.len_utf8()..)?;
            continue;
        }
        let mut octets = Vec::new();
        while rest.starts_with('%') {
            octets.push(octet(rest)?);
            rest = rest.get(3..)?;
        }
        for chunk in octets.utf8_chunks() {
            units.extend(chunk.valid().chars().map(encoded));
            units.extend(chunk.invalid().iter().copied().map(Unit::Opaque));
        }
    }
    Some(units)
}

/// The byte that the triplet at the start of `text` stands for.
pub(super) fn octet(text: &str) -> Option<u8> {
    let digits = text.strip_prefix('%')?.get(..2)?;
    // `from_str_radix` alone would take a sign for a digit.
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u8::from_str_radix(digits, 16).ok()
}

/// The text that `units` stand for; `None` if it is not UTF-8.
pub(super) fn decode(units: &[Unit]) -> Option<String> {
    units
        .iter()
        .map(|unit| match *unit {
            Unit::Raw(byte) | Unit::Encoded(byte) => Some(char::from(byte)),
            Unit::Wide(character) => Some(character),
            Unit::Opaque(_) => None,
        })
        .collect()
}

fn raw(character: char) -> Unit {
    ascii(character).map_or(Unit::Wide(character), Unit::Raw)
}

fn encoded(character: char) -> Unit {
    ascii(character).map_or(Unit::Wide(character), Unit::Encoded)
}

fn ascii(character: char) -> Option<u8> {
    u8::try_from(character).ok().filter(u8::is_ascii)
}
