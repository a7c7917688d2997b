//! Finds routes that no request can reach. Those that are there already stay as they are.

use std::net::IpAddr;

use folio_model::{Part, PathTemplate, RouteSpec, Segment, SnapshotError};

use super::Error;

/// The longest host name, and the longest label of one.
const HOST_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// Refuses what no request reaches in a route that is to be, unless what it takes the place of says the same.
pub(super) fn check(spec: &RouteSpec, base: Option<&RouteSpec>) -> Result<(), Error> {
    if base.is_none_or(|base| base.path != spec.path) {
        check_path(spec)?;
    }
    match base {
        Some(base) if base.host == spec.host => Ok(()),
        _ => check_host(spec),
    }
}

/// Refuses a path that holds what ends the path of an address. Who means the character writes its escape.
pub(crate) fn check_path(spec: &RouteSpec) -> Result<(), Error> {
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

/// Refuses a host that is no name as requests carry it.
pub(crate) fn check_host(spec: &RouteSpec) -> Result<(), Error> {
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
