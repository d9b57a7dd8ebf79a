//! How many objects there are, replaced as a whole, so that what is gone leaves no number behind.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

#[derive(Debug, Default)]
pub(super) struct ResourceCounts {
    kinds: Mutex<BTreeMap<String, Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    namespaces: BTreeMap<String, i64>,
    phases: BTreeMap<String, i64>,
}

impl ResourceCounts {
    pub(super) fn replace<N, P>(&self, kind: &str, objects: impl IntoIterator<Item = (N, Option<P>)>)
    where
        N: Into<String>,
        P: Into<String>,
    {
        let mut counts = Counts::default();
        for (namespace, phase) in objects {
            *counts.namespaces.entry(namespace.into()).or_default() += 1;
            if let Some(phase) = phase {
                *counts.phases.entry(phase.into()).or_default() += 1;
            }
        }
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner).insert(kind.to_owned(), counts);
    }
}

impl Collector for ResourceCounts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let mut family =
            |name: &str, help: &str, label: &str, select: fn(&Counts) -> &BTreeMap<String, i64>| {
                if kinds.values().all(|counts| select(counts).is_empty()) {
                    return Ok(());
                }
                let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
                for (kind, counts) in kinds.iter() {
                    for (value, count) in select(counts) {
                        let labels = [("kind", kind.as_str()), (label, value.as_str())];
                        ConstGauge::new(*count).encode(family.encode_family(&labels)?)?;
                    }
                }
                Ok(())
            };
        family("resource_count", "Objects by kind and namespace.", "namespace", |counts| &counts.namespaces)?;
        family("resource_phase_count", "Objects by kind and phase.", "phase", |counts| &counts.phases)
    }
}
