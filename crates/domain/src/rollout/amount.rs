//! Numbers and times that people set: parsed once into what cannot be wrong.

use std::fmt;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A whole percentage from 1 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Percent(u8);

impl Percent {
    /// All.
    pub const ALL: Self = Self(100);

    /// From 1 to 100; what is outside is brought to the nearer end.
    pub fn clamped(percent: u64) -> Self {
        Self(u8::try_from(percent.clamp(1, 100)).unwrap_or(100))
    }

    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }

    /// So many of so many, rounded up.
    pub fn ceil_of(self, whole: usize) -> usize {
        (whole * usize::from(self.0)).div_ceil(100)
    }

    /// So many of so many, rounded down.
    pub fn floor_of(self, whole: usize) -> usize {
        whole * usize::from(self.0) / 100
    }
}

impl TryFrom<u64> for Percent {
    type Error = &'static str;

    fn try_from(percent: u64) -> Result<Self, Self::Error> {
        match u8::try_from(percent) {
            Ok(percent @ 1..=100) => Ok(Self(percent)),
            _ => Err("has to be a whole percentage from 1 to 100"),
        }
    }
}

impl From<Percent> for u64 {
    fn from(percent: Percent) -> Self {
        percent.0.into()
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0)
    }
}

/// A share of clusters, above 0 and at most 1; kept in millionths, so that it compares exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Share(u32);

impl Share {
    /// All of them.
    pub const ALL: Self = Self(1_000_000);
    /// 95 of 100.
    pub const MOST: Self = Self(950_000);

    /// Whether so many of so many are enough.
    pub fn met(self, part: usize, whole: usize) -> bool {
        part.saturating_mul(1_000_000) >= whole.saturating_mul(self.0 as usize)
    }

    /// How many of so many may be missing.
    pub fn spare(self, whole: usize) -> usize {
        whole - whole.saturating_mul(self.0 as usize).div_ceil(1_000_000)
    }
}

impl TryFrom<f64> for Share {
    type Error = &'static str;

    fn try_from(share: f64) -> Result<Self, Self::Error> {
        if share > 0.0 && share <= 1.0 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and a million"
            )]
            let millionths = (share * 1_000_000.0).round() as u32;
            Ok(Self(millionths.max(1)))
        } else {
            Err("has to be above 0 and at most 1, such as 0.95")
        }
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        Self::from(share.0) / 1_000_000.0
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", f64::from(self.0) / 10_000.0)
    }
}

/// So many clusters: a number, or a percentage such as `"10%"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum Amount {
    /// A number.
    Count(u32),
    /// A part.
    Part(Percent),
}

impl Amount {
    /// How many of so many; a part is rounded down.
    pub fn of(self, whole: usize) -> usize {
        match self {
            Self::Count(count) => usize::try_from(count).unwrap_or(usize::MAX),
            Self::Part(percent) => percent.floor_of(whole),
        }
    }
}

impl TryFrom<Value> for Amount {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        let count = value.as_u64().and_then(|count| u32::try_from(count).ok()).map(Self::Count);
        let part = || {
            let digits = value.as_str()?.strip_suffix('%')?.trim_end();
            Percent::try_from(digits.parse::<u64>().ok()?).ok().map(Self::Part)
        };
        count.or_else(part).ok_or("has to be a number of clusters, or a percentage such as \"10%\"")
    }
}

impl From<Amount> for Value {
    fn from(amount: Amount) -> Self {
        match amount {
            Amount::Count(count) => count.into(),
            Amount::Part(percent) => format!("{}%", percent.get()).into(),
        }
    }
}

macro_rules! durations {
    ($($(#[$meta:meta])* $name:ident: $from:expr, $to:expr, $words:literal;)+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[serde(try_from = "String")]
        pub(super) struct $name(pub(super) SignedDuration);

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                // jiff reads `5 minutes`, too; one way to write it is enough.
                let read = text.parse::<SignedDuration>().ok().filter(|_| text.starts_with('P'));
                match read {
                    None => Err(format!("is {text:?}, which is no ISO 8601 duration such as PT5M")),
                    Some(read) if ($from..=$to).contains(&read) => Ok(Self(read)),
                    Some(_) => Err(concat!("has to be ", $words).to_owned()),
                }
            }
        }
    )+};
}

durations! {
    /// How long something is watched or waited for; may be nothing.
    Period: SignedDuration::ZERO, SignedDuration::from_hours(30 * 24), "from PT0S to PT720H";
    /// How often something is done.
    Interval: SignedDuration::from_secs(1), SignedDuration::from_hours(1), "from PT1S to PT1H";
    /// How long something may take.
    Limit: SignedDuration::from_secs(1), SignedDuration::from_hours(24), "from PT1S to PT24H";
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn amounts_are_numbers_or_percentages() {
        assert_eq!(from_value::<Amount>(json!(3)).unwrap().of(100), 3);
        assert_eq!(from_value::<Amount>(json!("25%")).unwrap().of(9), 2);
        for bad in [json!(-1), json!("0%"), json!("101%"), json!("3"), json!(1.5), json!(null)] {
            assert!(from_value::<Amount>(bad.clone()).is_err(), "{bad}");
        }
        let kept: Amount = from_value(json!("25%")).unwrap();
        assert_eq!(serde_json::to_value(kept).unwrap(), json!("25%"));
    }

    #[test]
    fn durations_are_iso_8601_and_in_their_bounds() {
        let period = |text: &str| Period::try_from(text.to_owned());
        assert_eq!(period("PT5M").unwrap().0, SignedDuration::from_mins(5));
        assert!(period("5m").unwrap_err().contains("no ISO 8601 duration"));
        assert!(period("-PT5M").is_err() && period("PT721H").is_err());
        assert!(Interval::try_from("PT0S".to_owned()).unwrap_err().contains("from PT1S"));
    }

    proptest! {
        #[test]
        fn a_share_is_met_exactly_until_more_than_the_spare_are_missing(
            share in 0.000_001f64..=1.0, whole in 1usize..2000,
        ) {
            let share = Share::try_from(share).unwrap();
            let spare = share.spare(whole);
            prop_assert!(share.met(whole - spare, whole));
            if spare < whole {
                prop_assert!(!share.met(whole - spare - 1, whole));
            }
        }
    }
}
