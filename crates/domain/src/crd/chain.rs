//! The schemas of one CRD in the order of the operator's versions, and what follows for each from those
//! before it. Versions are stored in any order, so everything is worked out again when one comes between.

use super::{CrdApproval, SchemaVersion, Step, StoredCrd};
use crate::version::Version;

/// Puts a chain in order and works out numbers, approvals, and which one is current.
///
/// The steps must be those between neighbours in the order of versions; [`order`] gives it.
pub fn settle(chain: &mut [StoredCrd]) {
    order(chain);
    let mut before: Option<(SchemaVersion, CrdApproval)> = None;
    for crd in chain.iter_mut() {
        match &before {
            None => {
                crd.schema_version = SchemaVersion::FIRST;
                if crd.approval == CrdApproval::Pending {
                    crd.approval = CrdApproval::NotRequired;
                }
            }
            Some((number, approval)) => {
                crd.schema_version = number.after(crd.step);
                crd.approval = approval_after(approval, crd);
            }
        }
        before = Some((crd.schema_version, crd.approval.clone()));
    }
    let current = current_of(chain.iter().map(|crd| &crd.operator_version));
    for (index, crd) in chain.iter_mut().enumerate() {
        crd.current = Some(index) == current;
    }
}

/// Puts a chain in the order of versions; those that are equal in meaning by how they are written.
pub fn order(chain: &mut [StoredCrd]) {
    chain.sort_by(|a, b| {
        let (a, b) = (&a.operator_version, &b.operator_version);
        a.cmp(b).then_with(|| a.as_str().cmp(b.as_str()))
    });
}

/// An approval that was given stays. A schema that breaks, or stands on one that nobody agreed to, waits;
/// one that is the same as one that was agreed to needs nobody.
fn approval_after(before: &CrdApproval, crd: &StoredCrd) -> CrdApproval {
    if let CrdApproval::Approved { .. } = crd.approval {
        return crd.approval.clone();
    }
    match (crd.step, before) {
        (Step::Breaking, _) | (_, CrdApproval::Pending) => CrdApproval::Pending,
        (Step::Same, CrdApproval::Approved { .. }) => before.clone(),
        _ => CrdApproval::NotRequired,
    }
}

/// The newest release, or the newest at all where there is no release yet; of versions in order.
pub fn current_of<'a>(versions: impl Iterator<Item = &'a Version>) -> Option<usize> {
    let versions: Vec<&Version> = versions.collect();
    versions.iter().rposition(|version| !version.is_prerelease()).or_else(|| versions.len().checked_sub(1))
}

/// From which version on a CRD is gone: the first release after its last that was looked at whole, if the
/// newest of those does not have it either.
pub fn removed_in(has: &[Version], looked_at: &[Version]) -> Option<Version> {
    let last = has.iter().max()?;
    looked_at.iter().filter(|version| !version.is_prerelease() && *version > last).min().cloned()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::crd::ContentHash;
    use crate::id::CrdId;

    fn crd(version: &str, step: Step) -> StoredCrd {
        StoredCrd {
            id: CrdId(Uuid::nil()),
            name: "widgets.example.com".to_owned(),
            group: "example.com".to_owned(),
            versions: vec!["v1".to_owned()],
            scope: "Namespaced".to_owned(),
            operator: "widgets".parse().unwrap(),
            operator_version: version.parse().unwrap(),
            content: ContentHash::of(&json!({})),
            schema_version: SchemaVersion::FIRST,
            step,
            approval: CrdApproval::NotRequired,
            deprecation: None,
            removed_in: None,
            current: false,
            recorded_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn told(chain: &[StoredCrd]) -> Vec<String> {
        chain
            .iter()
            .map(|crd| {
                let current = if crd.current { " current" } else { "" };
                format!("{} {} {}{current}", crd.operator_version, crd.schema_version, crd.approval.as_str())
            })
            .collect()
    }

    #[test]
    fn numbers_and_approvals_follow_the_steps() {
        let mut chain = vec![
            crd("1.2.0", Step::Same),
            crd("1.0.0", Step::First),
            crd("1.1.0", Step::Breaking),
            crd("1.3.0", Step::Compatible),
            crd("2.0.0-rc.1", Step::Compatible),
        ];
        settle(&mut chain);
        assert_eq!(
            told(&chain),
            [
                "1.0.0 1.0 NotRequired",
                "1.1.0 2.0 Pending",
                "1.2.0 2.0 Pending",
                "1.3.0 2.1 Pending current",
                "2.0.0-rc.1 2.2 Pending",
            ]
        );
        let agreed = CrdApproval::Approved { by: "ada".to_owned(), at: Timestamp::UNIX_EPOCH };
        chain[1].approval = agreed.clone();
        settle(&mut chain);
        assert_eq!(chain[2].approval, agreed, "the same schema needs nobody again");
        assert_eq!(chain[3].approval, CrdApproval::NotRequired);
    }

    #[test]
    fn a_prerelease_is_current_only_while_there_is_no_release() {
        let mut chain = vec![crd("1.0.0-rc.1", Step::First), crd("1.0.0-rc.2", Step::Same)];
        settle(&mut chain);
        assert!(chain[1].current && !chain[0].current);
        chain.push(crd("0.9.0", Step::First));
        settle(&mut chain);
        assert!(chain[0].current && !chain[2].current);
    }

    #[test]
    fn a_crd_is_removed_by_the_first_release_without_it() {
        let versions =
            |texts: &[&str]| -> Vec<Version> { texts.iter().map(|text| text.parse().unwrap()).collect() };
        let has = versions(&["1.0.0", "1.1.0"]);
        assert_eq!(removed_in(&has, &versions(&["1.0.0", "1.1.0"])), None);
        assert_eq!(removed_in(&has, &versions(&["1.2.0-rc.1"])), None, "a release candidate decides nothing");
        let gone = removed_in(&has, &versions(&["1.1.0", "1.3.0", "1.2.0"])).unwrap();
        assert_eq!(gone.as_str(), "1.2.0");
        assert_eq!(removed_in(&versions(&["1.4.0"]), &versions(&["1.1.0", "1.3.0"])), None);
    }
}
