//! Beginning a deployment to many clusters, one of which is dead.

use std::time::Instant;

use serde_json::json;

use super::super::seen::Seen;
use super::harbour::{Harbour, OPERATOR, name, version};
use super::table::Table;
use super::{Sizes, told};

pub(super) async fn measure(
    harbour: &Harbour,
    sizes: Sizes,
    began: Instant,
    table: &mut Table,
) -> anyhow::Result<()> {
    told(began, &format!("registering {} clusters …", sizes.targets));
    let dead = sizes.targets - 1;
    for number in harbour.planes()..dead {
        harbour.register(number, number % harbour.planes()).await?;
    }
    harbour.register_dead(dead).await?;
    harbour.until_installed(dead).await?;
    told(began, &format!("POST /deployments with {} targets, {} times …", sizes.targets, sizes.starts));
    let names: Vec<String> = (0..sizes.targets).map(name).collect();
    let request = json!({
        "operatorName": OPERATOR, "targetVersion": version(12), "targetClusters": names, "strategy": "Direct",
    });
    let mut took = Vec::with_capacity(sizes.starts);
    for _ in 0..sizes.starts {
        let (id, time) = harbour.deploy(&request).await?;
        took.push(time);
        let reason = json!({"reason": "only its beginning is measured"});
        harbour.server.post(&format!("deployments/{id}/cancel"), &reason).await?;
        harbour.until_status(&id, "Cancelled").await?;
    }
    let what = format!("POST /deployments, {} targets, one dead", sizes.targets);
    table.spread(&what, &Seen::new(took), "p99 under 500 ms");
    Ok(())
}
