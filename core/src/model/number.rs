//! A JSON number that is read without loss.

use std::cmp::Ordering;
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::Json;

/// A JSON number. What neither `i64` nor `f64` can carry keeps its spelling, so that it is written as it came.
///
/// Compared by value. Ordering falls back to `f64` where the two are not both integers of 64 bits.
#[derive(Clone)]
pub struct Number(Repr);

#[derive(Clone)]
enum Repr {
    Int(i64),
    Float(f64),
    /// A number whose text neither of the others would reproduce: too long, or spelled otherwise.
    Text(Box<str>),
}

impl Number {
    /// A finite number; NaN and infinities have no JSON.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        // Up to here every integer is exact in both types, and `1` reads better than `1.0`.
        const EXACT: f64 = 9_007_199_254_740_992.0;

        if !value.is_finite() {
            return None;
        }
        Some(Self(if value.fract() == 0.0 && value.abs() <= EXACT {
            Repr::Int(value as i64)
        } else {
            Repr::Float(value)
        }))
    }

    /// The value, rounded where `f64` cannot carry it; infinite where it is beyond the range of `f64`.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        match &self.0 {
            Repr::Int(value) => *value as f64,
            Repr::Float(value) => *value,
            // The text was checked to be a number when it was read.
            Repr::Text(text) => text.parse().unwrap_or(f64::NAN),
        }
    }

    /// The value, where it is an integer of 64 bits (`3`, `3.0`, `3e0`).
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        // One more than `i64::MAX`, and exactly `i64::MIN`.
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;

        match &self.0 {
            Repr::Int(value) => Some(*value),
            Repr::Float(_) | Repr::Text(_) => {
                let value = self.as_f64();
                // Integers beyond 64 bits and long decimals that only round to an integer are none.
                let integral = value.fract() == 0.0 && (-LIMIT..LIMIT).contains(&value);
                (integral && self.is_short()).then_some(value as i64)
            }
        }
    }

    /// The value as a non-negative integer: fractions are cut, what is below zero is zero, what is above is the
    /// greatest `u64`.
    #[must_use]
    pub fn saturating_u64(&self) -> u64 {
        match &self.0 {
            Repr::Int(value) => u64::try_from(*value).unwrap_or(0),
            // `as` cuts and saturates; NaN, which cannot be read, would be zero.
            Repr::Float(_) | Repr::Text(_) => self.as_f64() as u64,
        }
    }

    /// Whether `f64` carries the number without rounding, as far as the count of its digits tells.
    fn is_short(&self) -> bool {
        /// Decimal digits that `f64` always carries.
        const DIGITS: usize = 15;

        match &self.0 {
            Repr::Int(_) | Repr::Float(_) => true,
            Repr::Text(text) => {
                let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
                mantissa.bytes().filter(u8::is_ascii_digit).count() <= DIGITS
            }
        }
    }

    fn parse(text: &str) -> Option<Self> {
        if !text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return None;
        }
        if let Ok(value) = text.parse::<i64>() {
            // `-0` is a number of its own.
            if text != "-0" {
                return Some(Self(Repr::Int(value)));
            }
        }
        let value: f64 = text.parse().ok()?;
        // Infinity is written as `null`, and so is never the same.
        let same = serde_json::to_string(&value).is_ok_and(|written| written == text);
        Some(Self(if same { Repr::Float(value) } else { Repr::Text(text.into()) }))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Int(a), Repr::Int(b)) => a == b,
            (Repr::Text(a), Repr::Text(b)) if a == b => true,
            _ => self.is_short() == other.is_short() && self.as_f64() == other.as_f64(),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (&self.0, &other.0) {
            (Repr::Int(a), Repr::Int(b)) => Some(a.cmp(b)),
            _ if self == other => Some(Ordering::Equal),
            _ => self.as_f64().partial_cmp(&other.as_f64()),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Int(value) => write!(f, "{value}"),
            Repr::Float(value) => write!(f, "{value}"),
            Repr::Text(text) => f.write_str(text),
        }
    }
}

macro_rules! from_integers {
    ($($small:ty)*; $($big:ty)*) => {
        $(impl From<$small> for Number {
            fn from(value: $small) -> Self {
                Self(Repr::Int(i64::from(value)))
            }
        })*
        $(impl From<$big> for Number {
            fn from(value: $big) -> Self {
                Self(match i64::try_from(value) {
                    Ok(small) => Repr::Int(small),
                    Err(_) => Repr::Text(value.to_string().into()),
                })
            }
        })*
    };
}

from_integers!(i8 i16 i32 i64 u8 u16 u32; u64 usize isize i128 u128);

/// Infinities become the greatest and the least finite number, NaN becomes zero: JSON has neither. Use
/// [`Number::from_f64`] to tell them apart.
impl From<f64> for Number {
    fn from(value: f64) -> Self {
        let finite = if value.is_nan() { 0.0 } else { value.clamp(f64::MIN, f64::MAX) };
        Self::from_f64(finite).unwrap_or(Self(Repr::Int(0)))
    }
}

impl From<f32> for Number {
    fn from(value: f32) -> Self {
        Self::from(f64::from(value))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Repr::Int(value) => serializer.serialize_i64(*value),
            Repr::Float(value) => serializer.serialize_f64(*value),
            Repr::Text(text) => Json::from_validated(text.as_bytes().to_vec().into()).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        Self::parse(json.get()).ok_or_else(|| D::Error::custom("invalid type: expected a number"))
    }
}
