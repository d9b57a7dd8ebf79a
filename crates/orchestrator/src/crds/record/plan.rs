//! What storing the CRDs of a version comes to: chains, steps and history.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::json;
use slipway_crd_compat::finding::Severity;
use slipway_crd_compat::policy::Policy;
use slipway_domain::access::Actor;
use slipway_domain::audit::AuditEntry;
use slipway_domain::crd::chain::{order, removed_in, settle};
use slipway_domain::crd::{ChangeType, CrdApproval, CrdChange, SchemaVersion, Step, StoredCrd};
use slipway_domain::event::{Event, Topic};
use slipway_domain::id::CrdId;
use slipway_domain::name::Name;
use slipway_domain::version::Version;
use uuid::Uuid;

use super::{Extent, Recorded};
use crate::changes::Changeset;
use crate::crds::changes::{changes, whole};
use crate::crds::compare::Definition;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::store::{CrdHistory, CrdWrite, NewCrd, OperatorCrds};

/// What storing will write.
pub(super) struct Plan<'m> {
    manager: &'m Manager,
    operator: Name,
    version: Version,
    extent: Extent,
    policy: &'m Policy,
    at: Timestamp,
    known: OperatorCrds,
    chains: BTreeMap<String, Vec<StoredCrd>>,
    new: BTreeMap<CrdId, Definition>,
    history: Vec<CrdHistory>,
    recorded: Recorded,
}

impl<'m> Plan<'m> {
    pub(super) fn new(
        manager: &'m Manager,
        operator: &Name,
        version: &Version,
        known: OperatorCrds,
        extent: Extent,
        policy: &'m Policy,
    ) -> Self {
        // `v1.2.3` and `1.2.3` are one version; it keeps the way it was written first.
        let written = known.crds.iter().map(|crd| &crd.operator_version).chain(&known.whole);
        let version = written.into_iter().find(|known| *known == version).unwrap_or(version).clone();
        let mut chains: BTreeMap<String, Vec<StoredCrd>> = BTreeMap::new();
        for crd in &known.crds {
            chains.entry(crd.name.clone()).or_default().push(crd.clone());
        }
        Self {
            manager,
            operator: operator.clone(),
            version,
            extent,
            policy,
            at: manager.now(),
            known,
            chains,
            new: BTreeMap::new(),
            history: Vec::new(),
            recorded: Recorded::default(),
        }
    }

    /// Adds a schema to its chain and judges it against its neighbours.
    pub(super) async fn add(&mut self, definition: &Definition) -> Result<(), Error> {
        let name = definition.crd.name().to_owned();
        let mut chain = self.chains.get(&name).cloned().unwrap_or_default();
        let there = chain.iter().find(|crd| crd.operator_version == self.version);
        match there {
            Some(there) if there.content == definition.content => return Ok(()),
            Some(_) if self.extent == Extent::Part => {
                return Err(Error::new(
                    Code::Conflict,
                    format!(
                        "{name} of {} {} is stored with another schema; a version does not change: store it \
                         with the version that brings it",
                        self.operator, self.version
                    ),
                ));
            }
            _ => {}
        }
        let new = self.stored(definition, there, chain.first());
        let id = new.id;
        chain.retain(|crd| crd.id != id);
        chain.push(new);
        order(&mut chain);
        self.new.insert(id, definition.clone());
        let at = chain.iter().position(|crd| crd.id == id).unwrap_or_default();
        for index in at..chain.len().min(at + 2) {
            let before = index.checked_sub(1).and_then(|before| chain.get(before));
            let Some(this) = chain.get(index) else { continue };
            let (step, changes) = self.step(before, this).await?;
            if index == at && step == Step::Breaking {
                self.recorded.breaking.push(name.clone());
            }
            self.history.push(CrdHistory {
                name: name.clone(),
                operator_version: this.operator_version.clone(),
                changes,
            });
            if let Some(crd) = chain.get_mut(index) {
                crd.step = step;
            }
        }
        self.recorded.added.push(name.clone());
        self.chains.insert(name, chain);
        Ok(())
    }

    fn stored(
        &self,
        definition: &Definition,
        there: Option<&StoredCrd>,
        relative: Option<&StoredCrd>,
    ) -> StoredCrd {
        let crd = &definition.crd;
        StoredCrd {
            id: there.map_or_else(|| CrdId(Uuid::now_v7()), |there| there.id),
            name: crd.name().to_owned(),
            group: crd.group().to_owned(),
            versions: crd.versions().iter().map(|version| version.name().to_owned()).collect(),
            scope: crd.scope().to_owned(),
            operator: self.operator.clone(),
            operator_version: self.version.clone(),
            content: definition.content,
            schema_version: SchemaVersion::FIRST,
            step: Step::First,
            approval: CrdApproval::NotRequired,
            deprecation: relative.and_then(|crd| crd.deprecation.clone()),
            removed_in: relative.and_then(|crd| crd.removed_in.clone()),
            current: false,
            recorded_at: self.at,
        }
    }

    /// What a schema is to the one before it, and the history of that.
    async fn step(
        &self,
        before: Option<&StoredCrd>,
        this: &StoredCrd,
    ) -> Result<(Step, Vec<CrdChange>), Error> {
        let Some(before) = before else {
            let came = format!("{} came with {} {}", this.name, self.operator, this.operator_version);
            let line = whole(ChangeType::Added, came, &this.operator_version, this.recorded_at);
            return Ok((Step::First, vec![line]));
        };
        if before.content == this.content {
            return Ok((Step::Same, Vec::new()));
        }
        let (old, new) = (self.definition(before).await?, self.definition(this).await?);
        let report = self.manager.compare(&old, &new, None, self.policy).await?;
        let step = match report.severity() {
            Severity::Breaking => Step::Breaking,
            _ if report.findings.is_empty() => Step::Same,
            _ => Step::Compatible,
        };
        Ok((step, changes(&report, &this.operator_version, this.recorded_at)))
    }

    async fn definition(&self, crd: &StoredCrd) -> Result<Definition, Error> {
        match self.new.get(&crd.id) {
            Some(definition) => Ok(definition.clone()),
            None => Definition::stored(&self.manager.definition(crd).await?),
        }
    }

    /// Notes which CRDs the operator no longer has, now that a version is known whole.
    fn note_removals(&mut self) {
        let mut versions = self.known.whole.clone();
        if self.extent == Extent::Whole && !versions.contains(&self.version) {
            versions.push(self.version.clone());
        }
        for (name, chain) in &mut self.chains {
            let has: Vec<Version> = chain.iter().map(|crd| crd.operator_version.clone()).collect();
            let gone = removed_in(&has, &versions);
            let was = chain.first().and_then(|crd| crd.removed_in.clone());
            if gone == was {
                continue;
            }
            if let Some(was) = was.filter(|was| !has.contains(was)) {
                // Before what is pushed now, which takes its place.
                let nothing = CrdHistory { name: name.clone(), operator_version: was, changes: Vec::new() };
                self.history.insert(0, nothing);
            }
            if let Some(gone) = &gone {
                let line = whole(
                    ChangeType::Removed,
                    format!(
                        "{} {gone} no longer has {name}; its objects stay until somebody deletes it",
                        self.operator
                    ),
                    gone,
                    self.at,
                );
                let changes = vec![line];
                self.history.push(CrdHistory { name: name.clone(), operator_version: gone.clone(), changes });
                self.recorded.removed.push(name.clone());
            }
            for crd in chain {
                crd.removed_in.clone_from(&gone);
            }
        }
    }

    /// What is written; nothing if all of it is stored already.
    pub(super) fn finish(mut self, actor: &Actor) -> (Option<Changeset>, Recorded) {
        let is_known_whole = self.known.whole.contains(&self.version);
        if self.new.is_empty() && (self.extent == Extent::Part || is_known_whole) {
            return (None, self.recorded);
        }
        self.note_removals();
        for chain in self.chains.values_mut() {
            settle(chain);
        }
        let mut crds = Vec::new();
        let mut changed = Vec::new();
        for crd in self.chains.into_values().flatten() {
            if let Some(definition) = self.new.get(&crd.id) {
                crds.push(NewCrd { crd, definition: definition.written.to_string() });
            } else if !self.known.crds.contains(&crd) {
                changed.push(crd);
            }
        }
        let entry = AuditEntry::done(
            actor,
            "crd.record",
            format!("operator/{}", self.operator),
            told(&self.operator, &self.version, &self.recorded),
        )
        .changing(
            None,
            Some(json!({
                "operatorVersion": self.version,
                "crds": self.recorded.added,
                "breaking": self.recorded.breaking,
                "removed": self.recorded.removed,
            })),
        );
        let event = Event {
            topic: Topic::Operator,
            subject: self.operator.to_string(),
            kind: "crdsRecorded".to_owned(),
            data: json!({"operatorVersion": self.version, "breaking": self.recorded.breaking}),
        };
        let write = CrdWrite::Record {
            operator: self.operator,
            operator_version: self.version,
            revision: self.known.revision,
            whole: self.extent == Extent::Whole,
            crds,
            changed,
            history: self.history,
        };
        (Some(Changeset::new().write(write).audit(entry).tell(event)), self.recorded)
    }
}

fn told(operator: &Name, version: &Version, recorded: &Recorded) -> String {
    let count = recorded.added.len();
    let mut text =
        format!("stored {count} {} of {operator} {version}", if count == 1 { "CRD" } else { "CRDs" });
    if !recorded.breaking.is_empty() {
        text = format!("{text}; breaking: {}", recorded.breaking.join(", "));
    }
    if !recorded.removed.is_empty() {
        text = format!("{text}; no longer there: {}", recorded.removed.join(", "));
    }
    text
}
