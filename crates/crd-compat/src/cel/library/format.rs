//! Named string formats: `format.dns1123Label().validate(text)`.

use crate::admit::format::{is_base64, is_date, is_date_time, is_uuid, parse_request_uri};
use crate::admit::names;
use crate::cel::eval::Evaluator;
use crate::cel::value::{Eval, Val};

const NAMES: [&str; 13] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

pub(super) fn call<'a>(_: &mut Evaluator<'a, '_>, name: &str, args: &[Val<'a>]) -> Option<Eval<Val<'a>>> {
    Some(Ok(match (name, args) {
        ("format.named", [Val::Text(wanted)]) => {
            Val::Optional(named(wanted).map(|name| std::rc::Rc::new(Val::Format(name))))
        }
        ("validate", [Val::Format(format), Val::Text(text)]) => {
            let problems = problems(format, text);
            if problems.is_empty() {
                Val::Optional(None)
            } else {
                Val::some(Val::list(problems.into_iter().map(Val::text).collect()))
            }
        }
        (name, []) => Val::Format(named(name.strip_prefix("format.")?)?),
        _ => return None,
    }))
}

fn named(wanted: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|name| *name == wanted)
}

fn problems(format: &str, text: &str) -> Vec<&'static str> {
    let masked = || names::mask_trailing_dash(text);
    let unless = |fits: bool, problem: &'static str| if fits { Vec::new() } else { vec![problem] };
    match format {
        "dns1123Label" => names::dns_label(text),
        "dns1123Subdomain" => names::dns_subdomain(text),
        "dns1035Label" => names::dns_1035_label(text),
        "qualifiedName" => names::qualified_name(text),
        "dns1123LabelPrefix" => names::dns_label(&masked()),
        "dns1123SubdomainPrefix" => names::dns_subdomain(&masked()),
        "dns1035LabelPrefix" => names::dns_1035_label(&masked()),
        "labelValue" => names::label_value(text),
        "uri" => unless(parse_request_uri(text).is_some(), "invalid URI for request"),
        "uuid" => unless(is_uuid(text, None), "does not match the UUID format"),
        "byte" => unless(is_base64(text), "invalid base64"),
        "date" => unless(is_date(text), "invalid date"),
        _ => unless(is_date_time(text), "invalid datetime"),
    }
}
