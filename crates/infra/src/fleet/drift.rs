//! What of a release is not as it was released any more: each object of the newest revision is tried once more,
//! without being changed, and what would change has drifted. What others own by design (certificates that are
//! injected, pods that an autoscaler counts, fields that the server fills in) does not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::Value;
use slipway_domain::operator::Drifted;
use slipway_orchestrator::ports::fleet::Subject;

use super::api::Api;
use super::attempt::LABEL;
use super::fault::Fault;
use super::kinds::Kinds;
use super::object::{ObjectRef, annotation};
use super::preflight::{Ground, Hidden, Item, Said, Tried, fields};
use super::revisions::Record;
use super::site::Site;
use super::{bundles, colours, generated, replicas, revisions};

/// How long a look may take.
const WITHIN: Duration = Duration::from_mins(1);

/// Looks. Nothing where the release is being changed, or its last change failed: then it is not known what
/// should be there.
pub(super) async fn look(site: &Site, subject: &Subject) -> Result<Option<Vec<Drifted>>, Fault> {
    let api = Api::new(site.client.clone(), subject.cluster.as_str(), Instant::now() + WITHIN);
    let release = &subject.placement.release;
    let records = revisions::list(&api, release).await?;
    let Some(newest) = records.last().filter(|newest| newest.status == "deployed") else { return Ok(None) };
    let manifest = revisions::manifest(&api, release, newest).await?;
    let mut objects = generated::without_crds(&manifest)?;
    for object in &mut objects {
        awake(object);
        bundles::settle(&api, site.helm.major(), object).await?;
    }
    replicas::carry_over(&api, &release.namespace, &mut objects).await?;
    let mut namespaces: BTreeSet<String> =
        objects.iter().filter_map(|object| ObjectRef::of(object)?.namespace).collect();
    namespaces.insert(release.namespace.clone());
    let (kinds, crds) = (Kinds::default(), BTreeMap::new());
    let ground = Ground {
        api: &api,
        kinds: &kinds,
        namespace: &release.namespace,
        crds: &crds,
        namespaces: &namespaces,
    };
    let items = ground.items(&objects, &[]).await?;
    // Somebody changed the release meanwhile: what was compared is of the past.
    let again = revisions::newest(&api, release).await?;
    if again.as_ref().map(|record| (record.number, record.status.as_str()))
        != Some((newest.number, "deployed"))
    {
        return Ok(None);
    }
    let mut drifted: Vec<Drifted> = by_hand(&records, &release.name).into_iter().collect();
    drifted.extend(items.iter().filter_map(|item| compared(item, subject)));
    Ok(Some(drifted))
}

/// That the newest revision is not one of ours, though earlier ones are. helm hands labels on, so one that a person
/// made has the label of the revision before it.
fn by_hand(records: &[Record], release: &str) -> Option<Drifted> {
    let (newest, earlier) = records.split_last()?;
    let ours = |record: &&Record| record.labels.contains_key(LABEL);
    let label = newest.labels.get(LABEL);
    let inherited = earlier.iter().any(|record| label.is_some() && record.labels.get(LABEL) == label);
    let foreign = inherited || (label.is_none() && earlier.iter().any(|record| ours(&record)));
    foreign.then(|| Drifted {
        object: format!("release {release}"),
        gone: false,
        fields: vec![format!("revision {} was made by somebody with helm", newest.number)],
    })
}

/// A release that took over from another is as its chart meant it. Its notes stay: they were released.
fn awake(object: &mut Value) {
    let note = |key: &str| annotation(object, key).map(str::to_owned);
    let webhooks = note(colours::WEBHOOKS).and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let replicas = note(colours::REPLICAS).and_then(|text| text.parse::<i64>().ok());
    if let Some(webhooks) = webhooks {
        object["webhooks"] = webhooks;
    }
    if let Some(replicas) = replicas {
        object["spec"]["replicas"] = replicas.into();
    }
}

/// What of an object differs; nothing where it cannot be known.
fn compared(item: &Item, subject: &Subject) -> Option<Drifted> {
    // Jobs go by themselves once they are done, are labelled by the server, and cannot be changed by anybody.
    if item.it.group == "batch" && item.it.kind == "Job" {
        return None;
    }
    let object = item.it.to_string();
    let Some(live) = &item.live else {
        let unseen = matches!(item.tried, Tried::Refused(Said::NotPermitted));
        let ignored = subject.profile.drift.ignores(&object, "");
        return (!unseen && !ignored).then_some(Drifted { object, gone: true, fields: Vec::new() });
    };
    let Tried::Taken(taken) = &item.tried else { return None };
    let mut fields = fields(&item.it, live, taken, &Hidden::every_text());
    fields.retain(|field| {
        let path = field.split_once(": ").map_or(field.as_str(), |(path, _)| path);
        !subject.profile.drift.ignores(&object, path)
    });
    (!fields.is_empty()).then_some(Drifted { object, gone: false, fields })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u32, label: Option<&str>) -> Record {
        Record {
            number,
            status: "deployed".to_owned(),
            secret: format!("s{number}"),
            labels: label.map(|label| (LABEL.to_owned(), label.to_owned())).into_iter().collect(),
        }
    }

    #[test]
    fn a_revision_that_a_person_made_is_known_by_its_label() {
        let is_foreign = |records: &[Record]| by_hand(records, "web").is_some();
        assert!(!is_foreign(&[record(1, None), record(2, None)]), "adopted, and not changed by us yet");
        assert!(!is_foreign(&[record(1, None), record(2, Some("a")), record(3, Some("b"))]));
        assert!(is_foreign(&[record(2, Some("a")), record(3, Some("a"))]), "handed on by helm");
        assert!(is_foreign(&[record(2, Some("a")), record(3, None)]));
    }
}
