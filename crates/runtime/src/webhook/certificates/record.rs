//! The authorities as they lie in the Secret.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;

use super::Bundle;
use super::authority::{Authority, PublicAuthority};
use super::rotation::{Next, Previous, State, Step};
use crate::webhook::error::WebhookError;

const CURRENT: (&str, &str) = ("ca.crt", "ca.key");
const NEXT: (&str, &str) = ("next-ca.crt", "next-ca.key");
const PREVIOUS: &str = "previous-ca.crt";
const ANNOUNCED: &str = "slipway.dev/next-ca-published-at";
const REPLACED: &str = "slipway.dev/previous-ca-replaced-at";

/// Everything that replicas share about their authorities.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) current: Authority,
    next: Option<(Authority, Option<Timestamp>)>,
    previous: Option<(PublicAuthority, Timestamp)>,
}

impl Record {
    /// The first authority.
    pub(crate) fn first(authority: Authority) -> Self {
        Self { current: authority, next: None, previous: None }
    }

    /// What the decisions are made on.
    pub(crate) fn state(&self) -> State {
        State {
            current: self.current.public.validity,
            next: self.next.as_ref().map(|(_, announced)| Next { announced: *announced }),
            previous: self
                .previous
                .as_ref()
                .map(|(previous, replaced)| Previous { validity: previous.validity, replaced: *replaced }),
        }
    }

    /// Every authority to trust, the signing one first.
    pub(crate) fn bundle(&self) -> Bundle {
        let mut bundle = self.current.public.pem.clone();
        let next = self.next.as_ref().map(|(next, _)| next.public.pem.as_str());
        let previous = self.previous.as_ref().map(|(previous, _)| previous.pem.as_str());
        for pem in next.into_iter().chain(previous) {
            if !bundle.ends_with('\n') {
                bundle.push('\n');
            }
            bundle.push_str(pem);
        }
        bundle.into()
    }

    /// The record after a step; `name` and `lifetime` are for the authority that `Begin` makes.
    pub(crate) fn after(
        &self,
        step: Step,
        name: &str,
        lifetime: Duration,
        now: Timestamp,
    ) -> Result<Self, WebhookError> {
        let mut record = self.clone();
        match step {
            Step::Wait => {}
            Step::Begin => record.next = Some((Authority::generate(name, lifetime, now)?, None)),
            Step::Announce => record.next = record.next.map(|(next, _)| (next, Some(now))),
            Step::Withdraw => record.next = record.next.map(|(next, _)| (next, None)),
            Step::Promote => {
                if let Some((next, _)) = record.next.take() {
                    let before = std::mem::replace(&mut record.current, next);
                    record.previous = Some((before.public, now));
                }
            }
            Step::Retire => record.previous = None,
        }
        Ok(record)
    }

    /// Reads a Secret; none when it is empty, as a chart may have made it.
    pub(crate) fn read(secret: &Secret) -> Result<Option<Self>, WebhookError> {
        let Some(data) = secret.data.as_ref().filter(|data| !data.is_empty()) else { return Ok(None) };
        let annotations = secret.metadata.annotations.as_ref();
        let time = |annotation: &str| {
            annotations.and_then(|all| all.get(annotation)).and_then(|text| text.parse::<Timestamp>().ok())
        };
        let current = pair(data, CURRENT)?.ok_or_else(|| {
            WebhookError::certificate("the authority's Secret", "it has no ca.crt and ca.key")
        })?;
        let next = pair(data, NEXT)?.map(|next| (next, time(ANNOUNCED)));
        let previous = text(data, PREVIOUS)?
            .map(|pem| {
                let public = PublicAuthority::read(pem)?;
                // Without its time it stays until it ends, which is long enough.
                let replaced = time(REPLACED).unwrap_or(public.validity.until);
                Ok::<_, WebhookError>((public, replaced))
            })
            .transpose()?;
        Ok(Some(Self { current, next, previous }))
    }

    /// Writes itself into a Secret, leaving alone what is not its own.
    pub(crate) fn write(&self, secret: &mut Secret) {
        let data = secret.data.get_or_insert_default();
        let annotations = secret.metadata.annotations.get_or_insert_default();
        put_pair(data, CURRENT, Some(&self.current));
        put_pair(data, NEXT, self.next.as_ref().map(|(next, _)| next));
        put(data, PREVIOUS, self.previous.as_ref().map(|(previous, _)| previous.pem.as_str()));
        let announced = self.next.as_ref().and_then(|(_, announced)| *announced);
        let replaced = self.previous.as_ref().map(|(_, replaced)| *replaced);
        for (annotation, time) in [(ANNOUNCED, announced), (REPLACED, replaced)] {
            match time {
                Some(time) => annotations.insert(annotation.to_owned(), time.to_string()),
                None => annotations.remove(annotation),
            };
        }
    }
}

type Data = BTreeMap<String, ByteString>;

fn text<'a>(data: &'a Data, key: &str) -> Result<Option<&'a str>, WebhookError> {
    data.get(key)
        .map(|bytes| {
            std::str::from_utf8(&bytes.0).map_err(|_| {
                WebhookError::certificate(format!("{key} of the authority's Secret"), "it is not text")
            })
        })
        .transpose()
}

fn pair(data: &Data, (certificate, key): (&str, &str)) -> Result<Option<Authority>, WebhookError> {
    match (text(data, certificate)?, text(data, key)?) {
        (Some(certificate), Some(key)) => Authority::read(certificate, key).map(Some),
        (None, None) => Ok(None),
        _ => Err(WebhookError::certificate(
            "the authority's Secret",
            format!("{certificate} or {key} is missing"),
        )),
    }
}

fn put(data: &mut Data, key: &str, value: Option<&str>) {
    match value {
        Some(value) => data.insert(key.to_owned(), ByteString(value.as_bytes().to_vec())),
        None => data.remove(key),
    };
}

fn put_pair(data: &mut Data, (certificate, key): (&str, &str), authority: Option<&Authority>) {
    put(data, certificate, authority.map(|authority| authority.public.pem.as_str()));
    put(data, key, authority.map(Authority::key));
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn first() -> Record {
        Record::first(Authority::generate("one", HOUR, Timestamp::now()).unwrap())
    }

    fn stored(record: &Record, secret: &mut Secret) -> Record {
        record.write(secret);
        Record::read(secret).unwrap().unwrap()
    }

    #[test]
    fn every_state_survives_the_secret() {
        let now = Timestamp::now();
        let mut secret = Secret::default();
        secret.metadata.annotations = Some([("theirs".to_owned(), "kept".to_owned())].into());
        let mut record = first();
        for step in [Step::Begin, Step::Announce, Step::Withdraw, Step::Announce, Step::Promote, Step::Retire]
        {
            record = record.after(step, "two", HOUR, now).unwrap();
            let read = stored(&record, &mut secret);
            assert_eq!(read.state(), record.state(), "{step:?}");
            assert_eq!(read.bundle(), record.bundle(), "{step:?}");
        }
        assert_eq!(secret.data.unwrap().keys().collect::<Vec<_>>(), ["ca.crt", "ca.key"]);
        assert_eq!(secret.metadata.annotations.unwrap().keys().collect::<Vec<_>>(), ["theirs"]);
    }

    #[test]
    fn both_authorities_are_trusted_from_the_beginning_of_a_rotation_to_its_end() {
        let now = Timestamp::now();
        let one = first();
        let both = one.after(Step::Begin, "two", HOUR, now).unwrap();
        let promoted = both.after(Step::Promote, "two", HOUR, now).unwrap();
        for record in [&both, &promoted] {
            assert!(record.bundle().contains(&*one.current.public.pem));
            assert!(record.bundle().contains(&*promoted.current.public.pem));
        }
        let end = promoted.after(Step::Retire, "two", HOUR, now).unwrap();
        assert_eq!(*end.bundle(), *promoted.current.public.pem);
    }

    #[test]
    fn an_empty_secret_is_nothing_yet_and_a_broken_one_is_an_error() {
        assert!(Record::read(&Secret::default()).unwrap().is_none());
        let mut secret = Secret::default();
        first().write(&mut secret);
        secret.data.as_mut().unwrap().remove("ca.key");
        let error = Record::read(&secret).unwrap_err();
        assert_eq!(error.to_string(), "the authority's Secret cannot be used: ca.crt or ca.key is missing");
    }
}
