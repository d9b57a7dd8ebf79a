//! The `format` keyword: which formats the API server checks, and how.

mod address;
mod duration;
mod mail;
mod text;
mod uri;

pub(crate) use address::{parse_cidr, parse_ip};
pub(crate) use duration::{parse_duration, parse_go_duration};
pub(crate) use text::{is_base64, is_date, is_date_time, is_uuid};
pub(crate) use uri::{Uri, parse_request_uri};

use crate::schema::{Schema, SchemaType};

/// A format the API server checks. Others are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Int32,
    Int64,
    Float,
    Double,
    BsonObjectId,
    Uri,
    Email,
    Hostname,
    Ipv4,
    Ipv6,
    Cidr,
    Mac,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
    Isbn,
    Isbn10,
    Isbn13,
    CreditCard,
    Ssn,
    HexColor,
    RgbColor,
    Byte,
    Password,
    Date,
    Duration,
    DateTime,
    ShortName,
    LongName,
}

impl Format {
    /// The format of a schema, where the API server checks it for that type.
    pub(crate) fn of(schema: &Schema) -> Option<Format> {
        let format = schema.format.as_deref().filter(|format| !format.is_empty())?;
        let type_ = if schema.int_or_string { None } else { schema.type_ };
        match (type_, format) {
            (None | Some(SchemaType::String), format) => Format::of_text(format),
            (Some(SchemaType::Integer), "int32") => Some(Format::Int32),
            (Some(SchemaType::Integer), "int64") => Some(Format::Int64),
            (Some(SchemaType::Number), "float") => Some(Format::Float),
            (Some(SchemaType::Number), "double") => Some(Format::Double),
            _ => None,
        }
    }

    fn of_text(format: &str) -> Option<Format> {
        // Dashes do not count: `date-time` and `datetime` are the same.
        let normalized: String = format.chars().filter(|c| *c != '-').collect();
        Some(match normalized.as_str() {
            "bsonobjectid" => Format::BsonObjectId,
            "uri" => Format::Uri,
            "email" => Format::Email,
            "hostname" => Format::Hostname,
            "ipv4" => Format::Ipv4,
            "ipv6" => Format::Ipv6,
            "cidr" => Format::Cidr,
            "mac" => Format::Mac,
            "uuid" => Format::Uuid,
            "uuid3" => Format::Uuid3,
            "uuid4" => Format::Uuid4,
            "uuid5" => Format::Uuid5,
            "isbn" => Format::Isbn,
            "isbn10" => Format::Isbn10,
            "isbn13" => Format::Isbn13,
            "creditcard" => Format::CreditCard,
            "ssn" => Format::Ssn,
            "hexcolor" => Format::HexColor,
            "rgbcolor" => Format::RgbColor,
            "byte" => Format::Byte,
            "password" => Format::Password,
            "date" => Format::Date,
            "duration" => Format::Duration,
            "datetime" => Format::DateTime,
            "k8sshortname" => Format::ShortName,
            "k8slongname" => Format::LongName,
            _ => return None,
        })
    }

    /// Whether a string has this format.
    pub(crate) fn accepts(self, value: &str) -> bool {
        match self {
            // Number formats say nothing about strings.
            Format::Int32 | Format::Int64 | Format::Float | Format::Double | Format::Password => true,
            Format::BsonObjectId => value.len() == 24 && value.bytes().all(|b| b.is_ascii_hexdigit()),
            Format::Uri => uri::parse_request_uri(value).is_some(),
            Format::Email => mail::is_address(value),
            Format::Hostname => text::is_hostname(value),
            Format::Ipv4 => address::parse_ip_sloppy(value).is_some() && value.contains('.'),
            Format::Ipv6 => address::parse_ip(value).is_some() && value.contains(':'),
            Format::Cidr => address::is_cidr_sloppy(value),
            Format::Mac => address::is_mac(value),
            Format::Uuid => text::is_uuid(value, None),
            Format::Uuid3 => text::is_uuid(value, Some('3')),
            Format::Uuid4 => text::is_uuid(value, Some('4')),
            Format::Uuid5 => text::is_uuid(value, Some('5')),
            Format::Isbn => text::is_isbn10(value) || text::is_isbn13(value),
            Format::Isbn10 => text::is_isbn10(value),
            Format::Isbn13 => text::is_isbn13(value),
            Format::CreditCard => text::is_credit_card(value),
            Format::Ssn => text::is_ssn(value),
            Format::HexColor => text::is_hex_color(value),
            Format::RgbColor => text::is_rgb_color(value),
            Format::Byte => text::is_base64(value),
            Format::Date => text::is_date(value),
            Format::Duration => duration::parse_duration(value).is_some(),
            Format::DateTime => text::is_date_time(value),
            Format::ShortName => value.len() <= 63 && super::names::is_dns_label(value),
            Format::LongName => value.len() <= 253 && value.split('.').all(super::names::is_dns_label),
        }
    }
}

#[cfg(test)]
mod tests;
