//! News as they come, and again from where they stopped.

use std::collections::VecDeque;
use std::time::Duration;

use slipway_contract::server::{EVENTS, EventMessage, EventsQuery};

use crate::retry::pause;
use crate::{Client, ClientError};

/// Servers send something every 15 seconds; one that is silent for longer than this is gone.
const SILENCE: Duration = Duration::from_secs(45);
/// The longest pause before the stream is taken up again.
const LONGEST: Duration = Duration::from_secs(10);
/// A line longer than this is no event of ours.
const LINE: usize = 4 * 1024 * 1024;

/// A stream of news. It survives the server's restart: what came meanwhile is delivered then.
#[derive(Debug)]
pub struct Follow {
    client: Client,
    query: EventsQuery,
    last: Option<i64>,
    stream: Option<reqwest::Response>,
    reader: Reader,
    failures: u32,
}

impl Client {
    /// Follows the news from now on, or from after an event.
    pub fn follow(&self, query: EventsQuery, after: Option<i64>) -> Follow {
        Follow {
            client: self.clone(),
            query,
            last: after,
            stream: None,
            reader: Reader::default(),
            failures: 0,
        }
    }
}

impl Follow {
    /// The number of the last event that was delivered.
    pub fn last(&self) -> Option<i64> {
        self.last
    }

    /// The next event. A server that refuses ends it with its reason; one that is away is waited for.
    pub async fn next(&mut self) -> Result<EventMessage, ClientError> {
        loop {
            if let Some(event) = self.reader.ready.pop_front() {
                self.last = Some(event.number);
                return Ok(event);
            }
            let Some(stream) = &mut self.stream else {
                self.connect().await?;
                continue;
            };
            match tokio::time::timeout(SILENCE, stream.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    self.failures = 0;
                    self.reader.read(&bytes);
                }
                // Ended, broken or silent: taken up again after the last event.
                Ok(Ok(None) | Err(_)) | Err(_) => self.stream = None,
            }
        }
    }

    async fn connect(&mut self) -> Result<(), ClientError> {
        if self.failures > 0 {
            tokio::time::sleep(pause(self.failures).min(LONGEST)).await;
        }
        self.failures += 1;
        self.reader = Reader::default();
        let mut call = self.client.call(&EVENTS, &[]).query(&self.query).unlimited();
        if let Some(last) = self.last {
            call = call.header("Last-Event-ID", &last.to_string());
        }
        match call.raw().await {
            Ok(stream) => {
                self.stream = Some(stream);
                Ok(())
            }
            Err(
                ClientError::Unreachable { .. }
                | ClientError::Refused { status: 502..=504, .. }
                | ClientError::Strange { status: 502..=504, .. },
            ) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Puts lines together to events.
#[derive(Debug, Default)]
struct Reader {
    line: Vec<u8>,
    data: String,
    ready: VecDeque<EventMessage>,
}

impl Reader {
    fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                self.line(String::from_utf8_lossy(&line).trim_end_matches('\r'));
            } else if self.line.len() < LINE {
                self.line.push(*byte);
            }
        }
    }

    fn line(&mut self, line: &str) {
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            // An event of a kind that this client does not know yet is none of its business.
            if let Ok(event) = serde_json::from_str(&data) {
                self.ready.push_back(event);
            }
        } else if let Some(data) = line.strip_prefix("data:") {
            if !self.data.is_empty() {
                self.data.push('\n');
            }
            self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_they_are_cut() {
        let text = ": keep-alive\n\nid: 7\nevent: cluster\ndata: {\"number\":7,\"at\":\"2026-01-02T03:04:05Z\",\
                    \"topic\":\"cluster\",\"subject\":\"eu\",\"kind\":\"registered\",\ndata: \"data\":{}}\r\n\r\ndata: junk\n\n";
        for size in [1, 3, 1000] {
            let mut reader = Reader::default();
            for part in text.as_bytes().chunks(size) {
                reader.read(part);
            }
            let read: Vec<_> =
                reader.ready.iter().map(|event| (event.number, event.subject.as_str())).collect();
            assert_eq!(read, [(7, "eu")]);
        }
    }
}
