//! Sets of methods as bits, so that asking costs nothing.

use http::Method;

/// The methods a route answers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Methods(u16);

/// How well a route fits a method; the first fits best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// The route names the method.
    Named,
    /// It is HEAD, and the route names GET.
    HeadOfGet,
    /// The route takes all methods.
    Any,
}

const NAMES: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"];
const GET: u16 = 1;
const HEAD: u16 = 1 << 1;
const ANY: u16 = 1 << 15;

impl Methods {
    /// No methods.
    pub const NONE: Self = Self(0);

    /// Those that read.
    pub const READING: Self = Self(GET | HEAD);

    /// The methods of these names; all if there are none.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let bit =
            |name: &str| NAMES.iter().position(|known| *known == name).map_or(0, |at| 1 << at);
        let bits = names
            .into_iter()
            .fold(None, |bits: Option<u16>, name| Some(bits.unwrap_or_default() | bit(name)));
        Self(bits.unwrap_or(ANY))
    }

    /// How well the set fits a method, if it does.
    pub fn fit(self, method: &Method) -> Option<Fit> {
        if self.0 == ANY {
            return Some(Fit::Any);
        }
        let bit = bit(method);
        if self.0 & bit != 0 {
            Some(Fit::Named)
        } else if bit == HEAD && self.0 & GET != 0 {
            Some(Fit::HeadOfGet)
        } else {
            None
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The methods of both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The names as the header `Allow` lists them.
    pub fn allow(self) -> String {
        let bits = if self.0 & GET != 0 { self.0 | HEAD } else { self.0 };
        let named = NAMES.iter().enumerate().filter(|(at, _)| bits & (1 << at) != 0);
        named.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
    }
}

fn bit(method: &Method) -> u16 {
    match *method {
        Method::GET => GET,
        Method::HEAD => HEAD,
        Method::POST => 1 << 2,
        Method::PUT => 1 << 3,
        Method::PATCH => 1 << 4,
        Method::DELETE => 1 << 5,
        Method::OPTIONS => 1 << 6,
        Method::CONNECT => 1 << 7,
        Method::TRACE => 1 << 8,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_method_fits_better_than_all() {
        let get = Methods::named(["GET"]);
        assert_eq!(get.fit(&Method::GET), Some(Fit::Named));
        assert_eq!(get.fit(&Method::HEAD), Some(Fit::HeadOfGet));
        assert_eq!(get.fit(&Method::POST), None);
        assert_eq!(Methods::named([]).fit(&Method::POST), Some(Fit::Any));
        assert_eq!(Methods::named([]).fit(&Method::from_bytes(b"BREW").unwrap()), Some(Fit::Any));
        assert!(Fit::Named < Fit::HeadOfGet && Fit::HeadOfGet < Fit::Any);
    }

    #[test]
    fn each_bit_has_its_name() {
        for name in NAMES {
            let methods = Methods::named([name]);
            assert_eq!(methods.fit(&name.parse().unwrap()), Some(Fit::Named), "{name}");
        }
        assert_eq!(Methods::named(["POST", "GET"]).allow(), "GET, HEAD, POST");
    }
}
