//! Mails reach a real SMTP server as they should, or not at all.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::time::Duration;

use serde_json::json;
use slipway_infra::mail::{MailEncryption, MailError, MailLogin, MailSettings, Mailer};
use slipway_infra::notifier::{Notifiers, delivery_id};
use slipway_orchestrator::ports::notifier::Outlook;
use slipway_orchestrator::ports::store::{Message, Recipient};
use slipway_orchestrator::ports::{Notifier as _, NotifyError};
use slipway_testkit::smtp::{Encryption, Mail, Smtp};

const DEADLINE: Duration = Duration::from_secs(20);
const PLAIN: MailEncryption = MailEncryption::Plain { elsewhere: false };

fn message(address: &str) -> Message {
    Message {
        to: Recipient::Mail { address: address.to_owned() },
        key: format!("approval/51c2/required/0/mail/{address}"),
        kind: "approval.required".to_owned(),
        subject: "Approval Required: Deploy cert-manager v1.14.0 to Production".to_owned(),
        text: "bob wants to deploy cert-manager.\n\nLook at it:\n  https://slipway.test/approvals/51c2\n"
            .to_owned(),
        facts: json!({"link": "https://slipway.test/approvals/51c2"}),
    }
}

fn settings(smtp: &Smtp, encryption: MailEncryption) -> MailSettings {
    slipway_testkit::init();
    MailSettings {
        port: Some(smtp.address().port()),
        encryption,
        ca_pem: Some(smtp.ca_pem().as_bytes().to_vec()),
        timeout: DEADLINE,
        ..MailSettings::new("localhost", "Slipway <slipway@slipway.test>")
    }
}

fn notifier(settings: MailSettings) -> Notifiers {
    Notifiers { mail: Some(Mailer::new(settings).unwrap()), ..Notifiers::default() }
}

async fn send(settings: MailSettings) -> Result<(), NotifyError> {
    notifier(settings).send(&message("ada@slipway.test")).await
}

async fn received(smtp: &Smtp) -> Mail {
    smtp.wait_for(|mail| mail.to == ["ada@slipway.test"], DEADLINE).await.unwrap()
}

#[tokio::test]
async fn a_mail_arrives_as_text_and_html_with_the_id_of_its_message() {
    let smtp = Smtp::start().await.unwrap();
    send(settings(&smtp, PLAIN)).await.unwrap();
    let mail = received(&smtp).await;
    assert_eq!(mail.subject, "Approval Required: Deploy cert-manager v1.14.0 to Production");
    assert_eq!(mail.from, "slipway@slipway.test");
    assert!(mail.text.contains("bob wants to deploy cert-manager."), "{}", mail.text);
    let html = mail.html.clone().unwrap();
    assert!(html.contains("<a href=\"https://slipway.test/approvals/51c2\">"), "{html}");
    let id = delivery_id(&message("ada@slipway.test"));
    assert_eq!(mail.header("message-id"), Some(format!("<{id}@slipway.test>").as_str()));
    assert_eq!(mail.header("auto-submitted"), Some("auto-generated"));
}

#[tokio::test]
async fn starttls_is_used_and_nothing_is_sent_without_it() {
    let smtp = Smtp::builder().encryption(Encryption::StartTls).start().await.unwrap();
    send(settings(&smtp, MailEncryption::StartTls)).await.unwrap();
    assert!(received(&smtp).await.encrypted);

    let clear = Smtp::start().await.unwrap();
    let error = send(settings(&clear, MailEncryption::StartTls)).await.unwrap_err();
    assert_eq!((error.outlook, clear.mails().len()), (Outlook::Later, 0), "{error}");
}

#[tokio::test]
async fn tls_from_the_first_byte_is_used_and_a_stranger_is_not_trusted() {
    let smtp = Smtp::builder().encryption(Encryption::Tls).start().await.unwrap();
    send(settings(&smtp, MailEncryption::Tls)).await.unwrap();
    assert!(received(&smtp).await.encrypted);
    let stranger = MailSettings { ca_pem: None, ..settings(&smtp, MailEncryption::Tls) };
    assert!(send(stranger).await.is_err());
    assert_eq!(smtp.mails().len(), 1);
}

#[tokio::test]
async fn the_password_comes_from_a_file_and_a_new_one_counts_at_once() {
    let smtp =
        Smtp::builder().encryption(Encryption::StartTls).login("slipway", "right").start().await.unwrap();
    let directory = slipway_testkit::scratch("mail").unwrap();
    let file = directory.path().join("password");
    std::fs::write(&file, "hunter2\n").unwrap();
    let login = MailLogin { user: "slipway".to_owned(), password_file: file.clone() };
    let notifier = notifier(MailSettings { login: Some(login), ..settings(&smtp, MailEncryption::StartTls) });
    let error = notifier.send(&message("ada@slipway.test")).await.unwrap_err();
    assert_eq!(error.outlook, Outlook::Later, "a wrong password can be put right");
    let shown = format!("{error} {error:?} {notifier:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    std::fs::write(&file, "right\n").unwrap();
    notifier.send(&message("ada@slipway.test")).await.unwrap();
    assert_eq!(received(&smtp).await.login.as_deref(), Some("slipway"));
}

#[tokio::test]
async fn nothing_crosses_the_network_in_the_clear_unless_told() {
    slipway_testkit::init();
    let elsewhere = |encryption| MailSettings {
        encryption,
        ..MailSettings::new("mail.slipway.test", "slipway@slipway.test")
    };
    assert!(matches!(Mailer::new(elsewhere(PLAIN)), Err(MailError::Clear(_))));
    let told = elsewhere(MailEncryption::Plain { elsewhere: true });
    assert!(Mailer::new(told.clone()).is_ok());
    let login = MailLogin { user: "a".to_owned(), password_file: "/dev/null".into() };
    let with_password = MailSettings { login: Some(login), ..told };
    assert!(matches!(Mailer::new(with_password), Err(MailError::ClearLogin(_))));
    let nobody = MailSettings::new("localhost", "Slipway\r\nBcc: eve@slipway.test");
    assert!(matches!(Mailer::new(nobody), Err(MailError::From(_))));
}

#[tokio::test]
async fn a_server_that_stalls_does_not_hold_the_sender() {
    let smtp = Smtp::start().await.unwrap();
    let quick = MailSettings { timeout: Duration::from_millis(300), ..settings(&smtp, PLAIN) };
    let notifier = notifier(quick);
    smtp.stall();
    let message = message("ada@slipway.test");
    let error = tokio::time::timeout(DEADLINE, notifier.send(&message)).await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "localhost did not answer in time");
    assert_eq!((error.outlook, smtp.mails().len()), (Outlook::Later, 0));
}

#[tokio::test]
async fn a_no_for_good_is_told_from_a_no_for_now() {
    let smtp = Smtp::start().await.unwrap();
    smtp.refuse_next(451);
    assert_eq!(send(settings(&smtp, PLAIN)).await.unwrap_err().outlook, Outlook::Later);
    smtp.refuse_next(550);
    assert_eq!(send(settings(&smtp, PLAIN)).await.unwrap_err().outlook, Outlook::Never);
    send(settings(&smtp, PLAIN)).await.unwrap();
    let error = notifier(settings(&smtp, PLAIN)).send(&message("not an address")).await.unwrap_err();
    assert_eq!(error.outlook, Outlook::Never);
    assert_eq!(smtp.mails().len(), 1);
}

#[tokio::test]
async fn without_a_mail_server_a_mail_waits() {
    let error = Notifiers::default().send(&message("ada@slipway.test")).await.unwrap_err();
    assert_eq!(error.outlook, Outlook::Later);
}
