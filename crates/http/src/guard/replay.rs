//! `Idempotency-Key`: the same request again changes nothing again, and gets the first one's reply.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG, LOCATION};
use http::{HeaderName, HeaderValue, StatusCode};
use sha2::{Digest, Sha256};
use slipway_contract::Endpoint;
use slipway_domain::problem::Problems;
use slipway_orchestrator::Code;
use slipway_orchestrator::ports::Replies;
use slipway_orchestrator::ports::limits::{KeptReply, Keyed, Taken};
use uuid::Uuid;

use crate::error::ApiError;

/// The header with the key.
const KEY: &str = "idempotency-key";
/// The header that says that a reply is the first one's.
const REPLAYED: &str = "idempotency-replayed";
/// The headers that belong to a reply, whoever gives it.
const KEPT: [HeaderName; 3] = [CONTENT_TYPE, ETAG, LOCATION];
/// Replies are small; one that is not is not kept.
const LARGEST: usize = 1024 * 1024;
/// How long a second request waits for the reply of the first.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(150);

/// The request as one that is answered once, if its endpoint does that and its caller wants it.
pub(super) fn keyed(
    endpoint: &Endpoint,
    subject: &str,
    request: &Request,
    body: &Bytes,
) -> Result<Option<Keyed>, ApiError> {
    if !endpoint.replays() {
        return Ok(None);
    }
    let Some(key) = request.headers().get(KEY) else { return Ok(None) };
    let key = key.to_str().unwrap_or_default();
    if key.is_empty() || key.len() > 255 || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        let problem = "has to be 1 to 255 letters, digits or signs without spaces, such as a UUID";
        return Err(Problems::one("Idempotency-Key", problem).into());
    }
    let place = request.uri().path_and_query().map(http::uri::PathAndQuery::as_str).unwrap_or_default();
    let digest = Sha256::new()
        .chain_update(endpoint.name)
        .chain_update([0])
        .chain_update(place)
        .chain_update([0])
        .chain_update(body)
        .finalize();
    Ok(Some(Keyed {
        subject: subject.to_owned(),
        key: key.to_owned(),
        digest: digest.into(),
        holder: Uuid::new_v4(),
    }))
}

/// Answers a request that was not answered yet; gives the reply of one that was.
pub(super) async fn once(
    replies: &dyn Replies,
    request: Keyed,
    answer: impl Future<Output = Response> + Send,
) -> Result<Response, ApiError> {
    let started = tokio::time::Instant::now();
    loop {
        match replies.take(&request).await? {
            Taken::Fresh => break,
            Taken::Answered(reply) => return Ok(again(reply)),
            Taken::UnderWay if started.elapsed() < PATIENCE => tokio::time::sleep(LOOK).await,
            Taken::UnderWay => {
                return Err(ApiError::new(
                    Code::Conflict,
                    "a request with this Idempotency-Key is still being answered; try again in a moment",
                ));
            }
            Taken::Other => {
                return Err(ApiError::new(
                    Code::Conflict,
                    "this Idempotency-Key was used for another request; a new request needs a new key",
                ));
            }
        }
    }
    let reply = answer.await;
    if !reply.status().is_success() {
        // Nothing was done, so there is nothing to repeat: the mended request may have the same key.
        replies.give_back(&request).await?;
        return Ok(reply);
    }
    let (parts, body) = reply.into_parts();
    let Ok(body) = axum::body::to_bytes(body, LARGEST).await else {
        return Err(ApiError::new(Code::InternalError, "the reply is larger than what is kept"));
    };
    let headers = KEPT.iter().filter_map(|name| {
        let value = parts.headers.get(name)?.to_str().ok()?;
        Some((name.as_str().to_owned(), value.to_owned()))
    });
    let kept = KeptReply { status: parts.status.as_u16(), headers: headers.collect(), body: body.to_vec() };
    if let Err(error) = replies.keep(&request, &kept).await {
        // It was done, and the caller is told so. Another attempt will be, too, once the key is free again.
        tracing::warn!(error = &error as &dyn std::error::Error, "a reply could not be kept for its key");
    }
    Ok(Response::from_parts(parts, Body::from(body)))
}

fn again(kept: KeptReply) -> Response {
    let mut reply = Response::new(Body::from(kept.body));
    *reply.status_mut() = StatusCode::from_u16(kept.status).unwrap_or(StatusCode::OK);
    for (name, value) in kept.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) {
            reply.headers_mut().insert(name, value);
        }
    }
    reply.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    reply
}
