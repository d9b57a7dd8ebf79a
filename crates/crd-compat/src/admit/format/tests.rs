use super::duration::parse_duration;
use super::mail::is_address;
use super::uri::parse_request_uri;

#[test]
fn durations_are_read_in_both_notations() {
    for (text, nanoseconds) in [
        ("1h30m", Some(5_400_000_000_000)),
        ("-1.5s", Some(-1_500_000_000)),
        ("+0", Some(0)),
        ("2 weeks 3 days", Some(1_468_800_000_000_000)),
        ("", None),
        ("soon", None),
        ("99999999999999999999 s", None),
    ] {
        assert_eq!(parse_duration(text), nanoseconds, "{text}");
    }
}

#[test]
fn the_parts_of_a_url_are_told_apart() {
    let uri = parse_request_uri("HTTP://user:pw@[fe80::1%25en0]:80/a%20b?q=1").unwrap();
    assert_eq!((uri.scheme.as_str(), uri.host.as_str()), ("http", "[fe80::1%en0]:80"));
    assert_eq!((uri.hostname(), uri.port()), ("fe80::1%en0", "80"));
    assert_eq!((uri.path.as_str(), uri.raw_path(), uri.raw_query.as_str()), ("/a b", "/a%20b", "q=1"));
    for bad in [
        "http://[1.2.3.4]/",
        "http://a[::1]/",
        "http://[::1]x/",
        "http://[::1%25%zz]/",
        "http://u%zz@a/",
        "http://[::1%25]/",
        "http://[fe80::1%25a%01]/",
    ] {
        assert_eq!(parse_request_uri(bad), None, "{bad}");
    }
    assert!(parse_request_uri("db://a:1,b:2/x").is_some());
}

#[test]
fn mail_addresses_may_have_names_quotes_and_comments() {
    for (text, is) in [
        ("\"a\\\"b\"@c.d", true),
        ("\"\"@c.d", false),
        ("\"a\u{1}\"@c.d", false),
        ("\"a\\\u{1}\"@c.d", false),
        ("\"open@c.d", false),
        ("\"Ann B\" C <a@b.c>", true),
        ("a@b.c (x (y) \\) z)", true),
        ("a@b.c (open", false),
        ("a@[open", false),
        ("a@[x]", false),
        ("a@[IPv6:::1]", true),
        ("Ann <a@b.c", false),
    ] {
        assert_eq!(is_address(text), is, "{text}");
    }
}
