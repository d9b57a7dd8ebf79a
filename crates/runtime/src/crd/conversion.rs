//! How objects go from one version to another.

use k8s_openapi::ByteString;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, ServiceReference, WebhookClientConfig, WebhookConversion,
};

/// How objects go from one version to another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Conversion {
    /// The API server changes `apiVersion` and nothing else: the versions have the same fields.
    #[default]
    None,
    /// A webhook converts.
    Webhook(WebhookClient),
}

/// Where a webhook is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookClient {
    place: Place,
    ca_bundle: Option<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Service { namespace: String, name: String, path: String, port: u16 },
    Url(String),
}

impl WebhookClient {
    /// A Service of the cluster, on port 443.
    pub fn service(namespace: &str, name: &str, path: &str) -> WebhookClient {
        let place = Place::Service {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            path: path.to_owned(),
            port: 443,
        };
        WebhookClient { place, ca_bundle: None }
    }

    /// An address that the API server reaches without the cluster's network; a test, mostly.
    pub fn url(url: &str) -> WebhookClient {
        WebhookClient { place: Place::Url(url.to_owned()), ca_bundle: None }
    }

    /// The port of the Service, where it is not 443.
    #[must_use]
    pub fn port(mut self, number: u16) -> WebhookClient {
        if let Place::Service { port, .. } = &mut self.place {
            *port = number;
        }
        self
    }

    /// Certificates, as PEM, that the webhook's is checked against.
    ///
    /// Left out, whoever rotates the certificates keeps them in the cluster: installing never touches what
    /// is there.
    #[must_use]
    pub fn ca_bundle(mut self, pem: impl Into<Vec<u8>>) -> WebhookClient {
        self.ca_bundle = Some(pem.into());
        self
    }
}

impl Conversion {
    /// As it stands in a definition.
    pub fn to_spec(&self) -> CustomResourceConversion {
        match self {
            Conversion::None => CustomResourceConversion { strategy: "None".to_owned(), webhook: None },
            Conversion::Webhook(client) => CustomResourceConversion {
                strategy: "Webhook".to_owned(),
                webhook: Some(WebhookConversion {
                    client_config: Some(client.to_spec()),
                    conversion_review_versions: vec!["v1".to_owned()],
                }),
            },
        }
    }
}

impl WebhookClient {
    fn to_spec(&self) -> WebhookClientConfig {
        let ca_bundle = self.ca_bundle.clone().map(ByteString);
        match &self.place {
            Place::Service { namespace, name, path, port } => WebhookClientConfig {
                ca_bundle,
                service: Some(ServiceReference {
                    namespace: namespace.clone(),
                    name: name.clone(),
                    path: Some(path.clone()),
                    port: Some(i32::from(*port)),
                }),
                url: None,
            },
            Place::Url(url) => WebhookClientConfig { ca_bundle, service: None, url: Some(url.clone()) },
        }
    }
}
