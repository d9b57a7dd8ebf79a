//! What would be made, changed and deleted, and what must not be deleted unless it is named.

use slipway_domain::preflight::{Change, CheckKind, Fate, Finding, Level};
use slipway_orchestrator::ports::fleet::Subject;

use super::super::object::{ObjectRef, is_kept};
use super::difference::{fields, overlaid, without_removed};
use super::hidden::Hidden;
use super::items::{Item, Leaving, Tried};

/// What becomes of every object that changes.
pub(super) fn changes(items: &[Item], leaving: &[Leaving], hidden: &Hidden) -> Vec<Change> {
    let mut changes = Vec::new();
    for item in items {
        let object = item.it.to_string();
        let Some(live) = &item.live else {
            changes.push(Change { fate: Fate::Created, object, fields: Vec::new() });
            continue;
        };
        let mut after = match &item.tried {
            Tried::Taken(taken) => taken.clone(),
            Tried::Refused(_) | Tried::Untried(_) => overlaid(live, &item.manifest),
        };
        if let Some(stored) = &item.stored {
            without_removed(&mut after, stored, &item.manifest);
        }
        let fields = fields(&item.it, live, &after, hidden);
        if !fields.is_empty() {
            changes.push(Change { fate: Fate::Changed, object, fields });
        }
    }
    for leaving in leaving.iter().filter(|leaving| !stays(leaving)) {
        changes.push(Change { fate: Fate::Deleted, object: leaving.it.to_string(), fields: Vec::new() });
    }
    changes
}

/// Whether helm leaves it where it is.
fn stays(leaving: &Leaving) -> bool {
    is_kept(&leaving.live) || is_kept(&leaving.stored)
}

/// What the plan means for what people keep. `custom` says which objects are custom resources.
pub(super) fn findings(
    subject: &Subject,
    changes: &[Change],
    leaving: &[Leaving],
    custom: impl Fn(&ObjectRef) -> bool,
) -> Vec<Finding> {
    let mut found = Vec::new();
    let kept: Vec<String> =
        leaving.iter().filter(|leaving| stays(leaving)).map(|leaving| leaving.it.to_string()).collect();
    if !kept.is_empty() {
        let text = "the new version does not hold these any more; they stay, and nobody owns them then";
        found.push(Finding::new(CheckKind::Difference, Level::Warning, text).about(kept));
    }
    let precious = |it: &ObjectRef| {
        matches!(it.kind.as_str(), "CustomResourceDefinition" | "PersistentVolumeClaim" | "Namespace")
            || custom(it)
    };
    let (named, unnamed): (Vec<String>, Vec<String>) = leaving
        .iter()
        .filter(|leaving| !stays(leaving) && precious(&leaving.it))
        .map(|leaving| leaving.it.to_string())
        .partition(|name| subject.may_delete.contains(name));
    if !unnamed.is_empty() {
        let text = "this would delete what cannot be brought back; name each object that may go, or give it the \
                    annotation helm.sh/resource-policy=keep";
        found.push(Finding::new(CheckKind::Difference, Level::Refused, text).about(unnamed));
    }
    if !named.is_empty() {
        let text = "these are deleted for good, as somebody asked";
        found.push(Finding::new(CheckKind::Difference, Level::Warning, text).about(named));
    }
    if subject.placement.adopts {
        let text = "this release was made by somebody else: its values were taken over, and nothing but what is \
                    listed would change";
        found.push(Finding::new(CheckKind::Difference, Level::Warning, text));
    }
    let count = |fate: Fate| changes.iter().filter(|change| change.fate == fate).count();
    let (created, changed, deleted) = (count(Fate::Created), count(Fate::Changed), count(Fate::Deleted));
    let text = if created + changed + deleted == 0 {
        "no object would change".to_owned()
    } else {
        format!("{created} objects made, {changed} changed, {deleted} deleted")
    };
    found.push(Finding::new(CheckKind::Difference, Level::Passed, text));
    found
}
