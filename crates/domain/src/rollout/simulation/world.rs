//! A simulated cluster: what it runs, how it answers, when it is away.

use jiff::{SignedDuration, Timestamp};

use super::super::{ActKey, Before, Found, Observation, Outcome, Revision, Seen, StepKind};
use super::Chance;

/// A simulated cluster.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a simulation, each independent of the others")]
pub(in crate::rollout) struct Sim {
    /// What is installed: the version, and the number of the revision.
    pub(super) live: Option<(&'static str, u32)>,
    /// What it was before.
    pub(super) kept: Option<(&'static str, u32)>,
    /// The new version goes beside the old one.
    pub(in crate::rollout) beside: bool,
    /// The second installation of a blue-green switch.
    pub(super) green: bool,
    pub(super) switched: bool,
    pub(super) revisions: u32,
    pub(super) ready: Timestamp,
    /// When it cannot be reached.
    pub(in crate::rollout) away: Vec<(Timestamp, Timestamp)>,
    /// The new version is unhealthy here.
    pub(in crate::rollout) bad: bool,
    /// The new version turns unhealthy here at some time.
    pub(in crate::rollout) bad_from: Option<Timestamp>,
    /// helm says no.
    pub(in crate::rollout) helm_fails: bool,
    /// Preflight says no.
    pub(in crate::rollout) refuses: Option<&'static str>,
    /// Going back fails so many times.
    pub(in crate::rollout) restore_fails: u32,
    /// What would change here.
    pub(in crate::rollout) digest: &'static str,
    /// The new version cannot be left again.
    pub(in crate::rollout) one_way: bool,
}

impl Default for Sim {
    fn default() -> Self {
        Self {
            live: Some(("1.0.0", 1)),
            kept: None,
            beside: false,
            green: false,
            switched: false,
            revisions: 1,
            ready: Timestamp::MIN,
            away: Vec::new(),
            bad: false,
            bad_from: None,
            helm_fails: false,
            refuses: None,
            restore_fails: 0,
            digest: "change",
            one_way: false,
        }
    }
}

fn named(number: u32) -> Revision {
    Revision(format!("cert-manager.v{number}"))
}

fn green() -> Revision {
    Revision("cert-manager-green.v1".to_owned())
}

impl Sim {
    /// Nothing is installed yet.
    pub(in crate::rollout) fn empty() -> Self {
        Self { live: None, revisions: 0, ..Self::default() }
    }

    /// What does the work.
    pub(in crate::rollout) fn version(&self) -> Option<&'static str> {
        if self.switched { Some("2.0.0") } else { self.live.map(|(version, _)| version) }
    }

    pub(in crate::rollout) fn has_green(&self) -> bool {
        self.green
    }

    pub(in crate::rollout) fn is_away(&self, now: Timestamp) -> bool {
        self.away.iter().any(|(from, to)| (*from..*to).contains(&now))
    }

    pub(super) fn takes(kind: StepKind, slow: bool, chance: &mut Chance) -> SignedDuration {
        let seconds = match kind {
            StepKind::Release | StepKind::Restore => 5 + chance.up_to(20),
            _ => 1 + chance.up_to(3),
        };
        SignedDuration::from_secs(i64::try_from(if slow { seconds * 10 } else { seconds }).unwrap())
    }

    /// Does it, and says what came of it. The same act twice equals once.
    pub(super) fn act(&mut self, key: &ActKey, now: Timestamp, hiccup: bool, chance: &mut Chance) -> Outcome {
        if self.is_away(now) {
            // The answer may be lost after it was done.
            if chance.per_mille(300) {
                self.does(key.kind, now);
            }
            return Outcome::Unreachable { reason: "no route to host".to_owned() };
        }
        if hiccup {
            if chance.per_mille(300) {
                self.does(key.kind, now);
            }
            return Outcome::Hiccup { reason: "the API server was busy".to_owned() };
        }
        match key.kind {
            StepKind::Preflight if self.refuses.is_some() => {
                let reasons = self.refuses.iter().map(|reason| (*reason).to_owned()).collect();
                Outcome::Done(Found::Refused { reasons })
            }
            StepKind::Release if self.helm_fails => {
                Outcome::Failed { reason: "helm: UPGRADE FAILED".to_owned() }
            }
            StepKind::Restore | StepKind::SwitchBack if self.restore_fails > 0 => {
                self.restore_fails -= 1;
                Outcome::Failed { reason: "helm: UPGRADE FAILED".to_owned() }
            }
            kind => Outcome::Done(self.does(kind, now)),
        }
    }

    fn does(&mut self, kind: StepKind, now: Timestamp) -> Found {
        match kind {
            StepKind::Preflight => Found::Fits {
                digest: self.digest.to_owned(),
                one_way: self.one_way.then(|| "2.0.0".parse().unwrap()),
            },
            StepKind::Snapshot => {
                self.kept = self.live;
                Found::Kept(Before {
                    version: self.live.map(|(version, _)| version.parse().unwrap()),
                    revision: self.live.map(|(_, number)| named(number)),
                })
            }
            StepKind::Release if self.beside => {
                self.green = true;
                self.ready = now + SignedDuration::from_secs(10);
                Found::Released(green())
            }
            StepKind::Release => {
                self.revisions += 1;
                self.live = Some(("2.0.0", self.revisions));
                self.ready = now + SignedDuration::from_secs(10);
                Found::Released(named(self.revisions))
            }
            StepKind::Switch => {
                self.switched = true;
                Found::Nothing
            }
            StepKind::SwitchBack => {
                self.switched = false;
                Found::Nothing
            }
            StepKind::RetireBlue => {
                self.live = None;
                Found::Nothing
            }
            StepKind::RemoveGreen => {
                self.green = false;
                Found::Nothing
            }
            StepKind::Restore => {
                self.revisions += 1;
                self.switched = false;
                self.ready = now + SignedDuration::from_secs(10);
                self.live = self.kept.map(|(version, _)| (version, self.revisions));
                self.live.map_or(Found::Nothing, |(_, number)| Found::Released(named(number)))
            }
            _ => Found::Nothing,
        }
    }

    pub(super) fn look(&self, now: Timestamp, asked: Option<&Revision>, flaps: bool) -> Observation {
        let is_green = asked == Some(&green());
        let new = is_green || self.version() == Some("2.0.0");
        let bad = new && (self.bad || self.bad_from.is_some_and(|from| now >= from));
        let health = match () {
            () if self.is_away(now) => Seen::Unreachable,
            () if now < self.ready => Seen::Undecided,
            () if bad || flaps => Seen::Failed,
            () => Seen::Passed,
        };
        let text = match health {
            Seen::Failed => "webhook \"validate.cert-manager.io\" refuses connections",
            Seen::Unreachable => "no route to host",
            Seen::Undecided => "1 of 1 pods is starting",
            Seen::Passed => "all is well",
        };
        let revision = if is_green { Some(green()) } else { self.live.map(|(_, number)| named(number)) };
        Observation { at: now, revision, health, text: text.to_owned() }
    }
}
