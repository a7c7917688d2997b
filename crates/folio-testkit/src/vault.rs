//! A vault for tests: seals for nobody's eyes but the tests', and always alike. Never for a server.

use folio_core::ports::{Plaintext, SecretPlace, Vault, VaultError};
use folio_model::{Ciphertext, Digest, Fingerprint, Sealed};

/// Seals by writing the place before the value, everything inverted.
#[derive(Debug, Clone, Copy, Default)]
pub struct TestVault;

impl Vault for TestVault {
    fn seal(&self, place: SecretPlace<'_>, value: &Plaintext) -> Result<Sealed, VaultError> {
        let sealed = [prefix(place).as_bytes(), value.expose()].concat();
        let sealed = sealed.into_iter().map(|byte| !byte).collect();
        let fingerprint = Fingerprint::of(Digest::of(value.expose()).as_bytes());
        Ok(Sealed { fingerprint, sealed: Some(Ciphertext(sealed)) })
    }

    fn open(&self, place: SecretPlace<'_>, sealed: &Sealed) -> Result<Plaintext, VaultError> {
        let sealed = sealed.sealed.as_ref().map(|sealed| sealed.0.as_slice()).unwrap_or_default();
        let opened: Vec<u8> = sealed.iter().map(|byte| !byte).collect();
        let value = opened.strip_prefix(prefix(place).as_bytes());
        value.map(|value| Plaintext::new(value.to_vec())).ok_or_else(|| VaultError::Wrong {
            app: place.app.clone(),
            secret: place.secret.clone(),
            path: "test".into(),
        })
    }
}

fn prefix(place: SecretPlace<'_>) -> String {
    format!("{}/{}/{}:", place.app, place.secret, place.key)
}
