//! Conditions as Kubernetes means them: a transition time moves only with the status.
