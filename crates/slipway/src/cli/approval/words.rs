//! Approvals as people read them.

use std::fmt::Write as _;

use jiff::Timestamp;
use slipway_contract::approvals::{Approval, ApprovalDecision, ApprovalList, ApprovalStatus};

use super::super::relative::{ago, until};
use super::super::table::{Cell, Tone, facts, table};

/// As much of the id as people type.
pub(super) fn short(approval: &Approval) -> String {
    approval.approval_id.simple().to_string().chars().take(8).collect()
}

/// `cert-manager v1.14.0 to Production (ProductionDeployment)`
pub(super) fn what(approval: &Approval) -> String {
    format!(
        "{} {} to {:?} ({:?})",
        approval.operator_name, approval.target_version, approval.environment, approval.kind
    )
}

/// `none` is said where there is nothing.
pub(super) fn listed(list: &ApprovalList, none: &str, now: Timestamp) -> String {
    let row = |approval: &Approval| {
        vec![
            Cell::new(short(approval), Tone::Plain),
            Cell::from(format!("{:?}", approval.kind)),
            Cell::from(&approval.operator_name),
            Cell::from(&approval.target_version),
            Cell::from(format!("{:?}", approval.environment)),
            status(approval.status),
            Cell::from(&approval.initiated_by),
            Cell::from(when(approval, now)),
            Cell::from(next(approval)),
        ]
    };
    let headings = [
        "APPROVAL",
        "TYPE",
        "OPERATOR",
        "VERSION",
        "ENVIRONMENT",
        "STATUS",
        "STARTED BY",
        "WHEN",
        "WAITS FOR",
    ];
    let mut text = table(&headings, list.approvals.iter().map(row), none);
    if let Some(next) = list.page.next_offset {
        let _ = writeln!(text, "\n{} of {}; more: --offset {next}", list.approvals.len(), list.page.total);
    }
    if let Some(mine) = list.approvals.iter().find(|approval| approval.can_decide) {
        let id = short(mine);
        let _ = write!(text, "\nlook: slipway approval show {id}     decide: slipway approval approve {id}");
    }
    text
}

fn when(approval: &Approval, now: Timestamp) -> String {
    match (approval.status, approval.ended_at) {
        (ApprovalStatus::Pending, _) => format!("expires {}", until(approval.expires_at, now)),
        (_, Some(ended)) => ago(ended, now),
        (_, None) => ago(approval.created_at, now),
    }
}

fn next(approval: &Approval) -> Option<String> {
    let waits = approval.waits_for.clone()?;
    Some(if approval.can_decide { format!("you: {waits}") } else { waits })
}

pub(super) fn shown(approval: &Approval, now: Timestamp) -> String {
    let waits = approval.status == ApprovalStatus::Pending;
    let mut rows: Vec<(&'static str, Cell)> = vec![
        ("approval", approval.approval_id.to_string().into()),
        ("type", format!("{:?}", approval.kind).into()),
        ("operator", (&approval.operator_name).into()),
        ("version", (&approval.target_version).into()),
        ("environment", format!("{:?}", approval.environment).into()),
        ("because", (&approval.because).into()),
        ("started by", format!("{}, {}", approval.initiated_by, ago(approval.created_at, now)).into()),
        ("deployment", approval.deployment_id.to_string().into()),
        ("plan", (&approval.plan_hash).into()),
        ("status", status(approval.status)),
    ];
    if let Some(because) = &approval.lapsed_because {
        rows.push(("lapsed", because.into()));
    }
    if waits {
        rows.push(("waits for", approval.waits_for.clone().into()));
        rows.push((
            "expires",
            format!("{} ({})", until(approval.expires_at, now), approval.expires_at).into(),
        ));
    } else if let Some(ended) = approval.ended_at {
        rows.push(("ended", format!("{} ({ended})", ago(ended, now)).into()));
    }
    for level in approval.levels.iter().filter(|_| approval.levels.len() > 1) {
        rows.push((
            "level",
            format!("{} of {} agreed: {}", level.agreed, level.quorum, level.by.join(" or ")).into(),
        ));
    }
    let mut text = facts(rows);
    if !approval.decisions.is_empty() {
        let row = |decision: &ApprovalDecision| {
            vec![
                Cell::from(ago(decision.at, now)),
                Cell::from(&decision.by),
                Cell::from(format!("{:?}", decision.verdict)),
                Cell::from(decision.notes.clone()),
            ]
        };
        let history = table(&["WHEN", "WHO", "DECIDED", "NOTES"], approval.decisions.iter().map(row), "");
        let _ = write!(text, "\n{history}");
    }
    if waits && approval.can_decide {
        let id = short(approval);
        let _ = write!(
            text,
            "\ndecide: slipway approval approve {id} --notes \"...\"\n        \
             slipway approval reject {id} --reason \"...\""
        );
    }
    text
}

/// What became of a yes.
pub(super) fn approved(after: &Approval) -> String {
    match (&after.status, &after.waits_for) {
        (ApprovalStatus::Pending, Some(waits)) => {
            format!("approved: {}\nit still takes {waits}", what(after))
        }
        _ => format!("approved: {}\nnothing else is needed for this one", what(after)),
    }
}

fn status(status: ApprovalStatus) -> Cell {
    let tone = match status {
        ApprovalStatus::Pending | ApprovalStatus::Expired => Tone::Warning,
        ApprovalStatus::Approved => Tone::Good,
        ApprovalStatus::Rejected | ApprovalStatus::Bypassed => Tone::Bad,
        ApprovalStatus::Lapsed => Tone::Quiet,
    };
    Cell::new(format!("{status:?}"), tone)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use slipway_contract::approvals::{ApprovalEnvironment, ApprovalLevel, ApprovalType, ApprovalVerdict};
    use slipway_contract::page::PageInfo;
    use uuid::Uuid;

    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap()
    }

    fn approval() -> Approval {
        Approval {
            approval_id: Uuid::from_u128(0x51c2_0000_0000_4000_8000_0000_0000_0001),
            kind: ApprovalType::ProductionDeployment,
            deployment_id: Uuid::from_u128(0x7f3a_9100_0000_4000_8000_0000_0000_0002),
            operator_name: "cert-manager".to_owned(),
            target_version: "v1.14.0".to_owned(),
            environment: ApprovalEnvironment::Production,
            status: ApprovalStatus::Pending,
            because: "it goes to production: prod-eu".to_owned(),
            initiated_by: "bob".to_owned(),
            plan_hash: "sha256:0123456789abcdef".to_owned(),
            four_eyes: true,
            levels: vec![
                ApprovalLevel { by: vec!["EnvironmentOwner".to_owned()], quorum: 1, agreed: 1 },
                ApprovalLevel { by: vec!["Admin".to_owned()], quorum: 1, agreed: 0 },
            ],
            waits_for: Some("an admin".to_owned()),
            can_decide: true,
            decisions: vec![ApprovalDecision {
                by: "ada".to_owned(),
                verdict: ApprovalVerdict::Approved,
                level: 1,
                notes: Some("tried on staging".to_owned()),
                at: now() - SignedDuration::from_mins(4),
            }],
            created_at: now() - SignedDuration::from_hours(2),
            expires_at: now() + SignedDuration::from_hours(22),
            ended_at: None,
            lapsed_because: None,
        }
    }

    fn list(approvals: Vec<Approval>) -> ApprovalList {
        let total = approvals.len() as u64;
        let page = PageInfo { total, limit: 50, offset: 0, has_more: false, next_offset: None };
        ApprovalList { approvals, page }
    }

    #[test]
    fn what_waits_is_listed_with_what_to_do_next() {
        let mut ended = approval();
        ended.status = ApprovalStatus::Rejected;
        ended.ended_at = Some(now() - SignedDuration::from_mins(3));
        (ended.waits_for, ended.can_decide) = (None, false);
        insta::assert_snapshot!(listed(&list(vec![approval(), ended]), "", now()), @r"
        APPROVAL  TYPE                  OPERATOR      VERSION  ENVIRONMENT  STATUS    STARTED BY  WHEN                 WAITS FOR
        51c20000  ProductionDeployment  cert-manager  v1.14.0  Production   Pending   bob         expires in 22 hours  you: an admin
        51c20000  ProductionDeployment  cert-manager  v1.14.0  Production   Rejected  bob         3 minutes ago        -

        look: slipway approval show 51c20000     decide: slipway approval approve 51c20000
        ");
        insta::assert_snapshot!(listed(&list(Vec::new()), "no approval waits", now()), @"no approval waits");
    }

    #[test]
    fn an_approval_is_shown_with_its_history() {
        insta::assert_snapshot!(shown(&approval(), now()), @r#"
        approval     51c20000-0000-4000-8000-000000000001
        type         ProductionDeployment
        operator     cert-manager
        version      v1.14.0
        environment  Production
        because      it goes to production: prod-eu
        started by   bob, 2 hours ago
        deployment   7f3a9100-0000-4000-8000-000000000002
        plan         sha256:0123456789abcdef
        status       Pending
        waits for    an admin
        expires      in 22 hours (2027-01-16T06:00:00Z)
        level        1 of 1 agreed: EnvironmentOwner
        level        0 of 1 agreed: Admin

        WHEN           WHO  DECIDED   NOTES
        4 minutes ago  ada  Approved  tried on staging

        decide: slipway approval approve 51c20000 --notes "..."
                slipway approval reject 51c20000 --reason "..."
        "#);
    }

    #[test]
    fn whoever_approves_is_told_what_is_still_missing() {
        insta::assert_snapshot!(approved(&approval()), @r"
        approved: cert-manager v1.14.0 to Production (ProductionDeployment)
        it still takes an admin
        ");
        let done = Approval { status: ApprovalStatus::Approved, waits_for: None, ..approval() };
        insta::assert_snapshot!(approved(&done), @r"
        approved: cert-manager v1.14.0 to Production (ProductionDeployment)
        nothing else is needed for this one
        ");
    }
}
