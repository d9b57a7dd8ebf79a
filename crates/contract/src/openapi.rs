//! The OpenAPI 3.1 document, made from the table: nothing is described twice.

mod operation;
mod reply;

use std::collections::{BTreeMap, BTreeSet};

use utoipa::ToSchema;
use utoipa::openapi::path::{HttpMethod, PathItem, PathsBuilder};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    ComponentsBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, RefOr, Schema,
};

use crate::error::ErrorReply;
use crate::{BASE, Method, endpoints};

/// How the security scheme is called in the document.
pub const SCHEME: &str = "bearer";

const ABOUT: &str = "Roll Kubernetes operators out across a fleet of clusters, safely.\n\n\
Log in with POST /api/v1/authentication/login and send the token with every request. Errors have one shape; \
`traceId` finds a request in the server's logs. Lists are given in parts: `limit` and `offset` ask, `hasMore` and \
`nextOffset` answer. A POST with an `Idempotency-Key` can be repeated without harm for 24 hours.";

/// The document.
pub fn openapi() -> OpenApi {
    let mut schemas: BTreeMap<String, RefOr<Schema>> = BTreeMap::new();
    let mut paths: BTreeMap<String, PathItem> = BTreeMap::new();
    let mut tags: BTreeSet<&'static str> = BTreeSet::new();
    let mut errors = Vec::new();
    ErrorReply::schemas(&mut errors);
    schemas.extend(errors);
    schemas.insert(ErrorReply::name().into_owned(), <ErrorReply as utoipa::PartialSchema>::schema());
    for endpoint in endpoints() {
        for shape in endpoint.request.iter().chain(&endpoint.reply) {
            let mut parts = Vec::new();
            (shape.parts)(&mut parts);
            schemas.extend(parts);
            schemas.insert((shape.name)().into_owned(), (shape.schema)());
        }
        let verb = match endpoint.method {
            Method::Get => HttpMethod::Get,
            Method::Post => HttpMethod::Post,
            Method::Put => HttpMethod::Put,
            Method::Patch => HttpMethod::Patch,
            Method::Delete => HttpMethod::Delete,
        };
        tags.insert(operation::tag(endpoint));
        let item = PathItem::new(verb, operation::of(endpoint));
        match paths.entry(format!("{BASE}{}", endpoint.path)) {
            std::collections::btree_map::Entry::Vacant(entry) => drop(entry.insert(item)),
            std::collections::btree_map::Entry::Occupied(mut entry) => entry.get_mut().merge_operations(item),
        }
    }
    let paths = paths.into_iter().fold(PathsBuilder::new(), |all, (path, item)| all.path(path, item));
    let components = schemas
        .into_iter()
        .fold(ComponentsBuilder::new(), |all, (name, schema)| all.schema(name, schema))
        .security_scheme(
            SCHEME,
            SecurityScheme::Http(
                HttpBuilder::new()
                    .scheme(HttpAuthScheme::Bearer)
                    .bearer_format("JWT")
                    .description(Some("The token of a login, or of a machine"))
                    .build(),
            ),
        );
    OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("Slipway")
                .version(env!("CARGO_PKG_VERSION"))
                .description(Some(ABOUT))
                .license(Some(
                    LicenseBuilder::new().name("Apache-2.0").identifier(Some("Apache-2.0")).build(),
                ))
                .build(),
        )
        .tags(Some(tags.into_iter().map(|tag| TagBuilder::new().name(tag).build())))
        .paths(paths)
        .components(Some(components.build()))
        .build()
}

/// The document as it is committed and served.
pub fn openapi_json() -> String {
    // It is made of texts and numbers; writing it cannot fail.
    openapi().to_pretty_json().unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    fn document() -> Value {
        serde_json::from_str(&openapi_json()).unwrap()
    }

    #[test]
    fn every_row_is_one_operation_and_nothing_else_is() {
        let document = document();
        let mut found = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let id = operation["operationId"].as_str().unwrap();
                assert!(found.insert(id.to_owned()), "{id} is there twice");
                let row = endpoints().find(|endpoint| endpoint.name == id).unwrap();
                assert_eq!(format!("{BASE}{}", row.path), *path);
                assert_eq!(row.method.as_str(), method.to_uppercase());
            }
        }
        assert_eq!(found.len(), endpoints().count(), "two rows share a path and a verb");
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn walk<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
            match value {
                Value::Object(fields) => {
                    if let Some(Value::String(target)) = fields.get("$ref") {
                        found.insert(target);
                    }
                    fields.values().for_each(|value| walk(value, found));
                }
                Value::Array(items) => items.iter().for_each(|value| walk(value, found)),
                _ => {}
            }
        }
        let document = document();
        let mut references = BTreeSet::new();
        walk(&document, &mut references);
        assert!(references.contains("#/components/schemas/ErrorReply"));
        for reference in references {
            let target = document.pointer(reference.trim_start_matches('#'));
            assert!(target.is_some(), "{reference} leads nowhere");
        }
    }

    #[test]
    fn one_name_is_one_type() {
        let mut seen: BTreeMap<String, Value> = BTreeMap::new();
        for row in endpoints() {
            for shape in row.request.iter().chain(&row.reply) {
                let mut parts = vec![((shape.name)().into_owned(), (shape.schema)())];
                (shape.parts)(&mut parts);
                for (name, schema) in parts {
                    let schema = serde_json::to_value(schema).unwrap();
                    let before = seen.entry(name.clone()).or_insert_with(|| schema.clone());
                    assert_eq!(*before, schema, "{name} is the name of two types");
                }
            }
        }
    }

    #[test]
    fn rows_make_sense() {
        let mut names = BTreeSet::new();
        for row in endpoints() {
            assert!(names.insert(row.name), "{} is the name of two rows", row.name);
            assert!(!row.summary.is_empty(), "{} says nothing about itself", row.name);
            assert!(row.path.starts_with('/') && !row.path.ends_with('/'), "{}", row.path);
            assert_eq!(row.path.matches('{').count(), row.path.matches('}').count(), "{}", row.path);
            let parameters = operation::parameters(row.path);
            let unique: BTreeSet<_> = parameters.iter().collect();
            assert_eq!(unique.len(), parameters.len(), "{} has a parameter twice", row.path);
            let empty = row.success == 204 || (300..400).contains(&row.success);
            assert_eq!(empty, row.reply.is_none(), "{} has no body and no 204, or both", row.name);
            let reads = row.method == Method::Get;
            assert!(!(reads && row.request.is_some()), "{} reads, and takes a body", row.name);
            assert!(row.request.is_none() || row.body_limit > 0, "{} takes a body of no size", row.name);
        }
    }
}
