//! URLs.

use std::rc::Rc;

use crate::admit::format::{Uri, parse_request_uri};
use crate::cel::eval::Evaluator;
use crate::cel::value::{Eval, EvalError, Map, Val};

pub(super) fn call<'a>(_: &mut Evaluator<'a, '_>, name: &str, args: &[Val<'a>]) -> Option<Eval<Val<'a>>> {
    Some(match (name, args) {
        ("isURL", [Val::Text(text)]) => Ok(Val::Bool(parse_request_uri(text).is_some())),
        ("url", [Val::Text(text)]) => match parse(text) {
            Some(uri) => Ok(Val::Url(Rc::new(uri))),
            None => EvalError::failed("URL parse error during conversion from string"),
        },
        ("getScheme", [Val::Url(uri)]) => Ok(Val::text(uri.scheme.as_str())),
        ("getHost", [Val::Url(uri)]) => Ok(Val::text(uri.host.as_str())),
        ("getHostname", [Val::Url(uri)]) => Ok(Val::text(uri.hostname())),
        ("getPort", [Val::Url(uri)]) => Ok(Val::text(uri.port())),
        ("getEscapedPath", [Val::Url(uri)]) => Ok(Val::text(escaped_path(uri))),
        ("getQuery", [Val::Url(uri)]) => Ok(query(uri)),
        _ => return None,
    })
}

/// A URL as it is checked and then read: a fragment is no part of path or query.
fn parse(text: &str) -> Option<Uri> {
    parse_request_uri(text)?;
    let (without_fragment, _) = text.split_once('#').unwrap_or((text, ""));
    let mut uri = parse_request_uri(without_fragment)?;
    text.clone_into(&mut uri.text);
    Some(uri)
}

/// The path as written where that is a valid encoding, else encoded anew.
fn escaped_path(uri: &Uri) -> String {
    if uri.path == "*" {
        return "*".to_owned();
    }
    let written = uri.raw_path();
    let valid = |b: u8| b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:@/[]%".contains(&b);
    if written.bytes().all(valid) {
        return written.to_owned();
    }
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&b);
    let encode = |b: u8| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") };
    uri.path.bytes().map(encode).collect()
}

fn query<'a>(uri: &Uri) -> Val<'a> {
    let mut entries: Vec<(String, Vec<Val<'a>>)> = Vec::new();
    for pair in uri.raw_query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(key), Some(value)) = (unescape(key), unescape(value)) else { continue };
        match entries.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(Val::text(value)),
            None => entries.push((key, vec![Val::text(value)])),
        }
    }
    let entries: Vec<_> =
        entries.into_iter().map(|(key, values)| (Val::text(key), Val::list(values))).collect();
    Val::Map(Map::Owned(entries.into()))
}

fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit =
                    || char::from(bytes.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                digit()? << 4 | digit()?
            }
            byte => byte,
        });
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}
