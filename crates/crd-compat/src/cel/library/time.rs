//! Times and durations.

use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use crate::cel::eval::Evaluator;
use crate::cel::value::{Eval, EvalError, Val};

/// Years CEL can hold.
const FIRST_SECOND: i64 = -62_135_596_800;
const LAST_SECOND: i64 = 253_402_300_799;

pub(super) fn call<'a>(_: &mut Evaluator<'a, '_>, name: &str, args: &[Val<'a>]) -> Option<Eval<Val<'a>>> {
    match args {
        [Val::Timestamp(time)] => part(name, *time, &TimeZone::UTC).map(Ok),
        [Val::Timestamp(time), Val::Text(zone)] if part(name, *time, &TimeZone::UTC).is_some() => {
            Some(time_zone(zone).map(|zone| part(name, *time, &zone).unwrap_or(Val::Null)))
        }
        [Val::Duration(nanoseconds)] => {
            let unit = match name {
                "getHours" => 3_600_000_000_000,
                "getMinutes" => 60_000_000_000,
                "getSeconds" => 1_000_000_000,
                "getMilliseconds" => 1_000_000,
                _ => return None,
            };
            Some(Ok(Val::Int(nanoseconds / unit)))
        }
        _ => None,
    }
}

fn part<'a>(name: &str, time: Timestamp, zone: &TimeZone) -> Option<Val<'a>> {
    let time = time.to_zoned(zone.clone());
    Some(Val::Int(match name {
        "getFullYear" => i64::from(time.year()),
        "getMonth" => i64::from(time.month()) - 1,
        "getDayOfYear" => i64::from(time.day_of_year()) - 1,
        "getDayOfMonth" => i64::from(time.day()) - 1,
        "getDate" => i64::from(time.day()),
        "getDayOfWeek" => i64::from(time.weekday().to_sunday_zero_offset()),
        "getHours" => i64::from(time.hour()),
        "getMinutes" => i64::from(time.minute()),
        "getSeconds" => i64::from(time.second()),
        "getMilliseconds" => i64::from(time.millisecond()),
        _ => return None,
    }))
}

/// An offset such as `+02:00`. Named zones need a database, which this crate does not read.
fn time_zone(zone: &str) -> Eval<TimeZone> {
    if matches!(zone, "" | "UTC") {
        return Ok(TimeZone::UTC);
    }
    let Some((hours, minutes)) = zone.split_once(':') else {
        return Err(EvalError::Unsupported(format!("the time zone {zone} is not known here")));
    };
    let (Ok(hours), Ok(minutes)) = (hours.parse::<i32>(), minutes.parse::<i32>()) else {
        return EvalError::failed(format!("invalid time zone {zone}"));
    };
    let minutes = if zone.starts_with('-') { hours * 60 - minutes } else { hours * 60 + minutes };
    match Offset::from_seconds(minutes.saturating_mul(60)) {
        Ok(offset) => Ok(offset.to_time_zone()),
        Err(_) => Err(EvalError::Unsupported(format!("the time zone {zone} is out of range here"))),
    }
}

/// A time as Go reads RFC 3339: upper case, a full date, a zone.
pub(in crate::cel) fn parse_rfc3339(text: &str) -> Option<Timestamp> {
    let shape = text.get(..19)?.bytes().enumerate().all(|(index, byte)| match index {
        4 | 7 => byte == b'-',
        10 => byte == b'T',
        13 | 16 => byte == b':',
        _ => byte.is_ascii_digit(),
    });
    let tail = text.get(19..)?;
    let fraction =
        tail.strip_prefix(['.', ',']).map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let zone = fraction.unwrap_or(tail);
    let offset = zone.len() == 6 && zone.starts_with(['+', '-']) && zone.get(3..4) == Some(":");
    // Leap seconds are no times to Go.
    if !shape || !(zone == "Z" || offset) || text.get(17..19) == Some("60") {
        return None;
    }
    let time: Timestamp = text.replace(',', ".").parse().ok()?;
    (FIRST_SECOND..=LAST_SECOND).contains(&time.as_second()).then_some(time)
}

pub(in crate::cel) fn shift<'a>(time: Timestamp, nanoseconds: i64) -> Eval<Val<'a>> {
    match time.checked_add(SignedDuration::from_nanos(nanoseconds)) {
        Ok(time) if (FIRST_SECOND..=LAST_SECOND).contains(&time.as_second()) => Ok(Val::Timestamp(time)),
        _ => EvalError::failed("timestamp overflow"),
    }
}

pub(super) fn rfc3339(time: Timestamp) -> String {
    time.to_string()
}

/// A duration in seconds, with as many digits as it needs.
#[allow(clippy::cast_precision_loss, reason = "Go converts to a float too")]
pub(super) fn seconds_text(nanoseconds: i64) -> String {
    let whole = (nanoseconds / 1_000_000_000) as f64;
    let fraction = (nanoseconds % 1_000_000_000) as f64 / 1e9;
    format!("{}s", whole + fraction)
}
