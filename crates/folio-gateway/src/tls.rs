//! The gateway's certificates: one that answers for everything, and those of hosts that have their own, chosen by the
//! name a client asks for. What was read from files can be replaced there while the gateway serves.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

/// Certificate chains and their keys, ready to be served with.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    chosen: Arc<Chosen>,
}

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
    /// One of several.
    #[error("the certificate of `{host}`: {reason}")]
    Of {
        /// The host.
        host: String,
        /// What is wrong with it.
        #[source]
        reason: Box<Self>,
    },
    /// A file cannot be read.
    #[error("cannot read `{}`: {reason}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: std::io::Error,
    },
}

/// The certificate for a name.
#[derive(Debug)]
struct Chosen {
    usual: ArcSwap<CertifiedKey>,
    by_host: ArcSwap<HashMap<String, Arc<CertifiedKey>>>,
    sources: Sources,
}

/// Where certificates lie.
#[derive(Debug, Clone, Default)]
struct Sources {
    /// The usual one and its key, if they lie anywhere.
    usual: Option<(PathBuf, PathBuf)>,
    /// Those of hosts, if they have any.
    directory: Option<PathBuf>,
}

impl Tls {
    /// Takes a certificate chain, the server's own first, and its private key, both in PEM.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        Self::new(certified(certificate, key)?, Sources::default())
    }

    /// As [`Tls::from_pem`], of files that are read again with [`Tls::reload`].
    pub fn from_files(certificate: PathBuf, key: PathBuf) -> Result<Self, TlsError> {
        let usual = read_pair(&certificate, &key)?;
        let sources = Sources { usual: Some((certificate, key)), directory: None };
        Self::new(usual, sources)
    }

    /// As well as it, takes `HOST.crt` and `HOST.key` from a directory for every host that has them there. A host may be
    /// `*.example.com`.
    pub fn with_directory(self, directory: PathBuf) -> Result<Self, TlsError> {
        let sources = Sources { directory: Some(directory), ..self.chosen.sources.clone() };
        let tls = Self::new(self.chosen.usual.load_full(), sources)?;
        tls.reload()?;
        Ok(tls)
    }

    fn new(usual: Arc<CertifiedKey>, sources: Sources) -> Result<Self, TlsError> {
        let (usual, by_host) = (ArcSwap::new(usual), ArcSwap::default());
        let chosen = Arc::new(Chosen { usual, by_host, sources });
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&chosen) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), chosen })
    }

    /// The directories in which something changes when a certificate is replaced.
    pub fn directories(&self) -> BTreeSet<&Path> {
        let Sources { usual, directory } = &self.chosen.sources;
        let files = usual.iter().flat_map(|(certificate, key)| [certificate, key]);
        let above = files
            .filter_map(|file| file.parent())
            .map(|above| if above.as_os_str().is_empty() { Path::new(".") } else { above });
        above.chain(directory.as_deref()).collect()
    }

    /// Reads all files again, and says how many hosts have certificates of their own. If anything makes no sense, all
    /// stays as it was. Connections that are open keep what they began with.
    pub fn reload(&self) -> Result<usize, TlsError> {
        let Sources { usual, directory } = &self.chosen.sources;
        let usual = usual.as_ref().map(|(certificate, key)| read_pair(certificate, key));
        let usual = usual.transpose()?;
        let by_host = directory.as_deref().map(read).transpose()?.unwrap_or_default();
        let count = by_host.len();
        self.chosen.by_host.store(Arc::new(by_host));
        if let Some(usual) = usual {
            self.chosen.usual.store(usual);
        }
        Ok(count)
    }

    pub(crate) fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl ResolvesServerCert for Chosen {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let found = hello.server_name().and_then(|host| self.of(host));
        Some(found.unwrap_or_else(|| self.usual.load_full()))
    }
}

impl Chosen {
    fn of(&self, host: &str) -> Option<Arc<CertifiedKey>> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let by_host = self.by_host.load();
        let above = || Some(format!("*.{}", host.split_once('.')?.1));
        by_host.get(&host).or_else(|| by_host.get(&above()?)).cloned()
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn unreadable(path: &Path) -> impl FnOnce(std::io::Error) -> TlsError + use<> {
    let path = path.to_owned();
    move |reason| TlsError::Unreadable { path, reason }
}

fn read_pair(certificate: &Path, key: &Path) -> Result<Arc<CertifiedKey>, TlsError> {
    let chain = std::fs::read(certificate).map_err(unreadable(certificate))?;
    certified(&chain, &std::fs::read(key).map_err(unreadable(key))?)
}

fn read(directory: &Path) -> Result<HashMap<String, Arc<CertifiedKey>>, TlsError> {
    let mut found = HashMap::new();
    for entry in std::fs::read_dir(directory).map_err(unreadable(directory))? {
        let path = entry.map_err(unreadable(directory))?.path();
        let host = path.file_stem().and_then(|name| name.to_str());
        let (Some(host), Some("crt")) = (host, path.extension().and_then(|end| end.to_str()))
        else {
            continue;
        };
        let (host, key) = (host.to_ascii_lowercase(), path.with_extension("key"));
        let certificate = std::fs::read(&path).map_err(unreadable(&path))?;
        let key = std::fs::read(&key).map_err(unreadable(&key))?;
        let of = |reason| TlsError::Of { host: host.clone(), reason: Box::new(reason) };
        let certified = certified(&certificate, &key).map_err(of)?;
        found.insert(host, certified);
    }
    Ok(found)
}

fn certified(certificate: &[u8], key: &[u8]) -> Result<Arc<CertifiedKey>, TlsError> {
    let chain = CertificateDer::pem_slice_iter(certificate)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| TlsError::Certificate(error.to_string()))?;
    if chain.is_empty() {
        return Err(TlsError::Certificate("it holds no CERTIFICATE section".to_owned()));
    }
    let key =
        PrivateKeyDer::from_pem_slice(key).map_err(|error| TlsError::Key(error.to_string()))?;
    Ok(Arc::new(CertifiedKey::from_der(chain, key, &provider())?))
}
