//! A line per piece of news, for logs.

use jiff::Timestamp;
use slipway_contract::approvals::ApprovalStatus;
use slipway_contract::deployments::{DeploymentDetailReply, DeploymentNews, NewsReply};
use uuid::Uuid;

use super::super::view::{Look, heading, short, view};
use crate::cli::output::{Format, print};

/// What was told already.
#[derive(Debug)]
pub(super) struct Lines {
    format: Format,
    begun: bool,
    after: i64,
    /// The decisions that somebody was told to make.
    asked: Vec<Uuid>,
    trouble: bool,
}

impl Lines {
    pub(super) fn new(format: Format) -> Self {
        Self { format, begun: false, after: 0, asked: Vec::new(), trouble: false }
    }

    /// The number of the last piece of news.
    pub(super) fn after(&self) -> i64 {
        self.after
    }

    /// Tells what is new.
    pub(super) fn tell(&mut self, detail: &DeploymentDetailReply, news: &NewsReply) -> anyhow::Result<()> {
        print(&self.text(detail, news)?)
    }

    fn text(&mut self, detail: &DeploymentDetailReply, news: &NewsReply) -> anyhow::Result<String> {
        self.trouble = false;
        let mut text = String::new();
        if !self.begun && self.format == Format::Table {
            text.push_str(&format!("{}\n", heading(&detail.deployment)));
        }
        self.begun = true;
        for one in news.news.iter().filter(|one| one.number > self.after) {
            text.push_str(&match self.format {
                Format::Table => line(one),
                Format::Json | Format::Yaml => format!("{}\n", serde_json::to_string(one)?),
            });
        }
        self.after = news.news.iter().map(|one| one.number).fold(self.after, i64::max);
        let open = detail.approvals.iter().filter(|one| one.status == ApprovalStatus::Pending);
        for approval in open {
            if self.format == Format::Table && !self.asked.contains(&approval.approval_id) {
                let who = approval.waits_for.as_deref().unwrap_or("somebody");
                let id = short(approval.approval_id);
                text.push_str(&format!("waits for {who}: slipway approval approve {id}\n"));
            }
            self.asked.push(approval.approval_id);
        }
        self.asked.sort_unstable();
        self.asked.dedup();
        Ok(text)
    }

    /// Says once that the server is away.
    pub(super) fn trouble(&mut self, words: &str) {
        if !self.trouble {
            eprintln!("{words}");
        }
        self.trouble = true;
    }

    /// How it ended.
    pub(super) fn end(&self, detail: &DeploymentDetailReply, now: Timestamp) -> anyhow::Result<String> {
        if self.format != Format::Table {
            return Ok(format!("{}\n", serde_json::to_string(detail)?));
        }
        let look = Look { glyphs: false, width: usize::MAX, tick: 0, followed: false };
        let lines = view(detail, now, look).into_iter().skip(1);
        Ok(lines.map(|line| format!("{line}\n")).collect())
    }
}

/// `12:29:40Z  stage-2  it has the version and is well`
pub(in super::super) fn line(news: &DeploymentNews) -> String {
    let at = news.at.strftime("%H:%M:%SZ");
    let place = news.cluster_name.as_ref().map(|name| format!("{name}  ")).unwrap_or_default();
    format!("{at}  {place}{}\n", news.text.replace(char::is_control, " "))
}

#[cfg(test)]
mod tests {
    use slipway_contract::deployments::DeploymentStatus;

    use super::super::super::view::samples;
    use super::*;

    fn news(number: i64, cluster: Option<&str>, text: &str) -> DeploymentNews {
        DeploymentNews {
            number,
            at: samples::at("12:29:40"),
            kind: "said".to_owned(),
            cluster_name: cluster.map(str::to_owned),
            text: text.to_owned(),
        }
    }

    fn reply(detail: &DeploymentDetailReply, news: Vec<DeploymentNews>) -> NewsReply {
        let deployment = &detail.deployment;
        NewsReply {
            deployment_id: deployment.deployment_id,
            status: deployment.status,
            news,
            has_more: false,
        }
    }

    #[test]
    fn each_piece_of_news_is_told_once_with_the_decision_that_is_waited_for() {
        let waits = samples::approval_wait();
        let mut lines = Lines::new(Format::Table);
        let first = reply(&waits, vec![news(1, None, "preflight found nothing in the way on 10 clusters")]);
        let second = reply(&waits, vec![first.news[0].clone(), news(2, Some("dev-1"), "it has the version")]);
        let mut text = lines.text(&waits, &first).unwrap();
        text.push_str(&lines.text(&waits, &second).unwrap());
        insta::assert_snapshot!(text, @r"
        cert-manager v1.13.2 → v1.14.0   canary over 10 clusters   deployment 7f3a91c2
        12:29:40Z  preflight found nothing in the way on 10 clusters
        waits for an owner of Production: slipway approval approve 51c2aa00
        12:29:40Z  dev-1  it has the version
        ");
        assert_eq!(lines.after(), 2);
    }

    #[test]
    fn scripts_get_news_and_the_end_as_json() {
        let done = samples::done();
        assert_eq!(done.deployment.status, DeploymentStatus::Completed);
        let mut lines = Lines::new(Format::Json);
        let text = lines.text(&done, &reply(&done, vec![news(1, None, "it is complete")])).unwrap()
            + &lines.end(&done, samples::at("12:50:00")).unwrap();
        let read: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read[0]["text"], "it is complete");
        assert_eq!(read[1]["status"], "Completed");
    }
}
