//! Formats that are judged by their letters alone.

use std::sync::LazyLock;

use regex::Regex;

/// A regular expression that is a constant of this file; `None` never happens and matches nothing.
fn constant(source: &str) -> Option<Regex> {
    Regex::new(source).ok()
}

fn found(regex: Option<&Regex>, text: &str) -> bool {
    regex.is_some_and(|regex| regex.is_match(text))
}

/// A host name; letters and symbols of every script are allowed except in the last label of a dotted name.
pub(super) fn is_hostname(text: &str) -> bool {
    static HOSTNAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
        constant(
            r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$",
        )
    });
    text.len() <= 255 && text.split('.').all(|label| label.len() <= 63) && found(HOSTNAME.as_ref(), text)
}

/// A UUID, dashes optional; `version` is the digit its third group begins with.
pub(crate) fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut rest = text;
    for (group, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if group > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((digits, tail)) = rest.split_at_checked(length) else { return false };
        if !digits.chars().all(|c| c.is_ascii_hexdigit()) {
            return false;
        }
        let first = digits.chars().next().unwrap_or_default().to_ascii_lowercase();
        match (group, version) {
            (2, Some(version)) if first != version => return false,
            (3, Some('4' | '5')) if !matches!(first, '8' | '9' | 'a' | 'b') => return false,
            _ => {}
        }
        rest = tail;
    }
    rest.is_empty()
}

fn without_spaces_and_dashes(text: &str) -> Vec<u8> {
    text.bytes().filter(|b| !matches!(b, b'\t' | b'\n' | 0x0c | b'\r' | b' ' | b'-')).collect()
}

fn digit(byte: u8) -> u32 {
    u32::from(byte.wrapping_sub(b'0'))
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let digits = without_spaces_and_dashes(text);
    let [first @ .., last] = digits.as_slice() else { return false };
    if first.len() != 9 || !first.iter().all(u8::is_ascii_digit) || !(last.is_ascii_digit() || *last == b'X')
    {
        return false;
    }
    let sum: u32 = (1..).zip(first).map(|(weight, byte)| weight * digit(*byte)).sum();
    let check = if *last == b'X' { 10 } else { digit(*last) };
    (sum + 10 * check).is_multiple_of(11)
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let digits = without_spaces_and_dashes(text);
    let [first @ .., last] = digits.as_slice() else { return false };
    if first.len() != 12 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: u32 = [1, 3].iter().cycle().zip(first).map(|(weight, byte)| weight * digit(*byte)).sum();
    digit(*last) == (10 - sum % 10) % 10
}

pub(super) fn is_credit_card(text: &str) -> bool {
    static CARD: LazyLock<Option<Regex>> = LazyLock::new(|| {
        constant(
            "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$",
        )
    });
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    if !found(CARD.as_ref(), &digits) {
        return false;
    }
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(index, byte)| match (index % 2, digit(byte)) {
            (0, value) => value,
            (_, value) if value >= 5 => 2 * value - 9,
            (_, value) => 2 * value,
        })
        .sum();
    sum.is_multiple_of(10)
}

pub(super) fn is_ssn(text: &str) -> bool {
    static SSN: LazyLock<Option<Regex>> = LazyLock::new(|| constant("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"));
    text.len() == 11 && found(SSN.as_ref(), text)
}

pub(super) fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

pub(super) fn is_rgb_color(text: &str) -> bool {
    static RGB: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let part = r"[\t\n\f\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\f\r ]*";
        constant(&format!(r"^rgb\({part},{part},{part}\)$"))
    });
    found(RGB.as_ref(), text)
}

/// Padded base64 of the standard alphabet; the empty string is not accepted.
pub(crate) fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
}

/// A full date, such as `2006-01-02`.
pub(crate) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shape = bytes.len() == 10
        && bytes.iter().enumerate().all(|(index, byte)| match index {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let part = |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse::<i16>().ok());
    let (true, Some(year), Some(month), Some(day)) = (shape, part(0..4), part(5..7), part(8..10)) else {
        return false;
    };
    match (i8::try_from(month), i8::try_from(day)) {
        (Ok(month), Ok(day)) => jiff::civil::Date::new(year, month, day).is_ok(),
        _ => false,
    }
}

/// A date and time with a zone. Letters may be lower case, and what follows a second `t` is not looked at.
pub(crate) fn is_date_time(text: &str) -> bool {
    static TIME: LazyLock<Option<Regex>> =
        LazyLock::new(|| constant("^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"));
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let Some(captures) = TIME.as_ref().and_then(|regex| regex.captures(time)) else { return false };
    is_date(date)
        && [("23", 1), ("59", 2), ("59", 3)]
            .into_iter()
            .all(|(limit, group)| captures.get(group).is_some_and(|found| found.as_str() <= limit))
}
