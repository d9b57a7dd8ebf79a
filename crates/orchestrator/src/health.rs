//! The health of operators: looked at again and again, kept, told, and shown.
//!
//! [`OperatorHealthWorker`] checks one operator on one cluster; [`HealthPlanWorker`] decides which there are
//! to check, from what is installed where. What a check means is decided by
//! [`slipway_domain::health`]; only checks of the worker count towards alerts, so that nobody can cause one
//! by looking often.

mod baseline;
mod check;
mod plan;
mod read;
pub(crate) mod rules;
mod worker;

use slipway_domain::event::{Event, Topic};
use slipway_domain::id::{ClusterId, OperatorId};

use crate::changes::Work;
use crate::ports::store::Place;

pub use plan::{HEALTH_PLAN, HealthPlanWorker};
pub use read::{ClusterView, FleetView, OperatorView};
pub use worker::OperatorHealthWorker;

/// The kind of work that checking an operator on a cluster is; the key is both ids.
pub const OPERATOR_HEALTH: &str = "operator-health";

/// The work of checking an operator on a cluster.
fn work(place: Place) -> Work {
    Work { kind: OPERATOR_HEALTH, key: format!("{}/{}", place.cluster, place.operator) }
}

fn place_of(key: &str) -> Option<Place> {
    let (cluster, operator) = key.split_once('/')?;
    Some(Place {
        cluster: cluster.parse::<ClusterId>().ok()?,
        operator: operator.parse::<OperatorId>().ok()?,
    })
}

fn news(operator: &str, kind: &str, data: serde_json::Value) -> Event {
    Event { topic: Topic::Operator, subject: operator.to_owned(), kind: kind.to_owned(), data }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_key_leads_back_to_its_place() {
        let place = Place { cluster: Uuid::new_v4().into(), operator: Uuid::new_v4().into() };
        assert_eq!(place_of(&work(place).key), Some(place));
        assert_eq!(place_of("nonsense"), None);
    }
}
