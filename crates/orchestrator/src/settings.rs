//! Policies, approval rules, windows and values: reading them, and removing them. They are made and changed by
//! applying documents.

use slipway_crd_compat::rules;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::AuditEntry;
use slipway_domain::document::Kind;
use slipway_domain::problem::Problems;
use slipway_domain::settings::{Policy, Setting};

use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::store::{SettingsWrite, StoredSetting};

impl Manager {
    /// All settings, or those of a kind, by kind and name.
    pub async fn settings_of(&self, actor: &Actor, kind: Option<Kind>) -> Result<Vec<StoredSetting>, Error> {
        self.permit(actor, Permission::Read, "setting.read", "setting").await?;
        Ok(self.store().settings(kind).await?)
    }

    /// One setting.
    pub async fn setting(&self, actor: &Actor, kind: Kind, name: &str) -> Result<StoredSetting, Error> {
        self.permit(actor, Permission::Read, "setting.read", &resource(kind, name)).await?;
        self.find_setting(kind, name).await
    }

    /// Removes a setting.
    pub async fn remove_setting(&self, actor: &Actor, kind: Kind, name: &str) -> Result<(), Error> {
        self.permit(actor, Permission::ManageSettings, "setting.remove", &resource(kind, name)).await?;
        let stored = self.find_setting(kind, name).await?;
        let entry = AuditEntry::done(
            actor,
            "setting.remove",
            resource(kind, name),
            format!("removed the {kind} {name}"),
        )
        .changing(Some(stored.setting.spec()), None);
        let write = SettingsWrite::Remove { kind, name: name.to_owned(), revision: stored.revision };
        Ok(self.store().commit(Changeset::new().write(write).audit(entry)).await?)
    }

    async fn find_setting(&self, kind: Kind, name: &str) -> Result<StoredSetting, Error> {
        // No name holds this, and the database does not take it.
        let found = if name.contains('\0') { None } else { self.store().setting(kind, name).await? };
        found.ok_or_else(|| Error::not_found(Code::NotFound, kind.as_str(), name))
    }
}

/// As the audit names a setting.
pub(crate) fn resource(kind: Kind, name: &str) -> String {
    let kind = match kind {
        Kind::Policy => "policy",
        Kind::ApprovalRule => "approval-rule",
        Kind::Window => "window",
        Kind::Values => "values",
        Kind::User => "user",
        Kind::Cluster => "cluster",
        Kind::Operator => "operator",
    };
    // Somebody may have asked for anything.
    let shown: String = name.chars().filter(|character| !character.is_control()).take(253).collect();
    format!("{kind}/{shown}")
}

/// What only the judge of CRDs knows about a setting: whether the findings it names exist.
pub(crate) fn check(setting: &Setting) -> Result<(), Problems> {
    let Setting::Policy(Policy { crds, .. }) = setting else { return Ok(()) };
    let mut problems = Problems::new();
    let rules = crds.rules.keys().map(|id| (format!("crds.rules.{id}"), id));
    let waivers = crds.waivers.iter().enumerate();
    let waivers = waivers.map(|(index, waiver)| (format!("crds.waivers[{index}].finding"), &waiver.finding));
    for (path, id) in rules.chain(waivers) {
        if rules::find(id).is_none() {
            let near = rules::similar(id);
            let hint = if near.is_empty() {
                "list them with: slipway crd explain".to_owned()
            } else {
                format!("did you mean {}?", near.join(", "))
            };
            problems.add(path, format!("names the finding {id:?}, which does not exist; {hint}"));
        }
    }
    problems.or(())
}
