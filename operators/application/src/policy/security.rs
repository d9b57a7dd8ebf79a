//! Which images may run.

use super::{Findings, ImageReference, Profile};
use crate::crd::Application;

const FIELD: &str = "spec.image";

pub(super) fn check(app: &Application, profile: &Profile, findings: &mut Findings) {
    let text = &app.spec.image;
    if text.trim().is_empty() {
        return; // the validator has said so
    }
    let image: ImageReference = match text.parse() {
        Ok(image) => image,
        Err(error) => return findings.deny(FIELD, format!("{text:?} is not an image reference: {error}")),
    };
    if let Some(blocked) = profile.blocked_images.iter().find(|blocked| blocked.covers(&image)) {
        findings.deny(FIELD, format!("{image} is blocked in this cluster (blockedImages: {blocked})"));
    }
    if !profile.allowed_registries.iter().any(|allowed| allowed.holds(&image)) {
        let allowed: Vec<String> = profile.allowed_registries.iter().map(ToString::to_string).collect();
        let message = format!("{image} is not from an allowed registry; allowed are: {}", allowed.join(", "));
        findings.deny(FIELD, message);
    }
    if image.digest().is_none() && image.tag().is_none_or(|tag| tag == "latest") {
        let what = if image.tag().is_none() { "has no tag, which means latest" } else { "is latest" };
        let message = format!("{text} {what}; what runs then changes without anybody asking for it");
        findings.react(profile.latest_tag, FIELD, &message);
    }
}
