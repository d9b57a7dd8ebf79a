//! Each strategy over the same four clusters: it succeeds, and it fails in the first, a middle and the last wave.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use slipway_contract::deployments::{ClusterRolloutStatus as Cluster, DeploymentStatus as Status};

use crate::operator::chart;
use crate::scene::{Scene, direct, statuses};

/// In the order in which they come.
const FLEET: [(&str, &str); 4] =
    [("c1", "development"), ("c2", "staging"), ("c3", "staging"), ("c4", "production")];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strategy {
    Direct,
    Canary,
    Rolling,
    BlueGreen,
}

impl Strategy {
    fn operator(self) -> &'static str {
        match self {
            Self::Direct => "express",
            Self::Canary => "canary",
            Self::Rolling => "rolling",
            Self::BlueGreen => "colours",
        }
    }

    fn settings(self) -> Value {
        match self {
            Self::Direct => json!({"strategy": "Direct", "directConfig": {"parallelClusters": 4}}),
            Self::Canary => json!({"strategy": "Canary", "canaryConfig": {"stages": [25, 50, 100],
                "evaluationPeriod": "PT2S", "healthCheckInterval": "PT1S"}}),
            Self::Rolling => json!({"strategy": "Rolling", "rollingConfig": {"validationPeriod": "PT1S",
                "pauseBetweenClusters": "PT1S"}}),
            // One namespace for both, so that names carry the colour.
            Self::BlueGreen => json!({"strategy": "BlueGreen", "blueGreenConfig": {
                "blueNamespace": self.operator(), "greenNamespace": self.operator(),
                "validationPeriod": "PT1S", "switchMonitoringPeriod": "PT1S"}}),
        }
    }

    /// How it ends where a cluster fails: all of it, and each cluster.
    fn end(self, fails: &str) -> (Status, [Cluster; 4]) {
        use Cluster::{Completed as Done, RolledBack as Back, Skipped as Left};
        match (self, fails) {
            (Self::Canary | Self::Rolling, "c1") => (Status::RolledBack, [Back, Left, Left, Left]),
            (Self::Canary, "c2") => (Status::RolledBack, [Back, Back, Left, Left]),
            // All of them were changed before the end of the way forward.
            (Self::Direct | Self::BlueGreen | Self::Canary, _) => (Status::RolledBack, [Back; 4]),
            (Self::Rolling, "c2") => (Status::Failed, [Done, Back, Left, Left]),
            (Self::Rolling, _) => (Status::Failed, [Done, Done, Done, Back]),
        }
    }
}

/// Every case of a strategy, one after the other.
async fn walk(scene: &Scene, strategy: Strategy) {
    let operator = strategy.operator();
    let names = scene.names();
    let versions = ["1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0"];
    scene.operator(&versions.map(|version| chart(operator, version).build().unwrap())).await;
    scene.rolls_out(operator, "1.0.0", &names, &direct(), Status::Completed).await;
    let mut written = BTreeMap::new();
    for name in &names {
        scene.cluster(name).parcel(operator, "one").await;
        written.insert(*name, scene.cluster(name).parcels(operator).await);
    }
    let mut stands: BTreeMap<&str, String> = names.iter().map(|name| (*name, "1.0.0".to_owned())).collect();
    for (version, fails) in [("1.1.0", "c1"), ("1.2.0", "c2"), ("1.3.0", "c4")] {
        scene.cluster(fails).refuse(operator, version).await;
        let (status, clusters) = strategy.end(fails);
        let end = scene.rolls_out(operator, version, &names, &strategy.settings(), status).await;
        let told = format!("{strategy:?} fails on {fails}: {end:#?}");
        let reason = end.rollback_reason.as_deref().or(end.error_message.as_deref()).unwrap_or_default();
        assert!(reason.contains(fails) && reason.contains("there is a storm"), "{told}");
        for ((name, wanted), found) in names.iter().zip(clusters).zip(statuses(&end).into_values()) {
            // Whoever goes first decides whether the others were touched at all.
            let early = strategy == Strategy::Direct && found == Cluster::Skipped;
            assert!(found == wanted || early, "{name}: {told}");
            if wanted == Cluster::Completed {
                stands.insert(name, version.to_owned());
            }
        }
        assert_eq!(scene.versions(operator).await, stands, "{told}");
        scene.cluster(fails).refuse(operator, "").await;
    }
    let end = scene.rolls_out(operator, "1.4.0", &names, &strategy.settings(), Status::Completed).await;
    assert!(statuses(&end).values().all(|one| *one == Cluster::Completed), "{end:#?}");
    for (name, before) in written {
        let standing = scene.cluster(name).standing(operator).await;
        assert_eq!(standing.version(), "1.4.0", "{name}");
        let releases = if strategy == Strategy::BlueGreen { 2 } else { 1 };
        assert_eq!(
            standing.releases.len(),
            releases,
            "blue is kept for a while, nothing else is: {standing:?}"
        );
        assert_eq!(scene.cluster(name).parcels(operator).await, before, "what people wrote is untouched");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_strategy_succeeds_and_fails_in_the_first_a_middle_and_the_last_wave() {
    let scene = Scene::start(&FLEET).await;
    futures::future::join_all(scene.clusters.values().map(crate::cluster::Cluster::police)).await;
    tokio::join!(
        walk(&scene, Strategy::Direct),
        walk(&scene, Strategy::Canary),
        walk(&scene, Strategy::Rolling),
        walk(&scene, Strategy::BlueGreen),
    );
    scene.close().await;
}
