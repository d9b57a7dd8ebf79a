//! What is said about approvals.

use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_domain::approval::{Approval, ApprovalStatus, Decision};

use super::Notice;
use super::letter::{Letter, moment};

/// Somebody has to decide: the open level is asked.
pub fn required(approval: &Approval, public_url: &str) -> Notice {
    let level = approval.open_level().unwrap_or_default();
    let what = what(approval);
    let id = approval.id;
    let starter = &approval.starter.name;
    let letter =
        facts(Letter::new(format!("{starter} wants to {what}. It waits for your decision.")), approval)
            .fact("Decides", approval.waits_for().unwrap_or_default())
            .fact_if("Agreed so far", agreed(approval))
            .fact("Until", moment(approval.expires_at))
            .next("Look at it and decide:", [link(approval, public_url)])
            .next(
                "On the command line:",
                [
                    format!("slipway approval show {id}"),
                    format!("slipway approval approve {id} --notes \"...\""),
                    format!("slipway approval reject {id} --reason \"...\""),
                ],
            )
            .next(
                "By the API:",
                ["approve", "reject"].map(|verb| format!("POST {public_url}/api/v1/approvals/{id}/{verb}")),
            );
    Notice {
        kind: "approval.required",
        key: format!("approval/{id}/required/{level}"),
        subject: subject("Approval Required", approval),
        text: letter.text(),
        facts: for_programs(approval, public_url),
    }
}

/// It ended; nothing while it waits.
pub fn decided(approval: &Approval, public_url: &str) -> Option<Notice> {
    let what = what(approval);
    let by = approval.last_decision().map(|decision| decision.name.clone()).unwrap_or_default();
    let note = approval.last_decision().and_then(|decision| decision.note.as_ref()).map(ToString::to_string);
    let (kind, title, lead) = match approval.status {
        ApprovalStatus::Pending => return None,
        ApprovalStatus::Approved => ("approval.approved", "Approved", format!("{by} approved: {what}.")),
        ApprovalStatus::Rejected => {
            ("approval.rejected", "Rejected", format!("{by} rejected: {what}. Nothing is rolled out by it."))
        }
        ApprovalStatus::Expired => (
            "approval.expired",
            "Expired",
            format!(
                "Nobody decided in time: {what}. That counts as a no; start the deployment again to ask anew."
            ),
        ),
        ApprovalStatus::Lapsed => {
            ("approval.lapsed", "Lapsed", format!("This approval does not count any more: {what}."))
        }
        ApprovalStatus::Bypassed => (
            "approval.bypassed",
            "Emergency",
            format!("{by} went past the approval in an emergency: {what}. Look at it now."),
        ),
    };
    let ended = approval.ended_at.map(moment);
    let reason = match approval.status {
        ApprovalStatus::Approved | ApprovalStatus::Expired => None,
        ApprovalStatus::Lapsed => approval.lapsed_because.clone(),
        _ => note.clone(),
    };
    let letter = facts(Letter::new(lead), approval)
        .fact_if("Decided by", (!by.is_empty()).then(|| decided_by(approval)))
        .fact_if("Reason", reason)
        .fact_if("Notes", note.filter(|_| approval.status == ApprovalStatus::Approved))
        .fact_if("Ended", ended)
        .next("Look at it:", [link(approval, public_url)])
        .next("On the command line:", [format!("slipway approval show {}", approval.id)]);
    Some(Notice {
        kind,
        key: format!("approval/{}/{}", approval.id, approval.status).to_lowercase(),
        subject: subject(title, approval),
        text: letter.text(),
        facts: for_programs(approval, public_url),
    })
}

/// `Approved: Deploy cert-manager v1.14.0 to Production`
fn subject(title: &str, approval: &Approval) -> String {
    let subject = &approval.subject;
    format!("{title}: Deploy {} {} to {}", subject.operator, version(approval), subject.environment)
}

fn what(approval: &Approval) -> String {
    let subject = &approval.subject;
    format!("deploy {} {} to {}", subject.operator, version(approval), subject.environment)
}

/// With one `v` in front, however it was written.
fn version(approval: &Approval) -> String {
    let text = approval.subject.target_version.as_str();
    format!("v{}", text.strip_prefix('v').unwrap_or(text))
}

fn facts(letter: Letter, approval: &Approval) -> Letter {
    let subject = &approval.subject;
    letter
        .fact("Operator", subject.operator.as_str())
        .fact("Version", version(approval))
        .fact("Environment", subject.environment.to_string())
        .fact("Type", approval.kind.to_string())
        .fact("Why it is asked", approval.because.clone())
        .fact("Started by", approval.starter.name.clone())
        .fact("Approval", approval.id.to_string())
        .fact("Deployment", subject.rollout.to_string())
        .fact("Plan", subject.plan.short())
}

fn agreed(approval: &Approval) -> Option<String> {
    let names: Vec<&str> = approval.decisions.iter().map(|decision| decision.name.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn decided_by(approval: &Approval) -> String {
    let line =
        |decision: &Decision| format!("{} ({}, {})", decision.name, decision.verdict, moment(decision.at));
    approval.decisions.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn link(approval: &Approval, public_url: &str) -> String {
    format!("{}/approvals/{}", public_url.trim_end_matches('/'), approval.id)
}

fn for_programs(approval: &Approval, public_url: &str) -> Value {
    let decision = |decision: &Decision| {
        json!({
            "by": decision.name,
            "verdict": decision.verdict,
            "level": decision.level + 1,
            "notes": decision.note,
            "at": decision.at,
        })
    };
    json!({
        "approvalId": approval.id,
        "type": approval.kind,
        "deploymentId": approval.subject.rollout,
        "operatorName": approval.subject.operator,
        "targetVersion": approval.subject.target_version,
        "environment": approval.subject.environment,
        "planHash": approval.subject.plan,
        "status": approval.status,
        "because": approval.because,
        "initiatedBy": approval.starter.name,
        "createdAt": at(approval.created_at),
        "expiresAt": at(approval.expires_at),
        "decisions": approval.decisions.iter().map(decision).collect::<Vec<_>>(),
        "link": link(approval, public_url),
    })
}

fn at(moment: Timestamp) -> String {
    moment.to_string()
}
