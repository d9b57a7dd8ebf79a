//! What the CRDs of a version do to what is there: other managers, live objects, and the way back.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use slipway_crd_compat::compare;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::finding::{Finding as Difference, Severity};
use slipway_crd_compat::options::{KubernetesVersion, Options};
use slipway_crd_compat::policy::Policy;
use slipway_crd_compat::report::Report;
use slipway_crd_compat::rollback::Verdict;
use slipway_domain::crd::ContentHash;
use slipway_domain::crd::content::canonical;
use slipway_domain::preflight::{CheckKind, CrdChange, Fate, Finding, Level, Return};
use slipway_orchestrator::ports::fleet::Subject;

use super::super::api::{Api, Apply, Trouble};
use super::super::crds::{held, name, path};
use super::super::custom::readable;
use super::super::definition::{HELM, MANAGER, conflicting, to_apply};
use super::super::judgement::{Hit, Hits, judge};

/// What was found about CRDs.
pub(super) struct Judged {
    pub(super) findings: Vec<Finding>,
    pub(super) changes: Vec<CrdChange>,
    pub(super) going_back: Return,
    /// Why one cannot simply go back.
    pub(super) reasons: Vec<String>,
    /// Those that are there already, of those that would be applied.
    pub(super) live: Vec<Value>,
}

/// Judges the CRDs that would be applied.
pub(super) async fn judged(
    api: &Api,
    subject: &Subject,
    crds: &[Value],
    kubernetes: Option<KubernetesVersion>,
    now: Timestamp,
) -> Result<Judged, Trouble> {
    let mut all = Judged {
        findings: Vec::new(),
        changes: Vec::new(),
        going_back: Return::Reversible,
        reasons: Vec::new(),
        live: Vec::new(),
    };
    let policy = serde_json::to_value(&subject.crd_policy).ok();
    let policy: Option<Policy> = policy.and_then(|policy| serde_json::from_value(policy).ok());
    let mut options = Options::at(now).with_policy(policy.unwrap_or_default());
    if let Some(kubernetes) = kubernetes {
        options = options.with_kubernetes(kubernetes);
    }
    for crd in crds {
        all.one(api, crd, &options).await?;
    }
    if all.findings.is_empty() {
        let text = match all.changes.iter().filter(|change| change.fate.is_some()).count() {
            0 => "no CRD would change".to_owned(),
            changed => format!("{changed} CRDs would be new or changed, and break nothing"),
        };
        all.findings.push(Finding::new(CheckKind::Crds, Level::Passed, text));
    }
    Ok(all)
}

impl Judged {
    fn found(&mut self, level: Level, text: String) {
        self.findings.push(Finding::new(CheckKind::Crds, level, text));
    }

    async fn one(&mut self, api: &Api, new: &Value, options: &Options) -> Result<(), Trouble> {
        let name = name(new).to_owned();
        let change = |fate, breaking, risky| CrdChange { name: name.clone(), fate, breaking, risky };
        let Some(live) = api.find(&path(&name)).await? else {
            self.try_it(api, &name, new, None).await?;
            self.changes.push(change(Some(Fate::Created), Vec::new(), Vec::new()));
            return Ok(());
        };
        self.live.push(live.clone());
        if ContentHash::of(&live) == ContentHash::of(new) {
            self.changes.push(change(None, Vec::new(), Vec::new()));
            return Ok(());
        }
        self.try_it(api, &name, new, Some(&live)).await?;
        // The whole has to be a definition; what is compared is what counts of it.
        let read = |value: &Value| Crd::from_value(canonical(Crd::from_value(value.clone())?.raw()));
        let (old_crd, new_crd) = match (read(&live), read(new)) {
            (Ok(old), Ok(new)) => (Arc::new(old), Arc::new(new)),
            (_, Err(error)) | (Err(error), _) => {
                self.found(Level::Refused, format!("CRD {name} cannot be judged: {error}"));
                return Ok(());
            }
        };
        let mut options = options.clone();
        let stored = live.pointer("/status/storedVersions").and_then(Value::as_array);
        options.stored_versions =
            stored.map(|names| names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect());
        let (before, after) = (Arc::clone(&old_crd), Arc::clone(&new_crd));
        let report = tokio::task::spawn_blocking(move || compare(&before, &after, &options)).await;
        let report = report.map_err(|_| Trouble::Strange(format!("comparing CRD {name} was broken off")))?;
        let hits = match readable(&old_crd) {
            Some(version) => match judge(api, &old_crd, &new_crd, &version).await {
                // Such as a conversion that does not answer: this change may be what mends it.
                Err(Trouble::Refused(status)) => {
                    let text =
                        format!("CRD {name}: its objects cannot be read to judge them: {}", status.message);
                    self.found(Level::Warning, text);
                    Hits::default()
                }
                other => other?,
            },
            None => Hits::default(),
        };
        let sentences = |severity: Severity| {
            let counting =
                report.findings.iter().filter(|found| found.counts() && found.severity == severity);
            counting.map(|found| format!("{}: {}", found.path, found.message)).collect::<Vec<_>>()
        };
        let mut breaking = sentences(Severity::Breaking);
        self.hits(&name, &hits, &report, &mut breaking);
        self.changes.push(change(Some(Fate::Changed), breaking, sentences(Severity::Risky)));
        self.back(&name, &report);
        Ok(())
    }

    /// Whether the cluster would take it from us.
    async fn try_it(
        &mut self,
        api: &Api,
        name: &str,
        new: &Value,
        live: Option<&Value>,
    ) -> Result<(), Trouble> {
        let body = to_apply(new, live);
        let mut how = Apply { manager: MANAGER, force: false, dry_run: true };
        loop {
            let status = match api.apply(&path(name), &body, how).await {
                Ok(_) => return Ok(()),
                Err(Trouble::Refused(status)) => status,
                Err(trouble) => return Err(trouble),
            };
            let managers = conflicting(&status);
            let others: Vec<String> = managers.iter().filter(|manager| *manager != HELM).cloned().collect();
            if !others.is_empty() {
                let text = format!("CRD {name}: {}", held(&others));
                self.findings.push(Finding::new(CheckKind::Ownership, Level::Refused, text));
                return Ok(());
            }
            if !managers.is_empty() && !how.force {
                // What helm holds of a CRD of this release is taken over.
                how.force = true;
                continue;
            }
            // Rights are told together.
            if status.code != 403 {
                self.found(
                    Level::Refused,
                    format!("the cluster would refuse CRD {name}: {}", status.message),
                );
            }
            return Ok(());
        }
    }

    fn hits(&mut self, name: &str, hits: &Hits, report: &Report, breaking: &mut Vec<String>) {
        let (tolerated, refused): (Vec<&Hit>, Vec<&Hit>) =
            hits.refused.iter().partition(|hit| is_tolerated(hit, &report.findings));
        let (tolerated_cut, cut): (Vec<&Hit>, Vec<&Hit>) =
            hits.cut.iter().partition(|hit| is_tolerated(hit, &report.findings));
        let mut tell = |level, what: &str, hit: &[&Hit]| {
            let Some(first) = hit.first() else { return };
            let text =
                format!("CRD {name}: the new definition {what}, such as {} ({})", first.object, first.reason);
            let objects = hit.iter().map(|hit| hit.object.clone());
            self.findings.push(Finding::new(CheckKind::Crds, level, text).about(objects));
        };
        let refuses = "refuses objects that are there";
        let cuts = "loses fields of objects that are there at their next write";
        tell(Level::Refused, refuses, &refused);
        tell(Level::Refused, cuts, &cut);
        tell(Level::Warning, &format!("{refuses}, which is tolerated"), &tolerated);
        tell(Level::Warning, &format!("{cuts}, which is tolerated"), &tolerated_cut);
        let unknown: Vec<&Hit> = hits.unknown.iter().collect();
        tell(Level::Warning, "may refuse objects that are there; that cannot be told", &unknown);
        if breaking.is_empty() && !(refused.is_empty() && cut.is_empty()) {
            // Whoever approves has to see it, whatever the comparison of the definitions alone says.
            breaking.push(format!("{} live objects are hit", refused.len() + cut.len()));
        }
        if !breaking.is_empty() && refused.is_empty() && cut.is_empty() {
            self.found(
                Level::Warning,
                format!(
                    "CRD {name} changes in a way that breaks: none of its {} live objects is hit, but new ones may \
                     be refused: {}",
                    hits.checked,
                    breaking.first().map(String::as_str).unwrap_or_default()
                ),
            );
        }
    }

    fn back(&mut self, name: &str, report: &Report) {
        let verdict = match report.rollback.verdict {
            Verdict::Reversible => return,
            Verdict::AfterMigration => Return::AfterMigration,
            Verdict::OneWay => Return::OneWay,
        };
        self.going_back = worse(self.going_back, verdict);
        self.reasons.extend(report.rollback.reasons.iter().map(|reason| format!("CRD {name}: {reason}")));
    }
}

/// The worse of two ways back.
pub(super) fn worse(one: Return, other: Return) -> Return {
    let rank = |way: Return| match way {
        Return::Reversible => 0,
        Return::AfterMigration => 1,
        Return::OneWay => 2,
    };
    if rank(other) > rank(one) { other } else { one }
}

/// Whether somebody said that what hits an object is acceptable: every field is the subject of a finding, and
/// none of a finding that counts as breaking.
fn is_tolerated(hit: &Hit, findings: &[Difference]) -> bool {
    !hit.fields.is_empty()
        && hit.fields.iter().all(|field| {
            let about = || {
                findings.iter().filter(|found| {
                    found.path.starts_with('.') && (found.path == *field || beneath(field, &found.path))
                })
            };
            about().count() > 0 && about().all(|found| !found.counts() || found.severity < Severity::Breaking)
        })
}

fn beneath(field: &str, path: &str) -> bool {
    field.strip_prefix(path).is_some_and(|rest| rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use slipway_crd_compat::policy::{Action, Waiver};

    use super::*;

    fn crd(sails: &Value) -> Crd {
        Crd::from_value(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "boats.sea.dev"},
            "spec": {"group": "sea.dev", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                    {"type": "object", "properties": {"spec": {"type": "object",
                        "properties": {"sails": sails}}}}}}]}}))
        .unwrap()
    }

    #[test]
    fn what_somebody_accepted_is_tolerated_until_it_expires() {
        let (old, new) = (crd(&json!({"type": "integer"})), crd(&json!({"type": "integer", "maximum": 3})));
        let hit = Hit { object: "Boat a".into(), reason: String::new(), fields: vec![".spec.sails".into()] };
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let tolerated = |policy: Policy| {
            let report = compare(&old, &new, &Options::at(now).with_policy(policy));
            is_tolerated(&hit, &report.findings)
        };
        assert!(!tolerated(Policy::default()));
        let id = compare(&old, &new, &Options::at(now)).findings[0].id.to_owned();
        let waived = |expires: &str| Policy {
            waivers: vec![Waiver {
                finding: id.clone(),
                crd: None,
                path: ".spec.*".into(),
                reason: "nobody has more".into(),
                who: "ann".into(),
                expires: expires.parse().unwrap(),
            }],
            ..Policy::default()
        };
        assert!(tolerated(waived("2026-02-01T00:00:00Z")));
        assert!(!tolerated(waived("2025-02-01T00:00:00Z")));
        let rules = [(id.clone(), Action::Risky)].into_iter().collect();
        assert!(tolerated(Policy { rules, ..Policy::default() }));
    }

    #[test]
    fn the_worse_way_back_counts() {
        assert_eq!(worse(Return::Reversible, Return::AfterMigration), Return::AfterMigration);
        assert_eq!(worse(Return::OneWay, Return::AfterMigration), Return::OneWay);
    }
}
