//! Headers that do not pass on: those between two neighbours, and those that only folio may set.

use http::{HeaderMap, HeaderName, header};

/// Headers that mean something between two neighbours only.
static HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Prefixes of names that a request or a function may not bring along.
const OURS: [&str; 3] = ["folio-", "x-folio-", "x-fission-"];

/// Takes away what concerns one connection: the known headers and those that `Connection` lists.
pub(crate) fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let known = headers.keys().filter(|name| HOP_BY_HOP.contains(name)).cloned();
    let listed = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok());
    let doomed: Vec<HeaderName> = known.chain(listed).collect();
    for name in doomed {
        headers.remove(name);
    }
}

/// Takes away what claims to come from folio. Servers that make variables of headers read `_` and `-` alike.
pub(crate) fn drop_claims(headers: &mut HeaderMap) {
    let ours = |name: &&HeaderName| {
        let name = name.as_str().replace('_', "-");
        OURS.iter().any(|prefix| name.starts_with(prefix))
    };
    let claims: Vec<HeaderName> = headers.keys().filter(ours).cloned().collect();
    for name in claims {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_meant_for_the_other_side_stays() {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONNECTION, "close, X-Mine".parse().unwrap());
        for name in ["x-mine", "x-fission-function-name", "folio_version", "x-folio-a", "accept"] {
            headers.insert(HeaderName::from_static(name), "x".parse().unwrap());
        }
        drop_hop_by_hop(&mut headers);
        drop_claims(&mut headers);
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["accept"]);
    }
}
