//! Everything that could stand in the way, looked at before anything is changed.
//!
//! It only reads, and tries by dry-run. What it cannot know it says, and what it says never holds a secret.

mod colours;
mod definitions;
mod difference;
mod drift;
mod hidden;
mod images;
mod installed;
mod items;
mod now;
mod ownership;
mod permitted;
mod plan;
mod reading;
mod refusal;
mod rights;
mod subcharts;
mod values;
mod way;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::options::KubernetesVersion;
use slipway_domain::preflight::{CheckKind, Finding, Level, Preflight, Return};
use slipway_domain::version::Version;
use slipway_orchestrator::ports::fleet::Subject;

use super::api::{Api, Trouble};
use super::fault::Fault;
use super::kinds::{Kind, Kinds};
use super::object::{ObjectRef, annotation};
use super::render::{self, Rendered};
use super::site::{Site, made};
use installed::Installed;
use values::{Fit, Misfit, Told};

pub(super) use difference::fields;
pub(super) use hidden::Hidden;
pub(super) use items::{Ground, Item, Tried};
pub(super) use reading::look;
pub(super) use refusal::Said;

/// How long all of it may take.
const PATIENCE: Duration = Duration::from_mins(5);

/// Looks at all of it.
async fn all(site: &Site, subject: &Subject, now: Timestamp) -> Result<Preflight, Fault> {
    let api = Api::new(site.client.clone(), subject.cluster.as_str(), Instant::now() + PATIENCE);
    let version = api.get("/version").await?;
    let version = version.get("gitVersion").and_then(Value::as_str).unwrap_or("unknown").to_owned();
    let installed = installed::read(&api, &subject.placement.release).await?;
    let from = installed.as_ref().and_then(|installed| installed.version.parse::<Version>().ok());
    let mut report = Preflight {
        at: now,
        from,
        to: subject.version.clone(),
        findings: Vec::new(),
        changes: Vec::new(),
        crds: Vec::new(),
        going_back: Return::Reversible,
        values: Vec::new(),
        digest: String::new(),
    };
    let reachable = format!("it answers, with Kubernetes {version}");
    report.findings.push(Finding::new(CheckKind::Reachable, Level::Passed, reachable));
    report.findings.extend(way::findings(&subject.profile, report.from.as_ref(), &subject.version));
    report.findings.extend(state(subject, installed.as_ref()));
    match render::render(site, subject).await {
        Ok(rendered) => {
            let kubernetes = Finding::new(CheckKind::Kubernetes, Level::Passed, "its version fits the chart");
            report.findings.push(kubernetes);
            let text = "the chart renders against this cluster";
            report.findings.push(Finding::new(CheckKind::Renders, Level::Passed, text));
            let looked =
                Looked { site, api: &api, subject, installed: installed.as_ref(), rendered: &rendered };
            looked.fill(&mut report, &version, now).await?;
        }
        Err(Fault::Failed(reason)) => {
            let check =
                if reason.contains("kubeVersion") { CheckKind::Kubernetes } else { CheckKind::Renders };
            report.findings.push(Finding::new(check, Level::Refused, reason));
        }
        Err(fault) => return Err(fault),
    }
    Ok(report)
}

/// What the release's own state says.
fn state(subject: &Subject, installed: Option<&Installed>) -> Vec<Finding> {
    let mut found = Vec::new();
    let Some(installed) = installed else { return found };
    let warning = |text: String| Finding::new(CheckKind::Ownership, Level::Warning, text);
    if installed.status.starts_with("pending") {
        found.push(warning(format!(
            "the release is {}: another change of it is under way, or was broken off and will be cleared away",
            installed.status
        )));
    }
    if installed.chart != subject.chart {
        found.push(warning(format!(
            "the release {} is of the chart {}, and would be of {}",
            subject.placement.release.name, installed.chart, subject.chart
        )));
    }
    found
}

/// All that a preflight looks at once a chart is rendered.
struct Looked<'a> {
    site: &'a Site,
    api: &'a Api,
    subject: &'a Subject,
    installed: Option<&'a Installed>,
    rendered: &'a Rendered,
}

impl Looked<'_> {
    async fn fill(&self, report: &mut Preflight, version: &str, now: Timestamp) -> Result<(), Fault> {
        let (api, subject, rendered) = (self.api, self.subject, self.rendered);
        let hidden = Hidden::of(&rendered.values, &rendered.given);
        report.digest.clone_from(&rendered.digest);
        report.values = hidden::sources(&subject.layers, &rendered.given, &hidden);
        report.findings.push(self.values());

        let crds: Vec<Value> = rendered.crds.iter().map(|crd| crd.value.clone()).collect();
        let kubernetes = version.parse::<KubernetesVersion>().ok();
        let judged = definitions::judged(api, subject, &crds, kubernetes, now).await?;
        let manifests: Vec<Value> =
            rendered.manifests.iter().map(|manifest| manifest.value.clone()).collect();
        let release = made(subject);
        // What a second colour replaces is its own last revision, if there is one.
        let other;
        let before = if subject.placement.beside.is_some() {
            other = installed::read(api, release).await?;
            other.as_ref()
        } else {
            self.installed
        };
        let stored = before.map(|installed| installed.objects.as_slice()).unwrap_or_default();
        let coming = coming(&crds);
        let namespaces = self.namespaces(&manifests).await?;
        let kinds = Kinds::default();
        let ground = Ground {
            api,
            kinds: &kinds,
            namespace: &release.namespace,
            crds: &coming,
            namespaces: &namespaces,
        };
        let items = ground.items(&manifests, stored).await?;
        let leaving = ground.leaving(&items, stored).await?;
        report.findings.extend(ownership::findings(subject, before, &items, &judged.live));
        report.changes = plan::changes(&items, &leaving, &hidden);
        let mut custom = BTreeSet::new();
        for leaving in &leaving {
            let name = format!("{}.{}", leaving.kind.plural, leaving.kind.group);
            if leaving.kind.group.contains('.') && api.find(&super::crds::path(&name)).await?.is_some() {
                custom.insert(leaving.it.clone());
            }
        }
        let is_custom = |it: &ObjectRef| custom.contains(it);
        report.findings.extend(plan::findings(subject, &report.changes, &leaving, is_custom));

        let own = permitted::webhooks(stored.iter().chain(&manifests));
        let needs = permitted::Needs {
            items: &items,
            leaving: &leaving,
            hooks: &self.hooks(&ground).await?,
            crds: !crds.is_empty(),
            namespace: &release.namespace,
            makes_namespace: !namespaces.contains(&release.namespace),
            own_webhooks: &own,
        };
        report.findings.extend(needs.findings(api).await?);
        report.findings.extend(drift::findings(api, &items).await?);
        report.findings.extend(judged.findings);
        report.crds = judged.changes;
        report.findings.extend(colours::findings(api, subject, self.installed, &items, &crds).await?);
        report.findings.push(images::finding(api, manifests.iter()).await?);
        report.findings.extend(now::findings(self.site, subject, self.installed, now).await);
        let (going_back, finding) = way::back(
            &subject.profile,
            report.from.as_ref(),
            &subject.version,
            judged.going_back,
            &judged.reasons,
        );
        report.going_back = going_back;
        report.findings.push(finding);
        Ok(())
    }

    fn values(&self) -> Finding {
        let finding = |level, text: String| Finding::new(CheckKind::Values, level, text);
        let told = match Told::read(&self.subject.archive.bytes) {
            Ok(told) => told,
            Err(reason) => return finding(Level::Unknown, reason),
        };
        let inside = match subcharts::misfits(&self.subject.archive.bytes, &self.rendered.values) {
            Ok(inside) => inside,
            Err(reason) => return finding(Level::Unknown, reason),
        };
        let fit = match (told.check(&self.rendered.values), inside.is_empty()) {
            (fit, true) => fit,
            (Fit::Not(own), false) => Fit::Not(own.into_iter().chain(inside).collect()),
            (_, false) => Fit::Not(inside),
        };
        match fit {
            Fit::NoSchema => {
                finding(Level::Unknown, "the chart does not say what its values have to be".to_owned())
            }
            Fit::Fits => finding(Level::Passed, "the values fit the chart".to_owned()),
            Fit::Unusable(why) => {
                finding(Level::Unknown, format!("the chart's values.schema.json cannot be used: {why}"))
            }
            Fit::Not(problems) => {
                let told: Vec<String> = problems.iter().map(|misfit| self.misfit(misfit)).collect();
                finding(Level::Refused, format!("the values do not fit the chart: {}", told.join("; ")))
            }
        }
    }

    /// What is wrong with a value, and who says it.
    fn misfit(&self, misfit: &Misfit) -> String {
        let layer = hidden::strongest(&self.subject.layers, &misfit.keys);
        match layer.filter(|_| !misfit.keys.is_empty()) {
            Some(layer) => format!("{} (from {})", misfit.text, layer.origin()),
            None => misfit.text.clone(),
        }
    }

    /// The namespaces that are there, of all that objects would be in.
    async fn namespaces(&self, manifests: &[Value]) -> Result<BTreeSet<String>, Trouble> {
        let mut wanted: BTreeSet<String> =
            manifests.iter().filter_map(|manifest| ObjectRef::of(manifest)?.namespace).collect();
        wanted.insert(made(self.subject).namespace.clone());
        let mut there = BTreeSet::new();
        for name in wanted {
            if self.api.find(&format!("/api/v1/namespaces/{name}")).await?.is_some() {
                there.insert(name);
            }
        }
        Ok(there)
    }

    /// The kinds of hooks, and where they run. Tests are run by nobody here.
    async fn hooks(&self, ground: &Ground<'_>) -> Result<Vec<(Kind, Option<String>)>, Trouble> {
        let mut hooks = BTreeSet::new();
        for hook in &self.rendered.hooks {
            let is_test =
                annotation(&hook.value, "helm.sh/hook").is_some_and(|when| when.starts_with("test"));
            if is_test {
                continue;
            }
            if let Some((it, Some(kind))) = ground.place(&hook.value).await? {
                hooks.insert((kind, it.namespace));
            }
        }
        Ok(hooks.into_iter().collect())
    }
}

/// The CRDs that come with the version, by group and kind.
fn coming(crds: &[Value]) -> BTreeMap<(String, String), Crd> {
    let read = crds.iter().filter_map(|crd| Crd::from_value(crd.clone()).ok());
    read.map(|crd| ((crd.group().to_owned(), crd.kind().to_owned()), crd)).collect()
}
