//! What of a cluster is for people, as documents: description, environment, labels, and whether it is
//! disabled. A cluster itself is made by whoever has access to it, not by a file.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use slipway_domain::access::{Actor, Environment};
use slipway_domain::audit::AuditEntry;
use slipway_domain::cluster::{Cluster, Labels, State, description_of};
use slipway_domain::document::{Document, Fields, Kind};
use slipway_domain::event::{Event, Topic};
use slipway_domain::name::Name;
use slipway_domain::problem::Problems;

use super::Planned;
use crate::changes::{Changeset, Work};
use crate::clusters::CLUSTER_HEALTH;
use crate::error::Error;
use crate::manager::Manager;
use crate::ports::store::ClusterWrite;

/// What a document wants of a cluster.
struct Desired {
    description: Option<String>,
    environment: Environment,
    labels: Labels,
    state: State,
}

impl Manager {
    pub(super) async fn cluster_documents(&self) -> Result<Vec<Document>, Error> {
        let clusters = self.every_cluster().await?;
        let mut documents: Vec<Document> = clusters
            .iter()
            .map(|cluster| Document {
                kind: Kind::Cluster,
                name: cluster.name.to_string(),
                spec: spec(cluster),
            })
            .collect();
        documents.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(documents)
    }

    pub(super) async fn plan_cluster(
        &self,
        actor: &Actor,
        document: &Document,
    ) -> Result<Result<Planned, Problems>, Error> {
        let mut problems = Problems::new();
        let name = problems.take("metadata.name", document.name.parse::<Name>());
        let desired = match Desired::read(&document.spec) {
            Ok(desired) => Some(desired),
            Err(inner) => {
                problems.nest("spec", inner);
                None
            }
        };
        let before = match &name {
            Some(name) => self.store().cluster_by_name(name).await?,
            None => None,
        };
        if before.is_none() && name.is_some() {
            problems.add(
                "metadata.name",
                format!(
                    "names no cluster that is registered; register it first: slipway cluster add {}",
                    document.name
                ),
            );
        }
        Ok(match (desired, before) {
            (Some(desired), Some(before)) => problems.or(()).map(|()| self.changes(actor, &before, desired)),
            _ => Err(problems),
        })
    }

    fn changes(&self, actor: &Actor, before: &Cluster, desired: Desired) -> Planned {
        let now = self.now();
        let after = Cluster {
            description: desired.description,
            environment: desired.environment,
            labels: desired.labels,
            state: desired.state,
            ..before.clone()
        };
        let name = &before.name;
        let entry =
            AuditEntry::done(actor, "cluster.update", format!("cluster/{name}"), format!("changed {name}"))
                .changing(Some(before.facts()), Some(after.facts()));
        let mut changes = Changeset::new()
            // Also where only the state changes: it is what the revision is compared with.
            .write(ClusterWrite::Describe {
                id: before.id,
                revision: before.revision,
                description: after.description.clone(),
                environment: after.environment,
                labels: after.labels.clone(),
                at: now,
            })
            .audit(entry)
            .tell(Event {
                topic: Topic::Cluster,
                subject: name.to_string(),
                kind: "updated".to_owned(),
                data: after.facts(),
            });
        if after.state != before.state {
            let health = Work { kind: CLUSTER_HEALTH, key: before.id.to_string() };
            changes = changes.write(ClusterWrite::State { id: before.id, state: after.state, at: now });
            changes = match after.state {
                State::Enabled => changes.due(health, now),
                State::Disabled => changes.end(health),
            };
        }
        Planned { before: Some(spec(before)), after: spec(&after), changes }
    }
}

/// What is there, as the `spec` of a document; what is as usual is left out.
fn spec(cluster: &Cluster) -> Value {
    let mut spec = json!({"environment": cluster.environment});
    if let Some(description) = &cluster.description {
        spec["description"] = json!(description);
    }
    if let Ok(labels) = serde_json::to_value(&cluster.labels)
        && labels.as_object().is_some_and(|labels| !labels.is_empty())
    {
        spec["labels"] = labels;
    }
    if cluster.state == State::Disabled {
        spec["disabled"] = json!(true);
    }
    spec
}

impl Desired {
    fn read(spec: &Value) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut fields = Fields::of(spec, &mut problems);
        let environment = fields.required("environment");
        let description: Option<String> = fields.optional("description");
        let labels: BTreeMap<String, String> = fields.optional("labels").unwrap_or_default();
        let disabled = fields.optional("disabled").unwrap_or(false);
        fields.end();
        let description = description_of(description.as_deref(), &mut problems);
        let labels = match Labels::new(&labels) {
            Ok(labels) => Some(labels),
            Err(inner) => {
                problems.nest("labels", inner);
                None
            }
        };
        let state = if disabled { State::Disabled } else { State::Enabled };
        match (environment, labels) {
            (Some(environment), Some(labels)) => {
                problems.or(Self { description, environment, labels, state })
            }
            _ => Err(problems),
        }
    }
}
