//! URLs as Go's `url.ParseRequestURI` reads them.

/// The parts of a URL, unescaped as Go does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Uri {
    pub(crate) text: String,
    pub(crate) scheme: String,
    /// Host and port as written.
    pub(crate) host: String,
    pub(crate) path: String,
    raw_path: String,
    pub(crate) raw_query: String,
}

impl Uri {
    /// The host without brackets and port.
    pub(crate) fn hostname(&self) -> &str {
        split_port(&self.host).0
    }

    /// The path as written.
    pub(crate) fn raw_path(&self) -> &str {
        &self.raw_path
    }

    pub(crate) fn port(&self) -> &str {
        split_port(&self.host).1
    }
}

fn split_port(host: &str) -> (&str, &str) {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (name, port),
        _ => (host, ""),
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    (name, port)
}

/// An absolute URL or an absolute path.
pub(crate) fn parse_request_uri(text: &str) -> Option<Uri> {
    if text.is_empty() || text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return None;
    }
    let mut uri = Uri {
        text: text.to_owned(),
        scheme: String::new(),
        host: String::new(),
        path: String::new(),
        raw_path: String::new(),
        raw_query: String::new(),
    };
    if text == "*" {
        "*".clone_into(&mut uri.path);
        return Some(uri);
    }
    let (scheme, rest) = split_scheme(text)?;
    uri.scheme = scheme.to_ascii_lowercase();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    query.clone_into(&mut uri.raw_query);
    if !rest.starts_with('/') {
        // With a scheme, the rest is opaque; without one, this is no request URI.
        return (!scheme.is_empty()).then_some(uri);
    }
    let mut path = rest;
    if !scheme.is_empty()
        && let Some(after) = rest.strip_prefix("//")
    {
        let end = after.find('/').unwrap_or(after.len());
        let (authority, tail) = after.split_at_checked(end)?;
        uri.host = parse_authority(&uri.scheme, authority)?;
        path = tail;
    }
    uri.path = unescape(path, Mode::Path)?;
    path.clone_into(&mut uri.raw_path);
    Some(uri)
}

fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index > 0 => return Some((text.get(..index)?, text.get(index + 1..)?)),
            b':' => return None,
            _ => return Some(("", text)),
        }
    }
    Some(("", text))
}

fn parse_authority(scheme: &str, authority: &str) -> Option<String> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let host = parse_host(scheme, host)?;
    if let Some(user) = user {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
        if !user.bytes().all(allowed) {
            return None;
        }
        unescape(user, Mode::User)?;
    }
    Some(host)
}

fn parse_host(scheme: &str, host: &str) -> Option<String> {
    match host.rfind('[') {
        Some(0) => return parse_ip_literal(host),
        Some(_) => return None,
        None => {}
    }
    // Only in web addresses is every colon but the last one an error.
    let strict = matches!(scheme, "http" | "https");
    let colon = if strict { host.find(':') } else { host.rfind(':') };
    if let Some(colon) = colon
        && !is_optional_port(host.get(colon..)?)
    {
        return None;
    }
    unescape(host, Mode::Host)
}

fn parse_ip_literal(host: &str) -> Option<String> {
    let close = host.rfind(']')?;
    let (inner, port) = (host.get(1..close)?, host.get(close + 1..)?);
    if !is_optional_port(port) {
        return None;
    }
    let (address, zone) = match inner.find("%25") {
        Some(zone) => inner.split_at_checked(zone)?,
        None => (inner, ""),
    };
    let (address, zone) = (unescape(address, Mode::Host)?, unescape(zone, Mode::Zone)?);
    // An empty zone is none; IPv4 has no place in brackets.
    if zone == "%" || address.parse::<std::net::Ipv6Addr>().is_err() {
        return None;
    }
    Some(format!("[{address}{zone}]{port}"))
}

fn is_optional_port(port: &str) -> bool {
    port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Path,
    User,
    Host,
    Zone,
}

fn unescape(text: &str, mode: Mode) -> Option<String> {
    let in_host = matches!(mode, Mode::Host | Mode::Zone);
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            if in_host && byte < 0x80 && !is_host_byte(byte) {
                return None;
            }
            out.push(byte);
            continue;
        }
        let hex =
            |byte: Option<u8>| char::from(byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let (high, low) = (hex(bytes.next())?, hex(bytes.next())?);
        let value = high << 4 | low;
        // In a host, only what is not ASCII may be escaped; a zone may also hold what a host may.
        if mode == Mode::Host && high < 8 && value != b'%' {
            return None;
        }
        if mode == Mode::Zone && value != b'%' && value != b' ' && !is_host_byte(value) {
            return None;
        }
        out.push(value);
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
}
