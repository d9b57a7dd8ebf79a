//! Each rule with an example on either side of its line.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::*;

const MINUTE: i64 = 60;

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn ago(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

fn container(restarts: u32) -> ContainerSeen {
    ContainerSeen { name: "manager".to_owned(), restarts, ..ContainerSeen::default() }
}

fn pod(name: &str, ready: bool, age: i64) -> PodSeen {
    PodSeen {
        uid: format!("uid-{name}"),
        name: name.to_owned(),
        ready,
        phase: "Running".to_owned(),
        created: ago(age),
        trouble: None,
        containers: vec![container(0)],
    }
}

fn workload(expected: u32, pods: Vec<PodSeen>) -> WorkloadSeen {
    WorkloadSeen {
        kind: "Deployment".to_owned(),
        namespace: "boats".to_owned(),
        name: "operator".to_owned(),
        exists: true,
        expected,
        pods,
    }
}

fn seen(workloads: Vec<WorkloadSeen>) -> Observation {
    Observation {
        at: now(),
        workloads: Look::Seen(workloads),
        webhooks: Look::Seen(Vec::new()),
        conversions: Vec::new(),
        resources: Look::Seen(Vec::new()),
        smoke: None,
        rules: Vec::new(),
        logs: Vec::new(),
    }
}

fn well() -> Observation {
    seen(vec![workload(1, vec![pod("a", true, 3600)])])
}

fn hook(answer: WebhookAnswer) -> WebhookSeen {
    WebhookSeen {
        configuration: "boats".to_owned(),
        name: "validate.boats.dev".to_owned(),
        kind: WebhookKind::Validating,
        endpoint: "boats/webhook:443/validate".to_owned(),
        fails_closed: true,
        answer,
        latency: Some(Duration::from_millis(20)),
        certificate: None,
    }
}

fn failed() -> WebhookAnswer {
    WebhookAnswer::Failed { message: "connection refused".to_owned() }
}

fn boat(name: &str) -> ObjectSeen {
    ObjectSeen {
        uid: format!("uid-{name}"),
        namespace: Some("sea".to_owned()),
        name: name.to_owned(),
        created: ago(86_400),
        deleted: None,
        generation: Some(2),
        observed: Some(2),
        changed: Some(ago(3600)),
        answered: Some(ago(3590)),
        has_status: true,
        condition: Some(ready("True", 3600)),
    }
}

fn ready(status: &str, age: i64) -> ConditionSeen {
    ConditionSeen {
        status: status.to_owned(),
        reason: Some("Leaking".to_owned()),
        message: Some("water comes in".to_owned()),
        since: Some(ago(age)),
        observed: Some(2),
    }
}

fn tally(objects: &[ObjectSeen]) -> Tally {
    let mut tally = Tally::new("boats.sea.dev", "Boat", now(), Limits::default().stale_after);
    for object in objects {
        tally.add(object);
    }
    tally
}

fn with_boats(objects: &[ObjectSeen]) -> Observation {
    Observation { resources: Look::Seen(vec![tally(objects)]), ..well() }
}

/// Judged at the first look.
fn first(observation: &Observation) -> OperatorHealth {
    judged(observation, &Memory::default(), None)
}

fn judged(observation: &Observation, before: &Memory, baseline: Option<&Baseline>) -> OperatorHealth {
    let rules = HealthRules::default();
    let workloads = match &observation.workloads {
        Look::Seen(workloads) => workloads.as_slice(),
        Look::Unseen(_) => &[],
    };
    let memory = before.after(workloads, observation.at, &rules.limits);
    judge(observation, &memory, baseline, &rules, Duration::ZERO)
}

#[track_caller]
fn expect(health: &OperatorHealth, verdict: Verdict, check: Check, words: &str) {
    let texts: Vec<&str> = health.reasons.iter().map(|reason| reason.text.as_str()).collect();
    assert_eq!(health.verdict, verdict, "{texts:#?}");
    assert_eq!(health.check(), check, "{texts:#?}");
    if words.is_empty() {
        assert_eq!(health.headline(), None, "{texts:#?}");
    } else {
        assert!(health.headline().is_some_and(|line| line.contains(words)), "{texts:#?}");
    }
}

#[test]
fn pods_that_are_ready_are_healthy() {
    expect(&first(&well()), Verdict::Healthy, Check::Passed, "");
}

#[test]
fn what_was_not_seen_is_never_healthy() {
    let nothing = Observation::unseen(now(), "cluster prod-eu does not answer");
    let health = first(&nothing);
    expect(&health, Verdict::Unknown, Check::Undecided, "cluster prod-eu does not answer");
    assert_eq!(health.reasons.len(), 1, "one cause is said once");
    let cases = [
        (seen(Vec::new()), "has no workload"),
        (seen(vec![workload(0, Vec::new())]), "scaled to zero"),
        (
            Observation { workloads: Look::Unseen("forbidden".into()), ..well() },
            "pods could not be looked at",
        ),
        (Observation { webhooks: Look::Unseen("forbidden".into()), ..well() }, "webhooks could not"),
        (Observation { resources: Look::Unseen("forbidden".into()), ..well() }, "custom resources could not"),
    ];
    for (observation, words) in cases {
        expect(&first(&observation), Verdict::Unknown, Check::Undecided, words);
    }
    // Objects that are well do not speak for a controller that is not there.
    let idle =
        Observation { workloads: Look::Seen(vec![workload(0, Vec::new())]), ..with_boats(&[boat("a")]) };
    assert_eq!(first(&idle).verdict, Verdict::Unknown);
}

#[test]
fn a_pod_has_two_minutes_to_start() {
    let young = seen(vec![workload(2, vec![pod("a", true, 3600), pod("b", false, 30)])]);
    expect(&first(&young), Verdict::Degraded, Check::Undecided, "1 of 2 pods ready");
    let old = seen(vec![workload(2, vec![pod("a", true, 3600), pod("b", false, 121)])]);
    expect(&first(&old), Verdict::Unhealthy, Check::Failed, "b is Running and not ready");
}

#[test]
fn pods_that_are_made_anew_for_ever_are_not_starting() {
    let observation = seen(vec![workload(1, vec![pod("young", false, 1)])]);
    let Look::Seen(workloads) = &observation.workloads else { unreachable!() };
    let short = Memory::default().after(workloads, ago(3 * MINUTE), &Limits::default());
    expect(&judged(&observation, &short, None), Verdict::Unhealthy, Check::Failed, "0 of 1 pods ready");
    let none = seen(vec![workload(2, Vec::new())]);
    expect(&judged(&none, &short, None), Verdict::Unhealthy, Check::Failed, "it has 0 pods at all");
}

#[test]
fn what_a_pod_waits_for_is_said() {
    let mut stuck = pod("b", false, 600);
    stuck.containers[0].waiting =
        Some(Waiting { reason: "ImagePullBackOff".into(), message: Some("no such image".into()) });
    let observation = seen(vec![workload(1, vec![stuck])]);
    expect(
        &first(&observation),
        Verdict::Unhealthy,
        Check::Failed,
        "waits: ImagePullBackOff (no such image)",
    );
    let mut unplaced = pod("c", false, 600);
    unplaced.phase = "Pending".into();
    unplaced.trouble = Some("0/3 nodes are available".into());
    let observation = seen(vec![workload(1, vec![unplaced])]);
    expect(&first(&observation), Verdict::Unhealthy, Check::Failed, "is Pending: 0/3 nodes are available");
}

#[test]
fn a_workload_that_is_gone_is_a_failure() {
    let gone = WorkloadSeen { exists: false, ..workload(0, Vec::new()) };
    expect(
        &first(&seen(vec![gone])),
        Verdict::Unhealthy,
        Check::Failed,
        "boats/operator of its release is not there",
    );
}

#[test]
fn a_crash_loop_counts_after_the_start_deadline() {
    let looping = |age| {
        let mut pod = pod("b", false, age);
        pod.containers[0] = ContainerSeen {
            restarts: 7,
            waiting: Some(Waiting { reason: "CrashLoopBackOff".into(), message: None }),
            last_exit: Some(Exit { reason: "Error".into(), code: 1 }),
            ..container(0)
        };
        seen(vec![workload(1, vec![pod])])
    };
    let health = first(&looping(600));
    expect(
        &health,
        Verdict::Unhealthy,
        Check::Failed,
        "CrashLoopBackOff after 7 restarts (last end: Error, code 1)",
    );
    assert_eq!(health.pods.crash_looping, 1);
    let health = first(&looping(60));
    expect(&health, Verdict::Degraded, Check::Undecided, "starting");
    assert_eq!(health.pods.crash_looping, 0);
}

/// Looks at a pod that is `age` seconds old now, at times before now, with so many restarts.
fn restarted(age: i64, looks: &[(i64, u32)]) -> OperatorHealth {
    let mut memory = Memory::default();
    let mut last = well();
    for (before, restarts) in looks {
        let at = ago(*before);
        let mut pod = pod("a", true, age);
        pod.containers[0].restarts = *restarts;
        last = Observation { at, ..seen(vec![workload(1, vec![pod])]) };
        let Look::Seen(workloads) = &last.workloads else { unreachable!() };
        memory = memory.after(workloads, at, &Limits::default());
    }
    judged(&last, &memory, None)
}

#[test]
fn three_restarts_within_five_minutes_are_a_crash_loop() {
    // (age of the pod, looks as (seconds ago, restarts), whether it is a crash loop)
    type Case = (i64, &'static [(i64, u32)], bool);
    let cases: &[Case] = &[
        (3600, &[(240, 4), (120, 5), (60, 6), (0, 7)], true),
        (3600, &[(240, 4), (120, 5), (60, 6), (0, 6)], false),
        // Too long ago.
        (3600, &[(900, 4), (600, 5), (400, 6), (0, 7)], false),
        // The count before the window is what it is counted from.
        (3600, &[(400, 4), (200, 5), (100, 6), (0, 7)], true),
        // Only the first look: nobody knows when it happened.
        (3600, &[(0, 30)], false),
        // Within the start deadline.
        (200, &[(190, 0), (150, 2), (100, 3), (0, 3)], false),
        (400, &[(390, 0), (300, 2), (200, 3), (100, 4), (0, 5)], true),
        // Started again before, quiet since.
        (3600, &[(30, 9), (0, 9)], false),
    ];
    for (age, looks, crashing) in cases {
        let health = restarted(*age, looks);
        assert_eq!(health.pods.crash_looping == 1, *crashing, "{age} {looks:?} {:?}", health.reasons);
        assert_eq!(health.verdict == Verdict::Unhealthy, *crashing);
    }
}

#[test]
fn usage_above_the_limit_degrades_and_much_is_noted() {
    for (used, verdict) in [(50, Verdict::Healthy), (90, Verdict::Healthy), (101, Verdict::Degraded)] {
        let mut pod = pod("a", true, 3600);
        pod.containers[0].usage = Some(Usage { cpu_millis: Some(used), memory_bytes: Some(1) });
        pod.containers[0].limit = Usage { cpu_millis: Some(100), memory_bytes: None };
        let health = first(&seen(vec![workload(1, vec![pod])]));
        assert_eq!(health.verdict, verdict, "{used} %");
        assert_eq!(health.reasons.len(), usize::from(used > 80));
        assert_eq!(health.pods.cpu_percent, Some(f64::from(u32::try_from(used).unwrap())));
        assert_eq!(health.pods.memory_percent, None);
    }
}

#[test]
fn a_webhook_is_judged_by_whether_it_can_be_called_and_how_fast() {
    let at = |latency, answer| WebhookSeen { latency: Some(Duration::from_millis(latency)), ..hook(answer) };
    let cases = [
        (hook(WebhookAnswer::Answered), Verdict::Healthy, ""),
        (hook(WebhookAnswer::NotAsked { why: "it has side effects".into() }), Verdict::Healthy, ""),
        (hook(failed()), Verdict::Unhealthy, "\"validate.boats.dev\" cannot be called: connection refused"),
        (WebhookSeen { fails_closed: false, ..hook(failed()) }, Verdict::Degraded, "cannot be called"),
        (at(999, WebhookAnswer::Answered), Verdict::Healthy, ""),
        (at(1000, WebhookAnswer::Answered), Verdict::Unhealthy, "took 1000 ms"),
    ];
    for (hook, verdict, words) in cases {
        let asked = !matches!(hook.answer, WebhookAnswer::NotAsked { .. });
        let observation = Observation { webhooks: Look::Seen(vec![hook]), ..well() };
        let health = first(&observation);
        let check = if verdict == Verdict::Healthy { Check::Passed } else { Check::Failed };
        expect(&health, verdict, check, words);
        assert_eq!(health.webhooks.verdict == Verdict::Unknown, !asked, "{:?}", health.webhooks);
    }
}

#[test]
fn a_certificate_is_bad_in_the_last_tenth_of_its_life() {
    const DAY: i64 = 86_400;
    // (days since it began, days until it ends, whether it is good)
    for (age, left, good) in [
        (10, 80, true),
        (82, 8, false),
        (80, 10, true),
        (90, -1, false),
        (-1, 90, false),
        // Decades need no year of warning.
        (3450, 200, true),
        (3600, 50, false),
    ] {
        let certificate = CertificateSeen {
            of: "its certificate".into(),
            not_before: ago(age * DAY),
            not_after: ago(-left * DAY - 1),
        };
        let hook = WebhookSeen { certificate: Some(certificate), ..hook(WebhookAnswer::Answered) };
        let health = first(&Observation { webhooks: Look::Seen(vec![hook]), ..well() });
        let expected = if good { Verdict::Healthy } else { Verdict::Unhealthy };
        assert_eq!(health.verdict, expected, "{age} {left} {:?}", health.reasons);
    }
}

#[test]
fn a_conversion_that_fails_is_a_webhook_that_fails() {
    let read = |answer| ConversionSeen { crd: "boats.sea.dev".into(), version: "v1".into(), answer };
    let observation = Observation { conversions: vec![read(failed())], ..well() };
    expect(&first(&observation), Verdict::Unhealthy, Check::Failed, "boats.sea.dev cannot be read as v1");
    let observation = Observation { conversions: vec![read(WebhookAnswer::Answered)], ..well() };
    let health = first(&observation);
    expect(&health, Verdict::Healthy, Check::Passed, "");
    assert_eq!(health.webhooks.reachable(), Some(true));
}

#[test]
fn objects_may_lag_and_be_unready_for_five_minutes() {
    let lag = |age| ObjectSeen { generation: Some(3), changed: Some(ago(age)), ..boat("a") };
    let unready = |status: &str, age| ObjectSeen { condition: Some(ready(status, age)), ..boat("a") };
    let silent = |age| ObjectSeen {
        observed: None,
        condition: None,
        has_status: false,
        created: ago(age),
        ..boat("b")
    };
    let cases = [
        (vec![boat("a")], Verdict::Healthy, ""),
        (vec![lag(299)], Verdict::Healthy, ""),
        (vec![lag(301)], Verdict::Degraded, "1 object of kind Boat lag behind for over 5 minutes: sea/a"),
        (vec![unready("False", 299)], Verdict::Healthy, ""),
        (vec![unready("False", 301)], Verdict::Degraded, "not Ready for over 5 minutes: sea/a"),
        (vec![unready("Unknown", 301)], Verdict::Degraded, "not Ready"),
        (vec![ObjectSeen { deleted: Some(ago(600)), ..lag(600) }], Verdict::Healthy, ""),
        (vec![boat("a"), silent(301)], Verdict::Degraded, "sea/b"),
        (vec![boat("a"), silent(299)], Verdict::Healthy, ""),
        // A kind that never says anything is not stale.
        (vec![silent(301)], Verdict::Healthy, ""),
    ];
    for (boats, verdict, words) in cases {
        let check = if verdict == Verdict::Healthy { Check::Passed } else { Check::Failed };
        expect(&first(&with_boats(&boats)), verdict, check, words);
    }
    let health = first(&with_boats(&[silent(301)]));
    assert_eq!(health.reconciliation.verdict, Verdict::Unknown, "nothing was said");
    assert_eq!(first(&with_boats(&[lag(10), boat("b")])).reconciliation.in_work, 1);
}

#[test]
fn the_observed_generation_of_the_condition_counts_where_there_is_no_other() {
    let mut object = ObjectSeen { observed: None, generation: Some(3), ..boat("a") };
    expect(&first(&with_boats(&[object.clone()])), Verdict::Degraded, Check::Failed, "lag behind");
    object.generation = Some(2);
    expect(&first(&with_boats(&[object])), Verdict::Healthy, Check::Passed, "");
}

#[test]
fn one_unready_object_in_a_hundred_is_noted_and_one_in_twenty_degrades() {
    let boats = |all: usize| {
        let mut boats: Vec<ObjectSeen> = (1..all).map(|number| boat(&format!("b{number}"))).collect();
        boats.push(ObjectSeen { condition: Some(ready("False", 600)), ..boat("sick") });
        boats
    };
    let health = first(&with_boats(&boats(100)));
    expect(&health, Verdict::Healthy, Check::Passed, "");
    assert_eq!((health.reconciliation.stale, health.reasons.len()), (1, 1));
    assert!(
        health.reconciliation.kinds[0].examples[0].contains("sea/sick: not Ready for 10 min: water comes in")
    );
    let health = first(&with_boats(&boats(20)));
    expect(&health, Verdict::Degraded, Check::Failed, "1 of 20 objects of kind Boat (5 %)");
    assert!((health.reconciliation.error_rate - 0.05).abs() < 1e-9);
}

#[test]
fn what_was_stale_at_the_baseline_does_not_count_and_what_is_new_does() {
    let sick = |name: &str| ObjectSeen { condition: Some(ready("False", 600)), ..boat(name) };
    let before = with_boats(&[sick("a"), boat("b")]);
    let baseline = Baseline::of(&before, &Memory::default(), &Limits::default());
    let health = judged(&before, &Memory::default(), Some(&baseline));
    expect(&health, Verdict::Healthy, Check::Passed, "");
    assert_eq!(health.reconciliation.kinds[0].known, 1);
    let after = with_boats(&[sick("a"), sick("b")]);
    expect(&judged(&after, &Memory::default(), Some(&baseline)), Verdict::Degraded, Check::Failed, "sea/b");
}

#[test]
fn a_change_is_judged_only_by_what_got_worse() {
    let broken = Observation {
        workloads: Look::Seen(vec![workload(2, vec![pod("a", true, 600), pod("b", false, 600)])]),
        webhooks: Look::Seen(vec![hook(failed())]),
        conversions: vec![ConversionSeen {
            crd: "boats.sea.dev".into(),
            version: "v1".into(),
            answer: failed(),
        }],
        ..well()
    };
    let baseline = Baseline::of(&broken, &Memory::default(), &Limits::default());
    let health = judged(&broken, &Memory::default(), Some(&baseline));
    assert_eq!(health.verdict, Verdict::Unhealthy, "who looks sees all of it");
    assert_eq!(health.beyond_baseline(), (Verdict::Healthy, Check::Passed));
    let worse = Observation {
        workloads: Look::Seen(vec![workload(2, vec![pod("a", false, 600), pod("b", false, 600)])]),
        ..broken
    };
    let health = judged(&worse, &Memory::default(), Some(&baseline));
    assert_eq!(health.beyond_baseline(), (Verdict::Unhealthy, Check::Failed));
    let text = serde_json::to_string(&baseline).unwrap();
    assert_eq!(serde_json::from_str::<Baseline>(&text).unwrap(), baseline);
}

#[test]
fn many_restarts_count_against_the_baseline_only() {
    let restarts = |count| {
        let mut pod = pod("a", true, 86_400);
        pod.containers[0].restarts = count;
        seen(vec![workload(1, vec![pod])])
    };
    assert_eq!(first(&restarts(40)).verdict, Verdict::Healthy, "a year has its incidents");
    let baseline = Baseline::of(&restarts(40), &Memory::default(), &Limits::default());
    let at = |count| judged(&restarts(count), &Memory::default(), Some(&baseline));
    assert_eq!(at(44).verdict, Verdict::Healthy);
    expect(&at(45), Verdict::Unhealthy, Check::Failed, "5 more than at the baseline");
}

#[test]
fn a_smoke_test_counts_until_the_next_one() {
    let smoke = |failure: Option<&str>| SmokeSeen {
        at: ago(60),
        object: "Boat smoke".into(),
        failure: failure.map(str::to_owned),
        took: Duration::from_secs(1),
    };
    let rules = HealthRules {
        smoke: Some(SmokeTest {
            object: serde_json::Value::Null,
            condition: "Ready".into(),
            within: Duration::from_mins(1),
            every: Duration::from_mins(10),
        }),
        ..HealthRules::default()
    };
    let run = |now: Option<SmokeSeen>, before: Option<SmokeSeen>, rules: &HealthRules| {
        let mut memory = Memory::default();
        memory.smoke = before;
        judge(&Observation { smoke: now, ..well() }, &memory, None, rules, Duration::ZERO)
    };
    expect(
        &run(Some(smoke(Some("not Ready in 60 s"))), None, &rules),
        Verdict::Unhealthy,
        Check::Failed,
        "smoke test with Boat smoke failed: not Ready in 60 s",
    );
    expect(&run(None, Some(smoke(Some("no"))), &rules), Verdict::Unhealthy, Check::Failed, "smoke test");
    expect(&run(Some(smoke(None)), Some(smoke(Some("no"))), &rules), Verdict::Healthy, Check::Passed, "");
    let without = HealthRules::default();
    expect(&run(None, Some(smoke(Some("no"))), &without), Verdict::Healthy, Check::Passed, "");
}

#[test]
fn the_heaviest_reason_comes_first_and_all_survive_storage() {
    let mut pods = vec![pod("a", true, 3600), pod("b", false, 3600)];
    pods[0].containers[0].usage = Some(Usage { cpu_millis: Some(90), memory_bytes: None });
    pods[0].containers[0].limit = Usage { cpu_millis: Some(100), memory_bytes: None };
    let observation = Observation {
        webhooks: Look::Seen(vec![hook(failed())]),
        resources: Look::Seen(vec![tally(&[ObjectSeen { generation: Some(3), ..boat("a") }])]),
        ..seen(vec![workload(2, pods)])
    };
    let health = first(&observation);
    let weights: Vec<Weight> = health.reasons.iter().map(|reason| reason.weight).collect();
    assert_eq!(weights, [Weight::Failing, Weight::Failing, Weight::Degrading, Weight::Note]);
    let text = serde_json::to_string(&health).unwrap();
    assert_eq!(serde_json::from_str::<OperatorHealth>(&text).unwrap(), health);
    assert_eq!("degraded".parse(), Ok(Verdict::Degraded));
    assert!("fine".parse::<Verdict>().is_err());
}

#[test]
fn a_further_rule_weighs_what_the_profile_says() {
    let rule = |weight, broken: Look<Vec<String>>| Observation {
        rules: vec![RuleSeen { name: "the sea is calm".into(), weight, broken }],
        ..well()
    };
    let broken = || Look::Seen(vec!["Sea north: Calm is False".to_owned()]);
    let words = "the sea is calm: Sea north: Calm is False";
    expect(&first(&rule(Weight::Failing, broken())), Verdict::Unhealthy, Check::Failed, words);
    let degraded = rule(Weight::Degrading, broken());
    expect(&first(&degraded), Verdict::Degraded, Check::Failed, words);
    expect(&first(&rule(Weight::Failing, Look::Seen(Vec::new()))), Verdict::Healthy, Check::Passed, "");
    let unseen = rule(Weight::Failing, Look::Unseen("forbidden".into()));
    expect(&first(&unseen), Verdict::Unknown, Check::Undecided, "the sea is calm could not be looked at");
    let baseline = Baseline::of(&degraded, &Memory::default(), &Limits::default());
    let health = judged(&degraded, &Memory::default(), Some(&baseline));
    assert_eq!(health.beyond_baseline(), (Verdict::Healthy, Check::Passed));
}
