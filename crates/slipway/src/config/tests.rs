use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;

use super::*;

fn load(
    file: Option<&str>,
    variables: &[(&str, &str)],
    flags: &[(&str, &str)],
) -> Result<Config, ConfigError> {
    let mut written = tempfile::NamedTempFile::new().unwrap();
    written.write_all(file.unwrap_or_default().as_bytes()).unwrap();
    let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let path: Option<&Path> = file.map(|_| written.path());
    let mut values = layers::read(path, variables, &Flags::of(flags))?;
    let named = written.path().display().to_string();
    Config::read(&mut values).map_err(|error| {
        ConfigError(error.0.iter().map(|problem| problem.replace(&named, "slipway.yaml")).collect())
    })
}

#[test]
fn with_nothing_set_it_serves_this_machine() {
    let config = load(None, &[], &[]).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:5000");
    assert_eq!(config.public_url.as_str(), "http://localhost:5000/");
    assert!(config.database_url.is_none() && config.tls.is_none() && config.mail.is_none());
    assert_eq!(config.cluster_health_every, Duration::from_mins(1));
    assert_eq!(config.key_file, config.data_dir.join("keys"));
}

#[test]
fn a_flag_wins_over_a_variable_and_that_over_the_file() {
    let file = "listen: 127.0.0.1:1\nlog: {filter: warn}\ndatabase:\n  connections: 7\n";
    let variables = [("SLIPWAY_LISTEN", "127.0.0.1:2"), ("SLIPWAY_LOG_FILTER", "debug"), ("PATH", "/bin")];
    let config = load(Some(file), &variables, &[("listen", "127.0.0.1:3")]).unwrap();
    assert_eq!(config.listen.port(), 3);
    assert_eq!(config.log_filter, "debug");
    assert_eq!(config.database_connections, 7);
}

#[test]
fn every_problem_is_said_with_where_it_came_from() {
    let file = "lisen: 127.0.0.1:1\nlog: {colour: red}\nshutdownGrace: 20s\nmail: {host: mail.example}\n";
    let variables = [("SLIPWAY_DATABASE_CONNECTIONS", "many"), ("SLIPWAY_LISTENN", "x")];
    let error = load(Some(file), &variables, &[("listen", "here")]).unwrap_err();
    insta::assert_snapshot!(error, @r#"
    the settings cannot be used, for 7 reasons:
      lisen (slipway.yaml) is no setting; is listen meant?
      log.colour (slipway.yaml) is no setting; all settings: slipway config check
      database.connections (SLIPWAY_DATABASE_CONNECTIONS) is not a whole number
      SLIPWAY_LISTENN is no setting; is SLIPWAY_LISTEN meant?
      listen (--listen) cannot be used: invalid socket address syntax
      mail.from is missing: mails need a sender, such as slipway@example.com
      shutdownGrace (slipway.yaml) cannot be used: "20s" is not a duration such as PT30S, PT5M, PT1H or P30D
    "#);
}

#[test]
fn what_others_can_reach_is_encrypted_or_asked_for() {
    let error = load(None, &[("SLIPWAY_LISTEN", "0.0.0.0:5000")], &[]).unwrap_err();
    assert!(error.to_string().contains("listen (SLIPWAY_LISTEN) is reached from other machines"), "{error}");
    assert!(load(None, &[("SLIPWAY_LISTEN", "0.0.0.0:5000")], &[("insecureHttp", "true")]).is_ok());
    let tls = [("tls.certificateFile", "/c.pem"), ("tls.keyFile", "/k.pem"), ("listen", "[::]:5001")];
    let config = load(None, &[], &tls).unwrap();
    assert_eq!(config.public_url.as_str(), "https://localhost:5001/");
    let half = load(None, &[], &tls[..1]).unwrap_err();
    assert!(half.to_string().ends_with("tls.keyFile is missing: a certificate needs its key"), "{half}");
}

#[test]
fn lists_are_in_the_file() {
    let file = "
webhooks:
- {name: chat, url: https://chat.example/hook, secretFile: /run/chat}
oidc:
- name: work
  issuer: https://id.example
  clientId: slipway
  groups:
  - {group: platform, role: Admin}
trustedProxies: [10.0.0.0/8]
";
    let config = load(Some(file), &[], &[]).unwrap();
    assert_eq!(config.webhooks[0].name, "chat");
    assert_eq!(config.oidc[0].groups[0].group, "platform");
    assert_eq!(config.trusted_proxies, ["10.0.0.0/8".parse().unwrap()]);
    let words = load(None, &[("SLIPWAY_TRUSTED_PROXIES", "10.0.0.0/8, ::1/128")], &[]).unwrap();
    assert_eq!(words.trusted_proxies.len(), 2);
    let wrong = load(None, &[("SLIPWAY_TRUSTED_PROXIES", "proxy.example")], &[]).unwrap_err();
    assert!(wrong.to_string().contains("trustedProxies (SLIPWAY_TRUSTED_PROXIES) cannot be used"), "{wrong}");
    let pages =
        load(None, &[("SLIPWAY_ALLOWED_ORIGINS", "https://pages.example, http://localhost:8080")], &[]);
    assert_eq!(pages.unwrap().allowed_origins, ["https://pages.example", "http://localhost:8080"]);
    for bad in ["*", "https://pages.example/", "pages.example", "null"] {
        let wrong = load(None, &[("SLIPWAY_ALLOWED_ORIGINS", bad)], &[]).unwrap_err().to_string();
        assert!(wrong.contains("is no origin, such as https://pages.example"), "{bad}: {wrong}");
    }
    let strange = load(Some("webhooks: [{name: a, url: 'https://a', secretFile: /a, color: red}]"), &[], &[]);
    assert!(strange.unwrap_err().to_string().contains("unknown field `color`"));
    let doubled = "webhooks: [{name: a, url: 'https://a', secretFile: /a}, {name: a, url: 'https://b', secretFile: /b}]";
    assert!(
        load(Some(doubled), &[], &[])
            .unwrap_err()
            .to_string()
            .contains("webhooks (slipway.yaml) has a twice")
    );
}

#[test]
fn a_secret_is_never_shown() {
    let url = "postgres://ada:s3cret@db/slipway";
    let flags = Flags::of(&[("database.url", url)]);
    let mut values = layers::read(None, [], &flags).unwrap();
    let shown: Vec<_> = values.shown().collect();
    let row = shown.iter().find(|(setting, ..)| setting.key == "database.url").unwrap();
    assert_eq!((row.1.as_str(), row.2.to_string().as_str()), ("(hidden)", "--database-url"));
    let config = Config::read(&mut values).unwrap();
    assert!(!format!("{config:?}").contains("s3cret"));
    assert_eq!(config.database_url.unwrap().reveal(), url);

    let variables = [("SLIPWAY_KEYRING".into(), "a2V5,s3cret".into())];
    let mut values = layers::read(None, variables, &Flags::of(&[])).unwrap();
    let shown: Vec<_> = values.shown().collect();
    let row = shown.iter().find(|(setting, ..)| setting.key == "keyring").unwrap();
    assert_eq!((row.1.as_str(), row.2.to_string().as_str()), ("(hidden)", "SLIPWAY_KEYRING"));
    let config = Config::read(&mut values).unwrap();
    assert!(!format!("{config:?}").contains("s3cret"));
    assert_eq!(config.keyring.unwrap().reveal(), "a2V5,s3cret");
}
