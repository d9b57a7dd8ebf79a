//! The Secret that holds the authorities.

use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};

use super::record::Record;
use crate::webhook::error::{WebhookError, code};
use crate::webhook::injection::rule_to_add;

/// Reads and writes the record, so that of several replicas exactly one writer wins.
#[derive(Clone)]
pub(crate) struct SecretStore {
    api: Api<Secret>,
    namespace: String,
    name: String,
}

/// A record with the Secret it was read from.
pub(crate) struct Stored {
    secret: Secret,
    pub(crate) record: Record,
}

impl std::fmt::Debug for SecretStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Secret {}/{}", self.namespace, self.name)
    }
}

impl SecretStore {
    pub(crate) fn new(client: Client, namespace: &str, name: &str) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The record as it is now; none when there is none.
    pub(crate) async fn read(&self) -> Result<Option<Stored>, WebhookError> {
        let Some(secret) = self.get().await? else { return Ok(None) };
        let record = self.parse(&secret)?;
        Ok(record.map(|record| Stored { secret, record }))
    }

    /// Stores a record unless somebody else has stored one, and gives whichever is there.
    pub(crate) async fn read_or_create(
        &self,
        first: impl FnOnce() -> Result<Record, WebhookError>,
    ) -> Result<Stored, WebhookError> {
        let existing = self.get().await?;
        if let Some(secret) = &existing
            && let Some(record) = self.parse(secret)?
        {
            return Ok(Stored { secret: secret.clone(), record });
        }
        let record = first()?;
        let mut secret = existing.unwrap_or_else(|| Secret {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(self.namespace.clone()),
                labels: Some(
                    [("app.kubernetes.io/managed-by".to_owned(), "slipway-runtime".to_owned())].into(),
                ),
                ..ObjectMeta::default()
            },
            ..Secret::default()
        });
        record.write(&mut secret);
        let written = if secret.metadata.resource_version.is_some() {
            self.api.replace(&self.name, &PostParams::default(), &secret).await
        } else {
            self.api.create(&PostParams::default(), &secret).await
        };
        match written {
            Ok(secret) => {
                tracing::info!("made a webhook authority and stored it in {self:?}");
                Ok(Stored { secret, record })
            }
            // Another replica was first. What it stored is ours too.
            Err(error) if code(&error) == Some(409) => self.read().await?.ok_or_else(|| {
                WebhookError::certificate(format!("{self:?}"), "it came and went; trying again")
            }),
            Err(error) => Err(self.failed("create", error)),
        }
    }

    /// Writes the next record over one that was read; none when somebody else wrote first.
    pub(crate) async fn replace(
        &self,
        stored: &Stored,
        record: Record,
    ) -> Result<Option<Stored>, WebhookError> {
        let mut secret = stored.secret.clone();
        record.write(&mut secret);
        match self.api.replace(&self.name, &PostParams::default(), &secret).await {
            Ok(secret) => Ok(Some(Stored { secret, record })),
            Err(error) if matches!(code(&error), Some(404 | 409)) => Ok(None),
            Err(error) => Err(self.failed("update", error)),
        }
    }

    async fn get(&self) -> Result<Option<Secret>, WebhookError> {
        self.api.get_opt(&self.name).await.map_err(|error| self.failed("get", error))
    }

    fn parse(&self, secret: &Secret) -> Result<Option<Record>, WebhookError> {
        Record::read(secret).map_err(|error| {
            WebhookError::certificate(
                format!("{self:?}"),
                format!("{error}; delete it and a new one is made"),
            )
        })
    }

    fn failed(&self, verb: &str, error: kube::Error) -> WebhookError {
        let mut doing = format!("could not {verb} {self:?}, where webhook authorities are kept");
        if code(&error) == Some(403) {
            // A name cannot limit creation: the object does not exist yet.
            let name = (verb != "create").then_some(self.name.as_str());
            doing = format!("{doing}; {}", rule_to_add(Some(&self.namespace), "", "secrets", name, &[verb]));
        }
        WebhookError::kubernetes(doing, error)
    }
}
