//! Finds routes that no request can reach. Those that are there already stay as they are.

use std::net::IpAddr;

use folio_model::{Part, PathTemplate, RouteSpec, Segment, SnapshotError};

use super::Error;

/// The longest host name, and the longest label of one.
const HOST_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// Refuses what no request reaches in a route that is to be, unless what it takes the place of says the same.
pub(super) fn check(spec: &RouteSpec, base: Option<&RouteSpec>) -> Result<(), Error> {
    check_path(spec, base)?;
    check_host(spec, base)
}

/// Refuses a path that holds what ends the path of an address, unless it was there before. Who means the character
/// writes its escape.
pub(crate) fn check_path(spec: &RouteSpec, base: Option<&RouteSpec>) -> Result<(), Error> {
    if base.is_some_and(|base| base.path == spec.path) {
        return Ok(());
    }
    let path = spec.path.as_str();
    let Ok(template) = PathTemplate::parse(path) else { return Ok(()) };
    let ends = |text: &String| text.contains(['?', '#']);
    let is_cut = template.segments().iter().any(|segment| match segment {
        Segment::Literal(text) => ends(text),
        Segment::Pattern(parts) => {
            parts.iter().any(|part| matches!(part, Part::Literal(text) if ends(text)))
        }
        Segment::Rest { .. } => false,
    });
    if !is_cut {
        return Ok(());
    }
    let why =
        "must not hold `?` or `#`, which end a path: write `%3F` or `%23` where they belong to it";
    Err(SnapshotError::Path { path: path.to_owned(), why }.into())
}

/// Refuses a host that is no name as requests carry it, unless it was there before.
pub(crate) fn check_host(spec: &RouteSpec, base: Option<&RouteSpec>) -> Result<(), Error> {
    if base.is_some_and(|base| base.host == spec.host) {
        return Ok(());
    }
    let Some(host) = &spec.host else { return Ok(()) };
    match fault(host) {
        Some(why) => Err(Error::Host { host: host.clone(), why }),
        None => Ok(()),
    }
}

/// What is wrong with a host, as the end of a sentence about it.
fn fault(host: &str) -> Option<&'static str> {
    if host.contains(char::is_whitespace) {
        return Some("holds a space");
    }
    if host.starts_with('[') || host.parse::<IpAddr>().is_ok() {
        return Some("is an address, and a route answers to names");
    }
    if host.contains(['/', '?', '#', '@']) {
        return Some("is more than a host name: leave out scheme, user and path");
    }
    if host.contains(':') {
        return Some("has a port: leave it out, a route answers on every port");
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_label = |label: &str| {
        (1..=LABEL_BYTES_MAX).contains(&label.len())
            && label.bytes().all(plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
    if name.len() <= HOST_BYTES_MAX && !is_number && name.split('.').all(is_label) {
        return None;
    }
    Some("is no host name: labels of letters, digits and inner dashes, with dots between them")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use folio_model::{Bag, RoutePath};

    use super::*;

    fn route(path: &str, host: &str) -> RouteSpec {
        RouteSpec {
            host: Some(host.to_owned()),
            path: RoutePath::Exact(path.to_owned()),
            methods: BTreeSet::new(),
            targets: Vec::new(),
            sticky: None,
            cors: None,
            bag: Bag::default(),
        }
    }

    #[test]
    fn what_was_taken_once_stays_as_long_as_it_is_not_changed() {
        let base = route("/a?b", "*");
        let other = route("/a?c", "**");
        assert!(check_path(&base, None).is_err() && check_host(&base, None).is_err());
        assert!(check(&base, Some(&base)).is_ok());
        assert!(
            check_path(&other, Some(&base)).is_err() && check_host(&other, Some(&base)).is_err()
        );
    }
}
