//! Quantities as Kubernetes writes them: `250m`, `1.5`, `128Mi`, `12345n`.

/// In thousandths of a unit.
pub(super) fn millis(text: &str) -> Option<u64> {
    scaled(text, 1_000.0)
}

/// In units.
pub(super) fn units(text: &str) -> Option<u64> {
    scaled(text, 1.0)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "negative and huge quantities are left out before"
)]
fn scaled(text: &str, scale: f64) -> Option<u64> {
    const SUFFIXES: &[(&str, f64)] = &[
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("n", 1e-9),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
    ];
    let (number, factor) = SUFFIXES
        .iter()
        .find_map(|(suffix, factor)| text.strip_suffix(suffix).map(|number| (number, *factor)))
        .unwrap_or((text, 1.0));
    let value = number.parse::<f64>().ok()? * factor * scale;
    (value.is_finite() && (0.0..1e18).contains(&value)).then(|| value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_in_all_their_ways() {
        for (text, expected) in [("250m", 250), ("1.5", 1500), ("12345678n", 12), ("2", 2000), ("1e3m", 1000)]
        {
            assert_eq!(millis(text), Some(expected), "{text}");
        }
        for (text, expected) in [("128Mi", 134_217_728), ("1G", 1_000_000_000), ("512", 512), ("1Ki", 1024)] {
            assert_eq!(units(text), Some(expected), "{text}");
        }
        for bad in ["", "m", "-1", "lots", "NaN"] {
            assert_eq!(units(bad), None, "{bad}");
        }
    }
}
