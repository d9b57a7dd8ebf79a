//! The admission webhooks of a release: what each answers to a dry run, and what its certificate is.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use slipway_domain::health::{WebhookAnswer, WebhookSeen};
use slipway_orchestrator::ports::probes::Target;

use super::call::{Call, Fault, base, quoted};
use super::definition::Definition;
use super::handshake::{self, Behind};
use super::hook::{self, Endpoint, Hook};
use super::matching::{Candidate, Operation, Resource, applies, labels, looks_at};
use super::release::Subject;
use super::{authority, dry_run};

/// So many objects are read to find one that a webhook looks at.
const TRIED: u32 = 20;

/// Nobody but their owners needs to read these, not even to ask a webhook.
const PRIVATE: &[&str] = &["secrets"];

/// Looks at the webhooks of a release.
pub(super) async fn look(
    call: &Call,
    subject: &Subject,
    target: &Target,
    definitions: &[Definition],
) -> Result<Vec<WebhookSeen>, Fault> {
    let hooks = hook::read(call, subject).await?;
    let mut finder = Finder {
        call,
        definitions,
        sample: target.rules.sample.as_ref(),
        home: subject.namespaces.iter().next().cloned(),
        lists: HashMap::new(),
        namespaces: HashMap::new(),
    };
    let mut answers: Vec<Option<(WebhookAnswer, Option<Duration>)>> = vec![None; hooks.len()];
    for index in 0..hooks.len() {
        if answers[index].is_some() {
            continue;
        }
        let hook = &hooks[index];
        let not_asked = |why: String| Some((WebhookAnswer::NotAsked { why }, None));
        if !hook.harmless {
            answers[index] = not_asked("it has side effects".to_owned());
            continue;
        }
        if !hook.fails_closed {
            let why = "requests pass without it when it does not answer, so the API server does not say";
            answers[index] = not_asked(why.to_owned());
            continue;
        }
        let (candidate, operation) = match finder.find(hook).await {
            Ok(found) => found,
            Err(why) => {
                answers[index] = not_asked(why);
                continue;
            }
        };
        let outcome = dry_run::ask(call, &candidate, operation).await;
        // One question is put to all who look at the object.
        for (answer, other) in answers.iter_mut().zip(&hooks).skip(index) {
            let asked = other.harmless && other.fails_closed && looks_at(other, &candidate, operation);
            if answer.is_none() && asked {
                *answer = outcome.about(other).map(|said| {
                    let latency = (said == WebhookAnswer::Answered).then_some(outcome.latency).flatten();
                    (said, latency)
                });
            }
        }
        if answers[index].is_none() {
            answers[index] = not_asked(outcome.why_not());
        }
    }
    let behind = behind(call, &hooks).await;
    let seen = hooks.into_iter().zip(answers).map(|(hook, answer)| {
        let (mut answer, mut latency) =
            answer.unwrap_or((WebhookAnswer::NotAsked { why: "nothing was asked".to_owned() }, None));
        let behind = behind.get(&key(&hook)).cloned().unwrap_or_default();
        if let (WebhookAnswer::Answered, Some(message)) = (&answer, behind.broken) {
            // It answered over a connection that nobody could make any more.
            (answer, latency) = (WebhookAnswer::Failed { message }, None);
        }
        let certificate = behind.certificate.or_else(|| authority::longest(&hook.authorities));
        WebhookSeen {
            configuration: hook.configuration,
            name: hook.name,
            kind: hook.registration.into(),
            endpoint: hook.endpoint.to_string(),
            fails_closed: hook.fails_closed,
            answer,
            latency,
            certificate,
        }
    });
    Ok(seen.collect())
}

/// What tells apart what is called, and how it is believed.
type Key = (String, Vec<u8>);

fn key(hook: &Hook) -> Key {
    let place = match &hook.endpoint {
        Endpoint::Service { namespace, name, port, .. } => format!("{namespace}/{name}:{port}"),
        Endpoint::Url(url) => url.clone(),
    };
    (place, hook.authorities.clone())
}

/// What is behind the Services of webhooks.
async fn behind(call: &Call, hooks: &[Hook]) -> BTreeMap<Key, Behind> {
    let mut services: BTreeMap<Key, (&str, &str, i32)> = BTreeMap::new();
    for hook in hooks {
        if let Endpoint::Service { namespace, name, port, .. } = &hook.endpoint {
            services.insert(key(hook), (namespace, name, *port));
        }
    }
    let looks = services.into_iter().map(|(key, (namespace, name, port))| async move {
        (handshake::behind(call, namespace, name, port, &key.1).await, key)
    });
    futures::future::join_all(looks).await.into_iter().map(|(behind, key)| (key, behind)).collect()
}

/// Finds objects that webhooks look at.
struct Finder<'a> {
    call: &'a Call,
    definitions: &'a [Definition],
    sample: Option<&'a Value>,
    /// Where the release is installed; a sample goes there.
    home: Option<String>,
    lists: HashMap<String, Result<Vec<Value>, Fault>>,
    namespaces: HashMap<String, BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct List {
    api_version: Option<String>,
    kind: Option<String>,
    items: Vec<Value>,
}

impl Finder<'_> {
    async fn find(&mut self, hook: &Hook) -> Result<(Candidate, Operation), String> {
        let mut why = "there is no object that it looks at".to_owned();
        for resource in self.resources(hook) {
            match self.existing(hook, &resource).await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                Err(fault) if fault.is_absence() => {}
                Err(fault) => why = fault.to_string(),
            }
        }
        match self.sample(hook).await {
            Some(found) => Ok(found),
            None => Err(why),
        }
    }

    /// The kinds that a webhook's rules name, at a version that can be read.
    fn resources(&self, hook: &Hook) -> Vec<Resource> {
        let mut found = Vec::new();
        for rule in &hook.rules {
            let versions: Vec<&String> = rule.api_versions.iter().flatten().collect();
            for group in rule.api_groups.iter().flatten() {
                for plural in rule.resources.iter().flatten().filter(|plural| !plural.contains('/')) {
                    let own = self.definitions.iter().filter(|definition| {
                        (group == "*" || *group == definition.group)
                            && (plural == "*" || *plural == definition.plural)
                    });
                    let mut known = false;
                    for definition in own {
                        known = true;
                        let served = |version: &&&String| {
                            definition.storage == ***version || definition.others.contains(**version)
                        };
                        let version = versions.iter().find(served).map(|version| (**version).clone());
                        found.push(Resource {
                            group: definition.group.clone(),
                            version: version.unwrap_or_else(|| definition.storage.clone()),
                            plural: definition.plural.clone(),
                        });
                    }
                    if known || group == "*" || plural == "*" || PRIVATE.contains(&plural.as_str()) {
                        continue;
                    }
                    let version = versions.iter().find(|version| **version != "*");
                    found.push(Resource {
                        group: group.clone(),
                        version: version.map_or_else(|| "v1".to_owned(), |version| (*version).clone()),
                        plural: plural.clone(),
                    });
                }
            }
        }
        found
    }

    async fn existing(
        &mut self,
        hook: &Hook,
        resource: &Resource,
    ) -> Result<Option<(Candidate, Operation)>, Fault> {
        let mut path =
            format!("{}/{}?limit={TRIED}", base(&resource.group, &resource.version), resource.plural);
        let wanted = hook.objects.match_labels.iter().flatten();
        let wanted: Vec<String> = wanted.map(|(key, value)| format!("{key}={value}")).collect();
        if !wanted.is_empty() {
            let _ = write!(path, "&labelSelector={}", quoted(&wanted.join(",")));
        }
        let objects = if let Some(known) = self.lists.get(&path) {
            known.clone()?
        } else {
            let read = self.call.get::<List>(&path).await.map(List::objects);
            self.lists.insert(path, read.clone());
            read?
        };
        for object in objects {
            let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).map(str::to_owned);
            let namespace_labels = match &namespace {
                Some(namespace) => self.labels_of(namespace).await?,
                None => BTreeMap::new(),
            };
            let leaving = object.pointer("/metadata/deletionTimestamp").is_some();
            let candidate = Candidate { resource: resource.clone(), namespace, namespace_labels, object };
            // An update of what is there is the gentler question.
            for operation in [Operation::Update, Operation::Create] {
                if looks_at(hook, &candidate, operation) && !(leaving && operation == Operation::Update) {
                    return Ok(Some((candidate, operation)));
                }
            }
        }
        Ok(None)
    }

    async fn sample(&mut self, hook: &Hook) -> Option<(Candidate, Operation)> {
        let object = self.sample?;
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let (group, version) = text("/apiVersion")?.rsplit_once('/').unwrap_or(("", text("/apiVersion")?));
        let kind = text("/kind")?;
        let definition = self.definitions.iter().find(|known| known.group == group && known.kind == kind)?;
        let resource = Resource {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: definition.plural.clone(),
        };
        let creates =
            hook.rules.iter().any(|rule| applies(rule, &resource, Operation::Create, definition.namespaced));
        if !creates {
            return None;
        }
        let namespace = if definition.namespaced {
            Some(text("/metadata/namespace").map(str::to_owned).or_else(|| self.home.clone())?)
        } else {
            None
        };
        let namespace_labels = match &namespace {
            Some(namespace) => self.labels_of(namespace).await.ok()?,
            None => BTreeMap::new(),
        };
        let candidate = Candidate { resource, namespace, namespace_labels, object: object.clone() };
        looks_at(hook, &candidate, Operation::Create).then_some((candidate, Operation::Create))
    }

    async fn labels_of(&mut self, namespace: &str) -> Result<BTreeMap<String, String>, Fault> {
        if let Some(known) = self.namespaces.get(namespace) {
            return Ok(known.clone());
        }
        let found = labels(&self.call.get::<Value>(&format!("/api/v1/namespaces/{namespace}")).await?);
        self.namespaces.insert(namespace.to_owned(), found.clone());
        Ok(found)
    }
}

impl List {
    /// Its objects, each with its kind: lists of built-in kinds leave it out.
    fn objects(self) -> Vec<Value> {
        let kind = self.kind.as_deref().and_then(|kind| kind.strip_suffix("List")).map(str::to_owned);
        let mut items = self.items;
        for item in &mut items {
            if let Some(item) = item.as_object_mut() {
                for (key, value) in [("apiVersion", &self.api_version), ("kind", &kind)] {
                    if let Some(value) = value {
                        item.entry(key).or_insert_with(|| Value::String(value.clone()));
                    }
                }
            }
        }
        items
    }
}
