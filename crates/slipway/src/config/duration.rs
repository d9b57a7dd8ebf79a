//! Durations as ISO 8601 writes them: `PT30S`, `P365D`.

use std::time::Duration;

use jiff::{Span, SpanRelativeTo};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// A duration, longer than nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Iso(pub(super) Duration);

impl<'de> Deserialize<'de> for Iso {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong =
            || D::Error::custom(format!("{text:?} is not a duration such as PT30S, PT5M, PT1H or P30D"));
        if !text.starts_with('P') {
            return Err(wrong());
        }
        let span: Span = text.parse().map_err(|_| wrong())?;
        let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
        match Duration::try_from(duration) {
            Ok(duration) if !duration.is_zero() => Ok(Self(duration)),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_durations_are_read_and_others_refused() {
        let read = |text: &str| serde_json::from_value::<Iso>(text.into()).map(|iso| iso.0.as_secs());
        assert_eq!(read("PT30S").unwrap(), 30);
        assert_eq!(read("P1DT1H").unwrap(), 25 * 3600);
        for wrong in ["30s", "30", "PT0S", "-PT5S", "", "P1Y", "PT"] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains("is not a duration such as PT30S"), "{wrong}: {error}");
        }
    }
}
