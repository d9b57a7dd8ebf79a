//! Lets writes through only while this instance leads.

use std::error::Error;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use kube::client::Body;
use tokio::time::{Instant, sleep_until};
use tower::{BoxError, Layer, Service, ServiceExt};

use super::Sending;
use super::request::RequestInfo;
use crate::leader::{Leadership, NotLeader};

tokio::task_local! {
    static TERM: u64;
}

/// Runs work that began in a term of leadership: its writes through a fenced client are refused once
/// another term has begun. What it spawns as further tasks is not part of it.
pub async fn in_term<F: Future>(term: u64, work: F) -> F::Output {
    TERM.scope(term, work).await
}

/// The term that the present work began in, inside [`in_term`].
pub fn current_term() -> Option<u64> {
    TERM.try_with(|term| *term).ok()
}

/// Whether a request failed since this instance does not lead (any more).
pub fn is_not_leader(error: &kube::Error) -> bool {
    not_leader(error).is_some()
}

/// The fence's refusal, if it is among an error's causes.
pub(super) fn not_leader<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e NotLeader> {
    std::iter::successors(Some(error), |error| (*error).source()).find_map(|error| error.downcast_ref())
}

/// Puts the fence in place, where there is a leadership to ask.
#[derive(Clone)]
pub(super) struct FenceLayer {
    leadership: Option<Leadership>,
}

impl FenceLayer {
    pub(super) fn new(leadership: Option<Leadership>) -> Self {
        Self { leadership }
    }
}

impl<S> Layer<S> for FenceLayer {
    type Service = Fenced<S>;

    fn layer(&self, inner: S) -> Fenced<S> {
        Fenced { inner, leadership: self.leadership.clone() }
    }
}

#[derive(Clone)]
pub(super) struct Fenced<S> {
    inner: S,
    leadership: Option<Leadership>,
}

impl<S> Service<Request<Body>> for Fenced<S>
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

    fn call(&mut self, request: Request<Body>) -> Sending {
        let (inner, leadership) = (self.inner.clone(), self.leadership.clone());
        // All of it in the future: kube calls services on a task of its own, which knows no term, and
        // polls their futures where the request was made.
        Box::pin(async move {
            match leadership {
                Some(leadership) if RequestInfo::of_request(&request).writes() => {
                    send_as_leader(&leadership, || inner.oneshot(request)).await
                }
                _ => inner.oneshot(request).await,
            }
        })
    }
}

/// Sends with permission, and stops when it ends: a request may wait long for a connection.
async fn send_as_leader<F>(
    leadership: &Leadership,
    send: impl FnOnce() -> F,
) -> Result<Response<Body>, BoxError>
where
    F: Future<Output = Result<Response<Body>, BoxError>>,
{
    let mut permit = leadership.permit(current_term())?;
    let Some(until) = permit.until else { return send().await };
    let mut sending = pin!(send());
    let mut deadline = pin!(sleep_until(until));
    poll_fn(|context| {
        // The clock is asked before each step, since timers of a process that was frozen fire only
        // some time after it woke.
        while permit.until.is_some_and(|until| Instant::now() >= until) {
            permit = match leadership.extend(permit) {
                Ok(permit) => permit,
                Err(refusal) => return Poll::Ready(Err(refusal.into())),
            };
            if let Some(until) = permit.until {
                deadline.as_mut().reset(until);
            }
        }
        if let Poll::Ready(answer) = sending.as_mut().poll(context) {
            return Poll::Ready(answer);
        }
        if deadline.as_mut().poll(context).is_ready() {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    async fn answer_after(time: Duration) -> Result<Response<Body>, BoxError> {
        tokio::time::sleep(time).await;
        Ok(Response::new(Body::empty()))
    }

    fn refusal(answer: &Result<Response<Body>, BoxError>) -> Option<NotLeader> {
        not_leader(answer.as_ref().unwrap_err().as_ref()).copied()
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_on_its_way_is_given_up_when_leadership_lapses() {
        let (leadership, control) = Leadership::controlled();
        control.begin(10 * SECOND);
        let started = Instant::now();
        let answer = send_as_leader(&leadership, || answer_after(60 * SECOND)).await;
        assert_eq!(refusal(&answer), Some(NotLeader::LostOnTheWay));
        assert!(started.elapsed() < 11 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_lets_a_slow_write_go_on() {
        let (leadership, control) = Leadership::controlled();
        control.begin(10 * SECOND);
        let renewing = async {
            for _ in 0..8 {
                tokio::time::sleep(2 * SECOND).await;
                control.renew(10 * SECOND);
            }
        };
        let (answer, ()) = tokio::join!(send_as_leader(&leadership, || answer_after(15 * SECOND)), renewing);
        assert!(answer.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_term_does_not_carry_a_write_of_an_earlier_one() {
        let (leadership, control) = Leadership::controlled();
        control.begin(2 * SECOND);
        let again = async {
            tokio::time::sleep(SECOND).await;
            control.lose();
            control.begin(60 * SECOND);
        };
        let (answer, ()) = tokio::join!(send_as_leader(&leadership, || answer_after(30 * SECOND)), again);
        assert_eq!(refusal(&answer), Some(NotLeader::LostOnTheWay));
    }

    #[tokio::test(start_paused = true)]
    async fn work_of_an_earlier_term_sends_nothing() {
        let (leadership, control) = Leadership::controlled();
        let first = control.begin(SECOND);
        control.lose();
        control.begin(SECOND);
        let send = || -> futures::future::Ready<_> { panic!("nothing must be sent") };
        let answer = in_term(first, send_as_leader(&leadership, send)).await;
        assert_eq!(refusal(&answer), Some(NotLeader::OtherTerm { began: 1, current: 2 }));
        assert_eq!(current_term(), None);
    }

    #[test]
    fn the_refusal_is_found_below_other_errors() {
        let error = kube::Error::Service(NotLeader::NotLeading.into());
        assert!(is_not_leader(&error));
        let nested = kube::Error::Service(Box::new(kube::Error::Service(NotLeader::LostOnTheWay.into())));
        assert!(is_not_leader(&nested));
        assert!(!is_not_leader(&kube::Error::TlsRequired));
    }
}
