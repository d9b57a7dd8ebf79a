//! Whether the values of a chart's subcharts fit what those say about theirs.
//!
//! A subchart that is switched off by its condition or its tags is not asked, as helm does not.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use serde_json::{Map, Value};

use super::values::{Fit, Misfit, Told, merged};

/// The largest file that is read.
const LARGEST: u64 = 8 << 20;

/// Charts inside charts that are looked into.
const DEEPEST: usize = 8;

/// A chart and those inside it, by their folders.
#[derive(Debug, Default)]
struct Tree {
    metadata: Value,
    defaults: Map<String, Value>,
    schema: Option<Value>,
    inside: BTreeMap<String, Tree>,
}

/// What does not fit a subchart, with its path from the top; nothing where all fit, or say nothing.
pub(super) fn misfits(archive: &[u8], values: &Map<String, Value>) -> Result<Vec<Misfit>, String> {
    let tree = Tree::read(archive, DEEPEST)?;
    let mut found = Vec::new();
    tree.check(&merged(&tree.defaults, values), &mut Vec::new(), &mut found);
    Ok(found)
}

impl Tree {
    fn read(archive: &[u8], deepest: usize) -> Result<Self, String> {
        let broken = |error: std::io::Error| format!("the archive cannot be read: {error}");
        let mut tree = Self::default();
        for entry in tar::Archive::new(MultiGzDecoder::new(archive)).entries().map_err(broken)? {
            let mut entry = entry.map_err(broken)?;
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let Some((_, file)) = path.trim_start_matches("./").split_once('/') else { continue };
            let wanted = ["Chart.yaml", "values.yaml", "values.schema.json"]
                .iter()
                .any(|name| file == *name || file.ends_with(&format!("/{name}")));
            let packed = file.starts_with("charts/") && file.strip_suffix(".tgz").is_some();
            if !wanted && !packed {
                continue;
            }
            let mut bytes = Vec::new();
            (&mut entry).take(LARGEST).read_to_end(&mut bytes).map_err(broken)?;
            tree.put(file, &bytes, deepest)?;
        }
        Ok(tree)
    }

    fn put(&mut self, file: &str, bytes: &[u8], deepest: usize) -> Result<(), String> {
        let document = || {
            let text = String::from_utf8_lossy(bytes);
            let read = slipway_manifests::read(&text).map_err(|error| format!("{file}: {error}"))?;
            Ok::<_, String>(read.into_iter().next().map(|document| document.value).unwrap_or_default())
        };
        match file {
            "Chart.yaml" => self.metadata = document()?,
            "values.yaml" => self.defaults = document()?.as_object().cloned().unwrap_or_default(),
            "values.schema.json" => {
                self.schema =
                    Some(serde_json::from_slice(bytes).map_err(|error| format!("{file}: {error}"))?);
            }
            _ => {
                let Some(rest) = file.strip_prefix("charts/").filter(|_| deepest > 0) else { return Ok(()) };
                match rest.split_once('/') {
                    Some((folder, rest)) => {
                        self.inside.entry(folder.to_owned()).or_default().put(rest, bytes, deepest - 1)?;
                    }
                    None => {
                        self.inside.insert(rest.to_owned(), Self::read(bytes, deepest - 1)?);
                    }
                }
            }
        }
        Ok(())
    }

    fn name(&self) -> &str {
        self.metadata.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Checks what is inside, with the values of this one.
    fn check(&self, values: &Map<String, Value>, at: &mut Vec<String>, found: &mut Vec<Misfit>) {
        for chart in self.inside.values() {
            for key in self.keys(chart, values) {
                let mut own = values.get(&key).and_then(Value::as_object).cloned().unwrap_or_default();
                if let Some(Value::Object(global)) = values.get("global") {
                    let below = own.get("global").and_then(Value::as_object).cloned().unwrap_or_default();
                    own.insert("global".to_owned(), Value::Object(merged(&below, global)));
                }
                at.push(key);
                if let Fit::Not(misfits) = Told::new(chart.defaults.clone(), chart.schema.clone()).check(&own)
                {
                    found.extend(misfits.into_iter().map(|misfit| Misfit {
                        keys: at.iter().cloned().chain(misfit.keys).collect(),
                        text: format!("{}.{}", at.join("."), misfit.text),
                    }));
                }
                chart.check(&merged(&chart.defaults, &own), at, found);
                at.pop();
            }
        }
    }

    /// Under which names a chart inside gets values, of those that are switched on.
    fn keys(&self, chart: &Self, values: &Map<String, Value>) -> Vec<String> {
        let all = self.metadata.get("dependencies").and_then(Value::as_array);
        let named: Vec<&Value> = all
            .into_iter()
            .flatten()
            .filter(|one| one.get("name").and_then(Value::as_str) == Some(chart.name()))
            .collect();
        if named.is_empty() {
            // One that is only laid there is always on.
            return vec![chart.name().to_owned()];
        }
        let text = |one: &Value, key: &str| one.get(key).and_then(Value::as_str).map(str::to_owned);
        let on = named.into_iter().filter(|one| is_on(one, values));
        on.filter_map(|one| text(one, "alias").or_else(|| text(one, "name"))).collect()
    }
}

/// Whether a dependency is switched on: its condition says so, else its tags do, else it is.
fn is_on(dependency: &Value, values: &Map<String, Value>) -> bool {
    let conditions = dependency.get("condition").and_then(Value::as_str).unwrap_or_default();
    let said = conditions.split(',').map(str::trim).filter(|path| !path.is_empty()).find_map(|path| {
        let mut value = None;
        let mut below = Some(values);
        for key in path.split('.') {
            value = below.and_then(|fields| fields.get(key));
            below = value.and_then(Value::as_object);
        }
        value.and_then(Value::as_bool)
    });
    let tags =
        dependency.get("tags").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let tags: Vec<bool> =
        tags.filter_map(|tag| values.get("tags").and_then(|tags| tags.get(tag)?.as_bool())).collect();
    said.unwrap_or_else(|| tags.is_empty() || tags.contains(&true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tree(alias: Option<&str>) -> Tree {
        let mut dependency = json!({"name": "keel", "condition": "keel.enabled", "tags": ["deep"]});
        if let Some(alias) = alias {
            dependency["alias"] = alias.into();
        }
        let schema = json!({"properties": {"depth": {"type": "integer"},
            "global": {"properties": {"sea": {"type": "string"}}}}});
        let keel = Tree {
            metadata: json!({"name": "keel"}),
            defaults: serde_json::from_value(json!({"depth": 1})).unwrap(),
            schema: Some(schema),
            ..Tree::default()
        };
        let metadata = json!({"name": "boats", "dependencies": [dependency]});
        Tree { metadata, inside: BTreeMap::from([("keel".to_owned(), keel)]), ..Tree::default() }
    }

    fn found(tree: &Tree, values: &Value) -> Vec<String> {
        let mut found = Vec::new();
        tree.check(values.as_object().unwrap(), &mut Vec::new(), &mut found);
        found.into_iter().map(|misfit| misfit.keys.join(".")).collect()
    }

    #[test]
    fn values_of_a_subchart_are_held_to_what_it_says() {
        let tree = tree(None);
        assert_eq!(found(&tree, &json!({})), Vec::<String>::new());
        assert_eq!(found(&tree, &json!({"keel": {"depth": "x"}})), ["keel.depth"]);
        assert_eq!(found(&tree, &json!({"global": {"sea": 1}})), ["keel.global.sea"]);
        assert_eq!(found(&tree, &json!({"keel": {"depth": "x", "enabled": false}})), Vec::<String>::new());
        let untagged = json!({"tags": {"deep": false}, "keel": {"depth": "x"}});
        assert_eq!(found(&tree, &untagged), Vec::<String>::new());
    }

    #[test]
    fn one_with_another_name_gets_the_values_of_that_name() {
        let tree = tree(Some("hull"));
        assert_eq!(found(&tree, &json!({"keel": {"depth": "x"}})), Vec::<String>::new());
        assert_eq!(found(&tree, &json!({"hull": {"depth": "x"}})), ["hull.depth"]);
    }
}
