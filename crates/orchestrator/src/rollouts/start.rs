//! Starting a rollout: stored facts are checked, everything else is the engine's first phase.

use std::collections::BTreeMap;

use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};
use serde_json::Value;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::AuditEntry;
use slipway_domain::cluster::Cluster;
use slipway_domain::event::{Event, Topic};
use slipway_domain::id::{ClusterId, RolloutId};
use slipway_domain::name::Name;
use slipway_domain::operator::{Installation, InstallationState, Manager as Managed};
use slipway_domain::preflight::Preflight;
use slipway_domain::problem::Problems;
use slipway_domain::rollout::{Command, Facts, Numbered, Spec, State, decide};
use slipway_domain::version::Version;
use uuid::Uuid;

use super::news::shown;
use super::request::{DryRun, Request, not_in_emergency};
use super::subject::beside;
use super::values::Given;
use super::{deciding, resource, trace};
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::StoreError;
use crate::ports::fleet::Placement;
use crate::ports::probes::ReleaseAt;
use crate::ports::store::{RESERVED, Rollout, RolloutWrite};

/// How many clusters a dry run looks at at once.
const AT_ONCE: usize = 16;

impl Manager {
    /// Starts a rollout: checks what is stored, takes the clusters, and leaves the rest to the engine.
    pub async fn start_rollout(&self, actor: &Actor, request: &Value) -> Result<Rollout, Error> {
        self.permit(actor, Permission::Deploy, "deployment.start", "deployment").await?;
        let request = self.read_request(request).await?;
        if request.emergency.is_some() && !actor.may(Permission::BreakGlass) {
            self.permit(actor, Permission::BreakGlass, "approval.breakGlass", "deployment").await?;
            return Err(not_in_emergency());
        }
        for _ in 0..4 {
            let (rollout, given, superseded) = self.planned(actor, &request).await?;
            match self.begin(actor, &rollout, &given, superseded).await {
                Ok(()) => return Ok(rollout),
                // Another deployment took a cluster, or the one to be replaced moved on: look again.
                Err(StoreError::Stale { .. }) => {}
                Err(StoreError::Taken { constraint }) if constraint == RESERVED => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::new(Code::Conflict, "the clusters change hands all the time; try again"))
    }

    /// Says what a rollout would do, and changes nothing.
    pub async fn dry_run(&self, actor: &Actor, request: &Value) -> Result<DryRun, Error> {
        self.permit(actor, Permission::Deploy, "deployment.dryRun", "deployment").await?;
        let request = self.read_request(request).await?;
        let (rollout, given) = self.drafted(actor, &request).await?;
        let archive = self.operator_archive(&request.operator, &request.version).await?;
        let now = self.store().time().await?;
        // Made beforehand, so that what streams them can be sent between threads.
        let mut looks = Vec::new();
        for cluster in &request.clusters {
            let subject =
                self.subject_of(&rollout, &cluster.name, &request.operator, archive.clone(), &given);
            let look = async move {
                let looked = match subject.await {
                    Err(error) => Err(error.to_string()),
                    Ok(subject) => {
                        self.parts.fleet.preflight(&subject, now).await.map_err(|error| error.to_string())
                    }
                };
                (cluster.name.clone(), looked)
            };
            looks.push(look.boxed());
        }
        let clusters: BTreeMap<Name, Result<Preflight, String>> =
            stream::iter(looks).buffer_unordered(AT_ONCE).collect().await;
        Ok(DryRun {
            operator: request.operator.name,
            version: request.version,
            settings: request.wanted.settings,
            waves: request.wanted.waves,
            clusters,
        })
    }

    /// A rollout that nobody else is in the way of, and those that it replaces.
    async fn planned(
        &self,
        actor: &Actor,
        request: &Request,
    ) -> Result<(Rollout, Given, Vec<Rollout>), Error> {
        let (rollout, given) = self.drafted(actor, request).await?;
        let ids: Vec<ClusterId> = request.clusters.iter().map(|cluster| cluster.id).collect();
        let taken = self.store().reservations(request.operator.id, &ids).await?;
        let superseded = self.superseded(request, &taken, rollout.id).await?;
        let active = self.store().active_rollouts().await?;
        let most = self.settings.rollouts.most_active;
        if superseded.is_empty() && active >= most {
            return Err(Error::new(
                Code::Conflict,
                format!(
                    "{active} deployments are under way, and {most} may be at once; wait for one to end, or raise deployments.mostActive"
                ),
            ));
        }
        Ok((rollout, given, superseded))
    }

    /// The rollouts that hold a cluster and only wait, where they may be replaced; an error that names the
    /// first where not.
    async fn superseded(
        &self,
        request: &Request,
        taken: &[(ClusterId, RolloutId)],
        by: RolloutId,
    ) -> Result<Vec<Rollout>, Error> {
        let mut replaced: BTreeMap<RolloutId, Rollout> = BTreeMap::new();
        let mut problems = Problems::new();
        let mut first = None;
        for (cluster, holder) in taken {
            if replaced.contains_key(holder) {
                continue;
            }
            let Some(found) = self.store().rollout(*holder).await? else { continue };
            let waits = Command::Supersede { by }.check(&found.state).is_ok();
            if request.supersede && waits {
                replaced.insert(*holder, found);
                continue;
            }
            let name = request.clusters.iter().find(|known| known.id == *cluster);
            let name = name.map_or_else(|| cluster.to_string(), |cluster| cluster.name.to_string());
            let hint = if waits { "; --supersede replaces it" } else { "" };
            problems.add(
                name,
                format!(
                    "is held by deployment {holder} ({} {}, {}){hint}",
                    found.state.spec.operator, found.state.spec.version, found.state.status
                ),
            );
            first.get_or_insert(*holder);
        }
        let Some(first) = first else { return Ok(replaced.into_values().collect()) };
        let mut error = Error::new(
            Code::DeploymentInProgress,
            format!("deployment {first} of {} is under way on some of these clusters", request.operator.name),
        );
        error.details = problems;
        Err(error)
    }

    async fn begin(
        &self,
        actor: &Actor,
        rollout: &Rollout,
        given: &Given,
        superseded: Vec<Rollout>,
    ) -> Result<(), StoreError> {
        let sealed = self.seal_given(rollout.id, given).map_err(|error| StoreError::Other(error.into()))?;
        let state = &rollout.state;
        let mut changes = Changeset::new();
        for old in &superseded {
            changes = self.superseding(changes, actor, old, rollout.id);
        }
        let message = format!(
            "started the deployment of {} {} to {} clusters, {}",
            state.spec.operator,
            state.spec.version,
            state.clusters.len(),
            state.spec.settings.strategy.kind(),
        );
        let mut seen = shown(rollout, state);
        if let Value::Object(fields) = &mut seen {
            let clusters: Vec<&Name> = state.clusters.keys().collect();
            fields.insert("targetClusters".to_owned(), serde_json::json!(clusters));
            fields.insert("emergency".to_owned(), serde_json::json!(rollout.emergency));
        }
        let changes = changes
            .write(RolloutWrite::Begin { rollout: Box::new(rollout.clone()), values: sealed })
            .audit(
                AuditEntry::done(actor, "deployment.start", resource(rollout.id), message)
                    .changing(None, Some(seen.clone())),
            )
            .tell(Event {
                topic: Topic::Deployment,
                subject: rollout.id.to_string(),
                kind: "started".to_owned(),
                data: seen,
            })
            .due(deciding(rollout.id), self.now());
        self.store().commit(changes).await
    }

    /// Ends a rollout that only waits, in the same moment in which another takes its clusters.
    fn superseding(&self, changes: Changeset, actor: &Actor, old: &Rollout, by: RolloutId) -> Changeset {
        let command = Command::Supersede { by };
        let facts = Facts {
            commands: vec![Numbered {
                number: old.state.commands + 1,
                by: actor.name.clone(),
                command: command.clone(),
            }],
            ..Facts::default()
        };
        let now = self.now();
        let mut decision = decide(old.state.clone(), &facts, now);
        // The number belongs to the command that somebody else may write meanwhile.
        decision.state.commands = old.state.commands;
        let after = Rollout { state: decision.state, ended_at: Some(now), ..old.clone() };
        let message = format!("deployment {by} took its place");
        changes
            .write(RolloutWrite::Decide { rollout: Box::new(after), news: Vec::new() })
            .audit(AuditEntry::done(actor, "deployment.supersede", resource(old.id), message))
            .due(deciding(old.id), now)
    }

    /// A rollout as it would begin.
    async fn drafted(&self, actor: &Actor, request: &Request) -> Result<(Rollout, Given), Error> {
        let id = RolloutId(Uuid::new_v4());
        let now = self.store().time().await?;
        let operator = &request.operator;
        let installed = self.store().installations(None, Some(operator.id)).await?;
        let (mut placements, mut opened) = (BTreeMap::new(), BTreeMap::new());
        let mut given = Given { deployment: request.values.clone(), ..Given::default() };
        let mut versions: BTreeMap<String, usize> = BTreeMap::new();
        for cluster in &request.clusters {
            let there = present(&installed, cluster);
            if let Some(installation) = there {
                *versions.entry(installation.seen.version.clone()).or_default() += 1;
            }
            let carried = self.carried(operator, &cluster.name, there, id, &mut opened).await?;
            if !carried.is_empty() {
                given.carried.insert(cluster.name.clone(), carried);
            }
            placements.insert(cluster.name.clone(), placement(request, cluster, there));
        }
        let previous = versions.into_iter().max_by_key(|(_, count)| *count);
        let spec = Spec {
            rollout: id,
            operator: operator.name.clone(),
            version: request.version.clone(),
            settings: request.wanted.settings.clone(),
            targets: request.wanted.targets.clone(),
            smoke: operator.effective_profile().smoke_test.is_some(),
            migrate: request.migrate,
        };
        let rollout = Rollout {
            id,
            operator: operator.id,
            state: State::new(spec, request.wanted.waves.clone(), now),
            placements,
            previous_version: previous.and_then(|(version, _)| version.parse::<Version>().ok()),
            starter: self.starter(actor).await?,
            emergency: request.emergency.as_ref().map(|note| note.as_str().to_owned()),
            may_delete: request.may_delete.clone(),
            trace: trace::current(),
            created_at: now,
            started_at: None,
            ended_at: None,
            version: 1,
        };
        Ok((rollout, given))
    }
}

/// What is installed on a cluster; the newest where there are two.
fn present<'a>(installed: &'a [Installation], cluster: &Cluster) -> Option<&'a Installation> {
    installed
        .iter()
        .filter(|installation| installation.cluster_id == cluster.id)
        .filter(|installation| installation.seen.state != InstallationState::Uninstalled)
        .max_by_key(|installation| installation.seen.deployed_at)
}

fn placement(request: &Request, cluster: &Cluster, there: Option<&Installation>) -> Placement {
    let release = there.map_or_else(
        || ReleaseAt {
            namespace: request.operator.namespace.to_string(),
            name: request.operator.name.to_string(),
        },
        |there| ReleaseAt { namespace: there.seen.namespace.clone(), name: there.seen.release.clone() },
    );
    Placement {
        cluster: cluster.id,
        beside: beside(&request.wanted.settings.strategy, &release),
        installed: there.is_some(),
        adopts: there.is_some_and(|there| there.seen.managed_by != Managed::Slipway),
        release,
    }
}
