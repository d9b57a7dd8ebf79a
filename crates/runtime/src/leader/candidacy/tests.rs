//! What a candidate does, case by case.

use jiff::Timestamp;

use super::*;

const TIMING: Timing = Timing {
    lease_duration: Duration::from_secs(15),
    renew_deadline: Duration::from_secs(10),
    retry_period: Duration::from_secs(2),
};
const JITTER: Duration = Duration::from_millis(40);

/// A candidate `me` of the group `blue`, and a clock that begins with it.
struct Scene {
    zero: Instant,
    candidacy: Candidacy,
}

impl Scene {
    fn of(candidate: Candidate) -> Self {
        Self { zero: Instant::now(), candidacy: Candidacy::new(candidate, TIMING, JITTER) }
    }

    fn new() -> Self {
        Self::of(candidate("blue", false))
    }

    fn at(&self, millis: u64) -> Instant {
        self.zero + Duration::from_millis(millis)
    }

    fn saw(&mut self, millis: u64, record: Option<Record>) -> &mut Self {
        self.candidacy.saw(self.at(millis), record, Source::Watch);
        self
    }

    fn leads(&mut self, millis: u64) -> &mut Self {
        let at = self.at(millis);
        self.candidacy.claimed(at, at, held("me", 0));
        self
    }

    /// The step at this moment, with a wait as its milliseconds since the beginning.
    fn step(&self, millis: u64) -> Result<Step, u128> {
        match self.candidacy.next(self.at(millis)) {
            Step::Wait(until) => Err((until - self.zero).as_millis()),
            step => Ok(step),
        }
    }
}

fn candidate(group: &str, standby: bool) -> Candidate {
    Candidate { identity: "me".into(), group: Some(group.into()), standby }
}

fn held(holder: &str, renewal: i64) -> Record {
    Record {
        holder: Some(holder.into()),
        lasts: Some(TIMING.lease_duration),
        renewed: Some(Timestamp::from_second(renewal).unwrap()),
        ..Record::default()
    }
}

fn preferring(group: &str, record: Record) -> Record {
    Record { preferred_group: Some(group.into()), ..record }
}

#[test]
fn it_looks_first_and_makes_a_lease_that_was_never_there() {
    let mut scene = Scene::new();
    assert_eq!(scene.step(0), Ok(Step::Look));
    assert_eq!(scene.saw(10, None).step(10), Ok(Step::Claim));
}

#[test]
fn it_waits_a_whole_duration_after_the_last_change_that_it_saw() {
    let mut scene = Scene::new();
    scene.saw(1000, Some(held("other", 1)));
    assert_eq!(scene.step(1000), Err(4000), "it looks when the watch stays silent");
    for at in (3000..=15000).step_by(2000) {
        scene.saw(at, Some(held("other", 1)));
    }
    assert_eq!(scene.step(15000), Err(16040));
    assert_eq!(scene.step(16039), Err(16040));
    assert_eq!(scene.step(16040), Ok(Step::Claim));
}

#[test]
fn each_renewal_that_it_sees_begins_the_wait_anew_whatever_time_is_written_in_it() {
    let mut scene = Scene::new();
    scene.saw(0, Some(held("other", 1))).saw(14000, Some(held("other", -900)));
    assert_eq!(scene.step(16040), Err(17000));
    scene.saw(17000, Some(held("other", -900)));
    assert_eq!(scene.step(28990), Ok(Step::Look));
    scene.saw(28990, Some(held("other", -900)));
    assert_eq!(scene.step(28990), Err(29040));
}

#[test]
fn the_holders_own_duration_counts_not_the_candidates() {
    let mut scene = Scene::new();
    scene.saw(0, Some(Record { lasts: Some(Duration::from_mins(1)), ..held("other", 1) }));
    scene.saw(50000, Some(Record { lasts: Some(Duration::from_mins(1)), ..held("other", 1) }));
    assert_eq!(scene.step(52000), Err(53000));
}

#[test]
fn a_released_lease_is_taken_at_once() {
    let mut scene = Scene::new();
    scene.saw(0, Some(held("other", 1))).saw(500, Some(Record { holder: None, ..held("other", 2) }));
    assert_eq!(scene.step(500), Err(540));
    assert_eq!(scene.step(540), Ok(Step::Claim));
}

#[test]
fn a_silent_watch_makes_it_look_every_retry_period() {
    let mut scene = Scene::new();
    scene.saw(0, Some(held("other", 1)));
    assert_eq!(scene.step(3000), Ok(Step::Look));
    scene.candidacy.saw(scene.at(3000), Some(held("other", 1)), Source::Request);
    assert_eq!(scene.step(3000), Err(5000));
    assert_eq!(scene.step(5000), Ok(Step::Look));
}

#[test]
fn a_leader_renews_every_retry_period_and_loses_at_its_deadline() {
    let mut scene = Scene::new();
    scene.saw(0, None).leads(0);
    assert_eq!(scene.step(1999), Err(2000));
    assert_eq!(scene.step(2000), Ok(Step::Claim));
    assert_eq!(scene.step(9999), Ok(Step::Claim));
    assert_eq!(scene.step(10000), Ok(Step::Lose));
    scene.leads(2000);
    assert_eq!(scene.step(10000), Ok(Step::Claim));
    assert_eq!(scene.candidacy.term(), 1);
}

#[test]
fn a_failed_renewal_is_tried_again_after_a_pause_that_never_hides_the_deadline() {
    let mut scene = Scene::new();
    scene.leads(0);
    scene.candidacy.failed(scene.at(3000));
    assert_eq!(scene.step(3000), Err(5000));
    assert_eq!(scene.step(5000), Ok(Step::Claim));
    scene.candidacy.failed(scene.at(9500));
    assert_eq!(scene.step(9500), Err(10000));
    assert_eq!(scene.step(10000), Ok(Step::Lose));
}

#[test]
fn a_request_of_a_leader_ends_with_its_claim() {
    let mut scene = Scene::new();
    assert_eq!(scene.candidacy.request_timeout(scene.at(0)), Duration::from_secs(5));
    scene.leads(0);
    assert_eq!(scene.candidacy.request_timeout(scene.at(2000)), Duration::from_secs(5));
    assert_eq!(scene.candidacy.request_timeout(scene.at(7000)), Duration::from_secs(3));
}

#[test]
fn a_leader_that_sees_another_holder_loses_at_once() {
    let mut scene = Scene::new();
    scene.leads(0).saw(100, Some(held("other", 1)));
    assert_eq!(scene.step(100), Ok(Step::Lose));
    let mut scene = Scene::new();
    scene.leads(0).saw(100, Some(Record { holder: None, ..held("me", 1) }));
    assert_eq!(scene.step(100), Ok(Step::Lose));
}

#[test]
fn a_leader_makes_a_deleted_lease_anew_and_others_give_it_time_to() {
    let mut scene = Scene::new();
    scene.leads(0).saw(500, None);
    assert_eq!(scene.step(500), Ok(Step::Claim));

    let mut scene = Scene::new();
    scene.saw(0, Some(held("other", 1))).saw(5000, None);
    assert_eq!(scene.step(5100), Err(8000));
    scene.saw(7900, None);
    assert_eq!(scene.step(8900), Err(9000 + JITTER.as_millis()));
    assert_eq!(scene.step(9500), Ok(Step::Claim));
}

#[test]
fn whoever_makes_a_deleted_lease_anew_leads_only_after_a_whole_lease_duration() {
    let mut scene = Scene::new();
    scene.saw(0, Some(held("other", 1))).saw(5000, None);
    scene.leads(9000);
    assert_eq!(scene.candidacy.deadline(), None, "the other may lead by a write after 5000");
    scene.saw(23_500, Some(held("me", 0)));
    assert_eq!(scene.step(23_900), Err(24_000));
    assert_eq!(scene.step(24_000), Ok(Step::Claim));
    scene.leads(24_000);
    assert_eq!(scene.candidacy.term(), 1);

    // The answer was lost, and it finds the Lease in its own name; or in nobody's.
    for found in [held("me", 0), Record { holder: None, ..held("me", 0) }] {
        let mut scene = Scene::new();
        scene.saw(0, Some(held("other", 1))).saw(5000, None).saw(9000, Some(found.clone()));
        scene.saw(23_500, Some(found));
        assert_eq!(scene.step(23_900), Err(24_000));
    }

    // A Lease that was never seen was nobody's.
    let mut scene = Scene::new();
    scene.saw(0, None).leads(0);
    assert_eq!(scene.candidacy.term(), 1);
}

#[test]
fn after_losing_its_own_lease_it_takes_it_again_in_a_new_term() {
    let mut scene = Scene::new();
    scene.leads(0);
    scene.candidacy.stepped_down();
    assert_eq!(scene.step(11000), Ok(Step::Claim));
    scene.leads(11000);
    assert_eq!(scene.candidacy.term(), 2);
}

#[test]
fn what_another_may_have_written_is_looked_at_first() {
    let mut scene = Scene::new();
    scene.leads(0);
    scene.candidacy.doubt();
    assert_eq!(scene.step(100), Ok(Step::Look));
    scene.saw(150, Some(held("me", 0)));
    assert_eq!(scene.step(150), Err(2000));
}

#[test]
fn only_the_preferred_group_acquires() {
    let free = || Record { holder: None, ..held("", 1) };
    for (group, standby, preferred, claims) in [
        ("blue", false, None, true),
        ("blue", false, Some("blue"), true),
        ("blue", false, Some("green"), false),
        ("green", true, None, false),
        ("green", true, Some("green"), true),
        ("green", true, Some("blue"), false),
    ] {
        let mut scene = Scene::of(candidate(group, standby));
        let record = preferred.map_or_else(free, |preferred| preferring(preferred, free()));
        scene.saw(0, Some(record));
        let step = scene.step(JITTER.as_millis().try_into().unwrap());
        assert_eq!(step == Ok(Step::Claim), claims, "{group} standby {standby}, preferred {preferred:?}");
    }
}

#[test]
fn a_standby_makes_no_lease() {
    let mut scene = Scene::of(candidate("green", true));
    assert_eq!(scene.saw(0, None).step(0), Err(3000));
}

#[test]
fn a_leader_yields_to_another_group_and_then_releases() {
    let mut scene = Scene::new();
    scene.leads(0).saw(100, Some(preferring("green", held("me", 0))));
    assert_eq!(scene.step(100), Ok(Step::Yield));
    scene.candidacy.stepped_down();
    assert_eq!(scene.step(200), Ok(Step::Release));
    scene.saw(300, Some(preferring("green", Record { holder: None, ..held("", 1) })));
    assert_eq!(scene.step(400), Err(3300));
}

#[test]
fn a_standby_that_leads_goes_on_when_no_group_is_preferred_any_more() {
    let mut scene = Scene::of(candidate("green", true));
    scene.leads(0).saw(100, Some(held("me", 0)));
    assert_eq!(scene.step(100), Err(2000));
}
