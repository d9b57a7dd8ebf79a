//! CRDs, read again once the controller runs: some operators install or change their own.
//!
//! What was there after ours were applied is written down by that step, so whatever differs later was done at run
//! time. What another release or tool says is its own is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::finding::Severity;
use slipway_crd_compat::options::Options;
use slipway_domain::crd::ContentHash;
use slipway_orchestrator::ports::fleet::{Definitions, Placement, Snapshot, Subject};

use super::api::{Api, Trouble};
use super::crds::{is_of, path};
use super::custom::{self, readable};
use super::definition::{PATH, release_of};
use super::fault::Fault;
use super::judgement::judge;
use super::site::Site;
use crate::releases::manager::of_value;

/// What the snapshot calls it.
const NOTE: &str = "definitions";

/// How long a look may take.
const WITHIN: Duration = Duration::from_secs(20);

/// How many objects a sentence names.
const NAMED: usize = 10;

/// A CRD as it was once ours were applied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Was {
    generation: i64,
    /// Of what it says, for those that the operator has to do with.
    hash: Option<String>,
}

type All = BTreeMap<String, Was>;

/// Writes down what is there. `own` are the CRDs that the rollout is about; others of their groups belong to them.
/// `applied` are those that were applied just now. What was written down by an earlier attempt stays for all
/// others: a controller may have run since.
pub(super) async fn note(
    api: &Api,
    snapshot: &mut Snapshot,
    own: &[String],
    applied: &[String],
) -> Result<(), Fault> {
    let listed = api.list_metadata(PATH).await?;
    let groups = groups(own);
    let mut all = All::new();
    for item in &listed {
        let Some(name) = name(item) else { continue };
        let mut was = Was { generation: generation(item), hash: None };
        if name.split_once('.').is_some_and(|(_, group)| groups.contains(group))
            && let Some(live) = api.find(&path(name)).await?
        {
            was = Was { generation: generation(&live), hash: Some(hash(&live)) };
        }
        all.insert(name.to_owned(), was);
    }
    if let Some(earlier) = noted(snapshot) {
        all.retain(|name, _| applied.contains(name));
        all.extend(earlier.into_iter().filter(|(name, _)| !applied.contains(name)));
    }
    let all = serde_json::to_value(all).map_err(|error| Fault::Hiccup(error.to_string()))?;
    snapshot.notes.insert(NOTE.to_owned(), all);
    Ok(())
}

fn noted(snapshot: &Snapshot) -> Option<All> {
    serde_json::from_value(snapshot.notes.get(NOTE)?.clone()).ok()
}

/// The groups of CRDs, by their names.
pub(super) fn groups(names: &[String]) -> BTreeSet<&str> {
    names.iter().filter_map(|name| Some(name.split_once('.')?.1)).collect()
}

fn name(item: &Value) -> Option<&str> {
    item.pointer("/metadata/name").and_then(Value::as_str)
}

fn generation(item: &Value) -> i64 {
    item.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default()
}

/// Who converts is no part of it: that changes with the colours.
fn hash(live: &Value) -> String {
    let mut bare = live.clone();
    if let Some(spec) = bare.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("conversion");
    }
    ContentHash::of(&bare).to_string()
}

/// The CRDs that came since they were written down, and those that changed.
struct Since {
    new: Vec<String>,
    changed: Vec<(String, Value)>,
}

async fn since(api: &Api, snapshot: &Snapshot, placement: &Placement) -> Result<Since, Trouble> {
    let mut since = Since { new: Vec::new(), changed: Vec::new() };
    let Some(all) = noted(snapshot) else { return Ok(since) };
    for item in api.list_metadata(PATH).await? {
        let Some(name) = name(&item) else { continue };
        let others = of_value(&item).is_some() || release_of(&item).is_some_and(|it| !is_of(placement, it));
        match all.get(name) {
            None if !others => since.new.push(name.to_owned()),
            Some(Was { generation: before, hash: Some(before_hash) }) if generation(&item) != *before => {
                if let Some(live) = api.find(&path(name)).await?
                    && hash(&live) != *before_hash
                {
                    since.changed.push((name.to_owned(), live));
                }
            }
            _ => {}
        }
    }
    Ok(since)
}

/// The CRDs that somebody made since: for whoever goes back.
pub(super) async fn newcomers(
    api: &Api,
    snapshot: &Snapshot,
    placement: &Placement,
) -> Result<Vec<String>, Trouble> {
    Ok(since(api, snapshot, placement).await?.new)
}

/// Looks, and judges what changed against the objects that are there.
pub(super) async fn look(site: &Site, subject: &Subject, snapshot: &Snapshot) -> Result<Definitions, Fault> {
    let api = Api::new(site.client.clone(), subject.cluster.as_str(), Instant::now() + WITHIN);
    let since = since(&api, snapshot, &subject.placement).await?;
    let mut found = Definitions::default();
    found.changed.extend(since.new.iter().map(|name| format!("CRD {name} was made at run time")));
    for (name, live) in since.changed {
        found.changed.push(format!("CRD {name} was changed at run time"));
        if let Some(kept) = snapshot.crds.get(&name) {
            let before = snapshot.objects.get(&name);
            found.broken.extend(broken(&api, &name, kept, &live, before).await?);
        }
    }
    Ok(found)
}

/// What a changed definition does to the objects that are there, in a sentence.
async fn broken(
    api: &Api,
    name: &str,
    kept: &Value,
    live: &Value,
    before: Option<&BTreeMap<String, String>>,
) -> Result<Option<String>, Fault> {
    let (Ok(old), Ok(new)) = (Crd::from_value(kept.clone()), Crd::from_value(live.clone())) else {
        return Ok(Some(format!("CRD {name} was changed at run time and cannot be judged")));
    };
    let (old, new) = (Arc::new(old), Arc::new(new));
    let Some(version) = readable(&new) else {
        return Ok(Some(format!("CRD {name} was changed at run time, and none of its versions is served")));
    };
    let hits = judge(api, &old, &new, &version).await?;
    for (what, hit) in [("refuses", &hits.refused), ("loses fields of", &hits.cut)] {
        if !hit.is_empty() {
            let named: Vec<String> =
                hit.iter().take(NAMED).map(|hit| format!("{} ({})", hit.object, hit.reason)).collect();
            return Ok(Some(format!(
                "CRD {name} was changed at run time and {what} {} objects that are there: {}",
                hit.len(),
                named.join(", ")
            )));
        }
    }
    // What it does not know any more is not read either, so it is told by what was there before.
    let (was, is) = (Arc::clone(&old), Arc::clone(&new));
    let now = jiff::Timestamp::now();
    let report =
        tokio::task::spawn_blocking(move || slipway_crd_compat::compare(&was, &is, &Options::at(now)));
    let report = report.await.map_err(|_| Fault::Hiccup("comparing CRDs was broken off".to_owned()))?;
    let breaks = report.findings.iter().find(|found| found.counts() && found.severity == Severity::Breaking);
    let (Some(breaks), Some(before)) = (breaks, before) else { return Ok(None) };
    let after = custom::hashes(api, &new, &version).await?;
    let cut: Vec<&str> = before
        .iter()
        .filter(|(uid, kept)| after.get(*uid).is_some_and(|found| found != *kept))
        .map(|(_, kept)| custom::name_in(kept))
        .collect();
    if cut.is_empty() {
        return Ok(None);
    }
    let named = cut.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    Ok(Some(format!(
        "CRD {name} was changed at run time ({}: {}), and {} objects are not what they were: {named}",
        breaks.path,
        breaks.message,
        cut.len()
    )))
}
