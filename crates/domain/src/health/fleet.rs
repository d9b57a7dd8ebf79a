//! Many clusters, one word.

use super::Verdict;

/// How an operator is over all clusters it runs on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FleetHealth {
    /// The worst of all, with what is not known before what is well.
    pub overall: Verdict,
    /// Clusters where it is well.
    pub healthy: u64,
    /// Clusters where it does not do all of its work.
    pub degraded: u64,
    /// Clusters where it does not work.
    pub unhealthy: u64,
    /// Clusters of which nothing can be said.
    pub unknown: u64,
}

/// Sums verdicts up. Nowhere is not healthy: there is nothing to say.
pub fn fleet(verdicts: impl IntoIterator<Item = Verdict>) -> FleetHealth {
    let mut sum = FleetHealth::default();
    for verdict in verdicts {
        match verdict {
            Verdict::Unknown => sum.unknown += 1,
            Verdict::Healthy => sum.healthy += 1,
            Verdict::Degraded => sum.degraded += 1,
            Verdict::Unhealthy => sum.unhealthy += 1,
        }
    }
    sum.overall = if sum.unhealthy > 0 {
        Verdict::Unhealthy
    } else if sum.degraded > 0 {
        Verdict::Degraded
    } else if sum.unknown > 0 || sum.healthy == 0 {
        Verdict::Unknown
    } else {
        Verdict::Healthy
    };
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_cluster_speaks_for_all_and_nothing_is_well_by_default() {
        use Verdict::{Degraded, Healthy, Unhealthy, Unknown};
        for (verdicts, overall) in [
            (&[][..], Unknown),
            (&[Healthy, Healthy], Healthy),
            (&[Healthy, Unknown], Unknown),
            (&[Healthy, Unknown, Degraded], Degraded),
            (&[Healthy, Unhealthy, Degraded, Unknown], Unhealthy),
        ] {
            assert_eq!(fleet(verdicts.iter().copied()).overall, overall, "{verdicts:?}");
        }
        let sum = fleet([Healthy, Unhealthy, Degraded, Unknown, Healthy]);
        assert_eq!((sum.healthy, sum.degraded, sum.unhealthy, sum.unknown), (2, 1, 1, 1));
    }
}
