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

    /// The token to show a server: the one given, else the admin token of the data directory, which no other
    /// machine gets to see.
    pub(crate) fn token(&self, url: &str) -> Result<Option<String>> {
        match (&self.token, &self.data) {
            (Some(token), _) => Ok(Some(token.clone())),
            (None, Some(data)) if is_this_machine(url) => read_token(&admin_token(data)),
            (None, _) => Ok(None),
        }
    }
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

    #[test]
    fn the_admin_token_stays_on_this_machine() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(admin_token(directory.path()), "secret\n").unwrap();
        let config = Config { data: Some(directory.path().to_owned()), ..Config::default() };
        for url in
            ["http://127.0.0.1:7070", "http://localhost:1", "http://[::1]:7070", "http://127.9.9.9"]
        {
            assert_eq!(config.token(url).unwrap().as_deref(), Some("secret"), "{url}");
        }
        for url in
            ["http://example.com", "http://10.0.0.1", "http://127.0.0.1.example.com", "nonsense"]
        {
            assert_eq!(config.token(url).unwrap(), None, "{url}");
        }
        let config = Config { token: Some("given".to_owned()), ..config };
        assert_eq!(config.token("http://example.com").unwrap().as_deref(), Some("given"));
    }
}
