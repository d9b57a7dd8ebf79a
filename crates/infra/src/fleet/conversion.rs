//! Who converts the objects of a CRD while two colours stand beside each other.
//!
//! The new definition comes before the second colour does, and is converted by the first until the switch. What
//! the second one wants is noted on the CRD, so that the switch needs nothing but the cluster; and so is what the
//! first one had, for the way back.

use serde_json::{Value, json};
use slipway_orchestrator::ports::probes::ReleaseAt;

use super::api::Api;
use super::definition::{MANAGER, PATH, is_real};
use super::fault::Fault;
use super::object::annotation;

/// The conversion that a release wants once it takes over: `{"release": "sea/fleet", "conversion": {…}}`.
const NOTED: &str = "slipway.dev/conversion";

/// How often a CRD is tried to be written that others write meanwhile.
const TRIES: usize = 5;

const CONVERSION: &str = "/spec/conversion";
const BUNDLE: &str = "/webhook/clientConfig/caBundle";

fn named(release: &ReleaseAt) -> String {
    format!("{}/{}", release.namespace, release.name)
}

/// A definition that is converted as it is now, with a note of what it is to become. As it is where nobody
/// converts it yet, or where that does not change.
pub(crate) fn held_back(definition: &Value, live: &Value, release: &ReleaseAt) -> Value {
    let mut held = definition.clone();
    let (Some(now), Some(wanted)) = (live.pointer(CONVERSION), definition.pointer(CONVERSION)) else {
        return held;
    };
    if without_bundle(now) == without_bundle(wanted) {
        // It was handed over already: what the first one had is needed for the way back.
        if let Some(note) = annotation(live, NOTED) {
            held["metadata"]["annotations"][NOTED] = note.into();
        }
        return held;
    }
    held["metadata"]["annotations"][NOTED] =
        json!({"release": named(release), "conversion": wanted}).to_string().into();
    held["spec"]["conversion"] = now.clone();
    held
}

/// Whether objects would have to be converted by a colour that is not at work yet: nobody does it now.
pub(crate) fn is_new(definition: &Value, live: &Value) -> bool {
    let webhook = |object: &Value| {
        object.pointer("/spec/conversion/strategy").and_then(Value::as_str) == Some("Webhook")
    };
    webhook(definition) && !webhook(live)
}

fn without_bundle(conversion: &Value) -> Value {
    let mut bare = conversion.clone();
    if let Some(config) = bare.pointer_mut("/webhook/clientConfig").and_then(Value::as_object_mut) {
        config.remove("caBundle");
        // What the API server fills in.
        if let Some(service) = config.get_mut("service").and_then(Value::as_object_mut) {
            service.entry("port").or_insert_with(|| 443.into());
        }
    }
    bare
}

/// Points every CRD that has a note of this release to it. `bundles` are the certificates of its registrations,
/// by what is called: whoever injects into those has not seen the CRD yet, and not one object must be refused
/// meanwhile.
pub(crate) async fn hand_over(
    api: &Api,
    from: &ReleaseAt,
    to: &ReleaseAt,
    bundles: &[(Value, Value)],
) -> Result<(), Fault> {
    for item in api.list_metadata(PATH).await? {
        if noted(&item, to).is_none() {
            continue;
        }
        let Some(name) = item.pointer("/metadata/name").and_then(Value::as_str) else { continue };
        let (path, doing) = (format!("{PATH}/{name}"), format!("handing the conversion of CRD {name} over"));
        let mut last = None;
        for _ in 0..TRIES {
            let Some(live) = api.find(&path).await? else { break };
            let Some(wanted) = noted(&live, to) else { break };
            let patch = patch(&live, wanted, from, bundles);
            match api.json_patch(&format!("{path}?fieldManager={MANAGER}"), &patch).await {
                Ok(_) => break,
                // Somebody wrote meanwhile: look again.
                Err(trouble) if matches!(trouble.code(), Some(409 | 422)) => last = Some(trouble),
                Err(trouble) => return Err(Fault::from(trouble).while_(&doing)),
            }
        }
        let undone = api.find(&path).await?.is_some_and(|live| noted(&live, to).is_some());
        if let (true, Some(trouble)) = (undone, last) {
            return Err(Fault::from(trouble).while_(&doing));
        }
    }
    Ok(())
}

/// What makes a CRD be converted as another release wants it.
fn patch(live: &Value, mut wanted: Value, from: &ReleaseAt, bundles: &[(Value, Value)]) -> Value {
    let now = live.pointer(CONVERSION).cloned().unwrap_or_else(|| json!({"strategy": "None"}));
    if wanted.pointer(BUNDLE).and_then(Value::as_str).is_none_or(|text| !is_real(text))
        && let Some(config) = wanted.pointer_mut("/webhook/clientConfig")
    {
        let known = bundles.iter().find(|(called, _)| is_called(config, called)).map(|(_, bundle)| bundle);
        // Better the old certificate than none: whoever injects puts the right one there.
        config["caBundle"] = known.or_else(|| now.pointer(BUNDLE)).cloned().unwrap_or(Value::Null);
    }
    let note = json!({"release": named(from), "conversion": now}).to_string();
    // A merge would leave parts of a webhook where there is none any more.
    json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": live.pointer("/metadata/resourceVersion")},
        {"op": "add", "path": CONVERSION, "value": bare(wanted)},
        {"op": "add", "path": format!("/metadata/annotations/{}", NOTED.replace('/', "~1")), "value": note},
    ])
}

/// Without a certificate that is none.
fn bare(mut conversion: Value) -> Value {
    let config = conversion.pointer_mut("/webhook/clientConfig").and_then(Value::as_object_mut);
    if let Some(config) = config
        && config.get("caBundle").is_some_and(Value::is_null)
    {
        config.remove("caBundle");
    }
    conversion
}

fn noted(crd: &Value, release: &ReleaseAt) -> Option<Value> {
    let mut note: Value = serde_json::from_str(annotation(crd, NOTED)?).ok()?;
    let is_its = note.get("release").and_then(Value::as_str) == Some(&named(release));
    is_its.then(|| note.get_mut("conversion").map(Value::take)).flatten()
}

/// Whether two configurations of a client call the same Service or host.
fn is_called(config: &Value, other: &Value) -> bool {
    let service = |config: &Value| {
        let text =
            |key: &str| config.pointer(&format!("/service/{key}")).and_then(Value::as_str).map(str::to_owned);
        text("namespace").zip(text("name"))
    };
    service(config).is_some() && service(config) == service(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(service: &str, bundle: Option<&str>) -> Value {
        let mut crd = json!({"metadata": {"name": "boats.sea.dev"}, "spec": {"conversion": {"strategy": "Webhook",
            "webhook": {"clientConfig": {"service": {"namespace": "sea", "name": service}}}}}});
        if let Some(bundle) = bundle {
            crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = bundle.into();
        }
        crd
    }

    #[test]
    fn conversion_stays_with_whoever_does_it_and_the_wish_is_noted() {
        let green = ReleaseAt { namespace: "sea".to_owned(), name: "green".to_owned() };
        let (live, chart) = (crd("blue", Some("real")), crd("green", None));
        let held = held_back(&chart, &live, &green);
        assert_eq!(held["spec"], live["spec"]);
        assert_eq!(noted(&held, &green).as_ref(), chart.pointer(CONVERSION));
        let blue = ReleaseAt { name: "blue".to_owned(), ..green.clone() };
        assert_eq!(noted(&held, &blue), None);
        assert_eq!(held_back(&crd("blue", None), &live, &green), crd("blue", None), "nothing changes");
        assert!(is_new(&chart, &json!({"spec": {}})) && !is_new(&chart, &live));
    }
}
