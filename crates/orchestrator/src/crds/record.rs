//! Storing the CRDs that a version of an operator brings.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_crd_compat::finding::Severity;
use slipway_crd_compat::policy::Policy;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::AuditEntry;
use slipway_domain::crd::chain::{order, removed_in, settle};
use slipway_domain::crd::{
    ChangeType, CrdApproval, CrdChange, LARGEST_DEFINITION, MOST_PER_VERSION, SchemaVersion, Step, StoredCrd,
};
use slipway_domain::event::{Event, Topic};
use slipway_domain::id::CrdId;
use slipway_domain::name::Name;
use slipway_domain::problem::Problems;
use slipway_domain::version::Version;
use uuid::Uuid;

use super::changes::{changes, whole};
use super::compare::Definition;
use super::{CrdChoice, CrdDetail};
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::StoreError;
use crate::ports::store::{CrdHistory, CrdWrite, NewCrd, OperatorCrds};

/// How often storing is tried while others store CRDs of the same operator.
const ATTEMPTS: usize = 5;

/// A schema that somebody stores by hand.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSchema {
    /// The operator that brings it.
    pub operator: String,
    /// The version of the operator that brings it.
    pub operator_version: String,
    /// The definition.
    pub definition: Value,
}

/// What storing came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// CRDs that are stored for the first time in that version.
    pub added: Vec<String>,
    /// Those of them that break the schema before them.
    pub breaking: Vec<String>,
    /// CRDs that the operator no longer has since that version.
    pub removed: Vec<String>,
}

/// Whether what is stored is all there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// All CRDs of the version: what is not among them is not there.
    Whole,
    /// One of them.
    Part,
}

impl Manager {
    /// Stores all CRDs that a chart of a version brings. The same again changes nothing. Whoever calls has
    /// authorized the actor.
    pub async fn record_crds(
        &self,
        actor: &Actor,
        operator: &Name,
        version: &Version,
        definitions: Vec<Value>,
    ) -> Result<Recorded, Error> {
        let mut problems = Problems::new();
        if definitions.len() > MOST_PER_VERSION {
            problems.add("crds", format!("are more than {MOST_PER_VERSION}"));
        }
        let mut read: Vec<Definition> = Vec::new();
        for (index, definition) in definitions.into_iter().take(MOST_PER_VERSION).enumerate() {
            let place = format!("crds[{index}]");
            let Some(definition) = problems.take(&place, read_definition(definition)) else { continue };
            let name = definition.crd.name();
            match read.iter().find(|other| other.crd.name() == name) {
                // Charts repeat a CRD in `crds/` and in a template; the same twice is one.
                Some(other) if other.content == definition.content => {}
                Some(_) => problems.add(place, format!("defines {name} once more, differently")),
                None => read.push(definition),
            }
        }
        problems.or(())?;
        self.record(actor, operator, version, read, Extent::Whole).await
    }

    /// Stores one schema by hand.
    pub async fn create_crd(&self, actor: &Actor, new: NewSchema) -> Result<CrdDetail, Error> {
        self.permit(actor, Permission::ManageCrds, "crd.record", "crd").await?;
        let mut problems = Problems::new();
        let operator = problems.take("operatorName", new.operator.parse::<Name>());
        let version = problems.take("operatorVersion", new.operator_version.parse::<Version>());
        let definition = problems.take("schemaDefinition", read_definition(new.definition));
        let (Some(operator), Some(version), Some(definition)) = (operator, version, definition) else {
            return Err(problems.into());
        };
        let name = definition.crd.name().to_owned();
        self.record(actor, &operator, &version, vec![definition], Extent::Part).await?;
        let choice = CrdChoice { name, operator: Some(operator), operator_version: Some(version) };
        let crd = self.find_crd(&choice).await?;
        self.detail(crd).await
    }

    async fn record(
        &self,
        actor: &Actor,
        operator: &Name,
        version: &Version,
        definitions: Vec<Definition>,
        extent: Extent,
    ) -> Result<Recorded, Error> {
        let policy = self.crd_policy(operator).await?;
        for _ in 0..ATTEMPTS {
            let known = self.store().operator_crds(operator).await?;
            let mut plan = Plan::new(self, operator, version, known, extent, &policy);
            for definition in &definitions {
                plan.add(definition).await?;
            }
            let (changeset, recorded) = plan.finish(actor);
            let Some(changeset) = changeset else { return Ok(recorded) };
            match self.store().commit(changeset).await {
                // Somebody stored CRDs of this operator meanwhile: look again.
                Err(StoreError::Stale { .. } | StoreError::Taken { .. }) => {}
                done => return done.map(|()| recorded).map_err(Error::from),
            }
        }
        Err(Error::new(
            Code::Conflict,
            format!("the CRDs of {operator} are being stored by others all the time; try again in a moment"),
        ))
    }
}

/// Reads a definition, given as an object or as text.
pub(super) fn read_definition(value: Value) -> Result<Definition, String> {
    let value = match value {
        Value::String(text) => {
            if text.len() > LARGEST_DEFINITION {
                return Err(too_large());
            }
            serde_json::from_str(&text).map_err(|error| format!("is not JSON: {error}"))?
        }
        value => {
            if value.to_string().len() > LARGEST_DEFINITION {
                return Err(too_large());
            }
            value
        }
    };
    Definition::new(value).map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        format!("cannot be used: {error}{cause}")
    })
}

fn too_large() -> String {
    format!("is larger than {} MiB", LARGEST_DEFINITION >> 20)
}

/// What storing will write.
struct Plan<'m> {
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
    fn new(
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
    async fn add(&mut self, definition: &Definition) -> Result<(), Error> {
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
    fn finish(mut self, actor: &Actor) -> (Option<Changeset>, Recorded) {
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
