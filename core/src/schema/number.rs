//! Numbers as JSON Schema sees them: by value, not by spelling or width.

use std::cmp::Ordering;

use serde_json::Number;

/// Integers below this are exact as `i128` and far above every `u64`; floats beyond it are larger than any of them.
const INTEGER_RANGE: f64 = 1e30;

/// Whether the value has no fraction: `1`, `1.0`, `1e3`.
pub(super) fn is_integer(number: &Number) -> bool {
    is_spelled_as_integer(number) || number.as_f64().is_some_and(|n| n.fract() == 0.0)
}

/// Whether the number is written without fraction and exponent, as far as that is known: beyond 64 bits the
/// spelling is lost, and whoever writes such a number without fraction means an integer.
pub(super) fn is_spelled_as_integer(number: &Number) -> bool {
    number.is_i64()
        || number.is_u64()
        || exact(number).is_some_and(|n| i64::try_from(n).is_err())
        || float(number).abs() >= INTEGER_RANGE
}

/// Compares two numbers by value.
pub(super) fn compare(a: &Number, b: &Number) -> Ordering {
    match (exact(a), exact(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(a), None) => compare_mixed(a, float(b)),
        (None, Some(b)) => compare_mixed(b, float(a)).reverse(),
        (None, None) => float(a).partial_cmp(&float(b)).unwrap_or(Ordering::Equal),
    }
}

/// The integer that `number` equals, if it equals one of moderate size.
pub(super) fn exact(number: &Number) -> Option<i128> {
    let small = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    small.or_else(|| {
        let float = float(number);
        (float.fract() == 0.0 && float.abs() < INTEGER_RANGE).then_some(float as i128)
    })
}

/// The nearest float; JSON has no NaN.
pub(super) fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::MAX)
}

fn compare_mixed(integer: i128, float: f64) -> Ordering {
    if float >= INTEGER_RANGE {
        return Ordering::Less;
    }
    if float <= -INTEGER_RANGE {
        return Ordering::Greater;
    }
    // Within the range the conversion is exact for the whole part.
    integer.cmp(&(float.trunc() as i128)).then_with(|| 0.0.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal))
}

/// The value of `multipleOf`.
#[derive(Debug)]
pub(super) struct Divisor {
    pub(super) number: Number,
    integer: Option<i128>,
    decimal: Option<Decimal>,
}

impl Divisor {
    pub(super) fn new(number: Number) -> Self {
        let integer = exact(&number).filter(|integer| *integer > 0);
        let decimal = Decimal::of(&number);
        Self { number, integer, decimal }
    }

    /// Whether `number` is a multiple, in decimal arithmetic: `0.3` is one of `0.1`.
    pub(super) fn divides(&self, number: &Number) -> bool {
        if let (Some(value), Some(divisor)) = (exact(number), self.integer) {
            return value % divisor == 0;
        }
        match (Decimal::of(number), &self.decimal) {
            (Some(value), Some(divisor)) => value.is_multiple_of(divisor),
            _ => float(number) % float(&self.number) == 0.0,
        }
    }
}

/// `mantissa × 10^exponent`, without sign.
#[derive(Debug)]
struct Decimal {
    mantissa: u64,
    exponent: i32,
}

impl Decimal {
    /// Reads the shortest decimal spelling; `None` if it has more digits than a float or a 64-bit integer needs.
    fn of(number: &Number) -> Option<Self> {
        let text = number.to_string();
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
            None => (text.as_str(), 0),
        };
        let (whole, fraction) = digits.trim_start_matches('-').split_once('.').unwrap_or((digits, ""));
        let mut mantissa = 0_u64;
        for digit in whole.trim_start_matches('-').chars().chain(fraction.chars()) {
            mantissa = mantissa.checked_mul(10)?.checked_add(u64::from(digit.to_digit(10)?))?;
        }
        let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        Some(Self { mantissa, exponent })
    }

    fn is_multiple_of(&self, divisor: &Self) -> bool {
        if self.mantissa == 0 || divisor.mantissa == 0 {
            return self.mantissa == 0;
        }
        let (value, modulus) = (u128::from(self.mantissa), u128::from(divisor.mantissa));
        let shift = i64::from(self.exponent) - i64::from(divisor.exponent);
        if shift >= 0 {
            return (value % modulus * power_of_ten(shift.unsigned_abs(), modulus)).is_multiple_of(modulus);
        }
        let scaled = u32::try_from(-shift).ok().and_then(|shift| 10_u128.checked_pow(shift));
        // A divisor too large to be written down is larger than the value.
        scaled.and_then(|scale| modulus.checked_mul(scale)).is_some_and(|modulus| value % modulus == 0)
    }
}

/// `10^exponent mod modulus`; the modulus fits 64 bits, so no product overflows.
fn power_of_ten(mut exponent: u64, modulus: u128) -> u128 {
    let (mut base, mut result) = (10 % modulus, 1 % modulus);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * base % modulus;
        }
        base = base * base % modulus;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).expect("a number")
    }

    #[test]
    fn compares_by_value_across_spellings() {
        for (a, b, expected) in [
            ("1", "1.0", Ordering::Equal),
            ("1", "1.5", Ordering::Less),
            ("-1", "-1.5", Ordering::Greater),
            ("18446744073709551615", "1e19", Ordering::Greater),
            ("9007199254740993", "9007199254740992.0", Ordering::Greater),
            ("1e300", "18446744073709551615", Ordering::Greater),
            ("-1e300", "-9223372036854775808", Ordering::Less),
            ("0", "-0.0", Ordering::Equal),
            ("0.1", "0.2", Ordering::Less),
        ] {
            assert_eq!(compare(&number(a), &number(b)), expected, "{a} {b}");
            assert_eq!(compare(&number(b), &number(a)), expected.reverse(), "{b} {a}");
        }
    }

    #[test]
    fn multiples_are_decimal() {
        for (value, divisor, expected) in [
            ("0.3", "0.1", true),
            ("0.0075", "0.0001", true),
            ("0.00751", "0.0001", false),
            ("12391239123", "1e-8", true),
            ("1e308", "0.123456789", false),
            ("1e308", "0.5", true),
            ("10", "2", true),
            ("-7", "2", false),
            ("-4.5", "1.5", true),
            ("4.5", "1.5", true),
            ("1.5", "1e300", false),
            ("0.0", "3", true),
            ("9", "4.5", true),
            ("5e-324", "5e-324", true),
        ] {
            assert_eq!(Divisor::new(number(divisor)).divides(&number(value)), expected, "{value} {divisor}");
        }
    }

    #[test]
    fn integers_are_told_by_value() {
        for (text, expected) in [("1", true), ("1.0", true), ("1e3", true), ("1.5", false), ("1e400", false)] {
            let Ok(number) = serde_json::from_str::<Number>(text) else {
                assert!(!expected, "{text}");
                continue;
            };
            assert_eq!(is_integer(&number), expected, "{text}");
        }
    }
}
