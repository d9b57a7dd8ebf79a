//! Percentiles: of what was timed here, and of a histogram that an operator serves.

use std::time::Duration;

use slipway_testkit::metrics::{Histogram, Scrape};

/// The middle and the slow end of many durations, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Percentiles {
    pub(super) p50: f64,
    pub(super) p99: f64,
}

impl Percentiles {
    /// Of durations that were all measured.
    pub(super) fn of(mut durations: Vec<Duration>) -> Option<Self> {
        durations.sort();
        let last = durations.len().checked_sub(1)?;
        let at = |percent: usize| durations.get((last * percent).div_ceil(100)).map(Duration::as_secs_f64);
        Some(Self { p50: at(50)?, p99: at(99)? })
    }

    /// Of a histogram, as Prometheus' `histogram_quantile` estimates them.
    pub(super) fn estimated(histogram: &Histogram) -> Option<Self> {
        Some(Self { p50: quantile(histogram, 0.5)?, p99: quantile(histogram, 0.99)? })
    }
}

/// What a histogram observed between two looks.
pub(super) fn between(before: &Scrape, after: &Scrape, name: &str) -> Option<Histogram> {
    let mut after = after.histogram(name, &[])?;
    if let Some(before) = before.histogram(name, &[]) {
        after.count -= before.count;
        after.sum -= before.sum;
        for (bound, count) in &mut after.buckets {
            *count -= before.bucket(*bound).unwrap_or(0.0);
        }
    }
    Some(after)
}

/// Within its bucket a quantile is taken to lie in proportion; beyond the last bound it is that bound.
fn quantile(histogram: &Histogram, share: f64) -> Option<f64> {
    let total = histogram.buckets.last().map(|(_, count)| *count).filter(|count| *count > 0.0)?;
    let rank = share * total;
    let (mut lower, mut below) = (0.0, 0.0);
    for (bound, count) in &histogram.buckets {
        if *count >= rank {
            if bound.is_infinite() {
                return Some(lower);
            }
            let inside = count - below;
            return Some(if inside > 0.0 {
                lower + (bound - lower) * (rank - below) / inside
            } else {
                *bound
            });
        }
        (lower, below) = (*bound, *count);
    }
    Some(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(buckets: &[(f64, f64)]) -> Histogram {
        Histogram { count: buckets.last().unwrap().1, sum: 0.0, buckets: buckets.to_vec() }
    }

    fn about(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-9
    }

    #[test]
    fn percentiles_are_durations_that_were_seen() {
        let found = Percentiles::of((1..=100).map(Duration::from_secs).collect()).unwrap();
        assert!(about(found.p50, 51.0) && about(found.p99, 100.0), "{found:?}");
        assert_eq!(Percentiles::of(Vec::new()), None);
        let one = Percentiles::of(vec![Duration::from_secs(3)]).unwrap();
        assert!(about(one.p50, 3.0) && about(one.p99, 3.0));
    }

    #[test]
    fn a_quantile_lies_in_its_bucket_in_proportion() {
        let found = histogram(&[(1.0, 50.0), (2.0, 90.0), (4.0, 100.0), (f64::INFINITY, 100.0)]);
        assert!(about(quantile(&found, 0.5).unwrap(), 1.0));
        assert!(about(quantile(&found, 0.7).unwrap(), 1.5));
        assert!(about(quantile(&found, 0.99).unwrap(), 3.8));
    }

    #[test]
    fn beyond_the_last_bound_a_quantile_is_that_bound() {
        let found = histogram(&[(1.0, 1.0), (f64::INFINITY, 100.0)]);
        assert!(about(quantile(&found, 0.99).unwrap(), 1.0));
        assert_eq!(quantile(&histogram(&[(1.0, 0.0), (f64::INFINITY, 0.0)]), 0.5), None);
    }

    #[test]
    fn two_looks_give_what_was_observed_between_them() {
        let page = |fast, all| {
            Scrape::parse(&format!(
                "t_bucket{{le=\"1\"}} {fast}\nt_bucket{{le=\"+Inf\"}} {all}\nt_sum 9\nt_count {all}\n"
            ))
            .unwrap()
        };
        let found = between(&page(1, 2), &page(4, 10), "t").unwrap();
        assert_eq!(found.buckets, [(1.0, 3.0), (f64::INFINITY, 8.0)]);
        assert!(about(found.count, 8.0));
        // A histogram without labels appears with its first observation.
        assert!(about(between(&Scrape::default(), &page(4, 10), "t").unwrap().count, 10.0));
    }
}
