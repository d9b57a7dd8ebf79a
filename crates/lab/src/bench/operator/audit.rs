//! What an operator asked of the API server, counted there and not by the operator.
//!
//! The API server's audit log holds the requests of one user only, the operator's; this reads it as it
//! grows and counts. It judges nothing.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Deserialize;

/// How long nothing may be written for an operator to count as quiet.
const QUIET: Duration = Duration::from_secs(5);

/// One line of an audit log, as far as it matters.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    verb: String,
    object_ref: Option<ObjectRef>,
    response_status: Option<ResponseStatus>,
}

#[derive(Debug, Deserialize)]
struct ObjectRef {
    resource: Option<String>,
    subresource: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ResponseStatus {
    code: Option<u16>,
}

/// What a request was, for counting.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Sort {
    /// A change of an object: what it was of and how, such as `deployments create`.
    Write(String),
    /// Leader election.
    Lease,
    /// An Event for people.
    Event,
    /// A question: get, list, watch, or one that is asked by creating a review.
    Read,
}

impl Line {
    fn sort(&self) -> Sort {
        if !["create", "update", "patch", "delete", "deletecollection"].contains(&self.verb.as_str()) {
            return Sort::Read;
        }
        let object = self.object_ref.as_ref();
        let resource = object.and_then(|object| object.resource.as_deref()).unwrap_or("unknown");
        match resource {
            "leases" => Sort::Lease,
            "events" => Sort::Event,
            review if review.ends_with("reviews") => Sort::Read,
            _ => match object.and_then(|object| object.subresource.as_deref()) {
                Some(subresource) => Sort::Write(format!("{resource}/{subresource} {}", self.verb)),
                None => Sort::Write(format!("{resource} {}", self.verb)),
            },
        }
    }
}

/// Requests, by what they were.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Changes of objects, by what they were of, how, and whether they were refused: the server had the work anyway.
    pub(super) writes: BTreeMap<String, u64>,
    /// Writes that were refused because the object had changed or was there already (409).
    pub(super) conflicts: u64,
    /// Writes that were refused for another reason.
    pub(super) refused: u64,
    /// Writes of leader election.
    pub(super) leases: u64,
    /// Events for people.
    pub(super) events: u64,
    /// Questions.
    pub(super) reads: u64,
}

impl Tally {
    /// All changes of objects.
    pub(super) fn written(&self) -> u64 {
        self.writes.values().sum()
    }

    fn add(&mut self, line: &Line) {
        match line.sort() {
            Sort::Lease => self.leases += 1,
            Sort::Event => self.events += 1,
            Sort::Read => self.reads += 1,
            Sort::Write(what) => {
                let refusal =
                    line.response_status.as_ref().and_then(|status| status.code).filter(|code| *code >= 400);
                let what = match refusal {
                    Some(code) => format!("{what}, refused with {code}"),
                    None => what,
                };
                *self.writes.entry(what).or_default() += 1;
                match refusal {
                    Some(409) => self.conflicts += 1,
                    Some(_) => self.refused += 1,
                    None => {}
                }
            }
        }
    }

    /// Adds what was counted elsewhere.
    pub(super) fn join(&mut self, other: Self) {
        for (what, count) in other.writes {
            *self.writes.entry(what).or_default() += count;
        }
        self.conflicts += other.conflicts;
        self.refused += other.refused;
        self.leases += other.leases;
        self.events += other.events;
        self.reads += other.reads;
    }
}

/// An audit log that is being written.
#[derive(Debug)]
pub(super) struct AuditLog {
    path: PathBuf,
    offset: u64,
}

impl AuditLog {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, offset: 0 }
    }

    /// What the log's file is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What came since the last look.
    pub(super) fn take(&mut self) -> anyhow::Result<Tally> {
        let mut text = Vec::new();
        let mut file = File::open(&self.path)
            .with_context(|| format!("opening the audit log {}", self.path.display()))?;
        file.seek(SeekFrom::Start(self.offset))?;
        file.read_to_end(&mut text)?;
        let (tally, used) = count(&text)?;
        self.offset += used as u64;
        Ok(tally)
    }

    /// Waits until nothing was written for a while, and gives what came since the last look.
    pub(super) async fn take_when_quiet(&mut self, patience: Duration) -> anyhow::Result<Tally> {
        let mut all = self.take()?;
        let started = Instant::now();
        let mut since = Instant::now();
        while since.elapsed() < QUIET && started.elapsed() < patience {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let more = self.take()?;
            if more.written() > 0 {
                since = Instant::now();
            }
            all.join(more);
        }
        Ok(all)
    }
}

/// Counts whole lines, and says how many bytes they have; the last one may still be being written.
fn count(text: &[u8]) -> anyhow::Result<(Tally, usize)> {
    let mut tally = Tally::default();
    let mut used = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
        tally.add(&serde_json::from_slice(line).context("reading a line of the audit log")?);
        used += line.len();
    }
    Ok((tally, used))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(verb: &str, resource: &str, code: u16) -> String {
        let (resource, subresource) = match resource.split_once('/') {
            Some((resource, subresource)) => (resource, format!(r#","subresource":"{subresource}""#)),
            None => (resource, String::new()),
        };
        format!(
            r#"{{"kind":"Event","level":"Metadata","stage":"ResponseComplete","verb":"{verb}","objectRef":{{"resource":"{resource}","name":"a"{subresource}}},"responseStatus":{{"code":{code}}}}}"#
        ) + "\n"
    }

    fn counted(lines: &[String]) -> Tally {
        count(lines.concat().as_bytes()).unwrap().0
    }

    #[test]
    fn writes_are_counted_by_resource_and_verb() {
        let tally = counted(&[
            line("create", "deployments", 201),
            line("create", "deployments", 201),
            line("patch", "applications", 200),
            line("patch", "applications/status", 200),
        ]);
        assert_eq!(tally.written(), 4);
        assert_eq!(tally.writes["deployments create"], 2);
        assert_eq!(tally.writes["applications/status patch"], 1);
        assert_eq!((tally.conflicts, tally.reads), (0, 0));
    }

    #[test]
    fn leases_events_and_reviews_are_no_writes_of_the_work() {
        let tally = counted(&[
            line("update", "leases", 200),
            line("create", "events", 201),
            line("patch", "events", 200),
            line("create", "subjectaccessreviews", 201),
            line("list", "deployments", 200),
            line("watch", "deployments", 200),
        ]);
        assert_eq!(tally.written(), 0);
        assert_eq!((tally.leases, tally.events, tally.reads), (1, 2, 3));
    }

    #[test]
    fn a_refused_write_is_a_write_and_a_conflict_is_told_from_other_refusals() {
        let tally = counted(&[
            line("update", "deployments", 409),
            line("create", "services", 422),
            line("update", "leases", 409),
        ]);
        assert_eq!((tally.written(), tally.conflicts, tally.refused, tally.leases), (2, 1, 1, 1));
        assert_eq!(tally.writes["deployments update, refused with 409"], 1);
    }

    #[test]
    fn a_request_for_no_object_is_a_question() {
        let text = "{\"verb\":\"get\",\"requestURI\":\"/api\",\"responseStatus\":{\"code\":200}}\n";
        assert_eq!(count(text.as_bytes()).unwrap().0.reads, 1);
    }

    #[test]
    fn a_line_that_is_still_being_written_is_left_for_later() {
        let whole = line("create", "services", 201);
        let text = format!("{whole}{}", &whole[..20]);
        let (tally, used) = count(text.as_bytes()).unwrap();
        assert_eq!((tally.written(), used), (1, whole.len()));
    }
}
