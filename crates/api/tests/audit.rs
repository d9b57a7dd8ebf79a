//! The audit, from the client to PostgreSQL.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod served;

use std::time::Duration;

use served::{Server, actor, server, server_with};
use slipway_client::ClientError;
use slipway_contract::audit::{AuditEntry, AuditExportQuery, AuditQuery};
use slipway_domain::access::Role;
use slipway_domain::audit::{AuditEntry as Entry, AuditResult};
use slipway_orchestrator::audit::AuditRetention;
use slipway_orchestrator::ports::Store as _;
use slipway_orchestrator::ports::store::Claim;
use slipway_orchestrator::workers::{Next, Worker as _};
use slipway_orchestrator::{Changeset, Settings};

async fn write(server: &Server, action: &str, resource: &str, result: AuditResult) {
    let entry = Entry::new(&actor(Some(Role::Operator)), action, resource, result, "it happened");
    server.stored.store.commit(Changeset::new().audit(entry)).await.unwrap();
}

async fn export(server: &Server, query: &AuditExportQuery) -> Vec<AuditEntry> {
    use futures::TryStreamExt as _;
    let bytes = server.client(Role::Admin).export_audit(query).await.unwrap();
    let text: Vec<u8> = bytes.map_ok(|bytes| bytes.to_vec()).try_concat().await.unwrap();
    let text = String::from_utf8(text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
}

#[tokio::test]
async fn what_was_done_is_found_by_what_is_known_of_it() {
    let server = server().await;
    write(&server, "cluster.register", "cluster/eu", AuditResult::Success).await;
    write(&server, "cluster.remove", "cluster/eu", AuditResult::Failure).await;
    write(&server, "clusters.other", "cluster/us", AuditResult::Success).await;
    write(&server, "operator.register", "operator/x", AuditResult::Denied).await;
    let admin = server.client(Role::Admin);
    let find = async |query: AuditQuery| {
        let list = admin.audit(&query).await.unwrap();
        assert_eq!(list.page.total, list.entries.len() as u64);
        list.entries.into_iter().map(|entry| entry.action).collect::<Vec<_>>()
    };
    let all = AuditQuery::default;
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        find(all()).await,
        ["operator.register", "clusters.other", "cluster.remove", "cluster.register"],
        "the newest first; reading is not written down"
    );
    assert_eq!(find(AuditQuery { action: text("cluster.remove"), ..all() }).await, ["cluster.remove"]);
    assert_eq!(
        find(AuditQuery { action: text("cluster."), ..all() }).await,
        ["cluster.remove", "cluster.register"]
    );
    assert_eq!(find(AuditQuery { resource: text("cluster/us"), ..all() }).await, ["clusters.other"]);
    assert_eq!(find(AuditQuery { result: text("denied"), ..all() }).await, ["operator.register"]);
    assert_eq!(find(AuditQuery { actor: text("nobody"), ..all() }).await, Vec::<String>::new());
    assert_eq!(
        find(AuditQuery { trace_id: text("4bf92f3577b34da6a3ce929d0e0e4736"), ..all() }).await.len(),
        4
    );
    let now = jiff::Timestamp::now();
    assert_eq!(find(AuditQuery { since: Some(now + Duration::from_mins(1)), ..all() }).await.len(), 0);
    assert_eq!(find(AuditQuery { until: Some(now + Duration::from_mins(1)), ..all() }).await.len(), 4);
    let page = admin.audit(&AuditQuery { limit: Some(2), offset: Some(1), ..all() }).await.unwrap();
    assert_eq!((page.page.total, page.page.has_more, page.page.next_offset), (4, true, Some(3)));
    assert_eq!(page.entries[0].action, "clusters.other");
    let entry = &page.entries[0];
    assert_eq!((entry.actor.as_str(), entry.actor_kind.as_str()), ("operator", "user"));
    assert_eq!(entry.source.as_deref(), Some("192.0.2.7"));

    for query in [
        AuditQuery { result: text("maybe"), ..all() },
        AuditQuery { limit: Some(0), ..all() },
        AuditQuery { actor: text("a\0b"), ..all() },
    ] {
        let error = admin.audit(&query).await.unwrap_err();
        assert!(matches!(error, ClientError::Refused { status: 400, .. }), "{error}");
    }
    for role in [Role::Viewer, Role::Operator, Role::EnvironmentOwner] {
        let error = server.client(role).audit(&all()).await.unwrap_err();
        assert!(matches!(error, ClientError::Refused { status: 403, .. }), "{error}");
    }
}

#[tokio::test]
async fn an_export_goes_on_where_it_stopped_and_is_written_down() {
    let server = server().await;
    for number in 0..1_201 {
        let entry = Entry::done(&actor(Some(Role::Operator)), "thing.do", format!("thing/{number}"), "done");
        server.stored.store.commit(Changeset::new().audit(entry)).await.unwrap();
    }
    let whole = export(&server, &AuditExportQuery::default()).await;
    assert_eq!(whole.len(), 1_202, "the export itself is the last entry");
    assert!(whole.windows(2).all(|pair| pair[0].number + 1 == pair[1].number), "in order, without a gap");
    assert_eq!((whole[0].resource.as_str(), whole[0].action.as_str()), ("thing/0", "thing.do"));
    let last = whole.last().unwrap();
    assert_eq!((last.action.as_str(), last.actor.as_str()), ("audit.export", "admin"));
    let rest =
        export(&server, &AuditExportQuery { after: Some(last.number), ..AuditExportQuery::default() }).await;
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0].message, format!("exported the audit after number {}", last.number));
    let query = AuditExportQuery { action: Some("audit.".to_owned()), ..AuditExportQuery::default() };
    assert_eq!(export(&server, &query).await.len(), 3);
}

#[tokio::test]
async fn what_is_older_than_the_setting_is_forgotten() {
    let day = Duration::from_hours(24);
    let server = server_with(Settings { audit_retention: Some(30 * day), ..Settings::default() }).await;
    write(&server, "cluster.register", "cluster/eu", AuditResult::Success).await;
    let retention = AuditRetention::new(server.manager.clone());
    let claim = Claim {
        work: slipway_orchestrator::changes::Work { kind: "audit-retention", key: "all".to_owned() },
        epoch: 0,
    };
    server.clock.set(jiff::Timestamp::now() + 29 * day);
    assert!(matches!(retention.work(&claim).await.unwrap(), Next::After(_)));
    let admin = server.client(Role::Admin);
    assert_eq!(admin.audit(&AuditQuery::default()).await.unwrap().page.total, 1);
    server.clock.set(jiff::Timestamp::now() + 31 * day);
    retention.work(&claim).await.unwrap();
    let left = admin.audit(&AuditQuery::default()).await.unwrap().entries;
    assert_eq!(left.len(), 1);
    assert_eq!((left[0].action.as_str(), left[0].actor.as_str()), ("audit.thin", "system:audit-retention"));
    assert!(left[0].message.starts_with("forgot 1 entries from before"), "{}", left[0].message);
}
