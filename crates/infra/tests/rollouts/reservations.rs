//! One active rollout per operator and cluster.

use std::collections::BTreeMap;

use slipway_domain::id::OperatorId;
use slipway_domain::rollout::Status;
use slipway_orchestrator::Changeset;
use slipway_orchestrator::ports::store::{
    ClusterWrite, OperatorWrite, RESERVED, RESERVED_OPERATOR, RolloutRows as _,
};
use slipway_orchestrator::ports::{Store as _, StoreError};
use uuid::Uuid;

use crate::scene::{add_operator, begin, name, scene};

fn taken(done: &Result<(), StoreError>) -> bool {
    matches!(done, Err(StoreError::Taken { constraint }) if constraint == RESERVED)
}

#[tokio::test]
async fn a_cluster_is_changed_by_one_rollout_at_a_time() {
    let scene = scene().await;
    let first = scene.rollout(&["dev", "prod-eu"]);
    scene.begin(&first).await.unwrap();
    let second = scene.rollout(&["prod-eu", "prod-us"]);
    assert!(taken(&scene.begin(&second).await));
    assert_eq!(scene.store().rollout(second.id).await.unwrap(), None, "nothing of it was written");
    assert_eq!(scene.held().await, BTreeMap::from([(name("dev"), first.id), (name("prod-eu"), first.id)]));
    scene.begin(&scene.rollout(&["prod-us"])).await.unwrap();

    // Another operator on the same clusters is another matter.
    let other = OperatorId(Uuid::new_v4());
    add_operator(scene.store(), other, "trains").await;
    let mut third = scene.rollout(&["prod-eu"]);
    third.operator = other;
    scene.begin(&third).await.unwrap();
    assert_eq!(scene.store().rollouts_of(other).await.unwrap(), [third.id]);
    let mut on: Vec<_> = scene.store().rollouts_on(scene.clusters[&name("prod-eu")]).await.unwrap();
    on.sort_unstable();
    let mut expected = [first.id, third.id];
    expected.sort_unstable();
    assert_eq!(on, expected);
    assert_eq!(scene.store().active_rollouts().await.unwrap(), 3);
}

#[tokio::test]
async fn of_many_that_begin_at_once_one_does() {
    let scene = scene().await;
    let other = scene.stored.another("two").await;
    for _ in 0..10 {
        let (one, two) = (scene.rollout(&["dev", "prod-us"]), scene.rollout(&["prod-us", "dev"]));
        let (first, second) =
            tokio::join!(scene.begin(&one), other.commit(Changeset::new().write(begin(&two))));
        assert!(first.is_ok() != second.is_ok(), "{first:?} {second:?}");
        assert!(taken(&first) || taken(&second), "{first:?} {second:?}");
        let begun = if first.is_ok() { one.id } else { two.id };
        assert!(scene.held().await.values().all(|holder| *holder == begun));
        scene.becomes(begun, Status::Cancelled).await.unwrap();
        assert_eq!(scene.held().await, BTreeMap::new());
    }
}

#[tokio::test]
async fn what_ended_holds_nothing_and_takes_it_again_when_it_is_taken_up() {
    let scene = scene().await;
    let first = scene.rollout(&["dev", "prod-eu"]);
    scene.begin(&first).await.unwrap();
    for status in [Status::Deploying, Status::Validating] {
        scene.becomes(first.id, status).await.unwrap();
        assert_eq!(scene.held().await.len(), 2, "{status}");
    }
    for (ended, again) in [(Status::Completed, Status::RollingBack), (Status::Failed, Status::Deploying)] {
        scene.becomes(first.id, ended).await.unwrap();
        assert_eq!(scene.held().await, BTreeMap::new(), "{ended}");
        // Deciding on while it is over takes nothing: it is watched, or blue is removed.
        scene.becomes(first.id, ended).await.unwrap();
        assert_eq!(scene.held().await, BTreeMap::new(), "{ended}");

        let second = scene.rollout(&["prod-eu"]);
        scene.begin(&second).await.unwrap();
        let before = scene.read(first.id).await;
        assert!(taken(&scene.becomes(first.id, again).await), "{again}");
        assert_eq!(scene.read(first.id).await, before, "nothing of it was written");
        scene.becomes(second.id, Status::Failed).await.unwrap();
        scene.becomes(first.id, again).await.unwrap();
        assert_eq!(scene.held().await.into_values().collect::<Vec<_>>(), [first.id; 2], "{again}");
    }
}

#[tokio::test]
async fn what_a_rollout_holds_cannot_be_removed_and_its_history_outlives_both() {
    let scene = scene().await;
    let rollout = scene.rollout(&["dev", "prod-eu"]);
    scene.begin(&rollout).await.unwrap();
    let cluster = || Changeset::new().write(ClusterWrite::Remove { id: scene.clusters[&name("dev")] });
    let operator = || Changeset::new().write(OperatorWrite::Remove { id: scene.operator });
    let refused = scene.store().commit(cluster()).await;
    assert!(matches!(refused, Err(StoreError::Referenced { .. })), "{refused:?}");
    let refused = scene.store().commit(operator()).await;
    let Err(StoreError::Referenced { constraint }) = refused else { panic!("{refused:?}") };
    assert_eq!(constraint, RESERVED_OPERATOR);

    scene.becomes(rollout.id, Status::Completed).await.unwrap();
    scene.store().commit(cluster()).await.unwrap();
    // The cluster that is gone does not keep the others from being taken back.
    scene.becomes(rollout.id, Status::RollingBack).await.unwrap();
    assert_eq!(scene.held().await, BTreeMap::from([(name("prod-eu"), rollout.id)]));
    scene.becomes(rollout.id, Status::RolledBack).await.unwrap();
    scene.store().commit(operator()).await.unwrap();
    let kept = scene.read(rollout.id).await;
    assert_eq!((kept.state.spec.operator, kept.placements.len()), (name("boats"), 2));
}

#[tokio::test]
async fn nothing_begins_on_a_cluster_that_is_gone() {
    let scene = scene().await;
    let rollout = scene.rollout(&["dev", "prod-eu"]);
    let gone = Changeset::new().write(ClusterWrite::Remove { id: scene.clusters[&name("dev")] });
    scene.store().commit(gone).await.unwrap();
    assert!(matches!(scene.begin(&rollout).await, Err(StoreError::Referenced { .. })));
}
