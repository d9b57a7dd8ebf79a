//! How long comparisons take: a pair as large as the largest people have, and many small ones.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::generate::{SchemaPair, large};
use slipway_crd_compat::options::Options;
use slipway_crd_compat::{compare, compare_sets};

fn comparisons(c: &mut Criterion) {
    let options = Options::default();
    for (name, fields) in [("1000 fields", 1000), ("4000 fields", 4000)] {
        let (Ok(old), Ok(new)) =
            (Crd::from_value(large(fields, false)), Crd::from_value(large(fields, true)))
        else {
            continue;
        };
        c.bench_function(&format!("compare, {name}"), |b| {
            b.iter(|| black_box(compare(&old, &new, &options)));
        });
        c.bench_function(&format!("compare, {name}, equal"), |b| {
            b.iter(|| black_box(compare(&old, &old, &options)));
        });
    }
    let pairs: Vec<SchemaPair> = (0..500).map(SchemaPair::from_seed).collect();
    let crds = |side: fn(&SchemaPair) -> serde_json::Value| -> Vec<Crd> {
        pairs.iter().filter_map(|pair| Crd::from_value(side(pair)).ok()).collect()
    };
    let (old, new) = (crds(SchemaPair::old_crd), crds(SchemaPair::new_crd));
    c.bench_function("compare, 500 small pairs", |b| {
        b.iter(|| {
            old.iter().zip(&new).map(|(old, new)| compare(old, new, &options).findings.len()).sum::<usize>()
        });
    });
    c.bench_function("compare_sets, 1 pair", |b| {
        b.iter(|| {
            old.first().zip(new.first()).map(|(old, new)| {
                compare_sets(std::slice::from_ref(old), std::slice::from_ref(new), &options)
            })
        });
    });
}

criterion_group!(benches, comparisons);
criterion_main!(benches);
