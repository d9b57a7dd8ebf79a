//! Finding rollouts again.

use jiff::SignedDuration;
use slipway_domain::access::Environment;
use slipway_domain::id::RolloutId;
use slipway_domain::rollout::{Status, StrategyKind};
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{RolloutFilter, RolloutRows as _};
use uuid::Uuid;

use crate::scene::{Scene, name, now, scene};

const ALL: Window = Window { limit: 100, offset: 0 };

/// One that failed on dev, one that was completed on production, one that goes on on dev.
async fn three(scene: &Scene) -> [RolloutId; 3] {
    let mut ids = Vec::new();
    for (number, mut rollout) in
        [scene.rollout(&["dev"]), scene.canary(&["prod-eu", "prod-us"]), scene.rollout(&["dev"])]
            .into_iter()
            .enumerate()
    {
        let hours = i64::try_from(number).unwrap();
        rollout.created_at = now() + SignedDuration::from_hours(hours);
        scene.begin(&rollout).await.unwrap();
        if let Some(end) = [Status::Failed, Status::Completed].get(number) {
            scene.becomes(rollout.id, *end).await.unwrap();
        }
        ids.push(rollout.id);
    }
    ids.try_into().unwrap()
}

#[tokio::test]
async fn lists_are_filtered_and_the_newest_is_first() {
    let scene = scene().await;
    let [failed, completed, active] = three(&scene).await;
    let listed = async |filter: RolloutFilter| {
        let page = scene.store().rollouts(&filter, ALL).await.unwrap();
        assert_eq!(page.total, page.items.len() as u64);
        page.items.into_iter().map(|rollout| rollout.id).collect::<Vec<_>>()
    };
    let any = RolloutFilter::default;
    assert_eq!(listed(any()).await, [active, completed, failed]);
    assert_eq!(listed(RolloutFilter { status: Some(Status::Failed), ..any() }).await, [failed]);
    assert_eq!(listed(RolloutFilter { operator: Some("boats".into()), ..any() }).await.len(), 3);
    assert_eq!(listed(RolloutFilter { operator: Some("tra\0ins".into()), ..any() }).await, []);
    assert_eq!(listed(RolloutFilter { cluster: Some("prod-us".into()), ..any() }).await, [completed]);
    assert_eq!(
        listed(RolloutFilter { strategy: Some(StrategyKind::Direct), ..any() }).await,
        [active, failed]
    );
    let production = Some(Environment::Production);
    assert_eq!(listed(RolloutFilter { environment: production, ..any() }).await, [completed]);
    assert_eq!(listed(RolloutFilter { active: Some(true), ..any() }).await, [active]);
    assert_eq!(listed(RolloutFilter { active: Some(false), ..any() }).await, [completed, failed]);
    let both = RolloutFilter { cluster: Some("dev".into()), active: Some(false), ..any() };
    assert_eq!(listed(both).await, [failed]);

    let page = scene.store().rollouts(&any(), Window { limit: 1, offset: 1 }).await.unwrap();
    assert_eq!((page.total, page.items[0].id), (3, completed));
    assert_eq!(scene.store().rollouts(&any(), Window { limit: 9, offset: 9 }).await.unwrap().total, 3);
    assert_eq!(scene.store().active_rollouts().await.unwrap(), 1);
}

#[tokio::test]
async fn the_first_digits_of_an_id_are_enough() {
    let scene = scene().await;
    for (number, digits) in ["0a000000", "0a0000ff", "0a00ffff", "0affffff", "ffffffff"].iter().enumerate() {
        let mut rollout = scene.rollout(&["dev"]);
        rollout.id = RolloutId(format!("{digits}-0000-4000-8000-00000000000{number}").parse().unwrap());
        scene.begin(&rollout).await.unwrap();
        scene.becomes(rollout.id, Status::Cancelled).await.unwrap();
    }
    let found = async |text: &str| scene.store().rollouts_like(text).await.unwrap();
    assert_eq!(found("FFFF").await.len(), 1);
    assert_eq!(found("0a0000").await.len(), 2);
    assert_eq!(found("0a").await.len(), 3, "three at most");
    assert_eq!(found("0b").await, []);
    assert_eq!(found("0a00ffff-0000-4").await.len(), 1);
    assert_eq!(found("%").await, []);
    assert_eq!(found("").await.len(), 3);
}

#[tokio::test]
async fn the_last_one_that_was_completed_there_is_found() {
    let scene = scene().await;
    let store = scene.store();
    let before = async |cluster: &str, than| {
        store.completed_before(scene.operator, &name(cluster), than).await.unwrap()
    };
    let none = RolloutId(Uuid::nil());
    assert_eq!(before("dev", none).await, None);
    let mut completed = Vec::new();
    for _ in 0..2 {
        let rollout = scene.rollout(&["dev", "prod-eu"]);
        scene.begin(&rollout).await.unwrap();
        assert_eq!(before("dev", none).await, completed.last().copied());
        scene.becomes(rollout.id, Status::Completed).await.unwrap();
        completed.push(rollout.id);
    }
    assert_eq!(before("dev", none).await, Some(completed[1]));
    assert_eq!(before("dev", completed[1]).await, Some(completed[0]));
    assert_eq!(before("prod-us", none).await, None);
}

#[tokio::test]
async fn what_a_newer_server_wrote_is_left_to_it() {
    let scene = scene().await;
    let [_, completed, active] = three(&scene).await;
    sqlx::query("UPDATE rollouts SET format = 1000, state = '{}' WHERE id = $1")
        .bind(active.0)
        .execute(scene.store().pool())
        .await
        .unwrap();
    let refused = scene.store().rollout(active).await;
    let Err(StoreError::Other(why)) = refused else { panic!("{refused:?}") };
    assert!(why.to_string().contains("a newer server goes on with it"), "{why}");
    let page = scene.store().rollouts(&RolloutFilter::default(), ALL).await.unwrap();
    assert_eq!((page.total, page.items[0].id), (2, completed), "lists stay readable");
    assert_eq!(scene.store().active_rollouts().await.unwrap(), 1);
    assert_eq!(scene.held().await.len(), 1, "and it holds its clusters");
}

#[tokio::test]
async fn the_time_is_the_databases() {
    let scene = scene().await;
    let before = scene.store().time().await.unwrap();
    assert!(scene.store().time().await.unwrap() >= before);
}
