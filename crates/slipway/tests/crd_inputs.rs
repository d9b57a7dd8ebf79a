//! `slipway crd diff` and what it reads: friends first, then foes.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use slipway_testkit::charts::ChartBuilder;
use slipway_testkit::git::GitRepository;
use slipway_testkit::{Program, Scratch, scratch};

fn slipway(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slipway"));
    command.args(arguments).env("HELM", Program::Helm4.find().unwrap());
    command
}

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    told(&slipway(arguments).stdin(Stdio::null()).output().unwrap())
}

fn told(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A CRD whose spec has one property, with or without it being required.
fn crd(kind: &str, required: bool) -> String {
    let plural = format!("{}s", kind.to_lowercase());
    let required = if required { "\n            required: [hull]" } else { "" };
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {plural}.example.test
spec:
  group: example.test
  scope: Namespaced
  names: {{plural: {plural}, singular: {}, kind: {kind}}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object{required}
            properties:
              hull: {{type: string}}
",
        kind.to_lowercase()
    )
}

fn files(contents: &[(&str, &str)]) -> Scratch {
    let directory = scratch("crds").unwrap();
    for (name, content) in contents {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    directory
}

fn at(directory: &Scratch, name: &str) -> String {
    directory.path().join(name).display().to_string()
}

#[test]
fn a_breaking_change_is_shown_with_an_object_and_exit_code_1() {
    let directory = files(&[("old.yaml", &crd("Boat", false)), ("new.yaml", &crd("Boat", true))]);
    let (code, out, err) = run(&["crd", "diff", &at(&directory, "old.yaml"), &at(&directory, "new.yaml")]);
    assert_eq!((code, err.as_str()), (Some(1), ""));
    insta::assert_snapshot!(out);
}

#[test]
fn no_change_is_exit_code_0_and_going_back_is_a_change_too() {
    let directory = files(&[("old.yaml", &crd("Boat", false)), ("new.yaml", &crd("Boat", true))]);
    let (old, new) = (at(&directory, "old.yaml"), at(&directory, "new.yaml"));
    assert_eq!(run(&["crd", "diff", &old, &old]).0, Some(0));
    assert_eq!(run(&["crd", "diff", &new, &old]).0, Some(0));
}

#[test]
fn directories_lists_and_other_objects_are_read_and_crds_paired_by_name() {
    let list = format!(
        "kind: List\napiVersion: v1\nitems:\n- {}",
        crd("Boat", true).trim_end().replace('\n', "\n  ")
    );
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: x}\n";
    let directory = files(&[
        ("old/boat.yaml", &crd("Boat", false)),
        ("old/deep/raft.yml", &crd("Raft", false)),
        ("old/.hidden/odd.yaml", "{"),
        ("old/readme.txt", "{"),
        ("new/all.yaml", &format!("{list}\n---\n{service}---\n{}", crd("Ship", false))),
    ]);
    let (code, out, _) =
        run(&["crd", "diff", &at(&directory, "old"), &at(&directory, "new"), "--output", "json"]);
    assert_eq!(code, Some(1));
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let names: Vec<_> =
        report["crds"].as_array().unwrap().iter().map(|crd| crd["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["boats.example.test", "ships.example.test", "rafts.example.test"]);
}

#[test]
fn every_output_is_well_formed() {
    let directory = files(&[("old.yaml", &crd("Boat", false)), ("new.yaml", &crd("Boat", true))]);
    let (old, new) = (at(&directory, "old.yaml"), at(&directory, "new.yaml"));
    let output = |format: &str| run(&["crd", "diff", &old, &new, "-o", format]).1;
    let json: serde_json::Value = serde_json::from_str(&output("json")).unwrap();
    assert_eq!(json["verdict"], "breaking");
    let finding = &json["crds"][0]["findings"][0];
    for field in
        ["id", "severity", "version", "path", "old", "new", "message", "remedy", "witness", "waivedBy"]
    {
        assert!(finding.get(field).is_some(), "{field} in {finding:#}");
    }
    let sarif: serde_json::Value = serde_json::from_str(&output("sarif")).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(sarif["runs"][0]["results"][0]["level"], "error");
    assert!(output("markdown").contains("boats.example.test"));
    assert!(output("junit").starts_with("<?xml"));
}

#[test]
fn standard_input_is_a_source_but_only_once() {
    let directory = files(&[("old.yaml", &crd("Boat", false))]);
    let mut child = slipway(&["crd", "diff", &at(&directory, "old.yaml"), "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(crd("Boat", true).as_bytes()).unwrap();
    assert_eq!(told(&child.wait_with_output().unwrap()).0, Some(1));
    let (code, _, err) = run(&["crd", "diff", "-", "-"]);
    assert_eq!((code, err.as_str()), (Some(2), "error: standard input can be OLD or NEW, not both\n"));
}

#[test]
fn charts_are_read_packed_or_not_and_rendered_where_templates_make_crds() {
    let plain = ChartBuilder::new("fleet", "1.0.0").crd("boat.yaml", &crd("Boat", false)).build().unwrap();
    let template = format!("{{{{- if .Values.crds.enabled }}}}\n{}{{{{- end }}}}\n", crd("Boat", true));
    let templated = ChartBuilder::new("fleet", "2.0.0")
        .values("crds: {enabled: false}\n")
        .template("crd.yaml", &template)
        .build()
        .unwrap();
    let directory = scratch("charts").unwrap();
    let old = plain.write_to(directory.path()).unwrap();
    let new = templated.write_to(directory.path()).unwrap();
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
    let (code, _, err) = run(&["crd", "diff", old, new]);
    assert_eq!(code, Some(2));
    assert!(err.contains("--set crds.enabled=true"), "{err}");
    assert_eq!(run(&["crd", "diff", old, new, "--set", "crds.enabled=true"]).0, Some(1));

    let unpacked = directory.path().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    assert!(Command::new("tar").args(["-xzf", old, "-C"]).arg(&unpacked).status().unwrap().success());
    assert_eq!(run(&["crd", "diff", old, unpacked.join("fleet").to_str().unwrap()]).0, Some(0));

    let empty = ChartBuilder::new("empty", "1.0.0").build().unwrap().write_to(directory.path()).unwrap();
    let (code, _, err) = run(&["crd", "diff", old, empty.to_str().unwrap()]);
    assert_eq!(code, Some(2));
    assert!(err.contains("brings no CRDs"), "{err}");
    fs::write(directory.path().join("broken.tgz"), b"\x1f\x8b\x08 this is no archive").unwrap();
    let (code, _, err) = run(&["crd", "diff", old, directory.path().join("broken.tgz").to_str().unwrap()]);
    assert_eq!(code, Some(2));
    assert!(err.contains("broken.tgz is not a packed chart"), "{err}");
}

#[tokio::test]
async fn git_commits_are_compared_without_touching_the_work_tree() {
    let repository = GitRepository::new().await.unwrap();
    let (old, new) = (crd("Boat", false), crd("Boat", true));
    repository.commit([("config/crd/boat.yaml", old.as_str())], "one").await.unwrap();
    repository.tag("v1").await.unwrap();
    repository.commit([("config/crd/boat.yaml", new.as_str())], "two").await.unwrap();
    let run = |arguments: &[&str]| {
        told(&slipway(arguments).current_dir(repository.path()).stdin(Stdio::null()).output().unwrap())
    };
    assert_eq!(run(&["crd", "diff", "git:v1:config/crd", "git:HEAD:config/crd/boat.yaml"]).0, Some(1));
    assert_eq!(run(&["crd", "diff", "git:v1:config/crd", "git:v1:"]).0, Some(0));
    let (code, _, err) = run(&["crd", "diff", "git:v9:config", "git:v1:config"]);
    assert_eq!(code, Some(2));
    assert!(
        err.starts_with("error: OLD: git:v9:config: there is no commit \"v9\" in this repository"),
        "{err}"
    );
    let (_, _, err) = run(&["crd", "diff", "git:v1:nowhere", "git:v1:config"]);
    assert!(err.contains("git:v1:nowhere: there is no such file or directory at that commit"), "{err}");
    for hostile in ["git:--output=x:config", "git:v1:../etc"] {
        let (code, _, err) = run(&["crd", "diff", hostile, "git:v1:config"]);
        assert_eq!(code, Some(2));
        assert!(err.contains("is not a commit and a path"), "{err}");
    }
}

/// Each is refused with exit code 2 and these words.
#[test]
fn hostile_input_is_refused_with_file_document_and_line() {
    let alias_bomb = (1..20).fold("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, level| {
        let below = vec![format!("*a{}", level - 1); 10].join(", ");
        text + &format!("a{level}: &a{level} [{below}]\n")
    });
    let good = crd("Boat", false);
    let half = &good[..good.len() / 2];
    let cases: &[(&str, &str, &str)] = &[
        (
            "large.yaml",
            &format!("a: {}\n", "x".repeat(20 << 20)),
            "large.yaml: line 1, document 1: the document is larger than 8 MiB",
        ),
        ("bomb.yaml", &alias_bomb, "bomb.yaml: line 7, document 1: the text holds more than 4000000 values"),
        ("deep.yaml", &"[".repeat(10_000), "deep.yaml: line 1, document 1: "),
        (
            "twice.yaml",
            &good.replace("  scope:", "  group: b.test\n  scope:"),
            "twice.yaml: line 7, document 1: the key \"group\" is there twice",
        ),
        ("same.yaml", &format!("{good}---\n{good}"), "boats.example.test is there twice; the first is at "),
        (
            "types.yaml",
            &good.replace("scope: Namespaced", "scope: [Namespaced]"),
            "types.yaml: line 1, document 1: ",
        ),
        ("other.yaml", "apiVersion: v1\nkind: Service\n", "other.yaml: line 1, document 1 is a Service"),
        ("none.yaml", "# nothing\n", "none.yaml: it is empty"),
        ("half.yaml", half, "half.yaml: line "),
        (
            "half.json",
            "{\"kind\": \"CustomResourceDefinition\",",
            "half.json: line 1, document 1: this is not YAML",
        ),
        (
            "scalar.yaml",
            "just words\n",
            "scalar.yaml: line 1, document 1 is no Kubernetes object: it has no kind",
        ),
        ("beta.yaml", &good.replace("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"), "v1beta1"),
    ];
    for (name, content, words) in cases {
        let directory = files(&[("old.yaml", &good), (name, content)]);
        let (code, out, err) = run(&["crd", "diff", &at(&directory, "old.yaml"), &at(&directory, name)]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{name}: {err}");
        assert!(
            err.starts_with("error: NEW: ") && err.contains(words),
            "{name}: {}",
            &err[..err.len().min(400)]
        );
    }
    let (code, _, err) = run(&["crd", "diff", "/no/such/file", "/no/such/file"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("/no/such/file cannot be read: No such file or directory"), "{err}");
    let empty = scratch("empty").unwrap();
    let (_, _, err) = run(&["crd", "diff", empty.path().to_str().unwrap(), "-"]);
    assert!(err.contains("holds no .yaml, .yml or .json file"), "{err}");
}

#[test]
fn a_policy_tolerates_what_it_names_and_a_misspelt_one_is_refused() {
    let waiver = |expires: &str| {
        format!(
            "waivers:\n- finding: required-added\n  path: \"*\"\n  reason: every object has it\n  who: the platform team\n  expires: {expires}\n"
        )
    };
    let directory = files(&[
        ("old.yaml", &crd("Boat", false)),
        ("new.yaml", &crd("Boat", true)),
        ("waived.yaml", &waiver("2999-01-01T00:00:00Z")),
        ("expired.yaml", &waiver("2020-01-01T00:00:00Z")),
        ("misspelt.yaml", "rules: {required-aded: ignore}\n"),
        ("odd.yaml", "tolerate: everything\n"),
    ]);
    let with = |policy: &str| {
        run(&[
            "crd",
            "diff",
            &at(&directory, "old.yaml"),
            &at(&directory, "new.yaml"),
            "--policy",
            &at(&directory, policy),
        ])
    };
    assert_eq!(with("waived.yaml").0, Some(0));
    let (code, out, _) = with("expired.yaml");
    assert_eq!(code, Some(1));
    assert!(out.contains("expired"), "{out}");
    let (code, _, err) = with("misspelt.yaml");
    assert_eq!(code, Some(2));
    assert!(err.contains("\"required-aded\", which does not exist; did you mean"), "{err}");
    let (code, _, err) = with("odd.yaml");
    assert_eq!(code, Some(2));
    assert!(err.contains("unknown field `tolerate`"), "{err}");
}

#[test]
fn a_finding_is_explained_and_a_misspelt_one_is_guessed() {
    let (code, out, _) = run(&["crd", "explain", "required-added"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("required-added"), "{out}");
    let (code, _, err) = run(&["crd", "explain", "required-aded"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("did you mean") && err.contains("required-added"), "{err}");
    assert!(run(&["crd", "explain"]).1.lines().count() > 50);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let directory = files(&[("old.yaml", &crd("Boat", false)), ("new.yaml", &crd("Boat", true))]);
    let path = Path::new(env!("CARGO_BIN_EXE_slipway"));
    let script = format!(
        "{} crd diff {} {} --all | head -1",
        path.display(),
        at(&directory, "old.yaml"),
        at(&directory, "new.yaml")
    );
    let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
