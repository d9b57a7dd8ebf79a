//! The table of settings: what there is, how it is called in the file, the environment and as a flag.

/// A setting.
#[derive(Debug)]
pub(super) struct Setting {
    /// Its place in the file, such as `tls.keyFile`.
    pub(super) key: &'static str,
    /// Its variable, such as `SLIPWAY_TLS_KEY_FILE`.
    pub(super) variable: &'static str,
    /// Its flag without dashes, where it has one.
    pub(super) flag: Option<&'static str>,
    /// How text becomes its value.
    pub(super) kind: Kind,
    /// What it is when nobody says.
    pub(super) default: Unset,
    /// What it is for, in one sentence.
    pub(super) help: &'static str,
}

/// How text, of a variable or a flag, becomes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// As it is.
    Text,
    /// As it is, and never shown.
    Secret,
    /// A whole number.
    Number,
    /// `true` or `false`.
    Switch,
    /// Words with commas between them.
    Words,
    /// JSON; such settings belong into the file.
    Json,
}

/// What a setting is when nobody says.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unset {
    /// Nothing.
    Nothing,
    /// An empty list.
    Empty,
    /// This.
    Value(&'static str),
    /// The usual folder for the data of whoever runs this.
    DataFolder,
}

impl Kind {
    /// What stands for the value in the help.
    pub(super) fn placeholder(self) -> &'static str {
        match self {
            Self::Text => "VALUE",
            Self::Secret => "SECRET",
            Self::Number => "NUMBER",
            Self::Switch => "true|false",
            Self::Words => "VALUE,...",
            Self::Json => "JSON",
        }
    }
}

macro_rules! settings {
    ($($key:literal, $variable:literal, $flag:expr, $kind:ident, $default:expr, $help:literal;)+) => {
        /// All of them.
        pub(super) const SETTINGS: &[Setting] = &[$(Setting {
            key: $key,
            variable: $variable,
            flag: $flag,
            kind: Kind::$kind,
            default: $default,
            help: $help,
        }),+];
    };
}

use Unset::{DataFolder, Empty, Nothing, Value};

settings! {
    "listen", "SLIPWAY_LISTEN", Some("listen"), Text, Value("127.0.0.1:5000"),
        "Listen on this address and port";
    "insecureHttp", "SLIPWAY_INSECURE_HTTP", Some("insecure-http"), Switch, Value("false"),
        "Serve other machines without TLS, because a proxy in front encrypts";
    "publicUrl", "SLIPWAY_PUBLIC_URL", Some("public-url"), Text, Nothing,
        "Where people reach this server, for links in mails [default: by the listen address]";
    "dataDir", "SLIPWAY_DATA_DIR", Some("data-dir"), Text, DataFolder,
        "Keep the server's own files here";
    "database.url", "SLIPWAY_DATABASE_URL", Some("database-url"), Secret, Nothing,
        "Use this PostgreSQL server (postgres://user:password@host/slipway?sslmode=verify-full) [default: one of its own, below the data folder]";
    "database.connections", "SLIPWAY_DATABASE_CONNECTIONS", Some("database-connections"), Number, Value("20"),
        "How many connections to the database there may be";
    "tls.certificateFile", "SLIPWAY_TLS_CERTIFICATE_FILE", Some("tls-certificate-file"), Text, Nothing,
        "The server's certificate chain (PEM); read again when it changes";
    "tls.keyFile", "SLIPWAY_TLS_KEY_FILE", Some("tls-key-file"), Text, Nothing,
        "The key of the certificate (PEM)";
    "trustedProxies", "SLIPWAY_TRUSTED_PROXIES", Some("trusted-proxies"), Words, Empty,
        "Networks of proxies that are believed about whom they ask for, such as 10.0.0.0/8";
    "allowedOrigins", "SLIPWAY_ALLOWED_ORIGINS", Some("allowed-origins"), Words, Empty,
        "Origins whose pages may call this server, such as https://pages.example [default: none]";
    "log.filter", "SLIPWAY_LOG_FILTER", Some("log-filter"), Text, Value("info"),
        "What is logged: a level, or a filter such as slipway_infra=debug,info";
    "log.format", "SLIPWAY_LOG_FORMAT", Some("log-format"), Text, Value("json"),
        "How log lines look: json or pretty";
    "otlp.endpoint", "SLIPWAY_OTLP_ENDPOINT", Some("otlp-endpoint"), Text, Nothing,
        "Send traces to this collector (OTLP over HTTP, such as http://collector:4318)";
    "metrics.tokenFile", "SLIPWAY_METRICS_TOKEN_FILE", Some("metrics-token-file"), Text, Nothing,
        "Give /metrics to whoever has the token in this file [default: to this machine only]";
    "keyFile", "SLIPWAY_KEY_FILE", Some("key-file"), Text, Nothing,
        "The keys that seal credentials; made if it is not there [default: keys, in the data folder]";
    "keyring", "SLIPWAY_KEYRING", None, Secret, Nothing,
        "The keys themselves in place of their file: base64, with commas between them, the newest last";
    "adminPasswordFile", "SLIPWAY_ADMIN_PASSWORD_FILE", Some("admin-password-file"), Text, Nothing,
        "The first admin's password, for an empty database [default: one is made and printed]";
    "mail.host", "SLIPWAY_MAIL_HOST", None, Text, Nothing, "The mail server";
    "mail.port", "SLIPWAY_MAIL_PORT", None, Number, Nothing, "Its port [default: by the encryption]";
    "mail.encryption", "SLIPWAY_MAIL_ENCRYPTION", None, Text, Value("starttls"), "starttls, tls or none";
    "mail.from", "SLIPWAY_MAIL_FROM", None, Text, Nothing, "The sender of mails";
    "mail.user", "SLIPWAY_MAIL_USER", None, Text, Nothing, "The user at the mail server";
    "mail.passwordFile", "SLIPWAY_MAIL_PASSWORD_FILE", None, Text, Nothing, "The user's password";
    "mail.caFile", "SLIPWAY_MAIL_CA_FILE", None, Text, Nothing,
        "Authorities that the mail server is trusted by, beside the machine's (PEM)";
    "mail.alertAddresses", "SLIPWAY_MAIL_ALERT_ADDRESSES", None, Words, Empty,
        "Addresses that get every alert, beside the people it concerns";
    "webhooks", "SLIPWAY_WEBHOOKS", None, Json, Empty,
        "Receivers of signed requests: name, url, secretFile, kinds, caFile, allowPlainHttp";
    "oidc", "SLIPWAY_OIDC", None, Json, Empty,
        "Issuers that people may log in with: name, title, issuer, clientId, clientSecretFile, scopes, groupsClaim, usernameClaim, groups, defaultRole, caFile";
    "clusters.allowLoopback", "SLIPWAY_CLUSTERS_ALLOW_LOOPBACK", Some("clusters-allow-loopback"), Switch, Value("false"),
        "Accept clusters whose API server is on this machine itself";
    "clusters.proxies", "SLIPWAY_CLUSTERS_PROXIES", None, Words, Empty,
        "Proxies that a kubeconfig may name";
    "helm.program", "SLIPWAY_HELM_PROGRAM", None, Text, Nothing,
        "The helm program [default: found on the machine]";
    "clusterHealthEvery", "SLIPWAY_CLUSTER_HEALTH_EVERY", None, Text, Value("PT1M"),
        "How often a cluster is looked at (ISO 8601)";
    "operatorHealthEvery", "SLIPWAY_OPERATOR_HEALTH_EVERY", None, Text, Value("PT30S"),
        "How often an operator on a cluster is looked at";
    "deployments.mostActive", "SLIPWAY_DEPLOYMENTS_MOST_ACTIVE", None, Number, Value("20"),
        "How many deployments may be under way at once, over all servers";
    "deployments.stepsAtOnce", "SLIPWAY_DEPLOYMENTS_STEPS_AT_ONCE", None, Number, Value("16"),
        "How many clusters this server changes at once";
    "deployments.operatorsRollBack", "SLIPWAY_DEPLOYMENTS_OPERATORS_ROLL_BACK", None, Switch, Value("false"),
        "Whether the role Operator may roll back, beside Admin";
    "auditRetention", "SLIPWAY_AUDIT_RETENTION", None, Text, Nothing,
        "How long the audit is kept, such as P365D [default: for good]";
    "shutdownGrace", "SLIPWAY_SHUTDOWN_GRACE", Some("shutdown-grace"), Text, Value("PT20S"),
        "How long requests and work may take to end when the server stops";
}

impl Setting {
    /// The one with this key.
    pub(super) fn named(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_follows_from_the_key() {
        for setting in SETTINGS {
            let mut words = String::from("SLIPWAY_");
            for letter in setting.key.chars() {
                match letter {
                    '.' => words.push('_'),
                    upper if upper.is_ascii_uppercase() => words.extend(['_', upper]),
                    lower => words.push(lower.to_ascii_uppercase()),
                }
            }
            assert_eq!(setting.variable, words);
            if let Some(flag) = setting.flag {
                assert_eq!(flag, words.trim_start_matches("SLIPWAY_").replace('_', "-").to_lowercase());
            }
        }
    }
}
