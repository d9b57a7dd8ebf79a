//! Times as people say them: relative where they watch.

use jiff::Timestamp;

/// How long ago, such as `4 minutes ago`; the server's clock may be a little ahead of ours.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    match now.duration_since(then).as_secs() {
        ..10 => "just now".to_owned(),
        seconds => format!("{} ago", span(seconds)),
    }
}

/// How long from now, such as `in 3 hours`; what is past is told as such.
pub(crate) fn until(then: Timestamp, now: Timestamp) -> String {
    match then.duration_since(now).as_secs() {
        ..0 => ago(then, now),
        seconds => format!("in {}", span(seconds)),
    }
}

fn span(seconds: i64) -> String {
    let (count, unit) = match seconds {
        ..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        86_400..5_184_000 => (seconds / 86_400, "day"),
        5_184_000..63_072_000 => (seconds / 2_592_000, "month"),
        _ => (seconds / 31_536_000, "year"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn times_are_told_as_people_say_them() {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 20_000);
        let past = |seconds: i64| ago(now - SignedDuration::from_secs(seconds), now);
        let read: Vec<String> = [-3, 9, 40, 60, 7_199, 86_400, 5_184_000, 63_072_000].map(past).to_vec();
        assert_eq!(
            read,
            [
                "just now",
                "just now",
                "40 seconds ago",
                "1 minute ago",
                "1 hour ago",
                "1 day ago",
                "2 months ago",
                "2 years ago"
            ]
        );
        assert_eq!(until(now + SignedDuration::from_secs(181), now), "in 3 minutes");
        assert_eq!(until(now - SignedDuration::from_secs(181), now), "3 minutes ago");
    }
}
