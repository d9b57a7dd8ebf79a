//! The step from version to version, and whether it can be taken back.

use slipway_domain::preflight::{CheckKind, Finding, Level, Return};
use slipway_domain::profile::Profile;
use slipway_domain::version::Version;

/// What a profile says of the step.
pub(super) fn findings(profile: &Profile, from: Option<&Version>, to: &Version) -> Vec<Finding> {
    let finding = |level, text: String| vec![Finding::new(CheckKind::UpgradePath, level, text)];
    let Some(from) = from else {
        return finding(Level::Passed, format!("{to} is installed anew"));
    };
    if to < from {
        return match profile.one_way(to, from) {
            Some(version) => finding(
                Level::Refused,
                format!("{from} cannot go back to {to}: {version} cannot be left downwards"),
            ),
            None => finding(
                Level::Warning,
                format!(
                    "this goes back from {from} to {to}: what the newer one wrote, the older may not know"
                ),
            ),
        };
    }
    match profile.allows(from, to) {
        Err(refusal) => finding(Level::Refused, refusal.to_string()),
        Ok(()) if from == to => finding(Level::Passed, format!("{to} stays")),
        Ok(()) => finding(Level::Passed, format!("{from} may go to {to}")),
    }
}

/// Whether it can be taken back, of what profile and CRDs say.
pub(super) fn back(
    profile: &Profile,
    from: Option<&Version>,
    to: &Version,
    crds: Return,
    reasons: &[String],
) -> (Return, Finding) {
    let finding = |level, text: String| Finding::new(CheckKind::Return, level, text);
    if let Some(version) = from.and_then(|from| profile.one_way(from, to)) {
        let text = format!("{version} cannot be left downwards: this way has no return");
        return (Return::OneWay, finding(Level::Warning, text));
    }
    let why = reasons.join("; ");
    let found = match crds {
        Return::Reversible => finding(Level::Passed, "it can be taken back".to_owned()),
        Return::AfterMigration => finding(
            Level::Warning,
            format!("it can be taken back; newer CRDs stay then, unless stored objects are rewritten: {why}"),
        ),
        Return::OneWay => finding(Level::Warning, format!("it cannot be taken back: {why}")),
    };
    (crds, found)
}

#[cfg(test)]
mod tests {
    use slipway_domain::profile::{Upgrade, UpgradePath};

    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn steps_are_judged_up_and_down() {
        let upgrade = Upgrade { path: UpgradePath::NoSkippedMinor, one_way: vec![version("1.2.0")] };
        let profile = Profile { upgrade, ..Profile::default() };
        let level = |from: Option<&str>, to: &str| {
            findings(&profile, from.map(version).as_ref(), &version(to))[0].level
        };
        assert_eq!(level(None, "1.3.0"), Level::Passed);
        assert_eq!(level(Some("1.1.0"), "1.2.0"), Level::Passed);
        assert_eq!(level(Some("1.1.0"), "1.3.0"), Level::Refused);
        assert_eq!(level(Some("1.1.5"), "1.1.0"), Level::Warning);
        assert_eq!(level(Some("1.3.0"), "1.1.0"), Level::Refused);
        let back = |from: &str, to: &str| {
            back(&profile, Some(&version(from)), &version(to), Return::Reversible, &[]).0
        };
        assert_eq!(back("1.1.0", "1.2.0"), Return::OneWay);
        assert_eq!(back("1.2.0", "1.3.0"), Return::Reversible);
    }
}
