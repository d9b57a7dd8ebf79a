//! What is asked of an Application before it is stored.

use std::sync::Arc;

use slipway_runtime::webhook::{Conversions, Denial, Mutate, Registration, Review, Validate, Verdict};
use tokio::sync::watch;

use crate::controller::FINALIZER;
use crate::conversion::{v1_to_v1beta1, v1beta1_to_v1};
use crate::crd::{Application, v1beta1};
use crate::policy::{self, Profile};

/// Holds Applications against the operator's rules, as they are at the moment.
#[derive(Debug, Clone)]
pub struct ApplicationPolicy {
    profile: watch::Receiver<Arc<Profile>>,
}

impl ApplicationPolicy {
    /// By these rules, which may change while the operator runs.
    pub fn new(profile: watch::Receiver<Arc<Profile>>) -> Self {
        Self { profile }
    }
}

impl Validate<Application> for ApplicationPolicy {
    async fn validate(&self, review: &Review<Application>) -> Verdict {
        let mut verdict = Verdict::new();
        let Some(app) = &review.object else { return verdict };
        let profile = Arc::clone(&self.profile.borrow());
        let findings = policy::check(app, &profile);
        // What is on its way out must be let go, whatever the rules say by now.
        if app.metadata.deletion_timestamp.is_none() {
            for denial in findings.denials {
                verdict.deny(denial.field, denial.message);
            }
        }
        for warning in findings.warnings {
            verdict.warn(warning);
        }
        verdict
    }
}

/// Fills in what an Application leaves out.
#[derive(Debug, Clone, Copy, Default)]
pub struct ApplicationDefaults;

impl Mutate<Application> for ApplicationDefaults {
    async fn mutate(&self, _: &Review<Application>, app: &mut Application) -> Result<(), Denial> {
        policy::defaults(app);
        Ok(())
    }
}

/// The defaulter, which adds the finalizer too: one write less for the controller.
pub fn defaulter() -> Registration {
    Registration::mutating::<Application>("application-defaulter", ApplicationDefaults)
        .with_finalizer(FINALIZER)
}

/// Goes between the versions of the kind.
pub fn conversions() -> Conversions {
    Conversions::hub::<Application>().typed(
        |old: v1beta1::Application| Ok::<_, std::convert::Infallible>(v1beta1_to_v1(&old)),
        |new: Application| Ok::<_, std::convert::Infallible>(v1_to_v1beta1(&new)),
    )
}
