//! Policies, approval rules, windows and values as documents.

use slipway_domain::access::Actor;
use slipway_domain::audit::AuditEntry;
use slipway_domain::document::{Document, Kind};
use slipway_domain::name::Name;
use slipway_domain::problem::Problems;
use slipway_domain::settings::Setting;

use super::Planned;
use crate::changes::Changeset;
use crate::error::Error;
use crate::manager::Manager;
use crate::ports::store::SettingsWrite;
use crate::settings::{check, resource};

impl Manager {
    pub(super) async fn setting_documents(&self, kind: Kind) -> Result<Vec<Document>, Error> {
        let stored = self.store().settings(Some(kind)).await?;
        Ok(stored
            .into_iter()
            .map(|stored| Document { kind, name: stored.name, spec: stored.setting.spec() })
            .collect())
    }

    pub(super) async fn plan_setting(
        &self,
        actor: &Actor,
        document: &Document,
    ) -> Result<Result<Planned, Problems>, Error> {
        let setting = match desired(document) {
            Ok(setting) => setting,
            Err(problems) => return Ok(Err(problems)),
        };
        let stored = self.store().setting(document.kind, &document.name).await?;
        let before = stored.as_ref().map(|stored| stored.setting.spec());
        let after = setting.spec();
        let verb = if before.is_some() { "changed" } else { "made" };
        let action = if before.is_some() { "setting.change" } else { "setting.create" };
        let entry = AuditEntry::done(
            actor,
            action,
            resource(document.kind, &document.name),
            format!("{verb} the {} {}", document.kind, document.name),
        )
        .changing(before.clone(), Some(after.clone()));
        let write = SettingsWrite::Put {
            name: document.name.clone(),
            setting,
            revision: stored.map(|stored| stored.revision),
            at: self.now(),
        };
        Ok(Ok(Planned { before, after, changes: Changeset::new().write(write).audit(entry) }))
    }
}

/// What a document wants, with everything wrong said at once.
fn desired(document: &Document) -> Result<Setting, Problems> {
    let mut problems = Problems::new();
    if let Err(error) = document.name.parse::<Name>() {
        problems.add("metadata.name", error);
    }
    match Setting::read(document.kind, &document.spec) {
        Some(Ok(setting)) => {
            if let Err(inner) = check(&setting) {
                problems.nest("spec", inner);
            }
            problems.or(setting)
        }
        Some(Err(inner)) => {
            problems.nest("spec", inner);
            Err(problems)
        }
        None => Err(Problems::one("kind", format!("{} is no setting", document.kind))),
    }
}
