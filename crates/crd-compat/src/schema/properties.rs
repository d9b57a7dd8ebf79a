//! The properties of an object schema.

use super::Schema;

/// Named schemas, sorted by name.
///
/// A sorted vector takes the space of its entries and no more; with thousands of small objects in one
/// schema, the nodes of a B-tree would cost several times that.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Properties {
    entries: Vec<(String, Schema)>,
}

impl Properties {
    /// The schema of a property.
    pub fn get(&self, name: &str) -> Option<&Schema> {
        let index = self.entries.binary_search_by(|(key, _)| key.as_str().cmp(name)).ok()?;
        self.entries.get(index).map(|(_, schema)| schema)
    }

    /// Whether there is a property of that name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Every property, by name.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Schema)> + ExactSizeIterator {
        self.entries.iter().map(|(name, schema)| (name.as_str(), schema))
    }

    /// Every name, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.entries.iter().map(|(name, _)| name.as_str())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Schema)> {
        self.entries.iter_mut().map(|(name, schema)| (name.as_str(), schema))
    }
}

impl FromIterator<(String, Schema)> for Properties {
    fn from_iter<I: IntoIterator<Item = (String, Schema)>>(entries: I) -> Properties {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        entries.dedup_by(|(a, _), (b, _)| a == b);
        entries.shrink_to_fit();
        Properties { entries }
    }
}
