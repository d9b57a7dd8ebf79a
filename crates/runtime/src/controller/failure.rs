//! What becomes of a turn that failed.

use serde_json::Value;

use crate::conditions::{self, Condition, READY};
use crate::error::{Category, Error};
use crate::queue::Done;

/// When the object comes back.
pub(super) fn done(error: &Error) -> Done {
    match error.category() {
        Category::Conflict => Done::Again,
        Category::Transient if is_the_servers(error) => Done::Unreached,
        Category::NotReady | Category::Transient | Category::Forbidden => {
            error.retry_after().map_or(Done::Failed, Done::After)
        }
        Category::Permanent => Done::Parked,
        Category::NotLeader => Done::Dropped,
    }
}

/// Whether the API server was out of reach or had too much to do, which is no trouble of the object.
fn is_the_servers(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<kube::Error>());
    match source {
        Some(kube::Error::Api(status)) => matches!(status.code, 429 | 503 | 504),
        Some(kube::Error::Service(_) | kube::Error::HyperError(_)) => true,
        _ => false,
    }
}

/// Whether the failure is told on the object: what mends itself in a moment is not, and neither is that the
/// API server is in trouble, which one more write would make worse.
pub(super) fn is_told(error: &Error) -> bool {
    match error.category() {
        Category::Transient if is_the_servers(error) => false,
        Category::Transient | Category::Forbidden | Category::Permanent => true,
        Category::Conflict | Category::NotReady | Category::NotLeader => false,
    }
}

/// The status that tells the failure: what was known, `Ready` false, and what the author adds.
pub(super) fn status(old: Option<&Value>, error: &Error, author: &Value) -> Value {
    let mut status = old.cloned().filter(Value::is_object).unwrap_or_else(|| serde_json::json!({}));
    let ready = Condition::fails(READY, error.reason_word(), error.to_string());
    status["conditions"] = conditions::with(&status, &ready);
    if author.is_object() {
        json_patch::merge(&mut status, author);
    }
    status
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    #[test]
    fn each_category_comes_back_in_its_own_way() {
        assert_eq!(done(&Error::transient("x")), Done::Failed);
        assert_eq!(done(&Error::permanent("x")), Done::Parked);
        assert_eq!(done(&Error::not_ready("x", Duration::from_secs(3))), Done::After(Duration::from_secs(3)));
        assert_eq!(done(&Error::new(Category::Conflict, "Conflict", "x")), Done::Again);
        assert_eq!(done(&Error::new(Category::NotLeader, "LeadershipLost", "x")), Done::Dropped);
    }

    #[test]
    fn trouble_of_the_api_server_is_not_held_against_the_object() {
        let answer = |code| {
            let status = kube::core::Status::failure("x", "x").with_code(code);
            Error::kube("writing", kube::Error::Api(status.boxed()))
        };
        let broken = Error::kube("writing", kube::Error::Service(Box::new(std::io::Error::other("reset"))));
        for error in [answer(429), answer(503), answer(504), broken] {
            assert_eq!(done(&error), Done::Unreached, "{error}");
            assert!(!is_told(&error));
        }
        assert_eq!(done(&answer(500)), Done::Failed);
        assert!(is_told(&answer(500)));
    }

    #[test]
    fn a_failure_keeps_the_rest_of_the_status() {
        let old =
            json!({"replicas": 3, "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        let status =
            status(Some(&old), &Error::permanent("spec.image is blank"), &json!({"phase": "Failed"}));
        assert_eq!((&status["replicas"], &status["phase"]), (&json!(3), &json!("Failed")));
        assert_eq!(status["conditions"][0]["message"], "spec.image is blank");
        assert_eq!(status["conditions"][0]["status"], "False");
    }

    #[test]
    fn without_words_of_the_author_the_status_stays_an_object() {
        let status = status(None, &Error::transient("x"), &Value::Null);
        assert!(status["conditions"].is_array());
    }
}
