//! A message as a mail: plain text, and the same as HTML with its link to click.

use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::{Address, Message as Letter};
use slipway_orchestrator::ports::store::Message;

use crate::notifier::delivery_id;

/// Writes a mail. Its `Message-ID` is the message's own, so that a second copy is known as one.
pub(super) fn write(from: &Mailbox, to: Address, message: &Message) -> Result<Letter, lettre::error::Error> {
    let domain = from.email.domain();
    Letter::builder()
        .from(from.clone())
        .to(Mailbox::new(None, to))
        .subject(one_line(&message.subject))
        .message_id(Some(format!("<{}@{domain}>", delivery_id(message))))
        // So that nobody's absence note answers.
        .raw_header(fixed("Auto-Submitted", "auto-generated"))
        .raw_header(HeaderValue::new(
            HeaderName::new_from_ascii_str("X-Slipway-Kind"),
            one_line(&message.kind),
        ))
        .multipart(MultiPart::alternative_plain_html(message.text.clone(), html(message)))
}

fn fixed(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

/// Whatever a subject holds, it stays one header.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// The text as it is, with nothing in it taken for markup; only the message's own link can be clicked, not
/// what people wrote.
fn html(message: &Message) -> String {
    let text = escaped(&message.text);
    let link = message.facts.get("link").and_then(serde_json::Value::as_str).map(escaped);
    let text = match link.filter(|link| link.starts_with("http")) {
        Some(link) => text.replacen(&link, &format!("<a href=\"{link}\">{link}</a>"), 1),
        None => text,
    };
    format!(
        "<!doctype html><html><body><pre style=\"font-family: ui-monospace, monospace; white-space: pre-wrap\">\
         {text}</pre></body></html>"
    )
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use slipway_orchestrator::ports::store::Recipient;

    use super::*;

    fn message(subject: &str, text: &str) -> Message {
        Message {
            to: Recipient::Mail { address: "ada@slipway.test".to_owned() },
            key: "approval/1/required/0/mail/ada@slipway.test".to_owned(),
            kind: "approval.required".to_owned(),
            subject: subject.to_owned(),
            text: text.to_owned(),
            facts: json!({"link": "https://slipway.test/approvals/1?a=b&c"}),
        }
    }

    fn letter(message: &Message) -> String {
        let from = "Slipway <slipway@slipway.test>".parse().unwrap();
        let letter = write(&from, "ada@slipway.test".parse().unwrap(), message).unwrap();
        String::from_utf8(letter.formatted()).unwrap()
    }

    #[test]
    fn a_subject_cannot_add_headers_or_a_body() {
        let letter = letter(&message("Hello\r\nBcc: eve@slipway.test\r\n\r\nbody", "text"));
        let headers = letter.split("\r\n\r\n").next().unwrap();
        assert!(!headers.lines().any(|line| line.starts_with("Bcc")), "{headers}");
        assert!(headers.contains("Subject: Hello  Bcc: eve@slipway.test    body"), "{headers}");
    }

    #[test]
    fn a_second_copy_has_the_same_id() {
        let id = |letter: String| {
            letter.lines().find(|line| line.starts_with("Message-ID")).map(str::to_owned).unwrap()
        };
        let first = message("a", "text");
        assert_eq!(id(letter(&first)), id(letter(&message("b", "another"))), "the key decides");
        let other = Message { key: "another".to_owned(), ..first.clone() };
        assert_ne!(id(letter(&first)), id(letter(&other)));
        assert!(id(letter(&first)).ends_with("@slipway.test>"));
    }

    #[test]
    fn html_shows_the_text_and_links_nothing_but_the_link() {
        let text = "<script>alert(1)</script> https://evil.test\nhttps://slipway.test/approvals/1?a=b&c";
        let html = html(&message("a", text));
        assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt; https://evil.test\n"), "{html}");
        assert!(html.contains("<a href=\"https://slipway.test/approvals/1?a=b&amp;c\">"), "{html}");
        assert_eq!(html.matches("<a ").count(), 1);
    }
}
