//! Writes the generated files of the operator and of the runtime's reference, or says which of them are out of date.

#[path = "generate/reference.rs"]
mod reference;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use slipway_application_operator::crd;
use slipway_runtime::crd::{Conversion, print_yaml};
use slipway_testkit::Program;

const CHART: &str = "charts/application-operator";

fn main() -> anyhow::Result<ExitCode> {
    let check = std::env::args().any(|argument| argument == "--check");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // The chart adds the conversion, which depends on the release.
    let definition = print_yaml(&[crd::definition(Conversion::None)?])?;
    let mut current = put(&root, &format!("{CHART}/files/applications.yaml"), &definition, check)?;
    current &= put(&root, "docs/reference/operator-settings.md", &reference::settings(), check)?;
    current &= put(&root, "docs/reference/runtime-metrics.md", &reference::metrics(), check)?;
    match Program::Helm4.find() {
        // Rendered from the chart as it is now, so after the definition.
        Ok(helm) if current || !check => {
            let manifests = rendered(&helm, &root.join(CHART))?;
            current &= put(&root, "deploy/application-operator.yaml", &manifests, check)?;
        }
        Ok(_) => {}
        Err(missing) => eprintln!("deploy/application-operator.yaml is left as it is: {missing}"),
    }
    Ok(if current { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes a file, or compares it; gives whether it was as it should be, or is now.
fn put(root: &Path, name: &str, text: &str, check: bool) -> anyhow::Result<bool> {
    let path = root.join(name);
    if fs::read_to_string(&path).is_ok_and(|now| now == text) {
        return Ok(true);
    }
    if check {
        eprintln!("{name} is out of date; run: cargo xtask generate");
        return Ok(false);
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(&path, text).with_context(|| format!("writing {name}"))?;
    println!("wrote {name}");
    Ok(true)
}

/// The chart with its defaults, as plain manifests.
fn rendered(helm: &Path, chart: &Path) -> anyhow::Result<String> {
    let output = Command::new(helm)
        .args(["template", "application-operator"])
        .arg(chart)
        // helm built from source takes itself for the client of a very old cluster.
        .args(["--namespace", "elide-system", "--kube-version", "1.33.0"])
        .output()
        .with_context(|| format!("running {}", helm.display()))?;
    if !output.status.success() {
        bail!("rendering the chart: {}", String::from_utf8_lossy(&output.stderr));
    }
    let head = "# The chart application-operator with its defaults. Create the namespace first:\n\
                #   kubectl create namespace elide-system\n";
    Ok(format!("{head}{}", String::from_utf8(output.stdout)?))
}
