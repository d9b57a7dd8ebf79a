//! What was found on clusters before anything is changed, as people read it.

use std::fmt::Write as _;

use jiff::SignedDuration;
use slipway_contract::deployments::{
    DeploymentStrategy, DeploymentWave, DryRunCluster, DryRunReply, PreflightFate, PreflightFinding,
    PreflightLevel, PreflightReply, PreflightReturn, PreflightsReply,
};

use crate::cli::deployment::counted;

/// How wide labels are.
const LABEL: usize = 12;
/// So many objects are named.
const OBJECTS: usize = 5;

pub(super) fn dry_run(reply: &DryRunReply, all: bool) -> String {
    let strategy = match reply.strategy {
        DeploymentStrategy::Direct => "direct",
        DeploymentStrategy::Canary => "canary",
        DeploymentStrategy::Rolling => "rolling",
        DeploymentStrategy::BlueGreen => "blue-green",
    };
    let mut text = format!(
        "{} {}   {strategy} over {}   dry run: nothing is changed\n",
        reply.operator_name,
        reply.target_version,
        counted(reply.clusters.len(), "cluster")
    );
    for wave in &reply.waves {
        text.push_str(&wave_line(wave));
    }
    for one in &reply.clusters {
        text.push_str(&cluster(one, all));
    }
    text.push_str(&verdict(reply));
    text
}

fn wave_line(wave: &DeploymentWave) -> String {
    let names = if wave.clusters.len() > 6 {
        format!("{} and {} more", wave.clusters[..4].join(", "), wave.clusters.len() - 4)
    } else {
        wave.clusters.join(", ")
    };
    let soak = wave.soak.parse::<SignedDuration>().ok().filter(|soak| !soak.is_zero());
    let soak = soak.map(|soak| format!(", watched for {soak:#}")).unwrap_or_default();
    line(&format!("wave {}", wave.number), &format!("{names}   {}{soak}", wave.title))
}

fn cluster(one: &DryRunCluster, all: bool) -> String {
    match (&one.preflight, &one.error) {
        (Some(preflight), _) => format!("\n{}", preflight_of(&one.cluster_name, preflight, all)),
        (None, error) => {
            let why = error.as_deref().unwrap_or("it could not be looked at");
            format!("\n{}\n{}", one.cluster_name, line("unknown", why))
        }
    }
}

/// What was found on each cluster of a deployment.
pub(crate) fn found(reply: &PreflightsReply) -> String {
    if reply.clusters.is_empty() {
        return "no cluster was looked at yet\n".to_owned();
    }
    let each = reply.clusters.iter().map(|one| preflight_of(&one.cluster_name, &one.preflight, true));
    each.collect::<Vec<String>>().join("\n")
}

fn preflight_of(name: &str, preflight: &PreflightReply, all: bool) -> String {
    let step = match &preflight.from_version {
        Some(from) if *from == preflight.to_version => format!("{from}, the same version"),
        Some(from) => format!("{from} → {}", preflight.to_version),
        None => format!("{}, not installed yet", preflight.to_version),
    };
    let mut text = format!("{name}  {step}\n");
    let mut findings: Vec<&PreflightFinding> = preflight.findings.iter().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    let passed = findings.iter().filter(|finding| finding.level == PreflightLevel::Passed).count();
    for finding in findings.iter().filter(|finding| all || finding.level != PreflightLevel::Passed) {
        text.push_str(&finding_lines(finding));
    }
    if passed > 0 && !all {
        text.push_str(&line("passed", &counted(passed, "check")));
    }
    text.push_str(&changes(preflight, all));
    for crd in preflight.crds.iter().filter(|crd| all || !crd.breaking.is_empty() || !crd.risky.is_empty()) {
        let fate = crd.fate.map_or("stays", word);
        text.push_str(&line("CRD", &format!("{} {fate}", crd.name)));
        for (level, sentences) in [("breaking", &crd.breaking), ("risky", &crd.risky)] {
            for sentence in sentences {
                text.push_str(&line("", &format!("{level}: {sentence}")));
            }
        }
    }
    let back = match preflight.going_back {
        PreflightReturn::Reversible => "possible",
        PreflightReturn::AfterMigration => "only after stored objects were rewritten",
        PreflightReturn::OneWay => "impossible: this version is one-way",
    };
    text.push_str(&line("going back", back));
    if all {
        for value in &preflight.values {
            let shown = match &value.value {
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let document =
                value.document.as_ref().map(|name| format!(" (Values {name})")).unwrap_or_default();
            let told = format!("{} = {shown}   from {}{document}", value.path, value.source);
            text.push_str(&line("value", &told));
        }
    }
    text
}

fn finding_lines(finding: &PreflightFinding) -> String {
    let label = match finding.level {
        PreflightLevel::Passed => "passed",
        PreflightLevel::Unknown => "unknown",
        PreflightLevel::Warning => "warning",
        PreflightLevel::Refused => "refused",
    };
    let mut text = line(label, &format!("{}: {}", finding.check, finding.text));
    if !finding.objects.is_empty() {
        let shown = finding.objects.iter().take(OBJECTS).cloned().collect::<Vec<_>>().join(", ");
        let more = finding.objects.len().saturating_sub(OBJECTS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text.push_str(&line("", &format!("{shown}{more}")));
    }
    text
}

fn changes(preflight: &PreflightReply, all: bool) -> String {
    if preflight.changes.is_empty() {
        return line("changes", "none");
    }
    let fates = [PreflightFate::Created, PreflightFate::Changed, PreflightFate::Deleted];
    let count = |fate| preflight.changes.iter().filter(|change| change.fate == fate).count();
    let counts = fates.iter().map(|fate| (count(*fate), word(*fate))).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
    let hint = if all { "" } else { "   --all shows them" };
    let mut text = line("changes", &format!("{}{hint}", counts.join(", ")));
    for change in preflight.changes.iter().filter(|change| all || change.fate == PreflightFate::Deleted) {
        text.push_str(&line("", &format!("{} {}", word(change.fate), change.object)));
        for field in change.fields.iter().filter(|_| all) {
            text.push_str(&line("", &format!("  {field}")));
        }
    }
    text
}

fn word(fate: PreflightFate) -> &'static str {
    match fate {
        PreflightFate::Created => "created",
        PreflightFate::Changed => "changed",
        PreflightFate::Deleted => "deleted",
    }
}

fn verdict(reply: &DryRunReply) -> String {
    let named = |wanted: &dyn Fn(&DryRunCluster) -> bool| {
        let names: Vec<&str> =
            reply.clusters.iter().filter(|one| wanted(one)).map(|one| one.cluster_name.as_str()).collect();
        names.join(", ")
    };
    let refused = named(&|one| one.preflight.as_ref().is_some_and(|preflight| !preflight.fits));
    let away = named(&|one| one.preflight.is_none());
    let mut text = String::from("\n");
    let _ = match (refused.as_str(), away.as_str()) {
        ("", "") => writeln!(text, "Verdict     nothing stands in the way"),
        ("", away) => writeln!(text, "Verdict     could not look at {away}   exit 1"),
        (refused, "") => writeln!(text, "Verdict     refused on {refused}   exit 1"),
        (refused, away) => {
            writeln!(text, "Verdict     refused on {refused}; could not look at {away}   exit 1")
        }
    };
    text
}

fn line(label: &str, words: &str) -> String {
    let label = if label.is_empty() { " ".repeat(LABEL) } else { format!("{label:<LABEL$}") };
    format!("  {label}{}\n", words.replace(char::is_control, " ")).replace("  \n", "\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reply() -> DryRunReply {
        let wave = |number: u32, names: &[&str]| {
            json!({"number": number, "title": "10 % of all", "kind": "change", "state": "waiting",
                "clusters": names, "atOnce": 1, "soak": "PT5M"})
        };
        let preflight = |from: Option<&str>, findings: serde_json::Value| {
            json!({"checkedAt": "2026-11-15T12:00:00Z", "fromVersion": from, "toVersion": "v1.14.0",
                "fits": !findings.to_string().contains("refused"), "findings": findings,
                "changes": [
                    {"fate": "changed", "object": "Deployment cert-manager/controller",
                        "fields": ["spec.template.spec.containers[0].image: a:1 → a:2"]},
                    {"fate": "created", "object": "ConfigMap cert-manager/new", "fields": []}],
                "crds": [{"name": "certificates.cert-manager.io", "fate": "changed",
                    "breaking": [".spec.privateKey.rotationPolicy is now required"], "risky": []}],
                "goingBack": "afterMigration",
                "values": [
                    {"path": "image.tag", "value": "v1.14.0", "source": "deployment"},
                    {"path": "replicas", "value": 3, "source": "environment", "document": "certs-production"}],
                "digest": "sha256:1"})
        };
        let passed =
            json!({"check": "permitted", "level": "passed", "text": "every manifest", "objects": []});
        let refused = json!({"check": "CRDs", "level": "refused",
            "text": "7 objects would be refused; give them a rotationPolicy first",
            "objects": (1..=7).map(|number| format!("Certificate shop/{number}")).collect::<Vec<_>>()});
        let warning =
            json!({"check": "health", "level": "warning", "text": "1 pod restarts already", "objects": []});
        serde_json::from_value(json!({
            "operatorName": "cert-manager", "targetVersion": "v1.14.0", "strategy": "Canary", "settings": {},
            "waves": [wave(1, &["dev-1"]), wave(2, &["eu-1", "edge-3"])], "fits": false,
            "clusters": [
                {"clusterName": "dev-1", "fits": true,
                    "preflight": preflight(None, json!([passed, warning]))},
                {"clusterName": "eu-1", "fits": false,
                    "preflight": preflight(Some("v1.13.2"), json!([passed, refused]))},
                {"clusterName": "edge-3", "fits": false,
                    "error": "cannot be reached: connection timed out"},
            ],
        }))
        .unwrap()
    }

    #[test]
    fn a_dry_run_names_what_stands_in_the_way() {
        insta::assert_snapshot!(dry_run(&reply(), false));
    }

    #[test]
    fn everything_is_shown_where_somebody_asks() {
        insta::assert_snapshot!(dry_run(&reply(), true));
    }
}
