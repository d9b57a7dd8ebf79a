//! Changing what is known of an operator.

use serde_json::json;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::AuditEntry;
use slipway_domain::operator::{Operator, OperatorChange};
use slipway_domain::problem::Problems;

use super::access::{GivenAccess, check, problem};
use super::{OPERATOR_VERSIONS, news, resource, summary};
use crate::changes::{Changeset, Work};
use crate::error::Error;
use crate::manager::Manager;
use crate::ports::StoreError;
use crate::ports::charts::{Credentials, Freshness, RepositoryAccess};
use crate::ports::store::{OperatorWrite, Sealed};

/// What somebody wants to be otherwise; what is not set stays.
#[derive(Debug, Clone, Default)]
pub struct ChangeOperator {
    /// What can be changed.
    pub change: OperatorChange,
    /// What cannot, as it was sent: accepted where it is as it is.
    pub fixed: Vec<(&'static str, String)>,
    /// New credentials, or a new authority.
    pub access: GivenCredentials,
    /// The revision that the change stands on.
    pub revision: Option<i64>,
}

/// What becomes of how the repository is reached.
#[derive(Debug, Clone, Default)]
pub struct GivenCredentials {
    /// New credentials; `Anonymous` removes them.
    pub credentials: Option<Credentials>,
    /// A new authority; nothing within removes it.
    pub authority: Option<Option<String>>,
}

impl Manager {
    /// Changes an operator. Its name, namespace and chart stay as they were registered.
    pub async fn change_operator(
        &self,
        actor: &Actor,
        name: &str,
        asked: ChangeOperator,
    ) -> Result<Operator, Error> {
        self.permit(actor, Permission::ManageOperators, "operator.update", &resource(name)).await?;
        let before = self.find_operator(name).await?;
        if asked.revision.is_some_and(|revision| revision != before.revision) {
            return Err(StoreError::Stale { what: format!("the operator {name}") }.into());
        }
        let (operator, changes) = self.changed(actor, &before, asked).await?;
        if let Some(changes) = changes {
            self.store().commit(changes).await?;
        }
        Ok(operator)
    }

    /// An operator as it will be, and what has to be written for that; nothing where it is so already.
    pub(crate) async fn changed(
        &self,
        actor: &Actor,
        before: &Operator,
        asked: ChangeOperator,
    ) -> Result<(Operator, Option<Changeset>), Error> {
        let mut operator = before.clone();
        let mut problems = fixed(before, &asked.fixed);
        if let Err(wrong) = asked.change.apply(&mut operator) {
            for problem in &wrong {
                problems.add(problem.path.clone(), &problem.message);
            }
        }
        let credentials = self.changed_access(&mut operator, asked.access, problems).await?;
        if operator == *before && credentials.is_none() {
            return Ok((operator, None));
        }
        operator.updated_at = self.now();
        operator.revision = before.revision + 1;
        let write = OperatorWrite::Change {
            operator: Box::new(operator.clone()),
            revision: before.revision,
            credentials,
        };
        let name = operator.name.as_str();
        let entry = AuditEntry::done(actor, "operator.update", resource(name), format!("changed {name}"))
            .changing(Some(summary(before)), Some(summary(&operator)));
        let mut changes = Changeset::new().write(write).audit(entry).tell(news(
            &operator.name,
            "updated",
            json!({ "revision": operator.revision }),
        ));
        if operator.default_values != before.default_values {
            // A chart may render other definitions with them.
            let work = Work { kind: OPERATOR_VERSIONS, key: operator.id.to_string() };
            changes = changes.due(work, operator.updated_at);
        }
        Ok((operator, Some(changes)))
    }

    /// Takes new credentials in, if the repository accepts them.
    async fn changed_access(
        &self,
        operator: &mut Operator,
        given: GivenCredentials,
        mut problems: Problems,
    ) -> Result<Option<Option<Sealed>>, Error> {
        let changes = given.credentials.is_some() || given.authority.is_some();
        if !changes {
            return problems.or(None).map_err(Error::from);
        }
        let known = self.repository_access(operator).await?;
        let access = GivenAccess {
            credentials: given.credentials.clone().unwrap_or_else(|| known.credentials.clone()),
            authority: given.authority.unwrap_or(known.authority),
        };
        check(&access, Some(&operator.chart.repository), &mut problems);
        problems.or(())?;
        let access = RepositoryAccess { credentials: access.credentials, authority: access.authority };
        self.parts.charts.versions(&operator.chart, &access, Freshness::Now).await.map_err(problem)?;
        operator.authority = access.authority;
        let Some(credentials) = given.credentials else { return Ok(None) };
        operator.has_credentials = credentials != Credentials::Anonymous;
        self.seal_credentials(operator.id, &credentials).map(Some)
    }
}

/// What was sent for things that cannot be changed has to be what they are.
fn fixed(operator: &Operator, sent: &[(&'static str, String)]) -> Problems {
    let mut problems = Problems::new();
    for (field, value) in sent {
        let is = match *field {
            "name" => operator.name.as_str(),
            "namespace" => operator.namespace.as_str(),
            "chartRepository" => operator.chart.repository.as_str(),
            "chartName" => operator.chart.chart.as_str(),
            _ => continue,
        };
        if value.trim_end_matches('/') != is {
            let message = format!(
                "is {is} and cannot be changed after registration; register another operator for {value}"
            );
            problems.add(*field, message);
        }
    }
    problems
}
