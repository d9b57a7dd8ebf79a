//! Programs that are told of approvals beside the mails.

use std::collections::BTreeSet;

use slipway_domain::id::RolloutId;
use slipway_infra::workers::Runner;
use uuid::Uuid;

use super::scene::scene;
use super::{ask, yes};

#[path = "../support/receiver.rs"]
mod receiver;

use receiver::Program;

#[tokio::test]
async fn programs_are_told_once_by_signed_requests_however_many_servers_send() {
    let (scene, program) = (scene().await, Program::start().await);
    let second = scene.stored.another("two").await;
    let one = scene.manager_telling(scene.store(), program.webhooks());
    let two = scene.manager_telling(&second, program.webhooks());
    // The first try fails, and whoever is next tries again.
    program.refuse_next(1);
    let running = [
        scene.run(Runner::new(scene.stored.store.clone()).with(scene.sender(&one))),
        scene.run(Runner::new(second).with(scene.sender(&two))),
    ];
    let mut ids = Vec::new();
    for number in 0..10 {
        let mut wanted = ask(&scene, "sha256:abc");
        wanted.facts.rollout = RolloutId(Uuid::from_u128(1_000 + number));
        let manager = if number % 2 == 0 { &one } else { &two };
        ids.push(manager.request_approvals(&scene.bob, &wanted).await.unwrap().remove(0).id);
    }
    two.approve(&scene.owner, ids[0], yes()).await.unwrap();
    // Ten questions and an answer, each to a person and to the program.
    scene.sent(22).await;
    for running in running {
        running.stop().await;
    }
    let heard = program.heard();
    let deliveries: BTreeSet<&String> = heard.iter().map(|(id, _)| id).collect();
    assert_eq!((heard.len(), deliveries.len()), (11, 11));
    let asked: BTreeSet<&str> = heard
        .iter()
        .filter(|(_, content)| content["type"] == "approval.required")
        .filter_map(|(_, content)| content["data"]["approvalId"].as_str())
        .collect();
    assert_eq!(asked.len(), 10);
    let answer = heard.iter().find(|(_, content)| content["type"] == "approval.approved").unwrap();
    assert_eq!(answer.1["data"]["approvalId"], ids[0].to_string());
    assert_eq!(answer.1["data"]["decisions"][0]["by"], "olga");
    assert_eq!(answer.1["data"]["link"], format!("https://slipway.test/approvals/{}", ids[0]));
}
