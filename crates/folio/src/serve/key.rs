//! A key that signs certificates: ECDSA on P-256, which every client knows.

use anyhow::{Result, anyhow};
use rcgen::{PKCS_ECDSA_P256_SHA256, PublicKeyData, SignatureAlgorithm, SigningKey};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use zeroize::Zeroizing;

/// A private key and what it is written as.
pub(super) struct Key {
    pair: EcdsaKeyPair,
    der: Zeroizing<Vec<u8>>,
}

impl Key {
    /// One that nobody has.
    pub(super) fn generate() -> Result<Self> {
        let der =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new());
        let der = der.map_err(|_| anyhow!("this machine gives no randomness for a key"))?;
        Self::new(der.as_ref().to_vec())
    }

    /// Reads one, PKCS #8 in DER.
    pub(super) fn new(der: Vec<u8>) -> Result<Self> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &der, &random);
        let pair = pair.map_err(|error| anyhow!("the key cannot be used: {error}"))?;
        Ok(Self { pair, der: Zeroizing::new(der) })
    }

    /// The key as it is written.
    pub(super) fn der(&self) -> &[u8] {
        &self.der
    }

    /// What its public half is known by.
    pub(super) fn digest(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, self.der_bytes()).as_ref());
        bytes
    }
}

impl PublicKeyData for Key {
    fn der_bytes(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_ECDSA_P256_SHA256
    }
}

impl SigningKey for Key {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let signature = self.pair.sign(&SystemRandom::new(), message);
        signature.map(|made| made.as_ref().to_vec()).map_err(|_| rcgen::Error::RemoteKeyError)
    }
}
