//! HTTP clients, all made here: the TLS they speak has one provider, and whom they trust is read only where it matters.

use std::sync::Arc;

use anyhow::Context as _;
use reqwest::ClientBuilder;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

/// A client for addresses on this machine or in a trusted network, in plain text.
pub(crate) fn plain() -> ClientBuilder {
    with_roots(RootCertStore::empty()).no_proxy()
}

/// A client that trusts certificates in PEM, and perhaps whom this machine trusts.
pub(crate) fn trusting(ca: Option<&[u8]>, trusts_others: bool) -> anyhow::Result<ClientBuilder> {
    let mut roots = RootCertStore::empty();
    if trusts_others {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    for certificate in ca.into_iter().flat_map(CertificateDer::pem_slice_iter) {
        let problem = "the authority's file holds something else than certificates";
        roots.add(certificate.context(problem)?).context(problem)?;
    }
    Ok(with_roots(roots).no_proxy())
}

/// A client for addresses anywhere. Trusts whom this machine trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` name others.
pub(crate) fn anywhere() -> ClientBuilder {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    with_roots(roots)
}

fn with_roots(roots: RootCertStore) -> ClientBuilder {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has suites for both protocol versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    reqwest::Client::builder().tls_backend_preconfigured(config)
}
