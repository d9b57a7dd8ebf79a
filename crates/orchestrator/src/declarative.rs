//! Things kept in files: documents say what is wanted, and one commit makes it so, or nothing changes.
//!
//! Each kind has a file of its own: it reads what is there as documents, and plans what a document changes. Planning decides and writes nothing; [`Manager::apply`] puts all plans into one changeset.

mod cluster;
mod operator;
mod setting;
mod user;

use std::collections::BTreeSet;

use futures::{StreamExt as _, stream};
use serde_json::Value;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::document::{Difference, Document, Kind, differences};
use slipway_domain::problem::Problems;

use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::StoreError;
use crate::ports::store::LAST_ADMIN;

/// The most documents that are applied at once.
pub const MOST_DOCUMENTS: usize = 2_000;

/// How many documents are looked into at the same time.
const AT_ONCE: usize = 4;

/// Whether a thing changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was not there.
    Created,
    /// It was different.
    Changed,
    /// It is as wanted.
    Unchanged,
}

/// What a document comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// What it is about.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Whether it changes.
    pub outcome: Outcome,
    /// Every field that differs.
    pub differences: Vec<Difference>,
}

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// All of it, or nothing.
    Apply,
    /// Nothing; only what would change is said.
    DryRun,
}

/// What one document changes.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    /// What is there, as the `spec` of a document; nothing if there is no such thing.
    pub(crate) before: Option<Value>,
    /// What will be there.
    pub(crate) after: Value,
    /// What has to be written for it.
    pub(crate) changes: Changeset,
}

impl Manager {
    /// Makes things as documents want them: all, or none. Applying the same again changes nothing.
    pub async fn apply(&self, actor: &Actor, documents: &[Value], mode: Mode) -> Result<Vec<Applied>, Error> {
        self.permit(actor, Permission::ManageSettings, "document.apply", "document").await?;
        let documents = read(documents)?;
        let mut wrong = Vec::new();
        let mut changes = Changeset::new();
        let mut applied: Vec<Option<Applied>> = documents.iter().map(|_| None).collect();
        let plans: Vec<_> = in_order(&documents)
            .into_iter()
            .map(|(index, document)| async move { (index, document, self.plan(actor, document).await) })
            .collect();
        // Repositories are asked about new operators, so several at once; the order stays.
        let mut plans = stream::iter(plans).buffered(AT_ONCE);
        while let Some((index, document, planned)) = plans.next().await {
            match planned? {
                Ok(planned) => {
                    if let Some(place) = applied.get_mut(index) {
                        *place = Some(told(document, &planned));
                    }
                    if planned.before.as_ref() != Some(&planned.after) {
                        add(&mut changes, planned.changes);
                    }
                }
                Err(inner) => wrong.push((index, inner)),
            }
        }
        drop(plans);
        // As somebody reads the documents, not as they are made.
        wrong.sort_by_key(|(index, _)| *index);
        let mut problems = Problems::new();
        for (index, inner) in wrong {
            problems.nest(&format!("documents[{index}]"), inner);
        }
        problems.or(())?;
        if mode == Mode::Apply && !(changes.rows.is_empty() && changes.audit.is_empty()) {
            let written = self.store().commit(changes).await;
            if documents.iter().any(|document| document.kind == Kind::User) {
                self.identity.forget();
            }
            written.map_err(conflict)?;
        }
        Ok(applied.into_iter().flatten().collect())
    }

    /// Everything that can be kept in files, as documents; applying them changes nothing.
    pub async fn export(&self, actor: &Actor, kind: Option<Kind>) -> Result<Vec<Document>, Error> {
        self.permit(actor, Permission::ManageSettings, "document.export", "document").await?;
        let mut documents = Vec::new();
        for wanted in Kind::ALL.into_iter().filter(|one| kind.is_none_or(|kind| kind == *one)) {
            documents.extend(self.documents(wanted).await?);
        }
        Ok(documents)
    }

    /// What a document changes, or what is wrong with it.
    async fn plan(&self, actor: &Actor, document: &Document) -> Result<Result<Planned, Problems>, Error> {
        match document.kind {
            Kind::Policy | Kind::ApprovalRule | Kind::Window | Kind::Values => {
                self.plan_setting(actor, document).await
            }
            Kind::Cluster => self.plan_cluster(actor, document).await,
            Kind::User => self.plan_user(actor, document).await,
            Kind::Operator => self.plan_operator(actor, document).await,
        }
    }

    /// What is there of a kind, as documents.
    async fn documents(&self, kind: Kind) -> Result<Vec<Document>, Error> {
        match kind {
            Kind::Policy | Kind::ApprovalRule | Kind::Window | Kind::Values => {
                self.setting_documents(kind).await
            }
            Kind::Cluster => self.cluster_documents().await,
            Kind::User => self.user_documents().await,
            Kind::Operator => self.operator_documents().await,
        }
    }
}

/// Documents in the order in which they are made, each with its place: by kind, and whoever becomes an admin
/// before whoever stops to be one.
fn in_order(documents: &[Document]) -> Vec<(usize, &Document)> {
    let mut order: Vec<(usize, &Document)> = documents.iter().enumerate().collect();
    let is_admin = |document: &Document| {
        document.spec.get("role").and_then(Value::as_str) == Some("Admin")
            && document.spec.get("disabled") != Some(&Value::Bool(true))
    };
    order.sort_by_key(|(_, document)| (document.kind, document.kind == Kind::User && !is_admin(document)));
    order
}

/// Problems of what a document asks for, without those of places that are no part of its `spec`.
fn below_spec(problems: &Problems, without: &[&str]) -> Problems {
    let mut below = Problems::new();
    for problem in problems.iter().filter(|problem| !without.contains(&problem.path.as_str())) {
        below.add(problem.path.clone(), &problem.message);
    }
    below
}

/// Reads the frames of all documents, and says all that is wrong with them.
fn read(values: &[Value]) -> Result<Vec<Document>, Problems> {
    let mut problems = Problems::new();
    if values.len() > MOST_DOCUMENTS {
        return Err(Problems::one("documents", format!("are more than {MOST_DOCUMENTS}")));
    }
    let mut documents = Vec::with_capacity(values.len());
    let mut seen = BTreeSet::new();
    for (index, value) in values.iter().enumerate() {
        let place = format!("documents[{index}]");
        match Document::read(value) {
            Ok(document) => {
                if !seen.insert((document.kind, document.name.clone())) {
                    problems
                        .add(place, format!("is about the {} {} once more", document.kind, document.name));
                }
                documents.push(document);
            }
            Err(inner) => problems.nest(&place, inner),
        }
    }
    problems.or(documents)
}

fn told(document: &Document, planned: &Planned) -> Applied {
    let nothing = Value::Object(serde_json::Map::new());
    let differences = differences(planned.before.as_ref().unwrap_or(&nothing), &planned.after);
    let outcome = match &planned.before {
        None => Outcome::Created,
        Some(_) if differences.is_empty() => Outcome::Unchanged,
        Some(_) => Outcome::Changed,
    };
    Applied { kind: document.kind, name: document.name.clone(), outcome, differences }
}

/// Puts one changeset behind another.
fn add(all: &mut Changeset, more: Changeset) {
    all.rows.extend(more.rows);
    all.audit.extend(more.audit);
    all.outbox.extend(more.outbox);
    all.events.extend(more.events);
    all.work.extend(more.work);
}

/// Something changed between looking and writing: nothing is written, and trying again looks again.
fn conflict(error: StoreError) -> Error {
    match error {
        StoreError::Taken { constraint } if constraint == LAST_ADMIN => Error::new(
            Code::Conflict,
            "nobody would be left who can log in as Admin; keep one, or make another one first",
        ),
        StoreError::Stale { .. } | StoreError::Taken { .. } => Error::new(
            Code::Conflict,
            "something changed while the documents were applied; nothing was written, apply them again",
        )
        .caused_by(error),
        other => other.into(),
    }
}
