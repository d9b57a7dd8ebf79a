//! The profiles that come with Slipway: those of its own operators.

use serde_json::json;

use super::Profile;

/// The charts that have one.
pub(super) const CHARTS: &[&str] = &["application-operator"];

pub(super) fn of(chart: &str) -> Option<Profile> {
    let document = match chart {
        "application-operator" => json!({
            "handover": "standby",
            "lease": { "name": "application-operator-leader" },
            "smokeTest": {
                // Without pods: a cluster need not be able to pull an image for it.
                "object": application("slipway-smoke-test", 0),
                "condition": "Ready",
                "within": "PT2M",
            },
            "webhookSample": application("slipway-webhook-sample", 1),
            // Definition and registrations are part of it: both stay with the first colour until the switch.
            "colouredValues": { "group": "$(colour)", "standby": true },
        }),
        _ => return None,
    };
    Profile::parse(&document).ok()
}

/// An Application that the default policies take.
fn application(name: &str, replicas: u32) -> serde_json::Value {
    json!({
        "apiVersion": "cloudnative.elide.dev/v1",
        "kind": "Application",
        "metadata": { "name": name },
        "spec": { "image": "docker.io/library/nginx:1.27", "replicas": replicas },
    })
}
