//! Random pairs of schemas and objects, the same for the same seed.
//!
//! Property tests, fuzzing, benches and the comparison with a real API server share them. Every schema is
//! one an API server accepts: structural, with valid defaults and cheap CEL rules.

use serde_json::{Value, json};

mod mutate;
mod objects;
mod random;
mod schemas;

pub use random::Random;

/// A definition and a changed one.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaPair {
    /// What both came from.
    pub seed: u64,
    /// The schema before, `openAPIV3Schema` of the only version.
    pub old: Value,
    /// The schema after.
    pub new: Value,
    /// What was done to it.
    pub changes: Vec<&'static str>,
}

impl SchemaPair {
    /// The pair of a seed.
    pub fn from_seed(seed: u64) -> SchemaPair {
        let mut random = Random::new(seed);
        let old = schemas::root(&mut random);
        let mut new = old.clone();
        let mut changes = Vec::new();
        let wanted = 1 + random.below(3);
        for _ in 0..wanted * 4 {
            if changes.len() >= wanted {
                break;
            }
            changes.extend(mutate::mutate(&mut random, &mut new));
        }
        SchemaPair { seed, old, new, changes }
    }

    /// The definition before.
    pub fn old_crd(&self) -> Value {
        definition(&self.old)
    }

    /// The definition after.
    pub fn new_crd(&self) -> Value {
        definition(&self.new)
    }

    /// Objects that mostly, but not always, fit the old schema.
    pub fn objects(&self, count: usize) -> Vec<Value> {
        let mut random = Random::new(self.seed ^ 0x0b1e_c757);
        (0..count).map(|index| objects::object(&mut random, &self.old, index)).collect()
    }
}

/// A definition whose only version has that schema.
pub fn definition(schema: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "samples.generated.example.com"},
        "spec": {
            "group": "generated.example.com",
            "names": {"kind": "Sample", "listKind": "SampleList", "plural": "samples", "singular": "sample"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}},
            }],
        },
    })
}

/// A definition as large as the largest people have: about `fields` fields in nested objects and lists,
/// with descriptions of the usual length.
pub fn large(fields: usize, changed: bool) -> Value {
    schemas::large(fields, changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admit::Validator;
    use crate::crd::Crd;

    #[test]
    fn the_same_seed_gives_the_same_pair() {
        assert_eq!(SchemaPair::from_seed(7), SchemaPair::from_seed(7));
        assert_eq!(SchemaPair::from_seed(7).objects(5), SchemaPair::from_seed(7).objects(5));
        assert_ne!(SchemaPair::from_seed(7), SchemaPair::from_seed(8));
    }

    #[test]
    fn every_pair_changes_something_and_can_be_judged() {
        let mut accepted = 0;
        for seed in 0..300 {
            let pair = SchemaPair::from_seed(seed);
            assert!(!pair.changes.is_empty(), "seed {seed}");
            let crd = Crd::from_value(pair.old_crd()).expect("a definition");
            let validator = Validator::new(&crd, "v1").expect("a schema");
            accepted += pair
                .objects(10)
                .iter()
                .filter(|object| validator.create(object).verdict.is_accepted())
                .count();
            let new = Crd::from_value(pair.new_crd()).expect("a definition");
            Validator::new(&new, "v1").expect("a schema");
        }
        assert!(accepted > 1000, "only {accepted} of 3000 objects fit their schema");
    }

    #[test]
    fn a_large_definition_has_the_size_asked_for() {
        let small = large(500, false).to_string().len();
        let twice = large(1000, false).to_string().len();
        assert!(twice > small * 3 / 2, "{small} and {twice}");
        assert_ne!(large(500, false), large(500, true));
    }
}
