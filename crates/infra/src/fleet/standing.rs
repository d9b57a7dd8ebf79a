//! Which revision a cluster runs, and whether all of it arrived.

use std::time::{Duration, Instant};

use slipway_orchestrator::ports::fleet::{Standing, Subject};

use super::api::Api;
use super::fault::Fault;
use super::object::read_all;
use super::revisions;
use super::site::{Site, made};
use super::workloads::Workload;

/// How long a look may take.
const WITHIN: Duration = Duration::from_secs(20);

/// Looks.
pub(super) async fn look(site: &Site, subject: &Subject) -> Result<Standing, Fault> {
    let api = Api::new(site.client.clone(), subject.cluster.as_str(), Instant::now() + WITHIN);
    let release = made(subject);
    let Some(newest) = revisions::newest(&api, release).await? else {
        let missing = format!("there is no release {}/{}", release.namespace, release.name);
        return Ok(Standing { revision: None, arrived: Err(missing) });
    };
    let revision = Some(newest.revision(release));
    if newest.is_pending() {
        let missing = format!("helm is at revision {}", newest.number);
        return Ok(Standing { revision, arrived: Err(missing) });
    }
    if newest.status != "deployed" {
        let missing = format!("revision {} is {}", newest.number, newest.status);
        return Ok(Standing { revision, arrived: Err(missing) });
    }
    let manifest = revisions::manifest(&api, release, &newest).await?;
    let objects = read_all(&manifest)
        .map_err(|why| Fault::Failed(format!("the manifest of {} cannot be read: {why}", newest.secret)))?;
    for workload in Workload::of(&objects, &release.namespace) {
        if let Some(missing) = workload.missing(&api).await? {
            return Ok(Standing { revision, arrived: Err(missing) });
        }
    }
    Ok(Standing { revision, arrived: Ok(()) })
}
