//! Mails, by SMTP.
//!
//! A connection is encrypted, or stays on this machine, unless the setting says otherwise. Each mail has a
//! connection of its own: they are few, and a pool would hand out connections that died meanwhile.

mod letter;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use lettre::Address;
use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use slipway_orchestrator::ports::NotifyError;
use slipway_orchestrator::ports::store::Message;
use tokio::time::{Instant, timeout_at};

use crate::notifier::is_loopback;
use crate::secret_file;

/// How long a mail may take in all, unless the settings say otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// How long the other side may take to say goodbye once it has the mail.
const GOODBYE: Duration = Duration::from_secs(2);

/// How a connection to the mail server is encrypted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MailEncryption {
    /// From the `STARTTLS` command on; without it nothing is sent.
    #[default]
    StartTls,
    /// From the first byte.
    Tls,
    /// Not at all: on this machine, or where the settings allow it.
    Plain {
        /// Whether another machine may be talked to in the clear.
        elsewhere: bool,
    },
}

/// As whom one logs in at the mail server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailLogin {
    /// The name.
    pub user: String,
    /// The file that holds the password. It is read for each mail, so a new password needs no restart.
    pub password_file: PathBuf,
}

/// The mail server, and who writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailSettings {
    /// Its name or address.
    pub host: String,
    /// Its port: 587 with STARTTLS, 465 with TLS, 25 in the clear, where nothing is said.
    pub port: Option<u16>,
    /// How the connection is encrypted.
    pub encryption: MailEncryption,
    /// Authorities that the server's certificate may come from, as PEM, beside those of this machine.
    pub ca_pem: Option<Vec<u8>>,
    /// As whom to log in.
    pub login: Option<MailLogin>,
    /// Who writes, such as `Slipway <slipway@example.org>`.
    pub from: String,
    /// How long one mail may take in all.
    pub timeout: Duration,
}

impl MailSettings {
    /// With STARTTLS, without a login.
    pub fn new(host: impl Into<String>, from: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            port: None,
            encryption: MailEncryption::default(),
            ca_pem: None,
            login: None,
            from: from.into(),
            timeout: TIMEOUT,
        }
    }
}

/// Why mails cannot be sent with these settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MailError {
    /// The sender makes no sense.
    #[error("{0:?} is not a sender such as Slipway <slipway@example.org>")]
    From(String),
    /// Mails would cross the network in the clear.
    #[error("mails to {0} would cross the network in the clear; use STARTTLS or TLS, or allow it explicitly")]
    Clear(String),
    /// A password would.
    #[error("the login at {0} would cross the network in the clear; use STARTTLS or TLS")]
    ClearLogin(String),
    /// The authorities cannot be used.
    #[error("reading the certificate authorities for {host}")]
    Authorities {
        /// The mail server.
        host: String,
        /// Why.
        #[source]
        source: lettre::transport::smtp::Error,
    },
    /// The password file cannot be used.
    #[error(transparent)]
    Password(#[from] secret_file::SecretFileError),
}

/// Sends mails.
pub struct Mailer {
    settings: MailSettings,
    from: Mailbox,
    tls: Option<TlsParameters>,
}

impl fmt::Debug for Mailer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailer").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Mailer {
    /// Checks the settings; no connection is made yet.
    pub fn new(settings: MailSettings) -> Result<Self, MailError> {
        let from = settings.from.parse().map_err(|_| MailError::From(settings.from.clone()))?;
        let host = settings.host.clone();
        if let MailEncryption::Plain { elsewhere } = settings.encryption
            && !is_loopback(&host)
        {
            if !elsewhere {
                return Err(MailError::Clear(host));
            }
            if settings.login.is_some() {
                return Err(MailError::ClearLogin(host));
            }
        }
        if let Some(login) = &settings.login {
            secret_file::read(&login.password_file)?;
        }
        let tls = match settings.encryption {
            MailEncryption::Plain { .. } => None,
            MailEncryption::StartTls | MailEncryption::Tls => {
                let unusable = |source| MailError::Authorities { host: host.clone(), source };
                let mut tls = TlsParameters::builder(host.clone());
                if let Some(pem) = &settings.ca_pem {
                    tls = tls.add_root_certificate(Certificate::from_pem(pem).map_err(unusable)?);
                }
                Some(tls.build_rustls().map_err(unusable)?)
            }
        };
        Ok(Self { settings, from, tls })
    }

    /// Sends a message to an address, once. The time for all of it is bounded here: the library's own
    /// timeout ends with the connection being made.
    #[tracing::instrument(name = "mail.send", skip_all, fields(host = self.settings.host, kind = message.kind))]
    pub(crate) async fn send(&self, address: &str, message: &Message) -> Result<(), NotifyError> {
        let host = &self.settings.host;
        let to: Address =
            address.parse().map_err(|_| NotifyError::never(format!("{address:?} is not a mail address")))?;
        let letter = letter::write(&self.from, to, message)
            .map_err(|error| NotifyError::never("the mail could not be written").caused_by(error))?;
        let deadline = Instant::now() + self.settings.timeout;
        let late = |_| NotifyError::later(format!("{host} did not answer in time"));
        let mut connection = timeout_at(deadline, self.open()).await.map_err(late)??;
        timeout_at(deadline, connection.send(letter.envelope(), &letter.formatted()))
            .await
            .map_err(late)?
            .map_err(|error| refused(host, address, error))?;
        // The other side has the mail from here on, however it says goodbye.
        let _ = tokio::time::timeout(GOODBYE, connection.quit()).await;
        Ok(())
    }

    /// A connection that is encrypted and logged in, as the settings ask.
    async fn open(&self) -> Result<AsyncSmtpConnection, NotifyError> {
        let MailSettings { host, port, encryption, login, timeout, .. } = &self.settings;
        let failed = |doing: &str, error: lettre::transport::smtp::Error| {
            NotifyError::later(format!("{doing} {host}")).caused_by(error)
        };
        let me = ClientId::default();
        let port = port.unwrap_or(match encryption {
            MailEncryption::StartTls => 587,
            MailEncryption::Tls => 465,
            MailEncryption::Plain { .. } => 25,
        });
        let from_the_start = self.tls.clone().filter(|_| *encryption == MailEncryption::Tls);
        let server = (host.as_str(), port);
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(server, Some(*timeout), &me, from_the_start, None)
                .await
                .map_err(|error| failed("connecting to", error))?;
        if let (MailEncryption::StartTls, Some(tls)) = (encryption, &self.tls) {
            connection
                .starttls(tls.clone(), &me)
                .await
                .map_err(|error| failed("encrypting the connection to", error))?;
        }
        if let Some(MailLogin { user, password_file }) = login {
            let password = secret_file::read(password_file)
                .map_err(|error| NotifyError::later(format!("logging in at {host}")).caused_by(error))?;
            let credentials = Credentials::new(user.clone(), password.to_string());
            connection
                .auth(DEFAULT_MECHANISMS, &credentials)
                .await
                .map_err(|error| failed("logging in at", error))?;
        }
        Ok(connection)
    }
}

/// What the server's no means: there are codes that say that this mail is not wanted, ever.
fn refused(host: &str, address: &str, error: lettre::transport::smtp::Error) -> NotifyError {
    let code = error.status().map(u16::from);
    let reason = format!("{host} did not take the mail for {address}");
    match code {
        Some(550 | 551 | 553 | 554 | 556) => NotifyError::never(reason),
        _ => NotifyError::later(reason),
    }
    .caused_by(error)
}
