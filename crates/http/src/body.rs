//! Reading what is sent, with errors that name the place.

use axum::extract::{FromRequest, FromRequestParts, Request};
use http::request::Parts;
use serde::de::DeserializeOwned;
use slipway_domain::problem::Problems;
use slipway_orchestrator::{Code, Error};

use crate::error::ApiError;

/// A JSON body. The guard has read it, within the limit of its endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let bytes = axum::body::to_bytes(request.into_body(), usize::MAX).await.map_err(|error| {
            Error::invalid(Problems::one("", format!("the body cannot be read: {error}")))
        })?;
        if bytes.is_empty() {
            return Err(Problems::one("", "the body is empty; it has to be JSON").into());
        }
        let mut reader = serde_json::Deserializer::from_slice(&bytes);
        let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            let path = if path == "." { String::new() } else { path };
            Error::invalid(Problems::one(path, format!("is not as expected: {}", error.inner())))
        })?;
        reader.end().map_err(|error| {
            Error::invalid(Problems::one("", format!("the body goes on after its end: {error}")))
        })?;
        Ok(Self(value))
    }
}

/// Query parameters.
#[derive(Debug, Clone, Copy)]
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let value = axum::extract::Query::<T>::from_request_parts(parts, state).await.map_err(|error| {
            // The innermost cause names the parameter; those around it say only that reading failed.
            let mut cause: &dyn std::error::Error = &error;
            while let Some(inner) = cause.source() {
                cause = inner;
            }
            Error::invalid(Problems::one("", format!("the query cannot be read: {cause}")))
        })?;
        Ok(Self(value.0))
    }
}

/// The parameters of the path.
#[derive(Debug, Clone, Copy)]
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    /// What cannot be read, such as an id that is none, names nothing that exists.
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let place = parts.uri.path().to_owned();
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            Ok(value) => Ok(Self(value.0)),
            Err(_) => Err(ApiError::new(Code::NotFound, format!("there is nothing at {place}"))),
        }
    }
}
