use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;

use serde_json::Value;

use super::*;

fn example(word: &str) -> Image {
    Image::builder("localhost/example:1")
        .program(std::env::current_exe().unwrap())
        .unwrap()
        .file("/etc/word", word)
        .env("WORD", word)
        .build()
}

fn contents(tar: impl Read) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(tar);
    let mut found = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        found.insert(path, content);
    }
    found
}

fn blob<'a>(archive: &'a BTreeMap<String, Vec<u8>>, digest: &Value) -> &'a [u8] {
    &archive[&format!("blobs/{}", digest.as_str().unwrap().replace(':', "/"))]
}

#[test]
fn the_same_content_gives_the_same_archive_and_another_content_another_digest() {
    let scratch = tempfile::tempdir().unwrap();
    let (one, two) = (scratch.path().join("one"), scratch.path().join("two"));
    assert_eq!(example("a").write(&one).unwrap(), example("a").write(&two).unwrap());
    assert!(fs::read(one).unwrap() == fs::read(two).unwrap());
    assert_ne!(example("a").digest().unwrap(), example("b").digest().unwrap());
}

#[test]
fn an_archive_holds_the_program_its_loader_and_what_to_run() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("image.tar");
    let digest = example("hello").write(&path).unwrap();
    let archive = contents(File::open(path).unwrap());

    let index: Value = serde_json::from_slice(&archive["index.json"]).unwrap();
    assert_eq!(index["manifests"][0]["digest"], digest);
    assert_eq!(index["manifests"][0]["annotations"]["io.containerd.image.name"], "localhost/example:1");
    let manifest: Value = serde_json::from_slice(blob(&archive, &index["manifests"][0]["digest"])).unwrap();
    let config: Value = serde_json::from_slice(blob(&archive, &manifest["config"]["digest"])).unwrap();
    let program = std::env::current_exe().unwrap();
    let name = program.file_name().unwrap().to_str().unwrap();
    assert_eq!(config["config"]["Entrypoint"][0], format!("/usr/local/bin/{name}"));
    assert_eq!(config["config"]["User"], "65532:65532");
    assert!(config["config"]["Env"].as_array().unwrap().contains(&"WORD=hello".into()));

    let layer = contents(blob(&archive, &manifest["layers"][0]["digest"]));
    assert_eq!(layer["etc/word"], b"hello");
    assert!(layer[&format!("usr/local/bin/{name}")] == fs::read(&program).unwrap());
    assert!(layer.keys().any(|path| path.contains("ld-linux")), "{:?}", layer.keys());
    assert!(layer.contains_key("tmp/"));
}
