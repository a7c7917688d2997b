//! What builders learn about the host: how it reaches package registries. Nothing else of its environment.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::jail::Mount;

/// Variables by name.
const NAMES: [&str; 18] = [
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "GOPROXY",
    "GOSUMDB",
    "CARGO_HTTP_CAINFO",
    "UV_INDEX_URL",
];

/// Variables by how their names begin.
const PREFIXES: [&str; 3] = ["PIP_", "NPM_CONFIG_", "npm_config_"];

/// Files that hold for the whole host.
const FILES: [&str; 3] = ["/etc/pip.conf", "/etc/npmrc", "/etc/gitconfig"];

/// Files of the user who runs the server: where below home, where builders see it, and which variable says so.
const USER_FILES: [(&str, &str, &str); 3] = [
    (".config/pip/pip.conf", "/run/folio/pip.conf", "PIP_CONFIG_FILE"),
    (".pip/pip.conf", "/run/folio/pip.conf", "PIP_CONFIG_FILE"),
    (".npmrc", "/run/folio/npmrc", "NPM_CONFIG_USERCONFIG"),
];

/// How the host reaches package registries.
///
/// Whoever may build can read what is in here, tokens for registries included.
#[derive(Debug, Clone, Default)]
pub struct BuildHost {
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) mounts: Vec<Mount>,
}

impl BuildHost {
    /// Picks from the variables of the process, and finds the files they and the conventions name.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut host = Self::default();
        let mut home = None;
        for (name, value) in variables {
            match name.to_str() {
                Some("HOME") => home = Some(PathBuf::from(value)),
                Some(text) if passes(text) => host.variables.push((name, value)),
                _ => {}
            }
        }
        let named: Vec<PathBuf> =
            host.variables.iter().flat_map(|(_, value)| paths(value)).collect();
        let fixed = FILES.iter().map(PathBuf::from);
        for path in named.into_iter().chain(fixed).filter(|path| path.exists()) {
            host.mount(path.clone(), path);
        }
        if let Some(home) = home {
            host.take_user_files(&home);
        }
        host
    }

    fn take_user_files(&mut self, home: &Path) {
        for (from, to, variable) in USER_FILES {
            let from = home.join(from);
            let is_set = self.variables.iter().any(|(name, _)| {
                name.to_str().is_some_and(|name| name.eq_ignore_ascii_case(variable))
            });
            if from.is_file() && !is_set {
                self.mount(from, PathBuf::from(to));
                self.variables.push((variable.into(), to.into()));
            }
        }
    }

    fn mount(&mut self, from: PathBuf, to: PathBuf) {
        if !self.mounts.iter().any(|mount| mount.to == to) {
            self.mounts.push(Mount { from, to });
        }
    }
}

fn passes(name: &str) -> bool {
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The absolute paths in a value, which may be a list.
fn paths(value: &OsStr) -> impl Iterator<Item = PathBuf> {
    let text = value.to_str().unwrap_or_default().to_owned();
    let words: Vec<PathBuf> = text
        .split([' ', ':', ','])
        .filter(|word| word.starts_with('/') && word.len() > 1)
        .map(PathBuf::from)
        .collect();
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_are_known_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(".npmrc"), "registry=x").unwrap();
        let wheels = home.path().join("wheels");
        std::fs::create_dir(&wheels).unwrap();
        let variables = [
            ("HOME", home.path().as_os_str()),
            ("PIP_FIND_LINKS", wheels.as_os_str()),
            ("https_proxy", OsStr::new("http://proxy:3128")),
            ("AWS_SECRET_ACCESS_KEY", OsStr::new("secret")),
        ];
        let host = BuildHost::new(variables.map(|(name, value)| (name.into(), value.into())));
        let names: Vec<_> = host.variables.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["PIP_FIND_LINKS", "https_proxy", "NPM_CONFIG_USERCONFIG"]);
        let seen = |path: &Path| host.mounts.iter().any(|mount| mount.to == path);
        assert!(seen(&wheels) && seen(Path::new("/run/folio/npmrc")));
    }
}
