//! TLS of the control port. A port that other machines can reach always has it, unless the operator insists: with the
//! operator's certificate, read again when its files change, or with one of the server's own authority, made for the
//! address that a client has come to and made anew long before it ends.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result};
use folio_api::Encryption;
use folio_core::ports::Clock;
use folio_model::Timestamp;
use jiff::SignedDuration;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::authority::{Authority, server};

/// How long a certificate of the server's own lasts.
pub(super) const LASTS: SignedDuration = SignedDuration::from_hours(90 * 24);

/// Certificates kept at once: one for each address of this machine that clients come to.
const KEPT_MAX: usize = 64;

/// How a control port is secured.
pub(crate) enum Secured {
    /// Not at all, because nobody is in between.
    Not,
    /// With the certificate and key in these files.
    Given {
        /// The chain, the server's own first.
        certificate: PathBuf,
        /// Its key.
        key: PathBuf,
    },
    /// With certificates of the data directory's authority.
    Own {
        /// Names that they hold for besides the obvious ones.
        names: Vec<String>,
        /// How long each lasts.
        lasts: SignedDuration,
    },
}

impl Secured {
    /// Reads or makes what is needed.
    pub(super) fn open(self, data: &Path, clock: &Arc<dyn Clock>) -> Result<Option<Encryption>> {
        match self {
            Self::Not => Ok(None),
            Self::Given { certificate, key } => given(certificate, key).map(Some),
            Self::Own { names, lasts } => own(data, &names, lasts, Arc::clone(clock)).map(Some),
        }
    }
}

/// Certificates of the server's own.
struct Own {
    authority: Authority,
    names: Vec<String>,
    lasts: SignedDuration,
    clock: Arc<dyn Clock>,
    kept: Mutex<HashMap<IpAddr, Kept>>,
}

/// A certificate, and when to make the next.
struct Kept {
    renewed_at: Timestamp,
    config: Arc<ServerConfig>,
}

/// Shows certificates of the authority of a data directory. They hold for the address that a client has come to, for
/// this machine's names and for those that are given.
fn own(
    data: &Path,
    names: &[String],
    lasts: SignedDuration,
    clock: Arc<dyn Clock>,
) -> Result<Encryption> {
    let authority = Authority::open(data, clock.now())?;
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut all = vec!["localhost".to_owned()];
    let fits = rcgen::string::Ia5String::try_from(host.as_str()).is_ok() && !host.is_empty();
    all.extend([host].into_iter().filter(|_| fits));
    all.extend(names.iter().cloned());
    let own = Own { authority, names: all, lasts, clock, kept: Mutex::default() };
    // What cannot be certified is said at once, not to the first who comes.
    own.certify(IpAddr::from([127, 0, 0, 1])).context("cannot certify the names of this server")?;
    Ok(Arc::new(move |at| own.of(at)))
}

impl Own {
    fn of(&self, at: IpAddr) -> Option<Arc<ServerConfig>> {
        let now = self.clock.now();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept.get(&at).filter(|found| now < found.renewed_at) {
            return Some(Arc::clone(&found.config));
        }
        match self.certify(at) {
            Ok((config, renewed_at)) => {
                if kept.len() >= KEPT_MAX {
                    kept.clear();
                }
                kept.insert(at, Kept { renewed_at, config: Arc::clone(&config) });
                Some(config)
            }
            Err(error) => {
                tracing::error!("Cannot certify {at}: {error:#}");
                kept.get(&at).map(|found| Arc::clone(&found.config))
            }
        }
    }

    fn certify(&self, at: IpAddr) -> Result<(Arc<ServerConfig>, Timestamp)> {
        let now = self.clock.now();
        let mut names = self.names.clone();
        names.push(at.to_string());
        names.dedup();
        let config = self.authority.certify(&names, now, self.lasts)?;
        Ok((config, now.checked_add(self.lasts * 2 / 3)?))
    }
}

/// A certificate that an operator brings.
struct Given {
    certificate: PathBuf,
    key: PathBuf,
    shown: Mutex<Shown>,
}

/// What is shown, and when its files were written.
struct Shown {
    written: [Option<SystemTime>; 2],
    config: Arc<ServerConfig>,
}

/// Shows the certificate in two files, both in PEM.
fn given(certificate: PathBuf, key: PathBuf) -> Result<Encryption> {
    let shown = Shown { written: written(&certificate, &key), config: read(&certificate, &key)? };
    let given = Given { certificate, key, shown: Mutex::new(shown) };
    Ok(Arc::new(move |_| Some(given.config())))
}

impl Given {
    fn config(&self) -> Arc<ServerConfig> {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let written = written(&self.certificate, &self.key);
        if written != shown.written {
            shown.written = written;
            match read(&self.certificate, &self.key) {
                Ok(config) => shown.config = config,
                // One of the files may be written before the other; what is shown stays.
                Err(error) => tracing::warn!("The certificate stays as it is: {error:#}"),
            }
        }
        Arc::clone(&shown.config)
    }
}

fn written(certificate: &Path, key: &Path) -> [Option<SystemTime>; 2] {
    [certificate, key].map(|path| std::fs::metadata(path).and_then(|about| about.modified()).ok())
}

fn read(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>> {
    let unreadable = |path: &Path| format!("cannot read `{}`", path.display());
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| unreadable(certificate))?;
    let own = PrivateKeyDer::from_pem_file(key).with_context(|| unreadable(key))?;
    server(chain, own).with_context(|| {
        let (certificate, key) = (certificate.display(), key.display());
        format!("the certificate in `{certificate}` cannot be used with the key in `{key}`")
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    #[derive(Default)]
    struct Hand(AtomicI64);

    impl Clock for Hand {
        fn now(&self) -> Timestamp {
            Timestamp::from_second(1_800_000_000 + self.0.load(Ordering::Relaxed)).unwrap()
        }

        fn chance(&self) -> [u8; 32] {
            [0; 32]
        }
    }

    #[test]
    fn a_certificate_is_replaced_before_it_ends_and_not_sooner() {
        let (data, clock) = (tempfile::tempdir().unwrap(), Arc::new(Hand::default()));
        let lasts = SignedDuration::from_secs(300);
        let own = own(data.path(), &[], lasts, clock.clone()).unwrap();
        let here = IpAddr::from([127, 0, 0, 1]);
        let first = own(here).unwrap();
        clock.0.store(199, Ordering::Relaxed);
        assert!(Arc::ptr_eq(&first, &own(here).unwrap()));
        clock.0.store(201, Ordering::Relaxed);
        assert!(!Arc::ptr_eq(&first, &own(here).unwrap()));
        let there = own(IpAddr::from([127, 0, 0, 2])).unwrap();
        assert!(!Arc::ptr_eq(&there, &own(here).unwrap()));
    }

    #[test]
    fn a_name_that_no_certificate_can_hold_is_refused_at_the_start() {
        let (data, clock) = (tempfile::tempdir().unwrap(), Arc::new(Hand::default()));
        let refused = own(data.path(), &["größe".to_owned()], LASTS, clock);
        assert!(refused.is_err());
    }
}
