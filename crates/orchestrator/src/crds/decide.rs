//! Agreeing to a schema that breaks something, and leaving a CRD.

use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::AuditEntry;
use slipway_domain::crd::chain::settle;
use slipway_domain::crd::{CrdApproval, Deprecation, StoredCrd};
use slipway_domain::problem::Problems;

use super::{CrdChoice, CrdDetail};
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::store::{CrdWrite, OperatorCrds};

/// That somebody agrees.
#[derive(Debug, Clone, PartialEq)]
pub struct ApproveCrd {
    /// To what: the current schema and all before it that wait.
    pub choice: CrdChoice,
    /// What they say about it.
    pub notes: Option<String>,
}

/// That a CRD is to be left.
#[derive(Debug, Clone, PartialEq)]
pub struct DeprecateCrd {
    /// Which.
    pub choice: CrdChoice,
    /// Why.
    pub reason: String,
    /// What its users do instead.
    pub migration_guide: Option<String>,
}

impl Manager {
    /// Agrees to a schema, and to all before it that still wait. Doing it again changes nothing.
    pub async fn approve_crd(&self, actor: &Actor, asked: ApproveCrd) -> Result<CrdDetail, Error> {
        self.permit(actor, Permission::DecideCrds, "crd.approve", &asked.choice.resource()).await?;
        let mut problems = Problems::new();
        limit(&mut problems, "notes", asked.notes.as_deref(), 2_000);
        problems.or(())?;
        let crd = self.find_crd(&asked.choice).await?;
        match crd.approval {
            CrdApproval::Approved { .. } => return self.detail(crd).await,
            CrdApproval::NotRequired => {
                return Err(Error::new(
                    Code::Conflict,
                    format!(
                        "{} of {} {} breaks nothing, so nobody has to agree",
                        crd.name, crd.operator, crd.operator_version
                    ),
                ));
            }
            CrdApproval::Pending => {}
        }
        let approval = CrdApproval::Approved { by: actor.name.clone(), at: self.now() };
        let notes = asked.notes.map(|notes| format!(": {notes}")).unwrap_or_default();
        let message = format!("agreed to {} of {} {}{notes}", crd.name, crd.operator, crd.operator_version);
        self.decide(actor, &crd, "crd.approve", message, |other| {
            if other.operator_version <= crd.operator_version && other.approval == CrdApproval::Pending {
                other.approval = approval.clone();
            }
        })
        .await
    }

    /// Says that a CRD is to be left, in all its versions.
    pub async fn deprecate_crd(&self, actor: &Actor, asked: DeprecateCrd) -> Result<CrdDetail, Error> {
        self.permit(actor, Permission::DecideCrds, "crd.deprecate", &asked.choice.resource()).await?;
        let mut problems = Problems::new();
        let reason = asked.reason.trim().to_owned();
        if reason.is_empty() {
            problems.add("reason", "is empty; say why it is to be left");
        }
        limit(&mut problems, "reason", Some(&reason), 2_000);
        limit(&mut problems, "migrationGuide", asked.migration_guide.as_deref(), 64_000);
        problems.or(())?;
        let crd = self.find_crd(&asked.choice).await?;
        let message = format!("{} is to be left: {reason}", crd.name);
        let deprecation = Deprecation { at: self.now(), reason, migration_guide: asked.migration_guide };
        self.decide(actor, &crd, "crd.deprecate", message, |other| {
            other.deprecation = Some(deprecation.clone());
        })
        .await
    }

    /// Changes the chain of a schema and writes down who did.
    async fn decide(
        &self,
        actor: &Actor,
        crd: &StoredCrd,
        action: &str,
        message: String,
        change: impl Fn(&mut StoredCrd),
    ) -> Result<CrdDetail, Error> {
        let OperatorCrds { revision, crds, .. } = self.store().operator_crds(&crd.operator).await?;
        let mut chain: Vec<StoredCrd> = crds.iter().filter(|other| other.name == crd.name).cloned().collect();
        chain.iter_mut().for_each(change);
        settle(&mut chain);
        chain.retain(|crd| !crds.contains(crd));
        let find = |chain: &[StoredCrd]| chain.iter().find(|other| other.id == crd.id).map(facts);
        let entry = AuditEntry::done(actor, action, format!("crd/{}", crd.name), message)
            .changing(find(&crds), find(&chain));
        let write = CrdWrite::Decide { operator: crd.operator.clone(), revision, crds: chain };
        self.store().commit(Changeset::new().write(write).audit(entry)).await?;
        let choice = CrdChoice {
            name: crd.name.clone(),
            operator: Some(crd.operator.clone()),
            operator_version: Some(crd.operator_version.clone()),
        };
        let crd = self.find_crd(&choice).await?;
        self.detail(crd).await
    }
}

fn limit(problems: &mut Problems, path: &str, text: Option<&str>, most: usize) {
    if text.is_some_and(|text| text.chars().count() > most) {
        problems.add(path, format!("is longer than {most} characters"));
    }
    if text.is_some_and(|text| text.contains('\0')) {
        problems.add(path, "holds a character that cannot be kept");
    }
}

/// What the audit keeps of a schema.
fn facts(crd: &StoredCrd) -> serde_json::Value {
    serde_json::json!({
        "operator": crd.operator,
        "operatorVersion": crd.operator_version,
        "status": crd.status(),
        "approvalStatus": crd.approval.as_str(),
        "deprecationReason": crd.deprecation.as_ref().map(|deprecation| &deprecation.reason),
        "migrationGuide": crd.deprecation.as_ref().and_then(|deprecation| deprecation.migration_guide.as_ref()),
    })
}
