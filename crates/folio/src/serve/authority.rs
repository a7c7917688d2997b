//! The server's own authority: a key and a certificate in the data directory, which sign the certificates of the control
//! port. Clients that trust `ca.crt` know this server again, whatever address it has.

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::net::IpAddr;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use folio_core::crash;
use folio_model::Timestamp;
use jiff::SignedDuration;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyIdMethod, KeyUsagePurpose, SanType, SerialNumber,
};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use time::OffsetDateTime;

use super::key::Key;
use crate::config;
use crate::problem::Problem;

/// How long the authority is trusted. Whoever wants another removes its files.
const LASTS: SignedDuration = SignedDuration::from_hours(20 * 365 * 24);

/// How far clocks may differ.
const AHEAD: SignedDuration = SignedDuration::from_hours(1);

const PRIVATE: u32 = 0o600;
const PUBLIC: u32 = 0o644;

/// Signs certificates.
pub(super) struct Authority {
    issuer: Issuer<'static, Key>,
}

impl Authority {
    /// The authority of a data directory, made if there is none.
    pub(super) fn open(data: &Path, now: Timestamp) -> Result<Self> {
        let (certificate, key) = (config::authority(data), config::authority_key(data));
        let pair = match fs::read(&key) {
            Ok(pem) => {
                fs::set_permissions(&key, Permissions::from_mode(PRIVATE))?;
                read_key(&pem).with_context(|| unusable(&key))?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // A certificate without its key is of no use to anybody.
                drop(fs::remove_file(&certificate));
                let pair = Key::generate()?;
                write(&key, &pem("PRIVATE KEY", pair.der()), PRIVATE)?;
                pair
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read `{}`", key.display()));
            }
        };
        let parameters = parameters(&pair, now)?;
        if !certificate.exists() {
            let made = parameters.self_signed(&pair)?;
            write(&certificate, &pem("CERTIFICATE", made.der()), PUBLIC)?;
        }
        Ok(Self { issuer: Issuer::new(parameters, pair) })
    }

    /// A certificate for some names, as a server shows it, for as long as it says.
    pub(super) fn certify(
        &self,
        names: &[String],
        from: Timestamp,
        lasts: SignedDuration,
    ) -> Result<Arc<ServerConfig>> {
        let pair = Key::generate()?;
        let mut parameters = numbered(&pair);
        let names = names.iter().map(|name| match name.parse::<IpAddr>() {
            Ok(address) => Ok(SanType::IpAddress(address)),
            Err(_) => name.as_str().try_into().map(SanType::DnsName),
        });
        parameters.subject_alt_names = names.collect::<Result<_, _>>()?;
        parameters.distinguished_name = named("folio control port".to_owned());
        parameters.not_before = moment(from.checked_sub(AHEAD)?)?;
        parameters.not_after = moment(from.checked_add(lasts)?)?;
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        parameters.use_authority_key_identifier_extension = true;
        let certificate = parameters.signed_by(&pair, &self.issuer)?;
        let key = PrivatePkcs8KeyDer::from(pair.der().to_vec());
        server(vec![certificate.der().clone()], key.into())
    }
}

/// How a server speaks that has this certificate.
pub(super) fn server(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// What the authority says of itself. Two that have the same key say the same, so the certificate need not be read.
fn parameters(pair: &Key, now: Timestamp) -> Result<CertificateParams> {
    let mut parameters = numbered(pair);
    parameters.distinguished_name =
        named(format!("folio authority {}", hex::encode(&pair.digest()[..8])));
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    parameters.not_before = moment(now.checked_sub(AHEAD)?)?;
    parameters.not_after = moment(now.checked_add(LASTS)?)?;
    Ok(parameters)
}

/// What identifies a certificate: every key has one.
fn numbered(pair: &Key) -> CertificateParams {
    let mut digest = pair.digest()[..20].to_vec();
    let mut parameters = CertificateParams::default();
    parameters.key_identifier_method = KeyIdMethod::PreSpecified(digest.clone());
    // A serial number is positive.
    digest[0] &= 0x7f;
    parameters.serial_number = Some(SerialNumber::from(digest));
    parameters
}

fn named(name: String) -> DistinguishedName {
    let mut named = DistinguishedName::new();
    named.push(DnType::CommonName, name);
    named
}

fn moment(at: Timestamp) -> Result<OffsetDateTime> {
    Ok(OffsetDateTime::from_unix_timestamp(at.as_second())?)
}

fn read_key(pem: &[u8]) -> Result<Key> {
    match PrivateKeyDer::from_pem_slice(pem)? {
        PrivateKeyDer::Pkcs8(key) => Key::new(key.secret_pkcs8_der().to_vec()),
        _ => bail!("it is no key in PKCS #8"),
    }
}

fn unusable(path: &Path) -> Problem {
    let problem = Problem::new(format!("`{}` does not hold the authority's key", path.display()));
    problem.hint("restore it, or remove it: the next start makes a new authority, which clients have to be told of")
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64.encode(der);
    let lines = text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned());
    let lines: Vec<_> = lines.collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// Writes a file whole or not at all.
fn write(path: &Path, text: &str, mode: u32) -> Result<()> {
    let unfinished = path.with_extension("unfinished");
    // What a killed start left here was never used.
    if unfinished.exists() {
        fs::remove_file(&unfinished)?;
    }
    let mut file = File::options().write(true).create_new(true).mode(mode).open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    crash::point("authority.written");
    fs::rename(&unfinished, path)?;
    let directory = path.parent().context("it lies in a directory")?;
    Ok(File::open(directory)?.sync_all()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap()
    }

    #[test]
    fn the_authority_stays_the_same_and_its_key_is_private() {
        let data = tempfile::tempdir().unwrap();
        drop(Authority::open(data.path(), now()).unwrap());
        let read = || {
            let certificate = fs::read(config::authority(data.path())).unwrap();
            (certificate, fs::read(config::authority_key(data.path())).unwrap())
        };
        let before = read();
        let key = config::authority_key(data.path());
        fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
        drop(Authority::open(data.path(), now()).unwrap());
        assert_eq!(read(), before);
        assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, PRIVATE);
    }

    #[test]
    fn a_lost_certificate_is_written_again_and_a_lost_key_begins_anew() {
        let data = tempfile::tempdir().unwrap();
        drop(Authority::open(data.path(), now()).unwrap());
        let certificate = config::authority(data.path());
        let before = fs::read(&certificate).unwrap();
        fs::remove_file(&certificate).unwrap();
        drop(Authority::open(data.path(), now()).unwrap());
        assert!(certificate.exists());
        fs::remove_file(config::authority_key(data.path())).unwrap();
        drop(Authority::open(data.path(), now()).unwrap());
        assert_ne!(fs::read(&certificate).unwrap(), before);
    }

    #[test]
    fn a_damaged_key_is_an_error_that_says_what_to_do() {
        let data = tempfile::tempdir().unwrap();
        fs::write(config::authority_key(data.path()), "nonsense").unwrap();
        let error = Authority::open(data.path(), now()).err().unwrap();
        let problem = error.downcast_ref::<Problem>().unwrap();
        assert!(problem.hint.as_deref().unwrap().contains("remove it"), "{problem:?}");
    }
}
