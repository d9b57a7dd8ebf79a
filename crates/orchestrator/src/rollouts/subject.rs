//! What is rolled out on one cluster, put together from what is stored.

use slipway_domain::name::Name;
use slipway_domain::operator::Operator;
use slipway_domain::profile::Colour;
use slipway_domain::rollout::{BlueGreen, Stage, Strategy};

use super::values::Given;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::charts::Archive;
use crate::ports::fleet::{Beside, Subject};
use crate::ports::probes::ReleaseAt;
use crate::ports::store::Rollout;

impl Manager {
    /// What a rollout brings to a cluster.
    pub(super) async fn subject(&self, rollout: &Rollout, cluster: &Name) -> Result<Subject, Error> {
        let operator = self.operator_of(rollout).await?;
        let archive = self.operator_archive(&operator, &rollout.state.spec.version).await?;
        let given = self.given(rollout.id).await?;
        self.subject_of(rollout, cluster, &operator, archive, &given).await
    }

    pub(super) async fn subject_of(
        &self,
        rollout: &Rollout,
        cluster: &Name,
        operator: &Operator,
        archive: Archive,
        given: &Given,
    ) -> Result<Subject, Error> {
        let placement = rollout.placements.get(cluster).cloned().ok_or_else(|| {
            Error::new(Code::InternalError, format!("where {} is on {cluster} was not kept", operator.name))
        })?;
        let environment = rollout.state.environment(cluster);
        let kept = self.kept_values(&operator.name, environment, cluster).await?;
        Ok(Subject {
            rollout: rollout.id,
            cluster: cluster.clone(),
            environment,
            operator: operator.id,
            operator_name: operator.name.clone(),
            crds: operator.crd_names.clone(),
            profile: operator.effective_profile(),
            placement,
            chart: operator.chart.chart.to_string(),
            version: rollout.state.spec.version.clone(),
            archive,
            layers: given.layers(operator, cluster, kept),
            crd_policy: self.crd_policy_in(environment, &operator.name).await?,
            may_delete: rollout.may_delete.clone(),
        })
    }

    pub(super) async fn operator_of(&self, rollout: &Rollout) -> Result<Operator, Error> {
        let found = self.store().operator(rollout.operator).await?;
        let missing = || {
            let name = &rollout.state.spec.operator;
            Error::new(Code::OperatorNotFound, format!("the operator {name} is not registered any more"))
        };
        found.ok_or_else(missing)
    }
}

/// The second release beside one, for blue-green.
pub(super) fn beside(strategy: &Strategy, release: &ReleaseAt) -> Option<Beside> {
    let Strategy::BlueGreen(BlueGreen { blue_namespace, green_namespace, .. }) = strategy else {
        return None;
    };
    let one_namespace = blue_namespace == green_namespace;
    let base = [Colour::Blue, Colour::Green]
        .into_iter()
        .find_map(|colour| release.name.strip_suffix(&format!("-{}", colour.word())));
    let is_green = if one_namespace {
        release.name.ends_with(&format!("-{}", Colour::Green.word()))
    } else {
        release.namespace == green_namespace.as_str()
    };
    let colour = if is_green { Colour::Blue } else { Colour::Green };
    let namespace = if is_green { blue_namespace } else { green_namespace };
    let base = base.unwrap_or(&release.name);
    let name = if one_namespace { format!("{base}-{}", colour.word()) } else { base.to_owned() };
    Some(Beside { release: ReleaseAt { namespace: namespace.to_string(), name }, colour })
}

/// Whether the first of two releases is the one to look at: on the way back it is what counts.
pub(super) fn looks_at_first(stage: Stage) -> bool {
    stage.is_back() || matches!(stage, Stage::RolledBack | Stage::RollbackFailed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colours(blue: &str, green: &str, at: (&str, &str)) -> (String, String, Colour) {
        let name = |text: &str| text.parse().expect("a name");
        let strategy = Strategy::BlueGreen(BlueGreen::between(name(blue), name(green)));
        let release = ReleaseAt { namespace: at.0.to_owned(), name: at.1.to_owned() };
        let beside = beside(&strategy, &release).expect("blue-green");
        (beside.release.namespace, beside.release.name, beside.colour)
    }

    #[test]
    fn colours_take_turns() {
        let first = colours("ops-blue", "ops-green", ("certs", "certs"));
        assert_eq!(first, ("ops-green".to_owned(), "certs".to_owned(), Colour::Green));
        let second = colours("ops-blue", "ops-green", ("ops-green", "certs"));
        assert_eq!(second, ("ops-blue".to_owned(), "certs".to_owned(), Colour::Blue));
    }

    #[test]
    fn in_one_namespace_the_names_carry_the_colour() {
        let first = colours("ops", "ops", ("ops", "certs"));
        assert_eq!(first, ("ops".to_owned(), "certs-green".to_owned(), Colour::Green));
        let second = colours("ops", "ops", ("ops", "certs-green"));
        assert_eq!(second, ("ops".to_owned(), "certs-blue".to_owned(), Colour::Blue));
    }
}
