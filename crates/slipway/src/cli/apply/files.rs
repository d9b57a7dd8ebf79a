//! The documents in files, and where each stands, so that a problem can be found there.

use anyhow::{anyhow, bail};
use serde_json::Value;
use slipway_client::ClientError;

use crate::crd::texts;

/// Documents and their places.
#[derive(Debug)]
pub(super) struct Files {
    documents: Vec<Placed>,
}

#[derive(Debug)]
struct Placed {
    /// The file and the line that it begins in.
    place: String,
    value: Value,
}

impl Files {
    /// Reads all documents of files and directories.
    pub(super) fn read(named: &[String]) -> anyhow::Result<Self> {
        if named.iter().filter(|name| *name == "-").count() > 1 {
            bail!("standard input can be read once");
        }
        let mut documents = Vec::new();
        for name in named {
            for (file, text) in texts(name)? {
                let read = slipway_manifests::read(&text).map_err(|error| anyhow!("{file}: {error}"))?;
                documents.extend(read.into_iter().map(|document| Placed {
                    place: format!("{file}:{}", document.line),
                    value: document.value,
                }));
            }
        }
        if documents.is_empty() {
            bail!("{} holds no document", named.join(", "));
        }
        Ok(Self { documents })
    }

    /// The documents, as they are sent.
    pub(super) fn values(&self) -> Vec<Value> {
        self.documents.iter().map(|document| document.value.clone()).collect()
    }

    /// An answer about documents by number, as one about places in files.
    pub(super) fn placed(&self, mut error: ClientError) -> ClientError {
        if let ClientError::Refused { status: 400, body } = &mut error {
            let mut found = 0;
            for detail in &mut body.details {
                let place = detail.path.as_deref().and_then(|path| self.place(path));
                if let Some(place) = place {
                    detail.path = Some(place);
                    found += 1;
                }
            }
            if found > 0 {
                let count = body.details.len();
                let what = if count == 1 { "problem" } else { "problems" };
                body.message = format!("{count} {what} in the files; nothing was changed");
            }
        }
        error
    }

    /// `documents[2].spec.mode` as `windows.yaml:14 spec.mode`.
    fn place(&self, path: &str) -> Option<String> {
        let (index, rest) = path.strip_prefix("documents[")?.split_once(']')?;
        let document = self.documents.get(index.parse::<usize>().ok()?)?;
        let rest = rest.trim_start_matches('.');
        Some(if rest.is_empty() { document.place.clone() } else { format!("{} {rest}", document.place) })
    }
}

#[cfg(test)]
mod tests {
    use slipway_contract::error::{ErrorBody, ErrorDetail};

    use super::*;

    #[test]
    fn problems_are_told_where_they_stand() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("windows.yaml");
        std::fs::write(&file, "kind: Window\n---\nkind: Window\nspec: {}\n").unwrap();
        let files = Files::read(&[directory.path().display().to_string()]).unwrap();
        assert_eq!(files.values().len(), 2);
        let error = ClientError::Refused {
            status: 400,
            body: Box::new(ErrorBody {
                code: "VALIDATION_ERROR".to_owned(),
                message: "documents[1].spec.mode is missing".to_owned(),
                details: vec![ErrorDetail {
                    path: Some("documents[1].spec.mode".to_owned()),
                    cluster: None,
                    message: "is missing".to_owned(),
                }],
                trace_id: String::new(),
                timestamp: jiff::Timestamp::UNIX_EPOCH,
            }),
        };
        let ClientError::Refused { body, .. } = files.placed(error) else { panic!("it stays a refusal") };
        assert_eq!(body.message, "1 problem in the files; nothing was changed");
        let path = body.details[0].path.clone().unwrap();
        assert!(
            path.ends_with("windows.yaml:3 spec.mode") || path.ends_with("windows.yaml:2 spec.mode"),
            "{path}"
        );
        assert!(Files::read(&["-".to_owned(), "-".to_owned()]).is_err());
    }
}
