//! CRDs, returned after the controller went back: where that harms no object that is there now.
//!
//! Else the newer one stays, which is safe: the older controller worked under it while it was rolled out.
//! Where the rollback allows a down-migration, objects are stored in the older version first.

use std::sync::Arc;

use serde_json::Value;
use slipway_crd_compat::crd::Crd;
use slipway_domain::crd::ContentHash;
use slipway_domain::rollout::{Found, Outcome};
use slipway_orchestrator::ports::fleet::{Act, Acted, Placement, Snapshot};

use super::super::api::Api;
use super::super::custom::{self, readable};
use super::super::fault::Fault;
use super::super::judgement::{Hit, judge};
use super::super::site::Site;
use super::super::{migrate, reread};
use super::{established, names, path, put};

/// How many objects a sentence names.
const NAMED: usize = 10;

/// Brings the CRDs of the snapshot back where that harms nobody, and compares custom resources.
pub(crate) async fn give_back(site: &Site, act: &Act) -> Result<Acted, Fault> {
    let Some(snapshot) = &act.snapshot else {
        return Ok(Outcome::Done(Found::Noted("nothing was kept, so no CRD goes back".to_owned())).into());
    };
    let api = Api::of_act(site.client.clone(), act);
    let mut notes = Vec::new();
    for (name, kept) in &snapshot.crds {
        notes.extend(one(&api, name, kept, act).await?);
    }
    notes.extend(newcomers(&api, act, snapshot).await?);
    for (name, before) in &snapshot.objects {
        let Some(kept) = snapshot.crds.get(name) else { continue };
        let kept = definition(name, kept.clone())?;
        notes.extend(compared(&api, name, &kept, before).await?);
    }
    let found = if notes.is_empty() { Found::Nothing } else { Found::Noted(notes.join("; ")) };
    Ok(Outcome::Done(found).into())
}

fn definition(name: &str, value: Value) -> Result<Arc<Crd>, Fault> {
    let read = Crd::from_value(value);
    read.map(Arc::new).map_err(|error| Fault::Failed(format!("CRD {name} cannot be read: {error}")))
}

/// Brings one CRD back, or says why it stays.
async fn one(api: &Api, name: &str, kept: &Value, act: &Act) -> Result<Option<String>, Fault> {
    let placement = &act.subject.placement;
    let live = api.find(&path(name)).await?;
    let Some(live) = live else {
        put(api, kept, placement).await?;
        established(api, name).await?;
        return Ok(Some(format!("CRD {name} was gone and was made again, without objects")));
    };
    if ContentHash::of(&live) == ContentHash::of(kept) {
        return Ok(None);
    }
    let (kept_crd, live_crd) = (definition(name, kept.clone())?, definition(name, live.clone())?);
    let stays = |why: String| Ok(Some(format!("CRD {name} stays as it is: {why}")));
    if kept_crd.scope() != live_crd.scope() || kept_crd.kind() != live_crd.kind() {
        return stays("its scope or its kind is another".to_owned());
    }
    // As the older definition would store them, where that can be read.
    let older = kept_crd.storage_version().map(|version| version.name().to_owned());
    let served = |name: &String| live_crd.version(name).is_some_and(|version| version.served());
    let Some(version) = older.clone().filter(served).or_else(|| readable(&live_crd)) else {
        return stays("none of its versions is served".to_owned());
    };
    let hits = judge(api, &live_crd, &kept_crd, &version).await?;
    let strange: Vec<&str> =
        live_crd.stored_versions().into_iter().filter(|name| kept_crd.version(name).is_none()).collect();
    if hits.is_none() && strange.is_empty() {
        return match put(api, kept, placement).await {
            Ok(_) => {
                established(api, name).await?;
                Ok(None)
            }
            // Such as an operator that installs its own, and does so again now that it is the older one.
            Err(Fault::Failed(why)) => stays(why),
            Err(fault) => Err(fault),
        };
    }
    if !hits.refused.is_empty() {
        return stays(format!("the older one would refuse {}", some(&hits.refused)));
    }
    if !hits.unknown.is_empty() {
        return stays(format!("nobody can tell whether the older one takes {}", some(&hits.unknown)));
    }
    if !act.down_migrate {
        let cut = (!hits.cut.is_empty()).then(|| format!("fields would be lost of {}", some(&hits.cut)));
        let stored = (!strange.is_empty()).then(|| {
            format!("objects are stored as {}, which the older one does not have", strange.join(", "))
        });
        let why: Vec<String> = cut.into_iter().chain(stored).collect();
        return stays(format!("{}; a rollback with down-migration rewrites them", why.join(", and ")));
    }
    let Some(older) = older.filter(served) else {
        return stays("the version that the older one stores is not served any more".to_owned());
    };
    down(api, name, &live, &older, placement).await?;
    put(api, kept, placement).await?;
    established(api, name).await?;
    let lost = if hits.cut.is_empty() {
        String::new()
    } else {
        format!(", and fields that it does not know were lost of {}", some(&hits.cut))
    };
    Ok(Some(format!("CRD {name} went back after its objects were stored as {older} again{lost}")))
}

/// Stores all objects in an older version, and makes the CRD forget the newer ones.
async fn down(api: &Api, name: &str, live: &Value, older: &str, placement: &Placement) -> Result<(), Fault> {
    let mut between = live.clone();
    let versions = between.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        version["storage"] = (version["name"] == older).into();
    }
    put(api, &between, placement).await?;
    established(api, name).await?;
    migrate::migrate(api, name, None).await?;
    Ok(())
}

/// The CRDs that came with the version and stay, since deleting them deletes objects.
async fn newcomers(api: &Api, act: &Act, snapshot: &Snapshot) -> Result<Option<String>, Fault> {
    let mut there = reread::newcomers(api, snapshot, &act.subject.placement).await?;
    for name in names(act) {
        if !there.contains(&name)
            && !snapshot.crds.contains_key(&name)
            && api.find(&path(&name)).await?.is_some()
        {
            there.push(name);
        }
    }
    Ok((!there.is_empty()).then(|| format!("CRDs that were not there before stay: {}", there.join(", "))))
}

/// What became of the custom resources since the snapshot.
async fn compared(
    api: &Api,
    name: &str,
    kept: &Crd,
    before: &std::collections::BTreeMap<String, String>,
) -> Result<Option<String>, Fault> {
    let Some(live) = api.find(&path(name)).await? else {
        return Ok(Some(format!("all {} objects of {name} are gone with their CRD", before.len())));
    };
    let live = definition(name, live)?;
    // At the version of the snapshot: at another one the same object says something else.
    let same = readable(kept).filter(|version| live.version(version).is_some_and(|found| found.served()));
    let Some(version) = same.or_else(|| readable(&live)) else { return Ok(None) };
    let now = custom::hashes(api, &live, &version).await?;
    let mut gone = Vec::new();
    let mut changed = Vec::new();
    for (uid, kept) in before {
        match now.get(uid) {
            None => gone.push(custom::name_in(kept)),
            Some(found) if found != kept => changed.push(custom::name_in(kept)),
            Some(_) => {}
        }
    }
    let said = |what: &str, names: &[&str]| (!names.is_empty()).then(|| format!("{what}: {}", listed(names)));
    let parts: Vec<String> = said("gone since the snapshot", &gone)
        .into_iter()
        .chain(said("with another spec than in the snapshot", &changed))
        .collect();
    Ok((!parts.is_empty()).then(|| parts.join("; ")))
}

fn some(hits: &[Hit]) -> String {
    let named: Vec<String> = hits.iter().map(|hit| format!("{} ({})", hit.object, hit.reason)).collect();
    listed(&named.iter().map(String::as_str).collect::<Vec<_>>())
}

fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
