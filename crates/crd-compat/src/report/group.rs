//! The same change at many places is one thing to read.

use crate::finding::{Finding, Severity};

/// Findings that say the same about different places.
#[derive(Debug, Clone, PartialEq)]
pub struct Group<'r> {
    /// The one that stands for all: with a witness, if any has one.
    pub first: &'r Finding,
    /// The others.
    pub others: Vec<&'r Finding>,
}

impl Group<'_> {
    /// How many places there are.
    pub fn places(&self) -> usize {
        self.others.len() + 1
    }
}

/// Puts findings of one severity that say the same into groups, in the order they first occur.
pub fn groups(findings: &[Finding], severity: Severity) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut index = std::collections::HashMap::new();
    for finding in findings.iter().filter(|finding| finding.counts() && finding.severity == severity) {
        let key = (finding.id, finding.version.as_deref(), what(finding), field(&finding.path));
        let Some(group) = index.get(&key).and_then(|at: &usize| groups.get_mut(*at)) else {
            index.insert(key, groups.len());
            groups.push(Group { first: finding, others: Vec::new() });
            continue;
        };
        if group.first.witness.is_none() && finding.witness.is_some() {
            group.others.push(std::mem::replace(&mut group.first, finding));
        } else {
            group.others.push(finding);
        }
    }
    groups
}

/// What happened, without where.
fn what(finding: &Finding) -> &str {
    finding.headline.strip_prefix(finding.path.as_str()).unwrap_or(&finding.headline)
}

/// The last field of a path.
fn field(path: &str) -> &str {
    let path = path.trim_end_matches("[]").trim_end_matches(".*");
    path.rsplit('.').next().unwrap_or(path)
}
