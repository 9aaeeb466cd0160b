//! Trace context in `_meta`: the formats of `traceparent`, `tracestate` and `baggage`.
//!
//! Sources: `basic/index` (OpenTelemetry trace context), W3C Trace Context, W3C Baggage. Only the form is checked;
//! what a span is, and whether one is opened, is the host's.

use super::meta::Meta;
use crate::spec::meta as keys;

/// The most entries of a `tracestate` (W3C Trace Context, 3.3.1.1).
const TRACESTATE_ENTRIES: usize = 32;

/// A trace context that goes with a request or result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceContext {
    /// `traceparent`: version, trace id, parent id and flags.
    pub traceparent: Option<String>,
    /// `tracestate`: what vendors add.
    pub tracestate: Option<String>,
    /// `baggage`: what the application adds.
    pub baggage: Option<String>,
}

impl TraceContext {
    /// Reads the parts that are well-formed. A malformed part is left out, as the W3C documents ask; without a
    /// valid `traceparent` the `tracestate` is left out too.
    #[must_use]
    pub fn from_meta(meta: &Meta) -> Self {
        let text = |key| meta.get_as::<String>(key).ok().flatten();
        let traceparent = text(keys::TRACEPARENT).filter(|value| is_traceparent(value));
        let tracestate = text(keys::TRACESTATE).filter(|value| traceparent.is_some() && is_tracestate(value));
        let baggage = text(keys::BAGGAGE).filter(|value| is_baggage(value));
        Self { traceparent, tracestate, baggage }
    }

    /// Whether there is nothing to carry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Writes the parts into a record. Parts that are malformed are left out.
    pub fn write_to(&self, meta: &mut Meta) {
        let mut write = |key: &'static str, value: Option<&String>, check: fn(&str) -> bool| {
            if let Some(text) = value.filter(|text| check(text)) {
                meta.insert(key, serde_json::Value::from(text.as_str()));
            }
        };
        write(keys::TRACEPARENT, self.traceparent.as_ref(), is_traceparent);
        write(keys::TRACESTATE, self.tracestate.as_ref(), is_tracestate);
        write(keys::BAGGAGE, self.baggage.as_ref(), is_baggage);
    }
}

/// Whether `value` has the form of a `traceparent`.
#[must_use]
pub fn is_traceparent(value: &str) -> bool {
    let mut parts = value.split('-');
    let (Some(version), Some(trace), Some(parent), Some(flags)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let more = parts.next().is_some();
    is_hex(version, 2)
        && version != "ff"
        && is_hex(trace, 32)
        && trace.bytes().any(|b| b != b'0')
        && is_hex(parent, 16)
        && parent.bytes().any(|b| b != b'0')
        && is_hex(flags, 2)
        // Version 00 ends here; later ones may append parts.
        && !(more && version == "00")
}

fn is_hex(text: &str, len: usize) -> bool {
    text.len() == len && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether `value` has the form of a `tracestate`: a list of `key=value`, where empty entries are legal.
#[must_use]
pub fn is_tracestate(value: &str) -> bool {
    let mut entries = 0_usize;
    value.split(',').map(|entry| entry.trim_matches([' ', '\t'])).filter(|entry| !entry.is_empty()).all(|entry| {
        entries += 1;
        entries <= TRACESTATE_ENTRIES
            && entry.split_once('=').is_some_and(|(key, value)| is_state_key(key) && is_state_value(value))
    })
}

fn is_state_key(key: &str) -> bool {
    let (tenant, system) = key.split_once('@').map_or((key, None), |(tenant, system)| (tenant, Some(system)));
    let inner = |part: &str| {
        part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-' | b'*' | b'/'))
    };
    let starts_with_letter = |part: &str| part.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
    match system {
        // Level 2 of the document lets a key start with a digit, with and without a system.
        Some(system) => {
            (1..=241).contains(&tenant.len())
                && inner(tenant)
                && (1..=14).contains(&system.len())
                && starts_with_letter(system)
                && inner(system)
        }
        None => {
            (1..=256).contains(&tenant.len())
                && inner(tenant)
                && tenant.as_bytes().first().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        }
    }
}

fn is_state_value(value: &str) -> bool {
    (1..=256).contains(&value.len())
        && value.bytes().all(|b| matches!(b, 0x20..=0x7e) && b != b',' && b != b'=')
        && !value.ends_with(' ')
}

/// Whether `value` has the form of a `baggage` list: `key=value` with optional `;property` parts.
#[must_use]
pub fn is_baggage(value: &str) -> bool {
    !value.is_empty()
        && value.split(',').all(|member| {
            let mut parts = member.split(';').map(|part| part.trim_matches([' ', '\t']));
            let pair = parts.next().unwrap_or_default();
            pair.split_once('=').is_some_and(|(key, value)| is_baggage_pair(key, Some(value)))
                && parts.all(|property| {
                    let (key, value) =
                        property.split_once('=').map_or((property, None), |(key, value)| (key, Some(value)));
                    is_baggage_pair(key, value)
                })
        })
}

fn is_baggage_pair(key: &str, value: Option<&str>) -> bool {
    let key = key.trim_matches([' ', '\t']);
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !key.is_empty()
        && key.bytes().all(token)
        && value.is_none_or(|value| {
            value
                .trim_matches([' ', '\t'])
                .bytes()
                .all(|b| matches!(b, 0x21 | 0x23..=0x2b | 0x2d..=0x3a | 0x3c..=0x5b | 0x5d..=0x7e))
        })
}
