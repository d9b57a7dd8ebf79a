//! The SMTP protocol (RFC 5321) from the server's side, as far as a mail client exercises it.

use std::io;
use std::sync::PoisonError;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};

use super::{Desk, Encryption, Login, Mail};
use crate::loopback::Access;

/// Commands are short; longer lines are not ours to understand.
const LONGEST_COMMAND: u64 = 8 << 10;

/// How a conversation ended.
pub(super) enum Ended<S> {
    /// The client said goodbye or went away.
    Closed,
    /// The client wants to go on encrypted, on this stream.
    StartTls(S),
}

/// One connection, from greeting to goodbye.
pub(super) struct Conversation<'a, S> {
    stream: BufReader<S>,
    desk: &'a Desk,
    encrypted: bool,
    login: Option<String>,
    from: Option<String>,
    to: Vec<String>,
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin> Conversation<'a, S> {
    pub(super) fn new(stream: S, desk: &'a Desk, encrypted: bool) -> Self {
        Self { stream: BufReader::new(stream), desk, encrypted, login: None, from: None, to: Vec::new() }
    }

    /// Speaks first, then listens.
    pub(super) async fn greet(mut self) -> io::Result<Ended<S>> {
        self.say("220 localhost ESMTP").await?;
        self.listen().await
    }

    /// Answers commands until the end.
    pub(super) async fn listen(mut self) -> io::Result<Ended<S>> {
        while let Some(line) = self.line().await? {
            let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match verb.to_ascii_uppercase().as_str() {
                "EHLO" => self.introduce().await?,
                "HELO" => self.say("250 localhost").await?,
                "STARTTLS" if self.desk.encryption == Encryption::StartTls && !self.encrypted => {
                    self.say("220 2.0.0 go ahead").await?;
                    // Dropping the buffer drops what was sent before the handshake: nothing of it may count.
                    return Ok(Ended::StartTls(self.stream.into_inner()));
                }
                "AUTH" => self.authenticate(rest).await?,
                "MAIL" => self.sender(rest).await?,
                "RCPT" => self.recipient(rest).await?,
                "DATA" => self.receive().await?,
                "RSET" => {
                    self.forget();
                    self.say("250 2.0.0 forgotten").await?;
                }
                "NOOP" => self.say("250 2.0.0 still here").await?,
                "QUIT" => {
                    self.say("221 2.0.0 bye").await?;
                    break;
                }
                _ => self.say("502 5.5.1 unknown command").await?,
            }
        }
        Ok(Ended::Closed)
    }

    async fn introduce(&mut self) -> io::Result<()> {
        let mut abilities =
            vec!["localhost".to_owned(), "PIPELINING".into(), "8BITMIME".into(), "SMTPUTF8".into()];
        abilities.push(format!("SIZE {}", self.desk.size_limit));
        if self.desk.encryption == Encryption::StartTls && !self.encrypted {
            abilities.push("STARTTLS".into());
        } else if self.desk.access != Access::Anyone {
            abilities.push("AUTH PLAIN LOGIN".into());
        }
        let last = abilities.len() - 1;
        let answer: Vec<_> = abilities
            .iter()
            .enumerate()
            .map(|(index, ability)| format!("250{}{ability}", if index == last { ' ' } else { '-' }))
            .collect();
        self.say(&answer.join("\r\n")).await
    }

    async fn authenticate(&mut self, how: &str) -> io::Result<()> {
        let Access::Login { user: expected_user, password: expected_password } = &self.desk.access else {
            return self.say("503 5.5.1 no login is needed here").await;
        };
        let (mechanism, initial) = how.split_once(' ').unwrap_or((how, ""));
        let given = match mechanism.to_ascii_uppercase().as_str() {
            "PLAIN" => {
                let secret = if initial.is_empty() { self.ask("").await? } else { decode(initial) };
                let mut fields = secret.split('\0').skip(1).map(str::to_owned);
                (fields.next().unwrap_or_default(), fields.next().unwrap_or_default())
            }
            "LOGIN" => {
                let user = if initial.is_empty() { self.ask("Username:").await? } else { decode(initial) };
                (user, self.ask("Password:").await?)
            }
            _ => return self.say("504 5.5.4 unknown mechanism").await,
        };
        let (user, password) = given;
        let accepted = user == *expected_user && password == *expected_password;
        let login = Login { user: user.clone(), password, accepted };
        self.desk.logins.lock().unwrap_or_else(PoisonError::into_inner).push(login);
        if accepted {
            self.login = Some(user);
            self.say("235 2.7.0 welcome").await
        } else {
            self.say("535 5.7.8 wrong user name or password").await
        }
    }

    async fn ask(&mut self, question: &str) -> io::Result<String> {
        self.say(&format!("334 {}", BASE64.encode(question))).await?;
        Ok(self.line().await?.map(|answer| decode(&answer)).unwrap_or_default())
    }

    async fn sender(&mut self, rest: &str) -> io::Result<()> {
        if self.desk.encryption == Encryption::StartTls && !self.encrypted {
            return self.say("530 5.7.0 say STARTTLS first").await;
        }
        if self.desk.access != Access::Anyone && self.login.is_none() {
            return self.say("530 5.7.0 log in first").await;
        }
        let refusal = self.desk.refusals.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        if let Some(code) = refusal {
            return self.say(&format!("{code} refused, as the test asked")).await;
        }
        let announced = rest.split_whitespace().find_map(|word| {
            let (key, value) = word.split_once('=')?;
            key.eq_ignore_ascii_case("SIZE").then(|| value.parse::<usize>().ok())?
        });
        if announced.is_some_and(|size| size > self.desk.size_limit) {
            return self.say("552 5.3.4 too large").await;
        }
        let Some(from) = address(rest, "FROM:") else {
            return self.say("501 5.5.4 expected MAIL FROM:<address>").await;
        };
        self.forget();
        self.from = Some(from);
        self.say("250 2.1.0 ok").await
    }

    async fn recipient(&mut self, rest: &str) -> io::Result<()> {
        if self.from.is_none() {
            return self.say("503 5.5.1 MAIL FROM comes first").await;
        }
        let Some(to) = address(rest, "TO:").filter(|to| !to.is_empty()) else {
            return self.say("501 5.5.4 expected RCPT TO:<address>").await;
        };
        self.to.push(to);
        self.say("250 2.1.5 ok").await
    }

    async fn receive(&mut self) -> io::Result<()> {
        if self.to.is_empty() {
            return self.say("503 5.5.1 RCPT TO comes first").await;
        }
        self.say("354 end with a dot on its own line").await?;
        let Some(raw) = self.body().await? else {
            self.forget();
            return self.say("552 5.3.4 too large").await;
        };
        let mut mail = Mail::read(self.from.take().unwrap_or_default(), std::mem::take(&mut self.to), raw);
        mail.encrypted = self.encrypted;
        mail.login.clone_from(&self.login);
        // Held back before it counts: a mail behind a stalled answer has not arrived for either side.
        self.wait_while_stalled().await;
        self.desk.mails.send_modify(|mails| mails.push(mail));
        self.say("250 2.0.0 received").await
    }

    /// Reads up to the lone dot; `None` where the message was larger than allowed.
    async fn body(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut message = Vec::new();
        let mut fits = true;
        let mut line = Vec::new();
        loop {
            line.clear();
            if self.stream.read_until(b'\n', &mut line).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if line == b".\r\n" || line == b".\n" {
                return Ok(fits.then_some(message));
            }
            let line = line.strip_prefix(b".").unwrap_or(&line);
            fits = fits && message.len() + line.len() <= self.desk.size_limit;
            if fits {
                message.extend_from_slice(line);
            }
        }
    }

    fn forget(&mut self) {
        self.from = None;
        self.to.clear();
    }

    async fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        let read = (&mut self.stream).take(LONGEST_COMMAND).read_until(b'\n', &mut line).await?;
        if read == 0 {
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()))
    }

    async fn say(&mut self, answer: &str) -> io::Result<()> {
        self.wait_while_stalled().await;
        self.stream.write_all(format!("{answer}\r\n").as_bytes()).await?;
        self.stream.flush().await
    }

    async fn wait_while_stalled(&self) {
        // The sender lives in the desk, so the wait cannot end for want of one.
        let _ = self.desk.stalled.subscribe().wait_for(|stalled| !stalled).await;
    }
}

fn decode(secret: &str) -> String {
    BASE64.decode(secret.trim()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The address in `FROM:<address> …`.
fn address(rest: &str, keyword: &str) -> Option<String> {
    let (given, path) = rest.trim_start().split_at_checked(keyword.len())?;
    let (address, _) = path.trim_start().strip_prefix('<')?.split_once('>')?;
    given.eq_ignore_ascii_case(keyword).then(|| address.to_owned())
}
