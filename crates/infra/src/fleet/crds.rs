//! CRDs, applied before the controller comes.
//!
//! By server-side apply and in Slipway's name, never by force over what another manager holds. What helm holds
//! of a CRD of this very release is taken over whole, so that what the new definition leaves out goes.

mod back;

use std::time::Duration;

use serde_json::{Value, json};
use slipway_domain::rollout::{Found, Outcome};
use slipway_orchestrator::ports::fleet::{Act, Acted, Placement};

use super::api::{Api, Apply, Trouble};
use super::custom::text;
use super::definition::{MANAGER, PATH, conflicting, release_of, taken_over, to_apply};
use super::fault::Fault;
use super::site::Site;
use super::{conversion, render, reread};

pub(super) use back::give_back;

/// How often a CRD is looked at until it is established.
const PAUSE: Duration = Duration::from_millis(200);

/// How often an apply is tried anew because somebody else wrote meanwhile.
const TRIES: usize = 5;

/// Applies the CRDs of the version that is rolled out.
pub(super) async fn apply(site: &Site, act: &Act) -> Result<Acted, Fault> {
    let api = Api::of_act(site.client.clone(), act);
    let rendered = render::render(site, &act.subject).await?;
    if act.digest.as_ref().is_some_and(|digest| *digest != rendered.digest) {
        return Err(Fault::Failed(
            "what would be applied is not what was judged: the cluster or the chart's answers changed since; \
             start it anew"
                .to_owned(),
        ));
    }
    for crd in &rendered.crds {
        let placement = &act.subject.placement;
        match (&placement.beside, api.find(&path(name(&crd.value))).await?) {
            // The second colour is not there yet: the first goes on converting.
            (Some(beside), Some(live)) => {
                put(&api, &conversion::held_back(&crd.value, &live, &beside.release), placement).await?;
            }
            _ => {
                put(&api, &crd.value, placement).await?;
            }
        }
    }
    for crd in &rendered.crds {
        established(&api, name(&crd.value)).await?;
    }
    let mut acted = Acted::from(Outcome::Done(Found::Nothing));
    if let Some(mut snapshot) = act.snapshot.clone() {
        let applied: Vec<String> = rendered.crds.iter().map(|crd| name(&crd.value).to_owned()).collect();
        let own = [names(act), applied.clone()].concat();
        reread::note(&api, &mut snapshot, &own, &applied).await?;
        acted.snapshot = Some(snapshot);
    }
    Ok(acted)
}

/// The name of a CRD.
pub(super) fn name(crd: &Value) -> &str {
    text(crd, "name").unwrap_or_default()
}

/// Where a CRD is.
pub(super) fn path(name: &str) -> String {
    format!("{PATH}/{name}")
}

/// Whether a release is one of those that a rollout is about.
pub(super) fn is_of(placement: &Placement, (namespace, name): (&str, &str)) -> bool {
    let beside = placement.beside.as_ref().map(|beside| &beside.release);
    [Some(&placement.release), beside]
        .into_iter()
        .flatten()
        .any(|release| release.namespace == namespace && release.name == name)
}

/// Applies one definition.
pub(super) async fn put(api: &Api, definition: &Value, placement: &Placement) -> Result<Value, Fault> {
    let name = name(definition);
    let path = path(name);
    let doing = format!("applying CRD {name}");
    let how = Apply { manager: MANAGER, force: false, dry_run: false };
    for _ in 0..TRIES {
        let live = api.find(&path).await.map_err(|trouble| Fault::from(trouble).while_(&doing))?;
        if let Some(live) = &live {
            refuse_others(name, live, placement)?;
            if let Some(fields) = taken_over(live) {
                match take_over(api, &path, live, &fields).await {
                    Ok(_) => {}
                    // Somebody wrote meanwhile: look again.
                    Err(trouble) if matches!(trouble.code(), Some(404 | 409)) => continue,
                    Err(trouble) => return Err(Fault::from(trouble).while_(&doing)),
                }
            }
        }
        let body = to_apply(definition, live.as_ref());
        match api.apply(&path, &body, how).await {
            Ok(applied) => return Ok(applied),
            Err(Trouble::Refused(status)) if status.code == 409 => {
                let managers = conflicting(&status);
                if managers.is_empty() {
                    continue;
                }
                return Err(Fault::Failed(format!("{doing}: {}", held(&managers))));
            }
            Err(trouble) => return Err(Fault::from(trouble).while_(&doing)),
        }
    }
    Err(Fault::Hiccup(format!("{doing}: others keep writing it")))
}

/// What to say of a CRD that others hold.
pub(super) fn held(managers: &[String]) -> String {
    format!(
        "{} holds fields that would change, and nothing is taken from it by force; let it apply the new \
         definition, or have it give the CRD up",
        managers.join(", ")
    )
}

/// A CRD that another release has, or that goes away, is not touched.
fn refuse_others(name: &str, live: &Value, placement: &Placement) -> Result<(), Fault> {
    if let Some(release) = release_of(live)
        && !is_of(placement, release)
    {
        let (namespace, release) = release;
        return Err(Fault::Failed(format!("CRD {name} belongs to the release {release} in {namespace}")));
    }
    if text(live, "deletionTimestamp").is_some() {
        return Err(Fault::Hiccup(format!("CRD {name} is being deleted")));
    }
    Ok(())
}

async fn take_over(api: &Api, path: &str, live: &Value, fields: &Value) -> Result<Value, Trouble> {
    let version = text(live, "resourceVersion").unwrap_or_default();
    let patch = json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": fields},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
    ]);
    api.json_patch(&format!("{path}?fieldManager={MANAGER}"), &patch).await
}

/// Waits until the API server serves a CRD.
pub(super) async fn established(api: &Api, name: &str) -> Result<Value, Fault> {
    loop {
        let crd = api.get(&path(name)).await.map_err(|trouble| {
            let fault = if matches!(trouble, Trouble::Late) {
                Fault::Failed("the API server did not serve it in time".to_owned())
            } else {
                trouble.into()
            };
            fault.while_(&format!("waiting for CRD {name}"))
        })?;
        let conditions = crd.pointer("/status/conditions").and_then(Value::as_array);
        let condition = |kind: &str| {
            conditions.into_iter().flatten().find(|condition| condition["type"] == kind).cloned()
        };
        if let Some(refused) = condition("NamesAccepted").filter(|accepted| accepted["status"] == "False") {
            let why = refused.get("message").and_then(Value::as_str).unwrap_or("its names are taken");
            return Err(Fault::Failed(format!("CRD {name} is not served: {why}")));
        }
        if condition("Established").is_some_and(|established| established["status"] == "True") {
            return Ok(crd);
        }
        tokio::time::sleep(PAUSE.min(api.left())).await;
    }
}

/// The names of all CRDs that a rollout is about: those of the operator and those that were kept.
pub(super) fn names(act: &Act) -> Vec<String> {
    let kept = act.snapshot.iter().flat_map(|snapshot| snapshot.crds.keys());
    let mut names: Vec<String> = act.subject.crds.iter().chain(kept).cloned().collect();
    names.sort();
    names.dedup();
    names
}
