//! Who may see what is not for everyone: the API server is asked, once in ten seconds.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use kube::{Client, Error};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

/// How long an answer holds.
const HOLDS: Duration = Duration::from_secs(10);
/// How long the API server may take.
const REVIEW: Duration = Duration::from_secs(5);
/// How many answers are kept, and how many questions may be open.
const KEPT: usize = 1024;
const OPEN: usize = 8;

/// Why someone is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Nobody is named.
    #[error(
        "a bearer token is needed: send `Authorization: Bearer <token>`, such as from `kubectl create token`"
    )]
    NoToken,
    /// The token is not one.
    #[error("the token is not valid in this cluster, or has expired")]
    BadToken,
    /// The one who asks may not.
    #[error(
        "{user} may not get {path}; a ClusterRole with the rule {{nonResourceURLs: [\"{path}\"], verbs: \
         [\"get\"]}} would allow it"
    )]
    Forbidden {
        /// Who asked.
        user: String,
        /// For what.
        path: String,
    },
    /// The API server did not say.
    #[error("the API server could not be asked who may see this: {0}")]
    Unknown(String),
}

type Key = ([u8; 32], String);
type Answers = HashMap<Key, (Instant, Result<(), Refused>)>;

/// Asks the API server by `TokenReview` and `SubjectAccessReview`. Clones share the answers.
///
/// Needs `create` on `tokenreviews` (`authentication.k8s.io`) and `subjectaccessreviews`
/// (`authorization.k8s.io`), as the `ClusterRole` `system:auth-delegator` gives it.
#[derive(Clone)]
pub struct Guard {
    client: Client,
    answers: Arc<Mutex<Answers>>,
    open: Arc<Semaphore>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Guard").finish_non_exhaustive()
    }
}

impl Guard {
    /// One that asks with this client.
    pub fn new(client: Client) -> Self {
        Self { client, answers: Arc::default(), open: Arc::new(Semaphore::new(OPEN)) }
    }

    /// Whether the bearer of a header `Authorization` may get a path.
    pub async fn admit(&self, authorization: Option<&str>, path: &str) -> Result<(), Refused> {
        let token = authorization.and_then(bearer).ok_or(Refused::NoToken)?;
        let key: Key = (Sha256::digest(token.as_bytes()).into(), path.to_owned());
        if let Some(answer) = self.known(&key) {
            return answer;
        }
        let asking = async {
            let Ok(_turn) = self.open.acquire().await else {
                return Err(Refused::Unknown("the server is ending".to_owned()));
            };
            // Whoever waited for a turn may find the answer of the one before.
            match self.known(&key) {
                Some(answer) => answer,
                None => self.ask(token, path).await,
            }
        };
        let late = || Err(Refused::Unknown(format!("no answer within {} s", REVIEW.as_secs())));
        let answer = timeout(REVIEW, asking).await.unwrap_or_else(|_| late());
        // What is not known now may be known in a moment.
        if !matches!(answer, Err(Refused::Unknown(_))) {
            self.keep(key, answer.clone());
        }
        answer
    }

    fn known(&self, key: &Key) -> Option<Result<(), Refused>> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, answer) = answers.get(key)?;
        (at.elapsed() < HOLDS).then(|| answer.clone())
    }

    fn keep(&self, key: Key, answer: Result<(), Refused>) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= KEPT {
            answers.retain(|_, (at, _)| at.elapsed() < HOLDS);
        }
        if answers.len() < KEPT {
            answers.insert(key, (Instant::now(), answer));
        }
    }

    async fn ask(&self, token: &str, path: &str) -> Result<(), Refused> {
        let user = self.who(token).await?.ok_or(Refused::BadToken)?;
        let name = user.username.clone().unwrap_or_default();
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username,
                uid: user.uid,
                groups: user.groups,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(path.to_owned()),
                    verb: Some("get".to_owned()),
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await;
        let answer =
            answer.map_err(|error| not_answered(&error, "authorization.k8s.io", "subjectaccessreviews"))?;
        if answer.status.is_some_and(|status| status.allowed) {
            Ok(())
        } else {
            Err(Refused::Forbidden { user: name, path: path.to_owned() })
        }
    }

    async fn who(&self, token: &str) -> Result<Option<UserInfo>, Refused> {
        let review = TokenReview {
            spec: TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() },
            ..TokenReview::default()
        };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| not_answered(&error, "authentication.k8s.io", "tokenreviews"))?;
        let status = answer.status.unwrap_or_default();
        Ok(if status.authenticated == Some(true) { status.user } else { None })
    }
}

fn not_answered(error: &Error, group: &str, resource: &str) -> Refused {
    match error {
        Error::Api(status) if status.code == 403 => {
            tracing::warn!(
                "requests to the admin server cannot be checked; add this rule to the ClusterRole of the \
                 operator: {{apiGroups: [\"{group}\"], resources: [\"{resource}\"], verbs: [\"create\"]}}"
            );
            Refused::Unknown(format!("the operator may not create {resource}"))
        }
        error => Refused::Unknown(error.to_string()),
    }
}

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use kube::Config;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_holds_for_ten_seconds() {
        slipway_testkit::init();
        let config = Config::new("http://127.0.0.1:1".parse().unwrap());
        let guard = Guard::new(Client::try_from(config).unwrap());
        let key: Key = ([0; 32], "/events".to_owned());
        guard.keep(key.clone(), Ok(()));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(guard.known(&key), Some(Ok(())));
        assert_eq!(guard.known(&([0; 32], "/watch".to_owned())), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(guard.known(&key), None);
    }

    #[test]
    fn only_bearer_tokens_are_taken() {
        assert_eq!(bearer("Bearer abc"), Some("abc"));
        assert_eq!(bearer("bearer  abc "), Some("abc"));
        for other in ["Basic abc", "Bearer", "Bearer ", "abc", ""] {
            assert_eq!(bearer(other), None, "{other}");
        }
    }
}
