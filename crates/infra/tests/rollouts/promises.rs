//! PostgreSQL keeps what rows promise: the same as its twin in the simulation of the engine.

use std::time::Duration;

use jiff::Timestamp;
use slipway_domain::id::RolloutId;
use slipway_domain::rollout::ActKey;
use slipway_orchestrator::Changeset;
use slipway_orchestrator::ports::store::{
    Claim, Recorded, Rollout, RolloutRows as _, StepRow, WorkRows as _,
};
use slipway_orchestrator::ports::{Store as _, StoreError};

use crate::cases::{Keeper, hold};
use crate::scene::{Scene, scene};

struct Postgres {
    scene: Scene,
    id: RolloutId,
}

impl Postgres {
    async fn new() -> Self {
        let scene = scene().await;
        let rollout = scene.rollout(&["dev", "prod-eu"]);
        scene.begin(&rollout).await.unwrap();
        Self { scene, id: rollout.id }
    }
}

impl Keeper for Postgres {
    async fn time(&self) -> Timestamp {
        self.scene.store().time().await.unwrap()
    }

    async fn pass(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }

    async fn commit(&self, changes: Changeset) -> Result<(), StoreError> {
        self.scene.store().commit(changes).await
    }

    async fn rollout(&self) -> Rollout {
        self.scene.read(self.id).await
    }

    async fn recorded(&self) -> Recorded {
        self.scene.store().recorded(self.id).await.unwrap()
    }

    async fn step(&self, key: &ActKey) -> Option<StepRow> {
        self.scene.store().step(self.id, key).await.unwrap()
    }

    async fn claim(&self, kind: &'static str, lease: Duration) -> Vec<Claim> {
        self.scene.store().claim(kind, 10, lease).await.unwrap()
    }

    async fn keep(&self, claim: &Claim, lease: Duration) -> bool {
        self.scene.store().keep(claim, lease).await.unwrap()
    }

    async fn release(&self, claim: &Claim, after: Duration) {
        self.scene.store().release(claim, after).await.unwrap();
    }
}

#[tokio::test]
async fn the_database_keeps_what_rows_promise() {
    hold(Postgres::new).await;
}
