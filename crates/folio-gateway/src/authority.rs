//! Whose request it is: the one parser of what a client names in `Host`, `:authority` or an absolute target.
//!
//! It is strict, because a host that two parsers read differently is another tenant's host. Whatever is not
//! spelt out here is malformed or belongs to nobody.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The longest host name.
const HOST_BYTES_MAX: usize = 253;
/// The longest label of one.
const LABEL_BYTES_MAX: usize = 63;

/// A well-formed authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority<'a> {
    /// Who is asked for.
    pub host: Host<'a>,
    /// The port, if it was written.
    pub port: Option<u16>,
}

/// A well-formed host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host<'a> {
    /// An address.
    Address,
    /// A name: lower case, without a dot at its end.
    Name(Cow<'a, str>),
}

/// Which part of the platform a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// An app, by its name.
    App(&'a str),
    /// A release of an app: `{app}.{ref}.D` or `{ref}--{app}.D`.
    Release {
        /// The app.
        app: &'a str,
        /// The release.
        release: &'a str,
    },
    /// A name that only a route can claim.
    Elsewhere,
}

/// A text that is not an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the host is malformed")]
pub struct Malformed;

/// The app that addresses, `localhost` and the bare domain mean.
pub(crate) const DEFAULT_APP: &str = "default";

impl<'a> Authority<'a> {
    /// Reads `host` or `host:port`. There is no user, no empty port and no odd spelling of an address.
    pub fn parse(text: &'a str) -> Result<Self, Malformed> {
        if let Some(rest) = text.strip_prefix('[') {
            let (address, port) = rest.split_once(']').ok_or(Malformed)?;
            address.parse::<Ipv6Addr>().map_err(|_| Malformed)?;
            let port = match port {
                "" => None,
                port => Some(parse_port(port.strip_prefix(':').ok_or(Malformed)?)?),
            };
            return Ok(Self { host: Host::Address, port });
        }
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(parse_port(port)?)),
            None => (text, None),
        };
        Ok(Self { host: parse_host(host)?, port })
    }
}

impl Host<'_> {
    /// The key under which a route's host is found.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Address => None,
            Self::Name(name) => Some(name),
        }
    }

    /// Which part of the platform this is, for a platform of the given domain.
    pub fn place(&self, domain: &str) -> Place<'_> {
        let Self::Name(name) = self else { return Place::App(DEFAULT_APP) };
        let name: &str = name;
        if name == "localhost" || name == domain {
            return Place::App(DEFAULT_APP);
        }
        let Some(labels) = name.strip_suffix(domain).and_then(|rest| rest.strip_suffix('.')) else {
            return Place::Elsewhere;
        };
        match labels.split_once('.') {
            // An app's name has no two dashes in a row, so the last ones end the release's.
            None => match labels.rsplit_once("--") {
                Some((release, app)) => Place::Release { app, release },
                None => Place::App(labels),
            },
            Some((app, release)) if !release.contains('.') => Place::Release { app, release },
            Some(_) => Place::Elsewhere,
        }
    }
}

fn parse_port(text: &str) -> Result<u16, Malformed> {
    let digits = (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().map_err(|_| Malformed) } else { Err(Malformed) }
}

/// Reads a host in one pass: every request comes through here.
fn parse_host(text: &str) -> Result<Host<'_>, Malformed> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let (mut length, mut numeric, mut upper, mut before) = (0, true, false, b'.');
    for byte in text.bytes() {
        match byte {
            b'.' if before == b'.' || before == b'-' => return Err(Malformed),
            b'.' => (length, numeric) = (0, true),
            b'-' if before == b'.' => return Err(Malformed),
            _ if length == LABEL_BYTES_MAX => return Err(Malformed),
            b'0'..=b'9' => length += 1,
            b'a'..=b'z' | b'-' => (length, numeric) = (length + 1, false),
            b'A'..=b'Z' => (length, numeric, upper) = (length + 1, false, true),
            _ => return Err(Malformed),
        }
        before = byte;
    }
    if before == b'.' || before == b'-' || text.len() > HOST_BYTES_MAX {
        return Err(Malformed);
    }
    if numeric {
        // No name ends in digits: this is an address, and only in its usual spelling.
        return text.parse::<Ipv4Addr>().map(|_| Host::Address).map_err(|_| Malformed);
    }
    Ok(Host::Name(match upper {
        true => Cow::Owned(text.to_ascii_lowercase()),
        false => Cow::Borrowed(text),
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        let shown = match Authority::parse(text) {
            Err(Malformed) => "malformed".to_owned(),
            Ok(authority) => match authority.host.place("d.test") {
                Place::App(app) => app.to_owned(),
                Place::Release { app, release } => format!("release {release} of {app}"),
                Place::Elsewhere => "elsewhere".to_owned(),
            },
        };
        assert_eq!(shown, expected, "{text:?}");
    }

    #[test]
    fn addresses_localhost_and_the_bare_domain_are_the_default_app() {
        for text in [
            "127.0.0.1",
            "10.0.0.1:8888",
            "[::1]",
            "[::1]:80",
            "localhost",
            "LocalHost:8888",
            "localhost.",
            "d.test",
            "D.TEST.",
            "d.test:443",
        ] {
            check(text, "default");
        }
    }

    #[test]
    fn one_label_before_the_domain_is_an_app() {
        check("shop.d.test", "shop");
        check("SHOP.D.Test.:80", "shop");
        check("a-b.d.test", "a-b");
    }

    #[test]
    fn two_labels_or_two_dashes_are_a_release() {
        check("shop.v1.d.test", "release v1 of shop");
        check("v1--shop.d.test", "release v1 of shop");
        check("v--1--shop.d.test", "release v--1 of shop");
        check("a.b.c.d.test", "elsewhere");
    }

    #[test]
    fn other_names_belong_to_nobody() {
        for text in
            ["example.com", "xd.test", "d.test.evil.com", "shopd.test", "test", "shop.localhost"]
        {
            check(text, "elsewhere");
        }
    }

    #[test]
    fn everything_else_is_malformed() {
        let long = format!("{}.d.test", "a".repeat(64));
        let endless = ["a"; 130].join(".");
        for text in [
            "",
            ".",
            "..",
            "a..d.test",
            ".d.test",
            "d.test..",
            "d.test:",
            "d.test:a",
            "d.test:99999",
            "d.test:+80",
            "d.test:80:80",
            "user@d.test",
            "shop.d.test@evil.com",
            "shop%2ed.test",
            "shop .d.test",
            " d.test",
            "d.test ",
            "d.test\t",
            "shop_d.test",
            "-a.d.test",
            "a-.d.test",
            "d.test/x",
            "d.test?x",
            "d.test#x",
            "[::1",
            "::1",
            "[::1]x",
            "[127.0.0.1]",
            "[fe80::1%25eth0]",
            "127.1",
            "0x7f.1",
            "127.0.0.01",
            "1.2.3.4.5",
            "256.1.1.1",
            "2130706433",
            "é.d.test",
            "a\0.d.test",
            "d.test\\x",
            "a,b",
            &long,
            &endless,
        ] {
            // `0x7f.1` ends in digits and is no address.
            check(text, "malformed");
        }
    }

    /// What a reader of the design would say: an app is its name, a dot and the domain, in any case, with or
    /// without a port and a last dot.
    fn by_the_book(text: &str, app: &str) -> bool {
        let text = text.to_ascii_lowercase();
        let host = match text.split_once(':') {
            Some((host, port)) if port.parse::<u16>().is_ok() && !port.starts_with('+') => host,
            Some(_) => return false,
            None => &text,
        };
        let host = host.strip_suffix('.').unwrap_or(host);
        host == format!("{app}.d.test")
    }

    proptest! {
        #[test]
        fn no_text_but_its_own_host_reaches_an_app(text in "\\PC{0,40}|[a-cA-C.:@%\\[\\]-]{0,12}(\\.[dD]\\.test)?[.:0-9]{0,6}") {
            if let Ok(authority) = Authority::parse(&text)
                && let Place::App(app) = authority.host.place("d.test")
                && app != DEFAULT_APP
            {
                prop_assert!(by_the_book(&text, app), "{:?} reached {:?}", text, app);
            }
        }

        #[test]
        fn an_apps_host_in_any_case_reaches_it(app in "[a-z0-9]([a-z0-9]|-[a-z0-9]){0,20}", upper: bool, dot: bool, port in proptest::option::of(1_u16..)) {
            prop_assume!(app != DEFAULT_APP);
            let mut text = format!("{app}.d.test");
            if upper { text.make_ascii_uppercase(); }
            if dot { text.push('.'); }
            if let Some(port) = port { text.push_str(&format!(":{port}")); }
            let authority = Authority::parse(&text).unwrap();
            prop_assert_eq!(authority.host.place("d.test"), Place::App(&app));
            prop_assert_eq!(authority.port, port);
        }
    }
}
