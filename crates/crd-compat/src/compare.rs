//! Compares two definitions and judges every difference.

use std::collections::HashSet;

use serde_json::Value;

use crate::crd::{Crd, CrdVersion};
use crate::finding::{Finding, Hit, Severity};
use crate::node::Node;
use crate::options::Options;
use crate::report::{Report, SetReport};
use crate::rules::{self, Rule};
use crate::witness::{Proof, Prover};
use crate::{policy, rollback};

mod cel;
mod conditions;
mod definition;
mod depth;
pub(crate) mod draft;
mod fields;
pub(crate) mod implication;
mod kinds;
mod misplaced;
mod rename;
mod sizes;
pub(crate) mod texts;
pub(crate) mod values;
mod versions;
mod walk;

use draft::{Draft, Effect};
pub(crate) use walk::Walk;

/// Findings of one version that get a witness of their own; those beyond say so.
const MAX_WITNESSES: usize = 400;

/// Pairs of different versions that are compared.
const MAX_CROSSINGS: usize = 64;

/// Judges what replacing `old` by `new` does.
///
/// ```
/// use serde_json::json;
/// use slipway_crd_compat::{compare, crd::Crd, finding::Severity, options::Options};
///
/// let crd = |size: serde_json::Value| Crd::from_value(json!({
///     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
///     "metadata": {"name": "widgets.example.com"},
///     "spec": {
///         "group": "example.com", "scope": "Namespaced",
///         "names": {"kind": "Widget", "plural": "widgets"},
///         "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
///             "type": "object", "properties": {"spec": {"type": "object", "properties": {"size": size}}},
///         }}}],
///     },
/// }));
/// let old = crd(json!({"type": "integer"}))?;
/// let new = crd(json!({"type": "integer", "maximum": 10}))?;
/// let report = compare(&old, &new, &Options::default());
/// assert_eq!(report.severity(), Severity::Breaking);
/// assert_eq!(report.findings[0].id, "maximum-tightened");
/// # Ok::<(), slipway_crd_compat::crd::CrdError>(())
/// ```
pub fn compare(old: &Crd, new: &Crd, options: &Options) -> Report {
    if depth::exceeds(old.raw()) || depth::exceeds(new.raw()) {
        let what = "the definition is nested too deeply to be compared";
        let mut findings = vec![about_definition(
            &rules::SCHEMA_TOO_DEEP,
            "spec.versions",
            what,
            "what differs is not known",
        )];
        policy::apply(&options.policy, options.now, old.name(), &mut findings);
        return Report { name: new.name().to_owned(), findings, rollback: rollback::unknown() };
    }
    let mut findings = definition::compare(old, new);
    findings.extend(versions::compare(old, new, options));
    let crossings = schemas(old, new, options, &mut findings);
    if crossings > MAX_CROSSINGS {
        findings.push(about_definition(
            &rules::UNRECOGNISED_DIFFERENCE,
            "spec.versions",
            "there are too many versions to compare each with each",
            "what differs between versions is not known in full",
        ));
    }
    let rollback = rollback::judge(old, new, options, &findings);
    policy::apply(&options.policy, options.now, old.name(), &mut findings);
    sort(&mut findings);
    Report { name: new.name().to_owned(), findings, rollback }
}

/// Judges what replacing one set of definitions by another does; definitions are paired by name.
pub fn compare_sets(old: &[Crd], new: &[Crd], options: &Options) -> SetReport {
    let mut crds = Vec::new();
    for after in new {
        crds.push(if let Some(before) = old.iter().find(|before| before.name() == after.name()) {
            compare(before, after, options)
        } else {
            let follows = "nobody can have objects of it yet";
            lone(after, about_definition(&rules::CRD_ADDED, "", "is new", follows), options)
        });
    }
    for before in old.iter().filter(|before| !new.iter().any(|after| after.name() == before.name())) {
        let follows = "deleting it deletes every object of it";
        let mut finding = about_definition(&rules::CRD_REMOVED, "", "is gone", follows);
        finding.hits = vec![Hit::Create, Hit::Update, Hit::Read, Hit::Status];
        crds.push(lone(before, finding, options));
    }
    SetReport::new(crds)
}

fn lone(crd: &Crd, mut finding: Finding, options: &Options) -> Report {
    crd.name().clone_into(&mut finding.path);
    finding.headline = format!("{} {}", crd.name(), finding.headline);
    finding.message = format!("{}: {}", finding.headline, finding.consequence);
    let removed = finding.id == rules::CRD_REMOVED.id;
    let mut findings = vec![finding];
    policy::apply(&options.policy, options.now, crd.name(), &mut findings);
    Report { name: crd.name().to_owned(), findings, rollback: rollback::alone(removed) }
}

/// Compares the schemas of every pair of versions; returns how many pairs of different ones there are.
fn schemas(old: &Crd, new: &Crd, options: &Options, findings: &mut Vec<Finding>) -> usize {
    let mut known: HashSet<(&'static str, String)> = HashSet::new();
    let olds = old.versions();
    let several = olds.len() > 1 || new.versions().len() > 1;
    for was in olds.iter().filter(|version| version.served() || version.storage() || unspecified(old)) {
        let Some(is) = new.version(was.name()) else { continue };
        let drafts = walk(old, *was, is, true);
        if several {
            let told = drafts.iter().filter(|draft| draft.effect.tightens());
            known.extend(told.map(|draft| (draft.rule.id, draft.path.to_string())));
        }
        findings.extend(report((old, *was), (new, is), drafts, options));
    }
    if converts(new) {
        return 0;
    }
    let served = |crd: &Crd, version: &CrdVersion<'_>| version.served() || unspecified(crd);
    let mut crossings = 0;
    for was in olds.iter().filter(|version| served(old, version)) {
        for is in new.versions() {
            if !served(new, &is) || is.name() == was.name() {
                continue;
            }
            crossings += 1;
            if crossings > MAX_CROSSINGS {
                continue;
            }
            findings.extend(crossing((old, *was), (new, is), &known, options));
        }
    }
    crossings
}

/// What breaks when an object of one version is read and written as another, and did not break before.
fn crossing<'a>(
    (old, was): (&'a Crd, CrdVersion<'a>),
    (new, is): (&'a Crd, CrdVersion<'a>),
    known: &HashSet<(&'static str, String)>,
    options: &Options,
) -> Vec<Finding> {
    let before = old.version(is.name()).filter(|before| before.served() || unspecified(old));
    if before.is_some_and(|before| before.schema() == was.schema()) {
        return Vec::new();
    }
    let mut drafts = differences(old, was, is);
    drafts.retain(|draft| {
        draft.severity > Severity::Safe
            && draft.effect.tightens()
            && !known.contains(&(draft.rule.id, draft.path.to_string()))
    });
    if let Some(before) = before
        && !drafts.is_empty()
    {
        let already: HashSet<(&'static str, String)> = differences(old, was, before)
            .iter()
            .map(|draft| (draft.rule.id, draft.path.to_string()))
            .collect();
        drafts.retain(|draft| !already.contains(&(draft.rule.id, draft.path.to_string())));
    }
    report((old, was), (new, is), drafts, options)
}

/// Whether a definition leaves out which versions are served: then all are looked at.
fn unspecified(crd: &Crd) -> bool {
    !crd.versions().iter().any(|version| version.served() || version.storage())
}

pub(crate) fn converts(crd: &Crd) -> bool {
    crd.raw().pointer("/spec/conversion/strategy").and_then(Value::as_str) == Some("Webhook")
}

/// Every difference between the schemas of two versions that objects can feel.
pub(crate) fn differences<'a>(old: &Crd, was: CrdVersion<'a>, is: CrdVersion<'a>) -> Vec<Draft<'a>> {
    walk(old, was, is, false)
}

fn walk<'a>(old: &Crd, was: CrdVersion<'a>, is: CrdVersion<'a>, documentation: bool) -> Vec<Draft<'a>> {
    let root = |version: CrdVersion<'a>| version.schema().map_or_else(Node::anything, Node::of);
    Walk::schemas(&root(was), &root(is), documentation, old.preserve_unknown_fields())
}

/// Proves what can be proven, and puts every difference into words.
fn report<'a>(
    (old, was): (&'a Crd, CrdVersion<'a>),
    (new, is): (&'a Crd, CrdVersion<'a>),
    drafts: Vec<Draft<'a>>,
    options: &Options,
) -> Vec<Finding> {
    let search = Prover::new((old, was), (new, is));
    let version = if was.name() == is.name() {
        was.name().to_owned()
    } else {
        format!("{} → {}", was.name(), is.name())
    };
    let mut proven = 0;
    let mut findings = Vec::with_capacity(drafts.len());
    for mut draft in drafts {
        // A definition that keeps everything prunes nothing.
        if new.preserve_unknown_fields() && draft.effect == Effect::Lost {
            draft = draft.harmless("the definition keeps unknown fields");
        }
        let mut witness = None;
        let mut missing = None;
        if draft.promote {
            if let Proof::Witness(found) = search.prove(&draft) {
                draft.severity = Severity::Breaking;
                draft.effect = Effect::RefusedBeside;
                draft.follows.push_str(", which other rules of the schema then refuse");
                witness = Some(*found);
            }
        } else if draft.severity == Severity::Breaking && draft.effect != Effect::None {
            proven += 1;
            let proof = if proven > MAX_WITNESSES {
                Proof::Missing(format!(
                    "only the first {MAX_WITNESSES} findings of a version are shown by an object"
                ))
            } else {
                search.prove(&draft)
            };
            match proof {
                Proof::Witness(found) => witness = Some(*found),
                Proof::Refuted => {
                    draft =
                        draft.harmless("every value that was allowed has been tried, and all are accepted");
                }
                Proof::Missing(reason) => {
                    draft.severity = draft.unproven;
                    missing = Some(reason);
                }
            }
        } else if draft.severity == Severity::Breaking {
            missing = Some("the API server ignores the keyword, so no object can show it".to_owned());
        }
        let mut finding = finding(&draft, &version, was.has_status(), options);
        finding.witness = witness;
        finding.witness_missing_reason = missing;
        findings.push(finding);
    }
    findings
}

fn finding(draft: &Draft<'_>, version: &str, status_subresource: bool, options: &Options) -> Finding {
    let path = draft.path.to_string();
    let headline = format!("{path} {}", draft.what);
    Finding {
        id: draft.rule.id,
        severity: draft.severity,
        version: Some(version.to_owned()),
        message: sentence(&headline, &draft.follows),
        path,
        old: draft.old.clone(),
        new: draft.new.clone(),
        remedy: remedy(draft.rule, draft.severity).to_owned(),
        hits: draft.effect.hits(&draft.path, status_subresource, options.kubernetes),
        witness: None,
        witness_missing_reason: None,
        waived_by: None,
        headline,
        consequence: draft.follows.clone(),
    }
}

/// A finding about the definition itself; `place` is a path in it.
pub(crate) fn about_definition(
    rule: &'static Rule,
    place: &str,
    what: impl AsRef<str>,
    follows: impl Into<String>,
) -> Finding {
    let path = if place.is_empty() { "crd".to_owned() } else { format!("crd.{place}") };
    let headline = what.as_ref().to_owned();
    let consequence = follows.into();
    Finding {
        id: rule.id,
        severity: rule.severity,
        version: None,
        path,
        old: None,
        new: None,
        message: sentence(&headline, &consequence),
        remedy: rule.remedy.to_owned(),
        hits: Vec::new(),
        witness: None,
        witness_missing_reason: None,
        waived_by: None,
        headline,
        consequence,
    }
}

fn remedy(rule: &'static Rule, severity: Severity) -> &'static str {
    if severity == Severity::Safe { "Nothing needs to be done." } else { rule.remedy }
}

fn sentence(headline: &str, follows: &str) -> String {
    if follows.is_empty() { headline.to_owned() } else { format!("{headline}: {follows}") }
}

/// The worst first, and within a severity in the order of the definition.
fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
}
