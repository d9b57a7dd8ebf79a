//! Mail that a real client sends arrives, and faults are faults.

use std::time::Duration;

use anyhow::Result;
use lettre::message::{MultiPart, header};
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::{AsyncSmtpTransport, AsyncSmtpTransportBuilder, Error};
use lettre::{AsyncTransport, Message, Tokio1Executor};
use slipway_testkit::smtp::{Encryption, Mail, Smtp};

const DEADLINE: Duration = Duration::from_secs(5);

fn letter(subject: &str) -> Result<Message> {
    Ok(Message::builder()
        .from("Slipway <slipway@slipway.test>".parse()?)
        .to("On Call <oncall@slipway.test>".parse()?)
        .subject(subject)
        .header(header::ContentType::TEXT_PLAIN)
        .body("Rolled back prod-eu.\r\n.a line that begins with a dot\r\nGrüße\r\n".to_owned())?)
}

fn client(smtp: &Smtp) -> AsyncSmtpTransportBuilder {
    slipway_testkit::init();
    AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous("127.0.0.1")
        .port(smtp.address().port())
        .timeout(Some(DEADLINE))
}

fn trust(smtp: &Smtp) -> Result<TlsParameters> {
    let authority = Certificate::from_pem(smtp.ca_pem().as_bytes())?;
    Ok(TlsParameters::builder("localhost".to_owned()).add_root_certificate(authority).build_rustls()?)
}

async fn deliver(smtp: &Smtp, client: AsyncSmtpTransportBuilder) -> Result<Mail> {
    client.build().send(letter("Über prod-eu")?).await?;
    smtp.wait_for(|mail| mail.subject == "Über prod-eu", DEADLINE).await
}

#[tokio::test]
async fn a_mail_arrives_as_it_was_written() -> Result<()> {
    let smtp = Smtp::start().await?;
    let mail = deliver(&smtp, client(&smtp)).await?;
    assert_eq!(
        (mail.from.as_str(), mail.to.as_slice()),
        ("slipway@slipway.test", &["oncall@slipway.test".into()][..])
    );
    // This client ends every message with an empty line of its own.
    assert_eq!(mail.text.trim_end(), "Rolled back prod-eu.\r\n.a line that begins with a dot\r\nGrüße");
    assert_eq!(mail.header("to"), Some("\"On Call\" <oncall@slipway.test>"));
    assert_eq!((mail.html, mail.encrypted, mail.login), (None, false, None));
    Ok(())
}

#[tokio::test]
async fn a_mail_arrives_by_starttls() -> Result<()> {
    let smtp = Smtp::builder().encryption(Encryption::StartTls).start().await?;
    let mail = deliver(&smtp, client(&smtp).tls(Tls::Required(trust(&smtp)?))).await?;
    assert!(mail.encrypted);
    let error = client(&smtp).build().send(letter("in the clear")?).await.expect_err("not encrypted");
    assert!(error.is_permanent(), "{error}");
    assert_eq!(smtp.mails().len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_mail_arrives_by_tls() -> Result<()> {
    let smtp = Smtp::builder().encryption(Encryption::Tls).start().await?;
    let mail = deliver(&smtp, client(&smtp).tls(Tls::Wrapper(trust(&smtp)?))).await?;
    assert!(mail.encrypted);
    let stranger = TlsParameters::builder("localhost".to_owned()).build_rustls()?;
    let error = client(&smtp).tls(Tls::Wrapper(stranger)).build().send(letter("to a stranger")?).await;
    assert!(error.is_err(), "a client that does not trust the authority sent its mail");
    Ok(())
}

#[tokio::test]
async fn both_bodies_of_a_mail_are_read() -> Result<()> {
    let smtp = Smtp::start().await?;
    let text = format!("{}\n", "Ein langer Satz über Wellen, Häfen und Schiffe. ".repeat(10).trim_end());
    let bodies = MultiPart::alternative_plain_html(text.clone(), "<p>Grüße &amp; more</p>".to_owned());
    let letter = Message::builder()
        .from("slipway@slipway.test".parse()?)
        .to("a@slipway.test".parse()?)
        .cc("b@slipway.test".parse()?)
        .subject("two bodies")
        .multipart(bodies)?;
    client(&smtp).build().send(letter).await?;
    let mail = smtp.wait_for(|mail| mail.subject == "two bodies", DEADLINE).await?;
    assert_eq!(mail.text.replace("\r\n", "\n"), text);
    assert_eq!(mail.html.as_deref(), Some("<p>Grüße &amp; more</p>"));
    assert_eq!(mail.to, ["a@slipway.test", "b@slipway.test"]);
    Ok(())
}

#[tokio::test]
async fn a_login_is_asked_for_and_a_wrong_password_is_refused() -> Result<()> {
    let smtp = Smtp::builder().login("slipway", "right").start().await?;
    for mechanism in [Mechanism::Plain, Mechanism::Login] {
        let login = |password: &str| {
            client(&smtp)
                .credentials(Credentials::new("slipway".into(), password.into()))
                .authentication(vec![mechanism])
        };
        let error = login("wrong").build().send(letter("refused")?).await.expect_err("a wrong password");
        assert!(error.is_permanent(), "{error}");
        assert_eq!(deliver(&smtp, login("right")).await?.login.as_deref(), Some("slipway"));
    }
    assert!(client(&smtp).build().send(letter("nobody")?).await.is_err_and(|error| error.is_permanent()));
    assert_eq!(smtp.mails().len(), 2);
    let logins = smtp.logins();
    let tried: Vec<_> = logins.iter().map(|login| (login.password.as_str(), login.accepted)).collect();
    assert_eq!(tried, [("wrong", false), ("right", true)].repeat(2));
    Ok(())
}

#[tokio::test]
async fn a_refusal_holds_for_one_mail() -> Result<()> {
    let smtp = Smtp::start().await?;
    smtp.refuse_next(451);
    smtp.refuse_next(550);
    let client = client(&smtp).build();
    let send = async || client.send(letter("again")?).await.map(drop).map_err(anyhow::Error::from);
    let kind = |error: anyhow::Error| {
        error
            .downcast::<Error>()
            .map(|error| (error.is_transient(), error.is_permanent()))
            .unwrap_or_default()
    };
    assert_eq!(send().await.map_err(kind), Err((true, false)));
    assert_eq!(send().await.map_err(kind), Err((false, true)));
    assert_eq!(send().await.map_err(kind), Ok(()));
    assert_eq!(smtp.mails().len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_mail_above_the_limit_is_refused() -> Result<()> {
    let smtp = Smtp::builder().size_limit(200).start().await?;
    let error = client(&smtp).build().send(letter("large")?).await.expect_err("it is larger than that");
    assert!(error.is_permanent(), "{error}");
    assert_eq!(smtp.mails(), []);
    Ok(())
}

#[tokio::test]
async fn a_stalled_server_answers_when_it_resumes() -> Result<()> {
    let smtp = Smtp::start().await?;
    smtp.stall();
    // The client's own timeout covers the connection, not the answers.
    let impatient = client(&smtp).build();
    let sent = tokio::time::timeout(Duration::from_millis(200), impatient.send(letter("too slow")?)).await;
    assert!(sent.is_err(), "nobody should answer");

    let sending = tokio::spawn({
        let (client, letter) = (client(&smtp).build(), letter("patient")?);
        async move { client.send(letter).await }
    });
    let error = smtp.wait_for(|_| true, Duration::from_millis(200)).await.expect_err("nothing arrives");
    assert!(error.to_string().starts_with("no such mail arrived within 200ms"), "{error}");
    smtp.resume();
    sending.await??;
    smtp.wait_for(|mail| mail.subject == "patient", DEADLINE).await?;
    Ok(())
}
