//! Durations as people write them.

use jiff::SignedDuration;

/// `5m`, `90s`, `1h30m` or `PT5M`; as the interface takes it.
pub(super) fn duration(text: &str) -> Result<String, String> {
    match text.parse::<SignedDuration>() {
        Ok(span) if !span.is_negative() => Ok(span.to_string()),
        _ => Err("has to be a duration, such as 5m, 1h30m or PT5M".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        let read: Vec<String> =
            ["5m", "90s", "1h30m", "PT5M", "0s"].iter().map(|text| duration(text).unwrap()).collect();
        assert_eq!(read, ["PT5M", "PT1M30S", "PT1H30M", "PT5M", "PT0S"]);
        assert!(duration("soon").is_err() && duration("-5m").is_err());
    }
}
