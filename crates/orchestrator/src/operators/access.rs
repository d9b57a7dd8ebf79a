//! How an operator's repository is reached: checked, sealed and opened again.

use slipway_domain::id::OperatorId;
use slipway_domain::operator::{Operator, Repository};
use slipway_domain::problem::Problems;

use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::charts::{ChartsError, Credentials, RepositoryAccess};
use crate::ports::store::Sealed;

/// How somebody says that a repository is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GivenAccess {
    /// Who asks.
    pub credentials: Credentials,
    /// The authority that vouches for it, as PEM.
    pub authority: Option<String>,
}

/// More than any bundle of certificates for one host has.
const MOST_AUTHORITY: usize = 64 * 1024;

/// What is wrong with it, beside the repository it is for.
pub(super) fn check(access: &GivenAccess, repository: Option<&Repository>, problems: &mut Problems) {
    match &access.credentials {
        Credentials::Anonymous => {}
        Credentials::Basic { username, password } => {
            if username.is_empty() || username.contains(':') {
                problems.add("credentials.username", "has to be there, without a colon");
            }
            if password.is_empty() {
                problems.add("credentials.password", "is missing");
            }
        }
        Credentials::Bearer { token } => {
            if token.is_empty() {
                problems.add("credentials.token", "is missing");
            }
        }
    }
    let texts = match &access.credentials {
        Credentials::Anonymous => [None, None],
        Credentials::Basic { username, password } => [Some(username), Some(password)],
        Credentials::Bearer { token } => [Some(token), None],
    };
    if texts.iter().flatten().any(|text| text.len() > 8192 || text.chars().any(char::is_control)) {
        problems.add("credentials", "are longer than 8192 characters, or hold control characters");
    }
    if access.credentials != Credentials::Anonymous && repository.is_some_and(Repository::is_in_the_clear) {
        problems.add("credentials", "would be sent in the clear; use an https:// address");
    }
    if let Some(pem) = &access.authority
        && (pem.len() > MOST_AUTHORITY || !pem.contains("-----BEGIN CERTIFICATE-----"))
    {
        problems.add("caCertificate", "has to be a certificate in PEM, of 64 KiB at most");
    }
}

/// What an error of a repository is to whoever asked for it: a problem of what they gave.
pub(super) fn problem(error: ChartsError) -> Error {
    let place = match &error {
        ChartsError::Unreachable { .. } => "chartRepository",
        ChartsError::Refused { .. } => "credentials",
        ChartsError::NoChart { .. } | ChartsError::Digest { .. } | ChartsError::Archive { .. } => "chartName",
        ChartsError::NoVersion { .. } => "currentVersion",
        ChartsError::Unable { .. } => {
            return Error::new(Code::Unavailable, error.to_string()).caused_by(error);
        }
    };
    let message = error.to_string();
    let mut failure = Error::new(Code::ValidationError, message.clone());
    failure.details = Problems::one(place, message);
    failure.caused_by(error)
}

/// The context that an operator's credentials are sealed in.
pub(super) fn context(id: OperatorId) -> String {
    format!("operator/{id}")
}

impl Manager {
    /// Seals credentials for an operator; nothing for none.
    pub(super) fn seal_credentials(
        &self,
        id: OperatorId,
        credentials: &Credentials,
    ) -> Result<Option<Sealed>, Error> {
        if *credentials == Credentials::Anonymous {
            return Ok(None);
        }
        let plain = zeroize::Zeroizing::new(serde_json::to_vec(credentials).map_err(unsealable)?);
        let sealed = self.parts.keyring.seal(&context(id), &plain).map_err(unsealable)?;
        Ok(Some(Sealed(sealed)))
    }

    /// How an operator's repository is reached.
    pub(crate) async fn repository_access(&self, operator: &Operator) -> Result<RepositoryAccess, Error> {
        let credentials = match self.store().operator_credentials(operator.id).await? {
            None => Credentials::Anonymous,
            Some(Sealed(sealed)) => {
                let plain = self.parts.keyring.open(&context(operator.id), &sealed).map_err(|error| {
                    let message = format!("the credentials of {} cannot be opened: {error}", operator.name);
                    Error::new(Code::Unavailable, message).caused_by(error)
                })?;
                serde_json::from_slice(&plain).map_err(unsealable)?
            }
        };
        Ok(RepositoryAccess { credentials, authority: operator.authority.clone() })
    }
}

/// The cause is left out where it could quote what was being sealed.
fn unsealable(error: impl std::error::Error) -> Error {
    tracing::error!(kind = std::any::type_name_of_val(&error), "credentials could not be sealed or opened");
    Error::new(Code::InternalError, "the credentials could not be sealed; the server's key may be wrong")
}
