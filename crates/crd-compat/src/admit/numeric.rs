//! Bounds, multiples and number formats.
//!
//! Bounds are floats in a definition. Against an integer value, Go compares integers: the bound is cut to
//! one first. And a bound that does not fit the type of the field refuses every value.

use super::Findings;
use super::format::Format;
use super::number::{self, Num};
use super::path::FieldPath;
use crate::schema::{Schema, SchemaType};

pub(super) fn check(
    value: Num,
    schema: &Schema,
    format: Option<Format>,
    path: &FieldPath,
    out: &mut Findings,
) {
    let range = Range::of(schema, format);
    if !range.holds(value) {
        out.violate(path, "format", format!("Invalid value: Checked value must be of type {}", range.name()));
    }
    if let Some(factor) = schema.multiple_of {
        range.vet(factor, "MultipleOf", path, out);
        check_multiple(value, factor, path, out);
    }
    if let Some(limit) = schema.minimum {
        range.vet(limit, "Minimum boundary", path, out);
        let exclusive = schema.exclusive_minimum;
        let below = match value {
            Num::Int(value) => {
                let limit = number::to_int(limit);
                value < limit || (exclusive && value == limit)
            }
            Num::Float(value) => value < limit || (exclusive && value <= limit),
        };
        if below {
            let relation = if exclusive { "greater than" } else { "greater than or equal to" };
            let message =
                format!("Invalid value: {}: {path} in body should be {relation} {limit}", value.as_f64());
            out.violate(path, "minimum", message);
        }
    }
    if let Some(limit) = schema.maximum {
        range.vet(limit, "Maximum boundary", path, out);
        let exclusive = schema.exclusive_maximum;
        let above = match value {
            Num::Int(value) => {
                let limit = number::to_int(limit);
                value > limit || (exclusive && value == limit)
            }
            Num::Float(value) => value > limit || (exclusive && value >= limit),
        };
        if above {
            let relation = if exclusive { "less than" } else { "less than or equal to" };
            let message =
                format!("Invalid value: {}: {path} in body should be {relation} {limit}", value.as_f64());
            out.violate(path, "maximum", message);
        }
    }
}

fn check_multiple(value: Num, factor: f64, path: &FieldPath, out: &mut Findings) {
    let multiple = match value {
        Num::Int(value) => {
            let factor = number::to_int(factor);
            factor > 0 && value % factor == 0
        }
        Num::Float(value) if factor > 0.0 => {
            number::is_integral(if factor < 1.0 { 1.0 / factor * value } else { value / factor })
        }
        Num::Float(_) => false,
    };
    if !multiple {
        let message =
            format!("Invalid value: {}: {path} in body should be a multiple of {factor}", value.as_f64());
        out.violate(path, "multipleOf", message);
    }
}

/// What numbers the type and format of a field can hold.
#[derive(Clone, Copy)]
enum Range {
    Int32,
    Int64,
    Float32,
    Any,
}

impl Range {
    fn of(schema: &Schema, format: Option<Format>) -> Range {
        if schema.int_or_string {
            return Range::Any;
        }
        match (schema.type_, format) {
            (Some(SchemaType::Integer), Some(Format::Int32)) => Range::Int32,
            (Some(SchemaType::Integer), _) => Range::Int64,
            (Some(SchemaType::Number), Some(Format::Float)) => Range::Float32,
            _ => Range::Any,
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "whether the value survives the cast is the question")]
    fn holds(self, value: Num) -> bool {
        match (self, value) {
            (Range::Int32, Num::Int(value)) => i32::try_from(value).is_ok(),
            (Range::Int32, Num::Float(value)) => {
                value.fract() == 0.0 && i32::try_from(number::to_int(value)).is_ok()
            }
            (Range::Int64, Num::Float(value)) => {
                value.fract() == 0.0 && value.abs() < 9_223_372_036_854_775_808.0
            }
            (Range::Float32, value) => (value.as_f64() as f32).is_finite(),
            (Range::Int64, Num::Int(_)) | (Range::Any, _) => true,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Range::Int32 => "integer with format int32",
            Range::Int64 => "integer (default format)",
            Range::Float32 => "number with format float",
            Range::Any => "number (default format)",
        }
    }

    /// Refuses every value where the bound itself is out of range.
    fn vet(self, bound: f64, what: &str, path: &FieldPath, out: &mut Findings) {
        if !self.holds(Num::Float(bound)) {
            out.violate(
                path,
                "format",
                format!("Invalid value: {what} value must be of type {}", self.name()),
            );
        }
    }
}
