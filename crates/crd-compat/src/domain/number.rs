//! Numbers between bounds and their multiples.

use serde_json::{Number, Value};

use super::Search;
use crate::node::{Bound, Facts, Kinds};

/// The largest `f64` below 2^63: the API server holds integers in 64 bits and compares them as `f64`.
const LARGEST: f64 = 9_223_372_036_854_774_784.0;

/// How many multiples are tried before giving up.
const TRIES: u32 = 4096;

/// The numbers a place allows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Numbers {
    lower: Bound,
    upper: Bound,
    whole: bool,
    multiples: Vec<f64>,
}

impl Numbers {
    /// The numbers the facts allow, whatever else they allow.
    pub(crate) fn of(facts: &Facts<'_>) -> Numbers {
        let whole = !facts.kinds.has(Kinds::FRACTION);
        let mut numbers = Numbers {
            lower: facts.lower.unwrap_or(Bound { value: f64::MIN, exclusive: false }),
            upper: facts.upper.unwrap_or(Bound { value: f64::MAX, exclusive: false }),
            whole,
            multiples: facts.multiples.clone(),
        };
        let range = match () {
            () if whole && facts.formats.contains("int32") => Some(f64::from(i32::MAX)),
            () if whole => Some(LARGEST),
            () if facts.formats.contains("float") => Some(f64::from(f32::MAX)),
            () => None,
        };
        if let Some(range) = range {
            let floor = if facts.formats.contains("int32") && whole { -range - 1.0 } else { -range };
            numbers = numbers.at_least(Bound { value: floor, exclusive: false });
            numbers = numbers.at_most(Bound { value: range, exclusive: false });
        }
        numbers
    }

    fn at_least(mut self, bound: Bound) -> Numbers {
        if bound.value > self.lower.value || (same(bound.value, self.lower.value) && bound.exclusive) {
            self.lower = bound;
        }
        self
    }

    fn at_most(mut self, bound: Bound) -> Numbers {
        if bound.value < self.upper.value || (same(bound.value, self.upper.value) && bound.exclusive) {
            self.upper = bound;
        }
        self
    }

    /// A number below `bound`.
    pub(crate) fn below(&self, bound: Bound) -> Search<f64> {
        self.clone().at_most(Bound { value: bound.value, exclusive: !bound.exclusive }).highest()
    }

    /// A number above `bound`.
    pub(crate) fn above(&self, bound: Bound) -> Search<f64> {
        self.clone().at_least(Bound { value: bound.value, exclusive: !bound.exclusive }).lowest()
    }

    /// A number that is no multiple of `factor`.
    pub(crate) fn not_multiple_of(&self, factor: f64) -> Search<f64> {
        let divides = |value: f64| is_multiple(value, factor);
        if self.multiples.iter().copied().any(divides) || (self.whole && divides(1.0)) {
            return Search::Impossible;
        }
        // Between two neighbours that are multiples there is room only for fractions.
        let start = self.near_zero();
        let Search::Found(start) = start else { return start };
        let step = self.step().unwrap_or(factor / 2.0);
        let mut any_left = false;
        for direction in [1.0, -1.0] {
            for turn in 0..TRIES {
                let value = start + direction * step * f64::from(turn);
                if !self.contains(value) {
                    break;
                }
                if !divides(value) {
                    return Search::Found(value);
                }
                any_left |= turn + 1 == TRIES;
            }
        }
        if any_left || self.step().is_none() { Search::Unknown } else { Search::Impossible }
    }

    /// A number of the set, as near to zero as bounds allow.
    pub(crate) fn near_zero(&self) -> Search<f64> {
        if self.contains(0.0) {
            return Search::Found(0.0);
        }
        if self.lower.value >= 0.0 { self.lowest() } else { self.highest() }
    }

    /// Whether a number lies below the set.
    pub(crate) fn is_below(&self, value: f64) -> bool {
        if self.lower.exclusive { value <= self.lower.value } else { value < self.lower.value }
    }

    /// Whether a number lies above the set.
    pub(crate) fn is_above(&self, value: f64) -> bool {
        if self.upper.exclusive { value >= self.upper.value } else { value > self.upper.value }
    }

    /// Whether a number is in the set.
    pub(crate) fn contains(&self, value: f64) -> bool {
        !self.is_below(value)
            && !self.is_above(value)
            && (!self.whole || value.fract() == 0.0)
            && self.multiples.iter().all(|factor| is_multiple(value, *factor))
    }

    fn lowest(&self) -> Search<f64> {
        self.from(self.lower.value, 1.0)
    }

    fn highest(&self) -> Search<f64> {
        self.from(self.upper.value, -1.0)
    }

    /// The distance of neighbours, where they have one.
    fn step(&self) -> Option<f64> {
        let factors = self.multiples.iter().copied().chain(self.whole.then_some(1.0));
        factors.reduce(f64::max)
    }

    /// The first number from `edge` on.
    fn from(&self, edge: f64, direction: f64) -> Search<f64> {
        if self.contains(edge) {
            return Search::Found(edge);
        }
        let Some(step) = self.step() else { return self.fraction_from(edge, direction) };
        let first = if direction > 0.0 { (edge / step).ceil() } else { (edge / step).floor() };
        for turn in 0..TRIES {
            let value = (first + direction * f64::from(turn)) * step;
            if self.contains(value) {
                return Search::Found(value);
            }
            let beyond = if direction > 0.0 { value > self.upper.value } else { value < self.lower.value };
            if beyond {
                return Search::Impossible;
            }
        }
        Search::Unknown
    }

    /// A number near `edge` where there is always another one in between.
    fn fraction_from(&self, edge: f64, direction: f64) -> Search<f64> {
        if self.lower.value > self.upper.value
            || (same(self.lower.value, self.upper.value) && (self.lower.exclusive || self.upper.exclusive))
        {
            return Search::Impossible;
        }
        let middle = self.lower.value / 2.0 + self.upper.value / 2.0;
        [edge + direction, edge + direction / 2.0, middle]
            .into_iter()
            .find(|value| self.contains(*value))
            .map_or(Search::Unknown, Search::Found)
    }
}

/// Whether two limits are the same number.
pub(crate) fn same(one: f64, other: f64) -> bool {
    one.total_cmp(&other).is_eq() || (one - other).abs() == 0.0
}

/// Whether `value` is a multiple of `factor`, as far as floating point can tell.
pub(crate) fn is_multiple(value: f64, factor: f64) -> bool {
    let quotient = value / factor;
    (quotient - quotient.round()).abs() < 1e-9
}

/// A number as JSON writes it: whole ones without a fraction.
pub(crate) fn to_value(number: f64) -> Value {
    #[allow(clippy::cast_possible_truncation, reason = "whole and within 64 bits")]
    if number.fract() == 0.0 && number.abs() <= LARGEST {
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::node::Node;

    fn numbers(schema: &Value) -> Numbers {
        Numbers::of(&Node::of(schema).facts())
    }

    fn at(value: f64) -> Bound {
        Bound { value, exclusive: false }
    }

    #[test]
    fn the_next_whole_number_is_found() {
        let open = numbers(&json!({"type": "integer"}));
        assert_eq!(open.above(at(5.0)), Search::Found(6.0));
        assert_eq!(open.below(at(5.0)), Search::Found(4.0));
        assert_eq!(open.above(Bound { value: 5.0, exclusive: true }), Search::Found(5.0));
    }

    #[test]
    fn an_exclusive_zero_is_an_inclusive_one_among_integers() {
        let positive = numbers(&json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true}));
        assert_eq!(positive.below(at(1.0)), Search::Impossible);
        assert_eq!(positive.below(at(2.0)), Search::Found(1.0));
        let fractions = numbers(&json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}));
        assert_eq!(fractions.below(at(1.0)), Search::Found(0.5));
    }

    #[test]
    fn multiples_leave_gaps() {
        let tens = numbers(&json!({"type": "integer", "multipleOf": 10, "minimum": 0, "maximum": 40}));
        assert_eq!(tens.above(at(30.0)), Search::Found(40.0));
        assert_eq!(tens.above(at(40.0)), Search::Impossible);
        assert_eq!(tens.not_multiple_of(5.0), Search::Impossible);
        assert_eq!(tens.not_multiple_of(20.0), Search::Found(10.0));
        let few = numbers(&json!({"type": "integer", "minimum": 6, "maximum": 6}));
        assert_eq!(few.not_multiple_of(3.0), Search::Impossible);
        let any = numbers(&json!({"type": "number"}));
        assert_eq!(any.not_multiple_of(1.0), Search::Found(0.5));
    }

    #[test]
    fn int32_ends_where_the_api_server_ends_it() {
        let small = numbers(&json!({"type": "integer", "format": "int32"}));
        assert_eq!(small.above(at(2_147_483_647.0)), Search::Impossible);
        assert_eq!(small.below(at(-2_147_483_648.0)), Search::Impossible);
    }

    #[test]
    fn limits_beyond_exact_floats_are_still_limits() {
        let open = numbers(&json!({"type": "integer"}));
        assert_eq!(open.above(at(1e16)), Search::Found(10_000_000_000_000_002.0));
        assert_eq!(open.above(at(9_223_372_036_854_775_807.0)), Search::Impossible);
        assert_eq!(to_value(1e16), json!(10_000_000_000_000_000_i64));
    }

    #[test]
    fn a_set_nobody_can_enter_is_empty() {
        let none = numbers(&json!({"type": "integer", "minimum": 2, "maximum": 1}));
        assert_eq!(none.near_zero(), Search::Impossible);
        let none = numbers(&json!({"type": "number", "minimum": 1, "maximum": 1, "exclusiveMinimum": true}));
        assert_eq!(none.near_zero(), Search::Impossible);
        let odd = numbers(&json!({"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 6}));
        assert_eq!(odd.near_zero(), Search::Impossible);
    }

    #[test]
    fn negative_ranges_are_entered_from_above() {
        let cold = numbers(&json!({"type": "integer", "maximum": -3}));
        assert_eq!(cold.near_zero(), Search::Found(-3.0));
    }

    #[test]
    fn whole_numbers_are_written_whole() {
        assert_eq!(to_value(3.0), json!(3));
        assert_eq!(to_value(0.5), json!(0.5));
        assert_eq!(to_value(f64::NAN), Value::Null);
    }
}
