//! What a definition says besides its versions: group, names, scope, conversion.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{about_definition, converts};
use crate::crd::Crd;
use crate::finding::{Finding, Hit, Severity};
use crate::rules::{self, Rule};

/// Everybody who has to do with objects.
pub(super) const EVERYBODY: [Hit; 4] = [Hit::Create, Hit::Update, Hit::Read, Hit::Status];

pub(super) fn compare(old: &Crd, new: &Crd) -> Vec<Finding> {
    let mut findings = Vec::new();
    identity(old, new, &mut findings);
    names(old, new, &mut findings);
    metadata(old, new, &mut findings);
    unknown_fields(old, new, &mut findings);
    conversion(old, new, &mut findings);
    let known = ["group", "names", "scope", "versions", "conversion", "preserveUnknownFields"];
    unrecognised(old.raw().get("spec"), new.raw().get("spec"), "spec", &known, &mut findings);
    let known = ["plural", "singular", "kind", "listKind", "shortNames", "categories"];
    let (was, is) = (old.raw().pointer("/spec/names"), new.raw().pointer("/spec/names"));
    unrecognised(was, is, "spec.names", &known, &mut findings);
    findings
}

fn identity(old: &Crd, new: &Crd, findings: &mut Vec<Finding>) {
    let changes: [(&'static Rule, &str, &str, &str, &str); 4] = [
        (
            &rules::GROUP_CHANGED,
            "spec.group",
            old.group(),
            new.group(),
            "it is another API, and no object moves there",
        ),
        (
            &rules::KIND_CHANGED,
            "spec.names.kind",
            old.kind(),
            new.kind(),
            "manifests and clients that name the old kind are refused",
        ),
        (
            &rules::PLURAL_CHANGED,
            "spec.names.plural",
            old.plural(),
            new.plural(),
            "it is another resource, and no object moves there",
        ),
        (&rules::SCOPE_CHANGED, "spec.scope", old.scope(), new.scope(), "the API server refuses the change"),
    ];
    for (rule, place, was, is, follows) in changes {
        let called = rule.id.trim_end_matches("-changed").replace('-', " ");
        if was != is {
            let mut finding =
                about_definition(rule, place, format!("the {called} was {was} and is now {is}"), follows);
            finding.old = Some(Value::from(was));
            finding.new = Some(Value::from(is));
            finding.hits = EVERYBODY.to_vec();
            findings.push(finding);
        }
    }
}

fn names(old: &Crd, new: &Crd, findings: &mut Vec<Finding>) {
    let name = |crd: &Crd, key: &str, or: String| -> String {
        let given = crd.raw().pointer(&format!("/spec/names/{key}")).and_then(Value::as_str);
        given.map_or(or, str::to_owned)
    };
    // What is left out, the API server fills in from the kind.
    let listed = |crd: &Crd| name(crd, "listKind", format!("{}List", crd.kind()));
    let single = |crd: &Crd| name(crd, "singular", crd.kind().to_lowercase());
    let changes: [(&'static Rule, &str, String, String, &str); 2] = [
        (
            &rules::LIST_KIND_CHANGED,
            "spec.names.listKind",
            listed(old),
            listed(new),
            "typed clients no longer recognise lists",
        ),
        (
            &rules::SINGULAR_CHANGED,
            "spec.names.singular",
            single(old),
            single(new),
            "scripts that use the old name stop working",
        ),
    ];
    let kind_changed = old.kind() != new.kind();
    for (rule, place, was, is, follows) in changes {
        let called = rule.id.trim_end_matches("-changed").replace('-', " ");
        if was != is && !(kind_changed && was.to_lowercase().starts_with(&old.kind().to_lowercase())) {
            let mut finding =
                about_definition(rule, place, format!("the {called} was {was} and is now {is}"), follows);
            finding.old = Some(Value::from(was));
            finding.new = Some(Value::from(is));
            findings.push(finding);
        }
    }
    let lists: [(&str, &'static Rule, &'static Rule, &str, &str); 2] = [
        (
            "shortNames",
            &rules::SHORT_NAME_ADDED,
            &rules::SHORT_NAME_REMOVED,
            "short name",
            "kubectl no longer knows it",
        ),
        (
            "categories",
            &rules::CATEGORY_ADDED,
            &rules::CATEGORY_REMOVED,
            "category",
            "kubectl no longer lists the resource there",
        ),
    ];
    for (key, added, removed, called, follows) in lists {
        let set = |crd: &Crd| -> BTreeSet<String> {
            crate::node::strings(crd.raw().pointer(&format!("/spec/names/{key}")))
                .map(str::to_owned)
                .collect()
        };
        let (was, is) = (set(old), set(new));
        let place = format!("spec.names.{key}");
        for name in is.difference(&was) {
            let mut finding = about_definition(added, &place, format!("{name} is a new {called}"), "");
            finding.new = Some(Value::from(name.as_str()));
            findings.push(finding);
        }
        for name in was.difference(&is) {
            let mut finding =
                about_definition(removed, &place, format!("{name} is a {called} no longer"), follows);
            finding.old = Some(Value::from(name.as_str()));
            findings.push(finding);
        }
    }
}

fn metadata(old: &Crd, new: &Crd, findings: &mut Vec<Finding>) {
    for key in ["labels", "annotations"] {
        let set = |crd: &Crd| -> Map<String, Value> {
            let given = crd.raw().pointer(&format!("/metadata/{key}")).and_then(Value::as_object);
            let mut given = given.cloned().unwrap_or_default();
            // A copy of the whole definition that kubectl keeps for itself.
            given.remove("kubectl.kubernetes.io/last-applied-configuration");
            given
        };
        let (was, is) = (set(old), set(new));
        if was != is {
            let place = format!("metadata.{key}");
            let follows = "objects and their clients do not see it";
            let mut finding = about_definition(
                &rules::CRD_METADATA_CHANGED,
                &place,
                format!("{key} of the definition changed"),
                follows,
            );
            finding.old = Some(Value::Object(was));
            finding.new = Some(Value::Object(is));
            findings.push(finding);
        }
    }
}

fn unknown_fields(old: &Crd, new: &Crd, findings: &mut Vec<Finding>) {
    let place = "spec.preserveUnknownFields";
    let mut finding = match (old.preserve_unknown_fields(), new.preserve_unknown_fields()) {
        (true, false) => {
            let mut finding = about_definition(
                &rules::PRESERVE_UNKNOWN_DISABLED,
                place,
                "the definition no longer keeps unknown fields",
                "fields the schema does not name are silently dropped",
            );
            finding.hits = vec![Hit::Create, Hit::Update, Hit::Read];
            finding
        }
        (false, true) => about_definition(
            &rules::PRESERVE_UNKNOWN_ENABLED,
            place,
            "the definition now keeps unknown fields",
            "fields the schema does not name are kept, typing errors included",
        ),
        _ => return,
    };
    finding.old = Some(Value::Bool(old.preserve_unknown_fields()));
    finding.new = Some(Value::Bool(new.preserve_unknown_fields()));
    findings.push(finding);
}

fn conversion(old: &Crd, new: &Crd, findings: &mut Vec<Finding>) {
    let webhook = |crd: &Crd| crd.raw().pointer("/spec/conversion/webhook").cloned();
    let place = "spec.conversion";
    let mut finding = match (converts(old), converts(new)) {
        (false, true) => about_definition(
            &rules::CONVERSION_WEBHOOK_ADDED,
            place,
            "objects are now converted by a webhook",
            "while it is down, objects of other versions can be neither read nor written",
        ),
        (true, false) => {
            let mut finding = about_definition(
                &rules::CONVERSION_WEBHOOK_REMOVED,
                place,
                "objects are no longer converted by a webhook",
                "objects change their version and nothing else, and lose what the other version does not name",
            );
            if new.versions().len() < 2 {
                finding.severity = Severity::Safe;
                "one version is left, so nothing is converted".clone_into(&mut finding.consequence);
                finding.message = format!("{}: {}", finding.headline, finding.consequence);
            } else {
                finding.hits = EVERYBODY.to_vec();
            }
            finding
        }
        (true, true) if webhook(old) != webhook(new) => about_definition(
            &rules::CONVERSION_WEBHOOK_CHANGED,
            "spec.conversion.webhook",
            "the conversion webhook changed",
            "if the webhook does not answer there, objects of other versions can be neither read nor written",
        ),
        _ => return,
    };
    if finding.severity == Severity::Risky {
        finding.hits = EVERYBODY.to_vec();
    }
    finding.old = old.raw().pointer("/spec/conversion").cloned();
    finding.new = new.raw().pointer("/spec/conversion").cloned();
    findings.push(finding);
}

/// Keys of an object that are not known and differ.
pub(super) fn unrecognised(
    old: Option<&Value>,
    new: Option<&Value>,
    place: &str,
    known: &[&str],
    findings: &mut Vec<Finding>,
) {
    let empty = Map::new();
    let was = old.and_then(Value::as_object).unwrap_or(&empty);
    let is = new.and_then(Value::as_object).unwrap_or(&empty);
    let keys: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    for key in keys.into_iter().filter(|key| !known.contains(&key.as_str()) && was.get(*key) != is.get(*key))
    {
        let mut finding = about_definition(
            &rules::UNRECOGNISED_DIFFERENCE,
            &format!("{place}.{key}"),
            format!("{place}.{key} of the definition changed"),
            "it is not known here, so its effect cannot be judged",
        );
        finding.old = was.get(key).cloned();
        finding.new = is.get(key).cloned();
        findings.push(finding);
    }
}
