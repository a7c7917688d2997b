//! What a function is given of the configs and secrets it froze: environment variables, and files. The only place
//! where values of secrets are opened.

use std::path::{Path, PathBuf};

use folio_model::{AppName, FunctionSpec, Kind, MountPin, Snapshot, text_of};

use crate::ports::runtime::{PlanFile, Variables};
use crate::ports::{Plaintext, SecretPlace, State, StoreError, Vault, VaultError};
use crate::view;

/// Variables and files of one function.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    pub(super) variables: Variables,
    pub(super) files: Vec<PlanFile>,
}

/// A variable longer than this is left to its file.
const VARIABLE_BYTES_MAX: usize = 32 * 1024;

/// Opens what a function froze. Of two variables of one name a secret's counts, and before that its own.
pub(super) fn open(
    state: &dyn State,
    vault: &dyn Vault,
    app: &AppName,
    spec: &FunctionSpec,
) -> Result<Result<Delivery, VaultError>, StoreError> {
    let mut delivery = Delivery::default();
    for pin in &spec.configs {
        let Snapshot::Config(config) = view::snapshot(state, pin.snapshot)? else {
            return Err(StoreError::corrupt(format!("config snapshot {}", pin.snapshot)));
        };
        let directory = directory(app, Kind::Config, pin);
        for (key, value) in config.leaves() {
            let value = Plaintext::new(text_of(value).into_bytes());
            delivery.add(&directory, &key, &key.replace('.', "_"), value);
        }
    }
    for pin in &spec.secrets {
        let Snapshot::Secret(secret) = view::snapshot(state, pin.snapshot)? else {
            return Err(StoreError::corrupt(format!("secret snapshot {}", pin.snapshot)));
        };
        let directory = directory(app, Kind::Secret, pin);
        for (key, sealed) in &secret.keys {
            let place = SecretPlace { app, secret: &pin.name, key };
            match vault.open(place, sealed) {
                Ok(value) => delivery.add(&directory, key.as_str(), key.as_str(), value),
                Err(error) => return Ok(Err(error)),
            }
        }
    }
    delivery.variables.extend(spec.run.variables.clone());
    Ok(Ok(delivery))
}

/// Where Fission has them, or where the function wants them.
fn directory(app: &AppName, kind: Kind, pin: &MountPin) -> PathBuf {
    match &pin.mount_path {
        Some(path) => PathBuf::from(path),
        None => Path::new("/").join(kind.plural()).join(app.as_str()).join(pin.name.as_str()),
    }
}

impl Delivery {
    fn add(&mut self, directory: &Path, key: &str, variable: &str, value: Plaintext) {
        if let Ok(text) = str::from_utf8(value.expose())
            && is_variable(variable, text)
        {
            self.variables.insert(variable.to_owned(), text.to_owned());
        }
        self.files.push(PlanFile { path: directory.join(key), bytes: value });
    }
}

/// Whether a process can have this variable, and folio does not keep it for itself.
fn is_variable(name: &str, value: &str) -> bool {
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let own = name.starts_with("FOLIO_");
    begins && plain && !own && value.len() <= VARIABLE_BYTES_MAX && !value.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_process_can_have_becomes_a_variable() {
        assert!(is_variable("db_pool_size", "5"));
        assert!(is_variable("_A1", ""));
        for odd in ["", "1a", "a-b", "a.b", "FOLIO_INVOKE", "ä"] {
            assert!(!is_variable(odd, "5"), "{odd}");
        }
        assert!(!is_variable("a", "zero\0byte"));
        assert!(!is_variable("a", &"x".repeat(VARIABLE_BYTES_MAX + 1)));
    }
}
