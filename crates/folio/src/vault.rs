//! Seals secrets with XChaCha20-Poly1305 under a key in a file beside the data directory, never in it: whoever
//! gets hold of the directory or a backup alone reads no secret.
//!
//! Each app has keys of its own, derived from the one in the file. The nonce is a keyed digest of the place and the
//! value, so the same value in the same place is sealed to the same bytes, and two different ones never share a
//! nonce. Start at [`FileVault`].

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use folio_core::crash;
use folio_core::ports::{Clock, Plaintext, SecretPlace, Vault, VaultError};
use folio_model::{AppName, Ciphertext, Fingerprint, Sealed};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

/// How what is sealed begins: how it was sealed.
const FORMAT: u8 = 1;
const NONCE_BYTES: usize = 24;
const PRIVATE: u32 = 0o600;

type Secret = Zeroizing<[u8; 32]>;

/// A vault whose key is in a file.
pub(crate) struct FileVault {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    key: Mutex<Option<Secret>>,
}

impl FileVault {
    /// A vault with the key in a file, which is made when something is sealed for the first time.
    pub(crate) fn new(path: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self { path, clock, key: Mutex::new(None) }
    }

    /// Where the key of a data directory is if nobody says otherwise: beside it, under its name.
    pub(crate) fn beside(data: &Path) -> PathBuf {
        let mut path = data.as_os_str().to_owned();
        path.push(".key");
        path.into()
    }

    /// The key, read once. Made if it is missing and may be made.
    fn key(&self, if_missing: IfMissing) -> Result<Secret, VaultError> {
        let mut known = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = &*known {
            return Ok(key.clone());
        }
        let key = match (self.read()?, if_missing) {
            (Some(key), _) => key,
            (None, IfMissing::Fail) => return Err(VaultError::Missing(self.path.clone())),
            (None, IfMissing::Make) => self.make().map_err(|error| self.unusable(&error))?,
        };
        *known = Some(key.clone());
        Ok(key)
    }

    fn read(&self) -> Result<Option<Secret>, VaultError> {
        let about = match fs::metadata(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            about => about.map_err(|error| self.unusable(&error))?,
        };
        if about.mode() & 0o077 != 0 {
            return Err(self.unusable(&"others than its owner may read or change it"));
        }
        let text = fs::read_to_string(&self.path).map_err(|error| self.unusable(&error))?;
        let text = Zeroizing::new(text);
        let mut key = Secret::default();
        hex::decode_to_slice(text.trim(), key.as_mut_slice())
            .map_err(|_| self.unusable(&"it does not hold 64 hexadecimal digits"))?;
        Ok(Some(key))
    }

    /// Writes a new key. It has its name only once it is durable.
    fn make(&self) -> std::io::Result<Secret> {
        let key = Zeroizing::new(self.clock.chance());
        let mut unfinished = self.path.as_os_str().to_owned();
        unfinished.push(".unfinished");
        // What a killed start left here was never used.
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = File::options();
        let mut file = options.write(true).create_new(true).mode(PRIVATE).open(&unfinished)?;
        let text = Zeroizing::new(hex::encode(key.as_slice()));
        writeln!(file, "{}", text.as_str())?;
        file.sync_all()?;
        crash::point("key.written");
        fs::rename(&unfinished, &self.path)?;
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(key)
    }

    fn unusable(&self, why: &dyn ToString) -> VaultError {
        VaultError::Unusable { path: self.path.clone(), why: why.to_string() }
    }
}

/// What to do where there is no key.
#[derive(Clone, Copy)]
enum IfMissing {
    Fail,
    Make,
}

impl Vault for FileVault {
    fn seal(&self, place: SecretPlace<'_>, value: &Plaintext) -> Result<Sealed, VaultError> {
        let key = self.key(IfMissing::Make)?;
        let mut nonce = keyed(&derived(&key, "nonce", place.app));
        feed(&mut nonce, place.secret.as_str());
        feed(&mut nonce, place.key.as_str());
        nonce.update(value.expose());
        let nonce = nonce.finalize().into_bytes();
        let nonce: [u8; NONCE_BYTES] =
            nonce[..NONCE_BYTES].try_into().expect("a digest is longer than a nonce");
        let (message, aad) = (value.expose(), bound(place));
        let sealed = cipher(&key, place.app)
            .encrypt(&XNonce::from(nonce), Payload { msg: message, aad: &aad })
            .map_err(|_| self.unusable(&"the value is too long to be sealed"))?;
        let mut fingerprint = keyed(&derived(&key, "fingerprint", place.app));
        fingerprint.update(value.expose());
        Ok(Sealed {
            fingerprint: Fingerprint::of(&fingerprint.finalize().into_bytes().into()),
            sealed: Some(Ciphertext([&[FORMAT][..], &nonce, &sealed].concat())),
        })
    }

    fn open(&self, place: SecretPlace<'_>, sealed: &Sealed) -> Result<Plaintext, VaultError> {
        let key = self.key(IfMissing::Fail)?;
        let wrong = || VaultError::Wrong {
            app: place.app.clone(),
            secret: place.secret.clone(),
            path: self.path.clone(),
        };
        let sealed = sealed.sealed.as_ref().ok_or_else(wrong)?;
        let (format, rest) = sealed.0.split_first().ok_or_else(wrong)?;
        let (nonce, body) = rest.split_first_chunk::<NONCE_BYTES>().ok_or_else(wrong)?;
        if *format != FORMAT {
            return Err(wrong());
        }
        let aad = bound(place);
        let opened = cipher(&key, place.app)
            .decrypt(&XNonce::from(*nonce), Payload { msg: body, aad: &aad });
        opened.map(Plaintext::new).map_err(|_| wrong())
    }
}

fn cipher(key: &Secret, app: &AppName) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&Key::from(*derived(key, "seal", app)))
}

/// A key of an app's own for one purpose.
fn derived(key: &Secret, purpose: &str, app: &AppName) -> Secret {
    let mut derived = keyed(key);
    feed(&mut derived, "folio secrets 1");
    feed(&mut derived, purpose);
    feed(&mut derived, app.as_str());
    Zeroizing::new(derived.finalize().into_bytes().into())
}

fn keyed(key: &Secret) -> Hmac<Sha256> {
    <Hmac<Sha256> as KeyInit>::new_from_slice(key.as_slice()).expect("any length will do")
}

/// Feeds a text with its length, so that two neighbours are never read as one.
fn feed(digest: &mut Hmac<Sha256>, text: &str) {
    digest.update(&(text.len() as u64).to_be_bytes());
    digest.update(text.as_bytes());
}

/// What is bound to a sealed value: it opens nowhere else.
fn bound(place: SecretPlace<'_>) -> Vec<u8> {
    let parts = [place.app.as_str(), place.secret.as_str(), place.key.as_str()];
    let part = |part: &str| [&(part.len() as u64).to_be_bytes()[..], part.as_bytes()].concat();
    parts.into_iter().flat_map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use folio_core::ports::SystemClock;

    use super::*;

    fn vault(directory: &tempfile::TempDir, file: &str) -> FileVault {
        FileVault::new(directory.path().join(file), Arc::new(SystemClock))
    }

    fn value(text: &str) -> Plaintext {
        Plaintext::new(text.as_bytes().to_vec())
    }

    /// Runs something with a place, written `app/secret/key`.
    fn at<T>(place: &str, run: impl FnOnce(SecretPlace<'_>) -> T) -> T {
        let parts: Vec<_> = place.split('/').collect();
        let (app, secret, key) =
            (parts[0].parse().unwrap(), parts[1].parse().unwrap(), parts[2].parse().unwrap());
        run(SecretPlace { app: &app, secret: &secret, key: &key })
    }

    #[test]
    fn what_is_sealed_opens_in_its_place_and_nowhere_else() {
        let directory = tempfile::tempdir().unwrap();
        let vault = vault(&directory, "key");
        let sealed = at("shop/db/password", |place| vault.seal(place, &value("hunter2"))).unwrap();
        let opened = at("shop/db/password", |place| vault.open(place, &sealed)).unwrap();
        assert_eq!(opened.expose(), b"hunter2");
        for elsewhere in
            ["other/db/password", "shop/other/password", "shop/db/other", "shop/dbp/assword"]
        {
            let refused = at(elsewhere, |place| vault.open(place, &sealed));
            assert!(matches!(refused, Err(VaultError::Wrong { .. })), "{elsewhere}");
        }
        let mut altered = sealed.clone();
        altered.sealed.as_mut().unwrap().0[40] ^= 1;
        assert!(at("shop/db/password", |place| vault.open(place, &altered)).is_err());
        let bytes = &sealed.sealed.as_ref().unwrap().0;
        assert!(!bytes.windows(7).any(|part| part == b"hunter2"));
    }

    #[test]
    fn equal_values_in_one_place_are_sealed_alike_and_no_others() {
        let directory = tempfile::tempdir().unwrap();
        let vault = vault(&directory, "key");
        let seal =
            |place: &str, text: &str| at(place, |place| vault.seal(place, &value(text))).unwrap();
        assert_eq!(seal("shop/db/a", "one"), seal("shop/db/a", "one"));
        let others =
            [("shop/db/a", "two"), ("shop/db/b", "one"), ("shop/d/a", "one"), ("x/db/a", "one")];
        for (place, text) in others {
            assert_ne!(seal("shop/db/a", "one").sealed, seal(place, text).sealed, "{place} {text}");
        }
        let fingerprint = |place, text| seal(place, text).fingerprint;
        assert_eq!(fingerprint("shop/db/a", "one"), fingerprint("shop/other/b", "one"));
        assert_ne!(fingerprint("shop/db/a", "one"), fingerprint("shop/db/a", "two"));
        assert_ne!(fingerprint("shop/db/a", "one"), fingerprint("other/db/a", "one"));
    }

    #[test]
    fn a_key_is_made_once_for_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let sealed =
            at("a/b/c", |place| vault(&directory, "key").seal(place, &value("one"))).unwrap();
        let path = directory.path().join("key");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, PRIVATE);
        let again = at("a/b/c", |place| vault(&directory, "key").seal(place, &value("one")));
        assert_eq!(again.unwrap(), sealed);
        let opened = at("a/b/c", |place| vault(&directory, "key").open(place, &sealed));
        assert_eq!(opened.unwrap().expose(), b"one");
        let other = at("a/b/c", |place| {
            vault(&directory, "other").seal(place, &value("x")).unwrap();
            vault(&directory, "other").open(place, &sealed)
        });
        assert!(matches!(other, Err(VaultError::Wrong { .. })), "{other:?}");
    }

    #[test]
    fn opening_never_makes_a_key_and_odd_files_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let sealed =
            at("a/b/c", |place| vault(&directory, "key").seal(place, &value("one"))).unwrap();
        let missing = at("a/b/c", |place| vault(&directory, "none").open(place, &sealed));
        assert!(matches!(missing, Err(VaultError::Missing(_))), "{missing:?}");
        assert!(!directory.path().join("none").exists());
        let path = directory.path().join("key");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let open = at("a/b/c", |place| vault(&directory, "key").open(place, &sealed));
        assert!(matches!(open, Err(VaultError::Unusable { .. })), "{open:?}");
        fs::set_permissions(&path, fs::Permissions::from_mode(PRIVATE)).unwrap();
        fs::write(&path, "abc").unwrap();
        let short = at("a/b/c", |place| vault(&directory, "key").seal(place, &value("one")));
        assert!(matches!(short, Err(VaultError::Unusable { .. })), "{short:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "abc");
    }
}
