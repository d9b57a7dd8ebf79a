//! One attempt at changing a release: how it is known again, and when it is over.

use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use slipway_domain::rollout::{Found, Outcome};
use slipway_orchestrator::ports::fleet::Act;
use slipway_orchestrator::ports::probes::ReleaseAt;

use super::api::Api;
use super::fault::Fault;
use super::revisions::{self, Record};
use super::site::Site;

/// The label of a revision's record that says which attempt made it.
pub(crate) const LABEL: &str = "slipway.dev/attempt";

/// How long an API server may still accept a token that was taken back: it remembers for ten seconds whom it let
/// in.
const REMEMBERED: Duration = Duration::from_secs(12);

/// How an attempt is known again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// The value of the label: rollout, step and number.
    pub(crate) label: String,
    /// The Secret that its credential is bound to.
    pub(crate) secret: String,
    /// What is noted with the revision.
    pub(crate) description: String,
}

impl Attempt {
    pub(crate) fn of(act: &Act) -> Self {
        let (rollout, key) = (&act.subject.rollout, &act.key);
        let whole = format!("{rollout} {key}");
        let hash: String =
            Sha256::digest(whole.as_bytes()).iter().take(10).map(|byte| format!("{byte:02x}")).collect();
        Self {
            label: format!("{rollout}.{:?}.{}", key.kind, key.attempt),
            secret: format!("slipway-attempt-{hash}"),
            description: format!("slipway rollout {rollout} {key}"),
        }
    }

    /// The revision that this attempt made. helm hands labels on to later revisions, so it is the first of those
    /// that have it.
    fn record<'a>(&self, records: &'a [Record]) -> Option<&'a Record> {
        records.iter().find(|record| record.labels.get(LABEL) == Some(&self.label))
    }
}

/// What is known before anything is done.
pub(crate) enum Before {
    /// The attempt ended, and this came of it.
    Over(Outcome),
    /// It never began, or it is provably over without a result: it may be done now.
    Free,
}

/// Looks whether the attempt was made already, and makes sure that nobody is at it any more. Records of
/// revisions that were never finished are cleared away.
pub(crate) async fn look(site: &Site, api: &Api, act: &Act, release: &ReleaseAt) -> Result<Before, Fault> {
    let attempt = Attempt::of(act);
    let mut records = revisions::list(api, release).await?;
    if let Some(over) = ended(api, release, attempt.record(&records)).await? {
        site.take_back(&attempt.secret).await?;
        return Ok(Before::Over(over));
    }
    let (begun, mut waited) = (attempt.record(&records).is_some(), false);
    if act.resumed || begun {
        let there = site.take_back(&attempt.secret).await?;
        if there || begun {
            waited = outlive(site, act).await?;
            records = revisions::list(api, release).await?;
            if let Some(over) = ended(api, release, attempt.record(&records)).await? {
                return Ok(Before::Over(over));
            }
        }
    }
    if let Some(own) = attempt.record(&records) {
        revisions::forget(api, release, own).await?;
        records.retain(|record| record.labels.get(LABEL) != Some(&attempt.label));
    }
    settle(api, release, &records).await?;
    if waited || act.deadline <= act.now {
        let reason = "whoever was at it was lost, and its time is over".to_owned();
        return Ok(Before::Over(Outcome::Lost { reason }));
    }
    Ok(Before::Free)
}

/// Waits until nothing of the attempt can reach the cluster any more; whether its time is over then. Nothing may be
/// said of it before: whoever would try again under another number would not know that somebody is at it.
async fn outlive(site: &Site, act: &Act) -> Result<bool, Fault> {
    let left = Duration::try_from(act.deadline.duration_since(act.now)).unwrap_or_default();
    let taken_back = left > REMEMBERED && site.can_take_back().await?;
    tokio::time::sleep(if taken_back { REMEMBERED } else { left }).await;
    Ok(!taken_back)
}

/// What came of a revision that ended.
async fn ended(api: &Api, release: &ReleaseAt, record: Option<&Record>) -> Result<Option<Outcome>, Fault> {
    let Some(record) = record.filter(|record| !record.is_pending()) else { return Ok(None) };
    match record.status.as_str() {
        "deployed" | "superseded" => Ok(Some(Outcome::Done(Found::Released(record.revision(release))))),
        _ => {
            let stored = revisions::read(api, release, record).await?;
            let reason = stored.pointer("/info/description").and_then(Value::as_str);
            let reason = format!("helm failed: {}", reason.unwrap_or("it does not say why"));
            Ok(Some(Outcome::Failed { reason }))
        }
    }
}

/// What came of the attempt, now that helm ended well.
pub(crate) async fn made(api: &Api, act: &Act, release: &ReleaseAt) -> Result<Outcome, Fault> {
    let records = revisions::list(api, release).await?;
    let made = ended(api, release, Attempt::of(act).record(&records)).await?;
    made.ok_or_else(|| Fault::Hiccup("helm ended well, and its record is not there".to_owned()))
}

/// Lets helm go on from what is really there. It compares with the newest revision that was deployed, so what a
/// later revision made before it failed or was ended would never go away: that one becomes the one to compare
/// with.
async fn settle(api: &Api, release: &ReleaseAt, records: &[Record]) -> Result<(), Fault> {
    let Some(newest) = records.last() else { return Ok(()) };
    if newest.is_pending() && !newest.labels.contains_key(LABEL) {
        return Err(Fault::Hiccup(format!(
            "another change of the release {}/{} is under way, or was broken off, and is not ours; once nobody is \
             at it, delete the Secret {}",
            release.namespace, release.name, newest.secret
        )));
    }
    if newest.status == "pending-install" {
        // Nothing was deployed yet; installing again takes over what it made.
        return revisions::forget(api, release, newest).await;
    }
    if !newest.is_pending() && newest.status != "failed" {
        return Ok(());
    }
    let others = records.iter().filter(|record| record.status == "deployed");
    let others: Vec<&Record> = others.collect();
    if others.is_empty() && !newest.is_pending() {
        // helm compares with it by itself then.
        return Ok(());
    }
    revisions::rewrite(api, release, newest, |stored| revisions::set_status(stored, "deployed")).await?;
    for other in others {
        revisions::rewrite(api, release, other, |stored| revisions::set_status(stored, "superseded")).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u32, label: &str) -> Record {
        Record {
            number,
            status: "deployed".to_owned(),
            secret: format!("s{number}"),
            labels: [(LABEL.to_owned(), label.to_owned())].into(),
        }
    }

    #[test]
    fn a_revision_that_inherited_the_label_is_another_s() {
        let attempt = Attempt { label: "a".to_owned(), secret: String::new(), description: String::new() };
        let records = [record(1, "b"), record(2, "a"), record(3, "a")];
        assert_eq!(attempt.record(&records).map(|record| record.number), Some(2));
        assert_eq!(attempt.record(&records[..1]), None);
    }
}
