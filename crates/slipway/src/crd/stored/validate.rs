//! `slipway crd validate`.

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use slipway_contract::crds::{ValidateCrd, ValidateReply};
use slipway_crd_compat::crd::Crd;

use super::Whose;
use crate::cli::{Connection, OutputArgs};
use crate::crd::source::{Source, SourceOptions};

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// The name of the CRD.
    name: String,
    /// Where the new schema is: a file, a directory, - for standard input, a chart, or git:<ref>:<path>.
    new: String,
    /// The version of the operator that will bring it.
    #[arg(long, value_name = "VERSION")]
    operator_version: String,
    /// The Kubernetes version of the cluster it is for [default: the newest].
    #[arg(long, value_name = "VERSION")]
    kubernetes: Option<String>,
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    source: SourceOptions,
    #[command(flatten)]
    output: OutputArgs,
}

impl Validate {
    pub(crate) fn run(self, connection: &Connection) -> anyhow::Result<ExitCode> {
        let loaded = Source::parse(&self.new)?.load(&self.source)?;
        let Some(crd) = loaded.crds.iter().find(|crd| crd.name() == self.name) else {
            let names: Vec<&str> = loaded.crds.iter().map(Crd::name).collect();
            bail!("{} does not define {}, but {}", self.new, self.name, names.join(", "));
        };
        let body = ValidateCrd {
            new_schema_definition: crd.raw().clone(),
            new_operator_version: self.operator_version,
            operator_name: self.whose.operator,
            kubernetes_version: self.kubernetes,
        };
        let mut compatible = true;
        connection.run(self.output, async |session| {
            let verdict = session.client.validate_crd(&self.name, &body).await?;
            compatible = verdict.is_compatible;
            session.show(&verdict, |verdict| people(&self.name, verdict))
        })?;
        Ok(if compatible { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

fn people(name: &str, verdict: &ValidateReply) -> String {
    let mut text = format!("{name}  against {}\n", verdict.compared_with);
    let mut safe = 0;
    for finding in &verdict.findings {
        if finding.severity == "safe" {
            safe += 1;
            continue;
        }
        text.push_str(&format!("  {:9} {}\n", finding.severity, finding.message));
        match &finding.waived_by {
            Some(waived) => text.push_str(&format!(
                "            accepted by {} until {}: {}\n",
                waived.who, waived.expires, waived.reason
            )),
            None => text.push_str(&format!("            {}\n", finding.remedy)),
        }
        for reason in finding.witness.iter().flat_map(|witness| &witness.reasons) {
            text.push_str(&format!("            │ {reason}\n"));
        }
    }
    if safe > 0 {
        let what = if safe == 1 { "difference" } else { "differences" };
        text.push_str(&format!("  safe      {safe} {what}; -o json shows all\n"));
    }
    if verdict.findings.is_empty() {
        text.push_str("  safe      no difference that matters\n");
    }
    text.push_str(&format!("\nGoing back  {}", verdict.rollback.verdict.replace('-', " ")));
    if let Some(reason) = verdict.rollback.reasons.first() {
        text.push_str(&format!(": {reason}"));
    }
    let judged = if verdict.is_compatible { "compatible" } else { "breaking: an admin has to agree" };
    text.push_str(&format!("\nVerdict     {judged}\n"));
    text
}
