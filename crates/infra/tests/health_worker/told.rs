//! An alert on its whole way: from a check that fails to the mail and the signed request that arrive, with
//! two servers at work.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use slipway_domain::health::Verdict;
use slipway_infra::clock::SystemClock;
use slipway_infra::mail::{MailEncryption, MailSettings, Mailer};
use slipway_infra::notifier::Notifiers;
use slipway_infra::postgres::PostgresStore;
use slipway_infra::workers::Runner;
use slipway_orchestrator::Settings;
use slipway_orchestrator::health::{HealthPlanWorker, OperatorHealthWorker};
use slipway_orchestrator::outbox::OutboxSender;
use slipway_orchestrator::ports::store::HealthRows as _;
use slipway_testkit::smtp::Smtp;
use slipway_testkit::until;
use tokio::sync::watch;

use super::{Server, World, installed, notices, world};
use crate::support::database;

#[path = "../support/receiver.rs"]
mod receiver;

use receiver::Program;

const LONG: Duration = Duration::from_mins(1);

fn server(store: &PostgresStore, world: &Arc<World>, smtp: &Smtp, program: &Program) -> Server {
    let mail = MailSettings {
        port: Some(smtp.address().port()),
        encryption: MailEncryption::Plain { elsewhere: false },
        ..MailSettings::new("127.0.0.1", "Slipway <slipway@slipway.test>")
    };
    let notifier = Notifiers { mail: Some(Mailer::new(mail).unwrap()), webhooks: program.webhooks() };
    let settings = Settings {
        notices: notices(),
        operator_health_every: Duration::from_millis(200),
        ..Settings::default()
    };
    Server::with(store, world, Arc::new(notifier), Arc::new(SystemClock), settings)
}

#[tokio::test]
async fn an_alert_arrives_once_by_mail_and_signed_request_and_once_more_when_it_is_over() {
    let stored = database().await;
    let (smtp, program, world) = (Smtp::start().await.unwrap(), Program::start().await, world());
    let second = stored.another("two").await;
    let servers = [&stored.store, &second].map(|store| server(store, &world, &smtp, &program));
    let place = installed(&servers[0]).await;
    let (stop, stopped) = watch::channel(false);
    let mut running = Vec::new();
    for server in &servers {
        server.manager.start_operator_health().await.unwrap();
        let runner = Runner::new(server.store.clone())
            .with(Arc::new(HealthPlanWorker::new(server.manager.clone())))
            .with(Arc::new(OperatorHealthWorker::new(server.manager.clone())))
            .with(Arc::new(OutboxSender::new(server.manager.clone())));
        let mut stopped = stopped.clone();
        running.push(tokio::spawn(runner.run(async move {
            let _ = stopped.wait_for(|stopped| *stopped).await;
        })));
    }
    let record = async || stored.store.operator_health(place).await.unwrap();
    until("it to be healthy", LONG, async || {
        record().await.filter(|record| record.verdict() == Verdict::Healthy).map(drop)
    })
    .await
    .unwrap();

    world.pods(Some(false));
    let mail = smtp.wait_for(|mail| mail.subject.starts_with("Unhealthy:"), LONG).await.unwrap();
    assert_eq!(mail.subject, "Unhealthy: boats on prod-eu");
    assert!(mail.text.contains("Deployment boats/boats has 0 of 1 pods ready"), "{}", mail.text);
    assert!(mail.text.contains("slipway operator health boats --cluster prod-eu"), "{}", mail.text);
    let told = program.hears("alert.unhealthy").await;
    assert_eq!(told["data"]["clusterName"], "prod-eu");
    until("it to fail on and on", LONG, async || {
        record().await.filter(|record| record.episode.failures >= 10).map(drop)
    })
    .await
    .unwrap();

    world.pods(Some(true));
    smtp.wait_for(|mail| mail.subject.starts_with("Recovered:"), LONG).await.unwrap();
    program.hears("alert.recovered").await;
    stop.send(true).unwrap();
    for runner in running {
        runner.await.unwrap();
    }
    let subjects: Vec<String> = smtp.mails().into_iter().map(|mail| mail.subject).collect();
    assert_eq!(subjects, ["Unhealthy: boats on prod-eu", "Recovered: boats on prod-eu"]);
    let heard = program.heard();
    let kinds: Vec<&str> = heard.iter().filter_map(|(_, content)| content["type"].as_str()).collect();
    assert_eq!(kinds, ["alert.unhealthy", "alert.recovered"]);
    let ids: BTreeSet<&String> = heard.iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), 2);
}
