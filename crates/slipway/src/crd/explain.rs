//! `slipway crd explain`.

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use slipway_crd_compat::rules;

use super::print::print;

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The finding's id, such as required-added; without one, all are listed.
    finding: Option<String>,
}

impl Explain {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let Some(id) = self.finding else {
            let lines = rules::all()
                .map(|rule| format!("{:34} {:9} {}\n", rule.id, rule.severity.as_str(), rule.title));
            print(&lines.collect::<String>())?;
            return Ok(ExitCode::SUCCESS);
        };
        let Some(rule) = rules::find(&id) else {
            let near = rules::similar(&id);
            let hint = if near.is_empty() {
                "list them with: slipway crd explain".to_owned()
            } else {
                format!("did you mean {}?", near.join(", "))
            };
            bail!("there is no finding {id:?}; {hint}");
        };
        print(&format!("{}\n", rules::explain(rule).trim_end()))?;
        Ok(ExitCode::SUCCESS)
    }
}
