//! Domains: host names of an app's own, beside those it has below the platform's domain.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::name::text_type;

/// The longest host name, and the longest label of one.
const DOMAIN_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

text_type! {
    /// A host name as requests carry it: lower-case labels with dots between them, at least two.
    DomainName, DomainNameError, check
}

/// Why a text is not the name of a domain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DomainNameError {
    /// A host with a port, a path or a scheme.
    #[error("`{0}` is more than a host name: leave out scheme, port and path")]
    NotBare(String),
    /// An address.
    #[error("`{0}` is an address, and addresses mean the app `default`")]
    Address(String),
    /// Letters that no request carries.
    #[error("`{0}` is not as requests carry it: write it in lower case, without a dot at its end")]
    NotPlain(String),
    /// Letters that no host name has.
    #[error(
        "`{0}` has letters that no host name has: names in other scripts are written as `xn--…`"
    )]
    Letters(String),
    /// One label, an empty one, or one that is too long.
    #[error(
        "`{0}` is no host name: labels of 1 to 63 letters, digits and inner dashes, at least two, 253 characters together"
    )]
    Malformed(String),
}

impl DomainName {
    /// Reads a name as people write it: in any case, and with or without a dot at its end.
    pub fn written(text: &str) -> Result<Self, DomainNameError> {
        text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase().parse()
    }

    /// Whether it is another host or below it.
    pub fn is_within(&self, host: &str) -> bool {
        let rest = self.as_str().strip_suffix(host);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }
}

fn check(text: &str) -> Result<(), DomainNameError> {
    let owned = || text.to_owned();
    if text.starts_with('[') || text.parse::<std::net::IpAddr>().is_ok() {
        return Err(DomainNameError::Address(owned()));
    }
    if text.contains([':', '/', '?', '#', '@']) {
        return Err(DomainNameError::NotBare(owned()));
    }
    if text.ends_with('.') || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(DomainNameError::NotPlain(owned()));
    }
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let label = |label: &str| {
        (1..=LABEL_BYTES_MAX).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if !text.bytes().all(|byte| plain(byte) || byte == b'.') {
        return Err(DomainNameError::Letters(owned()));
    }
    let last = text.rsplit('.').next().unwrap_or_default();
    let number = last.bytes().all(|byte| byte.is_ascii_digit());
    let fits = text.len() <= DOMAIN_BYTES_MAX && text.contains('.') && !number;
    let good = fits && text.split('.').all(label);
    if good { Ok(()) } else { Err(DomainNameError::Malformed(owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let found = DomainName::written(text).ok();
        assert_eq!(found.as_ref().map(DomainName::as_str), expected, "{text:?}");
    }

    #[test]
    fn names_are_read_as_people_write_them() {
        check("shop.example.com", Some("shop.example.com"));
        check("Shop.Example.COM.", Some("shop.example.com"));
        check("xn--bcher-kva.example", Some("xn--bcher-kva.example"));
    }

    #[test]
    fn what_no_request_names_as_a_host_is_refused() {
        let long = format!("{}.com", "a".repeat(64));
        let endless = ["a"; 130].join(".");
        for text in [
            "",
            ".",
            "shop",
            "shop..com",
            ".com",
            "shop.example.com..",
            "-a.com",
            "a-.com",
            "a_b.com",
            "bücher.example",
            "shop.example.com:443",
            "https://shop.example.com",
            "shop.example.com/x",
            "a@b.com",
            "127.0.0.1",
            "127.1",
            "::1",
            "[::1]",
            "*.example.com",
            "a b.com",
            &long,
            &endless,
        ] {
            check(text, None);
        }
        assert!("Shop.example.com".parse::<DomainName>().is_err(), "kept names are lower case");
    }

    #[test]
    fn a_domain_is_within_itself_and_what_is_above_it() {
        let domain = DomainName::written("a.shop.example").unwrap();
        for (host, within) in
            [("a.shop.example", true), ("shop.example", true), ("hop.example", false), ("b", false)]
        {
            assert_eq!(domain.is_within(host), within, "{host}");
        }
    }
}
