//! What the environment says. The only module that reads it; everything else is handed a [`Config`].

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::problem::Problem;

const URL: &str = "http://127.0.0.1:7070";

/// The environment of one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Config {
    /// `FOLIO_URL`.
    pub(crate) url: Option<String>,
    /// `FOLIO_TOKEN`.
    pub(crate) token: Option<String>,
    /// `FOLIO_CA`.
    pub(crate) ca: Option<PathBuf>,
    /// The data directory: `FOLIO_DATA`, or where such things live.
    pub(crate) data: Option<PathBuf>,
    /// `FOLIO_SECRET_KEY_FILE`.
    pub(crate) secret_key: Option<PathBuf>,
    /// Where caches live.
    pub(crate) cache: Option<PathBuf>,
    /// `FOLIO_NATS`.
    pub(crate) nats: Option<String>,
    /// `FOLIO_CRASH`, which development builds obey.
    pub(crate) crash: Option<String>,
    /// `FOLIO_FAULT`, which development builds obey.
    pub(crate) fault: Option<String>,
}

impl Config {
    /// Reads the environment.
    pub(crate) fn from_environment() -> Self {
        let data = variable("FOLIO_DATA").map(PathBuf::from);
        let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")));
        let shared = || Some(PathBuf::from(variable("XDG_DATA_HOME")?).join("folio"));
        let home = || Some(PathBuf::from(variable("HOME")?).join(".local/share/folio"));
        Self {
            url: text("FOLIO_URL"),
            // An empty one is nobody's: whoever set it does not want the admin's.
            token: of_user("FOLIO_TOKEN").ok(),
            ca: variable("FOLIO_CA").map(PathBuf::from),
            data: data.or_else(shared).or_else(home),
            secret_key: variable("FOLIO_SECRET_KEY_FILE").map(PathBuf::from),
            cache: cache.map(|caches| caches.join("folio")),
            nats: text("FOLIO_NATS"),
            crash: text("FOLIO_CRASH"),
            fault: text("FOLIO_FAULT"),
        }
    }

    /// The server to talk to.
    pub(crate) fn url(&self, flag: Option<&str>) -> String {
        let url = flag.or(self.url.as_deref()).unwrap_or(URL);
        url.trim_end_matches('/').to_owned()
    }

    /// The data directory to work on.
    pub(crate) fn data(&self, flag: Option<PathBuf>) -> Result<PathBuf> {
        flag.or_else(|| self.data.clone()).ok_or_else(|| {
            Problem::new("no data directory is known").hint("name one with --data DIR").into()
        })
    }

    /// How to come to a server: whom to trust, and which token to show. The admin token of the data directory is
    /// shown to nobody but this machine, or a server that proves to have the directory's authority.
    pub(crate) fn access(&self, url: &str, ca: Option<&Path>) -> Result<Access> {
        let own = self.data.as_deref().map(authority).filter(|path| path.exists());
        let admin = || match &self.data {
            Some(data) => read_token(&admin_token(data)),
            None => Ok(None),
        };
        let is_secure = url.starts_with("https://");
        let given = ca.or(self.ca.as_deref()).filter(|_| is_secure);
        let token = self.token.clone();
        let (ca, trusts_others) = match (given, own.filter(|_| is_secure)) {
            (Some(given), _) => (Some(given.to_owned()), false),
            // Whoever gives a token chose the server; without one, it has to be the directory's.
            (None, Some(own)) => (Some(own), token.is_some()),
            (None, None) => (None, is_secure),
        };
        let ca = ca.map(|path| {
            std::fs::read(&path)
                .with_context(|| format!("cannot read the authority in `{}`", path.display()))
        });
        let ca = ca.transpose()?;
        let own = self.data.as_deref().and_then(|data| std::fs::read(authority(data)).ok());
        let is_proved = !trusts_others && ca.is_some() && ca == own;
        let token = match token {
            Some(token) => Some(token),
            None if is_proved || is_this_machine(url) => admin()?,
            None => None,
        };
        Ok(Access { token, ca, trusts_others })
    }
}

/// How to come to a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Access {
    /// The token to show.
    pub(crate) token: Option<String>,
    /// Certificates to trust, in PEM.
    pub(crate) ca: Option<Vec<u8>>,
    /// Whether to trust whom this machine trusts, too.
    pub(crate) trusts_others: bool,
}

/// Where a data directory keeps the certificate of its authority.
pub(crate) fn authority(data: &Path) -> PathBuf {
    data.join("ca.crt")
}

/// Where a data directory keeps the key of its authority.
pub(crate) fn authority_key(data: &Path) -> PathBuf {
    data.join("ca.key")
}

/// Where a data directory keeps its admin token.
pub(crate) fn admin_token(data: &Path) -> PathBuf {
    data.join("admin.token")
}

/// Reads a token file, if it is there.
pub(crate) fn read_token(path: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(error).with_context(|| format!("cannot read the token in `{}`", path.display()))
        }
    }
}

fn is_this_machine(url: &str) -> bool {
    let url = reqwest::Url::parse(url).ok();
    let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// A variable that a user named.
#[expect(clippy::disallowed_methods, reason = "this module is where the environment is read")]
pub(crate) fn of_user(name: &str) -> Result<String, std::env::VarError> {
    std::env::var(name)
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn text(name: &str) -> Option<String> {
    variable(name).map(|value| value.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(config: &Config, url: &str) -> Option<String> {
        config.access(url, None).unwrap().token
    }

    #[test]
    fn a_server_has_to_prove_that_it_is_the_directorys() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(admin_token(directory.path()), "secret\n").unwrap();
        std::fs::write(authority(directory.path()), "ours").unwrap();
        let config = Config { data: Some(directory.path().to_owned()), ..Config::default() };
        let (ours, secret) = (Some(b"ours".to_vec()), Some("secret".to_owned()));
        let far = "https://example.com";
        let expected = Access { token: secret, ca: ours.clone(), trusts_others: false };
        assert_eq!(config.access(far, None).unwrap(), expected);
        let other = directory.path().join("other.crt");
        std::fs::write(&other, "theirs").unwrap();
        let expected = Access { token: None, ca: Some(b"theirs".to_vec()), trusts_others: false };
        assert_eq!(config.access(far, Some(&other)).unwrap(), expected);
        let config = Config { token: Some("given".to_owned()), ..config };
        let given = Some("given".to_owned());
        let expected = Access { token: given, ca: ours, trusts_others: true };
        assert_eq!(config.access(far, None).unwrap(), expected);
    }

    #[test]
    fn the_admin_token_stays_on_this_machine() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(admin_token(directory.path()), "secret\n").unwrap();
        let config = Config { data: Some(directory.path().to_owned()), ..Config::default() };
        for url in
            ["http://127.0.0.1:7070", "http://localhost:1", "http://[::1]:7070", "http://127.9.9.9"]
        {
            assert_eq!(token(&config, url).as_deref(), Some("secret"), "{url}");
        }
        for url in
            ["http://example.com", "http://10.0.0.1", "http://127.0.0.1.example.com", "nonsense"]
        {
            assert_eq!(token(&config, url), None, "{url}");
        }
        let config = Config { token: Some("given".to_owned()), ..config };
        assert_eq!(token(&config, "http://example.com").as_deref(), Some("given"));
    }
}
