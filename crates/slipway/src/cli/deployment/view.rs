//! A deployment as it is watched: what the server says in, lines of text out. Nothing here waits or draws.

mod clusters;
mod line;
#[cfg(test)]
pub(super) mod samples;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};
use slipway_contract::approvals::ApprovalStatus;
use slipway_contract::deployments::{
    ClusterRollout, ClusterRolloutStatus as Status, DeploymentDetailReply, DeploymentReply, DeploymentStatus,
    DeploymentWave, PhaseName, WaveState,
};

use super::super::relative::until;
use clusters::{Shown, of_wave, title};
use line::{Line, bar, clock, span};

/// How a view looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// Whether glyphs and bars are wanted; a log has words.
    pub(super) glyphs: bool,
    /// How wide a line may be.
    pub(super) width: usize,
    /// Which picture of the spinner.
    pub(super) tick: usize,
    /// Whether somebody follows it, and is told how to leave.
    pub(super) followed: bool,
}

const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

impl Look {
    fn spinner(self) -> String {
        SPINNER.get(self.tick % SPINNER.len()).copied().unwrap_or(' ').to_string()
    }
}

/// As much of an id as people type.
pub(crate) fn short(id: uuid::Uuid) -> String {
    id.simple().to_string().chars().take(8).collect()
}

/// `cert-manager v1.13.2 → v1.14.0   canary over 10 clusters   deployment 7f3a91c2`
pub(crate) fn heading(deployment: &DeploymentReply) -> String {
    let from = deployment.previous_version.as_ref().filter(|version| **version != deployment.target_version);
    let from = from.map(|version| format!("{version} → ")).unwrap_or_default();
    format!(
        "{} {from}{}   {} over {}   deployment {}",
        deployment.operator_name,
        deployment.target_version,
        strategy(deployment),
        counted(deployment.target_clusters.len(), "cluster"),
        short(deployment.deployment_id)
    )
}

fn strategy(deployment: &DeploymentReply) -> &'static str {
    use slipway_contract::deployments::DeploymentStrategy as Kind;
    match deployment.strategy {
        Kind::Direct => "direct",
        Kind::Canary => "canary",
        Kind::Rolling => "rolling",
        Kind::BlueGreen => "blue-green",
    }
}

/// `1 cluster`, `2 clusters`
pub(crate) fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// The lines of a deployment.
pub(super) fn view(detail: &DeploymentDetailReply, now: Timestamp, look: Look) -> Vec<String> {
    let view = View { detail, now, look };
    let mut lines = vec![heading(&detail.deployment)];
    lines.push(view.preflight());
    lines.extend(view.approvals());
    lines.extend(detail.waves.iter().map(|wave| view.wave(wave)));
    lines.extend(view.gates());
    lines.extend(view.paused());
    lines.extend(view.rollback());
    lines.extend(view.problems());
    if detail.deployment.status.is_end() {
        lines.extend(view.end());
    } else {
        lines.extend(view.waits());
        lines.push(view.overall());
        lines.extend(view.footer());
    }
    lines.into_iter().map(|line| line::cut(&line, look.width)).collect()
}

struct View<'a> {
    detail: &'a DeploymentDetailReply,
    now: Timestamp,
    look: Look,
}

impl View<'_> {
    fn id(&self) -> String {
        short(self.detail.deployment.deployment_id)
    }

    fn clusters(&self, wanted: impl Fn(&ClusterRollout) -> bool) -> Vec<&ClusterRollout> {
        self.detail.cluster_statuses.iter().filter(|cluster| wanted(cluster)).collect()
    }

    /// What is begun, done or refused, as one sign.
    fn mark(&self, sign: Sign) -> String {
        if !self.look.glyphs {
            return String::new();
        }
        match sign {
            Sign::Going => self.look.spinner(),
            Sign::Good => "✓".to_owned(),
            Sign::Bad => "✗".to_owned(),
            Sign::None => " ".to_owned(),
        }
    }

    fn line(&self, label: &str, sign: Sign) -> Line {
        Line::new(label, &self.mark(sign))
    }

    fn preflight(&self) -> String {
        let all = self.detail.cluster_statuses.len();
        let looked = self.clusters(|one| one.preflight_at.is_some() || one.started_at.is_some()).len();
        let away = self.clusters(|one| one.status == Status::Quarantined);
        let going = self.detail.phase.name == PhaseName::Preflight;
        let sign = match (going, looked) {
            (true, _) => Sign::Going,
            (false, 0) => Sign::Bad,
            (false, _) => Sign::Good,
        };
        let mut text = if looked == all {
            counted(all, "cluster")
        } else {
            format!("{looked} of {}", counted(all, "cluster"))
        };
        if !away.is_empty() {
            text.push_str(&format!("   {} cannot be reached, quarantined", names(&away)));
        }
        self.line("preflight", sign).text(&text).end()
    }

    fn approvals(&self) -> Vec<String> {
        let open = self.detail.approvals.iter().filter(|one| one.status == ApprovalStatus::Pending);
        open.map(|approval| {
            let who = approval.waits_for.as_deref().unwrap_or("somebody");
            let text = format!("waits for {who}, expires {}", until(approval.expires_at, self.now));
            let decide = format!("decide: slipway approval approve {}", short(approval.approval_id));
            self.line("approval", Sign::Going).text(&text).right(&decide)
        })
        .collect()
    }

    fn wave(&self, wave: &DeploymentWave) -> String {
        let shown = of_wave(wave, self.detail, self.look);
        let sign = match wave.state {
            WaveState::Passed => Sign::Good,
            WaveState::Opening | WaveState::Changing | WaveState::Soaking | WaveState::Resting => Sign::Going,
            WaveState::Ended if shown.failed > 0 => Sign::Bad,
            WaveState::Ended | WaveState::Waiting => Sign::None,
        };
        let right = self.beside(wave, &shown);
        self.line(&title(wave), sign).text(&shown.text).right(&right)
    }

    /// What is said of a wave beside its clusters.
    fn beside(&self, wave: &DeploymentWave, shown: &Shown) -> String {
        match wave.state {
            WaveState::Soaking => {
                self.countdown("soak", wave).unwrap_or_else(|| "watched; a last look is missing".into())
            }
            WaveState::Resting => {
                self.countdown("rest", wave).unwrap_or_else(|| "the next one begins".into())
            }
            WaveState::Opening => "looked at once more before it is changed".to_owned(),
            WaveState::Changing if shown.total > 1 => format!("{} of {} changed", shown.done, shown.total),
            WaveState::Passed if shown.unchecked => "done, not checked".to_owned(),
            WaveState::Passed => "passed".to_owned(),
            WaveState::Waiting | WaveState::Ended | WaveState::Changing => String::new(),
        }
    }

    fn countdown(&self, word: &str, wave: &DeploymentWave) -> Option<String> {
        let until = wave.until.filter(|until| *until > self.now)?;
        let left = until.duration_since(self.now);
        let mut text = format!("{word} {} left", clock(left));
        if let Ok(whole) = wave.soak.parse::<SignedDuration>()
            && word == "soak"
            && self.look.glyphs
        {
            text.push_str(&format!("  {}", bar(part(whole - left, whole), 16)));
        }
        Some(text)
    }

    fn gates(&self) -> Vec<String> {
        let gate = |gate: &slipway_contract::deployments::DeploymentGate| {
            let sign = match (gate.passed, gate.consecutive_failures) {
                (_, 1..) => Sign::Bad,
                (true, 0) => Sign::Good,
                (false, 0) => Sign::Going,
            };
            let said = gate.message.as_deref().unwrap_or("not asked yet");
            self.line("gate", sign).text(&format!("{}: {said}", gate.name)).end()
        };
        let now = matches!(self.detail.phase.name, PhaseName::Wave);
        self.detail.gates.iter().filter(|_| now).map(gate).collect()
    }

    fn paused(&self) -> Option<String> {
        let pause = self.detail.deployment.paused.as_ref()?;
        let line = self.line("paused", Sign::None).text(&pause.reason);
        Some(line.right(&format!("go on: slipway deployment resume {}", self.id())))
    }

    fn rollback(&self) -> Option<String> {
        let status = self.detail.deployment.status;
        if !matches!(status, DeploymentStatus::RollingBack | DeploymentStatus::RolledBack) {
            return None;
        }
        let back = self.clusters(|one| one.status == Status::RolledBack).len();
        let going = self.clusters(|one| one.status == Status::RollingBack);
        let stuck = self.clusters(|one| one.status == Status::RollbackFailed).len();
        let touched = self.clusters(|one| one.started_at.is_some()).len();
        let sign = match (status, stuck) {
            (_, 1..) => Sign::Bad,
            (DeploymentStatus::RollingBack, _) => Sign::Going,
            _ => Sign::Good,
        };
        let mut text = format!("{back} of {} back", counted(touched, "cluster"));
        for cluster in going.iter().take(3) {
            text.push_str(&format!("   {} {}", cluster.cluster_name, clusters::doing(cluster)));
        }
        Some(self.line("rollback", sign).text(&text).end())
    }

    /// Each cluster that something is wrong with, and why it is taken back.
    fn problems(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(reason) = &self.detail.rollback_reason
            && !self.detail.deployment.status.is_end()
        {
            lines.push(self.line("because", Sign::None).text(reason).end());
        }
        let wrong = |one: &ClusterRollout| {
            matches!(one.status, Status::Failed | Status::RollbackFailed | Status::GivenUp)
                || one.health_check.as_ref().is_some_and(|health| health.consecutive_failures > 0)
        };
        for cluster in self.clusters(wrong).into_iter().take(8) {
            let health = cluster.health_check.as_ref();
            let said = health.and_then(|health| health.message.clone());
            let reason = cluster.error_message.clone().or(said).unwrap_or_else(|| "failed".to_owned());
            let count = health.map_or(0, |health| health.consecutive_failures);
            let often = if (1..3).contains(&count) && cluster.error_message.is_none() {
                format!(" ({count} of 3 failed checks)")
            } else {
                String::new()
            };
            let word = match cluster.status {
                Status::RollbackFailed => "stuck",
                Status::GivenUp => "given up",
                Status::Failed => "failed",
                _ => "unwell",
            };
            let text = format!("{}: {reason}{often}", cluster.cluster_name);
            lines.push(self.line(word, Sign::Bad).text(&text).end());
        }
        lines
    }

    /// What it waits for, where a person could do something about it and no other line says so.
    fn waits(&self) -> Option<String> {
        let wait = self.detail.why.waits_for.as_ref()?;
        let said = self.detail.deployment.paused.is_some()
            || self.detail.approvals.iter().any(|one| one.status == ApprovalStatus::Pending)
            || self
                .detail
                .waves
                .iter()
                .any(|wave| matches!(wave.state, WaveState::Soaking | WaveState::Resting));
        wait.unblock.as_ref().filter(|_| !said)?;
        Some(self.line("waits", Sign::None).text(&wait.what).end())
    }

    fn overall(&self) -> String {
        let deployment = &self.detail.deployment;
        let percent = deployment.progress;
        let mut text = if self.look.glyphs {
            format!("{}  {percent} %", bar(f64::from(percent) / 100.0, 24))
        } else {
            format!("{percent} %")
        };
        if let Some(at) = deployment.estimated_completion_at.filter(|at| *at > self.now) {
            text.push_str(&format!("   about {} left", span(at.duration_since(self.now))));
        }
        self.line("overall", Sign::None).text(&text).end()
    }

    fn footer(&self) -> Option<String> {
        if !self.look.followed {
            return None;
        }
        let elapsed = span(self.now.duration_since(self.detail.deployment.started_at));
        Some(format!(
            "  elapsed {elapsed}   Ctrl-C leaves it running; follow again with: slipway deployment watch {}",
            self.id()
        ))
    }

    /// How it ended, why, and what can be done next.
    fn end(&self) -> Vec<String> {
        let deployment = &self.detail.deployment;
        let ended = deployment.completed_at.unwrap_or(self.now);
        let took = span(ended.duration_since(deployment.started_at));
        let (count, version) = (deployment.successful_clusters, &deployment.target_version);
        let all = counted(self.detail.cluster_statuses.len(), "cluster");
        let (sign, text, next) = match deployment.status {
            DeploymentStatus::Completed => {
                (Sign::Good, format!("{count} of {all} on {version} after {took}"), None)
            }
            DeploymentStatus::RolledBack => (Sign::Bad, format!("after {took}"), Some("log")),
            DeploymentStatus::Cancelled => (Sign::None, format!("after {took}"), None),
            _ => (Sign::Bad, format!("{count} of {all} on {version} after {took}"), Some("retry")),
        };
        let word = match deployment.status {
            DeploymentStatus::Completed => "completed",
            DeploymentStatus::RolledBack => "rolled back",
            DeploymentStatus::Cancelled => "cancelled",
            _ => "failed",
        };
        let mut lines = vec![self.line(word, sign).text(&text).end()];
        let reason = self.detail.rollback_reason.as_ref().or(self.detail.error_message.as_ref());
        if let Some(reason) = reason.filter(|_| deployment.status != DeploymentStatus::Completed) {
            lines.push(self.line("because", Sign::None).text(reason).end());
        }
        let id = self.id();
        match next {
            Some("retry") => lines.push(format!(
                "  complete it: slipway deployment retry {id}     take it back: slipway deployment rollback {id} --reason TEXT"
            )),
            Some(_) => lines.push(format!("  what happened: slipway deployment log {id}")),
            None => {}
        }
        lines
    }
}

/// What a line says before its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Going,
    Good,
    Bad,
    None,
}

fn names(clusters: &[&ClusterRollout]) -> String {
    let shown: Vec<&str> = clusters.iter().take(3).map(|one| one.cluster_name.as_str()).collect();
    match clusters.len().saturating_sub(3) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn part(done: SignedDuration, whole: SignedDuration) -> f64 {
    let whole = whole.as_secs_f64();
    if whole <= 0.0 { 1.0 } else { (done.as_secs_f64() / whole).clamp(0.0, 1.0) }
}
