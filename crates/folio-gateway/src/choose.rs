//! What a request says about who sends it: which version and release a client is kept with, and which token it brings.

use std::cell::LazyCell;

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use crate::headers::FOLIO_PIN;
use crate::kept::Called;
use crate::problem::Problem;
use crate::served::{Key, Served, Stickiness, key_of};
use crate::wire::Wire;

/// The cookie that keeps a client with the release it began with.
const PIN_COOKIE: &str = "folio-pin";

/// Who sends a request, as far as that decides what answers.
pub(crate) struct Client<'a> {
    pub(crate) wire: &'a Wire,
    pub(crate) headers: &'a HeaderMap,
}

impl Client<'_> {
    /// The version that answers, most likely the one that did last, and a cookie that keeps the client with it.
    pub(crate) fn choose(
        &self,
        route: &Served,
        last: Option<Called>,
    ) -> Result<(Called, Option<HeaderValue>), Problem> {
        let mut given = None;
        let key = LazyCell::new(|| self.key(route.sticky.as_ref(), &mut given));
        let plan = route.pick(&key, |plan| Called::of(plan, last)).map_err(Problem::unresolved)?;
        Ok((plan, given))
    }

    /// What decides for this client; gives it a cookie if it has none and needs one.
    pub(crate) fn key(&self, sticky: Option<&Stickiness>, given: &mut Option<HeaderValue>) -> Key {
        let chance = || Key::Draw(rand::random());
        match sticky {
            None | Some(Stickiness::Nothing) => chance(),
            Some(Stickiness::Header(name)) => {
                let value = self.headers.get(name);
                value.map_or_else(chance, |value| Key::Client(key_of(value.as_bytes())))
            }
            Some(Stickiness::Address) => Key::Client(key_of(self.wire.forwarded_for.as_bytes())),
            Some(Stickiness::Cookie(name)) => {
                if let Some(value) = cookie(self.headers, name) {
                    return Key::Client(key_of(value.as_bytes()));
                }
                let value = format!("{:016x}", rand::random::<u64>());
                *given = self.cookie(name, &value, "");
                Key::Client(key_of(value.as_bytes()))
            }
        }
    }

    /// The release that the client says it began with.
    pub(crate) fn pin(&self) -> Option<&str> {
        let header = self.headers.get(FOLIO_PIN).and_then(|value| value.to_str().ok());
        header.map(str::trim).or_else(|| cookie(self.headers, PIN_COOKIE))
    }

    /// A cookie that keeps the client with a release for so long.
    pub(crate) fn pin_to(&self, release: &str, seconds: u64) -> Option<HeaderValue> {
        self.cookie(PIN_COOKIE, release, &format!("; Max-Age={seconds}"))
    }

    fn cookie(&self, name: &str, value: &str, more: &str) -> Option<HeaderValue> {
        let secure = if self.wire.is_tls { "; Secure" } else { "" };
        let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{more}");
        HeaderValue::from_str(&text).ok()
    }
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
