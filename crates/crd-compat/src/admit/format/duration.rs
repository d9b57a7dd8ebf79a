//! Durations: Go's notation and the looser one the `duration` format adds.

use std::sync::LazyLock;

use regex::Regex;

/// Units of Go's notation, in nanoseconds.
const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Units of the looser notation: exact spellings, then the prefix any longer spelling begins with.
const LOOSE_UNITS: [(&[&str], &str, i64); 8] = [
    (&["ns"], "nano", 1),
    (&["us", "µs"], "micro", 1_000),
    (&["ms"], "milli", 1_000_000),
    (&["s"], "sec", 1_000_000_000),
    (&["m"], "min", 60_000_000_000),
    (&["h", "hr"], "hour", 3_600_000_000_000),
    (&["d"], "day", 86_400_000_000_000),
    (&["w", "wk"], "week", 604_800_000_000_000),
];

/// A duration as Go's `time.ParseDuration` reads it, in nanoseconds.
pub(crate) fn parse_go_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (value, tail) = component(rest)?;
        total = total.checked_add(value)?;
        if total > 1 << 63 {
            return None;
        }
        rest = tail;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

/// One number and its unit, from the start of `text`.
fn component(text: &str) -> Option<(i128, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = text.split_at_checked(digits(text))?;
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at_checked(digits(rest))?,
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at_checked(end)?;
    let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let unit = i128::from(*unit);
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // Digits beyond the nineteenth change nothing at nanosecond resolution.
    let kept = fraction.get(..fraction.len().min(18)).unwrap_or_default();
    let part: i128 = if kept.is_empty() { 0 } else { kept.parse().ok()? };
    let scale = 10_i128.checked_pow(u32::try_from(kept.len()).ok()?)?;
    let value = whole.checked_mul(unit)?.checked_add(part * unit / scale)?;
    Some((value, rest))
}

/// A duration as the `duration` format reads it, in nanoseconds.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    static PART: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)").ok());
    if let Some(nanoseconds) = parse_go_duration(text) {
        return Some(nanoseconds);
    }
    let mut total: Option<i64> = None;
    for found in PART.as_ref()?.captures_iter(text) {
        let factor: i64 = found.get(1)?.as_str().parse().ok()?;
        let unit = found.get(2)?.as_str().to_lowercase();
        for (names, prefix, nanoseconds) in LOOSE_UNITS {
            if names.iter().any(|name| unit.to_lowercase() == *name) || unit.starts_with(prefix) {
                total = Some(total.unwrap_or_default().wrapping_add(factor.wrapping_mul(nanoseconds)));
            }
        }
    }
    total
}
