//! A simulated cluster: what it runs, how it answers, when it is away.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use slipway_domain::rollout::{ActKey, Before, Found, Observation, Outcome, Revision, Seen, StepKind};

use super::site::start;

/// The version that is rolled out.
pub(super) const NEW: &str = "2.0.0";

/// A token is good for so long after it was revoked.
pub(super) const REVOKED: SignedDuration = SignedDuration::from_secs(10);

/// A helm that runs, under its guardian and beside its server.
#[derive(Debug, Clone)]
pub(super) struct Helm {
    pub(super) key: ActKey,
    pub(super) run: u64,
    pub(super) epoch: i64,
    /// It is ended before it is through: by its deadline, or by whoever kills processes.
    pub(super) early: Option<Outcome>,
}

/// A simulated cluster.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fault of its own, and any of them may be there")]
pub(super) struct Cluster {
    /// What is installed: the version, and the number of the revision.
    pub(super) live: Option<(String, u32)>,
    /// The new version goes beside the old one.
    pub(super) beside: bool,
    /// The second installation of a blue-green switch.
    pub(super) green: bool,
    pub(super) switched: bool,
    pub(super) revisions: u32,
    pub(super) ready: Timestamp,
    /// When it cannot be reached.
    pub(super) away: Vec<(Timestamp, Timestamp)>,
    /// The new version is unhealthy here from then on.
    pub(super) bad_from: Option<Timestamp>,
    /// helm says no.
    pub(super) helm_fails: bool,
    /// Preflight says no.
    pub(super) refuses: bool,
    /// Going back fails so many times.
    pub(super) restore_fails: u32,
    /// The new version cannot be left again.
    pub(super) one_way: bool,
    /// Whether tokens can be revoked here; otherwise an attempt is over with its deadline.
    pub(super) revokes: bool,
    /// The newest claim that came here to change something; what comes with an older one is refused.
    pub(super) fence: i64,
    pub(super) fenced_at: Timestamp,
    /// What came of each attempt that ended here.
    pub(super) stamps: BTreeMap<ActKey, Outcome>,
    /// The attempt that a release was left half-made by.
    pub(super) pending: Option<ActKey>,
    pub(super) helm: Option<Helm>,
    /// What helm said, by run.
    pub(super) ended: BTreeMap<u64, Outcome>,
    /// Who is at it now: run, step and epoch.
    pub(super) acting: BTreeMap<u64, (ActKey, i64)>,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            live: Some(("1.0.0".to_owned(), 1)),
            beside: false,
            green: false,
            switched: false,
            revisions: 1,
            ready: start(),
            away: Vec::new(),
            bad_from: None,
            helm_fails: false,
            refuses: false,
            restore_fails: 0,
            one_way: false,
            revokes: true,
            fence: 0,
            fenced_at: start(),
            stamps: BTreeMap::new(),
            pending: None,
            helm: None,
            ended: BTreeMap::new(),
            acting: BTreeMap::new(),
        }
    }
}

fn named(number: u32) -> Revision {
    Revision(format!("cert-manager.v{number}"))
}

fn green() -> Revision {
    Revision("cert-manager-green.v1".to_owned())
}

impl Cluster {
    /// What does the work.
    pub(super) fn version(&self) -> Option<&str> {
        if self.switched { Some(NEW) } else { self.live.as_ref().map(|(version, _)| version.as_str()) }
    }

    pub(super) fn is_away(&self, now: Timestamp) -> bool {
        self.away.iter().any(|(from, to)| (*from..*to).contains(&now))
    }

    /// Whether helm's token of an epoch still counts.
    pub(super) fn trusts(&self, epoch: i64, now: Timestamp) -> bool {
        epoch >= self.fence || now < self.fenced_at + REVOKED
    }

    /// What the snapshot step finds.
    pub(super) fn before(&self) -> Before {
        Before {
            version: self.live.as_ref().map(|(version, _)| version.parse().unwrap()),
            revision: self.live.as_ref().map(|(_, number)| named(*number)),
        }
    }

    /// Changes the cluster. What was kept of it is what a restore brings back.
    pub(super) fn does(&mut self, kind: StepKind, now: Timestamp, kept: Option<&[u8]>) -> Found {
        let soon = now + SignedDuration::from_secs(10);
        match kind {
            StepKind::Release if self.beside => {
                self.green = true;
                self.ready = soon;
                Found::Released(green())
            }
            StepKind::Release => {
                self.revisions += 1;
                self.live = Some((NEW.to_owned(), self.revisions));
                self.ready = soon;
                Found::Released(named(self.revisions))
            }
            StepKind::Switch | StepKind::SwitchBack => {
                self.switched = kind == StepKind::Switch;
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
                self.ready = soon;
                let kept = kept.expect("a restore of what nobody kept");
                let version = String::from_utf8(kept.to_vec()).unwrap();
                self.live = Some((version, self.revisions)).filter(|(version, _)| !version.is_empty());
                self.live.as_ref().map_or(Found::Nothing, |(_, number)| Found::Released(named(*number)))
            }
            _ => Found::Nothing,
        }
    }

    pub(super) fn look(
        &self,
        at: Timestamp,
        now: Timestamp,
        asked: Option<&Revision>,
        flaps: bool,
    ) -> Observation {
        let is_green = asked == Some(&green());
        let new = is_green || self.version() == Some(NEW);
        let bad = new && self.bad_from.is_some_and(|from| now >= from);
        let (health, text) = match () {
            () if self.is_away(now) => (Seen::Unreachable, "no route to host"),
            () if now < self.ready || self.pending.is_some() => (Seen::Undecided, "1 of 1 pods is starting"),
            () if bad || flaps => (Seen::Failed, "the webhook refuses connections"),
            () => (Seen::Passed, "all is well"),
        };
        let revision =
            if is_green { Some(green()) } else { self.live.as_ref().map(|(_, number)| named(*number)) };
        Observation { at, revision, health, text: text.to_owned() }
    }
}
