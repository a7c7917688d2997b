//! The gateway's own certificate.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// A certificate chain and its key, ready to be served with.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

/// Why a certificate cannot be served with.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The certificate file holds none.
    #[error("the certificate is not one: {0}")]
    Certificate(String),
    /// The key file holds none.
    #[error("the private key is not one: {0}")]
    Key(String),
    /// They do not go together.
    #[error("the certificate and its key cannot be used: {0}")]
    Pair(#[from] rustls::Error),
}

impl Tls {
    /// Takes a certificate chain, the server's own first, and its private key, both in PEM.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let chain = CertificateDer::pem_slice_iter(certificate)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| TlsError::Certificate(error.to_string()))?;
        if chain.is_empty() {
            return Err(TlsError::Certificate("it holds no CERTIFICATE section".to_owned()));
        }
        let key =
            PrivateKeyDer::from_pem_slice(key).map_err(|error| TlsError::Key(error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    pub(crate) fn acceptor(&self) -> &TlsAcceptor {
        &self.0
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}
