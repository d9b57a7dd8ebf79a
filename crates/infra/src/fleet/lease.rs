//! The Lease that both colours of an operator elect their leader on: who is meant to lead, and who does.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use slipway_domain::profile::{Colour, Handover, Profile};
use slipway_orchestrator::ports::fleet::Subject;

use super::api::{Api, Trouble};
use super::definition::MANAGER;
use super::fault::Fault;

/// The annotation of a Lease that names the group which may lead; operators of another make do not know it, and
/// elect whoever comes first.
const PREFERRED: &str = "slipway.dev/preferred-group";

/// With less time than this left, waiting ends.
const SHORTEST: Duration = Duration::from_secs(1);

/// How long taking over may last at least, however short the lease is.
const LEAST: Duration = Duration::from_mins(1);

/// How long a lease lasts that does not say so.
const LASTS: Duration = Duration::from_secs(15);

/// A Lease that both colours share.
pub(crate) struct SharedLease {
    namespace: String,
    name: String,
}

impl SharedLease {
    /// The one that the profile names; nothing where the operator does not hand over by one.
    pub(crate) fn of(subject: &Subject) -> Option<Self> {
        let lease = subject.profile.lease.as_ref().filter(|_| {
            // A cold handover has only one of the two running at any time.
            subject.profile.handover == Handover::Standby
        })?;
        let namespace = lease.namespace.as_ref().unwrap_or(&subject.placement.release.namespace);
        Some(Self { namespace: namespace.clone(), name: lease.name.clone() })
    }

    fn path(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}", self.namespace, self.name)
    }

    /// Says which group may lead; anybody where none is named. Where there is no Lease, nothing is done.
    pub(crate) async fn prefer(&self, api: &Api, group: Option<&str>) -> Result<(), Fault> {
        let path = self.path();
        let Some(live) = api.find(&path).await? else { return Ok(()) };
        if super::object::annotation(&live, PREFERRED) == group {
            return Ok(());
        }
        let patch = json!({"metadata": {"annotations": {PREFERRED: group}}});
        match api.merge(&format!("{path}?fieldManager={MANAGER}"), &patch).await {
            Err(trouble) if !trouble.is_absence() => Err(trouble.into()),
            _ => Ok(()),
        }
    }

    /// Whether one of these pods leads. It fails once that was waited for since `begun` for too long.
    pub(crate) async fn is_taken(
        &self,
        api: &Api,
        pods: &[String],
        whose: &str,
        begun: Instant,
    ) -> Result<bool, Fault> {
        let live = api.find(&self.path()).await.map_err(|trouble| match trouble {
            Trouble::Late => Fault::Failed(self.not_taken(whose, None)),
            other => other.into(),
        })?;
        let holder = live.as_ref().and_then(holder);
        if holder.is_some_and(|holder| pods.iter().any(|pod| is_of(holder, pod))) {
            return Ok(true);
        }
        let lasts = live.as_ref().and_then(|live| live.pointer("/spec/leaseDurationSeconds")?.as_u64());
        let patience = LEAST.max(lasts.map_or(LASTS, Duration::from_secs).saturating_mul(4));
        if begun.elapsed() > patience || api.left() < SHORTEST {
            let found = live.is_some().then(|| holder.unwrap_or_default());
            return Err(Fault::Failed(self.not_taken(whose, found)));
        }
        Ok(false)
    }

    /// In words; `holder` is who holds it, empty for nobody, nothing where there is no Lease.
    fn not_taken(&self, whose: &str, holder: Option<&str>) -> String {
        let Self { namespace, name } = self;
        let found = match holder {
            None => "there is no such Lease".to_owned(),
            Some("") => "nobody holds it".to_owned(),
            Some(holder) => format!("{holder} holds it"),
        };
        format!(
            "no pod of {whose} took the Lease {namespace}/{name}, so nobody reconciles: {found}; see whether its \
             pods elect on this Lease, as the profile says"
        )
    }
}

/// Before a release is changed in place to one whose pods have no group: nobody of them might lead while one is
/// preferred. Whoever leads goes on.
pub(crate) async fn before_change(
    api: &Api,
    subject: &Subject,
    values: &Map<String, Value>,
) -> Result<(), Fault> {
    match in_place(subject) {
        Some(lease) if group(&subject.profile, values).is_none() => lease.prefer(api, None).await,
        _ => Ok(()),
    }
}

/// After it was changed to one whose pods have a group: they lead only while it is preferred.
pub(crate) async fn after_change(
    api: &Api,
    subject: &Subject,
    values: &Map<String, Value>,
) -> Result<(), Fault> {
    match (in_place(subject), group(&subject.profile, values)) {
        (Some(lease), Some(group)) => lease.prefer(api, Some(group)).await,
        _ => Ok(()),
    }
}

fn in_place(subject: &Subject) -> Option<SharedLease> {
    SharedLease::of(subject).filter(|_| subject.placement.beside.is_none())
}

fn holder(lease: &Value) -> Option<&str> {
    lease.pointer("/spec/holderIdentity").and_then(Value::as_str).filter(|holder| !holder.is_empty())
}

/// Whether a holder is a pod: operators put something of their own behind its name.
fn is_of(holder: &str, pod: &str) -> bool {
    holder.strip_prefix(pod).is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '-']))
}

/// The group that pods with these values are of: the colour whose values they have; none where they have those
/// of neither.
pub(crate) fn group(profile: &Profile, values: &Map<String, Value>) -> Option<&'static str> {
    let coloured = |colour: &Colour| {
        let wanted = profile.values_of(*colour);
        !wanted.is_empty() && holds(values, &wanted)
    };
    // Values that do not name their colour are the same for both, and tell nothing.
    if profile.values_of(Colour::Blue) == profile.values_of(Colour::Green) {
        return None;
    }
    [Colour::Blue, Colour::Green].into_iter().find(coloured).map(Colour::word)
}

fn holds(values: &Map<String, Value>, wanted: &Map<String, Value>) -> bool {
    wanted.iter().all(|(key, wanted)| match (values.get(key), wanted) {
        (Some(Value::Object(values)), Value::Object(wanted)) => holds(values, wanted),
        (found, wanted) => found == Some(wanted),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_told_by_the_name_of_its_pod() {
        assert!(is_of("boats-1-a", "boats-1-a") && is_of("boats-1-a_0f", "boats-1-a"));
        assert!(is_of("boats-1-a-00ff00ff", "boats-1-a") && !is_of("boats-1-ab", "boats-1-a"));
    }

    #[test]
    fn a_group_is_told_by_the_values_of_its_colour() {
        let profile = Profile {
            coloured_values: serde_json::from_value(json!({"group": "$(colour)", "a": {"standby": true}}))
                .unwrap(),
            ..Profile::default()
        };
        let of = |values: Value| group(&profile, values.as_object().unwrap());
        assert_eq!(of(json!({"group": "green", "a": {"standby": true, "b": 1}, "c": 2})), Some("green"));
        assert_eq!(of(json!({"group": "blue", "a": {"standby": true}})), Some("blue"));
        assert_eq!(of(json!({"group": "green"})), None);
        assert_eq!(group(&Profile::default(), &Map::new()), None);
    }
}
