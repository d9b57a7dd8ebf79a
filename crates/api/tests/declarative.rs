//! Things kept in files, from the client to PostgreSQL.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "declarative/kinds.rs"]
mod kinds;
mod served;

use serde_json::{Value, json};
use served::{Server, server};
use slipway_client::ClientError;
use slipway_contract::audit::AuditQuery;
use slipway_contract::settings::{ApplyOutcome, ApplyReply, ApplyRequest, KindQuery};
use slipway_domain::access::Role;

#[expect(clippy::needless_pass_by_value, reason = "it is written where it is passed")]
fn document(kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": "slipway.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn nights() -> Value {
    document(
        "Window",
        "nights",
        json!({
            "mode": "Allow", "timeZone": "Europe/Berlin", "environments": ["Production"],
            "weekly": [{"days": ["Monday"], "from": "22:00", "to": "04:00"}],
        }),
    )
}

fn owners() -> Value {
    let levels = json!([{"by": ["EnvironmentOwner"]}, {"by": ["Admin"], "quorum": 2}]);
    document("ApprovalRule", "owners", json!({"type": "ProductionDeployment", "levels": levels}))
}

fn lenient() -> Value {
    document("Policy", "lenient", json!({"crds": {"preset": "upstream-controllers"}}))
}

async fn apply(server: &Server, documents: &[Value], dry_run: bool) -> Result<ApplyReply, ClientError> {
    let request = ApplyRequest { documents: documents.to_vec(), dry_run };
    server.client(Role::Admin).apply(&request).await
}

fn outcomes(reply: &ApplyReply) -> Vec<(String, ApplyOutcome)> {
    reply.results.iter().map(|one| (one.name.clone(), one.outcome)).collect()
}

async fn exported(server: &Server) -> Vec<Value> {
    let reply = server.client(Role::Admin).export(&KindQuery::default()).await.unwrap();
    reply.documents.iter().map(|document| serde_json::to_value(document).unwrap()).collect()
}

#[test]
fn time_zones_come_along_for_machines_without_them() {
    let carried = jiff::tz::TimeZoneDatabase::bundled();
    assert!(carried.get("America/New_York").is_ok() && carried.get("Mars/Base").is_err());
}

#[tokio::test]
async fn documents_are_applied_once_and_told_field_by_field() {
    let server = server().await;
    let documents = [nights(), owners(), lenient()];
    let dry = apply(&server, &documents, true).await.unwrap();
    assert!(dry.dry_run && dry.changed == 3);
    assert!(exported(&server).await.is_empty(), "a dry run writes nothing");
    let first = apply(&server, &documents, false).await.unwrap();
    assert_eq!(first.changed, 3);
    assert_eq!(outcomes(&first)[0], ("nights".to_owned(), ApplyOutcome::Created), "in the order sent");
    let again = apply(&server, &documents, false).await.unwrap();
    assert_eq!(again.changed, 0);
    assert!(
        again.results.iter().all(|one| one.outcome == ApplyOutcome::Unchanged && one.differences.is_empty())
    );

    let mut changed = nights();
    changed["spec"]["weekly"][0]["to"] = json!("05:00");
    changed["spec"].as_object_mut().unwrap().remove("environments");
    let reply = apply(&server, &[changed], false).await.unwrap();
    let told: Vec<(&str, Option<&Value>, Option<&Value>)> = reply.results[0]
        .differences
        .iter()
        .map(|one| (one.path.as_str(), one.before.as_ref(), one.after.as_ref()))
        .collect();
    assert_eq!(
        told,
        [
            ("environments", Some(&json!(["Production"])), None),
            ("weekly[0].to", Some(&json!("04:00")), Some(&json!("05:00"))),
        ]
    );
    let audit = server.client(Role::Admin).audit(&AuditQuery::default()).await.unwrap();
    let mut messages: Vec<&str> = audit.entries.iter().map(|entry| entry.message.as_str()).collect();
    messages.sort_unstable();
    assert_eq!(
        messages,
        [
            "changed the Window nights",
            "made the ApprovalRule owners",
            "made the Policy lenient",
            "made the Window nights",
        ],
        "each change is written down once"
    );
    let entry = audit.entries.iter().find(|entry| entry.action == "setting.change").unwrap();
    assert_eq!(entry.resource, "window/nights");
    assert_eq!(entry.before.as_ref().unwrap()["weekly"][0]["to"], "04:00");
}

#[tokio::test]
async fn one_bad_document_stops_all_and_every_problem_is_said() {
    let server = server().await;
    let documents = [
        nights(),
        document("Window", "Bad Name", json!({"mode": "Allow", "timeZone": "Mars/Base"})),
        document("Policy", "p", json!({"crds": {"rules": {"field-remove": "safe"}}})),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {}}),
        nights(),
    ];
    // Frames are read first: nothing can be said about what a document wants before it is known what it is.
    let error = apply(&server, &documents, false).await.unwrap_err();
    let ClientError::Refused { status, body } = error else { panic!("{error}") };
    assert_eq!((status, body.code.as_str()), (400, "VALIDATION_ERROR"));
    let paths: Vec<&str> = body.details.iter().filter_map(|detail| detail.path.as_deref()).collect();
    assert_eq!(
        paths,
        ["documents[3].apiVersion", "documents[3].kind", "documents[3].metadata.name", "documents[4]"]
    );
    let error = apply(&server, &documents[..3], false).await.unwrap_err();
    let ClientError::Refused { body, .. } = error else { panic!("{error}") };
    let told: Vec<String> = body
        .details
        .iter()
        .map(|detail| format!("{} {}", detail.path.as_deref().unwrap_or_default(), detail.message))
        .collect();
    assert_eq!(
        told,
        [
            "documents[1].metadata.name has to consist of lower-case letters, digits and dashes, and to begin \
             and end without a dash",
            "documents[1].spec.timeZone is \"Mars/Base\", which is no IANA time zone such as Europe/Berlin",
            "documents[2].spec.crds.rules.field-remove names the finding \"field-remove\", which does not exist; \
             did you mean field-removed, preserve-unknown-fields-removed, selectable-field-removed?",
        ]
    );
    assert!(exported(&server).await.is_empty(), "nothing was written");
    let audit = server.client(Role::Admin).audit(&AuditQuery::default()).await.unwrap();
    assert_eq!(audit.page.total, 0);
}

#[tokio::test]
async fn what_is_exported_changes_nothing_when_it_is_applied() {
    use proptest::prelude::*;
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let scope = || {
        (
            proptest::option::of(Just(json!(["Production", "Staging"]))),
            proptest::option::of(Just(json!(["widgets"]))),
        )
    };
    let window = (scope(), any::<bool>(), 0..24_u8, 0..60_u8, proptest::option::of("[a-zA-Zäöü \"\\\\]{0,30}"), 1..4_usize)
        .prop_map(|((environments, operators), freeze, hour, minute, reason, count)| {
            let times = vec![
                json!({"days": ["Friday", "Sunday"], "from": format!("{hour:02}:{minute:02}"), "to": "06:30"});
                count
            ];
            json!({
                "mode": if freeze { "Freeze" } else { "Allow" }, "timeZone": "America/New_York",
                "environments": environments, "operators": operators, "reason": reason, "weekly": times,
                "dates": [{"from": "2026-12-20T00:00:00", "to": "2027-01-04T12:30:00"}],
            })
        });
    let rule = (scope(), 1..20_u32, any::<bool>(), 1..2160_i64).prop_map(
        |((environments, operators), quorum, four_eyes, hours)| {
            json!({
                "type": "BreakingCrdChange", "environments": environments, "operators": operators,
                "levels": [{"by": ["Admin", "EnvironmentOwner", "user:ada"], "quorum": quorum}],
                "fourEyes": four_eyes, "expiresAfter": format!("PT{hours}H"),
            })
        },
    );
    let policy = (scope(), any::<bool>()).prop_map(|((environments, operators), waived)| {
        let waiver = json!({
            "finding": "field-removed", "path": ".spec.*", "reason": "r", "who": "w",
            "expires": "2030-01-01T00:00:00+01:00",
        });
        json!({
            "environments": environments, "operators": operators,
            "crds": {"rules": {"required-added": "risky"}, "waivers": if waived { vec![waiver] } else { vec![] }},
        })
    });
    let mut runner = TestRunner::deterministic();
    let server = server().await;
    for round in 0..20 {
        let documents = [
            document("Window", "w", window.new_tree(&mut runner).unwrap().current()),
            document("ApprovalRule", "r", rule.new_tree(&mut runner).unwrap().current()),
            document("Policy", "p", policy.new_tree(&mut runner).unwrap().current()),
        ];
        apply(&server, &documents, false)
            .await
            .unwrap_or_else(|error| panic!("{round}: {error} {documents:?}"));
        let export = exported(&server).await;
        assert_eq!(export.len(), 3);
        let again = apply(&server, &export, false).await.unwrap();
        assert_eq!(again.changed, 0, "{round}: {again:?}");
        assert_eq!(exported(&server).await, export);
    }
}

#[tokio::test]
async fn a_setting_is_shown_and_removed() {
    let server = server().await;
    apply(&server, &[nights(), owners()], false).await.unwrap();
    let viewer = server.client(Role::Viewer);
    let query = KindQuery { kind: Some("Window".to_owned()) };
    assert_eq!(viewer.settings(&query).await.unwrap().settings.len(), 1);
    let shown = viewer.setting("window", "nights").await.unwrap();
    assert_eq!((shown.kind.as_str(), &shown.spec["timeZone"]), ("Window", &json!("Europe/Berlin")));
    let error = viewer.remove_setting("Window", "nights").await.unwrap_err();
    assert!(matches!(error, ClientError::Refused { status: 403, .. }), "{error}");
    let admin = server.client(Role::Admin);
    admin.remove_setting("Window", "nights").await.unwrap();
    for (kind, name) in [("Window", "nights"), ("Pod", "nights"), ("Window", "a\0b")] {
        let error = admin.setting(kind, name).await.unwrap_err();
        assert!(matches!(error, ClientError::Refused { status: 404, .. }), "{error}");
    }
    let error = server.client(Role::Operator).export(&KindQuery::default()).await.unwrap_err();
    assert!(matches!(error, ClientError::Refused { status: 403, .. }), "{error}");
}
