//! Repeats what can be repeated without harm.
//!
//! A read can always be repeated. A write only when the server surely did not do it: it said so with
//! 429 and when to come back, or there never was a connection. After anything else, a timeout above
//! all, the write may have happened, and only its author knows how to find out.

use std::error::Error;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{Request, Response, StatusCode};
use kube::client::Body;
use tower::util::rng::{HasherRng, Rng};
use tower::{BoxError, Layer, Service, ServiceExt};

use super::Sending;
use super::fence::not_leader;
use super::request::RequestInfo;
use super::timeout::TooLong;

/// How often a request is sent at most.
const TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A server that asks for a longer rest than this has its answer passed on instead.
const LONGEST_REST: Duration = Duration::from_secs(30);

/// How an attempt ended, as far as repeating it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// An answer, with the rest that the server asks for.
    Answered(StatusCode, Option<Duration>),
    /// There was no connection, so nothing was sent.
    NotConnected,
    /// The connection broke.
    Broken,
    /// Anything that another try would not change, or that cost all the time there was.
    Final,
}

impl Outcome {
    fn of(answer: &Result<Response<Body>, BoxError>) -> Self {
        match answer {
            Ok(response) => {
                let rest =
                    response.headers().get(RETRY_AFTER).and_then(|rest| rest.to_str().ok()?.parse().ok());
                Self::Answered(response.status(), rest.map(Duration::from_secs))
            }
            Err(error) => Self::of_error(error.as_ref()),
        }
    }

    fn of_error(error: &(dyn Error + 'static)) -> Self {
        if not_leader(error).is_some() {
            return Self::Final;
        }
        for error in std::iter::successors(Some(error), |error| (*error).source()) {
            if error.is::<TooLong>() {
                return Self::Final;
            }
            if let Some(error) = error.downcast_ref::<hyper_util::client::legacy::Error>() {
                return if error.is_connect() { Self::NotConnected } else { Self::Broken };
            }
            if error.is::<hyper::Error>() || error.is::<std::io::Error>() {
                return Self::Broken;
            }
        }
        Self::Final
    }
}

/// How long to wait before the next try, if there is one. `spread` is a random number from 0 to 1.
fn pause(info: &RequestInfo, outcome: Outcome, tries: u32, spread: f64) -> Option<Duration> {
    let reads = matches!(info.verb, "get" | "list");
    let (repeat, rest) = match outcome {
        Outcome::Answered(StatusCode::TOO_MANY_REQUESTS, rest) => (reads || rest.is_some(), rest),
        Outcome::Answered(
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT,
            rest,
        ) => (reads, rest),
        Outcome::NotConnected => (true, None),
        Outcome::Broken => (reads, None),
        Outcome::Answered(..) | Outcome::Final => (false, None),
    };
    if !repeat || tries >= TRIES || rest.is_some_and(|rest| rest > LONGEST_REST) {
        return None;
    }
    let full = (FIRST_PAUSE * 2_u32.saturating_pow(tries - 1)).min(LONGEST_PAUSE);
    // Spread over its upper half, so that those refused together do not come back together.
    let backoff = full.mul_f64(0.5 + spread / 2.0);
    Some(rest.map_or(backoff, |rest| rest + backoff.min(FIRST_PAUSE)))
}

fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().try_clone()?);
    copy.method_mut().clone_from(request.method());
    copy.uri_mut().clone_from(request.uri());
    *copy.version_mut() = request.version();
    copy.headers_mut().clone_from(request.headers());
    copy.extensions_mut().clone_from(request.extensions());
    Some(copy)
}

/// Has requests repeated.
#[derive(Clone)]
pub(super) struct RetryLayer;

impl<S> Layer<S> for RetryLayer {
    type Service = Retried<S>;

    fn layer(&self, inner: S) -> Retried<S> {
        Retried { inner }
    }
}

#[derive(Clone)]
pub(super) struct Retried<S> {
    inner: S,
}

impl<S> Service<Request<Body>> for Retried<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Sending;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Sending {
        let inner = self.inner.clone();
        Box::pin(async move {
            let info = RequestInfo::of_request(&request);
            if info.streams() {
                return inner.oneshot(request).await;
            }
            let mut random = HasherRng::new();
            let mut tries = 0;
            loop {
                tries += 1;
                let again = copy(&request);
                let answer = inner.clone().oneshot(request).await;
                let pause = pause(&info, Outcome::of(&answer), tries, random.next_f64());
                let (Some(next), Some(pause)) = (again, pause) else { return answer };
                drop(answer);
                tokio::time::sleep(pause).await;
                request = next;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    fn info(method: &Method) -> RequestInfo {
        RequestInfo::of(method, "/api/v1/namespaces/a/configmaps/c", None)
    }

    const REST: Option<Duration> = Some(Duration::from_secs(1));

    #[test]
    fn reads_are_repeated_when_another_try_may_help_and_writes_only_when_surely_not_done() {
        let answered = |code, rest| Outcome::Answered(StatusCode::from_u16(code).unwrap(), rest);
        for (outcome, read, write) in [
            (answered(429, REST), true, true),
            (answered(429, None), true, false),
            (answered(502, None), true, false),
            (answered(503, REST), true, false),
            (answered(504, None), true, false),
            (answered(500, None), false, false),
            (answered(404, None), false, false),
            (answered(409, None), false, false),
            (answered(200, None), false, false),
            (Outcome::NotConnected, true, true),
            (Outcome::Broken, true, false),
            (Outcome::Final, false, false),
        ] {
            assert_eq!(pause(&info(&Method::GET), outcome, 1, 0.5).is_some(), read, "read {outcome:?}");
            for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
                assert_eq!(pause(&info(&method), outcome, 1, 0.5).is_some(), write, "{method} {outcome:?}");
            }
        }
    }

    #[test]
    fn pauses_grow_to_a_bound_and_end_after_the_last_try() {
        let get = info(&Method::GET);
        let pauses: Vec<_> =
            (1..=TRIES).map(|tries| pause(&get, Outcome::NotConnected, tries, 1.0)).collect();
        let millis = |millis| Some(Duration::from_millis(millis));
        assert_eq!(pauses, [millis(100), millis(200), millis(400), millis(800), None]);
        assert_eq!(pause(&get, Outcome::NotConnected, 1, 0.0), millis(50));
    }

    #[test]
    fn the_servers_wish_is_honoured_unless_it_is_too_long() {
        let get = info(&Method::GET);
        let asked =
            |seconds| Outcome::Answered(StatusCode::TOO_MANY_REQUESTS, Some(Duration::from_secs(seconds)));
        let rest = pause(&get, asked(3), 1, 0.5).unwrap();
        assert!(rest >= Duration::from_secs(3) && rest < Duration::from_millis(3200), "{rest:?}");
        assert_eq!(pause(&get, asked(3600), 1, 0.5), None);
    }

    #[test]
    fn a_refusal_of_the_fence_is_final() {
        let refused: Result<Response<Body>, BoxError> = Err(crate::leader::NotLeader::NotLeading.into());
        assert_eq!(Outcome::of(&refused), Outcome::Final);
        let timed: Result<Response<Body>, BoxError> = Err(std::io::Error::other("reset").into());
        assert_eq!(Outcome::of(&timed), Outcome::Broken);
    }
}
