//! Follows a deployment to its end: drawn on a terminal, a line per piece of news elsewhere.
//!
//! The server may go away meanwhile and come back, and the token may be renewed; what was said last stays on
//! the screen. Ctrl-C leaves, and the deployment goes on.

mod lines;
mod screen;

use std::io::{IsTerminal as _, stdout};
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use slipway_client::{Client, ClientError};
use slipway_contract::deployments::{DeploymentDetailReply, DeploymentStatus};
use slipway_contract::server::EventsQuery;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::view::short;
use crate::cli::failure::Failure;
use crate::cli::output::{Format, print};
use crate::cli::session::Session;
use lines::Lines;
use screen::Screen;

/// Asked at most so often, however much happens; the server counts.
const OFTEN: Duration = Duration::from_millis(1500);
/// Asked at least so often, whatever was heard.
const SELDOM: Duration = Duration::from_secs(10);
/// How often a terminal is drawn: a countdown runs by seconds.
const FRAME: Duration = Duration::from_millis(250);

/// What the exit code says of an end.
pub(crate) fn code(status: DeploymentStatus) -> ExitCode {
    match status {
        DeploymentStatus::Failed | DeploymentStatus::RolledBack | DeploymentStatus::Cancelled => {
            Failure::Failed.into()
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Follows until it ends, or until somebody leaves.
pub(crate) async fn watch(session: &Session, id: &str) -> anyhow::Result<ExitCode> {
    watch_from(session, id, None).await
}

/// The same for one that is taken up again: the end that it is in when it is asked for does not count.
pub(crate) async fn watch_from(
    session: &Session,
    id: &str,
    mut left: Option<DeploymentStatus>,
) -> anyhow::Result<ExitCode> {
    // Listened for from the first word on, so that leaving never looks like dying.
    let mut leave = signal(SignalKind::interrupt())?;
    let detail = session.client.deployment(id).await?;
    let id = detail.deployment.deployment_id;
    let mut heard = listen(&session.client, id.to_string());
    let drawn = session.format == Format::Table && stdout().is_terminal();
    let mut shown =
        if drawn { Shown::Screen(Screen::new()) } else { Shown::Lines(Box::new(Lines::new(session.format))) };
    let mut watching = Watching { client: &session.client, id: id.to_string(), detail, trouble: None };
    shown.show(&mut watching).await?;
    let mut frames = interval(if drawn { FRAME } else { OFTEN });
    frames.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut asked = Instant::now();
    // What happened between the first answer and the first word that was heard is asked for again.
    let mut stale = true;
    loop {
        let status = watching.detail.deployment.status;
        left = left.filter(|left| *left == status);
        if status.is_end() && left.is_none() {
            break;
        }
        tokio::select! {
            _ = leave.recv() => {
                shown.leave(&watching)?;
                return Ok(ExitCode::SUCCESS);
            }
            news = heard.recv(), if !heard.is_closed() => stale |= news.is_some(),
            _ = frames.tick() => {}
        }
        let since = asked.elapsed();
        if since >= SELDOM || (stale && since >= OFTEN) {
            watching.ask().await?;
            (asked, stale) = (Instant::now(), false);
            shown.show(&mut watching).await?;
        } else {
            shown.redraw(&watching)?;
        }
    }
    shown.end(&mut watching).await?;
    Ok(code(watching.detail.deployment.status))
}

/// Hears in a task of its own: taking up a stream again takes longer than a frame.
fn listen(client: &Client, id: String) -> mpsc::Receiver<()> {
    let (tell, heard) = mpsc::channel(1);
    let query = EventsQuery { topics: Some("deployment".to_owned()), subject: Some(id) };
    let mut news = client.follow(query, None);
    tokio::spawn(async move {
        // A server that refuses the stream still answers questions, which are asked from time to time.
        while news.next().await.is_ok() {
            match tell.try_send(()) {
                Ok(()) | Err(mpsc::error::TrySendError::Full(())) => {}
                Err(mpsc::error::TrySendError::Closed(())) => break,
            }
        }
    });
    heard
}

/// What is watched, as it was last heard of.
struct Watching<'a> {
    client: &'a Client,
    id: String,
    detail: DeploymentDetailReply,
    /// Why the last answer is missing.
    trouble: Option<String>,
}

impl Watching<'_> {
    async fn ask(&mut self) -> anyhow::Result<()> {
        match self.client.deployment(&self.id).await {
            Ok(detail) => (self.detail, self.trouble) = (detail, None),
            Err(error) => self.trouble = Some(self.passing(error)?),
        }
        Ok(())
    }

    /// What may pass, in words; what does not, as an error.
    fn passing(&self, error: ClientError) -> anyhow::Result<String> {
        match error.status() {
            None if matches!(error, ClientError::Unreachable { .. }) => {}
            Some(429 | 500..=504) => {}
            Some(401) => {
                let id = short(self.detail.deployment.deployment_id);
                eprintln!("the deployment goes on; follow again with: slipway deployment watch {id}");
                return Err(error.into());
            }
            _ => return Err(error.into()),
        }
        Ok(format!("{error}; asking again, the deployment does not depend on it"))
    }
}

/// Where it is shown.
enum Shown {
    Screen(Screen),
    Lines(Box<Lines>),
}

impl Shown {
    async fn show(&mut self, watching: &mut Watching<'_>) -> anyhow::Result<()> {
        match self {
            Self::Screen(screen) => {
                screen.draw(&watching.detail, watching.trouble.as_deref(), Timestamp::now(), true)
            }
            Self::Lines(lines) => {
                let news = watching.client.deployment_news(&watching.id, lines.after()).await;
                match news {
                    Ok(news) => lines.tell(&watching.detail, &news),
                    Err(error) => {
                        let trouble = watching.passing(error)?;
                        lines.trouble(&trouble);
                        Ok(())
                    }
                }
            }
        }
    }

    fn redraw(&mut self, watching: &Watching<'_>) -> anyhow::Result<()> {
        match self {
            Self::Screen(screen) => {
                screen.draw(&watching.detail, watching.trouble.as_deref(), Timestamp::now(), true)
            }
            Self::Lines(_) => Ok(()),
        }
    }

    fn leave(&mut self, watching: &Watching<'_>) -> anyhow::Result<()> {
        if let Self::Screen(screen) = self {
            screen.draw(&watching.detail, None, Timestamp::now(), false)?;
        }
        let id = short(watching.detail.deployment.deployment_id);
        eprintln!("it goes on without you; follow again with: slipway deployment watch {id}");
        Ok(())
    }

    async fn end(&mut self, watching: &mut Watching<'_>) -> anyhow::Result<()> {
        match self {
            Self::Screen(screen) => screen.draw(&watching.detail, None, Timestamp::now(), false),
            Self::Lines(lines) => {
                // The last words may have come after the last question.
                while let Ok(news) = watching.client.deployment_news(&watching.id, lines.after()).await {
                    lines.tell(&watching.detail, &news)?;
                    if !news.has_more {
                        break;
                    }
                }
                print(&lines.end(&watching.detail, Timestamp::now())?)
            }
        }
    }
}
