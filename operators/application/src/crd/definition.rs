//! The definition that an API server is given.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use slipway_runtime::crd::{BuildError, Conversion, MultiVersion};

use super::{MANAGED_BY, MANAGER, v1, v1beta1};

/// Where the operator's webhook server converts between versions.
pub const CONVERSION_PATH: &str = "/convert";

/// The definition of Applications, converted between their versions as told.
pub fn definition(conversion: Conversion) -> Result<CustomResourceDefinition, BuildError> {
    MultiVersion::stored::<v1::Application>()
        .served::<v1beta1::Application>()
        .conversion(conversion)
        .label(MANAGED_BY, MANAGER)
        .absent_not_null()
        .build()
}
