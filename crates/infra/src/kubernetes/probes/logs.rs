//! The last error lines of controllers: few, short, and without what looks like a secret.

use std::fmt::Write as _;

use futures::StreamExt as _;
use jiff::Timestamp;
use slipway_domain::health::{ContainerSeen, LogLine, PodSeen, WorkloadSeen, is_error_line, redact};

use super::call::Call;

/// So many pods of a release are asked, so many lines of each are read and so many are kept in all.
const PODS: usize = 6;
const READ: u32 = 200;
const BYTES: u32 = 128 * 1024;
const KEPT: usize = 20;
/// How many of the last words of a container that crashed are kept, whatever they say.
const LAST_WORDS: usize = 5;
/// Lines older than this are not news.
const SINCE_SECONDS: u32 = 600;

/// Reads the logs of pods, those in trouble first. A pod whose logs cannot be read is passed over: the
/// verdict does not stand on them.
pub(super) async fn look(call: &Call, workloads: &[WorkloadSeen]) -> Vec<LogLine> {
    let mut containers: Vec<(&str, &PodSeen, &ContainerSeen)> = workloads
        .iter()
        .flat_map(|workload| workload.pods.iter().map(move |pod| (workload.namespace.as_str(), pod)))
        .flat_map(|(namespace, pod)| pod.containers.iter().map(move |container| (namespace, pod, container)))
        .collect();
    containers.sort_by_key(|(_, pod, container)| (pod.ready, std::cmp::Reverse(container.restarts)));
    containers.truncate(PODS);
    let reads: Vec<_> = containers.into_iter().map(|(namespace, pod, container)| async move {
        let crashed = container.waiting.as_ref().is_some_and(|waiting| waiting.reason == "CrashLoopBackOff");
        let mut path = format!(
            "/api/v1/namespaces/{namespace}/pods/{}/log?container={}&tailLines={READ}&limitBytes={BYTES}&timestamps=true",
            pod.name, container.name
        );
        if crashed {
            path.push_str("&previous=true");
        } else {
            let _ = write!(path, "&sinceSeconds={SINCE_SECONDS}");
        }
        let text = call.text(&path).await.unwrap_or_default();
        lines(&text, &pod.name, &container.name, crashed)
    }).collect();
    let read: Vec<Vec<LogLine>> = futures::stream::iter(reads).buffered(PODS).collect().await;
    let mut lines: Vec<LogLine> = read.into_iter().flatten().collect();
    lines.sort_by_key(|line| line.at);
    lines.split_off(lines.len().saturating_sub(KEPT))
}

fn lines(text: &str, pod: &str, container: &str, crashed: bool) -> Vec<LogLine> {
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = if crashed { all.len().saturating_sub(LAST_WORDS) } else { all.len() };
    all.iter()
        .enumerate()
        .filter_map(|(index, line)| {
            let (at, line) = match line.split_once(' ') {
                Some((time, rest)) => match time.parse::<Timestamp>() {
                    Ok(at) => (Some(at), rest),
                    Err(_) => (None, *line),
                },
                None => (None, *line),
            };
            (index >= last || is_error_line(line)).then(|| LogLine {
                pod: pod.to_owned(),
                container: container.to_owned(),
                at,
                line: redact(line),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_kept_and_of_a_crash_the_last_words() {
        let text = "2026-11-15T12:00:00.5Z INFO starting\n\
                    2026-11-15T12:00:01Z ERROR no route, token=abc\n\
                    2026-11-15T12:00:02Z bye\n\n";
        let kept = lines(text, "pod", "manager", false);
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].line, "ERROR no route, token=[redacted]");
        assert_eq!(kept[0].at, Some("2026-11-15T12:00:01Z".parse().unwrap()));
        assert_eq!(lines(text, "pod", "manager", true).len(), 3);
        assert_eq!(lines("no time here: error", "pod", "manager", false)[0].at, None);
    }
}
