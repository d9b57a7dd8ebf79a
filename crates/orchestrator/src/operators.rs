//! Registering operators and knowing their versions, and where they are installed.

mod access;
mod archives;
mod change;
mod installations;
mod register;
mod remove;
mod reseal;
mod versions;
mod workers;

use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_domain::access::{Actor, Permission};
use slipway_domain::event::{Event, Topic};
use slipway_domain::name::Name;
use slipway_domain::operator::Operator;
use slipway_domain::profile::Profile;

use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::page::{Page, Window};
use crate::ports::store::OperatorFilter;

pub use access::GivenAccess;
pub use change::{ChangeOperator, GivenCredentials};
pub use installations::{DeployedCluster, InstallationView};
pub use register::NewOperator;
pub use reseal::{OPERATOR_RESEAL, ResealWorker};
pub use versions::{Offered, VersionRow};
pub use workers::{
    DISCOVER_EVERY, INSTALLATIONS, InstallationsWorker, OPERATOR_VERSIONS, REFRESH_EVERY, VersionsWorker,
    discovery,
};

/// Where a profile comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileOrigin {
    /// Somebody wrote it for this operator.
    Own,
    /// It comes with Slipway.
    BuiltIn,
    /// Nobody said anything: the careful default.
    Default,
}

/// An operator with where it is installed.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorDetail {
    /// It.
    pub operator: Operator,
    /// Where it is installed, by the cluster's name.
    pub deployed: Vec<DeployedCluster>,
}

impl Manager {
    /// Operators, by name.
    pub async fn operators(
        &self,
        actor: &Actor,
        filter: &OperatorFilter,
        window: Window,
    ) -> Result<Page<Operator>, Error> {
        self.permit(actor, Permission::Read, "operator.list", "operator").await?;
        Ok(self.store().operators(filter, window).await?)
    }

    /// One operator, and where it is installed.
    pub async fn operator(&self, actor: &Actor, name: &str) -> Result<OperatorDetail, Error> {
        self.permit(actor, Permission::Read, "operator.show", &resource(name)).await?;
        let operator = self.find_operator(name).await?;
        let deployed = self.deployed(&operator).await?;
        Ok(OperatorDetail { operator, deployed })
    }

    /// What has to be known to roll an operator out, and who says so.
    pub async fn operator_profile(
        &self,
        actor: &Actor,
        name: &str,
    ) -> Result<(Operator, Profile, ProfileOrigin), Error> {
        self.permit(actor, Permission::Read, "operator.show", &resource(name)).await?;
        let operator = self.find_operator(name).await?;
        let origin = if operator.profile.is_some() {
            ProfileOrigin::Own
        } else if Profile::built_in(operator.chart.chart.as_str()).is_some() {
            ProfileOrigin::BuiltIn
        } else {
            ProfileOrigin::Default
        };
        let profile = operator.effective_profile();
        Ok((operator, profile, origin))
    }

    /// The operator of that name, or an error that says there is none.
    pub(crate) async fn find_operator(&self, name: &str) -> Result<Operator, Error> {
        let missing = || Error::not_found(Code::OperatorNotFound, "operator", name);
        let parsed: Name = name.parse().map_err(|_| missing())?;
        self.store().operator_by_name(&parsed).await?.ok_or_else(missing)
    }
}

/// How an operator is called in the audit.
fn resource(name: &str) -> String {
    // Whatever was asked for ends up in the audit; keep it short.
    let short: String = name.chars().take(100).collect();
    format!("operator/{short}")
}

fn news(name: &Name, kind: &str, data: Value) -> Event {
    Event { topic: Topic::Operator, subject: name.to_string(), kind: kind.to_owned(), data }
}

/// What the audit keeps of an operator: everything but secrets.
fn summary(operator: &Operator) -> Value {
    json!({
        "description": operator.description,
        "namespace": operator.namespace,
        "chartRepository": operator.chart.repository,
        "chartName": operator.chart.chart,
        "currentVersion": operator.current_version,
        "crdNames": operator.crd_names,
        "labels": operator.labels,
        "defaultValues": operator.default_values,
        "profile": operator.profile,
        "credentials": if operator.has_credentials { "set" } else { "none" },
        "authority": if operator.authority.is_some() { "set" } else { "none" },
    })
}

/// When work is due that is done every so often, spread so that not all of it comes at once.
pub(crate) fn spread(key: &str, every: std::time::Duration, now: Timestamp) -> std::time::Duration {
    // Tenths above and below, by what is being done and when: no two servers and no two pieces march in step.
    let seed = key.bytes().fold(now.as_millisecond().unsigned_abs(), |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let thousandths = u32::try_from(seed % 200).unwrap_or(0) + 900;
    every * thousandths / 1000
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn work_that_comes_again_is_spread() {
        let every = Duration::from_secs(1000);
        let spread: Vec<Duration> =
            (0..50).map(|n| spread(&format!("key-{n}"), every, Timestamp::UNIX_EPOCH)).collect();
        assert!(spread.iter().all(|after| (900..1100).contains(&after.as_secs())));
        let different: std::collections::BTreeSet<_> = spread.iter().collect();
        assert!(different.len() > 20);
    }
}
