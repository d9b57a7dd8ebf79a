//! What a deployment waits for, in sentences, and the next commands.

use std::fmt::Write as _;

use jiff::Timestamp;
use slipway_contract::approvals::ApprovalStatus;
use slipway_contract::deployments::{DeploymentDetailReply, DeploymentWait, DeploymentWhy};

use super::view::short;
use crate::cli::relative::{ago, until};

/// Clusters of which each is told by itself.
const SHOWN: usize = 6;

/// Commands, by the word that the server uses for what would unblock something.
const COMMANDS: [(&str, &str); 7] = [
    ("promote", "move on now"),
    ("extend", "watch longer"),
    ("resume", "go on"),
    ("retry", "try again"),
    ("skip", "leave a cluster out"),
    ("cancel", "end it"),
    ("rollback", "take it back"),
];

pub(super) fn words(why: &DeploymentWhy, detail: Option<&DeploymentDetailReply>, now: Timestamp) -> String {
    let mut text = String::new();
    if let Some(ended) = &why.ended {
        let _ = writeln!(text, "It is {:?}: {ended}", why.status);
    } else if why.waits_for.is_none() {
        let _ = writeln!(text, "It is {:?}, and waits for nothing.", why.status);
    }
    if let Some(wait) = &why.waits_for {
        text.push_str(&sentence(wait, now));
    }
    // Many clusters wait for the same thing; those that differ come one by one.
    let mut told: Vec<(&str, Vec<&DeploymentWait>)> = Vec::new();
    for wait in &why.clusters {
        match told.iter_mut().find(|(what, _)| *what == wait.what) {
            Some((_, same)) => same.push(wait),
            None => told.push((&wait.what, vec![wait])),
        }
    }
    for (what, same) in told.iter().take(SHOWN) {
        let names: Vec<&str> = same.iter().filter_map(|wait| wait.cluster_name.as_deref()).collect();
        match same.as_slice() {
            [wait] => {
                let _ = write!(text, "{}: {}", names.join(", "), sentence(wait, now));
            }
            _ => {
                let _ = writeln!(text, "{}: {what}.", few(&names));
            }
        }
    }
    if told.len() > SHOWN {
        let _ = writeln!(text, "{} more say other things: -o json", told.len() - SHOWN);
    }
    let next = commands(why, detail);
    if !next.is_empty() {
        let _ = writeln!(text, "  {}", next.join("     "));
    }
    text
}

/// `Wave 2 is being watched since 2 minutes, until 12:41 (in 3 minutes).`
fn sentence(wait: &DeploymentWait, now: Timestamp) -> String {
    let mut text = capital(&wait.what.replace(char::is_control, " "));
    match wait.until {
        Some(at) if at > now => {
            let _ = write!(text, ", until {} ({}).", at.strftime("%H:%MZ"), until(at, now));
        }
        Some(at) => {
            let _ = write!(text, "; it should have ended {}.", ago(at, now));
        }
        None => {
            let _ = write!(text, " (since {}).", ago(wait.since, now));
        }
    }
    text.push('\n');
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn few(names: &[&str]) -> String {
    match names {
        [one, two, three, rest @ ..] if !rest.is_empty() => {
            format!("{one}, {two}, {three} and {} more", rest.len())
        }
        _ => names.join(", "),
    }
}

fn commands(why: &DeploymentWhy, detail: Option<&DeploymentDetailReply>) -> Vec<String> {
    let id = short(why.deployment_id);
    let approvals = detail.iter().flat_map(|detail| &detail.approvals);
    let open = approvals.filter(|one| one.status == ApprovalStatus::Pending);
    let mut next: Vec<String> =
        open.map(|one| format!("decide: slipway approval approve {}", short(one.approval_id))).collect();
    let waits = why.waits_for.iter().chain(&why.clusters);
    let unblock: Vec<&str> = waits.filter_map(|wait| wait.unblock.as_deref()).collect();
    for (word, meaning) in COMMANDS {
        let meant = |text: &&str| text.split(|sign: char| !sign.is_alphabetic()).any(|part| part == word);
        if unblock.iter().any(meant)
            || (word == "rollback" && unblock.iter().any(|text| text.contains("roll back")))
        {
            let cluster = if word == "skip" { " CLUSTER" } else { "" };
            next.push(format!("{meaning}: slipway deployment {word} {id}{cluster}"));
        }
    }
    next.truncate(3);
    next
}

#[cfg(test)]
mod tests {
    use super::super::view::samples::{approval_wait, at, done, soak};
    use super::*;

    #[test]
    fn a_soak_says_until_when_and_how_to_move_on() {
        let detail = soak();
        insta::assert_snapshot!(words(&detail.why, Some(&detail), at("12:28:41")), @r"
        Wave 2, stage 2, is being watched, until 12:31Z (in 3 minutes).
        stage-2: It has to become healthy: 2/3 pods, until 12:32Z (in 3 minutes).
        eu-1, eu-2: its turn has not come.
          move on now: slipway deployment promote 7f3a91c2     watch longer: slipway deployment extend 7f3a91c2
        ");
    }

    #[test]
    fn whoever_has_to_decide_is_told_how() {
        let detail = approval_wait();
        insta::assert_snapshot!(words(&detail.why, Some(&detail), at("12:28:05")), @r"
        The plan needs the approval of an owner of Production, until 12:20Z (in 23 hours).
          decide: slipway approval approve 51c2aa00
        ");
    }

    #[test]
    fn an_end_says_that_it_is_one() {
        let detail = done();
        assert_eq!(words(&detail.why, None, at("12:50:00")), "It is Planning, and waits for nothing.\n");
    }
}
