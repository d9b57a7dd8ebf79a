//! A receiving SMTP server, so that a test can read the mail that a program really sent.
//!
//! It speaks plain SMTP, STARTTLS or TLS from the first byte, asks for a login where told to, and can
//! refuse or stall on command. It delivers nothing anywhere.

mod conversation;
mod mail;

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::loopback::{Access, Identity};
use conversation::{Conversation, Ended};

pub use mail::Mail;

/// How a connection to the server is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// Not at all.
    #[default]
    None,
    /// From the `STARTTLS` command on; mail before it is refused.
    StartTls,
    /// From the first byte.
    Tls,
}

/// A login that a client tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The user name.
    pub user: String,
    /// The password.
    pub password: String,
    /// Whether it was the right one.
    pub accepted: bool,
}

/// A running SMTP server; dropping it ends it and every connection to it.
#[derive(Debug)]
pub struct Smtp {
    address: SocketAddr,
    identity: Identity,
    desk: Arc<Desk>,
    server: JoinHandle<()>,
}

/// What the server is told before it starts.
#[derive(Clone, Debug)]
pub struct SmtpBuilder {
    encryption: Encryption,
    access: Access,
    size_limit: usize,
}

/// What all connections share: the rules, what came in, and the faults asked for.
#[derive(Debug)]
struct Desk {
    encryption: Encryption,
    access: Access,
    size_limit: usize,
    logins: Mutex<Vec<Login>>,
    refusals: Mutex<VecDeque<u16>>,
    mails: watch::Sender<Vec<Mail>>,
    stalled: watch::Sender<bool>,
}

impl SmtpBuilder {
    /// Encrypts connections this way.
    #[must_use]
    pub fn encryption(mut self, encryption: Encryption) -> Self {
        self.encryption = encryption;
        self
    }

    /// Accepts mail only after this login.
    #[must_use]
    pub fn login(mut self, user: &str, password: &str) -> Self {
        self.access = Access::login(user, password);
        self
    }

    /// Refuses mail with more bytes than this.
    #[must_use]
    pub fn size_limit(mut self, bytes: usize) -> Self {
        self.size_limit = bytes;
        self
    }

    /// Starts the server on a free port of the loopback interface.
    pub async fn start(self) -> Result<Smtp> {
        let identity = Identity::new()?;
        let acceptor = identity.acceptor()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .context("the SMTP server could not listen on the loopback interface")?;
        let address = listener.local_addr().context("a listening socket has no address")?;
        let desk = Arc::new(Desk {
            encryption: self.encryption,
            access: self.access,
            size_limit: self.size_limit,
            logins: Mutex::default(),
            refusals: Mutex::default(),
            mails: watch::Sender::default(),
            stalled: watch::Sender::default(),
        });
        let server = tokio::spawn(accept(listener, acceptor, Arc::clone(&desk)));
        Ok(Smtp { address, identity, desk, server })
    }
}

impl Smtp {
    /// A server without encryption and without login.
    pub async fn start() -> Result<Self> {
        Self::builder().start().await
    }

    /// A server with rules of its own.
    pub fn builder() -> SmtpBuilder {
        SmtpBuilder { encryption: Encryption::None, access: Access::Anyone, size_limit: 10 << 20 }
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate of the authority that a client must trust; the server's names are `localhost` and
    /// `127.0.0.1`.
    pub fn ca_pem(&self) -> &str {
        self.identity.authority_pem()
    }

    /// Every mail so far, in the order of arrival.
    pub fn mails(&self) -> Vec<Mail> {
        self.desk.mails.borrow().clone()
    }

    /// The first mail that fits, as soon as it is there.
    pub async fn wait_for(&self, fits: impl Fn(&Mail) -> bool, deadline: Duration) -> Result<Mail> {
        let mut mails = self.desk.mails.subscribe();
        let arrived = tokio::time::timeout(deadline, mails.wait_for(|mails| mails.iter().any(&fits))).await;
        if let Ok(Ok(mails)) = arrived
            && let Some(mail) = mails.iter().find(|mail| fits(mail))
        {
            return Ok(mail.clone());
        }
        let seen: Vec<_> =
            self.mails().iter().map(|mail| format!("{:?} to {}", mail.subject, mail.to.join(", "))).collect();
        bail!("no such mail arrived within {deadline:?}; these did: [{}]", seen.join("; "))
    }

    /// Every login that was tried, with its outcome.
    pub fn logins(&self) -> Vec<Login> {
        self.desk.logins.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Answers the next mail's `MAIL FROM` with this code (4xx: try again later; 5xx: never).
    pub fn refuse_next(&self, code: u16) {
        self.desk.refusals.lock().unwrap_or_else(PoisonError::into_inner).push_back(code);
    }

    /// From now on takes connections and commands but answers none, until [`Smtp::resume`].
    pub fn stall(&self) {
        self.desk.stalled.send_replace(true);
    }

    /// Answers again, beginning with what was held back.
    pub fn resume(&self) {
        self.desk.stalled.send_replace(false);
    }
}

impl Drop for Smtp {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, desk: Arc<Desk>) {
    // Owned by this task, so that connections end with the server.
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        while connections.try_join_next().is_some() {}
        let (acceptor, desk) = (acceptor.clone(), Arc::clone(&desk));
        // A client that hangs up in the middle is an ordinary end here; the client's side reports it.
        connections.spawn(async move {
            let _ = attend(stream, &acceptor, &desk).await;
        });
    }
}

async fn attend(stream: TcpStream, acceptor: &TlsAcceptor, desk: &Desk) -> std::io::Result<()> {
    if desk.encryption == Encryption::Tls {
        let stream = acceptor.accept(stream).await?;
        Conversation::new(stream, desk, true).greet().await?;
        return Ok(());
    }
    if let Ended::StartTls(stream) = Conversation::new(stream, desk, false).greet().await? {
        let stream = acceptor.accept(stream).await?;
        Conversation::new(stream, desk, true).listen().await?;
    }
    Ok(())
}
