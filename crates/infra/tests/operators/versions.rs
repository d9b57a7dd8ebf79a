//! Versions: what is new, what is gone, and archives that stay.

use std::time::Duration;

use serde_json::json;
use slipway_domain::operator::{Asked, OperatorChange};
use slipway_orchestrator::operators::{ChangeOperator, REFRESH_EVERY, VersionsWorker};
use slipway_orchestrator::ports::store::{CrdRows as _, OperatorRows as _};
use slipway_orchestrator::workers::Next;
use slipway_testkit::charts::{ChartRepository, OciRegistry};

use crate::server::{Server, admin, asked, builder, definition, greeter};
use crate::support::database;

#[tokio::test]
async fn a_new_version_is_told_and_one_that_is_gone_is_not_offered_any_more() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let repository = ChartRepository::start().await.unwrap();
    repository.add(&greeter("1.0.0"));
    repository.add(&greeter("1.1.0"));
    let operator = server.register(asked(&repository.url())).await.unwrap();
    let worker = VersionsWorker(server.manager.clone());
    let Next::After(after) = server.work(&worker, operator.id.to_string()).await.unwrap() else {
        panic!("it comes again");
    };
    assert!((REFRESH_EVERY.mul_f64(0.9)..REFRESH_EVERY.mul_f64(1.1)).contains(&after), "{after:?}");
    assert!(!server.news().await.iter().any(|news| news.ends_with("newVersion")), "nothing is new yet");

    repository.add(&greeter("1.2.0"));
    repository.remove("greeter", "1.0.0").unwrap();
    server.work(&worker, operator.id.to_string()).await.unwrap();
    let new: Vec<String> =
        server.news().await.into_iter().filter(|news| news.ends_with("newVersion")).collect();
    assert_eq!(new, ["greeter newVersion"]);
    let offered = server.manager.operator_versions(&admin(), "greeter").await.unwrap();
    let order: Vec<String> =
        offered.versions.iter().map(|row| row.known.offered.version.to_string()).collect();
    assert_eq!(order, ["1.2.0", "1.1.0"]);
    assert_eq!(offered.operator.latest_version.unwrap().as_str(), "1.2.0");
    let known = server.store.operator_versions(operator.id).await.unwrap();
    assert!(
        known.iter().any(|known| known.offered.version.as_str() == "1.0.0" && known.withdrawn_at.is_some())
    );
    // It comes back, and is offered again without being news.
    repository.add(&greeter("1.0.0"));
    server.work(&worker, operator.id.to_string()).await.unwrap();
    assert_eq!(server.manager.operator_versions(&admin(), "greeter").await.unwrap().versions.len(), 3);
    assert_eq!(server.news().await.iter().filter(|news| news.ends_with("newVersion")).count(), 1);
}

#[tokio::test]
async fn a_repository_that_fails_is_shown_and_what_was_known_stays() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let repository = ChartRepository::start().await.unwrap();
    repository.add(&greeter("1.0.0"));
    let operator = server.register(asked(&repository.url())).await.unwrap();
    repository.break_with(503).unwrap();
    let worker = VersionsWorker(server.manager.clone());
    for _ in 0..2 {
        let next = server.work(&worker, operator.id.to_string()).await.unwrap();
        assert!(matches!(next, Next::After(after) if after > Duration::from_mins(10)));
    }
    let offered = server.manager.operator_versions(&admin(), "greeter").await.unwrap();
    assert!(offered.operator.check_error.unwrap().contains("it answers 503"));
    assert_eq!(offered.versions.len(), 1);
    let failed = |news: Vec<String>| news.iter().filter(|news| news.ends_with("repositoryFailed")).count();
    assert_eq!(failed(server.news().await), 1, "said once, not every time");
    assert!(server.manager.refresh_operator(&admin(), "greeter").await.is_err());
    repository.mend();
    server.work(&worker, operator.id.to_string()).await.unwrap();
    let shown = server.manager.operator(&admin(), "greeter").await.unwrap();
    assert_eq!(shown.operator.check_error, None);
}

#[tokio::test]
async fn an_archive_is_kept_so_that_going_back_needs_no_repository() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let registry = OciRegistry::start().await.unwrap();
    registry.push(&greeter("1.0.0")).await.unwrap();
    registry.push(&greeter("1.1.0")).await.unwrap();
    let asked = Asked { current_version: Some("1.0.0".to_owned()), ..asked(&registry.url()) };
    let operator = server.register(asked.clone()).await.unwrap();
    server.register(Asked { name: "twin".to_owned(), ..asked }).await.unwrap();
    let worker = VersionsWorker(server.manager.clone());
    server.work(&worker, operator.id.to_string()).await.unwrap();
    drop(registry);
    for version in ["1.0.0", "1.1.0"] {
        let archive = server.manager.operator_archive(&operator, &version.parse().unwrap()).await.unwrap();
        assert_eq!(archive.bytes, greeter(version).archive());
    }
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM chart_archives")
        .fetch_one(server.store.pool())
        .await
        .unwrap();
    assert_eq!(kept, 2, "each archive once, whoever it is of");
    let error = server.manager.operator_archive(&operator, &"9.9.9".parse().unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("cannot be read"), "{error}");
}

#[tokio::test]
async fn work_for_an_operator_that_is_gone_ends() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let worker = VersionsWorker(server.manager.clone());
    for key in ["7c0e8f0e-0000-7000-8000-000000000000", "none"] {
        assert_eq!(server.work(&worker, key.to_owned()).await.unwrap(), Next::Ended);
    }
}

#[tokio::test]
async fn every_version_that_somebody_could_go_to_is_looked_into() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let repository = ChartRepository::start().await.unwrap();
    for minor in 0..14 {
        repository.add(&greeter(&format!("1.{minor}.0")));
    }
    repository.add(&greeter("1.14.0-rc.1"));
    repository.add(&greeter("1.13.0-rc.1"));
    let asked = Asked { current_version: Some("1.2.0".to_owned()), ..asked(&repository.url()) };
    let operator = server.register(asked).await.unwrap();
    let worker = VersionsWorker(server.manager.clone());
    let mut passes = 0;
    loop {
        let Next::After(after) = server.work(&worker, operator.id.to_string()).await.unwrap() else {
            panic!("it comes again");
        };
        passes += 1;
        let looked_into = async |version: &str| -> bool {
            let known = server.store.operator_versions(operator.id).await.unwrap();
            let known = known.into_iter().find(|known| known.offered.version.as_str() == version);
            known.unwrap().crds_recorded_at.is_some()
        };
        for version in ["1.2.0", "1.13.0", "1.14.0-rc.1"] {
            assert!(looked_into(version).await, "{version} matters most");
        }
        if after > Duration::from_mins(5) {
            for minor in 2..14 {
                assert!(looked_into(&format!("1.{minor}.0")).await, "1.{minor}.0");
            }
            assert!(!looked_into("1.1.0").await, "nobody goes there");
            assert!(!looked_into("1.13.0-rc.1").await, "its release is there");
            break;
        }
    }
    assert_eq!(passes, 3, "a few at a time");
    let crds = server.store.operator_crds(&operator.name).await.unwrap();
    assert_eq!(crds.whole.len(), 13);
}

#[tokio::test]
async fn values_that_bring_other_definitions_have_them_recorded() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let repository = ChartRepository::start().await.unwrap();
    let gated = format!("{{{{- if .Values.crds }}}}\n{}\n{{{{- end }}}}\n", definition("salutes"));
    let chart = builder("greeter", "1.0.0").values("crds: false\n").template("salutes.yaml", &gated);
    repository.add(&chart.build().unwrap());
    let operator = server.register(asked(&repository.url())).await.unwrap();
    let worker = VersionsWorker(server.manager.clone());
    let names = async || -> Vec<String> {
        server.work(&worker, operator.id.to_string()).await.unwrap();
        let crds = server.store.operator_crds(&operator.name).await.unwrap();
        crds.crds.iter().map(|crd| crd.name.clone()).collect()
    };
    assert_eq!(names().await, ["greetings.example.com"]);
    let change = OperatorChange {
        default_values: json!({"crds": true}).as_object().cloned(),
        ..OperatorChange::default()
    };
    let asked = ChangeOperator { change, ..ChangeOperator::default() };
    server.manager.change_operator(&admin(), "greeter", asked).await.unwrap();
    assert_eq!(names().await, ["greetings.example.com", "salutes.example.com"]);
}

#[tokio::test]
async fn the_definitions_of_a_version_are_recorded_once() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let repository = ChartRepository::start().await.unwrap();
    repository.add(&greeter("1.0.0"));
    let operator = server.register(asked(&repository.url())).await.unwrap();
    let worker = VersionsWorker(server.manager.clone());
    server.work(&worker, operator.id.to_string()).await.unwrap();
    let known = server.store.operator_versions(operator.id).await.unwrap();
    let recorded = known[0].crds_recorded_at.expect("it was looked into");
    let crds = server.store.operator_crds(&operator.name).await.unwrap();
    let names: Vec<&str> = crds.crds.iter().map(|crd| crd.name.as_str()).collect();
    assert_eq!(names, ["greetings.example.com", "salutes.example.com"]);
    assert_eq!(crds.whole, [operator.latest_version.clone().unwrap()]);
    repository.add(&greeter("1.1.0"));
    server.work(&worker, operator.id.to_string()).await.unwrap();
    let known = server.store.operator_versions(operator.id).await.unwrap();
    assert!(known.iter().all(|known| known.crds_recorded_at.is_some()), "the new one, too");
    assert_eq!(known[1].crds_recorded_at, Some(recorded), "the old one is not looked into again");
}
