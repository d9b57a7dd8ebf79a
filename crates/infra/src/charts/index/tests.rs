use super::*;

const INDEX: &str = "
apiVersion: v1
generated: 2024-01-01T00:00:00Z
entries:
  other:
    - version: 9.9.9
      urls: [a.tgz]
      anything: {deep: [1, 2, {x: y}]}
  greeter:
    - version: 1.10.0
      appVersion: 7.1
      created: 2024-05-06T07:08:09.123456789+02:00
      digest: AAAAaaaaAAAAaaaaAAAAaaaaAAAAaaaaAAAAaaaaAAAAaaaaAAAAaaaaAAAAaaaa
      urls: [charts/greeter-1.10.0.tgz]
      annotations:
        artifacthub.io/links: |
          - name: Release Notes
            url: https://example.com/notes
    - version: 1.9.0
      deprecated: true
      sources: ['javascript:alert(1)']
      urls: []
    - version: latest
";

#[test]
fn only_the_wanted_chart_is_kept_of_an_index() {
    let index = Index::read(INDEX, "greeter").unwrap();
    assert_eq!(index.names, ["other", "greeter"]);
    let offered: Vec<ChartVersion> = index.entries.unwrap().iter().filter_map(Entry::offered).collect();
    assert_eq!(offered.len(), 2, "a version that is none is left out");
    assert_eq!(offered[0].version.as_str(), "1.10.0");
    assert_eq!(offered[0].app_version.as_deref(), Some("7.1"));
    assert_eq!(offered[0].released_at.unwrap().to_string(), "2024-05-06T05:08:09.123456789Z");
    assert_eq!(offered[0].changelog_url.as_deref(), Some("https://example.com/notes"));
    assert_eq!(offered[0].digest.as_deref(), Some(&*format!("sha256:{}", "a".repeat(64))));
    assert!(offered[1].deprecated);
    assert_eq!(offered[1].changelog_url, None, "a browser must not be sent to a script");
}

#[test]
fn a_chart_that_is_not_there_leaves_the_names_of_the_others() {
    let index = Index::read(INDEX, "greeting").unwrap();
    assert_eq!(index.entries, None);
    assert_eq!(index.names.len(), 2);
    assert_eq!(Index::read("entries: {}", "x").unwrap().names.len(), 0);
    assert_eq!(Index::read("entries:\n", "x").unwrap().names.len(), 0);
}

#[test]
fn what_is_no_index_is_said_to_be_none() {
    for text in ["<html>", "- a", "apiVersion: v1", "entries: 7", "a: &a [1]\nentries: {x: *a}"] {
        assert!(Index::read(text, "x").is_err(), "{text}");
    }
}
