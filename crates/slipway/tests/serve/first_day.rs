//! The first day with it, on a bare machine and with the command line alone.

use std::fs;

use serde_json::Value;
use slipway_testkit::charts::ChartRepository;
use slipway_testkit::{ControlPlane, Fleet};

use crate::fleet::{greeter, install, kubeconfig};
use crate::person::Person;
use crate::program::{Served, folder};

/// The cells of a row that begins with this word.
fn row<'a>(table: &'a str, first: &str) -> Vec<&'a str> {
    let line = table.lines().find(|line| line.split_whitespace().next() == Some(first));
    line.unwrap_or_else(|| panic!("no row {first} in\n{table}")).split_whitespace().collect()
}

#[tokio::test]
async fn a_bare_machine_becomes_a_manager_of_three_clusters() {
    let folder = folder();
    let planes = Fleet::start(3, 1).await.unwrap().clusters;
    install(&planes[0], &greeter("1.0.0"), "greeter", &["--set=greeting=servus"]).await;
    let repository = ChartRepository::start().await.unwrap();
    for version in ["1.0.0", "1.1.0", "2.0.0-rc.1"] {
        repository.add(&greeter(version));
    }
    let served = Served::start(folder.path(), &["--clusters-allow-loopback=true"]).await;

    let person = Person::new();
    let nobody = person.fails(3, &["cluster", "list", "--server", &served.url]).await;
    assert!(nobody.contains("log in first: slipway login"), "{nobody}");
    let typed = format!("{}\nmy own long password\n", served.first_password());
    let login = ["login", "--server", &served.url, "--username", "admin", "--password-stdin"];
    let said = person.typing(&typed, &login).await;
    assert!(said.starts_with(&format!("logged in to {}/ as admin (Admin)", served.url)), "{said}");
    assert!(person.runs(&["whoami"]).await.contains("admin"));
    let empty = person.runs(&["cluster", "list"]).await;
    assert!(empty.contains("slipway cluster add"), "an empty list says what to do: {empty}");

    // One by itself, two at once.
    let own = person.folder().join("kubeconfig");
    let named =
        ["prod-eu", "stage-eu", "stage-us"].into_iter().zip(planes.iter().map(ControlPlane::kubeconfig));
    let named: Vec<_> = named.collect();
    fs::write(&own, kubeconfig(&named)).unwrap();
    let own = own.display().to_string();
    let add = ["cluster", "add", "prod-eu", "--kubeconfig", &own, "--environment", "production"];
    let added = person.runs(&[&add[..], &["--label", "region=eu"]].concat()).await;
    assert!(added.contains("prod-eu"), "{added}");
    let twice = person.fails(2, &add).await;
    assert!(twice.contains("there is a cluster prod-eu already"), "{twice}");
    let contexts = "--contexts=stage-eu,stage-us";
    person.runs(&["cluster", "import", contexts, "--kubeconfig", &own, "--environment", "staging"]).await;
    let list = person.runs(&["cluster", "list"]).await;
    for (name, environment) in [("prod-eu", "Production"), ("stage-eu", "Staging"), ("stage-us", "Staging")] {
        let row = row(&list, name);
        assert!(row.contains(&environment) && row.contains(&"Healthy"), "{list}");
    }
    assert!(person.runs(&["cluster", "show", "prod-eu"]).await.contains("region=eu"));
    person.runs(&["cluster", "health", "prod-eu"]).await;

    let url = repository.url();
    let add = ["operator", "add", "greeter", "--repository", &url, "--current-version", "1.0.0"];
    let added = person.runs(&add).await;
    assert!(added.contains("greeter is registered") && added.contains("1.1.0 (newer)"), "{added}");
    let versions = person.runs(&["operator", "versions", "greeter"]).await;
    assert!(row(&versions, "1.1.0").contains(&"latest") && row(&versions, "1.0.0").contains(&"current"));
    assert!(!versions.contains("2.0.0-rc.1") && versions.contains("1 pre-release"), "{versions}");
    assert!(row(&person.runs(&["operator", "list"]).await, "greeter").contains(&"1.1.0"));

    // What is installed is found, and looked at.
    let found = |show: &Value| show["deployedClusters"][0]["clusterName"] == "prod-eu";
    person.json_until(&["operator", "show", "greeter"], found).await;
    let healthy = |health: &Value| health["overallHealth"] == "Healthy";
    person.json_until(&["operator", "health", "greeter"], healthy).await;
    for command in [
        ["operator", "show", "greeter"].as_slice(),
        &["operator", "health", "greeter"],
        &["operator", "health", "greeter", "--cluster", "prod-eu", "--fresh"],
        &["health"],
        &["crd", "list"],
        &["crd", "show", "greetings.example.com"],
    ] {
        let printed = person.runs(command).await;
        assert!(printed.contains("greet"), "{}: {printed}", command.join(" "));
    }
    let seen = |status: &Value| status.to_string().contains("prod-eu");
    person.json_until(&["crd", "status", "greetings.example.com"], seen).await;
    let status = person.runs(&["crd", "status", "greetings.example.com"]).await;
    assert!(status.contains("prod-eu"), "{status}");

    let audit = person.runs(&["audit", "list", "--limit", "100"]).await;
    for action in ["user.login", "cluster.register", "operator.register"] {
        assert!(audit.contains(action), "{action} in\n{audit}");
    }
    let exported = person.runs(&["audit", "export"]).await;
    assert!(exported.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));

    person.runs(&["logout"]).await;
    person.fails(3, &["cluster", "list"]).await;
    // To be read by people, too: cargo test … -- --nocapture.
    println!("{}", person.terminal());
    assert_eq!(served.stop().await.code(), Some(0));
}
