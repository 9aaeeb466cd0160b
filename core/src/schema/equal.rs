//! Equality of JSON values for `enum`, `const` and `uniqueItems`, paid for step by step.
//!
//! Numbers are equal by value (`1` and `1.0`), objects whatever the order of their members. Finding duplicates
//! hashes every item once and compares only those with equal hashes; items made to collide cost steps, not time.

use serde_json::Value;

use super::number::{self, compare};
use super::steps::{Exhausted, Steps};

/// Values within values that are compared or hashed; parsed JSON is never that deep.
const DEPTH: usize = 256;
/// Arrays up to this long are compared pair by pair.
const PAIRWISE: usize = 8;

pub(super) fn equal(a: &Value, b: &Value, steps: &mut Steps) -> Result<bool, Exhausted> {
    equal_within(a, b, steps, DEPTH)
}

fn equal_within(a: &Value, b: &Value, steps: &mut Steps, depth: usize) -> Result<bool, Exhausted> {
    steps.spend(1)?;
    let Some(depth) = depth.checked_sub(1) else { return Err(Exhausted::Depth) };
    match (a, b) {
        (Value::Null, Value::Null) => Ok(true),
        (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
        (Value::Number(a), Value::Number(b)) => Ok(compare(a, b).is_eq()),
        (Value::String(a), Value::String(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            steps.spend_bytes(a.len())?;
            Ok(a == b)
        }
        (Value::Array(a), Value::Array(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b) {
                if !equal_within(a, b, steps, depth)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(a), Value::Object(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (name, a) in a {
                steps.spend_bytes(name.len())?;
                let Some(b) = b.get(name) else { return Ok(false) };
                if !equal_within(a, b, steps, depth)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Indices of two equal items, if there are any.
pub(super) fn duplicates(items: &[Value], steps: &mut Steps) -> Result<Option<(usize, usize)>, Exhausted> {
    if items.len() <= PAIRWISE {
        for (later, b) in items.iter().enumerate() {
            for (earlier, a) in items.iter().take(later).enumerate() {
                if equal(a, b, steps)? {
                    return Ok(Some((earlier, later)));
                }
            }
        }
        return Ok(None);
    }
    let mut hashes = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        hashes.push((hash(item, steps, DEPTH)?, index));
    }
    // Sorting costs less than hashing did, up to a small factor.
    steps.spend(items.len() as u64)?;
    hashes.sort_unstable();
    for run in hashes.chunk_by(|a, b| a.0 == b.0) {
        for (position, (_, later)) in run.iter().enumerate() {
            for (_, earlier) in run.iter().take(position) {
                if let (Some(a), Some(b)) = (items.get(*earlier), items.get(*later))
                    && equal(a, b, steps)?
                {
                    return Ok(Some((*earlier, *later)));
                }
            }
        }
    }
    Ok(None)
}

fn hash(value: &Value, steps: &mut Steps, depth: usize) -> Result<u64, Exhausted> {
    steps.spend(1)?;
    let Some(depth) = depth.checked_sub(1) else { return Err(Exhausted::Depth) };
    Ok(match value {
        Value::Null => 1,
        Value::Bool(value) => 2 + u64::from(*value),
        Value::Number(value) => match number::exact(value) {
            // Only the low half: integers that differ beyond it collide, which is allowed.
            Some(integer) => mix(4, integer as u64),
            None => mix(5, number::float(value).to_bits()),
        },
        Value::String(text) => {
            // A byte takes about a nanosecond here, eight times what comparing takes.
            steps.spend_bytes(text.len().saturating_mul(8))?;
            text.bytes().fold(6, |hash, byte| mix(hash, u64::from(byte)))
        }
        Value::Array(items) => {
            let mut all = 7;
            for item in items {
                all = mix(all, hash(item, steps, depth)?);
            }
            all
        }
        Value::Object(members) => {
            // A sum does not depend on the order.
            let mut all = 8_u64;
            for (name, value) in members {
                steps.spend_bytes(name.len().saturating_mul(8))?;
                let name = name.bytes().fold(9, |hash, byte| mix(hash, u64::from(byte)));
                all = all.wrapping_add(mix(name, hash(value, steps, depth)?));
            }
            all
        }
    })
}

fn mix(hash: u64, value: u64) -> u64 {
    let mixed = (hash ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ mixed >> 29
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn steps() -> Steps {
        Steps::new(1_000_000)
    }

    #[test]
    fn equality_is_by_value() {
        for (a, b, expected) in [
            (json!(1), json!(1.0), true),
            (json!({"a": [1, {"b": null}]}), json!({"a": [1.0, {"b": null}]}), true),
            (json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}), true),
            (json!([1, 2]), json!([2, 1]), false),
            (json!(0), json!(false), false),
            (json!(""), json!(null), false),
            (json!({"a": 1}), json!({"b": 1}), false),
        ] {
            assert_eq!(equal(&a, &b, &mut steps()), Ok(expected), "{a} {b}");
            if expected {
                assert_eq!(hash(&a, &mut steps(), 10), hash(&b, &mut steps(), 10), "{a} {b}");
            }
        }
    }

    #[test]
    fn duplicates_are_found_in_short_and_long_arrays() {
        for length in [3_u64, 8, 9, 1_000] {
            let mut items: Vec<Value> = (0..length).map(|n| json!({"n": n})).collect();
            assert_eq!(duplicates(&items, &mut steps()), Ok(None), "{length}");
            items.push(json!({"n": 1.0}));
            assert_eq!(duplicates(&items, &mut steps()), Ok(Some((1, length as usize))), "{length}");
        }
    }

    /// Integers that share their low 64 bits collide; the budget ends the quadratic comparison.
    #[test]
    fn colliding_items_cost_steps() {
        let items: Vec<Value> = (1..3_000).map(|n| json!(2_f64.powi(64) * f64::from(n))).collect();
        assert_eq!(duplicates(&items, &mut steps()), Err(Exhausted::Steps));
    }

    #[test]
    fn depth_is_bounded() {
        let mut deep = json!(1);
        for _ in 0..1_000 {
            deep = Value::Array(vec![deep]);
        }
        assert_eq!(equal(&deep, &deep, &mut steps()), Err(Exhausted::Depth));
        assert_eq!(hash(&deep, &mut steps(), DEPTH), Err(Exhausted::Depth));
    }
}
