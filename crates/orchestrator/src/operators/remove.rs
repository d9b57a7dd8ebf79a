//! Forgetting an operator.

use serde_json::json;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::AuditEntry;

use super::{news, resource, summary};
use crate::changes::{Changeset, Work};
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::operators::OPERATOR_VERSIONS;
use crate::ports::StoreError;
use crate::ports::store::{OperatorWrite, RESERVED_OPERATOR};

impl Manager {
    /// Forgets an operator that is installed nowhere. No cluster is touched.
    pub async fn remove_operator(&self, actor: &Actor, name: &str) -> Result<(), Error> {
        self.permit(actor, Permission::RemoveOperators, "operator.remove", &resource(name)).await?;
        let operator = self.find_operator(name).await?;
        if let Some(rollout) = self.store().rollouts_of(operator.id).await?.first() {
            return Err(Error::new(
                Code::Conflict,
                format!(
                    "{name} is being rolled out by deployment {rollout}; wait for its end, or cancel it and remove \
                     {name} then"
                ),
            ));
        }
        let deployed = self.deployed(&operator).await?;
        if !deployed.is_empty() {
            let clusters: Vec<&str> = deployed.iter().map(|deployed| deployed.cluster.as_str()).collect();
            return Err(installed(name, &format!(" on {}", clusters.join(", "))));
        }
        let entry = AuditEntry::done(actor, "operator.remove", resource(name), format!("removed {name}"))
            .changing(Some(summary(&operator)), None);
        let changes = Changeset::new()
            .write(OperatorWrite::Remove { id: operator.id })
            .end(Work { kind: OPERATOR_VERSIONS, key: operator.id.to_string() })
            .audit(entry)
            .tell(news(&operator.name, "removed", json!({})));
        match self.store().commit(changes).await {
            Err(StoreError::Referenced { constraint }) if constraint == RESERVED_OPERATOR => Err(Error::new(
                Code::Conflict,
                format!("a deployment of {name} began in this moment; wait for its end, and repeat"),
            )),
            // Found on a cluster in this moment.
            Err(StoreError::Referenced { .. }) => Err(installed(name, "")),
            done => done.map_err(Error::from),
        }
    }
}

fn installed(name: &str, whereabouts: &str) -> Error {
    Error::new(
        Code::Conflict,
        format!("{name} is still installed{whereabouts}; uninstall it there first, or keep it registered"),
    )
}
