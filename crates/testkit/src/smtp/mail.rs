//! A mail as the receiver reads it.

use mail_parser::MessageParser;

/// A mail that arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mail {
    /// The sender in the envelope; empty for a bounce.
    pub from: String,
    /// The recipients in the envelope.
    pub to: Vec<String>,
    /// The subject, decoded.
    pub subject: String,
    /// Every header as it was sent, unfolded.
    pub headers: Vec<(String, String)>,
    /// The plain text, decoded; made from the HTML where there is no other.
    pub text: String,
    /// The HTML, decoded.
    pub html: Option<String>,
    /// Whether the connection was encrypted.
    pub encrypted: bool,
    /// Who was logged in.
    pub login: Option<String>,
    /// The message as it was sent, without the dots that SMTP adds.
    pub raw: Vec<u8>,
}

impl Mail {
    /// The first header of this name, whatever its case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Reads a message; what cannot be read stays empty, since a broken mail is still one that arrived.
    pub(super) fn read(from: String, to: Vec<String>, raw: Vec<u8>) -> Self {
        let mut mail = Self { from, to, ..Self::default() };
        if let Some(message) = MessageParser::default().parse(&raw) {
            message.subject().unwrap_or_default().clone_into(&mut mail.subject);
            mail.headers =
                message.headers_raw().map(|(name, value)| (name.to_owned(), unfold(value))).collect();
            mail.text = message.body_text(0).unwrap_or_default().into_owned();
            mail.html = message
                .html_part(0)
                .and_then(|part| part.is_text_html().then(|| part.text_contents()))
                .flatten()
                .map(str::to_owned);
        }
        mail.raw = raw;
        mail
    }
}

fn unfold(value: &str) -> String {
    value.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
}
