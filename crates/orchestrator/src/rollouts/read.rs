//! Reading rollouts.

use std::collections::BTreeMap;

use slipway_domain::access::{Actor, Permission};
use slipway_domain::approval::Approval;
use slipway_domain::id::RolloutId;
use slipway_domain::name::Name;
use slipway_domain::preflight::Preflight;
use slipway_domain::rollout::{RollbackProgress, Why, why};

use super::engine::Engine;
use super::ledger::StoreLedger;
use super::{RolloutSettings, unknown};
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::page::{Page, Window};
use crate::ports::store::{Rollout, RolloutFilter, RolloutNews, StepRow};

/// The fewest digits that name a rollout.
const FEWEST: usize = 4;

/// A rollout with what people ask about it.
#[derive(Debug, Clone)]
pub struct RolloutView {
    /// It.
    pub rollout: Rollout,
    /// What people decided about it, the oldest first.
    pub approvals: Vec<Approval>,
    /// What it waits for.
    pub why: Why,
}

impl Manager {
    /// Drives rollouts on this server.
    pub fn engine(&self) -> Engine {
        let ledger = StoreLedger(std::sync::Arc::clone(&self.parts.store));
        Engine::new(std::sync::Arc::new(ledger), std::sync::Arc::new(self.clone()))
    }

    /// What is set about rollouts.
    pub fn rollout_settings(&self) -> &RolloutSettings {
        &self.settings.rollouts
    }

    /// A part of the rollouts, the newest first.
    pub async fn rollouts(
        &self,
        actor: &Actor,
        filter: &RolloutFilter,
        window: Window,
    ) -> Result<Page<Rollout>, Error> {
        self.permit(actor, Permission::Read, "deployment.list", "deployment").await?;
        Ok(self.store().rollouts(filter, window).await?)
    }

    /// One rollout, by its id or the beginning of it.
    pub async fn rollout(&self, actor: &Actor, id: &str) -> Result<RolloutView, Error> {
        let rollout = self.readable(actor, id).await?;
        let approvals = self.store().approvals_of(rollout.id).await?;
        let why = self.why_of(&rollout).await?;
        Ok(RolloutView { rollout, approvals, why })
    }

    /// What a rollout waits for, since when, until when, and what would unblock it.
    pub async fn rollout_why(&self, actor: &Actor, id: &str) -> Result<(Rollout, Why), Error> {
        let rollout = self.readable(actor, id).await?;
        let why = self.why_of(&rollout).await?;
        Ok((rollout, why))
    }

    /// What happened in a rollout, after a number.
    pub async fn rollout_news(&self, actor: &Actor, id: &str, after: i64) -> Result<Vec<RolloutNews>, Error> {
        let rollout = self.readable(actor, id).await?;
        Ok(self.store().rollout_news(rollout.id, after, 1000).await?)
    }

    /// What preflight said about each cluster.
    pub async fn rollout_preflights(
        &self,
        actor: &Actor,
        id: &str,
    ) -> Result<(Rollout, BTreeMap<Name, Preflight>), Error> {
        let rollout = self.readable(actor, id).await?;
        let preflights = self.store().preflights(rollout.id).await?;
        Ok((rollout, preflights))
    }

    /// Every step that was begun, in order.
    pub async fn rollout_steps(&self, actor: &Actor, id: &str) -> Result<Vec<StepRow>, Error> {
        let rollout = self.readable(actor, id).await?;
        Ok(self.store().steps(rollout.id).await?)
    }

    /// How far taking a rollout back is.
    pub async fn rollback_progress(
        &self,
        actor: &Actor,
        id: &str,
    ) -> Result<(Rollout, Option<RollbackProgress>), Error> {
        let rollout = self.readable(actor, id).await?;
        let progress = rollout.state.rollback();
        Ok((rollout, progress))
    }

    async fn why_of(&self, rollout: &Rollout) -> Result<Why, Error> {
        let facts = self.engine().seen_facts(rollout).await?;
        let now = self.store().time().await?;
        Ok(why(&rollout.state, &facts, now))
    }

    async fn readable(&self, actor: &Actor, id: &str) -> Result<Rollout, Error> {
        let short: String = id.chars().take(100).collect();
        self.permit(actor, Permission::Read, "deployment.show", &format!("deployment/{short}")).await?;
        self.named_rollout(id).await
    }

    /// The rollout of an id, or of the beginning of one that is no other's.
    pub(super) async fn named_rollout(&self, id: &str) -> Result<Rollout, Error> {
        let missing = || unknown(id);
        let found = match id.parse::<RolloutId>() {
            Ok(id) => id,
            Err(_) => self.rollout_like(id).await?,
        };
        self.store().rollout(found).await?.ok_or_else(missing)
    }

    async fn rollout_like(&self, beginning: &str) -> Result<RolloutId, Error> {
        let digits = |c: char| c.is_ascii_hexdigit() || c == '-';
        if beginning.len() < FEWEST || beginning.len() > 36 || !beginning.chars().all(digits) {
            return Err(unknown(beginning));
        }
        match self.store().rollouts_like(&beginning.to_ascii_lowercase()).await?.as_slice() {
            [] => Err(unknown(beginning)),
            [one] => Ok(*one),
            [first, second, ..] => Err(Error::new(
                Code::NotFound,
                format!(
                    "{beginning} is the beginning of several deployments, such as {first} and {second}; give more of it"
                ),
            )),
        }
    }
}
