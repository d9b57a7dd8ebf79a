//! When something may be rolled out, and when not.
//!
//! Times are those of a place: a window from 22:00 to 04:00 in Europe/Berlin stays that through every
//! change of the clock. The rules of time zones come from the machine's database.

use jiff::civil::{DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Scope;
use crate::access::Environment;
use crate::document::Fields;
use crate::name::Name;
use crate::problem::Problems;

/// What a window does while it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Mode {
    /// Rollouts may go on, and at no other time.
    Allow,
    /// Nothing may be rolled out.
    Freeze,
}

/// A time window. Where several apply: no freeze may cover the time, and if there is any that allows, one
/// of those must. Going back is never held up by a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Window {
    /// What it does.
    pub mode: Mode,
    /// Where it applies.
    #[serde(flatten)]
    pub scope: Scope,
    /// Where the times are meant, by its IANA name, such as Europe/Berlin or UTC.
    pub time_zone: String,
    /// Times that come every week.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weekly: Vec<Weekly>,
    /// Times that come once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dates: Vec<Dates>,
    /// Why, for those who have to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A time of some days of the week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Weekly {
    /// The days on which it begins.
    pub days: Vec<Day>,
    /// When it begins, such as 22:00.
    #[serde(with = "clock")]
    #[schemars(with = "String", regex(pattern = r"^([01]\d|2[0-3]):[0-5]\d$"))]
    pub from: Time,
    /// When it ends, such as 04:00; on the next day, if that is not after the beginning.
    #[serde(with = "clock")]
    #[schemars(with = "String", regex(pattern = r"^([01]\d|2[0-3]):[0-5]\d$"))]
    pub to: Time,
}

/// From a moment to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dates {
    /// When it begins, such as 2026-12-20T00:00:00.
    #[schemars(with = "String")]
    pub from: DateTime,
    /// When it ends.
    #[schemars(with = "String")]
    pub to: DateTime,
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "days of the week")]
pub enum Day {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

/// Whether something may be rolled out at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// It may.
    Open,
    /// It may not.
    Closed {
        /// The window that says so; nothing if it is that none of those that allow is open.
        by: Option<String>,
        /// Why.
        reason: Option<String>,
        /// When it may again, if that is within the next year.
        until: Option<Timestamp>,
    },
}

/// Times of day as hours and minutes.
mod clock {
    use jiff::civil::Time;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn serialize<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:02}:{:02}", time.hour(), time.minute()))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let text = String::deserialize(deserializer)?;
        super::time_of_day(&text).ok_or_else(|| de::Error::custom(super::NOT_A_TIME))
    }
}

const NOT_A_TIME: &str = "is not a time of day such as 22:00; put it in quotes in YAML";

fn time_of_day(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    if hour.len() != 2 || minute.len() != 2 {
        return None;
    }
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}

impl Window {
    /// Reads it, and says all that is wrong.
    pub fn read(spec: &Value) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut fields = Fields::of(spec, &mut problems);
        let mode = fields.required("mode");
        let scope = Scope::read(&mut fields);
        let time_zone = fields.required::<String>("timeZone");
        let weekly = fields.each("weekly", Weekly::read);
        let dates = fields.each("dates", Dates::read);
        let reason = fields.optional("reason");
        fields.end();
        if let Some(name) = &time_zone
            && TimeZone::get(name).is_err()
        {
            problems
                .add("timeZone", format!("is {name:?}, which is no IANA time zone such as Europe/Berlin"));
        }
        if weekly.is_empty() && dates.is_empty() && problems.is_empty() {
            problems.add("", "has no time: give weekly or dates");
        }
        match (mode, time_zone) {
            (Some(mode), Some(time_zone)) => {
                problems.or(Self { mode, scope, time_zone, weekly, dates, reason })
            }
            _ => Err(problems),
        }
    }

    /// Whether it is open at a time.
    pub fn is_open(&self, at: Timestamp) -> bool {
        self.spans_around(at).iter().any(|(from, to)| (*from..*to).contains(&at))
    }

    /// Its openings from a day before a time to eight days after, and all that come once.
    fn spans_around(&self, at: Timestamp) -> Vec<(Timestamp, Timestamp)> {
        // A time zone that this machine does not know any more closes nothing by surprise elsewhere: the
        // window is read as if it were in UTC.
        let zone = TimeZone::get(&self.time_zone).unwrap_or(TimeZone::UTC);
        let today = at.to_zoned(zone.clone()).date();
        let instant = |local: DateTime| zone.to_timestamp(local).ok();
        let mut spans = Vec::new();
        for offset in -1..=8 {
            let Ok(date) = today.checked_add(offset.days()) else { continue };
            for weekly in self.weekly.iter().filter(|weekly| weekly.begins_on(date.weekday())) {
                let end = if weekly.to > weekly.from { Some(date) } else { date.tomorrow().ok() };
                let span = end.and_then(|end| {
                    Some((instant(date.to_datetime(weekly.from))?, instant(end.to_datetime(weekly.to))?))
                });
                spans.extend(span);
            }
        }
        spans.extend(self.dates.iter().filter_map(|dates| Some((instant(dates.from)?, instant(dates.to)?))));
        spans
    }
}

impl Weekly {
    fn read(value: &Value) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut fields = Fields::of(value, &mut problems);
        let days: Vec<Day> = fields.required("days").unwrap_or_default();
        let from = fields.required::<Value>("from");
        let to = fields.required::<Value>("to");
        fields.end();
        let mut time = |key: &str, value: Option<Value>| {
            let value = value?;
            let time = value.as_str().and_then(time_of_day);
            problems.take(key, time.ok_or(NOT_A_TIME))
        };
        let from = time("from", from);
        let to = time("to", to);
        if days.is_empty() && problems.is_empty() {
            problems.add("days", "is empty");
        }
        match (from, to) {
            (Some(from), Some(to)) => problems.or(Self { days, from, to }),
            _ => Err(problems),
        }
    }

    fn begins_on(&self, weekday: Weekday) -> bool {
        self.days.iter().any(|day| day.weekday() == weekday)
    }
}

impl Dates {
    fn read(value: &Value) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut fields = Fields::of(value, &mut problems);
        let from: Option<DateTime> = fields.required("from");
        let to: Option<DateTime> = fields.required("to");
        fields.end();
        match (from, to) {
            (Some(from), Some(to)) if from < to => problems.or(Self { from, to }),
            (Some(_), Some(_)) => {
                problems.add("to", "has to be after from");
                Err(problems)
            }
            _ => Err(problems),
        }
    }
}

impl Day {
    fn weekday(self) -> Weekday {
        match self {
            Self::Monday => Weekday::Monday,
            Self::Tuesday => Weekday::Tuesday,
            Self::Wednesday => Weekday::Wednesday,
            Self::Thursday => Weekday::Thursday,
            Self::Friday => Weekday::Friday,
            Self::Saturday => Weekday::Saturday,
            Self::Sunday => Weekday::Sunday,
        }
    }
}

/// Whether something may be rolled out at a time, by all windows there are, each with its name.
pub fn opening(
    windows: &[(String, Window)],
    environment: Environment,
    operator: &Name,
    at: Timestamp,
) -> Opening {
    let applying: Vec<&(String, Window)> =
        windows.iter().filter(|(_, window)| window.scope.covers(environment, operator)).collect();
    let Err(closed) = judge(&applying, at) else { return Opening::Open };
    let (by, reason) =
        closed.map_or((None, None), |(name, window)| (Some(name.clone()), window.reason.clone()));
    Opening::Closed { by, reason, until: next_opening(&applying, at) }
}

/// Open, or closed by a freeze, or by the absence of an open window.
fn judge<'a>(windows: &[&'a (String, Window)], at: Timestamp) -> Result<(), Option<&'a (String, Window)>> {
    if let Some(freeze) = windows.iter().find(|(_, window)| window.mode == Mode::Freeze && window.is_open(at))
    {
        return Err(Some(freeze));
    }
    let mut allowing = windows.iter().filter(|(_, window)| window.mode == Mode::Allow).peekable();
    if allowing.peek().is_some() && !allowing.any(|(_, window)| window.is_open(at)) {
        return Err(None);
    }
    Ok(())
}

/// The first time after which it is open: always one at which some window begins or ends.
fn next_opening(windows: &[&(String, Window)], at: Timestamp) -> Option<Timestamp> {
    let mut from = at;
    // Weekly times repeat, so a year of weeks finds what dates leave open.
    for _ in 0..53 {
        let mut edges: Vec<Timestamp> = windows
            .iter()
            .flat_map(|(_, window)| window.spans_around(from))
            .flat_map(|(begin, end)| [begin, end])
            .filter(|edge| *edge > from)
            .collect();
        edges.sort_unstable();
        if let Some(edge) = edges.iter().find(|edge| judge(windows, **edge).is_ok()) {
            return Some(*edge);
        }
        from = from.checked_add(jiff::SignedDuration::from_hours(7 * 24)).ok()?;
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nights() -> Window {
        Window::read(&json!({
            "mode": "Allow", "timeZone": "Europe/Berlin", "environments": ["Production"],
            "weekly": [{"days": ["Monday", "Saturday"], "from": "22:00", "to": "04:00"}],
        }))
        .unwrap()
    }

    fn christmas() -> Window {
        Window::read(&json!({
            "mode": "Freeze", "timeZone": "UTC", "reason": "the shop is busy",
            "dates": [{"from": "2026-12-20T00:00:00", "to": "2027-01-04T00:00:00"}],
        }))
        .unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_window_is_read_and_written_as_it_was() {
        for window in [nights(), christmas()] {
            let spec = serde_json::to_value(&window).unwrap();
            assert_eq!(Window::read(&spec).unwrap(), window);
        }
        assert_eq!(
            serde_json::to_value(nights()).unwrap()["weekly"][0],
            json!({"days": ["Monday", "Saturday"], "from": "22:00", "to": "04:00"})
        );
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let spec = json!({
            "mode": "Maybe", "timeZone": "Europe/Atlantis",
            "weekly": [{"days": [], "from": 1320, "to": "4:00"}],
            "dates": [{"from": "2026-12-20T00:00:00", "to": "2026-12-20T00:00:00"}],
        });
        let told = Window::read(&spec).unwrap_err().to_string();
        for part in [
            "mode unknown variant `Maybe`",
            "timeZone is \"Europe/Atlantis\", which is no IANA time zone",
            "weekly[0].from is not a time of day such as 22:00; put it in quotes in YAML",
            "weekly[0].to is not a time of day",
            "dates[0].to has to be after from",
        ] {
            assert!(told.contains(part), "{part:?} is not in {told}");
        }
        let empty = json!({"mode": "Allow", "timeZone": "UTC"});
        assert_eq!(Window::read(&empty).unwrap_err().to_string(), "has no time: give weekly or dates");
    }

    #[test]
    fn a_window_keeps_the_clock_of_its_place() {
        // Monday night in winter (UTC+1) and in summer (UTC+2).
        assert!(!nights().is_open(at("2026-01-12T20:59:00Z")));
        assert!(nights().is_open(at("2026-01-12T21:00:00Z")));
        assert!(nights().is_open(at("2026-01-13T02:59:00Z")), "it goes on past midnight");
        assert!(!nights().is_open(at("2026-01-13T03:00:00Z")));
        assert!(nights().is_open(at("2026-07-13T20:00:00Z")));
        // The night in which the clock goes forward is an hour shorter.
        assert!(nights().is_open(at("2026-03-29T01:59:00Z")));
        assert!(!nights().is_open(at("2026-03-29T02:00:00Z")));
    }

    #[test]
    fn a_freeze_wins_and_says_until_when() {
        let windows = [("nights".to_owned(), nights()), ("christmas".to_owned(), christmas())];
        let operator: Name = "cert-manager".parse().unwrap();
        let ask = |environment, time| opening(&windows, environment, &operator, at(time));
        assert_eq!(ask(Environment::Production, "2026-11-16T23:00:00Z"), Opening::Open);
        assert_eq!(
            ask(Environment::Production, "2026-11-17T12:00:00Z"),
            Opening::Closed { by: None, reason: None, until: Some(at("2026-11-21T21:00:00Z")) }
        );
        assert_eq!(
            ask(Environment::Production, "2026-12-21T22:00:00Z"),
            Opening::Closed {
                by: Some("christmas".to_owned()),
                reason: Some("the shop is busy".to_owned()),
                until: Some(at("2027-01-04T21:00:00Z")),
            },
            "the freeze ends on a Monday, and the window of that day opens at night"
        );
        assert_eq!(ask(Environment::Staging, "2026-11-17T12:00:00Z"), Opening::Open);
    }
}
