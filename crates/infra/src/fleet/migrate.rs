//! Rewriting stored objects to the version that their CRD stores now, so that older ones can be given up.
//!
//! An object is written as it is: the API server stores it anew, in its storage version. Whoever writes it
//! meanwhile does the same, so a conflict is as good. It may be begun again at any time: what was written since
//! the first beginning is passed over.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use slipway_crd_compat::crd::Crd;
use slipway_domain::rollout::{Found, Outcome};
use slipway_orchestrator::ports::fleet::{Act, Acted};

use super::api::{Api, Trouble};
use super::crds::{names, path};
use super::custom::{Pages, name_of, readable, text};
use super::definition::MANAGER;
use super::fault::Fault;
use super::kinds::Kind;
use super::site::Site;

/// So many objects are written at once.
const AT_ONCE: usize = 8;

/// How many objects that cannot be written are named.
const NAMED: usize = 5;

/// How often the list of stored versions is written anew because somebody else wrote the CRD.
const TRIES: usize = 5;

/// How long the API server is waited for until it says which version it stores.
const SERVED: Duration = Duration::from_secs(20);

/// What the snapshot's notes call where the rewriting began.
const NOTE: &str = "migrate";

/// Where the rewriting of a CRD's objects began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Begun {
    storage: String,
    /// What has a newer resource version was written in the storage version.
    since: u64,
}

/// Rewrites stored objects to the new storage version.
pub(super) async fn forward(site: &Site, act: &Act) -> Result<Acted, Fault> {
    let api = Api::of_act(site.client.clone(), act);
    let note = act.snapshot.as_ref().and_then(|snapshot| snapshot.notes.get(NOTE)).cloned();
    let mut begun: BTreeMap<String, Begun> =
        note.and_then(|note| serde_json::from_value(note).ok()).unwrap_or_default();
    let result = all(&api, act, &mut begun).await;
    let outcome = match result {
        Ok(0) => Outcome::Done(Found::Nothing),
        Ok(written) => Outcome::Done(Found::Noted(format!("stored objects that were rewritten: {written}"))),
        Err(fault) => fault.outcome(),
    };
    let mut snapshot = act.snapshot.clone();
    if let Some(snapshot) = &mut snapshot
        && let Ok(note) = serde_json::to_value(&begun)
    {
        snapshot.notes.insert(NOTE.to_owned(), note);
    }
    Ok(Acted { outcome, snapshot, preflight: None })
}

async fn all(api: &Api, act: &Act, begun: &mut BTreeMap<String, Begun>) -> Result<usize, Fault> {
    let mut written = 0;
    for name in names(act) {
        let mut mark = begun.remove(&name);
        let result = migrate(api, &name, Some(&mut mark)).await;
        if let Some(mark) = mark {
            begun.insert(name, mark);
        }
        written += result?;
    }
    Ok(written)
}

/// Rewrites the objects of one CRD and makes it forget other versions; how many were written. A CRD that is not
/// there, or that stores one version only, has nothing to be rewritten.
pub(super) async fn migrate(api: &Api, name: &str, mark: Option<&mut Option<Begun>>) -> Result<usize, Fault> {
    let doing = format!("rewriting the objects of {name}");
    let failed = |trouble: Trouble| Fault::from(trouble).while_(&doing);
    let Some(live) = api.find(&path(name)).await.map_err(failed)? else { return Ok(0) };
    let crd = Crd::from_value(live.clone())
        .map_err(|error| Fault::Failed(format!("CRD {name} cannot be read: {error}")))?;
    let (Some(storage), Some(version)) = (crd.storage_version(), readable(&crd)) else { return Ok(0) };
    let storage = storage.name().to_owned();
    if crd.stored_versions() == [storage.as_str()] {
        return Ok(0);
    }
    let kind = Kind::of_crd(&crd, &version);
    let before = mark.as_deref().cloned().flatten().filter(|begun| begun.storage == storage);
    let begun = if let Some(begun) = before {
        begun
    } else {
        stored_as(api, &crd, &storage).await.map_err(failed)?;
        let list = api.get(&format!("{}?limit=1", kind.collection(None))).await.map_err(failed)?;
        Begun { storage: storage.clone(), since: resource_version(&list).unwrap_or(u64::MAX) }
    };
    if let Some(mark) = mark {
        *mark = Some(begun.clone());
    }
    let (written, seen) =
        rewrite(api, &crd, &kind, begun.since).await.map_err(|fault| fault.while_(&doing))?;
    verified(api, &kind, begun.since, &seen).await.map_err(|fault| fault.while_(&doing))?;
    forget(api, name, &live, &storage).await?;
    Ok(written)
}

fn resource_version(object: &Value) -> Option<u64> {
    text(object, "resourceVersion")?.parse().ok()
}

/// Waits until the API server says that it stores this version: it takes up another CRD a moment after it
/// accepted it, and would go on storing the other version meanwhile.
async fn stored_as(api: &Api, crd: &Crd, storage: &str) -> Result<(), Trouble> {
    let group = crd.group();
    let digest = Sha256::digest(format!("{group}/{storage}/{}", crd.kind()).as_bytes());
    let expected = STANDARD.encode(digest.get(..8).unwrap_or_default());
    let until = tokio::time::Instant::now() + SERVED;
    loop {
        let list = api.find(&format!("/apis/{group}/{storage}")).await?.unwrap_or_default();
        let resources = list.get("resources").and_then(Value::as_array);
        let said = resources
            .into_iter()
            .flatten()
            .find(|resource| resource["name"] == crd.plural())
            .and_then(|resource| resource.get("storageVersionHash")?.as_str());
        // A version that is stored and not served is in no list.
        let told = crd.version(storage).is_some_and(|version| version.served());
        if said == Some(&expected) || !told || tokio::time::Instant::now() >= until {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Writes every object that was not written since; how many, and the uids of all that were looked at.
async fn rewrite(api: &Api, crd: &Crd, kind: &Kind, since: u64) -> Result<(usize, BTreeSet<String>), Fault> {
    let mut written = 0;
    let mut seen = BTreeSet::new();
    let mut failures: Vec<String> = Vec::new();
    let mut pages = Pages::of(api, kind);
    while let Some(items) = pages.next().await? {
        seen.extend(items.iter().filter_map(|item| text(item, "uid").map(str::to_owned)));
        let old = items.iter().filter(|item| resource_version(item).is_none_or(|version| version <= since));
        let writes: Vec<_> = old.map(|item| write(api, kind, item)).collect();
        let mut results = futures::stream::iter(writes).buffer_unordered(AT_ONCE);
        while let Some((item, result)) = results.next().await {
            match result {
                Ok(_) => written += 1,
                // Another wrote it, which stores it anew as well, or it is gone.
                Err(trouble) if matches!(trouble.code(), Some(404 | 409)) => {}
                Err(Trouble::Refused(status)) if matches!(status.code, 400 | 403 | 422) => {
                    failures.push(format!("{} ({})", name_of(crd, item), status.message));
                }
                Err(trouble) => return Err(trouble.into()),
            }
        }
    }
    if failures.is_empty() {
        return Ok((written, seen));
    }
    let more = failures.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    failures.truncate(NAMED);
    Err(Fault::Failed(format!("these cannot be written: {}{more}", failures.join(", "))))
}

async fn write<'a>(api: &Api, kind: &Kind, item: &'a Value) -> (&'a Value, Result<Value, Trouble>) {
    let path = kind.path(text(item, "namespace"), text(item, "name").unwrap_or_default());
    (item, api.put(&format!("{path}?fieldManager={MANAGER}"), item).await)
}

/// Sees that nothing was left out: whatever is there was looked at, or was written since.
async fn verified(api: &Api, kind: &Kind, since: u64, seen: &BTreeSet<String>) -> Result<(), Fault> {
    let mut missed = 0;
    let mut pages = Pages::of(api, kind);
    while let Some(items) = pages.next().await? {
        let is_missed = |item: &&Value| {
            text(item, "uid").is_none_or(|uid| !seen.contains(uid))
                && resource_version(item).is_none_or(|version| version <= since)
        };
        missed += items.iter().filter(is_missed).count();
    }
    if missed > 0 {
        return Err(Fault::Hiccup(format!("{missed} objects were left out")));
    }
    Ok(())
}

/// Takes all but the storage version out of `status.storedVersions`.
async fn forget(api: &Api, name: &str, before: &Value, storage: &str) -> Result<(), Fault> {
    let doing = format!("taking older versions out of the status of CRD {name}");
    let failed = |trouble: Trouble| Fault::from(trouble).while_(&doing);
    let status = format!("{}/status?fieldManager={MANAGER}", path(name));
    for _ in 0..TRIES {
        let live = api.get(&path(name)).await.map_err(failed)?;
        if live.pointer("/metadata/generation") != before.pointer("/metadata/generation") {
            return Err(Fault::Hiccup(format!("CRD {name} was changed while its objects were rewritten")));
        }
        let version = text(&live, "resourceVersion").unwrap_or_default();
        let patch =
            json!({"metadata": {"resourceVersion": version}, "status": {"storedVersions": [storage]}});
        match api.merge(&status, &patch).await {
            Ok(_) => return Ok(()),
            Err(trouble) if trouble.code() == Some(409) => {}
            Err(trouble) => return Err(failed(trouble)),
        }
    }
    Err(Fault::Hiccup(format!("{doing}: others keep writing it")))
}
