//! The code in the guides, which compiles and does what they say.

macro_rules! guides {
    ($($name:ident $file:literal;)*) => {
        $(
            #[doc = include_str!(concat!("../../../docs/guide/operators/", $file))]
            struct $name;
        )*
    };
}

guides! {
    Webhooks "webhooks.md";
    LeaderElection "leader-election.md";
    Metrics "metrics.md";
    Events "events.md";
    Testing "testing.md";
}
