//! Kubernetes quantities, such as `1.5Gi`.

use std::cmp::Ordering;

use crate::cel::eval::Evaluator;
use crate::cel::value::{Eval, EvalError, Val};

/// What binary quantities are capped at, in billionths.
const CAP: i128 = (i64::MAX as i128) * 1_000_000_000;

/// A quantity as the API server holds it. Which of the two it is decides whether it counts as an integer.
#[derive(Debug, Clone, Copy)]
pub(in crate::cel) enum Quantity {
    /// `value` times ten to the power of `scale`.
    Scaled { value: i64, scale: i32 },
    /// A number of billionths.
    Decimal(i128),
    /// Beyond any resource there is; only its size is known, roughly.
    Huge(f64),
}

pub(super) fn call<'a>(_: &mut Evaluator<'a, '_>, name: &str, args: &[Val<'a>]) -> Option<Eval<Val<'a>>> {
    Some(match (name, args) {
        ("isQuantity", [Val::Text(text)]) => Ok(Val::Bool(parse(text).is_some())),
        ("quantity", [Val::Text(text)]) => match parse(text) {
            Some(quantity) => Ok(Val::Quantity(quantity)),
            None => EvalError::failed("quantities must match the regular expression"),
        },
        ("isInteger", [Val::Quantity(quantity)]) => Ok(Val::Bool(quantity.as_integer().is_some())),
        ("asInteger", [Val::Quantity(quantity)]) => match quantity.as_integer() {
            Some(value) => Ok(Val::Int(value)),
            None => EvalError::failed("cannot convert value to integer"),
        },
        ("asApproximateFloat", [Val::Quantity(quantity)]) => Ok(Val::Double(quantity.as_float())),
        ("sign", [Val::Quantity(quantity)]) => Ok(Val::Int(quantity.sign())),
        ("isGreaterThan", [Val::Quantity(a), Val::Quantity(b)]) => {
            compared(*a, *b, |order| Val::Bool(order.is_gt()))
        }
        ("isLessThan", [Val::Quantity(a), Val::Quantity(b)]) => {
            compared(*a, *b, |order| Val::Bool(order.is_lt()))
        }
        ("compareTo", [Val::Quantity(a), Val::Quantity(b)]) => {
            compared(*a, *b, |order| Val::Int(order as i64))
        }
        ("add", [Val::Quantity(a), Val::Quantity(b)]) => sum(*a, Some(*b)),
        ("add", [Val::Quantity(a), Val::Int(b)]) => sum(*a, Some(Quantity::Scaled { value: *b, scale: 0 })),
        ("sub", [Val::Quantity(a), Val::Quantity(b)]) => sum(*a, b.negated()),
        ("sub", [Val::Quantity(a), Val::Int(b)]) => {
            sum(*a, Quantity::Scaled { value: *b, scale: 0 }.negated())
        }
        _ => return None,
    })
}

fn too_large() -> EvalError {
    EvalError::Unsupported("a quantity is too large to be computed with here".to_owned())
}

fn compared<'a>(a: Quantity, b: Quantity, result: fn(Ordering) -> Val<'a>) -> Eval<Val<'a>> {
    a.compare(b).map(result)
}

fn sum<'a>(a: Quantity, b: Option<Quantity>) -> Eval<Val<'a>> {
    b.and_then(|b| a.plus(b)).map(Val::Quantity).ok_or_else(too_large)
}

impl Quantity {
    fn as_integer(self) -> Option<i64> {
        match self {
            Quantity::Scaled { value, scale } => {
                value.checked_mul(10_i64.checked_pow(u32::try_from(scale).ok()?)?)
            }
            Quantity::Decimal(_) | Quantity::Huge(_) => None,
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "the result is an approximation by name")]
    fn as_float(self) -> f64 {
        match self {
            Quantity::Scaled { value, scale: 0 } => value as f64,
            Quantity::Scaled { value, scale } => value as f64 * 10_f64.powi(scale),
            Quantity::Decimal(billionths) => billionths as f64 * 1e-9,
            Quantity::Huge(value) => value,
        }
    }

    fn sign(self) -> i64 {
        match self {
            Quantity::Scaled { value, .. } => value.signum(),
            Quantity::Decimal(billionths) => i64::try_from(billionths.signum()).unwrap_or_default(),
            Quantity::Huge(value) => {
                if value < 0.0 {
                    -1
                } else {
                    1
                }
            }
        }
    }

    fn negated(self) -> Option<Quantity> {
        Some(match self {
            Quantity::Scaled { value, scale } => Quantity::Scaled { value: value.checked_neg()?, scale },
            Quantity::Decimal(billionths) => Quantity::Decimal(billionths.checked_neg()?),
            Quantity::Huge(value) => Quantity::Huge(-value),
        })
    }

    fn billionths(self) -> Option<i128> {
        match self {
            Quantity::Scaled { value, scale } => {
                i128::from(value).checked_mul(10_i128.checked_pow(u32::try_from(scale + 9).ok()?)?)
            }
            Quantity::Decimal(billionths) => Some(billionths),
            Quantity::Huge(_) => None,
        }
    }

    fn plus(self, other: Quantity) -> Option<Quantity> {
        if let (Quantity::Scaled { value, scale }, Quantity::Scaled { value: more, scale: other_scale }) =
            (self, other)
        {
            if more == 0 {
                return Some(self);
            }
            if value == 0 {
                return Some(other);
            }
            let common = scale.min(other_scale);
            let raise = |value: i64, scale: i32| {
                value.checked_mul(10_i64.checked_pow(u32::try_from(scale - common).ok()?)?)
            };
            if let (Some(a), Some(b)) = (raise(value, scale), raise(more, other_scale))
                && let Some(value) = a.checked_add(b)
            {
                return Some(Quantity::Scaled { value, scale: common });
            }
        }
        self.billionths()?.checked_add(other.billionths()?).map(Quantity::Decimal)
    }

    pub(in crate::cel) fn compare(self, other: Quantity) -> Eval<Ordering> {
        match (self.billionths(), other.billionths()) {
            (Some(a), Some(b)) => Ok(a.cmp(&b)),
            (None, None) => Err(too_large()),
            // One of them is far beyond the other: a float tells them apart.
            _ => Ok(self.as_float().total_cmp(&other.as_float())),
        }
    }
}

fn parse(text: &str) -> Option<Quantity> {
    if text.is_empty() {
        return None;
    }
    let (negative, rest) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = rest.trim_start_matches('0');
    let (whole, rest) = rest.split_at_checked(digits(rest)).unwrap_or((rest, ""));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at_checked(digits(rest)).unwrap_or((rest, "")),
        None => ("", rest),
    };
    let unit = Unit::of(suffix)?;
    let whole = if whole.is_empty() { "0" } else { whole };
    let quantity = scaled(whole, fraction, unit)
        .or_else(|| decimal(whole, fraction, unit))
        .unwrap_or_else(|| huge(whole, fraction, unit));
    if negative { quantity.negated() } else { Some(quantity) }
}

/// A size where digits no longer fit; a binary quantity is capped long before.
fn huge(whole: &str, fraction: &str, unit: Unit) -> Quantity {
    match unit {
        Unit::Binary(_) => Quantity::Decimal(CAP),
        Unit::Decimal(exponent) => {
            let text = format!("{whole}.{fraction}0e{exponent}");
            Quantity::Huge(text.parse().unwrap_or(f64::INFINITY))
        }
    }
}

#[derive(Clone, Copy)]
enum Unit {
    Decimal(i32),
    Binary(u32),
}

impl Unit {
    fn of(suffix: &str) -> Option<Unit> {
        const DECIMAL: [(&str, i32); 10] = [
            ("n", -9),
            ("u", -6),
            ("m", -3),
            ("", 0),
            ("k", 3),
            ("M", 6),
            ("G", 9),
            ("T", 12),
            ("P", 15),
            ("E", 18),
        ];
        const BINARY: [(&str, u32); 6] =
            [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
        if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
            return Some(Unit::Decimal(*exponent));
        }
        if let Some((_, exponent)) = BINARY.iter().find(|(name, _)| *name == suffix) {
            return Some(Unit::Binary(*exponent));
        }
        let exponent = suffix.strip_prefix(['e', 'E'])?;
        let sign = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if sign.is_empty() || !sign.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        exponent.parse().ok().map(Unit::Decimal)
    }
}

/// The short way: few enough digits for a 64-bit integer.
fn scaled(whole: &str, fraction: &str, unit: Unit) -> Option<Quantity> {
    let length = i32::try_from(whole.len() + fraction.len()).ok()?;
    let (scale, factor) = match unit {
        Unit::Decimal(exponent) if length <= 18 => {
            (exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?, 1)
        }
        Unit::Binary(exponent) if fraction.is_empty() => {
            let room = 15 - i32::try_from(whole.len()).ok()? - i32::try_from(exponent * 3 / 10).ok()? - 1;
            if room < 0 {
                return None;
            }
            (0, 1_i64 << exponent)
        }
        _ => return None,
    };
    if scale < -9 {
        return None;
    }
    let value: i64 = format!("{whole}{fraction}").parse().ok()?;
    Some(Quantity::Scaled { value: value.checked_mul(factor)?, scale })
}

/// The long way: rounded up to a billionth, and binary quantities capped.
fn decimal(whole: &str, fraction: &str, unit: Unit) -> Option<Quantity> {
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let (digits, shift) = match unit {
        Unit::Decimal(exponent) => (digits, exponent),
        Unit::Binary(exponent) => {
            (digits.checked_shl(exponent).filter(|value| value >> exponent == digits)?, 0)
        }
    };
    let shift = shift.checked_add(9)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let billionths = if let Ok(up) = u32::try_from(shift) {
        digits.checked_mul(10_i128.checked_pow(up)?)?
    } else {
        let Some(divisor) = 10_i128.checked_pow(shift.unsigned_abs()) else {
            return Some(Quantity::Decimal(1));
        };
        digits.div_euclid(divisor) + i128::from(digits.rem_euclid(divisor) != 0)
    };
    Some(Quantity::Decimal(match unit {
        Unit::Binary(_) => billionths.min(CAP),
        Unit::Decimal(_) => billionths,
    }))
}
