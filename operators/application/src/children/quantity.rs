//! Amounts of resources, written as the API server writes them.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// An amount such as `500m` or `128Mi`.
///
/// Its text is the API server's: `0.5` is `500m`, `1024Mi` is `1Gi`, `1000` is `1k`. What is finer than a
/// billionth is rounded up, as there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Billionths.
    nanos: i128,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `m`, `k`, `M`.
    Decimal,
    /// `e3`.
    Exponent,
    /// `Ki`, `Mi`.
    Binary,
}

/// A text that is no amount.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// The number is missing or has other characters in it.
    #[error("it must begin with a number")]
    Number,
    /// What follows the number is no unit.
    #[error("{0:?} is no unit; the units are m, k, M, G, T, P, E and Ki, Mi, Gi, Ti, Pi, Ei")]
    Unit(String),
    /// It is less than nothing.
    #[error("it is negative")]
    Negative,
    /// It is more than the API server counts.
    #[error("it is too large")]
    TooLarge,
}

const NANO: i128 = 1_000_000_000;

/// The API server keeps 63 bits.
const LARGEST: i128 = (i64::MAX as i128) * NANO;

impl Quantity {
    /// Whether it is more than another amount.
    pub fn exceeds(&self, other: &Quantity) -> bool {
        self.nanos > other.nanos
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Quantity, QuantityError> {
        let unsigned = text.strip_prefix('+').unwrap_or(text);
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, unit) = unsigned.split_at(end);
        if unsigned.starts_with('-') {
            return Err(QuantityError::Negative);
        }
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(QuantityError::Number);
        }
        let (format, numerator, power) = unit_of(unit)?;
        let digits = format!("{whole}{fraction}");
        let digits = digits.trim_start_matches('0');
        let mantissa: i128 = if digits.is_empty() {
            0
        } else if digits.len() > 30 {
            return Err(QuantityError::TooLarge);
        } else {
            digits.parse().map_err(|_| QuantityError::Number)?
        };
        // mantissa × numerator × 10^exponent billionths
        let places = i32::try_from(fraction.len()).map_err(|_| QuantityError::TooLarge)?;
        let exponent = power + 9 - places;
        let scaled = mantissa.checked_mul(numerator).ok_or(QuantityError::TooLarge)?;
        let nanos = scale(scaled, exponent).ok_or(QuantityError::TooLarge)?;
        if nanos > LARGEST {
            return Err(QuantityError::TooLarge);
        }
        Ok(Quantity { nanos, format })
    }
}

/// The format a unit stands for, and what it multiplies by: a number, and a power of ten.
fn unit_of(unit: &str) -> Result<(Format, i128, i32), QuantityError> {
    let wrong = || QuantityError::Unit(unit.to_owned());
    let binary = |power: u32| Ok((Format::Binary, 1_i128 << (10 * power), 0));
    match unit {
        "" => Ok((Format::Decimal, 1, 0)),
        "n" => Ok((Format::Decimal, 1, -9)),
        "u" => Ok((Format::Decimal, 1, -6)),
        "m" => Ok((Format::Decimal, 1, -3)),
        "k" => Ok((Format::Decimal, 1, 3)),
        "M" => Ok((Format::Decimal, 1, 6)),
        "G" => Ok((Format::Decimal, 1, 9)),
        "T" => Ok((Format::Decimal, 1, 12)),
        "P" => Ok((Format::Decimal, 1, 15)),
        "E" => Ok((Format::Decimal, 1, 18)),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => {
            let power = unit.strip_prefix(['e', 'E']).ok_or_else(wrong)?;
            let digits = power.strip_prefix(['+', '-']).unwrap_or(power);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(wrong());
            }
            let power: i32 = power.parse().map_err(|_| wrong())?;
            Ok((Format::Exponent, 1, power))
        }
    }
}

/// `value` × 10^`exponent`, rounded up; none when it is too large.
fn scale(value: i128, exponent: i32) -> Option<i128> {
    if value == 0 {
        return Some(0);
    }
    let power = 10_i128.checked_pow(exponent.unsigned_abs());
    if exponent >= 0 {
        return value.checked_mul(power?);
    }
    // Smaller than any power that fits is still more than nothing.
    let Some(power) = power else { return Some(1) };
    Some(value / power + i128::from(value % power != 0))
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        if self.format == Format::Binary && self.nanos % NANO == 0 && self.nanos >= 1024 * NANO {
            let (mut value, mut power) = (self.nanos / NANO, 0);
            while value % 1024 == 0 && power < 6 {
                value /= 1024;
                power += 1;
            }
            return write!(f, "{value}{}", ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][power]);
        }
        let (mut value, mut power) = (self.nanos, 0);
        while value % 1000 == 0 && power < 9 {
            value /= 1000;
            power += 1;
        }
        if self.format == Format::Exponent {
            let exponent = power * 3 - 9;
            return if exponent == 0 { write!(f, "{value}") } else { write!(f, "{value}e{exponent}") };
        }
        let units = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
        write!(f, "{value}{}", units.get(usize::try_from(power).unwrap_or_default()).unwrap_or(&""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_are_written_as_the_api_server_writes_them() {
        for (given, canonical) in [
            ("0.5", "500m"),
            ("500m", "500m"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("2", "2"),
            ("1000", "1k"),
            ("1500", "1500"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Gi", "512Mi"),
            ("1000Ki", "1000Ki"),
            ("0.5Ki", "512"),
            ("128974848", "128974848"),
            ("129e6", "129e6"),
            ("1e3", "1e3"),
            ("1500e-3", "1500e-3"),
            ("129M", "129M"),
            ("0", "0"),
            ("0.0Mi", "0"),
            ("+5", "5"),
            (".5", "500m"),
            ("5.", "5"),
            ("1E", "1E"),
            ("0.1n", "1n"),
            ("007", "7"),
        ] {
            assert_eq!(
                given.parse::<Quantity>().map(|found| found.to_string()),
                Ok(canonical.to_owned()),
                "{given}"
            );
        }
    }

    #[test]
    fn what_is_no_amount_is_refused_with_the_reason() {
        let wrong = |text: &str| text.parse::<Quantity>().unwrap_err();
        assert_eq!(wrong(""), QuantityError::Number);
        assert_eq!(wrong("Mi"), QuantityError::Number);
        assert_eq!(wrong("."), QuantityError::Number);
        assert_eq!(wrong("1.2.3"), QuantityError::Number);
        assert_eq!(wrong("-1"), QuantityError::Negative);
        assert_eq!(wrong("128mb"), QuantityError::Unit("mb".to_owned()));
        assert_eq!(wrong("1 Gi"), QuantityError::Unit(" Gi".to_owned()));
        assert_eq!(wrong("1e"), QuantityError::Unit("e".to_owned()));
        assert_eq!(wrong("16Ei"), QuantityError::TooLarge);
        assert_eq!(wrong(&"9".repeat(40)), QuantityError::TooLarge);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_as_the_same_amount(text in "[0-9]{1,6}(\\.[0-9]{1,3})?(m|k|M|G|Ki|Mi|Gi|e3|)") {
            let once: Quantity = text.parse().unwrap();
            let again: Quantity = once.to_string().parse().unwrap();
            prop_assert_eq!(once.nanos, again.nanos);
            prop_assert_eq!(once.to_string(), again.to_string());
        }

        #[test]
        fn no_text_brings_the_parser_down(text in "\\PC{0,20}") {
            let _ = text.parse::<Quantity>();
        }
    }
}
