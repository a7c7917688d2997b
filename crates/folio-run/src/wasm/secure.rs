//! TLS to other machines, trusted as this machine's own certificate store says.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use wasmtime_wasi_http::Error;

/// Speaks TLS on a connection to a host whose certificate this machine trusts.
pub(super) async fn secure(stream: TcpStream, host: &str) -> Result<TlsStream<TcpStream>, Error> {
    static TRUSTED: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let trusted = match TRUSTED.get() {
        Some(trusted) => trusted,
        None => {
            let read = tokio::task::spawn_blocking(|| configure(machine_roots())).await;
            let read = read.map_err(|error| Error::Tls(io::Error::other(error)))?;
            TRUSTED.get_or_init(|| read)
        }
    };
    shake(stream, host, Arc::clone(trusted)).await
}

async fn shake(
    stream: TcpStream,
    host: &str,
    trusted: Arc<ClientConfig>,
) -> Result<TlsStream<TcpStream>, Error> {
    let name = ServerName::try_from(host.to_owned()).map_err(|_| Error::HttpRequestUriInvalid)?;
    TlsConnector::from(trusted).connect(name, stream).await.map_err(|error| {
        let told = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match told {
            Some(rustls::Error::InvalidCertificate(_)) => Error::TlsCertificateError,
            _ => Error::Tls(error),
        }
    })
}

/// The authorities this machine trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` name others.
fn machine_roots() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "Some of this machine's certificates cannot be read");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    roots
}

fn configure(roots: RootCertStore) -> Arc<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has suites for both protocol versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

#[cfg(test)]
mod tests {
    use rustls::ServerConfig;
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    const CERTIFICATE: &[u8] = include_bytes!("../../tests/fixtures/certificate.pem");
    const KEY: &[u8] = include_bytes!("../../tests/fixtures/key.pem");

    fn certificate() -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(CERTIFICATE).unwrap()
    }

    /// Connects to a server that says hello to whoever trusts it.
    async fn hear(host: &str, roots: RootCertStore) -> Result<String, Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate()], PrivateKeyDer::from_pem_slice(KEY).unwrap())
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serve = async {
            let (stream, _) = listener.accept().await.unwrap();
            if let Ok(mut stream) = TlsAcceptor::from(Arc::new(server)).accept(stream).await {
                stream.write_all(b"hello").await.unwrap();
                stream.shutdown().await.unwrap();
            }
        };
        let ask = async {
            let stream = TcpStream::connect(address).await.unwrap();
            let mut stream = shake(stream, host, configure(roots)).await?;
            let mut said = String::new();
            stream.read_to_string(&mut said).await.unwrap();
            Ok(said)
        };
        tokio::join!(serve, ask).1
    }

    #[tokio::test]
    async fn only_hosts_with_a_trusted_certificate_are_spoken_to() {
        let mut trusting = RootCertStore::empty();
        trusting.add(certificate()).unwrap();
        assert_eq!(hear("localhost", trusting.clone()).await.unwrap(), "hello");
        let mistrusted = [("wrong.test", trusting), ("localhost", RootCertStore::empty())];
        for (host, roots) in mistrusted {
            let refused = hear(host, roots).await.unwrap_err();
            assert!(matches!(refused, Error::TlsCertificateError), "{host}: {refused:?}");
        }
    }
}
