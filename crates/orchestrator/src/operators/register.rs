//! Registering an operator.

use serde_json::json;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::AuditEntry;
use slipway_domain::id::OperatorId;
use slipway_domain::name::Name;
use slipway_domain::operator::{Asked, ChartVersion, Operator, Registration, newest_stable};
use slipway_domain::problem::Problems;
use slipway_domain::version::Version;
use uuid::Uuid;

use super::access::{GivenAccess, check, problem};
use super::{news, resource, summary};
use crate::changes::{Changeset, Work};
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::operators::{OPERATOR_VERSIONS, discovery};
use crate::ports::StoreError;
use crate::ports::charts::{Archive, Credentials, Freshness, Rendering, RepositoryAccess};
use crate::ports::store::OperatorWrite;

/// An operator that somebody wants to register.
#[derive(Debug, Clone, Default)]
pub struct NewOperator {
    /// What they say about it.
    pub asked: Asked,
    /// How its repository is reached.
    pub access: GivenAccess,
}

impl Manager {
    /// Registers an operator. Its repository is asked for the chart first, and the newest archive is
    /// fetched and checked, so that what is registered can be installed.
    pub async fn register_operator(&self, actor: &Actor, new: NewOperator) -> Result<Operator, Error> {
        let name = new.asked.name.clone();
        self.permit(actor, Permission::ManageOperators, "operator.register", &resource(&name)).await?;
        let (operator, changes) = self.registered(actor, new).await?;
        match self.store().commit(changes).await {
            Err(StoreError::Taken { .. }) => Err(taken(&operator.name)),
            done => done.map(|()| operator).map_err(Error::from),
        }
    }

    /// An operator as it will be registered, and what has to be written for that.
    pub(crate) async fn registered(
        &self,
        actor: &Actor,
        new: NewOperator,
    ) -> Result<(Operator, Changeset), Error> {
        let registration = read(new.asked, &new.access)?;
        if self.store().operator_by_name(&registration.name).await?.is_some() {
            return Err(taken(&registration.name));
        }
        let access =
            RepositoryAccess { credentials: new.access.credentials, authority: new.access.authority };
        let charts = &self.parts.charts;
        let offered = charts.versions(&registration.chart, &access, Freshness::Now).await.map_err(problem)?;
        let looked_into = to_look_into(&registration, &offered)?;
        let archive = charts.pull(&registration.chart, &access, &looked_into).await.map_err(problem)?;
        let crd_names = if registration.crd_names.is_empty() {
            self.crd_names(&registration, &archive).await?
        } else {
            registration.crd_names.clone()
        };
        let operator = self.new_operator(registration, &access, &offered, crd_names);
        let credentials = self.seal_credentials(operator.id, &access.credentials)?;
        let mut changes = Changeset::new()
            .write(OperatorWrite::Add { operator: Box::new(operator.clone()), credentials })
            .write(OperatorWrite::Offer {
                id: operator.id,
                versions: offered,
                latest: operator.latest_version.clone(),
                at: operator.created_at,
            })
            .write(OperatorWrite::Archive {
                id: operator.id,
                version: looked_into,
                digest: archive.digest,
                bytes: archive.bytes,
            })
            .audit(
                AuditEntry::done(
                    actor,
                    "operator.register",
                    resource(operator.name.as_str()),
                    format!("registered {} from {}", operator.name, operator.chart),
                )
                .changing(None, Some(summary(&operator))),
            )
            .tell(news(&operator.name, "registered", json!({ "latestVersion": operator.latest_version })))
            // At once: the definitions are recorded by the worker.
            .due(Work { kind: OPERATOR_VERSIONS, key: operator.id.to_string() }, operator.created_at);
        // Where its chart was found before anybody registered it, it is found to be this operator's now.
        for cluster in self.store().clusters_with_unclaimed(operator.chart.chart.as_str()).await? {
            changes = changes.due(discovery(cluster), operator.created_at);
        }
        Ok((operator, changes))
    }

    async fn crd_names(&self, registration: &Registration, archive: &Archive) -> Result<Vec<String>, Error> {
        let rendering = Rendering {
            release: registration.name.as_str(),
            namespace: registration.namespace.as_str(),
            values: &registration.default_values,
        };
        let contents = self.parts.charts.open(archive, rendering).await.map_err(problem)?;
        Ok(super::archives::names_of(&contents.crds))
    }

    fn new_operator(
        &self,
        registration: Registration,
        access: &RepositoryAccess,
        offered: &[ChartVersion],
        crd_names: Vec<String>,
    ) -> Operator {
        let now = self.now();
        Operator {
            id: OperatorId(Uuid::now_v7()),
            name: registration.name,
            description: registration.description,
            namespace: registration.namespace,
            chart: registration.chart,
            current_version: registration.current_version,
            latest_version: newest_stable(offered).map(|newest| newest.version.clone()),
            crd_names,
            labels: registration.labels,
            default_values: registration.default_values,
            profile: registration.profile,
            has_credentials: access.credentials != Credentials::Anonymous,
            authority: access.authority.clone(),
            deployed_clusters: 0,
            checked_at: Some(now),
            check_error: None,
            created_at: now,
            updated_at: now,
            revision: 1,
        }
    }
}

/// Everything that is wrong with what was asked, as far as that goes without asking the repository.
fn read(asked: Asked, access: &GivenAccess) -> Result<Registration, Error> {
    let repository = asked.chart_repository.parse().ok();
    let parsed = Registration::parse(asked);
    let mut problems = parsed.as_ref().err().cloned().unwrap_or_else(Problems::new);
    check(access, repository.as_ref(), &mut problems);
    match parsed {
        Ok(registration) if problems.is_empty() => Ok(registration),
        _ => Err(problems.into()),
    }
}

/// The version whose archive is looked into: the current one, else the newest stable, else the newest.
fn to_look_into(registration: &Registration, offered: &[ChartVersion]) -> Result<Version, Error> {
    if let Some(current) = &registration.current_version {
        let found = offered.iter().find(|version| version.version == *current);
        return found.map(|version| version.version.clone()).ok_or_else(|| {
            problem(crate::ports::charts::ChartsError::NoVersion {
                chart: registration.chart.chart.to_string(),
                version: current.to_string(),
                newest: offered.iter().take(3).map(|version| version.version.to_string()).collect(),
            })
        });
    }
    let newest = newest_stable(offered).or_else(|| offered.first());
    newest.map(|version| version.version.clone()).ok_or_else(|| {
        let message = format!("{} has no version such as 1.2.3 in its repository", registration.chart.chart);
        Problems::one("chartName", message).into()
    })
}

fn taken(name: &Name) -> Error {
    Error::new(
        Code::Conflict,
        format!("there is an operator {name} already; choose another name, or change it"),
    )
}
