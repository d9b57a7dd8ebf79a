//! Every endpoint of the document, for every role and for every token that must not count: allowed or refused
//! exactly as the table says. An endpoint that is added is walked without anybody thinking of it.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "../../../infra/tests/support/mod.rs"]
mod support;
mod world;

use http::StatusCode;
use serde_json::Value;
use slipway_contract::{Access, Endpoint, endpoints};
use slipway_domain::access::{Permission, Role};
use world::{Reply, World};

/// An operation of the document, with the row it comes from.
struct Operation {
    method: String,
    path: String,
    row: &'static Endpoint,
    takes_body: bool,
}

/// What the document has, logging out last: it ends the session that the walk stands on.
async fn operations(world: &World) -> Vec<Operation> {
    let document: Value = world.ask("GET", "/api/v1/openapi.json", None, None).await.json();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            let row = endpoints().find(|row| row.name == id);
            found.push(Operation {
                method: method.to_uppercase(),
                path: path.clone(),
                row: row.unwrap_or_else(|| panic!("{method} {path} ({id}) has no row in the table")),
                takes_body: operation.get("requestBody").is_some(),
            });
        }
    }
    assert_eq!(found.len(), endpoints().count(), "the document lacks rows of the table");
    found.sort_by_key(|operation| operation.path.ends_with("/logout"));
    found
}

impl Operation {
    /// Asks for something that does not exist, with a body that says nothing: whoever is let through changes
    /// nothing.
    async fn ask(&self, world: &World, token: Option<&str>) -> Reply {
        let mut path = String::new();
        for part in self.path.split('/').filter(|part| !part.is_empty()) {
            path.push('/');
            path.push_str(if part.starts_with('{') { "not-there" } else { part });
        }
        world.ask(&self.method, &path, token, self.takes_body.then_some("{}")).await
    }

    fn name(&self) -> String {
        format!("{} {} ({})", self.method, self.path, self.row.name)
    }
}

#[tokio::test]
async fn every_endpoint_lets_in_whom_the_table_names_and_nobody_else() {
    let world = World::new().await;
    let mut wrong = Vec::new();
    let bad = world.tokens_that_do_not_count().await;
    let sessions = world.sessions().await;
    for operation in operations(&world).await {
        let name = operation.name();
        let nobody = operation.ask(&world, None).await;
        if nobody.is_nowhere() {
            wrong.push(format!("{name}: has no handler"));
            continue;
        }
        let Access::Needs(permission) = operation.row.access else {
            if matches!(nobody.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                wrong.push(format!("{name}: is open, and refused nobody with {}", nobody.status));
            }
            continue;
        };
        if nobody.status != StatusCode::UNAUTHORIZED {
            wrong.push(format!("{name}: answered {} without a token", nobody.status));
        }
        for (kind, token) in &bad {
            let reply = operation.ask(&world, Some(token)).await;
            if reply.status != StatusCode::UNAUTHORIZED || reply.code() != "UNAUTHORIZED" {
                wrong.push(format!("{name}: answered {} to a token that is {kind}", reply.status));
            }
        }
        for (role, token) in &sessions {
            let reply = operation.ask(&world, Some(token)).await;
            let refused = matches!(reply.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
            if refused == role.may(permission) {
                wrong.push(format!("{name}: answered {} to {role}: {}", reply.status, reply.text()));
            } else if refused && reply.status != StatusCode::FORBIDDEN {
                wrong.push(format!("{name}: answered {} to {role}, who is known", reply.status));
            } else if reply.status == StatusCode::INTERNAL_SERVER_ERROR {
                wrong.push(format!("{name}: broke for {role}: {}", reply.text()));
            } else if reply.status == StatusCode::TOO_MANY_REQUESTS {
                wrong.push(format!("{name}: its limit is too low to be walked"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn refusals_are_written_down_with_who_and_from_where() {
    let world = World::new().await;
    let (_, viewer) = world.sessions().await.into_iter().find(|(role, _)| *role == Role::Viewer).unwrap();
    let refused = operations(&world).await;
    let operation = refused
        .iter()
        .find(|operation| matches!(operation.row.access, Access::Needs(permission) if !Role::Viewer.may(permission)))
        .expect("there is something that a viewer may not");
    let reply = operation.ask(&world, Some(&viewer)).await;
    assert_eq!(reply.status, StatusCode::FORBIDDEN);
    let written = world.denials().await;
    assert_eq!(written.len(), 1, "{written:?}");
    assert_eq!(written[0].actor, "viewer");
    assert_eq!(written[0].source.as_deref(), Some("192.0.2.7"));
    assert_eq!(written[0].trace_id.as_deref(), Some(reply.trace_id()));
    assert!(written[0].resource.starts_with(&operation.method), "{}", written[0].resource);
}

#[tokio::test]
async fn what_belongs_to_one_person_is_nobody_elses() {
    let world = World::new().await;
    let sessions = world.sessions().await;
    for (owner, mine) in &sessions {
        let body = r#"{"name":"ci","role":"Viewer"}"#;
        let made = world.ask("POST", "/api/v1/tokens", Some(mine), Some(body)).await;
        assert_eq!(made.status, StatusCode::CREATED, "{owner}: {}", made.text());
        let id = made.json()["tokenId"].as_str().unwrap().to_owned();
        for (role, other) in sessions.iter().filter(|(role, _)| role != owner) {
            let listed = world.ask("GET", "/api/v1/tokens", Some(other), None).await;
            assert!(!listed.body().contains(&id), "{role} sees a token of {owner}");
            if role.may(Permission::ManageUsers) {
                continue;
            }
            let all = world.ask("GET", "/api/v1/tokens?all=true", Some(other), None).await;
            assert_eq!(all.status, StatusCode::FORBIDDEN, "{role} asks for all tokens");
            let ended = world.ask("DELETE", &format!("/api/v1/tokens/{id}"), Some(other), None).await;
            assert_eq!(ended.status, StatusCode::NOT_FOUND, "{role} ends a token of {owner}");
        }
        let ended = world.ask("DELETE", &format!("/api/v1/tokens/{id}"), Some(mine), None).await;
        assert_eq!(ended.status, StatusCode::NO_CONTENT, "{owner}: {}", ended.text());
    }
}
