//! JSON numbers as the API server holds them: a 64-bit integer where the text is one, a float otherwise.

use serde_json::{Number, Value};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Num {
    Int(i64),
    Float(f64),
}

impl Num {
    pub(crate) fn of(number: &Number) -> Num {
        match number.as_i64() {
            Some(int) => Num::Int(int),
            None => Num::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "Go loses the same digits in the same place")]
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Num::Int(int) => int as f64,
            Num::Float(float) => float,
        }
    }
}

/// Go's conversion on amd64: what does not fit becomes the smallest integer.
#[allow(clippy::cast_possible_truncation, reason = "range is checked before the cast")]
pub(crate) fn to_int(float: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&float) { float as i64 } else { i64::MIN }
}

/// Whether the API server takes a float for an integer. It allows a relative error, for positive values.
pub(crate) fn is_integral(float: f64) -> bool {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    const EPSILON: f64 = 1e-9;
    if !float.is_finite() || float.abs() > LARGEST {
        return false;
    }
    let whole = float.trunc();
    if float.total_cmp(&whole).is_eq() || (float == 0.0) {
        return true;
    }
    float > 0.0 && whole > 0.0 && (float - whole) / (float + whole) < EPSILON
}

/// How a value written in a definition reads back: floats without a fraction return as integers, because
/// the definition is stored as JSON without the point.
pub(crate) fn stored(value: &Value) -> Value {
    match value {
        Value::Number(number) => match Num::of(number) {
            Num::Float(float) if float.fract() == 0.0 && float.abs() < 9.2e18 => Value::from(to_int(float)),
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(stored).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), stored(value))).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{is_integral, stored, to_int};

    #[test]
    fn floats_near_a_positive_integer_count_as_one() {
        for (float, integral) in [
            (3.0, true),
            (-3.0, true),
            (0.0, true),
            (3.000_000_000_1, true),
            (3.000_1, false),
            (2.999_999_999_9, false),
            (-3.000_000_000_1, false),
            (0.5, false),
            (1e18, false),
            (f64::INFINITY, false),
        ] {
            assert_eq!(is_integral(float), integral, "{float}");
        }
    }

    #[test]
    fn a_float_too_large_becomes_the_smallest_integer() {
        assert_eq!(
            (to_int(1e300), to_int(-1e300), to_int(f64::NAN), to_int(1.9)),
            (i64::MIN, i64::MIN, i64::MIN, 1)
        );
    }

    #[test]
    fn a_definition_forgets_the_point_of_whole_floats() {
        assert_eq!(stored(&json!({"a": [1.0, 1.5, "x"]})), json!({"a": [1, 1.5, "x"]}));
    }
}
