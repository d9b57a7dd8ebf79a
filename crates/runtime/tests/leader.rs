//! Elections on real control planes: who leads when leaders are released, killed, frozen, cut off.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "leader/place.rs"]
mod place;
#[path = "leader/process.rs"]
mod process;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use rustix::process::Signal;
use serde_json::json;
use slipway_runtime::leader::{Elector, LeaderElection, Leadership};
use slipway_testkit::{ControlPlane, until};

use place::{MINUTE, Place, acquired, between, renewed};

/// What callbacks told, in order.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn of(&self, election: LeaderElection) -> LeaderElection {
        let note = |diary: &Self| {
            let diary = diary.clone();
            move |line: String| diary.0.lock().unwrap().push(line)
        };
        let (started, stopped, new) = (note(self), note(self), note(self));
        election
            .on_started(move |term| started(format!("started {term}")))
            .on_stopped(move || stopped("stopped".into()))
            .on_new_leader(move |identity| new(format!("new leader {identity}")))
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

async fn follows(leadership: &Leadership, leader: &str) {
    until("the follower to know the leader", MINUTE, async || {
        (leadership.state().leader.as_deref() == Some(leader)).then_some(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn of_three_candidates_one_leads_and_a_released_lease_passes_on_at_once() {
    let place = Place::new("three").await;
    let mut candidates: Vec<(Elector, Leadership, Diary)> = Vec::new();
    for identity in ["a", "b", "c"] {
        let diary = Diary::default();
        // The rhythm that operators have unless told.
        let election = LeaderElection::named(place.lease).identity(identity);
        let (elector, leadership) = diary.of(election).start(place.client.clone()).unwrap();
        candidates.push((elector, leadership, diary));
    }
    for transitions in 0..3 {
        let (holder, spec) = place.held_by(|holder| !holder.is_empty()).await;
        assert_eq!(spec.lease_transitions, Some(transitions));
        assert_eq!(spec.lease_duration_seconds, Some(15));
        for (_, leadership, _) in &candidates {
            follows(leadership, &holder).await;
            assert_eq!(leadership.is_leader(), leadership.state().identity == holder);
        }
        let place_of_leader =
            candidates.iter().position(|(_, leadership, _)| leadership.is_leader()).unwrap();
        let (elector, leadership, diary) = candidates.remove(place_of_leader);
        let released = Timestamp::now();
        elector.release().await;
        assert!(!leadership.is_leader());
        let lines = diary.lines();
        assert_eq!(lines.iter().filter(|line| *line == "started 1").count(), 1, "{lines:?}");
        assert_eq!(lines.last().unwrap(), "stopped", "{lines:?}");
        assert!(lines.contains(&format!("new leader {holder}")), "{lines:?}");
        if candidates.is_empty() {
            let spec = place.lease().await;
            assert_eq!((spec.holder_identity, spec.lease_duration_seconds), (None, Some(1)));
        } else {
            let (_, spec) = place.held_by(|next| next != holder).await;
            let pause = between(released, acquired(&spec));
            assert!(pause <= Duration::from_secs(3), "{pause:?} without a leader");
        }
    }
}

#[tokio::test]
async fn a_follower_hears_of_a_release_through_its_watch() {
    let place = Place::new("watched").await;
    let slowly = |identity| {
        let election = place.candidate(identity).lease_duration(60 * MINUTE).renew_deadline(50 * MINUTE);
        election.retry_period(40 * MINUTE).start(place.client.clone()).unwrap()
    };
    let (leader, leadership) = slowly("a");
    leadership.acquired().await;
    let (_follower, following) = slowly("b");
    follows(&following, "a").await;
    leader.release().await;
    tokio::time::timeout(MINUTE, following.acquired()).await.unwrap();
}

#[tokio::test]
async fn a_killed_leader_is_followed_within_17_seconds() {
    let place = Place::new("killed").await;
    let processes = ["a", "b"].map(|identity| process::start(&place, identity, [15_000, 10_000, 2_000]));
    let (first, _) = place.held_by(|holder| !holder.is_empty()).await;
    let leader = processes.iter().find(|process| process.name() == first).unwrap();
    leader.part.signal(Signal::KILL).unwrap();
    let last = Mutex::new(Timestamp::MIN);
    let spec = until("another leader", MINUTE, async || {
        let spec = place.lease().await;
        if spec.holder_identity.as_deref() == Some(first.as_str()) {
            *last.lock().unwrap() = renewed(&spec);
            return None;
        }
        Some(spec)
    })
    .await
    .unwrap();
    let pause = between(last.into_inner().unwrap(), acquired(&spec));
    assert!(pause >= Duration::from_secs(15), "{pause:?}: the old leader's time was not over");
    assert!(pause <= Duration::from_secs(17), "{pause:?} from the last renewal to the next leader");
    assert_eq!(spec.lease_transitions, Some(1));
}

#[tokio::test]
async fn a_terminated_leader_is_followed_within_3_seconds() {
    let place = Place::new("terminated").await;
    let first = process::start(&place, "a", [15_000, 10_000, 2_000]).part;
    place.held_by(|holder| holder == "a").await;
    let (_elector, leadership) =
        LeaderElection::named(place.lease).identity("b").start(place.client.clone()).unwrap();
    follows(&leadership, "a").await;
    let signalled = Timestamp::now();
    first.signal(Signal::TERM).unwrap();
    let (_, spec) = place.held_by(|holder| holder == "b").await;
    let pause = between(signalled, acquired(&spec));
    assert!(pause <= Duration::from_secs(3), "{pause:?} from the signal to the next leader");
    until("the first to end", MINUTE, async || (!first.is_running()).then_some(())).await.unwrap();
    assert!(first.log().contains("stopped leading\nended"), "{}", first.log());
}

#[tokio::test]
async fn a_frozen_leader_writes_nothing_after_another_took_over() {
    let place = Place::new("frozen").await;
    let journal = Api::<ConfigMap>::default_namespaced(place.client.clone());
    let writers = Arc::new(Mutex::new(Vec::<String>::new()));
    let reading = tokio::spawn({
        let writers = Arc::clone(&writers);
        let only = watcher::Config::default().fields(&format!("metadata.name={}", place.lease));
        async move {
            let mut entries = std::pin::pin!(watcher(journal, only).default_backoff().applied_objects());
            while let Some(entry) = entries.next().await {
                let writer = entry.ok().and_then(|entry| entry.data?.remove("writer"));
                writers.lock().unwrap().extend(writer);
            }
        }
    });
    let after_takeover = || {
        let writers = writers.lock().unwrap();
        writers.iter().skip_while(|writer| *writer == "a").cloned().collect::<Vec<_>>()
    };

    let rhythm = [3_000, 2_000, 500];
    let frozen = process::start_to_rest(&place, "a", rhythm).part;
    until("the first leader to rest between two writes", MINUTE, async || {
        frozen.log().contains("resting").then_some(())
    })
    .await
    .unwrap();
    frozen.signal(Signal::STOP).unwrap();
    let since = std::time::Instant::now();
    let second = process::start(&place, "b", rhythm).part;
    // Its rest is over by then: the first thing that it does when it wakes is to write.
    until("the second leader to write", MINUTE, async || {
        (after_takeover().len() > 10 && since.elapsed() > process::REST).then_some(())
    })
    .await
    .unwrap();
    assert!(second.log().contains("leading in term 1"));

    frozen.signal(Signal::CONT).unwrap();
    until("the first to be refused", MINUTE, async || frozen.log().contains("refused 30").then_some(()))
        .await
        .unwrap();
    let count = after_takeover().len();
    until("the second to write on", MINUTE, async || (after_takeover().len() > count + 20).then_some(()))
        .await
        .unwrap();
    let writers = after_takeover();
    assert!(writers.iter().all(|writer| writer == "b"), "the frozen leader wrote after the other");
    assert!(frozen.log().contains("refused 20\n"), "the first write after waking was not refused");
    reading.abort();
}

#[tokio::test]
async fn the_preferred_group_takes_over_and_gives_back() {
    let place = Place::new("colours").await;
    let drained = Arc::new(Mutex::new(Vec::new()));
    let start = |group: &'static str, standby: bool| {
        let drained = Arc::clone(&drained);
        let election = place.candidate(group).group(group).standby(standby).on_yield(move || {
            let drained = Arc::clone(&drained);
            async move { drained.lock().unwrap().push(group) }
        });
        election.start(place.client.clone()).unwrap()
    };
    let (_green_elector, green) = start("green", true);
    let (_blue_elector, blue) = start("blue", false);
    place.held_by(|holder| holder == "blue").await;
    follows(&green, "blue").await;
    assert!(!green.is_leader());

    for (preferred, leads, rests) in [("green", &green, &blue), ("blue", &blue, &green)] {
        let asked = Timestamp::now();
        place.prefer(preferred).await;
        let (_, spec) = place.held_by(|holder| holder == preferred).await;
        let pause = between(asked, acquired(&spec));
        assert!(pause <= Duration::from_secs(3), "{pause:?} to hand over to {preferred}");
        follows(rests, preferred).await;
        leads.acquired().await;
        assert!(!rests.is_leader());
        assert_eq!(rests.state().preferred_group.as_deref(), Some(preferred));
    }
    assert_eq!(*drained.lock().unwrap(), ["blue", "green"]);
}

#[tokio::test]
async fn a_leader_that_yields_stops_first_and_keeps_the_lease_until_its_work_has_ended() {
    let place = Place::new("yielding").await;
    let (end_work, work) = tokio::sync::watch::channel(false);
    let election = place.candidate("blue").group("blue").on_yield(move || {
        let mut work = work.clone();
        async move {
            let _ = work.wait_for(|ended| *ended).await;
        }
    });
    let election =
        election.lease_duration(MINUTE).renew_deadline(Duration::from_secs(50)).drain_timeout(MINUTE);
    let (_blue_elector, blue) = election.start(place.client.clone()).unwrap();
    let term = blue.acquired().await;
    let (_green_elector, green) =
        place.candidate("green").group("green").start(place.client.clone()).unwrap();
    place.prefer("green").await;
    blue.lost(term).await;
    assert_eq!(place.lease().await.holder_identity.as_deref(), Some("blue"));
    assert!(!green.is_leader());
    end_work.send(true).unwrap();
    green.acquired().await;
}

#[tokio::test]
async fn a_leader_that_is_cut_off_stops_by_itself_and_leads_again_when_the_server_is_back() {
    let cluster = ControlPlane::builder().own_etcd().start().await.unwrap();
    let place = Place::on(&cluster, "cut-off").await;
    let diary = Diary::default();
    let election = place.candidate("a").lease_duration(Duration::from_secs(8));
    let election = diary.of(election.renew_deadline(Duration::from_secs(6)));
    let (elector, leadership) = election.start(place.client.clone()).unwrap();
    let term = leadership.acquired().await;
    let cut_off = std::time::Instant::now();
    cluster.kill("kube-apiserver").await.unwrap();
    leadership.lost(term).await;
    // The deadline counts from the last renewal, which was some time before.
    assert!(cut_off.elapsed() >= Duration::from_secs(3), "{:?}", cut_off.elapsed());
    until("the problem in words", MINUTE, async || leadership.state().problem).await.unwrap();
    cluster.start_part("kube-apiserver").await.unwrap();
    let again = tokio::time::timeout(MINUTE, leadership.acquired()).await.unwrap();
    assert!(again > term);
    assert_eq!(leadership.state().problem, None);
    elector.release().await;
    let lines: Vec<_> = diary.lines().into_iter().filter(|line| !line.starts_with("new")).collect();
    assert_eq!(lines, ["started 1", "stopped", "started 2", "stopped"]);
}

#[tokio::test]
async fn a_deleted_lease_is_made_anew_by_its_leader_in_the_same_term() {
    let place = Place::new("deleted").await;
    let (_first, leader) = place.candidate("a").start(place.client.clone()).unwrap();
    leader.acquired().await;
    let (_second, follower) = place.candidate("b").start(place.client.clone()).unwrap();
    follows(&follower, "a").await;
    let before = place.leases().get(place.lease).await.unwrap().metadata.uid;
    place.leases().delete(place.lease, &DeleteParams::default()).await.unwrap();
    until("another Lease", MINUTE, async || {
        let lease = place.leases().get_opt(place.lease).await.ok()??;
        (lease.metadata.uid != before).then_some(())
    })
    .await
    .unwrap();
    let (holder, _) = place.held_by(|_| true).await;
    assert_eq!(holder, "a");
    assert!(leader.leading() == Some(1) && !follower.is_leader());
}

fn as_user(place: &Place, user: &str) -> Client {
    let mut config = place.config.clone();
    config.auth_info.impersonate = Some(user.into());
    Client::try_from(config).unwrap()
}

async fn allow(place: &Place, user: &str, verbs: &[&str]) {
    let role: Role = serde_json::from_value(json!({"metadata": {"name": user}, "rules": [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": verbs}]}))
    .unwrap();
    let binding: RoleBinding = serde_json::from_value(json!({"metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]}))
    .unwrap();
    let client = &place.client;
    Api::default_namespaced(client.clone()).create(&PostParams::default(), &role).await.unwrap();
    Api::default_namespaced(client.clone()).create(&PostParams::default(), &binding).await.unwrap();
}

#[tokio::test]
async fn a_missing_permission_is_named_as_the_rule_to_add_and_found_once_it_is_there() {
    let place = Place::new("forbidden").await;
    let user = "operator-without-role";
    let (_elector, leadership) = place.candidate("a").start(as_user(&place, user)).unwrap();
    let problem = until("the problem", MINUTE, async || leadership.state().problem).await.unwrap();
    let rule = r#"{apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "list", "watch", "create", "update"]}"#;
    assert!(
        problem.starts_with("may not get the Lease default/forbidden (") && problem.contains(rule),
        "{problem}"
    );
    assert!(!leadership.is_leader());
    allow(&place, user, &["get", "list", "watch", "create", "update"]).await;
    tokio::time::timeout(MINUTE, leadership.acquired()).await.unwrap();
    assert_eq!(leadership.state().problem, None);
}

#[tokio::test]
async fn without_permission_to_watch_a_follower_looks_and_takes_over_all_the_same() {
    let place = Place::new("unwatched").await;
    let user = "operator-without-watch";
    allow(&place, user, &["get", "create", "update"]).await;
    let (leader, leadership) = place.candidate("a").start(place.client.clone()).unwrap();
    leadership.acquired().await;
    let (_follower, following) = place.candidate("b").start(as_user(&place, user)).unwrap();
    until("the follower to know the leader", MINUTE, async || {
        (following.state().leader.as_deref() == Some("a")).then_some(())
    })
    .await
    .unwrap();
    leader.release().await;
    tokio::time::timeout(MINUTE, following.acquired()).await.unwrap();
}

#[tokio::test]
async fn elections_on_two_leases_in_one_process_do_not_touch_each_other() {
    let (one, two) = (Place::new("one").await, Place::new("two").await);
    let (first, of_one) = one.candidate("a").start(one.client.clone()).unwrap();
    let (_second, of_two) = two.candidate("a").start(two.client.clone()).unwrap();
    of_one.acquired().await;
    of_two.acquired().await;
    first.release().await;
    assert!(!of_one.is_leader());
    assert!(of_two.is_leader());
}

#[tokio::test]
async fn a_dropped_elector_leads_no_longer_and_others_wait_for_its_duration() {
    let place = Place::new("dropped").await;
    let (elector, leadership) = place.candidate("a").start(place.client.clone()).unwrap();
    leadership.acquired().await;
    let (_other, following) = place.candidate("b").start(place.client.clone()).unwrap();
    follows(&following, "a").await;
    drop(elector);
    assert!(!leadership.is_leader());
    let last = renewed(&place.lease().await);
    let (_, spec) = place.held_by(|holder| holder == "b").await;
    assert!(between(last, acquired(&spec)) >= Duration::from_secs(3));
}
