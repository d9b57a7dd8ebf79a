//! The archives of an operator's versions: kept, so that going back needs no repository.

use serde_json::Value;
use slipway_domain::operator::Operator;
use slipway_domain::version::Version;

use super::access::problem;
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::charts::Archive;
use crate::ports::store::OperatorWrite;

impl Manager {
    /// The archive of a version: the one that is kept, else fetched, checked and kept.
    pub async fn operator_archive(&self, operator: &Operator, version: &Version) -> Result<Archive, Error> {
        let known = self.store().operator_versions(operator.id).await?;
        let known = known.into_iter().find(|known| known.offered.version == *version);
        if let Some(digest) = known.as_ref().and_then(|known| known.archive.clone()) {
            if let Some(bytes) = self.store().chart_archive(&digest).await? {
                return Ok(Archive { digest, bytes });
            }
            return Err(Error::new(
                Code::InternalError,
                format!("the archive {digest} of {} {version} is lost", operator.name),
            ));
        }
        let access = self.repository_access(operator).await?;
        let archive = self.parts.charts.pull(&operator.chart, &access, version).await.map_err(problem)?;
        if known.is_some() {
            let write = OperatorWrite::Archive {
                id: operator.id,
                version: version.clone(),
                digest: archive.digest.clone(),
                bytes: archive.bytes.clone(),
            };
            self.store().commit(Changeset::new().write(write)).await?;
        }
        Ok(archive)
    }
}

/// The names of definitions, in order.
pub(super) fn names_of(crds: &[Value]) -> Vec<String> {
    let mut names: Vec<String> = crds
        .iter()
        .filter_map(|crd| crd.pointer("/metadata/name").and_then(Value::as_str))
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}
