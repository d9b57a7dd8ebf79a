//! What is served beside the resources: news, health, figures, the document and its viewer.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "../../infra/tests/support/mod.rs"]
mod support;
#[path = "authorization/world.rs"]
mod world;

use http::StatusCode;
use slipway_domain::access::Role;
use slipway_domain::event::Topic;
use world::World;

async fn token(world: &World, role: Role) -> String {
    world.sessions().await.into_iter().find(|(of, _)| *of == role).unwrap().1
}

#[tokio::test]
async fn news_come_as_they_happen_and_go_on_after_the_last_one() {
    let world = World::new().await;
    let token = token(&world, Role::Viewer).await;
    world.happens(Topic::Cluster, "before").await;
    let mut stream = world.follow(&token, "", None).await;
    world.happens(Topic::Cluster, "one").await;
    world.happens(Topic::Operator, "two").await;
    let (name, first) = stream.next().await.unwrap();
    assert_eq!(
        (name.as_str(), first["subject"].as_str()),
        ("cluster", Some("one")),
        "news from before are not told"
    );
    assert_eq!(stream.next().await.unwrap().1["subject"], "two");

    let mut again = world.follow(&token, "", first["number"].as_i64()).await;
    assert_eq!(again.next().await.unwrap().1["subject"], "two", "none is missed and none is told twice");
    let mut future = world.follow(&token, "", Some(1_000_000)).await;
    world.happens(Topic::Cluster, "three").await;
    assert_eq!(
        future.next().await.unwrap().1["subject"],
        "three",
        "a number of another database is not believed"
    );
}

#[tokio::test]
async fn only_what_is_asked_for_and_may_be_seen_is_told() {
    let world = World::new().await;
    let sessions = world.sessions().await;
    let token = |role: Role| &sessions.iter().find(|(of, _)| *of == role).unwrap().1;
    let mut clusters = world.follow(token(Role::Admin), "?topics=cluster&subject=eu", None).await;
    let mut viewer = world.follow(token(Role::Viewer), "", None).await;
    let mut owner = world.follow(token(Role::EnvironmentOwner), "?topics=approval", None).await;
    world.happens(Topic::Approval, "secret plan").await;
    world.happens(Topic::Cluster, "us").await;
    world.happens(Topic::Cluster, "eu").await;
    assert_eq!(clusters.next().await.unwrap().1["subject"], "eu");
    assert_eq!(
        viewer.next().await.unwrap().1["subject"],
        "us",
        "what waits for a decision is for those who decide"
    );
    assert_eq!(owner.next().await.unwrap().1["subject"], "secret plan");

    let ask = async |query: &str, role: Role| {
        world.ask("GET", &format!("/api/v1/events{query}"), Some(token(role)), None).await
    };
    assert_eq!(ask("?topics=approval", Role::Viewer).await.status, StatusCode::FORBIDDEN);
    let unknown = ask("?topics=weather", Role::Viewer).await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);
    assert!(unknown.text().contains("\\\"weather\\\" is none of deployment, cluster, operator, approval"));
    assert_eq!(ask("?topic=cluster", Role::Viewer).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_stream_ends_with_the_session_it_was_opened_in_and_with_the_server() {
    let world = World::new().await;
    let (viewer, operator) = {
        let sessions = world.sessions().await;
        (sessions[0].1.clone(), sessions[1].1.clone())
    };
    let mut ended = world.follow(&viewer, "", None).await;
    let mut goes_on = world.follow(&operator, "", None).await;
    world.log_out(&viewer).await;
    assert!(ended.next().await.is_none());
    world.happens(Topic::Cluster, "eu").await;
    assert_eq!(goes_on.next().await.unwrap().1["subject"], "eu");
    world.stop();
    assert!(goes_on.next().await.is_none());
    let reply = world.ask("GET", "/ready", None, None).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn health_is_open_and_figures_are_for_this_machine() {
    let world = World::new().await;
    assert_eq!(world.ask("GET", "/health", None, None).await.body(), "{\"status\":\"ok\"}");
    assert_eq!(world.ask("GET", "/ready", None, None).await.body(), "{\"status\":\"ready\"}");
    let elsewhere = world.ask("GET", "/metrics", None, None).await;
    assert_eq!(elsewhere.status, StatusCode::FORBIDDEN);
    let here = world.ask_from("127.0.0.1", "/metrics").await;
    assert_eq!(here.status, StatusCode::OK);
    for line in
        ["http_requests_total{operation=\"other\",status=\"200\"} 2", "process_resident_memory_bytes "]
    {
        assert!(here.body().contains(line), "{line} is not in {}", here.body());
    }
}

#[tokio::test]
async fn the_viewer_loads_nothing_from_elsewhere() {
    let world = World::new().await;
    assert_eq!(world.ask("GET", "/swagger", None, None).await.header("location"), "/swagger/");
    let page = world.ask("GET", "/swagger/", None, None).await;
    assert_eq!((page.status, page.header("content-type")), (StatusCode::OK, "text/html"));
    assert!(page.header("content-security-policy").starts_with("default-src 'none'; script-src 'self';"));
    assert!(!page.body().contains("://"), "{}", page.body());
    for file in ["swagger-ui.css", "index.css", "swagger-ui-bundle.js", "swagger-initializer.js"] {
        assert!(page.body().contains(file) || file == "index.css", "{file}");
        assert_eq!(world.ask("GET", &format!("/swagger/{file}"), None, None).await.status, StatusCode::OK);
    }
    let script = world.ask("GET", "/swagger/swagger-initializer.js", None, None).await.body();
    assert!(script.contains("/api/v1/openapi.json") && !script.contains("petstore"), "{script}");
    assert_eq!(world.ask("GET", "/swagger/nothing.js", None, None).await.status, StatusCode::NOT_FOUND);
    let document = world.ask("GET", "/api/v1/openapi.json", None, None).await;
    assert_eq!(document.json()["openapi"], "3.1.0");
}
