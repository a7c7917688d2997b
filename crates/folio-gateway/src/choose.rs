//! What a request says about who sends it: which version a client is kept with, and which token it brings.

use std::cell::LazyCell;
use std::sync::Arc;

use folio_core::ports::runtime::Plan;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use crate::problem::Problem;
use crate::served::{Key, Served, Stickiness, key_of};
use crate::wire::Wire;

/// The version that answers this request.
pub(crate) fn choose(
    wire: &Wire,
    route: &Served,
    headers: &HeaderMap,
) -> Result<(Arc<Plan>, Option<HeaderValue>), Problem> {
    let mut given = None;
    let chance = || Key::Draw(rand::random());
    let key = LazyCell::new(|| match &route.sticky {
        None | Some(Stickiness::Nothing) => chance(),
        Some(Stickiness::Header(name)) => {
            headers.get(name).map_or_else(chance, |value| Key::Client(key_of(value.as_bytes())))
        }
        Some(Stickiness::Address) => Key::Client(key_of(wire.forwarded_for.as_bytes())),
        Some(Stickiness::Cookie(name)) => {
            if let Some(value) = cookie(headers, name) {
                return Key::Client(key_of(value.as_bytes()));
            }
            let value = format!("{:016x}", rand::random::<u64>());
            let secure = if wire.is_tls { "; Secure" } else { "" };
            let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}");
            given = HeaderValue::from_str(&text).ok();
            Key::Client(key_of(value.as_bytes()))
        }
    });
    let plan = route.pick(&key).map_err(Problem::unresolved)?;
    Ok((plan, given))
}

/// The value of a cookie, if the request has it.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(found, _)| found.trim() == name).map(|(_, value)| value.trim())
}

/// The token of an `Authorization` header.
pub(crate) fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}
