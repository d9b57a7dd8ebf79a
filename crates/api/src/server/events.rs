//! What happens, as it happens: server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use http::HeaderMap;
use serde_json::json;
use slipway_contract::server::{EventMessage, EventsQuery};
use slipway_domain::access::{Actor, Permission};
use slipway_domain::event::Topic;
use slipway_domain::problem::Problems;
use slipway_http::metrics::Counted;
use slipway_http::{ApiError, Bearer, Caller, Query};
use slipway_orchestrator::Code;
use slipway_orchestrator::events::may_see;
use slipway_orchestrator::ports::store::EventRecord;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::App;

/// How often it is asked whether the token still holds, so that a stream ends soon after it.
const RECHECK: Duration = Duration::from_secs(10);
/// How often something is sent, so that both ends know that the other is there.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How long to wait for a database that does not answer.
const PAUSE: Duration = Duration::from_secs(1);

const TOPICS: [(&str, Topic); 4] = [
    ("deployment", Topic::Deployment),
    ("cluster", Topic::Cluster),
    ("operator", Topic::Operator),
    ("approval", Topic::Approval),
];

/// Follows what happens.
pub(super) async fn follow(
    State(app): State<App>,
    Caller(actor): Caller,
    bearer: Bearer,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let topics = topics(query.topics.as_deref(), &actor)?;
    let after = last_event(&headers)?;
    let room = app.live.stream().ok_or_else(|| {
        ApiError::new(Code::Unavailable, "too many streams are open on this server; try again in a moment")
    })?;
    let after = app.manager.follow_events(&actor, after).await?;
    let follower = Follower {
        _counted: Counted::new(&app.live.metrics.streams),
        _room: room,
        app,
        actor,
        bearer,
        topics,
        subject: query.subject,
        after,
        ready: VecDeque::new(),
        checked: Instant::now(),
    };
    // Sent at once, so that whoever follows knows that it works.
    let greeting = Event::default().comment("following").retry(Duration::from_secs(2));
    let news = stream::unfold(follower, Follower::next);
    let all = futures::StreamExt::chain(stream::once(async { Ok::<_, Infallible>(greeting) }), news);
    Ok(Sse::new(all).keep_alive(KeepAlive::new().interval(HEARTBEAT).text("keep-alive")).into_response())
}

/// The topics that are wanted and may be seen.
fn topics(wanted: Option<&str>, actor: &Actor) -> Result<Vec<Topic>, ApiError> {
    let Some(wanted) = wanted else {
        return Ok(TOPICS.iter().map(|(_, topic)| *topic).filter(|topic| may_see(actor, *topic)).collect());
    };
    let mut found = Vec::new();
    for word in wanted.split(',').map(str::trim) {
        let Some((_, topic)) = TOPICS.iter().find(|(name, _)| *name == word) else {
            let known = TOPICS.map(|(name, _)| name).join(", ");
            return Err(Problems::one("topics", format!("{word:?} is none of {known}")).into());
        };
        if !may_see(actor, *topic) {
            slipway_orchestrator::error::permit(actor, Permission::ReadApprovals)?;
        }
        found.push(*topic);
    }
    Ok(found)
}

fn last_event(headers: &HeaderMap) -> Result<Option<i64>, ApiError> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number =
        value.to_str().ok().and_then(|value| value.trim().parse().ok()).filter(|number| *number >= 0);
    match number {
        Some(number) => Ok(Some(number)),
        None => Err(Problems::one("Last-Event-ID", "has to be the number of an event").into()),
    }
}

/// Somebody who follows.
struct Follower {
    app: App,
    actor: Actor,
    bearer: Bearer,
    topics: Vec<Topic>,
    subject: Option<String>,
    after: i64,
    ready: VecDeque<Event>,
    checked: Instant,
    _room: OwnedSemaphorePermit,
    _counted: Counted,
}

impl Follower {
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((Ok(event), self));
            }
            if self.app.live.stopping.has_begun() || !self.still_may().await {
                return None;
            }
            match self.app.manager.events_after(&self.actor, self.after).await {
                Ok(news) if news.after > self.after => {
                    if news.missed > 0 {
                        let said = json!({"missed": news.missed, "after": self.after}).to_string();
                        self.ready.push_back(Event::default().event("gap").data(said));
                    }
                    self.after = news.after;
                    for record in news.events {
                        if self.wants(&record) {
                            self.ready.push_back(message(record));
                        }
                    }
                }
                Ok(_) => self.wait().await,
                // The database is away; the stream stays, and goes on where it was.
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    fn wants(&self, record: &EventRecord) -> bool {
        self.topics.contains(&record.event.topic)
            && self.subject.as_ref().is_none_or(|subject| *subject == record.event.subject)
    }

    async fn wait(&self) {
        let mut stopping = self.app.live.stopping.clone();
        tokio::select! {
            () = stopping.begins() => {}
            () = self.app.manager.wait_for_events(self.after, RECHECK) => {}
        }
    }

    /// Asks again from time to time: tokens end and are taken back while streams go on.
    async fn still_may(&mut self) -> bool {
        if self.checked.elapsed() < RECHECK {
            return true;
        }
        match self.app.guard.authenticate(&self.bearer).await {
            Ok(actor) => {
                self.checked = Instant::now();
                self.topics.retain(|topic| may_see(&actor, *topic));
                self.actor = actor;
                self.actor.may(Permission::Read)
            }
            // A database that is away takes nothing back; the next time decides.
            Err(error) => error.code == Code::Unavailable,
        }
    }
}

fn message(record: EventRecord) -> Event {
    let topic =
        TOPICS.iter().find(|(_, topic)| *topic == record.event.topic).map_or("other", |(name, _)| name);
    let message = EventMessage {
        number: record.number,
        at: record.at,
        topic: topic.to_owned(),
        subject: record.event.subject,
        kind: record.event.kind,
        data: record.event.data,
    };
    let data = serde_json::to_string(&message).unwrap_or_default();
    Event::default().id(record.number.to_string()).event(topic).data(data)
}
