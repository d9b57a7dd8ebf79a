//! `crdgen`: definitions written to a file, or compared with it.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use thiserror::Error;

use super::yaml::print_yaml;

/// Writes the operator's custom resource definitions as YAML.
///
/// Make it a subcommand of the operator: `Command::Crdgen(crdgen) => crdgen.run(&[definition()?])?`.
#[derive(Debug, Clone, Default, Args)]
pub struct Crdgen {
    /// Write to this file instead of the terminal.
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// Write nothing; fail when the file is out of date.
    #[arg(long, requires = "output")]
    pub check: bool,
}

/// Definitions that could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CrdgenError {
    /// A definition cannot be expressed.
    #[error("writing a definition as JSON")]
    Json(#[source] serde_json::Error),
    /// A definition cannot be expressed.
    #[error("writing a definition as YAML")]
    Yaml(#[source] serde_saphyr::ser::Error),
    /// The file cannot be written.
    #[error("writing {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The terminal cannot be written to.
    #[error("writing the definitions")]
    Output(#[source] io::Error),
    /// The file holds other definitions than the program.
    #[error("{} is out of date; write it again without --check", path.display())]
    Stale {
        /// The file.
        path: PathBuf,
    },
}

impl Crdgen {
    /// Writes or compares, as told on the command line.
    pub fn run(&self, crds: &[CustomResourceDefinition]) -> Result<(), CrdgenError> {
        let text = print_yaml(crds)?;
        let Some(path) = self.output.clone() else {
            return io::stdout().lock().write_all(text.as_bytes()).map_err(CrdgenError::Output);
        };
        if self.check {
            let now = fs::read_to_string(&path).unwrap_or_default();
            return if now == text { Ok(()) } else { Err(CrdgenError::Stale { path }) };
        }
        fs::write(&path, text).map_err(|source| CrdgenError::File { path, source })
    }
}
