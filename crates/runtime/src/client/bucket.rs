//! One token bucket for all requests of an operator.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use kube::client::Body;
use thiserror::Error;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use tower::{BoxError, Layer, Service, ServiceExt};

use super::Sending;
use super::request::RequestInfo;

/// How many requests may be sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// How many in a second, in the long run.
    pub per_second: f64,
    /// How many at once after a rest.
    pub burst: u32,
}

impl Default for RateLimit {
    fn default() -> Self {
        Self { per_second: 200.0, burst: 400 }
    }
}

/// A rate limit under which nothing could ever be sent, or that is no number.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error(
    "{per_second} requests a second with {burst} at once is no limit: the first must be a number above 0 and \
     the second at least 1"
)]
pub struct InvalidRateLimit {
    per_second: f64,
    burst: u32,
}

impl RateLimit {
    fn validate(self) -> Result<Self, InvalidRateLimit> {
        let Self { per_second, burst } = self;
        if per_second.is_finite() && per_second > 0.0 && burst > 0 {
            Ok(self)
        } else {
            Err(InvalidRateLimit { per_second, burst })
        }
    }
}

/// Tokens, one for each request.
pub(super) struct Bucket {
    limit: watch::Sender<RateLimit>,
    /// Locked by who is next. Others wait for the lock, which is given in the order of asking, and
    /// whoever stops waiting takes nothing.
    level: Mutex<Level>,
}

struct Level {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    pub(super) fn new(limit: RateLimit) -> Result<Self, InvalidRateLimit> {
        let limit = limit.validate()?;
        let level = Level { tokens: f64::from(limit.burst), at: Instant::now() };
        Ok(Self { limit: watch::channel(limit).0, level: Mutex::new(level) })
    }

    pub(super) fn limit(&self) -> RateLimit {
        *self.limit.borrow()
    }

    pub(super) fn set(&self, limit: RateLimit) -> Result<(), InvalidRateLimit> {
        self.limit.send_replace(limit.validate()?);
        Ok(())
    }

    /// Waits for a token and takes it.
    pub(super) async fn take(&self) {
        let mut level = self.level.lock().await;
        let mut changes = self.limit.subscribe();
        loop {
            let limit = *changes.borrow_and_update();
            let Some(wait) = level.take(Instant::now(), limit) else { return };
            // A new limit changes how long the wait is.
            let _ = tokio::time::timeout(wait, changes.changed()).await;
        }
    }
}

impl Level {
    /// Takes a token, or says how long until there is one.
    fn take(&mut self, now: Instant, limit: RateLimit) -> Option<Duration> {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * limit.per_second;
        self.tokens = (self.tokens + gained).min(f64::from(limit.burst));
        self.at = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return None;
        }
        let wait = Duration::try_from_secs_f64((1.0 - self.tokens) / limit.per_second);
        // Timers count milliseconds; a shorter wait would spin, a very long one is cut by a new limit.
        Some(wait.unwrap_or(Duration::MAX).clamp(Duration::from_millis(1), Duration::from_hours(1)))
    }
}

/// Has requests wait for their token.
#[derive(Clone)]
pub(super) struct BucketLayer {
    bucket: Arc<Bucket>,
}

impl BucketLayer {
    pub(super) fn new(bucket: Arc<Bucket>) -> Self {
        Self { bucket }
    }
}

impl<S> Layer<S> for BucketLayer {
    type Service = Limited<S>;

    fn layer(&self, inner: S) -> Limited<S> {
        Limited { inner, bucket: Arc::clone(&self.bucket) }
    }
}

#[derive(Clone)]
pub(super) struct Limited<S> {
    inner: S,
    bucket: Arc<Bucket>,
}

impl<S> Service<Request<Body>> for Limited<S>
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
        let (inner, bucket) = (self.inner.clone(), Arc::clone(&self.bucket));
        Box::pin(async move {
            let info = RequestInfo::of_request(&request);
            if info.verb != "watch" && !info.is_about_leases() {
                bucket.take().await;
            }
            inner.oneshot(request).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(per_second: f64, burst: u32) -> Arc<Bucket> {
        Arc::new(Bucket::new(RateLimit { per_second, burst }).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let bucket = bucket(10.0, 5);
        let started = Instant::now();
        for _ in 0..5 {
            bucket.take().await;
        }
        assert_eq!(started.elapsed(), Duration::ZERO);
        for _ in 0..20 {
            bucket.take().await;
        }
        let elapsed = started.elapsed();
        assert!((1.99..2.1).contains(&elapsed.as_secs_f64()), "{elapsed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_fills_it_to_the_burst_and_no_further() {
        let bucket = bucket(10.0, 3);
        tokio::time::advance(Duration::from_mins(1)).await;
        let started = Instant::now();
        for _ in 0..4 {
            bucket.take().await;
        }
        assert!(started.elapsed() >= Duration::from_millis(99));
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_wait_are_served_in_order_and_who_gives_up_takes_nothing() {
        let bucket = bucket(1.0, 1);
        bucket.take().await;
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut waiting = Vec::new();
        for number in 0..5 {
            let (bucket, order) = (Arc::clone(&bucket), Arc::clone(&order));
            waiting.push(tokio::spawn(async move {
                bucket.take().await;
                order.lock().unwrap().push(number);
            }));
            tokio::task::yield_now().await;
        }
        let started = Instant::now();
        waiting[0].abort();
        waiting[2].abort();
        for task in waiting {
            let _ = task.await;
        }
        assert_eq!(*order.lock().unwrap(), [1, 3, 4]);
        assert!(started.elapsed() < Duration::from_millis(3100), "{:?}", started.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_limit_counts_for_those_who_wait_already() {
        let bucket = bucket(0.001, 1);
        bucket.take().await;
        let waiting = tokio::spawn({
            let bucket = Arc::clone(&bucket);
            async move { bucket.take().await }
        });
        tokio::task::yield_now().await;
        let started = Instant::now();
        bucket.set(RateLimit { per_second: 100.0, burst: 10 }).unwrap();
        waiting.await.unwrap();
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
        assert_eq!(bucket.limit().burst, 10);
    }

    #[test]
    fn a_limit_under_which_nothing_could_be_sent_is_refused() {
        for (per_second, burst) in [(0.0, 5), (-1.0, 5), (f64::NAN, 5), (f64::INFINITY, 5), (5.0, 0)] {
            assert!(Bucket::new(RateLimit { per_second, burst }).is_err());
        }
    }
}
