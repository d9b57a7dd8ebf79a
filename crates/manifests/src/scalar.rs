//! What a plain scalar means.

use serde_json::{Number, Value};

/// The value of an unquoted scalar, by the rules of the YAML reader that `kubectl` uses.
///
/// They are those of YAML 1.1 without base 60, and dates stay strings.
pub(crate) fn plain(text: &str) -> Result<Value, String> {
    let Some(first) = text.bytes().next() else { return Ok(Value::Null) };
    Ok(match first {
        b'y' | b'Y' | b't' | b'T' | b'o' | b'O' | b'n' | b'N' | b'f' | b'F' | b'~' => match text {
            "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
                Value::Bool(true)
            }
            "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
                Value::Bool(false)
            }
            "~" | "null" | "Null" | "NULL" => Value::Null,
            _ => Value::String(text.to_owned()),
        },
        b'.' | b'+' | b'-' | b'0'..=b'9' => return number(text),
        _ => Value::String(text.to_owned()),
    })
}

fn number(text: &str) -> Result<Value, String> {
    let unsigned = text.trim_start_matches(['+', '-']);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return Err(format!("{text} is a number that JSON cannot hold"));
    }
    let digits: String = text.chars().filter(|letter| *letter != '_').collect();
    if let Some(integer) = integer(&digits) {
        return Ok(Value::Number(integer));
    }
    if is_float(&digits) {
        return match digits.parse::<f64>().ok().and_then(Number::from_f64) {
            Some(number) => Ok(Value::Number(number)),
            None => Err(format!("{text} is a number that JSON cannot hold")),
        };
    }
    Ok(Value::String(text.to_owned()))
}

fn integer(digits: &str) -> Option<Number> {
    let (negative, magnitude) = match digits.as_bytes().first()? {
        b'-' => (true, &digits[1..]),
        b'+' => (false, &digits[1..]),
        _ => (false, digits),
    };
    let (radix, body) = match magnitude.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &magnitude[2..]),
        [b'0', b'o' | b'O', ..] => (8, &magnitude[2..]),
        [b'0', b'b' | b'B', ..] => (2, &magnitude[2..]),
        [b'0', _, ..] => (8, &magnitude[1..]),
        _ => (10, magnitude),
    };
    if body.is_empty() || body.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = u64::from_str_radix(body, radix).ok()?;
    if negative {
        // The smallest integer has no positive twin, so the magnitude is taken through a wider type.
        i64::try_from(-i128::from(magnitude)).ok().map(Number::from)
    } else {
        Some(Number::from(magnitude))
    }
}

/// Digits with a point or an exponent, as a floating point number is written.
fn is_float(text: &str) -> bool {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match body.find(['e', 'E']) {
        Some(place) => (&body[..place], Some(&body[place + 1..])),
        None => (body, None),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa = match mantissa.split_once('.') {
        Some((whole, fraction)) => {
            all_digits(whole) && all_digits(fraction) && !(whole.is_empty() && fraction.is_empty())
        }
        None => !mantissa.is_empty() && all_digits(mantissa),
    };
    let exponent = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    mantissa && exponent
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_scalars_mean_what_kubectl_takes_them_for() {
        for (text, value) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("null", json!(null)),
            ("nullish", json!("nullish")),
            ("yes", json!(true)),
            ("Off", json!(false)),
            ("n", json!(false)),
            ("oFF", json!("oFF")),
            ("0", json!(0)),
            ("-7", json!(-7)),
            ("+7", json!(7)),
            ("1_000", json!(1000)),
            ("0x1F", json!(31)),
            ("0777", json!(511)),
            ("0o17", json!(15)),
            ("-0b11", json!(-3)),
            ("089", json!(89.0)),
            ("18446744073709551615", json!(u64::MAX)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("18446744073709551616", json!(18_446_744_073_709_551_616.0)),
            ("1.5", json!(1.5)),
            (".5", json!(0.5)),
            ("5.", json!(5.0)),
            ("1e3", json!(1000.0)),
            ("-1.5E-2", json!(-0.015)),
            ("1e", json!("1e")),
            (".", json!(".")),
            ("-", json!("-")),
            ("--1", json!("--1")),
            ("1.2.3", json!("1.2.3")),
            ("2024-01-01", json!("2024-01-01")),
            ("12:30:45", json!("12:30:45")),
            ("0x", json!("0x")),
            ("v1", json!("v1")),
        ] {
            assert_eq!(plain(text).unwrap(), value, "{text}");
        }
        for text in [".inf", "-.Inf", ".nan", "1e999"] {
            assert!(plain(text).is_err(), "{text}");
        }
    }
}
